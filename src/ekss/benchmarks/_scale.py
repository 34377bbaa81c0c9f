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
    error_of,
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
from ekss.benchmarks._profiles import TEXTS
from ekss.benchmarks._runner import Cell, Plan, Result, Row
from ekss.core.linalg import random_bases

PLANTED, MNIST = "planted", MNIST70K.name
METHODS = {
    "given": "EKSS, K and d given",
    "free": "EKSS, K given",
    "approximate": "one cut, approximate graph",
    "exact": "one cut, exact graph",
    "kmeans": "MiniBatchKMeans",
}
# The planted problem.
_PROBLEM: dict[str, Any] = {"n_clusters": 10, "dim": 5, "n_features": 50, "noise": 0.1}
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
        As it is typed.
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

    Examples
    --------
    >>> from ekss.benchmarks import SCALE_PROFILES
    >>> SCALE_PROFILES["smoke"].name
    'smoke'
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
            caption=TEXTS["scale"]["smoke"],
        ),
        ScaleProfile("full", (10_000, 100_000, 1_000_000), 100, 100_000, mnist=True),
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
        How far the number of points grows.
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
        MNIST is listed as missing if it cannot be loaded.

    Examples
    --------
    >>> from ekss.benchmarks import SCALE_PROFILES, loaders, plan_scale
    >>> from ekss.datasets import get_data_home
    >>> plan = plan_scale(
    ...     SCALE_PROFILES["smoke"], get_data_home(), loaders(None)
    ... )  # doctest: +SKIP
    """
    models = _models(profile, _PROBLEM["dim"])
    cells = [
        _cell(PLANTED, method, model, {**_PROBLEM, "n_samples": n}, workers)
        for n in profile.sizes
        for method, model in models.items()
        if method != "exact" or n <= profile.all_pairs
    ]
    # At the largest size that has the exact graph, the approximate one is compared.
    for n in [n for n in profile.sizes if n <= profile.all_pairs][-1:]:
        place = PLANTED, "approximate", models["approximate"]
        problem = {**_PROBLEM, "n_samples": n}
        cells.append(_cell(*place, problem, workers, recall=True))
    missing: dict[str, str] = {}
    if profile.mnist:
        report(
            "preparing the features of MNIST-70k, a few minutes if they are not there"
        )
        recipe = recipe_of(MNIST70K, "scattering", None)
        problem = {"n_samples": 70_000, "recipe": recipe}
        models = {**_models(profile, _MNIST_DIM), "kmeans": {}}
        try:
            files = (str(prepare_features(home, recipe, loaders[MNIST])),)
            cells += [
                _cell(MNIST, method, models[method], problem, workers, files=files)
                for method in ("given", "free", "approximate", "kmeans")
            ]
        except OSError as error:
            missing[MNIST] = str(error)
    return Plan("scale", tuple(cells), run_scale_cell, missing)


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
    files: tuple[str, ...] = (),
) -> Cell:
    n = problem["n_samples"]
    each = {"given": 3e-5, "free": 1.2e-4, "approximate": 2e-4, "kmeans": 1e-5}
    cost = 10 + n * each.get(method, 0.0)
    if method == "exact" or recall:
        cost += 5e-9 * n * n
    params = {"model": dict(model), "problem": dict(problem), "workers": workers}
    column = "recall" if recall else str(n)
    return Cell("scale", dataset, method, column, params, 0, cost, files)


def run_scale_cell(cell: Cell) -> Result:
    """Fit once and measure.

    The result has "error" in percent, "seconds" of the fit, "stages" in seconds, what
    the fit chose, and "estimated" megabytes and seconds; of a cell that compares graphs
    only "error" and "recall".
    """
    from ekss.ensemble import CutOptions
    from ekss.runtime.workers import stage_seconds

    given = cell.params
    if cell.files:
        points = read_features(cell.files[0])[0]
    else:
        points = planted_points(seed=cell.seed, **given["problem"])
    if cell.method == "kmeans":
        return _run_kmeans(points, cell)
    place = ("ekss.estimators:EKSS", points.n_clusters, given["model"])
    model = build(*place, seed=cell.seed, n_jobs=given["workers"])
    start = time.perf_counter()
    with stage_seconds() as stages:
        model.fit(points.data)
    seconds, error = (
        time.perf_counter() - start,
        round(error_of(points, model.labels_), 4),
    )
    if cell.column == "recall":
        return {"error": error, "recall": _recall(model, given["workers"])}
    cut, voted = model.cut or CutOptions(), len(model.member_labels_)
    return {
        "error": error,
        "seconds": round(seconds, 3),
        "stages": {name: round(spent, 3) for name, spent in stages.items()},
        "estimated": _estimated(model, points.data),
        "pairs": "all" if cut.looks_at_all_pairs(voted) else "likely",
        "members": model.n_members_,
        "n_neighbors": model.n_neighbors_,
        "dim": model.subspace_dim_,
    }


def _estimated(model: Any, rows: Any) -> dict[str, float]:
    """Return the memory and time that ``verbose`` tells before such a fit."""
    from ekss.ensemble import CutOptions, Wishes
    from ekss.ensemble.chain import estimate, work_of
    from ekss.runtime.memory import measured_pace
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
    n_samples: int, n_clusters: int, dim: int, n_features: int, noise: float, seed: int
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


def _run_kmeans(points: Points, cell: Cell) -> Result:
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    model = MiniBatchKMeans(points.n_clusters, random_state=cell.seed)
    with threadpool_limits(cell.params["workers"]):
        start = time.perf_counter()
        labels = model.fit_predict(points.data)
        seconds = time.perf_counter() - start
    return {"error": round(error_of(points, labels), 4), "seconds": round(seconds, 3)}


def _recall(model: Any, workers: int) -> float:
    """Find how many of the strongest votes the approximate graph has."""
    from ekss import graph

    labels, weights = model.member_labels_, model.member_weights_
    votes = graph.prepare_votes(labels, weights, divide_by_size=True)
    exact = graph.nearest_by_votes(votes, _NEIGHBORS, n_jobs=workers)
    found = graph.nearest_by_votes_approximate(
        votes, _NEIGHBORS, n_jobs=workers, random_state=0
    )
    return round(recall_of_votes(exact, found), 6)


# Stages of the table, and the names under which progress was reported.
STAGES = {
    "members": ("members", "halves", "clusters"),
    "votes": ("votes",),
    "cuts": ("cuts", "spectral cut"),
    "choice": ("choice",),
    "rows": ("rows",),
}
_PARTS = (*STAGES, "rest")


@dataclass(frozen=True)
class Measured:
    """One fit: where it belongs, and what it took; the error is in percent."""

    dataset: str
    method: str
    n_samples: int
    workers: int
    seconds: float
    # Largest memory of the process.
    megabytes: float
    error: float
    # Seconds by the names of STAGES, and "rest".
    stages: dict[str, float] = field(default_factory=dict)
    # Megabytes and seconds that were estimated.
    expected: tuple[float, float] | None = None


def scale_page(plan: Plan, rows: Mapping[str, Row], profile: ScaleProfile) -> Page:
    """Return what the rows show."""
    measured = list(_measured(plan, rows))
    text = TEXTS["pages"]["scale"].format(profile=profile)
    parts = [text, profile.caption]
    parts += _compared(plan, rows, measured)
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
    grid: Grid = [["", "points", "s", *_PARTS, "MB", "error %"]]
    for method, title in METHODS.items():
        fits = _fits(measured, PLANTED, method)
        grid += [_line(title, one) for one in fits]
        if len(fits) > 1:
            grid.append(_slope_line(*fits[-2:]))
    for method, title in METHODS.items():
        fits = _fits(measured, MNIST, method)
        grid += [_line(f"MNIST: {title}", one) for one in fits]
    return grid


def slope(before: float, after: float, growth: float) -> float | None:
    """Return the power with which a time grew; None where there was none."""
    if before <= 0 or after <= 0:
        return None
    return log(after / before) / log(growth)


def scale_csv(measured: list[Measured]) -> str:
    """Write one line for every fit."""
    head = "dataset method points workers seconds".split()
    tail = "megabytes error expected_megabytes expected_seconds".split()
    lines: list[list[Any]] = [[*head, *_PARTS, *tail]]
    for one in measured:
        stages = [one.stages.get(name) for name in _PARTS]
        expected = one.expected or (None, None)
        place = [one.dataset, one.method, one.n_samples, one.workers, one.seconds]
        lines.append([*place, *stages, one.megabytes, one.error, *expected])
    return csv_text(lines)


def _measured(plan: Plan, rows: Mapping[str, Row]) -> Iterator[Measured]:
    for cell, row in plan.finished(rows):
        if cell.column == "recall":
            continue
        stages = {}
        if spent := row.get("stages"):
            for name, parts in STAGES.items():
                stages[name] = round(sum(spent.get(part, 0.0) for part in parts), 3)
            stages["rest"] = round(max(row["seconds"] - sum(stages.values()), 0.0), 3)
        expected = row.get("estimated")
        place = (cell.dataset, cell.method, cell.params["problem"]["n_samples"])
        told = expected and (expected["megabytes"], expected["seconds"])
        took = (row["seconds"], row["peak_megabytes"], row["error"])
        yield Measured(*place, cell.params["workers"], *took, stages, told)


def _fits(measured: list[Measured], dataset: str, method: str) -> list[Measured]:
    found = [one for one in measured if (one.dataset, one.method) == (dataset, method)]
    return sorted(found, key=lambda one: one.n_samples)


def _line(title: str, one: Measured) -> list[str]:
    stages = [_shown(one.stages.get(name, 0.0)) for name in _PARTS]
    megabytes, seconds = f"{one.megabytes:.0f}", _shown(one.seconds)
    if one.expected is not None:
        megabytes += f" ({one.expected[0]:.0f})"
        seconds += f" ({_shown(one.expected[1])})"
    place = [title, f"{one.n_samples:,}", seconds]
    return [*place, *stages, megabytes, f"{one.error:.2f}"]


def _slope_line(before: Measured, after: Measured) -> list[str]:
    growth = after.n_samples / before.n_samples
    pairs = [(before.seconds, after.seconds)]
    for name in _PARTS:
        pairs.append((before.stages.get(name, 0.0), after.stages.get(name, 0.0)))
    shown = []
    for pair in pairs:
        power = slope(*pair, growth)
        # What takes hardly any time has no slope worth telling.
        shown.append("" if power is None or max(pair) < 1 else f"{power:.2f}")
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


_COLOURS = {"members": "#08519c", "votes": "#fd8d3c", "cuts": "#31a354"}
_COLOURS |= {"choice": "#9e9ac8", "rows": "#d7301f", "rest": "#999999"}
_MARKERS = {"given": "o", "free": "s", "approximate": "^", "exact": "D"}
# Below this a stage is not worth a line.
_LEAST_SECONDS = 0.05


def _draw_scale(measured: list[Measured], path: Path) -> None:
    """Draw seconds by stage, one panel per method, and the memory of all methods."""
    fits = {method: _fits(measured, PLANTED, method) for method in METHODS}
    several = {
        method: found
        for method, found in fits.items()
        if len({one.n_samples for one in found}) > 1
    }
    fits = several or {method: found for method, found in fits.items() if found}
    sizes = sorted({one.n_samples for one in measured})
    lines = -(-(len(fits) + 2) // 3)
    drawing = new_drawing(3.5 * 3, 3.3 * lines)
    panels = drawing.subplots(lines, 3, squeeze=False).ravel()
    memory, *empty = panels[len(fits) :]
    handles: dict[str, Any] = {}
    for panel, (method, found) in zip(panels, fits.items(), strict=False):
        _draw_stages(panel, found)
        panel.set_title(METHODS[method], fontsize=10)
        panel.set_ylabel("seconds", fontsize=9)
        panel.set_ylim(_LEAST_SECONDS / 2, 2 * max(one.seconds for one in measured))
        _finish(panel, sizes)
        drawn, names = panel.get_legend_handles_labels()
        handles |= dict(zip(names, drawn, strict=True))
        places = [one.n_samples for one in found]
        gigabytes = [one.megabytes / 1e3 for one in found]
        style = {"ms": 4, "lw": 1.4, "label": METHODS[method]}
        memory.plot(places, gigabytes, f"{_MARKERS[method]}-", **style)
    memory.set_title("largest memory, GB", fontsize=10)
    memory.legend(frameon=False, fontsize=7.5, loc="upper left")
    memory.set_ylim(0, 1.45 * max(one.megabytes for one in measured) / 1e3)
    _finish(memory, sizes)
    for panel in empty:
        panel.axis("off")
    order = [name for name in ("all", *_PARTS, "slope 1") if name in handles]
    legend: dict[str, Any] = {"loc": "center left", "frameon": False, "fontsize": 10}
    empty[0].legend([handles[name] for name in order], order, **legend)
    save_drawing(drawing, path)


def _draw_stages(panel: Any, fits: list[Measured]) -> None:
    sizes, total = [one.n_samples for one in fits], [one.seconds for one in fits]
    panel.plot(sizes, total, "o-", color="black", lw=2, ms=5, label="all")
    for stage in _PARTS:
        known = [one for one in fits if one.stages.get(stage, 0.0) >= _LEAST_SECONDS]
        if known:
            places = [one.n_samples for one in known]
            spent = [one.stages[stage] for one in known]
            style: dict[str, Any] = {"lw": 1.4, "ms": 4, "color": _COLOURS[stage]}
            panel.plot(places, spent, "o-", label=stage, **style)
    # A guide of slope 1 through the last total.
    guide = [total[-1] * size / sizes[-1] for size in sizes]
    panel.plot(sizes, guide, ":", color="#555555", lw=1, label="slope 1", zorder=0)
    panel.set_yscale("log")


def _finish(panel: Any, sizes: list[int]) -> None:
    from matplotlib import ticker

    panel.set_xscale("log")
    panel.set_xlabel("points", fontsize=9)
    panel.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    panel.set_xticks(sizes, map(ticker.EngFormatter(sep=""), sizes))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
    panel.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    panel.yaxis.set_minor_formatter(ticker.NullFormatter())
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)
    panel.grid(which="major", color="#e5e5e5", lw=0.6)


write_scale = Study(plan_scale, scale_page).write
