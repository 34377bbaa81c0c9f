"""The application and its entry point; each command imports its targets itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ekss.cli._bench import bench_app
from ekss.cli._cluster import cluster
from ekss.cli._compare import compare
from ekss.cli._data import data_app
from ekss.cli._errors import run
from ekss.cli._inspect import inspect
from ekss.cli._predict import predict
from ekss.cli._theory import theory

app = typer.Typer(
    name="ekss",
    help="Subspace clustering with ensembles of K-subspaces.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command()(cluster)
app.command()(predict)
app.command()(compare)
app.command()(inspect)
app.command()(theory)
app.add_typer(data_app, name="data")
app.add_typer(bench_app, name="bench")


def show_version(wanted: bool) -> None:
    """Print the installed version and stop."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"ekss {version('ekss')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Subspace clustering with ensembles of K-subspaces."""


def some_workers(jobs: int) -> int:
    """Refuse 0, which would run nothing."""
    if jobs == 0:
        raise typer.BadParameter("0 runs nothing; pass a count, or -1 for all cores")
    return jobs


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for reports and the picture.")
    ] = Path("demo"),
    seed: Annotated[
        int, typer.Option(help="Seed of the random draws.", min=0, max=2**32 - 1)
    ] = 0,
    jobs: Annotated[
        int,
        typer.Option(help="Parallel workers; -1 uses all.", callback=some_workers),
    ] = -1,
) -> None:
    """Cluster handwritten digits and picture how votes add up to clusters."""
    from ekss.cli._demo import run_demo

    run_demo(output, seed, jobs)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words of the command line after the program's name; None takes the process's.
    """
    sys.exit(run(app, sys.argv[1:] if arguments is None else arguments))
