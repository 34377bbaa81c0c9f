"""Figure 1 of the paper: how co-association settles with the number of members."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._cells import Cell, Plan, Result
from ekss.benchmarks._figure_profiles import FigureProfile
from ekss.benchmarks._findings import figure1_findings
from ekss.benchmarks._pages import Page, write_page
from ekss.benchmarks._render import Written
from ekss.benchmarks._rows import Row, finished
from ekss.benchmarks._trials import Place, Trial, write_trials

MEMBERS = (1, 5, 50)
PUBLISHED = {1: 61.0, 5: 25.0, 50: 0.0}
_SUBSPACES, _DIM, _FEATURES, _POINTS = 4, 3, 100, 100
_COST = 3.0


def plan_figure1(profile: FigureProfile) -> Plan:
    """List the cells: random instances, of which the first keeps its votes.

    Parameters
    ----------
    profile : FigureProfile

    Returns
    -------
    plan : Plan
        One cell a seed.
    """
    params = {
        "n_subspaces": _SUBSPACES,
        "dim": _DIM,
        "n_features": _FEATURES,
        "n_per_subspace": _POINTS,
        "members": list(MEMBERS),
        "ekss": {
            "subspace_dim": _DIM,
            "n_candidates": None,
            "max_iter": 3,
            "base": "pca",
            "weighting": "uniform",
            "divide_by_size": False,
            # No thresholding: all votes are kept.
            "n_neighbors": _SUBSPACES * _POINTS - 1,
        },
    }
    cells = [
        Cell(
            "figure1",
            "votes",
            "ekss",
            "error",
            {**params, "keep_votes": seed == 0},
            seed,
            _COST,
        )
        for seed in range(profile.instances)
    ]
    return Plan("figure1", tuple(cells), run_votes)


def run_votes(cell: Cell) -> Result:
    """Cluster one instance with few and with many members.

    Returns
    -------
    result : dict
        "errors" in percent by the number of members, "error" with most of them, and
        if asked for "votes": the labels of every member as a text of digits, points
        in the order of their subspaces.
    """
    from ekss.datasets import make_union_of_subspaces
    from ekss.estimators import EKSS
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
        model = EKSS(
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
    return [
        Trial(Place("votes", "ekss", _POINTS, _DIM, None), f"B={count}", seed, error)
        for seed, row in _finished(plan, rows)
        for count, error in row["errors"].items()
    ]


def shown_votes(
    plan: Plan, rows: Mapping[str, Row]
) -> dict[int, tuple[NDArray[np.float64], float]]:
    """Return matrix and error of the instance that is shown, by members."""
    from ekss.graph.coassociation import coassociation_dense

    for _, row in _finished(plan, rows):
        if "votes" in row:
            labels = np.array([[int(one) for one in text] for text in row["votes"]]).T
            return {
                count: (
                    coassociation_dense(labels[:, :count]),
                    row["errors"][str(count)],
                )
                for count in MEMBERS
            }
    return {}


def write_figure1(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: FigureProfile,
    *,
    command: str = "ekss bench figure1",
) -> Written:
    """Write the co-association matrices and their errors: md, csv and png.

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
    trials = votes_trials(plan, rows)
    shown = shown_votes(plan, rows)
    page = Page(
        name="figure1",
        title="Figure 1: co-association with 1, 5 and 50 members",
        alt="Three matrices that become block diagonal",
        findings=figure1_findings(trials, PUBLISHED) if profile.judged else [],
        grid=[],
        text=(
            "Noise-free points on K = 4 random subspaces of dimension d = 3 in 100 "
            "dimensions, 100 points each, in the order of their subspaces. Entry "
            "(i, j) is the share of members that put points i and j together. Members "
            "have 4 candidates of dimension 3 and 3 iterations with PCA; votes are "
            "neither weighted nor thresholded. All this is as in the paper, in every "
            f"profile. Random instances: {profile.instances}, of which the picture "
            f"shows seed 0. {profile.caption if not profile.judged else ''}"
        ),
        csv=write_trials(trials),
    )

    def draw(path: Path) -> None:
        from ekss.benchmarks._drawings import draw_votes

        draw_votes(shown, path)

    return write_page(page, plan, rows, folder, command, draw if shown else None)


def _finished(plan: Plan, rows: Mapping[str, Row]) -> list[tuple[int, Any]]:
    return [
        (cell.seed, rows[cell.key])
        for cell in plan.cells
        if finished(rows.get(cell.key))
    ]
