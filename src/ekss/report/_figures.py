"""One kit of figures for all pages: vector shapes, axes, heat maps, pixel images.

Figures take their colours from the style sheet of the page, so that they follow its
light and dark settings. All words are escaped.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

SIDE = 420.0  # width of a figure in its own units; the page scales it
COLOURS = 10  # of clusters in the style sheet
# Dark to light, even to the eye, also for the colour-blind: points of viridis (CC0).
SEQUENTIAL = (
    "#440154 #472d7b #3b528b #2c728e #21918c #28ae80 #5ec962 #addc30 #fde725".split()
)
# Negative to positive through a neutral middle; told apart by the colour-blind.
DIVERGING = "#1c5f96 #5a9fd0 #a9cfe8 #f4f2ee #f3bd84 #d97b2b #974806".split()
_WRITTEN = 12  # heat maps up to this size have numbers in their cells
_DARK = 0.66  # cells of a stronger shade need light writing
_FAINT, _STRONG = 0.06, 0.95  # shades of the least and the most alike
_CELLS = 60**2  # heat maps of more cells are one image
_SHADE = "#4a86cc"  # colour of such an image, between those of light and dark pages


class Html(str):
    """Markup whose words are escaped already; templates take it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Frame:
    """A plotting area inside a figure, and the ranges that it shows.

    ``y`` runs upwards from ``bottom`` unless ``y_range`` is given the other way round.
    """

    left: float
    top: float
    right: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Place on the page of a value of x."""
        low, high = self.x_range
        return self.left + (value - low) / ((high - low) or 1) * (
            self.right - self.left
        )

    def y(self, value: float) -> float:
        """Place on the page of a value of y."""
        low, high = self.y_range
        return self.bottom - (value - low) / ((high - low) or 1) * (
            self.bottom - self.top
        )


def svg(
    width: float, height: float, body: Iterable[str], alt: str, kind: str = "plot"
) -> Html:
    """Wrap shapes into a figure with a text for those who cannot see it."""
    return Html(
        f'<svg class="{kind}" viewBox="0 0 {number(width)} {number(height)}" '
        f'width="{number(width)}" height="{number(height)}" role="img" '
        f'style="max-width:{1.15 * width:.0f}px" '
        f'aria-label="{escape(alt)}">{"".join(body)}</svg>'
    )


def plot_frame(x_range: tuple[float, float], y_range: tuple[float, float]) -> Frame:
    """Return the frame of an ordinary plot, with room for ticks and labels."""
    return Frame(56, 14, SIDE - 20, 260, x_range, y_range)


def plot(frame: Frame, body: Iterable[str], alt: str) -> Html:
    """Wrap the shapes of a plot, leaving room below its frame for ticks and a label."""
    return svg(SIDE, frame.bottom + 42, body, alt)


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    kind: str = "",
    turn: float = 0,
) -> str:
    """Write words; ``kind`` is a class of the style sheet."""
    turned = f' transform="rotate({turn} {number(x)} {number(y)})"' if turn else ""
    named = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{named}{turned}>'
        f"{escape(words)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Draw a straight line."""
    ends = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)
    places = " ".join(f'{name}="{number(value)}"' for name, value in ends)
    return f'<line {places} class="{kind}"/>'


def box(
    x: float, y: float, width: float, height: float, kind: str, opacity: float = 1
) -> str:
    """Fill a rectangle."""
    shade = f' fill-opacity="{opacity:.3g}"' if opacity < 1 else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}" class="{kind}"{shade}/>'
    )


def dots(frame: Frame, places: NDArray[np.floating], kind: str) -> str:
    """Draw many dots as one path: a line of no length with round ends each."""
    if not len(places):
        return ""
    path = "".join(f"M{number(frame.x(x))} {number(frame.y(y))}h0" for x, y in places)
    return f'<path d="{path}" class="dots {kind}"/>'


def crosses(frame: Frame, places: NDArray[np.floating], size: float) -> str:
    """Draw many small crosses as one path."""
    if not len(places):
        return ""
    s, d = number(size), number(2 * size)
    path = "".join(
        f"M{number(frame.x(x))} {number(frame.y(y))}m-{s}-{s}l{d} {d}m0-{d}l-{d} {d}"
        for x, y in places
    )
    return f'<path d="{path}" class="cross"/>'


def image(x: float, y: float, width: float, height: float, address: str) -> str:
    """Place a PNG, its pixels kept sharp."""
    return (
        f'<image x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}" preserveAspectRatio="none" '
        f'class="pixels" href="{address}"/>'
    )


def steps(frame: Frame, counts: Sequence[float], kind: str) -> str:
    """Fill a histogram whose bins share the width of the frame evenly."""
    edges = np.linspace(*frame.x_range, len(counts) + 1)
    path = [f"M{number(frame.left)} {number(frame.bottom)}"]
    for count, end in zip(counts, edges[1:], strict=True):
        path.append(f"V{number(frame.y(count))}H{number(frame.x(float(end)))}")
    return f'<path d="{"".join(path)}V{number(frame.bottom)}Z" class="{kind}"/>'


def curve(frame: Frame, places: NDArray[np.floating], kind: str) -> str:
    """Draw a line through points."""
    return f'<path d="{_path(frame, places)}" class="{kind}"/>'


def band(
    frame: Frame,
    xs: NDArray[np.floating],
    low: NDArray[np.floating],
    high: NDArray[np.floating],
) -> str:
    """Fill the area between two curves."""
    there, back = np.stack([xs, high], axis=1), np.stack([xs, low], axis=1)
    outline = _path(frame, np.concatenate([there, back[::-1]]))
    return f'<path d="{outline}Z" class="band"/>'


def _path(frame: Frame, places: NDArray[np.floating]) -> str:
    points = (f"{number(frame.x(x))} {number(frame.y(y))}" for x, y in places)
    return "M" + "L".join(points)


def grid(
    frame: Frame,
    across: Sequence[float] = (),
    along: Sequence[float] = (),
    write: Callable[[float], str] | None = None,
) -> list[str]:
    """Faint lines with their values: across at values of y, along at values of x.

    ``write`` writes the values of x.
    """
    body = []
    for value in across:
        y = frame.y(value)
        body.append(line(frame.left, y, frame.right, y, "grid"))
        body.append(text(frame.left - 6, y + 4, plain(value), anchor="end"))
    for value in along:
        x, words = frame.x(value), (write or plain)(value)
        body.append(line(x, frame.top, x, frame.bottom, "grid"))
        body.append(text(x, frame.bottom + 16, words, anchor="middle"))
    return body


def axis_labels(frame: Frame, below: str = "", beside: str = "") -> list[str]:
    """Write what the axes show, below the frame and upright to its left."""
    middle = (frame.left + frame.right) / 2
    centre = (frame.top + frame.bottom) / 2
    labels = []
    if below:
        place = middle, frame.bottom + 34
        labels.append(text(*place, below, anchor="middle", kind="m"))
    if beside:
        place = 12, centre
        labels.append(text(*place, beside, anchor="middle", kind="m", turn=-90))
    return labels


def rule(frame: Frame) -> str:
    """Draw the lower edge of a frame."""
    return line(frame.left, frame.bottom, frame.right, frame.bottom, "rule")


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between low and high, about ``count`` of them.

    Examples
    --------
    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    width = high - low
    if not width > 0:
        return [low]
    rough = width / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def colour(position: int) -> str:
    """Class of the colour of a cluster; colours repeat after ten clusters."""
    return f"c{position % COLOURS}"


def number(value: float) -> str:
    """Write a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def plain(value: float) -> str:
    """Write a tick: as many digits as it needs."""
    return f"{value:.6g}"


def heat_map(
    shades: NDArray[np.floating],
    cells: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    alt: str,
    labels: tuple[str, str] | None = None,
) -> Html:
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
        return svg(left + where[2] + 4, top + where[3] + 4, body, alt)
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
    return svg(width, height, body, alt)


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


def relative_shades(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Shades from faint to strong over the range off the diagonal, which is blank."""
    shades = values.astype(np.float64)
    np.fill_diagonal(shades, np.nan)
    low, high = float(np.nanmin(shades)), float(np.nanmax(shades))
    if high - low < 1e-9:
        return np.where(np.isnan(shades), np.nan, 0.5)
    return _FAINT + (_STRONG - _FAINT) * (shades - low) / (high - low)


def png(
    pixels: NDArray[np.uint8],
    palette: NDArray[np.uint8] | None = None,
    alpha: NDArray[np.uint8] | None = None,
) -> bytes:
    r"""Encode grey (h, w), colour (h, w, 3) or, with a palette (256, 3), indices.

    ``alpha`` (256,) makes colours of the palette transparent.

    Examples
    --------
    >>> import numpy as np
    >>> png(np.zeros((2, 3), np.uint8))[:4]
    b'\x89PNG'
    """
    height, width = pixels.shape[:2]
    kind = 3 if palette is not None else (2 if pixels.ndim == 3 else 0)
    rows = pixels.reshape(height, -1)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = [(b"IHDR", header)]
    if palette is not None:
        chunks.append((b"PLTE", palette.astype(np.uint8).tobytes()))
    if alpha is not None:
        chunks.append((b"tRNS", alpha.tobytes()))
    chunks += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def data_uri(image: bytes) -> str:
    """Write a PNG as an address that needs no file."""
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def palette_of(colours: list[str]) -> NDArray[np.uint8]:
    """Interpolate 256 colours between the given ones."""
    anchors = np.array(
        [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours], float
    )
    places = np.linspace(0, len(anchors) - 1, 256)
    channels = [np.interp(places, range(len(anchors)), column) for column in anchors.T]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)


def to_bytes(values: NDArray[np.floating], low: float, high: float) -> NDArray:
    """Map the range from low to high to 0..255, and clip."""
    width = high - low if high > low else 1.0
    return np.rint(255 * np.clip((values - low) / width, 0, 1)).astype(np.uint8)


def averaged(images: NDArray[np.floating], step: int) -> NDArray[np.floating]:
    """Average squares of ``step`` pixels of images (n, height, width, ...)."""
    if step == 1:
        return images
    n, height, width = images.shape[:3]
    kept = images[:, : height - height % step, : width - width % step]
    shape = (n, kept.shape[1] // step, step, kept.shape[2] // step, step)
    return kept.reshape(*shape, *images.shape[3:]).mean(axis=(2, 4))


def _chunk(name: bytes, content: bytes) -> bytes:
    """Put length before and checksum after, as PNG wants it."""
    checksum = zlib.crc32(name + content)
    return (
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)
    )
