"""Scaling of rows, and taking directions out of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Scale every row to unit length, x / ||x||; zero rows stay zero.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)

    Returns
    -------
    scaled : ndarray of shape (n_samples, n_features)
        Of the dtype of ``points``.

    Notes
    -----
    Rows are divided by their largest entry first, so that no square over- or
    underflows. O(n_samples n_features) time.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.core.scaling import unit_rows
    >>> unit_rows(np.array([[3e200, 4e200], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    largest = np.abs(points).max(axis=1, keepdims=True)
    points = points / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(norms > 0, norms, 1)


def without(
    points: NDArray[np.floating],
    removed: NDArray[np.floating] | None,
    *,
    unit: bool,
) -> NDArray[np.floating]:
    """Return points less their part along some directions.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    removed : ndarray of shape (n_removed, n_features) or None
        Orthonormal rows; None is no direction.
    unit : bool
        Whether points are scaled to unit length, before and after.

    Returns
    -------
    rest : ndarray of shape (n_samples, n_features)
        Rows of which nothing but rounding errors would be left are zero.
    """
    points = unit_rows(points) if unit else points
    if removed is None or not len(removed):
        return points
    directions = removed.astype(points.dtype, copy=False)
    rest = points - (points @ directions.T) @ directions
    # Scaled to unit length, rounding errors would look like points.
    smallest = points.shape[1] * np.finfo(points.dtype).eps
    nothing = _lengths(rest) <= smallest * _lengths(points)
    rest[nothing] = 0
    return unit_rows(rest) if unit else rest


def _lengths(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the largest entry of each row, which cannot overflow as squares can."""
    return np.abs(points).max(axis=1)
