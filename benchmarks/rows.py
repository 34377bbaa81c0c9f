"""Rows of a benchmark on disk: what is there already is not computed again."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Key = tuple[str, ...]


@dataclass(frozen=True)
class RowFile:
    """A file of comma-separated values with one row for every fit.

    Attributes
    ----------
    path : Path
    keys : tuple of str
        Columns that name a fit.
    measured : tuple of str
        Columns that hold what came out. Between them stands the hash of the code, in
        a file that has no other order already.
    """

    path: Path
    keys: tuple[str, ...]
    measured: tuple[str, ...]

    def known(self) -> dict[Key, dict[str, str]]:
        """Return the rows that are there, by their keys."""
        if not self.path.exists():
            return {}
        with self.path.open(newline="") as file:
            rows = csv.DictReader(file)
            return {tuple(row[key] for key in self.keys): row for row in rows}

    def add(
        self,
        wanted: Iterable[Key],
        measure: Callable[[Key], Mapping[str, Any] | None],
        code: str,
    ) -> None:
        """Measure what is wanted and not there, and write and show it row by row.

        Where ``measure`` returns None, the row stays open.
        """
        done = self.known()
        columns = [*self.keys, "code", *self.measured]
        if done:
            columns = list(next(iter(done.values())))
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns)
            if file.tell() == 0:
                writer.writeheader()
            for key in wanted:
                found = None if key in done else measure(key)
                if found is None:
                    continue
                named = dict(zip(self.keys, key, strict=True))
                row = named | {"code": code} | {n: _shown(v) for n, v in found.items()}
                writer.writerow(row)
                file.flush()
                print(*row.values(), flush=True)


def _shown(value: Any) -> Any:
    """Return a number in as many digits as are worth keeping."""
    return f"{value:.6g}" if isinstance(value, float) else value
