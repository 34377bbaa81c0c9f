"""Elastic net self-expression by the oracle-guided active set method (ORGEN)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.core.elastic_net import solve_elastic_net

_START = 32  # neighbours in the first active set, and least number added in a round
_BLOCK_ENTRIES = 2**22  # inner products held at once
_LARGEST_BLOCK = 256
_SMALLEST_BLOCK = 16
_ORTHOGONAL = 1e-150  # inner products of points whose largest entry is about 1
_ROUNDING = 8  # multiples of the machine epsilon that inner products may be off


@dataclass(frozen=True)
class ElasticNetRows:
    """Elastic net representations of some points by all the others.

    Attributes
    ----------
    coefficients : csr_array of shape (n_rows, n_samples)
        Row r represents the point ``rows[r]``; its own column is empty.
    gammas : ndarray of shape (n_rows,)
        Weight of the squared residual in each problem; 0 for points orthogonal to
        all others, whose representation is empty.
    n_iter : ndarray of shape (n_rows,)
        Rounds of the active set.
    converged : ndarray of shape (n_rows,), bool
        Whether the optimality conditions hold to the tolerance.
    """

    coefficients: sparse.csr_array
    gammas: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class _Problem:
    """One point's problem divided by gamma, so that the residual has weight 1."""

    point: NDArray[np.float64]
    l1: float
    ridge: float
    tolerance: float


@dataclass(frozen=True)
class _Code:
    """Coefficients on an active set; all others are zero."""

    active: NDArray[np.intp]
    coef: NDArray[np.float64]
    solved: bool


def elastic_net_rows(
    X: NDArray[np.floating],
    rows: NDArray[np.integer],
    *,
    l1_ratio: float,
    gamma: float,
    max_iter: int = 50,
    tol: float = 1e-6,
) -> ElasticNetRows:
    r"""Represent points by few other points: the elastic net of [1]_.

    For each row j it solves

    .. math:: \min_{c : c_j = 0} \lambda \|c\|_1 + \frac{1 - \lambda}{2} \|c\|_2^2
        + \frac{\gamma_j}{2} \|x_j - X^T c\|_2^2, \qquad
        \gamma_j = \gamma \frac{\lambda}{\max_{i \ne j} |\langle x_i, x_j \rangle|}.

    With the oracle point :math:`\delta = \gamma_j (x_j - X^T c)` of the solution,
    c is zero outside the oracle region :math:`|\langle x_i, \delta \rangle| >
    \lambda`. So the problem is solved on a small active set, the points of the
    oracle region outside it are found by one product with all points, the active
    set becomes the support and the strongest of these, and so on until there are
    none left.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points; the method is meant for unit rows, zero rows are never used.
    rows : ndarray of shape (n_rows,)
        Points to represent; see :func:`block_size` for how many at once.
    l1_ratio : float
        The paper's lambda in (0, 1]; 1 is the lasso.
    gamma : float
        Weight of the residual as a multiple of the largest weight for which the
        solution is zero; so the solution is zero for ``gamma <= 1``.
    max_iter : int, default=50
        Rounds at most.
    tol : float, default=1e-6
        Allowed excess of :math:`|\langle x_i, \delta \rangle|` over lambda for zero
        coefficients, as a share of lambda; rounding of ``X.dtype`` is allowed beside.

    Returns
    -------
    ElasticNetRows
        Coefficients, weights, rounds and convergence.

    Notes
    -----
    A round costs O(n_rows n_samples n_features) time in one matrix product and
    O(a^2 n_features + s^3) per row for active sets of a and supports of s points;
    memory is O(n_rows n_samples). The small problems are solved in float64.

    References
    ----------
    .. [1] C. You, C.-G. Li, D. P. Robinson, R. Vidal, "Oracle Based Active Set
       Algorithm for Scalable Elastic Net Subspace Clustering", CVPR, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> found = elastic_net_rows(X, np.array([0]), l1_ratio=1.0, gamma=2.0)
    >>> found.coefficients.toarray().round(6)
    array([[0. , 0.4, 0. ]])
    """
    similarity = _similarity(X, X[rows], rows)
    largest = similarity.max(axis=1).astype(np.float64)
    # Squares of smaller products would underflow: such points are orthogonal.
    largest[largest < _ORTHOGONAL] = 0
    problems = _make_problems(X, rows, largest / gamma, l1_ratio, tol)
    codes = _start_codes(similarity)
    n_iter = np.zeros(len(rows), np.int64)
    live = np.flatnonzero(largest > 0) if gamma > 1 else np.array([], np.intp)
    while len(live) and n_iter.max() < max_iter:
        n_iter[live] += 1
        rests = np.empty((len(live), X.shape[1]), X.dtype)
        for place, row in enumerate(live):
            codes[row], rests[place] = _solve_on_active(X, codes[row], problems[row])
        similarity = _similarity(X, rests, rows[live])
        grown = np.zeros(len(live), bool)
        for place, row in enumerate(live):
            limit = problems[row].l1 + problems[row].tolerance
            codes[row], grown[place] = _grow(codes[row], similarity[place], limit)
        live = live[grown]
    gammas = np.zeros(len(rows))
    np.divide(gamma * l1_ratio, largest, out=gammas, where=largest > 0)
    converged = np.array([code.solved for code in codes])
    converged[live] = False
    return ElasticNetRows(
        _to_csr(codes, len(X), X.dtype),
        gammas,
        n_iter,
        converged,
    )


def block_size(n_samples: int) -> int:
    """Return how many rows to solve at once: about 4 million inner products."""
    return int(np.clip(_BLOCK_ENTRIES // n_samples, _SMALLEST_BLOCK, _LARGEST_BLOCK))


def _similarity(
    X: NDArray[np.floating], vectors: NDArray[np.floating], own: NDArray[np.integer]
) -> NDArray[np.floating]:
    """Absolute inner products with all points; -1 for each vector's own point."""
    products = vectors @ X.T
    np.abs(products, out=products)
    products[np.arange(len(own)), own] = -1
    return products


def _make_problems(
    X: NDArray[np.floating],
    rows: NDArray[np.integer],
    l1: NDArray[np.float64],
    l1_ratio: float,
    tol: float,
) -> list[_Problem]:
    """Scale the problems; products smaller than their rounding count as zero."""
    points = X[rows].astype(np.float64)
    longest = np.sqrt(np.einsum("ij,ij->i", X, X).max())
    rounding = _ROUNDING * np.finfo(X.dtype).eps * float(longest)
    slack = np.maximum(tol * l1, rounding * np.linalg.norm(points, axis=1))
    ridge = l1 * ((1 - l1_ratio) / l1_ratio)
    return [_Problem(*fields) for fields in zip(points, l1, ridge, slack, strict=True)]


def _start_codes(similarity: NDArray[np.floating]) -> list[_Code]:
    """Begin with zero coefficients on the points of largest inner product."""
    size = min(_START, similarity.shape[1] - 1)
    strongest = np.argpartition(-similarity, size - 1, axis=1)[:, :size]
    return [_Code(active, np.zeros(size), True) for active in strongest]


def _solve_on_active(
    X: NDArray[np.floating], code: _Code, problem: _Problem
) -> tuple[_Code, NDArray[np.float64]]:
    """Solve on the active set, starting from the code; return code and residual."""
    atoms = X[code.active].astype(np.float64)
    coef = code.coef.copy()
    solved = solve_elastic_net(
        atoms @ atoms.T,
        atoms @ problem.point,
        problem.l1,
        problem.ridge,
        problem.tolerance,
        coef,
    )
    return _Code(code.active, coef, solved), problem.point - coef @ atoms


def _grow(
    code: _Code, similarity: NDArray[np.floating], limit: float
) -> tuple[_Code, bool]:
    """Keep the support, add the strongest points of the oracle region outside it."""
    similarity[code.active] = -1
    outside = np.flatnonzero(similarity > limit)
    support = np.flatnonzero(code.coef)
    most = max(_START, len(support) // 2)
    if len(outside) > most:
        order = np.argpartition(-similarity[outside], most - 1)
        outside = outside[order[:most]]
    active = np.append(code.active[support], outside)
    coef = np.append(code.coef[support], np.zeros(len(outside)))
    return _Code(active, coef, code.solved), len(outside) > 0


def _to_csr(codes: list[_Code], n_samples: int, dtype: np.dtype) -> sparse.csr_array:
    """Stack codes as the rows of a sparse matrix with ascending columns."""
    counts = [np.count_nonzero(code.coef) for code in codes]
    indices = np.concatenate([code.active[code.coef != 0] for code in codes])
    values = np.concatenate([code.coef[code.coef != 0] for code in codes])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    matrix = sparse.csr_array(
        # 32-bit indices, which scikit-learn asks of precomputed affinities
        (values.astype(dtype), indices.astype(np.int32), indptr.astype(np.int32)),
        shape=(len(codes), n_samples),
    )
    matrix.sort_indices()
    return matrix
