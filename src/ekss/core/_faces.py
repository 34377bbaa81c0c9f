"""Active-set method for sparse codes: from the face of some signs to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_STEPS = 500
# Allowed violation of the optimality conditions, absolute and relative to the weighted
# squared norm of the longest point: what is above rounding errors.
_EXACT = 1e-9
_ROUNDING = 1e-12
# Weight of the distance from the last step, relative to the largest entry of the
# matrix, so that dependent points on the support do no harm.
_PROXIMAL = 1e-11


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
    O(n_samples n_features) where a point may enter.
    """
    sign = np.sign(coef)
    longest = np.einsum("ij,ij->i", points, points).max()
    exact = max(_EXACT, _ROUNDING * weight * longest)
    for _ in range(_MOST_STEPS):
        (support,) = np.nonzero(sign)
        if len(support) > most or (len(support) == 0 and affine):
            return False
        atoms = points[support]
        residual = points[own] - coef[support] @ atoms
        multiplier = 0.0
        if len(support):
            matrix = weight * (atoms @ atoms.T)
            proximal = _PROXIMAL * np.abs(matrix).max()
            if proximal == 0:  # only zero points on the support
                return False
            matrix.flat[:: len(support) + 1] += proximal
            slope = weight * (atoms @ residual) - sign[support]
            missing = 1 - coef[support].sum() if affine else None
            step, multiplier = _newton_step(matrix, slope, missing)
            if not _go(coef, sign, support, step):
                continue
            if proximal * np.abs(step).max() > exact:
                continue
            residual -= step @ atoms
        slope = weight * (points @ residual) - multiplier
        slope[own] = slope[support] = 0
        entering = int(np.abs(slope).argmax())
        if abs(slope[entering]) <= 1 + exact:
            return True
        sign[entering] = np.sign(slope[entering])
    return False


def _newton_step(
    matrix: NDArray[np.float64], slope: NDArray[np.float64], missing: float | None
) -> tuple[NDArray[np.floating], float]:
    """Return the step to the minimum, and the multiplier of the sum.

    ``missing`` is what the sum of the coefficients must gain; None leaves it free.
    """
    if missing is None:
        return np.linalg.solve(matrix, slope), 0.0
    size = len(slope)
    bordered = np.ones((size + 1, size + 1))
    bordered[:size, :size] = matrix
    bordered[size, size] = 0
    solution = np.linalg.solve(bordered, np.append(slope, missing))
    return solution[:size], float(solution[size])


def _go(
    coef: NDArray[np.float64],
    sign: NDArray[np.float64],
    support: NDArray[np.int64],
    step: NDArray[np.floating],
) -> bool:
    """Go the step, or until coefficients reach zero and leave; tell which."""
    now = coef[support]
    after = now + step
    crosses = after * sign[support] <= 0
    if not crosses.any():
        coef[support] = after
        return True
    shares = np.full(len(step), np.inf)
    moves = crosses & (step != 0)
    shares[crosses] = 0.0
    shares[moves] = -now[moves] / step[moves]
    share = shares.min()
    gone = shares <= share
    coef[support] = np.where(gone, 0.0, now + share * step)
    sign[support[gone]] = 0.0
    return False
