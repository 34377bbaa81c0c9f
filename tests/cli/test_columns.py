"""Which columns are clustered by, and warnings of those that look wrong."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from ekss.cli._options import steps_of
from ekss.cli._reading import Read, doubts
from ekss.datasets import make_union_of_subspaces
from ekss.io import Points, load_model, read_labels

FAST = ("--method", "kss", "--dim", 2, "--jobs", 1)


@pytest.fixture
def sensors(tmp_path):
    """Write sensors of 4 planes beside a column of ids; return frame and labels."""
    data = make_union_of_subspaces(
        n_subspaces=4,
        dims=2,
        n_features=12,
        n_per_subspace=50,
        noise=0.05,
        random_state=0,
    )
    frame = pd.DataFrame(data.data, columns=[f"sensor{i}" for i in range(12)])

    def write(name, values, at=0):
        wide = frame.copy()
        wide.insert(at, name, values)
        wide.to_csv(tmp_path / "sensors.csv", index=False)
        return wide

    np.save(tmp_path / "truth.npy", data.target)
    return write


@pytest.mark.parametrize("at", [0, 12])
def test_an_id_column_names_the_rows_and_is_no_feature(ekss, tmp_path, sensors, at):
    sensors("customer_id", range(1000, 1200), at)
    words = ("-k", 4, "--labels", "truth.npy", "--model", "m.ekss", *FAST)
    ended = ekss("cluster", "sensors.csv", *words, "--report", "r.html")
    assert ended.code == 0, ended.err
    assert "200 points of 12 features, named by column 'customer_id'" in ended.out
    assert "sensor0, sensor1" in ended.out
    assert "warning" not in ended.err
    assert "error 0.0 %" in ended.out
    result = pd.read_csv(tmp_path / "sensors-clusters.csv")
    assert result["id"].tolist() == list(range(1000, 1200))
    names = [f"sensor{i}" for i in range(12)]
    assert list(load_model(tmp_path / "m.ekss").feature_names) == names
    assert json.loads((tmp_path / "r.json").read_text())["feature_names"] == names
    assert "sensor11" in (tmp_path / "r.html").read_text()


def test_a_column_of_codes_is_left_out_in_words(ekss, tmp_path, sensors):
    sensors("store_id", np.arange(200) % 7, 5)
    ended = ekss("cluster", "sensors.csv", "-k", 4, *FAST)
    assert (
        "left out as identifiers: store_id (--id-column none keeps them)" in ended.out
    )
    summary = json.loads(ekss("cluster", "sensors.csv", "-k", 4, *FAST, "--json").out)
    assert summary["data"]["left_out"] == ["store_id"]
    assert "store_id" not in summary["data"]["columns"]
    words = ("--id-column", "none", "--json")
    kept = json.loads(ekss("cluster", "sensors.csv", "-k", 4, *FAST, *words).out)
    assert "store_id" in kept["data"]["columns"]
    assert kept["data"]["left_out"] == []


@pytest.mark.parametrize("command", ["cluster", "compare", "theory"])
def test_numbers_of_rows_are_doubted_whatever_their_name(ekss, sensors, command):
    sensors("customer", range(1000, 1200))
    words = {
        "cluster": ("-k", 4, *FAST),
        "compare": ("-k", 4, "--methods", "kss", "--jobs", 1),
        "theory": ("--labels", "truth.npy", "--members", 10, "--jobs", 1),
    }[command]
    ended = ekss(command, "sensors.csv", *words)
    assert ended.code == 0, ended.err
    assert "column 'customer' of sensors.csv is used as a feature" in ended.err
    assert "--drop-column 'customer', or name the rows by it: --id-column" in ended.err
    assert "column 'customer' of sensors.csv holds over 99.9 % of the energy" in (
        ended.err
    )
    ended = ekss(command, "sensors.csv", *words, "--drop-column", "customer")
    assert "warning: column" not in ended.err


@pytest.mark.parametrize("command", ["cluster", "compare"])
def test_doubts_are_in_the_json(ekss, sensors, command):
    sensors("customer", range(1000, 1200))
    words = {"cluster": FAST, "compare": ("--methods", "kss")}[command]
    summary = json.loads(ekss(command, "sensors.csv", "-k", 4, *words, "--json").out)
    assert len(summary["warnings"]) == 2
    assert all("'customer'" in text for text in summary["warnings"])


def test_the_column_named_for_removal_is_the_right_one(ekss, tmp_path, sensors):
    wide = sensors("customer", range(1000, 1200), 4)
    wide.insert(0, "who", [f"p{i}" for i in range(200)])
    wide.to_csv(tmp_path / "bare.csv", index=False, header=False)
    ended = ekss("cluster", "bare.csv", "-k", 4, *FAST)
    assert "column 5 (counted from 0) of bare.csv is used" in ended.err
    assert "--drop-column '5'" in ended.err
    ended = ekss("cluster", "bare.csv", "-k", 4, *FAST, "--drop-column", 5)
    assert "warning" not in ended.err
    assert len(read_labels(tmp_path / "bare-clusters.csv")) == 200


def doubts_of(values, steps=None, **about):
    points = Points(np.asarray(values, float), source="a", **about)
    return doubts(Read(points, None), steps_of(steps))


RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal((200, 5))


@pytest.mark.parametrize(
    "column",
    [
        np.arange(200),
        RNG.permutation(200),
        1_600_000_000 + 3600 * np.arange(200),
        RNG.permutation(np.arange(5000, 5600, 3)),
    ],
    ids=["rows", "shuffled", "time stamps", "every third"],
)
def test_whole_numbers_that_all_differ_on_purpose_are_doubted(column):
    (first, *_) = doubts_of(np.column_stack([NORMAL, column]))
    assert "column 5" in first
    assert "are all different" in first


@pytest.mark.parametrize(
    "values",
    [
        load_digits().data,
        load_digits().data[:20],
        NORMAL,
        RNG.poisson(50, (300, 40)),
        RNG.integers(0, 256, (40, 2000)),
        RNG.integers(0, 65536, (2000, 20)),
        np.cumsum(RNG.integers(1, 9, (50, 6)), axis=0),
        np.arange(200)[:, None],
        np.zeros((20, 3)),
    ],
    ids=[
        "digits",
        "few digits",
        "normal",
        "counts",
        "8 bits",
        "16 bits",
        "all increase",
        "one column",
        "zeros",
    ],
)
def test_no_false_alarm(values):
    assert doubts_of(values) == []


def test_images_and_tracks_are_not_doubted():
    wide = np.column_stack([NORMAL, np.arange(200)])
    for kind in ("images", "tracks"):
        assert doubts_of(wide, kind=kind) == []


def test_energy_is_that_of_what_is_clustered():
    large = 30.5 + np.zeros(200)
    wide = np.column_stack([NORMAL, large])
    (text,) = doubts_of(wide)
    assert "column 5" in text
    assert "holds 99." in text
    assert "bring the columns to one scale" in text
    # pca takes the mean away, remove the leading direction
    assert doubts_of(wide, "pca:3") == []
    assert doubts_of(wide, "remove:1") == []
    varied = np.column_stack([NORMAL, 30 * RNG.standard_normal(200)])
    assert len(doubts_of(varied, "pca:3")) == 1
    assert len(doubts_of(1e200 * varied)) == 1
