"""Figures 3 and 4 of the paper: errors on simulated subspaces, and with noise."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import ceil, inf
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._methods import build
from ekss.benchmarks._pages import (
    Finding,
    Grid,
    Page,
    csv_text,
    listed,
    new_drawing,
    save_drawing,
    tidy,
)
from ekss.benchmarks._profiles import TEXTS, FigureProfile
from ekss.benchmarks._runner import Cell, Plan, Result, Row, finished

FEATURES = 100
SUBSPACES = 3
METHODS = {"ekss": "EKSS", "ekss0": "EKSS-0", "tsc": "TSC", "ssc": "SSC"}
_ESTIMATORS = {
    "ekss": "ekss.estimators:PaperEKSS",
    "ekss0": "ekss.estimators:PaperEKSS",
    "tsc": "ekss.estimators:TSC",
    "ssc": "ekss.estimators:SSC",
}
# With three clusters of one size, chance is wrong about two thirds of the time.
CHANCE = 100 * 2 / 3
# Percent of error up to which a problem counts as solved.
SOLVED = 5.0
# Points on average that count as the same performance.
SAME = 5.0
# Weight of the noise term of SSC that lets it fit points almost exactly, and the
# angles up to which it is tried.
EXACT_ALPHA, _SMALL = 1e6, 0.05
# Dimensions that count as large in a space of 100.
_LARGE = 50
# Dimension of the subspaces where the angle is varied.
_DIM = 10
# The two readings of the paper's noise: variance 0.05 of a point's noise vector, as in
# its theory and caption, or of every one of its 100 entries, as in its text.
_NOISE, _MUCH_NOISE = 0.05**0.5, (0.05 * 100) ** 0.5


@dataclass(frozen=True)
class Problem:
    """One point of a figure: three subspaces in 100 dimensions.

    All principal angles between the first and each other subspace are ``angle``; None
    draws the subspaces uniformly.
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


# Plans ------------------------------------------------------------------------------


def plan_figure3(profile: FigureProfile) -> Plan:
    """List the cells of the eight heat maps.

    Panels "dimension" and "angle" are the data sets and trials the seeds. A panel
    "exact" is not drawn: SSC at small angles with almost exact fits.
    """
    dims = [Problem(n, d) for n in profile.counts for d in profile.dims]
    angles = [
        Problem(n, _DIM, angle) for n in profile.counts for angle in profile.angles
    ]
    small = [problem for problem in angles if (problem.angle or 0) <= _SMALL]
    exact = replace(profile, alphas=(EXACT_ALPHA,))
    cells = [
        *_cells("figure3", "dimension", dims, profile),
        *_cells("figure3", "angle", angles, profile),
        *_cells("figure3", "exact", small, exact, ("ssc",)),
    ]
    return Plan("figure3", tuple(cells), run_simulation)


def plan_figure4(profile: FigureProfile) -> Plan:
    """List the cells of the noisy comparison.

    Panel "noisy", and panel "noisier" with the other reading of the paper's noise at
    three angles; trials are the seeds.
    """
    count, angles = profile.noisy_count, profile.noisy_angles
    noisy = [Problem(count, _DIM, angle, _NOISE) for angle in angles]
    few = [one for one in angles if one in (0.08, 0.45, 0.8)] or [angles[0], angles[-1]]
    noisier = [Problem(count, _DIM, angle, _MUCH_NOISE) for angle in few]
    cells = [
        *_cells("figure4", "noisy", noisy, profile),
        *_cells("figure4", "noisier", noisier, profile),
    ]
    return Plan("figure4", tuple(cells), run_simulation)


def _cells(
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
    cells = []
    for method in methods:
        for group in groups.values():
            given = [
                {**asdict(problem), "settings": _settings(method, problem, profile)}
                for problem in group
            ]
            first = group[0]
            column = f"N_k={first.n_per_subspace}"
            if len(group) == 1:
                angle = "" if first.angle is None else f" angle={first.angle:g}"
                column += f" d={first.dim}{angle}"
            cost = 2.0 + sum(_cost(method, problem, profile) for problem in group)
            params = {"problems": given}
            cells.append(Cell(table, panel, method, column, params, 0, cost))
    trials = range(profile.trials)
    return [replace(cell, seed=seed) for seed in trials for cell in cells]


def _settings(
    method: str, problem: Problem, profile: FigureProfile
) -> dict[str, dict[str, Any]]:
    """Return the parameters that a method tries, by name; for SSC there are several."""
    if method == "ssc":
        alphas = profile.noisy_alphas if problem.noise else profile.alphas
        rounds = profile.ssc_iterations
        return {f"alpha={a:g}": {"alpha": a, "max_iter": rounds} for a in alphas}
    # The paper's q of its synthetic experiments.
    q = max(3, ceil(problem.n_per_subspace / (6 if method == "ekss" else 20)))
    if method == "tsc":
        return {"": {"n_neighbors": q}}
    members = {"n_members": _zero_members(problem, profile), "max_iter": 0}
    if method == "ekss":
        members = dict(profile.ekss)
    return {"": {"subspace_dim": problem.dim, "n_neighbors": q, **members}}


def _zero_members(problem: Problem, profile: FigureProfile) -> int:
    return profile.zero_members if problem.angle is None else profile.angle_members


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


# Cells ------------------------------------------------------------------------------


def run_simulation(cell: Cell) -> Result:
    """Cluster the problems of a cell with every setting and score them.

    Under "trials" there are for every problem the "errors" in percent by setting, and
    the "cpu_seconds" of all settings; "error" is the mean of the lowest.
    """
    from ekss.metrics import clustering_error

    trials: list[dict[str, Any]] = []
    for given in cell.params["problems"]:
        sizes = {name: value for name, value in given.items() if name != "settings"}
        points, target = Problem(**sizes).draw(cell.seed)
        start, errors = time.process_time(), {}
        for name, params in given["settings"].items():
            model = build(_ESTIMATORS[cell.method], SUBSPACES, params, seed=cell.seed)
            labels = model.fit(points).labels_
            errors[name] = round(100 * clustering_error(target, labels), 4)
        seconds = round(time.process_time() - start, 2)
        trials.append({"errors": errors, "cpu_seconds": seconds})
    lowest = fmean(min(trial["errors"].values()) for trial in trials)
    return {"error": round(lowest, 4), "trials": trials}


# Trials -----------------------------------------------------------------------------


class Place(NamedTuple):
    """A method at a point of a panel."""

    panel: str
    method: str
    n_per_subspace: int
    dim: int
    angle: float | None

    @property
    def height(self) -> float:
        """What is varied beside the number of points: dimension or angle."""
        return float(self.dim if self.angle is None else self.angle)


@dataclass(frozen=True)
class Trial:
    """One clustering of one random problem, with one setting of the method."""

    place: Place
    setting: str
    seed: int
    error: float


def trials_of(plan: Plan, rows: Mapping[str, Row]) -> list[Trial]:
    """Return the trials in the finished rows of a plan of simulations."""
    found = []
    for cell, row in plan.finished(rows):
        for given, result in zip(cell.params["problems"], row["trials"], strict=True):
            sizes = (given[name] for name in ("n_per_subspace", "dim", "angle"))
            place = Place(cell.dataset, cell.method, *sizes)
            found += [
                Trial(place, setting, cell.seed, error)
                for setting, error in result["errors"].items()
            ]
    return found


def write_trials(trials: Iterable[Trial]) -> str:
    """Write trials as CSV, one per line."""
    head = [*Place._fields, *(one.name for one in fields(Trial)[1:])]
    lines = [[*one.place, one.setting, one.seed, one.error] for one in trials]
    return csv_text([head, *lines])


def read_trials(text: str) -> list[Trial]:
    """Read what :func:`write_trials` wrote."""
    found = []
    for panel, method, count, dim, angle, setting, seed, error in [
        line.values() for line in csv.DictReader(io.StringIO(text))
    ]:
        height = float(angle) if angle else None
        place = Place(panel, method, int(count), int(dim), height)
        found.append(Trial(place, setting, int(seed), float(error)))
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
    return _solved_up_to(means, (panel, method, n_per_subspace), from_large=True)


def largest_dim(
    means: Mapping[Place, float], method: str, n_per_subspace: int
) -> int | None:
    """Return the dimension up to which all errors are at most 5 percent, or None."""
    found = _solved_up_to(means, ("dimension", method, n_per_subspace))
    return None if found is None else int(found)


def _solved_up_to(
    means: Mapping[Place, float], line: tuple[str, str, int], from_large: bool = False
) -> float | None:
    places = [place for place in means if place[:3] == line]
    last = None
    for place in sorted(places, key=lambda one: one.height, reverse=from_large):
        if means[place] > SOLVED:
            break
        last = place.height
    return last


def _told(value: float | None, none: str = "none") -> str:
    return none if value is None else f"{value:g}"


def _of(means: Mapping[Place, float], panel: str) -> list[Place]:
    return [place for place in means if place.panel == panel]


# Findings ---------------------------------------------------------------------------


def figure3_findings(trials: Iterable[Trial]) -> list[Finding]:
    """Check the paper's findings on noise-free subspaces."""
    means = mean_errors(trials)
    most = max((place.n_per_subspace for place in means), default=0)
    return [
        *_same_as_tsc(means, ("dimension", "angle")),
        *_larger_dims(means, most),
        *_smaller_angles(means, "angle", most, ("tsc", "ssc")),
        *_whatever_alpha(means, most),
        *_moderate_counts(means),
    ]


def figure4_findings(trials: Iterable[Trial]) -> list[Finding]:
    """Check the paper's two findings on noisy subspaces."""
    means = mean_errors(trials)
    most = max((place.n_per_subspace for place in means), default=0)
    angles = _smaller_angles(means, "noisy", most, ("ssc",))
    return [*_same_as_tsc(means, ("noisy",)), *angles]


def _same_as_tsc(
    means: Mapping[Place, float], panels: Sequence[str]
) -> Iterator[Finding]:
    pairs = [
        (error, means[place._replace(method="tsc")])
        for place, error in means.items()
        if place.method == "ekss0"
        and place.panel in panels
        and place._replace(method="tsc") in means
    ]
    if not pairs:
        return
    apart = fmean(abs(zero - tsc) for zero, tsc in pairs)
    zero, tsc = (fmean(values) for values in zip(*pairs, strict=True))
    yield Finding(
        "EKSS-0 and TSC perform about the same.",
        apart <= SAME,
        f"Over {len(pairs)} points the mean error is {zero:.1f} % for EKSS-0 and "
        f"{tsc:.1f} % for TSC, and point by point they are {apart:.1f} points apart on "
        f"average (at most {SAME:.0f} counts as the same).",
    )


def _larger_dims(means: Mapping[Place, float], most: int) -> Iterator[Finding]:
    if not _of(means, "dimension"):
        return
    ours, tsc = (largest_dim(means, method, most) for method in ("ekss", "tsc"))
    yield Finding(
        "With many points per subspace EKSS works at larger dimensions than TSC.",
        (ours or 0) > (tsc or 0),
        f"With N_k = {most} the mean error is at most {SOLVED:.0f} % up to "
        f"d = {_told(ours)} for EKSS and up to d = {_told(tsc)} for TSC.",
    )


def _smaller_angles(
    means: Mapping[Place, float], panel: str, most: int, others: Sequence[str]
) -> Iterator[Finding]:
    if not _of(means, panel):
        return
    names = ("ekss", *others)
    found = {name: smallest_angle(means, panel, name, most) for name in names}
    limits = {name: inf if one is None else one for name, one in found.items()}
    told = listed(f"{_told(found[name])} for {METHODS[name]}" for name in names)
    rivals = listed(METHODS[name] for name in others)
    yield Finding(
        f"EKSS clusters at smaller angles than {rivals}.",
        all(limits["ekss"] < limits[name] for name in others),
        f"With N_k = {most} the mean error is at most {SOLVED:.0f} % from these angles "
        f"on: {told} radians.",
    )


def _whatever_alpha(means: Mapping[Place, float], most: int) -> Iterator[Finding]:
    if not _of(means, "exact"):
        return
    ours = smallest_angle(means, "angle", "ekss", most)
    exact = smallest_angle(means, "exact", "ssc", most)
    yield Finding(
        "EKSS clusters at smaller angles than SSC even with the best parameter of SSC.",
        (inf if ours is None else ours) < (inf if exact is None else exact),
        "With alpha = 1e6, which fits noise-free points almost exactly, "
        f"SSC has a mean error of at most {SOLVED:.0f} % from the angle "
        f"{_told(exact)} on, EKSS from {_told(ours)} on.",
    )


def _moderate_counts(means: Mapping[Place, float]) -> Iterator[Finding]:
    """Compare the methods where dimensions are large and points are neither."""
    high = [place for place in _of(means, "dimension") if place.dim >= _LARGE]
    if not high:
        return
    counts = sorted({place.n_per_subspace for place in high})
    count = counts[len(counts) // 2]
    errors: dict[str, list[float]] = {method: [] for method in METHODS}
    for place in high:
        if place.n_per_subspace == count:
            errors[place.method].append(means[place])
    if not all(errors.values()):
        return
    mean = {method: fmean(values) for method, values in errors.items()}
    told = listed(f"{mean[one]:.1f} % for {title}" for one, title in METHODS.items())
    yield Finding(
        "At large dimensions and a moderate number of points SSC does best.",
        all(mean["ssc"] < mean[one] for one in METHODS if one != "ssc"),
        f"With N_k = {count} and d from {_LARGE} on the mean error is {told}.",
    )


# Pages ------------------------------------------------------------------------------


def figure3_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    trials = trials_of(plan, rows)
    means = mean_errors(trials)
    return Page(
        name="figure3",
        title="Figure 3: errors over N_k and d, and over N_k and the angle",
        alt="Eight heat maps of clustering errors",
        findings=figure3_findings(trials) if profile.judged else [],
        grid=_limits(means, profile.counts),
        text=f"{TEXTS['pages']['figure3']} {profile.caption}",
        csv=write_trials(trials),
        made=_processor_time(rows),
        draw=partial(_draw_heatmaps, means) if means else None,
    )


def figure4_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    trials, text = trials_of(plan, rows), TEXTS["pages"]["figure4"]
    errors = best_errors(trials)
    return Page(
        name="figure4",
        title="Figure 4: error against angle with noise",
        alt="Four falling curves of error against angle",
        findings=figure4_findings(trials) if profile.judged else [],
        grid=_errors_grid(mean_errors(trials)),
        text=f"{text.format(profile=profile)}\n\n{profile.caption}",
        csv=write_trials(trials),
        made=_processor_time(rows),
        draw=partial(_draw_lines, errors) if errors else None,
    )


def _processor_time(rows: Mapping[str, Row]) -> str:
    done = [row for row in rows.values() if finished(row)]
    seconds = sum(one.get("cpu_seconds", 0) for row in done for one in row["trials"])
    return f"Processor time of all clusterings: {seconds / 60:.1f} minutes"


def _limits(means: Mapping[Place, float], counts: Sequence[int]) -> Grid:
    """Tabulate where the errors of each method stay small, for every N_k."""
    grid: Grid = [["errors at most 5 %, N_k =", *map(str, counts)]]
    for method, title in METHODS.items():
        dims = [_told(largest_dim(means, method, n), "-") for n in counts]
        grid.append([f"{title}: up to d =", *dims])
    for method, title in METHODS.items():
        angles = [_told(smallest_angle(means, "angle", method, n), "-") for n in counts]
        grid.append([f"{title}: from the angle", *angles])
    return grid


def _errors_grid(means: Mapping[Place, float]) -> Grid:
    """Tabulate the errors of every angle, those with much noise at the end."""
    norms = {"noisy": "0.22", "noisier": "2.24"}
    lines: dict[tuple[str, float | None], dict[str, str]] = {}
    for place, error in means.items():
        line = lines.setdefault((place.panel, place.angle), {})
        line[place.method] = f"{error:.1f}"
    shown = [
        [f"{norms[panel]}, {angle:g}", *(line.get(one, "-") for one in METHODS)]
        for (panel, angle), line in lines.items()
    ]
    return [["noise, angle", *METHODS.values()], *shown]


# Pictures ---------------------------------------------------------------------------

_COLOURS = {"ekss": "#08519c", "ekss0": "#6baed6", "tsc": "#fd8d3c", "ssc": "#31a354"}
_MARKERS = {"ekss": "o", "ekss0": "s", "tsc": "^", "ssc": "D"}
# More values than this are left to the colours.
_MOST_NUMBERS = 100


def _draw_heatmaps(means: Mapping[Place, float], path: Path) -> None:
    """Draw errors over N_k and d, and N_k and the angle, on one scale."""
    labels = {"dimension": "dimension $d$", "angle": "angle, radians"}
    rows = [name for name in labels if _of(means, name)]
    drawing = new_drawing(12, 0.6 + 3.3 * len(rows))
    grid = drawing.subplots(len(rows), len(METHODS), squeeze=False)
    for panels, name in zip(grid, rows, strict=True):
        places = _of(means, name)
        counts = sorted({place.n_per_subspace for place in places})
        heights = sorted({place.height for place in places})
        for panel, (method, title) in zip(panels, METHODS.items(), strict=True):
            table = np.full((len(heights), len(counts)), np.nan)
            for place in places:
                if place.method == method:
                    row = heights.index(place.height)
                    table[row, counts.index(place.n_per_subspace)] = means[place]
            image = _draw_heatmap(panel, table)
            panel.set_title(title if name == rows[0] else "", fontsize=12)
            panel.set_xticks(range(len(counts)), [str(one) for one in counts])
            shown = [f"{one:g}" for one in heights] if method == "ekss" else []
            panel.set_yticks(range(len(heights)) if shown else [], shown)
        panels[0].set_ylabel(labels[name], fontsize=11)
    drawing.supxlabel("points per subspace, $N_k$", fontsize=11)
    bar = drawing.colorbar(image, ax=grid, shrink=0.7, pad=0.01, aspect=30)
    bar.set_label("clustering error %")
    save_drawing(drawing, path)


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
                style = {"ha": "center", "va": "center", "fontsize": 7.5}
                panel.text(column, row, f"{value:.0f}", color=colour, **style)
    return image


def _draw_lines(errors: Mapping[Place, Sequence[float]], path: Path) -> None:
    """Draw errors against the angle, one line per method."""
    drawing = new_drawing(6.4, 4)
    panel = drawing.subplots()
    for method, title in METHODS.items():
        line = sorted(
            (place.height, min(values), float(np.mean(values)), max(values))
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
    text: dict[str, Any] = {"ha": "right", "fontsize": 8, "color": "#777777"}
    where = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    panel.annotate("chance", (0.995, CHANCE), (0, 2), **where, **text)
    panel.set_xlabel("angle between subspaces, radians")
    panel.set_ylabel("clustering error %")
    panel.set_xlim(left=0)
    panel.set_ylim(-2, 72)
    panel.legend(frameon=False)
    tidy(panel)
    save_drawing(drawing, path)
