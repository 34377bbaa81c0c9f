import json
import sys

import numpy as np
import pytest

from ekss.datasets import _store, get_data_home


def test_argument_then_variable_then_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("EKSS_DATA", str(tmp_path / "variable"))
    assert get_data_home(tmp_path / "argument") == tmp_path / "argument"
    assert get_data_home() == tmp_path / "variable"
    monkeypatch.setenv("EKSS_DATA", "~/data")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert get_data_home() == tmp_path / "data"
    monkeypatch.delenv("EKSS_DATA")
    assert get_data_home().name == "ekss"
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    assert get_data_home().name == "ekss"
    assert not list(tmp_path.iterdir())


def test_saved_arrays_come_back(small_mnist, tmp_path):
    checked = _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path / "new")
    assert checked.variant == "reference"
    stored = _store.load(small_mnist.dataset, tmp_path / "new")
    assert stored.variant == "reference"
    for name, array in small_mnist.arrays.items():
        assert stored.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(stored.arrays[name], array)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mnist_test.npz"]


def test_only_wanted_arrays_are_read(small_mnist, tmp_path):
    _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path)
    stored = _store.load(small_mnist.dataset, tmp_path, ["y"])
    assert list(stored.arrays) == ["y"]


def test_refused_arrays_leave_the_earlier_file(small_mnist, tmp_path):
    _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path)
    before = (tmp_path / "mnist_test.npz").read_bytes()
    with pytest.raises(ValueError, match="refused"):
        _store.save(small_mnist.dataset, {"X": np.zeros((6, 20), np.uint8)}, tmp_path)
    assert (tmp_path / "mnist_test.npz").read_bytes() == before


def test_failed_write_leaves_the_earlier_file_and_nothing_else(
    small_mnist, tmp_path, monkeypatch
):
    _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path)
    before = (tmp_path / "mnist_test.npz").read_bytes()

    def fill_disk(file, **arrays):
        file.write(b"half a file")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", fill_disk)
    with pytest.raises(OSError, match="no space"):
        _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mnist_test.npz"]
    assert (tmp_path / "mnist_test.npz").read_bytes() == before


def rewrite(path, change):
    with np.load(path) as file:
        content = dict(file)
    change(content)
    np.savez_compressed(path, **content)


def turn_a_pixel(content):
    content["X"] = content["X"] ^ 1


def forge_the_record(content):
    record = json.loads(str(content["__record__"]))
    record["digests"]["X"] = "0" * 64
    content["__record__"] = np.array(json.dumps(record))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: rewrite(path, turn_a_pixel), "array X differs from its record"),
        (lambda path: rewrite(path, forge_the_record), "not that of the known data"),
        (lambda path: rewrite(path, lambda c: c.pop("__record__")), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-60]), "cannot be read"),
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (lambda path: path.write_text("<html>"), "cannot be read"),
    ],
    ids="pixel record none cut empty html".split(),
)
def test_spoilt_file_is_refused_with_the_remedy(small_mnist, tmp_path, spoil, reason):
    _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path)
    spoil(tmp_path / "mnist_test.npz")
    with pytest.raises(ValueError, match=reason) as caught:
        _store.load(small_mnist.dataset, tmp_path)
    assert "ekss data fetch mnist_test" in str(caught.value)
    assert "ekss data import" in str(caught.value)


def test_variant_is_told_without_reading_the_arrays(small_coil20, tmp_path):
    dataset = small_coil20.dataset
    assert _store.variant_of(dataset, tmp_path) is None
    X = np.floor(small_coil20.arrays["X"] * 255) / 255
    _store.save(dataset, {**small_coil20.arrays, "X": X}, tmp_path)
    assert _store.variant_of(dataset, tmp_path) == "converted"
    assert _store.load(dataset, tmp_path).variant == "converted"
    (tmp_path / "coil20.npz").write_bytes(b"PK")
    assert _store.variant_of(dataset, tmp_path) == "damaged"
