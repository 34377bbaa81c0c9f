"""Graphs that join every point to the points by which it is expressed."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.core.ensc import block_size, elastic_net_rows
from ekss.core.low_rank import singular_parts
from ekss.core.representation import affinity_of
from ekss.core.tsc import ROWS_AT_ONCE, nearest_by_angle
from ekss.graph.votes import Neighbours, symmetric_graph
from ekss.runtime.workers import Workers, map_blocks


def elastic_net_graph(
    points: NDArray[np.floating],
    *,
    l1_ratio: float,
    gamma: float,
    workers: Workers | None = None,
) -> sparse.csr_array:
    """Return the graph of elastic net coefficients: few edges per point.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Points of unit length.
    l1_ratio, gamma : float
        As in :class:`ekss.EnSC`.
    workers : Workers, default=None
        Runs blocks of points in parallel; None means one thread.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric, non-negative, with zero diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import elastic_net_graph
    >>> points = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> elastic_net_graph(points, l1_ratio=1.0, gamma=2.0).toarray().round(2)
    array([[0.  , 0.95, 0.  ],
           [0.95, 0.  , 0.67],
           [0.  , 0.67, 0.  ]])
    """
    solve = partial(elastic_net_rows, points, l1_ratio=l1_ratio, gamma=gamma)
    n_samples = len(points)
    size = block_size(n_samples)
    blocks = map_blocks(solve, n_samples, size, "expressions", workers or Workers(1))
    stacked = sparse.vstack([block.coefficients for block in blocks], format="csr")
    return affinity_of(sparse.csr_array(stacked), equal_rows=False)


def ridge_graph(
    points: NDArray[np.floating],
    n_neighbors: int,
    workers: Workers | None = None,
) -> sparse.csr_array:
    """Return the graph of the largest coefficients of ridge regression.

    The penalty is the median of the squared singular values: directions below it are
    mostly noise.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The points.
    n_neighbors : int
        Coefficients kept per point.
    workers : Workers, default=None
        Runs blocks of points in parallel; None means one thread.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric, non-negative, with zero diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import ridge_graph
    >>> ridge_graph(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), 1).nnz
    4
    """
    parts = singular_parts(points)
    if not len(parts.values):
        return sparse.csr_array((len(points), len(points)))
    energies = parts.values**2
    rows = parts.left * np.sqrt(energies / (energies + np.median(energies)))
    found = nearest_neighbours(rows, n_neighbors, "neighbours", workers or Workers(1))
    return symmetric_graph(found)


def nearest_neighbours(
    rows: NDArray[np.floating], q: int, description: str, workers: Workers
) -> Neighbours:
    """Return the q largest absolute inner products of every row, in parallel."""
    parts = map_blocks(
        lambda some: nearest_by_angle(rows, q, rows=some),
        len(rows),
        ROWS_AT_ONCE,
        description,
        workers,
    )
    return Neighbours(*map(np.concatenate, zip(*parts, strict=True)))
