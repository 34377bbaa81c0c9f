"""The scale run: its cells, what a cell measures, and its page."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from ekss.benchmarks import SCALE_PROFILES, plan_scale, run_plan, write_scale
from ekss.benchmarks._data import Points
from ekss.benchmarks._scale import (
    MNIST,
    PLANTED,
    ScaleProfile,
    planted_points,
    recall_of_votes,
    run_scale_cell,
    scale_grid,
    slope,
)
from ekss.graph.votes import Neighbours

TINY = ScaleProfile("tiny", (300, 600), n_members=6, all_pairs=300, free_members=6)
PROBLEM = {"n_clusters": 5, "dim": 2, "n_features": 12, "noise": 0.1}


def digits():
    """Return images that stand in for MNIST."""
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(3), 20)
    shapes = rng.random((3, 784), np.float32)
    images = shapes[target] + 0.1 * rng.random((60, 784), np.float32)
    return [Points(images, target, "digits")]


def plan_of(profile, tmp_path, **loaders):
    return plan_scale(profile, tmp_path / "home", loaders)


def test_points_are_near_the_subspaces_they_are_labelled_with():
    points = planted_points(1000, **PROBLEM, seed=3)
    assert points.data.dtype == np.float32
    assert np.bincount(points.target).tolist() == [200] * 5
    for k in range(5):
        values = np.linalg.svd(points.data[points.target == k], compute_uv=False)
        assert (values[2:] ** 2).sum() < 0.02 * (values**2).sum()
    noise = np.linalg.norm(points.data, axis=1) - 1
    assert 0.01 < noise.std() < 0.1


def test_points_of_several_blocks_share_the_subspaces(monkeypatch):
    monkeypatch.setattr("ekss.benchmarks._scale._DRAWN", 300)
    points = planted_points(1000, **{**PROBLEM, "noise": 0.0}, seed=3)
    assert np.bincount(points.target).tolist() == [200] * 5
    for k in range(5):
        values = np.linalg.svd(points.data[points.target == k], compute_uv=False)
        assert values[2] < 1e-5 * values[0]
    assert len(np.unique(points.data, axis=0)) == 1000


def test_plan_has_every_method_at_every_size_and_pairs_only_while_few(tmp_path):
    cells = plan_of(TINY, tmp_path).cells
    found = {(cell.method, cell.column) for cell in cells}
    assert found == {
        *(
            (name, n)
            for name in ("given", "free", "approximate")
            for n in ("300", "600")
        ),
        ("exact", "300"),
        ("approximate", "recall"),
    }
    assert len({cell.key for cell in cells}) == len(cells)


def test_full_profile_is_that_of_the_goal(tmp_path):
    full = SCALE_PROFILES["full"]
    cells = plan_of(replace(full, mnist=False), tmp_path).cells
    largest = next(cell for cell in cells if cell.column == "1000000")
    assert largest.params["problem"] == {
        "n_samples": 10**6,
        "n_clusters": 10,
        "dim": 5,
        "n_features": 50,
        "noise": 0.1,
    }
    assert largest.params["model"] == {"subspace_dim": 5, "n_members": 100}
    assert not any(c.method == "exact" and c.column == "1000000" for c in cells)


def test_missing_digits_are_told_and_the_rest_is_planned(tmp_path):
    def absent():
        raise OSError("the file is not there")

    plan = plan_of(replace(TINY, mnist=True), tmp_path, mnist70k=absent)
    assert plan.missing == {MNIST: "the file is not there"}
    assert {cell.dataset for cell in plan.cells} == {PLANTED}


def test_digits_are_clustered_beside_minibatch_k_means(tmp_path):
    plan = plan_of(replace(TINY, mnist=True), tmp_path, mnist70k=digits)
    cells = {cell.method: cell for cell in plan.cells if cell.dataset == MNIST}
    assert set(cells) == {"given", "free", "approximate", "kmeans"}
    assert run_scale_cell(cells["kmeans"]) == {
        "error": 0.0,
        "seconds": pytest.approx(0, abs=30),
    }


def test_cell_measures_its_stages_and_keeps_the_estimate(tmp_path):
    cells = plan_of(TINY, tmp_path).cells
    found = run_scale_cell(next(cell for cell in cells if cell.method == "given"))
    stages = {"members", "votes", "cuts", "choice", "expressions"}
    assert stages == set(found["stages"])
    assert 0 < sum(found["stages"].values()) <= found["seconds"] + 0.01
    assert found["estimated"]["megabytes"] > 100
    assert found["pairs"] == "all"
    assert found["members"] == 6


def test_graphs_of_few_points_are_the_same(tmp_path):
    cells = plan_of(replace(TINY, sizes=(250,)), tmp_path).cells
    cell = next(cell for cell in cells if cell.column == "recall")
    assert run_scale_cell(cell)["recall"] == 1.0


def test_recall_counts_ties_and_not_holes():
    exact = Neighbours(np.array([[1, 2], [0, 2]]), np.array([[3.0, 2.0], [3.0, 1.0]]))
    found = Neighbours(np.array([[1, 3], [0, -1]]), np.array([[3.0, 2.0], [3.0, 0.0]]))
    assert recall_of_votes(exact, found) == 0.75


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale")
    plan = plan_scale(TINY, folder / "home", {})
    rows = run_plan(plan, folder)
    assert not [row["failed"] for row in rows.values() if "failed" in row]
    return plan, rows, write_scale(plan, rows, folder, TINY), folder


def test_page_has_times_slopes_and_the_recall(finished):
    _, _, written, folder = finished
    assert [path.name for path in written.files] == [
        "scale.md",
        "scale.csv",
        "scale.png",
    ]
    page = (folder / "scale.md").read_text()
    assert "n_members=6" in page
    assert "of the ten strongest votes of a point" in page
    assert "with the exact graph" in page
    assert page.count("| slope |") == 3
    assert "Workers of a fit: 1" in page


def test_numbers_of_the_page_add_up(finished):
    _, rows, _, folder = finished
    lines = list(csv.DictReader(io.StringIO((folder / "scale.csv").read_text())))
    assert len(lines) == len(rows) - 1, "all but the comparison of graphs"
    for line in lines:
        stages = ("members", "votes", "cuts", "choice", "rows", "rest")
        total = sum(float(line[name]) for name in stages)
        assert total == pytest.approx(float(line["seconds"]), abs=0.01)
        assert 50 < float(line["megabytes"]) < 2000


def test_page_without_rows_says_so(tmp_path):
    plan = plan_of(TINY, tmp_path)
    written = write_scale(plan, {}, tmp_path, TINY)
    assert [path.name for path in written.files] == ["scale.md", "scale.csv"]
    assert written.text.count("not run yet") == len(plan.cells)
    assert len(scale_grid([])) == 1


def test_slope_is_the_power_of_growth():
    assert slope(1.0, 8.0, 2.0) == pytest.approx(3.0)
    assert slope(2.0, 200.0, growth=10.0) == pytest.approx(2.0)
    assert slope(0.0, 8.0, 2.0) is None
