"""The graph of a representation: points written as combinations of other points."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def affinity_of(
    coefficients: sparse.csr_array, *, equal_rows: bool = True
) -> sparse.csr_array:
    """Add the magnitudes and their transpose, rows scaled to a maximum of 1 or not.

    Parameters
    ----------
    coefficients : csr_array of shape (n_samples, n_samples)
        With zero diagonal.
    equal_rows : bool, default=True
        Divide each row by its largest magnitude first, so that every point counts
        the same; otherwise badly fitted points, whose coefficients are small, count
        less.

    Returns
    -------
    affinity : csr_array of shape (n_samples, n_samples)
        Symmetric and non-negative, float64.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> affinity_of(csr_array([[0.0, -0.5], [0.2, 0.0]])).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    size = sparse.csr_array(abs(coefficients.astype(np.float64)))
    if equal_rows:
        largest = size.max(axis=1).toarray().ravel()
        size = sparse.diags_array(1 / np.where(largest > 0, largest, 1)) @ size
    affinity = sparse.csr_array(size + size.T)
    affinity.sort_indices()
    return affinity
