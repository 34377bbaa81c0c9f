"""Figure 4 of the paper: errors against the angle with noise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ekss.benchmarks._cells import Plan
from ekss.benchmarks._figure_profiles import FigureProfile
from ekss.benchmarks._findings import figure4_findings
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
    best_errors,
    mean_errors,
    processor_time,
    trials_of,
    write_trials,
)

_DIM = 10
# The two readings of the paper's noise: variance 0.05 of a point's noise vector, as in
# its theory and caption, or of every one of its 100 entries, as in its text.
_NOISE = 0.05**0.5
_MUCH_NOISE = (0.05 * 100) ** 0.5

_TEXT = (
    "Clustering errors in percent against the angle between subspaces: K = 3, d = 10, "
    "100 dimensions, {count} points a subspace, noisy. EKSS and EKSS-0 are told K and "
    "d; q and the choice of the parameter of SSC are as in figure 3. Lines are means "
    "over trials, bands go from the lowest to the highest.\n\n"
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

    Parameters
    ----------
    profile : FigureProfile

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


def write_figure4(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: FigureProfile,
    *,
    command: str = "ekss bench figure4",
) -> Written:
    """Write the curves of error against angle and the findings: md, csv and png.

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
    errors = best_errors(trials)
    page = Page(
        name="figure4",
        title="Figure 4: error against angle with noise",
        alt="Four falling curves of error against angle",
        findings=figure4_findings(trials) if profile.judged else [],
        grid=_errors_grid(mean_errors(trials)),
        text=f"{_TEXT.format(count=profile.noisy_count)}\n\n{profile.caption}",
        csv=write_trials(trials),
        made=processor_time(rows),
    )

    def draw(path: Path) -> None:
        from ekss.benchmarks._drawings import draw_lines

        draw_lines(errors, "noisy", path)

    return write_page(page, plan, rows, folder, command, draw if errors else None)


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
