"""Pictures of the figures, drawn from what the rows hold."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from ekss.benchmarks._findings import Curve, mean_curves
from ekss.benchmarks._simulations import METHODS
from ekss.benchmarks._trials import Place
from ekss.runtime.files import write_atomically

_COLOURS = {"ekss": "#08519c", "ekss0": "#6baed6", "tsc": "#fd8d3c", "ssc": "#31a354"}
_MARKERS = {"ekss": "o", "ekss0": "s", "tsc": "^", "ssc": "D"}
# With three clusters of one size, chance is wrong about two thirds of the time.
_CHANCE = 100 * 2 / 3
# More values than this are left to the colours.
_MOST_NUMBERS = 100


def draw_votes(
    shown: Mapping[int, tuple[NDArray[np.float64], float]], path: Path
) -> None:
    """Draw co-association matrices side by side, with their errors."""
    drawing = Drawing(figsize=(11, 3.8), layout="constrained")
    panels = drawing.subplots(1, len(shown), squeeze=False)[0]
    for panel, (count, (votes, error)) in zip(panels, shown.items(), strict=True):
        image = panel.imshow(
            votes, cmap="magma", vmin=0, vmax=1, interpolation="nearest"
        )
        panel.set_title(f"B = {count}: error {error:.0f} %", fontsize=12)
        panel.set_xlabel("point", fontsize=10)
        ticks = np.linspace(0, len(votes), 5)
        panel.set_xticks(ticks)
        panel.set_yticks(ticks if panel is panels[0] else [])
        panel.tick_params(labelsize=9, length=2)
    panels[0].set_ylabel("point", fontsize=10)
    bar = drawing.colorbar(image, ax=list(panels), shrink=0.82, pad=0.01)
    bar.set_label("share of members that put two points together", fontsize=9)
    bar.ax.tick_params(labelsize=9)
    _save(drawing, path)


def draw_curves(curves: Sequence[Curve], titles: Mapping[str, str], path: Path) -> None:
    """Draw similarity against angle, one panel a reduction."""
    mean = mean_curves(curves)
    names = [name for name in titles if name in mean]
    drawing = Drawing(figsize=(1.2 + 3.4 * len(names), 3.4), layout="constrained")
    panels = drawing.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        curve = mean[name]
        low, high = (
            np.array(curve.similarity) + sign * np.array(curve.spread)
            for sign in (-1, 1)
        )
        panel.fill_between(curve.angles, low, high, color="#c6dbef", lw=0)
        panel.plot(curve.angles, curve.similarity, "o-", ms=3, color="#08519c")
        if curve.expected:
            style = {"color": "black", "ls": ":", "lw": 1.2, "label": "Lemma 3"}
            panel.plot(curve.angles, curve.expected, **style)
            panel.legend(frameon=False, fontsize=9)
        panel.set_title(titles[name], fontsize=11)
        panel.set_xlabel("angle between points, radians", fontsize=9)
        panel.set_xlim(0, np.pi / 2)
        panel.set_ylim(0, 1.05)
        _tidy(panel)
    panels[0].set_ylabel("similarity (share of members)", fontsize=9)
    _save(drawing, path)


def draw_heatmaps(means: Mapping[Place, float], path: Path) -> None:
    """Draw errors over N_k and d, and N_k and the angle, on one scale."""
    rows = [name for name in ("dimension", "angle") if _of(means, name)]
    drawing = Drawing(figsize=(12, 0.6 + 3.3 * len(rows)), layout="constrained")
    grid = drawing.subplots(len(rows), len(METHODS), squeeze=False)
    for panels, name in zip(grid, rows, strict=True):
        places = _of(means, name)
        counts = sorted({place.n_per_subspace for place in places})
        heights = sorted({_height(place) for place in places})
        for panel, (method, title) in zip(panels, METHODS.items(), strict=True):
            table = np.full((len(heights), len(counts)), np.nan)
            for place in places:
                if place.method == method:
                    where = (
                        heights.index(_height(place)),
                        counts.index(place.n_per_subspace),
                    )
                    table[where] = means[place]
            image = _draw_heatmap(panel, table)
            panel.set_title(title if name == rows[0] else "", fontsize=12)
            panel.set_xticks(range(len(counts)), [str(one) for one in counts])
            shown = [f"{one:g}" for one in heights] if method == "ekss" else []
            panel.set_yticks(range(len(heights)) if shown else [], shown)
        label = "dimension $d$" if name == "dimension" else "angle, radians"
        panels[0].set_ylabel(label, fontsize=11)
    drawing.supxlabel("points a subspace, $N_k$", fontsize=11)
    bar = drawing.colorbar(image, ax=grid, shrink=0.7, pad=0.01, aspect=30)
    bar.set_label("clustering error %")
    _save(drawing, path)


def _of(means: Mapping[Place, float], name: str) -> list[Place]:
    return [place for place in means if place.panel == name]


def _height(place: Place) -> float:
    return float(place.dim if place.angle is None else place.angle)


def _draw_heatmap(panel: Any, table: NDArray[np.float64]) -> Any:
    """Draw errors as colours, and as numbers where there is room."""
    panel.set_facecolor("#bbbbbb")
    image = panel.imshow(
        table, cmap="viridis", vmin=0, vmax=_CHANCE, origin="lower", aspect="auto"
    )
    panel.tick_params(labelsize=8, length=2)
    if table.size <= _MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                colour = "white" if value < 0.6 * _CHANCE else "black"
                text = f"{value:.0f}"
                style = {"ha": "center", "va": "center", "fontsize": 7.5}
                panel.text(column, row, text, color=colour, **style)
    return image


def draw_lines(errors: Mapping[Place, Sequence[float]], name: str, path: Path) -> None:
    """Draw errors against the angle, one line a method."""
    drawing = Drawing(figsize=(6.4, 4), layout="constrained")
    panel = drawing.subplots()
    for method, title in METHODS.items():
        line = sorted(
            (_height(place), min(values), float(np.mean(values)), max(values))
            for place, values in errors.items()
            if (place.panel, place.method) == (name, method)
        )
        if line:
            angles, low, mean, high = zip(*line, strict=True)
            colour = _COLOURS[method]
            panel.fill_between(angles, low, high, color=colour, alpha=0.18, lw=0)
            style: dict[str, Any] = {"marker": _MARKERS[method], "ms": 4.5, "lw": 1.6}
            panel.plot(angles, mean, color=colour, label=title, **style)
    panel.axhline(_CHANCE, color="#999999", lw=0.8, ls="--", zorder=0)
    panel.annotate(
        "chance",
        (0.995, _CHANCE),
        (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color="#777777",
    )
    panel.set_xlabel("angle between subspaces, radians")
    panel.set_ylabel("clustering error %")
    panel.set_xlim(left=0)
    panel.set_ylim(-2, 72)
    panel.legend(frameon=False)
    _tidy(panel)
    _save(drawing, path)


def _tidy(panel: Any) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=9)


def _save(drawing: Drawing, path: Path) -> None:
    stream = io.BytesIO()
    drawing.savefig(stream, format="png", dpi=130)
    write_atomically(path, stream.getvalue())
