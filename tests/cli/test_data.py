import dataclasses
import gzip
import os
import threading
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from typer.testing import CliRunner

from ekss import datasets
from ekss.cli import app
from ekss.datasets import CATALOG
from ekss.datasets._catalog import Archive
from ekss.datasets._store import array_digest, set_digest


def run(*arguments):
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A small USPS in the official files, as the whole catalogue."""
    rows = np.random.default_rng(0).integers(-1000, 1001, (4, 256)) / 1000
    labels = np.array([0, 1, 1, 0])
    folder = tmp_path / "official"
    folder.mkdir()
    table = np.column_stack([labels, rows])
    for name, part in (("zip.train.gz", table[:3]), ("zip.test.gz", table[3:])):
        with gzip.open(folder / name, "wt") as file:
            np.savetxt(file, part, fmt="%.4f")
    arrays = {"X": ((rows + 1) / 2).astype(np.float32), "y": labels}
    known = set_digest({name: array_digest(name, a) for name, a in arrays.items()})
    (usps,) = datasets.named(["usps"], CATALOG)
    dataset = dataclasses.replace(
        usps,
        layout=(("X", "<f4", (4, 256)), ("y", "<i8", (4,))),
        counts=(2, 2),
        digests=(known,),
    )
    monkeypatch.setattr(datasets, "CATALOG", (dataset,))
    monkeypatch.setenv("EKSS_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.fixture
def server(digits, monkeypatch):
    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(digits))

        def log_message(self, *arguments):
            pass

    monkeypatch.setenv("NO_PROXY", "*")
    running = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{running.server_address[1]}"
    (dataset,) = datasets.CATALOG
    archives = tuple(
        Archive(
            a.filename,
            (f"{url}/gone/{a.filename}", f"{url}/{a.filename}"),
            f"sha256:{sha256((digits / a.filename).read_bytes()).hexdigest()}",
        )
        for a in dataset.archives
    )
    served = dataclasses.replace(dataset, archives=archives)
    monkeypatch.setattr(datasets, "CATALOG", (served,))
    yield url
    running.shutdown()
    thread.join()
    running.server_close()


def test_list_shows_sizes_presence_terms_and_the_home(digits, tmp_path):
    before = run("list")
    assert before.exit_code == 0, before.output
    (row,) = [line for line in before.output.splitlines() if "usps" in line]
    assert row.split() == [
        "usps",
        "digits",
        "9298",
        "256",
        "10",
        "no",
        "-",
        *"none stated".split(),
    ]
    assert f"Data home: {tmp_path / 'home'}" in before.output.replace("\n", "")
    assert run("import", digits).exit_code == 0
    (row,) = [line for line in run("list").output.splitlines() if "usps" in line]
    assert row.split()[5] == "reference"
    assert float(row.split()[6]) >= 0


def test_list_of_the_real_catalogue_fits_into_80_columns(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("list", "--data-home", tmp_path).output
    assert "…" not in shown
    for dataset in CATALOG:
        assert dataset.name in shown
        assert dataset.terms in shown


def test_import_says_where_the_file_is(digits, tmp_path):
    result = run("import", digits, "--data-home", tmp_path / "other")
    assert result.exit_code == 0, result.output
    assert f"{tmp_path / 'other' / 'usps.npz'} (reference)" in result.output
    assert (tmp_path / "other" / "usps.npz").exists()
    assert not (tmp_path / "home").exists()


def test_fetch_takes_the_second_mirror_and_does_not_fetch_twice(server, tmp_path):
    result = run("fetch", "all")
    assert result.exit_code == 0, result.output
    assert os.listdir(tmp_path / "home") == ["usps.npz"]
    assert "already there" in run("fetch", "usps").output
    forced = run("fetch", "usps", "--force")
    assert "(reference)" in forced.output


def test_fetch_that_fails_says_why_and_leaves_nothing(server, digits, tmp_path):
    (digits / "zip.test.gz").write_bytes(b"<html>")
    result = run("fetch", "usps")
    assert isinstance(result.exception, ValueError)
    assert "zip.test.gz could not be downloaded" in str(result.exception)
    assert os.listdir(tmp_path / "home") == []


def test_unknown_name_is_refused_with_the_known_ones(digits):
    result = run("fetch", "iris")
    assert isinstance(result.exception, ValueError)
    assert "choose usps or all" in str(result.exception)


def test_help_explains_each_command():
    for command, word in (("list", "terms"), ("fetch", "mnist"), ("import", "archive")):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert word in result.output
        assert "--data-home" in result.output


def test_errors_reach_the_user_as_one_line(ekss, tmp_path):
    (tmp_path / "usps.npz").write_bytes(b"cut")
    for path in (tmp_path, tmp_path / "nowhere"):
        ended = ekss("data", "import", path, "--data-home", tmp_path / "home")
        assert ended.code == 2
        assert ended.err.startswith("ekss: ")
        assert len(ended.err.splitlines()) == 1
