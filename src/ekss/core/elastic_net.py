"""A small elastic net from its Gram matrix: coordinate descent and Newton steps."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_SWEEPS = 5  # cheap sweeps over the support before each Newton step
_MAX_STEPS = 2000
_SMALLEST_PIVOT = 1e-11  # relative to the diagonal; below it the support is dependent


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def solve_elastic_net(
    gram: NDArray[np.float64],
    target: NDArray[np.float64],
    l1: float,
    ridge: float,
    tolerance: float,
    coef: NDArray[np.float64],
) -> bool:
    r"""Minimise a small elastic net in place, from ``coef`` on.

    The objective is :math:`\frac12 c^T G c - b^T c + \mu \|c\|_1 +
    \frac{\rho}{2} \|c\|^2`. Sweeps of coordinate descent find the support and its
    signs, a Newton step on them ends exactly; each lowers the objective.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        G, positive semidefinite.
    target : ndarray of shape (n,)
        b, the inner products with the represented point.
    l1, ridge : float
        The weights mu > 0 and rho >= 0.
    tolerance : float
        Allowed violation of the optimality conditions.
    coef : ndarray of shape (n,)
        Start, overwritten by the solution.

    Returns
    -------
    converged : bool

    Notes
    -----
    A step costs O(n s) for each sweep and O(s^3) for Newton with s nonzero
    coefficients. Linearly dependent atoms (duplicates) are allowed.
    """
    size = len(coef)
    slope = np.empty(size)
    support = np.empty(size, np.int64)
    factor = np.empty((size, size))
    _update_slope(gram, target, coef, slope)
    for _ in range(_MAX_STEPS):
        _sweep(gram, l1, ridge, coef, slope, False)
        for _ in range(_SWEEPS):
            _sweep(gram, l1, ridge, coef, slope, True)
        _newton_step(gram, target, l1, ridge, coef, support, factor)
        _update_slope(gram, target, coef, slope)
        if _violation(l1, ridge, coef, slope) <= tolerance:
            return True
    return False


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _update_slope(
    gram: NDArray[np.float64],
    target: NDArray[np.float64],
    coef: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> None:
    """Inner products of atoms and residual, b - G c."""
    slope[:] = target
    for i in range(len(coef)):
        if coef[i] != 0:
            for k in range(len(coef)):
                slope[k] -= coef[i] * gram[i, k]


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _sweep(
    gram: NDArray[np.float64],
    l1: float,
    ridge: float,
    coef: NDArray[np.float64],
    slope: NDArray[np.float64],
    support_only: bool,
) -> None:
    """Minimise over one coefficient after the other."""
    for i in range(len(coef)):
        if support_only and coef[i] == 0:
            continue
        pull = slope[i] + gram[i, i] * coef[i]
        new = 0.0
        if abs(pull) > l1:
            new = (pull - np.copysign(l1, pull)) / (gram[i, i] + ridge)
        change = new - coef[i]
        if change != 0:
            coef[i] = new
            for k in range(len(coef)):
                slope[k] -= change * gram[i, k]


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _newton_step(
    gram: NDArray[np.float64],
    target: NDArray[np.float64],
    l1: float,
    ridge: float,
    coef: NDArray[np.float64],
    support: NDArray[np.int64],
    factor: NDArray[np.float64],
) -> None:
    """Go to the minimum for these signs, or until a coefficient reaches zero."""
    size = _find_support(coef, support)
    independent = _factorise(gram, ridge, support[:size], factor)
    while independent < size:
        _drop_dependent(gram, coef, support[: independent + 1], factor)
        size = _find_support(coef, support)
        independent = _factorise(gram, ridge, support[:size], factor)
    goal = np.empty(size)
    for i in range(size):
        at = support[i]
        goal[i] = target[at] - np.copysign(l1, coef[at])
    _solve_factored(factor, goal)
    step = 1.0
    for i in range(size):
        now = coef[support[i]]
        if now * goal[i] <= 0:
            step = min(step, now / (now - goal[i]))
    for i in range(size):
        now = coef[support[i]]
        if now * goal[i] <= 0 and now / (now - goal[i]) <= step:
            coef[support[i]] = 0.0
        else:
            coef[support[i]] = now + step * (goal[i] - now)


@numba.njit(nogil=True, cache=True)
def _find_support(coef: NDArray[np.float64], support: NDArray[np.int64]) -> int:
    """Write the places of nonzero coefficients; return how many there are."""
    size = 0
    for i in range(len(coef)):
        if coef[i] != 0:
            support[size] = i
            size += 1
    return size


@numba.njit(nogil=True, cache=True)
def _drop_dependent(
    gram: NDArray[np.float64],
    coef: NDArray[np.float64],
    support: NDArray[np.int64],
    factor: NDArray[np.float64],
) -> None:
    """Zero one coefficient without a change of fit.

    The last atom of ``support`` depends on the others, whose Cholesky factor is
    given. The coefficients move along that dependence, in the direction in which
    their sum of magnitudes does not grow, until the first of them reaches zero.
    """
    last = len(support) - 1
    direction = np.empty(last + 1)
    for i in range(last):
        direction[i] = -gram[support[last], support[i]]
    _solve_factored(factor, direction[:last])
    direction[last] = 1.0
    growth = 0.0
    for i in range(last + 1):
        growth += np.copysign(direction[i], direction[i] * coef[support[i]])
    if growth > 0:
        direction *= -1
    step = np.inf
    first = last
    for i in range(last + 1):
        now = coef[support[i]]
        if now * direction[i] < 0 and -now / direction[i] < step:
            step = -now / direction[i]
            first = i
    if step < np.inf:
        for i in range(last + 1):
            coef[support[i]] += step * direction[i]
    coef[support[first]] = 0.0


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _factorise(
    gram: NDArray[np.float64],
    ridge: float,
    support: NDArray[np.int64],
    factor: NDArray[np.float64],
) -> int:
    """Cholesky factor of gram + ridge on the support, up to the first dependent atom.

    Returns its place in the support, or the size of the support if there is none.
    """
    for i in range(len(support)):
        row = support[i]
        for j in range(i + 1):
            entry = gram[row, support[j]]
            if i == j:
                entry += ridge
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = entry / factor[j, j]
            elif entry <= _SMALLEST_PIVOT * (gram[row, row] + ridge):
                return i
            else:
                factor[i, i] = np.sqrt(entry)
    return len(support)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _solve_factored(factor: NDArray[np.float64], vector: NDArray[np.float64]) -> None:
    """Solve L L^T z = vector in place."""
    for i in range(len(vector)):
        entry = vector[i]
        for k in range(i):
            entry -= factor[i, k] * vector[k]
        vector[i] = entry / factor[i, i]
    for i in range(len(vector) - 1, -1, -1):
        vector[i] /= factor[i, i]
        for k in range(i):
            vector[k] -= factor[i, k] * vector[i]


@numba.njit(nogil=True, cache=True)
def _violation(
    l1: float, ridge: float, coef: NDArray[np.float64], slope: NDArray[np.float64]
) -> float:
    """Largest violation of the optimality conditions."""
    worst = 0.0
    for i in range(len(coef)):
        if coef[i] == 0:
            worst = max(worst, abs(slope[i]) - l1)
        else:
            rest = slope[i] - ridge * coef[i] - np.copysign(l1, coef[i])
            worst = max(worst, abs(rest))
    return worst
