"""Pictures of the page as inline SVG, coloured by the style sheet of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from ekss.cli._theory_results import Certificate, Curve
from ekss.cli._theory_words import number

_WIDTH, _HEIGHT = 430, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 14, 46
_N_SHOWN = 200


class _Frame:
    """Axes of one picture: data to pixels, ticks, labels."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self._x, self._y = x, y

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixels of a point."""
        (x0, x1), (y0, y1) = self._x, self._y
        across = (x - x0) / (x1 - x0) * (_WIDTH - _LEFT - _RIGHT)
        up = (y - y0) / (y1 - y0) * (_HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + across, 1), round(_HEIGHT - _BOTTOM - up, 1)

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> str:
        """Draw a line through points."""
        path = " ".join(
            f"{a},{b}" for a, b in (self.at(x, y) for x, y in zip(xs, ys, strict=True))
        )
        return f'<polyline class="{kind}" points="{path}"/>'

    def area(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]
    ) -> str:
        """Fill the band between two lines."""
        there = [self.at(x, y) for x, y in zip(xs, high, strict=True)]
        back = [self.at(x, y) for x, y in zip(xs, low, strict=True)]
        path = " ".join(f"{a},{b}" for a, b in (*there, *reversed(back)))
        return f'<polygon class="band" points="{path}"/>'

    def axes(
        self, x_label: str, y_label: str, x_ticks: Sequence[tuple[float, str]]
    ) -> str:
        """Draw axes, ticks and their labels."""
        parts = []
        for value, text in x_ticks:
            a, b = self.at(value, self._y[0])
            parts.append(f'<text x="{a}" y="{b + 16}" class="tick mid">{text}</text>')
        for value in _ticks(*self._y):
            a, b = self.at(self._x[0], value)
            c, _ = self.at(self._x[1], value)
            parts.append(f'<line class="grid" x1="{a}" x2="{c}" y1="{b}" y2="{b}"/>')
            text = f"{value:.2g}"
            parts.append(
                f'<text x="{a - 6}" y="{b + 4}" class="tick end">{text}</text>'
            )
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        centre = (_HEIGHT - _BOTTOM + _TOP) / 2
        parts.append(
            f'<text x="{middle}" y="{_HEIGHT - 8}" class="tick mid">{escape(x_label)}'
            "</text>"
        )
        parts.append(
            f'<text class="tick mid" transform="translate(12 {centre}) rotate(-90)">'
            f"{escape(y_label)}</text>"
        )
        return "".join(parts)


def gaps_picture(certificate: Certificate, label: str) -> str:
    """Draw the gaps of all points, smallest first, with tau: above it is safe.

    Parameters
    ----------
    certificate : Certificate
    label : str
        What the gaps are half differences of.

    Returns
    -------
    str
        An SVG element.
    """
    gaps = np.sort(certificate.gaps)
    shares = np.linspace(0, 1, min(_N_SHOWN, len(gaps)))
    shown = gaps[np.round(shares * (len(gaps) - 1)).astype(int)]
    tau = certificate.tau
    low, high = min(0.0, float(shown[0])), max(tau, float(shown[-1]), 1e-3)
    pad = 0.05 * (high - low)
    frame = _Frame((0.0, 1.0), (low - pad, high + pad))
    ticks = [(share, f"{100 * share:.0f} %") for share in (0, 0.25, 0.5, 0.75, 1)]
    a, b = frame.at(1.0, tau)
    limit = f"tau = {number(tau)}"
    parts = [
        frame.axes("share of points, worst first", label, ticks),
        frame.line(shares.tolist(), shown.tolist(), "curve"),
        frame.line([0, 1], [tau, tau], "limit"),
        f'<text x="{a - 4}" y="{b + 13}" class="limit-text end">{limit}</text>',
    ]
    return _svg(parts, f"Gap of every point against {limit}")


def votes_picture(curve: Curve, tau: float) -> str:
    """Draw votes of some pairs of points against |cos|, with f and its band of tau.

    Parameters
    ----------
    curve : Curve
    tau : float
        Largest difference of a vote from f.

    Returns
    -------
    str
        An SVG element.
    """
    frame = _Frame((0.0, 1.0), (0.0, 1.05))
    ticks = [(x, f"{x:g}") for x in (0, 0.25, 0.5, 0.75, 1)]
    xs, ys = curve.inner.tolist(), curve.expected
    low, high = np.maximum(ys - tau, 0.0), np.minimum(ys + tau, 1.05)
    parts = [
        frame.axes("|cos| of the angle of two points", "vote", ticks),
        frame.area(xs, low.tolist(), high.tolist()),
        _dots(frame, curve, ~curve.pair_same, "other"),
        _dots(frame, curve, curve.pair_same, "same"),
        frame.line(xs, ys.tolist(), "curve"),
    ]
    return _svg(parts, "Votes of pairs of points against their angle, and f")


def _dots(frame: _Frame, curve: Curve, chosen: NDArray[np.bool_], kind: str) -> str:
    pairs = zip(curve.pair_inner[chosen], curve.pair_votes[chosen], strict=True)
    path = "".join(
        f"M{a} {b}h0" for a, b in (frame.at(float(x), float(y)) for x, y in pairs)
    )
    return f'<path class="{kind}" d="{path}"/>'


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers in a range."""
    step = 10.0 ** np.floor(np.log10((high - low) / 3))
    for factor in (1, 2, 5, 10):
        if (high - low) / (factor * step) <= 6:
            step *= factor
            break
    first = int(np.ceil(low / step))
    last = int(np.floor(high / step))
    return [round(i * step, 10) for i in range(first, last + 1)]


def _svg(parts: Sequence[str], title: str) -> str:
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    label = f'role="img" aria-label="{escape(title)}"'
    return f"<svg {box} {label}>{''.join(parts)}</svg>"
