"""What is true of the graphs that EKSS-0 and TSC really make of labelled points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ekss.cli._theory_results import GraphFacts, Wishes
from ekss.core.tsc import nearest_by_angle
from ekss.estimators import EKSS, TSC
from ekss.graph import Neighbours, directed_graph, nearest_by_votes, prepare_votes
from ekss.metrics import clustering_error
from ekss.theory import cluster_components

_LARGEST_Q = 128

Lists = Callable[[int], Neighbours]


def fit_votes(
    points: NDArray[np.float64],
    n_clusters: int,
    q: int,
    candidates: tuple[int, int],
    wishes: Wishes,
) -> EKSS:
    """Fit EKSS-0 as the theorems have it: equal weights, random candidates.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    n_clusters, q : int
    candidates : (int, int)
        Number of candidates of a member and their dimension.
    wishes : Wishes
        Number of members, seed and workers.

    Returns
    -------
    EKSS
    """
    n_candidates, dim = candidates
    return EKSS(
        n_clusters,
        dim,
        n_candidates=n_candidates,
        n_members=wishes.n_members,
        max_iter=0,
        n_neighbors=q,
        weighting="uniform",
        divide_by_size=False,
        affine=False,
        start="random",
        normalize=True,
        n_jobs=wishes.jobs,
        random_state=wishes.seed,
    ).fit(points)


def votes_graph(model: EKSS, labels: NDArray[np.integer], search: bool) -> GraphFacts:
    """Look at the graph of EKSS-0; ``search`` also for the q that connects."""

    def lists(q: int) -> Neighbours:
        votes = prepare_votes(model.member_labels_)
        return nearest_by_votes(votes, q, n_jobs=model.n_jobs)

    return graph_facts(model, labels, lists if search else None)


def angles_graph(
    points: NDArray[np.float64],
    labels: NDArray[np.integer],
    q: int,
    wishes: Wishes,
    search: bool,
) -> GraphFacts:
    """Fit TSC and look at its graph; ``search`` also for the q that connects."""

    def lists(q: int) -> Neighbours:
        return Neighbours(*nearest_by_angle(points, q))

    model = TSC(
        len(np.unique(labels)),
        n_neighbors=q,
        n_jobs=wishes.jobs,
        random_state=wishes.seed,
    ).fit(points)
    return graph_facts(model, labels, lists if search else None)


def graph_facts(
    model: EKSS | TSC,
    labels: NDArray[np.integer],
    lists: Lists | None = None,
) -> GraphFacts:
    """Look for false connections and loose pieces in a fitted model's graph.

    Parameters
    ----------
    model : fitted EKSS or TSC
    labels : ndarray of shape (n_samples,)
    lists : callable, default=None
        From q to the q nearest neighbours, to find the q that connects clusters.

    Returns
    -------
    GraphFacts
    """
    edges = model.affinity_.tocoo()
    kept = edges.data != 0
    row, col = edges.coords[0][kept], edges.coords[1][kept]
    false = labels[row] != labels[col]
    components = cluster_components(model.affinity_, labels)
    connecting = None
    if lists is not None and components.max() > 1:
        connecting = _connecting_q(lists, labels, model.n_neighbors_)
    return GraphFacts(
        len(row) // 2,
        int(false.sum()) // 2,
        len(np.unique(row[false])),
        tuple(int(n) for n in components),
        float(clustering_error(labels, model.labels_)),
        connecting,
    )


def _connecting_q(
    lists: Lists, labels: NDArray[np.integer], too_small: int
) -> int | None:
    """Find the smallest q that connects every cluster, by bisection."""
    largest = int(np.unique(labels, return_counts=True)[1].max())
    low, high = too_small, min(largest - 1, _LARGEST_Q)
    if high <= low:
        return None
    neighbours = lists(high)

    def connects(q: int) -> bool:
        pieces = cluster_components(directed_graph(neighbours, q), labels)
        return bool(pieces.max() == 1)

    if not connects(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if connects(middle) else (middle, high)
    return high
