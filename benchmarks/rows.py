"""Benchmarks whose fits are rows on disk: computed again once the code has changed."""

from __future__ import annotations

import csv
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Key = tuple[str, ...]
Rows = list[dict[str, str]]
RESULTS = Path(__file__).parents[1] / "docs" / "results"


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
        """Return the rows that are there, the newest of every key."""
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

        A row that other code made is measured again, and stays until then. Where
        ``measure`` returns None, the row stays open.
        """
        known = self.known()
        columns = [*self.keys, "code", *self.measured]
        if known:
            columns = list(next(iter(known.values())))
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns)
            if file.tell() == 0:
                writer.writeheader()
            for key in wanted:
                is_done = key in known and known[key]["code"] == code
                found = None if is_done else measure(key)
                if found is None:
                    continue
                named = dict(zip(self.keys, key, strict=True))
                row = named | {"code": code} | {n: _shown(v) for n, v in found.items()}
                writer.writerow(row)
                file.flush()
                print(*row.values(), flush=True)
        self._keep_newest(columns)

    def _keep_newest(self, columns: Iterable[str]) -> None:
        """Write the file without the rows that were measured again later."""
        draft = self.path.with_suffix(".tmp")
        with draft.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(self.known().values())
        draft.replace(self.path)


@dataclass(frozen=True)
class Study:
    """A benchmark with its rows and its page in docs/results.

    Attributes
    ----------
    name : str
        Of its files, and of its script.
    title : str
        Of its page.
    keys, measured : tuple of str
        Columns of its rows: see :class:`RowFile`.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    measured: tuple[str, ...]

    @property
    def file(self) -> RowFile:
        """Its rows."""
        return RowFile(RESULTS / f"{self.name}.csv", self.keys, self.measured)

    def arguments(self, about: str) -> ArgumentParser:
        """Return the arguments that all studies have."""
        parser = ArgumentParser(description=about.splitlines()[0])
        parser.add_argument("--fresh", action="store_true", help="forget earlier rows")
        parser.add_argument("--page", action="store_true", help="only write the page")
        return parser

    def carry_out(
        self,
        given: Namespace,
        wanted: Iterable[Key],
        measure: Callable[[Key], Mapping[str, Any] | None],
        body: Callable[[Rows], Iterable[str]],
    ) -> None:
        """Measure what is missing, and write the page: a title, versions, the body."""
        # Some studies measure memory, and import ekss in processes of their own.
        from ekss.benchmarks._pages import wrapped
        from ekss.benchmarks._versions import (
            code_of,
            libraries_in,
            provenance,
            version_line,
        )

        if given.fresh:
            self.file.path.unlink(missing_ok=True)
        if not given.page:
            self.file.add(wanted, measure, code_of())
        rows = list(self.file.known().values())
        made_by = version_line(
            [row["code"] for row in rows], [libraries_in(provenance())], what="fits"
        )
        page = [f"# {self.title}", "", made_by, "", *body(rows)]
        text = wrapped("\n".join(page).rstrip() + "\n")
        (RESULTS / f"{self.name}.md").write_text(text, encoding="utf-8")


def _shown(value: Any) -> Any:
    """Return a number in as many digits as are worth keeping."""
    return f"{value:.6g}" if isinstance(value, float) else value
