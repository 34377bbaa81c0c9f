"""Communities of a graph: groups of points with many edges inside and few outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Edges are changed by this share at most, which is far above the rounding errors of
# sums of edges, and far below differences that matter.
_TIES = 1e-6


def communities(graph: sparse.csr_array, seed: int) -> NDArray[np.int64]:
    """Divide points into communities of high modularity, by Louvain's method.

    The number of communities is not given: it is found with them.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric, with edges that are not negative.
    seed : int
        Of the order in which points are visited, and of what decides between ties.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Community of every point, in the order of their first points. A point without
        edges is a community of its own.

    Notes
    -----
    Time and memory grow with the number of edges; the work is done by NetworkX.

    References
    ----------
    .. [1] V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre, "Fast unfolding of
       communities in large networks", Journal of Statistical Mechanics, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from ekss.graph.communities import communities
    >>> two = csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    >>> communities(two, seed=0)
    array([0, 0, 0, 1, 1, 1])
    """
    import networkx as nx

    # NetworkX moves a point back and forth for ever if both places are as good but for
    # rounding errors. So edges differ by more than these.
    upper = sparse.triu(graph, format="csr")
    ties = np.random.default_rng(seed).random(upper.nnz)
    upper.data = upper.data * (1 + _TIES * ties)
    network = nx.from_scipy_sparse_array(upper)
    labels = np.empty(graph.shape[0], dtype=np.int64)
    found = nx.community.louvain_communities(network, seed=seed)
    for number, members in enumerate(sorted(found, key=min)):
        labels[list(members)] = number
    return labels
