"""Spectral embedding and spectral clustering of a sparse graph.

It is right where a single Lanczos run on the whole graph is not: connected components
are split off first, so that the repeated eigenvalue 1 is exact, each component is
solved by itself, and every eigenpair is checked.
"""

from __future__ import annotations

import heapq
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import (
    coo_array,
    csr_array,
    eye_array,
    issparse,
)
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu
from sklearn.exceptions import ConvergenceWarning

from ekss.core.linalg import top_eigenpairs

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
        What was done with points outside the components that count.
    warning : str
        What the user should be told, with a remedy; empty if all is well. The caller
        decides whether to issue it.
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
    """Return the component of each point, numbered in order of first appearance."""
    return connected_components(graph, directed=False)[1].astype(np.int64)


def can_be_clusters(sizes: NDArray[np.int64], n_clusters: int) -> NDArray[np.bool_]:
    """Decide which components are large enough to be clusters by themselves.

    A single point never is, nor is a component smaller than a tenth of the mean cluster
    size. If the components that pass hold fewer points than there are clusters, all
    pass.

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

    Components that are too small are bridged first, then the smallest surplus ones,
    each to the one component to which its bridging edges are heaviest, so that exactly
    the surplus disappears. What no bridge reaches is left out of the cut (components
    that are too small) or joined, smallest with smallest (surplus components).

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
        The bridged graph, its groups, and a warning if points were left out or joined
        for want of a bridge.

    Notes
    -----
    The time is a few passes over the edges, times the number of rounds of bridging;
    every round removes at least one component.

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
    component_of = components_of(graph)
    if bridge is not None and component_of.max() > 0:
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
    """Return the components that must be bridged because of their size."""
    small = (sizes == 1) | (10 * n_clusters * sizes < sizes.sum())
    return np.flatnonzero(small)


def _surplus(sizes: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Return the smallest components beyond `n_clusters`, among those that count."""
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
    """Return symmetric edges from each component of `rows` to its best other component.

    They weigh at least as much as the edges inside the component: otherwise the cut
    would again separate what is too small to be a cluster.
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
    """Return the positive edges from `rows` to other components."""
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


DENSE_SIZE = 600
LAST_DENSE_SIZE = 6000
MAX_BAND_ENTRIES = 20_000_000
MAX_RESTARTS = 100
# Lanczos vectors in a search for missed copies, which need not be exact.
PROBE_VECTORS = 30
MAX_RESIDUAL = 1e-8
# For more points than this, labels need no more than the loose accuracy.
MAX_PRECISE_SIZE = 50_000
MAX_LOOSE_RESIDUAL = 1e-5
SHIFT = 1.0 + 1e-8

# Newer scipy seeds ARPACK's inner restarts from the operating system unless told.
_EIGSH_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues (descending), orthonormal eigenvectors and the worst residual."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    residual: float


@dataclass(frozen=True)
class _Operator:
    """A positive operator, and the distance that separates values near a given one."""

    apply: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    resolution: Callable[[float], float]


@dataclass(frozen=True)
class Accuracy:
    """How accurate eigenpairs must be.

    Attributes
    ----------
    residual : float
        The largest residual that is accepted.
    tolerance : float
        The tolerance passed to ARPACK, relative to eigenvalues between 0 and 2.
    slack : float
        Amount by which a value may exceed another and still count as equal to it.
    """

    residual: float
    tolerance: float
    slack: float


def accuracy_for(n_points: int) -> Accuracy:
    """Return the accuracy of the pairs of a component of ``n_points`` points."""
    if n_points <= MAX_PRECISE_SIZE:
        return Accuracy(MAX_RESIDUAL, 0.1 * MAX_RESIDUAL, 1e-9)
    return Accuracy(MAX_LOOSE_RESIDUAL, 0.3 * MAX_LOOSE_RESIDUAL, 1e-6)


@dataclass(frozen=True)
class _Budget:
    """Lanczos vectors kept and restarts allowed."""

    n_vectors: int
    n_restarts: int


def component_eigenpairs(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
) -> Eigenpairs:
    r"""Return the largest eigenpairs of a connected normalised graph after the first.

    The normalised adjacency :math:`A = D^{-1/2} W D^{-1/2}` of a connected graph has
    the simple eigenvalue 1 with eigenvector :math:`D^{1/2} 1`; the pairs returned are
    those that follow it.

    Parameters
    ----------
    adjacency : csr_array of shape (n_points, n_points)
        The normalised adjacency of one connected component.
    trivial : ndarray of shape (n_points,)
        Its unit eigenvector for eigenvalue 1.
    n_pairs : int
        Number of further pairs, at most ``n_points - 1``.
    rng : numpy.random.Generator
        Source of the start vectors.

    Returns
    -------
    Eigenpairs
        Eigenvalues in descending order, eigenvectors as columns orthogonal to
        `trivial`, and the largest :math:`\|A v - \lambda v\|`.

    Warns
    -----
    ConvergenceWarning
        If every solver leaves a residual above 1e-8 (beyond 50,000 points: 1e-5); the
        best vectors are returned.

    Notes
    -----
    Up to 600 points, or if more than a quarter of all pairs are wanted, one dense
    decomposition is computed. Beyond that, Lanczos is used, with a search for missed
    copies of repeated eigenvalues. If it stalls, the next attempts are shift and
    invert, if the graph is thin enough that the factor stays small (path- and
    surface-like graphs, the ones on which Lanczos stalls), Lanczos with more vectors,
    and finally a dense solver (up to 6,000 points) or filtered subspace iteration.
    Beyond 50,000 points Lanczos stops at a residual of 1e-5, which saves a sixth to a
    fifth of the products with the graph.

    References
    ----------
    .. [1] Y. Zhou, Y. Saad, M. Tiago and J. Chelikowsky, "Self-consistent-field
       calculations using Chebyshev-filtered subspace iteration", Journal of
       Computational Physics 219, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array((np.ones((3, 3)) - np.eye(3)) / 2)
    >>> rng = np.random.default_rng(0)
    >>> component_eigenpairs(triangle, np.full(3, 3**-0.5), 2, rng).values.round(6)
    array([-0.5, -0.5])
    """
    n_points = adjacency.shape[0]
    if n_pairs == 0:
        return Eigenpairs(np.empty(0), np.empty((n_points, 0)), 0.0)
    limit = accuracy_for(n_points).residual
    best: Eigenpairs | None = None
    for attempt in _attempts(adjacency, trivial, n_pairs, rng):
        vectors = attempt()
        if vectors is None:
            continue
        pairs = _rayleigh_ritz(adjacency, trivial, vectors, n_pairs)
        if pairs.residual <= limit:
            return pairs
        if best is None or pairs.residual < best.residual:
            best = pairs
    if best is None:
        raise RuntimeError(
            f"no eigensolver succeeded for {n_pairs} pairs of a component of "
            f"{n_points} points; ask for fewer eigenvectors or make the graph denser"
        )
    warnings.warn(
        f"{n_pairs} eigenpairs of a component of {n_points} points have residual "
        f"{best.residual:.1e}, above {limit:.0e}; ask for fewer eigenvectors "
        "or make the graph denser",
        ConvergenceWarning,
        stacklevel=2,
    )
    return best


def _attempts(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
) -> Iterator[Callable[[], NDArray[np.float64] | None]]:
    """Yield solvers in the order they are tried; each gives vectors or None."""
    n_points = adjacency.shape[0]
    if n_points <= DENSE_SIZE or 4 * n_pairs > n_points:
        yield lambda: _dense_vectors(adjacency, trivial, n_pairs)
        return

    def lanczos(operator: _Operator, budget: _Budget) -> NDArray[np.float64] | None:
        return largest_vectors(operator, trivial, n_pairs, budget, rng)

    plain = _Operator(lambda x: adjacency @ x + x, lambda value: 2.0 - value)
    few = _Budget(max(2 * n_pairs + 20, 40), MAX_RESTARTS)
    many = _Budget(4 * n_pairs + 120, MAX_RESTARTS)
    yield lambda: lanczos(plain, few)
    if _is_thin(adjacency):
        inverse = _Operator(_inverse(adjacency), lambda value: value)
        yield lambda: lanczos(inverse, few)
    yield lambda: lanczos(plain, many)
    if n_points <= LAST_DENSE_SIZE:
        yield lambda: _dense_vectors(adjacency, trivial, n_pairs)
    else:
        yield lambda: _block_vectors(adjacency, trivial, n_pairs, rng)


def _dense_vectors(
    adjacency: csr_array, trivial: NDArray[np.float64], n_pairs: int
) -> NDArray[np.float64]:
    # Move the known eigenvalue 1 to -2, below all others (they are at least -1).
    dense = adjacency.toarray() - 3.0 * np.outer(trivial, trivial)
    return top_eigenpairs(dense, n_pairs)[1]


def _block_vectors(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Run subspace iteration on a random block, filtered by Chebyshev polynomials."""
    limit = accuracy_for(adjacency.shape[0]).residual / 2
    block = rng.standard_normal((adjacency.shape[0], n_pairs + 10))
    for _ in range(MAX_RESTARTS):
        pairs = _rayleigh_ritz(adjacency, trivial, block, block.shape[1])
        block = pairs.vectors
        errors = adjacency @ block - block * pairs.values
        if np.linalg.norm(errors[:, :n_pairs], axis=0).max() <= limit:
            break
        cut = max(float(pairs.values[-1]), -0.9)
        block = _filter(adjacency, trivial, block, cut)
    return block[:, :n_pairs]


def _filter(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    block: NDArray[np.float64],
    cut: float,
    degree: int = 30,
) -> NDArray[np.float64]:
    """Apply a Chebyshev polynomial of the graph, at most 1 on values in [-1, cut]."""
    middle, half = (cut - 1.0) / 2.0, (cut + 1.0) / 2.0

    def scaled(x: NDArray[np.float64]) -> NDArray[np.float64]:
        image = (adjacency @ x - middle * x) / half
        return image - np.outer(trivial, trivial @ image)

    before, now = block, scaled(block)
    for _ in range(degree - 1):
        before, now = now, 2.0 * scaled(now) - before
    return now


def _is_thin(adjacency: csr_array) -> bool:
    """Decide whether a banded factor of the graph would have few enough entries."""
    order = reverse_cuthill_mckee(adjacency, symmetric_mode=True)
    position = np.argsort(order)
    coo = adjacency.tocoo()
    bandwidth = int(np.abs(position[coo.row] - position[coo.col]).max())
    return bandwidth * adjacency.shape[0] <= MAX_BAND_ENTRIES


def _inverse(
    adjacency: csr_array,
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Solve with ``SHIFT I - A``, factorised on first use."""
    factors: list[Any] = []

    def apply(x: NDArray[np.float64]) -> NDArray[np.float64]:
        if not factors:
            shifted = (SHIFT * eye_array(adjacency.shape[0]) - adjacency).tocsc()
            symmetric = {"SymmetricMode": True}
            factors.append(
                splu(
                    shifted,
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options=symmetric,
                )
            )
        solved: NDArray[np.float64] = factors[0].solve(x)
        return solved

    return apply


def largest_vectors(
    operator: _Operator,
    trivial: NDArray[np.float64],
    n_pairs: int,
    budget: _Budget,
    rng: np.random.Generator,
) -> NDArray[np.float64] | None:
    """Return Lanczos vectors for the largest values, searching for missed copies.

    Lanczos from one start vector sees one copy of a repeated eigenvalue and may settle
    for smaller ones instead of the other copies. The vectors found are therefore
    deflated, and a fresh start looks for anything larger than the smallest one kept,
    until nothing is found. Return None if a run does not converge.
    """
    accuracy = accuracy_for(len(trivial))
    probe = replace(budget, n_vectors=min(budget.n_vectors, PROBE_VECTORS))
    found = trivial[:, None]
    values = np.empty(0)
    n_wanted = n_pairs
    for _ in range(n_pairs + 1):
        deflated = _deflate(operator, found)
        pairs = _lanczos(deflated, n_wanted, accuracy.tolerance, budget, rng)
        if pairs is None:
            return None
        values = np.concatenate([values, pairs[0]])
        # Directions found earlier keep their place: the new ones are orthogonal to
        # them.
        found = np.linalg.qr(np.hstack([found, pairs[1]]))[0]
        smallest = np.sort(values)[-n_pairs]
        scale = operator.resolution(smallest)
        tolerance = min(1e-3, 0.1 * max(scale, 1e-9) / smallest)
        following = _lanczos(_deflate(operator, found), 1, tolerance, probe, rng)
        if following is None:
            return None
        if following[0][0] <= smallest + 1e-4 * scale + accuracy.slack:
            largest = np.argsort(-values, kind="stable")[:n_pairs]
            return found[:, 1:][:, largest]
        n_wanted = (n_pairs + 1) // 2
    return None


def _deflate(operator: _Operator, found: NDArray[np.float64]) -> LinearOperator:
    """Give the found directions the value 0, the smallest a positive operator has."""

    def matvec(x: NDArray[np.float64]) -> NDArray[np.float64]:
        x = x.ravel()
        image = operator.apply(x - found @ (x @ found))
        image -= found @ (image @ found)
        return image

    shape = (len(found), len(found))
    return LinearOperator(shape, matvec=matvec, dtype=np.float64)


def _lanczos(
    operator: LinearOperator,
    n_pairs: int,
    tolerance: float,
    budget: _Budget,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the largest eigenpairs from a random ARPACK start; None if it stalls."""
    n_points = operator.shape[0]
    options: dict[str, Any] = {"rng": rng} if _EIGSH_TAKES_RNG else {}
    try:
        values, vectors = eigsh(
            operator,
            n_pairs,
            which="LA",
            v0=rng.standard_normal(n_points),
            ncv=min(budget.n_vectors, n_points - 1),
            maxiter=budget.n_restarts,
            tol=tolerance,
            **options,
        )
    except ArpackError:
        return None
    return values, vectors


def _rayleigh_ritz(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    vectors: NDArray[np.float64],
    n_pairs: int,
) -> Eigenpairs:
    """Return the best eigenpairs in the span of `vectors`, with the worst residual."""
    basis = np.linalg.qr(np.column_stack([trivial, vectors]))[0][:, 1:]
    values, rotation = np.linalg.eigh(basis.T @ (adjacency @ basis))
    values = values[::-1][:n_pairs]
    ritz = basis @ rotation[:, ::-1][:, :n_pairs]
    peaks = ritz[np.abs(ritz).argmax(axis=0), np.arange(n_pairs)]
    ritz = ritz * np.where(peaks < 0, -1.0, 1.0)
    residuals = np.linalg.norm(adjacency @ ritz - ritz * values, axis=0)
    return Eigenpairs(values, ritz, float(residuals.max()))


# Up to this many rows every restart uses all of them; beyond, a sample of this size.
ALL_ROWS = 50_000
# Maximum number of iterations, and the movement of the centres, as a share of the
# variance, at which they count as settled: as in scikit-learn.
_MAX_ITER = 300
_TOLERANCE = 1e-4
# Squared distances, as a share of the largest squared entry, that may be rounding.
_ROUNDING = 1e-13
# Rows processed together: their data stay in the cache of a core.
_ROWS_AT_ONCE = 2048
# Sums may be reordered, and products added without rounding in between.
_ANY_ORDER = {"reassoc", "nsz", "contract"}


def kmeans_labels(
    rows: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    """Cluster rows by k-means; coinciding rows may leave clusters empty.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    n_clusters : int
    n_init : int
        Number of restarts, each from centres spread by k-means++ [1]_; the one with the
        lowest cost is kept.
    seed : int

    Returns
    -------
    labels : ndarray of shape (n_points,)

    Notes
    -----
    Beyond ``ALL_ROWS`` rows the restarts run on a random sample of that size, and the
    best one is the start of a single run on all rows, so the cost of a restart does not
    grow with the number of points. Warnings are never issued.

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding",
       SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> kmeans_labels(np.array([[0.0], [0.1], [5.0]]), 2, 1, 0)[:2].tolist() in (
    ...     [0, 0],
    ...     [1, 1],
    ... )
    True
    """
    rng = np.random.default_rng(seed)
    rows = rows - rows.mean(axis=0)
    largest = max(float(np.abs(rows).max()), np.finfo(float).tiny)
    # Stored feature by feature, so that loops over points are loops over vectors of
    # numbers. Features are taken in fours, padded with zeros.
    features = np.zeros((-(-rows.shape[1] // 4) * 4, len(rows)), np.float32)
    features[: rows.shape[1]] = (rows / largest).T
    size = max(ALL_ROWS, n_clusters)
    sample = features
    if len(rows) > size:
        some = np.sort(rng.choice(len(rows), size, replace=False))
        sample = np.ascontiguousarray(features[:, some])
    runs = (
        _descend(sample, _spread_centres(sample, n_clusters, rng))
        for _ in range(n_init)
    )
    best = min(runs, key=lambda run: run.cost)
    if len(rows) > size:
        best = _descend(features, best.centres)
    return best.labels.astype(np.int64)


@dataclass(frozen=True)
class _Run:
    """Clusters from one start, their centres, and the sum of squared distances."""

    labels: NDArray[np.int32]
    centres: NDArray[np.float32]
    cost: float


def _spread_centres(
    features: NDArray[np.float32], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Choose rows as centres by greedy k-means++, which prefers distant rows.

    There are fewer than requested if all other rows coincide with one of them.
    """
    n_trials = 2 + int(log(n_clusters))
    draws = rng.random((n_clusters, n_trials))
    # Farther than any two rows are apart: each is equally likely to be the first
    # centre.
    distances = np.full((3, features.shape[1]), 5 * len(features), np.float32)
    chosen = np.empty(n_clusters, np.int64)
    n_chosen = _choose_far_rows(features, draws, _ROUNDING, distances, chosen)
    return np.ascontiguousarray(features[:, chosen[:n_chosen]].T)


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_ANY_ORDER)
def _choose_far_rows(
    features: NDArray[np.float32],
    draws: NDArray[np.float64],
    smallest: float,
    distances: NDArray[np.float32],
    chosen: NDArray[np.int64],
) -> int:
    """Choose one row for each row of draws, unless all coincide with chosen ones.

    ``distances[0]`` holds the distances to the nearest chosen row; the other rows are
    working memory for the distances once the row being tried, or the best row tried
    so far, is added.
    """
    n_rows = features.shape[1]
    now, best, tried = 0, 1, 2
    total = n_rows * float(distances[now, 0])
    for k in range(draws.shape[0]):
        least = np.inf
        for t in range(draws.shape[1]):
            # Find the first row at which the sum of distances exceeds the number drawn.
            number = -1
            left = draws[k, t] * total
            while number < n_rows - 1 and left >= 0.0:
                number += 1
                left -= distances[now, number]
            for i in range(n_rows):
                distances[tried, i] = 0.0
            for j in range(0, features.shape[0], 4):
                at0, at1 = features[j, number], features[j + 1, number]
                at2, at3 = features[j + 2, number], features[j + 3, number]
                for i in range(n_rows):
                    gap0, gap1 = features[j, i] - at0, features[j + 1, i] - at1
                    gap2, gap3 = features[j + 2, i] - at2, features[j + 3, i] - at3
                    square = gap0 * gap0 + gap1 * gap1 + gap2 * gap2 + gap3 * gap3
                    distances[tried, i] += square
            cost = 0.0
            for i in range(n_rows):
                distance = distances[tried, i]
                distance = distance if distance > smallest else np.float32(0.0)
                distance = min(distance, distances[now, i])
                distances[tried, i] = distance
                cost += distance
            if cost < least:
                least = cost
                chosen[k] = number
                tried, best = best, tried
        now, best = best, now
        total = least
        if total == 0.0:
            return k + 1
    return draws.shape[0]


def _descend(features: NDArray[np.float32], centres: NDArray[np.float32]) -> _Run:
    """Assign rows to the nearest centres and move these to the means, alternately."""
    n_features, n_rows = features.shape
    n_clusters = len(centres)
    centres = centres.copy()
    # The mean of the rows is zero, so their mean square is their variance.
    square = np.einsum("ji,ji->", features, features, dtype=np.float64)
    rest = _TOLERANCE * float(square) / max(n_rows * n_features, 1)
    labels, before = np.zeros(n_rows, np.int32), np.full(n_rows, n_clusters, np.int32)
    distances = np.empty((2, n_rows), np.float32)
    # The last sum and count are for rows that have no cluster yet.
    sums, counts = np.zeros((n_clusters + 1, n_features)), np.zeros(n_clusters + 1)
    moved = np.inf
    for _ in range(_MAX_ITER):
        _assign(features, centres, labels, distances)
        if moved > rest:
            moved = _move(features, labels, before, sums, counts, centres)
            if moved > 0:
                continue
        empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
        if not empty.size:
            break
        # An empty cluster takes the row farthest from its centre, if any is off at all.
        farthest = np.argsort(-distances[0], kind="stable")[: empty.size]
        farthest = farthest[distances[0][farthest] > _ROUNDING]
        if not farthest.size:
            break
        centres[empty[: farthest.size]] = features[:, farthest].T
        moved = np.inf
    return _Run(labels, centres, float(distances[0].sum(dtype=np.float64)))


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _assign(
    features: NDArray[np.float32],
    centres: NDArray[np.float32],
    labels: NDArray[np.int32],
    distances: NDArray[np.float32],
) -> None:
    """Find the nearest centre of each row, and the squared distance to it.

    It is written to ``distances[0]``; ``distances[1]`` is working memory.
    """
    n_features, n_rows = features.shape
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        # Unsigned, so that no row index can count from the end.
        first, last = np.uint64(start), np.uint64(min(start + _ROWS_AT_ONCE, n_rows))
        for i in range(first, last):
            distances[0, i] = np.inf
        for k in range(centres.shape[0]):
            for i in range(first, last):
                distances[1, i] = 0.0
            for j in range(0, n_features, 4):
                at0, at1 = centres[k, j], centres[k, j + 1]
                at2, at3 = centres[k, j + 2], centres[k, j + 3]
                for i in range(first, last):
                    gap0, gap1 = features[j, i] - at0, features[j + 1, i] - at1
                    gap2, gap3 = features[j + 2, i] - at2, features[j + 3, i] - at3
                    square = gap0 * gap0 + gap1 * gap1 + gap2 * gap2 + gap3 * gap3
                    distances[1, i] += square
            for i in range(first, last):
                if distances[1, i] < distances[0, i]:
                    distances[0, i] = distances[1, i]
                    labels[i] = k


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _move(
    features: NDArray[np.float32],
    labels: NDArray[np.int32],
    before: NDArray[np.int32],
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    centres: NDArray[np.float32],
) -> float:
    """Move centres to the means of their rows; return the sum of squared steps.

    ``sums`` and ``counts`` are those of the clusters in ``before``; all three are
    updated to the labels.
    """
    n_features, n_rows = features.shape
    for i in range(n_rows):
        old, new = before[i], labels[i]
        if old != new:
            before[i] = new
            counts[old] -= 1
            counts[new] += 1
            for j in range(n_features):
                sums[old, j] -= features[j, i]
                sums[new, j] += features[j, i]
    moved = 0.0
    for k in range(centres.shape[0]):
        for j in range(n_features):
            if counts[k] > 0:
                mean = np.float32(sums[k, j] / counts[k])
                moved += (mean - centres[k, j]) ** 2
                centres[k, j] = mean
    return moved


def cluster_links(
    graph: csr_array, labels: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float64]:
    """Sum the edges between every two clusters; the diagonal counts edges twice."""
    source = np.repeat(labels, np.diff(graph.indptr))
    pair = source.astype(np.int64) * n_clusters + labels[graph.indices]
    sums = np.bincount(pair, weights=graph.data, minlength=n_clusters**2)
    return np.asarray(sums, np.float64).reshape(n_clusters, n_clusters)


def mean_ncut(graph: csr_array, labels: NDArray[np.integer], n_clusters: int) -> float:
    r"""Return the mean over clusters of the share of their edges that leave them.

    This is :math:`\mathrm{Ncut} / K`, in [0, 1]. A cluster without edges counts as 0.

    Parameters
    ----------
    graph : csr_array of shape (n_points, n_points)
        Symmetric and non-negative.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    ncut : float
        0 if no edge leaves a cluster.

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


Case = Literal["fewer", "equal", "more"]


@dataclass(frozen=True)
class SpectralEmbedding:
    r"""Leading eigenpairs of a normalised graph.

    Attributes
    ----------
    vectors : ndarray of shape (n_points, n_components)
        Orthonormal eigenvectors of :math:`D^{-1/2} W D^{-1/2}`; rows of isolated
        points are zero.
    values : ndarray of shape (n_components,)
        Their eigenvalues in descending order: 1 - eigenvalue of the Laplacian.
    components : ndarray of shape (n_points,)
        Connected component of each point.
    residual : float
        The largest :math:`\|A v - \lambda v\|` among the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import spectral_embedding
    >>> found = spectral_embedding(np.kron(np.eye(2), np.ones((3, 3))), 2)
    >>> found.values.round(6), found.components
    (array([1., 1.]), array([0, 0, 0, 1, 1, 1]))
    """

    vectors: NDArray[np.float64]
    values: NDArray[np.float64]
    components: NDArray[np.int64]
    residual: float


@dataclass(frozen=True)
class SpectralResult:
    """Clusters of a graph, and how they were found.

    Attributes
    ----------
    labels : ndarray of shape (n_points,)
        Cluster of each point, numbered in order of first appearance.
    embedding : ndarray of shape (n_points, n_eigenvectors)
        Rows of the eigenvectors scaled to unit length, as k-means saw them; zero
        for points left out of the cut.
    eigenvalues : ndarray of shape (n_eigenvectors + 1,)
        Leading eigenvalues, and the one after them, which shows the gap.
    n_components : int
        Number of connected components of the given graph.
    case : {"fewer", "equal", "more"}
        Number of components compared with clusters; "more" also if some component is
        too small.
    notes : tuple of str
        What was done with points outside the components that count.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import spectral_labels
    >>> found = spectral_labels(np.kron(np.eye(2), np.ones((3, 3))), 2, random_state=0)
    >>> found.labels, found.case
    (array([0, 0, 0, 1, 1, 1]), 'equal')
    """

    labels: NDArray[np.int64]
    embedding: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    n_components: int
    case: Case
    notes: tuple[str, ...]


def spectral_embedding(
    affinity: ArrayLike | Any,
    n_components: int,
    *,
    random_state: int | np.random.Generator | None = None,
) -> SpectralEmbedding:
    r"""Return the largest eigenpairs of the normalised adjacency, by component.

    With degrees :math:`D = \mathrm{diag}(W 1)`, the eigenvectors of
    :math:`A = D^{-1/2} W D^{-1/2}` for its largest eigenvalues are those of the
    normalised Laplacian :math:`I - A` for its smallest. Every component with an edge
    contributes the eigenvalue 1 with vector :math:`D^{1/2} 1` restricted to it, without
    a solver; the other pairs are solved for inside the components.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.
    n_components : int
        Number of pairs. If the graph has fewer (isolated points have none), all are
        returned.
    random_state : int, Generator or None, default=None
        Seed of the start vectors of iterative solvers.

    Returns
    -------
    SpectralEmbedding
        Vectors, values, the component of each point, and the worst residual. Among the
        repeated eigenvalues 1, those of the largest components come first.

    Notes
    -----
    A random sparse graph takes some hundred products with its matrix; memory is that
    of the graph and about ``(2 * n_components + 20) * n_points`` numbers.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and
       Computing 17, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> two_pairs = np.kron(np.eye(2), np.ones((2, 2)))
    >>> spectral_embedding(two_pairs, 3).values
    array([ 1.,  1., -1.])
    """
    graph = as_graph(affinity)
    _check_count("n_components", n_components, 1, graph.shape[0])
    rng = np.random.default_rng(random_state)
    return embed(graph, n_components, rng)


def spectral_labels(
    affinity: ArrayLike | Any,
    n_clusters: int,
    *,
    n_eigenvectors: int | None = None,
    n_init: int = 10,
    bridge: Bridge | None = None,
    random_state: int | np.random.Generator | None = None,
) -> SpectralResult:
    r"""Cut a graph into clusters: eigenvectors, unit rows, k-means.

    There are three cases, depending on the number of connected components:

    - *equal*: the components are the clusters;
    - *fewer*: the rows of the leading eigenvectors of :math:`D^{-1/2} W D^{-1/2}`,
      scaled to unit length, are clustered by k-means [1]_;
    - *more*, or some component is too small to be a cluster (a single point, or less
      than a tenth of ``n_points / n_clusters``): components that are too small, then
      the smallest surplus ones, are bridged to the component to which their `bridge`
      edges are heaviest, and one of the cases above follows.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.
    n_clusters : int
        Number of clusters, at most n_points.
    n_eigenvectors : int or None, default=None
        Number of eigenvectors used by k-means, at least `n_clusters`, which is the
        default. With more, k-means decides in the *equal* case too.
    n_init : int, default=10
        Restarts of k-means.
    bridge : callable or None, default=None
        ``bridge(rows, component_of)`` returns a sparse (n_points, n_points) array of
        non-negative edges, on the scale of the affinity, from the points `rows` to
        points of other components, preferably only the few strongest per row. Entries
        in other rows or inside a component are ignored.
    random_state : int, Generator or None, default=None
        Seed of the solver and of k-means: the same seed gives the same bytes.

    Returns
    -------
    SpectralResult
        Labels, embedding, eigenvalues, number of components, case and notes.

    Warns
    -----
    UserWarning
        If points had to be labelled without the help of the graph: there is no bridge
        for components that are too small or surplus, or the embedding has too few
        distinct rows.

    See Also
    --------
    spectral_embedding : The eigenvectors alone.

    Notes
    -----
    All labels 0, ..., n_clusters - 1 are used. Points in components that are too small
    and that no bridge reaches get the label of the largest cluster; surplus components
    are joined, smallest with smallest. A graph without edges therefore gives
    meaningless groups of nearly equal size, and a warning. If k-means leaves clusters
    empty because rows coincide, the farther half of the largest cluster is split off
    for each. The time is that of `spectral_embedding` plus k-means.

    References
    ----------
    .. [1] A. Ng, M. Jordan and Y. Weiss, "On spectral clustering: analysis and an
       algorithm", NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> weak_link = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> spectral_labels(weak_link, 2, random_state=0).labels
    array([0, 0, 0, 1, 1, 1])
    """
    graph = as_graph(affinity)
    n_points = graph.shape[0]
    n_eigenvectors = n_clusters if n_eigenvectors is None else n_eigenvectors
    _check_count("n_clusters", n_clusters, 1, n_points)
    _check_count("n_eigenvectors", n_eigenvectors, n_clusters, n_points)
    _check_count("n_init", n_init, 1)
    solver_rng, kmeans_rng = np.random.default_rng(random_state).spawn(2)

    sizes = np.bincount(components_of(graph))
    settled = settle_components(graph, n_clusters, bridge)
    if settled.warning:
        warnings.warn(settled.warning, UserWarning, stacklevel=2)
    in_cut = settled.group_of >= 0
    n_wanted = min(n_eigenvectors + 1, int(in_cut.sum()))
    pairs = embed(_restrict(settled.graph, in_cut), n_wanted, solver_rng)
    embedding = np.zeros((n_points, min(n_eigenvectors, pairs.vectors.shape[1])))
    embedding[in_cut] = unit_rows(pairs.vectors[:, :n_eigenvectors])

    labels = settled.group_of.copy()
    is_equal = settled.n_groups == n_clusters and n_eigenvectors == n_clusters
    if not (settled.is_final or is_equal):
        labels[in_cut] = _filled_kmeans(
            embedding[in_cut], n_clusters, n_init, kmeans_rng
        )
    # Renumbered before counting, so that among equal clusters the first one is largest.
    labels[in_cut] = number_by_appearance(labels[in_cut])
    labels[~in_cut] = np.bincount(labels[in_cut]).argmax()
    return SpectralResult(
        number_by_appearance(labels),
        embedding,
        pairs.values,
        len(sizes),
        _name_case(sizes, n_clusters),
        settled.notes,
    )


def _check_count(name: str, value: Any, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}={value!r} is not an integer; give a whole number")
    if value < least:
        raise ValueError(f"{name}={value} is below {least}; choose at least {least}")
    if most is not None and value > most:
        raise ValueError(
            f"{name}={value} exceeds the {most} points of the graph; choose at most "
            f"{most}"
        )


def _name_case(sizes: NDArray[np.int64], n_clusters: int) -> Case:
    if len(sizes) > n_clusters or not can_be_clusters(sizes, n_clusters).all():
        return "more"
    return "equal" if len(sizes) == n_clusters else "fewer"


def _restrict(graph: csr_array, mask: NDArray[np.bool_]) -> csr_array:
    return graph if mask.all() else graph[mask][:, mask]


def embed(
    graph: csr_array, n_components: int, rng: np.random.Generator
) -> SpectralEmbedding:
    """Do what `spectral_embedding` does, for a graph as returned by `as_graph`."""
    n_points = graph.shape[0]
    component_of = components_of(graph)
    sizes = np.bincount(component_of)
    by_size = np.argsort(-sizes, kind="stable")[: (sizes > 1).sum()][:n_components]
    n_others = n_components - len(by_size)
    trivial = np.zeros((n_points, len(by_size)))
    others = []
    for column, component in enumerate(by_size):
        points = np.flatnonzero(component_of == component)
        part = _restrict(graph, component_of == component)
        adjacency, first = _normalise(part)
        trivial[points, column] = first
        n_pairs = min(n_others, len(points) - 1)
        others.append((points, component_eigenpairs(adjacency, first, n_pairs, rng)))
    values, vectors = _merge_pairs(others, n_points, n_others)
    return SpectralEmbedding(
        np.hstack([trivial, vectors]),
        np.concatenate([np.ones(len(by_size)), values]),
        component_of,
        max((pairs.residual for _, pairs in others), default=0.0),
    )


def _normalise(part: csr_array) -> tuple[csr_array, NDArray[np.float64]]:
    """Return the normalised adjacency of a connected graph, and its vector for 1."""
    weights = part.data / part.data.max()
    source = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    root_degree = np.sqrt(np.bincount(source, weights, part.shape[0]))
    weights /= root_degree[source] * root_degree[part.indices]
    adjacency = csr_array((weights, part.indices, part.indptr), shape=part.shape)
    return adjacency, root_degree / np.linalg.norm(root_degree)


def _merge_pairs(
    parts: list[tuple[NDArray[np.int64], Eigenpairs]], n_points: int, n_pairs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest `n_pairs` of all components, with zeros outside each."""
    candidates = [
        (value, part, column)
        for part, (_, pairs) in enumerate(parts)
        for column, value in enumerate(pairs.values)
    ]
    candidates.sort(key=lambda candidate: -candidate[0])
    chosen = candidates[:n_pairs]
    vectors = np.zeros((n_points, len(chosen)))
    for position, (_, part, column) in enumerate(chosen):
        points, pairs = parts[part]
        vectors[points, position] = pairs.vectors[:, column]
    return np.array([value for value, _, _ in chosen]), vectors


def unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows to unit length, as k-means sees them; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def _filled_kmeans(
    rows: NDArray[np.float64], n_clusters: int, n_init: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Run k-means with restarts; fill clusters left empty by coinciding rows."""
    labels = kmeans_labels(rows, n_clusters, n_init, int(rng.integers(2**31)))
    empty = np.setdiff1d(np.arange(n_clusters), labels)
    if empty.size:
        warnings.warn(
            f"the embedding has too few distinct rows for n_clusters={n_clusters}: "
            f"{empty.size} of the clusters are arbitrary halves of others; choose "
            f"n_clusters={n_clusters - empty.size} or fewer",
            UserWarning,
            stacklevel=3,
        )
    for label in empty:
        members = np.flatnonzero(labels == np.bincount(labels).argmax())
        distances = np.linalg.norm(rows[members] - rows[members].mean(0), axis=1)
        farther_half = np.argsort(-distances, kind="stable")[: len(members) // 2]
        labels[members[farther_half]] = label
    return labels


def number_by_appearance(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Renumber labels 0, 1, ... in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
