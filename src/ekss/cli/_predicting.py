"""What ``ekss predict`` does: new points to the clusters of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ekss.cli._errors import no_fault_of_input
from ekss.cli._outputs import (
    LABEL_ENDINGS,
    Output,
    check_ending,
    check_outputs,
    write_all,
)
from ekss.cli._reading import Read, Source, check_there, described, read
from ekss.cli._voice import Voice, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ekss.cli._measures import Scores
    from ekss.io import SavedModel


@dataclass(frozen=True)
class Outcome:
    """Labels of the new points, and how well they agree with true ones."""

    labels: NDArray[np.int64]
    sizes: list[int]
    scores: Scores | None


def run(
    model: Path, source: Source, target: Path, voice: Voice, *, as_json: bool
) -> None:
    """Read model and data, write labels, and say so."""
    from ekss.io import load_model, write_labels

    check_there(source)
    check_ending(target, LABEL_ENDINGS, "labels")
    check_outputs([target], (model, source.data, source.label_file))
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
    with no_fault_of_input("writing the labels"):
        ids = found.points.ids
        write_all(
            [Output(target, lambda path: write_labels(path, outcome.labels, ids))]
        )
    if as_json:
        _say_json(model, found, matched, outcome, target)
    _say_summary(outcome, target, voice)


def _check_features(saved: SavedModel, found: Read, model: Path) -> None:
    """Refuse data of another width than that of the model's."""
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

    from ekss.cli._measures import score

    with warnings.catch_warnings():
        # The columns are in the model's order, though the array has no names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        labels = saved.predict(found.points.points)
    sizes = np.bincount(labels, minlength=len(saved.estimator.bases_)).tolist()
    scores = None if found.labels is None else score(found.labels, labels)
    return Outcome(labels, sizes, scores)


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
    import json

    summary: dict[str, Any] = {
        "format": 1,
        "command": "predict",
        "data": found.as_dict(),
        "model": str(model),
        "matching": matched,
        "n_clusters": len(outcome.sizes),
        "sizes": outcome.sizes,
        "scores": None if outcome.scores is None else outcome.scores.as_dict(),
        "outputs": [str(target)],
    }
    typer.echo(json.dumps(summary, indent=2, allow_nan=False))
