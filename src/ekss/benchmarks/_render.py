"""Tables as text, Markdown and CSV, made from entries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ekss.benchmarks._notes import note
from ekss.benchmarks._paper import DATASETS, METHODS
from ekss.benchmarks._settings import SEARCHED
from ekss.benchmarks._summary import NOT_TRIED, Entry, Figure

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


def run_lines(rows: Mapping[str, Any], command: str) -> list[str]:
    """Return the command, machine, dates, commits, versions and seeds of the rows."""
    done = list(rows.values())
    if not done:
        return [f"Command: `{command}`", "No rows yet."]
    machines = {
        f"{row['machine']['cpu']}, {row['machine']['cores']} cores, "
        f"{row['machine']['platform']}"
        for row in done
    }
    versions = {
        ", ".join(f"{name} {value}" for name, value in row["versions"].items())
        for row in done
    }
    dates = sorted(row["date"][:10] for row in done)
    seeds = sorted({row["cell"]["seed"] for row in done})
    hours = sum(row["wall_seconds"] for row in done) / 3600
    return [
        f"Command: `{command}`",
        f"Machine: {'; '.join(sorted(machines))}",
        f"Date: {dates[0]}" + (f" to {dates[-1]}" if dates[-1] != dates[0] else ""),
        f"Commit: {', '.join(sorted({row['commit'] for row in done}))}",
        f"Versions: {'; '.join(sorted(versions))}",
        f"Seeds: {', '.join(map(str, seeds))}",
        f"Cells: {len(done)}, {hours:.2f} hours of one core",
    ]


def errors_csv(entries: Sequence[Entry]) -> str:
    """Write one line for every data set, method and column."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    head = "dataset method column paper mean spread lowest highest seeds seconds"
    table.writerow([*head.split(), "peak_megabytes", "parameters", "reason"])
    for entry in entries:
        for column, figure in entry.figures.items():
            place = [entry.dataset, entry.method, column, entry.published]
            table.writerow([*place, *_csv_figure(figure)])
    return stream.getvalue()


def _csv_figure(figure: Figure) -> list[Any]:
    if figure.mean is None:
        return ["", "", "", "", 0, "", "", "", figure.reason]
    spread = "" if figure.spread is None else f"{figure.spread:.4f}"
    return [
        f"{figure.mean:.4f}",
        spread,
        f"{min(figure.errors):.4f}",
        f"{max(figure.errors):.4f}",
        len(figure.errors),
        f"{figure.seconds:.1f}",
        f"{figure.megabytes:.0f}",
        json.dumps(figure.best),
        "",
    ]
