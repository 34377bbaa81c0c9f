"""ADMM for l1-regularised self-expression: one factorisation, blocks of points."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, qr, solve_triangular


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


# Over-relaxation; about a third fewer iterations than without (1.0).
_RELAXATION = 1.8
# Of 1, 3, 10 and 30 times the square root of alpha, the factor with the fewest
# iterations on planted data, faces and tracks, for alpha from 5 to 800.
_PENALTY_FACTOR = 3.0
# A test of optimality costs about as much as an iteration.
_TEST_EVERY = 10
# Points that are not done after this many iterations, and after twice as many each
# time, try to end by an active set.
_FIRST_POLISH = 100
# A step of the active set is cubic in its size.
_LARGEST_SUPPORT = 256
# Codes of an affine objective whose sum is nearer to 1 are scaled to sum to 1.
_SUM_ERROR = 0.1


@dataclass(frozen=True)
class Objective:
    r"""What the coefficients of a point minimise.

    .. math:: \|c\|_1 + \lambda_e \|e\|_1 + \frac{\lambda_z}{2} \|x - cX - e\|_2^2

    Attributes
    ----------
    noise : float
        :math:`\lambda_z`; infinity demands :math:`x = cX + e` exactly.
    outliers : float, default=inf
        :math:`\lambda_e`; infinity leaves the term out, so :math:`e = 0`.
    affine : bool, default=False
        Whether the coefficients of a point must sum to 1.
    """

    noise: float
    outliers: float = np.inf
    affine: bool = False


@dataclass(frozen=True)
class AdmmSystem:
    r"""The one factorisation that the iterations of all points share.

    With the ratio :math:`\kappa` of the penalties on coefficients and fit, the linear
    step is a ridge regression with hat matrix
    :math:`H = X X^T (X X^T + \kappa I)^{-1} = K^T K`.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_coordinates)
        The points in coordinates of the solver, which change no coefficient: less
        their mean for affine objectives and, without outliers, in at most n_samples
        directions.
    objective : Objective
    coefficient_penalty, fit_penalty : float
        Penalties on the splitting of c and, with outliers, on that of x - cX.
    hat : ndarray of shape (n_samples, n_samples) or None
        H, where it is the smaller of the two.
    half : ndarray of shape (n_features, n_samples) or None
        K otherwise.
    ridge : ndarray of shape (n_features, n_samples or n_features) or None
        With outliers, the ridge coefficients of the unit vectors, or their product
        with the inverse of K.
    sum_step : ndarray of shape (n_samples,) or None
        For affine objectives, the change of c that costs least for a sum of 1.
    """

    points: NDArray[np.floating]
    objective: Objective
    coefficient_penalty: float
    fit_penalty: float
    hat: NDArray[np.floating] | None
    half: NDArray[np.floating] | None
    ridge: NDArray[np.floating] | None
    sum_step: NDArray[np.floating] | None


@dataclass(frozen=True)
class AdmmRun:
    """Iterates of a block of points when they stopped.

    Attributes
    ----------
    coefficients : ndarray of shape (n_points, n_samples)
        Row i expresses point i by the others.
    n_iter : ndarray of shape (n_points,)
        Iterations of each point.
    converged : ndarray of shape (n_points,), bool
        Whether the coefficients violate the optimality conditions by at most ``tol``.
    """

    coefficients: NDArray[np.floating]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


def prepare_system(
    X: NDArray[np.floating], objective: Objective, penalty: float | None = None
) -> AdmmSystem:
    r"""Factorise, in float64, the smaller of the two matrices of the linear step.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    objective : Objective
    penalty : float or None, default=None
        Penalty on the splitting of the coefficients; it sets the speed, not the
        codes of points that converge. None is :math:`3 \sqrt{\lambda m}` with the
        weight :math:`\lambda` of the fit and the mean :math:`m` of the squared norms
        of the points, about :math:`3 \sqrt{\alpha}`.

    Returns
    -------
    system : AdmmSystem
    """
    fit_penalty = _fit_penalty(X, objective)
    if penalty is None:
        energy = float(np.mean(np.sum(np.square(X, dtype=np.float64), axis=1)))
        penalty = _PENALTY_FACTOR * float(np.sqrt(fit_penalty * energy)) or 1.0
    ratio = penalty / fit_penalty
    wide = _coordinates(X.astype(np.float64, copy=False), objective)
    n, n_features = wide.shape
    has_outliers = np.isfinite(objective.outliers)
    hat = half = ridge = None
    if n <= 2 * n_features:
        gram = wide @ wide.T
        gram.flat[:: n + 1] += ratio
        inverse = cho_solve(cho_factor(gram, overwrite_a=True), np.eye(n))
        ridge = wide.T @ inverse if has_outliers else None
        hat = np.eye(n) - ratio * inverse
        ones = hat.sum(axis=1)
    else:
        gram = wide.T @ wide
        gram.flat[:: n_features + 1] += ratio
        root = cholesky(gram, lower=True, overwrite_a=True)
        half = solve_triangular(root, wide.T, lower=True)
        if has_outliers:
            ridge = solve_triangular(root, np.eye(n_features), lower=True).T
        ones = half.T @ half.sum(axis=1)
    step = (1 - ones) / np.sum(1 - ones) if objective.affine else None
    return AdmmSystem(
        np.ascontiguousarray(wide, X.dtype),
        objective,
        penalty,
        fit_penalty,
        *(
            None if part is None else np.ascontiguousarray(part, X.dtype)
            for part in (hat, half, ridge, step)
        ),
    )


def run_block(
    system: AdmmSystem,
    own: NDArray[np.int64],
    *,
    max_iter: int,
    tol: float,
    polish: bool = True,
) -> AdmmRun:
    """Iterate the points ``own`` together until each of them is done.

    Points do not influence one another: one that is done leaves the block.

    Parameters
    ----------
    system : AdmmSystem
    own : ndarray of shape (n_points,)
        Which points; a point never takes part in its own combination.
    max_iter : int
    tol : float
        A point is done when its coefficients violate the optimality conditions by at
        most ``tol``; see :func:`violations`.
    polish : bool, default=True
        Whether an active set ends the iteration, exactly, where it can. With outliers
        there is none.

    Returns
    -------
    run : AdmmRun
        With rows in the order of ``own``.
    """
    n_points, n = len(own), len(system.points)
    result = np.zeros((n_points, n), system.points.dtype)
    n_iter = np.full(n_points, max_iter)
    converged = np.zeros(n_points, bool)
    active = np.arange(n_points)
    state = _start(system, own)
    polish = polish and system.ridge is None
    next_polish = _FIRST_POLISH
    for iteration in range(1, max_iter + 1):
        _iterate(system, state)
        if iteration % _TEST_EVERY and iteration < max_iter:
            continue
        codes = _tested(system, state)
        done = _violations_of(system, state, codes) <= tol
        tried = done.copy()
        if polish and iteration == next_polish:
            tried[:], next_polish = True, 2 * next_polish
        result[active[done]] = codes[done]
        if polish and tried.any():
            exact, ended = _polished(system, state, tried, tol)
            result[active[tried][ended]] = exact[ended]
            done[tried] |= ended
        if not done.any():
            continue
        n_iter[active[done]] = iteration
        converged[active[done]] = True
        active, state = active[~done], _select(state, ~done)
        if len(active) == 0:
            break
    result[active] = state.codes
    return AdmmRun(result, n_iter, converged)


def violations(
    X: NDArray[np.floating],
    own: NDArray[np.int64],
    codes: NDArray[np.floating],
    objective: Objective,
    pull: NDArray[np.floating] | None = None,
) -> NDArray[np.floating]:
    r"""Return how far coefficients are from the optimality conditions.

    With the gradient g of the fit and, for affine objectives, the multiplier b of the
    sum that suits best, :math:`g_j + b` is the sign of :math:`c_j` where that is not
    zero and in [-1, 1] elsewhere. The violation is the largest distance from that;
    for affine objectives it is at least that of the sum of the coefficients from 1.
    It has no unit: neither the scale of the data nor a penalty plays a part.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    own : ndarray of shape (n_points,)
        Which points the codes express.
    codes : ndarray of shape (n_points, n_samples)
    objective : Objective
    pull : ndarray of shape (n_points, n_features) or None, default=None
        Derivative of the cost of the misfit by the misfit; None computes it, which
        needs finite weight of the noise.

    Returns
    -------
    violation : ndarray of shape (n_points,)
    """
    if pull is None:
        pull = objective.noise * (X[own] - codes @ X)
        np.clip(pull, -objective.outliers, objective.outliers, out=pull)
    slope = pull @ X.T
    above = slope - np.where(codes == 0, 1, np.sign(codes))
    below = np.where(codes == 0, -1, np.sign(codes)) - slope
    row = np.arange(len(own))
    above[row, own] = below[row, own] = -np.inf
    if not objective.affine:
        worst = np.maximum(above.max(axis=1), below.max(axis=1))
        return np.maximum(worst, 0)
    worst = (above.max(axis=1) + below.max(axis=1)) / 2
    return np.maximum(np.maximum(worst, 0), np.abs(codes.sum(axis=1) - 1))


@dataclass(frozen=True)
class _State:
    """Iterates of the points still at work; ``fit`` is empty without outliers.

    ``multipliers`` and ``fit_multipliers`` are divided by their penalties.
    """

    own: NDArray[np.int64]
    codes: NDArray[np.floating]
    multipliers: NDArray[np.floating]
    fit: NDArray[np.floating]
    fit_multipliers: NDArray[np.floating]


def _start(system: AdmmSystem, own: NDArray[np.int64]) -> _State:
    n, n_features = system.points.shape
    width = n_features if system.ridge is not None else 0
    shapes = ((len(own), n), (len(own), n), (len(own), width), (len(own), width))
    return _State(own, *(np.zeros(shape, system.points.dtype) for shape in shapes))


def _select(state: _State, rows: NDArray[np.bool_]) -> _State:
    return _State(
        state.own[rows],
        state.codes[rows],
        state.multipliers[rows],
        state.fit[rows],
        state.fit_multipliers[rows],
    )


def _iterate(system: AdmmSystem, state: _State) -> None:
    """Do one iteration in place."""
    linear = _linear_step(system, state)
    shrink(
        linear,
        state.codes,
        state.multipliers,
        state.own,
        1 / system.coefficient_penalty,
        _RELAXATION,
    )
    if system.ridge is not None:
        _fit_step(system, state, linear)


def _violations_of(
    system: AdmmSystem, state: _State, codes: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return the violations of optimality of the points still at work.

    An exact fit up to outliers has no gradient; its multipliers stand for it, and the
    codes must give the fit that belongs to them, relative to the norm of the point.
    """
    X, objective = system.points, system.objective
    if np.isfinite(objective.noise):
        return violations(X, state.own, codes, objective)
    pull = system.fit_penalty * state.fit_multipliers
    worst = violations(X, state.own, codes, objective, pull)
    points = X[state.own]
    gap = np.abs(points - codes @ X - state.fit).max(axis=1)
    norms = np.linalg.norm(points, axis=1)
    return np.maximum(worst, gap / np.where(norms > 0, norms, 1))


def _tested(system: AdmmSystem, state: _State) -> NDArray[np.floating]:
    """Return the codes that are tested and given: affine ones with a sum of 1."""
    if not system.objective.affine:
        return state.codes
    sums = state.codes.sum(axis=1, keepdims=True)
    return state.codes / np.where(np.abs(sums - 1) < _SUM_ERROR, sums, 1)


def _polished(
    system: AdmmSystem, state: _State, tried: NDArray[np.bool_], tol: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """End the tried points by an active set; return their codes, and which ended."""
    X = system.points.astype(np.float64, copy=False)
    objective = system.objective
    # A minimiser in general position has no more nonzeros.
    most = min(X.shape[1] + 1, _LARGEST_SUPPORT)
    codes = _largest(state.codes[tried].astype(np.float64), most)
    ended = np.array(
        [
            minimise_on_faces(X, one, objective.noise, objective.affine, most, coef)
            for one, coef in zip(state.own[tried], codes, strict=True)
        ],
        dtype=bool,
    )
    own = state.own[tried][ended]
    ended[ended] = violations(X, own, codes[ended], objective) <= tol
    return codes, ended


def _largest(codes: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Zero all but the largest coefficients of each point."""
    if most < codes.shape[1]:
        small = np.argpartition(-np.abs(codes), most, axis=1)[:, most:]
        np.put_along_axis(codes, small, 0.0, axis=1)
    return codes


def _linear_step(system: AdmmSystem, state: _State) -> NDArray[np.floating]:
    """Ridge regression of the points, drawn towards the current codes.

    With z = codes - multipliers the coefficients are z + (e_own - z) H: what z leaves
    of the point is fitted by ridge regression.
    """
    centre = state.codes - state.multipliers
    row = np.arange(len(centre))
    centre[row, state.own] -= 1
    shift = None
    if system.ridge is not None:
        shift = (state.fit_multipliers - state.fit) @ system.ridge
    if system.hat is not None:
        fitted = centre @ system.hat
        if shift is not None:
            fitted -= shift
    else:
        assert system.half is not None
        inner = centre @ system.half.T
        if shift is not None:
            inner -= shift
        fitted = inner @ system.half
    linear = np.subtract(centre, fitted, out=fitted)
    linear[row, state.own] += 1
    if system.sum_step is not None:
        linear -= (linear.sum(axis=1, keepdims=True) - 1) * system.sum_step
    return linear


def _fit_step(system: AdmmSystem, state: _State, linear: NDArray[np.floating]) -> None:
    """Split x - cX into noise and outliers.

    Noise and outliers together cost a Huber function of x - cX, whose proximal step
    is one clipping.
    """
    points = system.points[state.own]
    misfit = points - linear @ system.points
    value = _RELAXATION * misfit + (1 - _RELAXATION) * state.fit
    value += state.fit_multipliers
    noise, outliers = system.objective.noise, system.objective.outliers
    share = noise / (noise + system.fit_penalty) if np.isfinite(noise) else 1.0
    bound = outliers / system.fit_penalty
    state.fit_multipliers[:] = np.clip(share * value, -bound, bound)
    state.fit[:] = value - state.fit_multipliers


def _fit_penalty(X: NDArray[np.floating], objective: Objective) -> float:
    """Penalty on the splitting of x - cX; without outliers the weight of the fit."""
    if np.isinf(objective.outliers):
        return objective.noise
    typical = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) or 1.0
    return min(objective.noise, 2 * objective.outliers / typical)


def _coordinates(
    points: NDArray[np.float64], objective: Objective
) -> NDArray[np.float64]:
    """Return points with which the same coefficients are optimal, but cheaper."""
    if objective.affine:
        points = points - points.mean(axis=0)
    n, n_features = points.shape
    if n_features > n and np.isinf(objective.outliers):
        (root,) = qr(points.T, mode="r")
        points = root[:n].T
    return points
