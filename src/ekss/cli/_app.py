"""The application and its entry point; commands import what they need when they run."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from ekss.cli._bench import bench_app
from ekss.cli._cluster import cluster, inspect, predict
from ekss.cli._compare import compare
from ekss.cli._data import data_app
from ekss.cli._demo import demo
from ekss.cli._doctor import doctor
from ekss.cli._output import run
from ekss.cli._theory import theory

app = typer.Typer(
    name="ekss",
    help="Subspace clustering with ensembles of K-subspaces.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (cluster, predict, compare, inspect, theory, demo, doctor):
    app.command()(command)
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
            "-V",
            help="Show the version and exit.",
            callback=show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Subspace clustering with ensembles of K-subspaces."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words of the command line after the program's name; None takes those of the
        process.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal without the letters of a name shows their codes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(app, sys.argv[1:] if arguments is None else arguments))
