"""The recipes of docs/architecture.md, carried out as they are written."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ekss import EKSS, CutOptions
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import CUTTERS
from ekss.metrics import clustering_error

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def recipe(title):
    """Return the text of a recipe, the name and the code of its file."""
    text = re.search(rf"^### {title}\n(.*?)(?=^###? |\Z)", PAGE, re.M | re.S)[1]
    ((name, code),) = re.findall(r"```py\n# (\S+)\n(.*?)```", text, re.S)
    return text, name, code


@pytest.fixture(scope="module")
def data():
    return make_union_of_subspaces(4, 3, n_features=30, noise=0.1, random_state=0)


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """Write the file of a recipe to a directory of the user and import it."""

    def make(title):
        text, name, code = recipe(title)
        (tmp_path / name).write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        line = re.search(r"The line: `(.*?)`", text)[1]
        module = importlib.import_module(name.removesuffix(".py"))
        return line, vars(module)

    return make


@pytest.fixture
def changed_package(tmp_path):
    """Carry out a recipe in a copy of the package; run Python with the copy."""

    def make(title):
        text, name, code = recipe(title)
        # With what is compiled already, but not what is being written at the moment.
        unfinished = shutil.ignore_patterns("*.pyc.*", "*.tmp.*")
        shutil.copytree(ROOT / "src", tmp_path / "src", ignore=unfinished)
        assert not (tmp_path / name).exists(), "a recipe adds a new file"
        (tmp_path / name).write_text(code)
        place, before, added = re.search(
            r"```diff\n--- (\S+)\n (.*\n)\+(.*\n)```", text
        ).groups()
        source = (tmp_path / place).read_text()
        assert source.count(before) == 1
        (tmp_path / place).write_text(source.replace(before, before + added))

        def run(*arguments):
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        return run

    return make


def test_base_learner(own_file, data):
    line, names = own_file("A base learner")
    model = eval(line, {"EKSS": EKSS, **names})
    model.set_params(n_members=50, random_state=0).fit(data.data)
    assert clustering_error(data.target, model.labels_) == 0
    assert (model.member_weights_ < 1).all()
    with pytest.raises(ValueError, match="callable member cannot be told"):
        model.set_params(n_clusters="auto").fit(data.data)


def test_cut(own_file, data):
    line, names = own_file("A cut")
    known = {"EKSS": EKSS, "CutOptions": CutOptions, "CUTTERS": CUTTERS}
    model = eval(line, known | names)
    model.set_params(n_members=20, n_neighbors=8, random_state=0).fit(data.data)
    alone = CutOptions(cutters=[names["mixture_cut"]])
    model.set_params(cut=alone).fit(data.data)
    assert {one.origin for one in model.candidates_} == {"mixture"}
    assert clustering_error(data.target, model.labels_) == 0


def test_rival(changed_package, data, tmp_path):
    run = changed_package("A rival")
    np.save(tmp_path / "X.npy", data.data)
    run("-m", "ekss", "cluster", "X.npy", "-k", "4", "--method", "ridge", "-o", "y.csv")
    assert "ridge" in run("-m", "ekss", "cluster", "--help")
    code = (
        "import ekss; from ekss.benchmarks import METHODS;"
        "print(ekss.Ridge(3), METHODS['ridge'].title, METHODS['ridge'].estimator)"
    )
    assert run("-c", code).split() == [
        "Ridge(n_clusters=3)",
        "Ridge",
        "ekss.estimators._ridge:Ridge",
    ]
    labels = np.loadtxt(tmp_path / "y.csv", delimiter=",", skiprows=1, usecols=-1)
    assert clustering_error(data.target, labels.astype(int)) == 0


def test_data_set(changed_package):
    run = changed_package("A data set")
    shown = run(
        *"-m ekss bench table1 --datasets digits --methods tsc --profile smoke".split(),
        *"--data-home home --output out".split(),
    )
    assert "Digits" in shown
    assert "TSC" in shown


def test_panel(changed_package, data, tmp_path):
    run = changed_package("A panel of the report")
    np.save(tmp_path / "X.npy", data.data)
    run(*"-m ekss cluster X.npy -k 4 --method tsc --report page.html".split())
    page = (tmp_path / "page.html").read_text()
    assert '<figure class="card" id="sizes">' in page
    assert page.index("<h2>Clusters</h2>") < page.index("<h2>Sizes</h2>")


def test_recipes_are_of_one_file_and_at_most_one_line():
    titles = re.findall(r"^### (.*)$", PAGE, re.M)
    assert len(titles) == 5
    for title in titles:
        text, _, _ = recipe(title)
        lines = re.findall(r"^\+", text, re.M) + re.findall("The line: `", text)
        assert len(lines) == 1
