"""What ``ekss cluster`` does: read, cluster, write, tell."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ekss.cli._columns import columns_line, doubts
from ekss.cli._errors import collected_warnings, no_fault_of_input
from ekss.cli._methods import Settings, has_subspaces, in_options, make_estimator
from ekss.cli._outputs import (
    LABEL_ENDINGS,
    Output,
    check_ending,
    check_outputs,
    write_all,
)
from ekss.cli._preparing import Features, Step, prepare
from ekss.cli._reading import (
    Read,
    Source,
    check_clusters,
    check_dim,
    check_there,
    described,
    read,
)
from ekss.cli._voice import Voice, counted, duration, percent, table

if TYPE_CHECKING:
    from ekss.cli._measures import ClusterRow, Scores
    from ekss.report import Report


@dataclass(frozen=True)
class Request:
    """All that the command line asks for."""

    source: Source
    method: str
    clusters: int | str
    settings: Settings
    steps: tuple[Step, ...]
    seed: int
    jobs: int
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
    scores: Scores | None
    seconds: float
    warnings: list[str]


def run(request: Request, *, silent: bool, as_json: bool) -> None:
    """Read, cluster, write, and say so."""
    voice = Voice(silent)
    check_there(request.source)
    estimator = make_estimator(
        request.method,
        request.clusters,
        request.settings,
        seed=request.seed,
        jobs=request.jobs,
        show=not silent,
    )
    _check_files(request)
    with voice.waiting(f"reading {request.source.data}"):
        found = read(request.source)
    check_clusters(found, request.clusters)
    if not request.steps:
        check_dim(found.shape[1], request.settings.dim)
    voice.plan(_plan(request, found))
    doubted = doubts(found, request.steps)
    voice.warn(doubted)
    outcome = _work(request, found, estimator, voice)
    with no_fault_of_input("making the report"):
        page = _report(request, found, outcome, voice)
    outcome = replace(outcome, warnings=[*outcome.warnings, *_advice(page)])
    with no_fault_of_input("writing the results"):
        written = write_all(_outputs(request, found, outcome, page))
    if as_json:
        _say_json(request, found, outcome, doubted, written)
    _say_summary(outcome, written, voice)


def _check_files(request: Request) -> None:
    """Refuse outputs that cannot be made, before any work."""
    check_ending(request.labels_file, LABEL_ENDINGS, "labels")
    if request.report is not None:
        check_ending(request.report, (".html",), "a report")
    if request.model is not None and not has_subspaces(request.method):
        raise ValueError(
            f"--model is not known to method {request.method}, which finds no "
            "subspaces to put new points to; use ekss, kss, copkss or mkf, or leave "
            "it out"
        )
    source = request.source
    check_outputs(request.outputs, (source.data, source.label_file))


def _plan(request: Request, found: Read) -> list[tuple[str, str]]:
    settings = ", ".join(
        f"{name.replace('_', ' ')} "
        f"{'-'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in request.settings.given().items()
    )
    k = request.clusters
    wanted = (
        counted(k, "cluster")
        if isinstance(k, int)
        else "number of clusters from the data"
    )
    chosen = settings or "settings chosen from the data or by default"
    lines = [("Read", described(found)), *columns_line(found)]
    if request.steps:
        lines.append(("Prepare", ", ".join(step.word for step in request.steps)))
    lines.append(
        ("Cluster", f"{request.method}, {wanted}, {chosen}, seed {request.seed}")
    )
    lines.append(("Write", ", ".join(map(str, request.outputs))))
    return lines


def _work(request: Request, found: Read, estimator: Any, voice: Voice) -> Outcome:
    from ekss.cli._measures import cluster_rows, common_dim, score

    start = time.perf_counter()
    with collected_warnings() as warned:
        with voice.waiting("preparing"):
            features = prepare(
                found.points.points,
                request.steps,
                image_shape=found.points.image_shape,
                jobs=request.jobs,
            )
        check_dim(features.rows.shape[1], request.settings.dim)
        try:
            estimator.fit(features.rows)
        except (ValueError, TypeError) as error:
            raise ValueError(in_options(str(error))) from error
    seconds = time.perf_counter() - start
    dim = None
    if not has_subspaces(request.method):
        dim = common_dim(features.rows, estimator.n_clusters_, request.seed)
    rows = cluster_rows(estimator, features.rows, dim, request.seed)
    scores = None if found.labels is None else score(found.labels, estimator.labels_)
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
            raw=points.points if request.steps and pictured else None,
            image_shape=points.image_shape,
            n_frames=points.n_frames,
            ids=points.ids,
            feature_names=points.feature_names,
            title=request.source.data.name,
            source=points.source,
            seconds=outcome.seconds,
        )


def _advice(page: Report | None) -> list[str]:
    """Return what a person should read first in the report."""
    found = [] if page is None else page.summary["warnings"]
    return [advice["title"] for advice in found if advice["level"] == "warning"]


def _say_summary(outcome: Outcome, written: tuple[Path, ...], voice: Voice) -> None:
    shown = table(("cluster", "size", "dimension", "energy captured"))
    for row in outcome.clusters:
        values = row.cluster, row.size, row.dim
        shown.add_row(*map(str, values), percent(row.energy))
    voice.rows(shown)
    voice.line(f"Found {_found(outcome)}")
    voice.scores(outcome.scores)
    voice.line(f"Time {duration(outcome.seconds)}")
    voice.line(f"Written: {', '.join(map(str, written))}")
    voice.warn(outcome.warnings)


def _found(outcome: Outcome) -> str:
    """Say what was chosen or used: dimension, q, kind of subspaces."""
    estimator = outcome.estimator
    words = [counted(estimator.n_clusters_, "cluster")]
    if hasattr(estimator, "bases_"):
        kind = "affine" if estimator.affine_ else "linear"
        words.append(f"{kind} subspaces of dimension {estimator.subspace_dim_}")
    if hasattr(estimator, "top_q_"):
        words.append(f"q {estimator.top_q_}")
    if hasattr(estimator, "n_base_"):
        words.append(counted(estimator.n_base_, "member"))
    if len(getattr(estimator, "removed_", ())):
        words.append(f"{counted(len(estimator.removed_), 'component')} removed")
    if not hasattr(estimator, "bases_"):
        words.append("no subspaces: the table has some fitted to the clusters")
    return ", ".join(words)


def _say_json(
    request: Request,
    found: Read,
    outcome: Outcome,
    doubted: list[str],
    written: tuple[Path, ...],
) -> None:
    import json

    summary = {
        "format": 1,
        "command": "cluster",
        "data": found.as_dict(),
        "method": request.method,
        "preprocess": [step.word for step in request.steps],
        "settings": request.settings.given(),
        "seed": request.seed,
        "n_clusters": len(outcome.clusters),
        "n_members": getattr(outcome.estimator, "n_base_", None),
        "n_removed": len(getattr(outcome.estimator, "removed_", ())),
        "clusters": [asdict(row) for row in outcome.clusters],
        "seconds": outcome.seconds,
        "scores": None if outcome.scores is None else outcome.scores.as_dict(),
        "warnings": [*doubted, *outcome.warnings],
        "outputs": [str(path) for path in written],
    }
    typer.echo(json.dumps(summary, indent=2, allow_nan=False))
