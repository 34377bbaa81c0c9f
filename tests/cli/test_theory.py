import json

import numpy as np
import pytest

from ekss.cli import app
from ekss.cli._output import run
from ekss.datasets import make_subspaces_at_angle


@pytest.fixture
def files(tmp_path):
    data = make_subspaces_at_angle(
        0.2, dim=4, n_features=30, n_per_subspace=60, random_state=0
    )
    np.save(tmp_path / "X.npy", data.data)
    np.save(tmp_path / "y.npy", data.target)
    return tmp_path


def arguments(files, *more):
    labels = ["--labels", str(files / "y.npy")]
    return ["theory", str(files / "X.npy"), *labels, "--members", "50", *more]


def test_command_prints_the_page_and_writes_html(files, capsys):
    output = files / "page.html"
    assert run(app, arguments(files, "-o", str(output))) == 0
    shown = capsys.readouterr().out
    for words in ("In short", "does not hold", "what would help", "Worst points"):
        assert words in shown
    assert output.read_text().startswith("<!doctype html>")


def test_command_prints_json_alone_and_keeps_options(files, capsys):
    more = ("--json", "--q", "2", "--dim", "3", "--noise", "0.3", "--missing", "1")
    assert run(app, arguments(files, *more, "--candidates", "2")) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["q"] == 2
    assert said["noise"] == 0.3
    assert said["n_candidates"] == 2
    assert said["n_missing"] == 1
    assert {row["dim"] for row in said["clusters"]} == {3}


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--q", "60"), "q=60 needs clusters of more than 60 points"),
        (("--dim", "30"), "dim=30 is not between 1 and 29"),
        (("--failure", "2"), "failure=2.0 is not a probability"),
        (("--quiet",), "--quiet without --output"),
        (("-o", "page.pdf"), "end it in .html, .json"),
        (("--missing", "31"), "n_missing=31 must lie in"),
        (("--candidate-dim", "30"), "dim=30 must be at least 1 and below"),
    ],
)
def test_wrong_wishes_are_one_line(files, capsys, more, words):
    assert run(app, arguments(files, *more)) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error


def test_labels_are_asked_for(files, capsys):
    assert run(app, ["theory", str(files / "X.npy")]) == 2
    assert "--labels" in capsys.readouterr().err
