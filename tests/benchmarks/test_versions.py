"""Rows know the code that made them, and pages say so in their first line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ekss.benchmarks import (
    FIGURE_PROFILES,
    FIGURES,
    SCALE_PROFILES,
    merge_table1,
    plan_ablation,
    plan_scale,
    plan_table1,
    write_ablation,
    write_scale,
    write_table1,
    write_table3,
)
from ekss.benchmarks import _recipes as recipes
from ekss.benchmarks import _versions as versions
from ekss.benchmarks._output import _entries
from ekss.benchmarks._render import errors_csv, read_entries
from ekss.benchmarks._versions import code_of, plain_code, version_line

TESTS = Path(__file__).parents[1]
RESULTS = TESTS.parent / "docs" / "results"
ORIGIN = {
    "commit": "abc",
    "date": "2026-01-02T00:00:00",
    "machine": {"cpu": "a", "cores": 2, "platform": "b"},
    "versions": {"python": "3", "numpy": "2"},
    "blas": "openblas 1 Haswell",
    "seconds": 1.0,
    "wall_seconds": 1.0,
    "peak_megabytes": 10.0,
    "best": {"data": "plain"},
}


def rows_of(plan, **more):
    return {
        cell.key: {
            "cell": cell.identity(),
            "error": 10.0 + cell.seed,
            "code": code_of(cell.table),
            **ORIGIN,
            **more,
        }
        for cell in plan.cells
    }


@pytest.fixture
def table(tiny, tiny_loaders, tmp_path):
    def make(methods=("tsc", "ensc")):
        home = tmp_path / "home"
        return plan_table1(tiny, home, tiny_loaders, datasets=["usps"], methods=methods)

    return make


def test_words_do_not_change_the_code_but_code_does():
    code = "def f(x):\n    return x + 1\n"
    told = 'def f(x):\n    """Say."""\n    # why\n    return (x+1)\n'
    assert plain_code(code) == plain_code(told)
    assert plain_code(code) != plain_code(code.replace("1", "2"))
    assert plain_code("class A:\n    'Only words.'") == plain_code("class A:\n    pass")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the same layout, to edit."""
    named = {name for more in versions._MORE.values() for name in more}
    files = {f"{name}/a.py" for name in versions._LAYERS if not name.endswith(".py")}
    files |= {name for name in versions._LAYERS if name.endswith(".py")}
    files |= {f"benchmarks/{name}" for name in named if name.endswith(".py")}
    for name in (*files, "theory/a.py", "cli/a.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1\n")
    monkeypatch.setattr(versions, "PACKAGE", tmp_path)
    versions._code_of.cache_clear()
    yield tmp_path
    versions._code_of.cache_clear()


ALL = {"table1", "figure1", "figure2", "scale"}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("core/a.py", ALL),
        ("estimators/a.py", ALL),
        ("graph/new.py", ALL),
        ("metrics.py", ALL),
        ("benchmarks/_table1.py", {"table1"}),
        ("benchmarks/_recipes.py", {"table1", "scale"}),
        ("benchmarks/_figure1.py", {"figure1"}),
        ("theory/a.py", {"figure2"}),
        ("cli/a.py", set()),
    ],
)
def test_code_of_a_table_is_what_decides_its_rows(package, path, changed):
    before = {name: code_of(name) for name in ALL}
    (package / path).write_text("x = 2\n")
    versions._code_of.cache_clear()
    assert {name for name in ALL if code_of(name) != before[name]} == changed


def test_named_files_are_there():
    folder = versions.PACKAGE
    for name in (*versions._LAYERS, *versions._FEATURES):
        assert (folder / name).exists(), name
    for more in versions._MORE.values():
        for name in more:
            assert (folder / "benchmarks" / name).exists(), name


def test_layers_that_estimators_and_features_import_are_all_in_the_code():
    space = {}
    exec((TESTS / "test_architecture.py").read_text(), space)
    known = {name.removesuffix(".py") for name in versions._LAYERS}
    seen, todo = set(), {"estimators", "preprocessing", "datasets", "metrics"}
    while todo:
        layer = todo.pop()
        seen.add(layer)
        todo |= space["MAY_IMPORT"][layer] - seen
    assert seen <= known


def test_features_are_made_again_by_other_code(tmp_path, tiny_loaders, monkeypatch):
    recipe = recipes.recipe_of("usps", "plain", None)
    path = recipes.prepare_features(tmp_path, recipe, tiny_loaders["usps"])
    made = path.read_bytes()
    monkeypatch.setattr(recipes, "code_of_features", lambda: "another")
    recipes.prepare_features(tmp_path, recipe, tiny_loaders["usps"])
    assert path.read_bytes() != made
    with np.load(path) as stored:
        assert str(stored["code"]) == "another"


@pytest.mark.parametrize(
    ("codes", "libraries", "current", "words"),
    [
        ([], [], "a", "No rows yet"),
        (["a", "a"], ["x"], "a", "One version: all 2 rows"),
        (["a", "a"], ["x"], "b", "EARLIER VERSION: all 2 rows were made by code a"),
        (["a", "b"], ["x"], "a", "MIXED VERSIONS"),
        (["a", "unknown"], ["x"], "a", "MIXED VERSIONS.*unknown: 1"),
        (["unknown"], ["x"], "a", "UNKNOWN VERSION"),
        (["a"], ["x", "y"], "a", "One version.*MIXED LIBRARIES OR PROCESSORS: x; y"),
    ],
)
def test_line_says_what_a_reader_must_know(codes, libraries, current, words):
    assert re.match(words, version_line(codes, libraries, current))


def first_line(path):
    """Return the first line that is no title."""
    lines = path.read_text().splitlines()
    return next(line for line in lines if line and not line.startswith("# "))


def write_third(plan, rows, folder, profile):
    write_table3(plan, rows, folder)


WRITERS = {
    "table1.md": write_table1,
    "table1.txt": write_table1,
    "table3.md": write_third,
}


@pytest.mark.parametrize("name", WRITERS)
def test_table_says_in_its_first_line_that_versions_are_mixed(
    name, table, tiny, tmp_path
):
    plan = table()

    def line(rows):
        WRITERS[name](plan, rows, tmp_path, tiny)
        return first_line(tmp_path / name)

    one = plan.cells[0].key
    assert line(rows_of(plan)).startswith("One version")
    assert line(rows_of(plan, code="older")).startswith("EARLIER VERSION")
    assert line(rows_of(plan, code=None)).startswith("UNKNOWN VERSION")
    mixed = rows_of(plan)
    mixed[one]["code"] = "another"
    assert line(mixed).startswith("MIXED VERSIONS")
    elsewhere = rows_of(plan)
    elsewhere[one]["blas"] = "openblas 1 SkylakeX"
    assert "MIXED LIBRARIES OR PROCESSORS" in line(elsewhere)


def test_pages_of_figures_and_of_the_scale_say_it_too(tmp_path):
    figure, smoke = FIGURES["figure1"], FIGURE_PROFILES["smoke"]
    plan = figure.plan(smoke)
    figure.write(plan, {}, tmp_path, smoke)
    assert first_line(tmp_path / "figure1.md") == "No rows yet."
    sizes = SCALE_PROFILES["smoke"]
    plan = plan_scale(sizes, tmp_path, {})
    written = write_scale(plan, {}, tmp_path, sizes)
    assert written.text.startswith("No rows yet.")


def test_ablation_says_it_of_both_its_parts(tiny, tiny_loaders, tmp_path):
    plan = plan_ablation(tiny, tmp_path, tiny_loaders, datasets=["usps"])
    rows = rows_of(plan, errors={"all ideas, 100 members": 1.0})
    write_ablation(plan, rows, tmp_path, tiny)
    line = first_line(tmp_path / "ablation.md")
    assert line.count("One version: all 2 rows") == 2


def test_entries_come_back_from_the_file(table):
    plan = table()
    entries = _entries(plan, rows_of(plan))
    assert read_entries(errors_csv(entries)) == entries
    assert entries[0].figures["free"].codes == (code_of("table1"),)


def test_figures_of_a_run_replace_those_of_the_table(table, tiny, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    write_table1(table(), rows_of(table(), code=None), old, tiny, command="first")
    part = table(["ensc"])
    write_table1(part, rows_of(part, error=3.0), new, tiny, command="second")
    merge_table1(new, old)
    means = {
        entry.method: entry.figures["free"].mean
        for entry in read_entries((old / "table1.csv").read_text())
    }
    assert means == {"tsc": 10.5, "ensc": 3.0}
    assert first_line(old / "table1.md").startswith("MIXED VERSIONS")
    page = (old / "table1.md").read_text()
    assert "`first`" in page
    assert "`second`" in page
    assert len(json.loads((old / "table1.json").read_text())) == 2


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.md")), ids=lambda one: one.stem)
def test_published_page_says_which_version_made_it(path):
    if path.stem == "table2":  # sizes of the data, which no code decides
        return
    words = "One version|EARLIER VERSION|MIXED VERSIONS|UNKNOWN VERSION"
    assert re.match(f"({words}|The default, rows of Table I)", first_line(path))
