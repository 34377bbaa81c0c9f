"""What all pages share: tables, findings, pictures, and how the rows were made."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ekss.benchmarks._runner import Plan, Row, finished
from ekss.benchmarks._versions import code_in, code_of, libraries_in, version_line
from ekss.runtime.files import write_atomically

Grid = list[list[str]]

_NO_PICTURE = (
    "there is no picture, because it needs matplotlib, which is not installed; "
    "install it with: pip install 'ekss[plot]'"
)


@dataclass(frozen=True)
class Written:
    """A table or figure as text, and the files that were written."""

    text: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Finding:
    """A statement of the paper and what our rows say of it.

    Attributes
    ----------
    claim : str
        The paper's statement.
    holds : bool
    measured : str
        A sentence with our numbers.
    """

    claim: str
    holds: bool
    measured: str

    def __str__(self) -> str:
        verdict = "Holds" if self.holds else "Does not hold"
        return f"{verdict}: {self.claim} {self.measured}"


@dataclass(frozen=True)
class Page:
    """What a page shows.

    Attributes
    ----------
    name, title : str
    text : str
        What the reader has to know.
    csv : str
        All numbers of the page.
    grid : list of lists of str
        A table; may be empty.
    findings : sequence of Finding
    made : str
        A line on how the numbers were made; may be empty.
    alt : str
        The picture in words.
    draw : callable or None
        Draws the picture to a path; None where there is nothing to draw.
    """

    name: str
    title: str
    text: str
    csv: str
    grid: Grid = field(default_factory=list)
    findings: Sequence[Finding] = ()
    made: str = ""
    alt: str = ""
    draw: Callable[[Path], None] | None = None


def write_page(
    page: Page, plan: Plan, rows: Mapping[str, Row], folder: Path, command: str
) -> Written:
    """Write a page, its numbers and its picture: md, csv and png."""
    used = {cell.key: rows[cell.key] for cell in plan.cells if cell.key in rows}
    absent = absent_lines(plan, used)
    picture, shown = folder / f"{page.name}.png", ""
    folder.mkdir(parents=True, exist_ok=True)
    if page.draw is not None:
        try:
            page.draw(picture)
            shown = f"![{page.alt}]({picture.name})"
        except ModuleNotFoundError:
            absent.append(_NO_PICTURE)
    versions = version_of_rows(used, code_of(plan.work))
    parts = [f"# {page.title}", versions, shown, page.text.rstrip()]
    if page.findings:
        told = [f"**{str(one).replace(':', '**:', 1)}" for one in page.findings]
        parts += ["What the paper says, and what we measured:", bullets(told)]
    if page.grid:
        parts.append(markdown_table(page.grid, left=1))
    if absent:
        parts += ["Not there:", bullets(absent)]
    made = [*run_lines(run_of(used, command)), *([page.made] if page.made else [])]
    parts += ["How it was made:", bullets(made)]
    files = [
        write_text(folder / f"{page.name}.md", paragraphs(parts)),
        write_text(folder / f"{page.name}.csv", page.csv),
    ]
    text = [versions, page.title, *map(str, page.findings)]
    if page.grid:
        text.append(text_table(page.grid, left=1))
    return Written(
        paragraphs([*text, *absent]), (*files, *([picture] if shown else []))
    )


@dataclass(frozen=True)
class Study:
    """A figure or another study: its cells, and the page that its rows make.

    Attributes
    ----------
    plan : callable
        Lists the cells; of a figure ``plan(profile)``.
    page : callable
        ``page(plan, rows, profile)`` returns the :class:`Page`.
    """

    plan: Callable[..., Plan]
    page: Callable[[Plan, Mapping[str, Row], Any], Page]

    def write(
        self,
        plan: Plan,
        rows: Mapping[str, Row],
        folder: Path,
        profile: Any,
        *,
        command: str = "",
    ) -> Written:
        """Write the page, its numbers and its picture: md, csv and png.

        Parameters
        ----------
        plan : Plan
        rows : mapping
            Rows by the cells' keys.
        folder : Path
        profile : Profile, FigureProfile or ScaleProfile
        command : str
            What made the rows.

        Returns
        -------
        written : Written
        """
        page = self.page(plan, rows, profile)
        command = command or f"ekss bench {plan.name}"
        return write_page(page, plan, rows, folder, command)


def absent_lines(plan: Plan, rows: Mapping[str, Row]) -> list[str]:
    """Say what is not there and why."""
    lines = list(plan.missing.values())
    for cell in plan.cells:
        row = rows.get(cell.key)
        if not finished(row):
            reason = "not run yet" if row is None else f"failed: {row['failed']}"
            lines.append(f"{cell.title}: {reason}")
    return lines


def paragraphs(parts: Iterable[str]) -> str:
    """Join what is not empty."""
    return "\n\n".join(part for part in parts if part) + "\n"


def bullets(lines: Iterable[str]) -> str:
    """Write a list."""
    return "\n".join(f"- {line}" for line in lines)


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


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """Write lines as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def write_text(path: Path, text: str) -> Path:
    """Write a file, in a directory that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return path


def write_grid(
    name: str,
    grid: Grid,
    folder: Path,
    *,
    left: int,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    markdown_only: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> Written:
    """Write a table as text, Markdown and CSV.

    Parameters
    ----------
    name : str
        Of the files.
    grid : list of lists of str
    folder : Path
    left : int
        Columns that are aligned to the left.
    above, below : sequence of str
        Paragraphs around the table.
    markdown_only : pair of sequences of str
        Paragraphs before and after all these, in Markdown alone.
    """
    first, last = markdown_only
    text = paragraphs([*above, text_table(grid, left=left), *below])
    table = markdown_table(grid, left=left)
    pieces = {
        f"{name}.txt": text,
        f"{name}.md": paragraphs([*first, *above, table, *below, *last]),
        f"{name}.csv": csv_text(grid),
    }
    files = [write_text(folder / file, content) for file, content in pieces.items()]
    return Written(text, tuple(files))


def new_drawing(width: float, height: float) -> Any:
    """Return an empty matplotlib figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_drawing(drawing: Any, path: Path, dpi: int = 130) -> None:
    """Write a matplotlib figure to a png file."""
    stream = io.BytesIO()
    drawing.savefig(stream, format="png", dpi=dpi)
    write_atomically(path, stream.getvalue())


def tidy(panel: Any) -> None:
    """Leave out the frame where it shows nothing."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=9)


def run_of(rows: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return how rows were made, as JSON types: one run of the pages."""
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


def listed(parts: Iterable[str]) -> str:
    """Join with commas and a last "and".

    Examples
    --------
    >>> listed(["1", "5", "50"])
    '1, 5 and 50'
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
