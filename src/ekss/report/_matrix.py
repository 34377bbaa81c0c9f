"""The matrix of votes or affinities of all pairs of points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ekss.report._facts import Facts
from ekss.report._picture import SIDE, Picture
from ekss.report._png import SEQUENTIAL, data_uri, palette_of, png, to_bytes
from ekss.report._svg import box, colour, image, line, plain, svg, text, ticks

# Clusters whose names fit beside the matrix, as a share of its side.
_NAMED = 0.028
_MOST_LINES = 30


def draw_matrix(facts: Facts) -> Picture | None:
    """Draw votes or affinities of pairs of points in cluster order."""
    blocks = facts.blocks
    if blocks is None:
        return None
    members = blocks.source == "members"
    values = blocks.means if members else np.sqrt(blocks.means)
    off = values[~np.eye(len(values), dtype=bool)]
    top = float(np.quantile(off, 0.998)) if off.size else 1.0
    top = max(top, 1e-12) if not members else max(top, 0.02)
    left, above, side = 34.0, 8.0, SIDE - 50
    address = data_uri(png(to_bytes(values, 0, top), palette_of(SEQUENTIAL)))
    body = [image(left, above, side, side, address)]
    body += _cluster_lines(facts, blocks.clusters, left, above, side)
    body += _colour_bar(left, above + side + 14, side, top, members)
    what = "Votes" if members else "Affinities"
    own, other = _own_and_other(blocks.between, facts.inputs.sizes)
    alt = (
        f"{what} between points in cluster order: mean {own:.3g} inside clusters, "
        f"{other:.3g} between them."
    )
    drawing = svg(SIDE, above + side + 58, body, alt, "plot")
    return Picture("matrix", f"{what} of pairs", drawing, _matrix_reading(facts))


def _matrix_reading(facts: Facts) -> str:
    blocks = facts.blocks
    assert blocks is not None
    size = blocks.points_a_block
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
            yield line(left + place, top, left + place, top + side, "cut")
            yield line(left, top + place, left + side, top + place, "cut")
        share = count / counts.sum()
        if share >= _NAMED:
            middle = top + (end - share / 2) * side
            name = str(facts.clusters[k].name)
            yield text(left - 8, middle + 4, name, anchor="end")
        yield box(
            left - 5,
            top + (end - share) * side,
            3,
            max(share * side - 0.5, 0.5),
            f"fill {colour(k)}",
        )


def _colour_bar(
    left: float, top: float, width: float, highest: float, members: bool
) -> Iterator[str]:
    ramp = png(np.arange(256, dtype=np.uint8)[None], palette_of(SEQUENTIAL))
    yield image(left, top, width, 9, data_uri(ramp))
    if members:
        for tick in ticks(0, highest, 4):
            place = left + tick / highest * width
            yield text(place, top + 24, plain(tick), anchor="middle")
        label = "share of members that put a pair together"
    else:
        yield text(left, top + 24, "none")
        yield text(left + width, top + 24, "strong", anchor="end")
        label = "affinity of a pair"
    yield text(left + width / 2, top + 41, label, anchor="middle", kind="m")


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
