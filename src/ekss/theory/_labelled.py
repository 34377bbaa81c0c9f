"""A labelled data set as the theorems see it: subspaces, angles, sizes, settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ekss.core.linalg import leading_spectrum, unit_rows
from ekss.theory._missing import MissingRatio, missing_ratio
from ekss.theory._types import Bases, Floats, Ints

ENERGY = 0.95  # share of a cluster's energy that its subspace holds, as in the report
_LARGEST_DIM = 128  # of a subspace; more directions are never computed
_NOTHING = 1e-6  # singular values below this share of the largest are rounding
_CLEAR = 1e-2  # the last singular value of an exact rank is above this share
_MOST_PAIRS = 10**8  # pairs of points that are compared, a few seconds
_FEWEST_ROWS = 1000  # points that are compared with all others however many there are


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

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.theory import labelled_subspaces
    >>> X = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    >>> found = labelled_subspaces(X, [0, 0, 0, 1, 1])
    >>> found.dims, found.bases[1].shape
    ((2, 1), (3, 1))
    """

    names: tuple[int, ...]
    sizes: tuple[int, ...]
    dims: tuple[int, ...]
    bases: tuple[Floats, ...]
    outside: tuple[float, ...]
    farthest: tuple[float, ...]
    how: tuple[str, ...]

    @property
    def noise(self) -> float:
        """Sigma of Lemma 2 that would leave this much energy outside; inf if none.

        A point y + e with noise of variance sigma^2 / D per entry, scaled to length 1,
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

    Attributes
    ----------
    affinities, cosines : ndarray of shape (n_clusters, n_clusters)
        Affinity and largest cosine of every pair.
    closest : tuple of two int
        The two subspaces of largest affinity.
    angles : ndarray
        Their principal angles in degrees, smallest first.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.theory import subspace_pairs
    >>> subspace_pairs([np.eye(3)[:, :1], np.eye(3)[:, 1:]]).affinities
    array([[1., 0.],
           [0., 1.]])
    """

    affinities: Floats
    cosines: Floats
    closest: tuple[int, int]
    angles: Floats


@dataclass(frozen=True)
class Situation:
    """What the theorems ask about the data and the methods.

    Attributes
    ----------
    sizes, dims : tuples of int
        Points and dimension of each cluster.
    n_features, q, n_members : int
        D, q and B.
    ratio, max_affinity : float
        r_0, the largest cosine between two subspaces, and the largest affinity.
    farthest : float
        Largest distance of a point of unit length from its subspace.
    noise : float
        sigma of Lemma 2.
    missing : MissingRatio
        r_s of Lemma 1.
    n_missing : int
        s of Lemma 1.
    n_components : int
        p of Theorem 8.

    Examples
    --------
    >>> from ekss.theory import labelled_case
    >>> X = [[1.0, 0, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]]
    >>> situation = labelled_case(X, [0, 0, 0, 1, 1]).situation
    >>> situation.sizes, situation.ratio
    ((3, 2), 0.0)
    """

    sizes: tuple[int, ...]
    dims: tuple[int, ...]
    n_features: int
    q: int
    n_members: int
    ratio: float
    max_affinity: float
    farthest: float
    noise: float
    missing: MissingRatio
    n_missing: int
    n_components: int

    @property
    def n_samples(self) -> int:
        """Number of points N."""
        return sum(self.sizes)

    @property
    def rho(self) -> float:
        """The smallest rho with q < N_min^rho, which makes c_1 largest."""
        return smallest_exponent(self.q, min(self.sizes))


@dataclass(frozen=True)
class Case:
    """A labelled data set with every setting of an assessment decided.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_features)
        The points, scaled to length 1.
    labels : ndarray of shape (n_samples,)
        Cluster of each point.
    rows : ndarray of int
        The points that are compared with all others: all, or a random sample.
    subspaces : LabelledSubspaces
        One subspace fitted to each cluster.
    pairs : SubspacePairs
        How the subspaces lie to each other.
    situation : Situation
        What the theorems ask for, in numbers.
    n_candidates, candidate_dim : int
        Candidate subspaces per member of EKSS-0, and their dimension.
    failure : float
        Failure probability allowed in Theorem 3.
    seed : int
        Seed of the members and of the sample.
    q_given, noise_given : bool
        Whether q and the noise were given rather than chosen here.

    Examples
    --------
    >>> from ekss.theory import labelled_case
    >>> X = [[1.0, 0, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]]
    >>> case = labelled_case(X, [0, 0, 0, 1, 1])
    >>> case.n_candidates, case.candidate_dim
    (2, 1)
    """

    points: Floats
    labels: Ints
    rows: Ints
    subspaces: LabelledSubspaces
    pairs: SubspacePairs
    situation: Situation
    n_candidates: int
    candidate_dim: int
    failure: float
    seed: int
    q_given: bool
    noise_given: bool

    @property
    def complete(self) -> bool:
        """Whether every point is compared with every other."""
        return len(self.rows) == len(self.points)


def labelled_case(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    dim: int | None = None,
    q: int | None = None,
    n_members: int = 1000,
    n_candidates: int | None = None,
    candidate_dim: int | None = None,
    failure: float = 0.01,
    noise: float | None = None,
    n_missing: int = 0,
    n_components: int | None = None,
    n_rows: int | None = None,
    seed: int = 0,
) -> Case:
    """Describe labelled points as the theorems see them, and settle what is open.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points as rows; only their directions matter.
    labels : array-like of shape (n_samples,)
        Integer label of each point's cluster, at least two different ones.
    dim : int, default=None
        Dimension of every cluster's subspace; None finds each from its points.
    q : int, default=None
        Neighbours per point; None takes the paper's max(3, N_k / 20).
    n_members : int, default=1000
        Members of EKSS-0.
    n_candidates : int, default=None
        Candidate subspaces per member; None takes the number of clusters.
    candidate_dim : int, default=None
        Dimension of the candidates; None takes the median of the clusters.
    failure : float, default=0.01
        Failure probability allowed in Theorem 3.
    noise : float, default=None
        The sigma of Lemma 2, about the length of the noise of a point of length 1; None
        estimates it from what lies outside the subspaces.
    n_missing : int, default=0
        Entries that a point may lack, set to 0: s of Lemma 1.
    n_components : int, default=None
        Dimension of a random projection before TSC: p of Theorem 8; None keeps all.
    n_rows : int, default=None
        Compare at most this many points with all others; None takes as many as
        10^8 pairs allow.
    seed : int, default=0
        Seed of the members and of the sample of rows.

    Returns
    -------
    case : Case
        The points with every setting decided, for :func:`assess`.

    Examples
    --------
    >>> X = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    >>> case = labelled_case(X, [0, 0, 0, 1, 1])
    >>> case.subspaces.dims, case.situation.q
    ((2, 1), 1)
    """
    codes = np.asarray(labels)
    points, settled_q = _checked(np.asarray(X, np.float64), codes, q, failure)
    subspaces = labelled_subspaces(points, codes, dim)
    pairs = subspace_pairs(subspaces.bases)
    off = ~np.eye(len(subspaces.sizes), dtype=bool)
    n_features = points.shape[1]
    situation = Situation(
        sizes=subspaces.sizes,
        dims=subspaces.dims,
        n_features=n_features,
        q=settled_q,
        n_members=n_members,
        ratio=float(pairs.cosines[off].max()),
        max_affinity=float(pairs.affinities[off].max()),
        farthest=max(subspaces.farthest),
        noise=subspaces.noise if noise is None else noise,
        missing=missing_ratio(subspaces.bases, n_missing),
        n_missing=n_missing,
        n_components=n_components or n_features,
    )
    # candidates may not fill the space
    middle = min(int(np.median(subspaces.dims)), max(1, n_features - 1))
    return Case(
        points,
        codes,
        _compared_rows(len(points), n_rows, seed),
        subspaces,
        pairs,
        situation,
        n_candidates or len(subspaces.sizes),
        candidate_dim or middle,
        failure,
        seed,
        q is not None,
        noise is not None,
    )


def default_q(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q for EKSS-0 and TSC, max(3, ceil(N_k / 20)).

    Parameters
    ----------
    n_samples, n_clusters : int
        Number of points, and of clusters.

    Returns
    -------
    q : int
        Neighbours per point.

    Examples
    --------
    >>> default_q(1797, 10)
    9
    """
    return max(3, math.ceil(n_samples / (20 * n_clusters)))


def smallest_exponent(q: int, n: int) -> float:
    """Return the smallest rho with q < n^rho, at most just under 1."""
    return min(math.log(q * (1 + 1e-9)) / math.log(n), math.nextafter(1.0, 0.0))


def labelled_subspaces(
    points: Floats, labels: ArrayLike, dim: int | None = None
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
        One subspace per cluster, in the order of the labels.

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


def subspace_pairs(bases: Bases) -> SubspacePairs:
    """Compare every pair of subspaces by affinity and by smallest angle.

    Parameters
    ----------
    bases : sequence of ndarray of shape (n_features, dim)
        At least two, with orthonormal columns; dims may differ.

    Returns
    -------
    pairs : SubspacePairs
        Affinities and cosines of all pairs, and the closest pair.

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


def _checked(
    points: Floats, labels: NDArray[Any], q: int | None, failure: float
) -> tuple[Floats, int]:
    """Return points of unit length and q, or say what is wrong."""
    if not 0 < failure < 1:
        raise ValueError(
            f"failure={failure} is not a probability between 0 and 1; choose one such "
            "as 0.01"
        )
    if len(labels) != len(points):
        raise ValueError(
            f"there are {len(labels)} labels for {len(points)} points; give one label "
            "per point"
        )
    if not np.isfinite(points).all():
        raise ValueError(
            "the points contain NaN or infinity; as in the paper, set missing entries "
            "to 0 and give the largest number that a point may lack"
        )
    empty = np.flatnonzero(~points.any(axis=1))
    if empty.size:
        raise ValueError(
            f"{empty.size} of {len(points)} points are zero, the first is row "
            f"{empty[0]}; a zero vector has no angle to any other point, so remove them"
        )
    names, sizes = np.unique(labels, return_counts=True)
    if len(names) < 2:
        raise ValueError("the labels name 1 cluster; the guarantees need at least 2")
    smallest, name = int(sizes.min()), names[sizes.argmin()]
    if smallest < 2:
        raise ValueError(
            f"cluster {name} has 1 point and so no neighbour in it; remove the cluster "
            "or add points"
        )
    q = q or min(default_q(len(points), len(names)), smallest - 1)
    if q >= smallest:
        raise ValueError(
            f"q={q} needs clusters of more than {q} points, and cluster {name} has "
            f"{smallest}; choose q up to {smallest - 1}"
        )
    return np.asarray(unit_rows(points), np.float64), q


def _compared_rows(n_samples: int, n_rows: int | None, seed: int) -> Ints:
    most = n_rows or max(_FEWEST_ROWS, _MOST_PAIRS // n_samples)
    if n_samples <= most:
        return np.arange(n_samples)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_samples, most, replace=False))


def _cosines(U: Floats, V: Floats) -> Floats:
    """Cosines of the principal angles, largest first."""
    return np.minimum(np.linalg.svd(U.T @ V, compute_uv=False), 1.0)


def _fit(cluster: Floats, dim: int | None) -> tuple[Floats, float, float, str]:
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


def _dimension(values: Floats, total: float, full: int) -> tuple[int, str]:
    rank = int(np.sum(values > _NOTHING * values[0]))
    left = total - float(values[:rank] @ values[:rank])
    clear = values[rank - 1] > _CLEAR * values[0]
    if rank < full and clear and left <= (_NOTHING * values[0]) ** 2:
        return rank, "rank"
    held = np.cumsum(values**2) / total
    enough = int(np.searchsorted(held, ENERGY)) + 1
    return min(enough, len(values)), "energy"
