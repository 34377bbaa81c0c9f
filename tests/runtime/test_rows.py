"""All sources of rows give the same as numpy does on the same data."""

import threading
import time

import dask.array as da
import h5py
import joblib
import numpy as np
import pytest
import zarr

from ekss.runtime.dask import DaskRows
from ekss.runtime.rows import DiskRows, MemoryRows, Rows, as_rows

N, D = 3000, 7
TYPES = ["f4", "f8", "f2", ">f4", "i8", "i2", "u1", "?"]


def matrix(dtype="f4", n_samples=N, n_features=D):
    values = np.random.default_rng(1).standard_normal((n_samples, n_features)) * 50
    return np.abs(values).astype(dtype) if dtype == "u1" else values.astype(dtype)


def numpy_array(values, folder):
    return values


def fortran_array(values, folder):
    return np.asfortranarray(values)


def memory_map(values, folder):
    np.save(folder / "points.npy", values)
    return np.load(folder / "points.npy", mmap_mode="r")


def strided_memory_map(values, folder):
    wide = np.repeat(np.repeat(values, 2, axis=0), 3, axis=1)
    return memory_map(wide, folder)[::2, ::3]


def transposed_memory_map(values, folder):
    return memory_map(np.ascontiguousarray(values.T), folder).T


def hdf5(values, folder, **options):
    with h5py.File(folder / "points.h5", "w") as file:
        file.create_dataset("points", data=values, **options)
    return h5py.File(folder / "points.h5")["points"]


def packed_hdf5(values, folder):
    return hdf5(values, folder, chunks=(100, 2), compression="gzip")


def high_hdf5(values, folder):
    return hdf5(values, folder, chunks=(len(values), 1))


def zarr_array(values, folder, chunks=(128, 3), **options):
    values = values.astype(values.dtype.newbyteorder("="))
    return zarr.create_array(
        folder / "points.zarr", data=values, chunks=chunks, **options
    )


def sharded_zarr(values, folder):
    return zarr_array(values, folder, chunks=(50, D), shards=(500, D))


def dask_array(values, folder):
    return da.from_array(values, chunks=(1100, -1))


SOURCES = {
    numpy_array: MemoryRows,
    fortran_array: MemoryRows,
    memory_map: MemoryRows,
    strided_memory_map: MemoryRows,
    transposed_memory_map: MemoryRows,
    hdf5: DiskRows,
    packed_hdf5: DiskRows,
    high_hdf5: DiskRows,
    zarr_array: DiskRows,
    sharded_zarr: DiskRows,
    dask_array: DaskRows,
}
by_source = pytest.mark.parametrize("source", SOURCES, ids=lambda made: made.__name__)
INDEXES = [[0], [N - 1], [5, 5, 6], range(0, N, 37), [99, 100, 1023, 1024, 2999], []]


def copied(block, first_row):
    assert block.flags.c_contiguous
    return first_row, block.copy()


def assert_maps_to(rows: Rows, values, **options):
    expected = values.astype(rows.dtype)
    end = 0
    for first_row, block in rows.map(copied, **options):
        assert first_row == end
        end += len(block)
        assert block.dtype == rows.dtype
        assert np.array_equal(block, expected[first_row:end])
    assert end == len(values)


@by_source
@pytest.mark.parametrize("dtype", TYPES)
def test_rows_are_those_of_numpy(source, dtype, tmp_path):
    values = matrix(dtype)
    rows = as_rows(source(values, tmp_path))
    assert type(rows) is SOURCES[source]
    assert rows.shape == (N, D)
    assert rows.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    assert rows.dtype.isnative
    assert_maps_to(rows, values)
    for index in INDEXES:
        index = np.array(index, dtype=np.int64)
        taken = rows.take(index)
        assert taken.dtype == rows.dtype
        assert taken.flags.c_contiguous
        assert np.array_equal(taken, values[index].astype(rows.dtype))


@by_source
def test_many_blocks_in_threads_come_in_order(source, tmp_path):
    values = matrix(n_samples=40_000, n_features=2)
    if source is sharded_zarr:
        array = zarr_array(values, tmp_path, chunks=(300, 2), shards=(3000, 2))
    elif source is zarr_array:
        array = zarr_array(values, tmp_path, chunks=(700, 1))
    else:
        array = source(values, tmp_path)
    assert_maps_to(as_rows(array), values, n_jobs=3)


@by_source
def test_only_plain_arrays_are_in_memory(source, tmp_path):
    rows = as_rows(source(matrix(), tmp_path))
    assert rows.in_memory == (source in (numpy_array, fortran_array))


def test_view_of_a_memory_map_is_not_in_memory_but_a_copy_is(tmp_path):
    mapped = memory_map(matrix(), tmp_path)
    assert not as_rows(np.asarray(mapped)[10:]).in_memory
    assert as_rows(mapped[[1, 2]]).in_memory
    assert as_rows(mapped + 1).in_memory


@by_source
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_row_that_is_not_finite_is_named(source, bad, tmp_path):
    values = matrix()
    values[1234, 5] = bad
    rows = as_rows(source(values, tmp_path))
    with pytest.raises(ValueError, match=f"row 1234 holds {bad} in column 5 .* drop"):
        list(rows.map(copied))
    with pytest.raises(ValueError, match=f"row 1234 holds {bad} in column 5 .* drop"):
        rows.take(np.array([7, 1234, 2900]))
    assert len(rows.take(np.array([7, 1235]))) == 2


@by_source
def test_large_entries_are_finite_though_their_sum_is_not(source, tmp_path):
    values = np.full((N, D), 3e38, dtype=np.float32)
    assert_maps_to(as_rows(source(values, tmp_path)), values)


@by_source
def test_rows_that_are_not_there_are_refused(source, tmp_path):
    rows = as_rows(source(matrix(), tmp_path))
    with pytest.raises(ValueError, match=r"rows 0 to 2999; take only those"):
        rows.take(np.array([0, N]))
    with pytest.raises(ValueError, match=r"rows 0 to 2999; take only those"):
        rows.take(np.array([-1, 3]))
    with pytest.raises(ValueError, match="do not ascend; sort them"):
        rows.take(np.array([4, 3, 5]))


@by_source
def test_map_ends_with_the_error_of_the_function(source, tmp_path):
    def fails(block, first_row):
        raise KeyError("of the function")

    with pytest.raises(KeyError, match="of the function"):
        list(as_rows(source(matrix(), tmp_path)).map(fails))


class Reader:
    """An array that counts the blocks which were read and not yet worked on."""

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype, self.chunks = values.shape, values.dtype, None
        self.lock = threading.Lock()
        self.in_flight = self.most = 0

    def __getitem__(self, rows):
        with self.lock:
            self.in_flight += 1
            self.most = max(self.most, self.in_flight)
        return self.values[rows]

    def work(self, block, first_row):
        time.sleep(0.005)
        with self.lock:
            self.in_flight -= 1


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_no_more_blocks_in_memory_than_threads(n_jobs):
    reader = Reader(np.ones((2**14 * 20, 1), dtype=np.uint8))
    assert len(list(DiskRows(reader).map(reader.work, n_jobs=n_jobs))) == 20
    assert reader.most <= n_jobs


class Slices(Reader):
    """An array in chunks of 1000 rows that remembers what was read."""

    def __init__(self, values):
        super().__init__(values)
        self.chunks = (1000, 1)
        self.read = []

    def __getitem__(self, rows):
        self.read.append(rows)
        return super().__getitem__(rows)


def chunks_read(slices):
    return [
        chunk
        for part in slices
        for chunk in range(part.start // 1000, -(-part.stop // 1000))
    ]


def test_every_chunk_of_a_file_is_read_once():
    array = Slices(np.zeros((50_500, 2), dtype=np.float32))
    rows = DiskRows(array)
    list(rows.map(copied))
    assert sorted(chunks_read(array.read)) == list(range(51))
    array.read.clear()
    rows.take(np.sort(np.random.default_rng(0).integers(50_500, size=400)))
    read = chunks_read(array.read)
    assert len(set(read)) == len(read)


def test_take_reads_little_between_rows_far_apart():
    array = Slices(np.zeros((500_000, 2), dtype=np.float32))
    array.chunks = None
    DiskRows(array).take(np.array([3, 20_000, 20_001, 499_999]))
    assert sum(part.stop - part.start for part in array.read) == 4


def test_chunks_too_high_for_memory_are_read_in_parts():
    array = Slices(np.zeros((30_000, 1000), dtype=np.uint8))
    array.chunks = (30_000, 1)
    list(DiskRows(array).map(lambda block, first_row: None))
    assert max(part.stop - part.start for part in array.read) < 2000


@by_source
def test_backend_of_processes_does_not_matter(source, tmp_path):
    values = matrix()
    with joblib.parallel_config("loky", n_jobs=2):
        assert_maps_to(as_rows(source(values, tmp_path)), values)


def test_other_objects_are_left_to_scikit_learn():
    for other in (
        [[1.0, 2.0]],
        None,
        "text",
        np.ones(3),
        np.ones((2, 2), dtype=complex),
        np.ones((2, 2), dtype=object),
        np.ones((0, 2)),
        np.ma.ones((2, 2)),
    ):
        assert as_rows(other) is None


def test_file_is_refused_with_the_remedy(tmp_path):
    dataset = hdf5(matrix(), tmp_path)
    with pytest.raises(ValueError, match=r"group of arrays of h5py.*X\['name'\]"):
        as_rows(dataset.file)
    group = zarr.create_group(tmp_path / "group.zarr")
    with pytest.raises(ValueError, match=r"group of arrays of zarr.*X\['name'\]"):
        as_rows(group)


def test_dataset_that_is_no_matrix_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"HDF5 dataset has shape \(4,\)"):
        as_rows(hdf5(np.ones(4), tmp_path))
    with pytest.raises(ValueError, match=r"zarr array has type complex64"):
        as_rows(zarr_array(np.ones((4, 2), dtype="c8"), tmp_path))


def test_dataset_of_a_closed_file_is_refused(tmp_path):
    dataset = hdf5(matrix(), tmp_path)
    dataset.file.close()
    with pytest.raises(ValueError, match="file of the HDF5 dataset is closed; open"):
        as_rows(dataset)
