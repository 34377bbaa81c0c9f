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

from ekss.io import _tables as tables
from ekss.io._base import (
    InputError,
    in_words,
    one_line,
    reading,
    reading_limit,
    require,
)
from ekss.io._containers import Entry, read_array
from ekss.io._images import image_paths
from ekss.io._packed import is_packed, unpacked
from ekss.io._points import kind_of
from ekss.io._tables import is_number, quoted
from ekss.io._text import iter_rows, sniff
from ekss.runtime.files import write_atomically

_LABEL_NAMES = ("label", "labels", "class", "cluster", "target", "y")
_WRITTEN = (".csv", ".tsv", ".parquet", ".npy")


def read_labels(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    column: str | int | None = None,
    memory_limit: int | str | None = None,
) -> NDArray[np.int64]:
    r"""Read one label per point.

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
    memory_limit : int, str or None, default=None
        As for :func:`read_points`.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Integers. Whole numbers are kept; text is numbered in sorted order, from 0.

    Raises
    ------
    InputError
        For everything that is wrong with the file; one line with the remedy.

    See Also
    --------
    read_points : The points themselves.
    write_labels : The way back.

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
    kind, limit = kind_of(path), reading_limit(memory_limit)
    for name, value, place in (("key", key, "arrays"), ("column", column, "table")):
        if value is not None and kind != place:
            raise InputError(
                f"{name}={value!r} has no meaning for {path}; leave it out"
            )
    if is_packed(path):
        with unpacked(path, limit) as inner:
            return read_labels(inner, key=key, column=column, memory_limit=memory_limit)
    if kind == "images" and path.is_dir():
        return _checked(_folder_names(path), str(path))
    if kind == "images":
        raise InputError(f"{path} holds images, no labels; name a file that has them")
    if kind == "arrays":
        name, values = read_array(path, key, _may_be_labels, "labels", limit)
        return _checked(values, f"{path}[{name}]" if name else str(path))
    with reading(path, f"a {path.suffix.lower()} file"):
        tables.check_table_size(path, limit)
        if path.suffix.lower() == ".parquet":
            return _from_parquet(path, column)
        return _from_text(path, column)


def write_labels(
    path: str | os.PathLike[str],
    labels: ArrayLike,
    ids: Sequence[str] | None = None,
) -> None:
    """Write one label per point, in one step.

    Parameters
    ----------
    path : path-like
        File that ends in .csv, .tsv, .parquet or .npy. An earlier file is replaced
        when the new one is complete.
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
    if ending not in _WRITTEN:
        raise InputError(
            f"labels cannot be written as {path.name}; choose one of "
            f"{', '.join(_WRITTEN)}"
        )
    values = np.asarray(labels)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise InputError(
            f"labels have shape {values.shape} and type {values.dtype.name}; pass one "
            "whole number per point"
        )
    if ids is not None and len(ids) != len(values):
        raise InputError(f"{len(ids)} ids do not match {len(values)} labels")
    write_atomically(path, _encoded(ending, values.astype(np.int64), ids))


def _encoded(
    ending: str, labels: NDArray[np.int64], ids: Sequence[str] | None
) -> bytes:
    raw, text = io.BytesIO(), io.StringIO()
    columns: dict[str, Any] = {} if ids is None else {"id": list(map(str, ids))}
    columns["label"] = labels
    if ending == ".npy":
        np.save(raw, labels, allow_pickle=False)
        return raw.getvalue()
    if ending == ".parquet":
        table = require("pyarrow", "writing .parquet").table(columns)
        require("pyarrow.parquet", "writing .parquet").write_table(table, raw)
        return raw.getvalue()
    separator = "\t" if ending == ".tsv" else ","
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _may_be_labels(entry: Entry) -> bool:
    """Whether an array may hold labels: one axis that counts, of more than one."""
    if not (entry.is_numeric or entry.kind in "US"):
        return False
    long = [side for side in entry.shape if side != 1]
    return len(entry.shape) in (1, 2) and len(long) == 1


def _folder_names(folder: Path) -> NDArray[np.str_]:
    names = [path.parent.relative_to(folder) for path in image_paths(folder)]
    if len(set(names)) < 2:
        raise InputError(
            f"{folder} has its images in one folder, which gives no labels; put those "
            "of each class in a folder of its own"
        )
    return np.array([name.as_posix() for name in names])


def _from_parquet(path: Path, column: str | int | None) -> NDArray[np.int64]:
    table = tables.parquet_table(path)
    names = table.column_names
    at = _candidates(path, names, column)
    if len(at) == 2:
        _check_ids(path, names, table.column(0).to_pylist())
    values = table.column(at[-1])
    where = f"{path}, column {names[at[-1]]!r}"
    if values.null_count:
        row = values.is_null().to_pylist().index(True)
        raise InputError(f"{where} has no label in row {row} (counted from 0)")
    entries = values.to_pylist()
    is_text = any(isinstance(entry, str) for entry in entries)
    return _checked(np.array(entries, str if is_text else None), where)


def _from_text(path: Path, column: str | int | None) -> NDArray[np.int64]:
    """Read the columns that may be labels; memory is that of their texts."""
    dialect = sniff(path)
    rows = iter_rows(path, dialect)
    head = next((row for _, row in rows), None)
    if head is None:
        raise tables.no_row(path)
    names = [name.strip() for name in head]
    at = _candidates(path, names, column)
    kept: dict[int, list[str]] = {i: [] for i in at}
    for line, row in rows:
        tables.check_width(path, line, row, len(head))
        for i, values in kept.items():
            values.append(row[i].strip())
    # Names are not numbers, and not among the words of the rows below.
    is_header = bool(kept[at[0]]) and not any(is_number(names[i]) for i in at)
    if column not in names:
        is_header &= not any(names[i] in values for i, values in kept.items())
    if not is_header:
        for i, values in kept.items():
            values.insert(0, names[i])
        names = [str(i) for i in range(len(head))]
    if len(at) == 2:
        _check_ids(path, names, kept[0])
    return _parsed(kept[at[-1]], f"{path}, column {names[at[-1]]!r}")


def _candidates(
    path: Path, names: Sequence[str], column: str | int | None
) -> list[int]:
    """Return where the labels are; two places where the first may hold ids."""
    if column is not None:
        return [tables.column_number(path, names, column)]
    named = [i for i, name in enumerate(names) if name.lower() in _LABEL_NAMES]
    if len(named) == 1:
        return named
    if len(names) > 2:
        raise _undecided(path, names)
    return list(range(len(names)))


def _check_ids(path: Path, names: Sequence[str], first: Sequence[Any]) -> None:
    """Refuse two columns unless the first holds ids."""
    is_unique = len(set(first)) == len(first)
    is_text = any(not is_number(str(value)) for value in first)
    is_named = names[0].lower() in tables.ID_NAMES or tables.may_be_identifier(names[0])
    if not (is_unique and (is_text or is_named)):
        raise _undecided(path, names)


def _undecided(path: Path, names: Sequence[str]) -> InputError:
    return InputError(
        f"{path} has {len(names)} columns that may be labels; choose one by column: "
        f"{one_line(quoted(names))}"
    )


def _parsed(values: list[str], where: str) -> NDArray[np.int64]:
    """Return whole numbers without a detour through floats where they are such."""
    if "" in values:
        row = values.index("")
        raise InputError(f"{where} has no label in row {row} (counted from 0)")
    if not all(map(is_number, values)):
        return _checked(np.array(values, str), where)
    try:
        return _checked(np.array([int(value) for value in values], np.int64), where)
    except (ValueError, OverflowError):
        return _checked(np.array([float(value) for value in values]), where)


def _checked(values: NDArray[Any], source: str) -> NDArray[np.int64]:
    """Return labels as int64: whole numbers as they are, text by its sorted order."""
    if values.dtype.kind == "O" and all(isinstance(v, str) for v in values.ravel()):
        values = values.astype(str)
    if values.ndim == 0 or sum(side != 1 for side in values.shape) > 1:
        raise InputError(
            f"{source} has shape {values.shape}; labels are one number or word per "
            "point"
        )
    if not values.size:
        raise InputError(f"{source} is empty; name one with a label per point")
    values = values.ravel()
    if values.dtype.kind in "US":
        return np.unique(values, return_inverse=True)[1].astype(np.int64).ravel()
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"{source} holds {in_words(values.dtype)}; labels are whole numbers or text"
        )
    # Beyond 2^62 a float may round to a number that int64 does not hold.
    good = np.isfinite(values) & (np.abs(values.astype(np.float64)) < 2**62)
    good &= values == np.floor(values)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"{source} holds {one_line(values[row])} as label {row} (counted from 0); "
            "labels are whole numbers or text"
        )
    return values.astype(np.int64)
