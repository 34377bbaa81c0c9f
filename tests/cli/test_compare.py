import csv
import json

import pytest

from ekss import SSCOMP


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


def test_default_methods_all_run(ekss, files):
    ended = ekss("compare", "points.npy", "-k", 3, "--jobs", 1, "--json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)["methods"]
    names = [row["method"] for row in rows]
    assert names == ["ekss", "kss", "tsc", "ensc"]
    assert all(row["scores"] is None and row["failed"] is None for row in rows)
