"""Text of tables as people write it: letters, separators, comments, decimal marks.

:func:`sniff` looks at the beginning of a file, :func:`iter_rows` reads all of it, and
:class:`Marks` says what a comma and a point mean. Where the file does not tell, it is
refused: a number read wrongly is worse than one not read.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ekss.io._base import InputError, one_line

TEXT = (".csv", ".tsv", ".txt", ".dat", ".data", ".tab")
DECIMALS = (".", ",")
# Where these separate columns, points may separate thousands; where commas or blanks
# do, points are decimal marks.
POINTS_IN_DOUBT = (";", "\t", "|")
# How people write that a value is not there, in small letters.
MISSING = frozenset(
    "|na|n/a|n.a.|nan|-nan|null|none|nil|missing|-|--|?|.|#n/a|#na|#value!|#div/0!|"
    "#ref!|#num!|#null!|<na>".split("|")
)

# Blanks stand for runs of blanks and tabs.
_SEPARATORS = (",", ";", "\t", "|", " ")
_COMMENTS = ("#", "%", "//")
_SEPARATOR_LINE = re.compile(r"\"?sep=(.)\"?\s*", re.IGNORECASE)
_MOST_LINES = 200
_MOST_SCORED = 50
_FEWEST_LINES = 20
_MUCH_TEXT = 2**20
_BLOCK = 2**20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ENCODINGS = {
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# Five bytes that the letters of Windows leave out
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_FORMATS = (
    (b"PK\x03\x04", "a zip file or a workbook of Excel"),
    (b"\xd0\xcf\x11\xe0", "an old workbook of Excel"),
    (b"\x1f\x8b", "packed with gzip; let its name end in .gz"),
    (b"BZh", "packed with bzip2; let its name end in .bz2"),
    (b"\xfd7zXZ", "packed with xz; let its name end in .xz"),
    (b"%PDF", "a PDF"),
    (b"PAR1", "a .parquet file; let its name end so"),
    (b"\x93NUMPY", "a .npy file; let its name end so"),
    (b"\x89HDF", "an HDF5 file; let its name end in .h5"),
)

_SIGN, _EXPONENT = r"[+\-\u2212]?", r"(?:[eE][+-]?\d+)?"
# Blanks and apostrophes between thousands mean nothing else.
_GROUP = r"[ '\u2019\u00a0\u2009\u202f]"
_LEAD = r"[1-9]\d{0,2}"
_FORMS = tuple(
    (re.compile(_SIGN + form), kind)
    for form, kind in (
        (rf"{_LEAD}(?:{_GROUP}\d{{3}})+", "plain"),
        (rf"{_LEAD}(?:{_GROUP}\d{{3}})+,\d+", "decimal,"),
        (rf"{_LEAD}(?:{_GROUP}\d{{3}})+\.\d+", "decimal."),
        (rf"{_LEAD}(?:,\d{{2,3}})*,\d{{3}}\.\d+", "group,"),
        (rf"{_LEAD}(?:,\d{{2,3}})+,\d{{3}}", "group,"),
        (rf"{_LEAD}(?:\.\d{{3}})+,\d+", "group."),
        (rf"{_LEAD}(?:\.\d{{3}}){{2,}}", "group."),
        (rf"{_LEAD},\d{{3}}", "either,"),
        (rf"{_LEAD}\.\d{{3}}", "either."),
        (rf"(?:\d+,\d+|,\d+){_EXPONENT}", "decimal,"),
        (rf"\d+{_EXPONENT}", "plain"),
        (rf"(?:\d+\.\d*|\.\d+){_EXPONENT}", "decimal."),
    )
)
_EITHER_POINT = re.compile(rf"{_SIGN}{_LEAD}\.\d{{3}}")
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]+.*)?",
        r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4})(?:[T ]+\d.*)?",
        r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m)?",
        r"\d{4}-\d{2}|\d{4}-?Q[1-4]|Q[1-4][ -]?\d{4}",
        r"\d{1,2}[- .]*[a-zäéû]{3,9}[- .,]*\d{2,4}(?: +\d.*)?",
        r"[a-z]{3,9}[- .]*\d{1,2}(?:st|nd|rd|th)?,? +\d{4}(?: +\d.*)?",
    )
)


def kind_of_number(text: str) -> str | None:
    """Say what the marks in a number are; None where the text is no number.

    "plain" has no mark that could be a decimal one. "decimal," and "decimal." have one
    that can be nothing else, "group," and "group." have thousands and so tell the
    decimal mark, "either," and "either." may be one or the other.

    Examples
    --------
    >>> from ekss.io._text import kind_of_number
    >>> [kind_of_number(text) for text in ("7", "0,5", "1,234.5", "1,234", "seven")]
    ['plain', 'decimal,', 'group,', 'either,', None]
    """
    text = text.strip()
    try:
        float(text)
    except ValueError:
        return next((kind for form, kind in _FORMS if form.fullmatch(text)), None)
    if "_" in text:
        return None
    if "." not in text:
        return "plain"
    return "either." if _EITHER_POINT.fullmatch(text) else "decimal."


def is_missing(text: str) -> bool:
    """Whether the text says that there is no value."""
    return text.strip().lower() in MISSING


def is_date(text: str) -> bool:
    """Whether the text is a date or a time of day."""
    return any(form.fullmatch(text.strip()) for form in _DATES)


@dataclass
class Marks:
    """What commas and points mean, from all numbers that were seen.

    ``asked`` is the decimal mark that the caller named, None to find it.
    """

    asked: str | None = None
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)

    def look(self, text: str, place: str) -> None:
        """Take a cell into account; ``place`` says where it stands."""
        kind = kind_of_number(text)
        if kind is not None and kind != "plain" and kind not in self.seen:
            self.seen[kind] = (text.strip(), place)

    @property
    def is_settled(self) -> bool:
        """Whether the decimal mark is given, or certain from what was seen."""
        return self.asked is not None or any(k.startswith("decimal") for k in self.seen)

    def decimal(self, path: Path, separator: str) -> str:
        """Return the decimal mark; refuse where the numbers do not tell it."""
        if self.asked is not None:
            return self.asked
        seen = self.seen
        comma = seen.get("decimal,", seen.get("group."))
        point = seen.get("decimal.", seen.get("group,"))
        if comma and point:
            raise InputError(
                f"{path} has {_quoted(comma)} and {_quoted(point)}, so its decimal "
                "mark is unclear; write one mark throughout, or drop the columns with "
                "the other"
            )
        for sure, mark in ((comma, "."), (point, ",")):
            # Three digits beside another mark are thousands, or a slip.
            if sure and f"either{mark}" in seen and f"group{mark}" not in seen:
                raise _unclear(path, seen[f"either{mark}"], mark, sure)
        if comma or point:
            return "," if comma else "."
        if "either," in seen:
            raise _unclear(path, seen["either,"], ",")
        if "either." in seen and separator in POINTS_IN_DOUBT:
            raise _unclear(path, seen["either."], ".")
        return "."


def _quoted(cell: tuple[str, str]) -> str:
    return f"{cell[0]!r} {cell[1]}"


def _unclear(
    path: Path, cell: tuple[str, str], mark: str, beside: tuple[str, str] | None = None
) -> InputError:
    """Return the error for a mark before three digits."""
    text, other = cell[0], "." if mark == "," else ","
    also = f" beside {_quoted(beside)}" if beside else ""
    return InputError(
        f"{path} has {_quoted(cell)}{also}, which may be {text.replace(mark, '')} or "
        f"{text.replace(mark, '.')}; say decimal={other!r} for the first or "
        f"decimal={mark!r} for the second"
    )


def as_number(text: str, decimal: str) -> float:
    """Return a number written with this decimal mark; ValueError for all else."""
    kind = kind_of_number(text)
    other = "," if decimal == "." else "."
    own, grouped = (f"decimal{decimal}", f"either{decimal}"), f"group{other}"
    if kind not in ("plain", *own, grouped, f"either{other}"):
        raise ValueError(text)
    bare = re.sub(_GROUP, "", text.strip()).replace("\u2212", "-")
    return float(bare.replace(other, "").replace(decimal, "."))


@dataclass(frozen=True)
class Dialect:
    """How a file is written, and the rows at its beginning.

    ``separator`` is " " for runs of blanks. ``rows`` are the first rows with their
    lines; ``is_whole`` tells that there are no more. ``first_line`` is where the table
    begins, ``trailing`` whether its lines end in a separator.
    """

    encoding: str
    separator: str
    has_comments: bool
    first_line: int
    trailing: bool
    rows: tuple[tuple[int, list[str]], ...]
    is_whole: bool
    notes: tuple[str, ...] = ()


def sniff(path: Path, decimal: str | None = None) -> Dialect:
    """Find out how a text file is written; see :class:`Dialect`."""
    encoding = _encoding_of(path)
    lines, is_whole = _beginning(path, encoding)
    notes = [f"read as {_ENCODINGS[encoding]}"] if encoding in _ENCODINGS else []
    start, separator = 0, None
    named = next((i for i, line in enumerate(lines) if line.strip()), 0)
    match = _SEPARATOR_LINE.fullmatch(lines[named]) if lines else None
    if match:
        start, separator = named + 1, match[1]
    body = lines[start:]
    marked = sum(line.lstrip().startswith(_COMMENTS) for line in body)
    has_comments = 0 < 2 * marked <= sum(bool(line.strip()) for line in body)
    if separator is None:
        kept = [x for x in body if not has_comments or not _is_comment(x)]
        separator = _separator_of(path, kept, decimal)
    rows = list(_rows(body, separator, has_comments, start))
    first = start
    if has_comments:
        heading = _commented_names(body, separator, rows, start)
        if heading is not None:
            rows.insert(0, heading)
            first = heading[0] - 1
    trailing = _is_trailing([row for _, row in rows])
    if trailing:
        width = Counter(len(row) for _, row in rows).most_common(1)[0][0]
        rows = [(line, _without_last(row, width)) for line, row in rows]
    return Dialect(
        *(encoding, separator, has_comments, first, trailing),
        rows=tuple(rows),
        is_whole=is_whole,
        notes=tuple(notes),
    )


def iter_rows(
    path: Path, dialect: Dialect, after: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows after a line that are not blank, with their lines from 1."""
    width = 0
    with open(path, encoding=dialect.encoding, newline="") as stream:
        found = _rows(stream, dialect.separator, dialect.has_comments, 0, strict=True)
        for line, row in found:
            if line <= max(after, dialect.first_line):
                continue
            if dialect.trailing:
                width = width or len(row)
                row = _without_last(row, width)
            yield line, row


def _rows(
    lines: Iterable[str],
    separator: str,
    has_comments: bool,
    before: int,
    strict: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank with their lines, counted from ``before``."""
    at = before

    def kept() -> Iterator[str]:
        nonlocal at
        for line in lines:
            at += 1
            if has_comments and _is_comment(line):
                continue
            yield " ".join(line.split()) if separator == " " else line

    for row in csv.reader(kept(), delimiter=separator, strict=strict):
        if len(row) > 1 or "".join(row).strip():
            yield at, row


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENTS)


def _without_last(row: list[str], width: int) -> list[str]:
    """Leave the cell out that a separator at the end of a line makes."""
    is_extra = len(row) == width and len(row) > 1 and not row[-1].strip()
    return row[:-1] if is_extra else row


def _is_trailing(rows: Sequence[list[str]]) -> bool:
    """Whether every line ends in a separator, or every line but that of the names."""
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if width < 2:
        return False
    full = [row for row in rows if len(row) == width]
    if any(row[-1].strip() for row in full):
        return False
    # A last column with a name is empty, not an end of lines.
    return len(rows[0]) in (width, width - 1)


def _commented_names(
    lines: Sequence[str],
    separator: str,
    rows: Sequence[tuple[int, list[str]]],
    before: int,
) -> tuple[int, list[str]] | None:
    """Return the names in the last comment before the table, as numpy.savetxt writes.

    They are as many as the table has columns, and the table has none of its own.
    """
    if not rows or any(kind_of_number(cell) is None for cell in rows[0][1][1:]):
        return None
    above = [
        (number, line)
        for number, line in enumerate(lines[: rows[0][0] - before - 1], before + 1)
        if _is_comment(line)
    ]
    if not above:
        return None
    number, line = above[-1]
    bare = line.strip().lstrip("#%/").strip()
    ((_, names),) = list(_rows([bare], separator, False, 0)) or [(0, [""])]
    names = [name.strip() for name in names]
    told = all(names) and not any(map(kind_of_number, names))
    return (number, names) if told and len(names) == len(rows[0][1]) else None


def _encoding_of(path: Path) -> str:
    """Return the encoding: by its mark, by zeros, UTF-8 where it is, else Windows'."""
    with open(path, "rb") as stream:
        start = stream.read(4096)
        for mark, what in _FORMATS:
            if start.startswith(mark):
                remedy = "" if ";" in what else "; save it as .csv"
                raise InputError(f"{path} is no text but {what}{remedy}")
        for mark, name in _BOMS:
            if start.startswith(mark):
                return name
        if len(start) > 3 and start[1::2].count(0) > 0.4 * len(start):
            return "utf-16-le"
        if len(start) > 3 and start[::2].count(0) > 0.4 * len(start):
            return "utf-16-be"
    return _encoding_without_mark(path)


def _encoding_without_mark(path: Path) -> str:
    """Return UTF-8 if all of the file is that, else the letters of Windows."""
    decoder, is_utf8 = codecs.getincrementaldecoder("utf-8")(), True
    otherwise = "cp1252"
    with open(path, "rb") as stream:
        more = True
        while more:
            block = stream.read(_BLOCK)
            more = bool(block)
            if _CONTROLS.search(block):
                raise InputError(
                    f"{path} is no text: it has control characters; save it as .csv"
                )
            if _NOT_WINDOWS.search(block):
                otherwise = "latin-1"
            try:
                if is_utf8:
                    decoder.decode(block, final=not more)
            except UnicodeDecodeError:
                is_utf8 = False
    return "utf-8" if is_utf8 else otherwise


def _beginning(path: Path, encoding: str) -> tuple[list[str], bool]:
    """Return lines from the beginning, and whether they are all."""
    lines: list[str] = []
    length = 0
    with open(path, encoding=encoding, newline="") as stream:
        for line in stream:
            if len(lines) >= _MOST_LINES or (
                length > _MUCH_TEXT and len(lines) >= _FEWEST_LINES
            ):
                return lines, False
            lines.append(line)
            length += len(line)
    return lines, True


def _separator_of(path: Path, lines: Sequence[str], decimal: str | None) -> str:
    """Return the separator by which most cells are numbers, in lines of one length."""
    ending = path.name.lower()
    if (".tsv" in ending or ".tab" in ending) and any("\t" in line for line in lines):
        return "\t"
    best, highest = ";" if decimal == "," else ",", (0.0, 0.0)
    for separator in _SEPARATORS:
        score = (0.0, 0.0)
        if separator != decimal:
            score = _fitness(lines[:_MOST_SCORED], separator)
        # Blanks are often in cells, and other separators seldom in numbers.
        beside = best != "," and highest[1] == 1.0
        if score > highest and not (separator == " " and beside):
            best, highest = separator, score
    return best


def _fitness(lines: Sequence[str], separator: str) -> tuple[float, float]:
    """Return the share of numbers in lines of one length, and the share of these."""
    try:
        rows = [row for _, row in _rows(lines, separator, False, 0)]
    except csv.Error:
        rows = []
    ((width, count),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    cells = [cell for row in rows if len(row) == width for cell in row]
    filled = [cell for cell in cells if not is_missing(cell)]
    numbers = sum(kind_of_number(cell) is not None for cell in filled)
    share = numbers / max(1, len(filled))
    if width < 2 or (separator == " " and (share < 0.5 or count < len(rows) - 1)):
        return 0.0, 0.0
    return round(share * count / len(rows), 6), count / len(rows)


def check_no_comment_rows(path: Path, dialect: Dialect, width: int) -> None:
    """Refuse comments below the first row that look like rows."""
    if not dialect.has_comments or width < 2 or not dialect.rows:
        return
    begun = dialect.rows[0][0]
    with open(path, encoding=dialect.encoding, newline="") as stream:
        for number, line in enumerate(stream, 1):
            if number <= begun or not _is_comment(line):
                continue
            for _, row in _rows([line], dialect.separator, False, 0):
                if len(row) == width:
                    raise InputError(
                        f"{path} has {one_line(line.strip())!r} in line {number}, a "
                        "comment that may be a row; remove the line, or its first mark"
                    )
