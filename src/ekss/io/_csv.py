"""Text with separated columns, parsed row by row so that every fault has a line."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from operator import itemgetter
from pathlib import Path
from typing import NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from ekss.io._columns import (
    ID_NAMES,
    Aside,
    Choice,
    column_number,
    is_number,
    matched_columns,
    may_be_identifier,
)
from ekss.io._errors import InputError, one_line

_SEPARATORS = ",;\t"
_HEADER_NAMES = (*ID_NAMES, "name", "names")
_LEAST_NUMBERED = 3
_LARGE = 2**20


@dataclass(frozen=True)
class Layout:
    """Where the columns are: names of all, which are numbers, which may name rows.

    ``skip`` is the number of lines before the first row of data; ``matched`` is whether
    the columns of numbers were chosen by name.
    """

    names: list[str]
    has_header: bool
    skip: int
    numeric: list[int]
    asides: list[int]
    dropped: set[int]
    matched: bool
    separator: str

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the columns that nobody asked for."""
        known = {*self.numeric, *self.asides, *self.dropped}
        return tuple(name for i, name in enumerate(self.names) if i not in known)


@dataclass(frozen=True)
class Text:
    """A parsed table: numbers, and the columns that may name the rows, as texts.

    ``lines`` are line numbers, from 1.
    """

    layout: Layout
    values: NDArray[np.float64]
    lines: Sequence[int]
    asides: tuple[Aside, ...]

    def numbers(self, path: Path, aside: Aside) -> NDArray[np.float64]:
        """Return a column that was put aside as numbers."""
        column = np.empty(len(aside.values))
        for row, value in enumerate(aside.values):
            if not is_number(value):
                raise _no_number(path, self.lines[row], aside.name, value)
            column[row] = float(value)
        return column


def parse_text(path: Path, choice: Choice) -> Text:
    """Read a .csv or .tsv file.

    Notes
    -----
    A large file goes through pyarrow where that is installed. Where it is not, or
    pyarrow finds any fault, the csv module of Python reads row by row and names line
    and column. Both give floats exact to the last digit.
    """
    layout = _layout(path, choice)
    if path.stat().st_size > _LARGE:
        text = _parse_fast(path, layout)
        if text is not None:
            return text
    return _parse_exactly(path, layout)


def iter_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text table as they stand, with their line numbers from 1."""
    separator = _separator(path)
    with _opened(path) as stream:
        yield from _rows(stream, separator)


def ragged(path: Path, line: int, found: int, wanted: int) -> InputError:
    """Return the error of a line with too few or too many columns."""
    return InputError(
        f"{path} has {found} column{'' if found == 1 else 's'} in line {line}, but "
        f"{wanted} in the first; give every line the same number"
    )


def _opened(path: Path) -> TextIO:
    return open(path, encoding="utf-8-sig", newline="")


def _separator(path: Path) -> str:
    """Return tab for .tsv; else the likely one of the first line that is not blank."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with _opened(path) as stream:
        line = next((line for line in stream if line.strip()), "")
    return max(_SEPARATORS, key=line.count)


def _rows(stream: TextIO, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with their line numbers from 1."""
    reader = csv.reader(stream, delimiter=separator, strict=True)
    for row in reader:
        if len(row) > 1 or "".join(row).strip():
            yield reader.line_num, row


def _layout(path: Path, choice: Choice) -> Layout:
    """Look at the first row and tell what the columns are."""
    separator = _separator(path)
    with _opened(path) as stream:
        rows = _rows(stream, separator)
        line, row = next(rows, (0, []))
        _, second = next(rows, (0, row))
    if not row:
        raise InputError(f"{path} holds blank lines only; name a file with content")
    _refuse_blanks(path, line, row, second)
    has_header = _is_header(path, row, choice)
    names = (
        [name.strip() for name in row]
        if has_header
        else list(map(str, range(len(row))))
    )
    if has_header:
        # numpy.savetxt marks its header so
        names[0] = names[0].removeprefix("#").strip()
    dropped = {column_number(path, names, column) for column in choice.drop}
    matched = has_header and choice.columns is not None
    features: list[int] = []
    if matched and choice.columns is not None:
        features = matched_columns(path, names, choice.columns, dropped)
    likely = [
        i
        for i, name in enumerate(names)
        if i not in features and (i == 0 or (has_header and may_be_identifier(name)))
    ]
    asides = choice.asides(path, names, likely, dropped)
    if not matched:
        features = [i for i in range(len(names)) if i not in {*asides, *dropped}]
    skip = line if has_header else 0
    return Layout(
        names, has_header, skip, features, asides, dropped, matched, separator
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
    if any(
        name in row
        for name in (choice.id_column, *choice.drop)
        if isinstance(name, str) and not is_number(name)
    ):
        return True
    if choice.columns is not None and _names_most(row, choice.columns):
        return True
    inner = row[1:] or row
    numbers = sum(map(is_number, inner))
    texts = sum(bool(value.strip()) for value in inner) - numbers
    if texts and (numbers or is_number(row[0])):
        word = next(value for value in inner if value.strip() and not is_number(value))
        raise InputError(
            f"{path} mixes numbers and text ({one_line(word)!r}) in its first line, "
            "which may be names or a point; say header=True or header=False, or "
            "correct it"
        )
    if texts:
        return True
    counted = [str(i) for i in range(len(row))]
    if len(row) >= _LEAST_NUMBERED and row == counted:
        return True
    first = row[0].strip()
    named = first.lower() in _HEADER_NAMES or may_be_identifier(first)
    return len(row) > 1 and named


def _names_most(row: list[str], columns: Sequence[str]) -> bool:
    """Whether a row holds most of the names; they may be numbers, such as years."""
    texts = {value.strip() for value in row}
    return len(texts) == len(row) and 2 * len(texts & set(columns)) > len(columns)


def _parse_exactly(path: Path, layout: Layout) -> Text:
    """Read row by row; every fault is told with its line."""
    values, lines = array("d"), array("q")
    asides: list[list[str]] = [[] for _ in layout.asides]
    pick = _picker(layout)
    width = len(layout.names)
    with _opened(path) as stream:
        for line, row in _rows(stream, layout.separator):
            if line <= layout.skip:
                continue
            if len(row) != width:
                raise ragged(path, line, len(row), width)
            lines.append(line)
            for values_aside, i in zip(asides, layout.asides, strict=True):
                values_aside.append(row[i])
            try:
                values.extend(map(float, pick(row)))
            except ValueError:
                _refuse_row(path, line, layout, row)
    if not lines:
        raise InputError(f"{path} has a header and no row; name a file with content")
    _refuse_underscores(path, layout)
    numbers = np.frombuffer(values, np.float64)
    return _text(layout, numbers.reshape(len(lines), -1), lines, asides)


def _picker(layout: Layout) -> Callable[[list[str]], Sequence[str]]:
    """Return what takes the columns of numbers from a row."""
    numeric = layout.numeric
    if numeric and numeric == list(range(numeric[0], len(layout.names))):
        return itemgetter(slice(numeric[0], None))
    return lambda row: [row[i] for i in numeric]


def _refuse_row(path: Path, line: int, layout: Layout, row: list[str]) -> NoReturn:
    bad = next(i for i in layout.numeric if not is_number(row[i]))
    raise _no_number(path, line, layout.names[bad], row[bad])


def _refuse_underscores(path: Path, layout: Layout) -> None:
    """Refuse 1_000, which Python takes for a number."""
    with (
        open(path, "rb") as stream,
        mmap(stream.fileno(), 0, access=ACCESS_READ) as all_,
    ):
        if all_.find(b"_") < 0:
            return
    with _opened(path) as stream_:
        for line, row in _rows(stream_, layout.separator):
            if line > layout.skip and any("_" in row[i] for i in layout.numeric):
                _refuse_row(path, line, layout, row)


def _no_number(path: Path, line: int, name: str, value: str) -> InputError:
    what = f"{one_line(value)!r}" if value.strip() else "nothing"
    return InputError(
        f"{path} has {what} in line {line}, column {name!r}, where a number should "
        "be; correct it, drop the column, or make it the id column"
    )


def _parse_fast(path: Path, layout: Layout) -> Text | None:
    """Read with pyarrow; None where it is missing or anything is doubtful."""
    try:
        from pyarrow import ArrowException, csv, float64, string
    except ImportError:
        return None
    names = list(map(str, range(len(layout.names))))
    wanted = [*layout.asides, *layout.numeric]
    if len(set(wanted)) < len(wanted):
        return None
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(column_names=names, skip_rows=layout.skip),
            csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types={
                    names[i]: string() if i in layout.asides else float64()
                    for i in wanted
                },
                null_values=[],
                include_columns=[names[i] for i in wanted],
            ),
        )
    except (ArrowException, OSError):
        return None
    values = np.empty((table.num_rows, len(layout.numeric)))
    for at, i in enumerate(layout.numeric):
        values[:, at] = table.column(names[i]).to_numpy()
    if not len(values) or not np.isfinite(values).all():
        return None
    asides = [table.column(names[i]).to_pylist() for i in layout.asides]
    # Right but for blank lines and line breaks in quotes; only messages use them.
    lines = range(layout.skip + 1, layout.skip + 1 + len(values))
    return _text(layout, values, lines, asides)


def _text(
    layout: Layout,
    values: NDArray[np.float64],
    lines: Sequence[int],
    asides: Sequence[list[str]],
) -> Text:
    named = zip(layout.asides, asides, strict=True)
    return Text(
        layout,
        values,
        lines,
        tuple(Aside(i, layout.names[i], v, is_first=i == 0) for i, v in named),
    )
