"""``ekss bench``: the paper's tables and figures, with all rows on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ekss.cli._bench_figures import add_figures
from ekss.cli._bench_run import (
    DEFAULT_OUTPUT,
    DryRun,
    Fresh,
    Jobs,
    KeepOld,
    Output,
    count_workers,
    run_and_write,
    say,
    say_missing,
    say_written,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ekss.benchmarks import Plan, Profile

bench_app = typer.Typer(
    help="Make the paper's tables and figures; results are kept, a run can go on.",
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
Home = Annotated[
    Path | None,
    typer.Option(
        "--data-home",
        help="Folder of the data files; else EKSS_DATA, else the cache folder.",
        show_default=False,
    ),
]


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
    output: Output = DEFAULT_OUTPUT,
    data_home: Home = None,
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
    run_and_write(
        plan,
        write_table1,
        part.profile,
        output=output,
        jobs=jobs,
        fresh=fresh,
        keep_old=keep_old,
        dry_run=dry_run,
        console=console,
    )


@bench_app.command()
def table2(output: Output = DEFAULT_OUTPUT, data_home: Home = None) -> None:
    """Sizes of the data sets beside the paper's (the first table of its appendix)."""
    from rich.console import Console

    from ekss.benchmarks import loaders, write_table2

    written = write_table2(loaders(data_home), output)
    console = Console()
    say_written(written, console)


@bench_app.command()
def table3(
    profile: ProfileName = "quick",
    output: Output = DEFAULT_OUTPUT,
    data_home: Home = None,
) -> None:
    """Parameters: the paper's beside those our labels chose, from rows of table1."""
    from rich.console import Console

    from ekss.benchmarks import read_rows, write_table3

    console = Console()
    plan = _plan(_part(profile, "all", "all"), data_home, console)
    written = write_table3(plan, read_rows(output, plan.cells), output)
    say_written(written, console)


@bench_app.command()
def ablation(
    datasets: Datasets = "all",
    profile: ProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: Home = None,
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
    say_missing(plan, console)
    run_and_write(
        plan,
        write_ablation,
        part.profile,
        output=output,
        jobs=jobs,
        fresh=fresh,
        keep_old=keep_old,
        dry_run=dry_run,
        console=console,
    )


@bench_app.command()
def hopkins(
    profile: ProfileName = "quick",
    jobs: Jobs = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: Home = None,
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
    say_missing(plan, console)
    run_and_write(
        plan,
        write_hopkins,
        part.profile,
        output=output,
        jobs=jobs,
        fresh=fresh,
        keep_old=keep_old,
        dry_run=dry_run,
        console=console,
    )


@bench_app.command()
def scale(
    profile: Annotated[
        str, typer.Option(help="smoke (a minute), full (up to a million points).")
    ] = "full",
    workers: Annotated[
        int, typer.Option(help="Parallel workers of a fit; -1 is one a core.")
    ] = -1,
    output: Output = DEFAULT_OUTPUT,
    data_home: Home = None,
    fresh: Fresh = False,
    keep_old: KeepOld = False,
    dry_run: DryRun = False,
) -> None:
    """Time, memory and error of EKSS as the number of points grows, and MNIST-70k."""
    from rich.console import Console

    from ekss.benchmarks import SCALE_PROFILES, loaders, plan_scale, write_scale
    from ekss.datasets import get_data_home

    if profile not in SCALE_PROFILES:
        known = ", ".join(SCALE_PROFILES)
        raise ValueError(f"profile={profile!r} is unknown; choose one of {known}")
    console, sizes = Console(), SCALE_PROFILES[profile]
    plan = plan_scale(
        sizes,
        get_data_home(data_home),
        loaders(data_home),
        workers=count_workers("workers", workers),
        report=lambda text: say(console, f"{text} ..."),
    )
    say_missing(plan, console)
    run_and_write(
        plan,
        write_scale,
        sizes,
        output=output,
        jobs=1,
        fresh=fresh,
        keep_old=keep_old,
        dry_run=dry_run,
        console=console,
    )


add_figures(bench_app)


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
        report=lambda text: say(console, f"{text} ..."),
    )
    say_missing(plan, console)
    return plan
