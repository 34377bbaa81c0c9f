"""Thresholding-based subspace clustering: the points of smallest angle to each point.

Inner products are made in tiles by matrix multiplication and offered to one heap a
row, so that no n_samples x n_samples matrix exists.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def offer_tile(
    products: NDArray[Any],
    start: int,
    own: NDArray[np.int64],
    group: NDArray[np.int64],
    index: NDArray[np.int32],
    value: NDArray[np.float64],
) -> None:
    """Offer points start, start + 1, ... to the heaps of the rows."""
    for r in range(products.shape[0]):
        least = value[r, 0]
        for c in range(products.shape[1]):
            # Points come in order of index, so equal values never displace earlier.
            size = abs(products[r, c])
            if size > least and group[c] != own[r]:
                _replace_least(index[r], value[r], start + c, size)
                least = value[r, 0]


@numba.njit(nogil=True, cache=True)
def _replace_least(
    index: NDArray[np.int32], value: NDArray[np.float64], point: int, size: float
) -> None:
    """Put a point in place of the root, the smallest value of the largest index."""
    q = value.shape[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= q:
            break
        if child + 1 < q and (
            value[child + 1] < value[child]
            or (value[child + 1] == value[child] and index[child + 1] > index[child])
        ):
            child += 1
        # The new point has the largest index: it goes above its equals.
        if value[child] >= size:
            break
        value[place], index[place] = value[child], index[child]
        place = child
    value[place], index[place] = size, point


ROWS_AT_ONCE = 512
_COLUMNS_AT_ONCE = 2048


def nearest_by_angle(
    X: NDArray[np.floating],
    q: int,
    *,
    rows: NDArray[np.integer] | None = None,
    group: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    r"""Find the q points with the largest :math:`|\langle x_i, x_j \rangle|`.

    For points of unit length these are the points of smallest angle up to sign, the
    neighbours of thresholding-based subspace clustering (step 1 of TSC in [1]_).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points, one per row.
    q : int
        Neighbours wanted a point, at least 1.
    rows : ndarray of shape (m,), default=None
        The points whose neighbours are wanted; all points if None.
    group : ndarray of shape (n_samples,), default=None
        Points of a row's own group are not its neighbours; if None only the row
        itself is not.

    Returns
    -------
    index : ndarray of shape (m, q), int32
        Neighbours by descending inner product, ties in order of index; -1 where there
        are fewer than q, because an inner product of zero makes no neighbour.
    value : ndarray of shape (m, q), float64
        The absolute inner products; 0 where ``index`` is -1. Rounding may lift those
        of unit vectors slightly above 1.

    Notes
    -----
    O(m n_samples n_features) time in matrix products, and O(m q) memory beside one
    tile of 512 x 2,048 inner products.

    References
    ----------
    .. [1] R. Heckel, H. Bölcskei, "Robust Subspace Clustering via Thresholding", IEEE
       Transactions on Information Theory 61(11), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-0.8, 0.6]])
    >>> index, value = nearest_by_angle(X, 1)
    >>> index.ravel(), value.ravel()
    (array([2, 2, 0], dtype=int32), array([0.8, 0.6, 0.8]))
    >>> nearest_by_angle(X, 2)[0][0]
    array([ 2, -1], dtype=int32)
    """
    n = len(X)
    chosen = np.asarray(np.arange(n) if rows is None else rows, np.int64)
    kept_apart = np.asarray(np.arange(n) if group is None else group, np.int64)
    index = np.full((len(chosen), q), -1, np.int32)
    value = np.zeros((len(chosen), q))
    for first in range(0, len(chosen), ROWS_AT_ONCE):
        block = slice(first, first + ROWS_AT_ONCE)
        own, points = kept_apart[chosen[block]], X[chosen[block]]
        for start in range(0, n, _COLUMNS_AT_ONCE):
            columns = slice(start, start + _COLUMNS_AT_ONCE)
            products = points @ X[columns].T
            offer_tile(
                products, start, own, kept_apart[columns], index[block], value[block]
            )
    _sort_rows(index, value)
    return index, value


def angle_weights(value: NDArray[np.floating]) -> NDArray[np.float64]:
    r"""Return the edge weights :math:`\exp(-2 \arccos |\cos|)` of TSC.

    Parameters
    ----------
    value : ndarray
        Cosines; absolute values above 1 by rounding count as 1.

    Returns
    -------
    weights : ndarray of the same shape
        Between exp(-pi), for orthogonal points, and 1.

    Examples
    --------
    >>> import numpy as np
    >>> angle_weights(np.array([1.0, 0.0])).round(6)
    array([1.      , 0.043214])
    """
    cosines = np.minimum(np.abs(np.asarray(value, np.float64)), 1.0)
    return np.exp(-2.0 * np.arccos(cosines))


def _sort_rows(index: NDArray[np.int32], value: NDArray[np.float64]) -> None:
    """Sort every row by descending value, equals by index, in place."""
    by_index = np.argsort(index, axis=1, kind="stable")
    values = np.take_along_axis(value, by_index, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    order = np.take_along_axis(by_index, order, axis=1)
    index[:] = np.take_along_axis(index, order, axis=1)
    value[:] = np.take_along_axis(value, order, axis=1)
