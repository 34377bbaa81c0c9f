"""A map of all points: cluster centres on a circle, points between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ekss.report import _figures as fig
from ekss.report._fitted import Inputs
from ekss.report._geometry import Fit
from ekss.report._page import Panel

if TYPE_CHECKING:
    from ekss.report._facts import Facts

MOST_DOTS = 2000  # more cannot be told apart
_SMALLEST_DIRECTION = 0.05  # directions in which centres hardly differ amplify noise
_FEW_CLUSTERS = 2  # up to this many are shown along their principal directions
_RIM = 1.35  # points that lie further out are drawn on this rim
_NAME_AWAY = 0.2  # how far outside its centre a cluster's name stands
_MOST_NAMES = 40  # clusters that are named

Origin = Literal["embedding", "subspaces", "points"]


@dataclass(frozen=True)
class Layout:
    """Points in the plane."""

    dots: NDArray[np.float64]  # (n_dots, 2): coordinates of the points that are drawn
    # (n_dots,): which points they are: all, or a sample that is even over the clusters
    rows: NDArray[np.int64]
    centres: NDArray[np.float64]  # (n_clusters, 2): middle of each cluster
    # what is projected: the spectral embedding, the closeness of points to subspaces,
    # or the points themselves
    origin: Origin
    on_circle: bool  # whether directions were chosen so that centres stand on a circle


def layout_of(inputs: Inputs, fit: Fit) -> Layout:
    """Project the points linearly so that the centres of clusters stand apart."""
    rows = _drawn_rows(inputs, fit)
    features, origin = _features(inputs, fit, rows)
    codes = inputs.codes[rows]
    means = np.stack(
        [features[codes == k].mean(axis=0) for k in range(inputs.n_clusters)]
    )
    on_circle = inputs.n_clusters > _FEW_CLUSTERS and origin != "points"
    if on_circle:
        middle = means.mean(axis=0)
        where = _circle(means - middle)
        apart = means - middle
        directions = np.linalg.lstsq(apart, where, rcond=_SMALLEST_DIRECTION)[0]
    else:
        middle = features.mean(axis=0)
        directions = _principal(features)
    dots, centres = (features - middle) @ directions, (means - middle) @ directions
    if on_circle:
        dots *= np.minimum(1, _RIM / np.maximum(np.linalg.norm(dots, axis=1), 1e-9))[
            :, None
        ]
    return Layout(dots, rows, centres, origin, on_circle)


def draw_map(facts: Facts) -> Panel:
    """Draw the points in the plane, coloured by cluster."""
    layout = facts.layout
    outermost = layout.centres * (1 + _NAME_AWAY if layout.on_circle else 1)
    frame = _square_frame(np.concatenate([layout.dots, outermost]))
    codes = facts.inputs.codes[layout.rows]
    body = [
        fig.dots(frame, layout.dots[codes == k], fig.colour(k))
        for k in range(len(facts.clusters))
    ]
    if facts.scores is not None:
        wrong = facts.scores.wrong[layout.rows]
        body.append(fig.crosses(frame, layout.dots[wrong], 2))
    if len(facts.clusters) <= _MOST_NAMES:
        for k, cluster in enumerate(facts.clusters):
            x, y = _outward(frame, layout.centres[k], layout.on_circle)
            name = str(cluster.name)
            body.append(fig.text(x, y + 4, name, anchor="middle", kind="halo"))
    alt = (
        f"{len(layout.rows)} points in the plane, coloured by {len(facts.clusters)} "
        "clusters."
    )
    drawing = fig.svg(fig.SIDE, fig.SIDE, body, alt)
    return Panel("map", "Map of the points", drawing, _reading(facts))


def _reading(facts: Facts) -> str:
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
        vary = "vary" if layout.origin == "points" else "varies"
        how = f"the two directions in which {what} {vary} most"
    repeat = (
        " Colours repeat after ten clusters."
        if len(facts.clusters) > fig.COLOURS
        else ""
    )
    return f"One dot per point{some}: {how}.{repeat}{facts.about_crosses}"


def _square_frame(places: NDArray[np.floating]) -> fig.Frame:
    """Show all places in a square, with the same scale in x and y."""
    low, high = places.min(axis=0), places.max(axis=0)
    middle = (low + high) / 2
    half = 0.54 * float((high - low).max() or 1.0)
    x_range = float(middle[0] - half), float(middle[0] + half)
    y_range = float(middle[1] - half), float(middle[1] + half)
    return fig.Frame(6, 6, fig.SIDE - 6, fig.SIDE - 6, x_range, y_range)


def _outward(
    frame: fig.Frame, centre: NDArray[np.floating], on_circle: bool
) -> tuple[float, float]:
    """Where to write the name of a cluster: a little outside its centre."""
    away = _NAME_AWAY * centre / (np.linalg.norm(centre) or 1) if on_circle else 0
    x, y = centre + away
    return frame.x(float(x)), frame.y(float(y))


def _drawn_rows(inputs: Inputs, fit: Fit) -> NDArray[np.int64]:
    """All measured points or a sample; every cluster keeps its share, at least 1."""
    if len(fit.rows) <= MOST_DOTS:
        return _every_cluster(inputs, fit.rows)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(fit.rows, MOST_DOTS, replace=False))
    return _every_cluster(inputs, chosen)


def _every_cluster(inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add the first point of clusters that a sample missed."""
    missed = np.setdiff1d(np.arange(inputs.n_clusters), inputs.codes[rows])
    first = [int(np.flatnonzero(inputs.codes == k)[0]) for k in missed]
    return np.union1d(rows, np.array(first, np.int64))


def _features(
    inputs: Inputs, fit: Fit, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Origin]:
    embedding = inputs.embedding
    if embedding is not None and embedding.shape[1] > 1:
        return embedding[rows].astype(np.float64), "embedding"
    place = np.minimum(np.searchsorted(fit.rows, rows), len(fit.rows) - 1)
    if inputs.n_clusters > 1 and np.array_equal(fit.rows[place], rows):
        distances = fit.distances[place].astype(np.float64)
        spread = float(np.median(distances)) or 1.0
        return np.exp(-((distances / spread) ** 2)), "subspaces"
    return inputs.points[rows].astype(np.float64), "points"


def _circle(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places on the unit circle, similar clusters side by side, the first on top."""
    order = _round_trip(means)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    places = np.empty((len(order), 2))
    places[order] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return places


def _round_trip(means: NDArray[np.float64]) -> list[int]:
    """Start at the first, go on to the nearest not yet seen, then uncross paths."""
    squares = (means**2).sum(axis=1)
    gaps = squares[:, None] + squares - 2 * means @ means.T
    order, left = [0], set(range(1, len(means)))
    while left:
        here = order[-1]
        nearest = min(left, key=lambda k: (gaps[here, k], k))
        order.append(nearest)
        left.remove(nearest)
    return _uncrossed(order, gaps)


def _uncrossed(order: list[int], gaps: NDArray[np.float64]) -> list[int]:
    """Turn round parts of the trip as long as that shortens it (2-opt), few rounds."""
    n = len(order)
    for _ in range(4):
        changed = False
        for i in range(1, n - 1):
            for j in range(i + 1, n):
                before, first, last = order[i - 1], order[i], order[j]
                after = order[(j + 1) % n]
                now = gaps[before, first] + gaps[last, after]
                if gaps[before, last] + gaps[first, after] < now - 1e-12:
                    order[i : j + 1] = order[i : j + 1][::-1]
                    changed = True
        if not changed:
            break
    return order


def _principal(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions in which the features vary most; zeros if only one."""
    centred = features - features.mean(axis=0)
    vectors = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    missing = 2 - vectors.shape[1]
    return np.pad(vectors, ((0, 0), (0, missing)))
