"""``ekss bench``: the paper's tables and figures, with all rows on disk."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ekss.cli._options import DataHome
from ekss.cli._output import STOPPED, duration, say

if TYPE_CHECKING:
    from rich.console import Console

    from ekss.benchmarks import Cell, Plan, Profile, Step

bench_app = typer.Typer(
    help="Make the paper's tables and figures; an interrupted run can be resumed.",
    no_args_is_help=True,
)

Datasets = Annotated[
    str,
    typer.Option(
        help="Comma-separated: hopkins155, eyaleb, coil20, coil100, usps, mnist_test; "
        "or all."
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
    typer.Option(help="smoke (minutes, subsets), quick (hours), paper (days)."),
]
Jobs = Annotated[
    int,
    typer.Option(help="Cells at a time, with one thread each; -1 is one per core."),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Directory for the results.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute every cell again.")]
KeepOld = Annotated[
    bool,
    typer.Option(
        "--keep-old",
        help="Keep rows made by another version of the code; the pages say so.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show cells and estimated times only.")
]
FigureProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        help="smoke (a minute), quick (under an hour), paper (figure3: months).",
    ),
]

DEFAULT_OUTPUT = Path("ekss-results")
_FIGURES = {
    "figure1": "Co-association matrices and errors with 1, 5 and 50 members.",
    "figure2": "Similarity against angle: full data, Gaussian projection and UMAP.",
    "figure3": (
        "Heat maps of errors: EKSS, EKSS-0, TSC, SSC over N_k and d, N_k and angle."
    ),
    "figure4": "Errors against the angle between subspaces, with noise.",
}


@dataclass(frozen=True)
class _Part:
    """Which part of the table is wanted."""

    profile: Profile
    datasets: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True)
class _Options:
    """How a plan is run; ``jobs`` is the number of cells at a time."""

    output: Path
    jobs: int
    fresh: bool
    keep_old: bool
    dry_run: bool


@bench_app.command()
def table1(
    datasets: Datasets = "all",
    methods: Methods = "all",
    profile: ProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: DataHome = None,
    fresh: Fresh = False,
    keep_old: KeepOld = False,
    dry_run: DryRun = False,
) -> None:
    """Errors of all methods on all data sets beside the paper's (its Table I)."""
    from rich.console import Console

    from ekss.benchmarks import write_table1

    console = Console()
    part = _part(profile, datasets, methods)
    plan = _plan(part, data_home, console)
    _run_and_write(
        plan,
        write_table1,
        part.profile,
        _Options(output, jobs, fresh, keep_old, dry_run),
        console,
    )


@bench_app.command()
def table2(output: Output = DEFAULT_OUTPUT, data_home: DataHome = None) -> None:
    """Sizes of the data sets beside the paper's (the first table of its appendix)."""
    from rich.console import Console

    from ekss.benchmarks import loaders, write_table2

    written = write_table2(loaders(data_home), output)
    console = Console()
    _say_written(written, console)


@bench_app.command()
def table3(
    profile: ProfileName = "quick",
    output: Output = DEFAULT_OUTPUT,
    data_home: DataHome = None,
) -> None:
    """Parameters of the paper beside those that labels chose, from rows of table1."""
    from rich.console import Console

    from ekss.benchmarks import read_rows, write_table3

    console = Console()
    plan = _plan(_part(profile, "all", "all"), data_home, console)
    _say_missing(plan, console)
    written = write_table3(plan, read_rows(output, plan.cells), output)
    _say_written(written, console)


@bench_app.command()
def ablation(
    datasets: Datasets = "all",
    profile: ProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: DataHome = None,
    fresh: Fresh = False,
    keep_old: KeepOld = False,
    dry_run: DryRun = False,
) -> None:
    """Errors of label-free EKSS with each of its ideas switched off in turn."""
    from rich.console import Console

    from ekss.benchmarks import loaders, plan_ablation, write_ablation
    from ekss.datasets import get_data_home

    console = Console()
    part = _part(profile, datasets, "ekss")
    plan = plan_ablation(
        part.profile,
        get_data_home(data_home),
        loaders(data_home),
        datasets=part.datasets,
        report=lambda text: say(console, f"{text} ..."),
    )
    _run_and_write(
        plan,
        write_ablation,
        part.profile,
        _Options(output, jobs, fresh, keep_old, dry_run),
        console,
    )


@bench_app.command()
def hopkins(
    profile: ProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: DataHome = None,
    fresh: Fresh = False,
    keep_old: KeepOld = False,
    dry_run: DryRun = False,
) -> None:
    """SSC on Hopkins 155 with its authors' setting, and what stopping early does."""
    from rich.console import Console

    from ekss.benchmarks import loaders, plan_hopkins, write_hopkins
    from ekss.datasets import get_data_home

    console = Console()
    part = _part(profile, "hopkins155", "ssc")
    plan = plan_hopkins(
        part.profile,
        get_data_home(data_home),
        loaders(data_home),
        report=lambda text: say(console, f"{text} ..."),
    )
    _run_and_write(
        plan,
        write_hopkins,
        part.profile,
        _Options(output, jobs, fresh, keep_old, dry_run),
        console,
    )


@bench_app.command()
def scale(
    profile: Annotated[
        str, typer.Option(help="smoke (a minute), full (up to a million points).")
    ] = "full",
    workers: Annotated[
        int, typer.Option(help="Parallel workers of a fit; -1 is one per core.")
    ] = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: DataHome = None,
    fresh: Fresh = False,
    keep_old: KeepOld = False,
    dry_run: DryRun = False,
) -> None:
    """Time, memory and error of EKSS as the number of points grows, and MNIST-70k."""
    from rich.console import Console

    from ekss.benchmarks import SCALE_PROFILES, loaders, plan_scale, write_scale
    from ekss.datasets import get_data_home

    console, sizes = Console(), _profile(profile, SCALE_PROFILES)
    plan = plan_scale(
        sizes,
        get_data_home(data_home),
        loaders(data_home),
        workers=_count_workers("--workers", workers),
        report=lambda text: say(console, f"{text} ..."),
    )
    _run_and_write(
        plan,
        write_scale,
        sizes,
        _Options(output, 1, fresh, keep_old, dry_run),
        console,
    )


def _figure(name: str) -> Callable[..., None]:
    """Return the command that makes this figure."""

    def command(
        profile: FigureProfileName = "quick",
        jobs: Jobs = -1,
        output: Output = DEFAULT_OUTPUT,
        fresh: Fresh = False,
        keep_old: KeepOld = False,
        dry_run: DryRun = False,
    ) -> None:
        from rich.console import Console

        from ekss.benchmarks import FIGURE_PROFILES, FIGURES

        sizes, figure = _profile(profile, FIGURE_PROFILES), FIGURES[name]
        _run_and_write(
            figure.plan(sizes),
            figure.write,
            sizes,
            _Options(output, jobs, fresh, keep_old, dry_run),
            Console(),
        )

    return command


for _name, _help in _FIGURES.items():
    bench_app.command(_name, help=_help)(_figure(_name))


def _part(profile: str, datasets: str, methods: str) -> _Part:
    from ekss.benchmarks import DATASETS, METHODS, PROFILES

    return _Part(
        _profile(profile, PROFILES),
        _chosen("--datasets", datasets, tuple(DATASETS)),
        _chosen("--methods", methods, tuple(METHODS)),
    )


def _profile(name: str, profiles: Mapping[str, Any]) -> Any:
    if name not in profiles:
        known = ", ".join(profiles)
        raise ValueError(f"--profile {name} is unknown; choose one of {known}")
    return profiles[name]


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


def _plan(part: _Part, data_home: Path | None, console: Console) -> Plan:
    """Plan the cells of table1, and prepare what they need."""
    from ekss.benchmarks import loaders, plan_table1
    from ekss.datasets import get_data_home

    return plan_table1(
        part.profile,
        get_data_home(data_home),
        loaders(data_home),
        datasets=part.datasets,
        methods=part.methods,
        report=lambda text: say(console, f"{text} ..."),
    )


def _run_and_write(
    plan: Plan,
    write: Callable[..., Any],
    profile: Any,
    options: _Options,
    console: Console,
) -> None:
    """Compute what is not on disk, then write and show what the rows make.

    ``write(plan, rows, output, profile, command=...)`` returns what was written.
    """
    from ekss.benchmarks import old_cells, open_cells, run_plan

    output, fresh, keep_old = options.output, options.fresh, options.keep_old
    workers = _count_workers("--jobs", options.jobs)
    _say_missing(plan, console)
    todo = open_cells(plan, output, keep_old=keep_old)
    if fresh:
        todo = list(plan.cells)
    _say_estimate(plan, todo, workers, console)
    _say_old(old_cells(plan, output), keep_old and not fresh, console)
    if options.dry_run:
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
        console.print(
            "Stopped; finished cells are kept, and the same command continues."
        )
        raise typer.Exit(STOPPED) from None
    command = shlex.join(["ekss", *sys.argv[1:]])
    _say_written(write(plan, rows, output, profile, command=command), console)


def _say_written(written: Any, console: Console) -> None:
    """Show the text of what was written, and the files."""
    say(console, written.text)
    for path in written.files:
        say(console, str(path))


def _say_missing(plan: Plan, console: Console) -> None:
    """Say what cannot be computed, and why."""
    for name, reason in plan.missing.items():
        say(console, f"missing: {name}: {reason}")


def _count_workers(option: str, wanted: int) -> int:
    """Return the number of workers; -1 is one per core."""
    if wanted == 0 or wanted < -1:
        raise ValueError(
            f"{option} {wanted} runs nothing; pass a count, or -1 for all cores"
        )
    return (os.cpu_count() or 1) if wanted == -1 else wanted


def _say_estimate(plan: Plan, todo: list[Cell], jobs: int, console: Console) -> None:
    longest = max((cell.cost for cell in todo), default=0.0)
    seconds = max(sum(cell.cost for cell in todo) / jobs, longest)
    say(
        console,
        f"{len(plan.cells)} cells, {len(plan.cells) - len(todo)} of them on disk; "
        f"about {duration(seconds)} for the rest with {jobs} at a time",
    )


def _say_old(old: list[Cell], kept: bool, console: Console) -> None:
    """Say which rows on disk were made by another version of the code."""
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
            text = f"{duration(step.left)} left   {step.cell.title}"
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
        f"{duration(row['wall_seconds'])}, {duration(step.left)} left",
    )
