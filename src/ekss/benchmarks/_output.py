"""Files of the tables: text, Markdown, CSV and bars, all from rows."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ekss.benchmarks._cells import Plan
from ekss.benchmarks._paper import DATASETS, METHODS, SIZES, parameters
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._recipes import Loader
from ekss.benchmarks._render import (
    LEGEND,
    Grid,
    Written,
    errors_csv,
    errors_grid,
    markdown_table,
    missing_lines,
    note_lines,
    read_entries,
    run_lines,
    run_of,
    text_table,
    version_of_entries,
)
from ekss.benchmarks._rows import Row
from ekss.benchmarks._summary import Entry, summarise
from ekss.benchmarks._versions import code_of
from ekss.runtime.files import write_atomically


def write_table1(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: Profile,
    *,
    command: str = "ekss bench table1",
) -> Written:
    """Write Table I with ours beside the paper's: txt, md, csv, json and png.

    Parameters
    ----------
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    profile : Profile
        Its caption goes under the table.
    command : str
        What made the rows.

    Returns
    -------
    written : Written
    """
    run = {
        **run_of(rows, command),
        "caption": profile.caption,
        # Errors on subsets have no reason to be near the paper's.
        "comparable": not profile.subset,
    }
    entries, current = _entries(plan, rows), code_of("table1")
    return write_entries(entries, [run], folder, current)


def write_entries(
    entries: Sequence[Entry],
    runs: Sequence[Mapping[str, Any]],
    folder: Path,
    current: str | None = None,
) -> Written:
    """Write Table I from its figures and the runs that made them.

    Parameters
    ----------
    entries : sequence of Entry
    runs : sequence of mapping
        How figures were made, from :func:`ekss.benchmarks._render.run_of`, with
        "caption" and "comparable". Later runs have replaced figures of earlier ones.
    folder : Path
    current : str, default=None
        Fingerprint of the code with which the figures are compared, if any.

    Returns
    -------
    written : Written
    """
    notes = note_lines(entries) if all(run["comparable"] for run in runs) else []
    absent = missing_lines(entries)
    grid = errors_grid(entries)
    folder.mkdir(parents=True, exist_ok=True)
    versions = version_of_entries(entries, current)
    captions = dict.fromkeys(run["caption"] for run in runs)
    caption = " ".join([LEGEND, *captions])
    text = _as_text(versions, grid, caption, absent, notes)
    pieces = {
        "table1.txt": text,
        "table1.md": _as_markdown(versions, grid, caption, absent, notes, runs),
        "table1.csv": errors_csv(entries),
        "table1.json": json.dumps(runs, indent=1) + "\n",
    }
    picture = _write_bars(entries, folder / "table1.png")
    if picture:
        shown = "![The same as bars](table1.png)"
        pieces["table1.md"] = f"{pieces['table1.md']}\n{shown}\n"
    files = [_write(folder / name, content) for name, content in pieces.items()]
    return Written(text, tuple(files + picture))


def merge_table1(new: Path, folder: Path) -> Written:
    """Put the figures of a run into a table that is there, and write it again.

    Parameters
    ----------
    new : Path
        Folder of the run, of which every figure replaces the one in the table.
    folder : Path
        Folder of the table.

    Returns
    -------
    written : Written
    """
    fresh = {
        (entry.dataset, entry.method): entry.figures
        for entry in read_entries((new / "table1.csv").read_text())
    }
    entries = []
    for entry in read_entries((folder / "table1.csv").read_text()):
        figures = dict(entry.figures)
        for column, figure in fresh.get((entry.dataset, entry.method), {}).items():
            if figure.mean is not None:
                figures[column] = figure
        entries.append(replace(entry, figures=figures))
    runs = [
        run
        for place in (folder, new)
        for run in json.loads((place / "table1.json").read_text())
    ]
    return write_entries(entries, runs, folder)


def write_table2(loaders: Mapping[str, Loader], folder: Path) -> Written:
    """Write the sizes of the data sets beside the paper's: txt, md and csv.

    Parameters
    ----------
    loaders : mapping of str to callable
        What loads each data set, before any preprocessing.
    folder : Path
    """
    grid: Grid = [["data set", "N paper", "N", "K paper", "K", "D paper", "D"]]
    absent = []
    for name, title in DATASETS.items():
        try:
            ours = _sizes(loaders[name])
        except OSError as error:
            ours = ("-", "-", "-")
            absent.append(f"{title}: missing. {error}")
        pairs = zip(SIZES[name], ours, strict=True)
        grid.append([title, *(str(value) for pair in pairs for value in pair)])
    caption = (
        "Points, clusters and dimension as loaded. MNIST-10k is clustered after a "
        "scattering transform and 500 principal components, which is the paper's D."
    )
    return _write_grid("table2", grid, folder, caption, absent, left=1)


def write_table3(plan: Plan, rows: Mapping[str, Row], folder: Path) -> Written:
    """Write the paper's parameters beside those the labels chose: txt, md and csv.

    Parameters
    ----------
    plan : Plan
        Of Table I.
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    """
    return write_parameters(_entries(plan, rows), folder, code_of("table1"))


def write_parameters(
    entries: Sequence[Entry], folder: Path, current: str | None = None
) -> Written:
    """Write the parameters from the figures of Table I."""
    grid: Grid = [["method", "data set", "paper", "label-tuned", "error %"]]
    for method in METHODS:
        for entry in entries:
            if entry.method == method:
                figure = entry.figures["tuned"]
                chosen = "-" if figure.best is None else _told(figure.best)
                error = "-" if figure.mean is None else f"{figure.mean:.2f}"
                given = _told(parameters(entry.dataset, method))
                title = DATASETS[entry.dataset]
                grid.append([METHODS[method], title, given, chosen, error])
    caption = (
        "Names are those of the estimators; K is the number of clusters. For Hopkins "
        "the most frequent choice among the sequences."
    )
    versions = version_of_entries(entries, current)
    absent = missing_lines(entries)
    return _write_grid("table3", grid, folder, caption, absent, left=4, first=versions)


def _entries(plan: Plan, rows: Mapping[str, Row]) -> list[Entry]:
    places = [(cell.dataset, cell.method) for cell in plan.cells]
    methods = [name for name in METHODS if name in {method for _, method in places}]
    present = {dataset for dataset, _ in places} | set(plan.missing)
    datasets = [name for name in DATASETS if name in present]
    return summarise(plan, rows, datasets, methods or list(METHODS))


def _sizes(load: Loader) -> tuple[str, str, str]:
    points = load()
    counts = [
        [len(some.data) for some in points],
        [some.n_clusters for some in points],
        [some.data.shape[1] for some in points],
    ]
    spans = [(int(np.min(values)), int(np.max(values))) for values in counts]
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in spans]
    return shown[0], shown[1], shown[2]


def _told(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in params.items())


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "..".join(_value(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _as_text(
    versions: str,
    grid: Grid,
    caption: str,
    absent: Sequence[str],
    notes: Sequence[str],
) -> str:
    parts = [versions, text_table(grid, rules=True), textwrap.fill(caption, 88)]
    for lines in (absent, notes):
        if lines:
            parts.append("\n".join(textwrap.fill(line, 88) for line in lines))
    return "\n\n".join(parts) + "\n"


def _as_markdown(
    versions: str,
    grid: Grid,
    caption: str,
    absent: Sequence[str],
    notes: Sequence[str],
    runs: Sequence[Mapping[str, Any]],
) -> str:
    title = "# Table I, paper against ours"
    parts = [title, versions, markdown_table(grid), caption]
    if absent:
        parts += ["Not there:", "\n".join(f"- {line}" for line in absent)]
    if notes:
        parts += [
            "Differences of more than 5 points to the paper:",
            "\n".join(f"- {line}" for line in notes),
        ]
    for number, run in enumerate(runs):
        parts.append("How it was made:" if not number else "Figures computed again:")
        parts.append("\n".join(f"- {line}" for line in run_lines(run)))
    return "\n\n".join(parts) + "\n"


def _write_grid(
    name: str,
    grid: Grid,
    folder: Path,
    caption: str,
    absent: list[str],
    left: int,
    first: str = "",
) -> Written:
    above = f"{first}\n\n" if first else ""
    under = "\n\n".join([caption, *absent])
    text = f"{above}{text_table(grid, left=left)}\n\n{under}\n"
    markdown = f"{above}{markdown_table(grid, left=left)}\n\n{under}\n"
    return write_pieces(name, grid, folder, text, markdown)


def write_pieces(
    name: str, grid: Grid, folder: Path, text: str, markdown: str
) -> Written:
    """Write a table as text, Markdown and CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(grid)
    pieces = {
        f"{name}.txt": text,
        f"{name}.md": markdown,
        f"{name}.csv": stream.getvalue(),
    }
    files = [_write(folder / file, content) for file, content in pieces.items()]
    return Written(text, tuple(files))


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return path


def _write_bars(entries: Sequence[Entry], path: Path) -> list[Path]:
    """Draw the bars; without matplotlib or figures there is no picture."""
    if all(figure.mean is None for one in entries for figure in one.figures.values()):
        return []
    try:
        import matplotlib as _  # noqa: F401
    except ModuleNotFoundError:
        return []
    from ekss.benchmarks._bars import draw_bars

    draw_bars(entries, path)
    return [path]
