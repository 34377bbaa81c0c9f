"""Ensembles of other methods: votes of rows that members saw, cells, and the page."""

from dataclasses import replace

import numpy as np
import pytest

from ekss.benchmarks import (
    ALTERNATIVES_PROFILES,
    Points,
    plan_alternatives,
    write_alternatives,
)
from ekss.benchmarks._alternatives import (
    BASES,
    draw_members,
    landmark_labels,
    run_alternatives_cell,
    votes_of_seen,
)
from ekss.datasets import make_union_of_subspaces
from ekss.graph import coassociation_topq, nearest_by_votes, symmetric_graph
from ekss.metrics import clustering_error

TINY = replace(ALTERNATIVES_PROFILES["small"], per_class=20, n_members=8, seeds=1)


def usps():
    """Ten classes, as USPS has."""
    union = make_union_of_subspaces(10, 2, 24, 20, random_state=0)
    return [Points(union.data, union.target.astype(np.int64), "usps")]


def absent():
    raise OSError("usps.npz is not there; fetch it")


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return plan_alternatives(TINY, home, {"usps": usps})


def test_votes_are_counted_on_rows_seen_by_both():
    rng = np.random.default_rng(0)
    labels, seen = rng.integers(3, size=(12, 9)), rng.random((12, 9)) < 0.6
    votes = votes_of_seen(labels, seen)
    graph = symmetric_graph(nearest_by_votes(votes, 11)).toarray()
    both = seen[:, None] & seen[None]
    expected = (both & (labels[:, None] == labels[None])).mean(axis=2)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(graph, expected, atol=1e-12)
    everybody = nearest_by_votes(votes_of_seen(labels, np.ones_like(seen)), 3)
    plain = coassociation_topq(labels, None, 3)
    assert abs(symmetric_graph(everybody) - plain).max() == 0


def test_members_cluster_different_halves_and_only_these():
    X = np.arange(40.0)[:, None]
    labels, seen = draw_members(lambda rows, seed: rows[:, 0].astype(int), X, 5, 0)
    assert (seen.sum(axis=0) == 20).all()
    assert len({own.tobytes() for own in seen.T}) == 5
    np.testing.assert_array_equal(labels, np.where(seen, X.astype(int), 0))


def test_landmarks_tell_orthogonal_subspaces_apart():
    union = make_union_of_subspaces(3, 2, 20, 60, bases="orthogonal", random_state=0)
    labels = landmark_labels(union.data, 3, 0)
    assert clustering_error(union.target, labels) == 0


@pytest.mark.parametrize("method", ["landmarks", "kss"])
def test_cell_is_a_function_of_its_identity(plan, method):
    for dataset in ("planted", "digits", "usps"):
        (cell,) = [
            one for one in plan.cells if (one.dataset, one.method) == (dataset, method)
        ]
        row = run_alternatives_cell(cell)
        assert row == run_alternatives_cell(cell)
        assert all(0 <= row[name] < 90 for name in ("base", "members", "error"))


def test_page_judges_what_the_paper_says(plan, tmp_path):
    base = {
        "base": 10.0,
        "members": 20.0,
        "code": "some",
        "commit": "some",
        "date": "2025-01-01",
        "wall_seconds": 1.0,
        "machine": {"cpu": "some", "cores": 2, "platform": "some"},
    }
    gains = {"kss": 5.0, "gsc": -1.0, "mkf": 1.0}
    rows = {
        cell.key: {
            **base,
            "cell": cell.identity(),
            "error": 10.0 - gains.get(cell.method, 3.0),
        }
        for cell in plan.cells
    }
    text = write_alternatives(plan, rows, tmp_path, TINY).text
    assert text.count("Holds:") == 3
    assert "3 of 15 err more." in text
    page = (tmp_path / "alternatives.md").read_text()
    assert all(base.title in page for base in BASES.values())
    better = {key: {**row, "error": row["error"] - 9} for key, row in rows.items()}
    text = write_alternatives(plan, better, tmp_path, TINY).text
    assert text.count("Does not hold:") == 2


def test_without_usps_the_others_are_there(tmp_path):
    plan = plan_alternatives(TINY, tmp_path, {"usps": absent})
    assert {cell.dataset for cell in plan.cells} == {"planted", "digits"}
    assert "not there; fetch it" in write_alternatives(plan, {}, tmp_path, TINY).text
