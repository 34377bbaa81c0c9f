"""``ekss bench``: the paper's tables by one command, with all rows on disk."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ekss.benchmarks import Plan, Profile, Step

bench_app = typer.Typer(
    help="Make the paper's tables: every result is kept, a stopped run goes on.",
    no_args_is_help=True,
)

Datasets = Annotated[
    str,
    typer.Option(
        help="Comma-separated: hopkins, yaleb, coil20, coil100, usps, mnist; or all."
    ),
]
Methods = Annotated[
    str,
    typer.Option(
        help="Comma-separated: ekss, kss, copkss, mkf, tsc, ssc, sscomp, ensc; or all."
    ),
]
ProfileName = Annotated[
    str,
    typer.Option(help="smoke (minutes, subsets), quick (about an hour), paper (days)."),
]
Jobs = Annotated[
    int,
    typer.Option(help="Cells at a time, with one thread each; -1 is one a core."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")]
Home = Annotated[
    Path | None,
    typer.Option(
        "--data-home",
        help="Folder of the data files; else EKSS_DATA, else the cache folder.",
        show_default=False,
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute every cell again.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show cells and estimated times only.")
]

_OUTPUT = Path("ekss-results")


@dataclass(frozen=True)
class _Part:
    """Which part of the table is wanted."""

    profile: Profile
    datasets: tuple[str, ...]
    methods: tuple[str, ...]


@bench_app.command()
def table1(
    datasets: Datasets = "all",
    methods: Methods = "all",
    profile: ProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = _OUTPUT,
    data_home: Home = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Errors of all methods on all data sets beside the paper's (its Table I)."""
    from rich.console import Console

    from ekss.benchmarks import run_plan, write_table1

    console = Console()
    part = _part(profile, datasets, methods)
    plan = _plan(part, data_home, console)
    workers = _workers(jobs)
    _say_estimate(plan, output, workers, fresh, console)
    if dry_run:
        _say_costs(plan, console)
        return
    try:
        with _progress(console) as report:
            rows = run_plan(plan, output, jobs=workers, fresh=fresh, report=report)
    except KeyboardInterrupt:
        console.print("Stopped; finished cells are kept, the same command goes on.")
        raise typer.Exit(130) from None
    command = shlex.join(["ekss", *sys.argv[1:]])
    written = write_table1(plan, rows, output, part.profile, command=command)
    _say(console, written.text)
    for path in written.files:
        _say(console, str(path))


@bench_app.command()
def table2(output: Output = _OUTPUT, data_home: Home = None) -> None:
    """Sizes of the data sets beside the paper's (the first table of its appendix)."""
    from rich.console import Console

    from ekss.benchmarks import loaders, write_table2

    written = write_table2(loaders(data_home), output)
    console = Console()
    _say(console, written.text)
    for path in written.files:
        _say(console, str(path))


@bench_app.command()
def table3(
    profile: ProfileName = "quick", output: Output = _OUTPUT, data_home: Home = None
) -> None:
    """Parameters: the paper's beside those our labels chose, from rows of table1."""
    from rich.console import Console

    from ekss.benchmarks import read_rows, write_table3

    console = Console()
    plan = _plan(_part(profile, "all", "all"), data_home, console)
    written = write_table3(plan, read_rows(output, plan.cells), output)
    _say(console, written.text)
    for path in written.files:
        _say(console, str(path))


def _part(profile: str, datasets: str, methods: str) -> _Part:
    from ekss.benchmarks import DATASETS, METHODS, PROFILES

    if profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise ValueError(f"profile={profile!r} is unknown; choose one of {known}")
    return _Part(
        PROFILES[profile],
        _chosen("datasets", datasets, tuple(DATASETS)),
        _chosen("methods", methods, tuple(METHODS)),
    )


def _chosen(option: str, wanted: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names asked for, in the order of the table."""
    if wanted == "all":
        return known
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ValueError(
                f"{option} has {name!r}; choose from {', '.join(known)}, or all"
            )
    if not names:
        raise ValueError(f"{option} is empty; choose from {', '.join(known)}, or all")
    return tuple(name for name in known if name in names)


def _workers(jobs: int) -> int:
    if jobs == 0 or jobs < -1:
        raise ValueError(f"jobs={jobs} runs nothing; pass a count, or -1 for all cores")
    return (os.cpu_count() or 1) if jobs == -1 else jobs


def _plan(part: _Part, data_home: Path | None, console: Console) -> Plan:
    """Prepare what the cells need, and tell of data sets that are not there."""
    from ekss.benchmarks import loaders, plan_table1
    from ekss.datasets import get_data_home

    plan = plan_table1(
        part.profile,
        get_data_home(data_home),
        loaders(data_home),
        datasets=part.datasets,
        methods=part.methods,
        report=lambda text: _say(console, f"{text} ..."),
    )
    for dataset, reason in plan.missing.items():
        _say(console, f"missing: {dataset}: {reason}")
    return plan


def _say_estimate(
    plan: Plan, output: Path, jobs: int, fresh: bool, console: Console
) -> None:
    from ekss.benchmarks import open_cells

    todo = list(plan.cells) if fresh else open_cells(plan, output)
    longest = max((cell.cost for cell in todo), default=0.0)
    seconds = max(sum(cell.cost for cell in todo) / jobs, longest)
    _say(
        console,
        f"{len(plan.cells)} cells, {len(plan.cells) - len(todo)} of them on disk; "
        f"about {_duration(seconds)} for the rest with {jobs} at a time",
    )


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
    result = f"{row['error']:.2f} %" if "error" in row else f"failed: {row['failed']}"
    _say(
        console,
        f"{step.done}/{step.total} {step.cell.title}: {result} in "
        f"{_duration(row['wall_seconds'])}, {_duration(step.left)} left",
    )


def _say(console: Console, text: str) -> None:
    """Print as it is: no markup, no colours, no breaks."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _duration(seconds: float) -> str:
    """Write a time for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
