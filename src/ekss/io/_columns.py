"""Which columns of a table are features, which one names the rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ekss.io._errors import InputError

ID_NAMES = ("", "id", "ids", "index")

_LISTED = 12
# Keys of records: id, customer_id, "Order ID", PassengerId.
_KEY_NAME = re.compile(r"(?i:(?:.*[ _.-])?ids?)|.*[a-z0-9]I[Dd]s?")
# What pandas and R call the numbers of rows where nobody named them.
_ROW_NAME = re.compile(r"(?i:index|unnamed: \d+|__index_level_\d+__|row[ _.-]?names?)?")


@dataclass(frozen=True)
class Choice:
    """What the caller said about columns.

    ``id_column`` is False where no column names the rows; ``columns`` are the names of
    the features in their order, None for all columns of numbers.
    """

    id_column: str | int | bool | None = None
    header: bool | str = "auto"
    drop: tuple[str | int, ...] = ()
    columns: tuple[str, ...] | None = None

    @property
    def has_id_column(self) -> bool:
        """Whether the caller named the column of ids."""
        return self.id_column is not None and self.id_column is not False

    def asides(
        self,
        path: Path,
        names: Sequence[str],
        likely: Sequence[int],
        dropped: Collection[int],
    ) -> list[int]:
        """Return columns that may name the rows: the one asked for, and the likely."""
        if self.id_column is False:
            return []
        if self.id_column is None:
            return [i for i in likely if i not in dropped]
        asked = column_number(path, names, self.id_column)
        if asked in dropped:
            raise InputError(
                f"column {self.id_column!r} of {path} cannot both name the rows and be "
                "left out; choose one of the two"
            )
        return [asked, *(i for i in likely if i not in {asked, *dropped})]


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
            return not self._has_fractions
        counts_rows = bool(self.name or self.is_first)
        counts_rows &= _ROW_NAME.fullmatch(self.name) is not None
        return counts_rows and self._is_unique and not self._has_fractions

    @property
    def names_rows(self) -> bool:
        """Whether its values can serve as names of the rows."""
        if not self._is_unique:
            return False
        if self.is_identifier:
            return True
        return self.is_first and (self.name.lower() in ID_NAMES or self._is_mostly_text)

    @cached_property
    def _is_unique(self) -> bool:
        return len(set(self.values)) == len(self.values)

    @cached_property
    def _has_fractions(self) -> bool:
        return any(
            is_number(value) and not float(value).is_integer() for value in self.values
        )

    @property
    def _is_mostly_text(self) -> bool:
        texts = sum(not is_number(value) for value in self.values)
        return 2 * texts > len(self.values)


@dataclass(frozen=True)
class Roles:
    """What becomes of the columns that might have named the rows."""

    ids: Aside | None
    features: tuple[Aside, ...]
    left_out: tuple[Aside, ...]


def assign_roles(
    asides: Sequence[Aside],
    choice: Choice,
    *,
    matched: bool,
    known: int | None = None,
) -> Roles:
    """Choose the column that names the rows; identifiers beside it are left out.

    Parameters
    ----------
    asides : sequence of Aside
        The one that the caller asked for comes first.
    choice : Choice
    matched : bool
        Whether the features were chosen by their names: then no other column is one.
    known : int or None
        Position of a column that surely names the rows.
    """
    if choice.has_id_column:
        ids = next(iter(asides), None)
    else:
        ids = next((a for a in asides if a.position == known or a.names_rows), None)
    rest = [aside for aside in asides if aside is not ids]
    left_out = [aside for aside in rest if matched or aside.is_identifier]
    features = [aside for aside in rest if aside not in left_out]
    return Roles(ids, tuple(features), tuple(left_out))


def may_be_identifier(name: str) -> bool:
    """Whether a column of this name, wherever it stands, may be an identifier."""
    named = _KEY_NAME.fullmatch(name) or _ROW_NAME.fullmatch(name)
    return bool(name and named)


def matched_columns(
    path: Path, names: Sequence[str], wanted: Sequence[str], dropped: Collection[int]
) -> list[int]:
    """Return where the wanted columns are; refuse missing and ambiguous names."""
    there = [name for i, name in enumerate(names) if i not in dropped]
    if there == list(wanted):
        return [i for i in range(len(names)) if i not in dropped]
    missing = [name for name in dict.fromkeys(wanted) if name not in there]
    if missing:
        what = "column" if len(missing) == 1 else f"{len(missing)} columns"
        raise InputError(
            f"{path} lacks the {what} {listed(missing)}, needed among {len(wanted)}; "
            f"it has {listed(there)}: rename the columns or add what is missing"
        )
    for name in wanted:
        if there.count(name) > 1 or list(wanted).count(name) > 1:
            raise InputError(
                f"{path} cannot be matched by name, because more than one column is "
                f"called {name!r}; rename the columns"
            )
    places = {name: i for i, name in enumerate(names) if i not in dropped}
    return [places[name] for name in wanted]


def column_number(path: Path, names: Sequence[str], column: str | int) -> int:
    """Return the position of a column given by name, or by number from 0."""
    if column in names:
        return list(names).index(str(column))
    digits = isinstance(column, int) or column.isdecimal()
    if digits and 0 <= int(column) < len(names):
        return int(column)
    raise InputError(
        f"{path} has no column {column!r}; it has {listed(names)}, or numbers from 0 "
        f"to {len(names) - 1}"
    )


def listed(names: Sequence[str]) -> str:
    """Write names one after the other, of many the first."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more


def is_number(text: str) -> bool:
    """Whether the text is a number as the readers of text understand them."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
