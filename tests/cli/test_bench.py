import json
import re

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from ekss.benchmarks import DATASETS, PROFILES, SCALE_PROFILES, Points, ScaleProfile
from ekss.benchmarks._data import prepare_features, recipe_of
from ekss.cli import _bench, app


def invoke(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.fixture
def home(tmp_path):
    """A data home with prepared features of USPS and nothing else."""

    def load():
        rng = np.random.default_rng(0)
        data = np.concatenate([rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))] * 2)
        return [Points(data, np.repeat([0, 1], 40), "made up")]

    for variant in ("plain", "pixels"):
        recipe = recipe_of(DATASETS["usps"], variant, PROFILES["smoke"].subset)
        prepare_features(tmp_path / "home", recipe, load)
    return tmp_path / "home"


def test_table1_runs_what_is_there_and_tells_how_to_get_the_rest(home, tmp_path):
    output = tmp_path / "out"
    arguments = ["table1", "--profile", "smoke", "--datasets", "usps,coil20"]
    arguments += ["--methods", "tsc", "--data-home", home, "-o", output, "--jobs", 1]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert "4 cells, 0 of them on disk" in result.output
    assert re.search(r"missing: coil20: .*ekss data fetch", result.output)
    assert "4/4 usps tsc" in result.output
    rows = [json.loads(path.read_text()) for path in output.glob("rows/*.json")]
    assert {row["cell"]["column"] for row in rows} == {
        "paper",
        "tuned",
        "free",
        "chosen",
    }
    assert "not comparable" in (output / "table1.md").read_text()
    again = invoke(*arguments)
    assert "4 cells, 4 of them on disk" in again.output
    for path in output.glob("rows/*.json"):
        row = json.loads(path.read_text())
        path.write_text(json.dumps({**row, "code": "of another day"}))
    old = "4 cells on disk were made by another version of the code; they are "
    kept = invoke(*arguments, "--keep-old")
    assert f"{old}kept" in kept.output
    assert "EARLIER VERSION" in kept.output
    assert f"{old}computed again" in invoke(*arguments, "--dry-run").output
    third = invoke("table3", "--profile", "smoke", "--data-home", home, "-o", output)
    assert "n_neighbors=3" in third.output


def test_figures_that_are_known_are_not_computed_again(home, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    arguments = ["table1", "--profile", "smoke", "--datasets", "usps"]
    arguments += ["--methods", "tsc", "--data-home", home, "--jobs", 1, "-o"]
    assert "4 cells" in invoke(*arguments, first).output
    again = invoke(*arguments, second, "--known", first)
    assert "0 cells, 0 of them on disk" in again.output
    assert not list(second.glob("rows/*"))
    refused = invoke(*arguments, second, "--known", second / "rows")
    assert "rows has no table1.csv; pass a directory" in str(refused.exception)
    refused = invoke(*arguments, first, "--known", first)
    assert "is the --output, too" in str(refused.exception)
    assert "tsc" in (first / "table1.csv").read_text()


def test_dry_run_computes_nothing(home, tmp_path):
    arguments = ["table1", "--profile", "smoke", "--datasets", "usps", "--dry-run"]
    result = invoke(*arguments, "--data-home", home, "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert "60 cells" in result.output
    assert "sscomp" in result.output
    assert not (tmp_path / "out").exists()


def test_all_calls_every_other_command_with_its_own_defaults(monkeypatch, tmp_path):
    called = {}
    monkeypatch.setattr(
        _bench, "_run", lambda name, profiles, given: called.update({name: given})
    )
    result = invoke("all", "--jobs", 3, "--data-home", tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    others = set(get_command(_bench.bench_app).commands) - {"all", "table2", "table3"}
    assert set(called) == others
    assert {given["output"] for given in called.values()} == {tmp_path / "out"}
    assert called["table1"]["jobs"] == 3
    assert called["table1"]["methods"] == "all"
    assert called["scale"]["profile"] == "full"
    assert called["scale"]["workers"] == -1
    assert sorted(path.name for path in (tmp_path / "out").glob("*.md")) == [
        "table2.md",
        "table3.md",
    ]
    called.clear()
    assert invoke("all", "--dry-run", "-o", tmp_path / "none").exit_code == 0
    assert set(called) == others
    assert not (tmp_path / "none").exists()


def test_table2_without_data_says_so(tmp_path):
    result = invoke("table2", "--data-home", tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert "9298" in result.output
    assert "USPS: missing." in result.output


@pytest.mark.parametrize(
    ("command", "option", "value", "words"),
    [
        ("table1", "--datasets", "usps,nothing", "'nothing'; choose from hopkins"),
        ("table1", "--methods", "", "empty; choose from ekss"),
        ("table1", "--profile", "huge", "choose one of smoke, quick, paper"),
        ("table1", "--jobs", "0", "runs nothing"),
        ("scale", "--profile", "huge", "choose one of smoke, full"),
        ("alternatives", "--profile", "huge", "choose one of small, full"),
        ("scale", "--workers", "0", "--workers 0 runs nothing"),
    ],
)
def test_wrong_option_is_refused_in_words(command, option, value, words, tmp_path):
    result = invoke(command, "--data-home", tmp_path, option, value)
    assert isinstance(result.exception, ValueError)
    assert words in str(result.exception)


def test_scale_runs_one_cell_after_the_other_and_goes_on(monkeypatch, tmp_path):
    tiny = ScaleProfile("smoke", (200,), n_members=4, all_pairs=0, free_members=4)
    monkeypatch.setitem(SCALE_PROFILES, "smoke", tiny)
    arguments = ["scale", "--profile", "smoke", "--workers", 2, "-o", tmp_path]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert "3 cells, 0 of them on disk" in result.output
    assert "with 1 at a time" in result.output
    rows = [json.loads(path.read_text()) for path in tmp_path.glob("rows/*.json")]
    assert {row["cell"]["params"]["workers"] for row in rows} == {2}
    assert "Workers of a fit: 2" in (tmp_path / "scale.md").read_text()
    assert "3 cells, 3 of them on disk" in invoke(*arguments).output
