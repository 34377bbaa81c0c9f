"""The chain of a fit, from :func:`settle` to :func:`extend`.

Settle, prepare, decide, vote, cut, choose, express or look again, extend.

:func:`cluster` is the whole fit. The second half of the file estimates the cost of a
fit before it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from joblib import hash as fingerprint
from numpy.typing import NDArray

from ekss.core.linalg import SMALL_SIDE, Flats, describe_clusters, outlier_score
from ekss.ensemble.choose import (
    Chosen,
    choose_cost,
    cut_and_choose,
    firmly_voted,
    gather_evidence,
)
from ekss.ensemble.count import COUNT
from ekss.ensemble.cut import cut_cost, cut_once, votes_cost
from ekss.ensemble.decide import (
    Geometry,
    Plan,
    Wishes,
    cut_neighbors,
    decide,
    few_neighbors,
    largest_dim,
    one_graph,
)
from ekss.ensemble.express import (
    ask_expressions,
    can_express,
    express,
    expression_cost,
    let_spread,
)
from ekss.ensemble.extend import extend, extend_cost, learn_extension
from ekss.ensemble.prepare import (
    Preparation,
    Scattering,
    has_holes,
    most_coordinates,
    prepare,
)
from ekss.ensemble.second_look import look_again, may_look_again, second_look_cost
from ekss.ensemble.settle import Settled, settle
from ekss.ensemble.vote import (
    RULES,
    Ensemble,
    KSSMember,
    enough_rows,
    member_for,
    vote,
    vote_cost,
)
from ekss.ensemble.whiten import (
    WHITENING,
    has_common_direction,
    tried_numbers,
    tried_rows,
)
from ekss.runtime.memory import (
    LIBRARY_BYTES,
    RATES,
    Estimate,
    Limit,
    Stage,
    Work,
    crowding,
    in_bytes,
    limit_of,
    measured_pace,
)
from ekss.runtime.rows import LabelStore, MemoryRows, Rows
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.core.completion import Completion


@dataclass(frozen=True)
class EarlierFit:
    """What a fit with ``warm_start`` can reuse from the fit before it.

    Attributes
    ----------
    origin : tuple
        Data, seed and wishes. A fit with the same origin takes over ``settled``.
    settled : Settled
    ensemble : Ensemble
        Members, reused if they would come out the same; their own ``origin`` decides.
    completion : Completion or None
        How missing entries are filled in, if there are any; taken over like
        ``settled``.
    """

    origin: tuple[Any, ...]
    settled: Settled
    ensemble: Ensemble
    completion: Completion | None = None

    @property
    def seed(self) -> int:
        """Seed of the fit."""
        return int(self.origin[1])


@dataclass(frozen=True)
class Clustering:
    """The result of a fit.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of every row; -1 for outliers, if they are requested.
    flats : Flats
        Subspaces of the clusters, in the coordinates of the rows.
    outlier_scores : ndarray of shape (n_samples,)
        How far each row lies from the subspace of its cluster, compared with others.
    outlier_limits : ndarray of shape (n_clusters,) or None
        Distance, in units of the rows, beyond which rows are outliers; None if outliers
        are not requested.
    preparation : Preparation
        How rows are turned into points.
    settled : Settled
        What was decided before the points were prepared.
    geometry : Geometry
        Dimensions of the subspaces, and whether they are linear or affine.
    ensemble : Ensemble
        Labels and weights of the members.
    chosen : Chosen
        The cut with the lowest score, and the other candidates.
    known : EarlierFit
        What the next fit with ``warm_start`` can reuse from this one.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> X = make_union_of_subspaces(2, 2, 20, 30, random_state=0).data
    >>> from ekss.ensemble import Wishes, cluster
    >>> from ekss.runtime.workers import Workers
    >>> wishes = Wishes(2, dims=(2, 2), n_members=20, whiten=0, affine=False)
    >>> found = cluster(X, wishes, seed=0, workers=Workers())
    >>> found.flats.bases.shape
    (2, 20, 2)
    """

    labels: NDArray[np.int64]
    flats: Flats
    outlier_scores: NDArray[np.float64]
    outlier_limits: NDArray[np.float64] | None
    preparation: Preparation
    settled: Settled
    geometry: Geometry
    ensemble: Ensemble
    chosen: Chosen
    known: EarlierFit


def cluster(
    voted: NDArray[np.floating],
    wishes: Wishes,
    seed: int,
    workers: Workers,
    *,
    known: EarlierFit | None = None,
    store: LabelStore | None = None,
    everyone: Rows | None = None,
    sample: NDArray[np.int64] | None = None,
) -> Clustering:
    """Cluster rows: run the whole chain, from the rows to their labels.

    Parameters
    ----------
    voted : ndarray of shape (n_voted, n_features)
        Rows that members vote on: all rows, or a sample of them.
    wishes : Wishes
        What the user asks for; the rest is decided here.
    seed : int
        Seed of the fit.
    workers : Workers
        Runs the parallel work: `ekss.runtime.workers.Workers`.
    known : EarlierFit, default=None
        The fit before this one; whatever would come out the same is taken from it.
    store : LabelStore, default=None
        Where the labels of the members are kept.
    everyone : Rows, default=None
        All rows, if the rows voted on are a sample of them.
    sample : ndarray of shape (n_voted,), default=None
        Indices of the sampled rows.

    Returns
    -------
    Clustering
        Labels and subspaces, with everything that led to them.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> X = make_union_of_subspaces(2, 2, 20, 30, random_state=0).data
    >>> from ekss.ensemble import Wishes, cluster
    >>> from ekss.runtime.workers import Workers
    >>> wishes = Wishes(2, dims=(2, 2), n_members=20, whiten=0, affine=False)
    >>> labels = cluster(X, wishes, seed=0, workers=Workers()).labels
    >>> sorted(set(labels.tolist()))
    [0, 1]
    """
    origin = _origin(voted, wishes, seed)
    same = known if known is not None and known.origin == origin else None
    completion = None
    if has_holes(voted):
        completion = same.completion if same else None
        last: EarlierFit | None = None
        if completion is None:
            completion, last = _complete(voted, wishes, seed, workers)
        voted = completion(voted)
        if last is not None and last.origin == _origin(voted, wishes, seed):
            # These rows have already been clustered, to check whether clusters change.
            same, known = last, known or last
    settled = same.settled if same else settle(voted, wishes, seed, workers)
    points = prepare(
        voted,
        unit=settled.unit,
        affine=settled.affine,
        completion=completion,
    )
    plan = decide(points, wishes, settled.n_clusters, seed, settled.seen)
    ensemble = vote(
        plan,
        member_for(plan, wishes.member, keep_flats=sample is not None),
        RULES.steps if wishes.n_members is None else (wishes.n_members,),
        seed,
        workers,
        cluster=partial(_cluster_some, plan, wishes, seed),
        # Members of the earlier fit or, failing that, of the trial of directions.
        known=settled.ensemble if known is None else known.ensemble,
        store=store,
    )
    chosen = _cut_and_choose(plan, ensemble, wishes, seed, workers)
    described = describe_clusters(
        points.rows,
        chosen.labels,
        plan.n_clusters,
        dim=plan.geometry.middle,
        within=wishes.dims or (1, points.rows.shape[1]),
        affine=settled.affine,
        firm=firmly_voted(ensemble.labels, chosen.labels, plan.n_clusters),
    )
    labels, flats = chosen.labels, described.flats
    scores = described.spreads.scores(described.distances, labels)
    most = outlier_score(scores, wishes.outliers)
    if everyone is not None and sample is not None:
        extension = learn_extension(
            points.preparation, plan.seen, ensemble, labels, described
        )
        labels, scores, flats = extend(
            extension, everyone, sample, (labels, scores), workers
        )
    limits = described.spreads.limits_at(most) * points.preparation.scale
    return Clustering(
        np.where(scores > most, -1, labels),
        points.preparation.outwards(flats),
        scores,
        None if wishes.outliers is None else limits,
        points.preparation,
        settled,
        plan.geometry,
        ensemble,
        chosen,
        EarlierFit(origin, replace(settled, ensemble=None), ensemble, completion),
    )


def _complete(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> tuple[Completion, EarlierFit]:
    """Find subspaces that fill in missing entries, by small fits to filled rows.

    The last of these fits is returned as well.
    """
    from ekss.ensemble.complete import Begun, complete

    fits: list[EarlierFit] = []

    def begin(filled: NDArray[np.floating]) -> Begun:
        q = wishes.n_neighbors
        few = replace(
            wishes,
            n_members=min(wishes.n_members or RULES.steps[0], RULES.steps[0]),
            n_neighbors=None if q is None else min(q, len(filled) - 1),
            outliers=None,
        )
        found = cluster(filled, few, seed, workers.quiet())
        fits[:] = [found.known]
        others = [candidate.labels for candidate in found.chosen.candidates]
        return Begun(
            [found.labels, *others],
            # Too many directions cost little: the unneeded ones stay short.
            found.geometry.high,
            unit=found.settled.unit,
            affine=found.settled.affine,
        )

    n_clusters = wishes.n_clusters or COUNT.first
    completion = complete(rows, begin, n_clusters, seed, workers)
    return completion, fits[0]


def _origin(rows: NDArray[np.floating], wishes: Wishes, seed: int) -> tuple[Any, ...]:
    """Return a key that is equal for fits that settle on the same decisions."""
    return fingerprint(rows), seed, replace(wishes, n_members=None, outliers=None)


def _cut_and_choose(
    plan: Plan, ensemble: Ensemble, wishes: Wishes, seed: int, workers: Workers
) -> Chosen:
    """Cut the votes in many ways and keep the best, or in one if there is no choice."""
    options = wishes.cut
    if not plan.is_trivial:
        evidence = gather_evidence(plan, ensemble.labels)
        chosen = cut_and_choose(
            ensemble,
            plan.n_clusters,
            plan.neighbors,
            evidence,
            options,
            seed,
            workers,
        )
        if chosen is not None:
            return _second_opinion(plan, ensemble, chosen, wishes, seed, workers)
    votes = options.votes(ensemble)
    q = plan.neighbors[0]
    if len(plan.neighbors) > 1:
        q = few_neighbors(len(plan.points.rows), plan.n_clusters)
    found, graph = cut_once(votes, plan.n_clusters, q, options, seed, workers)
    return Chosen(found.labels, q, graph, found.embedding, found.eigenvalues)


def _second_opinion(
    plan: Plan,
    ensemble: Ensemble,
    chosen: Chosen,
    wishes: Wishes,
    seed: int,
    workers: Workers,
) -> Chosen:
    """Let the best cut of the votes compete with that of a second graph."""
    if plan.geometry.affine:
        again = may_look_again(plan, wishes)
        args = plan, ensemble, wishes, seed, workers
        return look_again(chosen, *args) if again else chosen
    if not can_express(plan, wishes):
        return chosen
    evidence = gather_evidence(plan, ensemble.labels)
    expressions = express(plan.seen.points, workers)
    chosen = ask_expressions(
        chosen, expressions.sparse, plan.n_clusters, evidence, wishes.cut, seed, workers
    )
    return let_spread(chosen, expressions, plan.n_clusters, evidence, wishes.cut)


def _cluster_some(
    plan: Plan,
    wishes: Wishes,
    seed: int,
    half: Ensemble,
    rows: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """Cluster some of the points by half of the members: the best cut of one graph.

    Return None if no way of cutting produced all clusters.
    """
    q = one_graph(wishes, len(rows), plan.n_clusters)
    evidence = gather_evidence(plan, half.labels, plan.seen.take(rows))
    chosen = cut_and_choose(
        half, plan.n_clusters, [q], evidence, wishes.cut, seed, Workers(1)
    )
    return None if chosen is None else chosen.labels


# --- What a fit may cost --------------------------------------------------------------

# Smallest number of members suggested as a remedy for too little memory.
_FEWEST_MEMBERS = 10


def estimate(work: Work) -> Estimate:
    """Add up the stages of a fit.

    Seconds are accurate to within a factor of about 3; bytes are overestimated rather
    than underestimated.

    Examples
    --------
    >>> from ekss.ensemble.chain import estimate
    >>> from ekss.runtime.memory import Work
    >>> exact = Work(10**6, 50, 4, 10, 100, 10, 5, 10**6, n_neighbors=40, n_graphs=6)
    >>> estimate(exact).seconds > 1000
    True
    """
    stages = {
        "preprocessing": trial_cost(work),
        "members": vote_cost(work),
        "votes": votes_cost(work),
        "cuts": cut_cost(work),
        "choice": choose_cost(work),
    }
    if work.expressed:
        stages["expressions"] = expression_cost(work)
    if work.seen_twice:
        again = second_look_cost(work)
        if work.expressed:
            # The data decide which of the two it is: take the likelier time, that of
            # linear subspaces, and enough memory for both.
            most = max(again.bytes, stages["expressions"].bytes)
            stages["expressions"] = replace(stages["expressions"], bytes=most)
        else:
            stages["second look"] = again
    if work.missing:
        stages["missing entries"] = _completion_cost(work)
    if work.voted < work.n_samples:
        stages["rows"] = extend_cost(work)
    data = work.n_samples * work.n_features * work.itemsize
    return Estimate(
        LIBRARY_BYTES + data * work.in_memory,
        {name: stage for name, stage in stages.items() if stage.seconds > 0},
    )


def _completion_cost(work: Work) -> Stage:
    """Estimate the cost of filling in missing entries by small fits."""
    from ekss.ensemble.complete import clustered_rows, complete_cost

    rows = clustered_rows(work.voted, work.n_clusters)
    small = replace(
        work,
        n_samples=rows,
        voted=rows,
        fitted=rows,
        n_members=min(work.n_members, RULES.steps[0]),
        likely_members=None,
        missing=False,
    )
    return complete_cost(work, estimate(small))


def trial_cost(work: Work) -> Stage:
    """Estimate the cost of comparing numbers of directions, and of finding them all."""
    if not work.n_trials:
        return Stage(0.0, 0.0)
    rows = tried_rows(work.voted, work.n_clusters)
    small = estimate(
        replace(
            work,
            n_samples=rows,
            voted=rows,
            fitted=rows,
            n_members=min(work.n_members, WHITENING.members[-1]),
            likely_members=None,
            n_graphs=1,
            expressed=False,
            seen_twice=False,
            n_trials=0,
            image_features=0,
            missing=False,
        )
    )
    n, scattered = work.voted, work.voted * work.image_features
    wide = max(work.n_features, work.image_features)
    # Copies of the points in float64, or a Gram matrix: see leading_spectrum.
    by_rows = n < wide or wide <= SMALL_SIDE
    spectrum = 8 * 4 * wide * (n if by_rows else wide)
    held = max(spectrum, *(stage.bytes for stage in small.stages.values()))
    held += (n * work.n_features + 3 * scattered) * work.width
    held += 8 * n * work.n_trials * most_coordinates(work.n_clusters, 1)
    seconds = RATES.tried_members * work.n_trials * small.seconds
    seconds += 1e-9 * RATES.scatter * scattered / work.n_workers
    return Stage(seconds, held)


def check_memory(
    wishes: Wishes,
    rows: Rows,
    sample: NDArray[np.int64] | None,
    memory_limit: Any,
    workers: Workers,
) -> None:
    """Refuse a fit that needs more memory than there is; report what it will take."""
    work = work_of(wishes, rows, sample, workers)
    wanted = estimate(work)
    limit = limit_of(memory_limit, wanted.resident)
    task = f"clustering {work.n_samples} points, {work.voted} of them by votes,"
    limit.check(
        task, wanted.bytes, lambda: remedy(work, limit, estimate, "max_samples")
    )
    if workers.show:
        told = wanted.at_pace(measured_pace() * crowding())
        note = ""
        if wishes.n_members is None:
            few, most = RULES.steps[0], RULES.steps[-1]
            note = f" (for {few} members, {most} if these disagree)"
        workers.say(f"{told}{note}")


def work_of(
    wishes: Wishes, rows: Rows, sample: NDArray[np.int64] | None, workers: Workers
) -> Work:
    """Return the sizes of a fit, assuming the worst where the data decide."""
    n_samples, n_features = rows.shape
    voted = n_samples if sample is None else len(sample)
    n_clusters = wishes.n_clusters or COUNT.first
    dims = wishes.dims
    dim = dims[1] if dims else largest_dim(voted, n_features, n_clusters)
    likely_dim = None if dims else -(-dim // 3)
    neighbors = cut_neighbors(wishes, voted, n_clusters)
    kss = wishes.member if isinstance(wishes.member, KSSMember) else KSSMember()
    most, likely = _candidates(kss, n_clusters)
    asked = wishes.second_opinion and wishes.cut.looks_at_all_pairs(voted)
    if likely is not None:
        likely = max(
            1, min(likely, voted // (RULES.least_points * (likely_dim or dim)))
        )
    return Work(
        n_samples,
        n_features,
        rows.dtype.itemsize,
        n_clusters,
        wishes.n_members or RULES.steps[-1],
        most,
        dim,
        voted,
        all_pairs=wishes.cut.looks_at_all_pairs(voted),
        expressed=asked and wishes.affine is not True,
        seen_twice=asked and wishes.affine is not False and wishes.whiten is None,
        n_neighbors=max(neighbors),
        n_graphs=len(neighbors),
        max_iter=kss.max_iter,
        fitted=kss.fitted_rows(voted, n_clusters) or voted,
        in_memory=rows.in_memory,
        n_workers=effective_n_jobs(workers.n_jobs),
        double=wishes.affine is not False,
        single=wishes.affine is not True and wishes.normalize is not False,
        n_trials=_n_trials(wishes, rows),
        image_features=_image_features(wishes),
        missing=isinstance(rows, MemoryRows)
        and rows.in_memory
        and has_holes(rows.array),
        likely_members=None if wishes.n_members else RULES.steps[0],
        likely_candidates=likely,
        likely_dim=likely_dim,
        likely_features=min(
            n_samples, n_features, most_coordinates(n_clusters, likely_dim or dim)
        ),
    )


def _candidates(member: KSSMember, n_clusters: int) -> tuple[int, int | None]:
    """Return a member's largest candidate count, and the likely one if it differs."""
    given: Any = member.n_candidates
    if given == "auto":
        return RULES.pieces[1] * n_clusters, sum(RULES.pieces) * n_clusters // 2
    if given is None:
        return n_clusters, None
    return (given[1], None) if isinstance(given, (tuple, list)) else (given, None)


def _n_trials(wishes: Wishes, rows: Rows) -> int:
    """Return how many numbers of directions may be tried.

    Points in memory are inspected; for others, the answer is known only once they are
    read.
    """
    n_clusters = wishes.n_clusters or COUNT.first
    numbers = len(tried_numbers(wishes, n_clusters, rows.shape))
    if wishes.image_shape is not None:
        return 2 * numbers
    may = wishes.whiten is None and wishes.affine is not True
    if not may or wishes.normalize is False:
        return 0
    if isinstance(rows, MemoryRows) and rows.in_memory:
        return numbers if has_common_direction(rows.array) else 0
    return numbers


def _image_features(wishes: Wishes) -> int:
    """Return how many features of images are tried."""
    shape = wishes.image_shape
    return 0 if shape is None else Scattering(shape).n_features


def remedy(
    work: Work, limit: Limit, cost: Callable[[Work], Estimate], sampled: str
) -> str:
    """Say which setting would fit; ``sampled`` is the parameter for voted rows."""
    for words, change in _smaller(work, sampled):
        needed = cost(change).bytes
        if needed <= limit.bytes:
            return f"{words} would need {in_bytes(needed)}"
    return "no other setting would fit, so give fewer points or features"


def _smaller(work: Work, sampled: str) -> Iterator[tuple[str, Work]]:
    """Yield changes that make a fit smaller, in words and in sizes."""
    enough = min(work.n_samples, enough_rows(work.n_clusters))
    few = replace(work, voted=min(work.voted, enough), fitted=enough)
    if work.voted > enough:
        yield f"{sampled}={enough}", few
    if work.all_pairs:
        likely = replace(work, all_pairs=False, expressed=False, seen_twice=False)
        yield "cut=CutOptions(pairs='likely')", likely
    members = work.n_members
    while members > _FEWEST_MEMBERS:
        members = max(members // 2, _FEWEST_MEMBERS)
        yield f"n_members={members}", replace(work, n_members=members)
    if work.in_memory:
        words = f"{sampled}={enough} with X on disk, as numpy.load(f, mmap_mode='r'),"
        yield words, replace(few, in_memory=False)
