"""Neighbour lists, and the symmetric graph that the paper's Thresh makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Neighbours:
    """The strongest neighbours of every point, strongest first.

    Attributes
    ----------
    index : ndarray of shape (n_samples, q), int32
        Neighbour indices; -1 where a point has fewer than q neighbours.
    value : ndarray of shape (n_samples, q), float64
        Their similarities, descending; 0 where ``index`` is -1.
    """

    index: NDArray[np.int32]
    value: NDArray[np.float64]


def directed_graph(neighbours: Neighbours, q: int | None = None) -> sparse.csr_array:
    """Return the (n, n) graph with one edge from each point to its first q neighbours.

    Parameters
    ----------
    neighbours : Neighbours
        Lists with at least q entries a row.
    q : int, default=None
        How many to keep; all of them if None. Smaller values reuse the same lists,
        so a sweep over q costs no further votes.
    """
    index, value = neighbours.index[:, :q], neighbours.value[:, :q]
    n = index.shape[0]
    present = index >= 0
    # 32-bit indices, which scikit-learn asks of precomputed affinities
    row = np.repeat(np.arange(n, dtype=np.int32), present.sum(axis=1))
    graph = sparse.csr_array((value[present], (row, index[present])), shape=(n, n))
    graph.sort_indices()
    return graph


def graph_of_rows(
    neighbours: Neighbours, rows: NDArray[np.int64], n_samples: int
) -> sparse.csr_array:
    """Return the directed graph in which only the given rows have neighbours.

    Parameters
    ----------
    neighbours : Neighbours
        Lists of the given rows, in their order.
    rows : ndarray of int
        Which points the lists belong to.
    n_samples : int
        Number of all points.
    """
    q = neighbours.index.shape[1]
    full = Neighbours(np.full((n_samples, q), -1, np.int32), np.zeros((n_samples, q)))
    full.index[rows], full.value[rows] = neighbours.index, neighbours.value
    return directed_graph(full)


def symmetric_graph(neighbours: Neighbours, q: int | None = None) -> sparse.csr_array:
    """Average row and column thresholding: (Z + Z^T) / 2 (the paper's Alg. 2).

    Because similarities are symmetric, thresholding the columns gives the transpose
    of thresholding the rows. A point is not its own neighbour.

    Parameters
    ----------
    neighbours : Neighbours
        Lists with at least q entries a row.
    q : int, default=None
        How many neighbours to keep a row; all of them if None.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric, zero diagonal, at most 2 q n_samples entries.
    """
    rows = directed_graph(neighbours, q)
    graph = sparse.csr_array((rows + rows.T) * 0.5)
    graph.sort_indices()
    return graph
