"""K-means on the rows of an embedding; of many rows a sample for the restarts.

Cuts are made in worker threads, where scikit-learn's k-means must not run: it warns
of coinciding rows, and checks its input with the warning filters of the whole process
changed. This one does neither, and what coincides is for the caller to deal with.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

# Up to so many rows every restart sees all of them; beyond, a sample of that size.
ALL_ROWS = 50_000
# Iterations at most, and the movement of the centres, as a share of the variance, at
# which they have come to rest: as in scikit-learn.
_MAX_ITER = 300
_TOLERANCE = 1e-4
# Squared distances, as a share of the largest squared row, that may be rounding.
_ROUNDING = 1e-13
# Distances held at once: what fits the cache of a core.
_BLOCK_ENTRIES = 2**17


def kmeans_labels(
    rows: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    """Cluster rows by k-means; coinciding rows may leave clusters empty.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    n_clusters : int
    n_init : int
        Restarts, each from centres spread by k-means++ [1]_; the one of least cost
        is kept.
    seed : int

    Returns
    -------
    labels : ndarray of shape (n_points,)

    Notes
    -----
    Beyond ``ALL_ROWS`` rows the restarts run on a random sample of so many, and the
    best one is the start of a single run on all rows. So the cost of a restart does
    not grow with the number of points. Warnings are never issued.

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding",
       SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> kmeans_labels(np.array([[0.0], [0.1], [5.0]]), 2, 1, 0)[:2].tolist() in (
    ...     [0, 0],
    ...     [1, 1],
    ... )
    True
    """
    rng = np.random.default_rng(seed)
    # Distances are differences of squares, which lose least near the origin.
    rows = rows - rows.mean(axis=0)
    size = max(ALL_ROWS, n_clusters)
    sample = rows
    if len(rows) > size:
        sample = rows[np.sort(rng.choice(len(rows), size, replace=False))]
    runs = (
        _descend(sample, _spread_centres(sample, n_clusters, rng))
        for _ in range(n_init)
    )
    best = min(runs, key=lambda run: run.cost)
    if len(rows) > size:
        best = _descend(rows, best.centres)
    return best.labels


@dataclass(frozen=True)
class _Run:
    """Clusters of one start, their centres, and the sum of squared distances."""

    labels: NDArray[np.int64]
    centres: NDArray[np.float64]
    cost: float


def _spread_centres(
    rows: NDArray[np.float64], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Choose rows as centres, far ones preferably: greedy k-means++.

    They are fewer than asked for where all other rows coincide with one of them.
    """
    squares = np.einsum("ij,ij->i", rows, rows)
    n_trials = 2 + int(log(n_clusters))
    chosen = [int(rng.integers(len(rows)))]
    distances = _to_rows(rows, squares, np.array(chosen))[0]
    while len(chosen) < n_clusters and distances.any():
        total = np.cumsum(distances)
        drawn = np.searchsorted(total, rng.random(n_trials) * total[-1], side="right")
        tried = np.minimum(drawn, len(rows) - 1)
        nearest = np.minimum(distances, _to_rows(rows, squares, tried))
        best = int(nearest.sum(axis=1).argmin())
        chosen.append(int(tried[best]))
        distances = nearest[best]
    return rows[chosen]


def _to_rows(
    rows: NDArray[np.float64],
    squares: NDArray[np.float64],
    numbers: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Squared distances of some rows, by their numbers, to all."""
    products = rows[numbers] @ rows.T
    distances = squares[numbers][:, None] + squares - 2 * products
    distances[distances <= _ROUNDING * squares.max()] = 0.0
    return distances


def _descend(rows: NDArray[np.float64], centres: NDArray[np.float64]) -> _Run:
    """Assign rows to the nearest centres and move these to the means, in turns."""
    n_rows, n_clusters = len(rows), len(centres)
    squares = np.einsum("ij,ij->i", rows, rows)
    smallest = _ROUNDING * float(squares.max())
    # The mean square is that of rows whose mean is zero: their variance.
    rest = _TOLERANCE * float(squares.mean()) / max(rows.shape[1], 1)
    labels, distances = _nearest(rows, squares, centres)
    for _ in range(_MAX_ITER):
        counts = np.bincount(labels, minlength=n_clusters)
        empty = np.flatnonzero(counts == 0)
        if empty.size:
            # An empty cluster takes the row that is worst off, if one is off at all.
            farthest = np.argsort(-distances, kind="stable")[: empty.size]
            farthest = farthest[distances[farthest] > smallest]
            labels[farthest] = empty[: farthest.size]
            counts = np.bincount(labels, minlength=n_clusters)
        members = csc_array(
            (np.ones(n_rows), labels, np.arange(n_rows + 1)),
            shape=(n_clusters, n_rows),
        )
        means = (members @ rows) / np.maximum(counts, 1)[:, None]
        means[counts == 0] = centres[counts == 0]
        moved = float(np.square(means - centres).sum())
        centres, before = means, labels
        labels, distances = _nearest(rows, squares, centres)
        if moved <= rest or np.array_equal(labels, before):
            break
    return _Run(labels, centres, float(distances.sum()))


def _nearest(
    rows: NDArray[np.float64],
    squares: NDArray[np.float64],
    centres: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest centre of every row and the squared distance to it."""
    lengths = np.einsum("ij,ij->i", centres, centres)
    labels = np.empty(len(rows), np.int64)
    distances = np.empty(len(rows))
    step = max(1, _BLOCK_ENTRIES // len(centres))
    for first in range(0, len(rows), step):
        block = slice(first, first + step)
        beyond = rows[block] @ (-2.0 * centres.T)
        beyond += lengths
        labels[block] = beyond.argmin(axis=1)
        distances[block] = beyond.min(axis=1)
    return labels, np.maximum(distances + squares, 0.0)
