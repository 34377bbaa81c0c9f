"""Scaling of rows."""

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
