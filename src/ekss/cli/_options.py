"""Options that several commands share, and the values that users write as words.

Imported to show help, so it loads nothing but Typer.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ekss.methods import CLASSES

argument = partial(typer.Argument, show_default=False)
_option = partial(typer.Option, show_default=False)
work = partial(_option, rich_help_panel="Clustering")
reading = partial(_option, rich_help_panel="Reading")
results = partial(_option, rich_help_panel="Results")
messages = partial(typer.Option, rich_help_panel="Messages")

_STEPS = "unit, remove:N, pca:N, svd:N, whiten:N, scatter or scatter:J"

# The names that ``ekss data`` and ``ekss bench`` know; the last is of ``data`` alone.
DATA_SETS = (
    *("hopkins155", "eyaleb", "coil20", "coil100", "usps", "mnist_test"),
    "mnist_train",
)
_NUMBERED_STEPS = ("remove", "pca", "svd", "whiten")
_STEP_WORDS = ("unit", *(f"{name}:" for name in _NUMBERED_STEPS), "scatter")


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return a completion of one of these words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def some_of(*words: str) -> Callable[[str], list[str]]:
    """Return a completion of a comma-separated list of these words."""

    def complete(incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",")
        used = done.split(",")
        left = [w for w in words if w not in used and (w != "all" or not comma)]
        return [f"{done}{comma}{word}" for word in left if word.startswith(last)]

    return complete


if TYPE_CHECKING:

    class Method(StrEnum):
        """The methods, by the names that users type."""

        EKSS = "ekss"

else:
    Method = StrEnum("Method", {name.upper(): name for name in CLASSES})


class Holes(StrEnum):
    """What may be done with missing entries."""

    ERROR = "error"
    DROP_ROWS = "drop-rows"
    ZERO = "zero"
    OBSERVED = "observed"


@dataclass(frozen=True)
class Step:
    """One step of --preprocess."""

    name: str
    number: int | None = None

    @property
    def word(self) -> str:
        """What the user wrote."""
        return self.name if self.number is None else f"{self.name}:{self.number}"


def whole_number(value: str | int) -> int:
    """Read an integer; Typer's own message does not show what was given."""
    text = str(value)
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        # Older Typer shows the words of this error only.
        raise typer.BadParameter(f"{text!r} is not a whole number; write one such as 3")
    return int(text)


number = partial(work, parser=whole_number)
labels_file = partial(
    results, "--output", "-o", help="File of the labels: .csv .tsv .parquet .npy."
)

Data = Annotated[
    Path,
    argument(
        metavar="DATA",
        help="File .csv .tsv .txt .parquet .npy .npz .mat .h5 .tif (also .gz .bz2 .xz "
        ".zip), a directory of images, a .zarr directory, or - for the text of a .csv "
        "on standard input.",
    ),
]
Clusters = Annotated[
    str,
    work(
        *("--clusters", "-k"),
        metavar="K",
        help="Number of clusters; auto finds it (method ekss).",
        autocompletion=one_of("auto"),
    ),
]
Dim = Annotated[
    str | None,
    work(
        metavar="D",
        help="Dimension of the subspaces: 3, or for ekss also a range, 2-5.",
        show_default="from the data; paper: 3",
    ),
]
Affine = Annotated[
    bool | None,
    work(
        "--affine/--linear",
        help="Whether subspaces may miss the origin.",
        show_default="the method's default",
    ),
]
Preprocess = Annotated[
    str | None,
    work(
        metavar="STEPS",
        help="Comma-separated, in order: unit (rows to unit length), remove:N (leading "
        "components), pca:N, svd:N (pca without centring), whiten:N (svd at equal "
        "energies), scatter (images).",
        autocompletion=some_of(*_STEP_WORDS),
        show_default="none",
    ),
]
Seed = Annotated[
    int,
    number(metavar="S", help="The same seed gives the same labels.", show_default=True),
]
Jobs = Annotated[
    int,
    number(metavar="N", help="Parallel workers; -1 uses all cores.", show_default=True),
]
Key = Annotated[
    str | None,
    reading(help="Name of the array in the file.", show_default="the only one"),
]
IdColumn = Annotated[
    str | None,
    reading(
        help="Column that names the rows, kept in the result; none makes all columns "
        "features.",
        show_default="a first column of text, or one called id or ..._id",
    ),
]
Header = Annotated[
    bool | None,
    reading(
        "--header/--no-header",
        help="Whether the first line holds names, not data.",
        show_default="detected",
    ),
]
Missing = Annotated[
    Holes,
    reading(
        metavar="HOW",
        help="What to do with missing entries (NaN, or nothing in a table): error "
        "refuses them, drop-rows leaves out their rows, zero takes them for zero, "
        "observed clusters by the other entries and fills them in (ekss, kss, tsc).",
        show_default=True,
    ),
]
Mask = Annotated[
    str | None,
    reading(
        metavar="NAME",
        help="Array in the file that is 0 where entries are missing; for tracks one "
        "number per frame and point.",
        show_default="none",
    ),
]
DropColumn = Annotated[
    list[str] | None,
    reading(metavar="NAME", help="Column to leave out; may be given several times."),
]
Columns = Annotated[
    str | None,
    reading(
        metavar="LIST",
        help="Columns to cluster by, comma-separated: names, numbers from 0, ranges "
        "such as 2-5 or width:depth.",
        show_default="all columns of numbers",
    ),
]
Decimal = Annotated[
    str | None,
    reading(
        metavar="MARK",
        help="Decimal mark of a table in text: . or , (or: point, comma).",
        autocompletion=one_of("point", "comma"),
        show_default="found in the file",
    ),
]
ImageSize = Annotated[
    str | None,
    reading(
        metavar="HxW",
        help="Height and width of the images; those of a directory are resized to it.",
    ),
]
Labels = Annotated[
    Path | None, reading(help="File of the true labels, for scoring only.")
]
LabelsKey = Annotated[
    str | None,
    reading(help="Array or column of the true labels; without --labels, one in DATA."),
]
Quiet = Annotated[bool, messages("--quiet", help="Print nothing but errors.")]
Json = Annotated[bool, messages("--json", help="Print one JSON object, nothing else.")]
Debug = Annotated[bool, messages("--debug", help="Show where an error was raised.")]
DataHome = Annotated[
    Path | None,
    _option(
        help="Directory of the data files; otherwise EKSS_DATA, or the user's cache."
    ),
]


def check_jobs(jobs: int) -> int:
    """Refuse 0 workers."""
    if jobs == 0:
        raise ValueError("--jobs 0 runs nothing; pass a count, or -1 for all cores")
    return jobs


def check_seed(seed: int) -> int:
    """Refuse what the random generators do not take."""
    if not 0 <= seed < 2**32:
        raise ValueError(
            f"--seed {seed} is out of range; choose one from 0 to {2**32 - 1}"
        )
    return seed


def check_voice(quiet: bool, as_json: bool) -> None:
    """Refuse --quiet together with --json."""
    if quiet and as_json:
        raise ValueError("--quiet together with --json: leave out one of the two")


def at_least(option: str, number: int | None, least: int = 1) -> int | None:
    """Refuse a number below the least."""
    if number is not None and number < least:
        raise ValueError(f"{option} {number} is below {least}; choose at least {least}")
    return number


def number_or_auto(option: str, text: str, least: int = 1) -> int | str:
    """Read an integer, or "auto"."""
    if text == "auto":
        return text
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(
            f"{option} {text} is not a number; pass one, such as {option} 3, or "
            f"{option} auto"
        )
    at_least(option, int(text), least)
    return int(text)


def share_or_auto(option: str, text: str | None) -> float | str | None:
    """Read a share such as 0.1, or "auto"."""
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"{option} {text} is not a share; pass one, such as {option} 0.1, or "
            f"{option} auto"
        ) from None


def span_of(option: str, text: str | None) -> int | tuple[int, int] | None:
    """Read an integer such as 3, or a range such as 2-5."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", text)
    if match is None:
        raise ValueError(
            f"{option} {text} is not a number; write one such as 3, or a range such as "
            "2-5"
        )
    low, high = match[1], match[2]
    if int(low) < 1:
        raise ValueError(f"{option} {text} starts below 1; choose at least 1")
    return int(low) if high is None else (int(low), int(high))


def size_of(text: str | None) -> tuple[int, int] | None:
    """Read height x width, such as 32x24."""
    if text is None:
        return None
    match = re.fullmatch(r"([1-9][0-9]*)[xX]([1-9][0-9]*)", text)
    if match is None:
        raise ValueError(
            f"--image-size {text} is not height x width in pixels; write it as 32x24"
        )
    return int(match[1]), int(match[2])


def columns_of(text: str | None) -> tuple[str, ...]:
    """Read a comma-separated list of columns; names with commas stand in quotes."""
    if text is None:
        return ()
    (names,) = csv.reader([text], skipinitialspace=True)
    kept = tuple(name.strip() for name in names if name.strip())
    if not kept:
        raise ValueError(f"--columns {text!r} names no column; write --columns a,b,c")
    return kept


def decimal_of(text: str | None) -> str | None:
    """Read a decimal mark."""
    words = {"point": ".", "comma": ","}
    mark = words.get(text or "", text)
    if mark not in (None, *words.values()):
        raise ValueError(f"--decimal {text} is no decimal mark; write . or ,")
    return mark


def methods_of(text: str) -> tuple[str, ...]:
    """Read a comma-separated list of methods, or "all"; keep the user's order."""
    known = [method.value for method in Method]
    if text == "all":
        return tuple(known)
    names = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in names:
        if name not in known:
            raise ValueError(
                f"--methods has {name!r}; choose from {', '.join(known)}, or all"
            )
    return tuple(names)


def steps_of(text: str | None) -> tuple[Step, ...]:
    """Read a comma-separated list such as ``unit,remove:2,pca:50``."""
    steps = []
    for word in () if text is None else (word.strip() for word in text.split(",")):
        names = "|".join(("unit", *_NUMBERED_STEPS, "scatter"))
        match = re.fullmatch(rf"({names})(?::([0-9]+))?", word)
        if match is None:
            raise ValueError(f"--preprocess has {word!r}; choose from {_STEPS}")
        name, number = match[1], None if match[2] is None else int(match[2])
        if name == "unit" and number is not None:
            raise ValueError(f"--preprocess has {word!r}; unit takes no number")
        if name in _NUMBERED_STEPS and number is None:
            raise ValueError(
                f"--preprocess has {word!r}; say how many, such as {name}:2"
            )
        steps.append(Step(name, number))
    return tuple(steps)
