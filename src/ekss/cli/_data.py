"""``ekss data``: download, import and list the benchmark data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ekss.cli._options import DATA_SETS, DataHome, argument, one_of
from ekss.cli._output import say, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from ekss.datasets import Checked, DataSet

data_app = typer.Typer(
    help="Download the benchmark data sets, and list which are there.",
    no_args_is_help=True,
)


@data_app.command("list")
def list_sets(data_home: DataHome = None) -> None:
    """Show all data sets: sizes, terms, and whether they are in the data home."""
    from rich.console import Console

    from ekss.datasets import get_data_home

    home, console = get_data_home(data_home), Console()
    console.print(_table(home))
    say(console, f"Data home: {home}")


@data_app.command("fetch")
def fetch_sets(
    names: Annotated[
        list[str],
        argument(
            metavar="NAME...",
            help=f"{', '.join(DATA_SETS)}; mnist for both its parts; all for "
            "everything.",
            autocompletion=one_of(*DATA_SETS, "mnist", "all"),
        ),
    ],
    data_home: DataHome = None,
    force: Annotated[
        bool, typer.Option("--force", help="Download again what is already there.")
    ] = False,
) -> None:
    """Download data sets from their official sources.

    Archives are checked, converted and then removed; one file per data set is kept.
    A failed download leaves an earlier file as it was.
    """
    from rich.console import Console

    from ekss.datasets import CATALOG, fetch, get_data_home, named, variant_of

    home, console, jobs = get_data_home(data_home), Console(), []
    with _bars(console) as bar:
        for dataset in named(names, CATALOG):
            if not force and variant_of(dataset, home) not in (None, "damaged"):
                console.print(
                    f"{dataset.name} is already there; --force downloads it again"
                )
            else:
                jobs.append((dataset, partial(fetch, dataset, home, bar)))
        _run(jobs, home, console)


@data_app.command("import")
def import_sets(
    path: Annotated[
        Path,
        argument(
            help="An .npz file of a data home, an official archive, or a directory "
            "with any of them."
        ),
    ],
    data_home: DataHome = None,
) -> None:
    """Import data sets from files on this machine.

    Official archives: Hopkins155.zip, CroppedYale.zip, coil-20-proc.zip,
    coil-100.zip, zip.train.gz with zip.test.gz, and the idx files of MNIST.
    """
    from rich.console import Console

    from ekss.datasets import CATALOG, find_sources, get_data_home, import_source

    home = get_data_home(data_home)
    jobs = [
        (source.dataset, partial(import_source, source, home))
        for source in find_sources(path, CATALOG)
    ]
    _run(jobs, home, Console())


def _run(
    jobs: Sequence[tuple[DataSet, Callable[[], Checked]]], home: Path, console: Console
) -> None:
    """Do all jobs, even after one fails; report each, then all failures."""
    failures = []
    for dataset, job in jobs:
        try:
            checked = job()
        except (ValueError, OSError) as error:
            failures.append(str(error))
            console.print(f"{dataset.name}: failed")
        else:
            path = home / dataset.filename
            say(console, f"{dataset.name}: {path} ({checked.variant})")
    if failures:
        raise ValueError("; ".join(failures))


def _table(home: Path) -> Table:
    from ekss.datasets import CATALOG, variant_of

    words = ("name", "what", "present", "terms")
    shown = table(("name", "what", "N", "D", "K", "present", "MB", "terms"), words)
    for dataset in CATALOG:
        variant = variant_of(dataset, home)
        path = home / dataset.filename
        size = f"{path.stat().st_size / 1e6:.1f}" if variant else "-"
        row = (*dataset.size, variant or "no", size, dataset.terms)
        shown.add_row(dataset.name, dataset.kind, *row)
    return shown


@contextmanager
def _bars(console: Console) -> Iterator[Callable[[str], Any]]:
    """Yield a maker of progress bars in the form that pooch's downloader takes."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield lambda name: _Bar(progress, name)


class _Bar:
    """One download's bar: ``total`` is set by the downloader, which then updates."""

    def __init__(self, progress: Progress, name: str) -> None:
        self.total = 0  # bytes to come; 0 where the server does not say
        self._change = partial(progress.update, progress.add_task(name, total=None))

    def update(self, count: int) -> None:
        """Add bytes that have come."""
        self._change(advance=count, total=self.total or None)

    def reset(self) -> None:
        """Start at zero, as the downloader does before it fills the bar."""
        self._change(completed=0)

    def close(self) -> None:
        """Hide the bar; may be called twice."""
        self._change(visible=False)
