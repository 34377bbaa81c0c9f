"""A map of all points: cluster centres on a circle, points between them.

Its numbers go to the script of the page as well, which names the dots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from ekss.core.linalg import distances_to_flats
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
# An embedding with fewer different places than this share of the dots says which piece
# of the graph a point is in, and nothing else.
_DIFFERENT = 0.5
_SAME_PLACE = 0.01  # dots nearer than this cover each other
_APART = 0.028  # distance of dots that were at the same place
_WIDEST = 0.42  # of such a heap, as a share of the way to the next centre
_NEAREST = 2  # other clusters that are told of a dot
_FARTHEST = 100.0  # ratios of distances beyond are not told
_SHEET_PIXELS = 500_000  # of all small images together, about as many bytes
_THUMB_SIDE = 72  # pixels of a small image on the page
_BETWEEN = {
    "embedding": "A dot between centres has links to several clusters, or few to its "
    "own",
    "subspaces": "A dot between two centres is about as near to the subspaces of both",
}
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
    n_moved: int  # dots that were moved because they covered each other
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
        return Layout(dots, 0, rows, centres, origin, on_circle)
    middle = means.mean(axis=0)
    apart = means - middle
    where = _circle(apart)
    directions = np.linalg.lstsq(apart, where, rcond=_SMALLEST_DIRECTION)[0]
    dots = (features - middle) @ directions
    lengths = np.linalg.norm(dots, axis=1, keepdims=True)
    dots *= np.minimum(1, _RIM / np.maximum(lengths, 1e-9))
    dots, n_moved = _uncovered(dots, codes, len(clusters))
    return Layout(dots, n_moved, rows, apart @ directions, origin, on_circle)


def _uncovered(dots: Floats, codes: Ints, n_clusters: int) -> tuple[Floats, int]:
    """Spread dots of one cluster that are at the same place, and count them.

    They fill a disc around their place, as seeds fill a sunflower.
    """
    cells = np.round(dots / _SAME_PLACE).astype(np.int64)
    keys = np.column_stack([codes, cells])
    _, heap_of, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    heap_of = heap_of.ravel()
    room = _WIDEST * 2 * np.sin(np.pi / max(n_clusters, 2))
    step = min(_APART, room / np.sqrt(float(sizes.max())))
    moved = dots.copy()
    for heap in np.flatnonzero(sizes > 1):
        mine = np.flatnonzero(heap_of == heap)
        turns = np.arange(len(mine)) * np.pi * (3 - np.sqrt(5))
        out = step * np.sqrt(np.arange(len(mine)))
        moved[mine] += np.column_stack([out * np.cos(turns), out * np.sin(turns)])
    return moved, int(sizes[sizes > 1].sum())


def draw_map(facts: Facts) -> Panel:
    """Draw the points in the plane, coloured by cluster."""
    layout = facts.layout
    outward, frame = _outward(layout), _frame(layout)
    codes = facts.inputs.codes[layout.rows]
    body = [
        fig.group([fig.dots(frame, layout.dots[codes == k], fig.colour(k))], k)
        for k in range(len(facts.clusters))
    ]
    if facts.scores is not None:
        wrong = facts.scores.wrong[layout.rows]
        for k in range(len(facts.clusters)):
            mine = layout.dots[wrong & (codes == k)]
            body.append(fig.group([fig.crosses(frame, mine, 2)], k))
    if len(facts.clusters) <= _MOST_NAMES:
        for k, (x, y) in enumerate(outward):
            place = frame.x(x), frame.y(y) + 4
            name = fig.text(*place, facts.names[k], anchor="middle", kind="halo")
            body.append(fig.group([name], k))
    body.append(fig.tag("circle", r="6", class_="here"))
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
            "cluster centres stand on a circle, similar ones side by side. "
            f"{_BETWEEN[layout.origin]}"
        )
    else:
        how = f"the two directions in which {varies} most"
    many = len(facts.clusters) > fig.COLOURS
    repeat = " Colours repeat after ten clusters." if many else ""
    some = facts.sampled(len(layout.rows))
    moved = (
        " Dots of a cluster that would cover each other are spread to a disc: there "
        "only its size has a meaning."
        if layout.n_moved
        else ""
    )
    return f"One dot per point{some}: {how}.{moved}{repeat}{facts.about_crosses}"


def map_data(facts: Facts) -> dict[str, Any]:
    """Return what the script of the page says about the dots of the map."""
    layout, inputs = facts.layout, facts.inputs
    frame, rows = _frame(layout), layout.rows
    codes = inputs.codes[rows]
    distances = distances_to_flats(inputs.points[rows], facts.fit.flats).astype(float)
    places = np.arange(len(rows))
    own = distances[places, codes]
    distances[places, codes] = np.inf
    near = np.argsort(distances, axis=1, kind="stable")
    near = near[:, : min(_NEAREST, inputs.n_clusters - 1)]
    away = np.take_along_axis(distances, near, axis=1)
    floor = np.maximum(own, 1e-300)[:, None]
    dots: dict[str, Any] = {
        "x": [round(frame.x(x), 1) for x in layout.dots[:, 0]],
        "y": [round(frame.y(y), 1) for y in layout.dots[:, 1]],
        "row": inputs.rows[rows].tolist(),
        "k": codes.tolist(),
        "near": near.tolist(),
        "times": [
            [None if t > _FARTHEST else float(f"{t:.2g}") for t in times]
            for times in (away / floor).tolist()
        ],
    }
    if inputs.ids is not None:
        dots["id"] = [inputs.ids[row] for row in rows]
    if inputs.image_shape is not None:
        dots["sheet"] = _sheet(inputs, rows)
    found: dict[str, Any] = {"names": facts.names, "dots": dots}
    if facts.scores is not None:
        found["mostly"] = [f"'{c.mostly}'" for c in facts.clusters]
    return found


def _sheet(inputs: Inputs, rows: Ints) -> dict[str, Any]:
    """Small images of some points, side by side in one picture."""
    shape = inputs.image_shape or ()
    side = max(1, int(np.sqrt(_SHEET_PIXELS / len(rows))))
    step = max(1, -(-max(shape[:2]) // side))
    images = fig.averaged(inputs.shown[rows].reshape(-1, *shape), step)
    height, width = images.shape[1:3]
    across = int(np.ceil(np.sqrt(len(rows))))
    down = -(-len(rows) // across)
    low, high = np.quantile(images, (0.002, 0.998))
    sheet = np.full((across * down, *images.shape[1:]), low, images.dtype)
    sheet[: len(rows)] = images
    sheet = sheet.reshape(down, across, *images.shape[1:])
    sheet = sheet.swapaxes(1, 2).reshape(down * height, across * width, *shape[2:])
    return {
        "address": fig.picture(sheet, float(low), float(high)),
        "height": height,
        "width": width,
        "across": across,
        "scale": max(1, _THUMB_SIDE // max(height, width)),
    }


def _outward(layout: Layout) -> Floats:
    """Where the names of the clusters stand."""
    if not layout.on_circle:
        return layout.centres
    lengths = np.linalg.norm(layout.centres, axis=1, keepdims=True)
    return layout.centres * (1 + _NAME_AWAY / np.where(lengths > 0, lengths, 1))


def _frame(layout: Layout) -> fig.Frame:
    return square_frame(np.concatenate([layout.dots, _outward(layout)]))


def square_frame(places: Floats) -> fig.Frame:
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
    if embedding is not None and embedding.shape[1] > 1 and _tells(embedding[rows]):
        return embedding[rows].astype(np.float64), "embedding"
    if inputs.n_clusters > 1 and np.isin(rows, fit.rows).all():
        distances = fit.distances[np.searchsorted(fit.rows, rows)].astype(np.float64)
        spread = float(np.median(distances)) or 1.0
        return np.exp(-((distances / spread) ** 2)), "subspaces"
    return inputs.points[rows].astype(np.float64), "points"


def _tells(embedding: Floats) -> bool:
    """Whether an embedding tells points apart, not only pieces of the graph."""
    places = np.unique(np.round(embedding.astype(np.float64), 6), axis=0)
    return len(places) >= _DIFFERENT * len(embedding)


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
