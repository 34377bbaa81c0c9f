"""A map of all points: cluster centres on a circle, points between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from ekss.report import _figures as fig
from ekss.report._figures import Floats, Ints
from ekss.report._fitted import Inputs
from ekss.report._geometry import Fit, at_most
from ekss.report._page import Panel

if TYPE_CHECKING:
    from ekss.report._facts import Facts

MOST_DOTS = 2000  # more cannot be told apart
_SMALLEST_DIRECTION = 0.05  # directions in which centres hardly differ amplify noise
_FEW_CLUSTERS = 2  # up to this many are shown along their principal directions
_RIM = 1.35  # points that lie further out are drawn on this rim
_NAME_AWAY = 0.2  # how far outside its centre a cluster's name stands
_MOST_NAMES = 40  # clusters that are named
# What can be projected, and how it varies.
_ORIGINS = {
    "embedding": "the spectral embedding varies",
    "subspaces": "closeness to the subspaces varies",
    "points": "the points vary",
}


@dataclass(frozen=True)
class Layout:
    """Points in the plane."""

    dots: Floats  # (n_dots, 2): coordinates of the points that are drawn
    rows: Ints  # (n_dots,): which points they are: all, or a sample of all clusters
    centres: Floats  # (n_clusters, 2): middle of each cluster
    origin: str  # what is projected: "embedding", "subspaces" or "points"
    on_circle: bool  # whether directions were chosen so that centres stand on a circle


def layout_of(inputs: Inputs, fit: Fit) -> Layout:
    """Project the points linearly so that the centres of clusters stand apart."""
    clusters = np.arange(inputs.n_clusters)
    rows = at_most(fit.rows, MOST_DOTS)
    # A sample may miss small clusters: their first points are added.
    missed = np.setdiff1d(clusters, inputs.codes[rows])
    first = [int(np.argmax(inputs.codes == k)) for k in missed]
    rows = np.union1d(rows, np.array(first, np.int64))
    features, origin = _features(inputs, fit, rows)
    codes = inputs.codes[rows]
    means = np.stack([features[codes == k].mean(axis=0) for k in clusters])
    on_circle = len(clusters) > _FEW_CLUSTERS and origin != "points"
    if not on_circle:
        middle = features.mean(axis=0)
        vectors = np.linalg.svd(features - middle, full_matrices=False)[2][:2].T
        directions = np.pad(vectors, ((0, 0), (0, 2 - vectors.shape[1])))
        dots, centres = (features - middle) @ directions, (means - middle) @ directions
        return Layout(dots, rows, centres, origin, on_circle)
    middle = means.mean(axis=0)
    apart = means - middle
    where = _circle(apart)
    directions = np.linalg.lstsq(apart, where, rcond=_SMALLEST_DIRECTION)[0]
    dots = (features - middle) @ directions
    lengths = np.linalg.norm(dots, axis=1, keepdims=True)
    dots *= np.minimum(1, _RIM / np.maximum(lengths, 1e-9))
    return Layout(dots, rows, apart @ directions, origin, on_circle)


def draw_map(facts: Facts) -> Panel:
    """Draw the points in the plane, coloured by cluster."""
    layout = layout_of(facts.inputs, facts.fit)
    outward = layout.centres
    if layout.on_circle:
        lengths = np.linalg.norm(outward, axis=1, keepdims=True)
        outward = outward + _NAME_AWAY * outward / np.where(lengths > 0, lengths, 1)
    frame = _square_frame(np.concatenate([layout.dots, outward]))
    codes = facts.inputs.codes[layout.rows]
    body = [
        fig.dots(frame, layout.dots[codes == k], fig.colour(k))
        for k in range(len(facts.clusters))
    ]
    if facts.scores is not None:
        wrong = facts.scores.wrong[layout.rows]
        body.append(fig.crosses(frame, layout.dots[wrong], 2))
    if len(facts.clusters) <= _MOST_NAMES:
        for name, (x, y) in zip(facts.names, outward, strict=True):
            place = frame.x(x), frame.y(y) + 4
            body.append(fig.text(*place, name, anchor="middle", kind="halo"))
    alt = (
        f"{len(layout.rows)} points in the plane, coloured by {len(facts.clusters)} "
        "clusters."
    )
    drawing = fig.svg(fig.SIDE, fig.SIDE, body, alt)
    return Panel("map", "Map of the points", drawing, _reading(facts, layout))


def _reading(facts: Facts, layout: Layout) -> str:
    varies = _ORIGINS[layout.origin]
    if layout.on_circle:
        how = (
            f"a flat view of {varies.removesuffix(' varies')}, turned so that the "
            "cluster centres stand on a circle, similar ones side by side. A dot "
            "between two centres is torn between these clusters"
        )
    else:
        how = f"the two directions in which {varies} most"
    many = len(facts.clusters) > fig.COLOURS
    repeat = " Colours repeat after ten clusters." if many else ""
    some = facts.sampled(len(layout.rows))
    return f"One dot per point{some}: {how}.{repeat}{facts.about_crosses}"


def _square_frame(places: Floats) -> fig.Frame:
    """Show all places in a square, with the same scale in x and y."""
    low, high = places.min(axis=0), places.max(axis=0)
    half = 0.54 * float((high - low).max() or 1.0)
    (left, right), (bottom, top) = (
        (float(middle - half), float(middle + half)) for middle in (low + high) / 2
    )
    return fig.Frame(6, 6, fig.SIDE - 6, fig.SIDE - 6, (left, right), (bottom, top))


def _features(inputs: Inputs, fit: Fit, rows: Ints) -> tuple[Floats, str]:
    """Return what is projected, and its name."""
    embedding = inputs.embedding
    if embedding is not None and embedding.shape[1] > 1:
        return embedding[rows].astype(np.float64), "embedding"
    if inputs.n_clusters > 1 and np.isin(rows, fit.rows).all():
        distances = fit.distances[np.searchsorted(fit.rows, rows)].astype(np.float64)
        spread = float(np.median(distances)) or 1.0
        return np.exp(-((distances / spread) ** 2)), "subspaces"
    return inputs.points[rows].astype(np.float64), "points"


def _circle(means: Floats) -> Floats:
    """Places on the unit circle, similar clusters side by side, the first on top."""
    order = _round_trip(means)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    places = np.empty((len(order), 2))
    places[order] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return places


def _round_trip(means: Floats) -> list[int]:
    """Order clusters so that similar ones are neighbours, beginning with the first."""
    order = leaves_list(linkage(means, "average", optimal_ordering=True)).tolist()
    start = order.index(0)
    return order[start:] + order[:start]
