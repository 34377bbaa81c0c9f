"""Figure 1 of the paper: how co-association settles with the number of members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._figures34 import Place, Trial, write_trials
from ekss.benchmarks._pages import Finding, Page, listed, new_drawing, save_drawing
from ekss.benchmarks._profiles import TEXTS, FigureProfile
from ekss.benchmarks._runner import Cell, Plan, Result, Row

MEMBERS = (1, 5, 50)
PUBLISHED = {1: 61.0, 5: 25.0, 50: 0.0}
_SUBSPACES, _DIM, _FEATURES, _POINTS = 4, 3, 100, 100
_COST = 3.0


def plan_figure1(profile: FigureProfile) -> Plan:
    """List the cells: random instances, of which the first keeps its votes."""
    params = {
        "n_subspaces": _SUBSPACES,
        "dim": _DIM,
        "n_features": _FEATURES,
        "n_per_subspace": _POINTS,
        "members": list(MEMBERS),
        "ekss": {
            "subspace_dim": _DIM,
            "max_iter": 3,
            "update": "pca",
            # No thresholding: all votes are kept.
            "n_neighbors": _SUBSPACES * _POINTS - 1,
        },
    }
    place = ("figure1", "votes", "ekss", "error")
    cells = [
        Cell(*place, {**params, "keep_votes": seed == 0}, seed, _COST)
        for seed in range(profile.instances)
    ]
    return Plan("figure1", tuple(cells), run_votes)


def run_votes(cell: Cell) -> Result:
    """Cluster one instance with few and with many members.

    The result has "errors" in percent by the number of members, "error" with most of
    them, and if asked for "votes": the labels of every member as a text of digits,
    points in the order of their subspaces.
    """
    from ekss.datasets import make_union_of_subspaces
    from ekss.estimators import PaperEKSS
    from ekss.metrics import clustering_error

    given = cell.params
    points, target = make_union_of_subspaces(
        given["n_subspaces"],
        given["dim"],
        given["n_features"],
        given["n_per_subspace"],
        shuffle=False,
        random_state=cell.seed,
        return_X_y=True,
    )
    errors: dict[str, float] = {}
    for count in given["members"]:
        model = PaperEKSS(
            given["n_subspaces"],
            n_members=count,
            n_jobs=1,
            random_state=cell.seed,
            **given["ekss"],
        ).fit(points)
        errors[str(count)] = round(100 * clustering_error(target, model.labels_), 4)
    result: Result = {"error": errors[str(given["members"][-1])], "errors": errors}
    if given["keep_votes"]:
        result["votes"] = ["".join(map(str, one)) for one in model.member_labels_.T]
    return result


def votes_trials(plan: Plan, rows: Mapping[str, Row]) -> list[Trial]:
    """Return the errors of all instances; the setting is the number of members."""
    place = Place("votes", "ekss", _POINTS, _DIM, None)
    return [
        Trial(place, f"B={count}", cell.seed, error)
        for cell, row in plan.finished(rows)
        for count, error in row["errors"].items()
    ]


def shown_votes(
    plan: Plan, rows: Mapping[str, Row]
) -> dict[int, tuple[NDArray[np.float64], float]]:
    """Return matrix and error of the instance that is shown, by members."""
    from ekss.graph.votes import coassociation_dense

    for _, row in plan.finished(rows):
        if "votes" in row:
            labels = np.array([[int(one) for one in text] for text in row["votes"]]).T
            votes = {n: coassociation_dense(labels[:, :n]) for n in MEMBERS}
            return {n: (votes[n], row["errors"][str(n)]) for n in MEMBERS}
    return {}


def figure1_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    text, caption = TEXTS["pages"]["figure1"], "" if profile.judged else profile.caption
    trials = votes_trials(plan, rows)
    shown = shown_votes(plan, rows)
    return Page(
        name="figure1",
        title="Figure 1: co-association with 1, 5 and 50 members",
        alt="Three matrices that become block diagonal",
        findings=figure1_findings(trials, PUBLISHED) if profile.judged else [],
        text=f"{text.format(profile=profile)} {caption}",
        csv=write_trials(trials),
        draw=partial(_draw_votes, shown) if shown else None,
    )


def figure1_findings(
    trials: Sequence[Trial], published: Mapping[int, float]
) -> list[Finding]:
    """Check that 50 members cluster without error."""
    if not trials:
        return []
    errors: dict[str, list[float]] = {}
    for trial in sorted(trials, key=lambda trial: trial.seed):
        errors.setdefault(trial.setting, []).append(trial.error)
    counts, most = sorted(published), max(published)
    ours = [errors[f"B={count}"] for count in counts]
    paper = listed(f"{published[count]:.0f} %" for count in counts)
    shown = listed(f"{values[0]:.1f} %" for values in ours)
    means = listed(f"{fmean(values):.1f} %" for values in ours)
    settled = ours[-1]
    right = sum(error == 0 for error in settled)
    return [
        Finding(
            f"With {most} members there is no error; the paper's instance has {paper} "
            f"with {listed(map(str, counts))} members.",
            settled[0] == published[most],
            f"The instance shown has {shown}. The means over all instances are "
            f"{means}; with {most} members {right} of {len(settled)} have no error.",
        )
    ]


def _draw_votes(
    shown: Mapping[int, tuple[NDArray[np.float64], float]], path: Path
) -> None:
    """Draw co-association matrices side by side, with their errors."""
    drawing = new_drawing(11, 3.8)
    panels = drawing.subplots(1, len(shown), squeeze=False)[0]
    for panel, (count, (votes, error)) in zip(panels, shown.items(), strict=True):
        style = {"cmap": "magma", "vmin": 0, "vmax": 1, "interpolation": "nearest"}
        image = panel.imshow(votes, **style)
        panel.set_title(f"B = {count}: error {error:.0f} %", fontsize=12)
        panel.set_xlabel("point", fontsize=10)
        ticks = np.linspace(0, len(votes), 5)
        panel.set_xticks(ticks)
        panel.set_yticks(ticks if panel is panels[0] else [])
        panel.tick_params(labelsize=9, length=2)
    panels[0].set_ylabel("point", fontsize=10)
    bar = drawing.colorbar(image, ax=list(panels), shrink=0.82, pad=0.01)
    bar.set_label("share of members that put two points together", fontsize=9)
    bar.ax.tick_params(labelsize=9)
    save_drawing(drawing, path)
