"""Automatic decisions that run the chain on less: components to remove, clusters.

Both run the same stages as a fit, on fewer points or with fewer members, and compare
what comes out. Nothing here knows true labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isnan

import numpy as np
from numpy.typing import NDArray

from ekss.core.ensemble import MemberOptions
from ekss.core.scaling import unit_rows, without
from ekss.ensemble.choose import choose, gather_evidence, judge_all
from ekss.ensemble.cut import cut
from ekss.ensemble.decide import (
    Plan,
    Wishes,
    decide,
    decide_affine,
    few_neighbors,
    paper_neighbors,
)
from ekss.ensemble.prepare import common_directions, prepare
from ekss.ensemble.vote import Ensemble, KSSMember, run_members
from ekss.graph.companions import cluster_silhouettes, companion_shares
from ekss.graph.selection import total_of
from ekss.runtime.rows import draw_sample
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class _RemovalRules:
    """Constants of the choice of components."""

    # Squared length of the mean of points of unit length from which they have a
    # direction in common: 0.45 to 0.7 for images as they are, at most 0.015 for
    # subspaces, or for images less their mean or leading components.
    common: float = 0.1
    # Components tried. Faces under light take three.
    most: int = 3
    # Numbers of components are compared with so many members ...
    members: int = 100
    # ... on so many points, and so many per cluster.
    fewest_rows: int = 2000
    rows_per_cluster: int = 100
    # Scores this close are equal, and what removes least is taken: a component that
    # clusters do not have in common is a loss to them.
    equal: float = 0.1
    # Rows summed at once: 8 MB, which stay in cache.
    block_entries: int = 2**20


@dataclass(frozen=True)
class _CountRules:
    """Constants of the search for the number of clusters (docs/choosing.md)."""

    # Members and points with which the number is sought.
    members: int = 100
    rows: int = 4000
    # Where the search begins: few bodies where points are tracks.
    first: int = 8
    first_affine: int = 3
    # How far from its guess a round looks, and how many rounds there are.
    reach: float = 3.0
    rounds: int = 5
    # Judges are trusted about numbers this far below and above the guess; below three
    # they have no two candidates.
    near: tuple[float, float] = (0.9, 2.5)
    least: int = 3
    # A guess that is raised because nothing was confirmed leaves so many points to
    # every cluster; numbers that are scored leave this many.
    points_when_raised: int = 10
    points_when_scored: int = 4
    # Ratio of neighbouring numbers, first coarsely, then finely.
    coarse: float = 1.25
    fine: float = 1.06
    # Up to this number all are tried.
    all_up_to: int = 8
    # The scores of numbers this close to each other are averaged.
    within: float = 0.05
    # Neighbours per point of the graphs that are cut, up to the paper's.
    neighbors: tuple[int, ...] = (8, 20)
    # A further cluster must have at least this silhouette of votes ...
    silhouette: float = 0.15
    # ... and where judges are undecided, the score of the cut decides.
    weight_of_cut: float = 0.3


REMOVAL = _RemovalRules()
COUNT = _CountRules()


@dataclass(frozen=True)
class Removal:
    """A number of leading components that was tried.

    Attributes
    ----------
    n_removed : int
    score : float
        Of the best cut of the points without them; lower is better. Where the number
        of clusters is sought, that of the best number near a guess, per cluster.
    """

    n_removed: int
    score: float


@dataclass(frozen=True)
class Count:
    """A number of clusters that was considered.

    Attributes
    ----------
    n_clusters : int
    score : float
        0.3 times the score of its best cut, less ``confirmed``, and the mean of that
        over the numbers within a twentieth; lower is better.
    confirmed : float
        Sum over the clusters of V - 0.15, with V their silhouette of votes of the
        judges (:func:`ekss.graph.cluster_silhouettes`). Not positive if judges see
        no clusters.
    """

    n_clusters: int
    score: float
    confirmed: float = 0.0


@dataclass(frozen=True)
class Settled:
    """Decisions made before the points are prepared, with their evidence.

    Attributes
    ----------
    n_clusters : int
    affine, unit : bool
        Whether subspaces may miss the origin; whether rows get unit length.
    n_removed : int
        Leading components to remove.
    removals : tuple of Removal
        Numbers of components that were tried, best first; empty if none were.
    counts : tuple of Count
        Numbers of clusters that were compared last, best first; empty if given.
    """

    n_clusters: int
    affine: bool
    unit: bool
    n_removed: int
    removals: tuple[Removal, ...] = ()
    counts: tuple[Count, ...] = ()


def settle(
    rows: NDArray[np.floating], wishes: Wishes, seed: int, workers: Workers
) -> Settled:
    """Settle the number of clusters, linear or affine, and what is removed."""
    if wishes.n_clusters is not None:
        return _settle_given(rows, wishes, wishes.n_clusters, seed, workers)
    rng = np.random.default_rng(seed)
    few = rows
    if len(rows) > COUNT.rows:
        few = rows[np.sort(rng.choice(len(rows), COUNT.rows, replace=False))]
    guess = min(COUNT.first, len(few))
    affine = decide_affine(few, wishes.affine, guess)
    settled = _settle_given(few, wishes, guess, seed, workers, affine=affine)
    counts = _seek(few, wishes, settled, seed, workers)
    found = counts[0].n_clusters if counts else 1
    affine = decide_affine(rows, wishes.affine, found)
    unit = wishes.unit(affine=affine)
    return replace(settled, n_clusters=found, affine=affine, unit=unit, counts=counts)


def _settle_given(
    rows: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    workers: Workers,
    *,
    affine: bool | None = None,
) -> Settled:
    """Settle the rest for a number of clusters, or for a guess of it."""
    if affine is None:
        affine = decide_affine(rows, wishes.affine, n_clusters)
    unit = wishes.unit(affine=affine)
    if wishes.n_removed is not None:
        return Settled(n_clusters, affine, unit, wishes.n_removed)
    removals: tuple[Removal, ...] = ()
    if not affine and unit and may_remove(rows, n_clusters):
        removals = try_removals(rows, wishes, n_clusters, seed, workers)
    n_removed = removals[0].n_removed if removals else 0
    return Settled(n_clusters, affine, unit, n_removed, removals)


# --- How many components to remove ----------------------------------------------------


def may_remove(rows: NDArray[np.floating], n_clusters: int) -> bool:
    """Tell whether it is worth trying to remove components."""
    return (
        1 < n_clusters < len(rows)
        and most_removed(*rows.shape) > 0
        and has_common_direction(rows)
    )


def has_common_direction(rows: NDArray[np.floating]) -> bool:
    """Tell whether the rows, at unit length, have a mean that is clearly not zero."""
    n_samples, n_features = rows.shape
    step = max(1, REMOVAL.block_entries // n_features)
    total = np.zeros(n_features)
    for first in range(0, n_samples, step):
        some = unit_rows(rows[first : first + step])
        total += some.sum(axis=0, dtype=np.float64)
    mean = total / n_samples
    return float(mean @ mean) > REMOVAL.common


def most_removed(n_samples: int, n_features: int) -> int:
    """Return up to how many components are tried: more than half must be left."""
    return max(0, min(REMOVAL.most, (min(n_samples, n_features) - 1) // 2))


def tried_rows(n_samples: int, n_clusters: int) -> int:
    """Return on how many points numbers of components are compared."""
    wanted = max(REMOVAL.fewest_rows, REMOVAL.rows_per_cluster * n_clusters)
    return min(n_samples, wanted)


def try_removals(
    rows: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    seed: int,
    workers: Workers,
) -> tuple[Removal, ...]:
    """Score the rows of a sample without none, one, ... of the leading components.

    Squared lengths are measured in units of the energy outside all of these
    components: those that stay in would otherwise be praised for being fitted.

    Returns
    -------
    tried : tuple of Removal
        By their score, but first the one that removes least among those within 0.1 of
        the lowest.
    """
    most = most_removed(*rows.shape)
    directions = common_directions(rows, most, unit=True)
    sample = draw_sample(len(rows), tried_rows(len(rows), n_clusters), seed)
    few = rows if sample is None else rows[sample]
    tried = []
    with workers.stage("preprocessing", most + 1) as advance:
        for count in range(most + 1):
            rest = without(few, directions[:count], unit=True)
            energy = _energy(without(rest, directions[count:], unit=False))
            score = _score_of_trial(
                rest, wishes, n_clusters, energy, seed, workers.quiet()
            )
            tried.append(Removal(count, float("inf") if isnan(score) else score))
            advance(1)
    return _best_first(tried)


def _score_of_trial(
    rest: NDArray[np.floating],
    wishes: Wishes,
    n_clusters: int,
    energy: float,
    seed: int,
    workers: Workers,
) -> float:
    """Return the score of the best cut of one graph; per cluster, if K is sought."""
    plan = decide(prepare(rest, unit=True, affine=False), wishes, n_clusters, seed)
    n_members = min(wishes.n_members or REMOVAL.members, REMOVAL.members)
    ensemble = _members(plan, wishes, n_members, seed, workers)
    if wishes.n_clusters is None:
        counts = _count(plan, ensemble, wishes, seed, workers)
        return counts[0].score / counts[0].n_clusters if counts else float("inf")
    q = wishes.n_neighbors or few_neighbors(len(rest), n_clusters)
    cuts = cut(
        wishes.cut.votes(ensemble),
        [(min(q, len(rest) - 1), n_clusters)],
        wishes.cut,
        seed,
        workers,
    )
    evidence = replace(gather_evidence(plan, ensemble.labels), energy=energy)
    chosen = choose(cuts, evidence, wishes.cut.judge, workers)
    return float("inf") if chosen is None else chosen.candidates[0].score


def _members(
    plan: Plan, wishes: Wishes, count: int, seed: int, workers: Workers
) -> Ensemble:
    member = wishes.member
    spec = member.options(plan) if isinstance(member, KSSMember) else member
    return run_members(plan.seen.points, seed, spec, count, workers)


def _best_first(tried: Sequence[Removal]) -> tuple[Removal, ...]:
    """Put first what removes least among scores close to the lowest."""
    lowest = min(one.score for one in tried)
    best = next(one for one in tried if one.score <= lowest + REMOVAL.equal)
    others = [one for one in tried if one is not best]
    return (best, *sorted(others, key=lambda one: one.score))


def _energy(points: NDArray[np.floating]) -> float:
    """Return the mean squared length, more than zero."""
    squares = np.einsum("ij,ij->", points, points, dtype=np.float64)
    return max(float(squares) / len(points), float(np.finfo(points.dtype).tiny))


# --- How many clusters ----------------------------------------------------------------
#
# Members with many candidates split classes into pieces, and vote for every split of a
# class as firmly as for a class. Members with fewer candidates than there are clusters
# cannot: they put whole classes together, each time others, and the halves of a class
# always together. Such members judge the number of clusters.


def _seek(
    rows: NDArray[np.floating],
    wishes: Wishes,
    settled: Settled,
    seed: int,
    workers: Workers,
) -> tuple[Count, ...]:
    """Count around guesses until the number found is near the guess."""
    n_members = min(wishes.n_members or COUNT.members, COUNT.members)
    removed = common_directions(rows, settled.n_removed, unit=settled.unit)
    quiet = workers.quiet()

    def count(guess: int) -> tuple[Count, ...]:
        affine = decide_affine(rows, wishes.affine, guess)
        points = prepare(
            rows, unit=wishes.unit(affine=affine), affine=affine, removed=removed
        )
        plan = decide(points, wishes, guess, seed)
        ensemble = _members(plan, wishes, n_members, seed, quiet)
        return _count(plan, ensemble, wishes, seed, quiet)

    first = COUNT.first_affine if settled.affine else COUNT.first
    with workers.stage("clusters"):
        return seek_counts(count, len(rows), first)


def seek_counts(
    count: Callable[[int], tuple[Count, ...]], n_samples: int, first: int
) -> tuple[Count, ...]:
    """Count around a guess, and move it until the number found is near.

    Judges of much fewer candidates than clusters may confirm nothing; the guess is
    raised then. Returns what was found last, or first if nothing was ever confirmed.
    """
    kept: tuple[Count, ...] = ()
    guess, tried = min(first, n_samples), set[int]()
    while guess not in tried and len(tried) < COUNT.rounds:
        tried.add(guess)
        counts = count(guess)
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


def is_near(found: int, guess: int) -> bool:
    """Tell whether judges made for the guess can be trusted about the number found."""
    fewest, most = COUNT.near
    return fewest * guess <= found <= most * guess


def judge_options(options: MemberOptions, plan: Plan) -> MemberOptions:
    """Let members have hardly as many candidates as there may be clusters."""
    guess = plan.n_clusters
    return replace(
        options,
        n_candidates=(max(min(2, guess), 3 * guess // 4), guess),
        subspace_dim=(plan.geometry.low, plan.geometry.high),
    )


def _count(
    plan: Plan, ensemble: Ensemble, wishes: Wishes, seed: int, workers: Workers
) -> tuple[Count, ...]:
    """Score numbers of clusters around a guess, first coarsely; best first."""
    _, _, options = ensemble.origin
    judges = run_members(
        plan.seen.points,
        # Other draws than those of the members.
        seed + 1,
        judge_options(options, plan),
        ceil(ensemble.labels.shape[1] / 2),
        workers,
    )
    votes = wishes.cut.votes(ensemble)
    evidence = gather_evidence(plan, ensemble.labels)
    n_samples = len(evidence.points)

    def scored(numbers: Sequence[int]) -> list[Count]:
        tasks = sorted(
            {(_neighbors(wishes, q, n_samples, n), n) for n in numbers for q in grid}
        )
        if not tasks:
            return []
        cuts = cut(votes, tasks, wishes.cut, seed, workers)
        found = [
            (n, one.labels)
            for (_, n), pool in zip(cuts.tasks, cuts.pools, strict=True)
            for one in pool.cuts
        ]
        judged = judge_all(
            [one for _, one in found], evidence, wishes.cut.judge, workers
        )
        best: dict[int, tuple[float, NDArray[np.int64]]] = {}
        for (n, one), total in zip(found, map(total_of, judged), strict=True):
            if n not in best or total < best[n][0]:
                best[n] = total, one
        return [_judged(n, *best[n], judges.labels) for n in best]

    grid = COUNT.neighbors
    most = max(2, n_samples // COUNT.points_when_scored)
    coarse = coarse_grid(plan.n_clusters, most)
    found = scored(coarse)
    if not found:
        return ()
    best = min(found, key=lambda count: count.score).n_clusters
    found += scored(fine_grid(best, coarse))
    return tuple(sorted(smoothed(found), key=lambda count: count.score))


def _neighbors(wishes: Wishes, q: int, n_samples: int, n_clusters: int) -> int:
    if wishes.n_neighbors is not None:
        return min(wishes.n_neighbors, n_samples - 1)
    return min(q, paper_neighbors(n_samples, n_clusters))


def _judged(
    n_clusters: int,
    total: float,
    labels: NDArray[np.int64],
    judges: NDArray[np.unsignedinteger],
) -> Count:
    confirmed = confirmed_clusters(labels, n_clusters, judges)
    return Count(n_clusters, COUNT.weight_of_cut * total - confirmed, confirmed)


def smoothed(counts: Sequence[Count]) -> list[Count]:
    """Give every number of clusters the mean score of those within a twentieth of it.

    Cuts into many clusters are better or worse by chance, by more than one cluster
    adds. Numbers below twenty are left alone.
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


def coarse_grid(guess: int, most: int) -> tuple[int, ...]:
    """Numbers from a third to three times the guess, and all up to eight."""
    low = max(2, round(guess / COUNT.reach))
    high = min(most, round(guess * COUNT.reach))
    numbers = set(range(low, min(COUNT.all_up_to, high) + 1))
    steps = np.arange(0, np.log(high / low) + 1e-9, np.log(COUNT.coarse))
    numbers |= {int(n) for n in np.rint(low * np.exp(steps))} | {high}
    return tuple(sorted(n for n in numbers if 2 <= n <= most))


def fine_grid(best: int, coarse: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers between the best of the coarse grid and its neighbours there."""
    place = coarse.index(best)
    low = coarse[max(place - 1, 0)]
    high = coarse[min(place + 1, len(coarse) - 1)]
    step = max(1, int(best * (COUNT.fine - 1)))
    return tuple(n for n in range(low + 1, high, step) if n not in coarse)


def confirmed_clusters(
    labels: NDArray[np.int64], n_clusters: int, judges: NDArray[np.unsignedinteger]
) -> float:
    """Sum over clusters of their silhouette of votes of the judges, less 0.15.

    A cluster that judges confirm adds up to 0.85. If it is split, the points of both
    halves have as many companions in the other one, their silhouettes cancel, and the
    sum falls; if two such clusters are merged, one is lost.
    """
    shares = companion_shares(judges, labels, n_clusters)
    return float((cluster_silhouettes(shares, labels) - COUNT.silhouette).sum())
