"""Tables with named or unnamed columns: .csv, .tsv, .parquet."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._columns import (
    Aside,
    Choice,
    Roles,
    assign_roles,
    column_number,
    listed,
    matched_columns,
    may_be_identifier,
)
from ekss.io._csv import parse_text
from ekss.io._errors import InputError, one_line, reading, require
from ekss.io._numbers import as_floats, check_points

TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Table:
    """Points of a table, with what its columns and rows are called.

    ``columns`` are numbers from 0 where the table has no names, ``id_name`` is the
    column of the ids, ``left_out`` are columns that are neither features nor ids,
    though nobody dropped them.
    """

    points: NDArray[np.floating]
    ids: tuple[str, ...] | None
    columns: tuple[str, ...]
    has_names: bool
    id_name: str | None
    left_out: tuple[str, ...]


def read_table(path: Path, choice: Choice, least_rows: int = 2) -> Table:
    """Read the points of a table; see :func:`ekss.io.read_points`."""
    if path.suffix.lower() == ".parquet":
        with reading(path, "a .parquet file"):
            return _read_parquet(path, choice, least_rows)
    with reading(path, f"{path.suffix.lower()} text"):
        return _read_text(path, choice, least_rows)


def _read_text(path: Path, choice: Choice, least_rows: int) -> Table:
    """Parse text; a column aside that is no identifier becomes a feature."""
    text = parse_text(path, choice)
    layout, points = text.layout, text.values
    roles = assign_roles(text.asides, choice, matched=layout.matched)
    at = list(layout.numeric)
    for aside in roles.features:
        place_of = bisect(at, aside.position)
        at.insert(place_of, aside.position)
        points = np.insert(points, place_of, text.numbers(path, aside), axis=1)
    _refuse_nothing(path, at, roles)
    names = [layout.names[i] for i in at]

    def place(row: int, column: int) -> str:
        return f"line {text.lines[row]}, column {names[column]!r}"

    check_points(points, str(path), place, least_rows=least_rows)
    table = _table(path, points, names, roles, layout.ignored)
    return replace(table, has_names=layout.has_header)


def _table(
    path: Path,
    points: NDArray[np.floating],
    names: Sequence[str],
    roles: Roles,
    ignored: Sequence[str],
) -> Table:
    ids = roles.ids
    return Table(
        points,
        None if ids is None else _checked_ids(path, ids.values, ids.name),
        tuple(names),
        True,
        None if ids is None else ids.name,
        (*(aside.name for aside in roles.left_out), *ignored),
    )


def _refuse_nothing(path: Path, features: Sequence[Any], roles: Roles) -> None:
    """Refuse a table that holds identifiers alone."""
    if features:
        return
    found = [aside.name for aside in (roles.ids, *roles.left_out) if aside is not None]
    beside = f" beside {listed(found)}" if found else ""
    raise InputError(
        f"{path} has no column of numbers{beside}; name one that has, or make all "
        "columns features by id_column=False"
    )


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
    dropped = {column_number(path, names, column) for column in choice.drop}
    matched = choice.columns is not None
    features: list[int] = []
    if choice.columns is not None:
        features = matched_columns(path, names, choice.columns, dropped)
    free = [i for i in range(len(names)) if i not in {*features, *dropped}]
    known = _known_ids(table, names, free)
    likely = [i for i in free if i == known or may_be_identifier(names[i])]
    likely.sort(key=lambda i: i != known)
    asides = [
        Aside(i, names[i], _texts(table, i), is_first=i in free[:1])
        for i in choice.asides(path, names, likely, dropped)
    ]
    roles = assign_roles(asides, choice, matched=matched, known=known)
    apart = {aside.position for aside in (roles.ids, *roles.left_out) if aside}
    if not matched:
        features = [i for i in range(len(names)) if i not in {*apart, *dropped}]
    _refuse_nothing(path, features, roles)
    columns = [_parquet_numbers(path, table, names[i]) for i in features]
    points = np.column_stack(columns)

    def place(row: int, column: int) -> str:
        return f"row {row}, column {names[features[column]]!r}"

    check_points(points, str(path), place, least_rows=least_rows)
    seen = {*features, *apart, *dropped}
    ignored = [name for i, name in enumerate(names) if i not in seen]
    return _table(path, points, [names[i] for i in features], roles, ignored)


def parquet_table(path: Path) -> Any:
    """Open a .parquet file as a pyarrow table."""
    parquet = require("pyarrow.parquet", "pyarrow", "reading .parquet")
    return parquet.read_table(path)


def _known_ids(table: Any, names: list[str], free: list[int]) -> int | None:
    """Return the column that names the rows: pandas' index, or a first one of texts."""
    about = table.schema.pandas_metadata or {}
    index = [i for i in free if names[i] in about.get("index_columns", [])]
    if len(index) == 1:
        return index[0]
    if not free:
        return None
    first = table.column(free[0])
    is_text = str(first.type) in ("string", "large_string", "string_view")
    return free[0] if is_text and len(first.unique()) == len(first) else None


def _texts(table: Any, column: int) -> list[str]:
    return [str(value) for value in table.column(column).to_pylist()]


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
