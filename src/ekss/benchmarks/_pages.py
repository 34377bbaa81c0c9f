"""What all pages share: tables, findings, pictures, and how the rows were made."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ekss.benchmarks._runner import Plan, Row, finished
from ekss.benchmarks._versions import code_in, libraries_in, version_line
from ekss.runtime.files import write_atomically

Grid = list[list[str]]

# Characters of a line of text.
_WIDTH = 102

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
    """A statement of the paper, whether it holds, and a sentence with our numbers."""

    claim: str
    holds: bool
    measured: str

    def __str__(self) -> str:
        verdict = "Holds" if self.holds else "Does not hold"
        return f"{verdict}: {self.claim} {self.measured}"


@dataclass(frozen=True)
class Page:
    """What a page shows, in its order, and the files that go with it."""

    name: str
    title: str
    csv: str
    # What the reader has to know; ``below`` stands under the table.
    text: str = ""
    findings: Sequence[Finding] = ()
    grid: Grid = field(default_factory=list)
    below: str = ""
    # A line on how the numbers were made.
    made: str = ""
    # The picture in words, and what draws it to a path; None where it is empty.
    alt: str = ""
    draw: Callable[[Path], None] | None = None
    # Rows of several tables are told apart: words about each, by its name.
    tables: Mapping[str, str] = field(default_factory=dict)
    # Whether the text for the terminal is a file too.
    plain: bool = False


@dataclass(frozen=True)
class Study:
    """A figure or another study: its cells, and the page that its rows make.

    Attributes
    ----------
    plan : callable
        Lists the cells; of a figure ``plan(profile)``.
    page : callable
        ``page(plan, rows, profile)`` returns the page.

    Examples
    --------
    >>> from ekss.benchmarks import FIGURES
    >>> sorted(FIGURES)
    ['figure1', 'figure2', 'figure3', 'figure4']
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
            The cells.
        rows : mapping
            Rows by the cells' keys.
        folder : Path
            Where to write.
        profile : Profile, FigureProfile or ScaleProfile
            Its caption goes on the page.
        command : str
            What made the rows.

        Returns
        -------
        written : Written
            The text, and the files.
        """
        page = self.page(plan, rows, profile)
        command = command or f"ekss bench {plan.name}"
        return _write_page(page, plan, rows, folder, command)


def _write_page(
    page: Page, plan: Plan, rows: Mapping[str, Row], folder: Path, command: str
) -> Written:
    used = {cell.key: rows[cell.key] for cell in plan.cells if cell.key in rows}
    absent = _absent_lines(plan, used)
    picture, shown = folder / f"{page.name}.png", ""
    folder.mkdir(parents=True, exist_ok=True)
    if page.draw is not None:
        try:
            page.draw(picture)
            shown = f"![{page.alt}]({picture.name})"
        except ModuleNotFoundError:
            absent.append(_NO_PICTURE)
    versions = _versions_of(page, plan, used)
    parts = [f"# {page.title}", versions, shown, page.text.rstrip()]
    text = [versions, page.title, *map(str, page.findings)]
    if page.findings:
        told = [f"**{str(one).replace(':', '**:', 1)}" for one in page.findings]
        parts += ["What the paper says, and what we measured:", bullets(told)]
    if page.grid:
        parts += [markdown_table(page.grid, left=1), page.below]
        text += [text_table(page.grid, left=1), page.below]
    if absent:
        parts += ["Not there:", bullets(absent)]
    made = [*run_lines(run_of(used, command)), *([page.made] if page.made else [])]
    parts += ["How it was made:", bullets(made)]
    shown_text = paragraphs([*text, *absent])
    pieces = {"txt": shown_text} if page.plain else {}
    pieces |= {"md": wrapped(paragraphs(parts)), "csv": page.csv}
    return write_files(
        folder, page.name, shown_text, pieces, [picture] if shown else []
    )


def _versions_of(page: Page, plan: Plan, rows: Mapping[str, Row]) -> str:
    """Say which versions made the rows, table by table; each has code of its own."""
    lines = []
    for table, words in (page.tables or {plan.name: ""}).items():
        cells = [cell for cell in plan.cells if cell.table == table]
        made = [(rows[one.key], plan.code_of(one)) for one in cells if one.key in rows]
        # Cells that failed have made nothing.
        done = [(row, now) for row, now in made if finished(row)]
        line = version_line(
            [code_in(row) for row, _ in done],
            [libraries_in(row) for row, _ in done],
            [now for _, now in done],
        )
        lines.append(f"{words} {line}".strip())
    return " ".join(lines)


def _absent_lines(plan: Plan, rows: Mapping[str, Row]) -> list[str]:
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


def wrapped(text: str) -> str:
    """Break the lines of paragraphs and list items; not of tables, code or comments."""
    parts = re.split(r"(^```.*?^```$|\n\n|\n(?=- )|\n\Z)", text, flags=re.M | re.S)
    return "".join(map(_wrapped_part, parts))


def _wrapped_part(part: str) -> str:
    if part.isspace() or part.lstrip().startswith(("|", "```", "<", "#", "!")):
        return part
    hanging = "  " if part.startswith("- ") else ""
    lines = textwrap.wrap(
        " ".join(part.split()),
        _WIDTH,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def bullets(lines: Iterable[str]) -> str:
    """Write a list."""
    return "\n".join(f"- {line}" for line in lines)


def text_table(grid: Grid, *, rules: bool = False, left: int = 2) -> str:
    """Align a grid, numbers to the right; with ``rules`` a rule between groups."""
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


def write_files(
    folder: Path,
    name: str,
    text: str,
    pieces: Mapping[str, str],
    more: Sequence[Path] = (),
) -> Written:
    """Write files of one name by their endings; the text is shown on the terminal."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{ending}" for ending in pieces]
    for file, content in zip(files, pieces.values(), strict=True):
        write_atomically(file, content.encode())
    return Written(text, (*files, *more))


def write_grid(
    folder: Path,
    name: str,
    title: str,
    grid: Grid,
    left: int,
    above: str,
    below: Sequence[str],
) -> Written:
    """Write a table with paragraphs around it as text, Markdown and CSV."""
    text = paragraphs([above, text_table(grid, left=left), *below])
    table = markdown_table(grid, left=left)
    page = paragraphs([f"# {title}", above, table, *below])
    pieces = {"txt": text, "md": wrapped(page), "csv": csv_text(grid)}
    return write_files(folder, name, text, pieces)


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
    machines = [row["machine"] for row in done]
    return {
        "command": command,
        "machines": each_once(
            f"{one['cpu']}, {one['cores']} cores, {one['platform']}" for one in machines
        ),
        "dates": each_once(row["date"][:10] for row in done),
        "commits": each_once(row["commit"] for row in done),
        "codes": each_once(map(code_in, done)),
        "libraries": each_once(map(libraries_in, done)),
        "seeds": each_once(row["cell"]["seed"] for row in done),
        "cells": len(done),
        "hours": round(sum(row["wall_seconds"] for row in done) / 3600, 2),
    }


def each_once(values: Iterable[Any]) -> list[Any]:
    """Return the different values in order."""
    return sorted(set(values))


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


def listed(parts: Iterable[str]) -> str:
    """Join with commas and a last "and"."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
