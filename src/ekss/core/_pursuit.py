"""Compiled kernels of orthogonal matching pursuit."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# An atom whose squared sine to the span of the others is smaller adds no direction.
_SMALLEST_PIVOT = 1e-10


@numba.njit(nogil=True, cache=True)
def offer_tile(
    products: NDArray[Any],
    start: int,
    rows: NDArray[np.int64],
    support: NDArray[np.int32],
    atoms: NDArray[np.int64],
    sizes: NDArray[np.float64],
) -> None:
    """Replace the best atoms by better ones of the tile, not self, not taken."""
    for r in range(products.shape[0]):
        best = sizes[r]
        for c in range(products.shape[1]):
            size = abs(products[r, c])
            if size > best and start + c != rows[r]:
                is_new = True
                for s in range(support.shape[1]):
                    is_new = is_new and support[r, s] != start + c
                if is_new:
                    best = size
                    atoms[r] = start + c
        sizes[r] = best


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Inner product, summed in float64."""
    total = 0.0
    for d in range(a.shape[0]):
        total += np.float64(a[d]) * np.float64(b[d])
    return total


@numba.njit(nogil=True, cache=True)
def extend(
    X: NDArray[Any],
    step: int,
    live: NDArray[np.int64],
    atoms: NDArray[np.int64],
    sizes: NDArray[np.float64],
    tol: float,
    rounding: float,
    block: Any,
) -> None:
    """Add its atom to every live point of the block that can use it, end the others."""
    remainder = np.empty(X.shape[1])
    for r in range(live.shape[0]):
        i, j = live[r], atoms[r]
        block.live[i] = False
        if j < 0:
            continue
        point, factor, solved = block.points[i], block.factor[i], block.half_solved[i]
        energy = _dot(X[j], X[j])
        size = np.sqrt(_dot(point, point))
        if sizes[r] <= rounding * block.left[i] * size * np.sqrt(energy):
            continue
        if not _add_to_factor(X, factor, block.support[i], step, j, energy):
            continue
        block.support[i, step] = j
        known = _dot(X[j], point)
        for s in range(step):
            known -= factor[step, s] * solved[s]
        solved[step] = known / factor[step, step]
        _solve_back(factor, solved, step + 1, block.coefficient[i])
        remainder[:] = point
        for s in range(step + 1):
            atom, weight = X[block.support[i, s]], block.coefficient[i, s]
            for d in range(remainder.shape[0]):
                remainder[d] -= weight * atom[d]
        block.residuals[i] = remainder
        block.left[i] = np.sqrt(_dot(remainder, remainder)) / size
        block.live[i] = block.left[i] > tol


@numba.njit(nogil=True, cache=True)
def _add_to_factor(
    X: NDArray[Any],
    factor: NDArray[np.float64],
    support: NDArray[np.int32],
    step: int,
    atom: int,
    energy: float,
) -> bool:
    """Add a row to the Cholesky factor of the Gram matrix, unless it is singular."""
    pivot = energy
    for s in range(step):
        entry = _dot(X[support[s]], X[atom])
        for u in range(s):
            entry -= factor[s, u] * factor[step, u]
        factor[step, s] = entry / factor[s, s]
        pivot -= factor[step, s] ** 2
    if pivot <= _SMALLEST_PIVOT * energy:
        return False
    factor[step, step] = np.sqrt(pivot)
    return True


@numba.njit(nogil=True, cache=True)
def _solve_back(
    factor: NDArray[np.float64],
    half_solved: NDArray[np.float64],
    size: int,
    solution: NDArray[np.float64],
) -> None:
    """Solve with the transpose of the leading lower triangle."""
    for s in range(size - 1, -1, -1):
        entry = half_solved[s]
        for u in range(s + 1, size):
            entry -= factor[u, s] * solution[u]
        solution[s] = entry / factor[s, s]
