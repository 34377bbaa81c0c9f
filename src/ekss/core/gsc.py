"""Greedy subspace clustering: neighbours of a point are found one after the other.

The subspace of a point begins as its own direction and grows by every neighbour found;
the next neighbour is the point that lies nearest to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.core.linalg import unit_rows

# Points whose neighbours are sought at once: their projections, of all points, are the
# largest array.
_ENTRIES_AT_ONCE = 2**22
# What a neighbour adds to a subspace is rounding error below this share of its length.
_SHORTEST = 1e-6


def block_size(n_samples: int) -> int:
    """Return how many points are worked on at once."""
    return max(16, min(512, _ENTRIES_AT_ONCE // n_samples))


def greedy_neighbours(
    X: NDArray[np.floating], rows: NDArray[np.integer], dim: int, q: int
) -> NDArray[np.int32]:
    r"""Find q neighbours of some rows, each nearest to the span of those before.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points, one per row. The longest projection counts, so that long points come
        first unless all have unit length.
    rows : ndarray of shape (m,)
        The points whose neighbours are sought.
    dim : int
        The subspace of a point stops growing at this dimension.
    q : int
        Neighbours per point, below n_samples.

    Returns
    -------
    index : ndarray of shape (m, q), int32
        Neighbours in the order in which they were found, the first of equals by index.

    Notes
    -----
    O(m n_samples n_features dim) time in matrix products: a direction that is added
    adds its squared inner products to the squared lengths of all projections.

    References
    ----------
    .. [1] D. Park, C. Caramanis, S. Sanghavi, "Greedy Subspace Clustering", NeurIPS,
       2014.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0.1, 0, 0.995]])
    >>> greedy_neighbours(X, np.array([0]), dim=2, q=2)
    array([[1, 2]], dtype=int32)
    """
    at = np.arange(len(rows))
    bases = np.zeros((dim, len(rows), X.shape[1]), X.dtype)
    projected = np.zeros((len(rows), len(X)), X.dtype)
    index = np.empty((len(rows), q), np.int32)
    newest = unit_rows(X[rows])
    for found in range(min(q, dim)):
        bases[found] = newest
        projected += np.square(newest @ X.T)
        if found == 0:
            projected[at, rows] = -np.inf
        nearest = projected.argmax(axis=1)
        index[:, found] = nearest
        projected[at, nearest] = -np.inf
        newest = unit_rows(X[nearest])
        for direction in bases[: found + 1]:
            along = np.einsum("if,if->i", newest, direction)
            newest = newest - along[:, None] * direction
        lengths = np.linalg.norm(newest, axis=1, keepdims=True)
        newest = np.where(
            lengths > _SHORTEST, newest / np.maximum(lengths, _SHORTEST), 0
        )
    if q > dim:
        order = np.argsort(-projected, axis=1, kind="stable")
        index[:, dim:] = order[:, : q - dim]
    return index
