"""``ekss bench figure1`` to ``figure4``: the paper's figures, drawn from rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ekss.cli._bench_run import (
    DEFAULT_OUTPUT,
    DryRun,
    Fresh,
    Jobs,
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


def add_figures(bench: typer.Typer) -> None:
    """Register the commands."""
    for command in (figure1, figure2, figure3, figure4):
        bench.command()(command)


def figure1(
    profile: FigureProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Co-association matrices and errors with 1, 5 and 50 members."""
    _make("figure1", profile, jobs, output, fresh, dry_run)


def figure2(
    profile: FigureProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Similarity against angle: full data, Gaussian projection and UMAP."""
    _make("figure2", profile, jobs, output, fresh, dry_run)


def figure3(
    profile: FigureProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Heat maps of errors: EKSS, EKSS-0, TSC, SSC over N_k and d, N_k and angle."""
    _make("figure3", profile, jobs, output, fresh, dry_run)


def figure4(
    profile: FigureProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Errors against the angle between subspaces, with noise."""
    _make("figure4", profile, jobs, output, fresh, dry_run)


def _make(
    name: str, profile: str, jobs: int, output: Path, fresh: bool, dry_run: bool
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
        dry_run=dry_run,
        console=console,
    )
