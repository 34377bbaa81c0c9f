import os
import signal
import sys
import time
from pathlib import Path
from threading import Event, Thread

import cloudpickle
import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ekss.runtime.workers import (
    map_numbers,
    one_blas_thread,
    progress,
    say,
    stage_seconds,
)

# The workers of a cluster cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

QUIET = {"n_jobs": None, "description": "", "show": False}


def threads(kind):
    pools = threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == kind}


def threads_of_blas(number=0):
    return threads("blas")


@pytest.mark.parametrize("backend", ["threading", "loky", "sequential"])
def test_results_come_in_order_from_any_backend(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        found = list(map_numbers(lambda number: number**2, 30, **QUIET))
    assert found == [number**2 for number in range(30)]


def test_shared_work_stays_in_this_process():
    with joblib.parallel_config("loky", n_jobs=2):
        here = set(map_numbers(lambda number: os.getpid(), 8, **QUIET, shared=True))
        there = set(map_numbers(lambda number: os.getpid(), 8, **QUIET))
    assert here == {os.getpid()}
    assert os.getpid() not in there


def test_blas_is_limited_inside_and_as_before_outside(two_threads):
    before = threads_of_blas()
    assert before == {2}
    with one_blas_thread():
        assert threads_of_blas() == {1}
        with one_blas_thread():
            pass
        assert threads_of_blas() == {1}
    assert threads_of_blas() == before


def test_blas_is_limited_in_any_thread(two_threads):
    found = []

    def look():
        with one_blas_thread():
            found.append(threads_of_blas())

    with one_blas_thread():
        pass
    thread = Thread(target=look)
    thread.start()
    thread.join()
    assert found == [{1}]


def test_limit_is_lifted_by_another_thread_than_the_one_that_set_it(two_threads):
    before = threads("blas"), threads("openmp")
    entered, left = Event(), Event()

    def outlive():
        with one_blas_thread():
            entered.set()
            left.wait()

    thread = Thread(target=outlive)
    with one_blas_thread():
        thread.start()
        entered.wait()
    assert threads_of_blas() == {1}
    left.set()
    thread.join()
    assert (threads("blas"), threads("openmp")) == before


def test_openmp_is_limited_inside_and_lifted_in_the_same_thread():
    import sklearn.cluster  # noqa: F401  (loads OpenMP)

    with threadpool_limits(2):
        with one_blas_thread():
            assert threads("openmp") == {1}
        assert threads("openmp") == {2}


def test_dask_backend_limits_blas_on_its_workers(client):
    with joblib.parallel_config("dask"):
        assert list(map_numbers(threads_of_blas, 4, **QUIET)) == [{1}] * 4


class Counted:
    """A large function that writes a file each time it arrives somewhere."""

    def __init__(self, folder):
        self.folder = folder
        self.points = np.random.default_rng(0).random(2_000_000)

    def __setstate__(self, state):
        self.__dict__ = state
        (Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, number):
        return self.points[number]


def test_dask_backend_gets_the_data_once_for_each_worker(client, tmp_path):
    function = Counted(str(tmp_path))
    with joblib.parallel_config("dask"):
        found = list(map_numbers(function, 40, **QUIET))
    assert found == function.points[:40].tolist()
    assert 1 <= len(list(tmp_path.iterdir())) <= 2


def test_dask_backend_is_right_when_a_worker_is_killed(client, tmp_path):
    flag = tmp_path / "died"

    def dies_once(number):
        if number == 20:
            try:
                flag.touch(exist_ok=False)
            except FileExistsError:
                return number
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with joblib.parallel_config("dask"):
        assert list(map_numbers(dies_once, 40, **QUIET)) == list(range(40))
    assert flag.exists()


def test_stages_are_timed_for_whoever_listens_and_inner_ones_are_parts():
    with stage_seconds() as seconds:
        for _ in range(2):
            with progress("outer", None, show=False):
                time.sleep(0.02)
                list(map_numbers(str, 3, **{**QUIET, "description": "inner"}))
        list(map_numbers(str, 3, **{**QUIET, "description": "later"}))
    assert set(seconds) == {"outer", "later"}
    assert seconds["outer"] >= 0.04
    with progress("unheard", None, show=False):
        pass
    assert "unheard" not in seconds


def test_stage_that_fails_is_timed_and_the_next_one_too():
    with stage_seconds() as seconds:
        with pytest.raises(KeyError), progress("broken", None, show=False):
            raise KeyError
        with progress("whole", None, show=False):
            pass
    assert list(seconds) == ["broken", "whole"]


def test_line_is_shown_on_stderr_as_it_is(capsys):
    say("[bold] about 1.2 GB", show=True)
    say("nothing", show=False)
    shown = capsys.readouterr()
    assert shown.err == "[bold] about 1.2 GB\n"
    assert shown.out == ""
