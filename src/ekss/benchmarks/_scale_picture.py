"""The picture of the scale run: stages and memory against the number of points."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from ekss.benchmarks._scale import METHODS
from ekss.benchmarks._scale_page import STAGES, Measured
from ekss.runtime.files import write_atomically

_COLOURS = {
    "members": "#08519c",
    "votes": "#fd8d3c",
    "cuts": "#31a354",
    "choice": "#9e9ac8",
    "rows": "#d7301f",
    "rest": "#999999",
}
_MARKERS = {"given": "o", "free": "s", "approximate": "^", "exact": "D"}
# Below this a stage is not worth a line.
_LEAST_SECONDS = 0.05


def draw_scale(measured: list[Measured], path: Path) -> None:
    """Draw seconds by stage, one panel a method, and the memory of all methods."""
    methods = [name for name in METHODS if len({*_sizes(measured, name)}) > 1] or list(
        dict.fromkeys(one.method for one in measured)
    )
    columns = 3
    lines = -(-(len(methods) + 2) // columns)
    size = 3.5 * columns, 3.3 * lines
    drawing = Drawing(figsize=size, layout="constrained")
    panels = drawing.subplots(lines, columns, squeeze=False).ravel()
    for panel, method in zip(panels, methods, strict=False):
        _draw_stages(panel, [one for one in measured if one.method == method])
        panel.set_title(METHODS[method], fontsize=10)
        panel.set_ylabel("seconds", fontsize=9)
        panel.set_ylim(_LEAST_SECONDS / 2, 2 * max(one.seconds for one in measured))
    _draw_memory(panels[len(methods)], measured, methods)
    for panel in panels[: len(methods) + 1]:
        _finish(panel, sorted({one.n_samples for one in measured}))
    for panel in panels[len(methods) + 1 :]:
        panel.axis("off")
    _draw_legend(panels[len(methods) + 1], panels[: len(methods)])
    stream = io.BytesIO()
    drawing.savefig(stream, format="png", dpi=130)
    write_atomically(path, stream.getvalue())


def _draw_legend(empty: Any, panels: Any) -> None:
    """Name all lines of the panels in the empty one."""
    handles: dict[str, Any] = {}
    for panel in panels:
        lines, names = panel.get_legend_handles_labels()
        handles |= dict(zip(names, lines, strict=True))
    order = [name for name in ("all", *STAGES, "rest", "slope 1") if name in handles]
    empty.legend(
        [handles[name] for name in order],
        order,
        loc="center left",
        frameon=False,
        fontsize=10,
    )


def _sizes(measured: list[Measured], method: str) -> list[int]:
    return sorted(one.n_samples for one in measured if one.method == method)


def _draw_stages(panel: Any, fits: list[Measured]) -> None:
    fits = sorted(fits, key=lambda one: one.n_samples)
    sizes = [one.n_samples for one in fits]
    total = [one.seconds for one in fits]
    panel.plot(sizes, total, "o-", color="black", lw=2, ms=5, label="all")
    for stage in (*STAGES, "rest"):
        known = [
            (one.n_samples, one.stages[stage])
            for one in fits
            if one.stages.get(stage, 0.0) >= _LEAST_SECONDS
        ]
        if known:
            places, spent = zip(*known, strict=True)
            style: dict[str, Any] = {"lw": 1.4, "ms": 4, "color": _COLOURS[stage]}
            panel.plot(places, spent, "o-", label=stage, **style)
    # A guide of slope 1 through the last total.
    last, peak = sizes[-1], total[-1]
    guide = [peak * size / last for size in sizes]
    panel.plot(sizes, guide, ":", color="#555555", lw=1, label="slope 1", zorder=0)
    panel.set_yscale("log")


def _draw_memory(panel: Any, measured: list[Measured], methods: list[str]) -> None:
    for method in methods:
        fits = [one for one in measured if one.method == method]
        points = sorted((one.n_samples, one.megabytes / 1e3) for one in fits)
        sizes, memory = zip(*points, strict=True)
        marker = _MARKERS[method]
        panel.plot(sizes, memory, f"{marker}-", ms=4, lw=1.4, label=METHODS[method])
    panel.set_title("largest memory, GB", fontsize=10)
    panel.legend(frameon=False, fontsize=7.5, loc="upper left")
    panel.set_ylim(0, 1.45 * max(one.megabytes for one in measured) / 1e3)


def _finish(panel: Any, sizes: list[int]) -> None:
    panel.set_xscale("log")
    panel.set_xlabel("points", fontsize=9)
    panel.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    panel.set_xticks(sizes, [_count(size) for size in sizes])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)
    panel.grid(which="major", color="#e5e5e5", lw=0.6)


def _count(value: float) -> str:
    """Write 10k, 1M."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
