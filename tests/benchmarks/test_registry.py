"""A method and a data set outside the paper enter the tables by registering."""

import os
import sys
from pathlib import Path

import pytest

from ekss.benchmarks import (
    DATASETS,
    METHODS,
    BenchData,
    Method,
    Points,
    loaders,
    plan_ablation,
    plan_table1,
    register_dataset,
    register_method,
    run_plan,
    write_table1,
    write_table2,
    write_table3,
)
from ekss.benchmarks._table1 import errors_csv, read_entries
from ekss.datasets import make_union_of_subspaces

HERE = str(Path(__file__).parent)


def load(data_home):
    data = make_union_of_subspaces(
        n_subspaces=2, dims=2, n_features=24, n_per_subspace=20, random_state=5
    )
    return [Points(data.data, data.target, "own")]


@pytest.fixture
def registered(monkeypatch):
    """A data set, and a method whose module fresh processes can import."""
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", HERE, prepend=os.pathsep)
    monkeypatch.setitem(DATASETS, "own", None)  # taken out again at the end
    monkeypatch.setitem(METHODS, "sign", None)
    register_dataset(BenchData("own", "My set", load, {"plain": ()}))
    register_method(Method("sign", "Sign", "work:SignOfFirst"))
    yield
    sys.modules.pop("work", None)


@pytest.fixture
def plan(registered, tiny, tmp_path):
    return plan_table1(
        tiny,
        tmp_path / "home",
        loaders(None),
        datasets=["own"],
        methods=["sign", "tsc"],
    )


def test_they_are_computed_and_shown_beside_the_papers(plan, tiny, tmp_path):
    assert {(cell.method, cell.column) for cell in plan.cells} == {
        ("sign", "free"),
        ("tsc", "free"),
        ("tsc", "chosen"),
    }
    rows = run_plan(plan, tmp_path)
    assert not [row["failed"] for row in rows.values() if "failed" in row]
    text = write_table1(plan, rows, tmp_path, tiny).text
    assert "My set" in text
    assert "Sign  ours, label-free" in text
    assert "ours, paper's parameters" not in text, "the paper has none"
    entries = read_entries((tmp_path / "table1.csv").read_text())
    assert {(one.dataset, one.method) for one in entries} == {
        ("own", "sign"),
        ("own", "tsc"),
    }
    assert errors_csv(entries) == (tmp_path / "table1.csv").read_text()
    assert "Sign" not in write_table3(plan, rows, tmp_path).text


def test_edited_module_of_a_method_asks_for_new_rows(
    plan, tmp_path, monkeypatch, forget_code
):
    before = {cell.key: plan.code_of(cell) for cell in plan.cells}
    (tmp_path / "work.py").write_text("class SignOfFirst:\n    edited = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("work")
    forget_code()
    changed = [one for one in plan.cells if plan.code_of(one) != before[one.key]]
    assert {cell.method for cell in changed} == {"sign"}


def test_a_data_set_outside_the_paper_is_in_the_other_tables(
    registered, tiny, tmp_path
):
    sizes = {**dict.fromkeys(DATASETS, absent), "own": lambda: load(None)}
    text = write_table2(sizes, tmp_path).text
    line = next(line for line in text.splitlines() if line.startswith("My set"))
    assert line.split()[2:] == ["-", "40", "-", "2", "-", "24"]
    plan = plan_ablation(tiny, tmp_path, sizes, datasets=["own"])
    assert {cell.column for cell in plan.cells} == {"free", "ideas"}


def absent():
    raise OSError("the file is not there")
