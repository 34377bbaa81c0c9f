"""Compiled kernel: add the companions of one member."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def add_member(
    shares: NDArray[np.float32],
    table: NDArray[np.float32],
    each: NDArray[np.float32],
    base: NDArray[np.int64],
    labels: NDArray[Any],
) -> None:
    """Add ``table[base[i]]`` to row i, less ``each[base[i]]`` for the point itself."""
    n_clusters = shares.shape[1]
    for i in range(shares.shape[0]):
        m = base[i]
        for k in range(n_clusters):
            shares[i, k] += table[m, k]
        shares[i, labels[i]] -= each[m]
