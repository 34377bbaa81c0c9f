"""Rows of the benchmark scripts: a run that was stopped goes on where it was."""

import importlib
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def row_file():
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("rows").RowFile
    sys.path.remove(str(SCRIPTS))


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
