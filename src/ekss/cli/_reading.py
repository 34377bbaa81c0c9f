"""Read points and true labels as the command line describes them, and doubt columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ekss.cli._options import Step, size_of
from ekss.cli._output import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.io import Points

_TABLES = (".csv", ".tsv", ".parquet")
# What --id-column says where no column names the rows.
_NO_COLUMN = "none"
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
    (r"\bid_column, header and drop\b", "--id-column, --header and --drop-column"),
    (r"\bid_column=False\b", "--id-column none"),
    (r"\bheader=True\b", "--header"),
    (r"\bheader=False\b", "--no-header"),
    (r"\bdrop the column, or make it the id column", _LEAVE_COLUMN),
)


@dataclass(frozen=True)
class _Doubts:
    """When a column is doubted, and how columns are shown."""

    # A column with more of the sum of squares decides the subspaces alone.
    dominant: float = 0.9
    # In fewer rows values may increase by chance: 1 in 12! for a column.
    fewest_rows: int = 12
    # n whole numbers drawn from R values are all different with probability about
    # exp(-n^2 / 2R); below exp(-12) they are different on purpose.
    log_chance: float = 12.0
    # If more columns look like row numbers, it is the nature of the data.
    most_counters: int = 2
    # Names of columns that fit on a line.
    shown: int = 8
    # Rows in float64 at a time: 4096 x 1000 columns are 32 MB.
    rows_at_once: int = 4096


_DOUBTS = _Doubts()


@dataclass(frozen=True)
class Source:
    """Where data and labels are, in the words of the command line."""

    data: Path
    key: str | None = None
    id_column: str | None = None
    header: bool | str = "auto"
    drop: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    image_size: tuple[int, int] | None = None
    labels: Path | None = None
    labels_key: str | None = None

    @property
    def label_file(self) -> Path | None:
        """The file of the true labels; DATA itself where only a key is given."""
        if self.labels is None and self.labels_key is not None:
            return self.data
        return self.labels

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not features: dropped ones, and that of the true labels."""
        if (
            self.labels_key is not None
            and self.data.suffix.lower() in _TABLES
            and self.label_file is not None
            and self.label_file.resolve() == self.data.resolve()
        ):
            return (*self.drop, self.labels_key)
        return self.drop


def source_of(
    data: Path,
    key: str | None,
    id_column: str | None,
    header: bool | None,
    drop_column: list[str] | None,
    image_size: str | None,
    labels: Path | None,
    labels_key: str | None,
) -> Source:
    """Return the source that the options of the panel "Reading" describe."""
    return Source(
        data,
        key=key,
        id_column=id_column,
        header="auto" if header is None else header,
        drop=tuple(drop_column or ()),
        image_size=size_of(image_size),
        labels=labels,
        labels_key=labels_key,
    )


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
        }


def read(source: Source, *, least_rows: int = 2) -> Read:
    """Read everything, or raise with one line that says what is wrong."""
    with _in_options("--key"):
        points = _points(source, least_rows)
    with _in_options("--labels-key"):
        labels = _labels(source, len(points.points))
    return Read(points, labels)


def check_there(source: Source) -> None:
    """Refuse missing files at once, before anything large is imported."""
    for path in (source.data, source.labels):
        if path is not None and not path.exists():
            raise ValueError(f"{path} does not exist; check the path")


def plan_lines(found: Read, steps: Sequence[Step] = ()) -> list[tuple[str, str]]:
    """Return the lines of the plan about the data: what is read, used and prepared."""
    names = found.points.feature_names
    lines = [("Read", described(found))]
    if names is not None:
        lines.append(("Columns", "; ".join([_listed(names), *left_out(found)])))
    if steps:
        lines.append(("Prepare", ", ".join(step.word for step in steps)))
    return lines


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
    known = "" if found.labels is None else ", with true labels for scoring"
    named = "" if points.ids is None else ", with names"
    if points.id_name is not None:
        named = f", named by column {points.id_name!r}"
    return f"{points.source}: {what}{named}{known}"


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
        id_column=False if source.id_column == _NO_COLUMN else source.id_column,
        header=source.header,
        drop=source.left_out,
        columns=source.columns,
        least_rows=least_rows,
    )
    size = source.image_size
    if size is None or source.data.is_dir():
        return read_with(image_size=size)
    points = read_with()
    if points.kind == "images":
        return points if points.image_shape == size else read_with(image_size=size)
    return _seen_as_images(points, size)


def _seen_as_images(points: Points, size: tuple[int, int]) -> Points:
    """Take the rows of a table as the pixels of images."""
    height, width = size
    n_features = points.points.shape[1]
    if points.kind != "table" or height * width != n_features:
        raise ValueError(
            f"--image-size {height}x{width} has {height * width} pixels but the rows "
            f"of {points.source} have {n_features} numbers; pass the size they have"
        )
    return replace(points, kind="images", image_shape=size)


def _labels(source: Source, n: int) -> NDArray[np.int64] | None:
    from ekss.io import read_labels

    path = source.label_file
    if path is None:
        return None
    column = path.suffix.lower() in _TABLES
    labels = read_labels(
        path,
        key=None if column else source.labels_key,
        column=source.labels_key if column else None,
    )
    if len(labels) != n:
        raise ValueError(
            f"{path} has {len(labels)} labels but {source.data} has {n} points; pass "
            "one label per point"
        )
    return labels


def left_out(found: Read) -> list[str]:
    """Say which columns are not features though nobody dropped them."""
    names = found.points.left_out
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
    return [*_counters(points), *_dominant(points, steps)]


def _counters(points: Points) -> list[str]:
    """Warn of columns that number the rows."""
    rows = points.points
    if len(rows) < _DOUBTS.fewest_rows:
        return []
    found = [j for j in range(rows.shape[1]) if _numbers_rows(rows[:, j])]
    if len(found) > _DOUBTS.most_counters:
        return []
    return [
        f"{_called(points, j)} is used as a feature but looks like an identifier: its "
        f"whole numbers from {rows[:, j].min():.0f} to {rows[:, j].max():.0f} are all "
        f"different; unless it is a measurement, {_removal(points, j)}"
        f"{_naming(points, j)}"
        for j in found
    ]


def _numbers_rows(values: NDArray[np.floating]) -> bool:
    """Whether whole numbers increase from row to row, or differ as if by intention."""
    import numpy as np

    start = values[: _DOUBTS.fewest_rows]
    if not np.array_equal(start, np.rint(start)):
        return False
    if not np.array_equal(values, np.rint(values)):
        return False
    if (np.diff(values) > 0).all():
        return True
    span = float(values.max()) - float(values.min()) + 1
    if len(values) > span or len(values) ** 2 < 2 * span * _DOUBTS.log_chance:
        return False
    return len(np.unique(values)) == len(values)


def _dominant(points: Points, steps: Sequence[Step]) -> list[str]:
    """Warn of a column beside which the others hardly count.

    The step pca takes the mean of the points away, and remove what they share.
    """
    if any(step.name == "remove" for step in steps):
        return []
    energy = _energies(points.points, any(step.name == "pca" for step in steps))
    j, total = int(energy.argmax()), float(energy.sum())
    if total <= 0 or energy[j] <= _DOUBTS.dominant * total:
        return []
    share = 100 * energy[j] / total
    shown = "over 99.9 %" if share > 99.9 else f"{share:.1f} %"
    return [
        f"{_called(points, j)} holds {shown} of the energy (sum of squares), so the "
        "clusters depend on it alone; bring the columns to one scale, or "
        f"{_removal(points, j)}"
    ]


def _energies(rows: NDArray[np.floating], centred: bool) -> NDArray[np.float64]:
    """Return the sum of squares of every column, all divided by the same number."""
    import numpy as np

    scale = max(float(rows.max()), -float(rows.min()))
    energies = np.zeros(rows.shape[1])
    if scale <= 0:
        return energies
    mean = (rows / scale).mean(axis=0, dtype=np.float64) if centred else 0.0
    for first in range(0, len(rows), _DOUBTS.rows_at_once):
        block = rows[first : first + _DOUBTS.rows_at_once].astype(np.float64) / scale
        energies += np.square(block - mean).sum(axis=0)
    return energies


def _called(points: Points, column: int) -> str:
    if points.feature_names is not None:
        return f"column {points.feature_names[column]!r} of {points.source}"
    number = column if points.columns is None else points.columns[column]
    return f"column {number} (counted from 0) of {points.source}"


def _removal(points: Points, column: int) -> str:
    """Say how to leave a column out; arrays have no options for it."""
    if points.columns is None:
        return "leave it out of the array"
    return f"leave it out with --drop-column {points.columns[column]!r}"


def _naming(points: Points, column: int) -> str:
    """Say how to name the rows by a column, if they have no names yet."""
    if points.columns is None or points.ids is not None:
        return ""
    return f", or name the rows by it: --id-column {points.columns[column]!r}"


def _listed(names: Sequence[str]) -> str:
    """Write names; if there are many, the first ones and the last."""
    if len(names) <= _DOUBTS.shown:
        return ", ".join(names)
    shown = ", ".join(names[: _DOUBTS.shown - 2])
    return f"{shown}, ..., {names[-1]} ({len(names)} columns)"
