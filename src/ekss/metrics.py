"""Scores of a clustering, of the graph it came from and of pairs of subspaces."""

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import svdvals
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from ekss.core.linalg import top_eigenpairs

__all__ = [
    "adjusted_rand",
    "clustering_error",
    "connectivity",
    "false_connection_rate",
    "normalized_mutual_info",
    "principal_angles",
    "subspace_affinities",
    "subspace_affinity",
]

Labels: TypeAlias = Iterable[Hashable]
Basis: TypeAlias = NDArray[np.floating]
_DENSE_LIMIT = 500  # below this a LAPACK solve is faster than setting up Lanczos


def clustering_error(y_true: Labels, y_pred: Labels) -> float:
    r"""Return the share of points labelled wrongly under the best matching of clusters.

    .. math:: 1 - \frac{1}{N} \max_\pi \#\{i : \pi(\hat y_i) = y_i\}

    over one-to-one matchings of clusters; points of clusters left without a partner are
    errors.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels, any hashable values; an outlier label such as -1 counts as one more
        cluster.

    Returns
    -------
    float
        Error in [0, 1]; the paper reports it times 100.

    See Also
    --------
    normalized_mutual_info : Shared information instead of matching.
    adjusted_rand : Agreement on pairs, corrected for chance.

    Notes
    -----
    Takes O(N + K^3) time with a dense K_true x K_pred table. The formula in the
    appendix of [1]_ has a misplaced bracket; this is what it means.

    References
    ----------
    .. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using
       Ensembles of K-Subspaces", Information and Inference, 2021.

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.25
    """
    true, pred = _code_pair(y_true, y_pred)
    counts = contingency_matrix(true, pred)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float((len(true) - matched) / len(true))


def normalized_mutual_info(y_true: Labels, y_pred: Labels) -> float:
    """Return the mutual information of two labellings over their mean entropy.

    Computed by ``sklearn.metrics.normalized_mutual_info_score``, in O(N + K_true
    K_pred).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels; any hashable values.

    Returns
    -------
    float
        1 for equal partitions, 0 for independent ones.

    See Also
    --------
    clustering_error : Share of points under the best matching.

    Examples
    --------
    >>> round(normalized_mutual_info([0, 0, 1, 1], [5, 5, 3, 3]), 6)
    1.0
    """
    return float(normalized_mutual_info_score(*_code_pair(y_true, y_pred)))


def adjusted_rand(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of agreeing pairs, corrected for chance.

    Computed by ``sklearn.metrics.adjusted_rand_score``, in O(N + K_true K_pred).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels; any hashable values.

    Returns
    -------
    float
        1 for equal partitions, about 0 for random ones, at least -0.5.

    See Also
    --------
    clustering_error : Share of points under the best matching.

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], [5, 5, 3, 3])
    1.0
    """
    return float(adjusted_rand_score(*_code_pair(y_true, y_pred)))


def false_connection_rate(
    affinity: Any, y_true: Labels, *, weighted: bool = False
) -> float:
    """Return the share of the edges of a graph that join different true clusters.

    Zero is the paper's "no false connections". Takes O(number of edges) time and
    memory.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Non-negative weights. Off-diagonal nonzeros are edges; the diagonal and
        stored zeros are not. A directed graph may be given.
    y_true : array-like of shape (n_samples,)
        True labels; any hashable values.
    weighted : bool, default=False
        Whether to return the share of edge weight rather than of edges.

    Returns
    -------
    float
        Rate in [0, 1]; 0 for a graph without edges.

    See Also
    --------
    connectivity : Whether clusters hold together.

    Examples
    --------
    >>> affinity = [[0, 3, 1], [3, 0, 0], [1, 0, 0]]
    >>> false_connection_rate(affinity, [0, 0, 1])
    0.5
    >>> false_connection_rate(affinity, [0, 0, 1], weighted=True)
    0.25
    """
    codes = _codes("y_true", y_true)
    edges = _edges(affinity, len(codes)).tocoo()
    weights = edges.data if weighted else np.ones(edges.nnz)
    false = codes[edges.row] != codes[edges.col]
    return float(weights[false].sum() / weights.sum()) if edges.nnz else 0.0


def connectivity(affinity: Any, y_true: Labels) -> NDArray[np.float64]:
    r"""Measure how well connected the points of each true cluster are.

    Return the second-smallest eigenvalue of :math:`I - D^{-1/2} W D^{-1/2}`, where W is
    the affinity within the cluster without its diagonal, and D is the diagonal matrix
    of its row sums.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Symmetric non-negative weights.
    y_true : array-like of shape (n_samples,)
        True labels; any hashable values.

    Returns
    -------
    ndarray of shape (n_clusters,)
        One value per cluster, in sorted order of the labels (or in order of first
        appearance if labels cannot be sorted). Exactly 0 if the cluster is in pieces,
        where an isolated point counts as a piece; n / (n - 1) for a complete graph. A
        single point is connected but has no second eigenvalue: it gets 1, the limit of
        large complete graphs.

    See Also
    --------
    false_connection_rate : Edges between clusters.

    Notes
    -----
    Connected components are found first, so eigenvalue 0 is simple and its vector
    :math:`D^{1/2} 1` is moved out of the way. Up to 500 points the solver is dense.
    Beyond that, Lanczos is tried (fast on expanders), then a sparse factorisation (fast
    on long thin graphs), each accepted only with a small residual, and finally the
    dense solver.

    Examples
    --------
    >>> affinity = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    >>> connectivity(affinity, [0, 0, 1, 1]).round(6)
    array([2., 0.])
    """
    codes = _codes("y_true", y_true)
    graph = _edges(affinity, len(codes))
    gap, largest = abs(graph - graph.T).max(), graph.max()
    if gap > 1e-6 * largest:
        raise ValueError(
            f"affinity and its transpose differ by {gap:.3g}, above 1e-6 of its max "
            f"{largest:.3g}; pass (affinity + affinity.T) / 2"
        )
    graph = (graph + graph.T) / 2
    members = (np.flatnonzero(codes == k) for k in range(codes.max() + 1))
    return np.array([_algebraic_connectivity(graph[i][:, i]) for i in members])


def principal_angles(U: Basis, V: Basis) -> NDArray[np.float64]:
    """Return the principal angles between two subspaces, smallest first.

    Takes O(n_features dim^2) time. Angles below pi/4 come from sines, the others from
    cosines, so all are accurate to rounding (scipy's `subspace_angles` is not when both
    occur).

    Parameters
    ----------
    U, V : ndarrays of shape (n_features, dim_u) and (n_features, dim_v)
        Orthonormal bases.

    Returns
    -------
    ndarray of shape (min(dim_u, dim_v),)
        Angles in radians, ascending.

    See Also
    --------
    subspace_affinity : Summarises the angles in one number.

    Examples
    --------
    >>> import numpy as np
    >>> U, V = np.array([[[1.0], [0.0]], [[np.cos(1e-8)], [np.sin(1e-8)]]])
    >>> f"{principal_angles(U, V)[0]:.6e}"
    '1.000000e-08'
    """
    frames = [np.linalg.qr(basis)[0] for basis in _check_bases([U, V])]
    small, large = sorted(frames, key=lambda basis: basis.shape[1])
    overlap = large.T @ small
    cosines = np.minimum(svdvals(overlap), 1.0)
    sines = np.minimum(svdvals(small - large @ overlap)[::-1], 1.0)
    return np.where(cosines**2 > 0.5, np.arcsin(sines), np.arccos(cosines))


def subspace_affinity(U: Basis, V: Basis) -> float:
    r"""Return the affinity of two subspaces.

    It is :math:`\|U^T V\|_F / \sqrt{\min(d_u, d_v)}`: 1 if one subspace contains the
    other, 0 if they are orthogonal. This is the definition of the EKSS paper (see
    `clustering_error`); it takes O(n_features dim_u dim_v) time.

    Parameters
    ----------
    U, V : ndarrays of shape (n_features, dim_u) and (n_features, dim_v)
        Orthonormal bases.

    Returns
    -------
    float
        Root mean square of the cosines of the principal angles.

    See Also
    --------
    principal_angles : All angles.
    subspace_affinities : Affinities of all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> round(subspace_affinity(np.eye(4)[:, :2], np.eye(4)[:, 1:3]), 6)
    0.707107
    """
    return float(subspace_affinities([U, V])[0, 1])


def subspace_affinities(bases: Sequence[Basis] | Basis) -> NDArray[np.float64]:
    """Return the affinity of every pair of subspaces (see `subspace_affinity`).

    Takes O(n_features S^2) time and O(S^2) memory, where S is the sum of the
    dimensions.

    Parameters
    ----------
    bases : sequence of ndarrays of shape (n_features, dim_k)
        Orthonormal bases; the dimensions may differ.

    Returns
    -------
    ndarray of shape (n_subspaces, n_subspaces)
        Symmetric, with ones on the diagonal.

    See Also
    --------
    subspace_affinity : Affinity of one pair.

    Examples
    --------
    >>> import numpy as np
    >>> subspace_affinities([np.eye(4)[:, :2], np.eye(4)[:, 1:2]])
    array([[1., 1.],
           [1., 1.]])
    """
    checked = _check_bases(bases)
    dims = np.array([basis.shape[1] for basis in checked])
    starts = np.cumsum(dims) - dims
    stacked = np.concatenate(checked, axis=1)
    rows = np.add.reduceat((stacked.T @ stacked) ** 2, starts, axis=0)
    energies = np.add.reduceat(rows, starts, axis=1)
    affinities = np.sqrt(energies / np.minimum.outer(dims, dims))
    np.fill_diagonal(affinities, 1.0)
    return (affinities + affinities.T) / 2


def _algebraic_connectivity(graph: sp.csr_array) -> float:
    if (n := graph.shape[0]) == 1:
        return 1.0
    if connected_components(graph, directed=False, return_labels=False) > 1:
        return 0.0
    root_degrees = np.sqrt(graph.sum(axis=1))
    scale = sp.diags_array(1 / root_degrees)
    similarity = sp.csr_array(scale @ graph @ scale)
    null = root_degrees / np.linalg.norm(root_degrees)
    for solve in (_lanczos, _shift_invert) if n > _DENSE_LIMIT else ():
        vector = solve(similarity, null)
        if vector is not None:
            value = _rayleigh(graph, root_degrees, vector)
            residual = (1 - value) * vector - similarity @ vector
            if np.linalg.norm(residual) <= max(1e-8 * value, 1e-12):
                return value
    moved = similarity.toarray() - 3 * np.outer(null, null)
    return _rayleigh(graph, root_degrees, top_eigenpairs(moved, 1)[1][:, 0])


def _rayleigh(
    graph: sp.csr_array, root_degrees: NDArray[Any], vector: NDArray[Any]
) -> float:
    """Return half the sum of w_ij (f_i - f_j)^2 for f = vector / root_degrees."""
    edges = graph.tocoo()
    f = vector / root_degrees
    return float(edges.data @ (f[edges.row] - f[edges.col]) ** 2 / 2)


def _lanczos(similarity: sp.csr_array, null: NDArray[Any]) -> NDArray[Any] | None:
    """Return the top vector of the similarity, null vector moved from 1 to -2."""
    return _top_vector(lambda x: similarity @ x - 3 * null * (null @ x), null)


def _shift_invert(similarity: sp.csr_array, null: NDArray[Any]) -> NDArray[Any] | None:
    """Return the top vector of the projected inverse of the shifted Laplacian."""
    shifted = sp.csc_array(sp.eye_array(len(null)) * (1 + 1e-9) - similarity)
    symmetric = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", options=symmetric)

    def apply(x: NDArray[Any]) -> NDArray[Any]:
        solved = factor.solve(x - null * (null @ x))
        return solved - null * (null @ solved)

    return _top_vector(apply, null)


def _top_vector(apply: Any, null: NDArray[Any]) -> NDArray[Any] | None:
    """Return the top vector orthogonal to `null`; None if Lanczos does not converge."""
    n = len(null)
    start = np.random.default_rng(0).standard_normal(n)
    operator = LinearOperator((n, n), matvec=lambda x: apply(x.ravel()), dtype=float)
    try:
        vectors = eigsh(operator, k=1, which="LA", v0=start, ncv=40, maxiter=50)[1]
    except ArpackError:
        return None
    vector = vectors[:, 0] - null * (null @ vectors[:, 0])
    return vector / np.linalg.norm(vector)


def _edges(affinity: Any, n_samples: int) -> sp.csr_array:
    """Return the affinity as a new CSR array without diagonal and stored zeros."""
    coo = sp.coo_array(affinity, dtype=np.float64, copy=True)
    if coo.shape != (n_samples, n_samples):
        raise ValueError(
            f"affinity has shape {coo.shape}; pass ({n_samples}, {n_samples}), one row "
            "and column per label"
        )
    coo.sum_duplicates()
    bad = coo.data[~((coo.data >= 0) & (coo.data < np.inf))]
    if bad.size:
        need = "finite entries of at least 0, such as abs(affinity)"
        raise ValueError(f"affinity has the entry {bad[0]}; pass {need}")
    coo.data[coo.row == coo.col] = 0
    coo.eliminate_zeros()
    return coo.tocsr()


def _check_bases(bases: Iterable[Basis]) -> list[NDArray[np.float64]]:
    """Return the bases in double precision; refuse any that are not orthonormal."""
    given = [np.asarray(basis) for basis in bases]
    shapes = [basis.shape for basis in given]
    heights = {shape[:1] for shape in shapes}
    if len(heights) != 1 or any(len(s) != 2 or s[1] == 0 for s in shapes):
        need = "at least 1 array (n_features, dim), all with the same n_features"
        raise ValueError(f"bases have shapes {shapes}; pass {need} and dim at least 1")
    exact = [basis.astype(np.float64) for basis in given]
    for k, basis in enumerate(exact):
        gap = np.abs(basis.T @ basis - np.eye(basis.shape[1])).max()
        limit = 1e-3 if given[k].dtype == np.float32 else 1e-6
        if not gap <= limit:
            found = f"basis {k} is off orthonormal by {gap:.3g}, above {limit}"
            raise ValueError(f"{found}; pass numpy.linalg.qr(basis)[0]")
    return exact


def _code_pair(y_true: Labels, y_pred: Labels) -> tuple[NDArray[Any], NDArray[Any]]:
    true, pred = _codes("y_true", y_true), _codes("y_pred", y_pred)
    if len(true) != len(pred):
        counts = f"y_true has {len(true)} labels but y_pred has {len(pred)}"
        raise ValueError(f"{counts}; pass one of each per point")
    return true, pred


def _codes(name: str, labels: Labels) -> NDArray[np.intp]:
    """Return labels as integers 0, 1, ..., in sorted order of the labels if any."""
    # Not numpy.asarray: it would turn 1 and "1" into the same label.
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        raise ValueError(f"{name} holds arrays or lists; pass 1-D labels") from error
    if not values or any(label != label for label in distinct):
        found = "a NaN label" if values else "0 labels"
        raise ValueError(f"{name} has {found}; pass at least 1 label and no NaN")
    with suppress(TypeError):  # mixed types have no order: first come, first coded
        distinct = sorted(distinct)
    position = {label: code for code, label in enumerate(distinct)}
    return np.array([position[label] for label in values], dtype=np.intp)
