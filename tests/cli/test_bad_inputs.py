"""Every wrong request ends in one line, exit code 2, and earlier files untouched."""

import json
import re
import zipfile

import numpy as np
import pytest

EARLIER = ("labels.csv", "model.ekss", "report.html", "report.json")


def text(name, content):
    return lambda folder: (folder / name).write_text(content)


def array(name, values):
    return lambda folder: np.save(folder / name, values, allow_pickle=True)


def pictures(*sizes, broken=False):
    def write(folder):
        from PIL import Image

        (folder / "images").mkdir()
        for number, size in enumerate(sizes):
            pixels = np.full(size, 10 * number, np.uint8)
            Image.fromarray(pixels).save(folder / "images" / f"{number}.png")
        if broken:
            (folder / "images" / "z.png").write_bytes(b"\x89PNG\r\n\x1a\n nothing")

    return write


def with_value(value):
    values = np.ones((5, 3))
    values[2, 1] = value
    return array("bad.npy", values)


def nothing(folder):
    """Leave the folder as it is."""


def make_folder(folder):
    (folder / "folder.csv").mkdir()
    (folder / "empty").mkdir()


RAGGED = "a,b,c\n1,2,3\n4,5\n7,8,9\n"
WORDS = "a,b,c\n1,2,3\n4,five,6\n7,8,9\n"
K = ("-k", "3")

# what is wrong: files to make, words of the command, what the line must hold
BAD_DATA = {
    "missing file": (nothing, ("none.csv", *K), "none.csv does not exist"),
    "empty file": (text("bad.csv", ""), ("bad.csv", *K), "is empty"),
    "header alone": (text("bad.csv", "a,b\n"), ("bad.csv", *K), "no row"),
    "unknown ending": (text("bad.docx", "1"), ("bad.docx", *K), "ends in .docx"),
    "ragged csv": (text("bad.csv", RAGGED), ("bad.csv", *K), "line 3"),
    "text in numbers": (text("bad.csv", WORDS), ("bad.csv", *K), "five"),
    "binary as csv": (array("bad.csv.npy", 1.0), ("bad.csv.npy", *K), "shape"),
    "nan": (with_value(np.nan), ("bad.npy", *K), "nan at row 2, column 1"),
    "inf": (with_value(np.inf), ("bad.npy", *K), "inf at row 2, column 1"),
    "one row": (array("bad.npy", np.ones((1, 9))), ("bad.npy", "-k1"), "1 row"),
    "objects": (array("bad.npy", np.array([{}])), ("bad.npy", *K), "bjects"),
    "complex": (array("bad.npy", np.ones((4, 4), complex)), ("bad.npy", *K), "compl"),
    "corrupt npz": (text("bad.npz", "PK"), ("bad.npz", *K), "bad.npz cannot be read"),
    "wrong key": (nothing, ("both.npz", "--key", "W", *K), "no array 'W'; it holds X"),
    "no key": (nothing, ("both.npz", *K), "choose one by --key"),
    "key of a table": (nothing, ("points.csv", "--key", "X", *K), "leave --key"),
    "no id column": (
        nothing,
        ("points.csv", "--id-column", "who", *K),
        "no column 'who'",
    ),
    "empty folder": (make_folder, ("empty", *K), "holds no image"),
    "broken image": (pictures((4, 4), broken=True), ("images", *K), "z.png"),
    "images of two sizes": (
        pictures((4, 4), (4, 5), (4, 4)),
        ("images", *K),
        "pass --image-size HxW",
    ),
    "size of no image": (
        nothing,
        ("points.npy", "--image-size", "4x4", *K),
        "16 pixels but the rows of points.npy have 12",
    ),
    "size in words": (nothing, ("points.npy", "--image-size", "big", *K), "32x24"),
    "labels of wrong length": (
        array("few.npy", np.arange(9)),
        ("points.npy", "--labels", "few.npy", *K),
        "9 labels but points.npy has 60 points",
    ),
    "missing labels": (nothing, ("points.npy", "--labels", "no.npy", *K), "no.npy"),
    "labels of which key": (
        nothing,
        ("points.npy", "--labels", "both.npz", "--labels-key", "W", *K),
        "no array 'W'",
    ),
}
BAD_OPTIONS = {
    "no k": ((), "Missing option"),
    "k above n": (("-k", "61"), "-k 61 exceeds the 60 points"),
    "k of 0": (("-k", "0"), "-k 0 is below 1"),
    "k below 0": (("-k", "-2"), "-k -2 is below 1"),
    "k found by tsc": (("-k", "auto", "--method", "tsc"), "-k auto is not known to"),
    "k in words": (("-k", "three"), "-k three is not a number"),
    "dim above D": ((*K, "--dim", "13"), "--dim 13 exceeds the 12 features"),
    "dim of 0": ((*K, "--dim", "0"), "--dim 0 starts below 1"),
    "dim downwards": ((*K, "--dim", "5-2"), "downwards"),
    "dim in words": ((*K, "--dim", "two"), "--dim two is not a number"),
    "range for kss": ((*K, "--method", "kss", "--dim", "2-5"), "--dim (2, 5)"),
    "q above n": ((*K, "--q", "60"), "--q 60 exceeds"),
    "members of 0": ((*K, "--members", "0"), "--members 0 is below 1"),
    "members in words": ((*K, "--members", "many"), "or --members auto"),
    "candidates above n": ((*K, "--candidates", "99"), "--candidates 99 exceeds"),
    "iterations below 0": ((*K, "--max-iter", "-1"), "--max-iter -1 is below 0"),
    "no iteration of kss": (
        (*K, "--method", "kss", "--max-iter", "0"),
        "--max-iter 0 is below 1",
    ),
    "foreign iterations": (
        (*K, "--method", "tsc", "--max-iter", "3"),
        "--max-iter is not known to method tsc",
    ),
    "unknown method": ((*K, "--method", "kmeans"), "kmeans"),
    "few samples": ((*K, "--max-samples", "0"), "--max-samples 0 is below 1"),
    "no memory": ((*K, "--memory-limit", "lots"), "--memory-limit 'lots' is not an"),
    "foreign limit": (
        (*K, "--method", "kss", "--memory-limit", "1GB"),
        "--memory-limit is not known to method kss",
    ),
    "foreign members": ((*K, "--method", "kss", "--members", "5"), "use method ekss"),
    "foreign dim": (
        (*K, "--method", "tsc", "--dim", "2"),
        "--dim is not known to method tsc; leave it out, or use method ekss, paper, "
        "kss, copkss, mkf, gsc or slbf",
    ),
    "foreign affine": ((*K, "--method", "mkf", "--affine"), "--affine is not known"),
    "foreign model": (
        (*K, "--method", "ssc", "--model", "m.ekss"),
        "leave it out, or use method ekss, paper, kss, copkss or mkf",
    ),
    "auto and dim": ((*K, "--auto", "--dim", "2"), "--auto together with --dim"),
    "auto and q": ((*K, "--auto", "--q", "5"), "--auto together with --q"),
    "auto of paper": ((*K, "--method", "paper", "--auto"), "--auto is not known"),
    "k found by paper": (("-k", "auto", "--method", "paper"), "-k auto is not known"),
    "range for paper": ((*K, "--method", "paper", "--dim", "2-5"), "--dim (2, 5)"),
    "members of paper": (
        (*K, "--method", "paper", "--members", "auto"),
        "--members 'auto'",
    ),
    "whitening of paper": (
        (*K, "--method", "paper", "--whiten", "1"),
        "--whiten is not known to method paper; leave it out, or use method ekss",
    ),
    "auto of sscomp": ((*K, "--method", "sscomp", "--auto"), "--auto is not known"),
    "unknown step": ((*K, "--preprocess", "bleach"), "'bleach'; choose from unit"),
    "step without number": ((*K, "--preprocess", "unit,pca"), "such as pca:2"),
    "step with number": ((*K, "--preprocess", "unit:3"), "unit takes no number"),
    "too many components": ((*K, "--preprocess", "pca:50"), "--preprocess pca:50: "),
    "no square image": ((*K, "--preprocess", "scatter"), "not a square"),
    "unknown option": ((*K, "--colour"), "No such option"),
    "k without value": (("-k",), "requires an argument"),
    "seed in words": ((*K, "--seed", "x"), "'--seed': 'x' is not a whole number"),
    "seed below 0": ((*K, "--seed", "-1"), "--seed -1 is out of range"),
    "no jobs": ((*K, "--jobs", "0"), "--jobs 0 runs nothing"),
    "quiet and json": ((*K, "--quiet", "--json"), "leave out one"),
    "output without folder": (
        (*K, "-o", "no/labels.csv"),
        "directory no does not exist",
    ),
    "folder as output": ((*K, "-o", "folder.csv"), "folder.csv is a directory"),
    "output of unknown ending": ((*K, "-o", "labels.xlsx"), "end it in .csv, .tsv"),
    "report of unknown ending": ((*K, "--report", "report.pdf"), "end it in .html"),
    "report without folder": ((*K, "--report", "no/report.html"), "does not exist"),
    "model without folder": ((*K, "--model", "no/model.ekss"), "does not exist"),
    "data as output": ((*K, "-o", "points.npy"), "points.npy is read and would be"),
    "one name twice": ((*K, "-o", "a.csv", "--model", "a.csv"), "for two outputs"),
}


def refused(ekss, folder, *words):
    """Run, check what holds for all refusals, return the line."""
    for name in EARLIER:
        (folder / name).write_text(f"earlier {name}")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ended = ekss(*words)
    assert ended.code == 2, ended
    lines = ended.err.splitlines()
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("ekss: ")
    assert "Traceback" not in ended.err
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before
    return lines[0]


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_in_one_line(ekss, files, case):
    make, words, expected = BAD_DATA[case]
    make(files)
    outputs = ("-o", "labels.csv", "--report", "report.html")
    assert expected in refused(ekss, files, "cluster", *words, *outputs)


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options_are_refused_in_one_line(ekss, files, case):
    make_folder(files)
    words, expected = BAD_OPTIONS[case]
    if case == "k without value":
        assert expected in refused(ekss, files, "cluster", "points.npy", *words)
        return
    named = {"-o", "--report", "--model"} & set(words)
    outputs = () if named else ("-o", "labels.csv")
    quiet = () if "--json" in words else ("--quiet",)
    line = refused(ekss, files, "cluster", "points.npy", *words, *outputs, *quiet)
    assert expected in line


@pytest.mark.parametrize("method", ["ekss", "ssc"])
def test_too_little_memory_is_told_in_one_line_and_nothing_is_written(
    ekss, files, method
):
    words = ("-k", 3, "--method", method, "--memory-limit", "1MB", "-o", "labels.csv")
    ended = ekss("cluster", "points.npy", *words, "--quiet")
    assert ended.code == 1
    (line,) = ended.err.splitlines()
    assert line.startswith("ekss: not enough memory: ")
    assert "more than --memory-limit 1 MB; " in line
    assert not (files / "labels.csv").exists()


def saved(ekss):
    words = ("--members", 5, "--jobs", 1, "--quiet", "--model", "saved.ekss")
    assert ekss("cluster", "points.npy", "-k", 3, "-o", "l.npy", *words).code == 0


def cut_short(content):
    return content[: len(content) // 2]


def flipped(content):
    middle = len(content) // 2
    wrong = bytes(255 - byte for byte in content[middle : middle + 40])
    return content[:middle] + wrong + content[middle + 40 :]


@pytest.mark.parametrize(
    "damage", [cut_short, flipped, lambda _: b"", lambda _: b"PK\x03\x04 not a zip"]
)
def test_a_damaged_model_is_refused(ekss, files, damage):
    saved(ekss)
    path = files / "saved.ekss"
    path.write_bytes(damage(path.read_bytes()))
    line = refused(ekss, files, "predict", "saved.ekss", "points.npy", "-o", EARLIER[0])
    assert "saved.ekss" in line


def test_a_hostile_model_is_refused_and_runs_nothing(ekss, files):
    saved(ekss)

    class Payload:
        def __reduce__(self):
            return (open, (str(files / "ran"), "w"))

    with zipfile.ZipFile(files / "saved.ekss") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    np.save(files / "hostile.npy", np.array([Payload()], object), allow_pickle=True)
    (files / "ran").unlink(missing_ok=True)
    hostile = (files / "hostile.npy").read_bytes()
    with zipfile.ZipFile(files / "saved.ekss", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, hostile if name.endswith("npy") else content)
    refused(ekss, files, "predict", "saved.ekss", "points.npy", "-o", "labels.csv")
    assert not (files / "ran").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("none.ekss", "points.npy"), "none.ekss"),
        (("points.csv", "points.npy"), "points.csv"),
        (("saved.ekss", "none.npy"), "none.npy does not exist"),
        (("saved.ekss", "narrow.npy"), "7 features but saved.ekss was made from 12"),
        (("saved.ekss", "points.npy", "-o", "saved.ekss"), "end it in .csv"),
        (("saved.ekss", "points.npy", "-o", "no/l.csv"), "directory no does not exist"),
    ],
)
def test_predict_refuses_in_one_line(ekss, files, words, expected):
    saved(ekss)
    np.save(files / "narrow.npy", np.ones((4, 7)))
    assert expected in refused(ekss, files, "predict", *words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-k", "61"), "-k 61 exceeds"),
        (("-k", "auto"), "-k auto"),
        ((*K, "--methods", "ekss,kmeans"), "'kmeans'; choose from ekss"),
        ((*K, "--methods", ""), "choose from ekss"),
        ((*K, "--dim", "13"), "--dim 13 exceeds"),
        ((*K, "--dim", "2-3"), "only ekss takes"),
        ((*K, "--preprocess", "svd:6", "--dim", "7"), "--dim 7 exceeds the 6 features"),
        ((*K, "-o", "table.parquet"), "end it in .csv, .tsv"),
        ((*K, "--quiet"), "has no result"),
    ],
)
def test_compare_refuses_in_one_line(ekss, files, words, expected):
    quiet = () if "--quiet" in words else ("--json",)
    assert expected in refused(ekss, files, "compare", "points.npy", *words, *quiet)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("none.json", None, "does not exist"),
        ("bad.json", "{", "is not JSON"),
        ("bad.json", "", "is not JSON"),
        ("bad.json", "[" * 100000, "is not JSON"),
        ("bad.json", "\udcff", "is not JSON"),
        ("bad.json", json.dumps([1]), "not the summary of a report"),
        ("bad.json", json.dumps({"a": 1}), "report"),
        ("page.html", "<!doctype html>", "pass page.json"),
    ],
)
def test_inspect_refuses_in_one_line(ekss, tmp_path, name, content, expected):
    if content is not None:
        content = content.encode("utf-8", "surrogateescape")
        (tmp_path / name).write_bytes(content)
    assert expected in refused(ekss, tmp_path, "inspect", name)


def test_messages_give_a_remedy(ekss, files):
    make_folder(files)
    for words, _ in BAD_OPTIONS.values():
        line = refused(ekss, files, "cluster", "points.npy", *words)
        assert re.search("; |: |see", line.removeprefix("ekss: ")), line
