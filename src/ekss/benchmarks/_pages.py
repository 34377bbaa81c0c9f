"""Pages of the figures: picture, findings with numbers, and how they were made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ekss.benchmarks._cells import Plan
from ekss.benchmarks._findings import Finding
from ekss.benchmarks._render import (
    Grid,
    Written,
    markdown_table,
    run_lines,
    run_of,
    text_table,
    version_of_rows,
)
from ekss.benchmarks._rows import Row, finished
from ekss.benchmarks._versions import code_of
from ekss.core.files import write_atomically

_NO_PICTURE = (
    "there is no picture, because it needs matplotlib, which is not installed; "
    "install it with: pip install 'ekss[plot]'"
)


@dataclass(frozen=True)
class Page:
    """What a figure shows besides its picture.

    Attributes
    ----------
    name, title : str
    alt : str
        The picture in words.
    findings : sequence of Finding
    grid : list of lists of str
        A table under the findings; may be empty.
    text : str
        What the reader has to know.
    csv : str
        All numbers of the picture.
    made : str
        A line on how the numbers were made; may be empty.
    """

    name: str
    title: str
    alt: str
    findings: Sequence[Finding]
    grid: Grid
    text: str
    csv: str
    made: str = ""


def write_page(
    page: Page,
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    command: str,
    draw: Callable[[Path], None] | None,
) -> Written:
    """Write the page, its numbers and its picture: md, csv and png.

    Parameters
    ----------
    page : Page
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    command : str
        What made the rows.
    draw : callable or None
        Draws the picture to a path; None where there is nothing to draw.

    Returns
    -------
    written : Written
    """
    folder.mkdir(parents=True, exist_ok=True)
    absent = absent_lines(plan, rows)
    files = [folder / f"{page.name}.md", folder / f"{page.name}.csv"]
    if draw is not None:
        picture = folder / f"{page.name}.png"
        try:
            draw(picture)
            files.append(picture)
        except ModuleNotFoundError:
            absent.append(_NO_PICTURE)
    shown = f"![{page.alt}]({page.name}.png)" if len(files) == 3 else ""
    run = [*run_lines(run_of(rows, command)), *([page.made] if page.made else [])]
    versions = version_of_rows(rows, code_of(plan.name, plan.work))
    content = _as_markdown(page, versions, shown, absent, run)
    write_atomically(files[0], content.encode())
    write_atomically(files[1], page.csv.encode())
    return Written(_as_text(page, versions, absent), tuple(files))


def absent_lines(plan: Plan, rows: Mapping[str, Row]) -> list[str]:
    """Say what is not there and why."""
    lines = list(plan.missing.values())
    for cell in plan.cells:
        row = rows.get(cell.key)
        if not finished(row):
            reason = "not run yet" if row is None else f"failed: {row['failed']}"
            lines.append(f"{cell.title}: {reason}")
    return lines


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return a verdict, the paper's statement and our numbers for each finding."""
    return [
        f"{'Holds' if one.holds else 'Does not hold'}: {one.claim} {one.measured}"
        for one in findings
    ]


def _as_markdown(
    page: Page, versions: str, shown: str, absent: Sequence[str], run: Sequence[str]
) -> str:
    parts = [f"# {page.title}", versions, shown, page.text.rstrip()]
    if page.findings:
        told = [_with_bold_verdict(line) for line in finding_lines(page.findings)]
        parts += ["What the paper says, and what we measured:", _bullets(told)]
    if page.grid:
        parts.append(markdown_table(page.grid, left=1))
    if absent:
        parts += ["Not there:", _bullets(absent)]
    parts += ["How it was made:", _bullets(run)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _as_text(page: Page, versions: str, absent: Sequence[str]) -> str:
    parts = [versions, page.title, *finding_lines(page.findings)]
    if page.grid:
        parts.append(text_table(page.grid, left=1))
    return "\n\n".join([*parts, *absent]) + "\n"


def _with_bold_verdict(line: str) -> str:
    verdict, _, rest = line.partition(":")
    return f"**{verdict}**:{rest}"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
