"""Stage 5, choose: of many cuts keep the one on which subspaces and votes agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ekss.ensemble.cut import Cuts, labels_of, pools_bytes
from ekss.ensemble.decide import Plan
from ekss.ensemble.prepare import Coordinates
from ekss.graph.selection import Evidence, Score, total_of
from ekss.graph.spectral import unit_rows
from ekss.runtime.cost import RATES, Stage, Work
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class Candidate:
    """A cut that was considered.

    Attributes
    ----------
    origin : str
        How it was made.
    n_neighbors : int
        Neighbours per point in its graph.
    score : float
        Lower is better.
    labels : ndarray of shape (n_samples,)
        Cluster of each point, in the smallest unsigned type.
    judged : object
        What the score function returned.
    """

    origin: str
    n_neighbors: int
    score: float
    labels: NDArray[Any] = field(compare=False, repr=False)
    judged: Any = field(compare=False, repr=False)


@dataclass(frozen=True)
class Chosen:
    """The partition that was kept.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
    n_neighbors : int
        Neighbours per point in its graph.
    affinity : csr_array of shape (n_samples, n_samples)
        Its graph.
    embedding : ndarray of shape (n_samples, n_eigenvectors)
        Spectral embedding of the graph, rows of unit length.
    eigenvalues : ndarray
        Of the normalised graph, one more than eigenvectors where there is one.
    candidates : tuple of Candidate
        All cuts that were considered, best first; empty where there was one.
    """

    labels: NDArray[np.int64]
    n_neighbors: int
    affinity: csr_array
    embedding: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    candidates: tuple[Candidate, ...] = ()


def gather_evidence(
    plan: Plan, member_labels: NDArray[Any], seen: Coordinates | None = None
) -> Evidence:
    """Bring together what cuts are judged by.

    ``seen`` are the points that are judged; None is all of the plan.
    """
    seen = seen or plan.seen
    return Evidence(
        seen.points,
        plan.geometry.judged,
        plan.geometry.affine,
        seen.outside,
        member_labels,
    )


def choose(
    cuts: Cuts, evidence: Evidence, score: Score, workers: Workers
) -> Chosen | None:
    """Score every cut and keep the best.

    Parameters
    ----------
    cuts : Cuts
        All into the same number of clusters.
    evidence : Evidence
    score : callable
        ``score(labels, evidence)``; lower is better.
    workers : Workers

    Returns
    -------
    Chosen or None
        None where no way of cutting gave all clusters.
    """
    found = cuts.distinct()
    if not found:
        return None
    judged = judge_all(labels_of(found), evidence, score, workers)
    totals = [total_of(one) for one in judged]
    order = np.argsort(totals, kind="stable")
    number, best = found[order[0]]
    n_neighbors, n_clusters = cuts.tasks[number]
    pool = cuts.pools[number]
    vectors = pool.embedding.vectors[:, :n_clusters]
    embedding = np.zeros((len(best.labels), vectors.shape[1]))
    embedding[pool.in_cut] = unit_rows(vectors)
    return Chosen(
        best.labels,
        n_neighbors,
        cuts.graph(number),
        embedding,
        pool.embedding.values[: n_clusters + 1],
        tuple(
            Candidate(
                found[i][1].origin,
                cuts.tasks[found[i][0]][0],
                float(totals[i]),
                found[i][1].labels.astype(np.min_scalar_type(n_clusters)),
                judged[i],
            )
            for i in order
        ),
    )


def judge_all(
    labels: Sequence[NDArray[np.int64]],
    evidence: Evidence,
    score: Score,
    workers: Workers,
) -> list[Any]:
    """Score every partition."""
    judge = partial(_judge_one, labels, evidence, score)
    return list(workers.map(judge, len(labels), "choice"))


def _judge_one(
    labels: Sequence[NDArray[np.int64]],
    evidence: Evidence,
    score: Score,
    number: int,
) -> Any:
    """Score one partition; a function of the module, so that processes can call it."""
    return score(labels[number], evidence)


def cost(work: Work) -> Stage:
    """Score all cuts."""
    cuts = work.n_graphs * RATES.cuts_per_graph
    seconds = 1e-9 * work.voted * cuts * RATES.judge / work.n_workers
    judged = 3 * work.n_workers * work.voted * work.n_features * work.width
    lists = 12 * work.voted * work.n_neighbors
    return Stage(seconds, work.after_members + judged + lists + pools_bytes(work))
