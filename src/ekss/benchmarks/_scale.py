"""Time, memory and error as the number of points grows: plan, and a cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ekss.benchmarks._cells import Cell, Plan, Result
from ekss.benchmarks._recipes import (
    Loader,
    Points,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.core.bases import random_bases

PLANTED, MNIST = "planted", "mnist70k"
METHODS = {
    "given": "EKSS, K and d given",
    "free": "EKSS, K given",
    "approximate": "one cut, approximate graph",
    "exact": "one cut, exact graph",
    "kmeans": "MiniBatchKMeans",
}
# The planted problem.
_PROBLEM = {"n_clusters": 10, "dim": 5, "n_features": 50, "noise": 0.1}
_MNIST_DIM = 13
# Votes kept a point where the graph is cut once.
_TOP_Q = 10
# Points drawn at once, so that drawing them takes less memory than clustering them.
_DRAWN = 50_000


@dataclass(frozen=True)
class ScaleProfile:
    """How far the number of points grows.

    Attributes
    ----------
    name : str
    sizes : tuple of int
        Numbers of planted points, ascending, multiples of 10.
    n_members : int
        Members, where they are given.
    all_pairs : int
        Up to so many points the exact graph is made too, and compared.
    free_base : int or "auto"
        Members, where only K is given.
    mnist : bool
        Whether the 70000 digits are clustered too.
    caption : str
        What the reader has to know.
    """

    name: str
    sizes: tuple[int, ...]
    n_members: int
    all_pairs: int
    free_base: int | str = "auto"
    mnist: bool = False
    caption: str = ""


SCALE_PROFILES = {
    profile.name: profile
    for profile in (
        ScaleProfile(
            "smoke",
            (2_000, 25_000),
            n_members=10,
            all_pairs=2_000,
            free_base=10,
            caption="Smoke run: few points and members, to show that everything runs.",
        ),
        ScaleProfile(
            "full",
            (10_000, 100_000, 1_000_000),
            n_members=100,
            all_pairs=100_000,
            mnist=True,
        ),
    )
}


def plan_scale(
    profile: ScaleProfile,
    home: Path,
    loaders: Mapping[str, Loader],
    *,
    workers: int = 1,
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """List the cells: every method at every number of points, and MNIST.

    Parameters
    ----------
    profile : ScaleProfile
    home : Path
        Data home, where the features of MNIST are kept.
    loaders : mapping of str to callable
        Loads MNIST under "mnist70k".
    workers : int, default=1
        Parallel workers of a fit; cells run one after the other.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
    """
    cells = [
        _cell(PLANTED, method, model, {**_PROBLEM, "n_samples": n}, workers)
        for n in profile.sizes
        for method, model in _models(profile, _PROBLEM["dim"]).items()
        if method != "exact" or n <= profile.all_pairs
    ]
    compared = [n for n in profile.sizes if n <= profile.all_pairs][-1:]
    model = _models(profile, _PROBLEM["dim"])["approximate"]
    cells += [
        _cell(
            PLANTED,
            "approximate",
            model,
            {**_PROBLEM, "n_samples": n},
            workers,
            recall=True,
        )
        for n in compared
    ]
    missing: dict[str, str] = {}
    if profile.mnist:
        try:
            cells += _mnist_cells(profile, home, loaders, workers, report)
        except OSError as error:
            missing[MNIST] = str(error)
    return Plan("scale", tuple(cells), run_scale_cell, missing)


def run_scale_cell(cell: Cell) -> Result:
    """Fit once and measure.

    Returns
    -------
    result : dict
        "error" in percent, "seconds" of the fit, "stages" in seconds, what the fit
        chose, and "estimated" megabytes and seconds; of a cell that compares graphs
        only "error" and "recall".
    """
    points = _points(cell)
    if cell.column == "recall":
        return _compare_graphs(points, cell)
    if cell.method == "kmeans":
        return _run_kmeans(points, cell)
    from ekss.estimators import EKSS
    from ekss.estimators._budget import estimate
    from ekss.estimators._memory import workload_of
    from ekss.estimators._pace import measured_pace
    from ekss.runtime.rows import MemoryRows
    from ekss.runtime.workers import stage_seconds

    model = EKSS(
        points.n_clusters,
        n_jobs=cell.params["workers"],
        random_state=cell.seed,
        **cell.params["model"],
    )
    start = time.perf_counter()
    with stage_seconds() as stages:
        model.fit(points.data)
    seconds = time.perf_counter() - start
    expected = estimate(workload_of(model, MemoryRows(points.data)), measured_pace())
    return {
        "error": _error(points, model.labels_),
        "seconds": round(seconds, 3),
        "stages": {name: round(spent, 3) for name, spent in stages.items()},
        "estimated": {
            "megabytes": round(expected.bytes / 2**20),
            "seconds": round(expected.seconds, 1),
        },
        "graph": model.graph_,
        "members": model.n_members_,
        "n_neighbors": model.n_neighbors_,
        "dim": model.subspace_dim_,
    }


def planted_points(
    n_samples: int,
    *,
    n_clusters: int,
    dim: int,
    n_features: int,
    noise: float,
    seed: int,
) -> Points:
    """Draw points near random subspaces, in float32 and block by block.

    The same as one call of :func:`ekss.datasets.make_union_of_subspaces` with random
    bases would draw, but without its arrays of all points in float64.
    """
    from ekss.datasets import make_union_of_subspaces

    n_blocks = -(-n_samples // _DRAWN)
    of_bases, *of_blocks = np.random.SeedSequence(seed).spawn(1 + n_blocks)
    bases = random_bases(n_clusters, n_features, dim, np.random.default_rng(of_bases))
    data = np.empty((n_samples, n_features), np.float32)
    target = np.empty(n_samples, np.int64)
    ends = np.linspace(0, n_samples // n_clusters, n_blocks + 1).astype(int)
    for number, child in enumerate(of_blocks):
        each = int(ends[number + 1] - ends[number])
        rows = slice(n_clusters * ends[number], n_clusters * ends[number + 1])
        data[rows], target[rows] = make_union_of_subspaces(
            bases=list(bases),
            n_per_subspace=each,
            noise=noise,
            random_state=child,
            return_X_y=True,
        )
    return Points(data, target, PLANTED)


def recall_of_votes(exact: Any, found: Any) -> float:
    """Share of the true top q that was found; what ties with the q-th is true too."""
    good = (found.value >= exact.value[:, -1:]) & (found.index >= 0)
    return float(good.mean())


def _models(profile: ScaleProfile, dim: int | float) -> dict[str, dict[str, Any]]:
    """Return the parameters of every way to cluster."""
    given: dict[str, Any] = {"subspace_dim": int(dim), "n_members": profile.n_members}
    once = {**given, "n_neighbors": _TOP_Q}
    return {
        "given": given,
        "free": {"n_members": profile.free_base},
        "approximate": {**once, "graph": "approximate"},
        "exact": {**once, "graph": "exact"},
    }


def _cell(
    dataset: str,
    method: str,
    model: Mapping[str, Any],
    problem: Mapping[str, Any],
    workers: int,
    recall: bool = False,
    file: str = "",
) -> Cell:
    n = problem["n_samples"]
    each = {"given": 3e-5, "free": 1.2e-4, "approximate": 2e-4, "kmeans": 1e-5}
    cost = 10 + n * each.get(method, 0.0)
    if method == "exact" or recall:
        cost += 5e-9 * n * n
    params = {"model": dict(model), "problem": dict(problem), "workers": workers}
    return Cell(
        "scale",
        dataset,
        method,
        "recall" if recall else str(n),
        params,
        seed=0,
        cost=cost,
        files=(file,) if file else (),
    )


def _mnist_cells(
    profile: ScaleProfile,
    home: Path,
    loaders: Mapping[str, Loader],
    workers: int,
    report: Callable[[str], None],
) -> list[Cell]:
    recipe = {**recipe_of("mnist", "scattering", None), "dataset": MNIST}
    report("preparing the features of MNIST-70k, a few minutes if they are not there")
    file = str(prepare_features(home, recipe, loaders[MNIST]))
    problem = {"n_samples": 70_000, "recipe": recipe}
    models = {**_models(profile, _MNIST_DIM), "kmeans": {}}
    return [
        _cell(MNIST, method, models[method], problem, workers, file=file)
        for method in ("given", "free", "approximate", "kmeans")
    ]


def _points(cell: Cell) -> Points:
    if cell.files:
        return read_features(cell.files[0])[0]
    return planted_points(seed=cell.seed, **cell.params["problem"])


def _run_kmeans(points: Points, cell: Cell) -> Result:
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    model = MiniBatchKMeans(points.n_clusters, random_state=cell.seed)
    with threadpool_limits(cell.params["workers"]):
        start = time.perf_counter()
        labels = model.fit_predict(points.data)
        seconds = time.perf_counter() - start
    return {"error": _error(points, labels), "seconds": round(seconds, 3)}


def _compare_graphs(points: Points, cell: Cell) -> Result:
    """Find how many of the strongest votes the approximate graph has."""
    from ekss.estimators import EKSS
    from ekss.graph import (
        nearest_by_votes,
        nearest_by_votes_approximate,
        prepare_votes,
    )

    workers = cell.params["workers"]
    model = EKSS(
        points.n_clusters,
        n_jobs=workers,
        random_state=cell.seed,
        **cell.params["model"],
    ).fit(points.data)
    votes = prepare_votes(
        model.member_labels_, model.member_weights_, divide_by_size=model.divide_by_size
    )
    exact = nearest_by_votes(votes, _TOP_Q, n_jobs=workers)
    found = nearest_by_votes_approximate(votes, _TOP_Q, n_jobs=workers, random_state=0)
    recall = recall_of_votes(exact, found)
    return {"error": _error(points, model.labels_), "recall": round(recall, 6)}


def _error(points: Points, labels: Any) -> float:
    from ekss.metrics import clustering_error

    return round(100 * clustering_error(points.target, labels), 4)
