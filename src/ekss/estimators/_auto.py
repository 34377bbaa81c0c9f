"""Rules for parameters that are left to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from ekss.estimators._checks import check_int_range, is_auto
from ekss.estimators._dimension import clear_dim

_PROBES = 64
_ENERGY = 0.95
# Noise makes the count grow without bound, and with it the cost of every member.
_LARGEST_DIM = 20
_SHARES = (0.8, 0.95)
MOST_DIMS = 25
_FLAT_ENERGY = 0.99
_FLAT = 2, 3


def estimate_dim(
    X: NDArray[np.floating],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    affine: bool = False,
) -> int:
    """Estimate the dimension of the subspaces from the neighbourhoods of points.

    Where linear subspaces have little noise, their dimension stands out: see
    :func:`ekss.estimators._dimension.clear_dim`. Otherwise, for up to 64 random points,
    take the n_samples / (4 n_clusters) points (at least 10) of largest absolute inner
    product and count the principal directions that hold 95 % of their energy; the
    median count is the estimate, at most 20, half the number of features and a third
    of the mean cluster size. For affine subspaces the nearest points are taken instead,
    and their mean is subtracted.
    """
    clear = None if affine else clear_dim(X, n_clusters, *rng.spawn(1))
    if clear is not None:
        return clear
    n, n_features = X.shape
    size = min(n, max(10, n // (4 * n_clusters)))
    (count,) = _median_directions(X, size, (_ENERGY,), rng, affine=affine)
    most = max(1, min(_LARGEST_DIM, n_features // 2, n // (3 * n_clusters)))
    return min(count, most)


@dataclass(frozen=True)
class Geometry:
    """What neighbourhoods tell about the subspaces.

    Attributes
    ----------
    affine : bool
        Whether subspaces may miss the origin.
    low, high : int
        Range of their dimension.
    """

    affine: bool
    low: int
    high: int

    @property
    def span(self) -> int:
        """Number of directions that the subspace of a cluster typically spans."""
        return ceil((self.low + self.high) / 2) + self.affine


def has_flat_neighbourhoods(
    X: NDArray[np.floating], n_clusters: int, rng: np.random.Generator
) -> bool:
    """Tell whether points lie, within 1 % of energy, on flats of dimension 2 or 3.

    A neighbourhood is half a cluster's worth of nearest points, less their mean. It
    is so for the tracks of points on moving bodies, whose flats miss the origin; images
    and noisy data need many more directions. In a space of hardly more dimensions it
    would mean nothing, so a flat must have fewer than half of them; lines are better
    told apart as lines through the origin.
    """
    dim = _flat_dim(X, n_clusters, rng, most=_FLAT[1])
    return _FLAT[0] <= dim <= _FLAT[1] and 2 * dim < X.shape[1]


def resolve_geometry(
    subspace_dim: Any,
    X: NDArray[np.floating],
    n_clusters: int,
    seed: int,
    *,
    affine: bool,
) -> Geometry:
    """Take the dimensions that were given, or estimate them for "auto"."""
    if is_auto("subspace_dim", subspace_dim, "an integer, or a pair of integers"):
        rng = np.random.default_rng(seed)
        return estimate_geometry(X, n_clusters, rng, affine=affine)
    low, high = check_int_range(
        "subspace_dim",
        subspace_dim,
        1,
        X.shape[1],
        limit="n_features",
        also=' or "auto"',
    )
    return Geometry(affine, low, high)


def estimate_geometry(
    X: NDArray[np.floating],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    affine: bool,
) -> Geometry:
    """Estimate the range of dimensions of the subspaces of the clusters.

    In a cluster's worth of nearest points, linear subspaces have as many dimensions as
    hold 80 % to 95 % of the energy, at most 25 and a third of the cluster's points;
    affine ones as many as hold 99 % of half a cluster's worth, or one more.
    """
    n, n_features = X.shape
    most = max(1, min(MOST_DIMS, n_features // 2, n // (3 * n_clusters)))
    if affine:
        dim = _flat_dim(X, n_clusters, rng)
        low, high = min(dim, most), min(dim + 1, most)
    else:
        size = min(n, max(10, n // n_clusters))
        low, high = _median_directions(X, size, _SHARES, rng, affine=False)
        low, high = min(low, most), min(high, most)
    return Geometry(affine, low, high)


def default_top_q(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q, at most 10."""
    return min(10, paper_top_q(n_samples, n_clusters))


def paper_top_q(n_samples: int, n_clusters: int) -> int:
    """Return the paper's max(3, ceil(N_k / 6)), at most n_samples - 1."""
    return min(max(3, ceil(n_samples / (6 * n_clusters))), n_samples - 1)


def _flat_dim(
    X: NDArray[np.floating],
    n_clusters: int,
    rng: np.random.Generator,
    most: int | None = None,
) -> int:
    """Count the directions of the flats on which half a cluster's worth lies.

    Numbers above ``most`` may come out as any number above it.
    """
    size = min(len(X), max(10, len(X) // (2 * n_clusters)))
    shares = (_FLAT_ENERGY,)
    (dim,) = _median_directions(X, size, shares, rng, affine=True, most=most)
    return dim


def _median_directions(
    X: NDArray[np.floating],
    size: int,
    shares: Sequence[float],
    rng: np.random.Generator,
    *,
    affine: bool,
    most: int | None = None,
) -> tuple[int, ...]:
    """Count directions that hold each share of a neighbourhood's energy; the median."""
    probes = rng.choice(len(X), min(_PROBES, len(X)), replace=False)
    if affine:
        remoteness = euclidean_distances(X[probes], X)
    else:
        remoteness = -np.abs(X[probes] @ X.T)
    near = np.argpartition(remoteness, size - 1, axis=1)[:, :size]
    counts = [
        _directions_for(X[rows] - affine * X[rows].mean(axis=0), shares, most)
        for rows in near
    ]
    return tuple(int(count) for count in np.median(counts, axis=0))


def _directions_for(
    points: NDArray[np.floating], shares: Sequence[float], most: int | None
) -> list[int]:
    """Count the principal directions that hold each share of the energy.

    Where it is plain that more than ``most`` are needed for every share, one more than
    that is the answer: m of them hold at most the root of m times the sum of their
    squared energies, which is the norm of the Gram matrix and needs no eigenvalues.
    """
    wide = points.astype(np.float64, copy=False)
    gram = wide @ wide.T if len(wide) < wide.shape[1] else wide.T @ wide
    if most is not None:
        held_at_most = np.sqrt(most) * np.linalg.norm(gram)
        if held_at_most < min(shares) * np.trace(gram):
            return [most + 1] * len(shares)
    energy = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0)
    total = energy.sum()
    if total <= 0:
        return [1] * len(shares)
    held = np.cumsum(energy) / total
    return [int(np.searchsorted(held, share) + 1) for share in shares]
