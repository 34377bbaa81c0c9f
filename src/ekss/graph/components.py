"""Connected components of a graph: checks, and what to do with too many of them."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components

Bridge = Callable[[NDArray[np.int64], NDArray[np.int64]], Any]


@dataclass(frozen=True)
class SettledGraph:
    """A graph ready to be cut.

    Attributes
    ----------
    graph : csr_array of shape (n_points, n_points)
        The graph with the bridging edges added.
    group_of : ndarray of shape (n_points,)
        The component of each point, -1 for points left out of the cut.
    n_groups : int
        Number of groups, at most the number of clusters.
    is_final : bool
        Whether the groups are the clusters, whatever the embedding says.
    notes : tuple of str
        What was done to points outside the components that count.
    warning : str
        What the user should be told, with a remedy; empty where all is well. The
        caller decides whether to issue it.
    """

    graph: csr_array
    group_of: NDArray[np.int64]
    n_groups: int
    is_final: bool
    notes: tuple[str, ...] = ()
    warning: str = ""


def as_graph(affinity: ArrayLike | Any) -> csr_array:
    """Check an affinity and copy it: sparse, float64, symmetric, no diagonal.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.

    Returns
    -------
    csr_array of shape (n_points, n_points)
        The off-diagonal part without stored zeros.

    Examples
    --------
    >>> import numpy as np
    >>> as_graph(np.array([[5.0, 2.0], [2.0, 0.0]])).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    matrix: Any = affinity if issparse(affinity) else np.asarray(affinity)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"affinity has shape {matrix.shape}, not (n, n); give one row and one "
            "column per point"
        )
    coo = coo_array(matrix, dtype=np.float64)
    if not np.isfinite(coo.data).all():
        raise ValueError("affinity has NaN or infinite entries; remove them")
    if coo.data.size and coo.data.min() < 0:
        raise ValueError(
            f"affinity has the negative entry {coo.data.min():.3g}; the least is 0, "
            "so take absolute values"
        )
    off_diagonal = coo.row != coo.col
    entries = (
        coo.data[off_diagonal],
        (coo.row[off_diagonal], coo.col[off_diagonal]),
    )
    graph = csr_array(entries, shape=coo.shape)
    graph.sum_duplicates()
    if not graph.nnz:
        return graph
    asymmetry = abs(graph - graph.T).max()
    if asymmetry > 1e-6 * graph.max():
        raise ValueError(
            f"affinity differs from its transpose by {asymmetry:.3g} where its largest "
            f"entry is {graph.max():.3g}; pass (W + W.T) / 2"
        )
    graph = ((graph + graph.T) / 2).tocsr()
    graph.eliminate_zeros()
    return graph


def components_of(graph: csr_array) -> NDArray[np.int64]:
    """Component of each point, numbered in order of first appearance."""
    return connected_components(graph, directed=False)[1].astype(np.int64)


def can_be_clusters(sizes: NDArray[np.int64], n_clusters: int) -> NDArray[np.bool_]:
    """Which components are large enough to be a cluster by themselves.

    A single point never is, nor a component smaller than a tenth of the mean cluster
    size. When the components that pass hold fewer points than there are clusters,
    all pass.

    Examples
    --------
    >>> import numpy as np
    >>> can_be_clusters(np.array([90, 1, 9]), n_clusters=2)
    array([ True, False,  True])
    """
    passes = (sizes > 1) & (10 * n_clusters * sizes >= sizes.sum())
    if sizes[passes].sum() < n_clusters:
        return np.ones(len(sizes), dtype=bool)
    return passes


def settle_components(
    graph: csr_array, n_clusters: int, bridge: Bridge | None = None
) -> SettledGraph:
    """Bring the graph to at most `n_clusters` components that can be clusters.

    Too small components are bridged first, then the smallest surplus ones, each to
    the one component to which its bridging edges are heaviest, so that exactly the
    surplus disappears. What no bridge reaches is left out of the cut (too small
    components) or joined smallest with smallest (surplus components).

    Parameters
    ----------
    graph : csr_array of shape (n_points, n_points)
        As returned by `as_graph`.
    n_clusters : int
        Number of clusters.
    bridge : callable, default=None
        ``bridge(rows, component_of)`` returns a sparse (n_points, n_points) array
        with non-negative edges from `rows` to points of other components.

    Returns
    -------
    SettledGraph
        The bridged graph, its groups, and a warning when points were left out or
        joined for want of a bridge.

    Notes
    -----
    Time is a few passes over the edges, times the rounds of bridging; every round
    removes at least one component.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> settle_components(as_graph(blocks), n_clusters=2).group_of
    array([0, 0, 0, 1, 1, 1])
    """
    n_points = graph.shape[0]
    if n_clusters == 1:
        return SettledGraph(graph, np.zeros(n_points, dtype=np.int64), 1, True)
    if n_clusters == n_points:
        return SettledGraph(graph, np.arange(n_points), n_points, True)
    if bridge is not None:
        graph = _bridge_while(_too_small, graph, n_clusters, bridge)
        graph = _bridge_while(_surplus, graph, n_clusters, bridge)
    component_of = components_of(graph)
    passes = can_be_clusters(np.bincount(component_of), n_clusters)
    renumbered = np.where(passes, np.cumsum(passes) - 1, -1)
    group_of = renumbered[component_of]
    n_groups = int(passes.sum())
    notes = []
    n_left_out = int((group_of < 0).sum())
    if n_left_out:
        notes.append(
            f"{n_left_out} of {n_points} points are in components too small to be one "
            f"of {n_clusters} clusters and got the label of the largest cluster"
        )
    n_surplus = n_groups - n_clusters
    if n_surplus > 0:
        group_of, n_moved = _join_smallest(group_of, n_clusters)
        notes.append(
            f"{n_surplus} components more than n_clusters={n_clusters} were joined "
            f"smallest with smallest, which concerns {n_moved} of {n_points} points"
        )
    warning = ""
    if notes and (bridge is None or n_surplus > 0):
        remedy = "make the graph denser" + ("" if bridge else " or pass a bridge")
        warning = "; ".join([*notes, remedy])
    n_groups = min(n_groups, n_clusters)
    is_final = n_surplus > 0
    return SettledGraph(graph, group_of, n_groups, is_final, tuple(notes), warning)


def _too_small(sizes: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Components that must be bridged because of their size."""
    small = (sizes == 1) | (10 * n_clusters * sizes < sizes.sum())
    return np.flatnonzero(small)


def _surplus(sizes: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Return the smallest components beyond `n_clusters`, of those that count."""
    counted = np.flatnonzero(can_be_clusters(sizes, n_clusters))
    by_size = counted[np.argsort(sizes[counted], kind="stable")]
    return by_size[: max(len(counted) - n_clusters, 0)]


def _bridge_while(
    choose: Callable[[NDArray[np.int64], int], NDArray[np.int64]],
    graph: csr_array,
    n_clusters: int,
    bridge: Bridge,
) -> csr_array:
    """Bridge the chosen components until none is chosen or nothing changes."""
    component_of = components_of(graph)
    while component_of.max() > 0:
        chosen = choose(np.bincount(component_of), n_clusters)
        if not chosen.size:
            break
        rows = np.flatnonzero(np.isin(component_of, chosen))
        edges = _heaviest_bridges(graph, component_of, rows, bridge)
        graph = graph + edges
        joined = components_of(graph)
        if joined.max() == component_of.max():
            break
        component_of = joined
    return graph


def _heaviest_bridges(
    graph: csr_array,
    component_of: NDArray[np.int64],
    rows: NDArray[np.int64],
    bridge: Bridge,
) -> csr_array:
    """Symmetric edges from each component of `rows` to its best other component.

    They weigh at least as much as the edges inside the component: otherwise the cut
    would separate again what is too small to be a cluster.
    """
    edges = _checked_edges(bridge(rows, component_of), component_of, rows)
    source, target = component_of[edges.row], component_of[edges.col]
    n_components = int(component_of.max()) + 1
    pairs, pair_of = np.unique(source * n_components + target, return_inverse=True)
    totals = np.bincount(pair_of, weights=edges.data, minlength=len(pairs))
    pair_source, pair_target = np.divmod(pairs, n_components)
    target_size = np.bincount(component_of)[pair_target]
    order = np.lexsort((pair_target, -target_size, -totals, pair_source))
    best = order[np.unique(pair_source[order], return_index=True)[1]]
    is_best = np.zeros(len(pairs), dtype=bool)
    is_best[best] = True
    inner = np.bincount(component_of, weights=graph.sum(axis=1))[pair_source]
    factor = np.maximum(1.0, inner / np.where(totals > 0, totals, 1.0))
    used = is_best[pair_of]
    weights = edges.data[used] * factor[pair_of][used]
    added = csr_array((weights, (edges.row[used], edges.col[used])), shape=graph.shape)
    return ((added + added.T) / 2).tocsr()


def _checked_edges(
    edges: Any, component_of: NDArray[np.int64], rows: NDArray[np.int64]
) -> coo_array:
    """Positive edges from `rows` to other components."""
    n_points = len(component_of)
    coo = coo_array(edges, dtype=np.float64)
    if coo.shape != (n_points, n_points):
        raise ValueError(
            f"bridge returned shape {coo.shape}; return a sparse array of shape "
            f"{(n_points, n_points)}"
        )
    if not np.isfinite(coo.data).all() or (coo.data < 0).any():
        raise ValueError(
            "bridge returned negative, NaN or infinite edges; return weights of at "
            "least 0"
        )
    asked = np.zeros(n_points, dtype=bool)
    asked[rows] = True
    used = asked[coo.row] & (coo.data > 0)
    used &= component_of[coo.row] != component_of[coo.col]
    return coo_array((coo.data[used], (coo.row[used], coo.col[used])), shape=coo.shape)


def _join_smallest(
    group_of: NDArray[np.int64], n_groups: int
) -> tuple[NDArray[np.int64], int]:
    """Join the two smallest groups until `n_groups` are left; count points joined."""
    sizes = np.bincount(group_of[group_of >= 0])
    heap = [(int(size), group) for group, size in enumerate(sizes)]
    heapq.heapify(heap)
    parent = np.arange(len(sizes))
    is_joined = np.zeros(len(sizes), dtype=bool)
    while len(heap) > n_groups:
        size, group = heapq.heappop(heap)
        other_size, other = heapq.heappop(heap)
        parent[other] = group
        is_joined[[group, other]] = True
        heapq.heappush(heap, (size + other_size, group))
    while (parent != parent[parent]).any():
        parent = parent[parent]
    final = np.unique(parent, return_inverse=True)[1]
    joined = np.where(group_of >= 0, final[group_of], -1)
    return joined, int(sizes[is_joined].sum())
