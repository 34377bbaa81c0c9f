"""Time, memory and error as the number of points grows: plan, cells and page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from ekss.benchmarks._data import (
    MNIST70K,
    Loader,
    Points,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.benchmarks._methods import build
from ekss.benchmarks._pages import (
    Grid,
    Page,
    Study,
    csv_text,
    new_drawing,
    save_drawing,
)
from ekss.benchmarks._runner import Cell, Plan, Result, Row
from ekss.core.bases import random_bases

PLANTED, MNIST = "planted", MNIST70K.name
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
# Neighbours kept per point where the graph is cut once.
_NEIGHBORS = 10
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
    free_members : int or "auto"
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
    free_members: int | str = "auto"
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
            free_members=10,
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
    from ekss.ensemble import CutOptions
    from ekss.runtime.workers import stage_seconds

    model = _model(points, cell)
    start = time.perf_counter()
    with stage_seconds() as stages:
        model.fit(points.data)
    seconds = time.perf_counter() - start
    cut, voted = model.cut or CutOptions(), len(model.member_labels_)
    return {
        "error": _error(points, model.labels_),
        "seconds": round(seconds, 3),
        "stages": {name: round(spent, 3) for name, spent in stages.items()},
        "estimated": _estimated(model, points.data),
        "pairs": "all" if cut.looks_at_all_pairs(voted) else "likely",
        "members": model.n_members_,
        "n_neighbors": model.n_neighbors_,
        "dim": model.subspace_dim_,
    }


def _model(points: Points, cell: Cell) -> Any:
    workers, params = cell.params["workers"], cell.params["model"]
    return build(
        "ekss.estimators:EKSS",
        points.n_clusters,
        params,
        seed=cell.seed,
        n_jobs=workers,
    )


def _estimated(model: Any, rows: Any) -> dict[str, float]:
    """Return the memory and time that ``verbose`` tells before such a fit."""
    from ekss.ensemble import CutOptions, Wishes
    from ekss.ensemble.estimate import estimate, work_of
    from ekss.runtime.cost import measured_pace
    from ekss.runtime.rows import MemoryRows
    from ekss.runtime.workers import Workers

    dim, members, q = model.subspace_dim, model.n_members, model.n_neighbors
    wishes = Wishes(
        model.n_clusters,
        None if dim == "auto" else (dim, dim),
        None if members == "auto" else members,
        n_neighbors=None if q == "auto" else q,
        cut=model.cut or CutOptions(),
    )
    work = work_of(wishes, MemoryRows(rows), model.sample_, Workers(model.n_jobs))
    expected = estimate(work).at_pace(measured_pace())
    return {
        "megabytes": round(expected.bytes / 2**20),
        "seconds": round(expected.seconds, 1),
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
    once = {**given, "n_neighbors": _NEIGHBORS, "max_samples": None}
    return {
        "given": given,
        "free": {"n_members": profile.free_members},
        "approximate": {**once, "cut": {"pairs": "likely", "cutters": "paper"}},
        "exact": {**once, "cut": {"pairs": "all", "cutters": "paper"}},
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
    recipe = recipe_of(MNIST70K, "scattering", None)
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
    from ekss.graph import (
        nearest_by_votes,
        nearest_by_votes_approximate,
        prepare_votes,
    )

    workers = cell.params["workers"]
    model = _model(points, cell).fit(points.data)
    votes = prepare_votes(
        model.member_labels_, model.member_weights_, divide_by_size=True
    )
    exact = nearest_by_votes(votes, _NEIGHBORS, n_jobs=workers)
    found = nearest_by_votes_approximate(
        votes, _NEIGHBORS, n_jobs=workers, random_state=0
    )
    recall = recall_of_votes(exact, found)
    return {"error": _error(points, model.labels_), "recall": round(recall, 6)}


def _error(points: Points, labels: Any) -> float:
    from ekss.metrics import clustering_error

    return round(100 * clustering_error(points.target, labels), 4)


# Stages of the table, and the names under which progress was reported.
STAGES = {
    "members": ("members", "halves", "clusters"),
    "votes": ("votes",),
    "cuts": ("cuts", "spectral cut"),
    "choice": ("choice",),
    "rows": ("rows",),
}

_TEXT = """\
Seconds of `fit` by stage, the largest memory of the process with the library and the
data, and the clustering error. The planted points lie near K = 10 random subspaces of
dimension d = 5 in 50 dimensions, as many near each, in float32: a vector of length 1
in the subspace plus Gaussian noise whose length is about 0.1. Every fit has a fresh
process to itself.

- "K and d given" is `EKSS(10, subspace_dim=5, n_members={n_members})`: beyond 20000
  rows it clusters a sample of 10000, and the stage "rows" gives all others their
  clusters.
- "K given" is `EKSS(10)`, which also finds dimensions and the number of members.
- "one cut" has `n_neighbors=10` and `max_samples=None` as well, so all points are voted
  on, and the graph of all points is cut once, as in the paper. For the approximate
  graph likely pairs of points are compared, for the exact one all pairs:
  `CutOptions(pairs="likely")` or `CutOptions(pairs="all")`.

"Rest" is reading, scaling, trying which components to remove, and fitting subspaces.
The slope says how a time grows between the two largest numbers of points of a method: 1
is as fast as the points, 2 as their square. In brackets: what `verbose` said before the
fit began."""


@dataclass(frozen=True)
class Measured:
    """One fit: where it belongs, and what it took.

    Attributes
    ----------
    dataset, method : str
    n_samples : int
    seconds : float
    stages : dict
        Seconds by the names of :data:`STAGES`, and "rest".
    megabytes : float
        Largest memory of the process.
    error : float
        In percent.
    workers : int
    expected : tuple of float or None
        Megabytes and seconds that were estimated.
    """

    dataset: str
    method: str
    n_samples: int
    seconds: float
    megabytes: float
    error: float
    workers: int
    stages: dict[str, float] = field(default_factory=dict)
    expected: tuple[float, float] | None = None


def scale_page(plan: Plan, rows: Mapping[str, Row], profile: ScaleProfile) -> Page:
    """Return what the rows show."""
    measured = list(_measured(plan, rows))
    parts = [_TEXT.format(n_members=profile.n_members), profile.caption]
    parts += list(_compared(plan, rows, measured))
    planted = [one for one in measured if one.dataset == PLANTED]
    workers = sorted({str(one.workers) for one in measured})
    return Page(
        name="scale",
        title="Time and memory as the number of points grows",
        alt="Seconds of every stage and memory against the number of points",
        grid=scale_grid(measured),
        text="\n\n".join(part for part in parts if part),
        csv=scale_csv(measured),
        made=f"Workers of a fit: {', '.join(workers)}",
        draw=partial(_draw_scale, planted) if planted else None,
    )


def scale_grid(measured: list[Measured]) -> Grid:
    """Return the table: a line for every fit, and the slopes of every method."""
    head = ["", "points", "s", *STAGES, "rest", "MB", "error %"]
    grid: Grid = [head]
    for method, title in METHODS.items():
        fits = _fits(measured, PLANTED, method)
        grid += [_line(title, one) for one in fits]
        if len(fits) > 1:
            grid.append(_slope_line(*fits[-2:]))
    for method, title in METHODS.items():
        grid += [
            _line(f"MNIST: {title}", one) for one in _fits(measured, MNIST, method)
        ]
    return grid


def slope(before: float, after: float, growth: float) -> float | None:
    """Return the power with which a time grew; None where there was none.

    Examples
    --------
    >>> from ekss.benchmarks._scale import slope
    >>> round(slope(2.0, 200.0, growth=10.0), 3)
    2.0
    """
    if before <= 0 or after <= 0:
        return None
    return log(after / before) / log(growth)


def scale_csv(measured: list[Measured]) -> str:
    """Write one line for every fit."""
    head = [
        *"dataset method points workers seconds".split(),
        *STAGES,
        *"rest megabytes error expected_megabytes expected_seconds".split(),
    ]
    lines = []
    for one in measured:
        stages = [one.stages.get(name, "") for name in (*STAGES, "rest")]
        expected = one.expected or ("", "")
        place = [one.dataset, one.method, one.n_samples, one.workers, one.seconds]
        lines.append([*place, *stages, one.megabytes, one.error, *expected])
    return csv_text([head, *lines])


def _measured(plan: Plan, rows: Mapping[str, Row]) -> Iterator[Measured]:
    for cell, row in plan.finished(rows):
        if cell.column != "recall":
            yield _of_row(cell, row)


def _of_row(cell: Cell, row: Row) -> Measured:
    told = row.get("stages", {})
    stages = {
        name: round(sum(told.get(part, 0.0) for part in parts), 3)
        for name, parts in STAGES.items()
    }
    if told:
        stages["rest"] = round(max(row["seconds"] - sum(stages.values()), 0.0), 3)
    expected = row.get("estimated")
    return Measured(
        cell.dataset,
        cell.method,
        cell.params["problem"]["n_samples"],
        row["seconds"],
        row["peak_megabytes"],
        row["error"],
        cell.params["workers"],
        stages if told else {},
        None if expected is None else (expected["megabytes"], expected["seconds"]),
    )


def _fits(measured: list[Measured], dataset: str, method: str) -> list[Measured]:
    found = [one for one in measured if (one.dataset, one.method) == (dataset, method)]
    return sorted(found, key=lambda one: one.n_samples)


def _line(title: str, one: Measured) -> list[str]:
    stages = [_shown(one.stages.get(name, 0.0)) for name in (*STAGES, "rest")]
    megabytes, seconds = f"{one.megabytes:.0f}", _shown(one.seconds)
    if one.expected is not None:
        megabytes += f" ({one.expected[0]:.0f})"
        seconds += f" ({_shown(one.expected[1])})"
    place = [title, f"{one.n_samples:,}", seconds]
    return [*place, *stages, megabytes, f"{one.error:.2f}"]


def _slope_line(before: Measured, after: Measured) -> list[str]:
    growth = after.n_samples / before.n_samples
    pairs = [(before.seconds, after.seconds)]
    pairs += [
        (before.stages.get(name, 0.0), after.stages.get(name, 0.0))
        for name in (*STAGES, "rest")
    ]
    slopes = [slope(*pair, growth) for pair in pairs]
    # What takes hardly any time has no slope worth telling.
    shown = [
        "" if one is None or max(pair) < 1 else f"{one:.2f}"
        for one, pair in zip(slopes, pairs, strict=True)
    ]
    return ["slope", "", *shown, "", ""]


def _shown(seconds: float) -> str:
    if seconds == 0:
        return ""
    return f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


def _compared(
    plan: Plan, rows: Mapping[str, Row], measured: list[Measured]
) -> Iterator[str]:
    """Say what the approximate graph misses, and what that does to the error."""
    for cell, row in plan.finished(rows):
        if cell.column != "recall":
            continue
        n = cell.params["problem"]["n_samples"]
        errors = {
            one.method: one.error
            for one in measured
            if (one.dataset, one.n_samples) == (PLANTED, n)
        }
        text = (
            f"At {n:,} points the approximate graph has {100 * row['recall']:.2f} % of "
            "the ten strongest votes of a point (what ties with the tenth counts)."
        )
        if {"approximate", "exact"} <= set(errors):
            text += (
                f" The error is {errors['approximate']:.2f} % with it and "
                f"{errors['exact']:.2f} % with the exact graph."
            )
        yield text


_COLOURS = {
    "members": "#08519c",
    "votes": "#fd8d3c",
    "cuts": "#31a354",
    "choice": "#9e9ac8",
    "rows": "#d7301f",
    "rest": "#999999",
}
_MARKERS = {"given": "o", "free": "s", "approximate": "^", "exact": "D"}
# Below this a stage is not worth a line.
_LEAST_SECONDS = 0.05


def _draw_scale(measured: list[Measured], path: Path) -> None:
    """Draw seconds by stage, one panel per method, and the memory of all methods."""
    methods = [name for name in METHODS if len({*_sizes(measured, name)}) > 1] or list(
        dict.fromkeys(one.method for one in measured)
    )
    columns = 3
    lines = -(-(len(methods) + 2) // columns)
    drawing = new_drawing(3.5 * columns, 3.3 * lines)
    panels = drawing.subplots(lines, columns, squeeze=False).ravel()
    for panel, method in zip(panels, methods, strict=False):
        _draw_stages(panel, [one for one in measured if one.method == method])
        panel.set_title(METHODS[method], fontsize=10)
        panel.set_ylabel("seconds", fontsize=9)
        panel.set_ylim(_LEAST_SECONDS / 2, 2 * max(one.seconds for one in measured))
    _draw_memory(panels[len(methods)], measured, methods)
    for panel in panels[: len(methods) + 1]:
        _finish(panel, sorted({one.n_samples for one in measured}))
    for panel in panels[len(methods) + 1 :]:
        panel.axis("off")
    _draw_legend(panels[len(methods) + 1], panels[: len(methods)])
    save_drawing(drawing, path)


def _draw_legend(empty: Any, panels: Any) -> None:
    """Name all lines of the panels in the empty one."""
    handles: dict[str, Any] = {}
    for panel in panels:
        lines, names = panel.get_legend_handles_labels()
        handles |= dict(zip(names, lines, strict=True))
    order = [name for name in ("all", *STAGES, "rest", "slope 1") if name in handles]
    empty.legend(
        [handles[name] for name in order],
        order,
        loc="center left",
        frameon=False,
        fontsize=10,
    )


def _sizes(measured: list[Measured], method: str) -> list[int]:
    return sorted(one.n_samples for one in measured if one.method == method)


def _draw_stages(panel: Any, fits: list[Measured]) -> None:
    fits = sorted(fits, key=lambda one: one.n_samples)
    sizes = [one.n_samples for one in fits]
    total = [one.seconds for one in fits]
    panel.plot(sizes, total, "o-", color="black", lw=2, ms=5, label="all")
    for stage in (*STAGES, "rest"):
        known = [
            (one.n_samples, one.stages[stage])
            for one in fits
            if one.stages.get(stage, 0.0) >= _LEAST_SECONDS
        ]
        if known:
            places, spent = zip(*known, strict=True)
            style: dict[str, Any] = {"lw": 1.4, "ms": 4, "color": _COLOURS[stage]}
            panel.plot(places, spent, "o-", label=stage, **style)
    # A guide of slope 1 through the last total.
    last, peak = sizes[-1], total[-1]
    guide = [peak * size / last for size in sizes]
    panel.plot(sizes, guide, ":", color="#555555", lw=1, label="slope 1", zorder=0)
    panel.set_yscale("log")


def _draw_memory(panel: Any, measured: list[Measured], methods: list[str]) -> None:
    for method in methods:
        fits = [one for one in measured if one.method == method]
        points = sorted((one.n_samples, one.megabytes / 1e3) for one in fits)
        sizes, memory = zip(*points, strict=True)
        marker = _MARKERS[method]
        panel.plot(sizes, memory, f"{marker}-", ms=4, lw=1.4, label=METHODS[method])
    panel.set_title("largest memory, GB", fontsize=10)
    panel.legend(frameon=False, fontsize=7.5, loc="upper left")
    panel.set_ylim(0, 1.45 * max(one.megabytes for one in measured) / 1e3)


def _finish(panel: Any, sizes: list[int]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    panel.set_xscale("log")
    panel.set_xlabel("points", fontsize=9)
    panel.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    panel.set_xticks(sizes, [_count(size) for size in sizes])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)
    panel.grid(which="major", color="#e5e5e5", lw=0.6)


def _count(value: float) -> str:
    """Write 10k, 1M."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"


write_scale = Study(plan_scale, scale_page).write
