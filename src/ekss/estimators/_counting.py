"""How many clusters? As many as members that cannot split them confirm.

Members with many candidates split classes into pieces, and vote for every split of a
class as firmly as for a class. Members with fewer candidates than there are clusters
cannot: they put whole classes together, each time others, and the halves of a class
always together. Such members judge the number of clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ekss.core.ensemble import MemberOptions
from ekss.estimators._auto import Geometry, paper_top_q
from ekss.estimators._cutting import Cutting
from ekss.graph.coassociation import Votes
from ekss.graph.companions import cluster_silhouettes, companion_shares
from ekss.graph.selection import Evidence, total_of

# Where the search begins, and how far from its guess a round looks.
FIRST_GUESS = 8
_REACH = 3.0
_ROUNDS = 5
# Judges are trusted about numbers of clusters this far below and above the guess; with
# three it is as low as it can be, for judges need two candidates.
_NEAR = 0.9, 2.5
LEAST_GUESS = 3
# A guess that is raised because nothing was confirmed leaves every cluster so many
# points.
_LEAST_POINTS = 10
_COARSE, _FINE = 1.25, 1.06
# The scores of numbers this close to each other are averaged.
_WITHIN = 0.05
# Up to this number all are tried.
_ALL_UP_TO = 8
# Graphs that are cut: these many neighbours, up to the paper's.
_NEIGHBOURS = (8, 20)
_FEWEST_PER_CLUSTER = 4
# A further cluster must have at least this silhouette ...
_LEAST_SILHOUETTE = 0.15
# ... and where judges are undecided, the score that chooses among cuts decides.
_WEIGHT_OF_CUT = 0.3


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


def judge_options(
    options: MemberOptions, geometry: Geometry, guess: int
) -> MemberOptions:
    """Let members have hardly as many candidates as there may be clusters."""
    return replace(
        options,
        n_candidates=(max(min(2, guess), 3 * guess // 4), guess),
        subspace_dim=(geometry.low, geometry.high),
    )


def seek_counts(
    count: Callable[[int], tuple[Count, ...]], n_samples: int, first: int
) -> tuple[Count, ...]:
    """Count around a guess, and move it until the number found is near.

    Judges of much fewer candidates than clusters may confirm nothing; the guess is
    raised then. Returns what was found last, or first if nothing was ever confirmed.
    """
    kept: tuple[Count, ...] = ()
    guess, tried = min(first, n_samples), set[int]()
    while guess not in tried and len(tried) < _ROUNDS:
        tried.add(guess)
        counts = count(guess)
        if counts and counts[0].confirmed > 0:
            kept = counts
            found = counts[0].n_clusters
            guess = guess if is_near(found, guess) else max(found, LEAST_GUESS)
        elif kept and kept[0].confirmed > 0:
            break
        else:
            kept = kept or counts
            raised = round(guess * _REACH)
            guess = raised if raised * _LEAST_POINTS <= n_samples else guess
    return kept


def is_near(found: int, guess: int) -> bool:
    """Tell whether judges made for the guess can be trusted about the number found."""
    fewest, most = _NEAR
    return fewest * guess <= found <= most * guess


def count_clusters(
    votes: Votes,
    evidence: Evidence,
    judges: NDArray[np.unsignedinteger],
    guess: int,
    cutting: Cutting,
) -> tuple[Count, ...]:
    """Score numbers of clusters around the guess, first coarsely; best first."""
    most = max(2, len(evidence.points) // _FEWEST_PER_CLUSTER)
    coarse = coarse_grid(guess, most)
    scored = _score(coarse, votes, evidence, judges, cutting)
    if not scored:
        return ()
    best = min(scored, key=lambda count: count.score).n_clusters
    scored += _score(fine_grid(best, coarse), votes, evidence, judges, cutting)
    return tuple(sorted(smoothed(scored), key=lambda count: count.score))


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
            score=float(scores[np.abs(numbers - number) <= _WITHIN * number].mean()),
        )
        for count, number in zip(counts, numbers, strict=True)
    ]


def coarse_grid(guess: int, most: int) -> tuple[int, ...]:
    """Numbers from a third to three times the guess, and all up to eight."""
    low = max(2, round(guess / _REACH))
    high = min(most, round(guess * _REACH))
    numbers = set(range(low, min(_ALL_UP_TO, high) + 1))
    steps = np.arange(0, np.log(high / low) + 1e-9, np.log(_COARSE))
    numbers |= {int(n) for n in np.rint(low * np.exp(steps))} | {high}
    return tuple(sorted(n for n in numbers if 2 <= n <= most))


def fine_grid(best: int, coarse: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers between the best of the coarse grid and its neighbours there."""
    place = coarse.index(best)
    low = coarse[max(place - 1, 0)]
    high = coarse[min(place + 1, len(coarse) - 1)]
    step = max(1, int(best * (_FINE - 1)))
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
    return float((cluster_silhouettes(shares, labels) - _LEAST_SILHOUETTE).sum())


def _score(
    numbers: tuple[int, ...],
    votes: Votes,
    evidence: Evidence,
    judges: NDArray[np.unsignedinteger],
    cutting: Cutting,
) -> list[Count]:
    """Judge the best cut into each number of clusters."""
    n_samples = len(evidence.points)
    tasks = sorted(
        {(min(q, paper_top_q(n_samples, n)), n) for n in numbers for q in _NEIGHBOURS}
    )
    if not tasks:
        return []
    neighbours = cutting.nearest(votes, max(q for q, _ in tasks))
    pools = cutting.pools(votes, neighbours, tasks)
    cuts = [
        (n, cut.labels)
        for (_, n), pool in zip(tasks, pools, strict=True)
        for cut in pool.cuts
    ]
    judged = cutting.judge([labels for _, labels in cuts], evidence)
    totals = [total_of(one) for one in judged]
    best: dict[int, tuple[float, NDArray[np.int64]]] = {}
    for (n, labels), total in zip(cuts, totals, strict=True):
        if n not in best or total < best[n][0]:
            best[n] = total, labels
    return [_judge(n, labels, total, judges) for n, (total, labels) in best.items()]


def _judge(
    n_clusters: int,
    labels: NDArray[np.int64],
    total: float,
    judges: NDArray[np.unsignedinteger],
) -> Count:
    confirmed = confirmed_clusters(labels, n_clusters, judges)
    return Count(n_clusters, _WEIGHT_OF_CUT * total - confirmed, confirmed)
