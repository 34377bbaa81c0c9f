"""``--outliers`` of the command, from clustering to prediction."""

import json

import numpy as np
import pytest

from ekss.datasets import make_union_of_subspaces

FAST = ("-k", 3, "--members", 20, "--jobs", 1, "-o", "fitted.npy")


@pytest.fixture
def union(tmp_path):
    found = make_union_of_subspaces(
        3, 2, 12, 30, noise=0.05, outliers=0.1, random_state=0
    )
    np.save(tmp_path / "points.npy", found.data)
    return found


def test_outliers_are_marked_counted_and_predicted(ekss, union, tmp_path):
    words = ("--outliers", "auto", "--model", "m.ekss", "--report", "page.html")
    ended = ekss("cluster", "points.npy", *words, *FAST)
    assert ended.code == 0, ended.err
    labels = np.load(tmp_path / "fitted.npy")
    count = int((labels < 0).sum())
    assert abs(count - (union.target < 0).sum()) <= 3
    assert f"{count} outliers (label -1)" in ended.out
    ended = ekss("predict", "m.ekss", "points.npy", "-o", "again.npy", "--json")
    assert ended.code == 0, ended.err
    again = np.load(tmp_path / "again.npy")
    assert json.loads(ended.out)["n_outliers"] == (again < 0).sum()
    assert (again == labels).mean() > 0.95


def test_a_share_is_marked(ekss, union):
    ended = ekss("cluster", "points.npy", "--outliers", 0.2, "--json", *FAST)
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    assert summary["n_outliers"] == 20
    assert sum(one["size"] for one in summary["clusters"]) == 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--outliers", "many"), "--outliers many is not a share"),
        (("--outliers", 0.9), "--outliers 0.9 is not a share of the points"),
        (("--outliers", 0.1, "--method", "tsc"), "not known to method tsc"),
    ],
)
def test_other_values_are_refused(ekss, union, words, told):
    fast = FAST[:2] + FAST[4:]
    ended = ekss("cluster", "points.npy", *words, *fast)
    assert ended.code != 0
    assert told in ended.err
