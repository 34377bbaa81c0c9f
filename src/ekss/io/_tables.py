"""Tables with named or unnamed columns: text and .parquet."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ekss.io import _base
from ekss.io import _text as text_of
from ekss.io._base import InputError, Points, listed, one_line, reading
from ekss.io._spool import is_large, spooled
from ekss.io._text import (
    MISSING,
    POINTS_IN_DOUBT,
    TEXT,
    Marks,
    as_number,
    is_missing,
    kind_of_number,
)
from ekss.runtime import foreign
from ekss.runtime.memory import Limit
from ekss.runtime.rows import is_memory_map

TABLES = (*TEXT, ".parquet")
ID_NAMES = ("", "id", "ids", "index")

_HEADER_NAMES = (*ID_NAMES, "name", "names")
# Keys of records: id, customer_id, "Order ID", PassengerId.
_KEY_NAME = re.compile(r"(?i:(?:.*[ _.-])?ids?)|.*[a-z0-9]I[Dd]s?")
# What pandas and R call the numbers of rows where nobody named them.
_ROW_NAME = re.compile(r"(?i:index|unnamed: \d+|__index_level_\d+__|row[ _.-]?names?)?")
# A range of columns, by numbers or by names.
_RANGE = re.compile(r"(\d+)-(\d+)|(.+):(.+)")
_LEAST_NUMBERED = 3
_LARGE = 2**20
_PIECE = 2**20
# pyarrow keeps some kilobytes for every column.
_MOST_FAST_COLUMNS = 20_000
# Types of parquet, by how their names begin: numbers, and what is left out in words.
_NUMBERS = ("int", "uint", "float", "double", "half", "bool", "decimal")
_NO_NUMBERS = {
    "string": "text",
    "large_string": "text",
    "dictionary": "text",
    "date": "dates or times",
    "time": "dates or times",
    "duration": "dates or times",
    "null": "empty",
}
# A cell of two characters, "1,", becomes a text of Python while its line is read, and
# a number of 8 bytes.
_BYTES_PER_CHARACTER = 40
_NUMBER_BYTES = 4


@dataclass(frozen=True)
class Choice:
    """What the caller said about columns.

    ``id_column`` is False where no column names the rows; ``columns`` are the names of
    the features in their order, None for all columns of numbers; ``take`` are columns
    and ranges of them, () for all. ``decimal`` is the decimal mark, None to find it.
    """

    id_column: str | int | bool | None = None
    header: bool | str = "auto"
    drop: tuple[str | int, ...] = ()
    columns: tuple[str, ...] | None = None
    take: tuple[str | int, ...] = ()
    decimal: str | None = None
    missing: bool = False


def read_table(
    path: Path, choice: Choice, least_rows: int, limit: Limit, *, in_blocks: bool
) -> Points:
    """Read the points of a table; see :func:`ekss.io.read_points`."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        with reading(path, "a .parquet file"):
            _base.require("pyarrow.parquet", "reading .parquet")
            size = foreign.table_size(path)
            n_rows = size.rows
            if not (in_blocks and is_large((n_rows, size.columns))):
                check_table_size(path, limit)
                n_rows = 0
            return _points(ParquetTable(path, choice, n_rows), choice, least_rows)
    with reading(path, f"{ending} text"):
        check_table_size(path, limit)
        return _points(TextTable(path, choice), choice, least_rows)


def check_table_size(path: Path, limit: Limit) -> None:
    """Refuse a table that would take too much memory, by the size it declares."""
    if path.suffix.lower() == ".parquet":
        _base.require("pyarrow.parquet", "reading .parquet")
        # Columns as the file has them, and as one matrix.
        _base.check_size(path, 2 * foreign.table_size(path).bytes, limit)
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
    unless the features are asked for, or the column holds no numbers.
    """
    path, names = table.path, table.names
    dropped = {column_number(path, names, column) for column in choice.drop}
    matched: list[int] | None = None
    if table.has_names and choice.columns is not None:
        matched = matched_columns(path, names, choice.columns, dropped)
    elif choice.take:
        matched = _taken_columns(path, names, choice.take, dropped)
    taken = {*dropped, *(matched or ())}
    free = [i for i in range(len(names)) if i not in taken]
    candidate, is_sure = table.id_candidate(free)
    positions = _set_aside(table, choice, free, dropped, candidate)
    unfit = {i: reason for i, reason in table.unfit().items() if i in free}
    numeric = [i for i in free if i not in positions and i not in unfit]
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
    others = {i: reason for i, reason in unfit.items() if i not in apart}
    features = matched
    if features is None:
        features = [i for i in free if i not in apart and i not in others]
    if not features:
        found = [names[i] for i in sorted({*apart, *others})]
        beside = f" beside {quoted(found)}" if found else ""
        raise InputError(
            f"{path} has no column of numbers{beside}; name one that has, or make all "
            "columns features by id_column=False"
        )
    points = table.points(features)
    columns = tuple(names[i] for i in features)
    if not is_memory_map(points):
        _base.check_points(
            points,
            str(path),
            least_rows,
            lambda row, i: table.place(row, columns[i]),
            missing=choice.missing,
        )
    ignored = [i for i in free if i not in apart]
    if matched is None:
        ignored = [i for i in ignored if i in others]
    notes = () if matched is not None else _reasons(names, others)
    return Points(
        points,
        ids=None if ids is None else _checked_ids(path, ids),
        feature_names=columns if table.has_names else None,
        source=path.name,
        columns=columns,
        id_name=None if ids is None else ids.name,
        left_out=(*(aside.name for aside in left_out), *(names[i] for i in ignored)),
        identifiers=tuple(aside.name for aside in left_out),
        notes=(*table.notes, *notes),
    )


def _reasons(names: Sequence[str], unfit: dict[int, tuple[str, str]]) -> Iterator[str]:
    """Say which columns are no features, by what they hold."""
    for kind in dict.fromkeys(kind for kind, _ in unfit.values()):
        some = [(names[i], value) for i, (k, value) in unfit.items() if k == kind]
        shown = [f"{name} ({one_line(v)!r})" if v else name for name, v in some]
        yield f"left out as {kind}: {listed(shown)}"


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
        texts = sum(kind_of_number(value) is None for value in self.values)
        is_mostly_text = 2 * texts > len(self.values)
        return self.is_first and (self.name.lower() in ID_NAMES or is_mostly_text)

    @cached_property
    def _is_unique(self) -> bool:
        return len(set(self.values)) == len(self.values)

    @cached_property
    def _is_whole(self) -> bool:
        return all(map(_is_whole, self.values))


def _is_whole(text: str) -> bool:
    """Whether a text is a word or a whole number, with marks for thousands or not."""
    if is_number(text):
        return float(text).is_integer()
    return not str(kind_of_number(text)).startswith("decimal")


class TextTable:
    """A table in text: its names at once, its values after ``read``.

    ``names`` are numbers from 0 where the file has none; ``notes`` say what was found
    beside the table.
    """

    def __init__(self, path: Path, choice: Choice) -> None:
        self.path, self._choice = path, choice
        self._dialect = text_of.sniff(path, choice.decimal)
        self.notes = list(self._dialect.notes)
        rows = list(self._dialect.rows)
        if not rows:
            raise no_row(path)
        rows = self._from_names_on(rows)
        line, row = rows.pop(0)
        below = [cells for _, cells in rows if len(cells) == len(row)]
        self.has_names = _is_header(path, row, below, choice)
        self.names = [str(i) for i in range(len(row))]
        self._skip = self._dialect.first_line
        if self.has_names:
            self.names = [name.strip() for name in row]
            # The mark that numpy.savetxt puts before its header
            self.names[0] = self.names[0].removeprefix("#").strip()
            self._skip = line
            if _holds_units(below):
                self._skip, units = rows[0]
                shown = one_line(", ".join(units))
                self.notes.append(f"line {self._skip} taken for units: {shown}")
                below = below[1:]
        else:
            below.insert(0, row)
            self._skip = max(self._skip, line - 1)
        self._below = below
        text_of.check_no_comment_rows(path, self._dialect, len(self.names))

    def _from_names_on(
        self, rows: list[tuple[int, list[str]]]
    ) -> list[tuple[int, list[str]]]:
        """Leave out what stands before the names, and complete these."""
        ((width, count),) = Counter(len(row) for _, row in rows).most_common(1)
        start = next(i for i, (_, row) in enumerate(rows) if len(row) == width)
        line, names = rows[start - 1] if start else rows[0]
        if start == 0 or self._choice.header is False or count < 2:
            return rows
        if len(names) == width + 1 and not names[-1].strip():
            return [*rows[: start - 1], (line, names[:-1]), *rows[start:]]
        separator = self._dialect.separator
        if start == 1 and len(names) == width - 1 and separator in " \t":
            # R writes no name above the names of rows.
            if not any(map(kind_of_number, names)) and len(names) > 1:
                return [(line, ["", *names]), *rows[1:]]
        is_words = all(
            any(cell.strip() and kind_of_number(cell) is None for cell in row)
            for _, row in rows[:start]
        )
        below = [row for _, row in rows[start + 1 :] if len(row) == width]
        is_named = width > 1 and not any(map(kind_of_number, rows[start][1]))
        if is_words and is_named and any(map(_has_number, below)):
            shown = one_line(" ".join(rows[0][1]))
            lines = "line 1" if start == 1 else f"{start} lines"
            self.notes.append(f"{lines} before the table left out: {shown}")
            return rows[start:]
        return rows

    def unfit(self) -> dict[int, tuple[str, str]]:
        """Return columns without numbers, with what they hold and an example."""
        found = {}
        for i in range(len(self.names)):
            cells = [row[i] for row in self._below if not is_missing(row[i])]
            words = [cell for cell in cells if kind_of_number(cell) is None]
            if not cells and self._below and self._dialect.is_whole:
                found[i] = ("empty", "")
            elif 2 * len(words) > len(cells):
                dates = sum(map(text_of.is_date, words))
                kind = "dates or times" if 2 * dates > len(words) else "text"
                found[i] = (kind, words[0].strip())
        return found

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
        self._decimal: str | None = None
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
        if self._decimal is None:
            self._decimal = self._find_decimal([*self._numeric, *self._texts])
        cells = zip(self._lines, self._texts[column], strict=True)
        mark = self._decimal
        return np.array([self._number(line, column, t, mark) for line, t in cells])

    def _find_decimal(self, columns: Sequence[int]) -> str:
        """Return the decimal mark, after a look at all numbers where that is needed."""
        marks, separator = Marks(self._choice.decimal), self._dialect.separator
        unfit = self.unfit()
        numeric = [i for i in columns if i not in unfit]
        in_doubt = separator in POINTS_IN_DOUBT
        if marks.asked is None and (in_doubt or self._has_commas(numeric)):
            for line, row in text_of.iter_rows(self.path, self._dialect, self._skip):
                for i in numeric:
                    if i < len(row):
                        marks.look(row[i], f"in line {line}")
        return marks.decimal(self.path, separator)

    def _has_commas(self, numeric: Sequence[int]) -> bool:
        rows = text_of.iter_rows(self.path, self._dialect, self._skip)
        return any("," in row[i] for _, row in rows for i in numeric if i < len(row))

    def _read_exactly(self, numeric: list[int], asides: list[int]) -> None:
        """Read row by row; every fault is told with its line."""
        values, lines = array("d"), array("q")
        self._texts: dict[int, list[str]] = {i: [] for i in asides}
        decimal = self._decimal = self._find_decimal([*numeric, *asides])
        for line, row in text_of.iter_rows(self.path, self._dialect, self._skip):
            check_width(self.path, line, row, len(self.names))
            lines.append(line)
            for i, texts in self._texts.items():
                texts.append(row[i])
            cells = [row[i] for i in numeric]
            try:
                joined = "".join(cells)
                if "_" in joined or (decimal == "," and "." in joined):
                    raise ValueError("Python takes 1_000 for a number")
                values.extend(list(map(float, cells)))
            except ValueError:
                values.extend(self._number(line, i, row[i], decimal) for i in numeric)
        if not lines:
            raise InputError(
                f"{self.path} has a header and no row; name a file with content"
            )
        self._lines: Sequence[int] = lines
        self._values = np.frombuffer(values, np.float64).reshape(len(lines), -1)

    def _number(self, line: int, column: int, text: str, decimal: str) -> float:
        """Return one cell as a number; refuse what is none."""
        if is_missing(text) and self._choice.missing:
            return np.nan
        try:
            return as_number(text, decimal)
        except ValueError:
            pass
        where = f"in line {line}, column {self.names[column]!r}"
        if is_missing(text):
            what = repr(text.strip()) if text.strip() else "nothing"
            raise InputError(f"{self.path} has {what} {where}; {_base.FILL_IN}")
        raise InputError(
            f"{self.path} has {one_line(text)!r} {where}, where a number should be; "
            "correct it, drop the column, or make it the id column"
        )

    def _read_fast(self, numeric: list[int], asides: list[int]) -> bool:
        """Read with pyarrow; False where it is missing or anything is doubtful."""
        try:
            from pyarrow import ArrowException, csv, float64, string
        except ImportError:
            return False
        dialect, marks = self._dialect, Marks(self._choice.decimal)
        for row in self._below:
            for i in numeric:
                marks.look(row[i], "")
        if set(numeric) & set(asides) or not self._is_simple(marks):
            return False
        names = [str(i) for i in range(len(self.names))]
        types = {names[i]: string() for i in asides}
        types |= {names[i]: float64() for i in numeric}
        nulls = _missing_spellings() if self._choice.missing else []
        try:
            decimal = marks.decimal(self.path, dialect.separator)
            table = csv.read_csv(
                self.path,
                csv.ReadOptions(column_names=names, skip_rows=self._skip),
                csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=nulls,
                    include_columns=list(types),
                    decimal_point=decimal,
                ),
            )
        except (ArrowException, OSError, InputError):
            return False
        values = np.empty((table.num_rows, len(numeric)))
        for at, i in enumerate(numeric):
            values[:, at] = table.column(names[i]).to_numpy()
        bad = np.isinf(values) if self._choice.missing else ~np.isfinite(values)
        if not len(values) or bad.any():
            return False
        self._texts = {i: table.column(names[i]).to_pylist() for i in asides}
        if not self._agree(marks, decimal):
            return False
        self._decimal = decimal
        self._values = values
        # Right but for blank lines and line breaks in quotes; only messages use them.
        self._lines = range(self._skip + 1, self._skip + 1 + len(values))
        return True

    def _is_simple(self, marks: Marks) -> bool:
        """Whether pyarrow reads what our own reader would."""
        dialect = self._dialect
        if not dialect.encoding.startswith("utf-8") or dialect.separator == " ":
            return False
        if dialect.trailing or dialect.has_comments:
            return False
        unclear = dialect.separator in POINTS_IN_DOUBT and not marks.is_settled
        return not unclear and len(self.names) <= _MOST_FAST_COLUMNS

    def _agree(self, marks: Marks, decimal: str) -> bool:
        """Whether columns put aside that hold numbers have the same decimal mark."""
        separator, unfit = self._dialect.separator, self.unfit()
        for i, texts in self._texts.items():
            for text in texts if i not in unfit else ():
                if "," in text or separator in POINTS_IN_DOUBT:
                    marks.look(text, "")
        try:
            return marks.decimal(self.path, separator) == decimal
        except InputError:
            return False


def _missing_spellings() -> list[str]:
    ways = (str, str.upper, str.title)
    return sorted({way(text) for text in MISSING for way in ways})


def check_width(path: Path, line: int, row: list[str], width: int) -> None:
    """Refuse a line with too few or too many columns."""
    if len(row) == width:
        return
    # Where commas separate columns and decimals, there are nearly twice as many.
    doubled = len(row) in (2 * width, 2 * width - 1)
    hint = "; if commas are decimal marks, say decimal=','" if doubled else ""
    raise InputError(
        f"{path} has {len(row)} column{'' if len(row) == 1 else 's'} in line {line}, "
        f"but {width} in the first; give every line the same number{hint}"
    )


def _has_number(row: Sequence[str]) -> bool:
    return any(kind_of_number(cell) is not None for cell in row)


def _holds_units(below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row below the names holds words above columns of numbers."""
    if len(below) < 2:
        return False
    first, rest = below[0], below[1:]
    numeric = [i for i in range(len(first)) if _is_numeric(row[i] for row in rest)]
    units = [first[i] for i in numeric]
    words = [unit for unit in units if not is_missing(unit)]
    return bool(words) and not any(map(kind_of_number, units))


def _is_numeric(cells: Iterable[str]) -> bool:
    """Whether at least half of the cells that hold anything are numbers."""
    filled = [cell for cell in cells if not is_missing(cell)]
    numbers = sum(kind_of_number(cell) is not None for cell in filled)
    return bool(filled) and 2 * numbers >= len(filled)


def no_row(path: Path) -> InputError:
    """Return the error for a file without a row."""
    return InputError(f"{path} holds blank lines only; name a file with content")


def _is_header(
    path: Path, row: list[str], below: Sequence[Sequence[str]], choice: Choice
) -> bool:
    """Tell whether the first row holds names; ask where it mixes them with numbers.

    Only columns that hold numbers below can tell.
    """
    if choice.header != "auto":
        return bool(choice.header)
    picked = (choice.id_column, *choice.drop, *choice.take)
    chosen = [column for column in picked if isinstance(column, str)]
    if any(name in row and not is_number(name) for name in chosen):
        return True
    texts = {value.strip() for value in row}
    if choice.columns is not None and len(texts) == len(row):
        # Most of the names asked for are there; they may be numbers, such as years.
        if 2 * len(texts.intersection(choice.columns)) > len(choice.columns):
            return True
    places = [i for i in range(len(row)) if _is_numeric(r[i] for r in below)]
    telling = [row[i] for i in places or range(len(row))]
    inner = [row[i] for i in places if i] or telling
    words = [v for v in inner if not is_missing(v) and kind_of_number(v) is None]
    if words and any(kind_of_number(value) for value in telling):
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
    """A .parquet file, with the interface of :class:`TextTable`.

    ``in_blocks`` is the number of rows where the numbers are to stay on the disk, and
    0 where the whole file is read.
    """

    has_names = True

    def __init__(self, path: Path, choice: Choice, in_blocks: int) -> None:
        if choice.header != "auto":
            raise InputError(
                f"header={choice.header!r} is for text; .parquet has names"
            )
        self.path, self._in_blocks = path, in_blocks
        self._table = foreign.table(path, () if in_blocks else None)
        self.notes: list[str] = []
        self._missing = choice.missing
        self.names: list[str] = list(self._table.column_names)
        if len(set(self.names)) < len(self.names):
            raise InputError(f"{path} has two columns of one name; rename one")

    def _column(self, name: str) -> Any:
        """Return a column, from the disk where the file is not in memory."""
        found = foreign.table(self.path, [name]) if self._in_blocks else self._table
        return found.column(name)

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
        kind = str(self._table.schema.field(free[0]).type)
        if kind not in ("string", "large_string", "string_view"):
            return None, False
        first = self._column(self.names[free[0]])
        is_unique = len(first.unique()) == len(first)
        return (free[0], True) if is_unique else (None, False)

    def unfit(self) -> dict[int, tuple[str, str]]:
        """Return columns without numbers, with what they hold and an example."""
        found = {}
        for i, name in enumerate(self.names):
            kind = str(self._table.schema.field(name).type)
            for begin, word in _NO_NUMBERS.items():
                if kind.startswith(begin):
                    values = self._table.column(i).drop_null().slice(0, 1).to_pylist()
                    found[i] = (word, str(values[0]) if values else "")
        return found

    def read(self, numeric: list[int], asides: list[int]) -> None:
        """Do nothing; the file was read when it was opened, or is when it is used."""

    def texts(self, column: int) -> list[str]:
        """Return a column as texts."""
        return [str(value) for value in self._column(self.names[column]).to_pylist()]

    def points(self, features: list[int]) -> NDArray[np.floating]:
        """Return columns as one matrix of numbers."""
        kinds = {self.names[i]: str(self._table.schema.field(i).type) for i in features}
        for name, kind in kinds.items():
            if not kind.startswith(_NUMBERS):
                raise InputError(
                    f"{self.path} has {kind} in column {name!r}, not numbers; drop the "
                    "column, or make it the id column"
                )
        few_digits = set(kinds.values()) <= {"float", "halffloat"}
        dtype = np.dtype(np.float32 if few_digits else np.float64)
        if self._in_blocks:
            return self._on_disk(list(kinds), dtype)
        values = np.empty((self._table.num_rows, len(features)), dtype)
        # One column at a time, beside the table and the matrix.
        for at, name in enumerate(kinds):
            values[:, at] = self._numbers(name)
        return values

    def _on_disk(self, names: list[str], dtype: np.dtype[Any]) -> NDArray[np.floating]:
        n_rows = self._in_blocks

        def write(stream: IO[bytes]) -> np.dtype[Any]:
            foreign.write_table_rows(self.path, names, dtype.str, n_rows, stream)
            return dtype

        return spooled(self.path, (n_rows, len(names)), dtype.itemsize, write)

    def place(self, row: int, name: str) -> str:
        """Say where a value stands."""
        return f"row {row}, column {name!r}"

    def _numbers(self, name: str) -> NDArray[np.floating]:
        column = self._table.column(name)
        if column.null_count and not self._missing:
            row = column.is_null().to_pylist().index(True)
            raise InputError(
                f"{self.path} has nothing at row {row}, column {name!r}; "
                f"{_base.FILL_IN}"
            )
        kind = str(column.type)
        if kind.startswith("decimal"):
            column = column.cast("float64")
        if column.null_count and kind == "bool":
            column = column.cast("uint8")
        return _base.as_floats(column.to_numpy(), f"{self.path}, column {name!r}")


def parquet_table(path: Path) -> Any:
    """Open a .parquet file as a pyarrow table."""
    _base.require("pyarrow.parquet", "reading .parquet")
    return foreign.table(path)


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


def _taken_columns(
    path: Path,
    names: Sequence[str],
    wanted: Sequence[str | int],
    dropped: Collection[int],
) -> list[int]:
    """Return where columns and ranges of them are, in the order asked for."""
    found: dict[int, None] = {}
    for item in wanted:
        match = _RANGE.fullmatch(item) if isinstance(item, str) else None
        if item in names or match is None:
            found[column_number(path, names, item)] = None
            continue
        low, high = (
            column_number(path, names, end) for end in match.groups() if end is not None
        )
        if low > high:
            raise InputError(
                f"the range of columns {item!r} runs backwards in {path}; turn it round"
            )
        found.update(dict.fromkeys(range(low, high + 1)))
    both = [names[i] for i in found if i in dropped]
    if both:
        raise InputError(
            f"column {both[0]!r} of {path} cannot both be a feature and be left out; "
            "choose one of the two"
        )
    return list(found)


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
