"""Self-expression with small or low-rank coefficients, without an N x N matrix.

Coefficients that write every point by all points, X = C X, have closed forms C = Y Y^T
for ridge regression and for the nuclear norm, with one row of Y per point; so the
largest coefficients of a point are inner products of rows. For the nuclear norm with
whole points as errors, C is found by ADMM in the coordinates of the singular vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.core.linalg import SMALLEST_ENERGY

# ADMM balances its residuals: a step that makes one of them this many times the other
# is changed by this factor (Boyd et al. 2011, section 3.4.1).
_IMBALANCE, _CHANGE = 10.0, 2.0
# Iterations between two looks at the duality gap.
_GAP_EVERY = 5


@dataclass(frozen=True)
class Singular:
    """Singular vectors and values of the points that are not rounding errors.

    Attributes
    ----------
    left : ndarray of shape (n_samples, rank)
    values : ndarray of shape (rank,), descending
    """

    left: NDArray[np.float64]
    values: NDArray[np.float64]


def singular_parts(X: NDArray[np.floating]) -> Singular:
    """Return left singular vectors and values, by the smaller Gram matrix."""
    wide = X.astype(np.float64, copy=False)
    by_rows = len(wide) < wide.shape[1]
    energies, vectors = np.linalg.eigh(wide @ wide.T if by_rows else wide.T @ wide)
    energies, vectors = energies[::-1], vectors[:, ::-1]
    kept = energies > max(energies[0], 0.0) * SMALLEST_ENERGY
    values = np.sqrt(energies[kept])
    left = vectors[:, kept] if by_rows else wide @ (vectors[:, kept] / values)
    return Singular(left, values)


def ridge_rows(X: NDArray[np.floating], alpha: float) -> NDArray[np.float64]:
    r"""Return Y with :math:`Y Y^T = \arg\min_C \|X - C X\|^2 + \alpha \|C\|^2`.

    The minimiser is :math:`U \frac{\Sigma^2}{\Sigma^2 + \alpha} U^T`.

    Examples
    --------
    >>> import numpy as np
    >>> Y = ridge_rows(np.diag([1.0, 2.0]), alpha=1.0)
    >>> (Y @ Y.T).round(2)
    array([[0.5, 0. ],
           [0. , 0.8]])
    """
    return _filtered(X, lambda energies: energies / (energies + alpha))


def low_rank_rows(X: NDArray[np.floating], alpha: float) -> NDArray[np.float64]:
    r"""Return Y with :math:`Y Y^T = \arg\min_C \frac12 \|X - C X\|^2 + \alpha \|C\|_*`.

    The minimiser keeps singular directions with :math:`\sigma^2 > \alpha` and gives
    them :math:`1 - \alpha / \sigma^2`; with alpha=0 it is :math:`U U^T`, the
    coefficients of least nuclear norm with X = C X.

    Examples
    --------
    >>> import numpy as np
    >>> Y = low_rank_rows(np.diag([1.0, 2.0]), alpha=2.0)
    >>> (Y @ Y.T).round(2)
    array([[0. , 0. ],
           [0. , 0.5]])
    """
    return _filtered(X, lambda energies: np.maximum(1 - alpha / energies, 0.0))


def _filtered(
    X: NDArray[np.floating],
    share: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Scale singular directions by the root of a share between 0 and 1."""
    parts = singular_parts(X)
    shares = share(parts.values**2)
    return _some_column(parts.left[:, shares > 0] * np.sqrt(shares[shares > 0]))


def _some_column(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows, or zeros where nothing was kept of them."""
    return rows if rows.shape[1] else np.zeros((len(rows), 1))


@dataclass(frozen=True)
class LowRankRun:
    """Coefficients C = factor @ left.T of least nuclear norm, with outlying points.

    Attributes
    ----------
    factor, left : ndarray of shape (n_samples, rank)
        Two factors of C; the columns of ``left`` are orthonormal.
    errors : ndarray of shape (n_samples,)
        Length of what C leaves of every point.
    objective : float
        Nuclear norm of C plus ``alpha`` times the sum of the errors.
    gap : float
        The objective exceeds its minimum by at most this share of itself.
    n_iter : int
    """

    factor: NDArray[np.float64]
    left: NDArray[np.float64]
    errors: NDArray[np.float64]
    objective: float
    gap: float
    n_iter: int


def low_rank_representation(
    X: NDArray[np.floating],
    alpha: float,
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int], Any] | None = None,
) -> LowRankRun:
    r"""Minimise :math:`\|C\|_* + \alpha \sum_i \|(X - C X)_i\|` by ADMM.

    Because only C X matters, C = W U^T with the left singular vectors U of X, and all
    matrices have n_samples rows and rank columns.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    alpha : float
        Weight of the errors, above 0.
    max_iter : int
        Most iterations.
    tol : float
        Stop when the duality gap is at most this share of the objective.
    report : callable, default=None
        Called with 1 after every iteration.

    Returns
    -------
    LowRankRun

    Notes
    -----
    With X = U S V^T the problem is min ||W||_* + alpha sum ||E_i|| such that
    U S = W S + E; its dual is max <U S, Q> such that ||Q S||_2 <= 1, ||Q_i|| <= alpha.
    The multipliers of ADMM, scaled until they are feasible there, give the gap.
    """
    parts = singular_parts(X)
    left, values = parts.left, parts.values
    target = left * values
    W, E = np.zeros_like(left), np.zeros_like(left)
    low_rank = W
    for_data, for_copy = np.zeros_like(left), np.zeros_like(left)
    step = 1.0 / max(float(values[0]), 1e-300) if len(values) else 1.0
    gap, objective, n_iter = 0.0, 0.0, 0
    for n_iter in range(1, max_iter + 1):
        before = low_rank, E
        low_rank = _shrink_singular(W + for_copy / step, 1 / step)
        W = ((target - E + for_data / step) * values + low_rank - for_copy / step) / (
            values**2 + 1
        )
        rest = target - W * values
        E = _shrink_rows(rest + for_data / step, alpha / step)
        for_data += step * (rest - E)
        for_copy += step * (W - low_rank)
        if report is not None:
            report(1)
        if n_iter % _GAP_EVERY == 0 or n_iter == max_iter:
            objective, gap = _gap(low_rank, for_data, target, values, alpha)
            if gap <= tol:
                break
        primal = np.hypot(np.linalg.norm(rest - E), np.linalg.norm(W - low_rank))
        dual = step * np.hypot(
            np.linalg.norm((E - before[1]) * values),
            np.linalg.norm(low_rank - before[0]),
        )
        if primal > _IMBALANCE * dual:
            step *= _CHANGE
        elif dual > _IMBALANCE * primal:
            step /= _CHANGE
    errors = np.linalg.norm(target - low_rank * values, axis=1)
    return LowRankRun(low_rank, left, errors, objective, gap, n_iter)


def _gap(
    W: NDArray[np.float64],
    multipliers: NDArray[np.float64],
    target: NDArray[np.float64],
    values: NDArray[np.float64],
    alpha: float,
) -> tuple[float, float]:
    """Return the objective of W, and the share of it by which a dual point misses."""
    if not len(values):
        return 0.0, 0.0
    errors = np.linalg.norm(target - W * values, axis=1).sum()
    objective = float(np.linalg.norm(W, "nuc") + alpha * errors)
    spectral = float(np.linalg.norm(multipliers * values, 2))
    longest = float(np.linalg.norm(multipliers, axis=1).max())
    scale = max(spectral, longest / alpha, 1.0)
    dual = float((target * multipliers).sum()) / scale
    return objective, (objective - dual) / max(objective, 1e-300)


def _shrink_singular(M: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """Lower all singular values of a tall matrix, by its Gram matrix."""
    energies, vectors = np.linalg.eigh(M.T @ M)
    values = np.sqrt(np.maximum(energies, 0.0))
    share = np.where(values > by, 1 - by / np.maximum(values, by), 0.0)
    return M @ ((vectors * share) @ vectors.T)


def _shrink_rows(M: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """Shorten all rows."""
    lengths = np.linalg.norm(M, axis=1, keepdims=True)
    return M * np.where(lengths > by, 1 - by / np.maximum(lengths, by), 0.0)


def balanced_rows(run: LowRankRun) -> NDArray[np.float64]:
    """Return the rows of P S^(1/2), with C = P S Q^T: their cosines make the graph."""
    energies, vectors = np.linalg.eigh(run.factor.T @ run.factor)
    kept = energies > max(float(energies.max(initial=0.0)), 0.0) * SMALLEST_ENERGY
    roots = energies[kept] ** 0.25
    return _some_column(run.factor @ (vectors[:, kept] / roots))
