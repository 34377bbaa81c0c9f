"""Clustering of simulated subspaces: what figures 3 and 4 share."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import ceil
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._methods import build
from ekss.benchmarks._pages import Finding, csv_text, listed
from ekss.benchmarks._profiles import FigureProfile
from ekss.benchmarks._runner import Cell, Plan, Result, Row, finished

FEATURES = 100
SUBSPACES = 3
METHODS = {"ekss": "EKSS", "ekss0": "EKSS-0", "tsc": "TSC", "ssc": "SSC"}

# Percent of error up to which a problem counts as solved.
SOLVED = 5.0
# Points on average that count as the same performance.
SAME = 5.0
_ESTIMATORS = {
    "ekss": "ekss.estimators:PaperEKSS",
    "ekss0": "ekss.estimators:PaperEKSS",
    "tsc": "ekss.estimators:TSC",
    "ssc": "ekss.estimators:SSC",
}
# With three clusters of one size, chance is wrong about two thirds of the time.
CHANCE = 100 * 2 / 3
_START = 2.0


@dataclass(frozen=True)
class Problem:
    """One point of a figure: three subspaces in 100 dimensions.

    Attributes
    ----------
    n_per_subspace : int
        Points drawn from each subspace, N_k.
    dim : int
        Dimension d of the subspaces.
    angle : float or None
        All principal angles between the first and each other subspace; None draws
        the subspaces uniformly.
    noise : float
        As in :func:`ekss.datasets.make_union_of_subspaces`.
    """

    n_per_subspace: int
    dim: int
    angle: float | None = None
    noise: float = 0.0

    def draw(self, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return points and labels of one trial, the same for every method."""
        from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces

        place = (seed, self.n_per_subspace, self.dim, round(1e6 * (self.angle or 0)))
        sizes = (self.dim, FEATURES, self.n_per_subspace)
        options: Mapping[str, Any] = {
            "noise": self.noise,
            "random_state": np.random.SeedSequence(place),
            "return_X_y": True,
        }
        if self.angle is None:
            return make_union_of_subspaces(SUBSPACES, *sizes, **options)
        return make_subspaces_at_angle(self.angle, *sizes, **options)


def neighbours_kept(method: str, n_per_subspace: int) -> int:
    """Return the paper's q of its synthetic experiments.

    Examples
    --------
    >>> neighbours_kept("ekss", 500), neighbours_kept("tsc", 500)
    (84, 25)
    >>> neighbours_kept("ekss0", 10)
    3
    """
    share = 6 if method == "ekss" else 20
    return max(3, ceil(n_per_subspace / share))


def settings_of(
    method: str, problem: Problem, profile: FigureProfile
) -> dict[str, dict[str, Any]]:
    """Return the parameters that a method tries, by name; for SSC there are several."""
    q = neighbours_kept(method, problem.n_per_subspace)
    if method == "tsc":
        return {"": {"n_neighbors": q}}
    if method == "ssc":
        alphas = profile.noisy_alphas if problem.noise else profile.alphas
        rounds = profile.ssc_iterations
        return {f"alpha={a:g}": {"alpha": a, "max_iter": rounds} for a in alphas}
    given = {"subspace_dim": problem.dim, "n_neighbors": q}
    if method == "ekss":
        return {"": {**given, **profile.ekss}}
    zero = {"n_members": _zero_members(problem, profile), "max_iter": 0}
    return {"": {**given, **zero}}


def _zero_members(problem: Problem, profile: FigureProfile) -> int:
    return profile.zero_members if problem.angle is None else profile.angle_members


def simulation_cells(
    table: str,
    panel: str,
    problems: Iterable[Problem],
    profile: FigureProfile,
    methods: Sequence[str] = tuple(METHODS),
) -> list[Cell]:
    """Return the cells of one panel, for all methods and trials."""
    groups: dict[Any, list[Problem]] = {}
    for problem in problems:
        place = problem if profile.one_by_one else problem.n_per_subspace
        groups.setdefault(place, []).append(problem)
    return [
        _cell(table, panel, method, group, profile, seed)
        for seed in range(profile.trials)
        for method in methods
        for group in groups.values()
    ]


def _cell(
    table: str,
    panel: str,
    method: str,
    group: Sequence[Problem],
    profile: FigureProfile,
    seed: int,
) -> Cell:
    params = {
        "problems": [
            {**asdict(problem), "settings": settings_of(method, problem, profile)}
            for problem in group
        ]
    }
    column = f"N_k={group[0].n_per_subspace}"
    if len(group) == 1:
        angle = group[0].angle
        column += f" d={group[0].dim}" + ("" if angle is None else f" angle={angle:g}")
    cost = _START + sum(_cost(method, problem, profile) for problem in group)
    return Cell(table, panel, method, column, params, seed, cost)


def run_simulation(cell: Cell) -> Result:
    """Cluster the problems of a cell with every setting and score them.

    Returns
    -------
    result : dict
        "trials": for every problem the "errors" in percent by setting, and the
        "cpu_seconds" of all settings; "error": mean over problems of the lowest.
    """
    trials: list[dict[str, Any]] = []
    for given in cell.params["problems"]:
        settings = given["settings"]
        sizes = {name: value for name, value in given.items() if name != "settings"}
        points, target = Problem(**sizes).draw(cell.seed)
        start = time.process_time()
        errors = {
            name: _error(cell.method, params, points, target, cell.seed)
            for name, params in settings.items()
        }
        seconds = round(time.process_time() - start, 2)
        trials.append({"errors": errors, "cpu_seconds": seconds})
    lowest = fmean(min(trial["errors"].values()) for trial in trials)
    return {"error": round(lowest, 4), "trials": trials}


def _error(
    method: str,
    params: Mapping[str, Any],
    points: NDArray[np.float64],
    target: NDArray[np.int64],
    seed: int,
) -> float:
    from ekss.metrics import clustering_error

    model = build(_ESTIMATORS[method], SUBSPACES, params, seed=seed).fit(points)
    return round(100 * clustering_error(target, model.labels_), 4)


def _cost(method: str, problem: Problem, profile: FigureProfile) -> float:
    """Estimate seconds of one core, from a few measured points."""
    points, dim = SUBSPACES * problem.n_per_subspace, problem.dim
    if method == "tsc":
        return 0.05 + 1e-7 * points**2
    if method == "ssc":
        alphas = profile.noisy_alphas if problem.noise else profile.alphas
        return len(alphas) * (0.1 + 1.2e-8 * points**2 * profile.ssc_iterations)
    if method == "ekss0":
        bases = 4e-4 + 9e-4 * (dim / 40) ** 1.4
        member = bases + 3.1e-8 * points * dim + 1e-6 * points
        return _zero_members(problem, profile) * member
    pca = 1.2e-2 if profile.ekss["update"] == "pca" else 2e-4
    step = pca + 4e-8 * points * dim
    return profile.ekss["n_members"] * (profile.ekss["max_iter"] + 1) * step


class Place(NamedTuple):
    """A method at a point of a panel."""

    panel: str
    method: str
    n_per_subspace: int
    dim: int
    angle: float | None


@dataclass(frozen=True)
class Trial:
    """One clustering of one random problem.

    Attributes
    ----------
    place : Place
    setting : str
        Parameters of the method, where several were tried.
    seed : int
    error : float
        Clustering error in percent.
    """

    place: Place
    setting: str
    seed: int
    error: float


def trials_of(plan: Plan, rows: Mapping[str, Row]) -> list[Trial]:
    """Return the trials in the finished rows of a plan of simulations."""
    found = []
    for cell, row in plan.finished(rows):
        for given, result in zip(cell.params["problems"], row["trials"], strict=True):
            place = Place(
                cell.dataset,
                cell.method,
                given["n_per_subspace"],
                given["dim"],
                given["angle"],
            )
            found += [
                Trial(place, setting, cell.seed, error)
                for setting, error in result["errors"].items()
            ]
    return found


def processor_time(rows: Mapping[str, Row]) -> str:
    """Say how long the clusterings of simulated problems kept a processor busy."""
    done = [row for row in rows.values() if finished(row)]
    seconds = sum(one.get("cpu_seconds", 0) for row in done for one in row["trials"])
    return f"Processor time of all clusterings: {seconds / 60:.1f} minutes"


def write_trials(trials: Iterable[Trial]) -> str:
    """Write trials as CSV, one per line."""
    head = [*Place._fields, *(one.name for one in fields(Trial)[1:])]
    lines = [[*trial.place, trial.setting, trial.seed, trial.error] for trial in trials]
    shown = [["" if one is None else one for one in line] for line in lines]
    return csv_text([head, *shown])


def read_trials(text: str) -> list[Trial]:
    """Read what :func:`write_trials` wrote.

    Examples
    --------
    >>> trial = Trial(Place("angle", "ssc", 10, 2, 0.5), "alpha=20", 0, 12.5)
    >>> read_trials(write_trials([trial])) == [trial]
    True
    """
    found = []
    for line in csv.DictReader(io.StringIO(text)):
        place = Place(
            line["panel"],
            line["method"],
            int(line["n_per_subspace"]),
            int(line["dim"]),
            float(line["angle"]) if line["angle"] else None,
        )
        setting, seed = line["setting"], int(line["seed"])
        found.append(Trial(place, setting, seed, float(line["error"])))
    return found


def mean_errors(trials: Iterable[Trial]) -> dict[Place, float]:
    """Return the mean over trials, of several settings the lowest mean.

    The setting is chosen for every place by the labels, which is how the paper chose
    the parameters of SSC.
    """
    return {place: fmean(errors) for place, errors in best_errors(trials).items()}


def best_errors(trials: Iterable[Trial]) -> dict[Place, list[float]]:
    """Return the errors of all trials with the setting of lowest mean."""
    errors: dict[Place, dict[str, list[float]]] = {}
    for trial in trials:
        settings = errors.setdefault(trial.place, {})
        settings.setdefault(trial.setting, []).append(trial.error)
    return {
        place: min(settings.values(), key=fmean) for place, settings in errors.items()
    }


def smallest_angle(
    means: Mapping[Place, float], panel: str, method: str, n_per_subspace: int
) -> float | None:
    """Return the angle from which on all errors are at most 5 percent, or None."""
    line = {
        place.angle: error
        for place, error in means.items()
        if place[:3] == (panel, method, n_per_subspace) and place.angle is not None
    }
    solved = _solved_from(sorted(line.items(), reverse=True))
    return solved[-1] if solved else None


def largest_dim(
    means: Mapping[Place, float], method: str, n_per_subspace: int
) -> int | None:
    """Return the dimension up to which all errors are at most 5 percent, or None."""
    line = {
        place.dim: error
        for place, error in means.items()
        if place[:3] == ("dimension", method, n_per_subspace)
    }
    solved = _solved_from(sorted(line.items()))
    return int(solved[-1]) if solved else None


def _solved_from(line: Sequence[tuple[float, float]]) -> list[float]:
    solved = []
    for value, error in line:
        if error > SOLVED:
            break
        solved.append(value)
    return solved


def same_as_tsc(means: Mapping[Place, float], panels: Sequence[str]) -> Finding | None:
    pairs = [
        (error, means[place._replace(method="tsc")])
        for place, error in means.items()
        if place.method == "ekss0"
        and place.panel in panels
        and place._replace(method="tsc") in means
    ]
    if not pairs:
        return None
    apart = fmean(abs(zero - tsc) for zero, tsc in pairs)
    zero, tsc = (fmean(values) for values in zip(*pairs, strict=True))
    return Finding(
        "EKSS-0 and TSC perform about the same.",
        apart <= SAME,
        f"Over {len(pairs)} points the mean error is {zero:.1f} % for EKSS-0 and "
        f"{tsc:.1f} % for TSC, and point by point they are {apart:.1f} points apart on "
        f"average (at most {SAME:.0f} counts as the same).",
    )


def smaller_angles(
    means: Mapping[Place, float], panel: str, most: int, others: Sequence[str]
) -> Finding | None:
    if not any(place.panel == panel for place in means):
        return None
    names = ("ekss", *others)
    found = {name: smallest_angle(means, panel, name, most) for name in names}
    limits = {name: 9.0 if one is None else one for name, one in found.items()}
    told = listed(f"{told_limit(found[name])} for {METHODS[name]}" for name in names)
    rivals = listed(METHODS[name] for name in others)
    return Finding(
        f"EKSS clusters at smaller angles than {rivals}.",
        all(limits["ekss"] < limits[name] for name in others),
        f"With N_k = {most} the mean error is at most {SOLVED:.0f} % from these angles "
        f"on: {told} radians.",
    )


def told_limit(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def height(place: Place) -> float:
    """Return what is varied beside the number of points: dimension or angle."""
    return float(place.dim if place.angle is None else place.angle)
