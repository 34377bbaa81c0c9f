"""``ekss compare``: several methods on the same points, in one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ekss.cli import _options as shared
from ekss.cli import _output as out
from ekss.cli._options import Method
from ekss.cli._reading import Read, Source, check_there, doubts, plan_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.cli._methods import Task

_FAST = "ekss,kss,tsc,ensc"
_SHOWN_SIZES = 6  # sizes of clusters that are shown in full in a cell of the table


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


def compare(
    data: shared.Data,
    clusters: shared.Clusters,
    methods: Annotated[
        str,
        shared.work(
            metavar="NAMES",
            help=f"Comma-separated: {', '.join(Method)}; or all.",
            show_default=True,
            autocompletion=shared.some_of(*Method, "all"),
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
    columns: shared.Columns = None,
    decimal: shared.Decimal = None,
    image_size: shared.ImageSize = None,
    labels: shared.Labels = None,
    labels_key: shared.LabelsKey = None,
    output: Annotated[
        Path | None,
        shared.results("--output", "-o", help="File of the table: .csv or .tsv."),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Run several methods on the same points and compare them in a table.

    --dim and --affine go to the methods that have them, and to the residual, which is
    measured in the same way for all.
    """
    with out.guarded(debug):
        voice = out.Voice(quiet, as_json)
        if quiet and output is None:
            raise ValueError("--quiet without --output has no result; name a file")
        reading = (key, id_column, header, drop_column, image_size, labels, labels_key)
        source = Source(data, *reading, columns, decimal)
        check_there(source)

        from ekss.cli._methods import Task, given

        names = shared.methods_of(methods)
        n_clusters = shared.number_or_auto("-k", clusters)
        if isinstance(n_clusters, str):
            raise ValueError(
                f"-k {clusters}: not every method finds the number; pass one, such as "
                "-k 3"
            )
        judged_dim = shared.span_of("--dim", dim)
        if isinstance(judged_dim, tuple):
            raise ValueError(
                f"--dim {dim} is a range, which only ekss takes; pass one number"
            )
        settings = given(dim=judged_dim, affine=affine)
        steps = shared.steps_of(preprocess)
        task = Task(source, n_clusters, settings, steps, seed, jobs)
        _run(task, names, output, voice)


def _run(
    task: Task,
    methods: Sequence[str],
    output: Path | None,
    voice: out.Voice,
) -> None:
    """Read, run the methods, write, and show."""
    if output is not None:
        out.check_ending(output, (".csv", ".tsv"), "a table")
        out.check_outputs([output], (task.source.data, task.source.label_file))
    found = task.read(voice)
    plan = plan_lines(found, task.steps)
    listed = f"{', '.join(methods)}; {task.clusters} clusters, seed {task.seed}"
    plan.append(("Compare", listed))
    if output is not None:
        plan.append(("Write", str(output)))
    voice.plan(plan)
    doubted = doubts(found, task.steps)
    voice.warn(doubted)
    dims, rows = _compared(task, methods, found, voice)
    if output is not None:
        text = _separated(rows, dims, "," if output.suffix == ".csv" else "\t")
        with out.not_the_input("writing the table"):
            out.write_all([out.Output(output, lambda path: path.write_text(text))])
    summary = {
        **task.summary(found),
        "n_clusters": task.clusters,
        "judged_dims": list(dims),
        "methods": [asdict(row) for row in rows],
        "warnings": doubted,
        "outputs": [] if output is None else [str(output)],
    }
    voice.json("compare", summary)
    _say_table(rows, voice)
    kind = "affine" if task.settings.get("affine") else "linear"
    origin = "estimated from the data" if "dim" not in task.settings else "--dim"
    span = str(dims[0]) if len(dims) == 1 else f"{dims[0]} to {dims[-1]}"
    voice.line(
        f"Residual of every method: outside {kind} subspaces of dimension {span} "
        f"({origin}) fitted to its clusters"
    )
    if any(row.failed for row in rows):
        raise typer.Exit(out.FAILED)


def _compared(
    task: Task, methods: Sequence[str], found: Read, voice: out.Voice
) -> tuple[tuple[int, ...], list[Row]]:
    """Run the methods one after the other, even after one fails.

    Return the dimensions at which the labels of every method are judged, and the rows.
    """
    from ekss.cli._methods import as_judged, judged_dims, residual_share, score
    from ekss.metrics import adjusted_rand

    features, _ = task.prepare(found, voice)
    affine = bool(task.settings.get("affine"))
    how: dict[str, Any] = {"affine": affine, "seed": task.seed}
    points = as_judged(features, affine=affine)
    dim = task.settings.get("dim")
    dims = (dim,) if dim else judged_dims(points, int(task.clusters), **how)

    def measured(own: NDArray[np.int64]) -> dict[str, Any]:
        residual = residual_share(points, own, dims, **how)
        return {"residual": residual, "scores": score(found.labels, own)}

    rows, labels = [], {}
    for method in methods:
        voice.stage(method)
        row, own = _attempt(task, method, features, measured, show=not voice.silent)
        rows.append(row)
        if own is not None:
            labels[method] = own
    for i, row in enumerate(rows):
        others = [other for name, other in labels.items() if name != row.method]
        if row.method in labels and others:
            # The mean adjusted Rand index with the labels of the other methods.
            shared = [adjusted_rand(labels[row.method], other) for other in others]
            rows[i] = replace(row, agreement=float(sum(shared) / len(shared)))
    return dims, rows


def _attempt(
    task: Task,
    method: str,
    features: NDArray[np.floating],
    measured: Callable[[NDArray[np.int64]], dict[str, Any]],
    *,
    show: bool,
) -> tuple[Row, NDArray[np.int64] | None]:
    """Return the row of a method and its labels; None where it failed."""
    import numpy as np

    from ekss.cli._methods import in_options

    start = time.perf_counter()
    try:
        with out.collected_warnings() as warned:
            estimator = task.estimator(method, show=show, strict=False)
            labels = estimator.fit(features).labels_
        seconds = time.perf_counter() - start
        sizes = np.sort(np.bincount(labels, minlength=int(task.clusters)))[::-1]
        about = {"warnings": tuple(warned), **measured(labels)}
        return Row(method, seconds, tuple(sizes.tolist()), **about), labels
    except Exception as error:
        reason = out.one_line(in_options(str(error))) or type(error).__name__
        return Row(method, time.perf_counter() - start, failed=reason), None


def _say_table(rows: list[Row], voice: out.Voice) -> None:
    scored = any(row.scores is not None for row in rows)
    headings = ["method", "time", "sizes", "residual", "agreement"]
    headings += ["error", "NMI", "ARI"] if scored else []
    shown = out.table(headings, left=("method", "sizes"))
    for row in rows:
        cells = [row.method, out.duration(row.seconds)]
        if row.failed is not None:
            shown.add_row(*cells, "failed")
            continue
        sizes = list(map(str, row.sizes))
        if len(sizes) > _SHOWN_SIZES:
            sizes = [*sizes[:2], "...", *sizes[-2:]]
        agreement = "-" if row.agreement is None else f"{row.agreement:.3f}"
        cells += [" ".join(sizes), out.percent(row.residual), agreement]
        if row.scores is not None:
            error, nmi, ari = row.scores.values()
            cells += [out.percent(error), f"{nmi:.3f}", f"{ari:.3f}"]
        shown.add_row(*cells)
    voice.line("")
    voice.show(shown)
    voice.warn([f"{r.method} failed: {r.failed}" for r in rows if r.failed])
    voice.warn([f"{r.method}: {text}" for r in rows for text in r.warnings])


def _separated(rows: list[Row], dims: tuple[int, ...], separator: str) -> str:
    """Return the table as lines of text."""
    import csv
    import io

    names = "method seconds sizes residual agreement error nmi ari failed judged_dims"
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(names.split())
    for row in rows:
        scores = (None,) * 3 if row.scores is None else row.scores.values()
        numbers = [
            "" if value is None else f"{value:.6g}"
            for value in (row.residual, row.agreement, *scores)
        ]
        sizes, judged = (" ".join(map(str, some)) for some in (row.sizes, dims))
        start = row.method, f"{row.seconds:.3f}", sizes
        writer.writerow([*start, *numbers, row.failed or "", judged])
    return text.getvalue()
