import os

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from ekss.io import InputError, read_labels, write_labels

LABELS = [2, 0, 1, 1, 2, 0]
WORDS = ["c", "a", "b", "b", "c", "a"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npy"])
@pytest.mark.parametrize("ids", [None, tuple("uvwxyz"), tuple("456789")])
def test_written_labels_come_back(tmp_path, ending, ids):
    path = tmp_path / f"labels{ending}"
    write_labels(path, np.array(LABELS, np.int32), ids)
    found = read_labels(path)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, LABELS)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_ids_are_written_beside_the_labels(tmp_path):
    ids = ['with, comma and "quotes"', "ü", "plain"]
    write_labels(tmp_path / "a.csv", [1, 0, 1], ids)
    write_labels(tmp_path / "a.parquet", [1, 0, 1], ids)
    for frame in (
        pd.read_csv(tmp_path / "a.csv"),
        pd.read_parquet(tmp_path / "a.parquet"),
    ):
        assert list(frame["id"]) == ids
        assert list(frame["label"]) == [1, 0, 1]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, bool])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1), (1, -1)])
@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.mat", "v73.mat", "a.h5"])
def test_arrays_of_labels_are_read(tmp_path, matlab73, name, shape, dtype):
    labels = (np.array(LABELS) % 2).astype(dtype)
    arrays = {"X": np.ones((6, 3)), "y": labels.reshape(shape), "K": np.array([[3]])}
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, arrays["y"])
    elif name == "a.npz":
        np.savez(path, **arrays)
    elif name == "a.mat":
        savemat(path, arrays)
    elif name == "v73.mat":
        matlab73(path, {**arrays, "y": arrays["y"].astype(np.uint8)})
    else:
        with h5py.File(path, "w") as file:
            file.update(arrays)
    found = read_labels(path)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.array(LABELS) % 2)
    if name != "a.npy":
        np.testing.assert_array_equal(read_labels(path, key="y"), found)


def test_words_are_numbered_in_sorted_order(tmp_path):
    np.save(tmp_path / "a.npy", np.array(WORDS))
    (tmp_path / "a.csv").write_text("\n".join(WORDS))
    (tmp_path / "b.csv").write_text("\n".join(["kind", *WORDS]))
    pd.DataFrame({"kind": WORDS}).to_parquet(tmp_path / "a.parquet")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["y"] = WORDS
        file["X"] = np.ones((6, 2))
    for name in ("a.npy", "a.csv", "b.csv", "a.parquet", "a.h5"):
        np.testing.assert_array_equal(read_labels(tmp_path / name), LABELS, name)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("2\n0\n1\n", None),
        ("label\n2\n0\n1\n", None),
        ("2.0\n0.0\n1.0\n", None),
        ("id,label\n9,2\n8,0\n7,1\n", None),
        ("customer_id,group\n9,2\n8,0\n7,1\n", None),
        ("u,2\nv,0\nw,1\n", None),
        ("who,group\nu,2\nv,0\nw,1\n", None),
        ("x,y,class\n1.5,3,2\n2.5,3,0\n3.5,3,1\n", "class"),
        ("x,z,class\n1.5,3,2\n2.5,3,0\n3.5,3,1\n", None),
        ("x,z,k\n1.5,3,2\n2.5,3,0\n3.5,3,1\n", 2),
        ("x,z,k\n1.5,3,2\n2.5,3,0\n3.5,3,1\n", "k"),
        ("1.5,3,2\n2.5,3,0\n3.5,3,1\n", "2"),
        ("x,z,k\n1.5,3,c\n2.5,3,a\n3.5,3,b\n", "k"),
    ],
)
def test_column_of_labels_is_found(tmp_path, text, column):
    (tmp_path / "a.csv").write_text(text)
    np.testing.assert_array_equal(
        read_labels(tmp_path / "a.csv", column=column), [2, 0, 1]
    )


def test_folders_are_labels_of_the_images_in_them(image_folder):
    image = np.zeros((3, 3), np.uint8)
    folder = image_folder({"b/1.png": image, "a/2.png": image, "b/0.png": image})
    np.testing.assert_array_equal(read_labels(folder), [0, 1, 1])
    flat = image_folder({"1.png": image, "2.png": image}, folder="flat")
    with pytest.raises(InputError, match="no labels"):
        read_labels(flat)


BAD_TEXT = {
    "fraction": ("1\n2.5\n", "2.5 as label 1"),
    "nan": ("1\nnan\n", "nan as label 1"),
    "huge": ("1\n1e30\n", "1e.30 as label 1"),
    "missing": ("a,b\n1,u\n2,\n", "no label in row 1"),
    "columns": ("a,b,c\n1,2,3\n1,2,3\n", "choose one by column: 'a', 'b', 'c'"),
    "ragged": ("a,b\n1,2\n1\n", "1 column in line 3, but 2"),
    "empty": ("", "is empty"),
    "blank": ("\n\n", "blank lines only"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text_is_refused(tmp_path, case):
    text, reason = BAD_TEXT[case]
    (tmp_path / "a.csv").write_text(text)
    column = "b" if case == "missing" else None
    with pytest.raises(InputError, match=reason) as caught:
        read_labels(tmp_path / "a.csv", column=column)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        (np.array(1), r"shape \(\)"),
        (np.array([], int), "empty"),
        (np.array([1j]), "complex"),
        (np.array([0.5]), "0.5 as label 0"),
    ],
)
def test_bad_array_is_refused(tmp_path, array, reason):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match=reason):
        read_labels(tmp_path / "a.npy")


def test_wrong_choices_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", y=[0, 1], z=[1, 1])
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.doc").write_text("1")
    cases = [
        ("a.npz", {}, r"2 arrays that may be labels.* y \(2, int64\), z"),
        ("a.npz", {"key": "q"}, "no array 'q'"),
        ("a.npz", {"column": "q"}, "column='q' has no meaning"),
        ("a.csv", {"key": "q"}, "key='q' has no meaning"),
        ("a.csv", {"column": "q"}, "no column 'q'"),
        ("a.doc", {}, "cannot be read"),
        ("none.csv", {}, "does not exist"),
    ]
    for name, options, reason in cases:
        with pytest.raises(InputError, match=reason):
            read_labels(tmp_path / name, **options)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npy"])
def test_failed_write_leaves_the_earlier_file(tmp_path, monkeypatch, ending):
    path = tmp_path / f"a{ending}"
    write_labels(path, [0, 1])
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_labels(path, [1, 1, 1])
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "labels", "ids", "reason"),
    [
        ("a.txt", [0, 1], None, r"a\.txt; choose one of \.csv, \.tsv, \.parquet"),
        ("a.csv", [0.5, 1], None, "float64"),
        ("a.csv", [[0, 1]], None, r"shape \(1, 2\)"),
        ("a.csv", [0, 1], ["u"], "1 ids do not match 2 labels"),
    ],
)
def test_labels_that_cannot_be_written(tmp_path, name, labels, ids, reason):
    with pytest.raises(InputError, match=reason):
        write_labels(tmp_path / name, labels, ids)
    assert not list(tmp_path.iterdir())
