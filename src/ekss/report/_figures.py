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
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

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
        return _scaled(value, self.x_range, self.left, self.right)

    def y(self, value: float) -> float:
        """Place on the page of a value of y."""
        return _scaled(value, self.y_range, self.bottom, self.top)

    def at(self, places: Floats) -> list[str]:
        """Write places as coordinates of a path."""
        return [f"{number(self.x(x))} {number(self.y(y))}" for x, y in places]


def _scaled(
    value: float, values: tuple[float, float], start: float, end: float
) -> float:
    low, high = values
    return start + (value - low) / ((high - low) or 1) * (end - start)


def tag(name: str, content: str = "", **attributes: str | float) -> str:
    """Write an element; attributes without a value are left out."""
    words = ""
    for key, value in attributes.items():
        if value != "":
            written = value if isinstance(value, str) else number(value)
            words += f' {key.rstrip("_").replace("_", "-")}="{written}"'
    return f"<{name}{words}>{content}</{name}>" if content else f"<{name}{words}/>"


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
    x: float, y: float, words: str, *, anchor: str = "", kind: str = "", turn: int = 0
) -> str:
    """Write words; ``kind`` is a class of the style sheet."""
    turned = f"rotate({turn} {number(x)} {number(y)})" if turn else ""
    about = {"text_anchor": anchor, "class_": kind, "transform": turned}
    return tag("text", escape(words), x=x, y=y, **about)


def group(shapes: Iterable[str], position: int) -> str:
    """Mark shapes as those of one cluster, so that it can be picked out."""
    return tag("g", "".join(shapes), data_k=str(position))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Draw a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def box(
    x: float, y: float, width: float, height: float, kind: str, opacity: float = 1
) -> str:
    """Fill a rectangle."""
    shade = f"{opacity:.3g}" if opacity < 1 else ""
    sides: dict[str, Any] = {"width": width, "height": height, "class_": kind}
    return tag("rect", x=x, y=y, **sides, fill_opacity=shade)


def image(x: float, y: float, width: float, height: float, address: str) -> str:
    """Place a PNG, its pixels kept sharp."""
    how: dict[str, Any] = {"preserveAspectRatio": "none", "class_": "pixels"}
    return tag("image", x=x, y=y, width=width, height=height, **how, href=address)


def _path(pieces: Iterable[str], kind: str) -> str:
    shape = "".join(pieces)
    return tag("path", d=shape, class_=kind) if shape else ""


def dots(frame: Frame, places: Floats, kind: str) -> str:
    """Draw many dots as one path: a line of no length with round ends each."""
    return _path((f"M{place}h0" for place in frame.at(places)), f"dots {kind}")


def crosses(frame: Frame, places: Floats, size: float) -> str:
    """Draw many small crosses as one path."""
    s, d = number(size), number(2 * size)
    strokes = f"m-{s}-{s}l{d} {d}m0-{d}l-{d} {d}"
    return _path((f"M{place}{strokes}" for place in frame.at(places)), "cross")


def steps(frame: Frame, counts: Sequence[float], kind: str) -> str:
    """Fill a histogram whose bins share the width of the frame evenly."""
    edges = np.linspace(*frame.x_range, len(counts) + 1)
    bottom = number(frame.bottom)
    bins = (
        f"V{number(frame.y(count))}H{number(frame.x(float(end)))}"
        for count, end in zip(counts, edges[1:], strict=True)
    )
    return _path([f"M{number(frame.left)} {bottom}", *bins, f"V{bottom}Z"], kind)


def curve(frame: Frame, places: Floats, kind: str) -> str:
    """Draw a line through points."""
    return curves(frame, [places], kind)


def curves(frame: Frame, lines: Iterable[Floats], kind: str) -> str:
    """Draw several lines as one path."""
    return _path(("M" + "L".join(frame.at(places)) for places in lines), kind)


def band(frame: Frame, xs: Floats, low: Floats, high: Floats) -> str:
    """Fill the area between two curves."""
    there, back = np.stack([xs, high], axis=1), np.stack([xs, low], axis=1)
    outline = frame.at(np.concatenate([there, back[::-1]]))
    return _path(["M", "L".join(outline), "Z"], "band")


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
    x, y = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
    labels = []
    if below:
        labels.append(text(x, frame.bottom + 34, below, anchor="middle", kind="m"))
    if beside:
        labels.append(text(12, y, beside, anchor="middle", kind="m", turn=-90))
    return labels


def rule(frame: Frame) -> str:
    """Draw the lower edge of a frame."""
    return line(frame.left, frame.bottom, frame.right, frame.bottom, "rule")


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between low and high, about ``count`` of them."""
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
    shades: Floats,
    cells: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    alt: str,
    labels: tuple[str, str] | None = None,
    clusters: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Html:
    """Draw shades in [0, 1] (NaN for an empty cell) with what is written in them.

    ``clusters`` are the positions of the clusters that rows and columns stand for.
    """
    longest = max((len(name) for name in rows), default=1)
    left = 14 + 7.4 * min(longest, 12) + (20 if labels else 0)
    top = 24.0 + (16 if labels else 0)
    cell = min((SIDE - left - 4) / shades.shape[1], 64.0)
    width, height = cell * shades.shape[1], cell * shades.shape[0]
    if shades.size > _CELLS:
        # The opacity of one colour, which fits light and dark pages.
        opacity = np.arange(256, dtype=np.uint8)
        values = np.nan_to_num(shades, nan=0.0)
        address = picture(values, 0, 1, [_SHADE, _SHADE], opacity)
        body = [image(left, top, width, height, address)]
    else:
        side = cell - (1.0 if cell >= 8 else 0.0)
        body = []
        for (i, j), shade in np.ndenumerate(shades):
            x, y = left + j * cell, top + i * cell
            if np.isnan(shade):
                body.append(box(x, y, side, side, "blank"))
                continue
            body.append(box(x, y, side, side, "shade", float(shade)))
            if max(shades.shape) <= _WRITTEN and cells[i][j]:
                kind = "cell light" if shade > _DARK else "cell"
                middle = x + side / 2, y + side / 2 + 4
                body.append(text(*middle, cells[i][j], anchor="middle", kind=kind))
    body += _names(rows, columns, left, top, cell, clusters)
    if labels:
        where = left + width / 2, top + height / 2
        body.append(text(where[0], 13, labels[1], anchor="middle", kind="m"))
        body.append(text(12, where[1], labels[0], anchor="middle", kind="m", turn=-90))
    return svg(left + width + 4, top + height + 4, body, alt)


def _names(
    rows: Sequence[str],
    columns: Sequence[str],
    left: float,
    top: float,
    cell: float,
    clusters: tuple[Sequence[int], Sequence[int]],
) -> Iterator[str]:
    """Write as many names of rows and columns as there is room for."""
    for i in range(0, len(rows), max(1, math.ceil(13 / cell))):
        name = text(left - 6, top + (i + 0.5) * cell + 4, rows[i], anchor="end")
        yield group([name], clusters[0][i]) if len(clusters[0]) else name
    widest = 7 * max((len(name) for name in columns), default=1) + 4
    for j in range(0, len(columns), max(1, math.ceil(widest / cell))):
        name = text(left + (j + 0.5) * cell, top - 7, columns[j], anchor="middle")
        yield group([name], clusters[1][j]) if len(clusters[1]) else name


def relative_shades(values: Floats) -> Floats:
    """Shades from faint to strong over the range off the diagonal, which is blank."""
    shades = values.astype(np.float64)
    np.fill_diagonal(shades, np.nan)
    low, high = float(np.nanmin(shades)), float(np.nanmax(shades))
    if high - low < 1e-9:
        return np.where(np.isnan(shades), np.nan, 0.5)
    return _FAINT + (_STRONG - _FAINT) * (shades - low) / (high - low)


def picture(
    values: Floats,
    low: float,
    high: float,
    colours: Sequence[str] = (),
    opacity: Bytes | None = None,
) -> str:
    """Write values from low to high as a PNG, in an address that needs no file.

    Without colours they are grey levels, or (height, width, 3) red, green and blue.
    """
    palette = palette_of(colours) if colours else None
    content = base64.b64encode(png(to_bytes(values, low, high), palette, opacity))
    return f"data:image/png;base64,{content.decode('ascii')}"


def png(
    pixels: Bytes, palette: Bytes | None = None, opacity: Bytes | None = None
) -> bytes:
    """Encode grey (h, w), colour (h, w, 3) or, with a palette (256, 3), indices.

    ``opacity`` (256,) makes colours of the palette transparent.
    """
    height, width = pixels.shape[:2]
    kind = 3 if palette is not None else (2 if pixels.ndim == 3 else 0)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    # Every row begins with the number of its filter: 0 for none.
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))
    chunks = [(b"IHDR", header)]
    if palette is not None:
        chunks.append((b"PLTE", palette.tobytes()))
    if opacity is not None:
        chunks.append((b"tRNS", opacity.tobytes()))
    chunks += [(b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    content = [b"\x89PNG\r\n\x1a\n"]
    for name, data in chunks:
        checksum = struct.pack(">I", zlib.crc32(name + data))
        content += [struct.pack(">I", len(data)), name, data, checksum]
    return b"".join(content)


def palette_of(colours: Sequence[str]) -> Bytes:
    """Interpolate 256 colours between the given ones."""
    anchors = np.array([list(bytes.fromhex(c[1:])) for c in colours], float)
    places = np.linspace(0, len(anchors) - 1, 256)
    channels = [np.interp(places, range(len(anchors)), column) for column in anchors.T]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)


def to_bytes(values: Floats, low: float, high: float) -> Bytes:
    """Map the range from low to high to 0..255, and clip."""
    width = high - low if high > low else 1.0
    return np.rint(255 * np.clip((values - low) / width, 0, 1)).astype(np.uint8)


def six_digits(array: Floats) -> list[Any]:
    """Nested lists of plain numbers with six digits, for JSON."""
    return np.vectorize(lambda value: float(f"{value:.6g}"))(array).tolist()


def averaged(images: Floats, step: int) -> Floats:
    """Average squares of ``step`` pixels of images (n, height, width, ...)."""
    if step == 1:
        return images
    n, height, width = images.shape[:3]
    kept = images[:, : height - height % step, : width - width % step]
    shape = (n, kept.shape[1] // step, step, kept.shape[2] // step, step)
    return kept.reshape(*shape, *images.shape[3:]).mean(axis=(2, 4))
