"""Stage 4, cut: votes become sparse graphs, and graphs are cut in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from ekss.graph.approximate import (
    FRIENDS,
    N_TREES,
    WINDOW,
    nearest_by_votes_approximate,
)
from ekss.graph.coassociation import (
    SCAN_CHUNKS,
    Votes,
    bridge_by_votes,
    nearest_by_votes,
    prepare_votes,
)
from ekss.graph.cuts import CUTTERS, Cut, CutPool, Cutter, candidate_cuts
from ekss.graph.neighbours import Neighbours, symmetric_graph
from ekss.graph.selection import Score, score_cut
from ekss.graph.spectral import SpectralResult, spectral_labels
from ekss.runtime.cost import RATES, Stage, Work
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.vote import Ensemble


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Up to so many points all pairs are affordable; beyond, likely pairs are looked at.
    most_for_pairs: int = 50_000


RULES = _Rules()


class CutOptions(BaseEstimator):
    """How votes are counted, cut and judged.

    Parameters
    ----------
    divide_by_size : bool, default=True
        Divide votes by the size of the base cluster they come from; False is the
        paper's vote.
    cutters : sequence of callables, default=None
        Ways of cutting a graph; None is :data:`ekss.graph.CUTTERS`. See
        :func:`ekss.graph.candidate_cuts` for writing one.
    score : callable, default=None
        ``score(labels, evidence)``, lower is better; None is
        :func:`ekss.graph.score_cut`.
    pairs : {"auto", "all", "likely"}, default="auto"
        Which pairs of points are compared for a graph: all of them, or those that share
        base clusters often. "auto" is all up to 50000 points, then the likely ones.

    Examples
    --------
    >>> from ekss import EKSS, CutOptions
    >>> paper_votes = EKSS(3, cut=CutOptions(divide_by_size=False))
    """

    def __init__(
        self,
        *,
        divide_by_size: bool = True,
        cutters: Sequence[Cutter] | None = None,
        score: Score | None = None,
        pairs: str = "auto",
    ) -> None:
        self.divide_by_size = divide_by_size
        self.cutters = cutters
        self.score = score
        self.pairs = pairs

    def __hash__(self) -> int:
        return hash(repr(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CutOptions) and vars(self) == vars(other)

    def votes(self, ensemble: Ensemble) -> Votes:
        """Return the votes of the members."""
        return prepare_votes(
            ensemble.labels, ensemble.weights, divide_by_size=self.divide_by_size
        )

    def looks_at_all_pairs(self, n_samples: int) -> bool:
        """Tell whether all pairs of so many points are compared."""
        if self.pairs == "auto":
            return n_samples <= RULES.most_for_pairs
        return self.pairs == "all"

    @property
    def ways(self) -> Sequence[Cutter]:
        """The ways of cutting."""
        return CUTTERS if self.cutters is None else self.cutters

    @property
    def judge(self) -> Score:
        """The score."""
        return score_cut if self.score is None else self.score


@dataclass(frozen=True)
class Cuts:
    """Graphs of the votes, and the cuts of each.

    Attributes
    ----------
    neighbours : Neighbours
        Strongest votes of each point, as many as the densest graph needs.
    tasks : tuple of (int, int)
        Number of neighbours and of clusters, of each pool.
    pools : tuple of CutPool
        Candidate cuts of each task.
    """

    neighbours: Neighbours
    tasks: tuple[tuple[int, int], ...]
    pools: tuple[CutPool, ...]

    def graph(self, number: int) -> csr_array:
        """Return the graph of a task."""
        return symmetric_graph(self.neighbours, self.tasks[number][0])

    def distinct(self) -> list[tuple[int, Cut]]:
        """All different cuts, each with the number of the first task that gave it."""
        return distinct_cuts([pool.cuts for pool in self.pools])


def cut(
    votes: Votes,
    tasks: Sequence[tuple[int, int]],
    options: CutOptions,
    seed: int,
    workers: Workers,
) -> Cuts:
    """Cut the graph of each number of neighbours into each number of clusters.

    Parameters
    ----------
    votes : Votes
    tasks : sequence of (int, int)
        Number of neighbours and of clusters; at least one.
    options : CutOptions
    seed : int
    workers : Workers

    Returns
    -------
    Cuts
    """
    neighbours = nearest(votes, max(q for q, _ in tasks), options, seed, workers)
    run = partial(_cut_one, votes, neighbours, tasks, options.ways, seed)
    pools = workers.map(run, len(tasks), "cuts")
    return Cuts(neighbours, tuple(tasks), tuple(pools))


def cut_once(
    votes: Votes,
    n_clusters: int,
    q: int,
    options: CutOptions,
    seed: int,
    workers: Workers,
) -> tuple[SpectralResult, csr_array]:
    """Make the paper's cut of one graph; return it with the graph."""
    graph = symmetric_graph(nearest(votes, q, options, seed, workers), q)
    with workers.stage("spectral cut"):
        found = spectral_labels(
            graph,
            n_clusters,
            bridge=bridge_by_votes(votes, q),
            random_state=seed,
        )
    return found, graph


def nearest(
    votes: Votes, q: int, options: CutOptions, seed: int, workers: Workers
) -> Neighbours:
    """Return the q strongest votes of each point."""
    if options.looks_at_all_pairs(votes.n_samples):
        with workers.stage("votes", SCAN_CHUNKS) as advance:
            return nearest_by_votes(votes, q, n_jobs=workers.n_jobs, report=advance)
    with workers.stage("votes", N_TREES + 1) as advance:
        return nearest_by_votes_approximate(
            votes, q, n_jobs=workers.n_jobs, random_state=seed, report=advance
        )


def distinct_cuts(pools: Sequence[Sequence[Cut]]) -> list[tuple[int, Cut]]:
    """All different cuts, each with the number of the first graph that gave it."""
    seen: dict[bytes, tuple[int, Cut]] = {}
    for number, cuts in enumerate(pools):
        for one in cuts:
            seen.setdefault(one.labels.tobytes(), (number, one))
    return list(seen.values())


def _cut_one(
    votes: Votes,
    neighbours: Neighbours,
    tasks: Sequence[tuple[int, int]],
    cutters: Sequence[Cutter],
    seed: int,
    number: int,
) -> CutPool:
    """Cut the graph of one task; a function of the module, so that processes can."""
    q, n_clusters = tasks[number]
    return candidate_cuts(
        symmetric_graph(neighbours, q),
        n_clusters,
        cutters=cutters,
        bridge=bridge_by_votes(votes, q),
        random_state=seed,
    )


def labels_of(cuts: Sequence[tuple[int, Cut]]) -> list[NDArray[np.int64]]:
    """Return the labels of cuts."""
    return [one.labels for _, one in cuts]


# Pairs that are looked at per point where not all are: half a window in every tree, and
# friends with their friends.
_LIKELY_PAIRS = N_TREES * WINDOW // 2 + FRIENDS * (FRIENDS + 1)


def votes_cost(work: Work) -> Stage:
    """Find the strongest votes of each point."""
    n, q, workers = work.voted, work.n_neighbors, work.n_workers
    each = n * n / 2 * RATES.vote
    lists: float = n * q * (12 * workers + 36)
    if not work.all_pairs:
        each = min(each, n * _LIKELY_PAIRS * RATES.likely_vote)
        lists = n * (40 * q + 24 * workers) + work.labels
    seconds = 0.2 + 1e-9 * work.members * each * work.label_bytes / workers
    return Stage(seconds, work.after_members + lists)


def cost(work: Work) -> Stage:
    """Cut all graphs in all ways."""
    n, q = work.voted, work.n_neighbors
    vectors = 8 * (work.n_clusters + 1)
    # An edge is held in several forms of the graph, a vector in several of the solver.
    at_once = min(work.n_graphs, work.n_workers)
    graphs = n * at_once * (100 * q + 16 * vectors)
    held = work.after_members + 12 * n * q + graphs + pools_bytes(work)
    return Stage(cuts_seconds(work, n), held)


def cuts_seconds(work: Work, n_points: int) -> float:
    """Time to cut all graphs of so many points."""
    rounds = -(-work.n_graphs // work.n_workers)
    return 1e-9 * rounds * (RATES.cut_start + n_points * RATES.cut)


def pools_bytes(work: Work) -> float:
    """Bytes of the candidate cuts and embeddings of all graphs."""
    each = 8 * (work.n_clusters + 2 + RATES.cuts_per_graph)
    return work.voted * work.n_graphs * each
