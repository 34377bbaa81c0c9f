"""Votes and affinities: of all pairs of points, and of each point with its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.report import _figures as fig
from ekss.report._figures import Floats, Ints
from ekss.report._fitted import Inputs
from ekss.report._geometry import Fit, at_most
from ekss.report._page import Panel

if TYPE_CHECKING:
    from ekss.report._facts import Facts

MOST_BLOCKS = 240  # side of the matrix that is drawn
_POWER_STEPS = 8  # of the iteration that orders the points of a cluster
_NAMED = 0.028  # share of the side from which a cluster has room for its name
_MOST_LINES = 30  # clusters that are separated by lines
_WORK = 5e8  # votes times clusters up to which all points are asked, a few seconds
_SAMPLE = 20_000  # points that are asked beyond
_MOST_STRIPS = 24  # clusters that are drawn

# Of each source: the title, what the axis says, and how to read it.
_WORDS = {
    "members": (
        "Stability over members",
        "0: as often with another cluster; 1: with no other",
        "How much more often members put a point with its own cluster than with the "
        "next best one: 0 if as often, 1 if never with another.",
    ),
    "graph": (
        "Edges that stay in the cluster",
        "share of affinity that stays in the cluster",
        "The share of a point's affinity that stays inside its cluster: 1 if it is "
        "joined to its own cluster alone.",
    ),
    "subspaces": (
        "How clearly the own subspace is nearest",
        "0: another subspace is as near; 1: on its own",
        "1 for a point on its own subspace, 0 for one that lies as near to another.",
    ),
}


@dataclass(frozen=True)
class Blocks:
    """A matrix over all pairs of points, averaged over blocks of points."""

    # (n_blocks, n_blocks): mean over the pairs of two blocks, a point's pair with
    # itself left out
    means: Floats
    clusters: Ints  # (n_blocks,): cluster of each block; no block has points of two
    between: Floats  # (n_clusters, n_clusters): the same means for whole clusters
    # whether it is the share of members that put a pair together, not its affinity
    of_votes: bool
    points_per_block: int  # at most; 1 if nothing was averaged


def blocks_of(inputs: Inputs) -> Blocks | None:
    """Average votes, or else affinities, over blocks of points in cluster order.

    Votes cost O(n_members (n_samples + n_blocks^2 n_labels)), affinities O(edges): no
    matrix over pairs of points is made.
    """
    votes, graph = inputs.votes, inputs.graph
    if votes is None and graph is None:
        return None
    block_of, clusters = _assign_blocks(inputs)
    if votes is not None:
        means, between = mean_votes(votes, block_of), mean_votes(votes, inputs.codes)
    else:
        means = mean_affinities(graph, block_of)
        between = mean_affinities(graph, inputs.codes)
    largest = int(np.bincount(block_of).max())
    return Blocks(means, clusters, between, votes is not None, largest)


def _assign_blocks(inputs: Inputs) -> tuple[Ints, Ints]:
    """Give every point a block: of its own cluster, and of points that are alike.

    Inside a cluster points are ordered along the direction in which its votes, or else
    its embedding, vary most: parts that members tell apart come one after the other.
    """
    n_samples, sizes = inputs.n_samples, inputs.sizes
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
            centred = embedding[rows] - embedding[rows].mean(axis=0)
            longest = np.linalg.eigh(centred.T @ centred)[1][:, -1]
            rows = rows[np.argsort(centred @ longest, kind="stable")]
        block_of[rows] = first[k] + np.arange(len(rows)) * counts[k] // len(rows)
    return block_of, np.repeat(np.arange(inputs.n_clusters), counts)


def _along_votes(votes: NDArray[Any]) -> Floats:
    """Coordinate of points along the main direction of their one-hot member labels."""
    n_samples, n_members = votes.shape
    firsts = np.cumsum(votes.max(axis=0).astype(np.int64) + 1)
    offsets = np.concatenate([[0], firsts[:-1]]).astype(np.int32)
    columns = (votes.astype(np.int32) + offsets).ravel()
    starts = np.arange(0, n_samples * n_members + 1, n_members)
    ones = np.ones(n_samples * n_members, np.float32)
    hot = sparse.csr_array((ones, columns, starts), shape=(n_samples, int(firsts[-1])))
    places: Any = np.random.default_rng(0).standard_normal(n_samples)
    for _ in range(_POWER_STEPS):
        centred = places - places.mean()
        length = float(np.linalg.norm(centred)) or 1.0
        places = hot @ (hot.T @ (centred / length))
    return places - places.mean()


def mean_votes(votes: NDArray[Any], block_of: Ints) -> Floats:
    """Share of members that put a pair together, averaged over the pairs of blocks.

    Blocks of one point have 1 on the diagonal.
    """
    sizes = np.bincount(block_of)
    n_blocks, n_members = len(sizes), votes.shape[1]
    together = np.zeros((n_blocks, n_blocks))
    for member in votes.T:
        counts = _label_counts(member, block_of, n_blocks).astype(np.float64)
        together += counts @ counts.T
    diagonal = np.diag_indices(n_blocks)
    together[diagonal] -= n_members * sizes
    means = together / (n_members * _pairs(sizes))
    means[diagonal] += sizes == 1
    return means


def _label_counts(member: NDArray[Any], group_of: Ints, n_groups: int) -> Ints:
    """How many points of each group have each label of a member."""
    n_labels = int(member.max()) + 1
    flat = np.bincount(group_of * n_labels + member, minlength=n_groups * n_labels)
    return flat.reshape(n_groups, n_labels)


def mean_affinities(graph: sparse.csr_array, block_of: Ints) -> Floats:
    """Affinity averaged over the pairs of blocks, the diagonal left out."""
    sizes = np.bincount(block_of)
    n_blocks = len(sizes)
    edges = graph.tocoo()
    off = edges.row != edges.col
    pair = block_of[edges.row[off]] * n_blocks + block_of[edges.col[off]]
    sums = np.bincount(pair, weights=np.abs(edges.data[off]), minlength=n_blocks**2)
    return sums.reshape(n_blocks, n_blocks) / _pairs(sizes)


def _pairs(sizes: Ints) -> Floats:
    """Ordered pairs of different points in each pair of blocks, at least 1."""
    pairs = np.multiply.outer(sizes, sizes) - np.diag(sizes)
    return np.maximum(pairs, 1).astype(np.float64)


def draw_matrix(facts: Facts) -> Panel | None:
    """Draw votes or affinities of pairs of points in cluster order."""
    blocks = facts.blocks
    if blocks is None:
        return None
    values = blocks.means if blocks.of_votes else np.sqrt(blocks.means)
    off = values[~np.eye(len(values), dtype=bool)]
    top = float(np.quantile(off, 0.998)) if off.size else 1.0
    top = max(top, 0.02 if blocks.of_votes else 1e-12)
    left, above, side = 34.0, 8.0, fig.SIDE - 50
    colours = fig.picture(values, 0, top, fig.SEQUENTIAL)
    body = [fig.image(left, above, side, side, colours)]
    body += _cluster_lines(facts, blocks.clusters, left, above, side)
    body += _colour_bar(left, above + side + 14, side, top, blocks.of_votes)
    pairs = np.multiply.outer(facts.inputs.sizes, facts.inputs.sizes)
    same = np.eye(len(pairs), dtype=bool)
    own = np.average(blocks.between[same], weights=pairs[same])
    several = len(pairs) > 1
    other = np.average(blocks.between[~same], weights=pairs[~same]) if several else 0
    what = "Votes" if blocks.of_votes else "Affinities"
    alt = (
        f"{what} between points in cluster order: mean {own:.3g} inside clusters, "
        f"{other:.3g} between them."
    )
    first = (
        "How often members put two points together, points in cluster order."
        if blocks.of_votes
        else "Affinity of two points, points in cluster order (square root, relative "
        "to the largest cells)."
    )
    reading = (
        f"{first} Good clusters are bright squares on the diagonal; brightness outside "
        "them joins clusters, several bright patches inside one square may split it."
    )
    size = blocks.points_per_block
    if size > 1:
        reading += f" Each cell averages the pairs of up to {size} by {size} points."
    drawing = fig.svg(fig.SIDE, above + side + 58, body, alt)
    return Panel("matrix", f"{what} of pairs", drawing, reading)


def _cluster_lines(
    facts: Facts, clusters: Ints, left: float, top: float, side: float
) -> Iterator[str]:
    """Separate the clusters and name those with room for a name."""
    shares = np.bincount(clusters, minlength=len(facts.clusters)) / len(clusters)
    ends = np.cumsum(shares)
    for k, (end, share) in enumerate(zip(ends, shares, strict=True)):
        place = end * side
        if k < len(ends) - 1 and len(ends) <= _MOST_LINES:
            yield fig.line(left + place, top, left + place, top + side, "cut")
            yield fig.line(left, top + place, left + side, top + place, "cut")
        names = []
        if share >= _NAMED:
            middle = top + (end - share / 2) * side
            names.append(fig.text(left - 8, middle + 4, facts.names[k], anchor="end"))
        start, height = top + (end - share) * side, max(share * side - 0.5, 0.5)
        names.append(fig.box(left - 5, start, 3, height, f"fill {fig.colour(k)}"))
        yield fig.group(names, k)
        # Seen where the reader picks out the cluster.
        across = left + (end - share) * side
        yield fig.tag(
            "rect",
            x=across,
            y=start,
            width=share * side,
            height=share * side,
            class_="mark-k",
            data_k=str(k),
        )


def _colour_bar(
    left: float, top: float, width: float, highest: float, of_votes: bool
) -> Iterator[str]:
    ramp = fig.picture(np.arange(256.0)[None], 0, 255, fig.SEQUENTIAL)
    yield fig.image(left, top, width, 9, ramp)
    if of_votes:
        for tick in fig.ticks(0, highest, 4):
            place = left + tick / highest * width
            yield fig.text(place, top + 24, fig.plain(tick), anchor="middle")
        label = "share of members that put a pair together"
    else:
        yield fig.text(left, top + 24, "none")
        yield fig.text(left + width, top + 24, "strong", anchor="end")
        label = "affinity of a pair"
    yield fig.text(left + width / 2, top + 41, label, anchor="middle", kind="m")


@dataclass(frozen=True)
class Agreement:
    """How far each point agrees with its cluster."""

    values: Floats  # (n_rows,): in [0, 1]
    rows: Ints  # (n_rows,): the points
    source: Literal["members", "graph", "subspaces"]  # where the values come from

    @property
    def title(self) -> str:
        """What the values are, in a few words."""
        return _WORDS[self.source][0]


def agreement_of(inputs: Inputs, fit: Fit) -> Agreement:
    """Measure agreement by votes, else by the graph, else by the subspaces."""
    rows = np.arange(inputs.n_samples)
    votes, graph = inputs.votes, inputs.graph
    if votes is not None:
        if votes.size * inputs.n_clusters > _WORK:
            rows = at_most(rows, _SAMPLE)
        values = agreement_by_votes(votes, inputs.codes, rows)
        return Agreement(values, rows, "members")
    if graph is not None:
        return Agreement(agreement_by_graph(graph, inputs.codes), rows, "graph")
    other = fit.other
    safe = np.where((other > 0) & np.isfinite(other), other, 1.0)
    nearer = np.where(np.isinf(other), 1.0, np.clip(1 - fit.own / safe, 0, 1))
    return Agreement(nearer, fit.rows, "subspaces")


def agreement_by_votes(votes: NDArray[Any], codes: Ints, rows: Ints) -> Floats:
    """How much more often members put a point with its cluster than with another.

    With s_k the share of (member, point of cluster k) pairs in which a point and that
    other point are together, it is 1 - (largest s of another cluster) / (own s), and
    at least 0.
    """
    sizes = np.bincount(codes)
    shares = np.zeros((len(rows), len(sizes)))
    for member in votes.T:
        shares += _label_counts(member, codes, len(sizes)).T[member[rows]]
    own = np.arange(len(rows)), codes[rows]
    # A point is always together with itself, which says nothing.
    together = (shares[own] - votes.shape[1]) / np.maximum(sizes[codes[rows]] - 1, 1)
    shares /= sizes
    shares[own] = 0
    ratio = shares.max(axis=1) / np.where(together > 0, together, np.inf)
    return np.clip(1 - ratio, 0, 1) * (together > 0)


def agreement_by_graph(graph: sparse.csr_array, codes: Ints) -> Floats:
    """Share of a point's affinity that stays in its cluster; 0 for isolated points."""
    edges = graph.tocoo()
    weights = np.where(edges.row != edges.col, np.abs(edges.data), 0.0)
    inside = weights * (codes[edges.row] == codes[edges.col])
    degree = np.bincount(edges.row, weights=weights, minlength=len(codes))
    kept = np.bincount(edges.row, weights=inside, minlength=len(codes))
    return kept / np.where(degree > 0, degree, 1.0)


def draw_agreement(facts: Facts) -> Panel:
    """Draw how far the points of each cluster agree with it."""
    title, axis, how = _WORDS[facts.agreement.source]
    clusters = facts.clusters[:_MOST_STRIPS]
    row, top = (22.0 if len(clusters) <= 16 else 15.0), 84.0
    bottom = top + row * len(clusters) + 6
    frame = fig.Frame(40, top, fig.SIDE - 14, bottom, (0, 1), (0, 1))
    counts = np.histogram(facts.agreement.values, 40, (0, 1))[0]
    upper = fig.Frame(40, 8, fig.SIDE - 14, 72, (0, 1), (0, max(int(counts.max()), 1)))
    body = [fig.steps(upper, counts.tolist(), "bars"), fig.rule(upper)]
    body += fig.grid(frame, [], fig.ticks(0, 1))
    half = row * 0.26
    for i, cluster in enumerate(clusters):
        kind, y = fig.colour(i), top + 6 + row * (i + 0.5)
        low, high = frame.x(cluster.agreement_low), frame.x(cluster.agreement_high)
        first, third = (frame.x(value) for value in cluster.agreement_quarters)
        median = frame.x(cluster.agreement)
        strip = [
            fig.text(34, y + 4, str(cluster.name), anchor="end"),
            fig.line(low, y, high, y, f"whisker {kind}"),
            fig.box(first, y - half, max(third - first, 1), 2 * half, f"fill {kind}"),
            fig.line(median, y - half - 2, median, y + half + 2, "median"),
        ]
        body.append(fig.group(strip, i))
    body += fig.axis_labels(frame, axis)
    medians = [cluster.agreement for cluster in facts.clusters]
    alt = (
        f"Agreement of points with their cluster: medians of the clusters from "
        f"{min(medians):.2f} to {max(medians):.2f}."
    )
    reading = (
        f"{how} Top: all points. Below, for each cluster: the line spans the middle "
        "80 % of its points, the bar the middle half, the tick is the median."
    )
    if len(facts.clusters) > _MOST_STRIPS:
        reading += f" The {_MOST_STRIPS} largest clusters are shown."
    return Panel("agreement", title, fig.plot(frame, body, alt), reading)
