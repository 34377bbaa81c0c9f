"""From votes to clusters without labels: many graphs, many cuts, one choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ekss.core.parallel import map_numbers, progress, same_warning_filters
from ekss.estimators._auto import Geometry, paper_top_q
from ekss.estimators._coordinates import Coordinates
from ekss.estimators._members import Ensemble
from ekss.graph.approximate import N_TREES, nearest_by_votes_approximate
from ekss.graph.coassociation import (
    SCAN_CHUNKS,
    Votes,
    bridge_by_votes,
    nearest_by_votes,
    prepare_votes,
)
from ekss.graph.cuts import Cut, CutPool, Cutter, candidate_cuts
from ekss.graph.neighbours import Neighbours, symmetric_graph
from ekss.graph.selection import Evidence, Score, total_of
from ekss.graph.spectral import spectral_labels, unit_rows

# Neighbours kept a point, in the graphs that are cut.
_GRID = (3, 5, 8, 12, 20, 40)
# ... but at least this share of the root of a cluster's points: thinner graphs of large
# clusters fall apart, take longest to cut, and their cuts were never the best.
_SHARE_OF_ROOT = 1 / 4
# Up to so many points the graph of all votes is cut too.
_ALL_VOTES = 1000
# Clusters are judged at so many dimensions of the estimated range.
_JUDGED_DIMS = 5


@dataclass(frozen=True)
class Candidate:
    """A cut that was considered.

    Attributes
    ----------
    origin : str
        How it was made.
    top_q : int
        Votes kept per point in the graph that was cut.
    score : float
        Lower is better.
    labels : ndarray of shape (n_points,)
        Its clusters, in the smallest unsigned type.
    judged : object
        What the score function returned: by default a :class:`ekss.graph.CutScore`
        with the terms of the score.
    """

    origin: str
    top_q: int
    score: float
    labels: NDArray[np.unsignedinteger] = field(compare=False, repr=False)
    judged: Any = field(compare=False, repr=False)


@dataclass(frozen=True)
class ChosenCut:
    """The best cut and all that were considered, best first."""

    labels: NDArray[np.int64]
    top_q: int
    affinity: csr_array
    embedding: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    candidates: tuple[Candidate, ...]


def neighbour_counts(
    n_samples: int, n_clusters: int, n_all: int | None = None
) -> tuple[int, ...]:
    """Return the values of q to try, from sqrt(N_k) / 4 to the paper's N_k / 6.

    For few points all others are one more. Points that are a sample of ``n_all`` have
    it only if the whole would.
    """
    most = paper_top_q(n_samples, n_clusters)
    least = _SHARE_OF_ROOT * sqrt(n_samples / n_clusters)
    counts = {min(q, most) for q in _GRID if q >= min(least, _GRID[-1])}
    if (n_all or n_samples) <= _ALL_VOTES:
        counts.add(n_samples - 1)
    return tuple(sorted(counts))


def gather_evidence(
    kept: Coordinates,
    geometry: Geometry,
    base_labels: NDArray[Any] | None,
    energy: float = 1.0,
) -> Evidence:
    """Bring together what cuts are judged by.

    ``base_labels`` is None where no members vote; residuals count as shares of
    ``energy``.
    """
    dims = np.linspace(geometry.low, geometry.high, _JUDGED_DIMS)
    return Evidence(
        kept.points,
        tuple(sorted({round(dim) for dim in dims})),
        geometry.affine,
        kept.outside,
        base_labels,
        energy=energy,
    )


@dataclass(frozen=True)
class Cutting:
    """How votes are cut, the same for all ensembles of a fit."""

    cutters: Sequence[Cutter]
    score: Score
    divide_by_size: bool
    weighted: bool
    seed: int
    n_jobs: int | None
    show: bool
    approximate: bool = False

    def votes(self, ensemble: Ensemble) -> Votes:
        """Return the votes of the members."""
        return prepare_votes(
            ensemble.labels,
            ensemble.weights if self.weighted else None,
            divide_by_size=self.divide_by_size,
        )

    def nearest(self, votes: Votes, q: int) -> Neighbours:
        """Return the q strongest votes of each point."""
        if self.approximate:
            with progress("votes", N_TREES + 1, show=self.show) as advance:
                return nearest_by_votes_approximate(
                    votes,
                    q,
                    n_jobs=self.n_jobs,
                    random_state=self.seed,
                    report=advance,
                )
        with progress("votes", SCAN_CHUNKS, show=self.show) as advance:
            return nearest_by_votes(votes, q, n_jobs=self.n_jobs, report=advance)

    def once(self, votes: Votes, n_clusters: int, q: int, n_vectors: Any) -> ChosenCut:
        """Make the paper's cut of the graph of one q."""
        affinity = symmetric_graph(self.nearest(votes, q), q)
        with progress("spectral cut", None, show=self.show):
            cut = spectral_labels(
                affinity,
                n_clusters,
                n_eigenvectors=n_vectors,
                bridge=bridge_by_votes(votes, q),
                random_state=self.seed,
            )
        return ChosenCut(cut.labels, q, affinity, cut.embedding, cut.eigenvalues, ())

    def best(
        self,
        votes: Votes,
        evidence: Evidence,
        n_clusters: int,
        counts: Sequence[int],
    ) -> ChosenCut | None:
        """Cut the graphs of several q in several ways and keep the best cut.

        Returns None where no way of cutting gave ``n_clusters`` clusters.
        """
        neighbours = self.nearest(votes, max(counts))
        tasks = [(q, n_clusters) for q in counts]
        pools = self.pools(votes, neighbours, tasks)
        found = distinct_cuts([pool.cuts for pool in pools])
        if not found:
            return None
        judged = self.judge([cut.labels for _, cut in found], evidence)
        totals = [total_of(one) for one in judged]
        order = np.argsort(totals, kind="stable")
        graph, best = found[order[0]]
        pool = pools[graph]
        vectors = pool.embedding.vectors[:, :n_clusters]
        embedding = np.zeros((len(best.labels), vectors.shape[1]))
        embedding[pool.in_cut] = unit_rows(vectors)
        return ChosenCut(
            best.labels,
            counts[graph],
            symmetric_graph(neighbours, counts[graph]),
            embedding,
            pool.embedding.values[: n_clusters + 1],
            tuple(
                Candidate(
                    found[i][1].origin,
                    counts[found[i][0]],
                    totals[i],
                    found[i][1].labels.astype(np.min_scalar_type(n_clusters - 1)),
                    judged[i],
                )
                for i in order
            ),
        )

    def pools(
        self, votes: Votes, neighbours: Neighbours, tasks: Sequence[tuple[int, int]]
    ) -> list[CutPool]:
        """Cut the graph of each q into each number of clusters in several ways."""
        cut = partial(_cut, votes, neighbours, tasks, self.cutters, self.seed)
        return self._map(cut, len(tasks), "cuts")

    def judge(
        self, labels: Sequence[NDArray[np.int64]], evidence: Evidence
    ) -> list[Any]:
        """Return what the score function says of every partition."""
        judge = partial(judge_cut, labels, evidence, self.score)
        return self._map(judge, len(labels), "choice")

    def _map(self, function: Any, count: int, description: str) -> list[Any]:
        with same_warning_filters():
            return list(
                map_numbers(
                    function,
                    count,
                    n_jobs=self.n_jobs,
                    description=description,
                    show=self.show,
                )
            )


def _cut(
    votes: Votes,
    neighbours: Neighbours,
    tasks: Sequence[tuple[int, int]],
    cutters: Sequence[Cutter],
    seed: int,
    number: int,
) -> CutPool:
    """Cut the graph of one q; a function of the module, so that processes can call."""
    q, n_clusters = tasks[number]
    return candidate_cuts(
        symmetric_graph(neighbours, q),
        n_clusters,
        cutters=cutters,
        bridge=bridge_by_votes(votes, q),
        random_state=seed,
    )


def judge_cut(
    labels: Sequence[NDArray[np.int64]],
    evidence: Evidence,
    score: Score,
    number: int,
) -> Any:
    """Score one partition; a function of the module, so that processes can call."""
    return score(labels[number], evidence)


def distinct_cuts(pools: Sequence[Sequence[Cut]]) -> list[tuple[int, Cut]]:
    """All different cuts, each with the number of the first graph that gave it."""
    seen: dict[bytes, tuple[int, Cut]] = {}
    for number, cuts in enumerate(pools):
        for cut in cuts:
            seen.setdefault(cut.labels.tobytes(), (number, cut))
    return list(seen.values())
