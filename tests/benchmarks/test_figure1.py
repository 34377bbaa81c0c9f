from dataclasses import replace
from pathlib import Path

import numpy as np

from ekss.benchmarks import FIGURE_PROFILES, FIGURES, Plan
from ekss.benchmarks._figure1 import (
    PUBLISHED,
    figure1_findings,
    plan_figure1,
    run_votes,
    shown_votes,
    votes_trials,
)
from ekss.benchmarks._figures34 import read_trials

RESULTS = Path(__file__).parents[2] / "docs" / "results"
SMOKE = FIGURE_PROFILES["smoke"]


def rows_of(plan: Plan):
    return {cell.key: run_votes(cell) for cell in plan.cells}


def test_committed_run_clusters_without_error_with_50_members():
    trials = read_trials((RESULTS / "figure1.csv").read_text())
    (found,) = figure1_findings(trials, PUBLISHED)
    assert found.holds, found.measured
    assert found.measured in " ".join((RESULTS / "figure1.md").read_text().split())
    seeds = range(FIGURE_PROFILES["quick"].instances)
    assert sorted({trial.seed for trial in trials}) == list(seeds)
    means = {
        count: np.mean([t.error for t in trials if t.setting == f"B={count}"])
        for count in PUBLISHED
    }
    assert means[1] > means[5] > means[50]
    assert means[50] < 1


def test_shown_matrices_are_shares_of_members_and_settle_into_blocks():
    plan = plan_figure1(SMOKE)
    rows = rows_of(plan)
    shown = shown_votes(plan, rows)
    assert list(shown) == [1, 5, 50]
    for count, (votes, error) in shown.items():
        np.testing.assert_array_equal(votes, votes.T)
        np.testing.assert_array_equal(np.diag(votes), 1)
        np.testing.assert_allclose(votes * count, np.round(votes * count), atol=1e-9)
        assert error == rows[plan.cells[0].key]["errors"][str(count)]
    votes, error = shown[50]
    same = np.kron(np.eye(4), np.ones((100, 100))) == 1
    assert votes[same].mean() > 0.4
    assert votes[~same].mean() < 0.3
    assert error == 0


def test_only_the_first_instance_keeps_its_votes():
    plan = plan_figure1(replace(SMOKE, instances=2))
    rows = rows_of(plan)
    assert ["votes" in rows[cell.key] for cell in plan.cells] == [True, False]
    trials = votes_trials(plan, rows)
    assert sorted({(one.seed, one.setting) for one in trials}) == [
        (seed, setting) for seed in (0, 1) for setting in ("B=1", "B=5", "B=50")
    ]


def test_page_without_rows_says_what_is_not_there(tmp_path):
    plan = plan_figure1(SMOKE)
    written = FIGURES["figure1"].write(plan, {}, tmp_path, SMOKE)
    assert "votes ekss error seed 0: not run yet" in written.text
    assert [path.name for path in written.files] == ["figure1.md", "figure1.csv"]
