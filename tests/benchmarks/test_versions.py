"""Rows know the code that made them, and pages say so in their first line."""

import importlib
import json
import re
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ekss.benchmarks import (
    FIGURE_PROFILES,
    FIGURES,
    METHODS,
    SCALE_PROFILES,
    merge_table1,
    plan_ablation,
    plan_hopkins,
    plan_scale,
    plan_table1,
    without_known,
    write_ablation,
    write_hopkins,
    write_scale,
    write_table1,
    write_table3,
)
from ekss.benchmarks import _data as data
from ekss.benchmarks import _versions as versions
from ekss.benchmarks._ablation import run_ablation_cell
from ekss.benchmarks._figure1 import run_votes
from ekss.benchmarks._figure2 import run_pairs
from ekss.benchmarks._figures34 import run_simulation
from ekss.benchmarks._methods import SEARCH
from ekss.benchmarks._scale import run_scale_cell
from ekss.benchmarks._table1 import (
    current_codes,
    entries_of,
    errors_csv,
    read_entries,
    run_cell,
)
from ekss.benchmarks._versions import code_of, plain_code, reached, version_line
from ekss.datasets import make_union_of_subspaces
from ekss.estimators import _ekss
from ekss.methods import imported

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
            "code": plan.code_of(cell),
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


TSC, SPECTRAL = METHODS["tsc"].estimator, METHODS["spectral"].estimator
# What computes cells, and what their parameters name.
RUNS = {
    "table1 ekss": (run_cell, METHODS["ekss"].estimator),
    "table1 tsc": (run_cell, TSC),
    "table1 tsc chosen": (run_cell, [TSC, SEARCH]),
    "table1 spectral": (run_cell, SPECTRAL),
    "ablation": (run_ablation_cell, None),
    "scale": (run_scale_cell, None),
    "figure1": (run_votes, None),
    "figure2": (run_pairs, None),
    "figure3": (run_simulation, None),
}
ALL = {*RUNS}
TABLE1 = {name for name in RUNS if name.startswith("table1")}
OURS = {"table1 ekss", "ablation", "scale"}
USING_TSC = {"table1 tsc", "table1 tsc chosen", "figure3"}


@pytest.fixture
def package(tmp_path, monkeypatch, forget_code):
    """A copy of the package, to edit; definitions are looked up there."""
    copy = tmp_path / "ekss"
    compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(versions.PACKAGE, copy, ignore=compiled)
    monkeypatch.setattr(versions, "PACKAGE", copy)
    forget_code()
    return copy


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("core/linalg.py", "", "\nx = 2\n", set()),
        ("metrics.py", "", "\nx = 2\n", ALL),
        # expressions use it too
        ("core/tsc.py", "return", "return 2 *", USING_TSC | OURS),
        ("estimators/_tsc.py", "self", "this", USING_TSC),
        ("estimators/_ekss.py", "self", "this", OURS),
        ("estimators/_search.py", "self", "this", {"table1 tsc chosen"}),
        (
            "benchmarks/_rivals.py",
            "def spectral(",
            "def spectral(x, ",
            {"table1 spectral"},
        ),
        (
            "benchmarks/_table1.py",
            'score["nmi"] for score in best), 5',
            'score["nmi"] for score in best), 4',
            TABLE1,
        ),
        ("benchmarks/_methods.py", "10_000 * seed", "20_000 * seed", TABLE1),
        (
            "benchmarks/_data.py",
            "enumerate(names)",
            "enumerate(names, 1)",
            {*TABLE1, "ablation", "scale"},
        ),
        (
            "benchmarks/_figure1.py",
            'given["members"][-1]',
            'given["members"][0]',
            {"figure1"},
        ),
        ("benchmarks/_figure1.py", "block diagonal", "diagonal", set()),
        ("benchmarks/_scale.py", "seconds by stage", "seconds of stages", set()),
        ("benchmarks/_methods.py", "(6, 9)", "(6, 8)", set()),
        ("cli/__init__.py", "", "\nx = 2\n", set()),
        # Every cell gives the number of clusters.
        ("ensemble/count.py", "self.n_members / 2", "self.n_members / 3", set()),
        ("ensemble/count.py", "first: int = 8", "first: int = 9", set()),
        # What a fit may cost decides no result, but rows of scale record it.
        ("ensemble/second_look.py", "vote_cost, votes_cost", "vote_cost", {"scale"}),
    ],
)
def test_code_of_a_cell_is_what_decides_its_row(
    package, path, old, new, changed, forget_code
):
    before = {name: code_of(*run) for name, run in RUNS.items()}
    source = (package / path).read_text()
    assert old in source
    edited = source.replace(old, new) if old else source + new
    (package / path).write_text(edited)
    forget_code()
    now = {name: code_of(*run) for name, run in RUNS.items()}
    assert {name for name in RUNS if now[name] != before[name]} == changed


def functions_run(work):
    """Return the places of all definitions of the package that a call runs through."""
    found = set()

    def look(frame, event, argument):
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        is_written = not code.co_filename.startswith("<")  # not made by dataclass
        if module.startswith("ekss.") and is_written:
            found.add(f"{module}:{code.co_qualname.partition('.')[0]}")

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("name", ["ekss", "tsc", "kss", "ssc", "lrsc", "kmeans"])
def test_all_code_that_a_fit_runs_through_is_in_its_fingerprint(name, monkeypatch):
    # What a fit may cost decides no result.
    monkeypatch.setattr(_ekss, "check_memory", lambda *sizes: None)
    place = METHODS[name].estimator
    model = imported(place)(3, random_state=0, n_jobs=1)
    points = make_union_of_subspaces(3, 2, n_features=20, random_state=0).data
    assert functions_run(partial(model.fit, points)) <= {*reached([place])}


def test_code_outside_of_the_package_counts(tmp_path, monkeypatch, forget_code):
    module = tmp_path / "elsewhere.py"
    module.write_text("def used():\n    return 1\n\ndef run(cell):\n    return used()")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "elsewhere", raising=False)
    run = importlib.import_module("elsewhere").run
    before = code_of(run)
    module.write_text(module.read_text().replace("return 1", "return 2"))
    forget_code()
    assert code_of(run) != before


def test_features_are_made_again_by_other_code(tmp_path, tiny_loaders, monkeypatch):
    recipe = data.recipe_of(data.DATASETS["usps"], "plain", None)
    path = data.prepare_features(tmp_path, recipe, tiny_loaders["usps"])
    made = path.read_bytes()
    monkeypatch.setattr(data, "code_of", lambda *what, **more: "another")
    data.prepare_features(tmp_path, recipe, tiny_loaders["usps"])
    assert path.read_bytes() != made
    with np.load(path) as stored:
        assert str(stored["code"]) == "another"


@pytest.mark.parametrize(
    ("codes", "libraries", "current", "words"),
    [
        ([], [], "a", "No rows yet"),
        (["a", "a"], ["x"], None, "One version: all 2 rows were made by code a"),
        (["a", "b"], ["x"], None, "MIXED VERSIONS: .*a: 1, b: 1"),
        (["a", "unknown"], ["x"], None, "MIXED VERSIONS.*unknown: 1"),
        (["a", "b"], ["x"], "ab", "One version: all 2 rows .* code of the last run"),
        (["a", "a"], ["x"], "bb", "EARLIER VERSION: all 2 rows were made by earlier"),
        (["a", "b"], ["x"], "aa", "MIXED VERSIONS: 1 of the 2 rows"),
        (["unknown"], ["x"], "a", "UNKNOWN VERSION"),
        (["a"], ["x", "y"], "a", "One version.*MIXED LIBRARIES OR PROCESSORS: x; y"),
    ],
)
def test_line_says_what_a_reader_must_know(codes, libraries, current, words):
    assert re.match(words, version_line(codes, libraries, current))


def first_line(path):
    """Return the first paragraph that is no title, as one line."""
    parts = path.read_text().split("\n\n")
    return " ".join(next(part for part in parts if not part.startswith("# ")).split())


def write_third(plan, rows, folder, profile):
    write_table3(plan, rows, folder)


@pytest.mark.parametrize(
    ("write", "names"),
    [(write_table1, ("table1.md", "table1.txt")), (write_third, ("table3.md",))],
)
def test_table_says_in_its_first_line_that_versions_are_mixed(
    write, names, table, tiny, tmp_path
):
    plan = table()

    def line(rows):
        write(plan, rows, tmp_path, tiny)
        (found,) = {first_line(tmp_path / name) for name in names}
        return found

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


def test_page_of_rows_without_a_version_begins_by_saying_so(
    tiny, tiny_loaders, tmp_path
):
    profile = replace(tiny, seeds=1)
    plan = plan_hopkins(profile, tmp_path / "home", tiny_loaders)
    sequence = {"n_clusters": 2, "error": 1.0, "optimal": 1.0, "nonzeros": 2.0}
    rows = rows_of(plan, code=None, sequences={"one": sequence})
    write_hopkins(plan, rows, tmp_path, profile)
    line = first_line(tmp_path / "hopkins.md")
    assert line.startswith("UNKNOWN VERSION: none of the 3 rows says which code made")


def test_ablation_says_it_of_both_its_parts(tiny, tiny_loaders, tmp_path):
    plan = plan_ablation(tiny, tmp_path, tiny_loaders, datasets=["usps"])
    rows = rows_of(plan, errors={"all ideas, 100 members": 1.0})
    write_ablation(plan, rows, tmp_path, tiny)
    line = first_line(tmp_path / "ablation.md")
    assert line.count("One version: all 2 rows") == 2


def test_entries_come_back_from_the_file(table):
    plan = table()
    entries = entries_of(plan, rows_of(plan))
    assert read_entries(errors_csv(entries)) == entries
    assert set(entries[0].figures["free"].codes) < plan.codes()


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


@pytest.mark.parametrize(("code", "kept"), [("a", 10.5), ("b", 3.0)])
def test_a_run_of_fewer_seeds_replaces_figures_of_other_code_only(
    table, tiny, tmp_path, code, kept
):
    old, new = tmp_path / "old", tmp_path / "new"
    plan = table(["tsc"])
    seeds = {cell.key: cell.seed for cell in plan.cells}
    assert max(seeds.values()) > 0
    write_table1(plan, rows_of(plan, code="a"), old, tiny, command="all seeds")
    rows = rows_of(plan, code=code, error=3.0)
    one = {key: row for key, row in rows.items() if seeds[key] == 0}
    write_table1(plan, one, new, tiny, command="one seed")
    merge_table1(new, old)
    (entry,) = read_entries((old / "table1.csv").read_text())
    assert entry.figures["free"].mean == kept


def test_figures_of_other_methods_stay_current_when_a_part_is_run(
    table, tiny, tmp_path
):
    old, new = tmp_path / "old", tmp_path / "new"
    write_table1(table(), rows_of(table()), old, tiny, command="all")
    part = table(["ensc"])
    write_table1(part, rows_of(part, error=3.0), new, tiny, command="part")
    merge_table1(new, old)
    assert first_line(old / "table1.md").startswith("One version")
    assert table().codes() <= current_codes()


def test_the_same_run_is_merged_once(table, tiny, tmp_path):
    first, other, old = (tmp_path / name for name in ("first", "other", "old"))
    write_table1(table(), rows_of(table(), code="a"), old, tiny, command="all")
    for method, folder in (("ensc", first), ("tsc", other)):
        part = table([method])
        write_table1(part, rows_of(part, error=3.0), folder, tiny, command=method)
    merge_table1(first, old)
    merge_table1(other, old)
    written = {path.name: path.read_bytes() for path in old.glob("*.[cjm]*")}
    merge_table1(other, old)
    assert written == {path.name: path.read_bytes() for path in old.glob("*.[cjm]*")}
    # Again, after another: the figures are now the newest.
    merge_table1(first, old)
    assert commands(old) == ["tsc", "ensc"]
    merge_table1(old, old)
    assert commands(old) == ["tsc", "ensc"]


def test_a_run_that_went_on_takes_the_place_of_what_it_was(table, tiny, tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    write_table1(table(), rows_of(table(), code="a"), old, tiny, command="all")
    plan = table(["ensc"])
    rows = rows_of(plan)
    some = dict(list(rows.items())[:1])
    for known in (some, rows):
        write_table1(plan, known, new, tiny, command="new")
        merge_table1(new, old)
        assert commands(old) == ["all", "new"]
        runs = json.loads((old / "table1.json").read_text())
        assert runs[-1]["cells"] == len(known)
    # A run of another version is another run, also by the same command; one whose
    # figures have all been replaced is forgotten.
    write_table1(plan, rows_of(plan, code="b"), new, tiny, command="newer")
    merge_table1(new, old)
    assert commands(old) == ["all", "newer"]


def commands(folder):
    return [run["command"] for run in json.loads((folder / "table1.json").read_text())]


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ({}, set()),
        # The label-tuned figure is the lowest of three, so their cells stay together.
        ({("tsc", "tuned"): "another"}, {"paper", "tuned", "free"}),
        ({("tsc", "chosen"): "another"}, {"chosen"}),
        ({("tsc", "chosen"): None}, {"chosen"}),
    ],
)
def test_figures_that_the_same_code_made_are_not_planned_again(
    table, tiny, tmp_path, changed, left
):
    plan = table(["tsc"])
    rows = rows_of(plan)
    for cell in plan.cells:
        place = (cell.method, cell.column)
        rows[cell.key]["code"] = changed.get(place, rows[cell.key]["code"])
    write_table1(plan, rows, tmp_path / "known", tiny)
    again = without_known(plan, tmp_path / "known", tiny)
    assert {cell.column for cell in again.cells} == left
    assert again.cells == tuple(one for one in plan.cells if one.column in left)


def test_a_figure_of_other_settings_is_not_known(table, tiny, tmp_path):
    plan = table(["tsc"])
    write_table1(plan, rows_of(plan), tmp_path / "known", tiny)
    changed = replace(
        plan,
        cells=tuple(
            replace(cell, params={**cell.params, "more": 1})
            if cell.column == "chosen"
            else cell
            for cell in plan.cells
        ),
    )
    left = without_known(changed, tmp_path / "known", tiny).cells
    assert {cell.column for cell in left} == {"chosen"}
    other = replace(tiny, caption="of other sizes")
    with pytest.raises(ValueError, match=r"no run in .* has the profile"):
        without_known(plan, tmp_path / "known", other)


def test_all_seeds_of_a_figure_are_planned_if_one_is_missing(table, tiny, tmp_path):
    plan = table(["tsc"])
    some = {key: row for key, row in rows_of(plan).items() if not row["cell"]["seed"]}
    write_table1(plan, some, tmp_path / "known", tiny)
    again = without_known(plan, tmp_path / "known", tiny)
    assert again.cells == plan.cells


def test_methods_that_the_table_lacks_are_added_in_their_place(table, tiny, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for method, folder in (("ensc", old), ("tsc", new)):
        part = table([method])
        write_table1(part, rows_of(part), folder, tiny)
    merge_table1(new, old)
    entries = read_entries((old / "table1.csv").read_text())
    assert [entry.method for entry in entries] == ["tsc", "ensc"]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.md")), ids=lambda one: one.stem)
def test_published_page_says_which_version_made_it(path):
    if path.stem == "table2":  # sizes of the data, which no code decides
        return
    words = "One version|EARLIER VERSION|MIXED VERSIONS|UNKNOWN VERSION"
    assert re.match(f"({words}|The default, rows of Table I)", first_line(path))
