"""Tables as text, Markdown and CSV, made from entries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ekss.benchmarks._notes import note
from ekss.benchmarks._paper import DATASETS, METHODS
from ekss.benchmarks._rows import finished
from ekss.benchmarks._settings import SEARCHED
from ekss.benchmarks._summary import NOT_TRIED, Entry, Figure
from ekss.benchmarks._versions import code_in, libraries_in, version_line

LINES = {
    "published": "paper",
    "paper": "ours, paper's parameters",
    "tuned": "ours, label-tuned",
    "free": "ours, label-free",
    "chosen": "ours, label-free choice",
}

LEGEND = (
    "Clustering errors in percent, means over seeds. Paper: the published figure. "
    "Paper's parameters: ours with the published parameters; whether COIL is whitened "
    "is chosen by the labels, as in the paper. Label-tuned: the lowest error over our "
    "sweep, the other two columns included, which is how the paper chose; for Hopkins "
    "sequence by sequence. Label-free: the estimator as it is, given the number of "
    "clusters alone, on whitened data for Yale B and COIL; but EKSS chooses itself how "
    "many components it removes, except for COIL-100. Label-free choice: the "
    "setting and the cut that LabelFreeSearch chooses. COIL-100 is reduced to 300 "
    "principal components for speed."
)


@dataclass(frozen=True)
class Written:
    """A table as text, and the files that were written."""

    text: str
    files: tuple[Path, ...]


Grid = list[list[str]]


def errors_grid(entries: Sequence[Entry]) -> Grid:
    """Return the table: lines for every method, one column a data set."""
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    methods = list(dict.fromkeys(entry.method for entry in entries))
    found = {(entry.dataset, entry.method): entry for entry in entries}
    grid = [["", "error %", *(DATASETS[name] for name in datasets)]]
    for method in methods:
        lines = {
            column: title
            for column, title in LINES.items()
            if column != "chosen" or method in SEARCHED
        }
        for number, (column, title) in enumerate(lines.items()):
            shown = [_shown(found[name, method], column) for name in datasets]
            grid.append([METHODS[method] if number == 0 else "", title, *shown])
    return grid


def _shown(entry: Entry, column: str) -> str:
    if column == "published":
        return f"{entry.published:.2f}"
    mean = entry.figures[column].mean
    return "-" if mean is None else f"{mean:.2f}"


def text_table(grid: Grid, *, rules: bool = False, left: int = 2) -> str:
    """Align a grid; the first ``left`` columns to the left, numbers to the right.

    With ``rules`` a rule goes above every line that has something in its first place.
    """
    widths = [max(len(line[place]) for line in grid) for place in range(len(grid[0]))]
    lines = []
    for number, cells in enumerate(grid):
        if number == 1 or (rules and number > 1 and cells[0]):
            lines.append("-" * (sum(widths) + 2 * len(widths) - 2))
        aligned = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def markdown_table(grid: Grid, *, left: int = 2) -> str:
    """Write a grid as a Markdown table."""
    head, *body = grid
    marks = ["---" if place < left else "---:" for place in range(len(head))]
    lines = [" | ".join(cells) for cells in (head, marks, *body)]
    return "\n".join(f"| {line} |" for line in lines)


def missing_lines(entries: Sequence[Entry]) -> list[str]:
    """Say for every figure that is not there why; whole data sets at once."""
    lines: dict[str, None] = {}
    for entry in entries:
        absent = {
            column: figure.reason
            for column, figure in entry.figures.items()
            if figure.mean is None and figure.reason != NOT_TRIED
        }
        name = DATASETS[entry.dataset]
        for column, reason in absent.items():
            if reason.startswith("failed") or reason == "not run yet":
                place = f"{name}, {METHODS[entry.method]}, {LINES[column]}"
                lines[f"{place}: {reason}"] = None
            else:
                lines[f"{name}: missing. {reason}"] = None
    return list(lines)


def note_lines(entries: Sequence[Entry]) -> list[str]:
    """Return one sentence for every difference of more than 5 points."""
    lines = []
    for entry in entries:
        differences = entry.differences()
        if differences:
            told = ", ".join(
                f"{LINES[column].removeprefix('ours, ')} {difference:+.1f}"
                for column, difference in differences.items()
            )
            place = f"{DATASETS[entry.dataset]}, {METHODS[entry.method]}"
            lines.append(f"{place} ({told}): {note(entry.dataset, entry.method)}")
    return lines


def run_of(rows: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return how rows were made, as JSON types: one run of the pages.

    Parameters
    ----------
    rows : mapping
        Rows by the cells' keys.
    command : str
        What made them.
    """
    done = list(rows.values())

    def each_once(values: Iterable[str]) -> list[str]:
        return sorted(set(values))

    return {
        "command": command,
        "machines": each_once(
            f"{row['machine']['cpu']}, {row['machine']['cores']} cores, "
            f"{row['machine']['platform']}"
            for row in done
        ),
        "dates": each_once(row["date"][:10] for row in done),
        "commits": each_once(row["commit"] for row in done),
        "codes": each_once(code_in(row) for row in done),
        "libraries": each_once(libraries_in(row) for row in done),
        "seeds": sorted({row["cell"]["seed"] for row in done}),
        "cells": len(done),
        "hours": round(sum(row["wall_seconds"] for row in done) / 3600, 2),
    }


def run_lines(run: Mapping[str, Any]) -> list[str]:
    """Return the command, machine, dates, versions and seeds of a run."""
    if not run["cells"]:
        return [f"Command: `{run['command']}`", "No rows yet."]
    return [
        f"Command: `{run['command']}`",
        f"Machine: {'; '.join(run['machines'])}",
        f"Date: {' to '.join(dict.fromkeys((run['dates'][0], run['dates'][-1])))}",
        f"Commit: {', '.join(run['commits'])}",
        f"Code: {', '.join(run['codes'])}",
        f"Versions: {'; '.join(run['libraries'])}",
        f"Seeds: {', '.join(map(str, run['seeds']))}",
        f"Cells: {run['cells']}, {run['hours']:.2f} hours of one core",
    ]


def version_of_rows(rows: Mapping[str, Any], current: str) -> str:
    """Say which versions made the rows of a page."""
    done = [row for row in rows.values() if finished(row)]
    return version_line(map(code_in, done), map(libraries_in, done), current)


def version_of_entries(entries: Sequence[Entry], current: str | None) -> str:
    """Say which versions made the figures of a table."""
    figures = [one for entry in entries for one in entry.figures.values()]
    return version_line(
        [code for one in figures for code in one.codes],
        [words for one in figures for words in one.libraries],
        current,
        "figures",
    )


_HEAD = "dataset method column paper mean spread lowest highest seeds seconds"
_TAIL = "peak_megabytes parameters reason code commit libraries"
_BETWEEN = " | "


def errors_csv(entries: Sequence[Entry]) -> str:
    """Write one line for every data set, method and column."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow([*_HEAD.split(), *_TAIL.split()])
    for entry in entries:
        for column, figure in entry.figures.items():
            place = [entry.dataset, entry.method, column, entry.published]
            table.writerow([*place, *_csv_figure(figure)])
    return stream.getvalue()


def _csv_figure(figure: Figure) -> list[Any]:
    if figure.mean is None:
        return ["", "", "", "", 0, "", "", "", figure.reason, "", "", ""]
    return [
        f"{figure.mean:.4f}",
        "" if figure.spread is None else f"{figure.spread:.4f}",
        f"{figure.lowest:.4f}",
        f"{figure.highest:.4f}",
        figure.seeds,
        f"{figure.seconds:.1f}",
        f"{figure.megabytes:.0f}",
        json.dumps(figure.best),
        "",
        _BETWEEN.join(figure.codes),
        _BETWEEN.join(figure.commits),
        _BETWEEN.join(figure.libraries),
    ]


def read_entries(text: str) -> list[Entry]:
    """Read what :func:`errors_csv` wrote."""
    found: dict[tuple[str, str], tuple[float, dict[str, Figure]]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        place = line["dataset"], line["method"]
        _, figures = found.setdefault(place, (float(line["paper"]), {}))
        figures[line["column"]] = _figure_in(line)
    return [
        Entry(dataset, method, published, figures)
        for (dataset, method), (published, figures) in found.items()
    ]


def _figure_in(line: Mapping[str, str]) -> Figure:
    if not line["mean"]:
        return Figure(reason=line["reason"])

    def several(name: str) -> tuple[str, ...]:
        return tuple(line[name].split(_BETWEEN))

    return Figure(
        mean=float(line["mean"]),
        spread=float(line["spread"]) if line["spread"] else None,
        lowest=float(line["lowest"]),
        highest=float(line["highest"]),
        seeds=int(line["seeds"]),
        best=json.loads(line["parameters"]),
        seconds=float(line["seconds"]),
        megabytes=float(line["peak_megabytes"]),
        codes=several("code"),
        commits=several("commit"),
        libraries=several("libraries"),
    )
