"""``ekss bench``: the paper's tables and figures, with all rows on disk."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ekss.cli._options import DATA_SETS, DataHome, Method, one_of, some_of
from ekss.cli._output import STOPPED, duration, say
from ekss.methods import RIVALS, VARIANTS

if TYPE_CHECKING:
    from rich.console import Console

    from ekss.benchmarks import Cell, Plan, Step

bench_app = typer.Typer(
    help="Make the paper's tables and figures; an interrupted run can be resumed.",
    no_args_is_help=True,
)

DEFAULT_OUTPUT = Path("ekss-results")
_KNOWN = tuple(name for name in DATA_SETS if name != "mnist_train")
_METHODS = (*(name for name in Method if name != "paper"), *VARIANTS, *RIVALS)
ProfileName = Annotated[
    str,
    typer.Option(
        help="smoke (minutes, subsets), quick (hours), paper (days).",
        autocompletion=one_of("smoke", "quick", "paper"),
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Directory for the results.")
]

# Options of the commands that compute rows: type and default.
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "datasets": (
        str,
        typer.Option(
            "all",
            help=f"Comma-separated: {', '.join(_KNOWN)}; or all.",
            autocompletion=some_of(*_KNOWN, "all"),
        ),
    ),
    "methods": (
        str,
        typer.Option(
            "all",
            help=f"Comma-separated: {', '.join(_METHODS)}; or all.",
            autocompletion=some_of(*_METHODS, "all"),
        ),
    ),
    "profile": (ProfileName, "quick"),
    "jobs": (
        int,
        typer.Option(
            -1, help="Cells at a time, with one thread each; -1 is one per core."
        ),
    ),
    "workers": (
        int,
        typer.Option(-1, help="Parallel workers of a fit; -1 is one per core."),
    ),
    "output": (Output, DEFAULT_OUTPUT),
    "data_home": (DataHome, None),
    "fresh": (bool, typer.Option(False, "--fresh", help="Compute every cell again.")),
    "keep_old": (
        bool,
        typer.Option(
            False,
            "--keep-old",
            help="Keep rows made by another version of the code; the pages say so.",
        ),
    ),
    "known": (
        Path | None,
        typer.Option(
            None,
            help="Directory with a table1.csv of this profile; figures there that the "
            "same code made are not computed again.",
        ),
    ),
    "dry_run": (
        bool,
        typer.Option(False, "--dry-run", help="Show cells and estimated times only."),
    ),
}
_RUN = "output data_home fresh keep_old dry_run"


def _add_command(
    name: str, words: str, options: str, profiles: str = "PROFILES", profile: Any = None
) -> None:
    """Add a command that computes rows, then writes and shows what they make.

    ``profiles`` names the table of profiles in the benchmarks, and ``profile`` is the
    option that chooses one, if it is not that of the tables.
    """

    def command(**given: Any) -> None:
        _run(name, profiles, given)

    known = {**_OPTIONS, **({} if profile is None else {"profile": (str, profile)})}
    command.__signature__ = _signature(options, known)  # type: ignore[attr-defined]
    bench_app.command(name, help=words)(command)


def _signature(
    options: str,
    known: Mapping[str, tuple[Any, Any]],
    *more: inspect.Parameter,
) -> inspect.Signature:
    """Return the signature of a command with these options."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(one, kind, annotation=known[one][0], default=known[one][1])
        for one in options.split()
    ]
    return inspect.Signature([*more, *parameters])


def _run_all(context: typer.Context, **given: Any) -> None:
    """Call all other commands with these options, and their own for the rest."""
    group = context.parent and context.parent.command
    for name, command in getattr(group, "commands", {}).items():
        known = {parameter.name for parameter in command.params}
        if command is context.command or (given["dry_run"] and "dry_run" not in known):
            continue
        typer.echo(f"{name}:")
        with command.make_context(name, [], parent=context.parent) as inner:
            inner.params |= {key: given[key] for key in known & set(given)}
            command.invoke(inner)


_run_all.__signature__ = _signature(  # type: ignore[attr-defined]
    f"jobs known {_RUN}",
    _OPTIONS,
    inspect.Parameter(
        "context", inspect.Parameter.POSITIONAL_ONLY, annotation=typer.Context
    ),
)
bench_app.command("all", help="All of the following, one after the other.")(_run_all)


_add_command(
    "table1",
    "Errors of all methods on all data sets beside the paper's (its Table I).",
    f"datasets methods profile jobs known {_RUN}",
)


@bench_app.command()
def table2(output: Output = DEFAULT_OUTPUT, data_home: DataHome = None) -> None:
    """Sizes of the data sets beside the paper's (the first table of its appendix)."""
    from rich.console import Console

    from ekss.benchmarks import loaders, write_table2

    _say_written(write_table2(loaders(data_home), output), Console())


@bench_app.command()
def table3(
    profile: ProfileName = "quick",
    output: Output = DEFAULT_OUTPUT,
    data_home: DataHome = None,
) -> None:
    """Parameters of the paper beside those that labels chose, from rows of table1."""
    from rich.console import Console

    from ekss.benchmarks import PROFILES, read_rows, write_table3

    console = Console()
    sizes = _profile(profile, PROFILES)
    plan = _plan("table1", sizes, {"data_home": data_home}, console)
    _say_missing(plan, console)
    rows = read_rows(output, plan.cells)
    _say_written(write_table3(plan, rows, output), console)


_add_command(
    "ablation",
    "Errors of label-free EKSS with each of its ideas switched off in turn.",
    f"datasets profile jobs {_RUN}",
)
_add_command(
    "hopkins",
    "SSC on Hopkins 155 with its authors' setting, and what stopping early does.",
    f"profile jobs {_RUN}",
)
_add_command(
    "alternatives",
    "Ensembles of other methods on sub-samples, against the methods on all rows.",
    f"profile jobs {_RUN}",
    "ALTERNATIVES_PROFILES",
    typer.Option(
        "small",
        help="small (minutes), full (hours).",
        autocompletion=one_of("small", "full"),
    ),
)
_add_command(
    "scale",
    "Time, memory and error of EKSS as the number of points grows, and MNIST-70k.",
    f"profile workers {_RUN}",
    "SCALE_PROFILES",
    typer.Option(
        "full",
        help="smoke (a minute), full (up to a million points).",
        autocompletion=one_of("smoke", "full"),
    ),
)
for _name, _words in {
    "figure1": "Co-association matrices and errors with 1, 5 and 50 members.",
    "figure2": "Similarity against angle: full data, Gaussian projection and UMAP.",
    "figure3": (
        "Heat maps of errors: EKSS, EKSS-0, TSC, SSC over N_k and d, N_k and angle."
    ),
    "figure4": "Errors against the angle between subspaces, with noise.",
}.items():
    _add_command(
        _name,
        _words,
        "profile jobs output fresh keep_old dry_run",
        "FIGURE_PROFILES",
        typer.Option(
            "quick",
            help="smoke (a minute), quick (under an hour), paper (figure3: months).",
            autocompletion=one_of("smoke", "quick", "paper"),
        ),
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
    words = [name.strip() for name in wanted.split(",") if name.strip()]
    # A name without its part, such as mnist, as ekss data takes it.
    family = {name.split("_")[0]: name for name in known}
    names = [family.get(word, word) for word in words]
    for name in names:
        if name not in known:
            raise ValueError(
                f"{option} has {name!r}; choose from {', '.join(known)}, or all"
            )
    if not names:
        raise ValueError(f"{option} is empty; choose from {', '.join(known)}, or all")
    return tuple(name for name in known if name in names)


def _plan(name: str, profile: Any, given: Mapping[str, Any], console: Console) -> Plan:
    """Plan the cells of a table, and prepare what they need."""
    from ekss import benchmarks
    from ekss.datasets import get_data_home

    options: dict[str, Any] = {}
    for option, known in {
        "datasets": tuple(benchmarks.DATASETS),
        "methods": tuple(benchmarks.METHODS),
    }.items():
        if option in given:
            options[option] = _chosen(f"--{option}", given[option], known)
    if "workers" in given:
        options["workers"] = _count_workers("--workers", given["workers"])
    told: list[str] = []
    plan: Plan = getattr(benchmarks, f"plan_{name}")(
        profile,
        get_data_home(given["data_home"]),
        benchmarks.loaders(given["data_home"]),
        report=told.append if given.get("dry_run") else partial(_say_doing, console),
        **options,
    )
    if given.get("dry_run") and plan.missing and not plan.cells:
        names = ", ".join(plan.missing)
        wanted = "all" if len(plan.missing) > 1 else names
        raise ValueError(
            f"none of the data is in {get_data_home(given['data_home'])} ({names}); "
            f"get it with: ekss data fetch {wanted}, or from files you have with: ekss "
            "data import PATH"
        )
    for text in told:
        _say_doing(console, text)
    return plan


def _say_doing(console: Console, text: str) -> None:
    say(console, f"{text} ...")


def _run(name: str, profiles: str, given: Mapping[str, Any]) -> None:
    """Compute what is not on disk, then write and show what the rows make."""
    from rich.console import Console

    from ekss import benchmarks

    console, output = Console(), given["output"]
    fresh, keep_old = given["fresh"], given["keep_old"]
    profile = _profile(given["profile"], getattr(benchmarks, profiles))
    known = _checked_known(given.get("known"), output)
    # Where a fit has workers of its own, cells run one after the other.
    jobs = _count_workers("--jobs", given.get("jobs", 1))
    if name in benchmarks.FIGURES:
        plan = benchmarks.FIGURES[name].plan(profile)
        write = benchmarks.FIGURES[name].write
    else:
        plan = _plan(name, profile, given, console)
        write = getattr(benchmarks, f"write_{name}")
    if known is not None:
        plan = benchmarks.without_known(plan, known, profile)
    _say_missing(plan, console)
    todo = benchmarks.open_cells(plan, output, keep_old=keep_old)
    _say_estimate(plan, list(plan.cells) if fresh else todo, jobs, console)
    _say_old(benchmarks.old_cells(plan, output), keep_old and not fresh, console)
    if given["dry_run"]:
        _say_costs(plan, console)
        return
    options = {"jobs": jobs, "fresh": fresh, "keep_old": keep_old}
    try:
        with _progress(console) as report:
            rows = benchmarks.run_plan(plan, output, report=report, **options)
    except KeyboardInterrupt:
        console.print(
            "Stopped; finished cells are kept, and the same command continues."
        )
        raise typer.Exit(STOPPED) from None
    command = shlex.join(["ekss", *sys.argv[1:]])
    _say_written(write(plan, rows, output, profile, command=command), console)


def _checked_known(known: Path | None, output: Path) -> Path | None:
    """Return the directory of known figures; refuse one that cannot be used."""
    if known is None:
        return None
    if not (known / "table1.csv").is_file():
        raise ValueError(
            f"--known {known} has no table1.csv; pass a directory of results of ekss "
            "bench table1"
        )
    if known.resolve() == output.resolve():
        raise ValueError(
            f"--known {known} is the --output, too, where the table of the other "
            "figures would take its place; pass another --output"
        )
    return known


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

    datasets = list(dict.fromkeys(cell.dataset for cell in plan.cells))
    table = Table(title="estimated minutes on one core")
    table.add_column("method")
    for name in [*datasets, "all"]:
        table.add_column(name, justify="right")
    for method in dict.fromkeys(cell.method for cell in plan.cells):
        costs = [
            sum(c.cost for c in plan.cells if (c.dataset, c.method) == (name, method))
            for name in datasets
        ]
        shown = [f"{cost / 60:.1f}" for cost in [*costs, sum(costs)]]
        table.add_row(method, *shown)
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
    row = step.row
    if row is None:
        return
    result = f"failed: {row['failed']}" if "failed" in row else "done"
    if "error" in row:
        result = f"{row['error']:.2f} %"
    say(
        console,
        f"{step.done}/{step.total} {step.cell.title}: {result} in "
        f"{duration(row['wall_seconds'])}, {duration(step.left)} left",
    )
