"""``ekss cluster``, and what uses its files: ``ekss predict`` and ``ekss inspect``."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ekss.cli import _options as shared
from ekss.cli import _output as out
from ekss.cli._options import Method, at_least, number_or_auto, share_or_auto, span_of
from ekss.cli._reading import (
    Read,
    Source,
    check_there,
    described,
    doubts,
    plan_lines,
    read,
)
from ekss.runtime.untrusted import why_not_regular

if TYPE_CHECKING:
    from ekss.cli._methods import Task
    from ekss.io import SavedModel
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
    def words(self) -> list[str]:
        """The options of the command line about method and files."""
        words = [] if self.method == "ekss" else ["--method", self.method]
        if self.labels_file != out.default_output(self.task.source.data, "clusters"):
            words += ["--output", str(self.labels_file)]
        for option, path in (("--model", self.model), ("--report", self.report)):
            words += [] if path is None else [option, str(path)]
        return words

    @property
    def outputs(self) -> tuple[Path, ...]:
        """Every file that will be written."""
        paths = [self.labels_file, self.model, self.report]
        if self.report is not None:
            paths.append(self.report.with_suffix(".json"))
        return tuple(path for path in paths if path is not None)


def cluster(
    data: shared.Data,
    clusters: shared.Clusters,
    method: Annotated[
        Method,
        shared.work(
            metavar="NAME", help=f"One of {', '.join(Method)}.", show_default=True
        ),
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
        shared.number(
            metavar="Q",
            help="Neighbours kept per point in the graph (ekss, paper, tsc, gsc, "
            "slbf, lsr, lrsc, lrr).",
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
            autocompletion=shared.one_of("auto"),
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
        shared.number(
            metavar="T",
            help="Most iterations: of a member (ekss, paper; 0 is the paper's EKSS-0), "
            "or of the method (kss, copkss, mkf, ssc, ensc, lrr).",
            show_default="ekss: 5; paper: 3; or the method's default",
        ),
    ] = None,
    affine: shared.Affine = None,
    whiten: Annotated[
        str | None,
        shared.work(
            metavar="N",
            help="Leading directions in which points are whitened (ekss), 0 for none; "
            "auto tries several if points have a direction in common, as images do.",
            show_default="auto",
            autocompletion=shared.one_of("auto"),
        ),
    ] = None,
    as_images: Annotated[
        bool,
        shared.work(
            "--as-images",
            help="See images as images (ekss): try scattering features, which bear "
            "small shifts, beside the pixels, and take what suits them.",
        ),
    ] = False,
    second_opinion: Annotated[
        bool | None,
        shared.work(
            "--second-opinion/--no-second-opinion",
            help="Whether the best cut of the votes must compete with that of a second "
            "graph (ekss).",
            show_default="yes",
        ),
    ] = None,
    outliers: Annotated[
        str | None,
        shared.work(
            metavar="SHARE",
            help="Give the label -1 to this share of the points, those that lie "
            "farthest from their clusters (ekss); auto to all that lie clearly apart.",
            show_default="none",
        ),
    ] = None,
    max_samples: Annotated[
        int | None,
        shared.number(
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
    columns: shared.Columns = None,
    decimal: shared.Decimal = None,
    missing: shared.Missing = shared.Holes.ERROR,
    mask: shared.Mask = None,
    image_size: shared.ImageSize = None,
    labels: shared.Labels = None,
    labels_key: shared.LabelsKey = None,
    output: Annotated[
        Path | None,
        shared.labels_file(show_default="DATA-clusters.csv in the current directory"),
    ] = None,
    model: Annotated[
        Path | None, shared.results(help="File for ekss predict, such as model.ekss.")
    ] = None,
    report: Annotated[
        Path | None,
        shared.results(
            help="Page with pictures, such as report.html; also writes report.json."
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Cluster the points of a file by the subspaces they lie near."""
    with out.guarded(debug):
        voice = out.Voice(quiet, as_json)
        reading = (key, id_column, header, drop_column, image_size, labels, labels_key)
        source = Source(
            data,
            *reading,
            columns,
            decimal,
            memory_limit=memory_limit,
            missing=missing.value,
            mask=mask,
            # Other methods, steps before any, and missing entries need all rows in
            # memory.
            in_blocks=method.value == "ekss"
            and preprocess is None
            and missing is shared.Holes.ERROR,
        )
        check_there(source)

        from ekss.cli._methods import Task, check_auto, check_missing, given

        check_missing(method.value, missing.value)

        settings = given(
            dim=span_of("--dim", dim),
            q=at_least("--q", q),
            members=None if members is None else number_or_auto("--members", members),
            candidates=span_of("--candidates", candidates),
            max_iter=at_least("--max-iter", max_iter, least=0),
            affine=affine,
            whiten=None if whiten is None else number_or_auto("--whiten", whiten, 0),
            as_images=as_images or None,
            second_opinion=second_opinion,
            outliers=share_or_auto("--outliers", outliers),
            max_samples=at_least("--max-samples", max_samples),
            memory_limit=memory_limit,
        )
        if auto:
            check_auto(method.value, settings)
        wanted, steps = number_or_auto("-k", clusters), shared.steps_of(preprocess)
        task = Task(source, wanted, settings, steps, seed, jobs)
        target = out.default_output(data, "clusters") if output is None else output
        request = Request(task, method.value, target, model, report)
        _run(request, voice)


def _run(request: Request, voice: out.Voice) -> None:
    """Read, cluster, write, and show."""
    task = request.task
    estimator = task.estimator(request.method, show=not voice.silent)
    _check_files(request)
    found = task.read(voice)
    estimator = task.sized(estimator, found)
    voice.plan(_plan(request, found))
    doubted = doubts(found, task.steps)
    voice.warn(doubted)

    from ekss.cli._methods import chosen_by, cluster_rows, in_options, score

    start = time.perf_counter()
    with out.collected_warnings() as warned:
        rows, transformers = task.prepare(found, voice)
        try:
            estimator.fit(rows)
        except (ValueError, TypeError) as error:
            raise ValueError(in_options(str(error))) from error
        except MemoryError as error:
            raise MemoryError(in_options(str(error))) from error
    seconds = time.perf_counter() - start
    clusters = cluster_rows(estimator, rows, task.seed)
    scores = score(found.labels, estimator.labels_)
    page = None
    if request.report is not None:
        with out.not_the_input("making the report"), voice.waiting("making the report"):
            page = _page(request, found, estimator, rows, seconds)
        warned += _advice(page, warned)
    with out.not_the_input("writing the results"):
        written = out.write_all(_outputs(request, found, estimator, transformers, page))
    summary = {
        **task.summary(found),
        "method": request.method,
        "chosen": chosen_by(estimator),
        "n_clusters": len(clusters),
        "n_members": getattr(estimator, "n_members_", None),
        "n_directions": getattr(estimator, "n_directions_", 0),
        "features": getattr(estimator, "features_", "rows"),
        "n_outliers": int((estimator.labels_ < 0).sum()),
        "clusters": clusters,
        "seconds": seconds,
        "scores": scores,
        "warnings": [*doubted, *warned],
        "outputs": [str(path) for path in written],
    }
    voice.json("cluster", summary)
    shown = out.table(("cluster", "size", "dimension", "energy captured"))
    for row in clusters:
        counts = (str(row[name]) for name in ("cluster", "size", "dim"))
        shown.add_row(*counts, out.percent(row["energy"]))
    voice.rows(shown)
    voice.line(f"Found {_found(estimator)}")
    voice.scores(scores)
    voice.line(f"Time {out.duration(seconds)}")
    voice.line(f"Written: {', '.join(map(str, written))}")
    voice.warn(warned)


def _check_files(request: Request) -> None:
    """Refuse outputs that cannot be made, before any work."""
    from ekss.cli._methods import check_model

    out.check_ending(request.labels_file, out.LABEL_ENDINGS, "labels")
    if request.report is not None:
        out.check_ending(request.report, (".html",), "a report")
    if request.model is not None:
        check_model(request.method)
    source = request.task.source
    out.check_outputs(request.outputs, (source.data, source.label_file))


def _plan(request: Request, found: Read) -> list[tuple[str, str]]:
    task, k = request.task, request.task.clusters
    settings = ", ".join(
        f"{name.replace('_', ' ')} "
        f"{'-'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in task.settings.items()
    )
    wanted = "number of clusters from the data"
    if isinstance(k, int):
        wanted = out.counted(k, "cluster")
    chosen = settings or "settings chosen from the data or by default"
    return [
        *plan_lines(found, task.steps),
        ("Cluster", f"{request.method}, {wanted}, {chosen}, seed {task.seed}"),
        ("Write", ", ".join(map(str, request.outputs))),
    ]


def _page(
    request: Request, found: Read, estimator: Any, rows: Any, seconds: float
) -> Report:
    from ekss.cli._methods import in_options
    from ekss.report import Wording, build

    points, task = found.points, request.task
    named = f"{points.id_name} (names the rows)" if points.id_name else None
    return build(
        estimator,
        rows,
        labels=found.labels,
        raw=points.points if task.steps else None,
        image_shape=points.image_shape,
        n_frames=points.n_frames,
        ids=points.ids,
        feature_names=points.feature_names,
        title=task.source.data.name,
        source=points.source,
        seconds=seconds,
        unused=[*filter(None, [named]), *points.left_out],
        wording=Wording(
            in_options,
            lambda changes: task.again("cluster", changes, *request.words),
        ),
    )


def _advice(page: Report, told: list[str]) -> list[str]:
    """Return warnings of the report that the fit has not given already."""
    found = page.summary["warnings"]
    titles = [advice["title"] for advice in found if advice["level"] == "warning"]
    return [title for title in titles if not any(t.startswith(title) for t in told)]


def _outputs(
    request: Request, found: Read, model: Any, steps: list[Any], page: Report | None
) -> list[out.Output]:
    """Return every file that is wanted, with what writes it."""
    from ekss.io import save_model, write_labels

    points = found.points
    write = partial(write_labels, labels=model.labels_, ids=points.ids)
    outputs = [out.Output(request.labels_file, write)]
    if request.model is not None:
        save = partial(
            save_model,
            estimator=model,
            preprocessing=steps,
            feature_names=points.feature_names,
        )
        outputs.append(out.Output(request.model, save))
    if request.report is not None and page is not None:
        beside = request.report.with_suffix(".json")
        outputs.append(out.Output(request.report, page.save, (beside,)))
    return outputs


def _found(estimator: Any) -> str:
    """Say what was chosen or used: dimension, q, kind of subspaces."""
    words = [out.counted(estimator.n_clusters_, "cluster")]
    if hasattr(estimator, "bases_"):
        kind = "affine" if estimator.affine_ else "linear"
        dims = estimator.dims_
        each = str(max(dims)) if min(dims) == max(dims) else f"{min(dims)}-{max(dims)}"
        words.append(f"{kind} subspaces of dimension {each}")
    if hasattr(estimator, "n_neighbors_"):
        q = estimator.n_neighbors_
        finalists: tuple[Any, ...] = getattr(estimator, "finalists_", ())
        whitened = bool(finalists) and finalists[0].graph == "whitened votes"
        kind = "graph of whitened votes, " if whitened else ""
        words.append("graph of expressions" if q is None else f"{kind}q {q}")
    if hasattr(estimator, "n_members_"):
        words.append(out.counted(estimator.n_members_, "member"))
    if getattr(estimator, "n_directions_", 0):
        seen = "scattering features " if estimator.features_ == "scattering" else ""
        number = out.counted(estimator.n_directions_, "direction")
        words.append(f"{seen}whitened in {number}")
    if getattr(estimator, "outlier_limits_", None) is not None:
        apart = int((estimator.labels_ < 0).sum())
        words.append(f"{out.counted(apart, 'outlier')} (label -1)")
    if not hasattr(estimator, "bases_"):
        words.append("no subspaces: those of the table were fitted to the clusters")
    return ", ".join(words)


def predict(
    model: Annotated[
        Path,
        shared.argument(metavar="MODEL", help="File written by ekss cluster --model."),
    ],
    data: shared.Data,
    key: shared.Key = None,
    id_column: shared.IdColumn = None,
    header: shared.Header = None,
    drop_column: shared.DropColumn = None,
    columns: shared.Columns = None,
    decimal: shared.Decimal = None,
    missing: shared.Missing = shared.Holes.ERROR,
    mask: shared.Mask = None,
    image_size: shared.ImageSize = None,
    labels: shared.Labels = None,
    labels_key: shared.LabelsKey = None,
    output: Annotated[
        Path | None,
        shared.labels_file(show_default="DATA-predicted.csv in the current directory"),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Assign new points to the clusters of a saved model."""
    with out.guarded(debug):
        voice = out.Voice(quiet, as_json)
        reading = (key, id_column, header, drop_column, image_size, labels, labels_key)
        source = Source(
            data, *reading, columns, decimal, missing=missing.value, mask=mask
        )
        target = out.default_output(data, "predicted") if output is None else output
        _assign(model, source, target, voice)


def _assign(model: Path, source: Source, target: Path, voice: out.Voice) -> None:
    """Read model and data, write labels, and show."""
    check_there(source)
    out.check_ending(target, out.LABEL_ENDINGS, "labels")
    out.check_outputs([target], (model, source.data, source.label_file))

    import numpy as np

    from ekss.cli._methods import score
    from ekss.io import load_model, write_labels

    saved = load_model(model)
    if source.take is not None and saved.feature_names is not None:
        raise ValueError(
            f"{model} knows the names of its columns, and they are found by these; "
            "leave --columns out"
        )
    with voice.waiting(f"reading {source.data}"):
        wanted = replace(
            source,
            columns=saved.feature_names,
            in_blocks=not saved.preprocessing and source.missing == "error",
        )
        found = read(wanted, least_rows=1)
    _check_features(saved, found, model)
    n_clusters, matched = len(saved.estimator.bases_), _matched(saved, found)
    name = type(saved.estimator).__name__
    voice.plan(
        [
            ("Read", described(found)),
            ("Columns", matched),
            ("Model", f"{model}: {name}, {n_clusters} clusters"),
            ("Write", str(target)),
        ]
    )
    with warnings.catch_warnings():
        # The columns are in the model's order, though the array has no names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        labels = saved.predict(found.points.points)
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters).tolist()
    n_outliers = int((labels < 0).sum())
    scores, ids = score(found.labels, labels), found.points.ids
    with out.not_the_input("writing the labels"):
        out.write_all(
            [out.Output(target, lambda path: write_labels(path, labels, ids))]
        )
    summary = {
        "data": found.as_dict(),
        "model": str(model),
        "matching": matched,
        "n_clusters": n_clusters,
        "sizes": sizes,
        "n_outliers": n_outliers,
        "scores": scores,
        "outputs": [str(target)],
    }
    voice.json("predict", summary)
    shown = out.table(("cluster", "size"))
    for number, size in enumerate(sizes):
        shown.add_row(str(number), str(size))
    if n_outliers:
        shown.add_row("-1 (outliers)", str(n_outliers))
    voice.rows(shown)
    voice.scores(scores)
    voice.line(f"Written: {target}")


def _check_features(saved: SavedModel, found: Read, model: Path) -> None:
    """Refuse data with another number of features than the model has."""
    points, wanted, n_features = found.points, saved.n_features, found.shape[1]
    if n_features == wanted:
        return
    apart = [*filter(None, [points.id_name]), *points.identifiers]
    keep = f" ({', '.join(apart)} left out; --id-column none keeps them)"
    raise ValueError(
        f"{points.source} has {n_features} features{keep if apart else ''} but {model} "
        f"was made from {wanted}; pass data with {wanted}"
    )


def _matched(saved: SavedModel, found: Read) -> str:
    """Say how the columns of the data were matched with those of the model."""
    in_model = saved.feature_names is not None
    in_data = found.points.feature_names is not None
    ignored = ", ".join(found.points.left_out)
    if in_model and in_data:
        how = "name" + (f"; ignored, unknown to the model: {ignored}" * bool(ignored))
    elif in_model:
        how = "position: the data have no names, the model has"
    elif in_data:
        how = "position: the model has no names, the data have"
    else:
        how = "position"
    return f"{saved.n_features} matched by {how}"


def inspect(
    report: Annotated[
        Path,
        shared.argument(
            metavar="REPORT.json",
            help="File that ekss cluster --report writes beside the page.",
        ),
    ],
    debug: shared.Debug = False,
) -> None:
    """Print the summary of a report once more, and check the files of its run.

    Ends with code 1 if one of them is missing or was changed.
    """
    with out.guarded(debug):
        from rich.console import Console

        from ekss.report import summary_table

        if report.suffix.lower() == ".html":
            beside = report.with_suffix(".json")
            raise ValueError(f"{report} is the page; pass {beside}, written beside it")
        reason = why_not_regular(report)
        if reason is not None:
            raise ValueError(f"{report} {reason}")
        try:
            told = json.loads(report.read_text(encoding="utf-8"))
            table = summary_table(out.visible_in(told))
            doubted = out.changed_files(report, told.get("files", {}))
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(
                f"{report} is not JSON ({error}); pass the .json file beside a report"
            ) from error
        except ValueError as error:
            raise ValueError(f"{report}: {error}") from error
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{report} is a report with parts missing or changed "
                f"({type(error).__name__}: {error}); make it again"
            ) from error
        Console().print(table)
        out.Voice(quiet=False).warn(doubted)
        if doubted:
            raise out.Failure(
                f"{len(doubted)} of the {len(told['files'])} files that were written "
                f"with {report} are missing or changed; run the command again"
            )
