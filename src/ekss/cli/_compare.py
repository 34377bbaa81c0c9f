"""``ekss compare``: several methods on the same points, in one table."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ekss.cli import _options as shared
from ekss.cli._options import Method
from ekss.cli._output import (
    FAILED,
    Output,
    Voice,
    check_ending,
    check_outputs,
    collected_warnings,
    duration,
    guarded,
    not_the_input,
    one_line,
    percent,
    say_json,
    table,
    write_all,
)
from ekss.cli._reading import Read, check_there, doubts, plan_lines, source_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.cli._methods import Task

_FAST = "ekss,kss,tsc,ensc"
# Sizes of clusters that are shown in full in a cell of the table.
_SHOWN_SIZES = 6


@dataclass(frozen=True)
class Request:
    """All that the command line asks for."""

    task: Task
    methods: tuple[str, ...]
    n_clusters: int
    output: Path | None


@dataclass(frozen=True)
class Judged:
    """What all methods are judged on: the points, their labels, the dimensions."""

    features: NDArray[np.floating]
    true: NDArray[np.int64] | None
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One method: what it found, or why it failed."""

    method: str
    seconds: float
    sizes: tuple[int, ...] = ()
    residual: float | None = None
    agreement: float | None = None
    scores: dict[str, float] | None = None
    failed: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """A method's row and its labels; None where it failed."""

    row: Row
    labels: NDArray[np.int64] | None


def compare(
    data: shared.Data,
    clusters: shared.Clusters,
    methods: Annotated[
        str,
        shared.work(
            metavar="NAMES", help=f"Comma-separated: {', '.join(Method)}; or all."
        ),
    ] = _FAST,
    dim: shared.Dim = None,
    affine: shared.Affine = None,
    preprocess: shared.Preprocess = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = -1,
    key: shared.Key = None,
    id_column: shared.IdColumn = None,
    header: shared.Header = None,
    drop_column: shared.DropColumn = None,
    image_size: shared.ImageSize = None,
    labels: shared.Labels = None,
    labels_key: shared.LabelsKey = None,
    output: Annotated[
        Path | None,
        shared.results(
            "--output",
            "-o",
            help="File of the table: .csv or .tsv.",
            show_default=False,
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Run several methods on the same points and compare them in a table.

    --dim and --affine go to the methods that have them, and to the residual, which is
    measured in the same way for all.
    """
    with guarded(debug):
        shared.check_voice(quiet, as_json)
        if quiet and output is None:
            raise ValueError("--quiet without --output has no result; name a file")
        source = source_of(
            data, key, id_column, header, drop_column, image_size, labels, labels_key
        )
        check_there(source)

        from ekss.cli._methods import Settings, Task

        names, n_clusters = shared.methods_of(methods), _number(clusters)
        task = Task(
            source,
            n_clusters,
            Settings(dim=_single(dim), affine=affine),
            shared.steps_of(preprocess),
            shared.check_seed(seed),
            shared.check_jobs(jobs),
        )
        request = Request(task, names, n_clusters, output)
        _run(request, Voice(quiet or as_json), as_json=as_json)


def _number(text: str) -> int:
    clusters = shared.number_or_auto("-k", text)
    if isinstance(clusters, str):
        raise ValueError(
            f"-k {text}: not every method finds the number; pass one, such as -k 3"
        )
    return clusters


def _single(text: str | None) -> int | None:
    dim = shared.span_of("--dim", text)
    if isinstance(dim, tuple):
        raise ValueError(
            f"--dim {text} is a range, which only ekss takes; pass one number"
        )
    return dim


def _run(request: Request, voice: Voice, *, as_json: bool) -> None:
    """Read, run the methods, write, and show."""
    task = request.task
    if request.output is not None:
        check_ending(request.output, (".csv", ".tsv"), "a table")
        check_outputs([request.output], (task.source.data, task.source.label_file))
    found = task.read(voice)
    voice.plan(_plan(request, found))
    doubted = doubts(found, task.steps)
    voice.warn(doubted)
    features = task.prepare(found, voice).rows
    dims = _dims(request, features)
    rows = _rows(request, Judged(features, found.labels, dims), voice)
    if request.output is not None:
        separator = "," if request.output.suffix == ".csv" else "\t"
        text = _separated(rows, dims, separator)
        with not_the_input("writing the table"):
            write_all([Output(request.output, lambda path: path.write_text(text))])
    if as_json:
        _say_json(request, found, dims, doubted, rows)
    _say_table(rows, voice)
    voice.line(_judged_at(request, dims))
    if any(row.failed for row in rows):
        raise typer.Exit(FAILED)


def _plan(request: Request, found: Read) -> list[tuple[str, str]]:
    lines = plan_lines(found, request.task.steps)
    count = f"{request.n_clusters} clusters, seed {request.task.seed}"
    lines.append(("Compare", f"{', '.join(request.methods)}; {count}"))
    if request.output is not None:
        lines.append(("Write", str(request.output)))
    return lines


def _dims(request: Request, features: NDArray[np.floating]) -> tuple[int, ...]:
    """Return the dimensions at which the labels of every method are judged."""
    from ekss.cli._methods import judged_dims

    settings = request.task.settings
    if isinstance(settings.dim, int):
        return (settings.dim,)
    return judged_dims(
        features,
        request.n_clusters,
        affine=bool(settings.affine),
        seed=request.task.seed,
    )


def _judged_at(request: Request, dims: tuple[int, ...]) -> str:
    """Say what the residual is measured with."""
    settings = request.task.settings
    kind = "affine" if settings.affine else "linear"
    origin = "estimated from the data" if settings.dim is None else "--dim"
    span = str(dims[0]) if len(dims) == 1 else f"{dims[0]} to {dims[-1]}"
    return (
        f"Residual of every method: outside {kind} subspaces of dimension {span} "
        f"({origin}) fitted to its clusters"
    )


def _rows(request: Request, judged: Judged, voice: Voice) -> list[Row]:
    """Run the methods one after the other, even after one fails."""
    runs = []
    for method in request.methods:
        voice.stage(method)
        runs.append(_attempt(request, method, judged, show=not voice.silent))
    return [replace(run.row, agreement=_agreement(run, runs)) for run in runs]


def _attempt(request: Request, method: str, judged: Judged, *, show: bool) -> Run:
    from ekss.cli._methods import in_options

    task = request.task
    start = time.perf_counter()
    try:
        with collected_warnings() as warned:
            settings = task.settings.known_to(method)
            estimator = task.estimator(method, settings, show=show)
            labels = estimator.fit(judged.features).labels_
        seconds = time.perf_counter() - start
        row = _measured(request, method, labels, judged)
    except Exception as error:
        seconds = time.perf_counter() - start
        reason = one_line(in_options(str(error))) or type(error).__name__
        return Run(Row(method, seconds, failed=reason), None)
    return Run(replace(row, seconds=seconds, warnings=tuple(warned)), labels)


def _measured(
    request: Request, method: str, labels: NDArray[np.int64], judged: Judged
) -> Row:
    import numpy as np

    from ekss.cli._methods import residual_share, score

    sizes = np.sort(np.bincount(labels, minlength=request.n_clusters))[::-1]
    residual = residual_share(
        judged.features,
        labels,
        judged.dims,
        affine=bool(request.task.settings.affine),
        seed=request.task.seed,
    )
    scores = score(judged.true, labels)
    return Row(method, 0.0, tuple(sizes.tolist()), residual, scores=scores)


def _agreement(run: Run, runs: list[Run]) -> float | None:
    """Return the mean adjusted Rand index with the labels of the other methods."""
    from ekss.metrics import adjusted_rand

    others = [r.labels for r in runs if r is not run and r.labels is not None]
    if run.labels is None or not others:
        return None
    return float(sum(adjusted_rand(run.labels, o) for o in others) / len(others))


def _say_table(rows: list[Row], voice: Voice) -> None:
    scored = any(row.scores is not None for row in rows)
    headings = ["method", "time", "sizes", "residual", "agreement"]
    headings += ["error", "NMI", "ARI"] if scored else []
    shown = table(headings, left=("method", "sizes"))
    for row in rows:
        cells = [row.method, duration(row.seconds)]
        if row.failed is not None:
            shown.add_row(*cells, "failed")
            continue
        cells += [_sizes(row.sizes), percent(row.residual), _decimals(row.agreement)]
        if row.scores is not None:
            error, nmi, ari = row.scores.values()
            cells += [percent(error), _decimals(nmi), _decimals(ari)]
        shown.add_row(*cells)
    voice.line("")
    voice.show(shown)
    voice.warn([f"{r.method} failed: {r.failed}" for r in rows if r.failed])
    voice.warn([f"{r.method}: {text}" for r in rows for text in r.warnings])


def _sizes(sizes: tuple[int, ...]) -> str:
    """Write a few sizes in full; of many the two largest and the two smallest."""
    if len(sizes) <= _SHOWN_SIZES:
        return " ".join(map(str, sizes))
    return f"{sizes[0]} {sizes[1]} ... {sizes[-2]} {sizes[-1]}"


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _separated(rows: list[Row], dims: tuple[int, ...], separator: str) -> str:
    """Return the table as lines of text."""
    import csv
    import io

    names = ("method", "seconds", "sizes", "residual", "agreement", "error", "nmi")
    lines: list[tuple[str, ...]] = [(*names, "ari", "failed", "judged_dims")]
    for row in rows:
        scores = (None,) * 3 if row.scores is None else row.scores.values()
        sizes = " ".join(map(str, row.sizes))
        values: tuple[Any, ...] = (row.residual, row.agreement, *scores, row.failed)
        judged = " ".join(map(str, dims))
        start = (row.method, f"{row.seconds:.3f}", sizes)
        lines.append((*start, *map(_cell, values), judged))
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _cell(value: float | str | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.6g}"


def _say_json(
    request: Request,
    found: Read,
    dims: tuple[int, ...],
    doubted: list[str],
    rows: list[Row],
) -> None:
    say_json(
        "compare",
        {
            **request.task.as_dict(found),
            "n_clusters": request.n_clusters,
            "judged_dims": list(dims),
            "methods": [asdict(row) for row in rows],
            "warnings": doubted,
            "outputs": [] if request.output is None else [str(request.output)],
        },
    )
