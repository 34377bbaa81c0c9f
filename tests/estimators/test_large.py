"""EKSS on rows that are not in memory, and on a Dask cluster."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import dask.array as da
import h5py
import joblib
import numpy as np
import pytest
import zarr
from distributed import WorkerPlugin

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import vote
from ekss.metrics import clustering_error

SETTINGS = {"n_clusters": 3, "subspace_dim": 3, "n_neighbors": 10, "n_members": 30}


def model(**changes):
    return EKSS(**{**SETTINGS, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=20,
        n_per_subspace=10_000,
        noise=0.1,
        random_state=0,
    )


@pytest.fixture(scope="module")
def points(planted):
    return planted.data.astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def small_sample():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote, "RULES", replace(vote.RULES, fitted_rows=600))
        yield


@pytest.fixture(scope="module")
def in_memory(points, small_sample):
    return model().fit(points)


def memory_map(points, folder):
    np.save(folder / "points.npy", points)
    return np.load(folder / "points.npy", mmap_mode="r")


def hdf5(points, folder):
    with h5py.File(folder / "points.h5", "w") as file:
        file.create_dataset("points", data=points, chunks=(1000, 20))
    return h5py.File(folder / "points.h5")["points"]


def zarr_array(points, folder):
    return zarr.create_array(folder / "points.zarr", data=points, chunks=(900, 7))


def dask_array(points, folder):
    return da.from_array(points, chunks=(1700, -1))


def assert_same(found, expected):
    """Sample, members and cut to the last bit; the pass over all rows nearly so."""
    assert np.array_equal(found.sample_, expected.sample_)
    assert np.array_equal(found.member_labels_, expected.member_labels_)
    assert found.member_weights_.tobytes() == expected.member_weights_.tobytes()
    assert found.affinity_.data.tobytes() == expected.affinity_.data.tobytes()
    assert np.array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.bases_, expected.bases_, atol=1e-5)


def test_planted_labels_are_found_from_a_sample(planted, in_memory):
    assert len(in_memory.sample_) == 600
    assert clustering_error(planted.target, in_memory.labels_) < 0.01


@pytest.mark.parametrize("source", [memory_map, hdf5, zarr_array, dask_array])
def test_labels_are_those_of_the_rows_in_memory(source, points, in_memory, tmp_path):
    found = model(n_jobs=2).fit(source(points, tmp_path))
    assert_same(found, in_memory)


def test_dask_array_on_a_cluster_gives_the_labels_of_rows_in_memory(
    client, points, in_memory, tmp_path
):
    found = model().fit(dask_array(points, tmp_path))
    assert_same(found, in_memory)


class Dying(WorkerPlugin):
    """Kill one worker when it has run a task of this name."""

    def __init__(self, name, flag):
        self.name = name
        self.flag = str(flag)

    def transition(self, key, start, finish, **details):
        if finish == "memory" and self.name in str(key):
            try:
                Path(self.flag).touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def dying(client, tmp_path):
    """Return a function that makes a worker die; it must have died in the end."""
    names = []

    def die_after(task):
        client.register_plugin(Dying(task, tmp_path / "died"), name=task)
        names.append(task)

    yield die_after
    for name in names:
        client.unregister_worker_plugin(name)
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("task", ["_run_chunk", "unpacked"])
def test_fit_of_a_dask_array_is_right_when_a_worker_is_killed(
    dying, points, in_memory, tmp_path, task
):
    dying(task)
    assert_same(model().fit(dask_array(points, tmp_path)), in_memory)


def test_members_run_on_a_cluster_through_joblib(client, points):
    few = points[::30]
    serial = model().fit(few)
    with joblib.parallel_config("dask"):
        on_workers = model().fit(few)
    assert on_workers.labels_.tobytes() == serial.labels_.tobytes()
    assert on_workers.member_labels_.tobytes() == serial.member_labels_.tobytes()
    assert on_workers.bases_.tobytes() == serial.bases_.tobytes()


@pytest.mark.parametrize("source", [hdf5, dask_array])
def test_members_run_on_a_cluster_wherever_the_rows_are(
    client, points, in_memory, tmp_path, source
):
    with joblib.parallel_config("dask"):
        assert_same(model().fit(source(points, tmp_path)), in_memory)


def test_members_are_right_when_a_worker_is_killed(dying, points):
    few = points[::30]
    serial = model().fit(few)
    dying("_run_batch")
    with joblib.parallel_config("dask"):
        on_workers = model().fit(few)
    assert on_workers.labels_.tobytes() == serial.labels_.tobytes()


def test_row_that_is_not_finite_is_named(points, tmp_path):
    spoilt = points.copy()
    spoilt[12_345, 6] = np.nan
    with pytest.raises(ValueError, match="row 12345 holds nan"):
        model(missing="error").fit(memory_map(spoilt, tmp_path))
