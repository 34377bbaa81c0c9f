"""Figure 4 of the paper: errors against the angle with noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ekss.benchmarks._pages import (
    Finding,
    Grid,
    Page,
    new_drawing,
    save_drawing,
    tidy,
)
from ekss.benchmarks._profiles import FigureProfile
from ekss.benchmarks._runner import Plan, Row
from ekss.benchmarks._simulations import (
    CHANCE,
    METHODS,
    Place,
    Problem,
    Trial,
    best_errors,
    height,
    mean_errors,
    processor_time,
    run_simulation,
    same_as_tsc,
    simulation_cells,
    smaller_angles,
    trials_of,
    write_trials,
)

_COLOURS = {"ekss": "#08519c", "ekss0": "#6baed6", "tsc": "#fd8d3c", "ssc": "#31a354"}
_MARKERS = {"ekss": "o", "ekss0": "s", "tsc": "^", "ssc": "D"}
_DIM = 10
# The two readings of the paper's noise: variance 0.05 of a point's noise vector, as in
# its theory and caption, or of every one of its 100 entries, as in its text.
_NOISE = 0.05**0.5
_MUCH_NOISE = (0.05 * 100) ** 0.5

_TEXT = (
    "Clustering errors in percent against the angle between subspaces: K = 3, d = 10, "
    "100 dimensions, {count} points per subspace, noisy. EKSS and EKSS-0 are told K "
    "and d; q and the choice of the parameter of SSC are as in figure 3. Lines are "
    "means over trials, bands go from the lowest to the highest.\n\n"
    "The paper is not clear in two places. Its text has noise of covariance 0.05 I, "
    "which is a noise vector of norm 2.2 on points of norm 1; its caption has "
    "sigma^2 = 0.05, which in its theory is a noise vector of norm 0.22. With the "
    "first the errors are large at all angles (last lines of the table), so the second "
    "is shown. "
    "And its text has angles up to 0.08 where figure 3, to which it refers, has 0.8; "
    "the wider range is shown, which contains the other."
)


def plan_figure4(profile: FigureProfile) -> Plan:
    """List the cells of the noisy comparison.

    Returns
    -------
    plan : Plan
        Panel "noisy", and panel "noisier" with the other reading of the paper's
        noise at three angles; trials as seeds.
    """
    count, angles = profile.noisy_count, profile.noisy_angles
    noisy = [Problem(count, _DIM, angle, _NOISE) for angle in angles]
    few = [one for one in angles if one in (0.08, 0.45, 0.8)] or [angles[0], angles[-1]]
    noisier = [Problem(count, _DIM, angle, _MUCH_NOISE) for angle in few]
    cells = [
        *simulation_cells("figure4", "noisy", noisy, profile),
        *simulation_cells("figure4", "noisier", noisier, profile),
    ]
    return Plan("figure4", tuple(cells), run_simulation)


def figure4_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    trials = trials_of(plan, rows)
    errors = best_errors(trials)
    return Page(
        name="figure4",
        title="Figure 4: error against angle with noise",
        alt="Four falling curves of error against angle",
        findings=figure4_findings(trials) if profile.judged else [],
        grid=_errors_grid(mean_errors(trials)),
        text=f"{_TEXT.format(count=profile.noisy_count)}\n\n{profile.caption}",
        csv=write_trials(trials),
        made=processor_time(rows),
        draw=partial(_draw_lines, errors) if errors else None,
    )


def _errors_grid(means: Mapping[Place, float]) -> Grid:
    """Tabulate the errors of every angle, those with much noise at the end."""
    grid: Grid = [["noise, angle", *METHODS.values()]]
    norms = {"noisy": "0.22", "noisier": "2.24"}
    places = dict.fromkeys((place.panel, place.angle) for place in means)
    for panel, angle in places:
        found = {
            place.method: error
            for place, error in means.items()
            if (place.panel, place.angle) == (panel, angle)
        }
        errors = [f"{found[one]:.1f}" if one in found else "-" for one in METHODS]
        grid.append([f"{norms[panel]}, {angle:g}", *errors])
    return grid


def figure4_findings(trials: Iterable[Trial]) -> list[Finding]:
    """Check the paper's two findings on noisy subspaces."""
    means = mean_errors(trials)
    most = max((place.n_per_subspace for place in means), default=0)
    found = [
        same_as_tsc(means, ("noisy",)),
        smaller_angles(means, "noisy", most, ("ssc",)),
    ]
    return [one for one in found if one is not None]


def _draw_lines(errors: Mapping[Place, Sequence[float]], path: Path) -> None:
    """Draw errors against the angle, one line per method."""
    drawing = new_drawing(6.4, 4)
    panel = drawing.subplots()
    for method, title in METHODS.items():
        line = sorted(
            (height(place), min(values), float(np.mean(values)), max(values))
            for place, values in errors.items()
            if (place.panel, place.method) == ("noisy", method)
        )
        if line:
            angles, low, mean, high = zip(*line, strict=True)
            colour = _COLOURS[method]
            panel.fill_between(angles, low, high, color=colour, alpha=0.18, lw=0)
            style: dict[str, Any] = {"marker": _MARKERS[method], "ms": 4.5, "lw": 1.6}
            panel.plot(angles, mean, color=colour, label=title, **style)
    panel.axhline(CHANCE, color="#999999", lw=0.8, ls="--", zorder=0)
    panel.annotate(
        "chance",
        (0.995, CHANCE),
        (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color="#777777",
    )
    panel.set_xlabel("angle between subspaces, radians")
    panel.set_ylabel("clustering error %")
    panel.set_xlim(left=0)
    panel.set_ylim(-2, 72)
    panel.legend(frameon=False)
    tidy(panel)
    save_drawing(drawing, path)
