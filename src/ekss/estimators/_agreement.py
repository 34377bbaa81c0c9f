"""Do two halves of an ensemble cluster alike? If so, it needs no more members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ekss.core.ensemble import MemberOptions
from ekss.core.parallel import progress
from ekss.estimators._auto import Geometry
from ekss.estimators._coordinates import Coordinates
from ekss.estimators._cutting import Cutting, gather_evidence, neighbour_counts
from ekss.estimators._label_room import LabelRoom
from ekss.estimators._members import Ensemble, run_members

# Points that both halves cluster: enough to see a difference of a percent or two.
_FEWEST_POINTS = 1000
_POINTS_PER_CLUSTER = 20
# Halves that agree on this share of the points are enough.
_AGREED = 0.97


def grow_ensemble(
    kept: Coordinates,
    geometry: Geometry,
    options: MemberOptions,
    n_clusters: int,
    steps: Sequence[int],
    cutting: Cutting,
    *,
    known: Ensemble | None,
    room: LabelRoom | None = None,
) -> tuple[Ensemble, float | None]:
    """Run members step by step until two halves of them agree.

    Returns the ensemble, of as many members as one of the steps, and the agreement
    where it was measured last; after the last step it is not.
    """
    agreement = None
    for count in steps:
        known = run_members(
            kept.points,
            cutting.seed,
            options,
            count,
            known=known,
            n_jobs=cutting.n_jobs,
            show=cutting.show,
            room=room,
        )
        if count == steps[-1] or not 1 < n_clusters < len(kept.points):
            break
        with progress("halves", None, show=cutting.show):
            agreement = halves_agreement(
                known,
                kept,
                geometry,
                n_clusters,
                replace(cutting, show=False, approximate=False),
            )
        if agreement >= _AGREED:
            break
    if known is None:
        raise ValueError("no step was given; pass at least one number of members")
    return known, agreement


def halves_agreement(
    ensemble: Ensemble,
    kept: Coordinates,
    geometry: Geometry,
    n_clusters: int,
    cutting: Cutting,
) -> float:
    """Share of points to which odd and even members alone give the same cluster.

    Each half is cut as the whole will be, on a random sample of at most 1000 points or
    20 a cluster, whichever is more, and the clusters of the halves are matched.
    """
    n_samples = len(kept.points)
    size = min(n_samples, max(_FEWEST_POINTS, _POINTS_PER_CLUSTER * n_clusters))
    rng = np.random.default_rng(cutting.seed)
    rows = np.sort(rng.choice(n_samples, size, replace=False))
    sample = kept.take(rows)
    counts = neighbour_counts(size, n_clusters, n_samples)
    found = []
    for first in (0, 1):
        half = ensemble.take(rows, slice(first, None, 2))
        evidence = gather_evidence(sample, geometry, half.labels)
        cut = cutting.best(cutting.votes(half), evidence, n_clusters, counts)
        if cut is None:
            return 0.0
        found.append(cut.labels)
    return matched_share(*found)


def matched_share(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Share of points in the same cluster under the best matching of two labellings."""
    n_labels = int(max(first.max(), second.max())) + 1
    shared = np.bincount(first * n_labels + second, minlength=n_labels**2)
    shared = shared.reshape(n_labels, n_labels)
    pairs = linear_sum_assignment(shared, maximize=True)
    return float(shared[pairs].sum() / len(first))
