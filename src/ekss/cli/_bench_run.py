"""What the bench commands share: options, running a plan, and what they say."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ekss.benchmarks import Cell, Plan, Step

Jobs = Annotated[
    int,
    typer.Option(help="Cells at a time, with one thread each; -1 is one a core."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute every cell again.")]
KeepOld = Annotated[
    bool,
    typer.Option(
        "--keep-old",
        help="Keep rows that another version of the code made; pages say so.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show cells and estimated times only.")
]

DEFAULT_OUTPUT = Path("ekss-results")


def run_and_write(
    plan: Plan,
    write: Callable[..., Any],
    profile: Any,
    *,
    output: Path,
    jobs: int,
    fresh: bool,
    keep_old: bool,
    dry_run: bool,
    console: Console,
) -> None:
    """Compute what is not on disk, then write and show what the rows make.

    Parameters
    ----------
    plan : Plan
    write : callable
        ``write(plan, rows, output, profile, command=...)`` returns what was written.
    profile : Profile or FigureProfile
    output : Path
    jobs : int
        Cells at a time; -1 is one a core.
    fresh, keep_old, dry_run : bool
        Compute every cell again; keep rows of another version of the code; compute
        nothing.
    console : Console
    """
    from ekss.benchmarks import old_cells, open_cells, run_plan

    workers = count_workers("jobs", jobs)
    todo = open_cells(plan, output, keep_old=keep_old)
    if fresh:
        todo = list(plan.cells)
    _say_estimate(plan, todo, workers, console)
    _say_old(old_cells(plan, output), keep_old and not fresh, console)
    if dry_run:
        _say_costs(plan, console)
        return
    try:
        with _progress(console) as report:
            rows = run_plan(
                plan,
                output,
                jobs=workers,
                fresh=fresh,
                keep_old=keep_old,
                report=report,
            )
    except KeyboardInterrupt:
        console.print("Stopped; finished cells are kept, the same command goes on.")
        raise typer.Exit(130) from None
    command = shlex.join(["ekss", *sys.argv[1:]])
    say_written(write(plan, rows, output, profile, command=command), console)


def say_written(written: Any, console: Console) -> None:
    """Show the text of what was written, and the files."""
    say(console, written.text)
    for path in written.files:
        say(console, str(path))


def say_missing(plan: Plan, console: Console) -> None:
    """Tell what cannot be computed, and why."""
    for name, reason in plan.missing.items():
        say(console, f"missing: {name}: {reason}")


def count_workers(option: str, wanted: int) -> int:
    """Return how many work at a time; -1 stands for one a core."""
    if wanted == 0 or wanted < -1:
        raise ValueError(
            f"{option}={wanted} runs nothing; pass a count, or -1 for all cores"
        )
    return (os.cpu_count() or 1) if wanted == -1 else wanted


def _say_estimate(plan: Plan, todo: list[Cell], jobs: int, console: Console) -> None:
    longest = max((cell.cost for cell in todo), default=0.0)
    seconds = max(sum(cell.cost for cell in todo) / jobs, longest)
    say(
        console,
        f"{len(plan.cells)} cells, {len(plan.cells) - len(todo)} of them on disk; "
        f"about {_duration(seconds)} for the rest with {jobs} at a time",
    )


def _say_old(old: list[Cell], kept: bool, console: Console) -> None:
    """Tell of rows on disk that another version of the code made."""
    if not old:
        return
    what = f"{len(old)} cells on disk were made by another version of the code"
    done = (
        "they are kept" if kept else "they are computed again (--keep-old keeps them)"
    )
    say(console, f"{what}; {done}")


def _say_costs(plan: Plan, console: Console) -> None:
    """Show the estimated minutes of one core for each data set and method."""
    from rich.table import Table

    methods = list(dict.fromkeys(cell.method for cell in plan.cells))
    table = Table(title="estimated minutes on one core")
    table.add_column("data set")
    for name in [*methods, "all"]:
        table.add_column(name, justify="right")
    for dataset in dict.fromkeys(cell.dataset for cell in plan.cells):
        costs = [
            sum(c.cost for c in plan.cells if (c.dataset, c.method) == (dataset, name))
            for name in methods
        ]
        shown = [f"{cost / 60:.1f}" for cost in [*costs, sum(costs)]]
        table.add_row(dataset, *shown)
    console.print(table)


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[Step], None]]:
    """Yield what shows the steps of a run: a bar on a terminal, lines elsewhere."""
    if not console.is_terminal:
        yield lambda step: _say_step(console, step)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        console=console,
    )
    with bar:
        task = bar.add_task("starting", total=None)

        def show(step: Step) -> None:
            text = f"{_duration(step.left)} left   {step.cell.title}"
            bar.update(task, total=step.total, completed=step.done, description=text)
            if step.row is not None and "failed" in step.row:
                bar.console.print(f"{step.cell.title}: {step.row['failed']}")

        yield show


def _say_step(console: Console, step: Step) -> None:
    if step.row is None:
        return
    row = step.row
    result = f"{row['error']:.2f} %" if "error" in row else row.get("failed", "done")
    if "failed" in row:
        result = f"failed: {result}"
    say(
        console,
        f"{step.done}/{step.total} {step.cell.title}: {result} in "
        f"{_duration(row['wall_seconds'])}, {_duration(step.left)} left",
    )


def say(console: Console, text: str) -> None:
    """Print as it is: no markup, no colours, no breaks."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _duration(seconds: float) -> str:
    """Write a time for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
