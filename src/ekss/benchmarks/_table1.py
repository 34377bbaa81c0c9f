"""Table I of the paper as a plan of cells, and the computation of one cell."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from math import prod
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._data import (
    DATASETS,
    BenchData,
    Loader,
    Points,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.benchmarks._methods import (
    COLUMNS,
    METHODS,
    Method,
    Setting,
    labellings,
    model_of,
    setting_name,
    settings,
)
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._runner import Cell, Plan, Result, short_hash
from ekss.benchmarks._versions import plain_code

# The best cut of the pool, which only labels can tell.
BEST = "best in the pool"


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
    datasets: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """Prepare the features and list the cells of Table I.

    Parameters
    ----------
    profile : Profile
    home : Path
        Data home; features are kept in its directory ``features``.
    loaders : mapping of str to callable
        What loads each data set.
    datasets, methods : iterable of str, default=None
        Which part of the table; None is all that are registered.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
        Data sets that cannot be loaded are listed as missing and have no cells.
    """
    wanted = tuple(METHODS if methods is None else methods)
    cells: list[Cell] = []
    missing: dict[str, str] = {}
    for dataset in DATASETS if datasets is None else datasets:
        planned = [
            cell
            for method in wanted
            for column in COLUMNS
            for cell in _cells(DATASETS[dataset], METHODS[method], column, profile)
        ]
        recipes = {
            name: recipe
            for cell in planned
            for name, recipe in cell.params["data"].items()
        }
        try:
            files = _prepare(dataset, recipes, profile, home, loaders, report)
        except (OSError, ImportError, AttributeError) as error:
            missing[dataset] = str(error)
            continue
        cells += [
            replace(
                cell, files=tuple(files[one] for one in sorted(cell.params["data"]))
            )
            for cell in planned
        ]
    return Plan("table1", tuple(cells), run_cell, missing)


def _prepare(
    dataset: str,
    recipes: Mapping[str, Any],
    profile: Profile,
    home: Path,
    loaders: Mapping[str, Loader],
    report: Callable[[str], None],
) -> dict[str, str]:
    """Return the file of prepared features of every recipe."""

    @cache
    def load() -> list[Points]:
        report(f"preparing {DATASETS[dataset].title}")
        points = loaders[dataset]()
        return points[: profile.sequences] if DATASETS[dataset].sequences else points

    return {
        name: str(prepare_features(home, recipe, load))
        for name, recipe in recipes.items()
    }


def _cells(
    dataset: BenchData, method: Method, column: str, profile: Profile
) -> list[Cell]:
    """Return one cell per seed; none where nothing is tried."""
    tried = settings(dataset, method, column, profile)
    if not tried:
        return []
    share, subset = 1.0, profile.subset
    if subset:
        share = 0.02
    if dataset.sequences:
        subset = {"sequences": profile.sequences} if profile.sequences else None
        share = (profile.sequences or 155) / 155
    cost = _seconds(dataset, method, tried, share)
    variants = sorted({setting["data"] for setting in tried})
    params = {
        "settings": tried,
        "data": {one: recipe_of(dataset, one, subset) for one in variants},
        **({"sequences": True} if dataset.sequences else {}),
        **_outside_code(tried),
    }
    seeds = profile.seeds if cost - _START <= profile.cheap else 1
    if (method.name, column) == ("ekss", "free"):
        seeds = profile.free_seeds
    return [
        Cell("table1", dataset.name, method.name, column, params, seed, cost)
        for seed in range(seeds)
    ]


def _outside_code(tried: list[Setting]) -> dict[str, str]:
    """Return a fingerprint of an estimator's module that is not of this package.

    As a part of the cell it makes results of a module that was edited since count no
    more; the code of the package is compared when rows are read.
    """
    modules = {setting["estimator"].partition(":")[0] for setting in tried}
    outside = sorted(name for name in modules if name.partition(".")[0] != "ekss")
    if not outside:
        return {}
    sources = [inspect.getsource(import_module(name)) for name in outside]
    return {"code": short_hash([plain_code(source) for source in sources])}


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
    if cell.params.get("sequences"):
        return _result_of_sequences(scores, points)
    return _result(scores[0])


def _recorded(cell: Cell, sets: list[Points]) -> Result:
    """Fit label-free EKSS and keep what other scores would have chosen.

    The result has "other" (errors by name, means over sequences) and "n_members".
    """
    (setting,) = cell.params["settings"]
    name = json.dumps(setting_name(setting))
    scores, others, n_members = [], [], []
    for points in sets:
        model = model_of(setting, points, cell.seed).fit(points.data)
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


def other_choices(model: Any, target: NDArray[np.integer]) -> dict[str, float]:
    """Return errors in percent of the cuts that other scores would choose.

    Returns
    -------
    errors : dict of str to float
        Without each term of the score, with each term alone, and of the best cut;
        empty where the fit had no cuts to choose from.
    """
    from ekss.graph.selection import EXPONENTS
    from ekss.metrics import clustering_error

    cuts = model.candidates_
    if not cuts:
        return {}
    seen = target if model.sample_ is None else target[model.sample_]
    errors = [100 * clustering_error(seen, cut.labels) for cut in cuts]
    logs = np.log([[getattr(cut.judged, term) for term in EXPONENTS] for cut in cuts])
    found = {BEST: min(errors)}
    for number, term in enumerate(EXPONENTS):
        without = np.array(list(EXPONENTS.values()))
        without[number] = 0
        found[f"without {term}"] = errors[int(np.argmin(logs @ without))]
        found[f"{term} alone"] = errors[int(np.argmin(logs[:, number]))]
    return {name: round(error, 4) for name, error in found.items()}


def _scores(cell: Cell, data: Mapping[str, Points]) -> dict[str, Score]:
    """Score every setting of a cell; of trials the best counts."""
    found: dict[str, Score] = {}
    for setting in cell.params["settings"]:
        points = data[setting["data"]]
        for name, labels in labellings(setting, points, cell.seed):
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


# Estimated seconds on one thread, for the order, the number of seeds and the time left.
# Measured once on a 2-core machine; a run corrects them by the pace it sees.

# Time to start a process and load the library.
_START = 1.0


@dataclass(frozen=True)
class _Pace:
    """Seconds on one data set.

    ``pca``, ``cop``, ``power`` and ``mkf`` are of an iteration of one member or start,
    ``ssc`` is of an iteration, ``cut`` of a spectral cut, the others of a fit; ``free``
    is label-free EKSS.
    """

    pca: float
    cop: float
    power: float
    mkf: float
    ssc: float
    cut: float
    tsc: float
    sscomp: float
    ensc: float
    free: float


_PACES = {
    "eyaleb": _Pace(0.05, 0.06, 0.02, 0.3, 0.25, 1.5, 1, 1, 2, 110),
    "coil20": _Pace(0.025, 0.07, 0.01, 0.2, 0.08, 0.5, 0.3, 0.5, 0.7, 30),
    "coil100": _Pace(0.16, 0.1, 0.08, 1.0, 1.2, 12, 8, 37, 12, 800),
    "usps": _Pace(0.1, 0.2, 0.015, 0.25, 1.2, 2, 2, 4, 8, 75),
    "mnist_test": _Pace(0.4, 0.5, 0.05, 0.45, 3.5, 2, 2.5, 5, 9, 55),
}
# Seconds of one sequence of Hopkins 155.
_SEQUENCE = {
    "ekss": 0.4,
    "kss": 0.006,
    "copkss": 0.007,
    "mkf": 0.006,
    "tsc": 0.015,
    "ssc": 0.45,
    "sscomp": 0.02,
    "ensc": 0.2,
}
# Of a method or a data set that nobody has measured.
_GUESS = 30.0
# Settings that a search tries, with six cuts each.
_SEARCHED, _CUTS = 5, 6
# Iterations until the starts of a method converge.
_ITERATIONS = {"kss": 60, "copkss": 50, "mkf": 30}


def _seconds(
    dataset: BenchData, method: Method, tried: list[Setting], share: float = 1.0
) -> float:
    """Estimate the seconds of settings, on a share of the points or sequences."""
    if dataset.sequences and method.name in _SEQUENCE:
        seconds = sum(_sequence_seconds(method.name, setting) for setting in tried)
    elif dataset.name in _PACES and method.name in _SEQUENCE:
        pace = _PACES[dataset.name]
        seconds = sum(_fit_seconds(pace, method.name, setting) for setting in tried)
    else:
        seconds = _GUESS * len(tried)
    return _START + share * seconds


def _sequence_seconds(method: str, setting: Setting) -> float:
    members = setting["params"].get("n_members", 200) / 200 if method == "ekss" else 1
    if setting.get("record") or setting.get("search"):
        members = 6
    cuts = 1 + 0.05 * _count_cuts(setting)
    trials = setting.get("trials", 10 if method in _ITERATIONS else 1)
    dense = 6 if setting["params"].get("l1_ratio", 1) < 0.05 else 1
    return 155 * _SEQUENCE[method] * trials * members * cuts * dense


def _fit_seconds(pace: _Pace, method: str, setting: Setting) -> float:
    params = setting["params"]
    if setting.get("record"):
        return pace.free
    if setting.get("search"):
        plain = {**setting, "search": False}
        return _SEARCHED * (_fit_seconds(pace, method, plain) + _CUTS * pace.cut)
    if method == "ekss":
        return _member_seconds(pace, setting) + max(_count_cuts(setting), 1) * pace.cut
    if method in _ITERATIONS:
        step = {"copkss": pace.cop, "mkf": pace.mkf, "kss": pace.pca}[method]
        if params.get("update") == "power":
            step = pace.power
        trials = setting.get("trials", 10)
        if method == "mkf":
            trials *= params.get("subspace_dim", 18) / 18
        most = _ITERATIONS[method]
        return trials * min(params.get("max_iter", most), most) * step
    if method == "ssc":
        converged = 200 * (2 if params.get("alpha_outliers") else 1)
        return min(params.get("max_iter", converged), converged) * pace.ssc + pace.cut
    more = params.get("n_nonzero", 2) / 2 if method == "sscomp" else 1
    return float(getattr(pace, method) * more)


def _member_seconds(pace: _Pace, setting: Setting) -> float:
    params = setting["params"]
    step = {"pca": pace.pca, "cop": pace.cop}.get(params.get("update", ""), pace.power)
    candidates = setting.get("candidates", 1)
    width = sum(candidates) / 2 if isinstance(candidates, list) else candidates
    rounds = params.get("member", params).get("max_iter", 5) + 1
    return params.get("n_members", 200) * rounds * step * width


def _count_cuts(setting: Setting) -> int:
    cuts = setting.get("cuts")
    return prod(len(values) for values in cuts.values()) if cuts else 0
