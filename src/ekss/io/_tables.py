"""Tables with named or unnamed columns: .csv, .tsv, .parquet."""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io import _base
from ekss.io._base import InputError, Points, listed, one_line, reading
from ekss.runtime.memory import Limit

TABLES = (".csv", ".tsv", ".parquet")
ID_NAMES = ("", "id", "ids", "index")

_HEADER_NAMES = (*ID_NAMES, "name", "names")
# Keys of records: id, customer_id, "Order ID", PassengerId.
_KEY_NAME = re.compile(r"(?i:(?:.*[ _.-])?ids?)|.*[a-z0-9]I[Dd]s?")
# What pandas and R call the numbers of rows where nobody named them.
_ROW_NAME = re.compile(r"(?i:index|unnamed: \d+|__index_level_\d+__|row[ _.-]?names?)?")
_SEPARATORS = ",;\t"
# What a cell of a missing entry may hold, and how pyarrow may find it written.
_MISSING = ("", "na", "n/a", "nan", "null", "none")
_FAST_MISSING = {word for w in _MISSING for word in (w, w.upper(), w.title(), "NaN")}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*")
_LEAST_NUMBERED = 3
_LARGE = 2**20
_PIECE = 2**20
# pyarrow keeps some kilobytes for every column.
_MOST_FAST_COLUMNS = 20_000
# A cell of two characters, "1,", becomes a text of Python while its line is read, and
# a number of 8 bytes.
_BYTES_PER_CHARACTER = 40
_NUMBER_BYTES = 4


@dataclass(frozen=True)
class Choice:
    """What the caller said about columns.

    ``id_column`` is False where no column names the rows; ``columns`` are the names of
    the features in their order, None for all columns of numbers; with ``missing``
    entries of the features may be missing.
    """

    id_column: str | int | bool | None = None
    header: bool | str = "auto"
    drop: tuple[str | int, ...] = ()
    columns: tuple[str, ...] | None = None
    missing: bool = False


def read_table(path: Path, choice: Choice, least_rows: int, limit: Limit) -> Points:
    """Read the points of a table; see :func:`ekss.io.read_points`."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        with reading(path, "a .parquet file"):
            check_table_size(path, limit)
            return _points(ParquetTable(path, choice), choice, least_rows)
    with reading(path, f"{ending} text"):
        check_table_size(path, limit)
        return _points(TextTable(path, choice), choice, least_rows)


def check_table_size(path: Path, limit: Limit) -> None:
    """Refuse a table that would take too much memory, by the size it declares."""
    if path.suffix.lower() == ".parquet":
        parquet = _base.require("pyarrow.parquet", "reading .parquet")
        about = parquet.read_metadata(path)
        # Numbers as the file has them, and as one matrix.
        needed = 2 * 8 * about.num_rows * about.num_columns
        groups = range(about.num_row_groups)
        needed += sum(about.row_group(i).total_byte_size for i in groups)
        _base.check_size(path, needed, limit)
        return
    longest = 0
    with open(path, "rb") as stream:
        while len(line := stream.readline(_PIECE)) == _PIECE:
            longest += len(line)
            if longest > limit.bytes / _BYTES_PER_CHARACTER:
                break
    longest += len(line)
    size = path.stat().st_size
    needed = _BYTES_PER_CHARACTER * longest + _NUMBER_BYTES * size
    _base.check_size(path, needed, limit)


def _points(table: TextTable | ParquetTable, choice: Choice, least_rows: int) -> Points:
    """Tell features from columns that name the rows, and read both.

    Columns that may name the rows are put aside as texts first. One of them becomes
    the ids, other identifiers are left out, and the rest are features after all,
    unless the features are asked for by name.
    """
    path, names = table.path, table.names
    dropped = {column_number(path, names, column) for column in choice.drop}
    matched: list[int] | None = None
    if table.has_names and choice.columns is not None:
        matched = matched_columns(path, names, choice.columns, dropped)
    taken = {*dropped, *(matched or ())}
    free = [i for i in range(len(names)) if i not in taken]
    candidate, is_sure = table.id_candidate(free)
    positions = _set_aside(table, choice, free, dropped, candidate)
    numeric = [i for i in free if i not in positions]
    table.read(numeric if matched is None else matched, positions)
    first = table.first(free)
    asides = [Aside(i, names[i], table.texts(i), i == first) for i in positions]
    sure = candidate if is_sure else None
    may_name = [a for a in asides if a.position == sure or a.names_rows]
    ids = next(iter(may_name if choice.id_column is None else asides), None)
    left_out = [
        aside
        for aside in asides
        if aside is not ids and (matched is not None or aside.is_identifier)
    ]
    apart = {aside.position for aside in (ids, *left_out) if aside}
    features = [i for i in free if i not in apart] if matched is None else matched
    if not features:
        found = [aside.name for aside in (ids, *left_out) if aside]
        beside = f" beside {quoted(found)}" if found else ""
        raise InputError(
            f"{path} has no column of numbers{beside}; name one that has, or make all "
            "columns features by id_column=False"
        )
    points = table.points(features)
    columns = tuple(names[i] for i in features)
    _base.check_points(
        points,
        str(path),
        least_rows,
        lambda row, i: table.place(row, columns[i]),
        missing=choice.missing,
    )
    ignored = [] if matched is None else [names[i] for i in free if i not in apart]
    return Points(
        points,
        ids=None if ids is None else _checked_ids(path, ids),
        feature_names=columns if table.has_names else None,
        source=path.name,
        columns=columns,
        id_name=None if ids is None else ids.name,
        left_out=(*(aside.name for aside in left_out), *ignored),
    )


def _set_aside(
    table: TextTable | ParquetTable,
    choice: Choice,
    free: Sequence[int],
    dropped: Collection[int],
    candidate: int | None,
) -> list[int]:
    """Return columns that may name the rows: the one asked for, and the likely."""
    if choice.id_column is False:
        return []
    likely = [
        i
        for i in free
        if i == candidate or (table.has_names and may_be_identifier(table.names[i]))
    ]
    likely.sort(key=lambda i: i != candidate)
    if choice.id_column is None:
        return likely
    asked = column_number(table.path, table.names, choice.id_column)
    if asked in dropped:
        raise InputError(
            f"column {choice.id_column!r} of {table.path} cannot both name the rows "
            "and be left out; choose one of the two"
        )
    return [asked, *(i for i in likely if i != asked)]


def _checked_ids(path: Path, ids: Aside) -> tuple[str, ...]:
    for value, times in Counter(ids.values).items():
        if times > 1:
            raise InputError(
                f"{path} has the id {one_line(value)!r} twice in column {ids.name!r}; "
                "make ids unique, or choose another id column"
            )
    return tuple(ids.values)


@dataclass(frozen=True)
class Aside:
    """A column that may name the rows: where it is, its name, and its texts."""

    position: int
    name: str
    values: list[str]
    is_first: bool

    @property
    def is_identifier(self) -> bool:
        """Whether the column tells records apart and measures nothing.

        It is called like a key, or like the number of a row and has no value twice;
        and it holds words or whole numbers.
        """
        if _KEY_NAME.fullmatch(self.name):
            return self._is_whole
        is_named = bool(self.name or self.is_first) and _ROW_NAME.fullmatch(self.name)
        return bool(is_named) and self._is_unique and self._is_whole

    @property
    def names_rows(self) -> bool:
        """Whether its values can serve as names of the rows."""
        if not self._is_unique:
            return False
        if self.is_identifier:
            return True
        texts = sum(not is_number(value) for value in self.values)
        is_mostly_text = 2 * texts > len(self.values)
        return self.is_first and (self.name.lower() in ID_NAMES or is_mostly_text)

    @cached_property
    def _is_unique(self) -> bool:
        return len(set(self.values)) == len(self.values)

    @cached_property
    def _is_whole(self) -> bool:
        numbers = (float(value) for value in self.values if is_number(value))
        return all(number.is_integer() for number in numbers)


class TextTable:
    """A .csv or .tsv file: its names at once, its values after ``read``.

    ``names`` are numbers from 0 where the file has none.
    """

    def __init__(self, path: Path, choice: Choice) -> None:
        rows = iter_rows(path)
        line, row = first_row(path, rows)
        _refuse_blanks(path, line, row, next(rows, (0, row))[1])
        self.path = path
        self.has_names = _is_header(path, row, choice)
        self.names = [str(i) for i in range(len(row))]
        if self.has_names:
            self.names = [name.strip() for name in row]
            # The mark that numpy.savetxt puts before its header
            self.names[0] = self.names[0].removeprefix("#").strip()
        self._skip = line if self.has_names else 0
        self._may_miss = choice.missing

    def first(self, free: Sequence[int]) -> int | None:
        """Return the column that counts as the first."""
        return 0

    def id_candidate(self, free: Sequence[int]) -> tuple[int | None, bool]:
        """Return the column that may name the rows by its place, and if it is sure."""
        return 0, False

    def read(self, numeric: list[int], asides: list[int]) -> None:
        """Read columns as numbers, and columns as texts.

        A large file goes through pyarrow where that is installed. Where it is not, or
        pyarrow finds any fault, the csv module of Python reads row by row and names
        line and column. Both give floats exact to the last digit.
        """
        self._numeric = {column: at for at, column in enumerate(numeric)}
        large = self.path.stat().st_size > _LARGE
        if not large or not self._read_fast(numeric, asides):
            self._read_exactly(numeric, asides)

    def texts(self, column: int) -> list[str]:
        """Return a column that was read as texts."""
        return self._texts[column]

    def points(self, features: list[int]) -> NDArray[np.float64]:
        """Return columns as one matrix of numbers."""
        if features == list(self._numeric):
            return self._values
        return np.column_stack([self._numbers(i) for i in features])

    def place(self, row: int, name: str) -> str:
        """Say where a value stands."""
        return f"line {self._lines[row]}, column {name!r}"

    def _numbers(self, column: int) -> NDArray[np.float64]:
        if column in self._numeric:
            return self._values[:, self._numeric[column]]
        texts = self._with_nan(self._texts[column])
        for line, text in zip(self._lines, texts, strict=True):
            if not is_number(text):
                raise self._no_number(line, column, text)
        return np.array(list(map(float, texts)))

    def _read_exactly(self, numeric: list[int], asides: list[int]) -> None:
        """Read row by row; every fault is told with its line."""
        values, lines = array("d"), array("q")
        self._texts: dict[int, list[str]] = {i: [] for i in asides}
        for line, row in iter_rows(self.path):
            if line <= self._skip:
                continue
            check_width(self.path, line, row, len(self.names))
            lines.append(line)
            for i, texts in self._texts.items():
                texts.append(row[i])
            cells = self._with_nan([row[i] for i in numeric])
            try:
                if "_" in "".join(cells):
                    raise ValueError("Python takes 1_000 for a number")
                values.extend(map(float, cells))
            except ValueError:
                at = next(i for i, cell in enumerate(cells) if not is_number(cell))
                raise self._no_number(line, numeric[at], cells[at]) from None
        if not lines:
            raise InputError(
                f"{self.path} has a header and no row; name a file with content"
            )
        self._lines: Sequence[int] = lines
        self._values = np.frombuffer(values, np.float64).reshape(len(lines), -1)

    def _with_nan(self, cells: list[str]) -> list[str]:
        """Return cells with "nan" for what is missing, where that is allowed."""
        if not self._may_miss:
            return cells
        return ["nan" if c.strip().lower() in _MISSING else c for c in cells]

    def _no_number(self, line: int, column: int, value: str) -> InputError:
        what = f"{one_line(value)!r}" if value.strip() else "nothing"
        remedy = "correct it, drop the column, or make it the id column"
        if value.strip().lower() in _MISSING:
            remedy = f"take it for missing by missing=True, {remedy}"
        if _DECIMAL_COMMA.fullmatch(value):
            remedy = "it has a decimal comma; write decimal points, as in 2.5"
        return InputError(
            f"{self.path} has {what} in line {line}, column {self.names[column]!r}, "
            f"where a number should be; {remedy}"
        )

    def _read_fast(self, numeric: list[int], asides: list[int]) -> bool:
        """Read with pyarrow; False where it is missing or anything is doubtful."""
        try:
            from pyarrow import ArrowException, csv, float64, string
        except ImportError:
            return False
        if set(numeric) & set(asides) or len(self.names) > _MOST_FAST_COLUMNS:
            return False
        names = [str(i) for i in range(len(self.names))]
        types = {names[i]: string() for i in asides}
        types |= {names[i]: float64() for i in numeric}
        try:
            table = csv.read_csv(
                self.path,
                csv.ReadOptions(column_names=names, skip_rows=self._skip),
                csv.ParseOptions(
                    delimiter=separator_of(self.path), newlines_in_values=True
                ),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=list(_FAST_MISSING) if self._may_miss else [],
                    include_columns=list(types),
                ),
            )
        except (ArrowException, OSError):
            return False
        values = np.empty((table.num_rows, len(numeric)))
        for at, i in enumerate(numeric):
            values[:, at] = table.column(names[i]).to_numpy()
        fine = np.isfinite(values)
        if self._may_miss:
            fine |= np.isnan(values)
        if not len(values) or not fine.all():
            return False
        self._values = values
        self._texts = {i: table.column(names[i]).to_pylist() for i in asides}
        # Right but for blank lines and line breaks in quotes; only messages use them.
        self._lines = range(self._skip + 1, self._skip + 1 + len(values))
        return True


def iter_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with their line numbers from 1."""
    separator = separator_of(path)
    with open(path, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=separator, strict=True)
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield reader.line_num, row


def separator_of(path: Path) -> str:
    """Return tab for .tsv; else the likely one of the first line that is not blank."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with open(path, encoding="utf-8-sig", newline="") as stream:
        line = next((line for line in stream if line.strip()), "")
    if ";" in line and all(map(_DECIMAL_COMMA.fullmatch, line.split(";"))):
        return ";"
    return max(_SEPARATORS, key=line.count)


def first_row(
    path: Path, rows: Iterator[tuple[int, list[str]]]
) -> tuple[int, list[str]]:
    """Return the first row and its line; refuse a file that has none."""
    for line, row in rows:
        return line, row
    raise InputError(f"{path} holds blank lines only; name a file with content")


def check_width(path: Path, line: int, row: list[str], width: int) -> None:
    """Refuse a line with too few or too many columns."""
    if len(row) != width:
        raise InputError(
            f"{path} has {len(row)} column{'' if len(row) == 1 else 's'} in line "
            f"{line}, but {width} in the first; give every line the same number"
        )


def _refuse_blanks(path: Path, line: int, row: list[str], second: list[str]) -> None:
    """Refuse columns that stand side by side with blanks between them.

    A column called "two words" above single numbers is none of these.
    """
    words = row[0].split()
    if len(row) == 1 == len(second) and 1 < len(words) == len(second[0].split()):
        raise InputError(
            f"{path} has blanks between its columns ({one_line(row[0].strip())!r} in "
            f"line {line}), where commas, semicolons or tabs should be; replace them"
        )


def _is_header(path: Path, row: list[str], choice: Choice) -> bool:
    """Tell whether the first row holds names; ask where it mixes them with numbers."""
    if choice.header != "auto":
        return bool(choice.header)
    chosen = [c for c in (choice.id_column, *choice.drop) if isinstance(c, str)]
    if any(name in row and not is_number(name) for name in chosen):
        return True
    texts = {value.strip() for value in row}
    if choice.columns is not None and len(texts) == len(row):
        # Most of the names asked for are there; they may be numbers, such as years.
        if 2 * len(texts.intersection(choice.columns)) > len(choice.columns):
            return True
    inner = row[1:] or row
    words = [value for value in inner if value.strip() and not is_number(value)]
    if words and any(map(is_number, (row[0], *inner))):
        raise InputError(
            f"{path} mixes numbers and text ({one_line(words[0])!r}) in its first "
            "line, which may be names or a point; say header=True or header=False, or "
            "correct it"
        )
    if words:
        return True
    if len(row) >= _LEAST_NUMBERED and row == [str(i) for i in range(len(row))]:
        return True
    first = row[0].strip()
    named = first.lower() in _HEADER_NAMES or may_be_identifier(first)
    return len(row) > 1 and named


class ParquetTable:
    """A .parquet file, with the interface of :class:`TextTable`."""

    has_names = True

    def __init__(self, path: Path, choice: Choice) -> None:
        if choice.header != "auto":
            raise InputError(
                f"header={choice.header!r} is for text; .parquet has names"
            )
        self.path, self._table = path, parquet_table(path)
        self._may_miss = choice.missing
        self.names: list[str] = list(self._table.column_names)
        if len(set(self.names)) < len(self.names):
            raise InputError(f"{path} has two columns of one name; rename one")

    def first(self, free: Sequence[int]) -> int | None:
        """Return the first column that is neither dropped nor a feature."""
        return free[0] if free else None

    def id_candidate(self, free: Sequence[int]) -> tuple[int | None, bool]:
        """Return the index that pandas wrote, or the first column if it is text."""
        about = self._table.schema.pandas_metadata or {}
        index = [i for i in free if self.names[i] in about.get("index_columns", [])]
        if len(index) == 1:
            return index[0], True
        if not free:
            return None, False
        first = self._table.column(free[0])
        is_text = str(first.type) in ("string", "large_string", "string_view")
        is_unique = is_text and len(first.unique()) == len(first)
        return (free[0], True) if is_unique else (None, False)

    def read(self, numeric: list[int], asides: list[int]) -> None:
        """Do nothing; the file was read when it was opened."""

    def texts(self, column: int) -> list[str]:
        """Return a column as texts."""
        return [str(value) for value in self._table.column(column).to_pylist()]

    def points(self, features: list[int]) -> NDArray[np.floating]:
        """Return columns as one matrix of numbers."""
        return np.column_stack([self._numbers(self.names[i]) for i in features])

    def place(self, row: int, name: str) -> str:
        """Say where a value stands."""
        return f"row {row}, column {name!r}"

    def _numbers(self, name: str) -> NDArray[np.floating]:
        column = self._table.column(name)
        if column.null_count and not self._may_miss:
            row = column.is_null().to_pylist().index(True)
            raise InputError(
                f"{self.path} has nothing at row {row}, column {name!r}; fill it in or "
                "remove the row"
            )
        kind = str(column.type)
        if kind.startswith("decimal"):
            column = column.cast("float64")
        elif not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
            value = column[0].as_py() if len(column) else ""
            raise InputError(
                f"{self.path} has {kind} in column {name!r} (row 0: "
                f"{one_line(value)!r}), not numbers; drop the column, or make it the "
                "id column"
            )
        return _base.as_floats(column.to_numpy(), f"{self.path}, column {name!r}")


def parquet_table(path: Path) -> Any:
    """Open a .parquet file as a pyarrow table."""
    return _base.require("pyarrow.parquet", "reading .parquet").read_table(path)


def may_be_identifier(name: str) -> bool:
    """Whether a column of this name, wherever it stands, may be an identifier."""
    return bool(name and (_KEY_NAME.fullmatch(name) or _ROW_NAME.fullmatch(name)))


def matched_columns(
    path: Path, names: Sequence[str], wanted: Sequence[str], dropped: Collection[int]
) -> list[int]:
    """Return where the wanted columns are; refuse missing and ambiguous names."""
    kept = [i for i in range(len(names)) if i not in dropped]
    there = [names[i] for i in kept]
    if there == list(wanted):
        return kept
    count = Counter(there)
    missing = [name for name in dict.fromkeys(wanted) if not count[name]]
    if missing:
        what = "column" if len(missing) == 1 else f"{len(missing)} columns"
        raise InputError(
            f"{path} lacks the {what} {quoted(missing)}, needed among {len(wanted)}; "
            f"it has {quoted(there)}: rename the columns or add what is missing"
        )
    for name, times in Counter(wanted).items():
        if times > 1 or count[name] > 1:
            raise InputError(
                f"{path} cannot be matched by name, because more than one column is "
                f"called {name!r}; rename the columns"
            )
    places = dict(zip(there, kept, strict=True))
    return [places[name] for name in wanted]


def column_number(path: Path, names: Sequence[str], column: str | int) -> int:
    """Return the position of a column given by name, or by number from 0."""
    if column in names:
        return list(names).index(str(column))
    digits = isinstance(column, int) or column.isdecimal()
    if digits and 0 <= int(column) < len(names):
        return int(column)
    raise InputError(
        f"{path} has no column {column!r}; it has {quoted(names)}, or numbers from 0 "
        f"to {len(names) - 1}"
    )


def quoted(names: Sequence[str]) -> str:
    """Write names one after the other in quotes, of many the first."""
    return listed(map(repr, names))


def is_number(text: str) -> bool:
    """Whether the text is a number as the readers of text understand them."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
