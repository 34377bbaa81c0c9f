"""Evaluate every guarantee for one labelled data set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from ekss.theory._coclustering import coclustering_function
from ekss.theory._labelled import Case, LabelledSubspaces, Situation
from ekss.theory._missing import MissingRatio, missing_ratio
from ekss.theory._separation import (
    ROUNDING,
    Monotone,
    NeighbourProfile,
    cluster_components,
    count_nearer,
    neighbour_profile,
    rises_above,
    votes_deviation,
)
from ekss.theory._theorems import (
    Condition,
    Guarantee,
    bounded_affinity_failure,
    connectedness_constant,
    connectedness_failure,
    disjoint_failure,
    fixed_missing_failure,
    members_needed,
    noisy_failure,
    promised_deviation,
    reduced_failure,
    separation_constant_disjoint,
    separation_constant_noisy,
)

ON_SUBSPACE = 1e-6  # points of length 1 that are nearer lie on their subspace
OPEN_CONSTANT = 1.0  # stands for the constants of Theorem 8 that the paper leaves open
_N_WORST = 10  # points that are named
_N_SHOWN_PAIRS = 1200  # pairs of points whose votes are drawn
_LARGEST_Q = 128  # the search for a q that connects clusters ends here
_MOST_FEATURES = 2000  # beyond, the missing entries that r_s tolerates are not sought

Increasing = Callable[[float], float]


@dataclass(frozen=True)
class Outcome:
    """What a method made of the points.

    Attributes
    ----------
    graph : sparse array of shape (n_samples, n_samples)
        The symmetric graph that was cut.
    error : float
        Clustering error of the labels found.
    neighbours : callable or None
        From q to the q nearest neighbours of every point, nearest first, as an integer
        array of shape (n_samples, q) with -1 for none. It is needed to find the
        smallest q that connects every cluster; None leaves that open.
    """

    graph: Any
    error: float
    neighbours: Callable[[int], NDArray[np.integer]] | None = None


@dataclass(frozen=True)
class Constants:
    """The deviations C_1, C_2 (without and with noise), C_3 that theorems allow."""

    disjoint: float
    bounded: float
    noisy: float
    missing: float
    connected: float


@dataclass(frozen=True)
class WorstPoint:
    """A point and its rival, the nearest point of another cluster."""

    index: int
    cluster: int
    gap: float
    near: float
    far: float
    rival: int
    rival_cluster: int


@dataclass(frozen=True)
class Certificate:
    """Theorem 1 for one method.

    Attributes
    ----------
    holds : bool or None
        None where not all points were looked at, and those that were are fine.
    phi, tau, margin : float
        Separation, deviation, and the difference that has to be positive.
    share : float
        Share of the points looked at whose own gap exceeds tau.
    nearest_share : float
        The same share for q = 1.
    largest_q : int
        The largest q with which it would hold; 0 if none.
    gaps : ndarray
        Half differences of the points looked at.
    worst : tuple of WorstPoint
    """

    holds: bool | None
    phi: float
    tau: float
    margin: float
    share: float
    nearest_share: float
    largest_q: int
    gaps: NDArray[np.float64]
    worst: tuple[WorstPoint, ...]


@dataclass(frozen=True)
class GraphFacts:
    """What is true of the graph a method really made, and of its labels.

    Attributes
    ----------
    n_edges, n_false, n_false_points : int
        Edges, those between clusters, and the points these touch.
    components : tuple of int
        Pieces of each cluster, edges between clusters left out.
    error : float
        Clustering error of the labels found.
    connecting_q : int or None
        Smallest q that connects every cluster, where q does not and it was found.
    """

    n_edges: int
    n_false: int
    n_false_points: int
    components: tuple[int, ...]
    error: float
    connecting_q: int | None = None


@dataclass(frozen=True)
class Promise:
    """Theorem 3: the deviation promised for any seed, and the members wanted."""

    tau: float
    holds: bool | None
    largest_q: int
    members: int | None


@dataclass(frozen=True)
class Curve:
    """f at a grid of inner products, and votes of some pairs of points."""

    inner: NDArray[np.float64]
    expected: NDArray[np.float64]
    pair_inner: NDArray[np.float64]
    pair_votes: NDArray[np.float64]
    pair_same: NDArray[np.bool_]


@dataclass(frozen=True)
class Assessment:
    """Every guarantee evaluated for one case, as numbers.

    Attributes
    ----------
    case : Case
        The points, their subspaces and the settings.
    tolerated_missing : int or None
        Missing entries per point up to which r_s is surely below 1; None if not known.
    tsc, votes : Certificate
        Theorem 1 for TSC, and for the members of EKSS-0 that were fitted.
    tsc_graph, votes_graph : GraphFacts
        What is true of the graphs that the two methods made.
    promise : Promise
        Theorem 3, for any seed.
    curve : Curve
        Expected votes, and the votes of some pairs of points.
    connections : tuple of Guarantee
        Theorem 2 for each cluster.
    theorems : tuple of Guarantee
        Theorems 4 to 6 and Lemma 1, for EKSS-0.
    projection : Guarantee
        Theorem 8, for TSC.
    """

    case: Case
    tolerated_missing: int | None
    tsc: Certificate
    tsc_graph: GraphFacts
    votes: Certificate
    votes_graph: GraphFacts
    promise: Promise
    curve: Curve
    connections: tuple[Guarantee, ...]
    theorems: tuple[Guarantee, ...]
    projection: Guarantee


def assess(
    case: Case,
    members: ArrayLike,
    *,
    tsc: Outcome,
    ekss0: Outcome,
    progress: Callable[[str], None] = lambda stage: None,
) -> Assessment:
    """Evaluate all guarantees for labelled points and the two methods run on them.

    Parameters
    ----------
    case : Case
        The labelled points, see :func:`labelled_case`.
    members : array-like of shape (n_samples, n_members)
        Label of every point in every member of EKSS-0, fitted to ``case.points`` with
        ``case.n_candidates`` candidates of dimension ``case.candidate_dim``.
    tsc, ekss0 : Outcome
        What the two methods made with q neighbours.
    progress : callable, optional
        Called with a few words before each stage.

    Returns
    -------
    assessment : Assessment
        `findings`, `answers`, `unmet` and `notes` put it into words.

    See Also
    --------
    ekss.report.guarantees : Runs both methods and writes the page.

    Notes
    -----
    O(n_rows n_samples (n_features + n_members)) time, where n_rows is the number of
    points that are compared with all others; no matrix over all pairs is made.
    """
    points, labels, q = case.points, case.labels, case.situation.q
    labels_of_members = np.asarray(members)
    f = _expected_votes(case.n_candidates, case.candidate_dim, points.shape[1])
    progress("comparing points by angle")
    profile = neighbour_profile(points, labels, q, case.rows)
    progress("comparing votes with angles")
    tau = votes_deviation(points, labels_of_members, f, case.rows)
    n_samples, n_members = labels_of_members.shape
    promised = promised_deviation(n_samples, n_members, case.failure)
    by_angle, by_votes, for_any_seed = _certificates(
        case, profile, ((None, 0.0), (f, tau), (f, promised))
    )
    progress("examining the graphs")
    return Assessment(
        case,
        _tolerated(case.subspaces),
        by_angle,
        graph_facts(tsc, case),
        by_votes,
        graph_facts(ekss0, case),
        _promise(for_any_seed, n_samples, case.failure),
        _curve(case, labels_of_members, f),
        connection_guarantees(case.situation),
        ensemble_guarantees(case.situation, lambda z: float(f(np.asarray(z)))),
        projection_guarantee(case.situation),
    )


def allowed_deviations(situation: Situation, f: Increasing) -> Constants:
    """Evaluate C_1, C_2 and C_3 for an expected affinity f; 0 allows nothing."""
    s = situation
    shared = (s.n_features, s.dims, s.n_samples)
    alpha = s.missing.within_lower
    connected = [
        connectedness_constant(f, n, dim) if dim > 1 else 0.0
        for n, dim in zip(s.sizes, s.dims, strict=True)
    ]
    noisy = 0.0
    if math.isfinite(s.noise):
        noisy = separation_constant_noisy(f, s.max_affinity, s.noise, *shared)
    return Constants(
        separation_constant_disjoint(f, 1.0, 1.0 - s.ratio),
        separation_constant_noisy(f, s.max_affinity, 0.0, *shared),
        noisy,
        separation_constant_disjoint(f, alpha, alpha - s.missing.cross_upper),
        min(connected),
    )


def ensemble_guarantees(situation: Situation, f: Increasing) -> tuple[Guarantee, ...]:
    """Evaluate Theorems 4 to 7 for EKSS-0.

    Theorem 7 leaves constants open; in its place stands Lemma 1 with Theorem 3, which
    is the same statement for bases that are known. Theorems for points without noise
    get one more condition, that the points lie on their subspaces; it cannot be
    checked where entries are missing.
    """
    s, c = situation, allowed_deviations(situation, f)
    shared = (s.sizes, s.dims, s.q, s.n_members)
    disjoint = disjoint_failure(
        *shared,
        ratio=s.ratio,
        rho=s.rho,
        separation=c.disjoint,
        connectedness=c.connected,
    )
    bounded = bounded_affinity_failure(
        *shared,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        separation=c.bounded,
        connectedness=c.connected,
    )
    noisy = noisy_failure(
        *shared,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        noise=s.noise,
        separation=c.noisy,
    )
    missing = fixed_missing_failure(
        *shared, ratio=s.missing.upper, rho=s.rho, separation=c.missing
    )
    return (
        _for_exact_points(disjoint, s),
        _for_exact_points(bounded, s),
        noisy,
        missing if s.n_missing else _for_exact_points(missing, s),
    )


def projection_guarantee(situation: Situation) -> Guarantee:
    """Evaluate Theorem 8 for TSC after a random projection, open constants set to 1."""
    s, c = situation, allowed_deviations(situation, lambda z: z)
    reduced = reduced_failure(
        s.sizes,
        s.dims,
        s.q,
        s.n_components,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        separation=c.bounded,
        connectedness=c.connected,
        constant=OPEN_CONSTANT,
        concentration=OPEN_CONSTANT,
    )
    return _for_exact_points(reduced, s)


def connection_guarantees(situation: Situation) -> tuple[Guarantee, ...]:
    """Evaluate Theorem 2 for every cluster."""
    s = situation
    return tuple(
        connectedness_failure(n, dim, s.q)
        for n, dim in zip(s.sizes, s.dims, strict=True)
    )


def largest_tolerated(
    ratios: Callable[[int], MissingRatio], n_features: int
) -> int | None:
    """Find the most missing entries for which r_s, which grows, is surely below 1."""
    if not ratios(0).upper < 1:
        return None
    low, high = 0, n_features
    while high - low > 1:
        middle = (low + high) // 2
        if ratios(middle).upper < 1:
            low = middle
        else:
            high = middle
    return low


def graph_facts(outcome: Outcome, case: Case) -> GraphFacts:
    """Look for false connections and separate pieces in the graph that was cut."""
    labels = case.labels
    edges = coo_array(outcome.graph)
    kept = edges.data != 0
    row, col = edges.row[kept], edges.col[kept]
    false = labels[row] != labels[col]
    components = cluster_components(outcome.graph, labels)
    connecting = None
    if case.complete and components.max() > 1:
        connecting = _connecting_q(outcome, case)
    return GraphFacts(
        len(row) // 2,
        int(false.sum()) // 2,
        len(np.unique(row[false])),
        tuple(int(n) for n in components),
        outcome.error,
        connecting,
    )


def _connecting_q(outcome: Outcome, case: Case) -> int | None:
    """Find the smallest q that connects every cluster, by bisection."""
    low, high = case.situation.q, min(max(case.situation.sizes) - 1, _LARGEST_Q)
    if outcome.neighbours is None or high <= low:
        return None
    nearest = outcome.neighbours(high)

    def connects(q: int) -> bool:
        row, place = np.nonzero(nearest[:, :q] >= 0)
        ones, n = np.ones(len(row)), len(nearest)
        graph = csr_array((ones, (row, nearest[row, place])), shape=(n, n))
        return bool(cluster_components(graph, case.labels).max() == 1)

    if not connects(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if connects(middle) else (middle, high)
    return high


def _certificates(
    case: Case,
    profile: NeighbourProfile,
    cases: tuple[tuple[Monotone | None, float], ...],
) -> list[Certificate]:
    """Theorem 1 for every expected affinity f (None: the identity) and deviation."""
    limits = []
    for f, tau in cases:
        far = profile.far if f is None else np.asarray(f(profile.far))
        target = far + 2 * (tau + ROUNDING * (1 + tau))
        limits.append(
            np.nextafter(target, np.inf) if f is None else rises_above(f, target)
        )
    counts = count_nearer(case.points, case.labels, profile.rows, np.stack(limits))
    return [
        _certificate(case.labels, profile, f, tau, count)
        for (f, tau), count in zip(cases, counts, strict=True)
    ]


def _certificate(
    labels: NDArray[np.integer],
    profile: NeighbourProfile,
    f: Monotone | None,
    tau: float,
    nearer: NDArray[np.int64],
) -> Certificate:
    near, far = profile.near, profile.far
    if f is not None:
        near, far = np.asarray(f(near)), np.asarray(f(far))
    gaps = (near - far) / 2
    fine = gaps - tau > ROUNDING * (1 + tau)
    complete = len(profile.rows) == len(labels)
    holds = (True if complete else None) if fine.all() else False
    worst = np.argsort(gaps, kind="stable")[:_N_WORST]
    named = tuple(
        WorstPoint(
            int(profile.rows[i]),
            int(labels[profile.rows[i]]),
            float(gaps[i]),
            float(profile.near[i]),
            float(profile.far[i]),
            int(profile.rival[i]),
            int(labels[profile.rival[i]]),
        )
        for i in worst
    )
    phi = float(gaps.min())
    return Certificate(
        holds,
        phi,
        tau,
        phi - tau,
        float(fine.mean()),
        float((nearer > 0).mean()),
        int(nearer.min()),
        gaps,
        named,
    )


def _promise(certificate: Certificate, n_samples: int, failure: float) -> Promise:
    members = None
    if certificate.phi > 0:
        members = members_needed(n_samples, certificate.phi, failure)
    return Promise(certificate.tau, certificate.holds, certificate.largest_q, members)


def _tolerated(subspaces: LabelledSubspaces) -> int | None:
    """Find the missing entries per point for which r_s is surely below 1."""
    n_features = len(subspaces.bases[0])
    if n_features > _MOST_FEATURES:
        return None
    return largest_tolerated(
        lambda s: missing_ratio(subspaces.bases, s, max_subsets=1), n_features
    )


@lru_cache(maxsize=8)
def _expected_votes(n_candidates: int, dim: int, n_features: int) -> Monotone:
    """Return f of EKSS-0; it takes a second and depends on nothing else."""
    return coclustering_function(n_candidates, dim, n_features)


def _curve(case: Case, members: NDArray[Any], f: Monotone) -> Curve:
    """Draw pairs, half of them inside clusters, and read their votes."""
    points, labels = case.points, case.labels
    rng = np.random.default_rng(case.seed)
    first = rng.integers(len(points), size=_N_SHOWN_PAIRS)
    second = rng.integers(len(points), size=_N_SHOWN_PAIRS)
    for i in range(0, _N_SHOWN_PAIRS, 2):
        second[i] = rng.choice(np.flatnonzero(labels == labels[first[i]]))
    first, second = first[first != second], second[first != second]
    inner = np.abs(np.einsum("ij,ij->i", points[first], points[second]))
    votes = (members[first] == members[second]).mean(axis=1)
    grid = np.cos(np.linspace(np.pi / 2, 0, 61))
    same = labels[first] == labels[second]
    return Curve(grid, np.asarray(f(grid)), inner, votes, same)


def _for_exact_points(guarantee: Guarantee, situation: Situation) -> Guarantee:
    exact = Condition("points on subspaces", situation.farthest, "<=", ON_SUBSPACE)
    return replace(guarantee, conditions=(exact, *guarantee.conditions))
