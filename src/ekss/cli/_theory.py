"""``ekss theory``: which guarantees hold for labelled points, how far others are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    from ekss.cli._theory_page import Page
    from ekss.cli._theory_results import Wishes

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
        help="Neighbours of a point in the graphs.",
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
        help="Candidate subspaces of a member.",
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
        help="Compare at most so many points with all others.",
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

    For EKSS-0 and TSC: what each guarantee asks of the data, what it is here, and
    what would make it hold.
    """
    from ekss.cli._errors import guarded
    from ekss.cli._options import check_jobs
    from ekss.cli._reading import Source
    from ekss.cli._theory_results import Wishes

    with guarded(debug):
        wishes = Wishes(
            dim=dim,
            q=q,
            n_base=members,
            n_candidates=candidates,
            candidate_dim=candidate_dim,
            seed=seed,
            failure=failure,
            noise=noise,
            n_missing=missing,
            n_components=projection,
            rows=rows,
            jobs=check_jobs(jobs),
        )
        source = Source(
            data,
            key=key,
            id_column=id_column,
            header="auto" if header is None else header,
            drop=tuple(drop_column or ()),
            labels=labels,
            labels_key=labels_key,
        )
        _run(source, wishes, output, as_json=as_json, quiet=quiet)


def _run(
    source: Source, wishes: Wishes, output: Path | None, *, as_json: bool, quiet: bool
) -> None:
    from ekss.cli._options import check_voice
    from ekss.cli._outputs import check_ending, check_outputs

    check_voice(quiet, as_json)
    if quiet and output is None:
        raise ValueError("--quiet without --output shows nothing; name a file to write")
    if not 0 < wishes.failure < 1:
        raise ValueError(
            f"--failure {wishes.failure} is no probability between 0 and 1; choose one "
            "such as 0.01"
        )
    if output is not None:
        check_ending(output, (".html", ".json"), "the page")
        check_outputs([output], [source.data, source.labels])
    page = _page(source, wishes, silent=as_json or quiet)
    if output is not None:
        _write(page, output)
    if as_json:
        typer.echo(_as_json(page))
    elif not quiet:
        _show(page, output)


def _page(source: Source, wishes: Wishes, *, silent: bool) -> Page:
    from rich.console import Console

    from ekss.cli._columns import doubts, left_out
    from ekss.cli._reading import read
    from ekss.cli._theory_assess import assess
    from ekss.cli._theory_page import make_page
    from ekss.cli._voice import Voice

    found = read(source)
    if found.labels is None:
        raise ValueError(
            "the guarantees are about given clusters; name their labels with --labels, "
            "or with --labels-key if they are in the data file"
        )
    voice = Voice(silent)
    voice.warn([f"{found.points.source}: {text}" for text in left_out(found)])
    voice.warn(doubts(found))
    console = Console(stderr=True, quiet=silent)
    with console.status("reading") as status:
        result = assess(found.points.points, found.labels, wishes, status.update)
    named = source.labels_key or ""
    labels = source.label_file.name if source.label_file else ""
    labels = f"{labels} {named}".strip()
    return make_page(result, found.points.source, labels, found.points.ids)


def _show(page: Page, output: Path | None) -> None:
    from rich.console import Console

    from ekss.cli._theory_terminal import print_page

    console = Console()
    print_page(page, console)
    if output is not None:
        console.print()
        console.print(f"Page: {output}", markup=False, highlight=False, soft_wrap=True)


def _write(page: Page, output: Path) -> None:
    from ekss.cli._theory_html import page_html
    from ekss.core.files import write_atomically

    html = output.suffix.lower() == ".html"
    text = page_html(page) if html else _as_json(page) + "\n"
    write_atomically(output, text.encode())


def _as_json(page: Page) -> str:
    from ekss.cli._theory_page import page_json

    return json.dumps(page_json(page), indent=1, ensure_ascii=False, allow_nan=False)
