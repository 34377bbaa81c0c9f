"""Read the data and the true labels as the command line describes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ekss.cli._voice import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.io import Points

_TABLES = (".csv", ".tsv", ".parquet")
# What --id-column says where no column names the rows.
NO_COLUMN = "none"
_LEAVE_COLUMN = (
    "leave the column out by --drop-column, or name it by --id-column or, if it holds "
    "true labels, by --labels-key"
)
# What the readers call their parameters, and what the command line calls them.
_OPTIONS = (
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
        """The file of the true labels; the data's own where only a key is given."""
        if self.labels is None and self.labels_key is not None:
            return self.data
        return self.labels

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are no features: dropped ones, and that of the true labels."""
        if (
            self.labels_key is not None
            and self.data.suffix.lower() in _TABLES
            and self.label_file is not None
            and self.label_file.resolve() == self.data.resolve()
        ):
            return (*self.drop, self.labels_key)
        return self.drop


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
        """Return what a person wants to know of it, for JSON."""
        n, n_features = self.shape
        return {
            "source": self.points.source,
            "kind": self.points.kind,
            "n_points": n,
            "n_features": n_features,
            "columns": _plain(self.points.feature_names),
            "id_column": self.points.id_name,
            "left_out": list(self.points.left_out),
        }


def read(source: Source, *, least_rows: int = 2) -> Read:
    """Read everything, or raise with one line that says what is wrong."""
    with in_options_of("--key"):
        points = _points(source, least_rows)
    with in_options_of("--labels-key"):
        labels = _labels(source, len(points.points))
    return Read(points, labels)


def check_there(source: Source) -> None:
    """Refuse missing files at once, before anything large is imported."""
    for path in (source.data, source.labels):
        if path is not None and not path.exists():
            raise ValueError(f"{path} does not exist; check the path")


def check_clusters(read: Read, clusters: int | str) -> None:
    """Refuse more clusters than points."""
    n, _ = read.shape
    if isinstance(clusters, int) and clusters > n:
        raise ValueError(
            f"-k {clusters} exceeds the {n} points of {read.points.source}; choose at "
            f"most {n}"
        )


def check_dim(n_features: int, dim: int | tuple[int, int] | None) -> None:
    """Refuse more dimensions than there are features after preprocessing."""
    largest = max(dim) if isinstance(dim, tuple) else dim
    if largest is not None and largest > n_features:
        raise ValueError(
            f"--dim {largest} exceeds the {n_features} features; choose at most "
            f"{n_features}"
        )


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


def _plain(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


@contextmanager
def in_options_of(key: str) -> Iterator[None]:
    """Write the parameters in a reader's message as options of the command line."""
    from ekss.io import InputError

    try:
        yield
    except InputError as error:
        text = str(error)
        for pattern, option in _OPTIONS:
            text = re.sub(pattern, option, text)
        raise InputError(text.replace("KEY", key)) from error


def _points(source: Source, least_rows: int) -> Points:
    from ekss.io import read_points

    read_with = partial(
        read_points,
        source.data,
        key=source.key,
        id_column=False if source.id_column == NO_COLUMN else source.id_column,
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
    """Take the rows of a table for the pixels of images."""
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
            "one label for each point"
        )
    return labels
