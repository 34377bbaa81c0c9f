"""Orthogonal matching pursuit of every point over the other points.

A block of points takes each step together: the correlations of all their residuals
with all points are one matrix product, made in tiles, and a compiled kernel extends a
Cholesky factor a point. No n_samples x n_samples matrix exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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


_MOST_ROWS = 512
_FEWEST_ROWS = 16
_COLUMNS_AT_ONCE = 2048
_FACTOR_ENTRIES = 2**22

# A residual or correlation of this many units of rounding carries no information.
_ROUNDING_UNITS = 8


@dataclass(frozen=True)
class SparseCodes:
    """Points as combinations of few other points.

    Attributes
    ----------
    index : ndarray of shape (m, k), int32
        The points combined, in the order in which they were chosen; -1 past the last.
    coefficient : ndarray of shape (m, k), float64
        Their least-squares coefficients; 0 where ``index`` is -1.
    residual : ndarray of shape (m,), float64
        Norm of what is left over, relative to the norm of the point; 0 for zero points.
    """

    index: NDArray[np.int32]
    coefficient: NDArray[np.float64]
    residual: NDArray[np.float64]


class _Block(NamedTuple):
    """Points of a block on their way; the kernel extends the arrays in place."""

    points: NDArray[np.floating]
    residuals: NDArray[np.floating]
    support: NDArray[np.int32]
    coefficient: NDArray[np.float64]
    left: NDArray[np.float64]
    factor: NDArray[np.float64]
    half_solved: NDArray[np.float64]
    live: NDArray[np.bool_]


def matching_pursuit(
    X: NDArray[np.floating],
    n_nonzero: int,
    *,
    tol: float = 1e-6,
    rows: NDArray[np.integer] | None = None,
) -> SparseCodes:
    r"""Represent points by few other points, chosen greedily (Algorithm 1 of [1]_).

    Starting from the residual :math:`r = x_i`, add the point :math:`j \ne i` with the
    largest :math:`|\langle r, x_j \rangle|` to the support S and set
    :math:`r = x_i - \sum_{j \in S} c_j x_j` with the least-squares coefficients c,
    until S has ``n_nonzero`` points or :math:`\|r\| \le \mathrm{tol}\, \|x_i\|`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points, one per row; the theory is for points of unit length.
    n_nonzero : int
        Largest number of points in a representation.
    tol : float, default=1e-6
        Relative norm of the residual (not its square) at which a point is done. Below
        8 units of rounding of the dtype of X it has no further effect.
    rows : ndarray of shape (m,), default=None
        The points to represent; all points if None.

    Returns
    -------
    codes : SparseCodes
        With k = min(n_nonzero, n_samples - 1, n_features).

    Notes
    -----
    A point also stops when its residual is orthogonal to all points up to rounding, or
    when the chosen point is in the span of the support (squared sine at most 1e-10),
    as with zero rows and duplicates. Ties go to the lower index. O(m k n_samples
    n_features) time in matrix products and O(m k) memory beside a block of at most 512
    points and its factors.

    References
    ----------
    .. [1] C. You, D. Robinson, R. Vidal, "Scalable Sparse Subspace Clustering by
       Orthogonal Matching Pursuit", CVPR 2016.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.vstack([[0.8, 0.6, 0.0], np.eye(3)])
    >>> codes = matching_pursuit(X, 3)
    >>> codes.index[0], codes.coefficient[0].round(6)
    (array([ 1,  2, -1], dtype=int32), array([0.8, 0.6, 0. ]))
    """
    chosen = np.asarray(np.arange(len(X)) if rows is None else rows, np.int64)
    width = min(n_nonzero, len(X) - 1, X.shape[1])
    step = rows_at_once(width)
    blocks = [
        _pursue_block(X, chosen[first : first + step], width, tol)
        for first in range(0, len(chosen), step)
    ]
    return SparseCodes(
        np.concatenate([block.support for block in blocks]),
        np.concatenate([block.coefficient for block in blocks]),
        np.concatenate([block.left for block in blocks]),
    )


def rows_at_once(n_nonzero: int) -> int:
    """Return the points of a block: fewer when their factors are large."""
    fitting = _FACTOR_ENTRIES // max(n_nonzero, 1) ** 2
    return min(_MOST_ROWS, max(_FEWEST_ROWS, fitting))


def unit_coefficients(codes: SparseCodes) -> NDArray[np.float64]:
    """Scale the coefficients of every point to unit length; zero rows stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> codes = SparseCodes(np.array([[1, 2]], np.int32), np.array([[3.0, -4.0]]),
    ...                     np.zeros(1))
    >>> unit_coefficients(codes)
    array([[ 0.6, -0.8]])
    """
    norms = np.linalg.norm(codes.coefficient, axis=1, keepdims=True)
    return codes.coefficient / np.where(norms > 0, norms, 1.0)


def _pursue_block(
    X: NDArray[np.floating], rows: NDArray[np.int64], width: int, tol: float
) -> _Block:
    """Take all steps of one block of points."""
    rounding = _ROUNDING_UNITS * float(np.finfo(X.dtype).eps)
    block = _start_block(X[rows], width)
    for step in range(width):
        live = np.flatnonzero(block.live)
        if not live.size:
            break
        atoms, sizes = _strongest_atoms(X, rows[live], block, live)
        extend(X, step, live, atoms, sizes, max(tol, rounding), rounding, block)
    return block


def _start_block(points: NDArray[np.floating], width: int) -> _Block:
    m = len(points)
    live = np.asarray(points.any(axis=1))
    return _Block(
        points=points,
        residuals=points.copy(),
        support=np.full((m, width), -1, np.int32),
        coefficient=np.zeros((m, width)),
        left=np.asarray(live, np.float64),
        factor=np.zeros((m, width, width)),
        half_solved=np.zeros((m, width)),
        live=live,
    )


def _strongest_atoms(
    X: NDArray[np.floating],
    rows: NDArray[np.int64],
    block: _Block,
    live: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Point of largest correlation with each live residual, and that correlation."""
    atoms = np.full(len(live), -1, np.int64)
    sizes = np.zeros(len(live))
    residuals, support = block.residuals[live], block.support[live]
    for start in range(0, len(X), _COLUMNS_AT_ONCE):
        products = residuals @ X[start : start + _COLUMNS_AT_ONCE].T
        offer_tile(products, start, rows, support, atoms, sizes)
    return atoms, sizes
