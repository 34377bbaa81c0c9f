"""
Many rows from a file
=====================

Rows that do not fit in memory are read block by block from a memory map. Members vote
on a sample, and one pass over the file assigns all other rows to clusters. The time for
the votes therefore stays the same, and the rest grows with the number of rows.
"""

# %%
# Write a file of 30 columns piece by piece, as an instrument would.

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error

n_rows = 80_000
piece = 10_000
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "points.npy"

bases = make_union_of_subspaces(5, 4, n_features=30, random_state=0).bases
file = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(n_rows, 30))
target = np.empty(n_rows, int)
for start in range(0, n_rows, piece):
    made = make_union_of_subspaces(
        bases=bases, n_per_subspace=piece // 5, noise=0.1, random_state=start
    )
    file[start : start + piece] = made.data
    target[start : start + piece] = made.target
file.flush()
print(f"{path.stat().st_size / 1e6:.0f} MB on disk")

# %%
# The file is opened but not loaded. Members vote on 3000 rows.

rows = np.load(path, mmap_mode="r")
sizes = [n_rows // 8, n_rows // 4, n_rows // 2, n_rows]
seconds, errors = [], []
for size in sizes:
    start = time.perf_counter()
    model = EKSS(
        5, subspace_dim=4, n_members=30, max_samples=3000, n_jobs=2, random_state=0
    ).fit(rows[:size])
    seconds.append(time.perf_counter() - start)
    errors.append(clustering_error(target[:size], model.labels_))
    print(f"{size:7,} rows: {seconds[-1]:.1f} s, error {100 * errors[-1]:.2f} %")

# %%
# Eight times as many rows take far less than eight times as long.

figure, axis = plt.subplots(figsize=(6.5, 4))
axis.plot(sizes, seconds, "o-", color="#2a7fb8", label="EKSS")
axis.plot(sizes, np.multiply(sizes, seconds[0] / sizes[0]), ":", color="gray")
axis.annotate("in proportion to the rows", (sizes[-2], 4.2 * seconds[0]), ha="right")
axis.set(xlabel="rows", ylabel="seconds", ylim=(0, 8.5 * seconds[0]))
figure.tight_layout()
folder.cleanup()
