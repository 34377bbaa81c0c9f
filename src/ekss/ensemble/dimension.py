"""A single dimension for all subspaces, as K-subspaces needs it.

If linear subspaces have little noise, the data show their dimension clearly. Around a
point, fit a subspace of dimension 1, 2, ... to the points that it fits best, as many of
them as make up most of a cluster. The energy of these points outside the subspace falls
slowly until the dimension reaches that of the cluster; there it drops at once to the
noise. Images and other data without such a drop have no dimension in this sense.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from ekss.core.linalg import unit_rows
from ekss.ensemble.decide import median_directions

# Points around which subspaces are fitted, and rows that they are fitted to: a minimum,
# and a number per cluster.
_PROBES = 32
_FEWEST_ROWS = 1000
_ROWS_PER_CLUSTER = 50
# Maximum dimension tried, and rounds of "take the points that fit best, fit again".
_MOST_DIMS = 12
_ROUNDS = 6
# Share of a mean cluster that a subspace must fit. The best quarter of the probes
# counts: the others lie in smaller clusters, or their fit went astray.
_SHARE = 0.75
_QUANTILE = 0.25
# Noise of a tenth of a point's length has this share of its energy.
_LITTLE = 0.01
# At the dimension of planted subspaces (up to 3 dimensions, 20 points each, noise 0.1),
# the energy outside falls at least 5.5 times as fast as for points without structure.
# In digits it falls at most 1.4 times as fast beyond dimension 1; in USPS 3.9 times,
# but never to little. In COIL-20 it falls to little at dimension 1, for the best
# quarter.
_DROP = 3.0
_ROUNDING = 1e-6
# Used without a drop: the share of the energy of a neighbourhood, and the largest
# dimension, because noise makes the count grow without bound, and the cost of every run
# with it.
_ENERGY = 0.95
_LARGEST_DIM = 20


def clear_dim(
    X: NDArray[np.floating], n_clusters: int, rng: np.random.Generator
) -> int | None:
    """Return the dimension of linear subspaces, or None if none stands out.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Only directions count, not lengths.
    n_clusters : int
    rng : numpy.random.Generator
        Draws the points that are examined.

    Returns
    -------
    dim : int or None
        The smallest dimension at which at most 1 % of the energy of most of a cluster
        is left outside, and at which that energy falls three times as fast as it would
        for points without structure. At most 12, and at most a third of the mean
        cluster size.

    Notes
    -----
    Takes O(n_rows n_features) time for each of some thousand fitted directions, where
    n_rows is at most 1000 or 50 per cluster, whichever is larger.
    """
    size = min(len(X), max(_FEWEST_ROWS, _ROWS_PER_CLUSTER * n_clusters))
    rows = X if size == len(X) else X[np.sort(rng.choice(len(X), size, replace=False))]
    points = unit_rows(rows.astype(np.float64, copy=False))
    n_features = points.shape[1]
    most = min(_MOST_DIMS, n_features - 1, len(points) // (3 * n_clusters))
    count = int(_SHARE * len(points) / n_clusters)
    probes = rng.choice(len(points), min(_PROBES, len(points)), replace=False)
    near = np.argsort(-np.abs(points[probes] @ points.T), axis=1, kind="stable")
    before = before_by_chance = 1.0
    for dim in range(1, most + 1):
        outside = max(_energy_outside(points, near, dim, count), _ROUNDING)
        by_chance = _energy_by_chance(n_features, dim, count / len(points))
        drop = before / outside
        if outside <= _LITTLE and drop >= _DROP * before_by_chance / by_chance:
            return dim
        before, before_by_chance = outside, by_chance
    return None


def _energy_outside(
    points: NDArray[np.floating], near: NDArray[np.integer], dim: int, count: int
) -> float:
    """Return the energy, outside fitted subspaces, of the points that they fit best.

    A fit starts from the neighbours of a probe and alternates between a power step and
    choosing the points that fit best; the lower quartile over the probes is returned.
    """
    chosen = points[near[:, : 2 * dim]]
    bases = np.linalg.svd(chosen.transpose(0, 2, 1), full_matrices=False)[0][:, :, :dim]
    for _ in range(_ROUNDS):
        held = ((points @ bases) ** 2).sum(axis=2)
        best = np.argpartition(-held, count - 1, axis=1)[:, :count]
        chosen = points[best]
        bases = np.linalg.qr(chosen.transpose(0, 2, 1) @ (chosen @ bases))[0]
    held = ((points @ bases) ** 2).sum(axis=2)
    held = -np.partition(-held, count - 1, axis=1)[:, :count]
    return float(np.quantile(1 - held.mean(axis=1), _QUANTILE))


def _energy_by_chance(n_features: int, dim: int, share: float) -> float:
    """Return the same energy for uniform directions and any fixed subspace.

    Their energy outside the subspace has a beta distribution, of which the lowest share
    counts.
    """
    a, b = (n_features - dim) / 2, dim / 2
    largest = betaincinv(a, b, share)
    return float(a / (a + b) * betainc(a + 1, b, largest) / share)


def estimate_dim(
    X: NDArray[np.floating],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    affine: bool = False,
) -> int:
    """Estimate the dimension of the subspaces from the neighbourhoods of points.

    If linear subspaces have little noise, their dimension stands out: see
    ``clear_dim``. Otherwise, for up to 64 random points, take the
    n_samples / (4 n_clusters) points (at least 10) with the largest absolute inner
    product and count the principal directions that hold 95 % of their energy. The
    estimate is the median count, but at most 20, half the number of features, and a
    third of the mean cluster size. For affine subspaces the nearest points are taken
    instead, and their mean is subtracted.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Draws the points whose neighbours are examined.
    affine : bool, default=False
        Whether subspaces may miss the origin.

    Returns
    -------
    dim : int
        The estimate, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.ensemble import estimate_dim
    >>> X = make_union_of_subspaces(2, 3, 20, 60, random_state=0).data
    >>> estimate_dim(X, 2, np.random.default_rng(0))
    3
    """
    clear = None if affine else clear_dim(X, n_clusters, *rng.spawn(1))
    if clear is not None:
        return clear
    n, n_features = X.shape
    size = min(n, max(10, n // (4 * n_clusters)))
    (count,) = median_directions(X, size, (_ENERGY,), rng, affine=affine)
    most = max(1, min(_LARGEST_DIM, n_features // 2, n // (3 * n_clusters)))
    return min(count, most)
