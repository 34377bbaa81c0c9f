"""Stage 2, decide: settle from the data what the user leaves automatic.

Decisions are made in two steps. :func:`settle` comes before the rows are prepared: it
finds the number of clusters, decides between linear and affine subspaces, and chooses
the directions in which points are whitened, by trial ensembles on some of the rows.
:func:`decide` comes afterwards: it looks only at the prepared points, and adds
dimensions, coordinates and numbers of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import ceil, inf, sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from ekss.core.ksubspaces import MemberOptions
from ekss.core.linalg import leading_spectrum, unit_rows
from ekss.ensemble.choose import (
    Evidence,
    cut_and_choose,
    gather_evidence,
    judge_all,
    score_cut,
    total_of,
)
from ekss.ensemble.cut import CutOptions, cut, nearest
from ekss.ensemble.express import (
    ask_expressions,
    can_express,
    express_sparsely,
    normalised,
)
from ekss.ensemble.prepare import (
    Coordinates,
    Points,
    Scattering,
    View,
    leading_coordinates,
    power_of_two,
    prepare,
    whitened_directions,
)
from ekss.ensemble.vote import (
    Ensemble,
    KSSMember,
    MemberFunction,
    member_for,
    run_members,
)
from ekss.graph import spectral_embedding
from ekss.graph.communities import communities
from ekss.graph.votes import (
    Votes,
    cluster_silhouettes,
    companion_shares,
    symmetric_graph,
)
from ekss.runtime.rows import draw_sample
from ekss.runtime.workers import Workers


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
    expression : bool
        Whether self-expression is asked for a second opinion.
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
    expression: bool = True
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


@dataclass(frozen=True)
class _WhiteningRules:
    """Constants of the choice of directions (docs/experiments.md, "Whitening")."""

    # If the mean of points of unit length has at least this squared length, the points
    # have a direction in common: 0.45 to 0.7 for raw images, at most 0.015 for
    # subspaces, or for images minus their mean or leading components.
    common: float = 0.1
    # Directions tried, per cluster; no more than ``few``, or ``per_cluster``. Fewer
    # than one per cluster are tried if they are at least ``least``: many classes of
    # images share directions (docs/experiments.md, "Fewer directions than clusters").
    multiples: tuple[float, ...] = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12)
    least: int = 32
    few: int = 128
    per_cluster: int = 4
    # Members in each round of the comparison of numbers of directions.
    members: tuple[int, ...] = (25, 50, 100)
    # After a round, numbers whose score exceeds the lowest by more than this are given
    # up (docs/experiments.md, "Trials with few members").
    hopeless: float = 0.7
    # Points used in the comparison: a minimum, and a number per cluster.
    fewest_rows: int = 2000
    rows_per_cluster: int = 100
    # Scores this close count as equal, and the largest number is taken: too few
    # directions do more harm than too many. The same holds for scores of pixels and of
    # features, in which case pixels are taken.
    equal: float = 0.1
    # Entries summed at once: 8 MB, which stay in cache.
    block_entries: int = 2**20


@dataclass(frozen=True)
class _CountRules:
    """Constants of the search for the number of clusters (docs/choosing.md)."""

    # Members and points used to find the number.
    members: int = 100
    rows: int = 4000
    # Where the search begins: at few bodies if the points are tracks.
    first: int = 8
    first_affine: int = 3
    # How far from its guess a round looks, and the maximum number of rounds.
    reach: float = 3.0
    rounds: int = 5
    # Judges are trusted on numbers between these multiples of the guess. A guess is
    # never moved below three: with two, all judges would have two candidates.
    near: tuple[float, float] = (0.9, 2.5)
    least: int = 3
    # Points per cluster that must remain when a guess is raised because nothing was
    # confirmed, and when a number is scored.
    points_when_raised: int = 10
    points_when_scored: int = 4
    # Ratio of neighbouring numbers, first on the coarse grid, then on the fine one.
    coarse: float = 1.25
    fine: float = 1.06
    # All numbers up to this one are tried.
    all_up_to: int = 8
    # Scores of numbers this close to each other are averaged.
    within: float = 0.05
    # Neighbours per point in the graphs that are cut, up to the paper's number.
    neighbors: tuple[int, ...] = (8, 20)
    # A further cluster must have at least this silhouette of votes ...
    silhouette: float = 0.15
    # ... and if judges are undecided, the score of the cut decides.
    weight_of_cut: float = 0.3
    # Neighbours per point in the graphs whose eigenvalues are examined; at most this
    # share of the points.
    gap_neighbors: tuple[int, ...] = (10, 20, 40)
    gap_share: float = 1 / 4
    # Rounds of the search for a gap. A gap determines the number if it is this close to
    # the guess, and this many times as wide as the gaps that are not near it.
    gap_rounds: int = 4
    gap_rest: float = 0.25
    gap_clear: float = 2.0
    gap_near: float = 0.1
    # Directions in which points are expressed by each other to count communities, at
    # most half of all, and the fewest points of a community that counts.
    community_directions: int = 64
    community_points: int = 3
    # There are sometimes twice as many communities as clusters, and hardly ever fewer.
    # No search goes on from a guess of more than ``community_most`` times their number.
    # If more clusters than that were found, or if there are more than
    # ``communities_more`` times as many communities as clusters, ...
    community_most: float = 1.25
    communities_more: float = 2.0
    # ... members are made for this share of it, and judges look only so far from there.
    community_share: float = 0.8
    community_reach: float = 1.25
    # More clusters than before are taken if their cut scores lower by more than this.
    # It does so by 3 for turning objects; arcs of circles and parts of spheres score
    # higher by 1.
    community_gain: float = 1.0


WHITENING = _WhiteningRules()
COUNT = _CountRules()


@dataclass(frozen=True)
class Whitening:
    """A number of directions that was tried.

    Attributes
    ----------
    n_directions : int
        The number.
    score : float
        Score of the best cut of the points in this number of directions: its mean over
        all numbers of directions that were still being compared; lower is better. Only
        scores from the same number of members can be compared.
    n_members : int
        Number of members that voted in the trial: fewer if it was soon clear that
        another number of directions is better.
    features : {"rows", "scattering"}
        Whether the directions are those of the rows, or of scattering features of
        images.

    Examples
    --------
    >>> from ekss.ensemble import Whitening
    >>> tried = [Whitening(10, -4.2, 100), Whitening(20, -5.0, 100)]
    >>> min(tried, key=lambda one: one.score).n_directions
    20
    """

    n_directions: int
    score: float
    n_members: int
    features: str = "rows"


@dataclass(frozen=True)
class Count:
    """A number of clusters that was considered.

    Attributes
    ----------
    n_clusters : int
        The number.
    score : float
        0.3 times the score of the best cut minus ``confirmed``, averaged over the
        numbers within a twentieth of this one; lower is better. If a gap between
        eigenvalues determines the number, ``-gap``.
    confirmed : float
        Sum over the clusters of V - 0.15, where V is a cluster's silhouette of the
        votes of the judges (:func:`ekss.graph.cluster_silhouettes`). Not positive if
        the judges see no clusters; 0 if they are not asked because a gap determines the
        number.
    gap : float
        Sum over several graphs of the gap after ``n_clusters`` eigenvalues, as a share
        of the widest gap of each graph; 0 if no gap determines the number.

    Examples
    --------
    >>> from ekss.ensemble import Count
    >>> tried = [Count(2, -1.5), Count(3, -2.0)]
    >>> min(tried, key=lambda count: count.score).n_clusters
    3
    """

    n_clusters: int
    score: float
    confirmed: float = 0.0
    gap: float = 0.0


@dataclass(frozen=True)
class Settled:
    """Decisions made before the points are prepared, with their evidence.

    Attributes
    ----------
    n_clusters : int
    affine, unit : bool
        Whether subspaces may miss the origin; whether rows are scaled to unit length.
    seen : Coordinates or None
        The whitened points; None if they are not whitened.
    whitenings : tuple of Whitening
        Numbers of directions that were tried, best first; empty if none were.
    counts : tuple of Count
        Numbers of clusters compared in the last round, best first; empty if the number
        was given.
    ensemble : Ensemble or None
        Members that were run in the trial of the chosen directions.
    """

    n_clusters: int
    affine: bool
    unit: bool
    seen: Coordinates | None = None
    whitenings: tuple[Whitening, ...] = ()
    counts: tuple[Count, ...] = ()
    ensemble: Ensemble | None = None

    @property
    def n_directions(self) -> int:
        """Number of directions in which the points are whitened; 0 if they are not."""
        return 0 if self.seen is None else self.seen.points.shape[1]

    @property
    def features(self) -> str:
        """What members see: "rows", or "scattering" features of images."""
        return "rows" if self.seen is None else _features_of(self.seen)


def _features_of(seen: Coordinates) -> str:
    images = seen.view is not None and seen.view.scattering is not None
    return "scattering" if images else "rows"


def settle(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> Settled:
    """Settle the number of clusters, linear or affine, and how points are whitened.

    A number of clusters found here leads to the same decisions as the same number given
    by the user: decisions made for a guess only serve to find the number.
    """
    if wishes.n_clusters is not None:
        return _settle_given(rows, wishes, wishes.n_clusters, seed, workers)
    rng = np.random.default_rng(seed)
    few = rows
    if len(rows) > COUNT.rows:
        few = rows[np.sort(rng.choice(len(rows), COUNT.rows, replace=False))]
    counts = _find_count(few, wishes, seed, workers)
    found = counts[0].n_clusters if counts else 1
    settled = _settle_given(rows, wishes, found, seed, workers)
    return replace(settled, counts=counts)


def _settle_given(
    rows: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    workers: Workers,
) -> Settled:
    """Settle everything else for a given number of clusters, or for a guess."""
    affine = decide_affine(rows, wishes.affine, n_clusters)
    unit = wishes.unit(affine=affine)
    if unit and not affine and may_whiten(rows, wishes, n_clusters):
        return try_whitening(rows, wishes, n_clusters, seed, workers)
    seen = None
    if wishes.whiten:
        points = prepare(rows, unit=unit, affine=affine).rows
        (seen,) = _whitened(points, (wishes.whiten,), unit=unit)
    return Settled(n_clusters, affine, unit, seen)


# --- In how many directions points are whitened ---------------------------------------


def may_whiten(rows: NDArray[np.floating], wishes: Wishes, n_clusters: int) -> bool:
    """Decide whether there are numbers of directions, or features, to choose from.

    This is the case for images, and if all points have a direction in common.
    """
    if not 1 < n_clusters < len(rows):
        return False
    if not tried_numbers(wishes, n_clusters, rows.shape):
        return False
    if wishes.image_shape is not None:
        return True
    return wishes.whiten is None and has_common_direction(rows)


def has_common_direction(rows: NDArray[np.floating]) -> bool:
    """Decide whether the mean of the rows, at unit length, is clearly not zero."""
    n_samples, n_features = rows.shape
    step = max(1, WHITENING.block_entries // n_features)
    total = np.zeros(n_features)
    for first in range(0, n_samples, step):
        some = unit_rows(rows[first : first + step])
        total += some.sum(axis=0, dtype=np.float64)
    mean = total / n_samples
    return float(mean @ mean) > WHITENING.common


def numbers_of_directions(
    n_clusters: int, shape: tuple[int, ...], dims: tuple[int, int] | None = None
) -> tuple[int, ...]:
    """Return the numbers of directions that are tried, ascending.

    If there are few clusters, each needs at least one direction, and if the dimension
    is given, each also needs one direction outside its subspace.
    """
    least = min(n_clusters, WHITENING.least)
    if dims is not None:
        least = max(least, dims[1] + 1)
    most = max(WHITENING.few, WHITENING.per_cluster * n_clusters)
    most = min(most, *shape)
    numbers = {ceil(times * n_clusters) for times in WHITENING.multiples}
    return tuple(sorted(number for number in numbers if least <= number <= most))


def tried_rows(n_samples: int, n_clusters: int) -> int:
    """Return the number of points on which numbers of directions are compared."""
    wanted = max(WHITENING.fewest_rows, WHITENING.rows_per_cluster * n_clusters)
    return min(n_samples, wanted)


def tried_numbers(
    wishes: Wishes, n_clusters: int, shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the numbers of directions to try, or the one that is given."""
    if wishes.whiten is not None:
        return (wishes.whiten,)
    return numbers_of_directions(n_clusters, shape, wishes.dims)


def _whitened(
    features: NDArray[np.floating],
    numbers: Sequence[int],
    *,
    unit: bool = True,
    scattering: Scattering | None = None,
) -> Iterator[Coordinates]:
    """Yield points in each number of leading directions of their features."""
    spectrum = leading_spectrum(features, min(numbers[-1] + 1, *features.shape))
    for number in numbers:
        view = View(whitened_directions(spectrum, number), unit, scattering)
        yield Coordinates(view.along(features), view=view)


@dataclass(frozen=True)
class _Trial:
    """A choice of coordinates under trial, and how far the trial has come.

    Attributes
    ----------
    seen : Coordinates
        All points in these coordinates.
    plan : Plan
        Plan for the points that the trial uses.
    ensemble : Ensemble or None
        Members that have voted so far.
    score : float
        Score of the best cut of their votes, judged in all numbers of directions that
        are still being compared.
    """

    seen: Coordinates
    plan: Plan
    ensemble: Ensemble | None = None
    score: float = float("inf")

    @property
    def evidence(self) -> Evidence:
        """The points in the coordinates under trial, and the votes of the members."""
        assert self.ensemble is not None  # members have voted
        return gather_evidence(self.plan, self.ensemble.labels)

    @property
    def whitening(self) -> Whitening:
        n_members = 0 if self.ensemble is None else self.ensemble.labels.shape[1]
        number = self.seen.points.shape[1]
        return Whitening(number, self.score, n_members, _features_of(self.seen))


def try_whitening(
    rows: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    workers: Workers,
) -> Settled:
    """Choose the number of directions in which points are whitened, by trial ensembles.

    Members vote on a sample of the points in each number of directions, and their votes
    are cut. Every cut is judged by the points and votes in each of the numbers: judged
    by its own number alone, a cut in few directions would look better than it is,
    because points in few directions are easy to fit and easy to agree on. All numbers
    are tried with few members first; those that are not clearly worse are then tried
    with more.

    Images are tried twice, by their pixels and by scattering features, and each kind is
    judged separately.

    Returns
    -------
    settled : Settled
        Contains the largest number whose score is close to the lowest; it is of
        scattering features if their score is clearly below that of the pixels. Its
        members are kept if they have voted on all rows.
    """
    sample = draw_sample(len(rows), tried_rows(len(rows), n_clusters), seed)
    points = prepare(rows, unit=True, affine=False)
    some = points if sample is None else replace(points, rows=points.rows[sample])

    def trial(seen: Coordinates) -> _Trial:
        tried = seen if sample is None else seen.take(sample)
        return _Trial(seen, decide(some, wishes, n_clusters, seed, tried))

    pixels, *features = [
        _compare([trial(seen) for seen in views], wishes, seed, workers)
        for views in _ways_to_see(points.rows, wishes, n_clusters, workers)
    ]
    tried = pixels
    for others in features:
        clearly = others[0].score < pixels[0].score - WHITENING.equal
        tried = others + pixels if clearly else pixels + others
    return Settled(
        n_clusters,
        affine=False,
        unit=True,
        seen=tried[0].seen,
        whitenings=tuple(one.whitening for one in tried),
        ensemble=tried[0].ensemble if sample is None else None,
    )


def _ways_to_see(
    points: NDArray[np.floating], wishes: Wishes, n_clusters: int, workers: Workers
) -> Iterator[Iterable[Coordinates]]:
    """Yield the points in all numbers of directions; images also by their features."""
    yield _whitened(points, tried_numbers(wishes, n_clusters, points.shape))
    if wishes.image_shape is not None:
        scattering = Scattering(wishes.image_shape)
        with workers.stage("scattering"):
            features = replace(scattering, n_jobs=workers.n_jobs)(points)
        numbers = tried_numbers(wishes, n_clusters, features.shape)
        yield _whitened(features, numbers, scattering=scattering)


def _compare(
    trials: Sequence[_Trial], wishes: Wishes, seed: int, workers: Workers
) -> list[_Trial]:
    """Try all with few members, then those that are not clearly worse with more.

    Return them best first. For images all rounds are run, because the scores of pixels
    and features can only be compared for the same number of members.
    """
    trials, quiet = list(trials), workers.quiet()
    rounds = sorted({min(wishes.n_members or n, n) for n in WHITENING.members})
    left = list(range(len(trials)))
    with workers.stage("preprocessing", len(rounds) * len(trials)) as advance:
        for n_members in rounds:
            for i in left:
                one = trials[i]
                ensemble = _run(
                    one.plan, wishes, n_members, seed, quiet, known=one.ensemble
                )
                trials[i] = replace(one, ensemble=ensemble)
                advance(1)
            asked = [trials[i] for i in left]
            evidence = [trial.evidence for trial in asked]
            best = partial(
                _best_cut, asked, evidence, wishes, seed, n_members == rounds[-1]
            )
            cuts = list(quiet.map(best, len(left), "cuts"))
            judge = partial(_mean_score, cuts, evidence, wishes)
            scores = list(quiet.map(judge, len(left), "choice"))
            for i, score in zip(left, scores, strict=True):
                trials[i] = replace(trials[i], score=score)
            most = min(scores) + WHITENING.hopeless
            left = [i for i in left if trials[i].score <= most]
            decided = len(left) == 1 and wishes.image_shape is None
            if decided or n_members == rounds[-1]:
                break
            advance(len(trials) - len(left))
    return [trials[i] for i in _best_first([trial.whitening for trial in trials])]


def _best_cut(
    trials: Sequence[_Trial],
    evidence: Sequence[Evidence],
    wishes: Wishes,
    seed: int,
    last: bool,
    number: int,
) -> NDArray[np.int64] | None:
    """Return the best cut of a trial; None if no cut has K clusters.

    One graph of the votes is cut and, in the last round, that of the expressions.
    """
    plan, ensemble = trials[number].plan, trials[number].ensemble
    assert ensemble is not None  # members have voted
    q = one_graph(wishes, len(plan.points.rows), plan.n_clusters)
    own, options, one = evidence[number], wishes.cut, Workers(1)
    chosen = cut_and_choose(ensemble, plan.n_clusters, [q], own, options, seed, one)
    if chosen is None:
        return None
    if last and can_express(plan, wishes):
        graph = express_sparsely(plan.seen.points, one)
        chosen = ask_expressions(
            chosen, graph, plan.n_clusters, own, options, seed, one
        )
    return chosen.labels


def _mean_score(
    cuts: Sequence[NDArray[np.int64] | None],
    evidence: Sequence[Evidence],
    wishes: Wishes,
    number: int,
) -> float:
    """Judge the cut of one trial by the points and votes of all trials."""
    labels, score = cuts[number], wishes.cut.score or score_cut
    if labels is None:
        return float("inf")
    return fmean(total_of(score(labels, one)) for one in evidence)


def _run(
    plan: Plan,
    wishes: Wishes,
    n_members: int,
    seed: int,
    workers: Workers,
    *,
    known: Ensemble | None = None,
) -> Ensemble:
    """Run members of the kind the user asks for; those of ``known`` are kept."""
    member = member_for(plan, wishes.member)
    return run_members(plan.seen.points, seed, member, n_members, workers, known=known)


def _best_first(tried: Sequence[Whitening]) -> list[int]:
    """Return the order of what was tried, best first.

    The best is the largest number of directions with a score close to the lowest.
    Numbers that were given up with fewer members cannot be compared with the others and
    come last.
    """
    order = sorted(
        range(len(tried)), key=lambda i: (-tried[i].n_members, tried[i].score)
    )
    first = tried[order[0]]
    best = max(
        i
        for i, one in enumerate(tried)
        if one.n_members == first.n_members
        and one.score <= first.score + WHITENING.equal
    )
    return [best, *(i for i in order if i != best)]


# --- How many clusters ----------------------------------------------------------------
#
# Members with many candidates split classes into pieces, and vote for every split of a
# class as firmly as for a class. Members with fewer candidates than there are clusters
# cannot do so: they merge whole classes, different ones each time, and always keep the
# halves of a class together. Such members judge the number of clusters.


def _find_count(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> tuple[Count, ...]:
    """Score numbers of clusters around guesses, as :func:`seek_counts` moves them."""
    n_members = min(wishes.n_members or COUNT.members, COUNT.members)
    quiet = workers.quiet()
    asked = wishes
    # Judges look at votes, so points are seen here as votes see them best.
    wishes = replace(wishes, expression=False)

    @cache
    def voted(guess: int) -> tuple[Plan, Ensemble]:
        settled = _settle_given(rows, wishes, guess, seed, quiet)
        points = prepare(rows, unit=settled.unit, affine=settled.affine)
        plan = decide(points, wishes, guess, seed, settled.seen)
        known = settled.ensemble
        return plan, _run(plan, wishes, n_members, seed, quiet, known=known)

    @cache
    def n_communities() -> int:
        return count_communities(rows, asked, seed, quiet)

    def is_too_far(guess: int) -> bool:
        """Whether there are too few communities for so many clusters."""
        is_far = guess > COUNT.reach * COUNT.first and not is_affine
        if not (is_far and asked.expression):
            return False
        return guess > COUNT.community_most * n_communities()

    def gaps_around(guess: int) -> tuple[Count, ...]:
        if is_too_far(guess):
            return ()
        _, ensemble = voted(guess)
        return gap_counts(guess, ensemble, wishes, seed, quiet)

    def score_around(guess: int, reach: float = COUNT.reach) -> tuple[Count, ...]:
        if is_too_far(guess):
            return ()
        plan, ensemble = voted(guess)
        _, _, options = ensemble.origin
        judges = run_members(
            plan.seen.points,
            # Random draws that differ from those of the members.
            seed + 1,
            judge_options(options, plan),
            ceil(n_members / 2),
            quiet,
        )
        evidence = gather_evidence(plan, ensemble.labels)
        return score_counts(
            guess, reach, ensemble, judges.labels, evidence, wishes, seed, quiet
        )

    def score_of_cut(guess: int, n_clusters: int) -> float:
        plan, ensemble = voted(guess)
        evidence = gather_evidence(plan, ensemble.labels)
        votes = wishes.cut.votes(ensemble)
        best = _best_cuts([n_clusters], votes, evidence, wishes, seed, quiet)
        return best[n_clusters][0] if best else inf

    guess = min(COUNT.first, len(rows))
    is_affine = decide_affine(rows, wishes.affine, guess)
    first = COUNT.first_affine if is_affine else COUNT.first
    with workers.stage("clusters"):
        clear = () if is_affine else seek_gap(gaps_around, len(rows), first)
        counts = clear or seek_counts(score_around, len(rows), first)
        if clear or is_affine or not asked.expression:
            return counts
        return prefer_communities(
            counts, n_communities(), len(rows), score_around, score_of_cut
        )


def seek_gap(
    gaps_around: Callable[[int], tuple[Count, ...]], n_samples: int, first: int
) -> tuple[Count, ...]:
    """Move the guess to the widest gap until it stays there; best number first.

    Members made for the right number of clusters produce a graph with a gap after that
    many eigenvalues; members made for another number produce gaps elsewhere. Return
    nothing if the guess does not settle, or if other gaps are as wide.
    """
    guess = first
    for _ in range(COUNT.gap_rounds):
        if guess * COUNT.points_when_raised > n_samples:
            break
        counts = gaps_around(guess)
        if not counts:
            break
        found = counts[0]
        if abs(found.n_clusters - guess) <= COUNT.gap_rest * guess:
            return counts if is_clear(counts) else ()
        guess = max(found.n_clusters, COUNT.least)
    return ()


def is_clear(counts: Sequence[Count]) -> bool:
    """Decide whether the widest gap is far wider than the gaps that are not near it."""
    best = counts[0]
    near = COUNT.gap_near * best.n_clusters
    others = [
        count.gap for count in counts if abs(count.n_clusters - best.n_clusters) > near
    ]
    return best.gap > COUNT.gap_clear * max(others, default=0.0)


def gap_counts(
    guess: int, ensemble: Ensemble, wishes: Wishes, seed: int, workers: Workers
) -> tuple[Count, ...]:
    """Return numbers of clusters by the gap after that many eigenvalues, widest first.

    The gaps of several graphs of the votes are added up, each as a share of the widest
    gap of its graph.
    """
    n_samples = len(ensemble.labels)
    most = min(round(guess * COUNT.reach), n_samples // COUNT.points_when_scored)
    counts = [wishes.n_neighbors] if wishes.n_neighbors else COUNT.gap_neighbors
    counts = [q for q in counts if q <= COUNT.gap_share * n_samples]
    if most < 2 or not counts:
        return ()
    votes = wishes.cut.votes(ensemble)
    neighbours = nearest(votes, max(counts), wishes.cut, seed, workers)
    sums = np.zeros(most - 1)
    for q in counts:
        graph = symmetric_graph(neighbours, q)
        values = spectral_embedding(graph, most + 1, random_state=seed).values
        gaps = -np.diff(values)[1:]
        if len(gaps) == len(sums) and gaps.max() > 0:
            sums += gaps / gaps.max()
    order = np.argsort(-sums, kind="stable")
    return tuple(Count(int(i) + 2, -float(sums[i]), gap=float(sums[i])) for i in order)


def seek_counts(
    score_around: Callable[[int], tuple[Count, ...]], n_samples: int, first: int
) -> tuple[Count, ...]:
    """Score numbers around a guess, and move the guess until the best is near it.

    Judges with far fewer candidates than there are clusters may confirm nothing; then
    the guess is raised. Return the scores around the last guess for which something was
    confirmed, or around the first guess if nothing was.
    """
    kept: tuple[Count, ...] = ()
    guess, tried = min(first, n_samples), set[int]()
    while guess not in tried and len(tried) < COUNT.rounds:
        tried.add(guess)
        counts = score_around(guess)
        if counts and counts[0].confirmed > 0:
            kept = counts
            found = counts[0].n_clusters
            guess = guess if is_near(found, guess) else max(found, COUNT.least)
        elif kept and kept[0].confirmed > 0:
            break
        else:
            kept = kept or counts
            raised = round(guess * COUNT.reach)
            enough = raised * COUNT.points_when_raised <= n_samples
            guess = raised if enough else guess
    return kept


# In fewer directions points of different clusters look alike: communities of positive
# rays in three to six dimensions are counted right where points stay as they are.
_FEWEST_DIRECTIONS = 8


def count_communities(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> int:
    """Count the communities of points that are expressed by each other."""
    points = prepare(rows, unit=wishes.unit(affine=False), affine=False).rows
    directions, half = wishes.whiten, min(points.shape) // 2
    if directions is None and has_common_direction(rows):
        directions = min(COUNT.community_directions, half)
        directions *= half >= _FEWEST_DIRECTIONS
    if directions:
        (seen,) = _whitened(points, (directions,))
        points = seen.points
    graph = normalised(express_sparsely(points, workers))
    sizes = np.bincount(communities(graph, seed))
    return int((sizes >= COUNT.community_points).sum())


def prefer_communities(
    counts: tuple[Count, ...],
    n_communities: int,
    n_samples: int,
    score_around: Callable[[int, float], tuple[Count, ...]],
    score_of_cut: Callable[[int, int], float],
) -> tuple[Count, ...]:
    """Score numbers around that of the communities, if it is far from the one found.

    Judges with far fewer candidates than there are clusters may confirm a few groups of
    clusters, and with far more they confirm pieces of clusters. Communities are no
    proof either: they also divide a subspace, as a circle into arcs. So more clusters
    than before are preferred only if the score of their cut is clearly lower, both made
    by members for about as many clusters as there are communities.
    """
    guess = round(COUNT.community_share * n_communities)
    too_few = guess * COUNT.points_when_raised > n_samples or guess < COUNT.least
    if not counts or too_few:
        return counts
    found = counts[0].n_clusters
    is_fewer = found > COUNT.community_most * n_communities
    if not is_fewer and n_communities <= COUNT.communities_more * found:
        return counts
    others = score_around(guess, COUNT.community_reach)
    if not others or is_fewer:
        return others or counts
    before, after = (score_of_cut(guess, one[0].n_clusters) for one in (counts, others))
    return others if after < before - COUNT.community_gain else counts


def is_near(found: int, guess: int) -> bool:
    """Decide whether judges made for the guess can be trusted on the number found."""
    fewest, most = COUNT.near
    return fewest * guess <= found <= most * guess


def judge_options(options: MemberOptions, plan: Plan) -> MemberOptions:
    """Return options for judges, with at most as many candidates as clusters."""
    guess = plan.n_clusters
    return replace(
        options,
        n_candidates=(max(min(2, guess), 3 * guess // 4), guess),
        subspace_dim=(plan.geometry.low, plan.geometry.high),
    )


def score_counts(
    guess: int,
    reach: float,
    ensemble: Ensemble,
    judges: NDArray[np.integer],
    evidence: Evidence,
    wishes: Wishes,
    seed: int,
    workers: Workers,
) -> tuple[Count, ...]:
    """Score numbers of clusters around a guess, coarse grid first; return best first.

    Numbers from ``guess / reach`` to ``guess * reach`` are scored. ``judges`` are the
    labels of members that have at most as many clusters as the guess.
    """
    votes = wishes.cut.votes(ensemble)

    def scored(numbers: Sequence[int]) -> list[Count]:
        best = _best_cuts(numbers, votes, evidence, wishes, seed, workers)
        return [_judged(n, *best[n], judges) for n in best]

    most = max(2, len(evidence.points) // COUNT.points_when_scored)
    coarse = coarse_grid(guess, reach, most)
    found = scored(coarse)
    if not found:
        return ()
    best = min(found, key=lambda count: count.score).n_clusters
    found += scored(fine_grid(best, coarse))
    return tuple(sorted(smoothed(found), key=lambda count: count.score))


def _best_cuts(
    numbers: Sequence[int],
    votes: Votes,
    evidence: Evidence,
    wishes: Wishes,
    seed: int,
    workers: Workers,
) -> dict[int, tuple[float, NDArray[np.int64]]]:
    """Return score and labels of the best cut into each number of clusters.

    Numbers for which no way of cutting succeeds are left out.
    """
    n_samples = len(evidence.points)
    tasks = sorted(
        {
            (_neighbors(wishes, q, n_samples, n), n)
            for n in numbers
            for q in COUNT.neighbors
        }
    )
    if not tasks:
        return {}
    cuts = cut(votes, tasks, wishes.cut, seed, workers)
    found = [
        (n, one.labels)
        for (_, n), pool in zip(cuts.tasks, cuts.pools, strict=True)
        for one in pool.cuts
    ]
    judged = judge_all(
        [labels for _, labels in found], evidence, wishes.cut.score, workers
    )
    best: dict[int, tuple[float, NDArray[np.int64]]] = {}
    for (n, labels), total in zip(found, map(total_of, judged), strict=True):
        if n not in best or total < best[n][0]:
            best[n] = total, labels
    return best


def _neighbors(wishes: Wishes, q: int, n_samples: int, n_clusters: int) -> int:
    """Return the neighbours per point: the user's number, or q up to the paper's."""
    if wishes.n_neighbors is not None:
        return min(wishes.n_neighbors, n_samples - 1)
    return min(q, paper_neighbors(n_samples, n_clusters))


def _judged(
    n_clusters: int,
    total: float,
    labels: NDArray[np.int64],
    judges: NDArray[np.integer],
) -> Count:
    """Score a number of clusters by its best cut and by the judges."""
    confirmed = confirmed_clusters(labels, n_clusters, judges)
    return Count(n_clusters, COUNT.weight_of_cut * total - confirmed, confirmed)


def smoothed(counts: Sequence[Count]) -> list[Count]:
    """Give every number of clusters the mean score of those within a twentieth of it.

    Cuts into many clusters vary by chance by more than one more cluster adds. Numbers
    below twenty are left alone.
    """
    numbers = np.array([count.n_clusters for count in counts])
    scores = np.array([count.score for count in counts])
    return [
        replace(
            count,
            score=float(
                scores[np.abs(numbers - number) <= COUNT.within * number].mean()
            ),
        )
        for count, number in zip(counts, numbers, strict=True)
    ]


def coarse_grid(guess: int, reach: float, most: int) -> tuple[int, ...]:
    """Return numbers from ``guess / reach`` to ``guess * reach``, all up to eight."""
    low = max(2, round(guess / reach))
    high = min(most, round(guess * reach))
    numbers = set(range(low, min(COUNT.all_up_to, high) + 1))
    steps = np.arange(0, np.log(high / low) + 1e-9, np.log(COUNT.coarse))
    numbers |= {int(n) for n in np.rint(low * np.exp(steps))} | {high}
    return tuple(sorted(n for n in numbers if 2 <= n <= most))


def fine_grid(best: int, coarse: tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers between the best of the coarse grid and its neighbours there."""
    place = coarse.index(best)
    low = coarse[max(place - 1, 0)]
    high = coarse[min(place + 1, len(coarse) - 1)]
    step = max(1, int(best * (COUNT.fine - 1)))
    return tuple(n for n in range(low + 1, high, step) if n not in coarse)


def confirmed_clusters(
    labels: NDArray[np.int64], n_clusters: int, judges: NDArray[np.integer]
) -> float:
    """Sum, over clusters, their silhouettes of the votes of the judges, minus 0.15.

    A cluster that the judges confirm adds up to 0.85. If it is split, the points of
    each half have as many companions in the other half as in their own, their
    silhouettes cancel, and the sum falls; if two such clusters are merged, one is lost.
    """
    shares = companion_shares(judges, labels, n_clusters)
    return float((cluster_silhouettes(shares, labels) - COUNT.silhouette).sum())
