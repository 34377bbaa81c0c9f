"""Orthogonal matching pursuit of every point over the other points.

A block of points takes each step together: the correlations of all their residuals
with all points are one matrix product, made in tiles, and a compiled kernel extends a
Cholesky factor a point. No n_samples x n_samples matrix exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        Points, one a row; the theory is for points of unit length.
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
    from ekss.core._pursuit import extend  # loads numba on first use

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
    from ekss.core._pursuit import offer_tile  # loads numba on first use

    atoms = np.full(len(live), -1, np.int64)
    sizes = np.zeros(len(live))
    residuals, support = block.residuals[live], block.support[live]
    for start in range(0, len(X), _COLUMNS_AT_ONCE):
        products = residuals @ X[start : start + _COLUMNS_AT_ONCE].T
        offer_tile(products, start, rows, support, atoms, sizes)
    return atoms, sizes
