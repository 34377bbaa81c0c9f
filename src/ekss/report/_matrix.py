"""The matrix of votes or affinities of all pairs of points, averaged over blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.report import _figures as fig
from ekss.report._fitted import Inputs
from ekss.report._page import Panel

if TYPE_CHECKING:
    from ekss.report._facts import Facts

MOST_BLOCKS = 240  # side of the matrix that is drawn
_POWER_STEPS = 8  # of the iteration that orders the points of a cluster
_NAMED = 0.028  # share of the side from which a cluster has room for its name
_MOST_LINES = 30  # clusters that are separated by lines


@dataclass(frozen=True)
class Blocks:
    """A matrix over all pairs of points, averaged over blocks of points."""

    # (n_blocks, n_blocks): mean over the pairs of two blocks, a point's pair with
    # itself left out
    means: NDArray[np.float64]
    # (n_blocks,): cluster of each block; no block has points of two
    clusters: NDArray[np.int64]
    # (n_clusters, n_clusters): the same means for whole clusters
    between: NDArray[np.float64]
    # share of members that put a pair together, or affinity in the graph
    source: Literal["members", "graph"]
    # the largest number of points of a block; 1 if nothing was averaged
    points_per_block: int


def blocks_of(inputs: Inputs) -> Blocks | None:
    """Average votes, or else affinities, over blocks of points in cluster order.

    Notes
    -----
    Votes cost O(n_members (n_samples + n_blocks^2 n_labels)), affinities O(edges): no
    matrix over pairs of points is made.
    """
    votes, graph = inputs.votes, inputs.graph
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
    source: Literal["members", "graph"] = "graph" if votes is None else "members"
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
    votes, embedding = inputs.votes, inputs.embedding
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


def draw_matrix(facts: Facts) -> Panel | None:
    """Draw votes or affinities of pairs of points in cluster order."""
    blocks = facts.blocks
    if blocks is None:
        return None
    members = blocks.source == "members"
    values = blocks.means if members else np.sqrt(blocks.means)
    off = values[~np.eye(len(values), dtype=bool)]
    top = float(np.quantile(off, 0.998)) if off.size else 1.0
    top = max(top, 1e-12) if not members else max(top, 0.02)
    left, above, side = 34.0, 8.0, fig.SIDE - 50
    address = fig.data_uri(
        fig.png(fig.to_bytes(values, 0, top), fig.palette_of(fig.SEQUENTIAL))
    )
    body = [fig.image(left, above, side, side, address)]
    body += _cluster_lines(facts, blocks.clusters, left, above, side)
    body += _colour_bar(left, above + side + 14, side, top, members)
    what = "Votes" if members else "Affinities"
    own, other = _own_and_other(blocks.between, facts.inputs.sizes)
    alt = (
        f"{what} between points in cluster order: mean {own:.3g} inside clusters, "
        f"{other:.3g} between them."
    )
    drawing = fig.svg(fig.SIDE, above + side + 58, body, alt)
    return Panel("matrix", f"{what} of pairs", drawing, _matrix_reading(facts))


def _matrix_reading(facts: Facts) -> str:
    blocks = facts.blocks
    assert blocks is not None
    size = blocks.points_per_block
    averaged = (
        f" Each cell averages the pairs of up to {size} by {size} points."
        if size > 1
        else ""
    )
    if blocks.source == "members":
        first = "How often members put two points together, points in cluster order."
    else:
        first = (
            "Affinity of two points, points in cluster order (square root, relative to "
            "the largest cells)."
        )
    return (
        f"{first} Good clusters are bright squares on the diagonal; brightness outside "
        "them joins clusters, several bright patches inside one square may split it."
        f"{averaged}"
    )


def _cluster_lines(
    facts: Facts, clusters: NDArray[np.int64], left: float, top: float, side: float
) -> Iterator[str]:
    """Separate the clusters and name those with room for a name."""
    counts = np.bincount(clusters, minlength=len(facts.clusters))
    ends = np.cumsum(counts) / counts.sum()
    for k, (end, count) in enumerate(zip(ends, counts, strict=True)):
        place = end * side
        if k < len(ends) - 1 and len(ends) <= _MOST_LINES:
            yield fig.line(left + place, top, left + place, top + side, "cut")
            yield fig.line(left, top + place, left + side, top + place, "cut")
        share = count / counts.sum()
        if share >= _NAMED:
            middle = top + (end - share / 2) * side
            name = str(facts.clusters[k].name)
            yield fig.text(left - 8, middle + 4, name, anchor="end")
        yield fig.box(
            left - 5,
            top + (end - share) * side,
            3,
            max(share * side - 0.5, 0.5),
            f"fill {fig.colour(k)}",
        )


def _colour_bar(
    left: float, top: float, width: float, highest: float, members: bool
) -> Iterator[str]:
    ramp = fig.png(np.arange(256, dtype=np.uint8)[None], fig.palette_of(fig.SEQUENTIAL))
    yield fig.image(left, top, width, 9, fig.data_uri(ramp))
    if members:
        for tick in fig.ticks(0, highest, 4):
            place = left + tick / highest * width
            yield fig.text(place, top + 24, fig.plain(tick), anchor="middle")
        label = "share of members that put a pair together"
    else:
        yield fig.text(left, top + 24, "none")
        yield fig.text(left + width, top + 24, "strong", anchor="end")
        label = "affinity of a pair"
    yield fig.text(left + width / 2, top + 41, label, anchor="middle", kind="m")


def _own_and_other(
    between: NDArray[np.float64], sizes: NDArray[np.int64]
) -> tuple[float, float]:
    pairs = np.multiply.outer(sizes, sizes).astype(float)
    same = np.eye(len(sizes), dtype=bool)
    own = float(np.average(between[same], weights=pairs[same]))
    other = (
        float(np.average(between[~same], weights=pairs[~same]))
        if (len(sizes) > 1)
        else 0.0
    )
    return own, other


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
