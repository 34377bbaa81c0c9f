"""What the cuts of several settings are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from ekss.graph.companions import cluster_silhouettes, edge_shares
from ekss.graph.components import as_graph
from ekss.graph.selection import CutScore, Evidence, fit_quality

# Silhouettes of subspaces and of edges are both measured from here.
_FROM = 2.0
# Share of the clusters, those that hang together least, that decide on dissent.
_WEAKEST = 0.25


def score_by_weakest(labels: NDArray[np.int64], evidence: Evidence) -> CutScore:
    r"""Judge a cut by its subspaces and by its weakest clusters in a graph.

    As :func:`ekss.graph.score_cut`, but dissent is :math:`2 - V`, with V the mean
    silhouette of edges of the quarter of the clusters where it is lowest. Small, tight
    groups within classes are clusters that hardly any edge leaves; a mean over all
    clusters rewards a cut for splitting them off.

    Parameters
    ----------
    labels : ndarray of shape (n_points,)
        In 0, ..., K - 1, each used, K at least 2.
    evidence : Evidence
        With ``graph``.

    Returns
    -------
    CutScore

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from ekss.graph import Evidence
    >>> lines = np.repeat(np.eye(3)[:2], 4, axis=0)
    >>> graph = csr_array(lines @ lines.T - np.eye(8))
    >>> good, bad = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    >>> seen = Evidence(lines, dims=(1,), graph=graph)
    >>> score_by_weakest(good, seen).dissent, score_by_weakest(bad, seen).dissent
    (1.0, 2.5)
    """
    n_clusters = int(labels.max()) + 1
    residual, silhouette = fit_quality(labels, n_clusters, evidence)
    shares = edge_shares(evidence.graph, labels, n_clusters)
    n_weakest = ceil(_WEAKEST * n_clusters)
    weakest = np.sort(cluster_silhouettes(shares, labels))[:n_weakest]
    return CutScore(residual, _FROM - silhouette, _FROM - float(weakest.mean()))


def mean_graph(affinities: Iterable[Any]) -> csr_array:
    """Average graphs in which every point has the same total weight of edges.

    Parameters
    ----------
    affinities : iterable of sparse arrays or ndarrays of shape (n_points, n_points)
        Symmetric and non-negative.

    Returns
    -------
    csr_array of shape (n_points, n_points)
        Rows sum to the share of graphs in which the point has edges.
    """
    graphs = []
    for affinity in affinities:
        graph = as_graph(affinity)
        degrees = graph.sum(axis=1)
        weights = diags_array(1 / np.where(degrees > 0, degrees, 1.0))
        graphs.append(weights @ graph)
    return csr_array(sum(graphs[1:], graphs[0]) / len(graphs))
