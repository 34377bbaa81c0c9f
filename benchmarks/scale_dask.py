"""EKSS on a Dask array that is made on the workers of a local cluster.

Nothing of the array but a sample of its rows comes to this process. The script tells
the seconds of the fit, the error against the planted labels, the highest memory of
every process, and whether a worker was restarted.

    python benchmarks/scale_dask.py --rows 2000000 --memory 2GB
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from ekss import EKSS
from ekss.core.linalg import random_bases
from ekss.metrics import clustering_error
from ekss.runtime.memory import peak_bytes

FEATURES, CLUSTERS, DIM, NOISE, MEMBERS = 50, 10, 5, 0.1, 100


def planted_chunk(
    bases: NDArray[np.floating], number: int, height: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw points on the unit spheres of the subspaces, with noise of norm NOISE."""
    rng = np.random.default_rng([0, number])
    labels = rng.integers(CLUSTERS, size=height)
    weights = rng.standard_normal((height, DIM))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    points = rng.standard_normal((height, FEATURES)) * (NOISE / FEATURES**0.5)
    for k, basis in enumerate(bases):
        points[labels == k] += weights[labels == k] @ basis.T
    return points.astype(np.float32), labels


def make_chunk(
    block: NDArray[Any], bases: NDArray[np.floating], block_info: Any
) -> NDArray[np.float32]:
    number = block_info[0]["chunk-location"][0]
    return planted_chunk(bases, number, len(block))[0]


def planted_array(n_rows: int, height: int, bases: NDArray[np.floating]) -> da.Array:
    counts = da.zeros((n_rows, 1), dtype=np.int8, chunks=(height, 1))
    return counts.map_blocks(
        make_chunk,
        bases,
        dtype=np.float32,
        chunks=(counts.chunks[0], (FEATURES,)),
        meta=np.empty((0, 0), np.float32),
    )


def planted_labels(heights: tuple[int, ...], bases: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate(
        [planted_chunk(bases, number, rows)[1] for number, rows in enumerate(heights)]
    )


def peak_memory() -> tuple[int, float]:
    """Return the id of this process and the most memory it ever had, in MB."""
    return os.getpid(), peak_bytes() / 2**20


def measure(client: Client, n_rows: int, height: int) -> dict[str, float | int]:
    bases = random_bases(CLUSTERS, FEATURES, DIM, np.random.default_rng(0))
    points = planted_array(n_rows, height, bases)
    size = points.nbytes / 2**20
    print(f"{n_rows} x {FEATURES} float32, {size:.0f} MB, {points.npartitions} chunks")
    before = dict(client.run(peak_memory).values())
    start = time.perf_counter()
    model = EKSS(CLUSTERS, DIM, n_members=MEMBERS, random_state=0).fit(points)
    seconds = time.perf_counter() - start
    error = clustering_error(planted_labels(points.chunks[0], bases), model.labels_)
    after = dict(client.run(peak_memory).values())
    measured = {
        "rows": n_rows,
        "features": FEATURES,
        "workers": len(after),
        "seconds": seconds,
        "worker_megabytes": max(after.values()),
        "worker_megabytes_before": max(before.values()),
        "process_megabytes": peak_memory()[1],  # with the scheduler
        "restarted": len(before.keys() - after.keys()),
        "error": 100 * error,
    }
    for process, peak in after.items():
        print(
            f"worker {process}: peak {peak:.0f} MB, {before.get(process, 0):.0f} before"
        )
    for name, value in measured.items():
        print(f"{name}: {value:.6g}")
    return measured


def run(
    n_rows: int = 2_000_000,
    height: int = 100_000,
    workers: int = 2,
    memory: str = "2GB",
) -> dict[str, float | int]:
    """Fit on a local cluster; return what was measured.

    Parameters
    ----------
    n_rows, height : int
        Rows of the array and of a chunk.
    workers : int
        Processes of one thread each.
    memory : str
        Limit of each worker.
    """
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            protocol="tcp://",
            memory_limit=memory,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        return measure(client, n_rows, height)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--chunk", type=int, default=100_000, help="rows of a chunk")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="2GB", help="limit of each worker")
    chosen = parser.parse_args()
    run(chosen.rows, chosen.chunk, chosen.workers, chosen.memory)


if __name__ == "__main__":
    main()
