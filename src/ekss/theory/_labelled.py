"""What labelled points look like to the guarantees: subspaces, angles, votes.

Every pass over pairs works on blocks of rows against all points, so that no
n_samples x n_samples matrix exists, and can be told to look at some rows only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ekss.core.spectrum import leading_spectrum
from ekss.theory._separation import Monotone

ENERGY = 0.95
_LARGEST_DIM = 128
_NOTHING = 1e-6
_CLEAR = 1e-2
_BLOCK_ENTRIES = 2**20
_BISECTIONS = 64


@dataclass(frozen=True)
class LabelledSubspaces:
    """The subspaces of labelled points of unit length, one entry per cluster.

    Attributes
    ----------
    names : tuple of int
        The labels, sorted.
    sizes, dims : tuples of int
        Points and dimension.
    bases : tuple of ndarrays of shape (n_features, dim)
        Leading principal directions through the origin, orthonormal.
    outside : tuple of float
        Share of the energy of the points that is outside the subspace.
    farthest : tuple of float
        Largest distance of a point from the subspace.
    how : tuple of str
        Where the dimension comes from: "given", "rank" or "energy".
    """

    names: tuple[int, ...]
    sizes: tuple[int, ...]
    dims: tuple[int, ...]
    bases: tuple[NDArray[np.float64], ...]
    outside: tuple[float, ...]
    farthest: tuple[float, ...]
    how: tuple[str, ...]

    @property
    def noise(self) -> float:
        """Sigma of Lemma 2 that would leave this much energy outside; inf if none.

        A point y + e with noise of variance sigma^2 / D an entry, scaled to length 1,
        has the share sigma^2 (1 - d / D) / (1 + sigma^2) outside.
        """
        n_features = len(self.bases[0])
        dim = float(np.average(self.dims, weights=self.sizes))
        energy = float(np.average(self.outside, weights=self.sizes))
        if dim >= n_features:
            return 0.0
        share = energy / (1 - dim / n_features)
        if share < _NOTHING**2:
            return 0.0
        return math.sqrt(share / (1 - share)) if share < 1 else math.inf


@dataclass(frozen=True)
class SubspacePairs:
    """Affinities and largest cosines between subspaces; ones on the diagonals.

    ``closest`` are the two subspaces of largest affinity, ``angles`` their principal
    angles in degrees, smallest first.
    """

    affinities: NDArray[np.float64]
    cosines: NDArray[np.float64]
    closest: tuple[int, int]
    angles: NDArray[np.float64]


@dataclass(frozen=True)
class NeighbourProfile:
    """For some points, how near their own cluster is, and how near another.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The points looked at.
    near, far : ndarrays of shape (n_rows,)
        q-th largest inner product with the own, largest with another cluster.
    rival : ndarray of shape (n_rows,)
        The point of another cluster that ``far`` belongs to.
    """

    rows: NDArray[np.int64]
    near: NDArray[np.float64]
    far: NDArray[np.float64]
    rival: NDArray[np.int64]


def labelled_subspaces(
    points: NDArray[np.float64],
    labels: ArrayLike,
    dim: int | None = None,
) -> LabelledSubspaces:
    """Fit a subspace through the origin to the points of every label.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Of unit length.
    labels : array-like of shape (n_samples,)
        At least two different ones.
    dim : int, default=None
        Dimension of all subspaces. None takes the rank of a cluster where it is
        clear: it is below the number of points and of features, and singular values
        fall from over 1 % of the largest to under a millionth of it. Elsewhere it is
        the smallest dimension that holds 95 % of the energy. At most 128.

    Returns
    -------
    subspaces : LabelledSubspaces

    Examples
    --------
    >>> X = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    >>> labelled_subspaces(X, [0, 0, 0, 1, 1]).dims
    (2, 1)
    """
    codes = np.asarray(labels)
    names, sizes = np.unique(codes, return_counts=True)
    if dim is not None and not 1 <= dim <= min(points.shape[1] - 1, sizes.min()):
        raise ValueError(
            f"dim={dim} is not between 1 and {min(points.shape[1] - 1, sizes.min())}: "
            f"there are {points.shape[1]} features and {sizes.min()} points in the "
            f"smallest cluster; choose dim in that range"
        )
    found = [_fit(points[codes == name], dim) for name in names]
    bases, outside, farthest, how = zip(*found, strict=True)
    return LabelledSubspaces(
        tuple(int(name) for name in names),
        tuple(int(size) for size in sizes),
        tuple(basis.shape[1] for basis in bases),
        bases,
        outside,
        farthest,
        how,
    )


def subspace_pairs(bases: Sequence[NDArray[np.floating]]) -> SubspacePairs:
    """Compare every pair of subspaces by affinity and by smallest angle.

    Examples
    --------
    >>> pairs = subspace_pairs([np.eye(3)[:, :1], np.eye(3)[:, 1:]])
    >>> pairs.closest, pairs.angles
    ((0, 1), array([90.]))
    """
    n = len(bases)
    affinities, cosines = np.eye(n), np.eye(n)
    for k in range(n):
        for m in range(k):
            values = _cosines(bases[k], bases[m])
            affinity = math.sqrt(float(values @ values) / len(values))
            affinities[k, m] = affinities[m, k] = affinity
            cosines[k, m] = cosines[m, k] = values[0]
    off = np.where(np.eye(n, dtype=bool), -1.0, affinities)
    first, second = divmod(int(np.argmax(off)), n)
    angles = np.degrees(np.arccos(_cosines(bases[first], bases[second])))
    return SubspacePairs(affinities, cosines, (first, second), angles)


def neighbour_profile(
    points: NDArray[np.float64],
    labels: ArrayLike,
    q: int,
    rows: NDArray[np.integer] | None = None,
) -> NeighbourProfile:
    """Measure what Definition 2 compares, for all points or for some.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Of unit length.
    labels : array-like of shape (n_samples,)
        Each with more than q points.
    q : int
        Number of neighbours.
    rows : ndarray of int, default=None
        The points to look at; all if None.

    Returns
    -------
    profile : NeighbourProfile
        :math:`(f(near) - f(far)) / 2` is the gap of a point, phi_q the smallest gap.

    Notes
    -----
    O(n_rows n_samples n_features) time, 8 MB blocks.
    """
    codes = np.asarray(labels)
    chosen = np.arange(len(points)) if rows is None else np.asarray(rows, np.int64)
    near, far = np.empty(len(chosen)), np.empty(len(chosen))
    rival = np.empty(len(chosen), np.int64)
    for part, own, inner in _blocks(points, chosen):
        same = codes[own, None] == codes
        others = np.where(same, -1.0, inner)
        rival[part] = others.argmax(axis=1)
        far[part] = others.max(axis=1)
        inner[~same] = -1.0
        inner[np.arange(len(own)), own] = -1.0
        near[part] = np.partition(inner, -q, axis=1)[:, -q]
    return NeighbourProfile(chosen, near, far, rival)


def count_nearer(
    points: NDArray[np.float64],
    labels: ArrayLike,
    rows: NDArray[np.integer],
    thresholds: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Count points of the own cluster with inner products of at least a threshold.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
    rows : ndarray of shape (n_rows,)
        The points whose neighbours are counted; a point is not its own neighbour.
    thresholds : ndarray of shape (n_thresholds, n_rows)

    Returns
    -------
    counts : ndarray of shape (n_thresholds, n_rows)

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> count_nearer(X, [0, 0, 0], np.array([1]), np.array([[0.5], [0.7]]))
    array([[2],
           [1]])
    """
    codes = np.asarray(labels)
    counts = np.zeros(thresholds.shape, np.int64)
    for part, own, inner in _blocks(points, np.asarray(rows)):
        inner[codes[own, None] != codes] = -1.0
        inner[np.arange(len(own)), own] = -1.0
        for count, limit in zip(counts, thresholds, strict=True):
            count[part] = (inner >= limit[part, None]).sum(axis=1)
    return counts


def rises_above(f: Monotone, targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the smallest inner products at which f is above each target.

    Infinite where f stays at or below the target on [0, 1].

    Examples
    --------
    >>> rises_above(np.square, np.array([0.25, 1.0])).round(9)
    array([0.5, inf])
    """
    low, high = np.zeros(targets.shape), np.ones(targets.shape)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = np.asarray(f(middle)) > targets
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    at_zero = np.asarray(f(np.zeros(targets.shape))) > targets
    high = np.where(at_zero, 0.0, high)
    return np.where(np.asarray(f(high)) > targets, high, np.inf)


def votes_deviation(
    points: NDArray[np.float64],
    members: NDArray[Any],
    f: Monotone,
    rows: NDArray[np.integer] | None = None,
) -> float:
    """Tau of Definition 1 for the co-association of members, without the matrix.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Of unit length.
    members : ndarray of shape (n_samples, n_members)
        Labels of every point in every member.
    f : callable
        Non-decreasing function of absolute inner products.
    rows : ndarray of int, default=None
        The points whose pairs are looked at; all if None.

    Returns
    -------
    tau : float

    Notes
    -----
    O(n_rows n_samples (n_features + n_members)) time.

    Examples
    --------
    >>> votes_deviation(np.eye(2), np.array([[0, 0], [0, 1]]), np.square)
    0.5
    """
    chosen = np.arange(len(points)) if rows is None else np.asarray(rows, np.int64)
    by_member = np.ascontiguousarray(members.T)
    largest = 0.0
    for _, own, inner in _blocks(points, chosen):
        error = np.abs(_votes(by_member, own) - np.asarray(f(inner)))
        error[np.arange(len(own)), own] = 0.0
        largest = max(largest, float(error.max()))
    return largest


def _votes(by_member: NDArray[Any], own: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the rows ``own`` of the co-association matrix."""
    n_members, n_samples = by_member.shape
    total = np.zeros((len(own), n_samples), np.int32)
    for first in range(0, n_members, 255):  # as many as a byte can count
        together = np.zeros((len(own), n_samples), np.uint8)
        for labels in by_member[first : first + 255]:
            together += (labels[own, None] == labels).view(np.uint8)
        total += together
    return total / n_members


def _blocks(
    points: NDArray[np.float64], rows: NDArray[np.integer]
) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield positions in ``rows``, the rows, and their absolute inner products."""
    step = max(1, _BLOCK_ENTRIES // len(points))
    for first in range(0, len(rows), step):
        part = slice(first, min(first + step, len(rows)))
        own = np.asarray(rows[part], np.int64)
        yield part, own, np.abs(points[own] @ points.T)


def _cosines(U: NDArray[np.floating], V: NDArray[np.floating]) -> NDArray[np.float64]:
    """Cosines of the principal angles, largest first."""
    return np.minimum(np.linalg.svd(U.T @ V, compute_uv=False), 1.0)


def _fit(
    cluster: NDArray[np.float64], dim: int | None
) -> tuple[NDArray[np.float64], float, float, str]:
    """Return basis, share of energy outside, farthest distance, how dim was found."""
    most = min(*cluster.shape, _LARGEST_DIM)
    spectrum = leading_spectrum(cluster, dim or most)
    how = "given"
    if dim is None:
        full = min(cluster.shape)
        dim, how = _dimension(spectrum.singular_values, spectrum.total, full)
    basis = np.ascontiguousarray(spectrum.directions[:dim].T)
    rest = cluster - (cluster @ basis) @ basis.T
    distances = np.linalg.norm(rest, axis=1)
    return basis, float(np.mean(distances**2)), float(distances.max()), how


def _dimension(values: NDArray[np.float64], total: float, full: int) -> tuple[int, str]:
    rank = int(np.sum(values > _NOTHING * values[0]))
    left = total - float(values[:rank] @ values[:rank])
    clear = values[rank - 1] > _CLEAR * values[0]
    if rank < full and clear and left <= (_NOTHING * values[0]) ** 2:
        return rank, "rank"
    held = np.cumsum(values**2) / total
    enough = int(np.searchsorted(held, ENERGY)) + 1
    return min(enough, len(values)), "energy"
