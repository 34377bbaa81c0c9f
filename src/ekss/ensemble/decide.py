"""Stage 2, decide: settle dimensions, coordinates and numbers of neighbours.

:func:`decide` looks only at the prepared points. What must be known before the rows can
be prepared is settled in :mod:`ekss.ensemble.settle`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from ekss.ensemble.cut import CutOptions
from ekss.ensemble.prepare import (
    Coordinates,
    Points,
    leading_coordinates,
    power_of_two,
)
from ekss.ensemble.vote import KSSMember, MemberFunction


@dataclass(frozen=True)
class Wishes:
    """What the user asks for, already checked; None stands for "auto".

    Attributes
    ----------
    n_clusters : int or None
        Number of clusters.
    dims : tuple of int or None
        Smallest and largest dimension of the subspaces.
    n_members : int or None
        Number of members that vote.
    member : KSSMember or callable
        How a member is made.
    affine, normalize : bool or None
        Whether subspaces may miss the origin; whether rows are scaled to unit length.
    whiten : int or None
        Number of directions in which the points are whitened; 0 for no whitening.
    image_shape : (int, int) or None
        Height and width of the images whose pixels form the rows; None if the rows are
        not images, or are not to be treated as such.
    n_neighbors : int or None
        Number of neighbours kept per point.
    cut : CutOptions
        How votes are counted, cut and judged.
    second_opinion : bool
        Whether the votes are held against a second graph: of self-expression or, for
        affine subspaces, of votes on whitened points.
    outliers : float, "auto" or None
        Share of the rows that get the label -1; here, None means no rows.

    Examples
    --------
    >>> from ekss.ensemble import Wishes
    >>> Wishes(n_clusters=3).unit(affine=False)
    True
    """

    n_clusters: int | None
    dims: tuple[int, int] | None = None
    n_members: int | None = None
    member: KSSMember | MemberFunction = field(default_factory=KSSMember)
    affine: bool | None = None
    normalize: bool | None = None
    whiten: int | None = None
    image_shape: tuple[int, int] | None = None
    n_neighbors: int | None = None
    cut: CutOptions = field(default_factory=CutOptions)
    second_opinion: bool = True
    outliers: float | str | None = None

    def unit(self, *, affine: bool) -> bool:
        """Decide whether rows are scaled to unit length.

        The length of a row carries no information about linear subspaces, but it does
        about affine ones.

        Parameters
        ----------
        affine : bool
            Whether subspaces may miss the origin.

        Returns
        -------
        unit : bool
            What the user asked for or, failing that, True for linear subspaces.
        """
        return not affine if self.normalize is None else self.normalize


@dataclass(frozen=True)
class Geometry:
    """What neighbourhoods reveal about the subspaces.

    Attributes
    ----------
    affine : bool
        Whether subspaces may miss the origin.
    low, high : int
        Range of the dimension of the subspaces.
    given : bool
        Whether the range was given by the user.

    Examples
    --------
    >>> from ekss.ensemble import Geometry
    >>> Geometry(affine=False, low=2, high=4).middle
    3
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

        Members split clusters into pieces, which need fewer directions.
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
        The points in the coordinates that members and judges use.
    n_clusters : int
    geometry : Geometry
    neighbors : tuple of int
        Numbers of neighbours per point in the graphs that are cut.
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

    # Neighbourhoods examined; the median of 64 counts varies by less than one.
    probes: int = 64
    # The dimension of linear subspaces lies between the numbers of directions that hold
    # these shares of the energy of a cluster's worth of neighbours (docs/choosing.md,
    # "1. Members that split classes").
    shares: tuple[float, float] = (0.8, 0.95)
    # Points are clean if this share of the energy of a neighbourhood lies on a
    # subspace; the median of a few neighbourhoods decides.
    clean_energy: float = 1 - 1e-4
    clean_probes: int = 8
    # Noise makes counts grow without bound, and the cost of every member with them.
    most_dims: int = 25
    # Tracks of rigid bodies lie on flats of dimension 2 or 3 (Tomasi and Kanade 1992),
    # up to this share of their energy on all Hopkins sequences.
    flat_energy: float = 0.99
    flat: tuple[int, int] = (2, 3)
    # Estimating a subspace of dimension d takes this many times d points.
    points_per_dim: int = 3
    # Number of dimensions in the range at which clusters are judged.
    judged_dims: int = 5
    # Neighbours per point in the graphs that are cut ...
    grid: tuple[int, ...] = (3, 5, 8, 12, 20, 40)
    # ... but at least this share of the square root of a cluster's size: sparser graphs
    # of large clusters fall apart, take longest to cut, and never gave the best cut.
    share_of_root: float = 1 / 4
    # Up to this many points the graph of all votes is cut too: N x N is small there.
    all_votes: int = 1000


_RULES = _Rules()


def decide(
    points: Points,
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    seen: Coordinates | None = None,
) -> Plan:
    """Settle dimensions, coordinates and numbers of neighbours for K clusters.

    ``seen`` are the whitened points; None if they are not whitened.
    """
    rows = points.rows if seen is None else seen.points
    affine = points.preparation.centre is not None
    if wishes.dims is None:
        geometry = estimate_geometry(
            rows, n_clusters, np.random.default_rng(seed), affine=affine
        )
    else:
        geometry = Geometry(affine, *wishes.dims, given=True)
    dtype = rows.dtype
    if points.preparation.unit and not affine:
        rng = np.random.default_rng(seed)
        dtype = dtype if is_clean(rows, n_clusters, rng) else np.dtype(np.float32)
    if seen is None:
        seen = leading_coordinates(rows, n_clusters, geometry.span, dtype)
    else:
        seen = replace(seen, points=rows.astype(dtype, copy=False))
    neighbors = cut_neighbors(wishes, len(rows), n_clusters)
    return Plan(points, seen, n_clusters, geometry, neighbors)


def decide_affine(
    rows: NDArray[np.floating], affine: bool | None, n_clusters: int
) -> bool:
    """Decide whether subspaces may miss the origin."""
    if affine is not None:
        return affine
    scaled = rows / power_of_two(float(np.abs(rows).max()))
    return has_flat_neighbourhoods(scaled, n_clusters, np.random.default_rng(0))


def cut_neighbors(wishes: Wishes, n_samples: int, n_clusters: int) -> tuple[int, ...]:
    """Return the neighbours per point of all graphs: the user's number, or several."""
    if wishes.n_neighbors is not None:
        return (wishes.n_neighbors,)
    return neighbor_counts(n_samples, n_clusters)


def neighbor_counts(n_samples: int, n_clusters: int) -> tuple[int, ...]:
    """Return the numbers of neighbours to try, from sqrt(N_k) / 4 to the paper's N_k/6.

    Up to 1000 points, the number of all other points is added.
    """
    most = paper_neighbors(n_samples, n_clusters)
    least = _RULES.share_of_root * sqrt(n_samples / n_clusters)
    counts = {min(q, most) for q in _RULES.grid if q >= min(least, _RULES.grid[-1])}
    if n_samples <= _RULES.all_votes:
        counts.add(n_samples - 1)
    return tuple(sorted(counts))


def paper_neighbors(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q = max(3, ceil(N_k / 6)), at most n_samples - 1."""
    return min(max(3, ceil(n_samples / (6 * n_clusters))), n_samples - 1)


def few_neighbors(n_samples: int, n_clusters: int) -> int:
    """Return the paper's q, but at most 10, for one graph that is quick to cut."""
    return min(10, paper_neighbors(n_samples, n_clusters))


def one_graph(wishes: Wishes, n_samples: int, n_clusters: int) -> int:
    """Return the neighbours per point of one graph: the user's number, or few."""
    q = wishes.n_neighbors or few_neighbors(n_samples, n_clusters)
    return min(q, n_samples - 1)


def has_flat_neighbourhoods(
    X: NDArray[np.floating], n_clusters: int, rng: np.random.Generator
) -> bool:
    """Decide whether points lie, up to 1 % of energy, on flats of dimension 2 or 3.

    A neighbourhood is half a cluster's worth of nearest points, minus their mean. The
    tracks of points on moving bodies lie on such flats, which miss the origin; images
    and noisy data need many more directions. In a low-dimensional space any
    neighbourhood lies on such a flat, so the flats must have fewer than half as many
    dimensions as the space. Flats of dimension 1 do not count: lines are easier to tell
    apart as lines through the origin.
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

    In a cluster's worth of nearest points, linear subspaces are taken to have as many
    dimensions as hold 80 % to 95 % of the energy, but at most 25 and at most a third of
    the cluster's points; affine subspaces as many as hold 99 % of the energy of half a
    cluster's worth, or one more.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Draws the points whose neighbours are examined.
    affine : bool
        Whether subspaces may miss the origin.

    Returns
    -------
    geometry : Geometry
        The range of dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.ensemble import estimate_geometry
    >>> X = make_union_of_subspaces(2, 3, 20, 60, random_state=0).data
    >>> found = estimate_geometry(X, 2, np.random.default_rng(0), affine=False)
    >>> found.low <= 3 <= found.high
    True
    """
    n = len(X)
    most = largest_dim(n, X.shape[1], n_clusters)
    if affine:
        dim = _flat_dim(X, n_clusters, rng)
        low, high = min(dim, most), min(dim + 1, most)
    else:
        size = min(n, max(10, n // n_clusters))
        low, high = median_directions(X, size, _RULES.shares, rng, affine=False)
        low, high = min(low, most), min(high, most)
    return Geometry(affine, low, high)


def is_clean(
    X: NDArray[np.floating], n_clusters: int, rng: np.random.Generator
) -> bool:
    """Decide whether float32 might lose what tells clusters apart.

    This can happen if neighbourhoods of a cluster's worth of points lie on subspaces up
    to 0.01 % of their energy: subspaces can then meet at angles that float32 hardly
    resolves. Stronger noise drowns the rounding errors of float32, in which members
    are twice as fast.
    """
    size = min(len(X), max(10, len(X) // n_clusters))
    most = largest_dim(len(X), X.shape[1], n_clusters)
    (needed,) = median_directions(
        X,
        size,
        (_RULES.clean_energy,),
        rng,
        affine=False,
        most=most,
        probes=_RULES.clean_probes,
    )
    return needed <= most


def largest_dim(n_samples: int, n_features: int, n_clusters: int) -> int:
    """Return the largest dimension that the subspaces of the points may have."""
    per_cluster = n_samples // (_RULES.points_per_dim * n_clusters)
    return max(1, min(_RULES.most_dims, n_features // 2, per_cluster))


def _flat_dim(
    X: NDArray[np.floating],
    n_clusters: int,
    rng: np.random.Generator,
    most: int | None = None,
) -> int:
    """Count the directions of the flats on which half a cluster's worth of points lies.

    Counts are exact up to ``most``; beyond it, any number above ``most`` may be
    returned.
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
    probes: int = _RULES.probes,
) -> tuple[int, ...]:
    """Return how many directions hold each share of a neighbourhood's energy.

    This is the median over up to 64 random neighbourhoods of ``size`` points; for
    affine subspaces their mean is subtracted. ``most`` is as in :func:`_flat_dim`.
    """
    chosen = rng.choice(len(X), min(probes, len(X)), replace=False)
    if affine:
        remoteness = euclidean_distances(X[chosen], X)
    else:
        remoteness = -np.abs(X[chosen] @ X.T)
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

    If it is evident that every share needs more than ``most`` directions, the result is
    ``most + 1``. By the Cauchy-Schwarz inequality, m directions hold at most sqrt(m)
    times the Frobenius norm of the Gram matrix, which takes no eigenvalues to compute.
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
