"""How likely EKSS-0 puts two points at a given angle together (Lemma 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ekss.theory._types import Floats, Ints, Monotone

_FULL = 2 * np.pi  # a turn of doubled angles
_DRAWS_AT_A_TIME = 4096  # bounds memory at a few MB per candidate
_TOUCHING = 1 - 1e-14  # curves that only touch, up to rounding, do not cross


@dataclass(frozen=True)
class Coclustering:
    """Co-clustering probabilities and how well they are known.

    Attributes
    ----------
    probability : ndarray of the shape of theta
        Average of the exact conditional probabilities over the draws.
    standard_error : ndarray of the shape of theta
        Standard deviation of that average.

    Examples
    --------
    >>> from ekss.theory import coclustering_probability
    >>> found = coclustering_probability([0.0, 0.5], 2, 1, 10, n_draws=1000)
    >>> float(found.probability[0]), bool(found.standard_error[1] < 0.02)
    (1.0, True)
    """

    probability: Floats
    standard_error: Floats


def coclustering_probability(
    theta: ArrayLike,
    n_candidates: int,
    dim: int,
    n_features: int,
    *,
    n_draws: int = 100000,
    random_state: int | np.random.Generator = 0,
) -> Coclustering:
    """Probability that EKSS-0 co-clusters two points at angle theta: Lemma 3.

    Only the plane L of the two points matters. The candidates restricted to it are
    K independent 2 × 2 matrices M_k = P_L P_{U_k} P_L^T, matrix-variate
    Beta(d/2, (D-d)/2), and a point at angle t goes to the candidate with the largest
    quadratic form there. With S_k the angles that candidate k wins (a subset of the
    circle R/pi of lines), rotating the pair uniformly inside its plane gives

        p(theta) = E sum_k |S_k ∩ (S_k + theta)| / pi.

    Parameters
    ----------
    theta : array-like of float
        Angles between points (as lines), in [0, pi/2].
    n_candidates : int
        Number of candidate subspaces, K.
    dim : int
        Their dimension d, below ``n_features``.
    n_features : int
        Dimension of the space, D.
    n_draws : int, default=100000
        How many sets of candidates to average over.
    random_state : int or numpy.random.Generator, default=0
        Source of the candidates. All angles share them.

    Returns
    -------
    result : Coclustering
        The probability at each angle, and its standard error.

    Notes
    -----
    The paper's proof takes S_k to be one pair of antipodal sectors, which is right for
    K = 2 and for d = 1. For K > 2 and d > 1 there may be several: M = 0.8 I against
    diag(1, 0) and diag(0, 1) wins around both diagonals. The overlap above counts all
    of them and equals the paper's formula whenever there is one. For that triple it
    also increases from theta = pi/4 to pi/2, so the proof's step "the conditional
    probability is non-increasing" fails; the average p decreased in every case that
    was computed, which is not a proof.

    Time grows with n_draws × (K × arcs + angles), whatever D is; memory is bounded by
    working on 4096 draws at a time.

    References
    ----------
    .. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano. Subspace clustering using
       ensembles of K-subspaces. Information and Inference, 2021. Lemma 3.

    Examples
    --------
    >>> import numpy as np
    >>> result = coclustering_probability([0, np.pi / 4, np.pi / 2], 2, 1, 10)
    >>> result.probability.round(2)
    array([1.  , 0.61, 0.48])
    """
    angles = np.asarray(theta, dtype=np.float64)
    if not np.all((angles >= 0) & (angles <= np.pi / 2)):
        raise ValueError(
            "theta has values outside [0, pi/2]; the angle between two lines is "
            "arccos(|<x, y>|)"
        )
    if n_candidates < 1:
        raise ValueError(f"n_candidates={n_candidates} is below 1; choose at least 1")
    if not 1 <= dim < n_features:
        raise ValueError(
            f"dim={dim} must be at least 1 and below n_features={n_features}; "
            f"candidates that fill the space tie on every point"
        )
    if n_draws < 2:
        raise ValueError(f"n_draws={n_draws} has no standard error; choose at least 2")
    rng = np.random.default_rng(random_state)
    total, squares = np.zeros(angles.size), np.zeros(angles.size)
    for first in range(0, n_draws, _DRAWS_AT_A_TIME):
        size = min(_DRAWS_AT_A_TIME, n_draws - first)
        matrices = restricted_projections(size, n_candidates, dim, n_features, rng)
        values = conditional_coclustering(matrices, angles.ravel())
        total += values.sum(axis=0)
        squares += np.square(values).sum(axis=0)
    mean = total / n_draws
    variance = np.maximum(squares / n_draws - mean**2, 0) / (n_draws - 1)
    # A point is always with itself; the sum of arc lengths says so up to rounding.
    mean[angles.ravel() == 0] = 1.0
    return Coclustering(
        mean.reshape(angles.shape), np.sqrt(variance).reshape(angles.shape)
    )


def coclustering_function(
    n_candidates: int,
    dim: int,
    n_features: int,
    *,
    n_angles: int = 129,
    n_draws: int = 100000,
    random_state: int | np.random.Generator = 0,
) -> Monotone:
    """Return f_{K,d} of Lemma 3 as a function of absolute inner products.

    The probabilities are computed on a grid of angles, made non-increasing in the
    angle (a running minimum, so sampling noise cannot break monotonicity) and
    interpolated linearly in between.

    Parameters
    ----------
    n_candidates, dim, n_features : int
        K, d and D of :func:`coclustering_probability`.
    n_angles : int, default=129
        Grid points in [0, pi/2].
    n_draws : int, default=100000
        How many sets of candidates to average over.
    random_state : int or numpy.random.Generator, default=0
        Source of the candidates.

    Returns
    -------
    f : callable
        Maps an array of |<x, y>| of unit vectors to probabilities; non-decreasing.

    Examples
    --------
    >>> import numpy as np
    >>> f = coclustering_function(1, 2, 5)
    >>> f(np.array([0.0, 0.5, 1.0]))
    array([1., 1., 1.])
    """
    grid = np.linspace(0, np.pi / 2, n_angles)
    curve = coclustering_probability(
        grid,
        n_candidates,
        dim,
        n_features,
        n_draws=n_draws,
        random_state=random_state,
    ).probability
    curve = np.minimum.accumulate(curve)

    def f(inner: Floats) -> Floats:
        angle = np.arccos(np.clip(np.abs(inner), 0, 1))
        return np.interp(angle, grid, curve)

    return f


def restricted_projections(
    n_draws: int, n_candidates: int, dim: int, n_features: int, rng: np.random.Generator
) -> Floats:
    """Draw projections on uniform subspaces, restricted to a fixed plane.

    By symmetry the plane may be the random part: it is spanned by the orthonormalised
    columns of a Gaussian D × 2 matrix G, and the subspace by the first d axes. With
    Gram matrices A of the first d rows and B of the others (Wishart, drawn from their
    Bartlett factors) and T^T T = A + B this is M = T^{-T} A T^{-1}.
    """
    shape = (n_draws, n_candidates)
    a11, a12, a22 = _bartlett(dim, shape, rng)
    b11, b12, b22 = _bartlett(n_features - dim, shape, rng)
    t11 = np.sqrt(a11**2 + b11**2)
    # What is left of the second column outside the first; no cancellation like this.
    across = (b11 * a12 - a11 * b12) / t11
    t22 = np.sqrt(a22**2 + b22**2 + across**2)
    # Columns of the orthonormal frame, in the rows that Bartlett's factors keep.
    first = a11 / t11
    second = b11 / t11 * across / t22
    below = a22 / t22
    matrices = np.empty((*shape, 2, 2))
    matrices[..., 0, 0] = first**2
    matrices[..., 0, 1] = matrices[..., 1, 0] = first * second
    matrices[..., 1, 1] = second**2 + below**2
    return matrices


def conditional_coclustering(matrices: Floats, theta: Floats) -> Floats:
    """Exact co-clustering probabilities given the candidates in the plane.

    This is sum_k |S_k ∩ (S_k + theta)| / pi of :func:`coclustering_probability`: the
    pair is rotated uniformly, the candidates are fixed.
    """
    draw, start, end, owner = winning_arcs(matrices)
    key = draw * matrices.shape[1] + owner
    i, j = _pairs_of_equal(key)
    # u and u + 2 theta in [0, 3 pi) are in arcs i and j, possibly one turn later.
    turn = np.repeat([0.0, _FULL], i.size)
    i, j = np.tile(i, 2), np.tile(j, 2)
    left, right = start[i] - turn, end[i] - turn
    meets = (right + np.pi > start[j]) & (left < end[j])
    i, j, left, right = i[meets], j[meets], left[meets], right[meets]
    low, high, draw_of = start[j], end[j], draw[i]
    result = np.empty((len(matrices), theta.size))
    for column, angle in enumerate(2 * theta):
        overlap = np.minimum(right + angle, high) - np.maximum(left + angle, low)
        np.maximum(overlap, 0, out=overlap)
        result[:, column] = np.bincount(draw_of, overlap, minlength=len(matrices))
    return result / _FULL


def winning_arcs(matrices: Floats) -> tuple[Ints, Floats, Floats, Ints]:
    """Cut the circle of doubled angles into arcs won by one candidate each.

    In u = 2t the quadratic forms are a_k + c_k cos u + s_k sin u, so two of them cross
    at most twice and each overtakes each other at most once per turn. Walking from 0
    to 2 pi along the upper envelope, the next winner is the first to overtake.

    Returns draw, start, end and owner of every arc; those of a draw cover [0, 2 pi].
    """
    a = (matrices[..., 0, 0] + matrices[..., 1, 1]) / 2
    c = (matrices[..., 0, 0] - matrices[..., 1, 1]) / 2
    s = matrices[..., 0, 1]
    draw = np.arange(len(a))
    position, owner = np.zeros(len(a)), np.argmax(a + c, axis=1)
    pieces = []
    while draw.size:
        ahead = _distance_to_overtaking(a[draw], c[draw], s[draw], owner, position)
        rival = np.argmin(ahead, axis=1)
        end = position + ahead[np.arange(draw.size), rival]
        pieces.append((draw, position, np.minimum(end, _FULL), owner))
        on = end < _FULL
        draw, position, owner = draw[on], end[on], rival[on]
    arcs = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    return arcs[0], arcs[1], arcs[2], arcs[3]


def _distance_to_overtaking(
    a: Floats, c: Floats, s: Floats, owner: Ints, position: Floats
) -> Floats:
    """How far ahead each curve rises above the owner's; infinity if it never does."""
    k = owner[:, None]
    da = a - np.take_along_axis(a, k, 1)
    dc = c - np.take_along_axis(c, k, 1)
    ds = s - np.take_along_axis(s, k, 1)
    squared_radius = dc * dc + ds * ds
    rows, columns = np.nonzero(da * da < squared_radius * _TOUCHING)
    da, dc, ds = da[rows, columns], dc[rows, columns], ds[rows, columns]
    ratio = -da / np.sqrt(squared_radius[rows, columns])
    distance = np.arctan2(ds, dc) - np.arccos(ratio) - position[rows]
    distance -= _FULL * np.floor(distance / _FULL)
    ahead = np.full(a.shape, np.inf)
    ahead[rows, columns] = distance
    return ahead


def _pairs_of_equal(key: Ints) -> tuple[Floats, Floats]:
    """All ordered pairs of positions with equal keys, each with itself included."""
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    first, second = [order], [order]
    for lag in range(1, key.size):
        same = np.flatnonzero(ranked[lag:] == ranked[:-lag])
        if not same.size:
            break
        first += [order[same], order[same + lag]]
        second += [order[same + lag], order[same]]
    return np.concatenate(first), np.concatenate(second)


def _bartlett(
    rows: int, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Upper triangular R with R^T R ~ Wishart_2(rows); singular for one row."""
    r11 = np.sqrt(rng.chisquare(rows, shape))
    r12 = rng.standard_normal(shape)
    r22 = np.sqrt(rng.chisquare(rows - 1, shape)) if rows > 1 else np.zeros(shape)
    return r11, r12, r22
