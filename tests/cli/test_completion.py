"""Short options, completion of every choice, and errors for programs."""

import json

import pytest
from typer.testing import CliRunner

from ekss import EKSS
from ekss.benchmarks import (
    ALTERNATIVES_PROFILES,
    DATASETS,
    METHODS,
    PROFILES,
    SCALE_PROFILES,
)
from ekss.cli import app
from ekss.cli._options import DATA_SETS
from ekss.datasets import CATALOG
from ekss.methods import CLASSES


def completed(line):
    """Return what the shell offers for the last word of a line."""
    words = line.split(" ")
    env = {
        "_EKSS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    ended = CliRunner().invoke(app, [], prog_name="ekss", env=env)
    return ended.output.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ekss doc", ["doctor"]),
        ("ekss cluster x --method ", list(CLASSES)),
        ("ekss cluster x -k ", ["auto"]),
        ("ekss cluster x --members a", ["auto"]),
        ("ekss cluster x --whiten a", ["auto"]),
        ("ekss cluster x --decimal ", ["point", "comma"]),
        ("ekss cluster x --preprocess unit,p", ["unit,pca:"]),
        ("ekss compare x --methods ", [*CLASSES, "all"]),
        ("ekss compare x --methods kss,en", ["kss,ensc"]),
        ("ekss data fetch ", [*DATA_SETS, "mnist", "all"]),
        ("ekss bench table1 --datasets ", [*DATASETS, "all"]),
        ("ekss bench table1 --datasets usps,coil", ["usps,coil20", "usps,coil100"]),
        ("ekss bench table1 --methods ", [*METHODS, "all"]),
        ("ekss bench table1 --profile ", list(PROFILES)),
        ("ekss bench scale --profile ", list(SCALE_PROFILES)),
        ("ekss bench alternatives --profile ", list(ALTERNATIVES_PROFILES)),
        ("ekss bench figure1 --profile s", ["smoke"]),
    ],
)
def test_every_choice_is_completed(line, expected):
    assert completed(line) == expected


def test_data_sets_have_one_name_everywhere():
    assert DATA_SETS == tuple(dataset.name for dataset in CATALOG)
    assert set(DATASETS) == set(DATA_SETS) - {"mnist_train"}


@pytest.mark.parametrize("words", [(), ("cluster",), ("bench",), ("bench", "table1")])
def test_h_is_help(ekss, words):
    short, long = ekss(*words, "-h"), ekss(*words, "--help")
    assert (short.code, short.out) == (0, long.out)
    assert "Usage" in short.out


def test_v_is_version(ekss):
    assert ekss("-V").out == ekss("--version").out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("cluster", "none.csv", "-k", 3), 2, "none.csv does not exist"),
        (("cluster", "points.npy", "-k", 99), 2, "-k 99 exceeds the 60 points"),
        (("cluster", "points.npy"), 2, "Missing option"),
        (("compare", "points.npy", "-k", "x"), 2, "-k x is not a number"),
        (
            ("cluster", "points.npy", "-k", 3, "--memory-limit", "1MB"),
            1,
            "not enough memory",
        ),
    ],
)
def test_errors_are_json_with_the_exit_code(ekss, files, words, code, sentence):
    ended = ekss(*words, "--json")
    told = json.loads(ended.out)
    assert ended.code == told["exit_code"] == code
    assert (told["command"], told["format"]) == (words[0], 1)
    assert sentence in told["error"]
    assert ended.err == f"ekss: {told['error']}\n"
    assert ekss(*words).out.find('"error"') == -1


def test_an_interrupt_is_json(ekss, files, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ekss.EKSS.fit", stopped)
    ended = ekss("cluster", "points.npy", "-k", 3, "--json")
    assert json.loads(ended.out)["exit_code"] == ended.code == 130


def test_chosen_settings_are_in_the_json(ekss, files, planted):
    words = ("-k", 3, "--members", 10, "--jobs", 1, "--json")
    chosen = json.loads(ekss("cluster", "points.npy", *words).out)["chosen"]
    model = EKSS(3, n_members=10, random_state=0).fit(planted.data)
    assert chosen == {
        "clusters": 3,
        "dim": model.subspace_dim_,
        "q": model.n_neighbors_,
        "members": 10,
        "affine": model.affine_,
        "whiten": model.n_directions_,
        "second_opinion": True,
        "max_samples": 60,
    }
    words = ("-k", 3, "--method", "tsc", "--q", 4, "--jobs", 1, "--json")
    chosen = json.loads(ekss("cluster", "points.npy", *words).out)["chosen"]
    assert chosen == {"clusters": 3, "q": 4, "affine": False}


def test_a_dry_run_without_data_says_what_to_do(ekss, tmp_path):
    words = ("--dry-run", "--data-home", tmp_path)
    ended = ekss("bench", "table1", *words)
    (line,) = ended.err.splitlines()
    assert (ended.code, ended.out) == (2, "")
    assert "get it with: ekss data fetch all" in line
    ended = ekss("bench", "table1", "--datasets", "mnist", *words)
    assert "get it with: ekss data fetch mnist_test" in ended.err


def test_doctor_tells_what_is_there_and_tests_it(ekss, monkeypatch):
    told = json.loads(ekss("doctor", "--json").out)
    assert told["self_test"]["passed"] is True
    assert told["self_test"]["error"] == 0
    assert set(told["folders"]) == {"data", "kernels", "temporary"}

    monkeypatch.setattr("ekss.metrics.clustering_error", lambda *_: 0.5)
    ended = ekss("doctor")
    assert ended.code == 1
    for word in ("numpy", "Threads", "BLAS", "Dask", "Folder"):
        assert word in ended.out
    assert "Test    FAILED: error 50.0 %" in ended.out
    assert "the self-test failed" in ended.err
