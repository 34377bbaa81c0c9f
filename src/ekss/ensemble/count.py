"""Before stage 1, count: how many clusters there are.

Members with many candidates split classes into pieces, and vote for every split of a
class as firmly as for a class. Members with fewer candidates than there are clusters
cannot do so: they merge whole classes, different ones each time, and always keep the
halves of a class together. Such members judge the number of clusters.
:class:`CountSearch` makes them, and moves its guess until the best number is near it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import MemberOptions
from ekss.ensemble.choose import Evidence, gather_evidence, judge_all, total_of
from ekss.ensemble.cut import cut, nearest
from ekss.ensemble.decide import Plan, Wishes, decide, decide_affine, paper_neighbors
from ekss.ensemble.express import express_sparsely, normalised
from ekss.ensemble.prepare import prepare
from ekss.ensemble.vote import Ensemble, run_members
from ekss.ensemble.whiten import has_common_direction, run_trial, whitened
from ekss.graph import spectral_embedding
from ekss.graph.communities import communities
from ekss.graph.votes import (
    Votes,
    cluster_silhouettes,
    companion_shares,
    symmetric_graph,
)
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.settle import Settled

    Settle = Callable[[NDArray[np.floating], Wishes, int, int, Workers], Settled]


@dataclass(frozen=True)
class _Rules:
    """Constants of this search (docs/choosing.md)."""

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
    # most half of all, and the fewest points of a community that counts. In 32
    # directions there are as many as classes of images, or up to a third more
    # (docs/experiments.md, "Gaps between eigenvalues").
    community_directions: int = 32
    community_points: int = 3
    # In fewer directions points of different clusters look alike: communities of
    # positive rays in three to six dimensions are counted right where points stay as
    # they are.
    fewest_directions: int = 8
    # There are sometimes twice as many communities as clusters, and hardly ever fewer.
    # No search goes on from a guess of more than ``community_most`` times their number.
    # If more clusters than that were found, or if there are more than
    # ``communities_more`` times as many communities as clusters, ...
    community_most: float = 1.25
    communities_more: float = 2.0
    # ... members are made for this share of it, and judges look from there to the
    # number of communities.
    community_share: float = 0.8
    # More clusters than before are taken if their cut scores lower by more than this.
    # It does so by 3 for turning objects; arcs of circles and parts of spheres score
    # higher by 1.
    community_gain: float = 1.0


COUNT = _Rules()


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


class CountSearch:
    """Search for the number of clusters by ensembles made for guesses.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        Some of the rows.
    wishes : Wishes
        What the user asks for.
    seed : int
        Seed of all random draws.
    workers : Workers
        Who runs members, cuts and scores.
    settle : callable
        Settles everything but the number of clusters, for a guess.
    """

    def __init__(
        self,
        rows: NDArray[np.floating],
        wishes: Wishes,
        seed: int,
        workers: Workers,
        settle: Settle,
    ) -> None:
        self.rows = rows
        self.wishes = wishes
        # Judges look at votes, so points are seen here as votes see them best.
        self.by_votes = replace(wishes, second_opinion=False)
        self.seed = seed
        self.workers = workers
        self.quiet = workers.quiet()
        self.settle = settle
        self.n_members = min(wishes.n_members or COUNT.members, COUNT.members)
        guess = min(COUNT.first, len(rows))
        self.is_affine = decide_affine(rows, wishes.affine, guess)
        self._ensembles: dict[int, tuple[Plan, Ensemble]] = {}

    def best_first(self) -> tuple[Count, ...]:
        """Return the numbers compared in the last round, best first.

        The widest gap between eigenvalues decides if it is clear, otherwise the judges,
        whose number is then compared with that of the communities.
        """
        linear, n_samples = not self.is_affine, len(self.rows)
        first = COUNT.first if linear else COUNT.first_affine
        with self.workers.stage("clusters"):
            if linear and (clear := seek_gap(self.gaps_around, n_samples, first)):
                return clear
            counts = seek_counts(self.scores_around, n_samples, first)
            if linear and self.wishes.second_opinion:
                return prefer_communities(
                    counts,
                    self.n_communities,
                    n_samples,
                    self.scores_around,
                    self.score_of_cut,
                )
            return counts

    def gaps_around(self, guess: int) -> tuple[Count, ...]:
        """Return numbers around a guess by the gaps of its votes, widest first."""
        if self.is_too_far(guess):
            return ()
        _, ensemble = self.ensemble_for(guess)
        return gap_counts(guess, ensemble, self.by_votes, self.seed, self.quiet)

    def scores_around(
        self, guess: int, between: tuple[int, int] | None = None
    ) -> tuple[Count, ...]:
        """Let judges score numbers around a guess, or between two; best first."""
        if self.is_too_far(guess):
            return ()
        plan, ensemble = self.ensemble_for(guess)
        _, _, options = ensemble.origin
        judges = run_members(
            plan.seen.points,
            # Random draws that differ from those of the members.
            self.seed + 1,
            judge_options(options, plan),
            ceil(self.n_members / 2),
            self.quiet,
        )
        evidence = gather_evidence(plan, ensemble.labels)
        return score_counts(
            between or numbers_around(guess),
            ensemble,
            judges.labels,
            evidence,
            self.by_votes,
            self.seed,
            self.quiet,
        )

    def score_of_cut(self, guess: int, n_clusters: int) -> float:
        """Return the score of the best cut of a guess's votes into n clusters."""
        plan, ensemble = self.ensemble_for(guess)
        evidence = gather_evidence(plan, ensemble.labels)
        votes = self.by_votes.cut.votes(ensemble)
        best = _best_cuts(
            [n_clusters], votes, evidence, self.by_votes, self.seed, self.quiet
        )
        return best[n_clusters][0] if best else inf

    def is_too_far(self, guess: int) -> bool:
        """Decide whether there are too few communities for so many clusters."""
        is_far = guess > COUNT.reach * COUNT.first and not self.is_affine
        if not (is_far and self.wishes.second_opinion):
            return False
        return guess > COUNT.community_most * self.n_communities

    @cached_property
    def n_communities(self) -> int:
        """Number of communities of points that are expressed by each other."""
        return count_communities(self.rows, self.wishes, self.seed, self.quiet)

    def ensemble_for(self, guess: int) -> tuple[Plan, Ensemble]:
        """Return plan and votes of members made for a guess, which are run once."""
        if guess not in self._ensembles:
            self._ensembles[guess] = self._run(guess)
        return self._ensembles[guess]

    def _run(self, guess: int) -> tuple[Plan, Ensemble]:
        """Settle what the guess leaves open, and run members that vote."""
        wishes, seed, quiet = self.by_votes, self.seed, self.quiet
        settled = self.settle(self.rows, wishes, guess, seed, quiet)
        points = prepare(self.rows, unit=settled.unit, affine=settled.affine)
        plan = decide(points, wishes, guess, seed, settled.seen)
        known = settled.ensemble
        return plan, run_trial(plan, wishes, self.n_members, seed, quiet, known=known)


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


def count_communities(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> int:
    """Count the communities of points that are expressed by each other."""
    points = prepare(rows, unit=wishes.unit(affine=False), affine=False).rows
    directions, half = wishes.whiten, min(points.shape) // 2
    if directions is None and has_common_direction(rows):
        directions = min(COUNT.community_directions, half)
        directions *= half >= COUNT.fewest_directions
    if directions:
        (seen,) = whitened(points, (directions,))
        points = seen.points
    graph = normalised(express_sparsely(points, workers))
    sizes = np.bincount(communities(graph, seed))
    return int((sizes >= COUNT.community_points).sum())


def prefer_communities(
    counts: tuple[Count, ...],
    n_communities: int,
    n_samples: int,
    scores_around: Callable[[int, tuple[int, int]], tuple[Count, ...]],
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
    others = scores_around(guess, (guess, n_communities))
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


def numbers_around(guess: int) -> tuple[int, int]:
    """Return the lowest and the highest number that are scored around a guess."""
    return max(2, round(guess / COUNT.reach)), round(guess * COUNT.reach)


def score_counts(
    between: tuple[int, int],
    ensemble: Ensemble,
    judges: NDArray[np.integer],
    evidence: Evidence,
    wishes: Wishes,
    seed: int,
    workers: Workers,
) -> tuple[Count, ...]:
    """Score numbers of clusters between two, coarse grid first; return best first.

    ``judges`` are the labels of members that have at most as many clusters as the guess
    for which the ensemble was made.
    """
    votes = wishes.cut.votes(ensemble)

    def scored(numbers: Sequence[int]) -> list[Count]:
        best = _best_cuts(numbers, votes, evidence, wishes, seed, workers)
        return [_judged(n, *best[n], judges) for n in best]

    most = max(2, len(evidence.points) // COUNT.points_when_scored)
    coarse = coarse_grid(between, most)
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


def coarse_grid(between: tuple[int, int], most: int) -> tuple[int, ...]:
    """Return numbers between two in large steps, all up to eight, up to a limit."""
    low, high = between[0], min(most, between[1])
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
