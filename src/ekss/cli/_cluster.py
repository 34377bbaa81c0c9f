"""``ekss cluster``: read, cluster, write, and show."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ekss.cli import _options as shared
from ekss.cli._options import Method, at_least, number_or_auto, span_of
from ekss.cli._output import (
    LABEL_ENDINGS,
    Output,
    Voice,
    check_ending,
    check_outputs,
    collected_warnings,
    counted,
    default_output,
    duration,
    guarded,
    not_the_input,
    percent,
    say_json,
    table,
    write_all,
)
from ekss.cli._reading import Read, check_there, doubts, plan_lines, source_of

if TYPE_CHECKING:
    from ekss.cli._methods import ClusterRow, Features, Task
    from ekss.report import Report


@dataclass(frozen=True)
class Request:
    """All that the command line asks for."""

    task: Task
    method: str
    labels_file: Path
    model: Path | None
    report: Path | None

    @property
    def outputs(self) -> tuple[Path, ...]:
        """Every file that will be written."""
        paths = [self.labels_file, self.model, self.report]
        if self.report is not None:
            paths.append(self.report.with_suffix(".json"))
        return tuple(path for path in paths if path is not None)


@dataclass(frozen=True)
class Outcome:
    """What came out, for the table and for JSON."""

    estimator: Any
    features: Features
    clusters: list[ClusterRow]
    scores: dict[str, float] | None
    seconds: float
    warnings: list[str]


def cluster(
    data: shared.Data,
    clusters: shared.Clusters,
    method: Annotated[
        Method, shared.work(metavar="NAME", help=f"One of {', '.join(Method)}.")
    ] = Method.EKSS,
    auto: Annotated[
        bool,
        shared.work(
            "--auto",
            help="Choose dimension and q from the data, as is done without --dim and "
            "--q.",
        ),
    ] = False,
    dim: shared.Dim = None,
    q: Annotated[
        int | None,
        shared.work(
            parser=shared.whole_number,
            metavar="Q",
            help="Neighbours kept per point in the graph (ekss, paper, tsc).",
            show_default="from the data; paper: N/6K",
        ),
    ] = None,
    members: Annotated[
        str | None,
        shared.work(
            metavar="B",
            help="Runs of K-subspaces that vote (ekss, paper); for ekss auto runs 100, "
            "and up to 400 while two halves of them disagree.",
            show_default="auto; paper: 1000",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        shared.work(
            metavar="C",
            help="Subspaces per member (ekss, paper): 10, or for ekss also a range, "
            "8-20.",
            show_default="from the data; paper: K",
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        shared.work(
            parser=shared.whole_number,
            metavar="T",
            help="Most iterations: of a member (ekss, paper; 0 is the paper's EKSS-0), "
            "or of the method (not tsc, sscomp).",
            show_default="ekss: 5; paper: 3; or the method's default",
        ),
    ] = None,
    affine: shared.Affine = None,
    remove: Annotated[
        str | None,
        shared.work(
            metavar="N",
            help="Leading components to remove from the points (ekss), 0 for none; "
            "auto tries up to 3 if points have a direction in common.",
            show_default="auto",
        ),
    ] = None,
    max_samples: Annotated[
        int | None,
        shared.work(
            parser=shared.whole_number,
            metavar="M",
            help="Points that members vote on (ekss); the other points follow.",
            show_default="all up to 20000, otherwise 10000",
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        shared.work(
            metavar="SIZE",
            help="Refuse to start if more memory would be needed (ekss, ssc), such as "
            "4GB.",
            show_default="what is free",
        ),
    ] = None,
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
            help="File of the labels: .csv .tsv .parquet .npy.",
            show_default="DATA-clusters.csv in the current directory",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        shared.results(
            help="File for ekss predict, such as model.ekss.", show_default=False
        ),
    ] = None,
    report: Annotated[
        Path | None,
        shared.results(
            help="Page with pictures, such as report.html; also writes report.json.",
            show_default=False,
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Cluster the points of a file by the subspaces they lie near."""
    with guarded(debug):
        shared.check_voice(quiet, as_json)
        source = source_of(
            data, key, id_column, header, drop_column, image_size, labels, labels_key
        )
        check_there(source)

        from ekss.cli._methods import Settings, Task, check_auto

        settings = Settings(
            dim=span_of("--dim", dim),
            q=at_least("--q", q),
            members=None if members is None else number_or_auto("--members", members),
            candidates=span_of("--candidates", candidates),
            max_iter=at_least("--max-iter", max_iter, least=0),
            affine=affine,
            remove=None if remove is None else number_or_auto("--remove", remove, 0),
            max_samples=at_least("--max-samples", max_samples),
            memory_limit=memory_limit,
        )
        if auto:
            check_auto(method.value, settings)
        task = Task(
            source,
            number_or_auto("-k", clusters),
            settings,
            shared.steps_of(preprocess),
            shared.check_seed(seed),
            shared.check_jobs(jobs),
        )
        request = Request(
            task,
            method.value,
            default_output(data, "clusters") if output is None else output,
            model,
            report,
        )
        _run(request, Voice(quiet or as_json), as_json=as_json)


def _run(request: Request, voice: Voice, *, as_json: bool) -> None:
    """Read, cluster, write, and show."""
    task = request.task
    show = not voice.silent
    estimator = task.estimator(request.method, task.settings, show=show)
    _check_files(request)
    found = task.read(voice)
    voice.plan(_plan(request, found))
    doubted = doubts(found, task.steps)
    voice.warn(doubted)
    outcome = _work(request, found, estimator, voice)
    with not_the_input("making the report"):
        page = _report(request, found, outcome, voice)
    told = outcome.warnings
    outcome = replace(outcome, warnings=[*told, *_advice(page, told)])
    with not_the_input("writing the results"):
        written = write_all(_outputs(request, found, outcome, page))
    if as_json:
        _say_json(request, found, outcome, doubted, written)
    _say_summary(outcome, written, voice)


def _check_files(request: Request) -> None:
    """Refuse outputs that cannot be made, before any work."""
    from ekss.cli._methods import check_model

    check_ending(request.labels_file, LABEL_ENDINGS, "labels")
    if request.report is not None:
        check_ending(request.report, (".html",), "a report")
    if request.model is not None:
        check_model(request.method)
    source = request.task.source
    check_outputs(request.outputs, (source.data, source.label_file))


def _plan(request: Request, found: Read) -> list[tuple[str, str]]:
    task = request.task
    settings = ", ".join(
        f"{name.replace('_', ' ')} "
        f"{'-'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in task.settings.given().items()
    )
    k = task.clusters
    wanted = (
        counted(k, "cluster")
        if isinstance(k, int)
        else "number of clusters from the data"
    )
    chosen = settings or "settings chosen from the data or by default"
    return [
        *plan_lines(found, task.steps),
        ("Cluster", f"{request.method}, {wanted}, {chosen}, seed {task.seed}"),
        ("Write", ", ".join(map(str, request.outputs))),
    ]


def _work(request: Request, found: Read, estimator: Any, voice: Voice) -> Outcome:
    from ekss.cli._methods import cluster_rows, in_options, score

    start = time.perf_counter()
    with collected_warnings() as warned:
        features = request.task.prepare(found, voice)
        try:
            estimator.fit(features.rows)
        except (ValueError, TypeError) as error:
            raise ValueError(in_options(str(error))) from error
        except MemoryError as error:
            raise MemoryError(in_options(str(error))) from error
    seconds = time.perf_counter() - start
    rows = cluster_rows(estimator, features.rows, request.task.seed)
    scores = score(found.labels, estimator.labels_)
    return Outcome(estimator, features, rows, scores, seconds, warned)


def _outputs(
    request: Request, found: Read, outcome: Outcome, page: Report | None
) -> list[Output]:
    from ekss.io import save_model, write_labels

    labels, ids = outcome.estimator.labels_, found.points.ids
    outputs = [
        Output(request.labels_file, lambda path: write_labels(path, labels, ids))
    ]
    if request.model is not None:
        steps = list(outcome.features.transformers)
        outputs.append(
            Output(
                request.model,
                lambda path: save_model(
                    path,
                    outcome.estimator,
                    preprocessing=steps,
                    feature_names=found.points.feature_names,
                ),
            )
        )
    if request.report is not None and page is not None:
        beside = request.report.with_suffix(".json")
        outputs.append(Output(request.report, page.save, (beside,)))
    return outputs


def _report(
    request: Request, found: Read, outcome: Outcome, voice: Voice
) -> Report | None:
    """Make the page if one is wanted."""
    if request.report is None:
        return None
    from ekss.report import build

    points = found.points
    pictured = points.image_shape is not None or points.n_frames is not None
    with voice.waiting("making the report"):
        return build(
            outcome.estimator,
            outcome.features.rows,
            labels=found.labels,
            raw=points.points if request.task.steps and pictured else None,
            image_shape=points.image_shape,
            n_frames=points.n_frames,
            ids=points.ids,
            feature_names=points.feature_names,
            title=request.task.source.data.name,
            source=points.source,
            seconds=outcome.seconds,
        )


def _advice(page: Report | None, told: list[str]) -> list[str]:
    """Return warnings of the report that the fit has not given already."""
    found = [] if page is None else page.summary["warnings"]
    titles = [advice["title"] for advice in found if advice["level"] == "warning"]
    return [title for title in titles if not any(t.startswith(title) for t in told)]


def _say_summary(outcome: Outcome, written: tuple[Path, ...], voice: Voice) -> None:
    shown = table(("cluster", "size", "dimension", "energy captured"))
    for row in outcome.clusters:
        values = row.cluster, row.size, row.dim
        shown.add_row(*map(str, values), percent(row.energy))
    voice.rows(shown)
    voice.line(f"Found {_found(outcome.estimator)}")
    voice.scores(outcome.scores)
    voice.line(f"Time {duration(outcome.seconds)}")
    voice.line(f"Written: {', '.join(map(str, written))}")
    voice.warn(outcome.warnings)


def _found(estimator: Any) -> str:
    """Say what was chosen or used: dimension, q, kind of subspaces."""
    words = [counted(estimator.n_clusters_, "cluster")]
    if hasattr(estimator, "bases_"):
        kind = "affine" if estimator.affine_ else "linear"
        words.append(f"{kind} subspaces of dimension {estimator.subspace_dim_}")
    if hasattr(estimator, "n_neighbors_"):
        words.append(f"q {estimator.n_neighbors_}")
    if hasattr(estimator, "n_members_"):
        words.append(counted(estimator.n_members_, "member"))
    if len(getattr(estimator, "removed_", ())):
        words.append(f"{counted(len(estimator.removed_), 'component')} removed")
    if not hasattr(estimator, "bases_"):
        words.append("no subspaces: those of the table were fitted to the clusters")
    return ", ".join(words)


def _say_json(
    request: Request,
    found: Read,
    outcome: Outcome,
    doubted: list[str],
    written: tuple[Path, ...],
) -> None:
    say_json(
        "cluster",
        {
            **request.task.as_dict(found),
            "method": request.method,
            "n_clusters": len(outcome.clusters),
            "n_members": getattr(outcome.estimator, "n_members_", None),
            "n_removed": len(getattr(outcome.estimator, "removed_", ())),
            "clusters": [asdict(row) for row in outcome.clusters],
            "seconds": outcome.seconds,
            "scores": outcome.scores,
            "warnings": [*doubted, *outcome.warnings],
            "outputs": [str(path) for path in written],
        },
    )
