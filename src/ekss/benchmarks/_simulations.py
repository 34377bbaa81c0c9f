"""Clustering of simulated subspaces: the cells behind figures 3 and 4."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._cells import Cell, Result
from ekss.benchmarks._figure_profiles import FigureProfile

FEATURES = 100
SUBSPACES = 3
METHODS = {"ekss": "EKSS", "ekss0": "EKSS-0", "tsc": "TSC", "ssc": "SSC"}

_ESTIMATORS = {"ekss": "EKSS", "ekss0": "EKSS", "tsc": "TSC", "ssc": "SSC"}
# What makes EKSS the algorithm of the paper; weights by cost were for real data only.
_AS_PRINTED = {
    "n_candidates": None,
    "divide_by_size": False,
    "weighting": "uniform",
}
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
    given = {"subspace_dim": problem.dim, "n_neighbors": q, **_AS_PRINTED}
    if method == "ekss":
        return {"": {**given, **profile.ekss}}
    # Members that do not iterate have no use for an exact basis update.
    zero = {
        "n_members": _zero_members(problem, profile),
        "max_iter": 0,
        "base": "power",
    }
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
    from ekss import estimators
    from ekss.metrics import clustering_error

    make = getattr(estimators, _ESTIMATORS[method])
    model = make(SUBSPACES, random_state=seed, n_jobs=1, **params).fit(points)
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
    pca = 1.2e-2 if profile.ekss["base"] == "pca" else 2e-4
    step = pca + 4e-8 * points * dim
    return profile.ekss["n_members"] * (profile.ekss["max_iter"] + 1) * step
