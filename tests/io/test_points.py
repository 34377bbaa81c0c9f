"""Arrays in files: every format gives back what was written, or says what is wrong."""

import sys

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from ekss.io import InputError, read_points


def write_npy(path, array):
    np.save(path, array)


def write_upper_case(path, array):
    with open(path, "wb") as stream:
        np.save(stream, array)


def write_npz(path, array):
    np.savez_compressed(path, X=array, y=np.arange(len(array)))


def write_mat(path, array):
    savemat(path, {"X": array, "y": np.arange(len(array)), "name": "some text"})


def write_h5(path, array):
    with h5py.File(path, "w") as file:
        file["group/X"] = array
        file["y"] = np.arange(len(array))
        file["name"] = "some text"


WRITERS = {
    "a.npy": write_npy,
    "a.npz": write_npz,
    "a.mat": write_mat,
    "a.h5": write_h5,
    "a.hdf5": write_h5,
    "A.NPY": write_upper_case,
}


@pytest.fixture(params=[*WRITERS, "v73.mat"])
def write(request, matlab73, tmp_path):
    def into_file(array):
        path = tmp_path / request.param
        if request.param == "v73.mat":
            matlab73(path, {"X": array, "y": np.arange(len(array))[:, None]})
        else:
            WRITERS[request.param](path, array)
        return path

    return into_file


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int32])
def test_table_comes_back(write, dtype):
    array = (np.random.default_rng(0).random((7, 4)) * 200).astype(dtype)
    found = read_points(write(array))
    wanted = np.float32 if dtype == np.float32 else np.float64
    assert found.points.dtype == wanted
    assert found.points.flags.c_contiguous
    np.testing.assert_array_equal(found.points, array.astype(wanted))
    assert found.kind == "table"
    assert (found.ids, found.image_shape, found.n_frames) == (None, None, None)


def test_images_come_back(write):
    array = np.random.default_rng(0).random((6, 5, 4))
    found = read_points(write(array))
    assert found.kind == "images"
    assert found.image_shape == (5, 4)
    np.testing.assert_array_equal(found.points, array.reshape(6, 20))


def test_tracks_come_back_as_rows_of_points(write):
    array = np.random.default_rng(0).random((5, 2, 8))
    found = read_points(write(array))
    assert found.kind == "tracks"
    assert found.n_frames == 5
    assert found.points.shape == (8, 10)
    for point in range(8):
        for frame in range(5):
            x, y = found.points[point, 2 * frame : 2 * frame + 2]
            assert (x, y) == tuple(array[frame, :, point])


def test_hopkins_layout_gives_the_same_rows_as_frames_by_two(write):
    tracks = np.random.default_rng(0).random((5, 2, 8))
    homogeneous = np.ones((3, 8, 5))
    homogeneous[:2] = tracks.transpose(1, 2, 0)
    found = read_points(write(homogeneous))
    assert (found.kind, found.n_frames) == ("tracks", 5)
    np.testing.assert_array_equal(
        found.points, tracks.transpose(2, 0, 1).reshape(8, 10)
    )


def test_three_images_are_no_tracks(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((3, 4, 5)))
    assert read_points(tmp_path / "a.npy").kind == "images"
    np.save(tmp_path / "a.npy", np.ones((3, 4, 5)))
    assert read_points(tmp_path / "a.npy").kind == "images"


def test_colour_stack_is_greyed_or_kept(tmp_path):
    grey = np.random.default_rng(0).random((4, 5, 6, 1))
    np.save(tmp_path / "a.npy", np.repeat(grey, 3, axis=3))
    found = read_points(tmp_path / "a.npy")
    assert found.image_shape == (5, 6)
    np.testing.assert_allclose(found.points, grey.reshape(4, 30))
    kept = read_points(tmp_path / "a.npy", grey=False)
    assert (kept.points.shape, kept.image_shape) == ((4, 90), None)
    np.save(tmp_path / "a.npy", grey)
    np.testing.assert_array_equal(
        read_points(tmp_path / "a.npy").points, grey.reshape(4, 30)
    )


def test_stack_is_resized(tmp_path):
    blocks = np.random.default_rng(0).random((4, 3, 5))
    np.save(tmp_path / "a.npy", blocks.repeat(4, axis=1).repeat(4, axis=2))
    found = read_points(tmp_path / "a.npy", image_size=(12, 20))
    assert found.image_shape == (12, 20)
    small = read_points(tmp_path / "a.npy", image_size=(6, 10))
    assert small.points.shape == (4, 60)
    np.testing.assert_allclose(
        small.points.mean(axis=1), found.points.mean(axis=1), rtol=0.02
    )


@pytest.mark.parametrize("name", ["a.npz", "a.mat", "v73.mat", "a.h5"])
def test_key_chooses(tmp_path, matlab73, name):
    arrays = {"A": np.zeros((3, 4)), "B": np.full((5, 2), 2.0)}
    path = tmp_path / name
    if name == "a.npz":
        np.savez(path, **arrays)
    elif name == "a.mat":
        savemat(path, arrays)
    elif name == "v73.mat":
        matlab73(path, arrays)
    else:
        with h5py.File(path, "w") as file:
            file.update(arrays)
    found = read_points(path, key="B")
    np.testing.assert_array_equal(found.points, arrays["B"])
    assert found.source == f"{name}[B]"
    with pytest.raises(InputError, match=r"2 arrays .* A \(3 x 4, .*, B \(5 x 2, "):
        read_points(path)
    with pytest.raises(InputError, match=r"no array 'C'; it holds A \(3 x 4"):
        read_points(path, key="C")


def test_nested_key(tmp_path):
    write_h5(tmp_path / "a.h5", np.ones((3, 4)))
    assert read_points(tmp_path / "a.h5", key="group/X").points.shape == (3, 4)
    assert read_points(tmp_path / "a.h5", key="/group/X").points.shape == (3, 4)


def test_bytes_of_the_other_order_and_half_precision(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    for dtype, wanted in ((">f8", "float64"), (">f4", "float32"), ("<f2", "float32")):
        np.save(tmp_path / "a.npy", array.astype(dtype))
        found = read_points(tmp_path / "a.npy").points
        assert found.dtype.isnative
        assert found.dtype.name == wanted
        np.testing.assert_array_equal(found, array)


def test_sparse_matrices_of_matlab(tmp_path):
    array = sparse.random_array((20, 6), density=0.3, rng=0, format="csc")
    savemat(tmp_path / "a.mat", {"X": array})
    np.testing.assert_array_equal(
        read_points(tmp_path / "a.mat").points, array.toarray()
    )
    with h5py.File(tmp_path / "b.mat", "w", userblock_size=512) as file:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = np.uint64(20)
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group["data"], group["ir"] = array.data, array.indices.astype(np.uint64)
        group["jc"] = array.indptr.astype(np.uint64)
    np.testing.assert_array_equal(
        read_points(tmp_path / "b.mat").points, array.toarray()
    )


BAD_ARRAYS = {
    "complex": (np.ones((3, 2)) * 1j, "complex numbers"),
    "text": (np.array([["a", "b"], ["c", "d"]]), "holds text"),
    "nan": (np.array([[1.0, 2.0], [3.0, np.nan]]), "nan at row 1, column 1"),
    "inf": (np.array([[1.0, -np.inf], [3.0, np.nan]]), "-inf at row 0, column 1"),
    "one row": (np.ones((1, 5)), "1 row"),
    "no row": (np.ones((0, 5)), "is empty"),
    "no column": (np.ones((5, 0)), "is empty"),
    "vector": (np.ones(5), r"shape \(5,\)"),
    "scalar": (np.array(5.0), r"shape \(\)"),
    "five axes": (np.ones((2, 2, 2, 2, 2)), "two axes"),
    "points last": (np.ones((9, 5, 2)), "turn its axes"),
    "one track": (np.ones((9, 2, 1)), "1 row"),
    "dates": (np.array([["2026-01-01"]] * 2, "M8[D]"), "holds dates"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_unfit_array_is_refused(tmp_path, case):
    array, reason = BAD_ARRAYS[case]
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match=reason) as caught:
        read_points(tmp_path / "a.npy")
    assert "a.npy" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nan_far_down_is_found(tmp_path):
    array = np.zeros((10_000, 3))
    array[9_000, 2] = np.nan
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match="nan at row 9000, column 2"):
        read_points(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_pickled_objects_are_not_run(tmp_path, name):
    class Bomb:
        def __reduce__(self):
            return exec, ("raise SystemExit",)

    array = np.array([[Bomb(), 1], [2, 3]], dtype=object)
    save = np.save if name == "a.npy" else np.savez
    save(tmp_path / name, array)
    with pytest.raises(InputError, match="Python objects"):
        read_points(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.mat", "v73.mat", "a.h5"])
@pytest.mark.parametrize("spoil", ["cut", "text", "noise", "empty"])
def test_spoilt_file_is_refused_in_one_line(tmp_path, matlab73, name, spoil):
    path = tmp_path / name
    array = np.random.default_rng(0).random((50, 40))
    if name == "v73.mat":
        matlab73(path, {"X": array})
    else:
        WRITERS[name](path, array)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "text": b"<html>not found</html>",
            "noise": np.random.default_rng(0).bytes(3000),
            "empty": b"",
        }[spoil]
    )
    with pytest.raises(InputError) as caught:
        read_points(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_header_that_claims_too_much_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((10, 10)))
    path.write_bytes(path.read_bytes().replace(b"(10, 10), ", b"(10, 99), "))
    with pytest.raises(InputError, match="cannot be read"):
        read_points(path)


def test_wrong_paths_and_endings(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_points(tmp_path / "none.npy")
    for name in ("a.doc", "noending", "b.png"):
        (tmp_path / name).write_text("1 2 3")
        with pytest.raises(
            InputError, match=r"\.csv, \.tsv, .*\.parquet, \.npy, \.npz"
        ):
            read_points(tmp_path / name)
    with pytest.raises(InputError, match="name their folder"):
        read_points(tmp_path / "b.png")


def test_options_without_meaning_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 4)))
    np.save(tmp_path / "t.npy", np.ones((3, 2, 4)))
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    cases = [
        ("a.npy", {"key": "X"}, "leave the key out"),
        ("a.npy", {"id_column": 0}, "not a table"),
        ("a.npy", {"header": True}, "not a table"),
        ("a.npy", {"drop": ["x"]}, "not a table"),
        ("a.npy", {"image_size": (2, 2)}, "not images"),
        ("t.npy", {"image_size": (2, 2)}, "not images"),
        ("a.csv", {"key": "X"}, "is a table"),
        ("a.csv", {"image_size": (2, 2)}, "is a table"),
        ("a.npy", {"image_size": (0, 2)}, "not a size"),
        ("a.npy", {"image_size": 7}, "not a size"),
        ("a.npy", {"image_size": (10**6, 10**6)}, "not a size"),
    ]
    for name, options, reason in cases:
        with pytest.raises(InputError, match=reason):
            read_points(tmp_path / name, **options)


def test_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    write_h5(tmp_path / "a.h5", np.ones((3, 4)))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match=r"h5py.*pip install 'ekss\[files\]'"):
        read_points(tmp_path / "a.h5")


@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.npz", "a.parquet", "tracks.npy"])
def test_one_row_is_read_where_it_is_enough(tmp_path, name):
    path, row = tmp_path / name, [[1.5, 2.0, 3.0, 4.0]]
    if name == "a.csv":
        path.write_text("a,b,c,d\n1.5,2,3,4\n")
    elif name == "a.npz":
        np.savez(path, X=np.array(row))
    elif name == "a.parquet":
        pandas = pytest.importorskip("pandas", reason="writes the .parquet file")
        pandas.DataFrame(row, columns=list("abcd")).to_parquet(path, index=False)
    else:
        values = np.array(row)
        np.save(path, values.reshape(2, 2, 1) if name == "tracks.npy" else values)
    assert read_points(path, least_rows=1).points.tolist() == row
    with pytest.raises(InputError, match=r"1 row, .* at least 2 are needed"):
        read_points(path)
    with pytest.raises(InputError, match=r"1 row, .* at least 3 are needed"):
        read_points(path, least_rows=3)


@pytest.mark.parametrize("least", [0, -1, 1.5, None])
def test_least_rows_below_one_is_refused(tmp_path, least):
    with pytest.raises(InputError, match=r"least_rows=.*; pass at least 1"):
        read_points(tmp_path, least_rows=least)
