"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

_READING, _WORK, _RESULTS, _TALK = "Reading", "Clustering", "Results", "Talking"


def whole_number(value: str | int) -> int:
    """Read an integer; the message of Typer does not say what was given."""
    text = str(value)
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"{text!r} is no whole number; write one such as 3")
    return int(text)


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="File .npy .npz .csv .tsv .parquet .mat .h5, or a folder of images.",
        show_default=False,
    ),
]
Clusters = Annotated[
    str,
    typer.Option(
        "--clusters",
        "-k",
        metavar="K",
        help="Number of clusters; auto finds it (method ekss).",
        show_default=False,
        rich_help_panel=_WORK,
    ),
]
Dim = Annotated[
    str | None,
    typer.Option(
        "--dim",
        metavar="D",
        help="Dimension of the subspaces: 3, or for ekss also a range, 2-5.",
        show_default="from the data",
        rich_help_panel=_WORK,
    ),
]
Affine = Annotated[
    bool | None,
    typer.Option(
        "--affine/--linear",
        help="Whether subspaces may miss the origin.",
        show_default="as the method has it",
        rich_help_panel=_WORK,
    ),
]
Preprocess = Annotated[
    str | None,
    typer.Option(
        "--preprocess",
        metavar="STEPS",
        help="Comma list in order: unit (rows to unit length), remove:N (leading "
        "components), pca:N, svd:N (pca without centring), scatter (images).",
        show_default="none",
        rich_help_panel=_WORK,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        parser=whole_number,
        metavar="S",
        help="The same seed gives the same labels.",
        rich_help_panel=_WORK,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        parser=whole_number,
        metavar="N",
        help="Parallel workers; -1 uses all cores.",
        rich_help_panel=_WORK,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        help="Name of the array inside the file.",
        show_default="the only one",
        rich_help_panel=_READING,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of names of the rows, kept in the result; none makes all columns "
        "features.",
        show_default="a first column of texts, or one called id or ..._id",
        rich_help_panel=_READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line holds names, not data.",
        show_default="seen from the file",
        rich_help_panel=_READING,
    ),
]
DropColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Column to leave out; may be given several times.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
ImageSize = Annotated[
    str | None,
    typer.Option(
        metavar="HxW",
        help="Size of the images; those of a folder are brought to it.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="File of the true labels, for scoring only.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
LabelsKey = Annotated[
    str | None,
    typer.Option(
        help="Array or column of the true labels; without --labels in DATA itself.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel=_TALK),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object and nothing else.",
        rich_help_panel=_TALK,
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show where an error arose.", rich_help_panel=_TALK),
]


def check_jobs(jobs: int) -> int:
    """Refuse 0, which would run nothing."""
    if jobs == 0:
        raise ValueError("--jobs 0 runs nothing; pass a count, or -1 for all cores")
    return jobs


def check_seed(seed: int) -> int:
    """Refuse what the random generators do not take."""
    if not 0 <= seed < 2**32:
        raise ValueError(
            f"--seed {seed} is outside 0 to {2**32 - 1}; choose from there"
        )
    return seed


def check_voice(quiet: bool, as_json: bool) -> None:
    """Refuse to print and not to print."""
    if quiet and as_json:
        raise ValueError("--quiet together with --json: leave out one of the two")
