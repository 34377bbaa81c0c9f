"""The page of guarantees for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ekss.cli._theory_findings import HOLDS, OPEN, ordinal, percent
from ekss.cli._theory_page import Page
from ekss.cli._theory_words import number

_MOST_CLUSTERS = 20
_MOST_POINTS = 5


def print_page(page: Page, console: Console) -> None:
    """Print everything a reader needs, failing conditions only."""
    console.print(Text(page.title, style="bold"))
    for name, text in page.facts:
        console.print(Text(f"  {name:<11}{text}"))
    _section(console, "In short")
    console.print(_answers(page))
    _section(console, "Clusters")
    console.print(_clusters(page))
    console.print(Text(page.closest))
    _section(console, "Guarantees")
    console.print(_findings(page))
    if page.unmet:
        _section(console, "What fails, by how much, and what would help")
        console.print(_unmet(page))
    _section(console, "Worst points: nearest to another cluster")
    console.print(_worst(page))
    _section(console, "To know")
    console.print(_notes(page))


def _section(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _table(headings: Sequence[str], right: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    return table


def _answers(page: Page) -> Table:
    table = _table(("method", "question", "answer"))
    style = {True: "green", False: "red", None: "yellow"}
    for line in page.answers:
        answer = Text(line.answer, style=style[line.good])
        table.add_row(line.method, line.question, answer)
    return table


def _clusters(page: Page) -> Table:
    headings = "cluster points dim outside nearest affinity angle".split()
    headings += ["pieces: TSC", "EKSS-0"]
    table = _table(headings, right=headings)
    for column in table.columns:
        column.no_wrap = True
    rows = sorted(page.clusters, key=lambda row: -row.affinity)[:_MOST_CLUSTERS]
    for row in rows:
        table.add_row(
            str(row.name),
            f"{row.size:,}",
            str(row.dim),
            percent(row.outside),
            str(row.nearest),
            number(row.affinity),
            f"{row.angle:.3g}°",
            str(row.pieces_tsc),
            str(row.pieces_votes),
        )
    left = len(page.clusters) - len(rows)
    if left:
        table.caption = f"and {left} clusters farther from others"
    return table


def _findings(page: Page) -> Table:
    table = _table(("statement", "method", "verdict", "what and why"))
    style = {HOLDS: "green", OPEN: "yellow"}
    for finding in page.findings:
        verdict = Text(finding.status, style=style.get(finding.status, "red"))
        text = Text(f"{finding.title}: {finding.summary}")
        table.add_row(finding.statement, finding.method, verdict, text)
        table.columns[0].no_wrap = table.columns[1].no_wrap = True
    return table


def _unmet(page: Page) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for where, check in page.unmet:
        far = f" ({check.distance})" if check.distance else ""
        table.add_row("asked", Text(f"{check.asked} [{where}]"))
        table.add_row("here", Text(f"{check.comparison}{far}", style="red"))
        table.add_row("helps", Text(check.remedy), end_section=True)
        table.add_row("", "")
    return table


def _worst(page: Page) -> Table:
    a = page.assessment
    own = f"|cos| to {ordinal(a.situation.n_neighbors)} of own"
    headings = ("point", "cluster", own, "|cos| to rival", "rival", "its cluster")
    table = _table(headings, right=headings)
    for point in a.tsc.worst[:_MOST_POINTS]:
        table.add_row(
            page.named(point.index),
            str(point.cluster),
            f"{point.near:.4f}",
            f"{point.far:.4f}",
            page.named(point.rival),
            str(point.rival_cluster),
        )
    return table


def _notes(page: Page) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for note in page.notes:
        table.add_row("-", Text(note))
    return table
