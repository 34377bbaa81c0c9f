"""Runs of K-subspaces that take subspaces from each other.

Runs that have come to rest in different local minima have often found different ones
of the true subspaces. Here a run swaps its own subspaces for those of a pool of all
runs, one after the other, as long as that lowers its cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import BLOCK_ENTRIES, Candidates
from ekss.core.linalg import Flats

# Residuals of a pool that are kept, 128 MB: of more points, a sample decides on swaps.
MOST_ENTRIES = 2**24


@dataclass(frozen=True)
class Pool:
    """Subspaces of several runs, one run after the other.

    Attributes
    ----------
    n_clusters : int
        Subspaces of each run.
    flats : Flats
        All subspaces.
    residuals : ndarray of shape (n_points, n_subspaces), float64
        Squared distance of the points that decide to every subspace.
    """

    n_clusters: int
    flats: Flats
    residuals: NDArray[np.float64]

    def take(self, chosen: Sequence[int]) -> Flats:
        """Return some of the subspaces."""
        places, offsets = list(chosen), self.flats.offsets
        return Flats(
            self.flats.bases[places], None if offsets is None else offsets[places]
        )


def pool_of(X: NDArray[np.floating], runs: Sequence[Flats], seed: int) -> Pool:
    """Put the subspaces of runs into one pool.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    runs : sequence of Flats
        As many subspaces each, of the same dimension, all linear or all affine.
    seed : int
        For the draw of the points that decide, where residuals of all are too many.
    """
    bases = np.concatenate([flats.bases for flats in runs])
    offsets = [flats.offsets for flats in runs if flats.offsets is not None]
    flats = Flats(bases, np.concatenate(offsets) if offsets else None)
    most = max(MOST_ENTRIES // len(bases), 1)
    if len(X) > most:
        rng = np.random.default_rng(seed)
        X = X[np.sort(rng.choice(len(X), most, replace=False))]
    return Pool(len(runs[0].bases), flats, _residuals(X, Candidates.of([flats])))


def _residuals(X: NDArray[np.floating], candidates: Candidates) -> NDArray[np.float64]:
    """Return squared distances to all candidates: energy less what they capture.

    A product with all directions at once, several times as fast as residual vectors
    (:func:`ekss.core.linalg.squared_residuals`), which keep the digits of tiny
    distances; costs of swaps are sums, to which those add nothing.
    """
    directions, offsets = candidates.directions, candidates.offsets
    penalty = np.einsum("kd,kd->k", offsets, offsets)
    residuals = np.empty((len(X), len(candidates.first_direction) - 1))
    block = max(BLOCK_ENTRIES // len(directions), 1)
    for first in range(0, len(X), block):
        rows = X[first : first + block]
        along = np.square(directions @ rows.T)
        captured = np.add.reduceat(along, candidates.first_direction[:-1], axis=0)
        if len(offsets):
            captured += 2 * (offsets @ rows.T) - penalty[:, None]
        energy = np.einsum("ij,ij->i", rows, rows)
        residuals[first : first + block] = energy[:, None] - captured.T
    return np.maximum(residuals, 0.0, out=residuals)


def choose_subspaces(pool: Pool, run: int, *, slack: float) -> NDArray[np.int64] | None:
    """Return subspaces for a run, in place of its own; None if its own are best."""
    own = np.arange(pool.n_clusters) + run * pool.n_clusters
    chosen = swap_subspaces(pool.residuals, own, slack)
    return None if np.array_equal(chosen, own) else chosen


def swap_subspaces(
    residuals: NDArray[np.float64], chosen: NDArray[np.int64], slack: float
) -> NDArray[np.int64]:
    """Swap chosen subspaces for others of a pool while that lowers the cost.

    The cost is the sum of the residuals of points to the nearest chosen subspace. Of
    all pairs of a chosen subspace and one of the pool, the swap that lowers it most
    is made, until none lowers it by more than ``slack``.

    Parameters
    ----------
    residuals : ndarray of shape (n_points, n_subspaces), float64, C-contiguous
    chosen : ndarray of shape (n_chosen,)
        Columns of ``residuals`` to begin with, two at least.
    slack : float
        Costs that differ by no more are equal: of equal swaps the first is made.

    Returns
    -------
    chosen : ndarray of shape (n_chosen,)

    Notes
    -----
    A swap costs O(n_points (n_subspaces + n_chosen)) time, whatever the number of
    pairs: what a candidate saves is summed for all subspaces it may replace at once.
    """
    chosen = chosen.copy()
    while True:
        change = np.zeros((len(chosen), residuals.shape[1]))
        saved = np.zeros(residuals.shape[1])
        lost = np.zeros(len(chosen))
        _add_changes(residuals, chosen, saved, lost, change)
        change += saved + lost[:, None]
        lowest = change.min()
        if not lowest < -slack:
            return chosen
        place, column = np.argwhere(change <= min(lowest + slack, -slack))[0]
        chosen[place] = column


@numba.njit(nogil=True, cache=True)
def _add_changes(
    residuals: NDArray[np.float64],
    chosen: NDArray[np.int64],
    saved: NDArray[np.float64],
    lost: NDArray[np.float64],
    change: NDArray[np.float64],
) -> None:
    """Sum over points how swaps change the cost.

    Swapping chosen subspace k for column c changes it by
    ``saved[c] + lost[k] + change[k, c]``: what c saves beside all chosen ones, what
    leaving out k loses, and how far c makes up for k. All begin as zeros.
    """
    for i in range(residuals.shape[0]):
        first, second, nearest = np.inf, np.inf, 0
        for place in range(chosen.shape[0]):
            own = residuals[i, chosen[place]]
            if own < first:
                first, second, nearest = own, first, place
            elif own < second:
                second = own
        lost[nearest] += second - first
        for c in range(residuals.shape[1]):
            other = residuals[i, c]
            if other < second:
                if other < first:
                    saved[c] += other - first
                    change[nearest, c] += first - second
                else:
                    change[nearest, c] += other - second
