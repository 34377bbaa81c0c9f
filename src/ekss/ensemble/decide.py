"""Stage 2, decide: settle from the points what the user leaves automatic.

Everything here looks at the points alone. Decisions that need trial ensembles, the
number of clusters and of components to remove, are in :mod:`ekss.ensemble.automatic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from ekss.ensemble.cut import CutOptions
from ekss.ensemble.prepare import Coordinates, Points, leading_coordinates, power_of_two
from ekss.ensemble.vote import KSSMember, MemberFunction


@dataclass(frozen=True)
class Wishes:
    """What the user asks for, checked; None stands for "auto".

    Attributes
    ----------
    n_clusters : int or None
    dims : tuple of int or None
        Smallest and largest dimension of the subspaces.
    n_members : int or None
    member : KSSMember or callable
    affine, normalize : bool or None
    n_removed : int or None
        Leading components to remove.
    n_neighbors : int or None
        Neighbours kept per point.
    cut : CutOptions
    """

    n_clusters: int | None
    dims: tuple[int, int] | None = None
    n_members: int | None = None
    member: KSSMember | MemberFunction = field(default_factory=KSSMember)
    affine: bool | None = None
    normalize: bool | None = None
    n_removed: int | None = None
    n_neighbors: int | None = None
    cut: CutOptions = field(default_factory=CutOptions)

    def unit(self, *, affine: bool) -> bool:
        """Tell whether rows are scaled to unit length.

        Length carries no information about linear subspaces, but about affine ones.
        """
        return not affine if self.normalize is None else self.normalize


@dataclass(frozen=True)
class Geometry:
    """What neighbourhoods tell about the subspaces.

    Attributes
    ----------
    affine : bool
        Whether subspaces may miss the origin.
    low, high : int
        Range of their dimension.
    given : bool
        Whether the user gave the range.
    """

    affine: bool
    low: int
    high: int
    given: bool = False

    @property
    def span(self) -> int:
        """Number of directions that the subspace of a cluster typically spans."""
        return ceil((self.low + self.high) / 2) + self.affine

    @property
    def middle(self) -> int:
        """Dimension of the subspaces of the clusters."""
        return (self.low + self.high) // 2

    @property
    def of_members(self) -> tuple[int, int]:
        """Range of the dimension of candidate subspaces.

        Members split clusters into pieces, and pieces need fewer directions.
        """
        if self.given or self.affine:
            return self.low, self.high
        return ceil(self.low / 2), self.high

    @property
    def judged(self) -> tuple[int, ...]:
        """Dimensions at which clusters are judged."""
        dims = np.linspace(self.low, self.high, _RULES.judged_dims)
        return tuple(sorted({round(dim) for dim in dims}))


@dataclass(frozen=True)
class Plan:
    """All that members and cuts need to know.

    Attributes
    ----------
    points : Points
    seen : Coordinates
        The points as members and judges see them.
    n_clusters : int
    geometry : Geometry
    neighbors : tuple of int
        Numbers of neighbours per point, of the graphs that are cut.
    """

    points: Points
    seen: Coordinates
    n_clusters: int
    geometry: Geometry
    neighbors: tuple[int, ...]

    @property
    def is_trivial(self) -> bool:
        """Whether there is one cluster, or one per point: nothing to choose."""
        return self.n_clusters in (1, len(self.points.rows))


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Neighbourhoods looked at; the median of 64 counts varies by less than one.
    probes: int = 64
    # Shares of the energy of a cluster's worth of neighbours between which the
    # dimension of linear subspaces lies (docs/choosing.md, "Dimensions").
    shares: tuple[float, float] = (0.8, 0.95)
    # Noise makes counts grow without bound, and with them the cost of every member.
    most_dims: int = 25
    # Tracks of rigid bodies lie on flats of dimension 2 or 3 (Tomasi and Kanade 1992),
    # within this share of their energy on all Hopkins sequences.
    flat_energy: float = 0.99
    flat: tuple[int, int] = (2, 3)
    # A subspace of dimension d needs this many times d points to be estimated.
    points_per_dim: int = 3
    # Clusters are judged at so many dimensions of the range.
    judged_dims: int = 5
    # Neighbours per point in the graphs that are cut ...
    grid: tuple[int, ...] = (3, 5, 8, 12, 20, 40)
    # ... but at least this share of the root of a cluster's points: thinner graphs of
    # large clusters fall apart, take longest to cut, and their cuts were never best.
    share_of_root: float = 1 / 4
    # Up to so many points the graph of all votes is cut too: N x N is small there.
    all_votes: int = 1000


_RULES = _Rules()
MOST_DIMS = _RULES.most_dims


def decide(points: Points, wishes: Wishes, n_clusters: int, seed: int) -> Plan:
    """Settle dimensions, coordinates and numbers of neighbours for K clusters."""
    rows = points.rows
    affine = points.preparation.centre is not None
    if wishes.dims is None:
        geometry = estimate_geometry(
            rows, n_clusters, np.random.default_rng(seed), affine=affine
        )
    else:
        geometry = Geometry(affine, *wishes.dims, given=True)
    seen = leading_coordinates(rows, n_clusters, geometry.span)
    if wishes.n_neighbors is None:
        neighbors = neighbor_counts(len(rows), n_clusters)
    else:
        neighbors = (wishes.n_neighbors,)
    return Plan(points, seen, n_clusters, geometry, neighbors)


def decide_affine(
    rows: NDArray[np.floating], affine: bool | None, n_clusters: int
) -> bool:
    """Tell whether subspaces may miss the origin."""
    if affine is not None:
        return affine
    scaled = rows / power_of_two(float(np.abs(rows).max()))
    return has_flat_neighbourhoods(scaled, n_clusters, np.random.default_rng(0))


def neighbor_counts(
    n_samples: int, n_clusters: int, n_all: int | None = None
) -> tuple[int, ...]:
    """Return the numbers of neighbours to try, from sqrt(N_k) / 4 to the paper's N_k/6.

    For few points all others are one more. Points that are a sample of ``n_all`` have
    it only if the whole would.
    """
    most = paper_neighbors(n_samples, n_clusters)
    least = _RULES.share_of_root * sqrt(n_samples / n_clusters)
    counts = {min(q, most) for q in _RULES.grid if q >= min(least, _RULES.grid[-1])}
    if (n_all or n_samples) <= _RULES.all_votes:
        counts.add(n_samples - 1)
    return tuple(sorted(counts))


def paper_neighbors(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q = max(3, ceil(N_k / 6)), at most n_samples - 1."""
    return min(max(3, ceil(n_samples / (6 * n_clusters))), n_samples - 1)


def few_neighbors(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q, but at most 10: one graph that is quick to cut."""
    return min(10, paper_neighbors(n_samples, n_clusters))


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
    fewest, most = _RULES.flat
    dim = _flat_dim(X, n_clusters, rng, most=most)
    return fewest <= dim <= most and 2 * dim < X.shape[1]


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
    per_cluster = n // (_RULES.points_per_dim * n_clusters)
    most = max(1, min(_RULES.most_dims, n_features // 2, per_cluster))
    if affine:
        dim = _flat_dim(X, n_clusters, rng)
        low, high = min(dim, most), min(dim + 1, most)
    else:
        size = min(n, max(10, n // n_clusters))
        low, high = median_directions(X, size, _RULES.shares, rng, affine=False)
        low, high = min(low, most), min(high, most)
    return Geometry(affine, low, high)


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
    shares = (_RULES.flat_energy,)
    (dim,) = median_directions(X, size, shares, rng, affine=True, most=most)
    return dim


def median_directions(
    X: NDArray[np.floating],
    size: int,
    shares: Sequence[float],
    rng: np.random.Generator,
    *,
    affine: bool,
    most: int | None = None,
) -> tuple[int, ...]:
    """Count directions that hold each share of a neighbourhood's energy; the median."""
    probes = rng.choice(len(X), min(_RULES.probes, len(X)), replace=False)
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
