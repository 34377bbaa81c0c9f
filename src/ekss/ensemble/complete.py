"""Before the chain, if entries are missing: fill them in from the clusters.

Rows are filled in by a single Gaussian for all of them, clustered, and filled in again
by one subspace per cluster, which is fitted to the observed entries alone; this is
repeated until the clusters stay the same. If the subspaces of the clusters do not
predict held-out entries better than the single Gaussian, the Gaussian is kept. The
chain itself only ever sees complete rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.core.completion import (
    Completion,
    HeldOut,
    bytes_of_blocks,
    fit_completion,
    fit_each,
    fit_one,
    hold_out,
    refine,
    work_of_filling,
    work_of_mixture,
    work_of_one,
    work_of_refining,
)
from ekss.ensemble.prepare import power_of_two
from ekss.ensemble.vote import matched_share
from ekss.runtime.memory import RATES, Estimate, Stage, Work
from ekss.runtime.rows import draw_sample
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Rows that are clustered to find the subspaces: a minimum, and a number per
    # cluster.
    rows: int = 2000
    rows_per_cluster: int = 100
    # Share of the observed entries on which models are compared and their standard
    # errors measured.
    held: float = 0.05
    # If the squared error of the single Gaussian is a larger share of the squared
    # entries than this, it is no evidence against subspaces of clusters that are yet to
    # be found.
    telling: float = 0.25
    # Maximum number of clusterings; the second one benefits from dimensions that are
    # estimated from better fillings (docs/experiments.md, "Missing entries").
    rounds: int = 3
    likely: int = 2
    # Directions given to subspaces, as a multiple of those that they are likely to
    # have.
    wide: int = 2
    # Clusterings count as the same if they agree on this share of the points.
    same: float = 0.99
    # Clusterings from which the subspaces are started, and the share of points such
    # that two of them count as different if they agree on less.
    starts: int = 8
    different: float = 0.95


_RULES = _Rules()


@dataclass(frozen=True)
class Begun:
    """A clustering of filled rows, from which subspaces are fitted to observed entries.

    Attributes
    ----------
    labels : sequence of ndarray of shape (n_samples,)
        Clusterings, the best one first.
    rank : int
        Largest dimension that the subspaces of the rows may have.
    unit, affine : bool
        Whether rows are scaled to unit length, and whether subspaces may miss the
        origin.
    """

    labels: Sequence[NDArray[np.int64]]
    rank: int
    unit: bool
    affine: bool


def complete(
    rows: NDArray[np.floating],
    cluster: Callable[[NDArray[np.floating]], Begun],
    n_clusters: int,
    seed: int,
    workers: Workers,
) -> Completion:
    """Find subspaces that fill in the missing entries of rows.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        Rows, with NaN for missing entries.
    cluster : callable
        Clusters filled rows.
    n_clusters : int
        Approximate number of clusters: more clusters need more rows.
    seed : int
        Seed for drawing the rows that are clustered, if there are many.
    workers : Workers

    Returns
    -------
    Completion
    """
    _check_columns(rows)
    sample = draw_sample(len(rows), clustered_rows(len(rows), n_clusters), seed)
    some = rows if sample is None else rows[sample]
    with workers.stage("missing entries"):
        # Holes may have been drawn with the seed itself, and would be drawn again.
        own = np.random.SeedSequence(seed, spawn_key=(0, 1))
        held = hold_out(some, _RULES.held, np.random.default_rng(own))
        found, unaware = _by_clusters(held, some, cluster)
        calibration = held.calibration(unaware)
        if sample is not None:
            found = refine(found, rows)
        return replace(found, calibration=calibration)


def _by_clusters(
    held: HeldOut,
    rows: NDArray[np.floating],
    cluster: Callable[[NDArray[np.floating]], Begun],
) -> tuple[Completion, Completion]:
    """Return one Gaussian for all rows or one per cluster, chosen by held-out entries.

    The first model returned is fitted to all entries, the second to all but the
    held-out ones.
    """
    for_all = fit_one(held)
    filled_for_all = for_all(held.rows)
    error = held.error_of(filled_for_all)
    found = refine(for_all, rows)
    before: NDArray[np.int64] | None = None
    for _ in range(_RULES.rounds):
        filled = found(rows)
        begun = cluster(filled)
        best = begun.labels[0]
        if before is not None and matched_share(best, before) >= _RULES.same:
            break
        options: dict[str, Any] = {
            "rank": begun.rank,
            "unit": begun.unit,
            "affine": begun.affine,
            "scale": 1.0 if begun.unit else _scale_of(rows),
        }
        if before is None and error < _RULES.telling:
            tried = fit_each(held.rows, filled_for_all, best, **options)
            if held.error(tried) > error:
                return found, for_all
        before = best
        found = fit_completion(rows, filled, _different(begun.labels), **options)
    return found, refine(found, held.rows)


def clustered_rows(n_samples: int, n_clusters: int) -> int:
    """Return how many rows are clustered to find the subspaces."""
    return min(n_samples, max(_RULES.rows, _RULES.rows_per_cluster * n_clusters))


def complete_cost(work: Work, small: Estimate) -> Stage:
    """Estimate the cost of small fits to some rows, and of subspaces for all rows."""
    n_features, n_clusters = work.n_features, work.n_clusters
    rows = clustered_rows(work.voted, n_clusters)
    rank = min(work.dim, _RULES.wide * (work.likely_dim or work.dim))
    of_clusters = n_features, n_clusters, rank
    multiplied = work_of_one(rows, n_features)
    # Clusters that no row leaves are tried first, at the cost of a single cluster.
    multiplied += work_of_refining(rows, n_features, 1, rank)
    multiplied += _RULES.likely * work_of_mixture(rows, *of_clusters)
    if rows < work.voted:
        multiplied += work_of_refining(work.voted, *of_clusters)
    multiplied += work_of_filling(work.voted, *of_clusters)
    seconds = _RULES.likely * small.seconds + 1e-9 * RATES.moment * multiplied
    # Entries in float64 before and after filling in, with their mask; and the same for
    # the rows.
    held = work.voted * n_features * (3 * 8 + 1 + 2 * work.itemsize)
    stages = (stage.bytes for stage in small.stages.values())
    return Stage(seconds, held + max(bytes_of_blocks(), *stages))


def _different(clusterings: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return the first few clusterings that differ clearly from each other."""
    kept: list[NDArray[np.int64]] = []
    for labels in clusterings:
        if all(matched_share(labels, one) < _RULES.different for one in kept):
            kept.append(labels)
        if len(kept) == _RULES.starts:
            break
    return kept


def _scale_of(rows: NDArray[np.floating]) -> float:
    """Return a power of two near the largest observed entry."""
    return power_of_two(float(np.nanmax(np.abs(rows))))


def _check_columns(rows: NDArray[np.floating]) -> None:
    """Refuse a feature that has no observed entry."""
    empty = np.isnan(rows).all(axis=0)
    if empty.any():
        raise ValueError(
            f"column {int(empty.argmax())} (counted from 0) of X has no observed entry "
            f"in any of {len(rows)} rows; leave it out"
        )
