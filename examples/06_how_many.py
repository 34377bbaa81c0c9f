"""
How many clusters?
==================

``EKSS("auto")`` finds the number of clusters. It asks additional members, the judges,
which have fewer candidates than clusters. They cannot spare a candidate to split a
class, so the halves of a class stay together, and a cut that splits the class is not
confirmed.
"""

# %%
# There are seven subspaces, but the method is not told.

import matplotlib.pyplot as plt

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces

data = make_union_of_subspaces(
    n_subspaces=7, dims=3, n_features=40, n_per_subspace=60, noise=0.15, random_state=1
)
model = EKSS("auto", n_members=100, n_jobs=2, random_state=0).fit(data.data)
print("found:", model.n_clusters_)

# %%
# ``counts_`` lists the numbers that were tried around the last guess. A sharp minimum
# means that the data determine the number. A flat minimum means that they do not: try
# several seeds, and look at the report.

counts = sorted(model.counts_, key=lambda one: one.n_clusters)
numbers = [one.n_clusters for one in counts]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8))
for axis, values, name, better in (
    (axes[0], [one.score for one in counts], "score", "lower is better"),
    (axes[1], [one.confirmed for one in counts], "confirmed", "higher is better"),
):
    axis.plot(numbers, values, "o-", color="#2a7fb8")
    axis.axvline(model.n_clusters_, color="#c2410c", linestyle=":")
    axis.set(xlabel="number of clusters", ylabel=f"{name}, {better}")
figure.tight_layout()
