"""Small vector pictures that take their colours from the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

COLOURS = 10


@dataclass(frozen=True)
class Frame:
    """A plotting area inside a picture, and the ranges that it shows.

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


def svg(width: float, height: float, body: Iterable[str], alt: str, kind: str) -> str:
    """Wrap shapes into a picture with a text for those who cannot see it."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {number(width)} {number(height)}" '
        f'width="{number(width)}" height="{number(height)}" role="img" '
        f'style="max-width:{1.15 * width:.0f}px" '
        f'aria-label="{escape(alt)}">{"".join(body)}</svg>'
    )


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
