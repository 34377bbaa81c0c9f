"""Figure 3 of the paper: errors over N_k and d, and over N_k and the angle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._pages import (
    Finding,
    Grid,
    Page,
    listed,
    new_drawing,
    save_drawing,
)
from ekss.benchmarks._profiles import FigureProfile
from ekss.benchmarks._runner import Plan, Row
from ekss.benchmarks._simulations import (
    CHANCE,
    METHODS,
    SOLVED,
    Place,
    Problem,
    Trial,
    height,
    largest_dim,
    mean_errors,
    processor_time,
    run_simulation,
    same_as_tsc,
    simulation_cells,
    smaller_angles,
    smallest_angle,
    told_limit,
    trials_of,
    write_trials,
)

# Weight of the noise term of SSC that lets it fit points almost exactly.
EXACT_ALPHA = 1e6
# Dimensions that count as large in a space of 100.
_LARGE = 50
# More values than this are left to the colours.
_MOST_NUMBERS = 100
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


def figure3_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    trials = trials_of(plan, rows)
    means = mean_errors(trials)
    return Page(
        name="figure3",
        title="Figure 3: errors over N_k and d, and over N_k and the angle",
        alt="Eight heat maps of clustering errors",
        findings=figure3_findings(trials) if profile.judged else [],
        grid=_limits(means, profile),
        text=f"{_TEXT} {profile.caption}",
        csv=write_trials(trials),
        made=processor_time(rows),
        draw=partial(_draw_heatmaps, means) if means else None,
    )


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


def figure3_findings(trials: Iterable[Trial]) -> list[Finding]:
    """Check the paper's findings on noise-free subspaces."""
    means = mean_errors(trials)
    most = max((place.n_per_subspace for place in means), default=0)
    found = [
        same_as_tsc(means, ("dimension", "angle")),
        _larger_dims(means, most),
        smaller_angles(means, "angle", most, ("tsc", "ssc")),
        _whatever_alpha(means, most),
        _moderate_counts(means),
    ]
    return [one for one in found if one is not None]


def _larger_dims(means: Mapping[Place, float], most: int) -> Finding | None:
    ours, tsc = (largest_dim(means, method, most) for method in ("ekss", "tsc"))
    if not any(place.panel == "dimension" for place in means):
        return None
    return Finding(
        "With many points per subspace EKSS works at larger dimensions than TSC.",
        (ours or 0) > (tsc or 0),
        f"With N_k = {most} the mean error is at most {SOLVED:.0f} % up to "
        f"d = {told_limit(ours)} for EKSS and up to d = {told_limit(tsc)} for TSC.",
    )


def _moderate_counts(means: Mapping[Place, float]) -> Finding | None:
    """Compare the methods where dimensions are large and points are neither."""
    high = [
        place for place in means if place.panel == "dimension" and place.dim >= _LARGE
    ]
    if not high:
        return None
    counts = sorted({place.n_per_subspace for place in high})
    count = counts[len(counts) // 2]
    errors = {
        method: [
            means[place]
            for place in high
            if (place.method, place.n_per_subspace) == (method, count)
        ]
        for method in METHODS
    }
    if not all(errors.values()):
        return None
    mean = {method: fmean(values) for method, values in errors.items()}
    told = listed(f"{mean[one]:.1f} % for {title}" for one, title in METHODS.items())
    return Finding(
        "At large dimensions and a moderate number of points SSC does best.",
        all(mean["ssc"] < mean[one] for one in METHODS if one != "ssc"),
        f"With N_k = {count} and d from {_LARGE} on the mean error is {told}.",
    )


def _whatever_alpha(means: Mapping[Place, float], most: int) -> Finding | None:
    if not any(place.panel == "exact" for place in means):
        return None
    ours = smallest_angle(means, "angle", "ekss", most)
    exact = smallest_angle(means, "exact", "ssc", most)
    return Finding(
        "EKSS clusters at smaller angles than SSC even with the best parameter of SSC.",
        (9.0 if ours is None else ours) < (9.0 if exact is None else exact),
        "With alpha = 1e6, which fits noise-free points almost exactly, "
        f"SSC has a mean error of at most {SOLVED:.0f} % from the angle "
        f"{told_limit(exact)} on, EKSS from {told_limit(ours)} on.",
    )


def _draw_heatmaps(means: Mapping[Place, float], path: Path) -> None:
    """Draw errors over N_k and d, and N_k and the angle, on one scale."""
    rows = [name for name in ("dimension", "angle") if _of(means, name)]
    drawing = new_drawing(12, 0.6 + 3.3 * len(rows))
    grid = drawing.subplots(len(rows), len(METHODS), squeeze=False)
    for panels, name in zip(grid, rows, strict=True):
        places = _of(means, name)
        counts = sorted({place.n_per_subspace for place in places})
        heights = sorted({height(place) for place in places})
        for panel, (method, title) in zip(panels, METHODS.items(), strict=True):
            table = np.full((len(heights), len(counts)), np.nan)
            for place in places:
                if place.method == method:
                    where = (
                        heights.index(height(place)),
                        counts.index(place.n_per_subspace),
                    )
                    table[where] = means[place]
            image = _draw_heatmap(panel, table)
            panel.set_title(title if name == rows[0] else "", fontsize=12)
            panel.set_xticks(range(len(counts)), [str(one) for one in counts])
            shown = [f"{one:g}" for one in heights] if method == "ekss" else []
            panel.set_yticks(range(len(heights)) if shown else [], shown)
        label = "dimension $d$" if name == "dimension" else "angle, radians"
        panels[0].set_ylabel(label, fontsize=11)
    drawing.supxlabel("points per subspace, $N_k$", fontsize=11)
    bar = drawing.colorbar(image, ax=grid, shrink=0.7, pad=0.01, aspect=30)
    bar.set_label("clustering error %")
    save_drawing(drawing, path)


def _of(means: Mapping[Place, float], name: str) -> list[Place]:
    return [place for place in means if place.panel == name]


def _draw_heatmap(panel: Any, table: NDArray[np.float64]) -> Any:
    """Draw errors as colours, and as numbers where there is room."""
    panel.set_facecolor("#bbbbbb")
    image = panel.imshow(
        table, cmap="viridis", vmin=0, vmax=CHANCE, origin="lower", aspect="auto"
    )
    panel.tick_params(labelsize=8, length=2)
    if table.size <= _MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                colour = "white" if value < 0.6 * CHANCE else "black"
                text = f"{value:.0f}"
                style = {"ha": "center", "va": "center", "fontsize": 7.5}
                panel.text(column, row, text, color=colour, **style)
    return image
