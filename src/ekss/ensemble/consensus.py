"""The chain of a consensus: any clusterers vote, the votes are cut, a cut is chosen.

The members are scikit-learn clusterers, each fitted to its own rows, columns and
parameters. Everything that follows (graphs, cuts, the choice among them, and further
rows) works as in :mod:`ekss.ensemble.chain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler
from sklearn.neighbors import KNeighborsClassifier

from ekss.ensemble.chain import remedy
from ekss.ensemble.choose import (
    Chosen,
    Evidence,
    choose_cost,
    cut_and_choose,
    score_cut,
)
from ekss.ensemble.count import (
    COUNT,
    Count,
    numbers_around,
    score_counts,
    seek_counts,
)
from ekss.ensemble.cut import CutOptions, cut_cost, cut_once, votes_cost
from ekss.ensemble.decide import Wishes, cut_neighbors, estimate_geometry, one_graph
from ekss.ensemble.extend import extend_cost, learn_voters, most_likely
from ekss.ensemble.prepare import prepare
from ekss.ensemble.vote import RULES as VOTE
from ekss.ensemble.vote import Ensemble, grow
from ekss.graph.votes import shared_information
from ekss.runtime.memory import LIBRARY_BYTES, Estimate, Stage, Work, limit_of
from ekss.runtime.rows import Rows, draw_sample
from ekss.runtime.workers import Workers

IntRange = tuple[int, int]

# What clusters are judged by besides the votes: their centres, their linear subspaces,
# or nothing.
GEOMETRIES = ("centers", "subspaces", None)


@dataclass(frozen=True)
class _Rules:
    """Constants of the consensus."""

    # Clusters per member, as a multiple of the number of clusters sought, and the
    # minimum number of points in such a piece.
    pieces: tuple[int, int] = (4, 8)
    least_points: int = 5
    # Share of the rows to which members that draw no random numbers are fitted.
    share_of_rows: float = 0.5
    # Discord, unlike dissent, may be 0 if all members agree; it counts from here, so
    # that no logarithm is infinite.
    smallest_discord: float = 1e-3
    # Number of nearest rows that decide if members cannot predict further rows.
    neighbors: int = 5


RULES = _Rules()

# The terms of a score, and their exponents in the product (docs/experiments.md,
# "Judging a consensus").
EXPONENTS = {"residual": 5.0, "dissent": 1.0, "discord": 10.0}


@dataclass(frozen=True)
class Bagging:
    """How members differ from each other.

    Attributes
    ----------
    estimators : tuple
        Clusterers; members are clones of each in turn.
    n_clusters : tuple of int, "auto" or None
        Smallest and largest number of clusters per member; "auto" takes several times
        the number of clusters sought, and None leaves the estimators as they are.
    max_samples : float or "auto"
        Share of the rows that a member is fitted to; "auto" uses all rows for
        estimators that draw random numbers, and half of them for others.
    max_features : float
        Share of the columns that a member is fitted to.
    parameters : mapping
        Further parameters, and what their values are drawn from.
    """

    estimators: tuple[Any, ...]
    n_clusters: IntRange | Literal["auto"] | None = "auto"
    max_samples: float | Literal["auto"] = "auto"
    max_features: float = 1.0
    parameters: Mapping[str, Any] | None = None

    def settled(self, n_clusters: int, n_samples: int) -> Bagging:
        """Return a copy with "auto" replaced by a range of numbers of clusters."""
        if self.n_clusters != "auto":
            return self
        share = min(map(self.share_of_rows, self.estimators))
        seen = max(2, ceil(share * n_samples))
        most = max(min(n_clusters, seen), seen // RULES.least_points)
        low, high = (min(times * n_clusters, most) for times in RULES.pieces)
        return replace(self, n_clusters=(low, high))

    def share_of_rows(self, estimator: Any) -> float:
        """Return the share of the rows that members of this kind are fitted to.

        Without random numbers, all such members would cluster the same rows alike.
        """
        if self.max_samples != "auto":
            return float(self.max_samples)
        return 1.0 if _own_names(estimator, "random_state") else RULES.share_of_rows

    def judging(self, guess: int) -> Bagging:
        """Return members that cannot split clusters: they have at most ``guess``."""
        if self.n_clusters is None:
            return self
        return replace(self, n_clusters=(max(min(2, guess), 3 * guess // 4), guess))


@dataclass(frozen=True)
class FittedMember:
    """A member that has voted.

    Attributes
    ----------
    estimator : object
        The fitted clusterer.
    rows, columns : ndarray of int or None
        What the member was fitted to; None means all.
    labels : ndarray of int
        Labels of the rows it was fitted to; negative for noise.
    """

    estimator: Any
    rows: NDArray[np.int64] | None
    columns: NDArray[np.int64] | None
    labels: NDArray[np.integer]

    @property
    def can_predict(self) -> bool:
        """Whether the member can predict the clusters of further rows."""
        return hasattr(self.estimator, "predict")

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.integer]:
        """Return the clusters of further rows."""
        seen = X if self.columns is None else X[:, self.columns]
        found: NDArray[np.integer] = np.asarray(self.estimator.predict(seen))
        return found

    def votes(self, X: NDArray[np.floating]) -> NDArray[np.int32]:
        """Return the labels of all rows of the fit, -1 for rows without a vote."""
        if self.rows is None:
            return np.maximum(self.labels, -1).astype(np.int32)
        if self.can_predict:
            return np.maximum(self.predict(X), -1).astype(np.int32)
        labels = np.full(len(X), -1, np.int32)
        labels[self.rows] = np.maximum(self.labels, -1)
        return labels


def fit_member(
    X: NDArray[np.floating], bagging: Bagging, seed: int, number: int
) -> FittedMember:
    """Fit one member, determined by the data, the seed and its number alone."""
    rng = np.random.default_rng([seed, number])
    estimator = clone(bagging.estimators[number % len(bagging.estimators)])
    rows = _drawn(len(X), bagging.share_of_rows(estimator), 2, rng)
    columns = _drawn(X.shape[1], bagging.max_features, 1, rng)
    seen = X if rows is None else X[rows]
    seen = seen if columns is None else seen[:, columns]
    drawn: dict[str, Any] = {}
    if bagging.parameters:
        state = int(rng.integers(2**31))
        sampler = ParameterSampler(bagging.parameters, 1, random_state=state)
        drawn |= next(iter(sampler))
    name = count_parameter(estimator)
    span = bagging.n_clusters
    if isinstance(span, tuple) and name is not None and name not in drawn:
        low, high = (min(n, len(seen)) for n in span)
        drawn[name] = int(rng.integers(low, high + 1))
    for name in _own_names(estimator, "random_state"):
        drawn.setdefault(name, int(rng.integers(2**31)))
    estimator.set_params(**drawn)
    labels = np.asarray(estimator.fit_predict(seen))
    if labels.shape != (len(seen),) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{type(estimator).__name__} gave labels of shape {labels.shape} and type "
            f"{labels.dtype} for {len(seen)} rows; members must give an integer per row"
        )
    return FittedMember(estimator, rows, columns, labels)


def count_parameter(estimator: Any) -> str | None:
    """Return the parameter that holds the number of clusters; None if there is none.

    In a pipeline, it is that of the last step that has one.
    """
    found = _own_names(estimator, "n_clusters")
    if found:
        return found[-1]
    # Mixture models use another name for it.
    return "n_components" if "n_components" in estimator.get_params() else None


def _own_names(estimator: Any, ending: str) -> list[str]:
    """Return the parameters of an estimator, or of its parts, that have this name.

    Parameters of the last step of a pipeline come last.
    """
    names = estimator.get_params()
    return [name for name in names if name.split("__")[-1] == ending]


def _drawn(
    count: int, share: float, fewest: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Draw a share of ``count`` indices, in ascending order; None means all of them."""
    # A share that stands for a whole number is sometimes slightly above it.
    size = min(count, max(fewest, ceil(share * count - 1e-6)))
    if size == count:
        return None
    return np.sort(rng.choice(count, size, replace=False))


def run_clusterers(
    X: NDArray[np.floating],
    bagging: Bagging,
    seed: int,
    workers: Workers,
    count: int,
    so_far: Ensemble | None,
) -> Ensemble:
    """Return an ensemble of ``count`` members that begins with those run so far."""
    labels = [] if so_far is None else list(so_far.labels.T)
    models = () if so_far is None else so_far.models
    first = len(labels)
    run = partial(_run_one, X, bagging, seed, first)
    added = list(workers.map(run, count - first, "members"))
    labels += [votes for votes, _ in added]
    models += tuple(model for _, model in added)
    by_member = np.stack(labels)
    if by_member.max() < 0:
        raise ValueError(
            f"all {count} members call every row noise; change the parameters of "
            f"{type(bagging.estimators[0]).__name__}"
        )
    return Ensemble(by_member.T, np.ones(count), 0, ("", seed, bagging), models)


def _run_one(
    X: NDArray[np.floating], bagging: Bagging, seed: int, first: int, number: int
) -> tuple[NDArray[np.int32], FittedMember]:
    """Fit a member and let it vote; at module level, so that processes can call it."""
    member = fit_member(X, bagging, seed, first + number)
    return member.votes(X), member


@dataclass(frozen=True)
class Consensus:
    """The result of a consensus.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each point; -1 if no member puts it into a cluster.
    ensemble : Ensemble
        Votes of the members; -1 where a member does not vote.
    chosen : Chosen
        The cut with the lowest score, and the other candidates.
    n_clusters : int
        Number of clusters.
    counts : tuple of Count
        Numbers of clusters that were compared, best first; empty if the number was
        given.
    """

    labels: NDArray[np.int64]
    ensemble: Ensemble
    chosen: Chosen
    n_clusters: int
    counts: tuple[Count, ...] = ()


def agree(
    X: NDArray[np.floating],
    wishes: Wishes,
    bagging: Bagging,
    geometry: str | None,
    seed: int,
    workers: Workers,
) -> Consensus:
    """Let members cluster the rows, and cut their votes into clusters.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows as members see them.
    wishes : Wishes
        ``n_clusters``, ``n_members``, ``n_neighbors`` and ``cut`` are used.
    bagging : Bagging
        How members differ from each other.
    geometry : {"centers", "subspaces", None}
        What cuts are judged by besides the votes.
    seed : int
    workers : Workers

    Returns
    -------
    Consensus
    """
    counts: tuple[Count, ...] = ()
    n_clusters = wishes.n_clusters
    if n_clusters is None:
        counts = _find_counts(X, wishes, bagging, geometry, seed, workers)
        n_clusters = counts[0].n_clusters if counts else 1
    bagging = bagging.settled(n_clusters, len(X))
    steps = VOTE.steps if wishes.n_members is None else (wishes.n_members,)
    ensemble = grow(
        partial(run_clusterers, X, bagging, seed, workers),
        steps[:1] if n_clusters in (1, len(X)) else steps,
        n_clusters,
        seed,
        partial(_cluster_some, X, wishes, n_clusters, geometry, seed),
        workers,
    )
    return replace(
        consensus_of(ensemble, X, n_clusters, wishes, geometry, seed, workers),
        counts=counts,
    )


def consensus_of(
    ensemble: Ensemble,
    X: NDArray[np.floating] | None,
    n_clusters: int,
    wishes: Wishes,
    geometry: str | None,
    seed: int,
    workers: Workers,
) -> Consensus:
    """Cut existing votes into clusters; without rows, judge cuts by votes alone."""
    n_samples = len(ensemble.labels)
    neighbors = cut_neighbors(wishes, n_samples, n_clusters)
    chosen = None
    if n_clusters not in (1, n_samples):
        chosen = cut_and_choose(
            ensemble,
            n_clusters,
            neighbors,
            evidence_of(X, ensemble.labels, n_clusters, geometry),
            _judged_by_votes(wishes.cut, geometry),
            seed,
            workers,
        )
    if chosen is None:
        q = one_graph(wishes, n_samples, n_clusters)
        found, graph = cut_once(
            wishes.cut.votes(ensemble), n_clusters, q, wishes.cut, seed, workers
        )
        chosen = Chosen(found.labels, q, graph, found.embedding, found.eigenvalues)
    silent = (ensemble.labels < 0).all(axis=1)
    labels = np.where(silent, -1, chosen.labels)
    return Consensus(labels, ensemble, chosen, n_clusters)


def evidence_of(
    X: NDArray[np.floating] | None,
    member_labels: NDArray[np.integer],
    n_clusters: int,
    geometry: str | None,
) -> Evidence:
    """Gather what cuts are judged by."""
    if X is None or geometry is None:
        nothing = np.empty((len(member_labels), 0))
        return Evidence(nothing, (), member_labels=member_labels)
    centers = geometry == "centers"
    points = prepare(X, unit=not centers, affine=centers).rows
    dims: tuple[int, ...] = (0,)
    if not centers:
        rng = np.random.default_rng(0)
        dims = estimate_geometry(points, n_clusters, rng, affine=False).judged
    return Evidence(points, dims, centers, member_labels=member_labels)


@dataclass(frozen=True)
class VoteScore:
    """Quantities that are small for a cut on which members agree.

    Attributes
    ----------
    residual : float
        Mean squared distance of points to the centre of their cluster, as in
        :class:`ekss.ensemble.CutScore`; 1 if cuts are judged by votes alone.
    dissent : float
        One minus the silhouettes of votes, as in the same class. It keeps clusters
        apart that the members keep apart, however small they are.
    discord : float
        One minus the mean normalised mutual information of the cut and the members
        (:func:`ekss.graph.shared_information`). It favours the cut that captures most
        of what all members say.
    """

    residual: float
    dissent: float
    discord: float

    @property
    def total(self) -> float:
        """Logarithm of residual^5 * dissent * discord^10: lower is better."""
        parts = np.log([getattr(self, term) for term in EXPONENTS])
        return float(parts @ list(EXPONENTS.values()))


def score_votes(labels: NDArray[np.int64], evidence: Evidence) -> VoteScore:
    """Score a partition by the information it shares with members, and by centres."""
    members = evidence.member_labels
    assert members is not None  # a consensus has members
    score = score_cut(labels, evidence)
    shared = shared_information(members, labels, int(labels.max()) + 1)
    discord = max(1 - shared, RULES.smallest_discord)
    return VoteScore(score.residual, score.dissent, discord)


def _judged_by_votes(options: CutOptions, geometry: str | None) -> CutOptions:
    """Return options with the score of this module, unless the user gave one."""
    if options.score is not None or geometry == "subspaces":
        return options
    settled: CutOptions = clone(options).set_params(score=score_votes)
    return settled


def _cluster_some(
    X: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    geometry: str | None,
    seed: int,
    half: Ensemble,
    rows: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """Cluster some of the rows by half of the members: the best cut of one graph."""
    q = one_graph(wishes, len(rows), n_clusters)
    evidence = evidence_of(X[rows], half.labels, n_clusters, geometry)
    options = _judged_by_votes(wishes.cut, geometry)
    chosen = cut_and_choose(half, n_clusters, [q], evidence, options, seed, Workers(1))
    return None if chosen is None else chosen.labels


def _find_counts(
    X: NDArray[np.floating],
    wishes: Wishes,
    bagging: Bagging,
    geometry: str | None,
    seed: int,
    workers: Workers,
) -> tuple[Count, ...]:
    """Score numbers of clusters on some of the rows, as EKSS does; best first.

    Dissent is used rather than discord: members have more clusters than are sought, so
    that cuts into more clusters share more information with them.
    """
    sample = draw_sample(len(X), COUNT.rows, seed)
    few = X if sample is None else X[sample]
    n_members = min(wishes.n_members or COUNT.members, COUNT.members)
    quiet = workers.quiet()

    def score_around(guess: int) -> tuple[Count, ...]:
        members = bagging.settled(guess, len(few))
        ensemble = run_clusterers(few, members, seed, quiet, n_members, None)
        # Random draws that differ from those of the members.
        judges = run_clusterers(
            few, members.judging(guess), seed + 1, quiet, ceil(n_members / 2), None
        )
        evidence = evidence_of(few, ensemble.labels, guess, geometry)
        return score_counts(
            numbers_around(guess),
            ensemble,
            judges.labels,
            evidence,
            wishes,
            seed,
            quiet,
        )

    with workers.stage("clusters"):
        return seek_counts(score_around, len(few), COUNT.first)


@dataclass(frozen=True)
class Assignment:
    """How further rows are assigned to clusters.

    The clusters that members put a row into are weighed by naive Bayes; if members
    cannot predict, the nearest rows that were voted on decide.

    Attributes
    ----------
    models : tuple of FittedMember
        Members that are asked; empty if the nearest rows decide.
    guess : object
        The fitted classifier, of member labels or of rows.
    """

    models: tuple[FittedMember, ...]
    guess: Any

    def __call__(self, block: NDArray[np.floating], first_row: int) -> NDArray[Any]:
        """Return the clusters of a block of rows."""
        if not self.models:
            found: NDArray[Any] = self.guess.predict(block)
            return found
        labels = np.stack([model.predict(block) for model in self.models], axis=1)
        # The last category is for rows on which a member does not vote.
        n_labels = self.guess.n_categories_ - 1
        # Labels that did not occur in the fit carry no vote, just like noise.
        unknown = (labels < 0) | (labels > n_labels)
        return most_likely(self.guess, np.where(unknown, n_labels, labels))


def learn_assignment(
    X: NDArray[np.floating], ensemble: Ensemble, labels: NDArray[np.int64]
) -> Assignment:
    """Learn from clustered rows how to assign further rows."""
    models, voted = ensemble.models, labels >= 0
    if models and all(model.can_predict for model in models):
        n_labels = ensemble.labels.max(axis=0) + 1
        # One more label, for rows on which a member does not vote.
        votes = np.where(ensemble.labels < 0, n_labels, ensemble.labels)
        voters = learn_voters(votes[voted], labels[voted], n_labels + 1)
        return Assignment(models, voters)
    count = min(RULES.neighbors, int(voted.sum()))
    nearest = KNeighborsClassifier(count).fit(X[voted], labels[voted])
    return Assignment((), nearest)


# --- What a consensus may cost --------------------------------------------------------


def check_memory(
    wishes: Wishes,
    bagging: Bagging,
    geometry: str | None,
    rows: Rows,
    sample: NDArray[np.int64] | None,
    memory_limit: Any,
    workers: Workers,
) -> None:
    """Refuse a consensus that needs more memory than there is.

    What members need while they run, and what they keep besides their labels, cannot be
    known here and is not counted.
    """
    work = work_of(wishes, bagging, rows, sample, workers)
    cost = partial(estimate, geometry=geometry)
    wanted = cost(work)
    limit = limit_of(memory_limit, wanted.resident)
    task = (
        f"the consensus on {work.n_samples} points, {work.voted} of them by votes of "
        f"{work.n_members} members, whatever these need themselves,"
    )
    limit.check(task, wanted.bytes, lambda: remedy(work, limit, cost, "max_voted"))


def work_of(
    wishes: Wishes,
    bagging: Bagging,
    rows: Rows,
    sample: NDArray[np.int64] | None,
    workers: Workers,
) -> Work:
    """Return the sizes of a consensus, assuming the worst where the data decide."""
    n_samples, n_features = rows.shape
    voted = n_samples if sample is None else len(sample)
    n_clusters = wishes.n_clusters or COUNT.first
    neighbors = cut_neighbors(wishes, voted, n_clusters)
    span = bagging.settled(n_clusters, voted).n_clusters
    return Work(
        n_samples,
        n_features,
        rows.dtype.itemsize,
        n_clusters,
        wishes.n_members or VOTE.steps[-1],
        # Members that are left as they are may have any number of clusters.
        span[1] if isinstance(span, tuple) else voted,
        0,
        voted,
        all_pairs=wishes.cut.looks_at_all_pairs(voted),
        n_neighbors=max(neighbors),
        n_graphs=len(neighbors),
        in_memory=rows.in_memory,
        n_workers=effective_n_jobs(workers.n_jobs),
        double=True,
    )


def estimate(work: Work, geometry: str | None) -> Estimate:
    """Add up the bytes of a consensus, without its members; its time is unknown."""
    data = work.n_samples * work.n_features * work.itemsize
    labels = 4 * work.voted * work.n_members
    # Labels in the models and in the ensemble, and the rows of a sample.
    held = 2 * labels
    if work.voted < work.n_samples or not work.in_memory:
        held += work.voted * work.n_features * work.itemsize
    judged = work if geometry else replace(work, n_features=0)
    graph = 12 * work.voted * work.n_neighbors
    stages = {
        "members": labels,
        # Labels are transposed for the kernels before they become bytes.
        "votes": votes_cost(judged).bytes + 2 * labels,
        "cuts": cut_cost(judged).bytes + 2 * labels,
        "choice": choose_cost(judged).bytes + 2 * labels,
        # Naive Bayes holds the labels of voted rows as wide integers, noise included.
        "assignment": graph + 5 * labels,
    }
    if work.voted < work.n_samples:
        stages["rows"] = extend_cost(work).bytes
    return Estimate(
        LIBRARY_BYTES + data * work.in_memory,
        {name: Stage(0.0, held + count) for name, count in stages.items()},
    )
