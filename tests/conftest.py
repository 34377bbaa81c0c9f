"""Threads of BLAS, and one small Dask cluster for all tests that need one."""

import os
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

# Tests run in one process per core, on small matrices: more threads of BLAS would only
# wait for one another, and waiting takes more of the processor than the work. Processes
# that tests start inherit this; it has to be said before numpy is imported.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Let BLAS and OpenMP have two threads, for what must limit or restore them."""
    with threadpool_limits(2):
        yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[object]:
    """Two worker processes over TCP, and a client that is nobody's default."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            protocol="tcp://",
            dashboard_address=":0",
            memory_limit="1GB",
        ) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster) -> Iterator[object]:
    """The client of the cluster as the current one, with both workers alive."""
    try:
        cluster.wait_for_workers(2, timeout=30)
    except TimeoutError:  # a worker that a test killed did not come back
        cluster.cluster.scale(0)
        cluster.cluster.scale(2)
        cluster.wait_for_workers(2, timeout=60)
    with cluster.as_current():
        yield cluster


@pytest.fixture(autouse=True)
def holds_nothing(monkeypatch):
    """Let limits of memory not depend on what earlier tests left in this process."""
    monkeypatch.setattr("ekss.runtime.memory.resident_bytes", lambda: 0.0)
