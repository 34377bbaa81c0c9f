import csv
import json

import numpy as np
import pytest

from ekss import KSS, SSCOMP, TSC
from ekss.datasets import make_union_of_subspaces


def test_methods_are_tabled_in_the_order_asked_for(ekss, files):
    words = ("--methods", "tsc,kss,sscomp", "--labels", "truth.npy", "--jobs", 1)
    ended = ekss("compare", "points.npy", "-k", 3, *words)
    assert ended.code == 0, ended.err
    lines = [line.split() for line in ended.out.splitlines() if line.split()]
    shown = [line[0] for line in lines if line[0] in ("tsc", "kss", "sscomp")]
    assert shown == ["tsc", "kss", "sscomp"]
    for word in ("residual", "agreement", "error", "NMI", "ARI"):
        assert word in ended.out


def test_perfect_labels_have_no_residual_and_agree(ekss, files):
    words = ("--methods", "kss,tsc", "--dim", 2, "--labels", "truth.npy", "--jobs", 1)
    summary = json.loads(ekss("compare", "points.npy", "-k", 3, *words, "--json").out)
    kss = summary["methods"][0]
    assert kss["method"] == "kss"
    assert kss["scores"]["error"] == 0
    assert kss["residual"] == pytest.approx(0, abs=1e-12)
    assert kss["sizes"] == [20, 20, 20]
    tsc = summary["methods"][1]
    assert kss["agreement"] == tsc["agreement"] == pytest.approx(tsc["scores"]["ari"])


def test_a_method_that_fails_does_not_stop_the_others(ekss, files, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no luck\ntoday")

    monkeypatch.setattr(SSCOMP, "fit", broken)
    words = ("--methods", "sscomp,tsc", "--jobs", 1)
    ended = ekss("compare", "points.npy", "-k", 3, *words)
    assert ended.code == 1
    assert "warning: sscomp failed: no luck today" in ended.err
    assert "tsc" in ended.out
    summary = json.loads(ekss("compare", "points.npy", "-k", 3, *words, "--json").out)
    assert [row["failed"] for row in summary["methods"]] == ["no luck today", None]
    assert summary["methods"][1]["sizes"]


def test_table_is_written_as_csv(ekss, files):
    words = ("--methods", "tsc,kss", "--jobs", 1, "-o", "table.csv", "--quiet")
    ended = ekss("compare", "points.npy", "-k", 3, *words)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    with open(files / "table.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["method"] for row in rows] == ["tsc", "kss"]
    assert sum(map(int, rows[0]["sizes"].split())) == 60
    assert float(rows[0]["seconds"]) >= 0


def test_page_of_the_comparison_is_written(ekss, files):
    words = ("--methods", "kss,tsc", "--jobs", 1, "--labels", "truth.npy")
    ended = ekss("compare", "named.csv", "-k", 3, *words, "--report", "page.html")
    assert ended.code == 0, ended.err
    page = (files / "page.html").read_text()
    numbers = json.loads((files / "page.json").read_text())
    assert [row["method"] for row in numbers["methods"]] == ["kss", "tsc"]
    assert all(row["scores"]["error"] >= 0 for row in numbers["methods"])
    dims = numbers["judged_dims"]
    span = str(dims[0]) if len(dims) == 1 else f"{dims[0]} to {dims[-1]}"
    assert f"linear subspaces of dimension {span}" in page
    command = f"ekss cluster named.csv -k 3 --method {numbers['reference']}"
    assert f"{command} --report report.html --labels truth.npy" in page
    for row in numbers["disputed"]:
        assert row["point"].startswith("row")
        assert row["point"] in page


def test_time_is_that_of_the_second_fit(ekss, files, monkeypatch):
    fitted, fit = [], TSC.fit

    def seen(self, X, y=None):
        fitted.append(len(X))
        return fit(self, X)

    monkeypatch.setattr(TSC, "fit", seen)
    ended = ekss("compare", "points.npy", "-k", 3, "--methods", "tsc", "--jobs", 1)
    assert ended.code == 0, ended.err
    assert fitted == [40, 60]


def test_default_methods_all_run(ekss, files):
    ended = ekss("compare", "points.npy", "-k", 3, "--jobs", 1, "--json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)["methods"]
    names = [row["method"] for row in rows]
    assert names == ["ekss", "kss", "tsc", "ensc"]
    assert all(row["scores"] is None and row["failed"] is None for row in rows)


@pytest.fixture(params=[0, 1, 2])
def planes(request, tmp_path):
    """Write four planes with little noise; return the true labels."""
    data = make_union_of_subspaces(
        n_subspaces=4,
        dims=2,
        n_features=12,
        n_per_subspace=50,
        noise=0.05,
        random_state=request.param,
    )
    np.save(tmp_path / "planes.npy", data.data)
    np.save(tmp_path / "truth.npy", data.target)
    return data.target


@pytest.mark.parametrize("words", [(), ("--dim", 2), ("--dim", 3)])
def test_perfect_labels_win_over_wrong_ones(ekss, planes, monkeypatch, words):
    lines = KSS(4, 1, random_state=0)

    def fit_lines(self, X, y=None):
        self.labels_ = lines.fit(X).labels_
        return self

    def fit_truth(self, X, y=None):
        self.labels_ = planes
        return self

    # the method of wrong labels has them from lines, where planes are right
    monkeypatch.setattr(SSCOMP, "fit", fit_lines)
    monkeypatch.setattr(TSC, "fit", fit_truth)
    words = ("--methods", "sscomp,tsc", "--labels", "truth.npy", *words, "--json")
    ended = ekss("compare", "planes.npy", "-k", 4, "--jobs", 1, *words)
    wrong, perfect = json.loads(ended.out)["methods"]
    assert wrong["scores"]["error"] > 0.1
    assert perfect["scores"]["error"] == 0
    assert perfect["residual"] < 0.1 * wrong["residual"]


def test_dimensions_are_the_same_for_all_and_stated(ekss, files, planes):
    words = ("--methods", "kss,tsc", "--jobs", 1)
    ended = ekss("compare", "planes.npy", "-k", 4, *words)
    summary = json.loads(ekss("compare", "planes.npy", "-k", 4, *words, "--json").out)
    dims = summary["judged_dims"]
    assert 2 in dims
    span = str(dims[0]) if len(dims) == 1 else f"{dims[0]} to {dims[-1]}"
    assert f"subspaces of dimension {span} (estimated from the data)" in ended.out
    given = ekss("compare", "planes.npy", "-k", 4, *words, "--dim", 5, "-o", "t.csv")
    assert "linear subspaces of dimension 5 (--dim)" in given.out
    with open(files / "t.csv", newline="") as stream:
        assert [row["judged_dims"] for row in csv.DictReader(stream)] == ["5", "5"]
