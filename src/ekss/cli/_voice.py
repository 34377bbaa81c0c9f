"""What a command says on the way: plan, waiting, tables; or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from ekss.cli._measures import Scores

_MOST_ROWS = 20
_WIDTH_OF_FILES = 160


class Voice:
    """Prints for people on stdout; silent with ``--quiet`` and ``--json``."""

    def __init__(self, silent: bool) -> None:
        from rich.console import Console

        self.silent = silent
        self._out = Console(quiet=silent)
        if not self._out.is_terminal:
            self._out.width = _WIDTH_OF_FILES
        self._err = Console(stderr=True, quiet=silent)

    def plan(self, lines: Sequence[tuple[str, str]]) -> None:
        """Say what will be done."""
        for word, text in lines:
            self._out.print(f"[bold]{word:<8}[/]", end="")
            self.line(text)
        self.line("")

    def line(self, text: str) -> None:
        """Print as it is: no markup, no colours, no breaks."""
        self._out.print(text, markup=False, highlight=False, soft_wrap=True)

    def warn(self, texts: Sequence[str]) -> None:
        """Print warnings on stderr."""
        for text in texts:
            self._err.print(
                f"warning: {text}", markup=False, highlight=False, soft_wrap=True
            )

    def show(self, table: Any) -> None:
        """Print a table, or anything that rich can print."""
        self._out.print(table)

    def rows(self, table: Table) -> None:
        """Print a table of clusters, of a long one the beginning."""
        hidden = table.row_count - _MOST_ROWS
        if hidden > 0:
            del table.rows[_MOST_ROWS:]
        self.show(table)
        if hidden > 0:
            self.line(f"... and {hidden} more clusters; --json shows them all")

    def scores(self, scores: Scores | None) -> None:
        """Print how far labels agree with the true ones, if those are known."""
        if scores is not None:
            self.line(
                f"Against the true labels: error {percent(scores.error)}, "
                f"NMI {scores.nmi:.3f}, ARI {scores.ari:.3f}"
            )

    def stage(self, text: str) -> None:
        """Announce on stderr what the next bars belong to."""
        self._err.print(text, markup=False, highlight=False)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show on a terminal that something goes on, where no bar can be given."""
        if self.silent or not self._err.is_terminal:
            yield
            return
        with self._err.status(text):
            yield


def table(headings: Sequence[str], left: Sequence[str] = ()) -> Table:
    """Return an empty table; columns are right-aligned but those named in ``left``."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        made.add_column(
            heading, justify="left" if heading in left else "right", no_wrap=True
        )
    return made


def percent(share: float | None) -> str:
    """Write a share for people."""
    return "-" if share is None else f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """Write a time for people."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def counted(number: int, noun: str) -> str:
    """Write 1 point, 2 points."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
