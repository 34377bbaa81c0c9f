"""Before stage 1, settle: what must be known before the rows can be prepared.

:func:`settle` finds the number of clusters (:mod:`ekss.ensemble.count`), decides
between linear and affine subspaces, and chooses the directions in which points are
whitened (:mod:`ekss.ensemble.whiten`), by trial ensembles on some of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ekss.ensemble.count import COUNT, Count, CountSearch
from ekss.ensemble.decide import Wishes, decide_affine
from ekss.ensemble.prepare import Coordinates, prepare
from ekss.ensemble.vote import Ensemble
from ekss.ensemble.whiten import (
    Whitening,
    features_of,
    may_whiten,
    try_whitening,
    whitened,
)
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class Settled:
    """Decisions made before the points are prepared, with their evidence.

    Attributes
    ----------
    n_clusters : int
    affine, unit : bool
        Whether subspaces may miss the origin; whether rows are scaled to unit length.
    seen : Coordinates or None
        The whitened points; None if they are not whitened.
    whitenings : tuple of Whitening
        Numbers of directions that were tried, best first; empty if none were.
    counts : tuple of Count
        Numbers of clusters compared in the last round, best first; empty if the number
        was given.
    ensemble : Ensemble or None
        Members that were run in the trial of the chosen directions.
    """

    n_clusters: int
    affine: bool
    unit: bool
    seen: Coordinates | None = None
    whitenings: tuple[Whitening, ...] = ()
    counts: tuple[Count, ...] = ()
    ensemble: Ensemble | None = None

    @property
    def n_directions(self) -> int:
        """Number of directions in which the points are whitened; 0 if they are not."""
        return 0 if self.seen is None else self.seen.points.shape[1]

    @property
    def features(self) -> str:
        """What members see: "rows", or "scattering" features of images."""
        return "rows" if self.seen is None else features_of(self.seen)


def settle(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> Settled:
    """Settle the number of clusters, linear or affine, and how points are whitened.

    A number of clusters found here leads to the same decisions as the same number given
    by the user: decisions made for a guess only serve to find the number.
    """
    if wishes.n_clusters is not None:
        return _settle_given(rows, wishes, wishes.n_clusters, seed, workers)
    rng = np.random.default_rng(seed)
    few = rows
    if len(rows) > COUNT.rows:
        few = rows[np.sort(rng.choice(len(rows), COUNT.rows, replace=False))]
    counts = CountSearch(few, wishes, seed, workers, _settle_given).best_first()
    found = counts[0].n_clusters if counts else 1
    settled = _settle_given(rows, wishes, found, seed, workers)
    return replace(settled, counts=counts)


def _settle_given(
    rows: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    workers: Workers,
) -> Settled:
    """Settle everything else for a given number of clusters, or for a guess."""
    affine = decide_affine(rows, wishes.affine, n_clusters)
    unit = wishes.unit(affine=affine)
    if unit and not affine and may_whiten(rows, wishes, n_clusters):
        chosen = try_whitening(rows, wishes, n_clusters, seed, workers)
        return Settled(
            n_clusters,
            affine,
            unit,
            chosen.seen,
            chosen.whitenings,
            ensemble=chosen.ensemble,
        )
    seen = None
    if wishes.whiten:
        points = prepare(rows, unit=unit, affine=affine).rows
        (seen,) = whitened(points, (wishes.whiten,), unit=unit)
    return Settled(n_clusters, affine, unit, seen)
