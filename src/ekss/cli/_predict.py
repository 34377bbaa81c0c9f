"""``ekss predict``: assign new points to the clusters of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ekss.cli import _options as shared
from ekss.cli._output import (
    LABEL_ENDINGS,
    Output,
    Voice,
    check_ending,
    check_outputs,
    default_output,
    guarded,
    not_the_input,
    say_json,
    table,
    write_all,
)
from ekss.cli._reading import Read, Source, check_there, described, read, source_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.io import SavedModel


@dataclass(frozen=True)
class Outcome:
    """Labels of the new points, and how well they agree with the true ones."""

    labels: NDArray[np.int64]
    sizes: list[int]
    scores: dict[str, float] | None


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="File written by ekss cluster --model.",
            show_default=False,
        ),
    ],
    data: shared.Data,
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
            show_default="DATA-predicted.csv in the current directory",
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Assign new points to the clusters of a saved model."""
    with guarded(debug):
        shared.check_voice(quiet, as_json)
        source = source_of(
            data, key, id_column, header, drop_column, image_size, labels, labels_key
        )
        target = default_output(data, "predicted") if output is None else output
        _run(model, source, target, Voice(quiet or as_json), as_json=as_json)


def _run(
    model: Path, source: Source, target: Path, voice: Voice, *, as_json: bool
) -> None:
    """Read model and data, write labels, and show."""
    check_there(source)
    check_ending(target, LABEL_ENDINGS, "labels")
    check_outputs([target], (model, source.data, source.label_file))

    from ekss.io import load_model, write_labels

    saved = load_model(model)
    with voice.waiting(f"reading {source.data}"):
        found = read(replace(source, columns=saved.feature_names), least_rows=1)
    _check_features(saved, found, model)
    name = type(saved.estimator).__name__
    matched = _matched(saved, found)
    voice.plan(
        [
            ("Read", described(found)),
            ("Columns", matched),
            ("Model", f"{model}: {name}, {len(saved.estimator.bases_)} clusters"),
            ("Write", str(target)),
        ]
    )
    outcome = _work(saved, found)
    with not_the_input("writing the labels"):
        ids = found.points.ids
        write_all(
            [Output(target, lambda path: write_labels(path, outcome.labels, ids))]
        )
    if as_json:
        _say_json(model, found, matched, outcome, target)
    _say_summary(outcome, target, voice)


def _check_features(saved: SavedModel, found: Read, model: Path) -> None:
    """Refuse data with another number of features than the model has."""
    wanted, (_, n_features) = saved.n_features, found.shape
    if n_features == wanted:
        return
    points = found.points
    apart = [*filter(None, [points.id_name]), *points.left_out]
    keep = f" ({', '.join(apart)} left out; --id-column none keeps them)"
    raise ValueError(
        f"{points.source} has {n_features} features{keep if apart else ''} but {model} "
        f"was made from {wanted}; pass data with {wanted}"
    )


def _matched(saved: SavedModel, found: Read) -> str:
    """Say how the columns of the data were matched with those of the model."""
    points, names = found.points, saved.feature_names
    count = saved.n_features
    if names is not None and points.feature_names is not None:
        ignored = points.left_out
        extra = f"; ignored, unknown to the model: {', '.join(ignored)}"
        return f"{count} matched by name{extra if ignored else ''}"
    if names is not None:
        return f"{count} matched by position: the data have no names, the model has"
    if points.feature_names is not None:
        return f"{count} matched by position: the model has no names, the data have"
    return f"{count} matched by position"


def _work(saved: SavedModel, found: Read) -> Outcome:
    import numpy as np

    from ekss.cli._methods import score

    with warnings.catch_warnings():
        # The columns are in the model's order, though the array has no names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        labels = saved.predict(found.points.points)
    sizes = np.bincount(labels, minlength=len(saved.estimator.bases_)).tolist()
    return Outcome(labels, sizes, score(found.labels, labels))


def _say_summary(outcome: Outcome, target: Path, voice: Voice) -> None:
    shown = table(("cluster", "size"))
    for number, size in enumerate(outcome.sizes):
        shown.add_row(str(number), str(size))
    voice.rows(shown)
    voice.scores(outcome.scores)
    voice.line(f"Written: {target}")


def _say_json(
    model: Path, found: Read, matched: str, outcome: Outcome, target: Path
) -> None:
    say_json(
        "predict",
        {
            "data": found.as_dict(),
            "model": str(model),
            "matching": matched,
            "n_clusters": len(outcome.sizes),
            "sizes": outcome.sizes,
            "scores": outcome.scores,
            "outputs": [str(target)],
        },
    )
