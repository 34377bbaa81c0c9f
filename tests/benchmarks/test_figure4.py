from pathlib import Path

import numpy as np

from ekss.benchmarks import FIGURE_PROFILES, FIGURES
from ekss.benchmarks._figures34 import (
    Problem,
    figure4_findings,
    mean_errors,
    plan_figure4,
    read_trials,
)

RESULTS = Path(__file__).parents[2] / "docs" / "results"
SMOKE, QUICK = FIGURE_PROFILES["smoke"], FIGURE_PROFILES["quick"]


def committed():
    return read_trials((RESULTS / "figure4.csv").read_text())


def test_committed_run_shows_the_papers_findings():
    found = figure4_findings(committed())
    assert len(found) == 2
    page = " ".join((RESULTS / "figure4.md").read_text().split())
    for one in found:
        assert one.holds, one.measured
        assert one.measured in page


def test_committed_run_is_the_whole_quick_profile():
    trials = committed()
    noisy = [one for one in trials if one.place.panel == "noisy"]
    assert {one.place.angle for one in noisy} == set(QUICK.noisy_angles)
    assert {one.seed for one in trials} == set(range(QUICK.trials))
    assert {one.place.n_per_subspace for one in trials} == {500}
    assert {one.place.method for one in trials} == {"ekss", "ekss0", "tsc", "ssc"}


def test_committed_run_shows_that_the_other_reading_of_the_noise_is_hopeless():
    means = mean_errors(committed())
    much = [error for place, error in means.items() if place.panel == "noisier"]
    assert len(much) == 12
    assert min(much) > 40


def test_noise_is_a_vector_of_the_norm_stated():
    cells = plan_figure4(QUICK).cells
    norms = {
        (cell.dataset, round(given["noise"], 2))
        for cell in cells
        for given in cell.params["problems"]
    }
    assert norms == {("noisy", 0.22), ("noisier", 2.24)}
    clean, _ = Problem(50, 10, 0.2).draw(0)
    noisy, _ = Problem(50, 10, 0.2, noise=0.05**0.5).draw(0)
    errors = np.linalg.norm(noisy - clean, axis=1)
    assert abs(np.mean(errors**2) - 0.05) < 0.005


def test_page_says_what_does_not_hold(tmp_path):
    plan = plan_figure4(QUICK)
    rows = {cell.key: constant_row(cell) for cell in plan.cells}
    written = FIGURES["figure4"].write(plan, rows, tmp_path, QUICK)
    page = " ".join((tmp_path / "figure4.md").read_text().split())
    assert "**Holds**: EKSS-0 and TSC perform about the same." in page
    assert "**Does not hold**: EKSS clusters at smaller angles than SSC." in page
    assert "none for EKSS" in page
    assert (tmp_path / "figure4.png").stat().st_size > 5000
    assert "Seeds: 0" in page
    first, title, *_ = written.text.split("\n\n")
    assert first.startswith("UNKNOWN VERSION")
    assert title.startswith("Figure 4")


def constant_row(cell):
    """A row in which every method is wrong about half of the points."""
    return {
        "cell": cell.identity(),
        "trials": [
            {"errors": dict.fromkeys(given["settings"], 50.0)}
            for given in cell.params["problems"]
        ],
        "machine": {"cpu": "some", "cores": 2, "platform": "some"},
        "versions": {"python": "3"},
        "commit": "none",
        "date": "2026-01-01",
        "wall_seconds": 1.0,
    }
