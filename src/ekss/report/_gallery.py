"""Images and tracks of the points: which to show, and the panels that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ekss.report import _figures as fig
from ekss.report._figures import Floats, Ints
from ekss.report._geometry import at_most
from ekss.report._page import Panel, part, rows_at_once

if TYPE_CHECKING:
    from ekss.report._facts import Facts

SHOWN = 8  # images at each end of a cluster, a row of the page
SHOWN_VECTORS = 8  # basis vectors of a cluster
MOST_TRACKS = 600  # more paths hide each other
MOST_CLUSTERS = 60  # clusters whose images are shown
_PIXELS = 2_500_000  # of all images together, about 2 MB
_LARGEST_SIDE = 72  # pixels of an image as the page shows it
_ROWS_TO_TURN = 2000  # points that tell the directions of most energy
_TINY = 24  # images up to this side are shown with sharp pixels
_CLIPPED = (0.002, 0.998)  # quantiles of the pixels that become black and white
_TALLEST = 480.0  # height of the figure of tracks
_PATH_STEPS = 24  # pieces of a drawn path
_MOST_MOTIONS = 12  # clusters whose paths are drawn over each other


def draw_albums(facts: Facts) -> Panel | None:
    """Show typical and doubtful images of each cluster, and its basis vectors."""
    inputs, shape = facts.inputs, facts.inputs.image_shape
    if shape is None:
        return None
    n_albums = min(inputs.n_clusters, MOST_CLUSTERS)
    # Average so many pixels each way that the page stays small.
    images = n_albums * (2 * SHOWN + SHOWN_VECTORS)
    side = min(_LARGEST_SIDE, int(np.sqrt(_PIXELS / images)))
    step = max(1, -(-max(shape[:2]) // side))
    ends = [facts.ends(k, SHOWN) for k in range(n_albums)]
    chosen = np.concatenate([rows for pair in ends for rows in pair])
    low, high = np.quantile(inputs.shown[chosen], _CLIPPED)

    def shown(rows: Ints) -> list[tuple[str, str]]:
        """Address and name of the images of some points."""
        pixels = fig.averaged(inputs.shown[rows].reshape(-1, *shape), step)
        return [
            (fig.picture(image, low, high), _named(facts, row))
            for image, row in zip(pixels, rows, strict=True)
        ]

    n_features = facts.fit.flats.bases.shape[1]
    of_pixels = len(shape) == 2 and shape[0] * shape[1] == n_features
    albums = [
        {
            "cluster": facts.clusters[k],
            "typical": shown(typical),
            "doubtful": shown(doubtful),
            "vectors": _vectors(facts, k, step) if of_pixels else [],
        }
        for k, (typical, doubtful) in enumerate(ends)
    ]
    tiny = max(shape[:2]) <= _TINY
    body = part("albums", albums=albums, shown=rows_at_once(n_albums), tiny=tiny)
    return Panel("images", "", body, _reading(facts, of_pixels, step), wide=True)


def _reading(facts: Facts, of_pixels: bool, step: int) -> str:
    measured = len(facts.fit.rows)
    words = "One row per cluster"
    if len(facts.clusters) > MOST_CLUSTERS:
        words += f" (the {MOST_CLUSTERS} largest)"
    if measured < facts.inputs.n_samples:
        words += f", out of the {measured:,} points that were measured"
    words += (
        f". {facts.about_ends('images')} If doubtful images look out of place, others "
        "may be too."
    )
    if of_pixels:
        words += (
            " Basis vectors are the directions that the images of a cluster are made "
            "of, strongest first: orange is positive, blue negative."
        )
    if step > 1:
        words += f" Images are reduced {step} times."
    return words


def _named(facts: Facts, row: int) -> str:
    """Name of a point and, where that is an id, its number."""
    number = f"point {facts.inputs.rows[row]}"
    name = facts.row_name(row)
    return name if name == number else f"{name} ({number})"


def _vectors(facts: Facts, k: int, step: int) -> list[tuple[str, str]]:
    """Address and name of the images of a basis, directions of most energy first."""
    inputs, basis = facts.inputs, facts.fit.flats.bases[k]
    points = inputs.points[np.flatnonzero(inputs.codes == k)[:_ROWS_TO_TURN]]
    if inputs.affine:
        points = points - points.mean(axis=0)
    inside = points @ basis
    turned = basis @ np.linalg.eigh(inside.T @ inside)[1][:, ::-1]
    vectors = turned[:, :SHOWN_VECTORS].T
    vectors = vectors * np.where(vectors.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    images = fig.averaged(vectors.reshape(-1, *inputs.image_shape or ()), step)
    shown = []
    for number, image in enumerate(images, 1):
        most = float(np.abs(image).max()) or 1.0
        alt = f"basis vector {number} of cluster {facts.names[k]}"
        shown.append((fig.picture(image, -most, most, fig.DIVERGING), alt))
    return shown


def draw_tracks(facts: Facts) -> Panel | None:
    """Draw the points on the first frame with their paths, coloured by cluster."""
    inputs, n_frames = facts.inputs, facts.inputs.n_frames
    if n_frames is None:
        return None
    rows = at_most(np.arange(inputs.n_samples), MOST_TRACKS)
    tracks = inputs.shown[rows].reshape(len(rows), n_frames, 2)
    frame = _image_frame(tracks.reshape(-1, 2))
    step, body = max(1, n_frames // _PATH_STEPS), []
    for k in range(len(facts.clusters)):
        mine, kind = tracks[inputs.codes[rows] == k], fig.colour(k)
        paths = fig.curves(frame, mine[:, ::step], f"trail {kind}")
        body.append(fig.group([paths, fig.dots(frame, mine[:, 0], f"mid {kind}")], k))
    if facts.scores is not None:
        wrong = tracks[facts.scores.wrong[rows], 0]
        body.append(fig.crosses(frame, wrong, 3.5))
    alt = (
        f"{len(rows)} points on the first frame, coloured by cluster, with their paths."
    )
    reading = (
        f"One dot per point{facts.sampled(len(rows))} where it is on the first frame, "
        "y downwards as in images; the thin line is its path over the "
        f"{n_frames} frames. Points of one body should share a colour."
    )
    drawing = fig.svg(fig.SIDE, frame.bottom + 10, body, alt)
    title = "Tracks on the first frame"
    return Panel("tracks", title, drawing, reading + facts.about_crosses)


def draw_motions(facts: Facts) -> Panel | None:
    """Draw the paths of each cluster over each other, all from one start."""
    inputs, n_frames = facts.inputs, facts.inputs.n_frames
    if n_frames is None:
        return None
    rows = at_most(np.arange(inputs.n_samples), MOST_TRACKS)
    paths = inputs.shown[rows].reshape(len(rows), n_frames, 2)
    paths = paths - paths[:, :1]
    paths = paths[:, :: max(1, n_frames // _PATH_STEPS)]
    count = min(len(facts.clusters), _MOST_MOTIONS)
    across = min(count, 3)
    side = (fig.SIDE - 8 * (across - 1)) / across
    reach = float(np.quantile(np.abs(paths), 0.99)) or 1.0
    body = []
    for k in range(count):
        left, top = (k % across) * (side + 8), (k // across) * (side + 26) + 20
        mine = paths[inputs.codes[rows] == k]
        middle = np.median(mine, axis=0, keepdims=True)
        # Longer paths than nearly all end at the edge.
        ranges = (-1.05 * reach, 1.05 * reach), (1.05 * reach, -1.05 * reach)
        frame = fig.Frame(left, top, left + side, top + side, *ranges)
        name = f"cluster {facts.names[k]}"
        drawn = [
            fig.box(left, top, side, side, "pane"),
            fig.text(left + side / 2, top - 6, name, anchor="middle"),
            fig.curves(frame, np.clip(mine, -reach, reach), f"trail {fig.colour(k)}"),
            fig.curves(frame, np.clip(middle, -reach, reach), "median-path"),
        ]
        body.append(fig.group(drawn, k))
    alt = f"Paths of the points of {count} clusters, moved to one start."
    reading = (
        "The paths of a cluster, moved so that they start in the middle and drawn over "
        "each other, y downwards, all at one scale; the dark line is their median. The "
        "tighter the bundle, the more alike the points of a cluster move."
    )
    if count < len(facts.clusters):
        reading += f" The {count} largest clusters are shown."
    height = -(-count // across) * (side + 26) + 4
    drawing = fig.svg(fig.SIDE, height, body, alt)
    return Panel("motions", "Motions, from one start", drawing, reading)


def _image_frame(places: Floats) -> fig.Frame:
    """Show all places as wide as there is room, y downwards, at one scale."""
    (left, top), (right, bottom) = places.min(axis=0), places.max(axis=0)
    width, height = right - left, bottom - top
    scale = min((fig.SIDE - 20) / (width or 1.0), _TALLEST / (height or 1.0))
    room, lower = (fig.SIDE - scale * width) / 2, 10 + scale * height
    return fig.Frame(room, 10, fig.SIDE - room, lower, (left, right), (bottom, top))
