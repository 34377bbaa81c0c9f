"""How far each point agrees with its cluster, and the panel that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.report import _figures as fig
from ekss.report._fitted import Inputs
from ekss.report._geometry import Fit, nearest_other
from ekss.report._page import Panel

if TYPE_CHECKING:
    from ekss.report._facts import Cluster, Facts

_WORK = 5e8  # votes times clusters up to which all points are asked, a few seconds
_SAMPLE = 20_000  # points that are asked beyond
_MOST_STRIPS = 24  # clusters that are drawn

Source = Literal["members", "graph", "subspaces"]
_TITLE = {
    "members": "Stability over members",
    "graph": "Edges that stay in the cluster",
    "subspaces": "How clearly the own subspace is nearest",
}
_AXIS = {
    "members": "0: as often with another cluster; 1: with no other",
    "graph": "share of affinity that stays in the cluster",
    "subspaces": "0: another subspace is as near; 1: on its own",
}


@dataclass(frozen=True)
class Agreement:
    """How far each point agrees with its cluster."""

    # (n_rows,), in [0, 1]. From "members": 0 if they put the point with another cluster
    # as often as with its own, 1 if never with another. From a "graph": the share of
    # its affinity that stays in its cluster. From "subspaces": 0 if another subspace is
    # as near as its own, 1 on its own.
    values: NDArray[np.float64]
    rows: NDArray[np.int64]  # (n_rows,): the points
    source: Source  # where the values come from

    @property
    def title(self) -> str:
        """What the values are, in a few words."""
        return _TITLE[self.source]


def agreement_of(inputs: Inputs, fit: Fit) -> Agreement:
    """Measure agreement by votes, else by the graph, else by the subspaces."""
    everything = np.arange(len(inputs.codes))
    votes, graph = inputs.votes, inputs.graph
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


def draw_agreement(facts: Facts) -> Panel:
    """Draw how far the points of each cluster agree with it."""
    clusters = facts.clusters[:_MOST_STRIPS]
    row, top = (22.0 if len(clusters) <= 16 else 15.0), 84.0
    bottom = top + row * len(clusters) + 6
    frame = fig.Frame(40, top, fig.SIDE - 14, bottom, (0, 1), (0, 1))
    counts = np.histogram(facts.agreement.values, 40, (0, 1))[0]
    upper = fig.Frame(40, 8, fig.SIDE - 14, 72, (0, 1), (0, max(int(counts.max()), 1)))
    body = [fig.steps(upper, counts.tolist(), "bars"), fig.rule(upper)]
    body += fig.grid(frame, [], fig.ticks(0, 1))
    for i, cluster in enumerate(clusters):
        middle = top + 6 + row * (i + 0.5)
        body.append(fig.text(34, middle + 4, str(cluster.name), anchor="end"))
        body += _strip(frame, middle, row, cluster, fig.colour(i))
    body += fig.axis_labels(frame, _AXIS[facts.agreement.source])
    medians = [cluster.agreement for cluster in facts.clusters]
    alt = (
        f"Agreement of points with their cluster: medians of the clusters from "
        f"{min(medians):.2f} to {max(medians):.2f}."
    )
    drawing = fig.plot(frame, body, alt)
    return Panel("agreement", facts.agreement.title, drawing, _reading(facts))


def _reading(facts: Facts) -> str:
    how = {
        "members": "How much more often members put a point with its own cluster than "
        "with the next best one: 0 if as often, 1 if never with another.",
        "graph": "The share of a point's affinity that stays inside its cluster: 1 if "
        "it is joined to its own cluster alone.",
        "subspaces": "1 for a point on its own subspace, 0 for one that lies as near "
        "to another.",
    }[facts.agreement.source]
    more = (
        f" The {_MOST_STRIPS} largest clusters are shown."
        if len(facts.clusters) > _MOST_STRIPS
        else ""
    )
    return (
        f"{how} Top: all points. Below, for each cluster: the line spans the middle "
        f"80 % of its points, the bar the middle half, the tick is the median.{more}"
    )


def _strip(
    frame: fig.Frame, middle: float, row: float, cluster: Cluster, kind: str
) -> list[str]:
    low, high = frame.x(cluster.agreement_low), frame.x(cluster.agreement_high)
    first, third = (frame.x(value) for value in cluster.agreement_quarters)
    half = row * 0.26
    median = frame.x(cluster.agreement)
    return [
        fig.line(low, middle, high, middle, f"whisker {kind}"),
        fig.box(first, middle - half, max(third - first, 1), 2 * half, f"fill {kind}"),
        fig.line(median, middle - half - 2, median, middle + half + 2, "median"),
    ]
