"""Tables drawn as coloured cells: pairs of subspaces, classes against clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ekss.report._facts import Facts
from ekss.report._picture import SIDE, Picture
from ekss.report._png import data_uri, palette_of, png, to_bytes
from ekss.report._svg import box, image, svg, text

# Tables up to this size have numbers in the cells, and names up to the second.
_WRITTEN = 12
_NAMED = 40
# Darker cells need light writing.
_DARK = 0.66
_FAINT, _STRONG = 0.06, 0.95
# Tables above this size are one image.
_CELLS = 60**2
# The colour of the shades in an image, between those of light and dark pages.
_SHADE = "#4a86cc"


def draw_subspaces(facts: Facts) -> Picture | None:
    """Draw the affinities between subspaces."""
    angles = facts.angles
    if angles is None:
        return None
    values = angles.affinities
    off = values[~np.eye(len(values), dtype=bool)]
    names = [str(cluster.name) for cluster in facts.clusters]
    alt = (
        f"Affinities between {len(names)} subspaces, from {off.min():.2f} to "
        f"{off.max():.2f}."
    )
    cells = [[f"{v:.2f}".lstrip("0") for v in row] for row in values]
    drawing = heat_map(_relative(values), cells, names, names, alt)
    reading = (
        "Affinity of two subspaces (root mean square cosine of their principal "
        "angles): 0 at right angles, 1 if they are the same. Shaded from the least "
        f"({off.min():.2f}) to the most alike ({off.max():.2f}): the strongest colour "
        "marks the pairs that are hardest to tell apart." + _about(facts)
    )
    return Picture("affinities", "Affinities between subspaces", drawing, reading)


def draw_angles(facts: Facts) -> Picture | None:
    """Draw the smallest principal angles between subspaces."""
    angles = facts.angles
    if angles is None:
        return None
    values = angles.smallest
    off = values[~np.eye(len(values), dtype=bool)]
    names = [str(cluster.name) for cluster in facts.clusters]
    alt = (
        f"Smallest principal angles between {len(names)} subspaces, from "
        f"{off.min():.0f} to {off.max():.0f} degrees."
    )
    cells = [[f"{v:.0f}°" for v in row] for row in values]
    drawing = heat_map(_relative(90 - values), cells, names, names, alt)
    reading = (
        "Smallest principal angle of two subspaces: 0° if they share a direction, 90° "
        f"if they are orthogonal. Shaded from {off.max():.0f}° to {off.min():.0f}°: "
        "the strongest colour marks pairs that most nearly share a direction."
    )
    return Picture("angles", "Smallest principal angles", drawing, reading)


def draw_confusion(facts: Facts) -> Picture | None:
    """Draw true classes against clusters, matched pairs on the diagonal."""
    scores = facts.scores
    if scores is None:
        return None
    counts = scores.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    clusters = [str(facts.clusters[k].name) for k in scores.clusters]
    classes = [name if len(name) <= 10 else name[:9] + "…" for name in scores.classes]
    alt = (
        f"{len(classes)} true classes against {len(clusters)} clusters: "
        f"{100 * (1 - scores.error):.1f} % of the points are on the diagonal."
    )
    cells = [[f"{c:,}" if c else "" for c in row] for row in counts]
    labels = "true class", "cluster"
    drawing = heat_map(shares, cells, classes, clusters, alt, labels)
    reading = (
        "Rows are true classes, columns clusters, matched one to one so that most "
        "points are on the diagonal; cells are shaded by their share of the class. "
        "What is off the diagonal is counted as error."
    )
    return Picture("confusion", "True classes against clusters", drawing, reading)


def heat_map(
    shades: NDArray[np.floating],
    cells: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    alt: str,
    labels: tuple[str, str] | None = None,
) -> str:
    """Draw shades in [0, 1] (NaN for an empty cell) with what is written in them."""
    longest = max((len(name) for name in rows), default=1)
    left = 14 + 7.4 * min(longest, 12) + (20 if labels else 0)
    top = 24.0 + (16 if labels else 0)
    cell = (SIDE - left - 4) / shades.shape[1]
    cell = min(cell, 64.0)
    gap = 1.0 if cell >= 8 else 0.0
    body = []
    if shades.size > _CELLS:
        where = left, top, cell * shades.shape[1], cell * shades.shape[0]
        body.append(image(*where, _as_image(shades)))
        body += _names(rows, columns, left, top, cell, labels)
        return svg(left + where[2] + 4, top + where[3] + 4, body, alt, "plot")
    for (i, j), shade in np.ndenumerate(shades):
        x, y = left + j * cell, top + i * cell
        if np.isnan(shade):
            body.append(box(x, y, cell - gap, cell - gap, "blank"))
            continue
        body.append(box(x, y, cell - gap, cell - gap, "shade", float(shade)))
        if max(shades.shape) <= _WRITTEN and cells[i][j]:
            kind = "cell light" if shade > _DARK else "cell"
            middle = x + (cell - gap) / 2, y + (cell - gap) / 2 + 4
            body.append(text(*middle, cells[i][j], anchor="middle", kind=kind))
    body += _names(rows, columns, left, top, cell, labels)
    height = top + shades.shape[0] * cell + 4
    width = left + shades.shape[1] * cell + 4
    return svg(width, height, body, alt, "plot")


def _as_image(shades: NDArray[np.floating]) -> str:
    """Shades as the opacity of one colour, so that they fit light and dark pages."""
    steps = to_bytes(np.nan_to_num(shades, nan=0.0), 0, 1)
    alpha = np.arange(256, dtype=np.uint8)
    return data_uri(png(steps, palette_of([_SHADE, _SHADE]), alpha))


def _names(
    rows: Sequence[str],
    columns: Sequence[str],
    left: float,
    top: float,
    cell: float,
    labels: tuple[str, str] | None,
) -> Iterator[str]:
    step = max(1, int(np.ceil(13 / cell)))
    for i in range(0, len(rows), step):
        yield text(left - 6, top + (i + 0.5) * cell + 4, rows[i], anchor="end")
    wide = max((len(name) for name in columns), default=1)
    step = max(1, int(np.ceil((7 * wide + 4) / cell)))
    for j in range(0, len(columns), step):
        yield text(left + (j + 0.5) * cell, top - 7, columns[j], anchor="middle")
    if labels:
        middle = left + len(columns) * cell / 2
        yield text(middle, 13, labels[1], anchor="middle", kind="m")
        height = top + len(rows) * cell / 2
        yield text(12, height, labels[0], anchor="middle", kind="m", turn=-90)


def _relative(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Shades from faint to strong over the range off the diagonal, which is blank."""
    shades = values.astype(np.float64)
    np.fill_diagonal(shades, np.nan)
    low, high = float(np.nanmin(shades)), float(np.nanmax(shades))
    if high - low < 1e-9:
        return np.where(np.isnan(shades), np.nan, 0.5)
    return _FAINT + (_STRONG - _FAINT) * (shades - low) / (high - low)


def _about(facts: Facts) -> str:
    if facts.run.affine:
        return " Only directions count: parallel affine subspaces have affinity 1."
    if facts.fit.fitted_here:
        return (
            f" {facts.run.method} fits no subspaces: these are the first "
            f"{facts.fit.dim} principal components of each cluster."
        )
    return ""
