"""SSC on Hopkins 155 with its authors' setting: the minimiser, and stopping early."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ekss.benchmarks._data import Loader, Points, error_of, read_features
from ekss.benchmarks._pages import Grid, Page, Study, csv_text
from ekss.benchmarks._profiles import TEXTS, Profile
from ekss.benchmarks._runner import Cell, Plan, Result, Row
from ekss.benchmarks._table1 import plan_table1

# Mean errors for two motions, three motions and all: E. Elhamifar and R. Vidal, IEEE
# TPAMI 35(11), 2013, on the 2 F coordinates of the tracks.
PUBLISHED = (1.52, 4.40, 2.18)
_ALPHA = 800.0
_SETTING = {"affine": True, "normalize": False, "alpha": _ALPHA, "keep": 0.7}
_STOPPED = {"penalty": _ALPHA, "polish": False}
LINES: dict[str, dict[str, Any]] = {
    "minimiser": {},
    "stopped after 50 iterations": {**_STOPPED, "max_iter": 50},
    "stopped after 200 iterations": {**_STOPPED, "max_iter": 200},
}
_COLUMNS = ("2 motions", "3 motions", "all", "optimal", "nonzeros")


def plan_hopkins(
    profile: Profile,
    home: Path,
    loaders: Mapping[str, Loader],
    *,
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """List the cells: one per line and seed.

    Parameters
    ----------
    profile : Profile
        Sizes of the run.
    home : Path
        Data home; features are kept in its directory ``features``.
    loaders : mapping of str to callable
        What loads each data set.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
        Without cells where the data cannot be loaded.

    Examples
    --------
    >>> from ekss.benchmarks import PROFILES, loaders, plan_hopkins
    >>> from ekss.datasets import get_data_home
    >>> plan = plan_hopkins(
    ...     PROFILES["smoke"], get_data_home(), loaders(None)
    ... )  # doctest: +SKIP
    """
    part = {"datasets": ("hopkins155",), "methods": ("ssc",)}
    table = plan_table1(profile, home, loaders, **part, report=report)
    cells = [
        replace(
            cell,
            table="hopkins",
            column=name,
            params={"data": cell.params["data"], "fit": {**_SETTING, **changes}},
        )
        for name, changes in LINES.items()
        for cell in table.cells
        if cell.column == "free"
    ]
    return Plan("hopkins", tuple(cells), run_hopkins_cell, table.missing)


def run_hopkins_cell(cell: Cell) -> Result:
    """Cluster all sequences with one setting.

    The result has "error" (percent), "optimal" (share of points) and "nonzeros" (per
    point) as means over sequences, and those of each under "sequences".
    """
    sets = read_features(Path(cell.files[0]))
    found = {
        points.name: _measured(points, cell.params["fit"], cell.seed) for points in sets
    }
    means = {
        name: round(fmean(one[name] for one in found.values()), 4)
        for name in ("error", "optimal", "nonzeros")
    }
    return {**means, "sequences": found}


def _measured(points: Points, params: Mapping[str, Any], seed: int) -> Result:
    from sklearn.exceptions import ConvergenceWarning

    from ekss.estimators import SSC

    model = SSC(points.n_clusters, random_state=seed, n_jobs=1, **params)
    with warnings.catch_warnings():
        # Stopping early is the point of some lines; "optimal" tells of it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points.data)
    return {
        "n_clusters": points.n_clusters,
        "error": round(error_of(points, model.labels_), 4),
        "optimal": round(float(np.mean(model.converged_)), 4),
        "nonzeros": round(model.coefficients_.nnz / len(points.data), 4),
    }


def hopkins_page(plan: Plan, rows: Mapping[str, Row], profile: Profile) -> Page:
    """Return what the rows show."""
    grid = hopkins_grid(plan, rows)
    return Page(
        name="hopkins",
        title="SSC on Hopkins 155 with its authors' setting",
        text=TEXTS["pages"]["hopkins"],
        csv=csv_text(grid),
        grid=grid,
        made=f"Profile: {profile.name}",
    )


def hopkins_grid(plan: Plan, rows: Mapping[str, Row]) -> Grid:
    """Return the table: a line for every way to end the iteration, means over seeds."""
    published = [f"{error:.2f}" for error in PUBLISHED]
    grid: Grid = [["", *_COLUMNS], ["published by the authors", *published, "-", "-"]]
    for name in LINES:
        done = [row for cell, row in plan.finished(rows) if cell.column == name]
        if done:
            grid.append([name, *_means(done)])
    return grid


def _means(rows: list[Row]) -> list[str]:
    sequences = [one for row in rows for one in row["sequences"].values()]
    parts = [
        [one["error"] for one in sequences if one["n_clusters"] == motions]
        for motions in (2, 3)
    ]
    parts.append([one["error"] for one in sequences])
    errors = [f"{fmean(part):.2f}" if part else "-" for part in parts]
    optimal = fmean(one["optimal"] for one in sequences)
    nonzeros = fmean(one["nonzeros"] for one in sequences)
    return [*errors, f"{100 * optimal:.0f} %", f"{nonzeros:.1f}"]


write_hopkins = Study(plan_hopkins, hopkins_page).write
