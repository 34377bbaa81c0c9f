"""K-means on the rows of an embedding; of many rows a sample for the restarts."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

# Up to so many rows every restart sees all of them; beyond, a sample of that size.
ALL_ROWS = 50_000


def kmeans_labels(
    rows: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    """Cluster rows by k-means; coinciding rows may leave clusters empty.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    n_clusters : int
    n_init : int
        Restarts.
    seed : int

    Returns
    -------
    labels : ndarray of shape (n_points,)

    Notes
    -----
    Beyond ``ALL_ROWS`` rows the restarts run on a random sample of so many, and the
    best one is the start of a single run on all rows. So the cost of a restart does
    not grow with the number of points.

    Examples
    --------
    >>> import numpy as np
    >>> kmeans_labels(np.array([[0.0], [0.1], [5.0]]), 2, 1, 0)[:2].tolist() in (
    ...     [0, 0],
    ...     [1, 1],
    ... )
    True
    """
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters is for the caller to deal with.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if len(rows) <= max(ALL_ROWS, n_clusters):
            kmeans = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(rows)
            return kmeans.labels_.astype(np.int64)
        rng = np.random.default_rng(seed)
        size = max(ALL_ROWS, n_clusters)
        sample = np.sort(rng.choice(len(rows), size, replace=False))
        best = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(rows[sample])
        whole = KMeans(n_clusters, init=best.cluster_centers_, n_init=1).fit(rows)
        return whole.labels_.astype(np.int64)
