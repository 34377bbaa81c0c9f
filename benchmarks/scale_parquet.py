"""Time and memory of ``ekss cluster`` on a large .parquet file.

Makes a table of points near subspaces (K = 10, d = 5, noise 0.1) in float64, 100,000
rows at a time, clusters it by the command in a process of its own, and prints the time,
the highest memory of that process and of its decoder, and the error against the planted
labels. The file stays in the directory that is named, and is used again.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ekss.metrics import clustering_error

CLUSTERS, DIM, BLOCK = 10, 5, 100_000
RUN = """
import resource, sys, time
from ekss.cli import main
from ekss.runtime.memory import peak_bytes

start = time.perf_counter()
try:
    main(sys.argv[1:])
except SystemExit as ended:
    code = ended.code
seconds, here = time.perf_counter() - start, peak_bytes()
from ekss.runtime import foreign
foreign._stop()
there = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(f"{seconds:.0f} s, {here / 1e9:.2f} GB, decoder {there / 1e9:.2f} GB")
sys.exit(code)
"""


def make(path, n_rows, n_features):
    """Write the table, and its labels beside it."""
    rng = np.random.default_rng(0)
    bases = [
        np.linalg.qr(rng.standard_normal((n_features, DIM)))[0] for _ in range(CLUSTERS)
    ]
    names = [f"x{i}" for i in range(n_features)]
    labels = rng.integers(CLUSTERS, size=n_rows)
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n_rows, BLOCK):
            own = labels[first : first + BLOCK]
            points = 0.1 / np.sqrt(n_features) * rng.standard_normal((len(own), 1))
            points = points * rng.standard_normal((len(own), n_features))
            for k, basis in enumerate(bases):
                rows = np.flatnonzero(own == k)
                points[rows] += rng.standard_normal((len(rows), DIM)) @ basis.T
            writer.write_table(pa.table(dict(zip(names, points.T, strict=True))))
    np.save(path.with_suffix(".labels.npy"), labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--options", default=f"--dim {DIM} --members 100")
    given = parser.parse_args()
    path = given.directory / f"points-{given.rows}-{given.features}.parquet"
    if not path.exists():
        make(path, given.rows, given.features)
    found = given.directory / "clusters.npy"
    words = ["cluster", path, "-k", CLUSTERS, "-o", found, *given.options.split()]
    subprocess.run([sys.executable, "-c", RUN, *map(str, words)], check=True)
    labels = np.load(path.with_suffix(".labels.npy"))
    print(f"error {100 * clustering_error(labels, np.load(found)):.3f} %")


if __name__ == "__main__":
    main()
