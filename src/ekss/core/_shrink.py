"""Compiled kernel of sparse subspace clustering; importing it loads numba."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def shrink(
    linear: NDArray[np.floating],
    codes: NDArray[np.floating],
    multipliers: NDArray[np.floating],
    own: NDArray[np.int64],
    threshold: float,
    relaxation: float,
) -> None:
    """Soft-threshold and update the multipliers in one pass."""
    n_points, n = linear.shape
    for i in range(n_points):
        for j in range(n):
            before = codes[i, j]
            value = (
                relaxation * linear[i, j]
                + (1 - relaxation) * before
                + multipliers[i, j]
            )
            after = 0.0
            if j != own[i]:
                after = max(value - threshold, 0.0) + min(value + threshold, 0.0)
            codes[i, j] = after
            multipliers[i, j] = value - after
