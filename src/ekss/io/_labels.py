"""Labels from files, and into files."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ekss.core.files import write_atomically
from ekss.io._columns import (
    ID_NAMES,
    column_number,
    is_number,
    may_be_identifier,
)
from ekss.io._containers import CONTAINERS, Entry, read_array
from ekss.io._csv import iter_rows, ragged
from ekss.io._errors import InputError, check_file, one_line, reading, require
from ekss.io._images import image_paths
from ekss.io._numbers import whole_numbers
from ekss.io._points import unknown_ending
from ekss.io._tables import TABLES, parquet_table

_LABEL_NAMES = ("label", "labels", "class", "cluster", "target", "y")
_LISTED = 12
WRITTEN = (".csv", ".tsv", ".parquet", ".npy")


def read_labels(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    column: str | int | None = None,
) -> NDArray[np.int64]:
    r"""Read one label a point.

    Parameters
    ----------
    path : path-like
        A file of one of the formats of :func:`read_points`. A folder of images gives
        the names of the folders in it that hold the images.
    key : str, default=None
        Name of the array in .npz, .mat or .h5. None takes the only one of numbers or
        text with a single axis, or a single row or column.
    column : str or int, default=None
        Column of a table, by name or by number from 0. None takes the only column
        beside an id column, or the one called "label", "labels", "class", "cluster",
        "target" or "y".

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        int64. Whole numbers are kept; text is numbered in sorted order, from 0.

    Raises
    ------
    InputError
        For everything that is wrong with the file; one line with the remedy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.io import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     _ = path.write_text("animal\ndog\ncat\ndog\n")
    ...     read_labels(path)
    array([1, 0, 1])
    """
    path = Path(path)
    if path.is_dir():
        _refuse(key, "key", path)
        _refuse(column, "column", path)
        return whole_numbers(_folder_names(path), str(path))
    check_file(path)
    ending = path.suffix.lower()
    if ending in CONTAINERS:
        _refuse(column, "column", path)
        name, values = read_array(path, key, may_be_labels, "labels")
        return _checked(values, f"{path}[{name}]" if name else str(path))
    if ending not in TABLES:
        raise InputError(unknown_ending(path))
    _refuse(key, "key", path)
    with reading(path, f"a {ending} file"):
        if ending == ".parquet":
            return _from_parquet(path, column)
        return _from_text(path, column)


def write_labels(
    path: str | os.PathLike[str],
    labels: ArrayLike,
    ids: Sequence[str] | None = None,
) -> None:
    """Write one label a point, in one step.

    Parameters
    ----------
    path : path-like
        File that ends in .csv, .tsv, .parquet or .npy. An earlier file is replaced
        when the new one is whole.
    labels : array-like of shape (n_samples,)
        Whole numbers.
    ids : sequence of str, default=None
        Names of the points, for a column "id" before the column "label". A .npy file
        has no place for them and holds the labels alone.

    Raises
    ------
    InputError
        For another ending, or labels and ids that do not match.
    OSError
        Where the file cannot be written; ``filename`` is the path.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.io import read_labels, write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     write_labels(path, [1, 0], ids=["anna", "ben"])
    ...     print(path.read_text())
    id,label
    anna,1
    ben,0
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in WRITTEN:
        raise InputError(
            f"labels cannot be written as {path.name}; choose one of "
            f"{', '.join(WRITTEN)}"
        )
    values = np.asarray(labels)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise InputError(
            f"labels have shape {values.shape} and type {values.dtype.name}; pass one "
            "whole number a point"
        )
    if ids is not None and len(ids) != len(values):
        raise InputError(f"{len(ids)} ids do not match {len(values)} labels")
    write_atomically(path, _encoded(ending, values.astype(np.int64), ids))


def _encoded(
    ending: str, labels: NDArray[np.int64], ids: Sequence[str] | None
) -> bytes:
    if ending == ".npy":
        raw = io.BytesIO()
        np.save(raw, labels, allow_pickle=False)
        return raw.getvalue()
    if ending == ".parquet":
        parquet = require("pyarrow.parquet", "pyarrow", "writing .parquet")
        table = require("pyarrow", "pyarrow", "writing .parquet").table
        columns: dict[str, Any] = {} if ids is None else {"id": list(map(str, ids))}
        raw = io.BytesIO()
        parquet.write_table(table({**columns, "label": labels}), raw)
        return raw.getvalue()
    text = io.StringIO()
    separator = "\t" if ending == ".tsv" else ","
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    if ids is None:
        writer.writerow(["label"])
        writer.writerows([label] for label in labels.tolist())
    else:
        writer.writerow(["id", "label"])
        writer.writerows(zip(ids, labels.tolist(), strict=True))
    return text.getvalue().encode()


def may_be_labels(entry: Entry) -> bool:
    """Whether an array may hold labels: one axis that counts, of more than one."""
    if not (entry.is_numeric or entry.kind in "US"):
        return False
    long = [side for side in entry.shape if side != 1]
    return len(entry.shape) in (1, 2) and len(long) == 1


def _checked(values: NDArray[Any], source: str) -> NDArray[np.int64]:
    if values.dtype.kind == "O" and all(isinstance(v, str) for v in values.ravel()):
        values = values.astype(str)
    if values.ndim == 0 or sum(side != 1 for side in values.shape) > 1:
        raise InputError(
            f"{source} has shape {values.shape}; labels are one number or word a point"
        )
    if not values.size:
        raise InputError(f"{source} is empty; name one with a label a point")
    return whole_numbers(values.ravel(), source)


def _folder_names(folder: Path) -> NDArray[np.str_]:
    names = [path.parent.relative_to(folder) for path in image_paths(folder)]
    if len(set(names)) < 2:
        raise InputError(
            f"{folder} has its images in one folder, which gives no labels; put those "
            "of each class in a folder of its own"
        )
    return np.array([name.as_posix() for name in names])


def _from_parquet(path: Path, column: str | int | None) -> NDArray[np.int64]:
    table = parquet_table(path)
    names = table.column_names
    at = _candidates(path, names, column)
    if len(at) == 2:
        at = _without_ids(path, names, table.column(0).to_pylist())
    name = names[at[0]]
    values = table.column(at[0])
    where = f"{path}, column {name!r}"
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise InputError(f"{where} has no label in row {row} (counted from 0)")
    entries = values.to_pylist()
    if any(isinstance(entry, str) for entry in entries):
        return _checked(np.array(entries, str), where)
    return _checked(np.array(entries), where)


def _from_text(path: Path, column: str | int | None) -> NDArray[np.int64]:
    """Read the columns that may be labels; memory is that of their texts."""
    rows = iter_rows(path)
    _, head = next(rows, (0, []))
    if not head:
        raise InputError(f"{path} holds blank lines only; name a file with content")
    names = [name.strip() for name in head]
    at = _candidates(path, names, column)
    kept: list[list[str]] = [[] for _ in at]
    for line, row in rows:
        if len(row) != len(head):
            raise ragged(path, line, len(row), len(head))
        for values, i in zip(kept, at, strict=True):
            values.append(row[i].strip())
    if not _is_header([names[i] for i in at], kept, asked=column in names):
        names = [str(i) for i in range(len(head))]
        for values, i in zip(kept, at, strict=True):
            values.insert(0, head[i].strip())
    if len(at) == 2:
        at = _without_ids(path, names, kept[0])
    return _parsed(kept[-1], f"{path}, column {names[at[-1]]!r}")


def _is_header(names: list[str], kept: list[list[str]], *, asked: bool) -> bool:
    """Whether the first row holds names: no numbers, and no words of the rows below."""
    if any(map(is_number, names)) or not kept[0]:
        return False
    return asked or not any(
        name in values for name, values in zip(names, kept, strict=True)
    )


def _candidates(
    path: Path, names: Sequence[str], column: str | int | None
) -> list[int]:
    """Return where the labels are; two places where the first may hold ids."""
    if column is not None:
        return [column_number(path, names, column)]
    if len(names) == 1:
        return [0]
    named = [i for i, name in enumerate(names) if name.lower() in _LABEL_NAMES]
    if len(named) == 1:
        return named
    if len(names) == 2:
        return [0, 1]
    raise _undecided(path, names)


def _without_ids(path: Path, names: Sequence[str], first: Sequence[Any]) -> list[int]:
    """Return the second of two columns if the first holds ids."""
    unique = len(set(first)) == len(first)
    is_text = any(not is_number(str(value)) for value in first)
    is_named = names[0].lower() in ID_NAMES or may_be_identifier(names[0])
    if unique and (is_text or is_named):
        return [1]
    raise _undecided(path, names)


def _undecided(path: Path, names: Sequence[str]) -> InputError:
    listed = ", ".join(map(repr, names[:_LISTED]))
    return InputError(
        f"{path} has {len(names)} columns that may be labels; choose one by column: "
        f"{one_line(listed)}"
    )


def _parsed(values: list[str], where: str) -> NDArray[np.int64]:
    """Return whole numbers without a detour through floats where they are such."""
    if "" in values:
        raise InputError(f"{where}, has no label in row {values.index('')} (from 0)")
    if not all(map(is_number, values)):
        return _checked(np.array(values, str), where)
    try:
        return _checked(np.array([int(value) for value in values], np.int64), where)
    except (ValueError, OverflowError):
        return _checked(np.array([float(value) for value in values]), where)


def _refuse(value: object, name: str, path: Path) -> None:
    if value is not None:
        raise InputError(f"{name}={value!r} has no meaning for {path}; leave it out")
