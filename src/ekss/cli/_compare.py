"""``ekss compare``: several methods on the same points, in one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
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
    from ekss.report import Report

_FAST = "ekss,kss,tsc,ensc"
_TRIAL_ROWS = 40  # of the fit before the one that is timed
_TRIAL_MEMBERS = 4  # of the ensemble in it
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


@dataclass(frozen=True)
class Files:
    """Where results go."""

    table: Path | None
    report: Path | None

    @property
    def outputs(self) -> list[Path]:
        """Every file that will be written."""
        paths = [self.table, self.report]
        if self.report is not None:
            paths.append(self.report.with_suffix(".json"))
        return [path for path in paths if path is not None]

    def check(self, source: Source) -> None:
        """Refuse outputs that cannot be made, before any work."""
        if self.table is not None:
            out.check_ending(self.table, (".csv", ".tsv"), "a table")
        if self.report is not None:
            out.check_ending(self.report, (".html",), "a report")
        out.check_outputs(self.outputs, (source.data, source.label_file))


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
    report: Annotated[
        Path | None,
        shared.results(
            help="Page of the comparison, such as compare.html; also writes "
            "compare.json."
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
    with out.guarded(debug):
        voice = out.Voice(quiet, as_json)
        if quiet and output is None and report is None:
            raise ValueError(
                "--quiet without --output or --report has no result; name a file"
            )
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
        _run(task, names, Files(output, report), voice)


def _run(task: Task, methods: Sequence[str], files: Files, voice: out.Voice) -> None:
    """Read, run the methods, write, and show."""
    files.check(task.source)
    found = task.read(voice)
    plan = plan_lines(found, task.steps)
    listed = f"{', '.join(methods)}; {task.clusters} clusters, seed {task.seed}"
    plan.append(("Compare", listed))
    if files.outputs:
        plan.append(("Write", ", ".join(map(str, files.outputs))))
    voice.plan(plan)
    doubted = doubts(found, task.steps)
    voice.warn(doubted)
    features, _ = task.prepare(found, voice)
    dims, rows, labels = _compared(task, methods, found, features, voice)
    with out.not_the_input("writing the comparison"):
        wanted = _outputs(task, files, found, features, dims, rows, labels)
        written = out.write_all(wanted)
    summary = {
        **task.summary(found),
        "n_clusters": task.clusters,
        "judged_dims": list(dims),
        "methods": [asdict(row) for row in rows],
        "warnings": doubted,
        "outputs": [str(path) for path in written],
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


def _outputs(
    task: Task,
    files: Files,
    found: Read,
    features: NDArray[np.floating],
    dims: tuple[int, ...],
    rows: list[Row],
    labels: dict[str, NDArray[np.int64]],
) -> list[out.Output]:
    """Return the files that are wanted, with what writes them."""
    outputs = []
    if files.table is not None:
        separator = "," if files.table.suffix == ".csv" else "\t"
        text = _separated(rows, dims, separator)
        outputs.append(out.Output(files.table, lambda path: path.write_text(text)))
    if files.report is not None and labels:
        page = _page(task, found, features, dims, rows, labels)
        beside = files.report.with_suffix(".json")
        outputs.append(out.Output(files.report, page.save, (beside,)))
    return outputs


def _page(
    task: Task,
    found: Read,
    features: NDArray[np.floating],
    dims: tuple[int, ...],
    rows: list[Row],
    labels: dict[str, NDArray[np.int64]],
) -> Report:
    from ekss.cli._methods import as_judged
    from ekss.report import Contender, compare

    affine = bool(task.settings.get("affine"))
    contenders = [
        Contender(
            row.method,
            row.seconds,
            labels.get(row.method),
            row.residual,
            row.scores,
            row.failed,
            row.warnings,
        )
        for row in rows
    ]
    commands = {
        method: task.again("cluster", {}, "--method", method, "--report", "report.html")
        for method in labels
    }
    return compare(
        contenders,
        as_judged(features, affine=affine),
        dims=dims,
        affine=affine,
        ids=found.points.ids,
        title=f"{task.source.data.name}: methods compared",
        source=found.points.source,
        commands=commands,
    )


def _compared(
    task: Task,
    methods: Sequence[str],
    found: Read,
    features: NDArray[np.floating],
    voice: out.Voice,
) -> tuple[tuple[int, ...], list[Row], dict[str, NDArray[np.int64]]]:
    """Run the methods one after the other, even after one fails.

    Return the dimensions at which the labels of every method are judged, the rows, and
    the labels of those that did not fail.
    """
    from ekss.cli._methods import as_judged, judged_dims, residual_share, score
    from ekss.metrics import adjusted_rand

    affine = bool(task.settings.get("affine"))
    how: dict[str, Any] = {"affine": affine, "seed": task.seed}
    points = as_judged(features, affine=affine)
    dim = task.settings.get("dim")
    dims = (dim,) if dim else judged_dims(points, int(task.clusters), **how)

    def measured(own: NDArray[np.int64]) -> dict[str, Any]:
        residual = residual_share(points, own, dims, **how)
        return {"residual": residual, "scores": score(found.labels, own)}

    rows: list[Row] = []
    labels: dict[str, NDArray[np.int64]] = {}
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
    return dims, rows, labels


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

    _compile(task, method, features)
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


def _compile(task: Task, method: str, features: NDArray[np.floating]) -> None:
    """Fit a few rows, so that the time of the fit is that of a compiled program."""
    import numpy as np

    count = min(len(features), max(_TRIAL_ROWS, 4 * int(task.clusters)))
    rows = np.random.default_rng(0).choice(len(features), count, replace=False)
    # Whatever is wrong is told by the fit of all rows.
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = task.estimator(method, show=False, strict=False)
        if "n_members" in trial.get_params():
            trial.set_params(n_members=_TRIAL_MEMBERS)
        trial.fit(features[np.sort(rows)])


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
