import importlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ekss.benchmarks import Cell, Plan, old_cells, open_cells, run_plan
from ekss.benchmarks._runner import row_path, short_hash, write_row
from ekss.benchmarks._versions import code_of
from ekss.runtime.files import write_atomically

HERE = str(Path(__file__).parent)


@pytest.fixture
def work(monkeypatch):
    """The module of work functions, importable in fresh processes too."""
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", HERE, prepend=os.pathsep)
    yield importlib.import_module("work")
    sys.modules.pop("work", None)


def cell(seed=0, cost=1.0, **params):
    return Cell("t", "data", "method", "column", params, seed, cost)


def test_key_depends_on_identity_only():
    assert cell(a=1, b=2).key == cell(b=2, a=1, cost=9.0).key
    assert cell(a=1).key != cell(a=2).key
    assert cell(0, a=1).key != cell(1, a=1).key
    assert short_hash([1, 2]) != short_hash([2, 1])
    assert short_hash({"a": 1, "b": 2}) == short_hash({"b": 2, "a": 1})


def test_row_in_place_of_half_written_one(tmp_path):
    path = tmp_path / "row.json"
    write_atomically(path, b"old")

    with pytest.raises(TypeError):
        write_atomically(path, "text is not bytes")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["row.json"]


def test_plan_gives_rows_with_provenance_and_skips_finished(tmp_path, work):
    plan = Plan("t", (cell(0), cell(1), cell(2)), work.double)
    (tmp_path / "rows").mkdir()
    write_row(tmp_path, cell(1), {"error": 77.0, "code": code_of(work.double)})
    steps = []
    rows = run_plan(plan, tmp_path, jobs=2, report=steps.append)
    assert [rows[one.key]["error"] for one in plan.cells] == [0.0, 77.0, 4.0]
    row = rows[cell(2).key]
    assert row["cell"] == cell(2).identity()
    assert row["seconds"] >= 0
    assert 20 < row["peak_megabytes"] < 4000
    assert set(row["versions"]) >= {"python", "numpy", "scipy", "scikit-learn", "ekss"}
    assert row["machine"]["cores"] == os.cpu_count()
    assert row["commit"]
    assert row["code"] == code_of(work.double)
    assert row["blas"]
    assert row["date"].startswith("20")
    ended = [step for step in steps if step.row is not None]
    assert [step.done for step in ended] == [2, 3]
    assert ended[-1].left == 0
    assert open_cells(plan, tmp_path) == []


def test_failures_are_rows_in_words_and_are_tried_again(tmp_path, work):
    log, healed = str(tmp_path / "log"), str(tmp_path / "healed")
    cells = tuple(
        cell(seed, wanted=wanted, log=log, healed=healed)
        for seed, wanted in enumerate(("raise", "die", "memory", "fine"))
    )
    plan = Plan("t", cells, work.fail_or_die)
    rows = run_plan(plan, tmp_path, jobs=2)
    reasons = [rows[one.key].get("failed") for one in cells]
    assert (
        reasons[0] == "ValueError: the value 7 is above the limit 5; choose at most 5"
    )
    assert "killed" in reasons[1]
    assert "out of memory: 2 GB wanted" in reasons[2]
    assert reasons[3] is None
    assert [one.seed for one in open_cells(plan, tmp_path)] == [0, 1, 2]
    Path(healed).touch()
    again = run_plan(Plan("t", cells[::3], work.fail_or_die), tmp_path)
    assert again[cells[0].key]["error"] == 1.0
    assert "failed" not in again[cells[0].key]
    assert sorted(Path(log).read_text().split()) == ["0", "0", "1", "2", "3"]


def start_slow_run(folder, log):
    code = f"""
    import sys
    sys.path.insert(0, {HERE!r})
    import work
    from pathlib import Path
    from ekss.benchmarks import Cell, Plan, run_plan
    if __name__ == "__main__":
        cells = tuple(
            Cell("t", "d", "m", "c", {{"log": {log!r}, "seconds": 0.2}}, seed, 9 - seed)
            for seed in range(5)
        )
        run_plan(Plan("t", cells, work.slow), Path({str(folder)!r}))
    """
    script = folder / "run.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_killed_run_loses_nothing_and_goes_on(tmp_path, sign):
    log = tmp_path / "log"
    first = start_slow_run(tmp_path, str(log))
    deadline = time.monotonic() + 60
    rows = tmp_path / "rows"
    while len(list(rows.glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)  # into the middle of the third cell
    first.send_signal(sign)
    first.wait()
    stored = {path.name: path.read_text() for path in rows.glob("*.json")}
    assert len(stored) >= 2
    assert all(json.loads(text)["error"] >= 0 for text in stored.values())
    started = log.read_text().split()
    assert start_slow_run(tmp_path, str(log)).wait() == 0
    assert len(list(rows.glob("*.json"))) == 5
    for name, text in stored.items():
        assert (rows / name).read_text() == text
    again = log.read_text().split()[len(started) :]
    assert len(again) == 5 - len(stored)


def test_fresh_run_computes_everything_again(tmp_path, work):
    plan = Plan("t", (cell(3),), work.double)
    (tmp_path / "rows").mkdir()
    write_row(tmp_path, cell(3), {"error": 77.0, "code": code_of(work.double)})
    assert run_plan(plan, tmp_path)[cell(3).key]["error"] == 77.0
    assert run_plan(plan, tmp_path, fresh=True)[cell(3).key]["error"] == 6.0
    assert json.loads(row_path(tmp_path, cell(3)).read_text())["error"] == 6.0


@pytest.mark.parametrize("old", [{}, {"code": "another"}], ids=["unknown", "other"])
def test_row_of_other_code_is_not_taken_for_a_result_of_this_one(tmp_path, work, old):
    plan = Plan("t", (cell(3), cell(4)), work.double)
    (tmp_path / "rows").mkdir()
    write_row(tmp_path, cell(3), {"error": 77.0, **old})
    assert old_cells(plan, tmp_path) == [cell(3)]
    assert open_cells(plan, tmp_path, keep_old=True) == [cell(4)]
    kept = run_plan(plan, tmp_path, keep_old=True)
    assert [kept[one.key]["error"] for one in plan.cells] == [77.0, 8.0]
    again = run_plan(plan, tmp_path)
    assert [again[one.key]["error"] for one in plan.cells] == [6.0, 8.0]
    assert old_cells(plan, tmp_path) == []
