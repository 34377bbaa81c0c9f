"""``ekss data``: benchmark data sets into the data home, and what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from ekss.datasets._catalog import DataSet
    from ekss.datasets._check import Checked

data_app = typer.Typer(
    help="Get the benchmark data sets and see which are there.", no_args_is_help=True
)
Home = Annotated[
    Path | None,
    typer.Option(
        "--data-home",
        help="Folder of the data files; else EKSS_DATA, else the cache folder.",
        show_default=False,
    ),
]


@data_app.command("list")
def list_sets(data_home: Home = None) -> None:
    """Show all data sets: sizes, terms, and whether they are in the data home."""
    from rich.console import Console

    from ekss.datasets import get_data_home

    home, console = get_data_home(data_home), Console()
    console.print(_table(home))
    console.print(f"Data home: {home}", markup=False, highlight=False, soft_wrap=True)


@data_app.command("fetch")
def fetch_sets(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="hopkins155, eyaleb, coil20, coil100, usps, mnist_test, mnist_train; "
            "mnist for both its parts; all for everything.",
            show_default=False,
        ),
    ],
    data_home: Home = None,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch also what is there already.")
    ] = False,
) -> None:
    """Download data sets from their official sources.

    Archives are checked, converted and then removed; only one file per data set
    stays. A failed download leaves the file that was there before.
    """
    from rich.console import Console

    from ekss.datasets import get_data_home
    from ekss.datasets._catalog import CATALOG, named
    from ekss.datasets._fetch import fetch
    from ekss.datasets._store import REFERENCE, variant_of

    home, console, jobs = get_data_home(data_home), Console(), []
    with _bars(console) as bar:
        for dataset in named(names, CATALOG):
            if not force and variant_of(dataset, home) in (REFERENCE, "converted"):
                console.print(f"{dataset.name} is there already; --force fetches anew")
            else:
                jobs.append((dataset, partial(fetch, dataset, home, bar)))
        _run(jobs, home, console)


@data_app.command("import")
def import_sets(
    path: Annotated[
        Path,
        typer.Argument(
            help="A canonical .npz file, an official archive, or a folder with any of "
            "them.",
            show_default=False,
        ),
    ],
    data_home: Home = None,
) -> None:
    """Take data sets from files on this machine.

    Official archives: Hopkins155.zip, CroppedYale.zip, coil-20-proc.zip,
    coil-100.zip, zip.train.gz with zip.test.gz, and the idx files of MNIST.
    """
    from rich.console import Console

    from ekss.datasets import get_data_home
    from ekss.datasets._catalog import CATALOG
    from ekss.datasets._import import find_sources, import_source

    home = get_data_home(data_home)
    jobs = [
        (source.dataset, partial(import_source, source, home))
        for source in find_sources(path, CATALOG)
    ]
    _run(jobs, home, Console())


def _run(
    jobs: Sequence[tuple[DataSet, Callable[[], Checked]]], home: Path, console: Console
) -> None:
    """Do all jobs, also after one fails; report each, then the failures at once."""
    failures = []
    for dataset, job in jobs:
        try:
            checked = job()
        except (ValueError, OSError) as error:
            failures.append(str(error))
            console.print(f"{dataset.name}: failed")
        else:
            line = f"{dataset.name}: {home / dataset.filename} ({checked.variant})"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if failures:
        raise ValueError("; ".join(failures))


def _table(home: Path) -> Table:
    from rich import box
    from rich.table import Table

    from ekss.datasets._catalog import CATALOG
    from ekss.datasets._store import variant_of

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("name", "what", "N", "D", "K", "present", "MB", "terms"):
        number = heading in ("N", "D", "K", "MB")
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for dataset in CATALOG:
        variant = variant_of(dataset, home)
        path = home / dataset.filename
        size = f"{path.stat().st_size / 1e6:.1f}" if variant else "-"
        row = (*dataset.size, variant or "no", size, dataset.terms)
        table.add_row(dataset.name, dataset.kind, *row)
    return table


@contextmanager
def _bars(console: Console) -> Iterator[Callable[[str], Any]]:
    """Give a maker of progress bars in the form that pooch's downloader takes."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield lambda name: _Bar(progress, name)


class _Bar:
    """One download's bar: ``total`` is set by the downloader, which then updates."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=None)
        self._total = 0

    @property
    def total(self) -> int:
        """Bytes that will come, 0 where the server does not say."""
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        self._total = total
        self._progress.update(self._task, total=total or None)

    def update(self, count: int) -> None:
        """Count bytes that came."""
        self._progress.update(self._task, advance=count)

    def reset(self) -> None:
        """Begin at zero, as the downloader does before it fills the bar."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Take the bar away, once or again."""
        self._progress.update(self._task, visible=False)
