"""All methods, and those of scikit-learn, on sets that anybody can make.

Every method gets the points as they are and the number of clusters, nothing else, and
does what its defaults say. (HDBSCAN finds the number itself; points that it calls
noise count as errors.) Every method has a process and one core to itself, and is fitted
to each set once to compile and load, and then with three seeds.

    python benchmarks/publish.py methods text           # all, into docs/which.md
    python benchmarks/methods.py --sets planted,faces   # some, to look at
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = range(3)


def planted(seed: int) -> Any:
    from ekss.datasets import make_union_of_subspaces

    return make_union_of_subspaces(
        6, 4, 30, 100, noise=0.3, random_state=seed, return_X_y=True
    )


def spread(seed: int) -> Any:
    from ekss.datasets import make_union_of_subspaces

    X, y = make_union_of_subspaces(
        6, 8, 40, 80, noise=0.3, random_state=seed, return_X_y=True
    )
    return X * np.random.default_rng(seed).uniform(0.2, 2, (len(X), 1)), y


def faces(seed: int) -> Any:
    from ekss.datasets import make_faces_under_light

    return make_faces_under_light(10, 50, random_state=seed, return_X_y=True)


def bodies(seed: int) -> Any:
    from ekss.datasets import make_moving_bodies

    return make_moving_bodies(random_state=seed, return_X_y=True)


def digits(seed: int) -> Any:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def clouds(seed: int) -> Any:
    from sklearn.datasets import make_blobs

    return make_blobs(600, 10, centers=6, cluster_std=2.0, random_state=seed)


SETS: Mapping[str, Callable[[int], Any]] = {
    one.__name__: one for one in (digits, planted, spread, faces, bodies, clouds)
}


def of_ekss(name: str) -> Callable[[int, int], Any]:
    def make(n_clusters: int, seed: int) -> Any:
        import ekss

        return getattr(ekss, name)(n_clusters=n_clusters, random_state=seed)

    return make


def of_sklearn(name: str) -> Callable[[int, int], Any]:
    """Make a clusterer of scikit-learn as Table I has it, on all features."""

    def make(n_clusters: int, seed: int) -> Any:
        from ekss.methods import RIVALS, imported

        return imported(RIVALS[name])(n_clusters, random_state=seed)

    return make


def umap(n_clusters: int, seed: int) -> Any:
    from sklearn.cluster import HDBSCAN
    from sklearn.pipeline import make_pipeline
    from umap import UMAP

    from ekss.benchmarks._rivals import OnComponents

    reduced = UMAP(random_state=seed, n_jobs=1)
    return OnComponents(make_pipeline(reduced, HDBSCAN(copy=True)))


METHODS: Mapping[str, Callable[[int, int], Any]] = {
    **{
        name: of_ekss(name)
        for name in (
            *("EKSS", "KSS", "CoPKSS", "MedianKFlats"),
            *("TSC", "SSC", "SSCOMP", "EnSC"),
        )
    },
    "KMeans": of_sklearn("kmeans"),
    "GaussianMixture": of_sklearn("mixture"),
    "SpectralClustering": of_sklearn("spectral"),
    "HDBSCAN": of_sklearn("hdbscan"),
    "UMAP + HDBSCAN": umap,
}


def measure(method: str, name: str) -> Iterator[dict[str, object]]:
    """Yield the error, processor seconds and memory of a method, by seed."""
    from ekss.metrics import clustering_error
    from ekss.runtime.memory import peak_bytes, resident_bytes

    X, y = SETS[name](0)
    METHODS[method](len(set(y)), 0).fit(X[:: max(1, len(X) // 200)])
    for seed in SEEDS:
        X, y = SETS[name](seed)
        with suppress(OSError):  # forget the highest memory so far, on Linux
            Path("/proc/self/clear_refs").write_text("5")
        before, start = resident_bytes(), time.process_time()
        labels = METHODS[method](len(set(y)), seed).fit(X).labels_
        seconds = time.process_time() - start
        yield {
            "set": name,
            "method": method,
            "seed": seed,
            "error": 100 * clustering_error(y, labels),
            "seconds": seconds,
            "megabytes": max(0.0, peak_bytes() - before) / 1e6,
        }


def run(sets: list[str]) -> Iterator[dict[str, object]]:
    """Yield the lines of all methods on some sets, each method in its own process."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    for method in METHODS:
        words = ["--one", method, "--sets", ",".join(sets)]
        command = [sys.executable, __file__, *words]
        told = subprocess.check_output(command, env={**os.environ, **threads})
        for line in json.loads(told):
            print(line, flush=True)
            yield line


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--one", choices=METHODS, help="this method alone, to stdout")
    asked = parser.parse_args()
    if asked.one:
        warnings.simplefilter("ignore")
        sets = asked.sets.split(",")
        print(json.dumps([line for name in sets for line in measure(asked.one, name)]))
        return
    list(run(asked.sets.split(",")))


if __name__ == "__main__":
    main()
