"""Who a point shares base clusters, or edges, with: shares of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def companion_shares(
    member_labels: NDArray[Any], labels: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float32]:
    r"""Share of each cluster among the companions of each point.

    A companion of point i in a member is another point of its base cluster; with
    :math:`n_{mk}` points of cluster k in base cluster m of size :math:`s_m`, cluster
    k has the share :math:`(n_{mk} - 1\{i \in k\}) / (s_m - 1)` of them. The mean over
    members is returned; a member in which a point is alone adds nothing.

    Parameters
    ----------
    member_labels : ndarray of shape (n_points, n_members)
        Labels of every member.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int

    Returns
    -------
    shares : ndarray of shape (n_points, n_clusters)

    Notes
    -----
    No pair of points is looked at: O(n_points n_members n_clusters) additions.

    Examples
    --------
    >>> import numpy as np
    >>> members = np.array([[0], [0], [0], [1], [1]])
    >>> companion_shares(members, np.array([0, 0, 1, 1, 1]), 2)
    array([[0.5, 0.5],
           [0.5, 0.5],
           [1. , 0. ],
           [0. , 1. ],
           [0. , 1. ]], dtype=float32)
    """
    from ekss.graph._companions import add_member

    n_points, n_members = member_labels.shape
    shares = np.zeros((n_points, n_clusters), np.float32)
    width = int(member_labels.max()) + 1
    for member in member_labels.T:
        base = np.ascontiguousarray(member, np.int64)
        both = np.bincount(base * n_clusters + labels, minlength=width * n_clusters)
        counts = both.reshape(width, n_clusters)
        companions = counts.sum(axis=1) - 1
        each = np.where(companions > 0, 1 / np.maximum(companions, 1), 0) / n_members
        each = each.astype(np.float32)
        add_member(shares, counts * each[:, None], each, base, labels)
    return shares


def edge_shares(
    graph: csr_array, labels: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float64]:
    """Share of each cluster in the edge weight of each point; 0 without edges.

    Parameters
    ----------
    graph : csr_array of shape (n_points, n_points)
        Non-negative, with zero diagonal.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int

    Returns
    -------
    shares : ndarray of shape (n_points, n_clusters)
    """
    n_points = len(labels)
    indicator = csr_array(
        (np.ones(n_points), (np.arange(n_points), labels)), shape=(n_points, n_clusters)
    )
    weight = (graph @ indicator).toarray()
    total = weight.sum(axis=1, keepdims=True)
    return weight / np.where(total > 0, total, 1.0)


def cluster_silhouettes(
    shares: NDArray[np.floating], labels: NDArray[np.integer]
) -> NDArray[np.float64]:
    r"""Mean over each cluster of :math:`(a - b) / \max(a, b)`.

    a is a point's share of its own cluster, b the largest share of another. 1 means
    that all companions are in the cluster, 0 that as many are in another one. A
    point without companions counts 0.

    Parameters
    ----------
    shares : ndarray of shape (n_points, n_clusters)
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1, each used.

    Returns
    -------
    silhouettes : ndarray of shape (n_clusters,), in [-1, 1]
    """
    at = np.arange(len(labels))
    own = np.maximum(shares[at, labels], 0).astype(np.float64)
    others = shares.copy()
    others[at, labels] = 0
    other = others.max(axis=1).astype(np.float64)
    larger = np.maximum(own, other)
    each = (own - other) / np.where(larger > 0, larger, 1.0)
    return np.bincount(labels, each) / np.bincount(labels)
