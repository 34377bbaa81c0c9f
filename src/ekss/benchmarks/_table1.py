"""Table I of the paper as a plan of cells, and the computation of one cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._cells import Cell, Plan, Result
from ekss.benchmarks._costs import START, estimate
from ekss.benchmarks._label_free import other_choices
from ekss.benchmarks._methods import estimator, labellings, resolved, setting_name
from ekss.benchmarks._paper import DATASETS, METHODS
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._recipes import (
    Loader,
    Points,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.benchmarks._settings import COLUMNS, settings


@dataclass(frozen=True)
class Score:
    """How good one labelling is; error in percent, and a digest of the labels."""

    error: float
    nmi: float
    ari: float
    setting: str
    labels: str


def plan_table1(
    profile: Profile,
    home: Path,
    loaders: Mapping[str, Loader],
    *,
    datasets: Iterable[str] = tuple(DATASETS),
    methods: Iterable[str] = tuple(METHODS),
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """Prepare the features and list the cells of Table I.

    Parameters
    ----------
    profile : Profile
    home : Path
        Data home; features are kept in its folder ``features``.
    loaders : mapping of str to callable
        What loads each data set.
    datasets, methods : iterable of str
        Which part of the table.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
        Data sets that cannot be loaded are listed as missing; their cells are in the
        plan of nobody.
    """
    methods = tuple(methods)
    cells: list[Cell] = []
    missing: dict[str, str] = {}
    for dataset in datasets:
        planned = _cells_of(dataset, methods, profile)
        variants = sorted({one for cell in planned for one in cell.params["data"]})
        try:
            files = _prepare(dataset, variants, profile, home, loaders, report)
        except (OSError, ImportError, AttributeError) as error:
            missing[dataset] = str(error)
            continue
        cells += [_with_files(cell, files) for cell in planned]
    return Plan("table1", tuple(cells), run_cell, missing)


def _prepare(
    dataset: str,
    variants: list[str],
    profile: Profile,
    home: Path,
    loaders: Mapping[str, Loader],
    report: Callable[[str], None],
) -> dict[str, str]:
    """Return the file of prepared features of every variant."""

    @cache
    def load() -> list[Points]:
        report(f"preparing {DATASETS[dataset]}")
        points = loaders[dataset]()
        return points[: profile.sequences] if dataset == "hopkins" else points

    return {
        variant: str(prepare_features(home, _recipe(dataset, variant, profile), load))
        for variant in variants
    }


def _recipe(dataset: str, variant: str, profile: Profile) -> dict[str, Any]:
    if dataset == "hopkins":
        count = profile.sequences
        return recipe_of(dataset, variant, {"sequences": count} if count else None)
    return recipe_of(dataset, variant, profile.subset)


def _cells_of(dataset: str, methods: Iterable[str], profile: Profile) -> list[Cell]:
    return [
        cell
        for method in methods
        for column in COLUMNS
        for cell in _cells_at(dataset, method, column, profile)
    ]


def _cells_at(dataset: str, method: str, column: str, profile: Profile) -> list[Cell]:
    """Return one cell a seed; none where nothing is tried beside the paper's."""
    tried = settings(dataset, method, column, profile)
    if not tried:
        return []
    share = 1.0
    if profile.subset:
        share = 0.02
    if dataset == "hopkins" and profile.sequences:
        share = profile.sequences / 155
    cost = estimate(dataset, method, tried, share)
    variants = sorted({setting["data"] for setting in tried})
    params = {
        "settings": tried,
        "data": {one: _recipe(dataset, one, profile) for one in variants},
    }
    seeds = profile.seeds if cost - START <= profile.cheap else 1
    if (method, column) == ("ekss", "free"):
        seeds = profile.free_seeds
    return [
        Cell("table1", dataset, method, column, params, seed, cost)
        for seed in range(seeds)
    ]


def _with_files(cell: Cell, files: Mapping[str, str]) -> Cell:
    needed = tuple(files[variant] for variant in sorted(cell.params["data"]))
    return Cell(**{**cell.__dict__, "files": needed})


def run_cell(cell: Cell) -> Result:
    """Try all settings of a cell, score them and keep the best.

    Returns
    -------
    result : dict
        "error" (percent), "nmi", "ari" and "labels" (:func:`digest_of_labels`) of the
        best setting, "best" (its parameters) and "errors" of all; for several
        sequences their means, and the best setting, error and labels of each under
        "sequences".
    """
    variants = dict(zip(sorted(cell.params["data"]), cell.files, strict=True))
    data = {variant: read_features(path) for variant, path in variants.items()}
    count = len(next(iter(data.values())))
    if cell.params["settings"][0].get("record"):
        return _recorded(cell, next(iter(data.values())))
    scores = [
        _scores(cell, {variant: sets[number] for variant, sets in data.items()})
        for number in range(count)
    ]
    return _result_of(cell, scores, next(iter(data.values())))


def _result_of(
    cell: Cell, scores: list[dict[str, Score]], points: list[Points]
) -> Result:
    if cell.dataset != "hopkins":
        return _result(scores[0])
    return _result_of_sequences(scores, points)


def _recorded(cell: Cell, sets: list[Points]) -> Result:
    """Fit label-free EKSS and keep what other scores would have chosen.

    The result has "other" (errors by name, means over sequences) and "n_members".
    """
    (setting,) = cell.params["settings"]
    name = json.dumps(setting_name(setting))
    scores, others, n_members = [], [], []
    for points in sets:
        model = estimator(cell.method, resolved(setting, points), points, cell.seed)
        model.fit(points.data)
        scores.append({name: _score(points, model.labels_, name)})
        others.append(other_choices(model, points.target))
        n_members.append(model.n_members_)
    names = [name for name in others[0] if all(name in other for other in others)]
    return {
        **_result_of(cell, scores, sets),
        "other": {
            name: round(fmean(other[name] for other in others), 4) for name in names
        },
        "n_members": round(fmean(n_members)),
    }


def _scores(cell: Cell, data: Mapping[str, Points]) -> dict[str, Score]:
    """Score every setting of a cell; of trials the best counts."""
    found: dict[str, Score] = {}
    for setting in cell.params["settings"]:
        points = data[setting["data"]]
        for name, labels in labellings(cell.method, setting, points, cell.seed):
            score = _score(points, labels, name)
            if name not in found or score.error < found[name].error:
                found[name] = score
    return found


def _score(points: Points, labels: NDArray[np.integer], name: str) -> Score:
    from ekss.metrics import adjusted_rand, clustering_error, normalized_mutual_info

    target = points.target
    return Score(
        100 * clustering_error(target, labels),
        normalized_mutual_info(target, labels),
        adjusted_rand(target, labels),
        name,
        digest_of_labels(labels),
    )


def digest_of_labels(labels: NDArray[np.integer]) -> str:
    """Return what tells whether two fits gave the same labels.

    Examples
    --------
    >>> one, other = np.array([0, 1, 1]), np.array([0, 1, 1], np.uint8)
    >>> digest_of_labels(one) == digest_of_labels(other)
    True
    >>> digest_of_labels(one) == digest_of_labels(1 - one)
    False
    """
    return sha256(labels.astype("<i8").tobytes()).hexdigest()[:16]


def _best(scores: Mapping[str, Score]) -> Score:
    return min(scores.values(), key=lambda score: score.error)


def _result(scores: Mapping[str, Score]) -> Result:
    best = _best(scores)
    return {
        "error": round(best.error, 4),
        "nmi": round(best.nmi, 5),
        "ari": round(best.ari, 5),
        "best": json.loads(best.setting),
        "labels": best.labels,
        "errors": {name: round(score.error, 4) for name, score in scores.items()},
    }


def _result_of_sequences(
    scores: list[dict[str, Score]], points: list[Points]
) -> Result:
    """Average over sequences, each with the setting that is best for it."""
    best = [_best(one) for one in scores]
    means = {name: fmean(one[name].error for one in scores) for name in scores[0]}
    errors = [score.error for score in best]
    counts = np.array([some.n_clusters for some in points])
    motions = {
        f"mean_{motions}_motions": round(fmean(np.array(errors)[counts == motions]), 4)
        for motions in np.unique(counts)
    }
    return {
        "error": round(fmean(errors), 4),
        "median": round(median(errors), 4),
        **motions,
        "nmi": round(fmean(score.nmi for score in best), 5),
        "ari": round(fmean(score.ari for score in best), 5),
        "best": json.loads(min(means, key=lambda name: means[name])),
        "errors": {name: round(mean, 4) for name, mean in means.items()},
        "sequences": {
            some.name: {
                "n_clusters": some.n_clusters,
                "error": round(score.error, 4),
                "best": score.setting,
                "labels": score.labels,
            }
            for some, score in zip(points, best, strict=True)
        },
    }
