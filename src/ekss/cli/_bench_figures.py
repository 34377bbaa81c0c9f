"""``ekss bench figure1`` to ``figure4``: the paper's figures, drawn from rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ekss.cli._bench_run import (
    DEFAULT_OUTPUT,
    DryRun,
    Fresh,
    Jobs,
    KeepOld,
    Output,
    run_and_write,
    say_missing,
)

FigureProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        help="smoke (a minute), quick (under an hour), paper (figure3: months).",
    ),
]


_SHOWN = {
    "figure1": "Co-association matrices and errors with 1, 5 and 50 members.",
    "figure2": "Similarity against angle: full data, Gaussian projection and UMAP.",
    "figure3": (
        "Heat maps of errors: EKSS, EKSS-0, TSC, SSC over N_k and d, N_k and angle."
    ),
    "figure4": "Errors against the angle between subspaces, with noise.",
}


def add_figures(bench: typer.Typer) -> None:
    """Register the commands."""
    for name, shown in _SHOWN.items():
        bench.command(name, help=shown)(_command(name))


def _command(name: str) -> Callable[..., None]:
    def command(
        profile: FigureProfileName = "quick",
        jobs: Jobs = -1,
        output: Output = DEFAULT_OUTPUT,
        fresh: Fresh = False,
        keep_old: KeepOld = False,
        dry_run: DryRun = False,
    ) -> None:
        _make(name, profile, jobs, output, fresh, keep_old, dry_run)

    return command


def _make(
    name: str,
    profile: str,
    jobs: int,
    output: Path,
    fresh: bool,
    keep_old: bool,
    dry_run: bool,
) -> None:
    from rich.console import Console

    from ekss.benchmarks import FIGURE_PROFILES, FIGURES

    if profile not in FIGURE_PROFILES:
        known = ", ".join(FIGURE_PROFILES)
        raise ValueError(f"profile={profile!r} is unknown; choose one of {known}")
    sizes, figure, console = FIGURE_PROFILES[profile], FIGURES[name], Console()
    plan = figure.plan(sizes)
    say_missing(plan, console)
    run_and_write(
        plan,
        figure.write,
        sizes,
        output=output,
        jobs=jobs,
        fresh=fresh,
        keep_old=keep_old,
        dry_run=dry_run,
        console=console,
    )
