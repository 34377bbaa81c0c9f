"""Figure 3 of the paper: errors over N_k and d, and over N_k and the angle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ekss.benchmarks._cells import Plan
from ekss.benchmarks._figure_profiles import FigureProfile
from ekss.benchmarks._findings import (
    EXACT_ALPHA,
    figure3_findings,
    largest_dim,
    smallest_angle,
)
from ekss.benchmarks._pages import Page, write_page
from ekss.benchmarks._render import Grid, Written
from ekss.benchmarks._rows import Row
from ekss.benchmarks._simulations import (
    METHODS,
    Problem,
    run_simulation,
    simulation_cells,
)
from ekss.benchmarks._trials import (
    Place,
    mean_errors,
    processor_time,
    trials_of,
    write_trials,
)

# Dimension of the subspaces where the angle is varied.
_DIM = 10
# Angles at which SSC is tried with almost exact fits too.
_SMALL = 0.05

_TEXT = (
    "Clustering errors in percent, means over trials. Noise-free points, uniform on "
    "the unit spheres of K = 3 subspaces in 100 dimensions, N_k points each. Top row: "
    "random subspaces of dimension d. Bottom row: d = 10, and all principal angles "
    "between the first and each other subspace are the angle; how the other two lie "
    "to each other the paper does not say, here their directions of turning are "
    "orthogonal. EKSS and EKSS-0 are told K and d and have unweighted votes. As in the "
    "paper, q = max(3, N_k / 20) for EKSS-0 and TSC and max(3, N_k / 6) for EKSS, both "
    "rounded up, and the parameter of SSC is chosen by the labels at every point."
)


def plan_figure3(profile: FigureProfile) -> Plan:
    """List the cells of the eight heat maps.

    Parameters
    ----------
    profile : FigureProfile

    Returns
    -------
    plan : Plan
        Panels "dimension" and "angle" as data sets, trials as seeds; and a panel
        "exact", which is not drawn: SSC at small angles with almost exact fits.
    """
    dims = [Problem(n, d) for n in profile.counts for d in profile.dims]
    angles = [
        Problem(n, _DIM, angle) for n in profile.counts for angle in profile.angles
    ]
    small = [problem for problem in angles if (problem.angle or 0) <= _SMALL]
    exact = replace(profile, alphas=(EXACT_ALPHA,))
    cells = [
        *simulation_cells("figure3", "dimension", dims, profile),
        *simulation_cells("figure3", "angle", angles, profile),
        *simulation_cells("figure3", "exact", small, exact, ("ssc",)),
    ]
    return Plan("figure3", tuple(cells), run_simulation)


def write_figure3(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: FigureProfile,
    *,
    command: str = "ekss bench figure3",
) -> Written:
    """Write the heat maps, their numbers and the findings: md, csv and png.

    Parameters
    ----------
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    profile : FigureProfile
    command : str
        What made the rows.

    Returns
    -------
    written : Written
    """
    trials = trials_of(plan, rows)
    means = mean_errors(trials)
    page = Page(
        name="figure3",
        title="Figure 3: errors over N_k and d, and over N_k and the angle",
        alt="Eight heat maps of clustering errors",
        findings=figure3_findings(trials) if profile.judged else [],
        grid=_limits(means, profile),
        text=f"{_TEXT} {profile.caption}",
        csv=write_trials(trials),
        made=processor_time(rows),
    )

    def draw(path: Path) -> None:
        from ekss.benchmarks._drawings import draw_heatmaps

        draw_heatmaps(means, path)

    return write_page(page, plan, rows, folder, command, draw if means else None)


def _limits(means: Mapping[Place, float], profile: FigureProfile) -> Grid:
    """Tabulate where the errors of each method stay small, for every N_k."""
    counts = [str(n) for n in profile.counts]
    grid: Grid = [["errors at most 5 %, N_k =", *counts]]
    for method, title in METHODS.items():
        dims = [largest_dim(means, method, n) for n in profile.counts]
        grid.append([f"{title}: up to d =", *(_shown(one) for one in dims)])
    for method, title in METHODS.items():
        angles = [smallest_angle(means, "angle", method, n) for n in profile.counts]
        grid.append([f"{title}: from the angle", *(_shown(one) for one in angles)])
    return grid


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
