"""Images and tracks of the points: which to show, and the panels that show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ekss.report import _figures as fig
from ekss.report._agreement import Agreement
from ekss.report._fitted import Inputs
from ekss.report._geometry import Fit, nearest_other
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


@dataclass(frozen=True)
class Gallery:
    """Images of each cluster."""

    # rows of the points to show of each cluster, the most typical or doubtful first
    typical: tuple[NDArray[np.int64], ...]
    doubtful: tuple[NDArray[np.int64], ...]
    # (n_clusters, n_vectors, height, width): basis vectors as images; None where
    # features are not pixels
    vectors: NDArray[np.floating] | None
    step: int  # pixels averaged along each side, 1 for none


@dataclass(frozen=True)
class Tracks:
    """Paths of points over the frames, all or a sample of them."""

    paths: NDArray[np.floating]  # (n_paths, n_frames, 2): positions x, y in each frame
    rows: NDArray[np.int64]  # (n_paths,): which points they are


@dataclass(frozen=True)
class Shown:
    """An image: its address and the words for those who cannot see it."""

    address: str
    alt: str


@dataclass(frozen=True)
class Album:
    """The images of one cluster."""

    name: int
    size: int
    position: int
    typical: tuple[Shown, ...]
    doubtful: tuple[Shown, ...]
    vectors: tuple[Shown, ...]


def gallery_of(inputs: Inputs, fit: Fit, agreement: Agreement) -> Gallery | None:
    """Rank the members of every cluster by doubt; take both ends."""
    if inputs.image_shape is None:
        return None
    rows, doubt = _doubts(inputs, fit, agreement)
    typical, doubtful = [], []
    for k in range(min(inputs.n_clusters, MOST_CLUSTERS)):
        mine = np.flatnonzero(inputs.codes[rows] == k)
        ranked = rows[mine[np.argsort(doubt[mine], kind="stable")]]
        count = min(SHOWN, max(1, len(ranked) // 2))
        typical.append(ranked[:count])
        doubtful.append(ranked[::-1][: min(count, len(ranked) - count)])
    return Gallery(
        tuple(typical), tuple(doubtful), _vector_images(inputs, fit), _step(inputs)
    )


def tracks_of(inputs: Inputs) -> Tracks | None:
    """Take the paths of all points, or of an even sample."""
    if inputs.n_frames is None:
        return None
    rows = np.arange(len(inputs.codes))
    if len(rows) > MOST_TRACKS:
        chosen = np.random.default_rng(0).choice(rows, MOST_TRACKS, replace=False)
        rows = np.sort(chosen)
    return Tracks(inputs.shown[rows].reshape(len(rows), inputs.n_frames, 2), rows)


def draw_albums(facts: Facts) -> Panel | None:
    """Show typical and doubtful images of each cluster, and its basis vectors."""
    gallery, shape = facts.gallery, facts.inputs.image_shape
    if gallery is None or shape is None:
        return None
    albums = _albums(facts, gallery)
    shown, tiny = rows_at_once(len(facts.clusters)), max(shape[:2]) <= _TINY
    body = part("albums", albums=albums, shown=shown, tiny=tiny)
    return Panel("images", "", body, _reading(facts, gallery, albums), wide=True)


def draw_tracks(facts: Facts) -> Panel | None:
    """Draw the points on the first frame with their paths, coloured by cluster."""
    tracks = facts.tracks
    if tracks is None:
        return None
    frame = _image_frame(tracks.paths.reshape(-1, 2))
    codes = facts.inputs.codes[tracks.rows]
    body = []
    for k in range(len(facts.clusters)):
        paths = tracks.paths[codes == k]
        body.append(_paths(frame, paths, fig.colour(k)))
        body.append(fig.dots(frame, paths[:, 0], f"mid {fig.colour(k)}"))
    if facts.scores is not None:
        wrong = facts.scores.wrong[tracks.rows]
        body.append(fig.crosses(frame, tracks.paths[wrong, 0], 3.5))
    shown, all_ = len(tracks.rows), facts.run.n_samples
    some = f" (a sample of {shown:,} of {all_:,})" if shown < all_ else ""
    alt = f"{shown} points on the first frame, coloured by cluster, with their paths."
    reading = (
        f"One dot per point{some} where it is on the first frame, y downwards as in "
        f"images; the thin line is its path over the {tracks.paths.shape[1]} frames. "
        "Points of one body should share a colour." + facts.about_crosses
    )
    drawing = fig.svg(fig.SIDE, frame.bottom + 10, body, alt)
    return Panel("tracks", "Tracks on the first frame", drawing, reading)


def _reading(facts: Facts, gallery: Gallery, albums: list[Album]) -> str:
    measured = len(facts.fit.rows)
    words = "One row per cluster"
    if len(albums) < len(facts.clusters):
        words += f" (the {len(albums)} largest)"
    if measured < facts.run.n_samples:
        words += f", out of the {measured:,} points that were measured"
    if facts.fit.fitted_here:
        words += (
            ". Typical images have the most, doubtful ones the least of their affinity "
            "inside the cluster"
        )
    else:
        words += (
            ". Typical images are much nearer to their own subspace than to any other, "
            "doubtful ones hardly or not at all"
        )
    words += ": if doubtful images look out of place, others may be too."
    if gallery.vectors is not None:
        words += (
            " Basis vectors are the directions that the images of a cluster are made "
            "of, strongest first: orange is positive, blue negative."
        )
    if gallery.step > 1:
        words += f" Images are reduced {gallery.step} times."
    return words


def _albums(facts: Facts, gallery: Gallery) -> list[Album]:
    """Encode the images of every cluster that is shown."""
    inputs = facts.inputs
    chosen = np.concatenate([*gallery.typical, *gallery.doubtful])
    low, high = np.quantile(inputs.shown[chosen], _CLIPPED)
    albums = []
    for k, rows in enumerate(gallery.typical):
        cluster = facts.clusters[k]
        ends = [
            tuple(_image(facts, gallery.step, int(row), low, high) for row in end)
            for end in (rows, gallery.doubtful[k])
        ]
        vectors: tuple[Shown, ...] = ()
        if gallery.vectors is not None:
            vectors = _vectors(facts, gallery.vectors[k], gallery.step, k)
        albums.append(Album(cluster.name, cluster.size, k, ends[0], ends[1], vectors))
    return albums


def _image(facts: Facts, step: int, row: int, low: float, high: float) -> Shown:
    shape = facts.inputs.image_shape or ()
    pixels = fig.averaged(facts.inputs.shown[row].reshape(1, *shape), step)[0]
    return Shown(
        fig.data_uri(fig.png(fig.to_bytes(pixels, low, high))), _name(facts, row)
    )


def _vectors(
    facts: Facts, vectors: NDArray[np.floating], step: int, k: int
) -> tuple[Shown, ...]:
    shown, palette = [], fig.palette_of(fig.DIVERGING)
    for number, vector in enumerate(fig.averaged(vectors, step), 1):
        most = float(np.abs(vector).max()) or 1.0
        address = fig.data_uri(fig.png(fig.to_bytes(vector, -most, most), palette))
        alt = f"basis vector {number} of cluster {facts.clusters[k].name}"
        shown.append(Shown(address, alt))
    return tuple(shown)


def _name(facts: Facts, row: int) -> str:
    """Return the name of a point: its id, or its number."""
    ids, number = facts.inputs.ids, int(facts.inputs.kept[row])
    return f"point {number}" if ids is None else f"{ids[row]} (point {number})"


def _image_frame(places: NDArray[np.floating]) -> fig.Frame:
    """Show all places as wide as there is room, y downwards, at one scale."""
    low, high = places.min(axis=0), places.max(axis=0)
    width, height = (float(side) for side in high - low)
    scale = min((fig.SIDE - 20) / (width or 1.0), _TALLEST / (height or 1.0))
    left = (fig.SIDE - scale * width) / 2
    bottom = 10 + scale * height
    x_range, y_range = (float(low[0]), float(high[0])), (float(high[1]), float(low[1]))
    return fig.Frame(left, 10, fig.SIDE - left, bottom, x_range, y_range)


def _paths(frame: fig.Frame, paths: NDArray[np.floating], kind: str) -> str:
    step = max(1, paths.shape[1] // _PATH_STEPS)
    pieces = []
    for path in paths[:, ::step]:
        places = [f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in path]
        pieces.append("M" + "L".join(places))
    return f'<path d="{"".join(pieces)}" class="trail {kind}"/>' if pieces else ""


def _doubts(
    inputs: Inputs, fit: Fit, agreement: Agreement
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How much nearer the own subspace is than any other, or lack of agreement."""
    if fit.fitted_here or inputs.n_clusters == 1:
        return agreement.rows, -agreement.values
    codes = inputs.codes[fit.rows]
    own = fit.distances[np.arange(len(codes)), codes].astype(float)
    return fit.rows, own - nearest_other(fit.distances, codes)


def _vector_images(inputs: Inputs, fit: Fit) -> NDArray[np.floating] | None:
    shape = inputs.image_shape
    bases = fit.flats.bases
    if shape is None or len(shape) != 2 or bases.shape[1] != shape[0] * shape[1]:
        return None
    turned = [
        _principal(inputs, basis, k) for k, basis in enumerate(bases[:MOST_CLUSTERS])
    ]
    vectors = np.stack(turned)[:, :, :SHOWN_VECTORS].transpose(0, 2, 1)
    signs = np.where(vectors.sum(axis=2, keepdims=True) < 0, -1.0, 1.0)
    return (vectors * signs).reshape(*vectors.shape[:2], *shape)


def _principal(
    inputs: Inputs, basis: NDArray[np.floating], k: int
) -> NDArray[np.floating]:
    """Turn a basis inside its subspace: directions of most energy come first."""
    rows = np.flatnonzero(inputs.codes == k)[:_ROWS_TO_TURN]
    points = inputs.points[rows]
    if inputs.affine:
        points = points - points.mean(axis=0)
    inside = points @ basis
    return basis @ np.linalg.eigh(inside.T @ inside)[1][:, ::-1]


def _step(inputs: Inputs) -> int:
    """Average so many pixels each way that the page stays small."""
    height, width = inputs.image_shape[:2] if inputs.image_shape else (1, 1)
    images = min(inputs.n_clusters, MOST_CLUSTERS) * (2 * SHOWN + SHOWN_VECTORS)
    side = min(_LARGEST_SIDE, int(np.sqrt(_PIXELS / images)))
    return max(1, -(-max(height, width) // side))
