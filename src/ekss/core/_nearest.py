"""Compiled kernels: the q largest entries of every row, tile after tile."""

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
