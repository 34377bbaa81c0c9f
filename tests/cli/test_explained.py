"""From the raw table to a page that says what is in it, with no option but -k."""

import base64
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from ekss.io import write_labels
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def truth():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "report")
        return importlib.import_module("planted")


def test_a_raw_table_becomes_a_page_with_the_planted_truth(ekss, tmp_path, truth):
    table = truth.planted()
    truth.write_table(tmp_path / "machines.csv", table)
    ended = ekss("cluster", "machines.csv", "-k", 3, "--report", "page.html")
    assert ended.code == 0, ended.err
    summary = json.loads((tmp_path / "page.json").read_text())
    page = (tmp_path / "page.html").read_text().replace("\u00a0", " ")

    # which columns take part
    columns = summary["columns"]
    assert columns["idle"] == list(truth.IDLE)
    assert columns["unused"] == ["machine (names the rows)", "site"]
    assert "Not used: machine (names the rows) and site." in page
    assert "vibration and drift take no part" in page

    # the clusters, and which kind of machine each is
    lines = (tmp_path / "machines-clusters.csv").read_text().splitlines()[1:]
    labels = np.array([int(line.split(",")[1]) for line in lines])
    sure = ~table.torn
    assert clustering_error(table.truth[sure], labels[sure]) == 0
    for cluster in columns["clusters"]:
        mine = labels == cluster["name"]
        kind = int(np.bincount(table.truth[mine & sure]).argmax())

        # every planted equation, and nothing else
        found = {e["column"]: (e["terms"], e["constant"]) for e in cluster["equations"]}
        assert set(found) == set(truth.GIVEN)
        for name, (terms, constant) in truth.EQUATIONS[kind].items():
            assert set(found[name][0]) == set(terms)
            for term, factor in terms.items():
                assert found[name][0][term] == pytest.approx(factor, abs=0.011)
            assert found[name][1] == pytest.approx(constant, abs=0.06)
        for equation in cluster["equations"]:
            assert equation["error"] < 0.1
            assert equation["error_elsewhere"] > 1
            assert equation["sentence"] in page

        # rows that are off their equations are doubtful, typical ones are not
        rows = [int(name[1:]) for name in cluster["doubtful_rows"]]
        torn = set(np.flatnonzero(table.torn & mine))
        assert torn <= set(rows)
        rows = [int(name[1:]) for name in cluster["typical_rows"]]
        assert (table.truth[rows] == kind).all()
        assert not table.torn[rows].any()
        off = [truth.off_by(table.rows[rows], k) for k in range(3)]
        assert off[kind].max() < 0.15
        assert min(off[k].min() for k in range(3) if k != kind) > 1
    assert "pressure is about 1.8 \u00d7 temperature \u2212 4, to " in page
    assert "level is about 12 \u2212 flow, to " in page

    # the labels of the page are those of the file
    (address,) = re.findall('href="data:text/csv;base64,([^"]*)"', page)
    write_labels(tmp_path / "again.csv", labels, [f"M{i:03d}" for i in range(200)])
    assert base64.b64decode(address) == (tmp_path / "again.csv").read_bytes()


def test_advice_names_the_options_of_the_command(ekss, tmp_path):
    X = np.random.default_rng(0).standard_normal((120, 20))  # nothing to find
    np.save(tmp_path / "a table.npy", X)
    words = ("-k", 3, "--dim", 2, "--members", 20, "--seed", 5, "--report", "r.html")
    ended = ekss("cluster", "a table.npy", *words)
    assert ended.code == 0, ended.err
    summary = json.loads((tmp_path / "r.json").read_text())
    texts = " ".join(w["title"] + w["text"] for w in summary["warnings"])
    assert not re.search(r"n_members|n_clusters|subspace_dim|random_state", texts)
    command = summary["next_run"]
    assert command.startswith("ekss cluster 'a table.npy' -k 3 --dim 2 --members 40")
    assert "--seed 5" in command
    assert command in (tmp_path / "r.html").read_text().replace("&#39;", "'")
    # the command can be run as it stands
    import shlex

    ended = ekss(*shlex.split(command)[1:])
    assert ended.code == 0, ended.err
