"""From votes to clusters without labels: many graphs, many cuts, one choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ekss.estimators._auto import Geometry, paper_top_q
from ekss.estimators._coordinates import Coordinates
from ekss.estimators._parallel import map_numbers
from ekss.graph.coassociation import Votes, bridge_by_votes
from ekss.graph.cuts import Cut, CutPool, Cutter, candidate_cuts
from ekss.graph.neighbours import Neighbours, symmetric_graph
from ekss.graph.selection import Evidence, Score, total_of
from ekss.graph.spectral import unit_rows

# Neighbours kept a point, in the graphs that are cut.
_GRID = (3, 5, 8, 12, 20, 40)
# Up to so many points the graph of all votes is cut too.
_ALL_VOTES = 1000
# Clusters are judged at so many dimensions of the estimated range.
_JUDGED_DIMS = 5


@dataclass(frozen=True)
class Candidate:
    """A cut that was considered: how it was made, its q, its score."""

    origin: str
    top_q: int
    score: float


@dataclass(frozen=True)
class ChosenCut:
    """The best cut and all that were considered, best first."""

    labels: NDArray[np.int64]
    top_q: int
    affinity: csr_array
    embedding: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    candidates: tuple[Candidate, ...]


def neighbour_counts(n_samples: int, n_clusters: int) -> tuple[int, ...]:
    """Return the values of q to try: up to the paper's N_k / 6, for few points all."""
    most = paper_top_q(n_samples, n_clusters)
    counts = {min(q, most) for q in _GRID}
    if n_samples <= _ALL_VOTES:
        counts.add(n_samples - 1)
    return tuple(sorted(counts))


def gather_evidence(
    kept: Coordinates, geometry: Geometry, base_labels: NDArray[Any]
) -> Evidence:
    """Bring together what cuts of the votes are judged by."""
    dims = np.linspace(geometry.low, geometry.high, _JUDGED_DIMS)
    return Evidence(
        kept.points,
        tuple(sorted({round(dim) for dim in dims})),
        geometry.affine,
        kept.outside,
        base_labels,
    )


def choose_cut(
    votes: Votes,
    neighbours: Neighbours,
    evidence: Evidence,
    counts: Sequence[int],
    n_clusters: int,
    *,
    cutters: Sequence[Cutter],
    score: Score,
    seed: int,
    n_jobs: int | None,
    show: bool,
) -> ChosenCut | None:
    """Cut the graph of every q in several ways and keep the cut of lowest score.

    Returns None where no way of cutting gave ``n_clusters`` clusters.
    """
    cut = partial(_cut, votes, neighbours, counts, n_clusters, cutters, seed)
    pools = list(
        map_numbers(cut, len(counts), n_jobs=n_jobs, description="cuts", show=show)
    )
    found = _distinct(pools)
    if not found:
        return None
    judge = partial(_judge, [cut.labels for _, cut in found], evidence, score)
    totals = list(
        map_numbers(judge, len(found), n_jobs=n_jobs, description="choice", show=show)
    )
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
            Candidate(found[i][1].origin, counts[found[i][0]], float(totals[i]))
            for i in order
        ),
    )


def _cut(
    votes: Votes,
    neighbours: Neighbours,
    counts: Sequence[int],
    n_clusters: int,
    cutters: Sequence[Cutter],
    seed: int,
    number: int,
) -> CutPool:
    """Cut the graph of one q; a function of the module, so that processes can call."""
    q = counts[number]
    return candidate_cuts(
        symmetric_graph(neighbours, q),
        n_clusters,
        cutters=cutters,
        bridge=bridge_by_votes(votes, q),
        random_state=seed,
    )


def _judge(
    labels: Sequence[NDArray[np.int64]], evidence: Evidence, score: Score, number: int
) -> float:
    return total_of(score(labels[number], evidence))


def _distinct(pools: Sequence[CutPool]) -> list[tuple[int, Cut]]:
    """All different cuts, each with the number of the first graph that gave it."""
    seen: dict[bytes, tuple[int, Cut]] = {}
    for number, pool in enumerate(pools):
        for cut in pool.cuts:
            seen.setdefault(cut.labels.tobytes(), (number, cut))
    return list(seen.values())
