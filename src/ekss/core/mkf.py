"""Median K-flats: K subspaces of least total distance, by stochastic gradient."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numba
import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import Assignment, assign, nearest_points
from ekss.core.linalg import Flats, group_rows, principal_basis


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def turn_nearest(
    X: NDArray[np.floating],
    columns: NDArray[np.floating],
    order: NDArray[np.integer],
    step: float,
    smoothing: float,
) -> None:
    r"""Turn the nearest subspace of each point towards it, in place.

    With coordinates p = U^T x and residual r = x - U p the gradient step is
    U + a r p^T, a = step / sqrt(|r|^2 + smoothing). Since r is orthogonal to U, its
    columns are orthonormal again after a rank-one change: the direction U p / |p| of
    the subspace turns by the angle of tangent a |r| |p| towards r.
    """
    n_subspaces, dim, n_features = columns.shape
    inside = np.empty((n_subspaces, dim), X.dtype)
    image = np.empty(n_features, X.dtype)
    for i in order:
        x = X[i]
        best, most = 0, -1.0
        for k in range(n_subspaces):
            energy = 0.0
            for j in range(dim):
                product = x[0] * 0
                for f in range(n_features):
                    product += columns[k, j, f] * x[f]
                inside[k, j] = product
                energy += product * product
            if energy > most:
                best, most = k, energy
        if most <= 0.0:
            continue
        _turn(columns[best], inside[best], x, image, most, step, smoothing)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _turn(
    columns: NDArray[np.floating],
    inside: NDArray[np.floating],
    x: NDArray[np.floating],
    image: NDArray[np.floating],
    energy: float,
    step: float,
    smoothing: float,
) -> None:
    """Turn one subspace towards x."""
    dim, n_features = columns.shape
    image[:] = 0
    for j in range(dim):
        for f in range(n_features):
            image[f] += inside[j] * columns[j, f]
    square = 0.0
    for f in range(n_features):
        rest = x[f] - image[f]
        square += rest * rest
    tangent = step * sqrt(square * energy / (square + smoothing))
    if tangent == 0.0:
        return
    cosine = 1.0 / sqrt(1.0 + tangent * tangent)
    along = (cosine - 1.0) / energy
    across = cosine * tangent / sqrt(square * energy)
    for f in range(n_features):
        image[f] = along * image[f] + across * (x[f] - image[f])
    for j in range(dim):
        for f in range(n_features):
            columns[j, f] += inside[j] * image[f]


# Distances below this share of the typical length count as noise: there the gradient
# fades instead of jumping between unit vectors.
_SMOOTHING = 0.01
# A pass that does not lower the cost is undone and the step is multiplied by this.
_SHRINK = 0.5
# Passes in a row without a fall of the cost worth the name, after which a run ends.
_PATIENCE = 5
# Points that span a fresh flat, for each of its dimensions.
SEEDS_PER_DIM = 2


@dataclass(frozen=True)
class MedianRun:
    """Result of one run of median K-flats.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
    flats : Flats
        The subspaces to which the labels assign.
    costs : ndarray of shape (n_passes + 1,)
        Sum of distances at the start and of the best bases after each pass; it never
        rises.
    """

    labels: NDArray[np.int32]
    flats: Flats
    costs: NDArray[np.float64]


def median_k_flats(
    X: NDArray[np.floating],
    start: Flats,
    rng: np.random.Generator,
    *,
    max_iter: int,
    step: float,
    tol: float = 0.0,
) -> MedianRun:
    r"""Minimise the sum of distances to the nearest of K subspaces.

    Stochastic gradient descent on
    :math:`\sum_i \min_k \|x_i - U_k U_k^T x_i\|` [1]_: each pass visits all points in
    random order and turns the nearest subspace of each towards it. A pass that does
    not lower the cost is undone and the step is halved. Flats that are nearest to no
    point start anew at the points that fit worst.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), C-contiguous
    start : Flats
        Initial linear subspaces, of the type of X.
    rng : numpy.random.Generator
        Order of the points.
    max_iter : int
        Passes over the data at most.
    step : float
        Tangent of the largest angle by which a point of average length turns a
        subspace.
    tol : float, default=0.0
        Stop when five passes in a row each lower the cost by at most this share.

    Returns
    -------
    run : MedianRun

    Notes
    -----
    A pass costs O(n_samples n_features n_subspaces dim) time; the memory beyond X is
    that of the bases.

    References
    ----------
    .. [1] T. Zhang, A. Szlam, G. Lerman, "Median K-Flats for Hybrid Linear Modeling
       with Many Outliers", ICCV Workshops, 2009.
    """
    length = float(np.linalg.norm(X, axis=1).mean(dtype=np.float64)) or 1.0
    best, assignment = start, assign(X, start)
    costs = [float(distances(X, best, assignment).sum(dtype=np.float64))]
    stalled = 0
    while len(costs) <= max_iter and stalled < _PATIENCE:
        turned = _refill(X, best, assignment)
        turned = descend(X, turned, rng.permutation(len(X)), step, length)
        assigned = assign(X, turned)
        cost = float(distances(X, turned, assigned).sum(dtype=np.float64))
        gain = costs[-1] - cost
        if gain > 0:
            best, assignment = turned, assigned
        else:
            step *= _SHRINK
        stalled = stalled + 1 if gain <= tol * costs[-1] else 0
        costs.append(costs[-1] - max(gain, 0.0))
    return MedianRun(assignment.labels, best, np.array(costs))


def descend(
    X: NDArray[np.floating],
    flats: Flats,
    order: NDArray[np.integer],
    step: float,
    length: float,
) -> Flats:
    """Take one gradient step for each point of ``order``, one after the other.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), C-contiguous
    flats : Flats
        Linear subspaces; they are not changed.
    order : ndarray of shape (n_steps,)
        Row numbers.
    step : float
        Factor of the gradient, for points of length ``length``.
    length : float
        Typical length of a point, the unit of distances.

    Returns
    -------
    flats : Flats
        Orthonormal to rounding error.
    """
    columns = flats.bases.transpose(0, 2, 1).copy(order="C")
    turn_nearest(X, columns, order, step / length, (_SMOOTHING * length) ** 2)
    # Every step is a rotation up to rounding, which this removes.
    return Flats(np.linalg.qr(columns.transpose(0, 2, 1))[0])


def distances(
    X: NDArray[np.floating], flats: Flats, assignment: Assignment
) -> NDArray[np.floating]:
    """Distance of every point to its assigned subspace, from the residual vectors."""
    out = np.empty(len(X), X.dtype)
    for k, rows in enumerate(group_rows(assignment.labels, len(flats.bases))):
        rest = X[rows] - assignment.own[rows] @ flats.bases[k].T
        out[rows] = np.linalg.norm(rest, axis=1)
    return out


def _refill(X: NDArray[np.floating], flats: Flats, assignment: Assignment) -> Flats:
    """Start flats without points anew at the points that fit worst."""
    sizes = np.bincount(assignment.labels, minlength=len(flats.bases))
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return flats
    worst = np.argsort(-distances(X, flats, assignment), kind="stable")
    bases, dim = flats.bases.copy(), flats.bases.shape[2]
    for k, seed in zip(empty, worst, strict=False):
        near = nearest_points(X, seed, SEEDS_PER_DIM * dim, affine=False)
        bases[k] = principal_basis(X[near], dim, bases[k])
    return Flats(bases)
