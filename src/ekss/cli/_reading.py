"""Read points and true labels as the command line describes them, and doubt columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ekss.cli._options import Step, columns_of, decimal_of, size_of
from ekss.cli._output import STDIN, counted, place_of
from ekss.runtime.untrusted import why_not_regular

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.io import Points

_LEAVE_COLUMN = (
    "leave the column out with --drop-column, or name it with --id-column or, if it "
    "holds true labels, with --labels-key"
)
# What the readers call their parameters, and what the command line calls them.
_IN_OPTIONS = (
    (r"image_size=\(height, width\)", "--image-size HxW"),
    (r"image_size=\((\d+), (\d+)\)", r"--image-size \1x\2"),
    (r"\bimage_size\b", "--image-size"),
    (r"\b(?:key|column)='([^']*)'", r"KEY \1"),
    (r"\bby (?:key|column)\b", "by KEY"),
    (r"\bleave the key out\b", "leave KEY out"),
    (r"\bleave key and\b", "leave KEY and"),
    (r"\bleave mask out\b", "leave --mask out"),
    (r"\band mask out\b", "and --mask out"),
    (
        r"\bid_column, header, drop, take and decimal\b",
        "--id-column, --header, --drop-column, --columns and --decimal",
    ),
    (r"\bdecimal='([.,])'", r"--decimal \1"),
    (r"\bid_column=False\b", "--id-column none"),
    (r"\bmemory_limit=", "--memory-limit "),
    (
        r"; fill it in or remove the row, or pass missing=True\b",
        "; fill it in, or choose with --missing",
    ),
    (r"\bheader=True\b", "--header"),
    (r"\bheader=False\b", "--no-header"),
    (r"\bdrop the column, or make it the id column", _LEAVE_COLUMN),
)


# A column with more of the sum of squares decides the subspaces alone.
_DOMINANT = 0.9
# In fewer rows values may increase by chance: 1 in 12! for a column.
_FEWEST_ROWS = 12
# n whole numbers drawn from R values are all different with probability about
# exp(-n^2 / 2R); below exp(-12) they are different on purpose.
_LOG_CHANCE = 12.0
_MOST_COUNTERS = 2  # if more columns look like row numbers, it is the data's nature
_SHOWN = 8  # names of columns that fit on a line
_BLOCK = 2**20
_LOOKED_AT = 20_000  # rows of a table on the disk
_ROWS_AT_ONCE = 4096  # in float64: with 1000 columns 32 MB


@dataclass(frozen=True)
class Source:
    """Where data and labels are: the options of the panel "Reading"."""

    data: Path
    key: str | None = None
    id_column: str | None = None
    header: bool | str | None = None
    drop: Sequence[str] | None = None
    image_size: str | None = None
    labels: Path | None = None
    labels_key: str | None = None
    take: str | None = None
    decimal: str | None = None
    columns: tuple[str, ...] | None = None  # of a saved model
    memory_limit: str | None = None
    missing: str = "error"
    mask: str | None = None
    in_blocks: bool = False  # whether a large table may stay on the disk

    @property
    def label_file(self) -> Path | None:
        """The file of the true labels; DATA itself where only a key is given."""
        if self.labels is None and self.labels_key is not None:
            return self.data
        return self.labels

    @property
    def words(self) -> list[str]:
        """The options of the command line that say the same."""
        found = []
        for option, value in (
            ("--key", self.key),
            ("--id-column", self.id_column),
            ("--columns", self.take),
            ("--decimal", self.decimal),
            ("--missing", None if self.missing == "error" else self.missing),
            ("--mask", self.mask),
            ("--image-size", self.image_size),
            ("--labels", self.labels),
            ("--labels-key", self.labels_key),
        ):
            found += [] if value is None else [option, str(value)]
        for name in self.drop or ():
            found += ["--drop-column", name]
        if isinstance(self.header, bool):
            found.append("--header" if self.header else "--no-header")
        return found

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not features: dropped ones, and that of the true labels."""
        from ekss.io import is_table

        dropped, file = tuple(self.drop or ()), self.label_file
        if self.labels_key is None or file is None or not is_table(self.data):
            return dropped
        same = place_of(file) == place_of(self.data)
        return (*dropped, self.labels_key) if same else dropped


@dataclass(frozen=True)
class Read:
    """Points, and their true labels if they were given."""

    points: Points
    labels: NDArray[np.int64] | None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and of features."""
        n, n_features = self.points.points.shape
        return n, n_features

    def as_dict(self) -> dict[str, Any]:
        """Return what was read, for JSON."""
        n, n_features = self.shape
        names = self.points.feature_names
        return {
            "source": self.points.source,
            "kind": self.points.kind,
            "n_points": n,
            "n_features": n_features,
            "columns": None if names is None else list(names),
            "id_column": self.points.id_name,
            "left_out": list(self.points.left_out),
            "missing": share_missing(self),
            "notes": list(self.points.notes),
        }


def read(source: Source, *, least_rows: int = 2) -> Read:
    """Read everything, or raise with one line that says what is wrong."""
    if source.data == STDIN:
        with TemporaryDirectory() as folder:
            return _read_stdin(source, Path(folder) / "stdin.csv", least_rows)
    with _in_options("--key"):
        points = _points(source, least_rows)
    path, key = source.label_file, source.labels_key
    if path is None:
        return _without_holes(Read(points, None), source.missing, least_rows)
    from ekss.io import is_table, read_labels

    name = "column" if is_table(path) else "key"
    with _in_options("--labels-key"):
        labels = read_labels(path, **{name: key}, memory_limit=source.memory_limit)
    if len(labels) != len(points.points):
        raise ValueError(
            f"{path} has {len(labels)} labels but {source.data} has "
            f"{len(points.points)} points; pass one label per point"
        )
    return _without_holes(Read(points, labels), source.missing, least_rows)


def _without_holes(found: Read, missing: str, least_rows: int) -> Read:
    """Drop rows with missing entries, or take these for zero, if so wished.

    Entries stay missing for a method that looks at those observed.
    """
    import numpy as np

    points = found.points
    holes = np.isnan(points.points) if missing != "error" else np.zeros((0, 0), bool)
    if not holes.any():
        return found
    if missing == "zero":
        filled = np.where(holes, 0, points.points)
        return replace(found, points=replace(points, points=filled))
    if missing == "observed":
        return found
    whole = np.flatnonzero(~holes.any(axis=1))
    if len(whole) < least_rows:
        raise ValueError(
            f"--missing drop-rows leaves {len(whole)} of the {len(holes)} rows of "
            f"{points.source}, at least {least_rows} are needed; use --missing "
            "observed, or leave out columns with --drop-column"
        )
    ids = None if points.ids is None else tuple(points.ids[row] for row in whole)
    kept = replace(points, points=points.points[whole], ids=ids)
    return Read(kept, None if found.labels is None else found.labels[whole])


def _read_stdin(source: Source, copy: Path, least_rows: int) -> Read:
    """Copy standard input into a file, because it is read more than once; read that."""
    from ekss.runtime.memory import in_bytes, limit_of

    most = limit_of(source.memory_limit, 0.0).bytes
    with open(copy, "wb") as stream:
        while block := sys.stdin.buffer.read(_BLOCK):
            stream.write(block)
            if stream.tell() > most:
                raise ValueError(
                    f"standard input has more than {in_bytes(most)}, which is all that "
                    "may be taken; write it to a file, and take a part of that"
                )
    try:
        found = read(replace(source, data=copy), least_rows=least_rows)
    except ValueError as error:
        raise ValueError(str(error).replace(str(copy), "standard input")) from error
    return replace(found, points=replace(found.points, source="standard input"))


def check_there(source: Source) -> None:
    """Refuse missing files and a wrong size at once, before large imports."""
    size_of(source.image_size)
    columns_of(source.take)
    decimal_of(source.decimal)
    for path in (source.data, source.labels):
        if path is None or path == STDIN or path.is_dir():
            continue
        reason = why_not_regular(path)
        if reason is not None:
            raise ValueError(f"{path} {reason}")


def plan_lines(found: Read, steps: Sequence[Step] = ()) -> list[tuple[str, str]]:
    """Return the lines of the plan about the data: what is read, used and prepared."""
    names = found.points.feature_names
    lines = [("Read", described(found))]
    if names is not None:
        lines.append(("Columns", "; ".join([_listed(names), *left_out(found)])))
    lines += [("Note", note) for note in _notes(found)]
    if steps:
        lines.append(("Prepare", ", ".join(step.word for step in steps)))
    return lines


def _notes(found: Read) -> Iterator[str]:
    """Yield what is to be known about the reading, and what text may be good for."""
    for note in found.points.notes:
        may_be_labels = found.labels is None and note.startswith("left out as text")
        hint = "; --labels-key scores by a column of true labels"
        yield f"{note}{hint}" if may_be_labels else note


def described(found: Read) -> str:
    """Say what was read."""
    points = found.points
    n, n_features = found.shape
    what = f"{counted(n, 'point')} of {counted(n_features, 'feature')}"
    if points.image_shape is not None:
        height, width = points.image_shape
        what = f"{counted(n, 'image')} of {height} x {width} pixels"
    elif points.n_frames is not None:
        what = f"{counted(n, 'track')} over {counted(points.n_frames, 'frame')}"
    absent = share_missing(found)
    if absent:
        what = f"{what}, {100 * absent:.2g} % of the entries missing"
    known = "" if found.labels is None else ", with true labels for scoring"
    named = "" if points.ids is None else ", with names"
    if points.id_name is not None:
        named = f", named by column {points.id_name!r}"
    return f"{points.source}: {what}{named}{known}"


def share_missing(found: Read) -> float:
    """Return the share of the entries that are missing; none of rows on the disk."""
    import numpy as np

    from ekss.runtime.rows import is_memory_map

    rows = found.points.points
    return 0.0 if is_memory_map(rows) else float(np.isnan(rows).mean())


@contextmanager
def _in_options(key: str) -> Iterator[None]:
    """Write the parameters in a reader's message as options of the command line."""
    from ekss.io import InputError

    try:
        yield
    except InputError as error:
        text = str(error)
        for pattern, option in _IN_OPTIONS:
            text = re.sub(pattern, option, text)
        raise InputError(text.replace("KEY", key)) from error


def _points(source: Source, least_rows: int) -> Points:
    from ekss.io import read_points

    read_with = partial(
        read_points,
        source.data,
        key=source.key,
        id_column=False if source.id_column == "none" else source.id_column,
        header="auto" if source.header is None else source.header,
        drop=source.left_out,
        take=columns_of(source.take),
        decimal=decimal_of(source.decimal),
        columns=source.columns,
        least_rows=least_rows,
        missing=source.missing != "error",
        mask=source.mask,
        memory_limit=source.memory_limit,
        in_blocks=source.in_blocks,
    )
    size = size_of(source.image_size)
    if size is None or source.data.is_dir():
        return read_with(image_size=size)
    points = read_with()
    if points.kind == "images":
        return points if points.image_shape == size else read_with(image_size=size)
    # The rows of a table are taken as the pixels of images.
    height, width = size
    n_features = points.points.shape[1]
    if points.kind != "table" or height * width != n_features:
        raise ValueError(
            f"--image-size {height}x{width} has {height * width} pixels but the rows "
            f"of {points.source} have {n_features} numbers; pass the size they have"
        )
    return replace(points, kind="images", image_shape=size)


def left_out(found: Read) -> list[str]:
    """Say which columns are not features though nobody dropped them."""
    names = found.points.identifiers
    if not names:
        return []
    return [f"left out as identifiers: {_listed(names)} (--id-column none keeps them)"]


def doubts(found: Read, steps: Sequence[Step] = ()) -> list[str]:
    """Say which columns look as if they should not be clustered by.

    Only for tables: a column of images or tracks has no meaning of its own.
    """
    points = found.points
    if points.kind != "table" or points.points.shape[1] < 2:
        return []

    import numpy as np

    points = replace(points, points=_in_memory(points.points))
    if np.isnan(points.points).any():
        # Missing entries say nothing about a column.
        zeros = np.nan_to_num(points.points, posinf=np.inf, neginf=-np.inf)
        points = replace(points, points=zeros)
    return [*_counters(points), *_dominant(points, steps)]


def _in_memory(rows: NDArray[Any]) -> NDArray[np.floating]:
    """Return the rows, or of those on the disk some, evenly over all of them."""
    import numpy as np

    from ekss.runtime.rows import as_rows, is_memory_map

    stored = as_rows(rows) if is_memory_map(rows) else None
    if stored is None:
        return rows
    return stored.take(np.linspace(0, len(rows) - 1, _LOOKED_AT).astype(np.int64))


def _counters(points: Points) -> Iterator[str]:
    """Warn of columns that number the rows."""
    rows = points.points
    if len(rows) < _FEWEST_ROWS:
        return
    found = [j for j in range(rows.shape[1]) if _numbers_rows(rows[:, j])]
    for j in found if len(found) <= _MOST_COUNTERS else ():
        called, removal = _column(points, j)
        naming = ""
        if points.columns is not None and points.ids is None:
            naming = f", or name the rows by it: --id-column {points.columns[j]!r}"
        yield (
            f"{called} is used as a feature but looks like an identifier: its whole "
            f"numbers from {rows[:, j].min():.0f} to {rows[:, j].max():.0f} are all "
            f"different; unless it is a measurement, {removal}{naming}"
        )


def _numbers_rows(values: NDArray[np.floating]) -> bool:
    """Whether whole numbers increase from row to row, or differ as if by intention."""
    import numpy as np

    for some in (values[:_FEWEST_ROWS], values):  # most columns fail at the start
        if not np.array_equal(some, np.rint(some)):
            return False
    if (np.diff(values) > 0).all():
        return True
    span = float(values.max()) - float(values.min()) + 1
    if len(values) > span or len(values) ** 2 < 2 * span * _LOG_CHANCE:
        return False
    return len(np.unique(values)) == len(values)


def _dominant(points: Points, steps: Sequence[Step]) -> Iterator[str]:
    """Warn of a column beside which the others hardly count.

    The step pca takes the mean of the points away, and remove what they share.
    """
    done = {step.name for step in steps}
    energy = _energies(points.points, "pca" in done)
    j, total = int(energy.argmax()), float(energy.sum())
    if "remove" in done or total <= 0 or energy[j] <= _DOMINANT * total:
        return
    share = 100 * energy[j] / total
    shown = "over 99.9 %" if share > 99.9 else f"{share:.1f} %"
    called, removal = _column(points, j)
    yield (
        f"{called} holds {shown} of the energy (sum of squares), so the clusters "
        f"depend on it alone; bring the columns to one scale, or {removal}"
    )


def _energies(rows: NDArray[np.floating], centred: bool) -> NDArray[np.float64]:
    """Return the sum of squares of every column, all divided by the same number."""
    import numpy as np

    scale = max(float(rows.max()), -float(rows.min()))
    energies = np.zeros(rows.shape[1])
    if scale <= 0:
        return energies
    mean = (rows / scale).mean(axis=0, dtype=np.float64) if centred else 0.0
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[first : first + _ROWS_AT_ONCE].astype(np.float64) / scale
        energies += np.square(block - mean).sum(axis=0)
    return energies


def _column(points: Points, j: int) -> tuple[str, str]:
    """Say which column it is, and how to leave it out; arrays have no option for it."""
    number = j if points.columns is None else points.columns[j]
    called = f"column {number} (counted from 0)"
    if points.feature_names is not None:
        called = f"column {points.feature_names[j]!r}"
    removal = "leave it out of the array"
    if points.columns is not None:
        removal = f"leave it out with --drop-column {points.columns[j]!r}"
    return f"{called} of {points.source}", removal


def _listed(names: Sequence[str]) -> str:
    """Write names; if there are many, the first ones and the last."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    shown = ", ".join(names[: _SHOWN - 2])
    return f"{shown}, ..., {names[-1]} ({len(names)} columns)"
