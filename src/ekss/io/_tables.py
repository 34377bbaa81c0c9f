"""Tables with named or unnamed columns: .csv, .tsv, .parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._csv import Choice, column_number, is_number, parse_text
from ekss.io._errors import InputError, one_line, reading, require
from ekss.io._numbers import as_floats, check_points

ID_NAMES = ("", "id", "ids", "index")
TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Table:
    """Points of a table, with what its columns and rows are called."""

    points: NDArray[np.floating]
    ids: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None


def read_table(
    path: Path,
    id_column: str | int | None,
    header: bool | str,
    drop: Sequence[str | int],
    least_rows: int = 2,
) -> Table:
    """Read the points of a table; see :func:`ekss.io.read_points`."""
    choice = Choice(id_column, header, tuple(drop))
    if path.suffix.lower() == ".parquet":
        with reading(path, "a .parquet file"):
            return _read_parquet(path, choice, least_rows)
    with reading(path, f"{path.suffix.lower()} text"):
        return _read_text(path, choice, least_rows)


def _read_text(path: Path, choice: Choice, least_rows: int) -> Table:
    """Parse text; the first column becomes a feature where it holds no names."""
    text = parse_text(path, choice)
    names, points = list(text.names), text.values
    ids: tuple[str, ...] | None = None
    if text.aside is not None:
        if choice.id_column is not None or _names_rows(text.aside, text.aside_name):
            ids = _checked_ids(path, text.aside, text.aside_name)
        else:
            first = text.aside_numbers(path)
            points = np.column_stack([first, points])
            names.insert(0, text.aside_name or "0")

    def place(row: int, column: int) -> str:
        return f"line {text.lines[row]}, column {names[column]!r}"

    check_points(points, str(path), place, least_rows=least_rows)
    return Table(points, ids, tuple(names) if text.has_header else None)


def _names_rows(values: Sequence[str], name: str | None) -> bool:
    """Whether a first column holds names of rows and not numbers."""
    if len(set(values)) < len(values):
        return False
    if name is not None and name.lower() in ID_NAMES:
        return True
    texts = sum(not is_number(value) for value in values)
    return 2 * texts > len(values)


def _checked_ids(
    path: Path, values: Sequence[str], name: str | None
) -> tuple[str, ...]:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(
                f"{path} has the id {one_line(value)!r} twice in column {name!r}; make "
                "ids unique, or choose another id column"
            )
        seen.add(value)
    return tuple(values)


def _read_parquet(path: Path, choice: Choice, least_rows: int) -> Table:
    if choice.header != "auto":
        raise InputError(f"header={choice.header!r} is for text; .parquet has names")
    table = parquet_table(path)
    names = list(table.column_names)
    if len(set(names)) < len(names):
        raise InputError(f"{path} has two columns of one name; rename one")
    for column in choice.drop:
        names[column_number(path, table.column_names, column)] = ""
    names = [name for name in names if name]
    id_name = _parquet_id(path, table, names, choice.id_column)
    ids = None
    if id_name is not None:
        values = [str(value) for value in table.column(id_name).to_pylist()]
        ids = _checked_ids(path, values, id_name)
        names.remove(id_name)
    if not names:
        raise InputError(f"{path} has no column of numbers; name one that has")
    columns = [_parquet_numbers(path, table, name) for name in names]
    points = np.column_stack(columns)

    def place(row: int, column: int) -> str:
        return f"row {row}, column {names[column]!r}"

    check_points(points, str(path), place, least_rows=least_rows)
    return Table(points, ids, tuple(names))


def parquet_table(path: Path) -> Any:
    """Open a .parquet file as a pyarrow table."""
    parquet = require("pyarrow.parquet", "pyarrow", "reading .parquet")
    return parquet.read_table(path)


def _parquet_id(
    path: Path, table: Any, names: list[str], asked: str | int | None
) -> str | None:
    """Return the column that names the rows: asked for, pandas' index, or the first."""
    if asked is not None:
        return table.column_names[column_number(path, table.column_names, asked)]
    about = table.schema.pandas_metadata or {}
    index = [name for name in about.get("index_columns", []) if name in names]
    if len(index) == 1:
        return index[0]
    first = names[0] if names else ""
    if not first:
        return None
    values = table.column(first)
    is_text = str(values.type) in ("string", "large_string", "string_view")
    is_named = first.lower() in ID_NAMES
    if not is_text and not is_named:
        return None
    return first if len(values.unique()) == len(values) else None


def _parquet_numbers(path: Path, table: Any, name: str) -> NDArray[np.floating]:
    column = table.column(name)
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise InputError(
            f"{path} has nothing at row {row}, column {name!r}; fill it in or remove "
            "the row"
        )
    kind = str(column.type)
    if kind.startswith("decimal"):
        column = column.cast("float64")
    elif not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
        value = column[0].as_py() if len(column) else ""
        raise InputError(
            f"{path} has {kind} in column {name!r} (row 0: {one_line(value)!r}), not "
            "numbers; drop the column, or make it the id column"
        )
    return as_floats(column.to_numpy(), f"{path}, column {name!r}")
