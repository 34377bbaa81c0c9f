"""Before stage 1, whiten: in how many directions points are whitened.

:func:`may_whiten` decides whether there is a choice, and :func:`try_whitening` makes
it, by trial ensembles on some of the points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from ekss.core.linalg import leading_spectrum, unit_rows
from ekss.ensemble.choose import (
    Evidence,
    cut_and_choose,
    gather_evidence,
    score_cut,
    total_of,
)
from ekss.ensemble.decide import Plan, Wishes, decide, one_graph
from ekss.ensemble.express import ask_expressions, can_express, express_sparsely
from ekss.ensemble.prepare import (
    Coordinates,
    Scattering,
    View,
    prepare,
    whitened_directions,
)
from ekss.ensemble.vote import Ensemble, member_for, run_members
from ekss.runtime.rows import draw_sample
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class _Rules:
    """Constants of this choice (docs/experiments.md, "Whitening")."""

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


WHITENING = _Rules()


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
class ChosenWhitening:
    """The directions in which points are whitened, with their evidence.

    Attributes
    ----------
    seen : Coordinates
        All points, whitened in the directions chosen.
    whitenings : tuple of Whitening
        Numbers of directions that were tried, best first.
    ensemble : Ensemble or None
        Members that were run in the trial of the chosen directions; None if they voted
        on some of the points only.
    """

    seen: Coordinates
    whitenings: tuple[Whitening, ...]
    ensemble: Ensemble | None


def features_of(seen: Coordinates) -> str:
    """Return what members see: "rows", or "scattering" features of images."""
    images = seen.view is not None and seen.view.scattering is not None
    return "scattering" if images else "rows"


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


def whitened(
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
        return Whitening(number, self.score, n_members, features_of(self.seen))


def try_whitening(
    rows: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    workers: Workers,
) -> ChosenWhitening:
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
    chosen : ChosenWhitening
        The largest number whose score is close to the lowest; it is of scattering
        features if their score is clearly below that of the pixels. Its members are
        kept if they have voted on all rows.
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
    return ChosenWhitening(
        seen=tried[0].seen,
        whitenings=tuple(one.whitening for one in tried),
        ensemble=tried[0].ensemble if sample is None else None,
    )


def _ways_to_see(
    points: NDArray[np.floating], wishes: Wishes, n_clusters: int, workers: Workers
) -> Iterator[Iterable[Coordinates]]:
    """Yield the points in all numbers of directions; images also by their features."""
    yield whitened(points, tried_numbers(wishes, n_clusters, points.shape))
    if wishes.image_shape is not None:
        scattering = Scattering(wishes.image_shape)
        with workers.stage("scattering"):
            features = replace(scattering, n_jobs=workers.n_jobs)(points)
        numbers = tried_numbers(wishes, n_clusters, features.shape)
        yield whitened(features, numbers, scattering=scattering)


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
                ensemble = run_trial(
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


def run_trial(
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
