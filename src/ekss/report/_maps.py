"""Points in the plane: a map of all of them, and tracks on the first frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.report._facts import Facts
from ekss.report._picture import SIDE, Picture, cross_words
from ekss.report._svg import COLOURS, Frame, colour, crosses, dots, svg, text

# Names stand so far outside the centres of clusters on the unit circle.
_NAME_AWAY = 0.2
_TALLEST = 480.0


def draw_layout(facts: Facts) -> Picture:
    """Draw the points in the plane, coloured by cluster."""
    layout = facts.layout
    outermost = layout.centres * (1 + _NAME_AWAY if layout.on_circle else 1)
    frame = _square_frame(np.concatenate([layout.dots, outermost]))
    codes = facts.inputs.codes[layout.rows]
    body = [
        dots(frame, layout.dots[codes == k], colour(k))
        for k in range(len(facts.clusters))
    ]
    if facts.scores is not None:
        wrong = facts.scores.wrong[layout.rows]
        body.append(crosses(frame, layout.dots[wrong], 2))
    if len(facts.clusters) <= 40:
        for k, cluster in enumerate(facts.clusters):
            x, y = _outward(frame, layout.centres[k], layout.on_circle)
            name = str(cluster.name)
            body.append(text(x, y + 4, name, anchor="middle", kind="halo"))
    alt = (
        f"{len(layout.rows)} points in the plane, coloured by {len(facts.clusters)} "
        "clusters."
    )
    drawing = svg(SIDE, SIDE, body, alt, "plot")
    return Picture("map", "Map of the points", drawing, _layout_reading(facts))


def draw_tracks(facts: Facts) -> Picture | None:
    """Draw the points on the first frame with their paths, coloured by cluster."""
    tracks = facts.tracks
    if tracks is None:
        return None
    frame = _image_frame(tracks.paths.reshape(-1, 2))
    codes = facts.inputs.codes[tracks.rows]
    body = []
    for k in range(len(facts.clusters)):
        paths = tracks.paths[codes == k]
        body.append(_paths(frame, paths, colour(k)))
        body.append(dots(frame, paths[:, 0], f"mid {colour(k)}"))
    if facts.scores is not None:
        wrong = facts.scores.wrong[tracks.rows]
        body.append(crosses(frame, tracks.paths[wrong, 0], 3.5))
    shown, all_ = len(tracks.rows), facts.run.n_samples
    some = f" (a sample of {shown:,} of {all_:,})" if shown < all_ else ""
    alt = f"{shown} points on the first frame, coloured by cluster, with their paths."
    reading = (
        f"One dot a point{some} where it is on the first frame, y downwards as in "
        f"images; the thin line is its way over the {tracks.paths.shape[1]} frames. "
        "Points of one body should share a colour." + cross_words(facts)
    )
    drawing = svg(SIDE, frame.bottom + 10, body, alt, "plot")
    return Picture("tracks", "Tracks on the first frame", drawing, reading)


def _layout_reading(facts: Facts) -> str:
    layout = facts.layout
    shown, all_ = len(layout.rows), facts.run.n_samples
    some = f" (a sample of {shown:,} of {all_:,})" if shown < all_ else ""
    what = {
        "embedding": "the spectral embedding",
        "subspaces": "closeness to the subspaces",
        "points": "the points",
    }[layout.origin]
    if layout.on_circle:
        how = (
            f"a flat view of {what}, turned so that the cluster centres stand on a "
            "circle, similar ones side by side. A dot between two centres is torn "
            "between these clusters"
        )
    else:
        how = f"the two directions in which {what} vary most"
        how = how.replace("embedding vary", "embedding varies")
        how = how.replace("subspaces vary", "subspaces varies")
    repeat = (
        " Colours repeat after ten clusters." if len(facts.clusters) > COLOURS else ""
    )
    return f"One dot a point{some}: {how}.{repeat}{cross_words(facts)}"


def _square_frame(places: NDArray[np.floating]) -> Frame:
    """Show all places in a square, with the same scale in x and y."""
    low, high = places.min(axis=0), places.max(axis=0)
    middle = (low + high) / 2
    half = 0.54 * float((high - low).max() or 1.0)
    x_range = float(middle[0] - half), float(middle[0] + half)
    y_range = float(middle[1] - half), float(middle[1] + half)
    return Frame(6, 6, SIDE - 6, SIDE - 6, x_range, y_range)


def _image_frame(places: NDArray[np.floating]) -> Frame:
    """Show all places as wide as there is room, y downwards, at one scale."""
    low, high = places.min(axis=0), places.max(axis=0)
    width, height = (float(side) for side in high - low)
    scale = min((SIDE - 20) / (width or 1.0), _TALLEST / (height or 1.0))
    left = (SIDE - scale * width) / 2
    bottom = 10 + scale * height
    x_range, y_range = (float(low[0]), float(high[0])), (float(high[1]), float(low[1]))
    return Frame(left, 10, SIDE - left, bottom, x_range, y_range)


def _outward(
    frame: Frame, centre: NDArray[np.floating], on_circle: bool
) -> tuple[float, float]:
    """Where to write the name of a cluster: a little outside its centre."""
    away = _NAME_AWAY * centre / (np.linalg.norm(centre) or 1) if on_circle else 0
    x, y = centre + away
    return frame.x(float(x)), frame.y(float(y))


def _paths(frame: Frame, paths: NDArray[np.floating], kind: str) -> str:
    step = max(1, paths.shape[1] // 24)
    pieces = []
    for path in paths[:, ::step]:
        places = [f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in path]
        pieces.append("M" + "L".join(places))
    return f'<path d="{"".join(pieces)}" class="trail {kind}"/>' if pieces else ""
