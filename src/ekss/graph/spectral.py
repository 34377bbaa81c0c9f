"""Spectral embedding and spectral clustering of a sparse graph.

The step is right where one Lanczos run on the whole graph is not: connected
components are split off first, so that the repeated eigenvalue 1 is exact, each
component is solved by itself, and every eigenpair is checked.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array

from ekss.graph.components import (
    Bridge,
    as_graph,
    can_be_clusters,
    components_of,
    settle_components,
)
from ekss.graph.eigenpairs import Eigenpairs, component_eigenpairs
from ekss.graph.kmeans import kmeans_labels

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
    """

    vectors: NDArray[np.float64]
    values: NDArray[np.float64]
    components: NDArray[np.int64]
    residual: float


@dataclass(frozen=True)
class SpectralResult:
    """Clusters of a graph and how they were found.

    Attributes
    ----------
    labels : ndarray of shape (n_points,)
        Cluster of each point, numbered in order of first appearance.
    embedding : ndarray of shape (n_points, n_eigenvectors)
        Rows of the eigenvectors scaled to unit length, as k-means saw them; zero
        for points left out of the cut.
    eigenvalues : ndarray of shape (n_eigenvectors + 1,)
        Leading eigenvalues and the one after them, which shows the gap.
    n_components : int
        Number of connected components of the graph as given.
    case : {"fewer", "equal", "more"}
        Components against clusters; "more" also when some component is too small.
    notes : tuple of str
        What was done to points outside the components that count.
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
    r"""Largest eigenpairs of the normalised adjacency, component by component.

    With degrees :math:`D = \mathrm{diag}(W 1)`, the eigenvectors of
    :math:`A = D^{-1/2} W D^{-1/2}` for its largest eigenvalues are those of the
    normalised Laplacian :math:`I - A` for its smallest. Every component with an edge
    contributes the eigenvalue 1 with vector :math:`D^{1/2} 1` restricted to it,
    without any solve; the other pairs are solved inside the components.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.
    n_components : int
        How many pairs. Where the graph has fewer (isolated points have none), all
        are returned.
    random_state : int, Generator or None, default=None
        Seed of the start vectors of iterative solvers.

    Returns
    -------
    SpectralEmbedding
        Vectors, values, component of each point and the worst residual. Among the
        repeated eigenvalues 1 those of the largest components come first.

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
    return _embed(graph, n_components, rng)


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

    Three cases, by the number of connected components:

    - *equal*: the components are the clusters;
    - *fewer*: the rows of the leading eigenvectors of :math:`D^{-1/2} W D^{-1/2}`,
      scaled to unit length, are clustered by k-means [1]_;
    - *more*, or some component is too small to be a cluster (a single point, or less
      than a tenth of ``n_points / n_clusters``): too small components, then the
      smallest surplus ones, are bridged to the component their `bridge` edges weigh
      most for, and one of the cases above follows.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.
    n_clusters : int
        Number of clusters, at most n_points.
    n_eigenvectors : int or None, default=None
        Eigenvectors that k-means sees, at least `n_clusters`, which is the default.
        With more, k-means decides in the *equal* case too.
    n_init : int, default=10
        Restarts of k-means.
    bridge : callable or None, default=None
        ``bridge(rows, component_of)`` returns a sparse (n_points, n_points) array of
        non-negative edges, on the scale of the affinity, from the points `rows` to
        points of other components, best only the few strongest of each row. Entries
        in other rows or inside a component are ignored.
    random_state : int, Generator or None, default=None
        Seed of solver and k-means: the same seed gives the same bytes.

    Returns
    -------
    SpectralResult
        Labels, embedding, eigenvalues, number of components, case and notes.

    Warns
    -----
    UserWarning
        When points had to be labelled without help of the graph: no bridge for too
        small or surplus components, or an embedding with too few distinct rows.

    Notes
    -----
    All labels 0, ..., n_clusters - 1 are used. Points of too small components that
    no bridge reaches get the label of the largest cluster; surplus components are
    joined smallest with smallest. So a graph without edges gives groups of nearly
    equal size, which mean nothing, and a warning. If k-means leaves clusters empty
    because rows coincide, the farther half of the largest cluster is split off
    for each. Time is that of `spectral_embedding` plus k-means.

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
    pairs = _embed(_restrict(settled.graph, in_cut), n_wanted, solver_rng)
    embedding = np.zeros((n_points, min(n_eigenvectors, pairs.vectors.shape[1])))
    embedding[in_cut] = unit_rows(pairs.vectors[:, :n_eigenvectors])

    labels = settled.group_of.copy()
    is_equal = settled.n_groups == n_clusters and n_eigenvectors == n_clusters
    if not (settled.is_final or is_equal):
        labels[in_cut] = _filled_kmeans(
            embedding[in_cut], n_clusters, n_init, kmeans_rng
        )
    # Numbered before counting, so that of equal clusters the first one is largest.
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


def _embed(
    graph: csr_array, n_components: int, rng: np.random.Generator
) -> SpectralEmbedding:
    """Eigenvalue 1 of every component with edges, then the largest of the others."""
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
    """Normalised adjacency of a connected graph and its unit vector of value 1."""
    part = part / part.max()
    root_degree = np.sqrt(part.sum(axis=1))
    scaling = diags_array(1.0 / root_degree)
    adjacency = (scaling @ part @ scaling).tocsr()
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
    """K-means with restarts; clusters left empty by coinciding rows are filled."""
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
