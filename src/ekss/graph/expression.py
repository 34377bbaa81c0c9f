"""Graphs that join every point to the points by which it is expressed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.core.ensc import ElasticNetRows, block_size, elastic_net_rows
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
    found = elastic_net(
        points, "expressions", workers or Workers(1), l1_ratio=l1_ratio, gamma=gamma
    )
    return affinity_of(found.coefficients, equal_rows=False)


def elastic_net(
    points: NDArray[np.floating], description: str, workers: Workers, **options: Any
) -> ElasticNetRows:
    """Express all points by the others, in parallel.

    ``options`` are those of :func:`ekss.core.ensc.elastic_net_rows`.
    """
    express, n = partial(elastic_net_rows, points, **options), len(points)
    blocks = workers.map_blocks(express, n, block_size(n), description)
    stacked = sparse.vstack([block.coefficients for block in blocks], format="csr")
    return ElasticNetRows(
        sparse.csr_array(stacked),
        *(
            np.concatenate([getattr(block, part) for block in blocks])
            for part in ("gammas", "n_iter", "converged")
        ),
    )


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
    found = nearest_neighbours(rows, n_neighbors, "expressions", workers or Workers(1))
    weak = found.value < _ROUNDING
    index = np.where(weak, np.int32(-1), found.index)
    return symmetric_graph(Neighbours(index, np.where(weak, 0.0, found.value)))


def nearest_neighbours(
    rows: NDArray[np.floating], q: int, description: str, workers: Workers
) -> Neighbours:
    """Return the q largest absolute inner products of every row, in parallel."""
    nearest = partial(_nearest_to_some, rows, q)
    parts = workers.map_blocks(nearest, len(rows), ROWS_AT_ONCE, description)
    return Neighbours(*map(np.concatenate, zip(*parts, strict=True)))


def _nearest_to_some(
    rows: NDArray[np.floating], q: int, some: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    return nearest_by_angle(rows, q, rows=some)
