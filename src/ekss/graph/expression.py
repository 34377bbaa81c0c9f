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
from ekss.runtime.workers import Workers

# Coefficients of ridge regression, which are at most 1, count as zero below this.
_ROUNDING = 1e-12


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
    >>> from ekss.graph.expression import elastic_net_graph
    >>> points = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> elastic_net_graph(points, l1_ratio=1.0, gamma=2.0).toarray().round(2)
    array([[0. , 0.8, 0. ],
           [0.8, 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    express = partial(_expressed_block, points, l1_ratio, gamma)
    count = -(-len(points) // block_size(len(points)))
    blocks = list((workers or Workers(1)).map(express, count, "expressions"))
    stacked = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return affinity_of(stacked, equal_rows=False)


def _expressed_block(
    points: NDArray[np.floating], l1_ratio: float, gamma: float, number: int
) -> sparse.csr_array:
    """Express a block of points; at module level, so that processes can call it."""
    rows = _block(number, block_size(len(points)), len(points))
    found = elastic_net_rows(points, rows, l1_ratio=l1_ratio, gamma=gamma)
    return found.coefficients


def _block(number: int, size: int, n_samples: int) -> NDArray[np.int64]:
    return np.arange(number * size, min((number + 1) * size, n_samples))


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
    >>> from ekss.graph.expression import ridge_graph
    >>> ridge_graph(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), 1).nnz
    4
    """
    singular = singular_parts(points)
    if not len(singular.values):
        return sparse.csr_array((len(points), len(points)))
    energies = singular.values**2
    rows = singular.left * np.sqrt(energies / (energies + np.median(energies)))
    nearest = partial(_nearest_block, rows, n_neighbors)
    count = -(-len(points) // ROWS_AT_ONCE)
    parts = list((workers or Workers(1)).map(nearest, count, "expressions"))
    return symmetric_graph(Neighbours(*map(np.concatenate, zip(*parts, strict=True))))


def _nearest_block(
    rows: NDArray[np.float64], n_neighbors: int, number: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the largest products of a block of rows; for processes, as above."""
    block = _block(number, ROWS_AT_ONCE, len(rows))
    index, value = nearest_by_angle(rows, n_neighbors, rows=block)
    weak = value < _ROUNDING
    return np.where(weak, np.int32(-1), index), np.where(weak, 0.0, value)
