"""Compiled kernel of median K-flats; importing it loads numba."""

from __future__ import annotations

from math import sqrt

import numba
import numpy as np
from numpy.typing import NDArray


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
