"""Compiled active-set method for sparse codes; importing it loads numba."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_MOST_STEPS = 500
# Allowed violation of the optimality conditions, absolute and relative to the largest
# squared norm of a point: what is above rounding errors.
_EXACT = 1e-9
_ROUNDING = 1e-12
# Weight of the distance from the last step, relative to the largest entry of the
# matrix, so that dependent points on the support do no harm.
_PROXIMAL = 1e-11


@numba.njit(nogil=True, cache=True)
def minimise_on_faces(
    points: NDArray[np.float64],
    own: int,
    weight: float,
    affine: bool,
    most: int,
    coef: NDArray[np.float64],
) -> bool:
    r"""Minimise :math:`\|c\|_1 + \frac{\lambda}{2} \|x - cX\|^2` from ``coef`` on.

    Goes to the minimum with the present signs, or until a coefficient reaches zero
    and leaves; at the minimum the point that violates optimality most enters.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        X.
    own : int
        The row x, which takes no part.
    weight : float
        Lambda.
    affine : bool
        Whether the coefficients must sum to 1.
    most : int
        Nonzero coefficients beyond which it gives up.
    coef : ndarray of shape (n_samples,)
        Start, with a zero at ``own``; overwritten.

    Returns
    -------
    converged : bool

    Notes
    -----
    A step takes O(s^2 n_features + s^3) time with s nonzero coefficients, and
    O(n_samples n_features) where a point may enter. Almost all starts near the
    minimum need fewer steps than s.
    """
    n, n_features = points.shape
    sign = np.sign(coef)
    residual = np.empty(n_features)
    norms = np.sum(points * points, axis=1)
    exact = max(_EXACT, _ROUNDING * weight * norms.max())
    for _ in range(_MOST_STEPS):
        (support,) = np.nonzero(sign)
        size = len(support)
        if size > most or (size == 0 and affine):
            return False
        _update_residual(points, own, coef, support, residual)
        multiplier, moved = 0.0, 0.0
        if size:
            step, multiplier, weak = _newton_step(
                points, support, sign, weight, affine, coef, residual
            )
            if not np.all(np.isfinite(step)):
                return False
            if not _go(coef, sign, support, step):
                continue
            moved = weak * np.abs(step).max()
            _update_residual(points, own, coef, support, residual)
        if moved > exact:
            continue
        slope = weight * (points @ residual) - multiplier
        worst, entering = exact, -1
        for j in range(n):
            if sign[j] == 0 and j != own and abs(slope[j]) - 1 > worst:
                worst, entering = abs(slope[j]) - 1, j
        if entering < 0:
            return True
        sign[entering] = np.sign(slope[entering])
    return False


@numba.njit(nogil=True, cache=True)
def _update_residual(
    points: NDArray[np.float64],
    own: int,
    coef: NDArray[np.float64],
    support: NDArray[np.int64],
    residual: NDArray[np.float64],
) -> None:
    residual[:] = points[own]
    for j in support:
        residual -= coef[j] * points[j]


@numba.njit(nogil=True, cache=True)
def _newton_step(
    points: NDArray[np.float64],
    support: NDArray[np.int64],
    sign: NDArray[np.float64],
    weight: float,
    affine: bool,
    coef: NDArray[np.float64],
    residual: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float, float]:
    """Return the step to the minimum for these signs.

    With it the multiplier of the sum and the weight of the distance.
    """
    size = len(support)
    atoms = points[support]
    border = 1 if affine else 0
    matrix = np.zeros((size + border, size + border))
    matrix[:size, :size] = weight * (atoms @ atoms.T)
    weak = _PROXIMAL * np.abs(matrix).max()
    right = np.zeros(size + border)
    right[:size] = weight * (atoms @ residual)
    for i in range(size):
        matrix[i, i] += weak
        right[i] -= sign[support[i]]
    if affine:
        matrix[size, :size] = matrix[:size, size] = 1.0
        right[size] = 1.0 - coef[support].sum()
    if weak == 0:  # only zero points on the support
        return np.full(size, np.nan), 0.0, weak
    solution = np.linalg.solve(matrix, right)
    multiplier = solution[size] if affine else 0.0
    return solution[:size], multiplier, weak


@numba.njit(nogil=True, cache=True)
def _go(
    coef: NDArray[np.float64],
    sign: NDArray[np.float64],
    support: NDArray[np.int64],
    step: NDArray[np.float64],
) -> bool:
    """Go the step, or until coefficients reach zero and leave; tell which."""
    share = 1.0
    for i in range(len(support)):
        now = coef[support[i]]
        if (now + step[i]) * sign[support[i]] <= 0:
            share = min(share, -now / step[i] if step[i] != 0 else 0.0)
    whole = True
    for i in range(len(support)):
        at = support[i]
        now = coef[at]
        gone = (now + step[i]) * sign[at] <= 0
        if gone and (-now / step[i] if step[i] != 0 else 0.0) <= share:
            coef[at] = 0.0
            sign[at] = 0.0
            whole = False
        else:
            coef[at] = now + share * step[i]
    return whole
