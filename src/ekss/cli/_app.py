"""The application and its entry point; each command imports its targets itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ekss.cli._bench import bench_app
from ekss.cli._data import data_app

app = typer.Typer(
    name="ekss",
    help="Subspace clustering with ensembles of K-subspaces.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
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
        Path, typer.Option("--output", "-o", help="Folder for the two pictures.")
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


def main() -> None:
    """Run the command; user errors end in one line on stderr and exit code 2."""
    try:
        app()
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        typer.echo(f"ekss: {error}", err=True)
        sys.exit(2)
