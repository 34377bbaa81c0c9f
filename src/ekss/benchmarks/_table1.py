"""Table I of the paper and the two tables of its appendix: plan, cells and pages."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from itertools import product
from math import inf, prod
from operator import itemgetter
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._data import (
    DATASETS,
    BenchData,
    Loader,
    Points,
    error_of,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.benchmarks._methods import (
    COLUMNS,
    METHODS,
    SEARCH,
    SWEPT,
    Method,
    Setting,
    labellings,
    model_of,
    setting_name,
    settings,
)
from ekss.benchmarks._pages import (
    Grid,
    Written,
    bullets,
    csv_text,
    each_once,
    listed,
    markdown_table,
    new_drawing,
    paragraphs,
    run_lines,
    run_of,
    save_drawing,
    text_table,
    wrapped,
    write_files,
    write_grid,
)
from ekss.benchmarks._paper import ERRORS, NOT_EXPLAINED, NOTES, SIZES, parameters
from ekss.benchmarks._profiles import TEXTS, Profile
from ekss.benchmarks._runner import (
    Cell,
    Plan,
    Result,
    Row,
    finished,
    short_hash,
)
from ekss.benchmarks._versions import (
    code_in,
    code_of,
    commit,
    libraries_in,
    version_line,
)
from ekss.methods import CLASSES

_TEXTS = TEXTS["pages"]
# The best cut of the pool, which only labels can tell.
BEST = "best in the pool"
# A difference of more points than this to the paper's figure is to be explained.
NOTABLE = 5.0
# The reason given where no errors are wanted.
NOT_TRIED = "not tried"


# Plan -------------------------------------------------------------------------------


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
        Sizes of the run.
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

    Examples
    --------
    >>> from ekss.benchmarks import PROFILES, loaders, plan_table1
    >>> from ekss.datasets import get_data_home
    >>> plan = plan_table1(
    ...     PROFILES["smoke"], get_data_home(), loaders(None)
    ... )  # doctest: +SKIP
    """
    wanted = tuple(METHODS if methods is None else methods)
    cells: list[Cell] = []
    missing: dict[str, str] = {}
    for name in DATASETS if datasets is None else datasets:
        dataset = DATASETS[name]

        @cache
        def load(dataset: BenchData = dataset) -> list[Points]:
            report(f"preparing {dataset.title}")
            points = loaders[dataset.name]()
            return points[: profile.sequences] if dataset.sequences else points

        planned = [
            cell
            for method in wanted
            for column in COLUMNS
            for cell in _cells(dataset, METHODS[method], column, profile)
        ]
        recipes = {key: one for cell in planned for key, one in _recipes(cell)}
        try:
            files = {
                key: str(prepare_features(home, recipe, load))
                for key, recipe in recipes.items()
            }
        except (OSError, ImportError, AttributeError) as error:
            missing[name] = str(error)
            continue
        cells += [
            replace(cell, files=tuple(files[key] for key, _ in _recipes(cell)))
            for cell in planned
        ]
    return Plan("table1", tuple(cells), run_cell, missing)


def without_known(plan: Plan, folder: Path, profile: Profile) -> Plan:
    """Leave out the cells of figures that a table has already, made by the same code.

    Parameters
    ----------
    plan : Plan
        From :func:`plan_table1`.
    folder : Path
        Folder of the table, as :func:`write_table1` or :func:`merge_table1` wrote it.
    profile : Profile
        Of the plan. It must be that of the table, too.

    Returns
    -------
    plan : Plan
        All columns that the label-tuned figure is the lowest of stay, or none; and so
        do all seeds of a figure.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import PROFILES, loaders, plan_table1, without_known
    >>> from ekss.datasets import get_data_home
    >>> profile = PROFILES["quick"]
    >>> plan = plan_table1(profile, get_data_home(), loaders(None))  # doctest: +SKIP
    >>> rest = without_known(plan, Path("docs/results"), profile)  # doctest: +SKIP
    """
    runs = json.loads((folder / "table1.json").read_text())
    if not any(run["caption"] == profile.caption for run in runs):
        raise ValueError(
            f"no run in {folder} has the profile {profile.name}; pass the directory of "
            "a table that has, or none"
        )
    table = (folder / "table1.csv").read_text()
    known = {
        (entry.dataset, entry.method, column): figure
        for entry in read_entries(table)
        for column, figure in entry.figures.items()
    }

    def group(cell: Cell) -> tuple[str, str, bool]:
        return cell.dataset, cell.method, cell.column in SWEPT

    codes: defaultdict[tuple[str, str, bool], set[str]] = defaultdict(set)
    for cell in plan.cells:
        codes[group(cell)].add(plan.code_of(cell))

    def is_known(cell: Cell) -> bool:
        figure = known.get((cell.dataset, cell.method, cell.column), Figure())
        is_other = figure.settings not in ("", settings_of(cell.identity()))
        has_all = figure.seeds > cell.seed and not is_other
        return has_all and codes[group(cell)].issuperset(figure.codes)

    left = {group(cell) for cell in plan.cells if not is_known(cell)}
    cells = tuple(cell for cell in plan.cells if group(cell) in left)
    return replace(plan, cells=cells)


def _recipes(cell: Cell) -> list[tuple[str, Any]]:
    """Return the variants of the data that a cell reads, and how they are made."""
    return sorted(cell.params["data"].items())


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
    cost = _seconds(dataset, method.name, tried, share)
    variants = sorted({setting["data"] for setting in tried})
    params = {
        "settings": tried,
        "data": {one: recipe_of(dataset, one, subset) for one in variants},
        **({"sequences": True} if dataset.sequences else {}),
    }
    seeds = profile.seeds if cost - _START <= profile.cheap else 1
    if column == "free" and method.estimator == CLASSES["ekss"]:
        seeds = profile.free_seeds
    return [
        Cell("table1", dataset.name, method.name, column, params, seed, cost)
        for seed in range(seeds)
    ]


# Estimated seconds on one thread, for the order, the number of seeds and the time left.
# Measured once on a 2-core machine; a run corrects them by the pace it sees.

# Time to start a process and load the library.
_START = 1.0
# Seconds by data set: of an iteration of one member or start (pca, cop, power, mkf), of
# an iteration of SSC, of a spectral cut, and of whole fits; free is label-free EKSS.
_PACE = "pca cop power mkf ssc cut tsc sscomp ensc free".split()
_PACES = {
    "eyaleb": (0.05, 0.06, 0.02, 0.3, 0.25, 1.5, 1, 1, 2, 110),
    "coil20": (0.025, 0.07, 0.01, 0.2, 0.08, 0.5, 0.3, 0.5, 0.7, 30),
    "coil100": (0.16, 0.1, 0.08, 1.0, 1.2, 12, 8, 37, 12, 800),
    "usps": (0.1, 0.2, 0.015, 0.25, 1.2, 2, 2, 4, 8, 75),
    "mnist_test": (0.4, 0.5, 0.05, 0.45, 3.5, 2, 2.5, 5, 9, 55),
}
# Seconds of one sequence of Hopkins 155.
_SEQUENCE = {"ekss": 0.4, "kss": 0.006, "copkss": 0.007, "mkf": 0.006}
_SEQUENCE |= {"tsc": 0.015, "ssc": 0.45, "sscomp": 0.02, "ensc": 0.2}
# Of a method or a data set that nobody has measured.
_GUESS = 30.0
# Settings that a search tries, with six cuts each.
_SEARCHED, _CUTS = 5, 6
# Iterations until the starts of a method converge.
_ITERATIONS = {"kss": 60, "copkss": 50, "mkf": 30}


def _seconds(
    dataset: BenchData, method: str, tried: list[Setting], share: float
) -> float:
    """Estimate the seconds of settings, on a share of the points or sequences."""
    if method == "ekss-images":
        # Twice as many ways to see the points are tried.
        method, share = "ekss", 2 * share
    if dataset.sequences and method in _SEQUENCE:
        seconds = sum(_sequence_seconds(method, setting) for setting in tried)
    elif dataset.name in _PACES and method in _SEQUENCE:
        pace = dict(zip(_PACE, _PACES[dataset.name], strict=True))
        seconds = sum(_fit_seconds(pace, method, setting) for setting in tried)
    else:
        seconds = _GUESS * len(tried)
    return _START + share * seconds


def _count_cuts(setting: Setting) -> int:
    cuts = setting.get("cuts")
    return prod(len(values) for values in cuts.values()) if cuts else 0


def _sequence_seconds(method: str, setting: Setting) -> float:
    members = setting["params"].get("n_members", 200) / 200 if method == "ekss" else 1
    if setting.get("record") or setting.get("search"):
        members = 6
    cuts = 1 + 0.05 * _count_cuts(setting)
    trials = setting.get("trials", 10 if method in _ITERATIONS else 1)
    dense = 6 if setting["params"].get("l1_ratio", 1) < 0.05 else 1
    return 155 * _SEQUENCE[method] * trials * members * cuts * dense


def _fit_seconds(pace: Mapping[str, float], method: str, setting: Setting) -> float:
    params, cut = setting["params"], pace["cut"]
    if setting.get("record"):
        return pace["free"]
    if setting.get("search"):
        plain = {**setting, "search": False}
        return _SEARCHED * (_fit_seconds(pace, method, plain) + _CUTS * cut)
    if method == "ekss":
        step = pace[params.get("update", "power")]
        candidates = setting.get("candidates", 1)
        width = sum(candidates) / 2 if isinstance(candidates, list) else candidates
        rounds = params.get("member", params).get("max_iter", 5) + 1
        members = params.get("n_members", 200) * rounds * step * width
        return members + max(_count_cuts(setting), 1) * cut
    if method in _ITERATIONS:
        usual = {"copkss": "cop", "mkf": "mkf", "kss": "pca"}[method]
        step = pace["power" if params.get("update") == "power" else usual]
        trials = setting.get("trials", 10)
        if method == "mkf":
            trials *= params.get("subspace_dim", 18) / 18
        most = _ITERATIONS[method]
        return trials * min(params.get("max_iter", most), most) * step
    if method == "ssc":
        converged = 200 * (2 if params.get("alpha_outliers") else 1)
        return min(params.get("max_iter", converged), converged) * pace["ssc"] + cut
    more = params.get("n_nonzero", 2) / 2 if method == "sscomp" else 1
    return pace[method] * more


# Cells ------------------------------------------------------------------------------


Scores = dict[str, Result]


def run_cell(cell: Cell) -> Result:
    """Try all settings of a cell, score them and keep the best.

    The result has "error" (percent), "nmi", "ari" and "labels" (a digest) of the best
    setting, "best" (its parameters) and "errors" of all; for several sequences their
    means, and the best setting, error and labels of each under "sequences".
    """
    variants = dict(zip(sorted(cell.params["data"]), cell.files, strict=True))
    data = {variant: read_features(path) for variant, path in variants.items()}
    sets = next(iter(data.values()))
    more: Result = {}
    if cell.params["settings"][0].get("record"):
        scores, more = _recorded(cell, sets)
    else:
        scores = [
            _scores(cell, {variant: some[number] for variant, some in data.items()})
            for number in range(len(sets))
        ]
    return {**_result(scores, sets, "sequences" in cell.params), **more}


def _recorded(cell: Cell, sets: list[Points]) -> tuple[list[Scores], Result]:
    """Fit label-free EKSS; keep what other scores would have chosen, and members."""
    (setting,) = cell.params["settings"]
    name = json.dumps(setting_name(setting))
    scores, others, n_members = [], [], []
    for points in sets:
        model = model_of(setting, points, cell.seed).fit(points.data)
        scores.append({name: _score(points, model.labels_, name)})
        others.append(other_choices(model, points.target))
        n_members.append(model.n_members_)
    known = [name for name in others[0] if all(name in other for other in others)]
    means = {name: round(fmean(other[name] for other in others), 4) for name in known}
    return scores, {"other": means, "n_members": round(fmean(n_members))}


def other_choices(model: Any, target: NDArray[np.integer]) -> dict[str, float]:
    """Return errors in percent of the cuts that other scores would choose.

    Without each term of the score, with each term alone, and of the best cut; nothing
    where the fit had no cuts to choose from.
    """
    from ekss.ensemble.choose import EXPONENTS
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


def _scores(cell: Cell, data: Mapping[str, Points]) -> Scores:
    """Score every setting of a cell; of trials the best counts."""
    found: Scores = {}
    for setting in cell.params["settings"]:
        points = data[setting["data"]]
        for name, labels in labellings(setting, points, cell.seed):
            score = _score(points, labels, name)
            if name not in found or score["error"] < found[name]["error"]:
                found[name] = score
    return found


def _score(points: Points, labels: NDArray[np.integer], name: str) -> Result:
    """Return how good one labelling is; the error is in percent."""
    from ekss.metrics import adjusted_rand, normalized_mutual_info

    return {
        "error": error_of(points, labels),
        "nmi": normalized_mutual_info(points.target, labels),
        "ari": adjusted_rand(points.target, labels),
        "best": name,
        "labels": digest_of_labels(labels),
    }


def digest_of_labels(labels: NDArray[np.integer]) -> str:
    """Return what tells whether two fits gave the same labels, whatever their type."""
    return sha256(labels.astype("<i8").tobytes()).hexdigest()[:16]


def _result(scores: list[Scores], points: list[Points], sequences: bool) -> Result:
    """Average over sequences, each with the setting that is best for it."""
    best = [min(one.values(), key=lambda score: score["error"]) for one in scores]
    means = {name: fmean(one[name]["error"] for one in scores) for name in scores[0]}
    errors = np.array([score["error"] for score in best])
    result = {
        "error": round(fmean(errors), 4),
        "nmi": round(fmean(score["nmi"] for score in best), 5),
        "ari": round(fmean(score["ari"] for score in best), 5),
        "best": json.loads(min(means, key=lambda name: means[name])),
        "errors": {name: round(mean, 4) for name, mean in means.items()},
    }
    if not sequences:
        return {**result, "labels": best[0]["labels"]}
    result["median"] = round(median(errors), 4)
    counts = np.array([some.n_clusters for some in points])
    for motions in np.unique(counts):
        mean = fmean(errors[counts == motions])
        result[f"mean_{motions}_motions"] = round(mean, 4)
    result["sequences"] = {
        some.name: {
            "n_clusters": some.n_clusters,
            "error": round(score["error"], 4),
            "best": score["best"],
            "labels": score["labels"],
        }
        for some, score in zip(points, best, strict=True)
    }
    return result


# Entries ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One column of an entry: errors in percent over seeds, or why there are none."""

    mean: float | None = None
    # Standard deviation over seeds; None for a single one.
    spread: float | None = None
    lowest: float | None = None
    highest: float | None = None
    seeds: int = 0
    # Parameters that gave the lowest error with the first seed.
    best: dict[str, Any] | None = None
    # Computing time of the cells, summed over seeds, and their largest memory.
    seconds: float = 0.0
    megabytes: float = 0.0
    reason: str = ""
    # Versions that made the rows, each once.
    codes: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    # Hash of what was computed but for the seed; earlier versions did not keep it.
    settings: str = ""


@dataclass(frozen=True)
class Entry:
    """A data set and a method: the paper's figure, if any, and ours by column."""

    dataset: str
    method: str
    published: float | None
    figures: Mapping[str, Figure]

    @property
    def title(self) -> str:
        """Readable name of its place."""
        return f"{DATASETS[self.dataset].title}, {METHODS[self.method].title}"

    def has(self, column: str) -> bool:
        """Whether a figure was published, or looked for."""
        if column == "published":
            return self.published is not None
        searched = column != "chosen" or METHODS[self.method].searched
        return searched and self.figures[column].reason != NOT_TRIED

    def error(self, column: str) -> float | None:
        """Return the mean error of a column, or the paper's figure."""
        return self.published if column == "published" else self.figures[column].mean


def entries_of(plan: Plan, rows: Mapping[str, Row]) -> list[Entry]:
    """Return the entries of all data sets and methods of a plan."""
    wanted = {cell.method for cell in plan.cells} or set(METHODS)
    present = {cell.dataset for cell in plan.cells} | set(plan.missing)
    return [
        _entry(plan, rows, dataset, method)
        for dataset in DATASETS
        for method in METHODS
        if dataset in present and method in wanted
    ]


def _entry(plan: Plan, rows: Mapping[str, Row], dataset: str, method: str) -> Entry:
    """Return an entry of Table I.

    "Label-tuned" is the lowest error over all that was tried, the paper's and the
    default parameters among it: seed by seed, for Hopkins 155 sequence by sequence.
    """
    missing = plan.missing.get(dataset, "")
    tried: set[str] = set()
    found: dict[str, dict[int, Row]] = {column: {} for column in COLUMNS}
    for cell in plan.cells:
        if (cell.dataset, cell.method) == (dataset, method):
            tried.add(cell.column)
            if cell.key in rows:
                found[cell.column][cell.seed] = rows[cell.key]
    found["tuned"] |= {
        seed: {
            **_lowest([found[one][seed] for one in SWEPT if seed in found[one]]),
            "cell": row["cell"],
        }
        for seed, row in found["tuned"].items()
        if finished(row)
    }
    figures = {
        column: _figure(by_seed, missing)
        if missing or column in tried
        else Figure(reason=NOT_TRIED)
        for column, by_seed in found.items()
    }
    return Entry(dataset, method, ERRORS.get((dataset, method)), figures)


def _figure(by_seed: Mapping[int, Row], missing: str) -> Figure:
    done = [row for _, row in sorted(by_seed.items()) if finished(row)]
    if not done:
        failures = [row["failed"] for row in by_seed.values()]
        reason = missing or (f"failed: {failures[0]}" if failures else "not run yet")
        return Figure(reason=reason)
    errors = [row["error"] for row in done]
    made = [one for row in done for one in row.get("lowest of", [row])]
    return Figure(
        mean=fmean(errors),
        spread=pstdev(errors) if len(errors) > 1 else None,
        lowest=min(errors),
        highest=max(errors),
        seeds=len(errors),
        best=_told_best(done[0]),
        seconds=sum(row["seconds"] for row in done),
        megabytes=max(row["peak_megabytes"] for row in done),
        codes=tuple(each_once(map(code_in, made))),
        commits=tuple(each_once(row["commit"] for row in made)),
        libraries=tuple(each_once(map(libraries_in, made))),
        settings=settings_of(done[0]["cell"]),
    )


def settings_of(identity: Mapping[str, Any]) -> str:
    """Return a hash of what a cell computes, whatever the seed."""
    return short_hash({**identity, "seed": None})


def _lowest(rows: list[Row]) -> Row:
    """Return the row of lowest error; of sequences each one's lowest."""
    error = itemgetter("error")
    done = [row for row in rows if finished(row)]
    best = {**min(done, key=error), "lowest of": done}
    if "sequences" not in best:
        return best
    sequences = {
        name: min((row["sequences"][name] for row in done), key=error)
        for name in best["sequences"]
    }
    return {
        **best,
        "error": round(fmean(map(error, sequences.values())), 4),
        "sequences": sequences,
    }


def _told_best(row: Row) -> dict[str, Any]:
    """Return the best parameters; of sequences the most frequent ones."""
    if "sequences" not in row:
        return dict(row["best"])
    counts = Counter(one["best"] for one in row["sequences"].values())
    return dict(json.loads(counts.most_common(1)[0][0]))


# Versions, libraries and the like that made one figure, in one place of the file.
_BETWEEN = " | "
# What earlier versions called data sets and parameters.
_OLD_DATASETS = {"hopkins": "hopkins155", "yaleb": "eyaleb", "mnist": "mnist_test"}
_OLD_PARAMETERS = {"top_q": "n_neighbors", "n_base": "n_members", "base": "update"}


def _read_parameters(text: str) -> dict[str, Any]:
    given = json.loads(text)
    return {_OLD_PARAMETERS.get(name, name): value for name, value in given.items()}


def _read_several(text: str) -> tuple[str, ...]:
    return tuple(text.split(_BETWEEN))


# Columns of the file: the field of a figure, how it is written, and how it is read.
_FIELDS: dict[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "mean": ("mean", "{:.4f}".format, float),
    "spread": ("spread", "{:.4f}".format, float),
    "lowest": ("lowest", "{:.4f}".format, float),
    "highest": ("highest", "{:.4f}".format, float),
    "seeds": ("seeds", str, int),
    "seconds": ("seconds", "{:.1f}".format, float),
    "peak_megabytes": ("megabytes", "{:.0f}".format, float),
    "parameters": ("best", json.dumps, _read_parameters),
    "reason": ("reason", str, str),
    "code": ("codes", _BETWEEN.join, _read_several),
    "commit": ("commits", _BETWEEN.join, _read_several),
    "libraries": ("libraries", _BETWEEN.join, _read_several),
    "settings": ("settings", str, str),
}


def errors_csv(entries: Sequence[Entry]) -> str:
    """Write one line for every data set, method and column."""
    lines: list[list[Any]] = [["dataset", "method", "column", "paper", *_FIELDS]]
    for entry in entries:
        for column, figure in entry.figures.items():
            place = [entry.dataset, entry.method, column, entry.published]
            lines.append([*place, *_csv_figure(figure)])
    return csv_text(lines)


def _csv_figure(figure: Figure) -> Iterator[str]:
    for name, write, _ in _FIELDS.values():
        value = getattr(figure, name)
        there = figure.mean is not None or name in ("seeds", "reason")
        yield write(value) if there and value is not None else ""


def read_entries(text: str) -> list[Entry]:
    """Read Table I from its CSV file, also of earlier versions with other names.

    Parameters
    ----------
    text : str
        Of ``table1.csv``.

    Returns
    -------
    entries : list of Entry
        Line by line, with a figure per data set.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import read_entries
    >>> text = Path("docs/results/table1.csv").read_text()  # doctest: +SKIP
    >>> entries = read_entries(text)  # doctest: +SKIP
    """
    places: dict[tuple[str, str, float | None], dict[str, Figure]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        dataset = _OLD_DATASETS.get(line["dataset"], line["dataset"])
        published = float(line["paper"]) if line["paper"] else None
        given = {
            name: read(line[column])
            for column, (name, _, read) in _FIELDS.items()
            if line.get(column)
        }
        figures = places.setdefault((dataset, line["method"], published), {})
        figures[line["column"]] = Figure(**given)
    return [Entry(*place, figures) for place, figures in places.items()]


# Pages ------------------------------------------------------------------------------

LINES = {
    "published": "paper",
    "paper": "ours, paper's parameters",
    "tuned": "ours, label-tuned",
    "free": "ours, label-free",
    "chosen": "ours, label-free choice",
}


def errors_grid(entries: Sequence[Entry]) -> Grid:
    """Return the table: lines for every method, one column per data set."""
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    grid = [["", "error %", *(DATASETS[name].title for name in datasets)]]
    for method in dict.fromkeys(entry.method for entry in entries):
        its = {entry.dataset: entry for entry in entries if entry.method == method}
        name = METHODS[method].title
        for column, title in LINES.items():
            # Only the lines for which something was tried.
            if any(entry.has(column) for entry in its.values()):
                errors = [
                    its[one].error(column) if one in its else None for one in datasets
                ]
                shown = ["-" if error is None else f"{error:.2f}" for error in errors]
                grid.append([name, title, *shown])
                name = ""
    return grid


def method_lines(entries: Sequence[Entry]) -> list[str]:
    """Say of the methods what readers of their lines have to know."""
    methods = [METHODS[one] for one in dict.fromkeys(one.method for one in entries)]
    return [f"{one.title}: {one.note}" for one in methods if one.note]


def missing_lines(entries: Sequence[Entry]) -> list[str]:
    """Say for every figure that is not there why; whole data sets at once."""
    lines = []
    for entry in entries:
        for column, figure in entry.figures.items():
            reason, title = figure.reason, DATASETS[entry.dataset].title
            if figure.mean is not None or reason == NOT_TRIED:
                continue
            if reason.startswith("failed") or reason == "not run yet":
                lines.append(f"{entry.title}, {LINES[column]}: {reason}")
            else:
                lines.append(f"{title}: missing. {reason}")
    return list(dict.fromkeys(lines))


def note_lines(entries: Sequence[Entry]) -> list[str]:
    """Return one sentence for every difference of more than 5 points."""
    lines = []
    for entry in entries:
        told = []
        for column in ("paper", "tuned"):
            mean, published = entry.figures[column].mean, entry.published
            if mean is None or published is None:
                continue
            if abs(mean - published) > NOTABLE:
                name = LINES[column].removeprefix("ours, ")
                told.append(f"{name} {mean - published:+.1f}")
        if told:
            note = NOTES.get((entry.dataset, entry.method), NOT_EXPLAINED)
            lines.append(f"{entry.title} ({', '.join(told)}): {note}")
    return lines


def current_codes() -> set[str]:
    """Return the fingerprints of the code of all methods, run or not."""
    ways: set[tuple[str, ...]] = set()
    for method in METHODS.values():
        ways |= {(method.estimator,), (method.as_printed or method.estimator,)}
        if method.searched:
            ways.add((method.estimator, SEARCH))
    return {code_of(run_cell, way) for way in ways}


def newest_codes(runs: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the fingerprints that the code had when the last run was made."""
    return set(runs[-1].get("current", runs[-1]["codes"]))


def checked_line(entries: Sequence[Entry], runs: Sequence[Mapping[str, Any]]) -> str:
    """Name the commit whose code all figures have; empty if there is no such commit.

    A run compares the fingerprints of all figures that it is given with those of its
    own code, so its commit stands for figures that it did not have to compute again.
    """
    figures = [
        one
        for entry in entries
        for one in entry.figures.values()
        if one.mean is not None
    ]
    current, checked = newest_codes(runs), runs[-1].get("checked", "")
    same = all(one.codes and current.issuperset(one.codes) for one in figures)
    if not (checked and figures and same):
        return ""
    made = each_once(
        earlier for one in figures for earlier in one.commits if earlier != checked
    )
    line = f"All of our figures are those of commit {checked}."
    if made:
        line += (
            " Where it has not changed the code that decides a figure, the figure was "
            f"not computed again; such figures were made at {listed(made)}."
        )
    return line


def version_of_entries(entries: Sequence[Entry], current: Collection[str]) -> str:
    """Say which versions made the figures of a table; ``current`` are of its code."""
    figures = [one for entry in entries for one in entry.figures.values() if one.codes]
    # A figure is as new as the oldest code that it was made by.
    codes = [
        next((code for code in one.codes if code not in current), one.codes[0])
        for one in figures
    ]
    return version_line(
        codes,
        [words for one in figures for words in one.libraries],
        [code if code in current else "" for code in codes],
        "figures",
    )


def write_table1(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: Profile,
    *,
    command: str = "ekss bench table1",
) -> Written:
    """Write Table I with ours beside the paper's: txt, md, csv, json and png.

    Parameters
    ----------
    plan : Plan
        From :func:`plan_table1`.
    rows : mapping
        Rows by the cells' keys.
    folder : Path
        Where to write.
    profile : Profile
        Its caption goes under the table.
    command : str
        What made the rows.

    Returns
    -------
    written : Written
        The text, and the files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import PROFILES, loaders, plan_table1
    >>> from ekss.benchmarks import run_plan, write_table1
    >>> from ekss.datasets import get_data_home
    >>> profile, folder = PROFILES["smoke"], Path("results")
    >>> plan = plan_table1(profile, get_data_home(), loaders(None))  # doctest: +SKIP
    >>> rows = run_plan(plan, folder)  # doctest: +SKIP
    >>> written = write_table1(plan, rows, folder, profile)  # doctest: +SKIP
    """
    run = {
        **run_of(rows, command),
        # Fingerprints of all methods at this time: figures of other runs may be as new.
        "current": sorted(plan.codes() | current_codes()),
        "checked": commit(),
        "caption": profile.caption,
        # Errors on subsets have no reason to be near the paper's.
        "comparable": not profile.subset,
    }
    return write_entries(entries_of(plan, rows), [run], folder, plan.codes())


def write_entries(
    entries: Sequence[Entry],
    runs: Sequence[Mapping[str, Any]],
    folder: Path,
    current: Collection[str] | None = None,
) -> Written:
    """Write Table I from its figures and the runs that made them.

    Parameters
    ----------
    entries : sequence of Entry
        From :func:`read_entries`.
    runs : sequence of mapping
        How figures were made, as in ``table1.json``. Later runs have replaced figures
        of earlier ones.
    folder : Path
        Where to write.
    current : collection of str, default=None
        Fingerprints of the code as it is; None means as it was in the last run.

    Returns
    -------
    written : Written
        The text, and the files.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from ekss.benchmarks import read_entries, write_entries
    >>> folder = Path("docs/results")
    >>> entries = read_entries((folder / "table1.csv").read_text())  # doctest: +SKIP
    >>> runs = json.loads((folder / "table1.json").read_text())  # doctest: +SKIP
    >>> written = write_entries(entries, runs, Path("again"))  # doctest: +SKIP
    """
    notes = note_lines(entries) if all(run["comparable"] for run in runs) else []
    absent = missing_lines(entries)
    about = method_lines(entries)
    grid = errors_grid(entries)
    newest = newest_codes(runs) if current is None else current
    versions = version_of_entries(entries, newest)
    checked = checked_line(entries, runs)
    caption = " ".join(
        [_TEXTS["table1"], *dict.fromkeys(run["caption"] for run in runs)]
    )
    below = [
        "\n".join(textwrap.fill(line, 88) for line in lines)
        for lines in ([caption], about, absent, notes)
    ]
    text = paragraphs([versions, checked, text_table(grid, rules=True), *below])
    page = ["# Table I, paper against ours", versions, checked]
    page += [markdown_table(grid), caption]
    if about:
        page += ["About the methods:", bullets(about)]
    if absent:
        page += ["Not there:", bullets(absent)]
    if notes:
        page += ["Differences of more than 5 points to the paper:", bullets(notes)]
    for number, run in enumerate(runs):
        page.append("Figures computed again:" if number else "How it was made:")
        page.append(bullets(run_lines(run)))
    picture = folder / "table1.png"
    shown = _draw_bars(entries, picture)
    page.append("![The same as bars](table1.png)" if shown else "")
    pieces = {
        "txt": text,
        "md": wrapped(paragraphs(page)),
        "csv": errors_csv(entries),
        "json": json.dumps(runs, indent=1) + "\n",
    }
    return write_files(folder, "table1", text, pieces, [picture] if shown else [])


def merge_table1(new: Path, folder: Path) -> Written:
    """Put the figures of a run into a table that is there, and write it again.

    To do it twice is the same as to do it once, and a run that went on since takes the
    place of what it was. Runs whose figures have all been replaced are forgotten.

    Parameters
    ----------
    new : Path
        Folder of the run, of which every figure replaces the one in the table; but
        where the same code made both, the one of more seeds stays.
    folder : Path
        Folder of the table.

    Returns
    -------
    written : Written
        The text, and the files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import merge_table1
    >>> written = merge_table1(Path("new"), Path("docs/results"))  # doctest: +SKIP
    """
    runs: list[Any] = []
    entries: dict[tuple[str, str], Entry] = {}
    for place in (folder, new):
        runs += json.loads((place / "table1.json").read_text())
        for entry in read_entries((place / "table1.csv").read_text()):
            key = (entry.dataset, entry.method)
            there = entries.setdefault(key, entry)
            better = {
                column: figure
                for column, figure in entry.figures.items()
                if figure.mean is not None
                and not _has_all(there.figures[column], figure)
            }
            entries[key] = replace(there, figures={**there.figures, **better})
    places = {key: i for i, key in enumerate(product(DATASETS, METHODS))}
    ordered = sorted(entries, key=lambda key: places.get(key, len(places)))
    merged = [entries[key] for key in ordered]
    codes = {code for one in merged for it in one.figures.values() for code in it.codes}
    left = [run for run in _each_run(runs) if codes.intersection(run["codes"])]
    return write_entries(merged, left, folder)


def _has_all(there: Figure, new: Figure) -> bool:
    """Whether the same code has made a figure for more seeds before."""
    return {*there.codes} <= {*new.codes} and there.seeds > new.seeds


def _each_run(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the runs without those of which a later one has everything."""
    return [
        run
        for number, run in enumerate(runs)
        if not any(_holds(later, run) for later in runs[number + 1 :])
    ]


def _holds(later: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
    """Whether a run is another one as it was, or as it went on."""
    lists = [name for name, value in run.items() if isinstance(value, list)]
    return (
        later["command"] == run["command"]
        and later["cells"] >= run["cells"]
        and all(set(run[name]) <= set(later.get(name, ())) for name in lists)
    )


def write_table2(loaders: Mapping[str, Loader], folder: Path) -> Written:
    """Write the sizes of the data sets beside the paper's: txt, md and csv.

    Parameters
    ----------
    loaders : mapping of str to callable
        What loads each data set, before any preprocessing.
    folder : Path
        Where to write.

    Returns
    -------
    written : Written
        The text, and the files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import loaders, write_table2
    >>> written = write_table2(loaders(None), Path("results"))  # doctest: +SKIP
    """
    grid: Grid = [["data set", "N paper", "N", "K paper", "K", "D paper", "D"]]
    absent = []
    for name, dataset in DATASETS.items():
        published, ours = SIZES.get(name, ("-", "-", "-")), ["-", "-", "-"]
        try:
            sets = loaders[name]()
            sizes = [(len(one.data), one.n_clusters, one.data.shape[1]) for one in sets]
            spans = [(min(values), max(values)) for values in zip(*sizes, strict=True)]
            ours = [f"{low}-{high}" if low < high else str(low) for low, high in spans]
        except OSError as error:
            absent.append(f"{dataset.title}: missing. {error}")
        pairs = zip(published, ours, strict=True)
        grid.append([dataset.title, *(str(value) for pair in pairs for value in pair)])
    title, below = "Table II, sizes of the data sets", [_TEXTS["table2"], *absent]
    return write_grid(folder, "table2", title, grid, 1, "", below)


def write_table3(plan: Plan, rows: Mapping[str, Row], folder: Path) -> Written:
    """Write the paper's parameters beside those the labels chose: txt, md and csv.

    Parameters
    ----------
    plan : Plan
        Of Table I.
    rows : mapping
        Rows by the cells' keys.
    folder : Path
        Where to write.

    Returns
    -------
    written : Written
        The text, and the files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import PROFILES, loaders, plan_table1
    >>> from ekss.benchmarks import run_plan, write_table3
    >>> from ekss.datasets import get_data_home
    >>> profile, folder = PROFILES["smoke"], Path("results")
    >>> plan = plan_table1(profile, get_data_home(), loaders(None))  # doctest: +SKIP
    >>> rows = run_plan(plan, folder)  # doctest: +SKIP
    >>> written = write_table3(plan, rows, folder)  # doctest: +SKIP
    """
    return write_parameters(entries_of(plan, rows), folder, plan.codes())


def write_parameters(
    entries: Sequence[Entry], folder: Path, current: Collection[str]
) -> Written:
    """Write the parameters from the figures of Table I.

    Parameters
    ----------
    entries : sequence of Entry
        From :func:`read_entries`.
    folder : Path
        Where to write.
    current : collection of str
        Fingerprints of the code as it is, or of the last run.

    Returns
    -------
    written : Written
        The text, and the files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import read_entries, write_parameters
    >>> text = Path("docs/results/table1.csv").read_text()  # doctest: +SKIP
    >>> written = write_parameters(
    ...     read_entries(text), Path("again"), ["d46510eda595"]
    ... )  # doctest: +SKIP
    """
    grid: Grid = [["method", "data set", "paper", "label-tuned", "error %"]]
    for method in METHODS.values():
        for entry in entries:
            given = parameters(entry.dataset, method.name)
            if entry.method == method.name and given is not None:
                figure = entry.figures["tuned"]
                chosen = "-" if figure.best is None else _told(figure.best)
                error = "-" if figure.mean is None else f"{figure.mean:.2f}"
                title = DATASETS[entry.dataset].title
                grid.append([method.title, title, _told(given), chosen, error])
    versions = version_of_entries(entries, current)
    below = [_TEXTS["table3"], *missing_lines(entries)]
    title = "Table III, parameters"
    return write_grid(folder, "table3", title, grid, 4, versions, below)


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_told(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return "..".join(map(_told, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


_COLOURS = {
    "published": "#9a9a9a",
    "paper": "#9ecae1",
    "tuned": "#08519c",
    "free": "#fd8d3c",
    "chosen": "#a63603",
}
_HEIGHT = 0.17


def _draw_bars(entries: Sequence[Entry], path: Path) -> bool:
    """Draw the errors of every data set, methods ordered by our label-tuned error.

    Without matplotlib or figures there is no picture; tell whether there is one.
    """
    if all(figure.mean is None for one in entries for figure in one.figures.values()):
        return False
    if find_spec("matplotlib") is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    columns = min(3, len(datasets))
    lines = -(-len(datasets) // columns)
    methods = len({entry.method for entry in entries})
    size = (1.5 + 4.2 * columns, 1.2 + lines * (0.7 + 0.56 * methods))
    drawing = new_drawing(*size)
    panels = drawing.subplots(lines, columns, squeeze=False).ravel()
    for panel, dataset in zip(panels, datasets, strict=False):
        _draw_panel(panel, [entry for entry in entries if entry.dataset == dataset])
    for panel in panels[len(datasets) :]:
        panel.axis("off")
    style = {"loc": "outside lower center", "ncols": len(LINES), "frameon": False}
    drawing.legend(*panels[0].get_legend_handles_labels(), **style)
    save_drawing(drawing, path, dpi=150)
    return True


def _draw_panel(panel: Any, entries: list[Entry]) -> None:
    def rank(entry: Entry) -> float:
        errors = [entry.error(column) for column in ("tuned", "published", "free")]
        return next((error for error in errors if error is not None), inf)

    ordered = sorted(entries, key=rank)
    for number, (column, title) in enumerate(LINES.items()):
        values = [entry.error(column) for entry in ordered]
        places = [place + (number - 2) * _HEIGHT for place in range(len(ordered))]
        lengths = [0.0 if value is None else value for value in values]
        style = {"color": _COLOURS[column], "label": title}
        bars = panel.barh(places, lengths, 0.92 * _HEIGHT, **style)
        none = "" if column == "chosen" else "no figure"
        texts = [none if value is None else f"{value:.1f}" for value in values]
        panel.bar_label(bars, texts, padding=2, fontsize=6, color="#444444")
    panel.set_title(DATASETS[ordered[0].dataset].title, loc="left", fontweight="bold")
    titles = [METHODS[entry.method].title for entry in ordered]
    panel.set_yticks(range(len(ordered)), titles)
    panel.invert_yaxis()
    panel.set_xlabel("clustering error %")
    panel.margins(x=0.12, y=0.02)
    panel.spines[["top", "right"]].set_visible(False)
