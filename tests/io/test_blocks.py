"""Large tables stay on the disk, and give the labels that they give in memory."""

import json
import os
import re
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.io import InputError, _spool, read_points
from ekss.runtime.rows import MemoryRows, give_back, is_memory_map

DATA = make_union_of_subspaces(3, 2, n_features=12, n_per_subspace=70, random_state=0)
X = DATA.data


@pytest.fixture
def large(monkeypatch):
    """Let every table count as large."""
    monkeypatch.setattr(_spool, "_LARGE", 0)
    monkeypatch.setattr(_spool, "_MANY_ROWS", 0)


def write_h5(path, values):
    with h5py.File(path, "w") as file:
        file.create_dataset("deep/points", data=values, chunks=(40, 5), compression=4)


def write_parquet(path, values):
    names = [f"x{i}" for i in range(values.shape[1])]
    columns = dict(zip(names, values.T, strict=True))
    pq.write_table(pa.table(columns), path, row_group_size=37)


def write_zarr(path, values):
    zarr.create_array(path, data=values, chunks=(40, 12))


def write_old_zarr(path, values):
    zarr.create_array(path, data=values, chunks=(40, 7), zarr_format=2)


WRITERS = {
    "a.npy": np.save,
    "a.h5": write_h5,
    "a.parquet": write_parquet,
    "a.zarr": write_zarr,
    "old.zarr": write_old_zarr,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_what_stays_on_the_disk_is_what_is_read(tmp_path, large, name, dtype):
    values = (X * 100).astype(dtype)
    WRITERS[name](tmp_path / name, values)
    mapped = read_points(tmp_path / name, in_blocks=True)
    whole = read_points(tmp_path / name)
    assert is_memory_map(mapped.points)
    assert not is_memory_map(whole.points)
    np.testing.assert_array_equal(mapped.points, values)
    np.testing.assert_array_equal(whole.points, values)
    assert mapped.source == whole.source
    assert mapped.feature_names == whole.feature_names


def test_matlab_turns_its_axes(tmp_path, large, matlab73):
    matlab73(tmp_path / "a.mat", {"points": X})
    found = read_points(tmp_path / "a.mat", in_blocks=True)
    assert is_memory_map(found.points)
    np.testing.assert_array_equal(found.points, X)


def test_small_tables_are_read_whole(tmp_path):
    np.save(tmp_path / "a.npy", X)
    assert not is_memory_map(read_points(tmp_path / "a.npy", in_blocks=True).points)


def test_ids_and_text_beside_numbers_on_the_disk(tmp_path, large):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    frame.insert(0, "who", [f"p{i}" for i in range(len(X))])
    frame["kind"], frame["few"] = "same", np.arange(len(X)) % 2 == 0
    frame.to_parquet(tmp_path / "a.parquet")
    found = read_points(tmp_path / "a.parquet", in_blocks=True)
    np.testing.assert_array_equal(found.points[:, :12], X)
    np.testing.assert_array_equal(found.points[:, 12], frame["few"])
    assert (found.ids[:2], found.left_out) == (("p0", "p1"), ("kind",))
    some = read_points(tmp_path / "a.parquet", in_blocks=True, take=["x3:x5", "x1"])
    np.testing.assert_array_equal(some.points, X[:, [3, 4, 5, 1]])


def test_arrays_of_a_zarr_group_are_chosen_by_key(tmp_path, large):
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("a", data=X)
    group.create_array("b", data=2 * X)
    with pytest.raises(InputError, match=r"2 arrays that may be points.* a .*, b "):
        read_points(tmp_path / "g.zarr")
    np.testing.assert_array_equal(
        read_points(tmp_path / "g.zarr", key="b", in_blocks=True).points, 2 * X
    )


def test_zarr_that_would_run_code_or_read_elsewhere_is_refused(tmp_path):
    path = tmp_path / "a.zarr"
    write_old_zarr(path, X)
    about = json.loads((path / ".zarray").read_text())
    for change in ({"filters": [{"id": "pickle"}]}, {"compressor": {"id": "odd"}}):
        (path / ".zarray").write_text(json.dumps({**about, **change}))
        with pytest.raises(InputError, match=r"is packed by '(pickle|odd)'"):
            read_points(path)
    (path / ".zarray").write_text(json.dumps({**about, "dtype": "|O"}))
    with pytest.raises(InputError, match=r"a\.zarr"):
        read_points(path)
    (path / ".zarray").write_text(json.dumps(about))
    chunk = next(p for p in path.iterdir() if p.name[0].isdigit())
    chunk.unlink()
    chunk.symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="is a link or no regular file"):
        read_points(path)
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(InputError, match="is a link or no regular file"):
        read_points(path)


@pytest.mark.parametrize("name", ["a.npy", "a.h5", "a.parquet", "a.zarr"])
def test_damaged_files_are_refused(tmp_path, large, name):
    path = tmp_path / name
    WRITERS[name](path, X)
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=name):
        read_points(path, in_blocks=True)


def test_a_full_disk_is_told_before_anything_is_written(tmp_path, large, monkeypatch):
    write_parquet(tmp_path / "a.parquet", X)
    usage = type("Usage", (), {"free": 10.0})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(InputError, match=r"takes 0 MB on the disk.*TMPDIR"):
        read_points(tmp_path / "a.parquet", in_blocks=True)


def test_labels_do_not_depend_on_where_the_rows_are(tmp_path, large):
    write_parquet(tmp_path / "a.parquet", X)
    mapped = read_points(tmp_path / "a.parquet", in_blocks=True).points
    model = EKSS(3, 2, n_members=20, max_samples=100, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(mapped), model.fit_predict(X))


def resident_kilobytes(path):
    """Memory that maps of a file take; 0 where the system does not tell."""
    maps = Path("/proc/self/smaps")
    if not maps.exists():
        return 0
    parts = re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", maps.read_text())
    own = [part for part in parts if str(path) in part]
    return sum(int(re.search(r"\nRss: +(\d+)", part)[1]) for part in own)


def test_pages_of_a_map_are_given_back(tmp_path, monkeypatch):
    monkeypatch.undo()
    np.save(tmp_path / "a.npy", np.ones((400_000, 20)))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    rows = MemoryRows(mapped)
    total = sum(rows.map(lambda block, first: block.sum()))
    assert total == 8_000_000
    taken = rows.take(np.arange(0, 400_000, 50))
    np.testing.assert_array_equal(taken, np.ones((8000, 20)))
    assert float(mapped.sum()) == 8_000_000
    give_back(mapped[10:])
    assert resident_kilobytes(tmp_path / "a.npy") < 4096
    own = np.load(tmp_path / "a.npy", mmap_mode="c")
    own[0, 0] = 5
    give_back(own)
    assert own[0, 0] == 5
