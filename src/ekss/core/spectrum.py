"""Leading right singular vectors, exact, by the smaller Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ekss.core.eigen import top_eigenpairs

_BLOCK_ENTRIES = 2**22
SMALL_SIDE = 256


@dataclass(frozen=True)
class Spectrum:
    """Leading right singular vectors as rows, their singular values, ||X||^2."""

    directions: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    total: float


def leading_spectrum(
    X: NDArray[np.floating],
    n_components: int,
    centre: NDArray[np.float64] | None = None,
) -> Spectrum:
    """Return the leading right singular vectors of X, or of X - centre.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_components : int
        At most min(n_samples, n_features).
    centre : ndarray of shape (n_features,), default=None
        Subtracted from every row.

    Returns
    -------
    spectrum : Spectrum
        ``directions`` of shape (n_components, n_features), orthonormal also where X
        has a lower rank; the largest entry of each in absolute value is positive.

    Notes
    -----
    All sums are in float64. With min(n_samples, n_features) up to 256 this is a
    singular value decomposition; beyond, the leading eigenvectors of X^T X or X X^T,
    whichever is smaller: O(n_samples n_features m + m^3), m the smaller side. The
    Gram matrix squares the condition number: singular values under 1e-8 of the
    largest, and the directions that belong to them, are then rounding errors.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.core.spectrum import leading_spectrum
    >>> found = leading_spectrum(np.diag([1.0, -3.0]), 1)
    >>> found.directions + 0.0
    array([[0., 1.]])
    >>> found.singular_values
    array([3.])
    """
    shift = np.zeros(1) if centre is None else centre
    # Entries near 1 keep squares from over- or underflowing; powers of two round none.
    scale = float(np.exp2(np.floor(np.log2(max(float(np.abs(X).max()), 1e-300)))))
    n_samples, n_features = X.shape
    if min(n_samples, n_features) <= SMALL_SIDE:
        found = _by_svd((X.astype(np.float64) - shift) / scale, n_components)
    elif n_features <= n_samples:
        found = _by_inner_products_of_columns(X, shift, scale, n_components)
    else:
        found = _by_inner_products_of_rows(
            (X.astype(np.float64) - shift) / scale, n_components
        )
    return Spectrum(
        _with_positive_peaks(found.directions),
        found.singular_values * scale,
        found.total * scale * scale,
    )


def _by_svd(X: NDArray[np.float64], k: int) -> Spectrum:
    _, values, directions = linalg.svd(X, full_matrices=False)
    return Spectrum(directions[:k], values[:k], float(values @ values))


def _by_inner_products_of_columns(
    X: NDArray[np.floating], shift: NDArray[np.float64], scale: float, k: int
) -> Spectrum:
    """Sum X^T X over blocks of rows, so that no float64 copy of X is made."""
    gram = np.zeros((X.shape[1], X.shape[1]))
    step = max(1, _BLOCK_ENTRIES // X.shape[1])
    for first in range(0, len(X), step):
        rows = (X[first : first + step].astype(np.float64) - shift) / scale
        gram += rows.T @ rows
    total = float(np.trace(gram))
    values, vectors = top_eigenpairs(gram, k)
    return Spectrum(vectors.T, np.sqrt(np.maximum(values, 0)), total)


def _by_inner_products_of_rows(X: NDArray[np.float64], k: int) -> Spectrum:
    gram = X @ X.T
    total = float(np.trace(gram))
    values, vectors = top_eigenpairs(gram, k)
    # The columns of X^T U are orthogonal already; QR scales them, and completes the
    # basis where a singular value is zero.
    directions, _ = linalg.qr(X.T @ vectors, mode="economic")
    return Spectrum(directions.T, np.sqrt(np.maximum(values, 0)), total)


def _with_positive_peaks(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn every row so that its largest entry in absolute value is positive."""
    peaks = np.abs(directions).argmax(axis=1)
    signs = np.where(directions[np.arange(len(directions)), peaks] < 0, -1.0, 1.0)
    return directions * signs[:, None]
