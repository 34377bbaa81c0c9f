"""How many clusters? The number whose best cut has the lowest score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ekss.estimators._auto import paper_top_q
from ekss.estimators._cutting import Cutting
from ekss.graph.coassociation import Votes
from ekss.graph.selection import Evidence, total_for_counts

# Where the search begins, and how far from its guess a round looks.
FIRST_GUESS = 8
_REACH = 3.0
# Members are suited to numbers of clusters this near the guess.
_NEAR = 1.5
_COARSE, _FINE = 1.25, 1.06
# Up to this number all are tried.
_ALL_UP_TO = 8
# Graphs that are cut: these many neighbours, up to the paper's.
_NEIGHBOURS = (8, 20)
_FEWEST_PER_CLUSTER = 4


@dataclass(frozen=True)
class Count:
    """A number of clusters that was considered.

    Attributes
    ----------
    n_clusters : int
    score : float
        Of its best cut, as :attr:`ekss.graph.CutScore.total_for_counts`; lower is
        better.
    """

    n_clusters: int
    score: float


def is_near(found: int, guess: int) -> bool:
    """Tell whether members made for the guess can be trusted about the number found."""
    return guess / _NEAR <= found <= guess * _NEAR or abs(found - guess) <= 1


def count_clusters(
    votes: Votes, evidence: Evidence, guess: int, cutting: Cutting
) -> tuple[Count, ...]:
    """Score numbers of clusters around the guess, first coarsely; best first."""
    most = max(2, len(evidence.points) // _FEWEST_PER_CLUSTER)
    coarse = coarse_grid(guess, most)
    scored = _score(coarse, votes, evidence, cutting)
    if not scored:
        return ()
    best = min(scored, key=lambda n: scored[n])
    scored |= _score(fine_grid(best, coarse), votes, evidence, cutting)
    counts = [Count(n, score) for n, score in scored.items()]
    return tuple(sorted(counts, key=lambda count: count.score))


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


def _score(
    numbers: tuple[int, ...], votes: Votes, evidence: Evidence, cutting: Cutting
) -> dict[int, float]:
    """Return the score of the best cut into each number of clusters."""
    n_samples = len(evidence.points)
    tasks = sorted(
        {(min(q, paper_top_q(n_samples, n)), n) for n in numbers for q in _NEIGHBOURS}
    )
    if not tasks:
        return {}
    neighbours = cutting.nearest(votes, max(q for q, _ in tasks))
    pools = cutting.pools(votes, neighbours, tasks)
    cuts = [
        (n, cut.labels)
        for (_, n), pool in zip(tasks, pools, strict=True)
        for cut in pool.cuts
    ]
    totals = cutting.totals([labels for _, labels in cuts], evidence, total_for_counts)
    best: dict[int, float] = {}
    for (n, _), total in zip(cuts, totals, strict=True):
        best[n] = min(total, best.get(n, np.inf))
    return best
