"""Rows of the benchmark scripts: a run that was stopped goes on where it was."""

import csv
import importlib
import sys
import time
from functools import partial
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"
RESULTS = SCRIPTS.parent / "docs" / "results"


@pytest.fixture(scope="module")
def script():
    """Import a script by its name."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module
    sys.path.remove(str(SCRIPTS))


@pytest.fixture(scope="module")
def row_file(script):
    return script("rows").RowFile


def test_a_run_in_parts_gives_the_file_of_one_run(row_file, tmp_path, capsys):
    wanted = [(name, str(number)) for name in "ab" for number in range(3)]
    asked = []

    def measure(key):
        asked.append(key)
        return {"cost": int(key[1]) / 3, "said": key[0]}

    def rows(name):
        return row_file(tmp_path / name, ("case", "draw"), ("cost", "said"))

    whole, parts = rows("whole.csv"), rows("parts.csv")
    assert whole.known() == {}
    whole.add(wanted, measure, "c0de")
    asked.clear()
    parts.add(wanted[:2], measure, "c0de")
    # What fails stays open.
    parts.add(wanted, lambda key: None, "c0de")
    parts.add(wanted, measure, "c0de")
    assert asked == wanted
    assert parts.path.read_text() == whole.path.read_text()
    assert list(parts.known()) == wanted
    assert parts.known()["b", "1"]["cost"] == f"{1 / 3:.6g}"
    assert len(capsys.readouterr().out.splitlines()) == 2 * len(wanted)


def test_rows_are_added_in_the_columns_of_the_file(row_file, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("case,cost,code\na,1,c0de\n")
    rows = row_file(path, ("case",), ("cost",))
    rows.add([("a",), ("b",)], lambda key: {"cost": 2}, "c0de")
    assert path.read_text().splitlines() == ["case,cost,code", "a,1,c0de", "b,2,c0de"]


def test_rows_of_other_code_stay_until_they_are_measured_again(
    row_file, tmp_path, capsys
):
    path = tmp_path / "rows.csv"
    rows = row_file(path, ("case",), ("cost",))
    rows.add([("a",), ("b",)], lambda key: {"cost": 1}, "c0de")
    rows.add([("a",)], lambda key: None, "c1de")
    rows.add([("a",)], lambda key: {"cost": 2}, "c1de")
    assert path.read_text().splitlines() == ["case,code,cost", "a,c1de,2", "b,c0de,1"]
    rows.add([("a",), ("b",)], lambda key: {"cost": 3}, "c1de")
    assert path.read_text().splitlines() == ["case,code,cost", "a,c1de,2", "b,c1de,3"]


def test_published_rows_of_missing_entries_are_read(script):
    missing, path = script("missing"), RESULTS / "missing.csv"
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert missing.STUDY.file.path == path
    assert list(missing.STUDY.file.known().values()) == lines
    page = (RESULTS / "missing.md").read_text().split()
    told = "\n".join(missing.tables(lines)).split()
    assert page[-len(told) :] == told


@pytest.mark.parametrize(
    "name", ["consensus", "counts", "exchange", "outliers", "unseen"]
)
def test_page_of_a_study_says_what_its_rows_say(script, name):
    module = script(name)
    assert module.STUDY.file.path == RESULTS / f"{name}.csv"
    told = "\n".join(module.body(list(module.STUDY.file.known().values()))).split()
    page = (RESULTS / f"{name}.md").read_text().split()
    assert page[-len(told) :] == told


def test_missing_entries_are_measured_until_the_time_is_up(
    row_file, script, tmp_path, monkeypatch, capsys
):
    missing = script("missing")

    def absent(*key):
        raise FileNotFoundError("no faces")

    planned = [
        *(("planted", "EKSS", 0.2, draw, lambda *key: (1.5, "", 0.1)) for draw in "00"),
        ("faces", "means", 0.3, 0, absent),
    ]
    monkeypatch.setattr(missing, "tasks", lambda draws: planned)
    study, wanted = missing.STUDY, missing.fits(draws=1)
    rows = row_file(tmp_path / "missing.csv", study.keys, study.measured)
    now = time.monotonic()
    rows.add(wanted, partial(missing.measure, wanted, now - 1), "c0de")
    assert rows.known() == {}
    rows.add(wanted, partial(missing.measure, wanted, now + 60), "c0de")
    assert list(rows.known()) == [("planted", "EKSS", "0.2", "0")]
    assert "left out: faces: no faces" in capsys.readouterr().out
