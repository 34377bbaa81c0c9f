"""Outputs of the command: whole or not at all, pictures and tracks included."""

import json
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from ekss.cli._output import Failure, Output, default_output, write_all

FAST = ("--members", "20", "--jobs", "1")


def limited(path):
    """Write more than the limit on the size of files allows."""
    path.write_bytes(bytes(100_000))


def test_a_file_that_does_not_fit_leaves_all_earlier_ones(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.bin"
    first.write_text("earlier")
    outputs = [
        Output(first, lambda path: path.write_text("later")),
        Output(second, limited),
    ]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        with pytest.raises(Failure, match=r"second.bin was not written: File too"):
            write_all(outputs)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert first.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.txt"]


def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path):
    def stopped(path):
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_all([Output(tmp_path / "a.txt", stopped)])
    assert list(tmp_path.iterdir()) == []


def test_default_output_is_named_after_the_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faces.v2").mkdir()
    for data, name in (
        ("data/points.csv", "points-clusters.csv"),
        ("a.b.npz", "a.b-clusters.csv"),
        ("faces.v2", "faces.v2-clusters.csv"),
        ("faces.v2/", "faces.v2-clusters.csv"),
    ):
        path = default_output(tmp_path / data, "clusters")
        assert str(path) == name


def test_ctrl_c_ends_a_process_with_130_and_no_file(files, planted):
    np.save(files / "large.npy", np.tile(planted.data, (40, 1)))
    before = sorted(files.iterdir())
    words = ["cluster", "large.npy", "-k", "3", "--members", "20000", "--jobs", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ekss", *words],
        cwd=files,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not process.stdout.readline().startswith("Write"):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "ekss: stopped; no file was written"
    assert "Traceback" not in err
    assert sorted(files.iterdir()) == before


def test_ctrl_c_inside_exec_gives_the_same_code(tmp_path):
    # dataclasses are made by exec; python -m would then end by the signal
    (tmp_path / "stopper.py").write_text(
        "from ekss.cli import _cluster, main\n"
        "def stop(*_): exec('raise KeyboardInterrupt')\n"
        "_cluster.check_there = stop\n"
        "main(['cluster', 'points.npy', '-k', '3'])"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "stopper"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 130
    assert ended.stderr == "ekss: stopped; no file was written\n"


@pytest.fixture
def pictures(tmp_path):
    """Write 12 images of two kinds, each kind in a folder of its own."""
    from PIL import Image

    rng = np.random.default_rng(0)
    patterns = rng.uniform(0, 1, (2, 8, 6))
    for kind, pattern in zip(("bars", "dots"), patterns, strict=True):
        (tmp_path / "pictures" / kind).mkdir(parents=True)
        for number in range(6):
            pixels = 100 * pattern * rng.uniform(1, 2) + rng.uniform(0, 3, (8, 6))
            image = Image.fromarray(pixels.astype(np.uint8))
            image.save(tmp_path / "pictures" / kind / f"{number}.png")
    return tmp_path / "pictures"


def test_a_folder_of_images_gives_labels_report_and_model(ekss, pictures, tmp_path):
    words = ("--labels", "pictures", "--report", "report.html", "--model", "m.ekss")
    ended = ekss("cluster", "pictures", "-k", 2, "--dim", 1, *words, *FAST)
    assert ended.code == 0, ended.err
    assert "12 images of 8 x 6 pixels, with names" in ended.out
    assert "error 0.0 %" in ended.out
    lines = (tmp_path / "pictures-clusters.csv").read_text().splitlines()
    assert lines[1].startswith("bars/0.png,")
    assert "data:image/" in (tmp_path / "report.html").read_text()
    again = ekss("predict", "m.ekss", "pictures", "-o", "again.csv", "--quiet")
    assert again.code == 0, again.err
    assert (tmp_path / "again.csv").read_text().splitlines() == lines


def test_preprocessed_images_are_still_shown_as_images(ekss, pictures, tmp_path):
    words = ("--preprocess", "scatter:1,pca:5", "--report", "report.html")
    ended = ekss("cluster", "pictures", "-k", 2, *words, *FAST)
    assert ended.code == 0, ended.err
    assert "Prepare scatter:1, pca:5" in ended.out
    assert "data:image/" in (tmp_path / "report.html").read_text()
    summary = json.loads((tmp_path / "report.json").read_text())
    assert summary["n_features"] == 5


def test_image_size_resizes_a_folder_and_describes_a_table(ekss, pictures, files):
    words = ("-k", 2, "--json", *FAST)
    ended = ekss("cluster", "pictures", "--image-size", "4x3", *words)
    assert json.loads(ended.out)["data"]["n_features"] == 12
    ended = ekss("cluster", "points.npy", "--image-size", "3x4", *words)
    assert json.loads(ended.out)["data"]["kind"] == "images"


def test_tracks_are_read_clustered_and_drawn(ekss, tmp_path):
    rng = np.random.default_rng(0)
    shapes = np.concatenate([rng.normal(size=(2, 3, 20)), np.ones((2, 1, 20))], axis=1)
    cameras = rng.normal(size=(2, 10, 2, 4))
    tracks = np.concatenate(
        [np.einsum("fij,jp->fip", cameras[body], shapes[body]) for body in range(2)],
        axis=2,
    )
    np.save(tmp_path / "tracks.npy", tracks)
    np.save(tmp_path / "truth.npy", np.repeat([0, 1], 20))
    words = ("--labels", "truth.npy", "--report", "report.html", *FAST)
    ended = ekss("cluster", "tracks.npy", "-k", 2, *words)
    assert ended.code == 0, ended.err
    assert "40 tracks over 10 frames" in ended.out
    assert "error 0.0 %" in ended.out
    assert (tmp_path / "report.html").exists()
