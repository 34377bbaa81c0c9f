"""Normalised cut of a partition, on a graph or on the votes themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def cluster_links(
    graph: csr_array, labels: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float64]:
    """Sum the edges between every two clusters; the diagonal counts edges twice."""
    n_points = len(labels)
    indicator = csr_array(
        (np.ones(n_points), (np.arange(n_points), labels)), shape=(n_points, n_clusters)
    )
    return (indicator.T @ graph @ indicator).toarray()


def mean_ncut(graph: csr_array, labels: NDArray[np.integer], n_clusters: int) -> float:
    r"""Mean over clusters of the share of their edges that leads out of them.

    That is :math:`\mathrm{Ncut} / K`, in [0, 1]. A cluster without edges counts 0.

    Parameters
    ----------
    graph : csr_array of shape (n_points, n_points)
        Symmetric and non-negative.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> mean_ncut(path, np.array([0, 0, 1]), 2)
    0.666...
    """
    links = cluster_links(graph, labels, n_clusters)
    degrees = links.sum(axis=1)
    inside = np.diagonal(links) / np.where(degrees > 0, degrees, 1.0)
    return float(np.where(degrees > 0, 1.0 - inside, 0.0).mean())


def mean_votes_ncut(
    base_labels: NDArray[Any], labels: NDArray[np.integer], n_clusters: int
) -> float:
    r"""Return the same on all votes, each divided by the size of its base cluster.

    No pair of points is looked at: with :math:`n_{km}` points of cluster k in base
    cluster m of size :math:`s_m`, the votes inside cluster k are
    :math:`\sum_m n_{km} (n_{km} - 1) / (s_m - 1)`. So the value is the chance that a
    random companion of a random point of a random cluster comes from another cluster.

    Parameters
    ----------
    base_labels : ndarray of shape (n_points, n_base)
        Labels of every member.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int

    Notes
    -----
    O(n_points n_base) time.

    Examples
    --------
    >>> import numpy as np
    >>> members = np.array([[0], [0], [0], [1], [1]])
    >>> mean_votes_ncut(members, np.array([0, 0, 0, 1, 1]), 2)
    0.0
    >>> mean_votes_ncut(members, np.array([0, 0, 1, 1, 1]), 2)
    0.41666...
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    inside = np.zeros(n_clusters)
    counted = np.zeros(n_clusters)
    width = int(base_labels.max()) + 1
    first = labels.astype(np.int64) * width
    for member in base_labels.T:
        shared = np.bincount(first + member, minlength=n_clusters * width)
        shared = shared.reshape(n_clusters, width).astype(np.float64)
        companions = np.maximum(shared.sum(axis=0) - 1, 1)
        inside += (shared * (shared - 1) / companions).sum(axis=1)
        # points alone in their base cluster have no companion
        counted += shared[:, shared.sum(axis=0) > 1].sum(axis=1)
    share = inside / np.where(counted > 0, counted, 1.0)
    return float(np.where((counted > 0) & (sizes > 0), 1.0 - share, 0.0).mean())
