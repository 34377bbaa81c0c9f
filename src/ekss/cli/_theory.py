"""``ekss theory``: which guarantees hold for labelled points, and what fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ekss.cli._options import (
    Data,
    Debug,
    DropColumn,
    Header,
    IdColumn,
    Jobs,
    Key,
    LabelsKey,
    Quiet,
    Seed,
)

if TYPE_CHECKING:
    from ekss.cli._reading import Source
    from ekss.report import Guarantees

_MOST_CLUSTERS = 20  # lines of a table that a terminal shows at once
_MOST_POINTS = 5  # of the worst points
_CHOICES, _MODEL, _RESULTS = "Methods", "Assumptions", "Results"

LabelFile = Annotated[
    Path | None,
    typer.Option(
        help="File of the labels; without it they are in DATA (--labels-key).",
        show_default=False,
        rich_help_panel="Reading",
    ),
]
Dim = Annotated[
    int | None,
    typer.Option(
        help="Dimension of every cluster's subspace.",
        min=1,
        show_default="of each cluster, from its points",
        rich_help_panel=_MODEL,
    ),
]
Neighbours = Annotated[
    int | None,
    typer.Option(
        "--q",
        help="Neighbours per point in the graphs.",
        min=1,
        show_default="the paper's max(3, N_k / 20)",
        rich_help_panel=_CHOICES,
    ),
]
Members = Annotated[
    int, typer.Option(help="Members of EKSS-0.", min=1, rich_help_panel=_CHOICES)
]
Candidates = Annotated[
    int | None,
    typer.Option(
        help="Candidate subspaces per member.",
        min=1,
        show_default="the number of clusters",
        rich_help_panel=_CHOICES,
    ),
]
CandidateDim = Annotated[
    int | None,
    typer.Option(
        help="Dimension of the candidates.",
        min=1,
        show_default="the median of the clusters",
        rich_help_panel=_CHOICES,
    ),
]
Failure = Annotated[
    float,
    typer.Option(
        help="Failure probability allowed in Theorem 3.", rich_help_panel=_CHOICES
    ),
]
Noise = Annotated[
    float | None,
    typer.Option(
        help="Noise sigma, about the length of the noise of a point of length 1 "
        "(Lemma 2).",
        min=0.0,
        show_default="from the points",
        rich_help_panel=_MODEL,
    ),
]
Missing = Annotated[
    int,
    typer.Option(
        help="Entries that a point may lack, set to 0 (Lemma 1).",
        min=0,
        rich_help_panel=_MODEL,
    ),
]
Projection = Annotated[
    int | None,
    typer.Option(
        help="Dimension of a random projection before TSC (Theorem 8).",
        min=1,
        show_default="all features",
        rich_help_panel=_MODEL,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        help="Compare at most this many points with all others.",
        min=1,
        show_default="as many as 10^8 pairs allow",
        rich_help_panel=_CHOICES,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the page as .html, or its numbers as .json.",
        show_default=False,
        rich_help_panel=_RESULTS,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object instead of the page.",
        rich_help_panel=_RESULTS,
    ),
]


def theory(
    data: Data,
    labels: LabelFile = None,
    key: Key = None,
    labels_key: LabelsKey = None,
    id_column: IdColumn = None,
    header: Header = None,
    drop_column: DropColumn = None,
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
    from ekss.cli._output import check_ending, check_outputs, guarded
    from ekss.cli._reading import Source

    with guarded(debug):
        check_voice(quiet, as_json)
        if quiet and output is None:
            raise ValueError(
                "--quiet without --output shows nothing; name a file to write"
            )
        if output is not None:
            check_ending(output, (".html", ".json"), "the page")
            check_outputs([output], [data, labels])
        source = Source(
            data,
            key=key,
            id_column=id_column,
            header="auto" if header is None else header,
            drop=tuple(drop_column or ()),
            labels=labels,
            labels_key=labels_key,
        )
        found = _assessed(
            source,
            silent=as_json or quiet,
            n_jobs=check_jobs(jobs),
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
        if output is not None:
            _write(found, output)
        if as_json:
            typer.echo(_as_json(found))
        elif not quiet:
            _show(found, output)


def _assessed(source: Source, *, silent: bool, **options: Any) -> Guarantees:
    """Read the points and their labels, and evaluate every guarantee."""
    from ekss.cli._output import Voice
    from ekss.cli._reading import doubts, left_out, read
    from ekss.report import guarantees

    read_in = read(source)
    if read_in.labels is None:
        raise ValueError(
            "the guarantees are about given clusters; name their labels with --labels, "
            "or with --labels-key if they are in the data file"
        )
    voice = Voice(silent)
    voice.warn([f"{read_in.points.source}: {text}" for text in left_out(read_in)])
    voice.warn(doubts(read_in))
    file = source.label_file.name if source.label_file else ""
    with Console(stderr=True, quiet=silent).status("reading") as status:
        return guarantees(
            read_in.points.points,
            read_in.labels,
            source=read_in.points.source,
            labels_source=f"{file} {source.labels_key or ''}".strip(),
            ids=read_in.points.ids,
            progress=status.update,
            **options,
        )


def _as_json(found: Guarantees) -> str:
    return json.dumps(found.summary, indent=1, ensure_ascii=False, allow_nan=False)


def _write(found: Guarantees, output: Path) -> None:
    from ekss.runtime.files import write_atomically

    html = output.suffix.lower() == ".html"
    content = found.report().html if html else _as_json(found) + "\n"
    write_atomically(output, content.encode())


def _show(found: Guarantees, output: Path | None) -> None:
    """Print everything a reader needs; of the conditions, those that fail."""
    console, words = Console(), found.explanation
    console.print(Text(found.title, style="bold"))
    for name, setting in found.settings:
        console.print(Text(f"  {name:<11}{setting}"))
    sections = [
        ("In short", _answers(found)),
        ("Clusters", _clusters(found)),
        ("Guarantees", _findings(found)),
        ("What fails, by how much, and what would help", _unmet(found)),
        ("Worst points: nearest to another cluster", _worst(found)),
        ("Notes", _notes(found)),
    ]
    for title, content in sections:
        if not content.row_count:
            continue
        console.print()
        console.print(Text(title, style="bold"))
        console.print(content)
        if title == "Clusters":
            console.print(Text(words.closest))
    if output is not None:
        console.print()
        console.print(f"Page: {output}", markup=False, highlight=False, soft_wrap=True)


def _table(headings: Sequence[str], right: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    return table


def _answers(found: Guarantees) -> Table:
    table = _table(("method", "question", "answer"))
    style = {True: "green", False: "red", None: "yellow"}
    for line in found.explanation.answers:
        answer = Text(line.answer, style=style[line.good])
        table.add_row(line.method, line.question, answer)
    return table


def _clusters(found: Guarantees) -> Table:
    from ekss.theory import number, percent

    headings = "cluster points dim outside nearest affinity angle".split()
    headings += ["pieces: TSC", "EKSS-0"]
    table = _table(headings, right=headings)
    for column in table.columns:
        column.no_wrap = True
    clusters = found.explanation.clusters
    rows = sorted(clusters, key=lambda row: -row.affinity)[:_MOST_CLUSTERS]
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
    left = len(clusters) - len(rows)
    if left:
        table.caption = f"and {left} clusters farther from others"
    return table


def _findings(found: Guarantees) -> Table:
    from ekss.theory import HOLDS, OPEN

    table = _table(("statement", "method", "verdict", "what and why"))
    style = {HOLDS: "green", OPEN: "yellow"}
    for finding in found.explanation.findings:
        verdict = Text(finding.status, style=style.get(finding.status, "red"))
        text = Text(f"{finding.title}: {finding.summary}")
        table.add_row(finding.statement, finding.method, verdict, text)
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
    from ekss.theory import ordinal

    a = found.assessment
    own = f"|cos| to {ordinal(a.case.situation.q)} of own"
    headings = ("point", "cluster", own, "|cos| to rival", "rival", "its cluster")
    table = _table(headings, right=headings)
    for point in a.tsc.worst[:_MOST_POINTS]:
        table.add_row(
            found.named(point.index),
            str(point.cluster),
            f"{point.near:.4f}",
            f"{point.far:.4f}",
            found.named(point.rival),
            str(point.rival_cluster),
        )
    return table


def _notes(found: Guarantees) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for note in found.explanation.notes:
        table.add_row("-", Text(note))
    return table
