"""Stage 3, vote: members cluster the points, each in its own random way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import hash as fingerprint
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator

from ekss.core.ksubspaces import (
    BLOCK_ENTRIES,
    Member,
    MemberOptions,
    run_side_by_side,
    squared_norms,
)
from ekss.ensemble.cut import cuts_seconds
from ekss.runtime.memory import RATES, Stage, Work
from ekss.runtime.rows import LabelStore
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.decide import Plan

MemberFunction = Callable[[NDArray[np.floating], int], Any]


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Candidates per cluster: members that split clusters into pieces cast purer votes
    # than members that do not (docs/results/ablation.md).
    pieces: tuple[int, int] = (4, 8)
    # Minimum number of points per dimension in such a piece: with fewer, a subspace
    # fits anything.
    least_points: int = 3
    # Rows that a member is fitted to before all rows are assigned: more rows change the
    # labels by less than another seed does (docs/large.md).
    fitted_rows: int = 10_000
    fitted_per_cluster: int = 100
    # Numbers of members, and the share of the points on which two halves of them must
    # agree for the ensemble to stop growing there. Less agreement is asked of 200: 400
    # were better on Yale B, whose halves agree on 70 %, but not on digits, COIL-20 and
    # USPS, with 77 to 95 % (docs/experiments.md, "How many members, how many
    # iterations").
    steps: tuple[int, ...] = (100, 200, 400)
    agreed: tuple[float, ...] = (0.97, 0.75)
    # Points on which halves are compared, a minimum and a number per cluster: enough to
    # see a difference of a percent or two.
    compared: int = 1000
    compared_per_cluster: int = 20


RULES = _Rules()


class KSSMember(BaseEstimator):
    """A member that runs K-subspaces for a few iterations from a random start.

    Parameters
    ----------
    n_candidates : "auto", int, (int, int) or None, default="auto"
        Number of candidate subspaces; given a pair, each member draws its own number.
        None means the number of clusters, as in the paper. "auto" draws from 4 to 8
        times that number, but leaves every candidate at least three points per
        dimension.
    max_iter : int, default=5
        Iterations of K-subspaces; 0 only assigns points to the start (EKSS-0).
    update : {"power", "pca", "cop"}, default="power"
        How a subspace is fitted to its points: one warm power step towards the
        principal components, exact PCA, or PCA of the most coherent points (Coherence
        Pursuit), which resists outliers. The power step is many times faster.
    init : {"auto", "random", "neighbors"}, default="auto"
        Where candidates start: random subspaces, as in the paper, or neighbourhoods of
        random points. "auto" means random for linear subspaces and neighbourhoods for
        affine ones.
    weighting : {"cost", "uniform"}, default="cost"
        Weight of the member's votes: the share of the points' energy that its subspaces
        capture (the paper's w(b)), or 1.
    max_samples : "auto", int or None, default="auto"
        Number of rows that the member draws and is fitted to, with one last iteration
        on all rows. "auto" means 10000, or 100 per cluster if that is more; None means
        all.

    Examples
    --------
    >>> from ekss import EKSS, KSSMember
    >>> exact = EKSS(3, member=KSSMember(update="pca", max_iter=3))
    >>> exact.get_params()["member__update"]
    'pca'
    """

    def __init__(
        self,
        n_candidates: str | int | tuple[int, int] | None = "auto",
        *,
        max_iter: int = 5,
        update: str = "power",
        init: str = "auto",
        weighting: str = "cost",
        max_samples: str | int | None = "auto",
    ) -> None:
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.update = update
        self.init = init
        self.weighting = weighting
        self.max_samples = max_samples

    def __hash__(self) -> int:
        return hash(repr(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KSSMember) and vars(self) == vars(other)

    def options(self, plan: Plan, *, keep_flats: bool = False) -> MemberOptions:
        """Settle what is left to the data; the parameters have already been checked.

        Parameters
        ----------
        plan : Plan
            What was decided about the points.
        keep_flats : bool, default=False
            Whether members keep their subspaces.

        Returns
        -------
        options : MemberOptions
            The settled options.
        """
        n_samples, n_clusters = len(plan.points.rows), plan.n_clusters
        candidates, least_points = self.n_candidates, 0
        if candidates == "auto":
            low, high = (min(n_samples, times * n_clusters) for times in RULES.pieces)
            least_points = RULES.least_points
        elif candidates is None:
            low = high = n_clusters
        elif isinstance(candidates, (tuple, list)):
            low, high = candidates
        else:
            low = high = int(candidates)
        init = self.init
        if init == "auto":
            init = "neighbors" if plan.geometry.affine else "random"
        return MemberOptions(
            n_candidates=(low, high),
            subspace_dim=plan.geometry.of_members,
            max_iter=self.max_iter,
            update=self.update,
            affine=plan.geometry.affine,
            init=init,
            least_points=least_points,
            max_samples=self.fitted_rows(n_samples, n_clusters),
            keep_flats=keep_flats,
            weighted=self.weighting == "cost",
        )

    def fitted_rows(self, n_samples: int, n_clusters: int) -> int | None:
        """Return the number of rows that the member is fitted to; None means all.

        Parameters
        ----------
        n_samples, n_clusters : int
            Numbers of points and of clusters.

        Returns
        -------
        n_rows : int or None
            Rows drawn anew for every member; None if all are used.
        """
        rows: Any = self.max_samples
        if rows == "auto":
            rows = enough_rows(n_clusters)
        return None if rows is None or rows >= n_samples else int(rows)


def member_for(
    plan: Plan, member: KSSMember | MemberFunction, *, keep_flats: bool = False
) -> MemberOptions | MemberFunction:
    """Return what members of this plan do; a user's function is returned unchanged."""
    if isinstance(member, KSSMember):
        return member.options(plan, keep_flats=keep_flats)
    return member


def enough_rows(n_clusters: int) -> int:
    """Return how many rows are enough to find ``n_clusters`` clusters."""
    return max(RULES.fitted_rows, RULES.fitted_per_cluster * n_clusters)


@dataclass(frozen=True)
class Ensemble:
    """Members that have voted.

    Attributes
    ----------
    labels : ndarray of shape (n_samples, n_members)
        Labels, in the smallest unsigned type.
    weights : ndarray of shape (n_members,)
    n_iter : int
        Largest number of iterations of any member.
    origin : tuple
        Data, seed and kind of members; members with the same origin can be added.
    models : tuple
        What predicts the labels of further points, for every member: its subspaces, or
        the fitted clusterer. Empty if members keep nothing.
    agreement : float or None
        Share of points on which two halves of the members agree, as last measured; None
        if it was not measured.
    """

    labels: NDArray[Any]
    weights: NDArray[np.float64]
    n_iter: int
    origin: tuple[str, int, Any]
    models: tuple[Any, ...] = ()
    agreement: float | None = None

    def take(self, rows: Any, members: slice) -> Ensemble:
        """Return the labels that some members give to some points."""
        labels = np.ascontiguousarray(self.labels[rows][:, members])
        return replace(
            self,
            labels=labels,
            weights=self.weights[members],
            models=self.models[members],
        )


def vote(
    plan: Plan,
    member: MemberOptions | MemberFunction,
    steps: Sequence[int],
    seed: int,
    workers: Workers,
    *,
    cluster: Callable[[Ensemble, NDArray[np.int64]], NDArray[np.int64] | None],
    known: Ensemble | None = None,
    store: LabelStore | None = None,
) -> Ensemble:
    """Run members of one kind step by step until two halves of them agree.

    Parameters
    ----------
    plan : Plan
    member : MemberOptions or callable
        What a member does.
    steps : sequence of int
        Numbers of members at which the ensemble may stop growing, ascending.
    seed : int
    workers : Workers
    cluster : callable
        ``cluster(half, rows)`` returns labels of some rows, clustered by half of the
        members; None if no cut has all clusters.
    known : Ensemble, default=None
        Members that were run before; they are reused if they have the same origin.
    store : LabelStore, default=None
        Keeps the labels on disk; None keeps them in memory.

    Returns
    -------
    Ensemble
        The number of its members is one of the steps.
    """

    def run(count: int, so_far: Ensemble | None) -> Ensemble:
        return run_members(
            plan.seen.points, seed, member, count, workers, known=so_far, store=store
        )

    steps = steps[:1] if plan.is_trivial else steps
    return grow(run, steps, plan.n_clusters, seed, cluster, workers, known=known)


def grow(
    run: Callable[[int, Ensemble | None], Ensemble],
    steps: Sequence[int],
    n_clusters: int,
    seed: int,
    cluster: Callable[[Ensemble, NDArray[np.int64]], NDArray[np.int64] | None],
    workers: Workers,
    *,
    known: Ensemble | None = None,
) -> Ensemble:
    """Let an ensemble grow step by step until two halves of its members agree.

    ``run(count, so_far)`` returns an ensemble of ``count`` members that begins with
    those run so far.
    """
    ensemble, agreement = known, None
    for count, enough in zip_longest(steps, RULES.agreed[: len(steps) - 1]):
        ensemble = run(count, ensemble)
        if enough is None:
            break
        with workers.stage("halves"):
            agreement = _halves_agreement(
                ensemble, n_clusters, seed, cluster, workers.quiet()
            )
        if agreement >= enough:
            break
    assert ensemble is not None  # there is at least one step
    return replace(ensemble, agreement=agreement)


def run_members(
    points: NDArray[np.floating],
    seed: int,
    member: MemberOptions | MemberFunction,
    count: int,
    workers: Workers,
    *,
    known: Ensemble | None = None,
    store: LabelStore | None = None,
) -> Ensemble:
    """Run members 0, ..., count - 1, except those in ``known`` if it has this origin.

    A member is determined by the data, the seed and its number, so an ensemble that
    grew in steps is the same as one that was run at once.
    """
    origin = fingerprint(points), seed, member
    if known is not None and known.origin != origin:
        known = None
    done = 0 if known is None else known.labels.shape[1]
    if known is not None and done >= count:
        return known.take(slice(None), slice(count))
    at_once = 1
    if isinstance(member, MemberOptions):
        # The same members always run side by side: a batch that was run in part before
        # is run again.
        at_once = member.at_once(len(points))
        dtype = np.min_scalar_type(member.n_candidates[1] - 1)
        run = partial(_run_kss, points, seed, member, squared_norms(points))
    else:
        run = partial(_run_function, points, seed, member)
        dtype = np.dtype(np.uint32)
    store = store or LabelStore(None)
    by_member = store.room(count, len(points), dtype)
    weights, n_iter, models = np.empty(count), 0, []
    if known is not None:
        by_member[:done], weights[:done] = known.labels.T, known.weights
        n_iter, models = known.n_iter, list(known.models)
    first = done // at_once
    batches: Iterator[list[Member]] = workers.map(
        partial(_run_batch, run, first, at_once),
        -(-count // at_once) - first,
        "members",
    )
    for number, one in enumerate(chain.from_iterable(batches), start=first * at_once):
        if done <= number < count:
            by_member[number], weights[number] = one.labels, one.weight
            n_iter = max(n_iter, one.n_iter)
            models += [] if one.flats is None else [one.flats]
    by_member = store.settled(by_member)
    return Ensemble(by_member.T, weights, n_iter, origin, tuple(models))


def _run_batch(
    run: Callable[[Sequence[int]], list[Member]], first: int, at_once: int, batch: int
) -> list[Member]:
    """Run one batch of members; at module level, so that processes can call it."""
    start = (first + batch) * at_once
    return run(range(start, start + at_once))


def _run_kss(
    points: NDArray[np.floating],
    seed: int,
    options: MemberOptions,
    norms: NDArray[np.floating],
    numbers: Sequence[int],
) -> list[Member]:
    return run_side_by_side(points, seed, numbers, options, norms)


def _run_function(
    points: NDArray[np.floating],
    seed: int,
    function: MemberFunction,
    numbers: Sequence[int],
) -> list[Member]:
    """Call a user's member function, each time with its own seed."""
    members = []
    for number in numbers:
        source = np.random.SeedSequence(seed, spawn_key=(number,))
        found = function(points, int(source.generate_state(1)[0]))
        labels, weight = found if isinstance(found, tuple) else (found, 1.0)
        members.append(Member(_checked_labels(labels, len(points)), float(weight), 0))
    return members


def _checked_labels(labels: ArrayLike, n_samples: int) -> NDArray[np.integer]:
    """Refuse labels that are not one non-negative integer per point."""
    checked = np.asarray(labels)
    if checked.shape != (n_samples,) or checked.dtype.kind not in "iu":
        raise ValueError(
            f"the member returned labels of shape {checked.shape} and type "
            f"{checked.dtype}; return {n_samples} integers, one per point"
        )
    if len(checked) and checked.min() < 0:
        raise ValueError(
            f"the member returned the label {checked.min()}; return labels of at least "
            "0"
        )
    return checked


def _halves_agreement(
    ensemble: Ensemble,
    n_clusters: int,
    seed: int,
    cluster: Callable[[Ensemble, NDArray[np.int64]], NDArray[np.int64] | None],
    workers: Workers,
) -> float:
    """Return the share of points that odd and even members put in the same cluster.

    One graph of each half is cut, on a random sample of at most 1000 points or 20 per
    cluster, whichever is more, and the clusters of the two halves are matched.
    """
    n_samples = len(ensemble.labels)
    size = max(RULES.compared, RULES.compared_per_cluster * n_clusters)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n_samples, min(n_samples, size), replace=False))
    half = partial(_cluster_half, ensemble, rows, cluster)
    odd, even = workers.map(half, 2, "halves")
    return 0.0 if odd is None or even is None else matched_share(odd, even)


def _cluster_half(
    ensemble: Ensemble,
    rows: NDArray[np.int64],
    cluster: Callable[[Ensemble, NDArray[np.int64]], NDArray[np.int64] | None],
    number: int,
) -> NDArray[np.int64] | None:
    """Cluster rows by every other member, starting from this number."""
    return cluster(ensemble.take(rows, slice(number, None, 2)), rows)


def matched_share(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the share of points that the best matching of two labellings agrees on."""
    n_labels = int(max(first.max(), second.max())) + 1
    shared = np.bincount(first * n_labels + second, minlength=n_labels**2)
    shared = shared.reshape(n_labels, n_labels)
    pairs = linear_sum_assignment(shared, maximize=True)
    return float(shared[pairs].sum() / len(first))


def vote_cost(work: Work) -> Stage:
    """Estimate the cost of running all members, and of comparing halves if needed."""
    update = RATES.gather * work.coordinates * (work.likely_dim or work.dim)
    each = (work.max_iter + 1) * (RATES.step + work.fitted * (work.assignment + update))
    whole = work.fitted >= work.voted
    if not whole:
        each += work.voted * (work.assignment + RATES.stream * work.coordinates)
    seconds = 1e-9 * work.members * each / work.n_workers
    if work.members < work.n_members:
        halves = replace(work, n_graphs=2)
        seconds += cuts_seconds(halves, min(work.voted, RULES.compared))
    n, size = work.voted, work.width
    # Labels, gains and coordinates of an assignment, and of the one before it.
    assigned = (2 if whole else 1) * n * (4 + size + work.dim * size)
    drawn = 0 if whole else work.fitted * work.n_features * size
    running = work.n_workers * (assigned + drawn + 8 * n + BLOCK_ENTRIES * size)
    scaling = 3 * n * work.n_features * size
    return Stage(seconds, max(scaling, work.points + running + 2 * work.labels))
