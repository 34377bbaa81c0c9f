"""The chain of a fit: prepare, decide, vote, cut, choose, extend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import hash as fingerprint
from numpy.typing import NDArray

from ekss.core.bases import Flats, fit_clusters
from ekss.ensemble.automatic import Settled, settle
from ekss.ensemble.choose import Chosen, choose, gather_evidence
from ekss.ensemble.cut import CutOptions, cut, cut_once
from ekss.ensemble.decide import (
    Plan,
    Wishes,
    decide,
    few_neighbors,
    neighbor_counts,
)
from ekss.ensemble.extend import extend, learn_extension
from ekss.ensemble.prepare import Preparation, common_directions, prepare
from ekss.ensemble.vote import RULES, Ensemble, KSSMember, vote
from ekss.runtime.labels import LabelStore
from ekss.runtime.rows import Rows
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class Known:
    """What a later fit of the same data need not find out again.

    Attributes
    ----------
    origin : tuple
        Data, seed and wishes; decisions of the same origin need not be made again.
    settled : Settled
    ensemble : Ensemble
        Its members are used again if they would come out the same.
    """

    origin: tuple[Any, ...]
    settled: Settled
    ensemble: Ensemble

    @property
    def seed(self) -> int:
        """Seed of the fit."""
        return int(self.origin[1])


@dataclass(frozen=True)
class Clustering:
    """What a fit comes to.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of every row.
    flats : Flats
        Subspaces of the clusters, in the coordinates of the rows.
    preparation : Preparation
        How rows become points.
    settled : Settled
    ensemble : Ensemble
    chosen : Chosen
    known : Known
        For a later fit of the same data.
    """

    labels: NDArray[np.int64]
    flats: Flats
    preparation: Preparation
    settled: Settled
    ensemble: Ensemble
    chosen: Chosen
    known: Known


def cluster(
    voted: NDArray[np.floating],
    wishes: Wishes,
    seed: int,
    workers: Workers,
    *,
    known: Known | None = None,
    store: LabelStore | None = None,
    everyone: Rows | None = None,
    sample: NDArray[np.int64] | None = None,
) -> Clustering:
    """Cluster rows: the whole chain, from the rows to their labels.

    Parameters
    ----------
    voted : ndarray of shape (n_voted, n_features)
        Rows that members vote on.
    wishes : Wishes
        What the user asks for; the rest is decided here.
    seed : int
    workers : Workers
    known : Known, default=None
        What an earlier fit found; it is used where it would come out the same.
    store : LabelStore, default=None
        Where labels of members are kept.
    everyone : Rows, default=None
        All rows, where those voted on are a sample of them.
    sample : ndarray of shape (n_voted,), default=None
        Numbers of the sampled rows.

    Returns
    -------
    Clustering
    """
    origin = fingerprint(voted), seed, replace(wishes, n_members=None)
    if known is not None and known.origin == origin:
        settled = known.settled
    else:
        settled = settle(voted, wishes, seed, workers)
    points = prepare(
        voted,
        unit=settled.unit,
        affine=settled.affine,
        removed=common_directions(voted, settled.n_removed, unit=settled.unit),
    )
    plan = decide(points, wishes, settled.n_clusters, seed)
    member = wishes.member
    ensemble = vote(
        plan,
        member.options(plan, keep_flats=sample is not None)
        if isinstance(member, KSSMember)
        else member,
        RULES.steps if wishes.n_members is None else (wishes.n_members,),
        seed,
        workers,
        cluster=partial(_cluster_some, plan, wishes, seed, workers.quiet()),
        known=None if known is None else known.ensemble,
        store=store,
    )
    chosen = _cut_and_choose(plan, ensemble, wishes.cut, seed, workers)
    flats = fit_clusters(
        points.rows,
        chosen.labels,
        plan.n_clusters,
        plan.geometry.middle,
        affine=settled.affine,
        seed=seed,
    )
    labels = chosen.labels
    if everyone is not None and sample is not None:
        extension = learn_extension(
            points.preparation, plan.seen, ensemble, labels, flats
        )
        labels, flats = extend(extension, everyone, sample, labels, workers)
    return Clustering(
        labels,
        points.preparation.outwards(flats),
        points.preparation,
        settled,
        ensemble,
        chosen,
        Known(origin, settled, ensemble),
    )


def _cut_and_choose(
    plan: Plan, ensemble: Ensemble, options: CutOptions, seed: int, workers: Workers
) -> Chosen:
    """Cut the votes in many ways and keep the best; in one, if there is no choice."""
    votes = options.votes(ensemble)
    if not plan.is_trivial:
        tasks = [(q, plan.n_clusters) for q in plan.neighbors]
        cuts = cut(votes, tasks, options, seed, workers)
        evidence = gather_evidence(plan, ensemble.labels)
        chosen = choose(cuts, evidence, options.judge, workers)
        if chosen is not None:
            return chosen
    q = plan.neighbors[0]
    if len(plan.neighbors) > 1:
        q = few_neighbors(len(plan.points.rows), plan.n_clusters)
    found, graph = cut_once(votes, plan.n_clusters, q, options, seed, workers)
    return Chosen(found.labels, q, graph, found.embedding, found.eigenvalues)


def _cluster_some(
    plan: Plan,
    wishes: Wishes,
    seed: int,
    workers: Workers,
    half: Ensemble,
    rows: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """Cluster some points by some members, as the whole will be."""
    counts = plan.neighbors
    if wishes.n_neighbors is None:
        counts = neighbor_counts(len(rows), plan.n_clusters, len(plan.points.rows))
    tasks = [(min(q, len(rows) - 1), plan.n_clusters) for q in counts]
    cuts = cut(wishes.cut.votes(half), tasks, wishes.cut, seed, workers)
    evidence = gather_evidence(plan, half.labels, plan.seen.take(rows))
    chosen = choose(cuts, evidence, wishes.cut.judge, workers)
    return None if chosen is None else chosen.labels
