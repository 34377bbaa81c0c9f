import csv
import io
import json

import numpy as np
import pytest

from ekss.benchmarks import (
    DATASETS,
    METHODS,
    PROFILES,
    Plan,
    plan_table1,
    read_entries,
    run_plan,
    write_table1,
    write_table2,
    write_table3,
)
from ekss.benchmarks._data import prepare_features, read_features, recipe_of
from ekss.benchmarks._methods import COLUMNS, _times_k, settings
from ekss.benchmarks._paper import ERRORS, NOT_EXPLAINED, NOTES, SIZES, parameters
from ekss.benchmarks._table1 import (
    checked_line,
    digest_of_labels,
    entries_of,
    errors_grid,
    run_cell,
)
from ekss.benchmarks._versions import commit

# The paper's dimensions are too large for tiny stand-ins.
pytestmark = pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")


@pytest.fixture
def plan(tiny, tiny_loaders, tmp_path):
    def make(datasets, methods):
        return plan_table1(
            tiny, tmp_path / "home", tiny_loaders, datasets=datasets, methods=methods
        )

    return make


def fake_rows(plan, error_of):
    return {
        cell.key: {
            "cell": cell.identity(),
            "error": error_of(cell),
            "best": {"data": "plain", "made_up": cell.column},
            "seconds": 1.0,
            "wall_seconds": 1.0,
            "peak_megabytes": 10.0,
            "commit": "abc",
            "date": "2026-01-02T00:00:00",
            "machine": {"cpu": "a", "cores": 2, "platform": "b"},
            "versions": {"python": "3"},
        }
        for cell in plan.cells
    }


def test_paper_figures_are_complete():
    methods = {method for _, method in ERRORS}
    assert methods < set(METHODS)
    assert set(ERRORS) == {(data, method) for data in DATASETS for method in methods}
    assert set(SIZES) == set(DATASETS)
    assert ERRORS["mnist_test", "ekss"] == 2.39
    assert ERRORS["usps", "copkss"] == 7.73
    assert parameters("mnist_test", "ekss") == {
        "subspace_dim": 13,
        "n_neighbors": 72,
        "max_iter": 30,
        "update": "cop",
    }
    assert parameters("coil20", "ensc") == {"l1_ratio": 0.99, "gamma": 3.0}
    assert parameters("coil20", "lrr") is None


def test_digest_tells_labels_apart_whatever_their_type():
    one, other = np.array([0, 1, 1]), np.array([0, 1, 1], np.uint8)
    assert digest_of_labels(one) == digest_of_labels(other)
    assert digest_of_labels(one) != digest_of_labels(1 - one)


def test_multiples_of_the_number_of_clusters_are_told_as_such():
    assert _times_k(1.5) == "1.5 K"
    assert _times_k([1, 3]) == ["1 K", "3 K"]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_place_of_the_table_has_settings_that_exist(profile):
    for dataset in DATASETS.values():
        for method in METHODS.values():
            for column in COLUMNS:
                tried = settings(dataset, method, column, profile)
                wanted = column != "chosen" or method.searched
                wanted &= column != "paper" or (dataset.name, method.name) in ERRORS
                if method.name == "ekss-images":
                    wanted = column == "free" and dataset.image_shape is not None
                slow = column == "chosen" and method.name == "ssc" and dataset.large
                assert bool(tried) == (wanted and not slow)
                assert {one["data"] for one in tried} <= {*dataset.variants, "pixels"}
                json.dumps(tried, allow_nan=False)


def test_features_are_made_once_and_read_back(tmp_path, tiny_loaders):
    calls = []

    def load():
        calls.append(1)
        return tiny_loaders["coil20"]()

    recipe = recipe_of(DATASETS["coil20"], "whitened", None)
    path = prepare_features(tmp_path, recipe, load)
    assert prepare_features(tmp_path, recipe, load) == path
    assert len(calls) == 1
    (points,) = read_features(path)
    (raw,) = tiny_loaders["coil20"]()
    assert points.data.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(points.data, axis=1), 1, rtol=1e-5)
    first = np.linalg.svd(raw.data)[2][0]
    np.testing.assert_allclose(points.data @ first, 0, atol=1e-5)
    np.testing.assert_array_equal(points.target, raw.target)


def test_subset_keeps_first_points_of_first_classes(tmp_path, tiny_loaders):
    recipe = recipe_of(DATASETS["usps"], "plain", {"classes": 2, "per_class": 5})
    (points,) = read_features(prepare_features(tmp_path, recipe, tiny_loaders["usps"]))
    assert np.bincount(points.target).tolist() == [5, 5]


@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "ekss-images"])
def test_cells_of_every_method_are_computed(method, plan):
    cells = plan(["coil20"], [method]).cells
    for cell in cells[:: len(cells) // 3]:
        result = run_cell(cell)
        assert 0 <= result["error"] == min(result["errors"].values())
        assert 0 <= result["nmi"] <= 1
        assert result["best"]["data"] in ("pixels", "plain", "whitened")


def test_sweep_of_cuts_uses_the_same_members(plan):
    cells = plan(["coil20"], ["ekss"]).cells
    result = run_cell(next(cell for cell in cells if cell.column == "tuned"))
    names = [json.loads(name) for name in result["errors"]]
    assert {name["n_neighbors"] for name in names} == {3, 4, 5, 6, 8, 10}
    assert {name["n_eigenvectors"] for name in names} == {
        "1 K",
        "1.2 K",
        "1.5 K",
        "2 K",
    }
    assert len(names) == 24


def test_a_method_may_lack_a_data_set(plan):
    made = plan(["hopkins155", "usps"], ["tsc", "ekss-images"])
    shown = errors_grid(entries_of(made, {}))
    assert {len(line) for line in shown} == {4}


def test_sequences_are_averaged_each_with_its_best_setting(plan):
    cells = plan(["hopkins155"], ["kss", "tsc"]).cells
    results = [run_cell(cell) for cell in cells if cell.column == "tuned"]
    for result in results:
        each = [one["error"] for one in result["sequences"].values()]
        assert len(each) == 2
        assert result["error"] == pytest.approx(np.mean(each), abs=1e-3)
        assert result["median"] == pytest.approx(np.median(each), abs=1e-3)
        assert {"mean_2_motions", "mean_3_motions"} <= set(result)
        assert result["error"] <= min(result["errors"].values()) + 1e-9


def test_run_writes_all_files_from_rows(plan, tiny, tmp_path):
    made = plan(["usps", "mnist_test"], ["tsc"])
    assert "mnist_test" in made.missing
    rows = run_plan(made, tmp_path / "out", jobs=2)
    written = write_table1(made, rows, tmp_path / "out", tiny, command="some command")
    names = [path.name for path in written.files]
    endings = ("txt", "md", "csv", "json", "png")
    assert names == [f"table1.{ending}" for ending in endings]
    assert "USPS" in written.text
    assert "MNIST-10k: missing. the file is not there" in written.text
    assert "31.57" in written.text
    page = (tmp_path / "out" / "table1.md").read_text()
    for words in ("some command", "Machine:", "Commit:", "Seeds: 0, 1", "Tiny."):
        assert words in page
    table = list(csv.DictReader(io.StringIO((tmp_path / "out/table1.csv").read_text())))
    assert [line["column"] for line in table] == [*COLUMNS] * 2
    assert table[0]["seeds"] == "2"
    assert (tmp_path / "out" / "table1.png").read_bytes().startswith(b"\x89PNG")


def test_label_tuned_is_the_lowest_of_all_columns(plan):
    made = plan(["usps"], ["tsc"])
    errors = {"paper": 3.0, "tuned": 9.0, "free": 5.0, "chosen": 1.0}
    rows = fake_rows(made, lambda cell: errors[cell.column] + cell.seed)
    (entry,) = entries_of(made, rows)
    tuned = entry.figures["tuned"]
    assert (tuned.lowest, tuned.mean, tuned.highest, tuned.seeds) == (3, 3.5, 4, 2)
    assert entry.figures["tuned"].best["made_up"] == "paper"
    assert entry.figures["free"].mean == 5.5
    assert entry.figures["free"].spread == 0.5


def test_difference_is_explained_or_said_not_to_be(plan, tiny, tmp_path):
    made = plan(["usps", "coil20"], ["tsc"])
    far = write_table1(made, fake_rows(made, lambda cell: 80.0), tmp_path, tiny)
    assert "USPS, TSC (paper's parameters +48.4, label-tuned +48.4)" in far.text
    assert NOTES.get(("usps", "tsc"), NOT_EXPLAINED)[:20] in far.text
    near = write_table1(
        made,
        fake_rows(made, lambda cell: ERRORS[cell.dataset, "tsc"] + 4),
        tmp_path,
        tiny,
    )
    assert "label-tuned +" not in near.text


def test_notes_are_sentences_on_places_of_the_table():
    for (dataset, method), sentence in NOTES.items():
        assert (dataset, method) in ERRORS
        assert sentence.endswith(".")
        assert "\n" not in sentence


def test_failed_cell_is_shown_with_its_reason(plan, tiny, tmp_path):
    made = plan(["usps"], ["tsc"])
    rows = fake_rows(made, lambda cell: 30.0)
    for cell in made.cells:
        if cell.column == "free":
            rows[cell.key]["failed"] = "out of memory: 9 GB"
    text = write_table1(made, rows, tmp_path, tiny).text
    assert "USPS, TSC, ours, label-free: failed: out of memory: 9 GB" in text
    assert entries_of(made, rows)[0].figures["tuned"].mean == 30.0


def test_table2_gives_sizes_beside_the_papers(tiny_loaders, tmp_path):
    def absent():
        raise OSError("not there; get it")

    loaders = {name: tiny_loaders.get(name, absent) for name in DATASETS}
    text = write_table2(loaders, tmp_path).text
    usps = next(line for line in text.splitlines() if line.startswith("USPS"))
    assert usps.split() == ["USPS", "9298", "60", "10", "3", "256", "24"]
    assert "40-60" in text
    assert "COIL-100: missing. not there; get it" in text


def test_table3_gives_the_choice_of_the_labels(plan, tmp_path):
    made = plan(["usps"], ["tsc"])
    errors = {"paper": 3.0, "tuned": 2.0, "free": 5.0, "chosen": 6.0}
    rows = fake_rows(made, lambda cell: errors[cell.column])
    written = write_table3(made, rows, tmp_path)
    assert "n_neighbors=3" in written.text
    assert "made_up=tuned" in written.text
    assert {path.suffix for path in written.files} == {".txt", ".md", ".csv"}


def test_empty_plan_still_makes_a_table(tiny, tmp_path):
    plan = Plan("table1", (), run_cell, dict.fromkeys(DATASETS, "no data"))
    text = write_table1(plan, {}, tmp_path, tiny).text
    assert text.count("missing. no data") == len(DATASETS)


def test_the_commit_that_all_figures_were_checked_at_is_named(plan, tiny, tmp_path):
    made = plan(["coil20"], ["ekss", "tsc"])
    rows = fake_rows(made, lambda cell: 5.0)
    for row, cell in zip(rows.values(), made.cells, strict=True):
        row["code"] = made.code_of(cell)
    written = write_table1(made, rows, tmp_path, tiny)
    (run,) = json.loads((tmp_path / "table1.json").read_text())
    entries = read_entries((tmp_path / "table1.csv").read_text())
    line = checked_line(entries, [run])
    assert line in " ".join(written.text.split())
    assert f"those of commit {commit()}." in line
    # The rows say that they were made at another commit, which had the same code.
    assert line.endswith("made at abc.")
    assert checked_line(entries, [run | {"checked": "abc"}]).endswith("commit abc.")


def test_no_commit_is_named_for_figures_of_other_code(plan, tiny, tmp_path):
    made = plan(["coil20"], ["ekss", "tsc"])
    rows = fake_rows(made, lambda cell: 5.0)
    for row in rows.values():
        row["code"] = "of another day"
    written = write_table1(made, rows, tmp_path, tiny)
    assert "EARLIER VERSION" in written.text
    assert commit() not in written.text
