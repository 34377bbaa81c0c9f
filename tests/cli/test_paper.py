"""``--method paper``: the algorithm of the paper through every command."""

import json

import numpy as np
import pytest

from ekss import PaperEKSS

QUIET = ("-o", "labels.npy", "--quiet")
PAPER = ("--method", "paper", "--dim", 2, "--members", 30, "--jobs", 1)


@pytest.fixture
def clustered(ekss, files):
    words = ("--model", "model.ekss", "--report", "report.html", "-o", "fitted.npy")
    return ekss("cluster", "points.npy", "-k", 3, *PAPER, *words)


def test_labels_are_those_of_the_estimator(ekss, files, planted):
    words = ("--q", 5, "--candidates", 4, "--seed", 7, "-o", "labels.npy", "--json")
    ended = ekss("cluster", "points.npy", "-k", 3, *PAPER, *words)
    assert ended.code == 0, ended.err
    model = PaperEKSS(
        3, 2, n_members=30, n_neighbors=5, n_candidates=4, random_state=7
    ).fit(planted.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), model.labels_)
    summary = json.loads(ended.out)
    assert summary["method"] == "paper"
    assert summary["n_members"] == 30
    assert summary["settings"] == {"dim": 2, "q": 5, "members": 30, "candidates": 4}


def test_report_and_model_are_written(ekss, files, clustered):
    assert clustered.code == 0, clustered.err
    assert "paper, 3 clusters, dim 2, members 30, seed 0" in clustered.out
    assert "linear subspaces of dimension 2, q 4, 30 members" in clustered.out
    assert "PaperEKSS" in (files / "report.html").read_text()
    shown = ekss("inspect", "report.json")
    assert shown.code == 0, shown.err
    assert "PaperEKSS" in shown.out


def test_new_points_are_assigned(ekss, files, planted, clustered):
    np.save(files / "new.npy", -2 * planted.data[::3])
    ended = ekss("predict", "model.ekss", "new.npy", "-o", "new-labels.npy")
    assert ended.code == 0, ended.err
    assert "PaperEKSS, 3 clusters" in ended.out
    fitted = np.load(files / "fitted.npy")
    np.testing.assert_array_equal(np.load(files / "new-labels.npy"), fitted[::3])


def test_no_iterations_are_the_variant_with_guarantees(ekss, files, planted):
    ended = ekss("cluster", "points.npy", "-k", 3, *PAPER, "--max-iter", 0, *QUIET)
    assert ended.code == 0, ended.err
    model = PaperEKSS(3, 2, n_members=30, max_iter=0, random_state=0)
    expected = model.fit_predict(planted.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), expected)


def test_affine_subspaces_can_be_asked_for(ekss, files):
    ended = ekss("cluster", "points.npy", "-k", 3, *PAPER, "--affine")
    assert ended.code == 0, ended.err
    assert "affine subspaces of dimension 2" in ended.out


def test_it_is_compared_with_others(ekss, files):
    words = ("--methods", "paper,kss", "--dim", 2, "--labels", "truth.npy", "--jobs", 1)
    ended = ekss("compare", "points.npy", "-k", 3, *words, "--json")
    assert ended.code == 0, ended.err
    paper, kss = json.loads(ended.out)["methods"]
    assert paper["method"] == "paper"
    assert paper["scores"]["error"] == kss["scores"]["error"] == 0
    assert paper["agreement"] == 1
