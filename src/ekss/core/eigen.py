"""Leading eigenpairs of a dense symmetric matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

# From this size on it pays to compute only the eigenvectors that are wanted: three
# times faster for few of them. Below, NumPy is as fast and lets other threads run.
_LARGE = 256
# Relative errors of the eigenpairs of LAPACK are some thousand units of rounding at
# most, about 1e-13; larger ones mean that it failed.
_LARGEST_ERROR = 1e-11


def top_eigenpairs(
    matrix: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues, largest first, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and finite.
    count : int
        How many pairs, at most n.

    Returns
    -------
    values : ndarray of shape (count,)
    vectors : ndarray of shape (n, count)
        Orthonormal columns.

    Notes
    -----
    LAPACK computes part of the eigenvectors by bisection and inverse iteration. On
    matrices with many equal eigenvalues, such as those of ideal graphs, that may end
    in an error or return fewer vectors than were asked for, depending on the processor.
    So its result is checked, and if it fails the whole matrix is decomposed by divide
    and conquer, which has no such weakness. O(n^3) time.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = top_eigenpairs(np.diag([1.0, 3.0, 2.0]), 2)
    >>> values, np.abs(vectors[1])
    (array([3., 2.]), array([1., 0.]))
    """
    if count == 0:
        return np.empty(0), np.empty((len(matrix), 0))
    if len(matrix) >= _LARGE and count < len(matrix):
        found = _by_bisection(matrix, count)
        if found is not None:
            return found
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def _by_bisection(
    matrix: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Compute only the pairs that are wanted, or return None if that fails."""
    wanted = (len(matrix) - count, len(matrix) - 1)
    try:
        values, vectors = eigh(matrix, subset_by_index=wanted, check_finite=False)
    except LinAlgError:
        return None
    if vectors.shape[1] != count:
        return None
    residual = np.abs(matrix @ vectors - vectors * values).max()
    skewness = np.abs(vectors.T @ vectors - np.eye(count)).max()
    size = np.abs(matrix).sum(axis=1).max()
    if not (residual <= _LARGEST_ERROR * size and skewness <= _LARGEST_ERROR):
        return None
    return values[::-1], vectors[:, ::-1]
