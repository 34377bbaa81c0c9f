"""Sparse subspace clustering: each point as a sparse combination of the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.core.admm import AdmmSystem, Objective, prepare_system, run_block

_BLOCK_ENTRIES = 2**21
_SMALLEST_BLOCK, _LARGEST_BLOCK = 64, 256
_SCALE_ENTRIES = 2**22


@dataclass(frozen=True)
class Codes:
    """Sparse coefficients of some or all points.

    Attributes
    ----------
    coefficients : csr_array of shape (n_points, n_samples)
        Row i expresses point i by the others.
    n_iter : ndarray of shape (n_points,)
        Iterations of each point.
    converged : ndarray of shape (n_points,), bool
        Whether the coefficients violate the optimality conditions by at most ``tol``.
    """

    coefficients: sparse.csr_array
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


def sparse_codes(
    X: NDArray[np.floating],
    objective: Objective,
    *,
    max_iter: int = 1000,
    tol: float = 1e-3,
    penalty: float | None = None,
    polish: bool = True,
    block: int | None = None,
) -> Codes:
    r"""Express every point by a few others with ADMM.

    Minimises :math:`\|c_i\|_1 + \lambda_e \|e_i\|_1 + \frac{\lambda_z}{2}
    \|x_i - c_i X - e_i\|^2` subject to :math:`c_{ii} = 0` and, for affine subspaces,
    :math:`\sum_j c_{ij} = 1`, independently for every point i [1]_.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    objective : Objective
        Weights; :func:`make_objective` derives them from the data.
    max_iter : int, default=1000
    tol : float, default=1e-3
        A point is done when its coefficients violate the optimality conditions by at
        most ``tol``; see :func:`ekss.core.admm.violations`.
    penalty : float or None, default=None
        Penalty of the splitting; it sets the speed, not the converged codes. None
        chooses it, see :func:`ekss.core.admm.prepare_system`.
    polish : bool, default=True
        Whether an active set ends the iteration, exactly, where it can.
    block : int or None, default=None
        Points iterated at once; it changes memory and speed, not the result.

    Returns
    -------
    codes : Codes

    Notes
    -----
    An iteration of all points takes :math:`O(N^2 \min(N, 2D))` time (twice that with
    outliers). Memory is the factor of N min(N, 2 D) numbers, eleven arrays of
    ``block`` x N and the sparse result. Without outliers D is at most N.

    References
    ----------
    .. [1] E. Elhamifar and R. Vidal, "Sparse subspace clustering: algorithm, theory,
       and applications", IEEE TPAMI 35(11), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> codes = sparse_codes(X, Objective(noise=100.0), tol=1e-6, max_iter=2000)
    >>> codes.coefficients.toarray().round(2)
    array([[0.  , 0.5 , 0.  , 0.  ],
           [1.99, 0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.33],
           [0.  , 0.  , 2.99, 0.  ]])
    """
    n = len(X)
    block = block_size(n) if block is None else block
    system = prepare_system(X, objective, penalty)
    return join_codes(
        block_codes(
            system,
            np.arange(first, min(n, first + block)),
            max_iter=max_iter,
            tol=tol,
            polish=polish,
        )
        for first in range(0, n, block)
    )


def make_objective(
    X: NDArray[np.floating],
    alpha: float | None,
    alpha_outliers: float | None = None,
    *,
    affine: bool = False,
) -> Objective:
    r"""Scale the weights to the data.

    :math:`\lambda_z = \alpha_z / \min_i \max_{j \ne i} |\langle x_i, x_j \rangle|` and
    :math:`\lambda_e = \alpha_e / \min_i \max_{j \ne i} \|x_j\|_1`: without affine
    constraint, all coefficients of some point are zero unless :math:`\alpha > 1`.
    Points that are orthogonal to all others have zero coefficients whatever the
    weight and do not count.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    alpha : float or None
        :math:`\alpha_z`; None demands an exact fit up to outliers.
    alpha_outliers : float or None, default=None
        :math:`\alpha_e`; None leaves the outlier term out.
    affine : bool, default=False

    Returns
    -------
    objective : Objective
    """
    if alpha is None and alpha_outliers is None:
        raise ValueError(
            "alpha=None and alpha_outliers=None leave no term for the misfit; give at "
            "least one of them a number"
        )
    noise = outliers = np.inf
    if alpha is not None:
        noise = alpha / _inner_product_scale(X)
    if alpha_outliers is not None:
        # The largest norm but one: the largest is left out for its own point only.
        norms = np.sort(np.abs(X).sum(axis=1, dtype=np.float64))[-2:]
        outliers = alpha_outliers / (norms[0] or norms[-1] or 1.0)
    return Objective(float(noise), float(outliers), affine)


def block_codes(
    system: AdmmSystem,
    own: NDArray[np.int64],
    *,
    max_iter: int,
    tol: float,
    polish: bool = True,
    keep: float = 1.0,
) -> Codes:
    """Express the points ``own``, and keep the largest coefficients.

    Parameters
    ----------
    system : AdmmSystem
    own : ndarray of shape (n_points,)
        Which points.
    max_iter : int
    tol : float
    polish : bool, default=True
    keep : float, default=1.0
        Share of the coefficients kept, see :func:`keep_largest`.

    Returns
    -------
    codes : Codes
        With rows in the order of ``own``.
    """
    run = run_block(system, own, max_iter=max_iter, tol=tol, polish=polish)
    kept = keep_largest(sparse.csr_array(run.coefficients), keep)
    return Codes(kept, run.n_iter, run.converged)


def join_codes(blocks: Iterable[Codes]) -> Codes:
    """Put the codes of consecutive blocks of points below one another."""
    parts = list(blocks)
    return Codes(
        sparse.vstack([part.coefficients for part in parts], format="csr"),
        np.concatenate([part.n_iter for part in parts]),
        np.concatenate([part.converged for part in parts]),
    )


def keep_largest(coefficients: sparse.csr_array, share: float) -> sparse.csr_array:
    """Keep in each row the fewest entries with ``share`` of its sum of magnitudes.

    Parameters
    ----------
    coefficients : csr_array of shape (n_points, n_samples)
    share : float
        In (0, 1]; 1 keeps all.

    Returns
    -------
    kept : csr_array of shape (n_points, n_samples)

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> keep_largest(csr_array([[0.5, -0.3, 0.2], [0.0, 0.0, 0.1]]), 0.7).toarray()
    array([[ 0.5, -0.3,  0. ],
           [ 0. ,  0. ,  0.1]])
    """
    if share >= 1:
        return coefficients
    shape = coefficients.shape
    row = np.repeat(np.arange(shape[0]), np.diff(coefficients.indptr))
    size = np.abs(coefficients.data).astype(np.float64)
    order = np.lexsort((coefficients.indices, -size, row))
    row, size = row[order], size[order]
    totals = np.bincount(row, size, minlength=shape[0])
    before = np.cumsum(size) - size - (np.cumsum(totals) - totals)[row]
    # Rounding in the long sum must not keep an entry once the share is reached.
    chosen = before < (share - 1e-12) * totals[row]
    order, row = order[chosen], row[chosen]
    return sparse.csr_array(
        (coefficients.data[order], (row, coefficients.indices[order])), shape=shape
    )


def block_size(n_samples: int) -> int:
    """Return how many points to iterate at once: enough to keep BLAS busy."""
    return min(max(_BLOCK_ENTRIES // n_samples, _SMALLEST_BLOCK), _LARGEST_BLOCK)


def working_bytes(
    shape: tuple[int, int], itemsize: int, block: int, n_workers: int, outliers: bool
) -> int:
    """Bytes of the factor, its making, the blocks and the sparse result at its most.

    Parameters
    ----------
    shape : tuple of int
        (n_samples, n_features).
    itemsize : int
        Bytes of a number of the data.
    block : int
        Points iterated at once by one worker.
    n_workers : int
        Blocks in work at the same time.
    outliers : bool
        Whether the objective has the outlier term.
    """
    n, n_features = shape
    dims = n_features if outliers else min(n, n_features)
    inner = n if n <= 2 * dims else dims
    factor = inner * n + (dims * inner if outliers else 0)
    points = n * dims
    making = n * n_features + points + 3 * inner * inner + factor
    rows = 11 * n + (8 * dims if outliers else 0)
    # In general position a point has no more nonzeros; an entry has its column. Blocks,
    # their union, and the graph of magnitudes with its transpose and their sum.
    entries = n * min(n, dims + 1)
    result = entries * (2 * (itemsize + 4) + 4 * (8 + 4))
    blocks = itemsize * n_workers * block * rows
    return max(8 * making, blocks) + itemsize * (factor + points) + result


def _inner_product_scale(X: NDArray[np.floating]) -> float:
    """min_i max_j |<x_i, x_j>|, j not i, over the points for which it is not zero."""
    n = len(X)
    largest = np.empty(n)
    block = max(1, _SCALE_ENTRIES // n)
    for first in range(0, n, block):
        products = np.abs(X[first : first + block] @ X.T)
        row = np.arange(len(products))
        products[row, first + row] = 0
        largest[first : first + block] = products.max(axis=1)
    norms = np.linalg.norm(X, axis=1)
    rounding = 8 * np.finfo(X.dtype).eps * norms * norms.max()
    counted = largest[largest > rounding]
    return float(counted.min()) if len(counted) else 1.0
