import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from ekss.io import InputError, read_points
from ekss.runtime.mat5 import check_mat5

TYPES = "float64 float32 int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()


def variables():
    rng = np.random.default_rng(0)
    return {
        **{name: (rng.random((4, 3)) * 9).astype(name) for name in TYPES},
        "flags": rng.random((4, 3)) > 0.5,
        "complex": rng.random((4, 3)) * 1j,
        "sparse": sparse.random_array((8, 5), density=0.4, rng=0, format="csc"),
        "text": "some text",
        "record": {"a": 1.0, "b": np.ones((2, 2))},
        "cells": np.array(["a", np.ones(3)], dtype=object),
        "empty": np.zeros((0, 0)),
        "one": 3.0,
        "deep": rng.random((2, 3, 4, 5)),
    }


@pytest.mark.parametrize("packed", [True, False])
def test_every_kind_of_variable_passes_and_numbers_come_back(tmp_path, packed):
    path = tmp_path / "a.mat"
    savemat(path, variables(), do_compression=packed)
    check_mat5(path)
    for name in TYPES:
        found = read_points(path, key=name).points
        np.testing.assert_array_equal(found, variables()[name])


def test_version_4_is_read(tmp_path):
    X = np.random.default_rng(0).random((4, 3))
    savemat(tmp_path / "a.mat", {"X": X}, format="4")
    np.testing.assert_array_equal(read_points(tmp_path / "a.mat").points, X)


@pytest.mark.parametrize("code", [0, 8, 10, 11, 14, 19, 99, 60_000])
def test_unknown_type_of_numbers_is_refused(tmp_path, code):
    path = tmp_path / "a.mat"
    X = np.random.default_rng(0).random((4, 3))
    savemat(path, {"X": X})
    tag = (9).to_bytes(4, "little") + (96).to_bytes(4, "little")
    whole = path.read_bytes()
    assert whole.count(tag) == 1
    path.write_bytes(whole.replace(tag, code.to_bytes(4, "little") + tag[4:]))
    with pytest.raises(InputError, match=f"unknown type {code}"):
        read_points(path)


def test_positions_outside_a_sparse_matrix_are_refused(tmp_path):
    matrix = sparse.random_array((20, 6), density=0.3, rng=0, format="csc")
    matrix.indices[3] = 10**8
    savemat(tmp_path / "a.mat", {"X": matrix})
    with pytest.raises(InputError, match="cannot be read"):
        read_points(tmp_path / "a.mat")


@pytest.mark.parametrize("packed", [True, False])
def test_changed_bytes_end_in_a_refusal_or_in_numbers(tmp_path, packed):
    path = tmp_path / "a.mat"
    rng = np.random.default_rng(0)
    savemat(path, {"X": rng.random((10, 4)), "t": "text"}, do_compression=packed)
    whole = path.read_bytes()
    refusals = 0
    for _ in range(400):
        spoilt = bytearray(whole)
        spoilt[rng.integers(120, 240)] = rng.integers(256)
        path.write_bytes(spoilt)
        try:
            assert np.isfinite(read_points(path).points).all()
        except InputError:
            refusals += 1
    assert refusals > 50
