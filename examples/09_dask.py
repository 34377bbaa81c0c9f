"""
Dask arrays
===========

A Dask array is clustered where its chunks are: rows are sampled there, and all rows are
assigned there. Here the Dask cluster consists of two workers in this process. A client
of a real cluster is used in the same way.
"""

# %%
# Ten days of measurements, one chunk per day. The mixture of the four kinds of rows
# changes from day to day.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error

n_days, per_day = 10, 1000
bases = make_union_of_subspaces(4, 3, n_features=30, random_state=0).bases
days, kinds = [], []
for day in range(n_days):
    shares = np.array([1 + day, n_days - day, 4, 2 + 6 * (day in (3, 4, 5))])
    counts = np.maximum(per_day * shares // shares.sum(), 1)
    counts[0] += per_day - counts.sum()
    made = make_union_of_subspaces(
        bases=bases, n_per_subspace=counts, noise=0.15, random_state=day
    )
    days.append(made.data)
    kinds.append(made.target)
X = da.from_array(np.concatenate(days), chunks=(per_day, 30))
print(X.numblocks, "chunks of", X.chunksize)

# %%
# The call to ``fit`` does not mention Dask.

model = EKSS(4, subspace_dim=3, n_members=50, max_samples=2000, random_state=0)
with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None):
    labels = model.fit_predict(X)
print(f"error {100 * clustering_error(np.concatenate(kinds), labels):.2f} %")

# %%
# The composition of each day, according to the clusters.

shares = [np.bincount(day, minlength=4) / per_day for day in np.split(labels, n_days)]
figure, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
axis.stackplot(
    np.arange(1, n_days + 1),
    np.transpose(shares),
    labels=[f"cluster {k}" for k in range(4)],
    colors=["#2a7fb8", "#e07a1f", "#4c9a52", "#8d6cab"],
)
axis.set(xlabel="day", ylabel="share of rows", xlim=(1, n_days), ylim=(0, 1))
figure.legend(loc="outside upper center", ncols=4)
