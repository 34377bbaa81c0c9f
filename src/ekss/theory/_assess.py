"""Evaluate every guarantee for one labelled data set."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from ekss.theory._coclustering import coclustering_function
from ekss.theory._labelled import Case, Situation
from ekss.theory._missing import missing_ratio
from ekss.theory._separation import (
    ROUNDING,
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
from ekss.theory._types import Bases, Floats, Increasing, Ints, Monotone

ON_SUBSPACE = 1e-6  # points of length 1 that are nearer lie on their subspace
OPEN_CONSTANT = 1.0  # stands for the constants of Theorem 8 that the paper leaves open
_N_WORST = 10  # points that are named
_N_SHOWN_PAIRS = 1200  # pairs of points whose votes are drawn
_LARGEST_Q = 128  # the search for a q that connects clusters ends here
_MOST_FEATURES = 2000  # beyond, the missing entries that r_s tolerates are not sought


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

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from ekss.theory import Outcome
    >>> graph = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> Outcome(graph, error=0.0).neighbours is None
    True
    """

    graph: Any
    error: float
    neighbours: Callable[[int], Ints] | None = None


@dataclass(frozen=True)
class WorstPoint:
    """A point and its rival, the nearest point of another cluster.

    Attributes
    ----------
    index, cluster : int
        The point and its cluster.
    gap : float
        Half-difference of ``near`` and ``far``; below 0 for a false connection.
    near, far : float
        Affinity with the q-th nearest of its own cluster, and with the rival.
    rival, rival_cluster : int
        The nearest point of another cluster, and that cluster.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> worst = guarantees(X, y, n_members=50).assessment.tsc.worst[0]
    >>> worst.cluster != worst.rival_cluster, worst.near > worst.far
    (True, True)
    """

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
        The points with the smallest gaps, the smallest first.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> certificate = guarantees(X, y, n_members=50).assessment.tsc
    >>> certificate.holds, certificate.share
    (True, 1.0)
    """

    holds: bool | None
    phi: float
    tau: float
    margin: float
    share: float
    nearest_share: float
    largest_q: int
    gaps: Floats
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

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> facts = guarantees(X, y, n_members=50).assessment.tsc_graph
    >>> facts.n_false, facts.components
    (0, (1, 1))
    """

    n_edges: int
    n_false: int
    n_false_points: int
    components: tuple[int, ...]
    error: float
    connecting_q: int | None = None


@dataclass(frozen=True)
class Promise:
    """Theorem 3: the deviation promised for any seed, and the members wanted.

    Attributes
    ----------
    tau : float
        The deviation promised.
    holds : bool or None
        Whether Theorem 1 holds with it; None where not all points were looked at.
    largest_q : int
        The largest q with which it would hold; 0 if none.
    members : int or None
        Members with which it would hold; None where no number is enough.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> promise = guarantees(X, y, n_members=50).assessment.promise
    >>> promise.holds, promise.members > 50
    (False, True)
    """

    tau: float
    holds: bool | None
    largest_q: int
    members: int | None


@dataclass(frozen=True)
class Curve:
    """Expected votes at a grid of inner products, and votes of some pairs of points.

    Attributes
    ----------
    inner, expected : ndarray
        Absolute inner products from 0 to 1, and f there.
    pair_inner, pair_votes : ndarray
        Absolute inner product of some pairs of points, and their share of votes.
    pair_same : ndarray of bool
        Whether the points of a pair are in the same cluster.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> curve = guarantees(X, y, n_members=50).assessment.curve
    >>> curve.inner.shape == curve.expected.shape
    True
    """

    inner: Floats
    expected: Floats
    pair_inner: Floats
    pair_votes: Floats
    pair_same: NDArray[np.bool_]


@dataclass(frozen=True)
class Assessment:
    """Every guarantee evaluated for one case, as numbers.

    Attributes
    ----------
    case : Case
        The points, their subspaces and the settings.
    tolerated_missing : int or None
        Missing entries per point up to which our bounds keep r_s below 1, if known.
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

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> assessment = guarantees(X, y, n_members=50).assessment
    >>> [guarantee.statement for guarantee in assessment.theorems]
    ['Theorem 4', 'Theorem 5', 'Theorem 6', 'Lemma 1']
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
        :func:`explain` puts it into words.

    See Also
    --------
    ekss.report.guarantees : Runs both methods and writes the page.

    Notes
    -----
    O(n_rows n_samples (n_features + n_members)) time, where n_rows is the number of
    points that are compared with all others; no matrix over all pairs is made.

    Examples
    --------
    >>> from ekss import TSC, PaperEKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.theory import Outcome, assess, labelled_case
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> case = labelled_case(X, y, n_members=50)
    >>> tsc = TSC(2, n_neighbors=case.situation.q, random_state=0).fit(X)
    >>> votes = PaperEKSS(2, subspace_dim=2, n_members=50, max_iter=0, random_state=0)
    >>> votes = votes.fit(X)
    >>> assessment = assess(
    ...     case,
    ...     votes.member_labels_,
    ...     tsc=Outcome(tsc.affinity_, error=0.0),
    ...     ekss0=Outcome(votes.affinity_, error=0.0),
    ... )
    >>> assessment.tsc.holds
    True
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
    by_angle, by_votes, any_seed = _certificates(
        case, profile, (np.asarray, 0.0), (f, tau), (f, promised)
    )
    wanted = None
    if any_seed.phi > 0:
        wanted = members_needed(n_samples, any_seed.phi, case.failure)
    progress("examining the graphs")
    return Assessment(
        case,
        tolerated_missing(case.subspaces.bases),
        by_angle,
        graph_facts(tsc, case),
        by_votes,
        graph_facts(ekss0, case),
        Promise(promised, any_seed.holds, any_seed.largest_q, wanted),
        _curve(case, labels_of_members, f),
        connection_guarantees(case.situation),
        ensemble_guarantees(case.situation, lambda z: float(f(np.asarray(z)))),
        projection_guarantee(case.situation),
    )


def ensemble_guarantees(s: Situation, f: Increasing) -> tuple[Guarantee, ...]:
    """Evaluate Theorems 4 to 7 for EKSS-0.

    Theorem 7 leaves constants open; in its place stands Lemma 1 with Theorem 3, which
    is the same statement for bases that are known. Theorems for points without noise
    get one more condition, that the points lie on their subspaces; it cannot be
    checked where entries are missing.
    """
    shared = (s.sizes, s.dims, s.q, s.n_members)
    connected, alpha = _connectedness(s, f), s.missing.within_lower
    disjoint = disjoint_failure(
        *shared,
        ratio=s.ratio,
        rho=s.rho,
        separation=separation_constant_disjoint(f, 1.0, 1.0 - s.ratio),
        connectedness=connected,
    )
    bounded = bounded_affinity_failure(
        *shared,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        separation=_separation(s, f, noise=0.0),
        connectedness=connected,
    )
    noisy = noisy_failure(
        *shared,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        noise=s.noise,
        separation=_separation(s, f, s.noise),
    )
    eta = alpha - s.missing.cross_upper
    missing = fixed_missing_failure(
        *shared,
        ratio=s.missing.upper,
        rho=s.rho,
        separation=separation_constant_disjoint(f, alpha, eta),
    )
    return (
        _for_exact_points(disjoint, s),
        _for_exact_points(bounded, s),
        noisy,
        missing if s.n_missing else _for_exact_points(missing, s),
    )


def projection_guarantee(s: Situation) -> Guarantee:
    """Evaluate Theorem 8 for TSC after a random projection, open constants set to 1."""
    reduced = reduced_failure(
        s.sizes,
        s.dims,
        s.q,
        s.n_components,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        separation=_separation(s, float, noise=0.0),
        connectedness=_connectedness(s, float),
        constant=OPEN_CONSTANT,
        concentration=OPEN_CONSTANT,
    )
    return _for_exact_points(reduced, s)


def connection_guarantees(s: Situation) -> tuple[Guarantee, ...]:
    """Evaluate Theorem 2 for every cluster."""
    clusters = zip(s.sizes, s.dims, strict=True)
    return tuple(connectedness_failure(n, dim, s.q) for n, dim in clusters)


def _separation(s: Situation, f: Increasing, noise: float) -> float:
    """Return C_2 of Lemma 2; 0, which allows nothing, where the noise is infinite."""
    if not math.isfinite(noise):
        return 0.0
    return separation_constant_noisy(
        f, s.max_affinity, noise, s.n_features, s.dims, s.n_samples
    )


def _connectedness(s: Situation, f: Increasing) -> float:
    """Return the smallest C_3 of the clusters; 0 if one of them is a line."""
    if min(s.dims) < 2:
        return 0.0
    clusters = zip(s.sizes, s.dims, strict=True)
    return min(connectedness_constant(f, n, dim) for n, dim in clusters)


def _for_exact_points(guarantee: Guarantee, s: Situation) -> Guarantee:
    exact = Condition("points on subspaces", s.farthest, "<=", ON_SUBSPACE)
    return replace(guarantee, conditions=(exact, *guarantee.conditions))


def tolerated_missing(bases: Bases) -> int | None:
    """Find the most missing entries for which our bounds keep r_s below 1."""
    n_features = len(bases[0])
    if n_features > _MOST_FEATURES:
        return None

    def too_many(n_missing: int) -> bool:
        return not missing_ratio(bases, n_missing, max_subsets=1).upper < 1

    tolerated = bisect_left(range(n_features), True, key=too_many)  # r_s grows
    return tolerated - 1 if tolerated else None


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
    """Find the smallest q that connects every cluster, if there is one."""
    largest = min(max(case.situation.sizes) - 1, _LARGEST_Q)
    wider = range(case.situation.q + 1, largest + 1)
    if outcome.neighbours is None or not wider:
        return None
    nearest = outcome.neighbours(largest)

    def connects(q: int) -> bool:
        row, place = np.nonzero(nearest[:, :q] >= 0)
        ones, n = np.ones(len(row)), len(nearest)
        graph = csr_array((ones, (row, nearest[row, place])), shape=(n, n))
        return bool(cluster_components(graph, case.labels).max() == 1)

    place = bisect_left(wider, True, key=connects)
    return wider[place] if place < len(wider) else None


def _certificates(
    case: Case, profile: NeighbourProfile, *cases: tuple[Monotone, float]
) -> list[Certificate]:
    """Theorem 1 for every expected affinity f and deviation."""
    limits = [
        rises_above(f, f(profile.far) + 2 * (tau + ROUNDING * (1 + tau)))
        for f, tau in cases
    ]
    counts = count_nearer(case.points, case.labels, profile.rows, np.stack(limits))
    return [
        _certificate(case, profile, f, tau, count)
        for (f, tau), count in zip(cases, counts, strict=True)
    ]


def _certificate(
    case: Case, p: NeighbourProfile, f: Monotone, tau: float, nearer: Ints
) -> Certificate:
    gaps, labels = p.gaps(f), case.labels
    fine = gaps - tau > ROUNDING * (1 + tau)
    holds: bool | None = bool(fine.all())
    if holds and not case.complete:
        holds = None  # nothing is known of the other points
    phi = float(gaps.min())
    columns = (p.rows, labels[p.rows], gaps, p.near, p.far, p.rival, labels[p.rival])
    worst = [
        WorstPoint(*(column[i].item() for column in columns))
        for i in np.argsort(gaps, kind="stable")[:_N_WORST]
    ]
    return Certificate(
        holds=holds,
        phi=phi,
        tau=tau,
        margin=phi - tau,
        share=float(fine.mean()),
        nearest_share=float((nearer > 0).mean()),
        largest_q=int(nearer.min()),
        gaps=gaps,
        worst=tuple(worst),
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
