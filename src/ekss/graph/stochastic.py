"""Graphs whose edges sum to 1 at every point: doubly stochastic affinities.

The nearest doubly stochastic matrix keeps the strong edges of a graph, drops the weak
ones, and gives every point the same degree, so that no point is a hub. It is found by
solving the dual problem, with one multiplier per point, by Newton steps on the edges
that are in use.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from ekss.graph.spectral import as_graph

# Added to the curvature of each multiplier, so that Newton steps exist where some sums
# can only be changed together; elsewhere at least 1 or 2 edges are in use.
_DAMPING = 1e-6
# Share of the descent predicted by the slope that a step must achieve (Armijo's rule).
_DESCENT = 1e-4
_SHORTEST_STEP = 1e-12
# Conjugate gradients solve a Newton step to the error of the sums, but no better than
# this share; beyond this number of rounds, the effort goes into the next step instead.
_NEWTON_ERROR, _ROUNDS = 0.1, 200


@dataclass(frozen=True)
class DoublyStochastic:
    """The nearest doubly stochastic matrix, and what proves that it is.

    Attributes
    ----------
    graph : csr_array of shape (n_points, n_points)
        Symmetric and non-negative; rows sum to 1. What the edges of a point cannot hold
        is on the diagonal.
    multipliers : ndarray of shape (n_points,)
        With multipliers a, entry (i, j) is the positive part of
        :math:`s W_{ij} - a_i - a_j`, wherever entries are allowed.
    factor : float
        The number s that the weights were multiplied by.
    violation : float
        The largest difference between the sum of a row and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import doubly_stochastic
    >>> found = doubly_stochastic(np.ones((3, 3)))
    >>> found.graph.sum(axis=1).round(6)
    array([1., 1., 1.])
    """

    graph: csr_array
    multipliers: NDArray[np.float64]
    factor: float
    violation: float


def doubly_stochastic(
    affinity: ArrayLike | Any,
    *,
    scale: float = 1.0,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> DoublyStochastic:
    r"""Find the doubly stochastic matrix that is nearest to a graph.

    Among all symmetric, non-negative matrices whose rows sum to 1 and that have entries
    only on the edges of the graph and on the diagonal, the one nearest to :math:`s W`
    in the Euclidean norm is found, as Lim, Vidal and Haeffele do for all pairs of
    points [1]_.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.
    scale : float, default=1.0
        Weights are first multiplied by s such that the largest weight of a point is
        ``scale`` on average over all points that have edges. Larger values leave fewer
        edges; towards 0 the remaining edges become equal.
    tol : float, default=1e-8
        Rows sum to 1 up to this error.
    max_iter : int, default=200
        Maximum number of Newton steps.

    Returns
    -------
    DoublyStochastic
        The matrix, its multipliers, the factor s and the largest error of a sum.

    Warns
    -----
    ConvergenceWarning
        If sums are not exact up to ``tol`` after ``max_iter`` steps.

    Notes
    -----
    The dual problem
    :math:`\min_a \frac12 \sum_{ij} [s W_{ij} - a_i - a_j]_+^2 + 2 \sum_i a_i` over the
    allowed entries is convex and smooth. Each step takes a few tens of products with
    the edges in use; memory is that of the graph.

    References
    ----------
    .. [1] D. Lim, R. Vidal, B. D. Haeffele, "Doubly Stochastic Subspace Clustering",
       arXiv:2011.14859, 2020.

    Examples
    --------
    A path of three points: the middle one cannot give both ends a sum of 1.

    >>> import numpy as np
    >>> path = np.array([[0, 2, 0], [2, 0, 2], [0, 2, 0]])
    >>> doubly_stochastic(path).graph.toarray().round(3)
    array([[0.5, 0.5, 0. ],
           [0.5, 0. , 0.5],
           [0. , 0.5, 0.5]])
    """
    if not 0 < scale < np.inf:
        raise ValueError(f"scale={scale} is not positive and finite; choose above 0")
    graph = as_graph(affinity)
    n_points = graph.shape[0]
    largest = graph.max(axis=1).toarray().ravel() if graph.nnz else np.zeros(n_points)
    factor = scale / largest[largest > 0].mean() if graph.nnz else scale
    # The diagonal is listed with weight 0: a stored 1 is subtracted again.
    listed = coo_array(graph + eye_array(n_points))
    row, column = listed.row, listed.col
    weights = factor * np.where(row == column, 0.0, listed.data)

    def entries_at(a: NDArray[np.float64]) -> NDArray[np.float64]:
        # In this order the entries are exactly symmetric.
        return np.maximum(weights - (a[row] + a[column]), 0.0)

    def dual(a: NDArray[np.float64], entries: NDArray[np.float64]) -> float:
        return float(entries @ entries / 2 + 2 * a.sum())

    def excess_of(entries: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(row, entries, n_points).astype(np.float64) - 1

    # Here each diagonal entry is 1, so that all rows sum to at least 1.
    a = np.full(n_points, -0.5)
    entries = entries_at(a)
    for _ in range(max_iter):
        excess = excess_of(entries)
        if np.abs(excess).max(initial=0.0) <= tol:
            break
        used = entries > 0
        step = _newton_step(row[used], column[used], excess)
        # The slope of the dual along the step; its gradient is -2 excess.
        slope, value, share = -2 * float(excess @ step), dual(a, entries), 1.0
        while True:
            tried = a + share * step
            entries = entries_at(tried)
            # Close to the minimum the dual changes only by rounding errors.
            enough = value + _DESCENT * share * slope + 1e-14 * abs(value)
            if dual(tried, entries) <= enough or share < _SHORTEST_STEP:
                break
            share /= 2
        a = tried
    violation = float(np.abs(excess_of(entries)).max(initial=0.0))
    if violation > tol:
        warnings.warn(
            f"rows sum to 1 up to {violation:.2g} only (tol={tol}) after "
            f"max_iter={max_iter} steps; raise max_iter or tol, or lower scale={scale}",
            ConvergenceWarning,
            stacklevel=2,
        )
    found = csr_array((entries, (row, column)), shape=graph.shape)
    found.eliminate_zeros()
    found.sort_indices()
    return DoublyStochastic(found, a, float(factor), violation)


def _newton_step(
    row: NDArray[np.integer], column: NDArray[np.integer], excess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the change of the multipliers that would remove the excess of all rows."""
    n_points = len(excess)
    used = csr_array((np.ones(len(row)), (row, column)), shape=2 * (n_points,))
    counts = np.bincount(row, minlength=n_points).astype(np.float64)
    # A row without entries moves as if its diagonal entry were in use.
    damped = np.where(counts > 0, counts + _DAMPING, 1.0)
    curvature = damped + used.diagonal()
    step, _ = cg(
        LinearOperator(2 * (n_points,), lambda x: used @ x + damped * x, dtype=float),
        excess,
        rtol=min(_NEWTON_ERROR, float(np.abs(excess).max())),
        maxiter=_ROUNDS,
        M=LinearOperator(2 * (n_points,), lambda x: x / curvature, dtype=float),
    )
    return step
