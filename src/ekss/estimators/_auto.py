"""Rules for parameters that are left to the data."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

_PROBES = 64
_ENERGY = 0.95
# Noise makes the count grow without bound, and with it the cost of every member.
_LARGEST_DIM = 20


def estimate_dim(
    X: NDArray[np.floating],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    affine: bool = False,
) -> int:
    """Estimate the dimension of the subspaces from the neighbourhoods of points.

    For up to 64 random points, take the n_samples / (4 n_clusters) points (at least
    10) of largest absolute inner product and count the principal directions that hold
    95 % of their energy; the median count is the estimate, at most 20, half the number
    of features and a third of the mean cluster size. For affine subspaces the nearest
    points are taken instead, and their mean is subtracted.
    """
    n, n_features = X.shape
    size = min(n, max(10, n // (4 * n_clusters)))
    probes = rng.choice(n, min(_PROBES, n), replace=False)
    if affine:
        remoteness = euclidean_distances(X[probes], X)
    else:
        remoteness = -np.abs(X[probes] @ X.T)
    near = np.argpartition(remoteness, size - 1, axis=1)[:, :size]
    counts = [
        _directions_for(X[rows] - affine * X[rows].mean(axis=0), _ENERGY)
        for rows in near
    ]
    most = max(1, min(_LARGEST_DIM, n_features // 2, n // (3 * n_clusters)))
    return int(np.clip(int(np.median(counts)), 1, most))


def default_top_q(n_samples: int, n_clusters: int) -> int:
    """Return the paper's max(3, ceil(N_k / 6)), at most 10, at most n_samples - 1."""
    return min(10, max(3, ceil(n_samples / (6 * n_clusters))), n_samples - 1)


def _directions_for(points: NDArray[np.floating], share: float) -> int:
    """Count the principal directions that hold a share of the energy."""
    energy = np.linalg.svd(points, compute_uv=False) ** 2
    total = energy.sum()
    if total <= 0:
        return 1
    return int(np.searchsorted(np.cumsum(energy) / total, share) + 1)
