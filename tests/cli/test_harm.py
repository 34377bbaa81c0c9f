"""Names, links, terminals and kills that mean harm to the command."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ekss.cli._output import Output, changed_files, visible, write_all
from ekss.runtime.files import scratch_folder

K = ("-k", "2", "--method", "kss", "--dim", "1")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1)) @ rng.standard_normal((1, 5))
    np.save("points.npy", np.vstack([X, rng.standard_normal((40, 1)) * np.eye(5)[0]]))
    return tmp_path


def process(*words, input=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "ekss", *words],
        input=input,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
    )


def one_sentence(ended, *words):
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("ekss: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err


@pytest.mark.parametrize("option", ["-o", "--model", "--report"])
def test_a_link_in_a_circle_is_refused_before_the_work(ekss, data, option):
    name = {"-o": "a.csv", "--model": "a.ekss", "--report": "a.html"}[option]
    (data / name).symlink_to(name)
    one_sentence(
        ekss("cluster", "points.npy", *K, option, name), name, "leads back to itself"
    )


def test_data_behind_a_link_in_a_circle_are_refused(ekss, data):
    (data / "a.npy").symlink_to("a.npy")
    one_sentence(ekss("cluster", "a.npy", *K), "a.npy", "symbolic links")


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    "words", ["cluster a.npy -k 2", "inspect a.npy", "data import a.npy"]
)
def test_pipes_and_devices_are_refused_at_once(ekss, data, kind, words):
    path = data / "a.npy"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    one_sentence(ekss(*words.split()), f"is a {kind}, not a regular file")


def test_a_name_that_is_not_utf8_is_refused_before_the_work(data):
    os.rename("points.npy", b"p\xff.npy")
    ended = process("cluster", b"p\xff.npy", *K)
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert ended.stderr.count(b"\n") == 1
    assert b"not a name in UTF-8; rename the file" in ended.stderr


def test_control_characters_of_names_are_shown_as_escapes(ekss, data):
    evil = "\x1b[31mred\x07\u202e.npy"
    os.rename("points.npy", evil)
    for words in (("cluster", evil, *K, "-o", "a.csv"), ("cluster", f"no{evil}", *K)):
        ended = ekss(*words)
        shown = ended.out + ended.err
        assert "\\x1b[31mred\\x07\\u202e.npy" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown


def test_escapes_in_a_report_from_a_stranger_are_shown(ekss, data):
    words = ("cluster", "points.npy", *K, "-o", "a.csv", "--report", "r.html")
    assert ekss(*words).code == 0
    told = json.loads((data / "r.json").read_text())

    def spoilt(value):
        if isinstance(value, str):
            return value + "\x1b[2J"
        if isinstance(value, dict):
            return {key: spoilt(entry) for key, entry in value.items()}
        return [spoilt(v) for v in value] if isinstance(value, list) else value

    del told["files"]
    (data / "r.json").write_text(json.dumps(spoilt(told)))
    assert "\x1b" not in (ended := ekss("inspect", "r.json")).out + ended.err


def test_an_ascii_terminal_shows_codes_of_letters(data):
    os.rename("points.npy", "größe→.npy")
    settings = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    ended = process("cluster", "größe→.npy", *K, "-o", "a.csv", **settings)
    assert ended.returncode == 0, ended.stderr
    assert b"gr\\xf6\\xdfe\\u2192.npy" in ended.stdout
    assert (data / "a.csv").exists()


def test_visible_keeps_what_can_be_printed():
    assert visible("Größe [m²] → 漢字") == "Größe [m²] → 漢字"
    assert visible("a\x00\x9b\udcff\u2028b") == "a\\x00\\x9b\\udcff\\u2028b"


def test_inspect_tells_files_of_another_run(ekss, data):
    words = ("cluster", "points.npy", *K, "-o", "out/a.csv", "--report", "r.html")
    (data / "out").mkdir()
    assert ekss(*words, "--model", "m.ekss").code == 0
    told = json.loads((data / "r.json").read_text())
    assert sorted(told["files"]) == ["m.ekss", "out/a.csv", "r.html"]
    whole = ekss("inspect", "r.json")
    assert (whole.code, whole.err) == (0, "")
    (data / "out/a.csv").write_text("label\n0\n")
    (data / "m.ekss").unlink()
    ended = ekss("inspect", "r.json")
    assert ended.code == 1
    assert "KSS" in ended.out
    assert "2 of the 3 files that were written with r.json are missing" in ended.err
    assert "out/a.csv is not the file that was written with r.json" in ended.err
    assert "m.ekss, written with r.json, is not there any more" in ended.err
    assert "r.html" not in ended.err


def outputs(text):
    def page(path):
        path.write_text(text)
        path.with_suffix(".json").write_text(json.dumps({"title": text}))

    labels = Output(Path("labels.csv"), lambda path: path.write_text(text))
    return [labels, Output(Path("r.html"), page, (Path("r.json"),))]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_harm import outputs
from ekss.cli._output import write_all
replace, count = Path.replace, 0
def stopping(self, target):
    global count
    if count == {moves}:
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1
    return replace(self, target)
Path.replace = stopping
write_all(outputs("new"))
"""


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_kill_between_two_moves_is_told_and_cleaned_up(data, moves):
    write_all(outputs("old"))
    code = KILLED.format(tests=os.path.dirname(__file__), moves=moves)
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(data.glob(".ekss-*"))
    report = data / "r.json"
    told = json.loads(report.read_text())
    assert told["title"] == "old"
    assert len(changed_files(report, told["files"])) == moves
    write_all(outputs("new"))
    assert not list(data.glob(".ekss-*"))
    assert changed_files(report, json.loads(report.read_text())["files"]) == []


def test_what_another_process_is_making_stays(tmp_path):
    with scratch_folder(tmp_path) as first, scratch_folder(tmp_path) as second:
        assert first != second
        assert first.is_dir()
    assert not list(tmp_path.iterdir())


def test_standard_input_of_a_process_is_read_where_it_is_asked_for(data):
    ended = process("cluster", "-", *K, input=b"x,y\n1,2\n2,4\n3,3\n-3,-3\n")
    assert ended.returncode == 0, ended.stderr
    assert b"standard input: 4 points of 2 features" in ended.stdout
    assert (data / "stdin-clusters.csv").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n2,oops\n", "standard input has 'oops' in line 3"),
        ("", "standard input is empty"),
    ],
)
def test_bad_standard_input_is_refused(ekss, data, monkeypatch, text, words):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    one_sentence(ekss("cluster", "-", *K), words)
    assert not (data / "stdin-clusters.csv").exists()


def test_endless_standard_input_is_refused(ekss, data, monkeypatch):
    with open("/dev/zero") as zeros:
        monkeypatch.setattr("sys.stdin", zeros)
        ended = ekss(*"cluster - -k 2 --memory-limit 300MB".split())
    one_sentence(ended, "standard input has more than")
