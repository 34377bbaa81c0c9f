"""Blocks of the co-association matrix, and how far a point agrees with its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.report._geometry import Fit, nearest_other
from ekss.report._inputs import Inputs

# Side of the matrix that is drawn.
MOST_BLOCKS = 240
# Above so many votes a cluster, and of so many points, a sample is asked.
_WORK = 5e8
_SAMPLE = 20_000
# Steps of the power iteration that orders the points of a cluster.
_POWER_STEPS = 8

Source = Literal["members", "graph", "subspaces"]


@dataclass(frozen=True)
class Blocks:
    """A matrix over all pairs of points, averaged over blocks of points.

    Attributes
    ----------
    means : ndarray of shape (n_blocks, n_blocks)
        Mean over the pairs of two blocks, a point's pair with itself left out.
    clusters : ndarray of shape (n_blocks,)
        Cluster of each block; no block has points of two.
    between : ndarray of shape (n_clusters, n_clusters)
        The same means for whole clusters.
    source : {"members", "graph"}
        Share of members that put a pair together, or affinity in the graph.
    points_a_block : int
        The largest number of points of a block; 1 if nothing was averaged.
    """

    means: NDArray[np.float64]
    clusters: NDArray[np.int64]
    between: NDArray[np.float64]
    source: Source
    points_a_block: int


@dataclass(frozen=True)
class Agreement:
    """How far each point agrees with its cluster.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        In [0, 1]. From "members": 0 if they put the point with another cluster as
        often as with its own, 1 if never with another. From a "graph": the share of its
        affinity that stays in its cluster. From "subspaces": 0 if another subspace is
        as near as its own, 1 on its own.
    rows : ndarray of shape (n_rows,)
        The points.
    source : {"members", "graph", "subspaces"}
        Where the values come from.
    """

    values: NDArray[np.float64]
    rows: NDArray[np.int64]
    source: Source


def blocks_of(inputs: Inputs) -> Blocks | None:
    """Average votes, or else affinities, over blocks of points in cluster order.

    Notes
    -----
    Votes cost O(n_members (n_samples + n_blocks^2 n_labels)), affinities O(edges): no
    matrix over pairs of points is made.
    """
    votes, graph = inputs.votes(), inputs.graph()
    if votes is None and graph is None:
        return None
    block_of, clusters = assign_blocks(inputs)
    sizes = np.bincount(block_of)
    if votes is not None:
        means = mean_votes(votes, block_of)
        between = mean_votes(votes, inputs.codes)
    else:
        means = mean_affinities(graph, block_of)
        between = mean_affinities(graph, inputs.codes)
    source: Source = "graph" if votes is None else "members"
    return Blocks(means, clusters, between, source, int(sizes.max()))


def assign_blocks(inputs: Inputs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give every point a block: of its own cluster, and of points that are alike.

    Inside a cluster points are ordered along the direction in which its votes, or else
    its embedding, vary most: parts that members tell apart come one after the other.
    """
    n_samples, sizes = len(inputs.codes), inputs.sizes
    share = min(1.0, MOST_BLOCKS / n_samples)
    counts = np.minimum(np.maximum(1, np.round(share * sizes).astype(int)), sizes)
    first = np.cumsum(counts) - counts
    votes, embedding = inputs.votes(), inputs.embedding()
    block_of = np.empty(n_samples, np.int64)
    for k in range(inputs.n_clusters):
        rows = np.flatnonzero(inputs.codes == k)
        if votes is not None:
            rows = rows[np.argsort(_along_votes(votes[rows]), kind="stable")]
        elif embedding is not None:
            rows = rows[np.argsort(_longest(embedding[rows]), kind="stable")]
        block_of[rows] = first[k] + np.arange(len(rows)) * counts[k] // len(rows)
    return block_of, np.repeat(np.arange(inputs.n_clusters), counts)


def mean_votes(votes: NDArray[Any], block_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of members that put a pair together, averaged over the pairs of blocks.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_members)
        Labels of every member.
    block_of : ndarray of shape (n_samples,)
        Block of every point.

    Returns
    -------
    means : ndarray of shape (n_blocks, n_blocks)
        Blocks of one point have 1 on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> mean_votes(np.array([[0, 0], [0, 1], [1, 1]]), np.array([0, 0, 1]))
    array([[0.5 , 0.25],
           [0.25, 1.  ]])
    """
    sizes = np.bincount(block_of)
    n_blocks, n_members = len(sizes), votes.shape[1]
    together = np.zeros((n_blocks, n_blocks))
    for member in votes.T:
        n_labels = int(member.max()) + 1
        flat = np.bincount(block_of * n_labels + member, minlength=n_blocks * n_labels)
        counts = flat.reshape(n_blocks, n_labels).astype(np.float64)
        together += counts @ counts.T
    together[np.diag_indices(n_blocks)] -= n_members * sizes
    means = together / (n_members * _pairs(sizes))
    means[np.diag_indices(n_blocks)] += sizes == 1
    return means


def mean_affinities(
    graph: sparse.csr_array, block_of: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Affinity averaged over the pairs of blocks, the diagonal left out."""
    sizes = np.bincount(block_of)
    n_blocks = len(sizes)
    edges = graph.tocoo()
    off = edges.row != edges.col
    pair = block_of[edges.row[off]] * n_blocks + block_of[edges.col[off]]
    sums = np.bincount(pair, weights=np.abs(edges.data[off]), minlength=n_blocks**2)
    return sums.reshape(n_blocks, n_blocks) / _pairs(sizes)


def agreement_of(inputs: Inputs, fit: Fit) -> Agreement:
    """Measure agreement by votes, else by the graph, else by the subspaces."""
    everything = np.arange(len(inputs.codes))
    votes, graph = inputs.votes(), inputs.graph()
    if votes is not None:
        rows = everything
        if votes.size * inputs.n_clusters > _WORK and len(rows) > _SAMPLE:
            chosen = np.random.default_rng(0).choice(rows, _SAMPLE, replace=False)
            rows = np.sort(chosen)
        values = agreement_by_votes(votes, inputs.codes, rows)
        return Agreement(values, rows, "members")
    if graph is not None:
        return Agreement(agreement_by_graph(graph, inputs.codes), everything, "graph")
    codes = inputs.codes[fit.rows]
    own = fit.distances[np.arange(len(codes)), codes].astype(float)
    other = nearest_other(fit.distances, codes)
    safe = np.where((other > 0) & np.isfinite(other), other, 1.0)
    nearer = np.where(np.isinf(other), 1.0, np.clip(1 - own / safe, 0, 1))
    return Agreement(nearer, fit.rows, "subspaces")


def agreement_by_votes(
    votes: NDArray[Any], codes: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How much more often members put a point with its cluster than with another.

    With s_k the share of (member, point of cluster k) pairs in which a point and that
    other point are together, it is 1 - (largest s of another cluster) / (own s), and
    at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> votes = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> agreement_by_votes(votes, np.array([0, 0, 1, 1]), np.arange(4))
    array([0.75, 0.75, 0.  , 1.  ])
    """
    sizes = np.bincount(codes)
    shares = np.zeros((len(rows), len(sizes)))
    for member in votes.T:
        n_labels = int(member.max()) + 1
        cell = codes * n_labels + member
        counts = np.bincount(cell, minlength=len(sizes) * n_labels)
        shares += counts.reshape(len(sizes), n_labels).T[member[rows]]
    own = np.arange(len(rows)), codes[rows]
    # A point is always together with itself, which says nothing.
    together = (shares[own] - votes.shape[1]) / np.maximum(sizes[codes[rows]] - 1, 1)
    shares /= sizes
    shares[own] = 0
    other = shares.max(axis=1)
    return np.clip(1 - other / np.where(together > 0, together, np.inf), 0, 1) * (
        together > 0
    )


def agreement_by_graph(
    graph: sparse.csr_array, codes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Share of a point's affinity that stays in its cluster; 0 for isolated points."""
    edges = graph.tocoo()
    weights = np.where(edges.row != edges.col, np.abs(edges.data), 0.0)
    inside = weights * (codes[edges.row] == codes[edges.col])
    degree = np.bincount(edges.row, weights=weights, minlength=len(codes))
    kept = np.bincount(edges.row, weights=inside, minlength=len(codes))
    return kept / np.where(degree > 0, degree, 1.0)


def _along_votes(votes: NDArray[Any]) -> NDArray[np.float64]:
    """Coordinate of points along the main direction of their one-hot member labels."""
    n_samples, n_members = votes.shape
    firsts = np.cumsum(votes.max(axis=0).astype(np.int64) + 1)
    offsets = np.concatenate([[0], firsts[:-1]]).astype(np.int32)
    columns = votes.astype(np.int32) + offsets
    starts = np.arange(0, n_samples * n_members + 1, n_members)
    ones = np.ones(n_samples * n_members, np.float32)
    shape = n_samples, int(firsts[-1])
    hot = sparse.csr_array((ones, columns.ravel(), starts), shape=shape)
    places: Any = np.random.default_rng(0).standard_normal(n_samples)
    for _ in range(_POWER_STEPS):
        centred = places - places.mean()
        length = float(np.linalg.norm(centred)) or 1.0
        places = hot @ (hot.T @ (centred / length))
    return places - places.mean()


def _longest(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Coordinate of the rows along the direction in which they vary most."""
    centred = rows - rows.mean(axis=0)
    vectors = np.linalg.eigh(centred.T @ centred)[1]
    return centred @ vectors[:, -1]


def _pairs(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ordered pairs of different points in each pair of blocks, at least 1."""
    pairs = np.multiply.outer(sizes, sizes).astype(np.float64)
    pairs[np.diag_indices(len(sizes))] -= sizes
    return np.maximum(pairs, 1.0)
