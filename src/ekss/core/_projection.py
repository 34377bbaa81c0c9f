"""Compiled kernel of the assignment step; importing it loads numba."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def best_projection(
    products: NDArray[np.floating],
    dim: int,
    penalty: NDArray[np.floating],
    labels: NDArray[np.int32],
    gains: NDArray[np.floating],
    own: NDArray[np.floating],
) -> None:
    """Find for each row the subspace with the largest gain, and keep its product.

    A row of ``products`` holds, subspace after subspace, the ``dim`` coordinates and,
    for affine subspaces, the inner product with the offset (``len(penalty)`` is then
    the number of subspaces, otherwise 0). The gain is what the subspace takes off the
    squared norm of the point; the first of equal gains wins.
    """
    n = products.shape[0]
    affine = penalty.shape[0] > 0
    stride = dim + 1 if affine else dim
    n_subspaces = products.shape[1] // stride
    for i in range(n):
        best_gain = -np.inf
        best = 0
        for k in range(n_subspaces):
            start = k * stride
            gain = products[i, start] * products[i, start]
            for j in range(start + 1, start + dim):
                gain += products[i, j] * products[i, j]
            if affine:
                gain += 2 * products[i, start + dim] - penalty[k]
            if gain > best_gain:
                best_gain = gain
                best = k
        labels[i] = best
        gains[i] = best_gain
        for j in range(dim):
            own[i, j] = products[i, best * stride + j]
