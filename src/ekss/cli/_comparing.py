"""What ``ekss compare`` does: several methods on the same points, in one table."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ekss.cli._columns import columns_line, doubts
from ekss.cli._errors import (
    FAILED,
    collected_warnings,
    no_fault_of_input,
    one_line,
)
from ekss.cli._methods import Settings, in_options, make_estimator, options_of
from ekss.cli._outputs import Output, check_ending, check_outputs, write_all
from ekss.cli._preparing import Step, prepare
from ekss.cli._reading import (
    Read,
    Source,
    check_clusters,
    check_dim,
    check_there,
    described,
    read,
)
from ekss.cli._voice import Voice, duration, percent, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.cli._measures import Scores

_SHOWN_SIZES = 6


@dataclass(frozen=True)
class Request:
    """All that the command line asks for."""

    source: Source
    methods: tuple[str, ...]
    clusters: int
    settings: Settings
    steps: tuple[Step, ...]
    seed: int
    jobs: int
    output: Path | None


@dataclass(frozen=True)
class Row:
    """One method: what it found, or why it failed."""

    method: str
    seconds: float
    sizes: tuple[int, ...] = ()
    residual: float | None = None
    agreement: float | None = None
    scores: Scores | None = None
    failed: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """A method's labels beside its row; None where it failed."""

    row: Row
    labels: NDArray[np.int64] | None


def run(request: Request, voice: Voice, *, as_json: bool) -> None:
    """Read, run the methods, write, and say so."""
    check_there(request.source)
    if request.output is not None:
        check_ending(request.output, (".csv", ".tsv"), "a table")
        source = request.source
        check_outputs([request.output], (source.data, source.label_file))
    with voice.waiting(f"reading {request.source.data}"):
        found = read(request.source)
    check_clusters(found, request.clusters)
    if not request.steps:
        check_dim(found.shape[1], request.settings.dim)
    voice.plan(_plan(request, found))
    doubted = doubts(found, request.steps)
    voice.warn(doubted)
    with voice.waiting("preparing"):
        features = prepare(
            found.points.points,
            request.steps,
            image_shape=found.points.image_shape,
            jobs=request.jobs,
        ).rows
    check_dim(features.shape[1], request.settings.dim)
    dims = _judged_dims(request, features)
    rows = _rows(request, features, dims, found, voice)
    if request.output is not None:
        separator = "," if request.output.suffix == ".csv" else "\t"
        text = _separated(rows, dims, separator)
        with no_fault_of_input("writing the table"):
            write_all([Output(request.output, lambda path: path.write_text(text))])
    if as_json:
        _say_json(request, found, dims, doubted, rows)
    _say_table(rows, voice)
    voice.line(_judged_at(request, dims))
    if any(row.failed for row in rows):
        raise typer.Exit(FAILED)


def _plan(request: Request, found: Read) -> list[tuple[str, str]]:
    lines = [("Read", described(found)), *columns_line(found)]
    if request.steps:
        lines.append(("Prepare", ", ".join(step.word for step in request.steps)))
    count = f"{request.clusters} clusters, seed {request.seed}"
    lines.append(("Compare", f"{', '.join(request.methods)}; {count}"))
    if request.output is not None:
        lines.append(("Write", str(request.output)))
    return lines


def _judged_dims(request: Request, features: NDArray[np.floating]) -> tuple[int, ...]:
    """Return the dimensions at which the labels of every method are judged."""
    from ekss.cli._measures import judged_dims

    if isinstance(request.settings.dim, int):
        return (request.settings.dim,)
    return judged_dims(
        features,
        request.clusters,
        affine=bool(request.settings.affine),
        seed=request.seed,
    )


def _judged_at(request: Request, dims: tuple[int, ...]) -> str:
    """Say what the residual is measured with."""
    settings = request.settings
    kind = "affine" if settings.affine else "linear"
    origin = "estimated from the data" if settings.dim is None else "--dim"
    return (
        f"Residual of every method: outside {kind} subspaces of dimension "
        f"{_span(dims)} ({origin}) fitted to its clusters"
    )


def _span(dims: tuple[int, ...]) -> str:
    return str(dims[0]) if len(dims) == 1 else f"{dims[0]} to {dims[-1]}"


def _rows(
    request: Request,
    features: NDArray[np.floating],
    dims: tuple[int, ...],
    found: Read,
    voice: Voice,
) -> list[Row]:
    """Run the methods one after the other, also after one fails."""
    runs = []
    for method in request.methods:
        voice.stage(method)
        show = not voice.silent
        runs.append(_attempt(request, method, features, dims, found, show=show))
    return [replace(run.row, agreement=_agreement(run, runs)) for run in runs]


def _attempt(
    request: Request,
    method: str,
    features: NDArray[np.floating],
    dims: tuple[int, ...],
    found: Read,
    *,
    show: bool,
) -> Run:
    start = time.perf_counter()
    try:
        with collected_warnings() as warned:
            labels = _labels(request, method, features, show=show)
        seconds = time.perf_counter() - start
        row = _measured(request, method, labels, features, dims, found)
    except Exception as error:
        seconds = time.perf_counter() - start
        reason = one_line(in_options(str(error))) or type(error).__name__
        return Run(Row(method, seconds, failed=reason), None)
    return Run(replace(row, seconds=seconds, warnings=tuple(warned)), labels)


def _labels(
    request: Request, method: str, features: NDArray[np.floating], *, show: bool
) -> NDArray[np.int64]:
    known = options_of(method)
    settings = Settings(
        **{k: v for k, v in request.settings.given().items() if k in known}
    )
    estimator = make_estimator(
        method,
        request.clusters,
        settings,
        seed=request.seed,
        jobs=request.jobs,
        show=show,
    )
    return estimator.fit(features).labels_


def _measured(
    request: Request,
    method: str,
    labels: NDArray[np.int64],
    features: NDArray[np.floating],
    dims: tuple[int, ...],
    found: Read,
) -> Row:
    import numpy as np

    from ekss.cli._measures import residual_share, score

    affine = bool(request.settings.affine)
    sizes = np.sort(np.bincount(labels, minlength=request.clusters))[::-1]
    residual = residual_share(features, labels, dims, affine=affine, seed=request.seed)
    scores = None if found.labels is None else score(found.labels, labels)
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
            scores = row.scores
            cells += [percent(scores.error), *map(_decimals, (scores.nmi, scores.ari))]
        shown.add_row(*cells)
    voice.line("")
    voice.show(shown)
    voice.warn([f"{r.method} failed: {r.failed}" for r in rows if r.failed])
    voice.warn([f"{r.method}: {text}" for r in rows for text in r.warnings])


def _sizes(sizes: tuple[int, ...]) -> str:
    """Write a few sizes in full, of many the largest and the smallest."""
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
        scores = (None,) * 3 if row.scores is None else row.scores.as_dict().values()
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
    import json

    summary = {
        "format": 1,
        "command": "compare",
        "data": found.as_dict(),
        "n_clusters": request.clusters,
        "preprocess": [step.word for step in request.steps],
        "settings": request.settings.given(),
        "seed": request.seed,
        "judged_dims": list(dims),
        "methods": [asdict(row) for row in rows],
        "warnings": doubted,
        "outputs": [] if request.output is None else [str(request.output)],
    }
    typer.echo(json.dumps(summary, indent=2, allow_nan=False))
