import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from ekss.runtime.dask import DaskRows
from ekss.runtime.rows import as_rows

# The workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

N, D, HEIGHT = 5000, 6, 700


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((N, D)).astype(np.float32)


def chunked(points, height=HEIGHT):
    return da.from_array(points, chunks=(height, -1))


def copied(block, first_row):
    return first_row, block.copy()


def assert_is_everything(results, points):
    starts = [first for first, _ in results]
    assert starts == sorted(starts)
    assert np.array_equal(np.concatenate([block for _, block in results]), points)


def process_id(block, first_row):
    return os.getpid()


def test_work_runs_in_the_worker_processes(client, points):
    workers = set(client.run(os.getpid).values())
    assert len(workers) == 2
    assert os.getpid() not in workers
    assert set(as_rows(chunked(points)).map(process_id)) <= workers


def test_work_runs_here_without_a_client(points):
    assert set(as_rows(chunked(points)).map(process_id)) == {os.getpid()}


def test_setting_of_the_scheduler_overrules_the_client(client, points):
    with dask.config.set(scheduler="threads"):
        assert set(as_rows(chunked(points)).map(process_id)) == {os.getpid()}


def test_map_and_take_on_a_cluster_give_the_rows(client, points):
    rows = as_rows(chunked(points))
    assert_is_everything(list(rows.map(copied)), points)
    index = np.array([0, 1, 699, 700, 2800, 4999])
    assert np.array_equal(rows.take(index), points[index])


def test_chunks_without_rows_are_skipped(points):
    rows = as_rows(da.concatenate([chunked(points), da.ones((0, D)), da.ones((3, D))]))
    results = list(rows.map(lambda block, first_row: (first_row, len(block))))
    assert results[-2:] == [(4900, 100), (5000, 3)]
    assert np.array_equal(rows.take(np.array([5000])), np.ones((1, D)))


def test_large_chunks_are_worked_on_in_blocks():
    tall = da.ones((40_000, 2), chunks=-1)
    heights = list(as_rows(tall).map(lambda block, first_row: len(block)))
    assert len(heights) > 1
    assert sum(heights) == 40_000


def one_thread(block, first_row):
    return [pool["num_threads"] for pool in threadpool_info()]


@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_blas_has_one_thread_in_tasks(client, points, scheduler, two_threads):
    with dask.config.set(scheduler=scheduler):
        for threads in as_rows(chunked(points)).map(one_thread):
            assert set(threads) == {1}


class Counted:
    """A large function that writes a file each time it arrives somewhere."""

    def __init__(self, folder):
        self.folder = folder
        self.bases = np.random.default_rng(0).random(2_000_000)

    def __setstate__(self, state):
        self.__dict__ = state
        (Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, block, first_row):
        return self.bases[-1]


def test_large_function_travels_once_to_a_worker(client, points, tmp_path):
    function = Counted(str(tmp_path))
    rows = as_rows(chunked(points, 100))
    assert list(rows.map(function)) == [function.bases[-1]] * 50
    arrivals = len(list(tmp_path.iterdir()))
    assert 1 <= arrivals <= 2


def recorded(block, folder, block_info=None):
    """Make a chunk, and write down how many are made but not yet worked on."""
    name = f"made-{block_info[0]['chunk-location'][0]}"
    names = [path.name for path in Path(folder).iterdir()]
    made = sum(other.startswith("made") for other in names)
    done = sum(other.startswith("done") for other in names)
    (Path(folder) / name).write_text(str(made + 1 - done))
    return block + 0


def slow(folder, block, first_row):
    time.sleep(0.01)
    (Path(folder) / f"done-{first_row}").touch()


@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_few_chunks_are_in_memory_at_a_time(client, tmp_path, scheduler):
    made = da.ones((400, 3), chunks=(10, 3)).map_blocks(
        recorded, str(tmp_path), dtype=np.float64, meta=np.empty((0, 0))
    )
    with dask.config.set(scheduler=scheduler):
        results = list(as_rows(made).map(partial(slow, str(tmp_path)), n_jobs=2))
    assert len(results) == 40
    in_flight = [int(path.read_text()) for path in tmp_path.glob("made-*")]
    assert len(in_flight) == 40
    assert max(in_flight) <= 2


def dies_once(folder, block, first_row):
    if first_row == 3 * HEIGHT:
        try:
            (Path(folder) / "died").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return first_row, block.copy()


@pytest.mark.parametrize("kept", [False, True], ids=["made on the fly", "persisted"])
def test_map_is_right_when_a_worker_is_killed(client, points, tmp_path, kept):
    before = set(client.run(os.getpid).values())
    array = chunked(points) * 1
    if kept:
        array = client.persist(array)
    results = list(as_rows(array).map(partial(dies_once, str(tmp_path))))
    assert_is_everything(results, points)
    client.wait_for_workers(2, timeout=60)
    # The scheduler may not have noticed yet that one of its workers is gone.
    after = set(client.run(os.getpid, on_error="ignore").values())
    assert len(before - after) == 1


def fails(block, first_row):
    raise KeyError("of the function")


def test_error_of_the_function_arrives(client, points):
    with pytest.raises(KeyError, match="of the function"):
        list(as_rows(chunked(points)).map(fails))


@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_not_finite_row_is_named(client, points, scheduler):
    points[2345, 3] = np.nan
    rows = as_rows(chunked(points))
    with dask.config.set(scheduler=scheduler):
        with pytest.raises(ValueError, match="row 2345 holds nan"):
            list(rows.map(copied))
        with pytest.raises(ValueError, match="row 2345 holds nan"):
            rows.take(np.array([7, 2345]))


REFUSED = {
    "columns": (lambda: da.ones((9, 4), chunks=(3, 2)), r"X\.rechunk\({1: -1}\)"),
    "unknown": (lambda: da.ones((9, 4))[da.ones(9) > 0], r"X\.compute_chunk_sizes\(\)"),
    "large": (
        lambda: da.ones((10**7, 10), chunks=-1),
        r"763 MB, .*256 MB.*X\.rechunk\({0: 838860}\)",
    ),
    "vector": (lambda: da.ones(9), r"shape \(9,\).*reshape"),
    "complex": (lambda: da.ones((9, 4), dtype=complex), "complex128.*convert"),
    "object": (lambda: da.ones((9, 4)).astype(object), "object.*convert"),
    "empty": (lambda: da.ones((0, 4)), r"shape \(0, 4\).*at least one row"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unusable_array_is_refused_with_the_remedy(case):
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        DaskRows(make())


def test_remedies_work():
    many = da.ones((10**7, 10), chunks=-1)
    DaskRows(many.rechunk({0: 838860}))
    DaskRows(da.ones((9, 4), chunks=(3, 2)).rechunk({1: -1}))
    filtered = da.ones((9, 4))[da.ones(9) > 0]
    assert DaskRows(filtered.compute_chunk_sizes()).shape == (9, 4)


def test_chunk_that_is_no_numpy_array_is_refused(points):
    masked = chunked(points).map_blocks(np.ma.masked_invalid)
    with pytest.raises(ValueError, match=r"on is a numpy\.ma\..*X\.map_blocks"):
        list(as_rows(masked).map(copied))


def test_chunk_of_another_shape_than_promised_is_refused(points):
    halved = chunked(points, 2500).map_blocks(lambda block: block[1:])
    with pytest.raises(ValueError, match=r"\(2499, 6\), but .* says \(2500, 6\)"):
        list(as_rows(halved).map(copied))


def test_data_frame_is_refused_with_the_call_that_works(tmp_path):
    dd = pytest.importorskip("dask.dataframe", reason="data frames need pandas")
    import pandas as pd

    table = pd.DataFrame(np.arange(12.0).reshape(6, 2), columns=["a", "b"])
    table.to_parquet(tmp_path / "points.parquet")
    frame = dd.read_parquet(tmp_path / "points.parquet")
    with pytest.raises(ValueError, match=r"X\.to_dask_array\(lengths=True\)"):
        as_rows(frame)
    rows = as_rows(frame.to_dask_array(lengths=True))
    assert np.array_equal(rows.take(np.arange(6)), table.to_numpy())


def test_delayed_object_is_refused():
    with pytest.raises(ValueError, match=r"dask\.array\.from_delayed"):
        as_rows(dask.delayed(np.ones)((3, 2)))
