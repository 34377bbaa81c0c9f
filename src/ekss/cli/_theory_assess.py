"""Evaluate every guarantee for one labelled data set."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.cli._theory_graphs import angles_graph, fit_votes, votes_graph
from ekss.cli._theory_results import (
    Assessment,
    Certificate,
    Curve,
    Promise,
    Wishes,
    WorstPoint,
)
from ekss.core.scaling import unit_rows
from ekss.theory import (
    coclustering_function,
    members_needed,
    missing_ratio,
)
from ekss.theory._guarantees import (
    Situation,
    connection_guarantees,
    ensemble_guarantees,
    largest_tolerated,
    projection_guarantee,
    promised_deviation,
)
from ekss.theory._labelled import (
    LabelledSubspaces,
    NeighbourProfile,
    SubspacePairs,
    count_nearer,
    labelled_subspaces,
    neighbour_profile,
    rises_above,
    subspace_pairs,
    votes_deviation,
)
from ekss.theory._separation import Monotone

_MOST_PAIRS = 10**8
_FEWEST_ROWS = 1000
_N_WORST = 10
_N_SHOWN_PAIRS = 1200
_MOST_FEATURES = 2000
_ROUNDING = 16 * np.finfo(np.float64).eps

Report = Callable[[str], None]


def assess(
    X: NDArray[np.floating],
    labels: NDArray[np.integer],
    wishes: Wishes,
    report: Report = lambda stage: None,
) -> Assessment:
    """Evaluate all guarantees for labelled points.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points as rows; only their directions matter.
    labels : ndarray of shape (n_samples,)
        Cluster of each point.
    wishes : Wishes
    report : callable, default=no report
        Called with a few words before each stage.

    Returns
    -------
    assessment : Assessment
    """
    points, q = _checked(X, labels, wishes)
    report("fitting subspaces to the labelled clusters")
    subspaces = labelled_subspaces(points, labels, wishes.dim)
    pairs = subspace_pairs(subspaces.bases)
    situation = _situation(subspaces, pairs, q, wishes)
    n_candidates = wishes.n_candidates or len(subspaces.sizes)
    candidate_dim = wishes.candidate_dim or _middle(subspaces)
    f = _expected_votes(n_candidates, candidate_dim, points.shape[1])
    report("comparing points by angle")
    rows = _rows(len(points), wishes)
    profile = neighbour_profile(points, labels, q, rows)
    report(f"fitting {wishes.n_members} members of EKSS-0")
    candidates = n_candidates, candidate_dim
    model = fit_votes(points, len(subspaces.sizes), q, candidates, wishes)
    report("comparing votes with angles")
    tau = votes_deviation(points, model.member_labels_, f, rows)
    promised = promised_deviation(len(points), wishes.n_members, wishes.failure)
    certificates = _certificates(
        points, labels, profile, ((None, 0.0), (f, tau), (f, promised))
    )
    report("looking at the graphs")
    complete = len(rows) == len(points)
    return Assessment(
        wishes,
        subspaces,
        pairs,
        situation,
        wishes.noise is not None,
        _tolerated(subspaces),
        n_candidates,
        candidate_dim,
        len(rows),
        certificates[0],
        angles_graph(points, labels, q, wishes, complete),
        certificates[1],
        votes_graph(model, labels, complete),
        _promise(certificates[2], len(points), wishes.failure),
        _curve(points, labels, model.member_labels_, f, wishes.seed),
        connection_guarantees(situation),
        ensemble_guarantees(situation, _scalar(f)),
        projection_guarantee(situation),
    )


def default_q(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q for EKSS-0 and TSC, max(3, ceil(N_k / 20)).

    Examples
    --------
    >>> default_q(1797, 10)
    9
    """
    return max(3, ceil(n_samples / (20 * n_clusters)))


def _checked(
    X: NDArray[np.floating], labels: NDArray[np.integer], wishes: Wishes
) -> tuple[NDArray[np.float64], int]:
    """Return points of unit length and q, or say what is wrong."""
    points = np.asarray(X, np.float64)
    if len(labels) != len(points):
        raise ValueError(
            f"there are {len(labels)} labels for {len(points)} points; give one each"
        )
    if not np.isfinite(points).all():
        raise ValueError(
            "the points contain NaN or infinity; as in the paper, set missing entries "
            "to 0 and say with --missing how many a point may lack"
        )
    empty = np.flatnonzero(~points.any(axis=1))
    if empty.size:
        raise ValueError(
            f"{empty.size} points are zero, the first is row {empty[0]}; they have no "
            "angle to any other, drop them"
        )
    names, sizes = np.unique(labels, return_counts=True)
    if len(names) < 2:
        raise ValueError("the labels name 1 cluster; the guarantees need at least 2")
    smallest = int(sizes.min())
    if smallest < 2:
        raise ValueError(
            f"cluster {names[sizes.argmin()]} has 1 point and so no neighbour; drop it "
            "or add points"
        )
    q = wishes.q or min(default_q(len(points), len(names)), smallest - 1)
    if q >= smallest:
        raise ValueError(
            f"q={q} needs clusters of more than {q} points, and cluster "
            f"{names[sizes.argmin()]} has {smallest}; choose --q up to {smallest - 1}"
        )
    return np.asarray(unit_rows(points), np.float64), q


def _situation(
    subspaces: LabelledSubspaces, pairs: SubspacePairs, q: int, wishes: Wishes
) -> Situation:
    n_features = len(subspaces.bases[0])
    off = ~np.eye(len(subspaces.sizes), dtype=bool)
    return Situation(
        sizes=subspaces.sizes,
        dims=subspaces.dims,
        n_features=n_features,
        n_neighbors=q,
        n_members=wishes.n_members,
        ratio=float(pairs.cosines[off].max()),
        max_affinity=float(pairs.affinities[off].max()),
        farthest=max(subspaces.farthest),
        noise=subspaces.noise if wishes.noise is None else wishes.noise,
        missing=missing_ratio(subspaces.bases, wishes.n_missing),
        n_missing=wishes.n_missing,
        n_components=wishes.n_components or n_features,
    )


def _certificates(
    points: NDArray[np.float64],
    labels: NDArray[np.integer],
    profile: NeighbourProfile,
    cases: tuple[tuple[Monotone | None, float], ...],
) -> list[Certificate]:
    """Theorem 1 for every expected affinity f (None: the identity) and deviation."""
    limits = []
    for f, tau in cases:
        far = profile.far if f is None else np.asarray(f(profile.far))
        target = far + 2 * (tau + _ROUNDING * (1 + tau))
        limits.append(
            np.nextafter(target, np.inf) if f is None else rises_above(f, target)
        )
    counts = count_nearer(points, labels, profile.rows, np.stack(limits))
    return [
        _certificate(labels, profile, f, tau, count)
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
    fine = gaps - tau > _ROUNDING * (1 + tau)
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


def _rows(n_samples: int, wishes: Wishes) -> NDArray[np.int64]:
    """Choose the points to look at: all, or as many as the pairs allow."""
    most = wishes.rows or max(_FEWEST_ROWS, _MOST_PAIRS // n_samples)
    if n_samples <= most:
        return np.arange(n_samples)
    rng = np.random.default_rng(wishes.seed)
    return np.sort(rng.choice(n_samples, most, replace=False))


def _tolerated(subspaces: LabelledSubspaces) -> int | None:
    n_features = len(subspaces.bases[0])
    if n_features > _MOST_FEATURES:
        return None
    ratios = partial(missing_ratio, subspaces.bases, max_subsets=1)
    return largest_tolerated(ratios, n_features)


def _middle(subspaces: LabelledSubspaces) -> int:
    """Median dimension, but candidates may not fill the space."""
    most = max(1, len(subspaces.bases[0]) - 1)
    return min(int(np.median(subspaces.dims)), most)


@lru_cache(maxsize=8)
def _expected_votes(n_candidates: int, dim: int, n_features: int) -> Monotone:
    """Return f of EKSS-0; it takes a second and depends on nothing else."""
    return coclustering_function(n_candidates, dim, n_features)


def _scalar(f: Monotone) -> Callable[[float], float]:
    return lambda z: float(f(np.asarray(z)))


def _curve(
    points: NDArray[np.float64],
    labels: NDArray[np.integer],
    members: NDArray[Any],
    f: Monotone,
    seed: int,
) -> Curve:
    """Draw pairs, half of them inside clusters, and read their votes."""
    rng = np.random.default_rng(seed)
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
