"""``ekss theory``: which guarantees hold for labelled points, and what fails."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ekss.cli._options import (
    Columns,
    Data,
    Debug,
    Decimal,
    DropColumn,
    Header,
    IdColumn,
    Jobs,
    Key,
    LabelsKey,
    Quiet,
    Seed,
    reading,
    results,
)

if TYPE_CHECKING:
    from ekss.report import Guarantees

_MOST_CLUSTERS = 20  # lines of a table that a terminal shows at once
_MOST_POINTS = 5  # of the worst points
_COLOURS = {True: "green", False: "red", None: "yellow"}

_methods = partial(typer.Option, rich_help_panel="Methods", min=1)
_assumptions = partial(typer.Option, rich_help_panel="Assumptions", min=1)

LabelFile = Annotated[
    Path | None,
    reading(
        help="File of the labels; without it they are in DATA (--labels-key).",
        show_default=False,
    ),
]
Dim = Annotated[
    int | None,
    _assumptions(
        help="Dimension of every cluster's subspace.",
        show_default="of each cluster, from its points",
    ),
]
Neighbours = Annotated[
    int | None,
    _methods(
        "--q",
        help="Neighbours per point in the graphs.",
        show_default="the paper's max(3, N_k / 20)",
    ),
]
Members = Annotated[int, _methods(help="Members of EKSS-0.")]
Candidates = Annotated[
    int | None,
    _methods(
        help="Candidate subspaces per member.", show_default="the number of clusters"
    ),
]
CandidateDim = Annotated[
    int | None,
    _methods(
        help="Dimension of the candidates.", show_default="the median of the clusters"
    ),
]
Failure = Annotated[
    float, _methods(help="Failure probability allowed in Theorem 3.", min=None)
]
Noise = Annotated[
    float | None,
    _assumptions(
        help="Noise sigma, about the length of the noise of a point of length 1 "
        "(Lemma 2).",
        min=0.0,
        show_default="from the points",
    ),
]
Missing = Annotated[
    int,
    _assumptions(help="Entries that a point may lack, set to 0 (Lemma 1).", min=0),
]
Projection = Annotated[
    int | None,
    _assumptions(
        help="Dimension of a random projection before TSC (Theorem 8).",
        show_default="all features",
    ),
]
Rows = Annotated[
    int | None,
    _methods(
        help="Compare at most this many points with all others.",
        show_default="as many as 10^8 pairs allow",
    ),
]
Output = Annotated[
    Path | None,
    results(
        "--output",
        "-o",
        help="Write the page as .html, or its numbers as .json.",
        show_default=False,
    ),
]
AsJson = Annotated[
    bool, results("--json", help="Print one JSON object instead of the page.")
]


def theory(
    data: Data,
    labels: LabelFile = None,
    key: Key = None,
    labels_key: LabelsKey = None,
    id_column: IdColumn = None,
    header: Header = None,
    drop_column: DropColumn = None,
    columns: Columns = None,
    decimal: Decimal = None,
    dim: Dim = None,
    q: Neighbours = None,
    members: Members = 1000,
    candidates: Candidates = None,
    candidate_dim: CandidateDim = None,
    failure: Failure = 0.01,
    noise: Noise = None,
    missing: Missing = 0,
    projection: Projection = None,
    rows: Rows = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say which recovery guarantees of the paper hold for labelled points.

    For EKSS-0 and TSC: what each guarantee asks of the data, what the data are like,
    and what would make it hold.
    """
    from ekss.cli._options import check_jobs, check_voice
    from ekss.cli._output import Voice, check_ending, check_outputs, guarded
    from ekss.cli._reading import Source, doubts, left_out, read
    from ekss.report import guarantees
    from ekss.runtime.files import write_atomically

    with guarded(debug):
        check_voice(quiet, as_json)
        if quiet and output is None:
            raise ValueError(
                "--quiet without --output shows nothing; name a file to write"
            )
        if output is not None:
            check_ending(output, (".html", ".json"), "the page")
            check_outputs([output], [data, labels])
        silent, n_jobs = as_json or quiet, check_jobs(jobs)
        source = Source(
            data,
            key=key,
            id_column=id_column,
            header="auto" if header is None else header,
            drop=tuple(drop_column or ()),
            labels=labels,
            labels_key=labels_key,
            take=columns,
            decimal=decimal,
        )
        read_in = read(source)
        if read_in.labels is None:
            raise ValueError(
                "the guarantees are about given clusters; name their labels with "
                "--labels, or with --labels-key if they are in the data file"
            )
        voice = Voice(silent)
        told = [*left_out(read_in), *read_in.points.notes]
        voice.warn([f"{read_in.points.source}: {text}" for text in told])
        voice.warn(doubts(read_in))
        file = source.label_file.name if source.label_file else ""
        with Console(stderr=True, quiet=silent).status("reading") as status:
            found = guarantees(
                read_in.points.points,
                read_in.labels,
                source=read_in.points.source,
                labels_source=f"{file} {source.labels_key or ''}".strip(),
                ids=read_in.points.ids,
                n_jobs=n_jobs,
                progress=status.update,
                dim=dim,
                q=q,
                n_members=members,
                n_candidates=candidates,
                candidate_dim=candidate_dim,
                failure=failure,
                noise=noise,
                n_missing=missing,
                n_components=projection,
                n_rows=rows,
                seed=seed,
            )
        numbers = partial(json.dumps, indent=1, ensure_ascii=False, allow_nan=False)
        if output is not None:
            html = output.suffix.lower() == ".html"
            page = found.report().html if html else numbers(found.summary) + "\n"
            write_atomically(output, page.encode())
        if as_json:
            typer.echo(numbers(found.summary))
        elif not quiet:
            _show(found, output)


def _show(found: Guarantees, output: Path | None) -> None:
    """Print everything a reader needs; of the conditions, those that fail."""
    console = Console()
    console.print(Text(found.title, style="bold"))
    for name, setting in found.settings:
        console.print(Text(f"  {name:<11}{setting}"))
    for title, content in (
        ("In short", _answers(found)),
        ("Clusters", _clusters(found)),
        ("Guarantees", _findings(found)),
        ("What fails, by how much, and what would help", _unmet(found)),
        ("Worst points: nearest to another cluster", _worst(found)),
        ("Notes", _notes(found)),
    ):
        if content.row_count:
            console.print()
            console.print(Text(title, style="bold"))
            console.print(content)
        if title == "Clusters":
            console.print(Text(found.explanation.closest))
    if output is not None:
        console.print()
        console.print(f"Page: {output}", markup=False, highlight=False, soft_wrap=True)


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str | Text]], **column: Any
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, **column)
    for row in rows:
        table.add_row(*row)
    return table


def _answers(found: Guarantees) -> Table:
    rows = [
        (line.method, line.question, Text(line.answer, style=_COLOURS[line.good]))
        for line in found.explanation.answers
    ]
    return _table(("method", "question", "answer"), rows)


def _clusters(found: Guarantees) -> Table:
    headings = "cluster points dim outside nearest affinity angle".split()
    headings += ["pieces: TSC", "EKSS-0"]
    clusters = sorted(found.explanation.clusters, key=lambda row: -row.affinity)
    rows = [row.cells for row in clusters[:_MOST_CLUSTERS]]
    table = _table(headings, rows, justify="right", no_wrap=True)
    left = len(clusters) - len(rows)
    if left:
        table.caption = f"and {left} clusters farther from others"
    return table


def _findings(found: Guarantees) -> Table:
    rows = [
        (
            f.statement,
            f.method,
            Text(f.status, style=_COLOURS[f.good]),
            Text(f"{f.title}: {f.summary}"),
        )
        for f in found.explanation.findings
    ]
    table = _table(("statement", "method", "verdict", "what and why"), rows)
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    return table


def _unmet(found: Guarantees) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for where, check in found.explanation.unmet:
        far = f" ({check.distance})" if check.distance else ""
        table.add_row("asked", Text(f"{check.asked} [{where}]"))
        table.add_row("here", Text(f"{check.comparison}{far}", style="red"))
        table.add_row("helps", Text(check.remedy), end_section=True)
        table.add_row("", "")
    return table


def _worst(found: Guarantees) -> Table:
    from ekss.words import ordinal

    a = found.assessment
    own = f"|cos| to {ordinal(a.case.situation.q)} of own"
    headings = ("point", "cluster", own, "|cos| to rival", "rival", "its cluster")
    rows = [found.cells(point) for point in a.tsc.worst[:_MOST_POINTS]]
    return _table(headings, rows, justify="right")


def _notes(found: Guarantees) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for note in found.explanation.notes:
        table.add_row("-", Text(note))
    return table
