"""Table I as bars: one panel a data set, the paper against ours."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Drawing

from ekss.benchmarks._paper import DATASETS, METHODS
from ekss.benchmarks._render import LINES
from ekss.benchmarks._summary import Entry
from ekss.runtime.files import write_atomically

_COLOURS = {
    "published": "#9a9a9a",
    "paper": "#9ecae1",
    "tuned": "#08519c",
    "free": "#fd8d3c",
    "chosen": "#a63603",
}
_HEIGHT = 0.17


def draw_bars(entries: Sequence[Entry], path: Path) -> None:
    """Draw the errors of every data set, methods ordered by our label-tuned error."""
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    columns = min(3, len(datasets))
    lines = -(-len(datasets) // columns)
    methods = len({entry.method for entry in entries})
    size = (1.5 + 4.2 * columns, 1.2 + lines * (0.7 + 0.56 * methods))
    drawing = Drawing(figsize=size, layout="constrained")
    panels = drawing.subplots(lines, columns, squeeze=False).ravel()
    for panel, dataset in zip(panels, datasets, strict=False):
        _draw_panel(panel, [entry for entry in entries if entry.dataset == dataset])
    for panel in panels[len(datasets) :]:
        panel.axis("off")
    handles, names = panels[0].get_legend_handles_labels()
    drawing.legend(
        handles, names, loc="outside lower center", ncols=len(LINES), frameon=False
    )
    stream = io.BytesIO()
    drawing.savefig(stream, format="png", dpi=150)
    write_atomically(path, stream.getvalue())


def _draw_panel(panel: Any, entries: list[Entry]) -> None:
    ordered = sorted(entries, key=_rank)
    for number, (column, title) in enumerate(LINES.items()):
        values = [_value(entry, column) for entry in ordered]
        places = [place + (number - 2) * _HEIGHT for place in range(len(ordered))]
        lengths = [0.0 if value is None else value for value in values]
        panel.barh(places, lengths, 0.92 * _HEIGHT, color=_COLOURS[column], label=title)
        for place, value in zip(places, values, strict=True):
            if value is None and column == "chosen":
                continue
            text = "no figure" if value is None else f"{value:.1f}"
            panel.annotate(
                text,
                (value or 0.0, place),
                xytext=(2, 0),
                textcoords="offset points",
                va="center",
                fontsize=6,
                color="#444444",
            )
    panel.set_title(DATASETS[ordered[0].dataset], loc="left", fontweight="bold")
    panel.set_yticks(range(len(ordered)), [METHODS[entry.method] for entry in ordered])
    panel.invert_yaxis()
    panel.set_xlabel("clustering error %")
    panel.margins(x=0.12, y=0.02)
    panel.spines[["top", "right"]].set_visible(False)


def _rank(entry: Entry) -> float:
    mean = entry.figures["tuned"].mean
    return entry.published if mean is None else mean


def _value(entry: Entry, column: str) -> float | None:
    return entry.published if column == "published" else entry.figures[column].mean
