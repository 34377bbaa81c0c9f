"""Normalised cut of a partition of a graph."""

from __future__ import annotations

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
