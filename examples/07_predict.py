"""
New points with predict
=======================

A fit provides one subspace per cluster, so new points can be assigned to clusters.
Points that belong to none of them can be recognised by their distance.
"""

# %%
# Three planes in space. With so few dimensions, neighbourhoods mix planes, so the
# dimension is given. In more dimensions, EKSS finds it.

import matplotlib.pyplot as plt
import numpy as np

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces

union = make_union_of_subspaces(
    3, 2, n_features=3, n_per_subspace=120, noise=0.03, random_state=5
)
model = EKSS(n_clusters=3, subspace_dim=2, random_state=0).fit(union.data)

# %%
# New points come from the same subspaces, and some come from anywhere. ``predict``
# returns the nearest subspace, and ``transform`` the distances to all of them.

new = make_union_of_subspaces(
    bases=union.bases, n_per_subspace=60, outliers=0.3, noise=0.03, random_state=6
)
labels = model.predict(new.data)
distance = model.transform(new.data).min(axis=1)
stray = distance > 0.1
print(f"{stray.sum()} of {len(new.data)} points are far from every subspace")

# %%
colours = np.array(["#2a7fb8", "#e07a1f", "#4c9a52"])
figure = plt.figure(figsize=(10, 4.8), layout="constrained")
for place, title in enumerate(("fitted", "new points"), start=1):
    axis = figure.add_subplot(1, 2, place, projection="3d")
    points, kinds = (union.data, model.labels_) if place == 1 else (new.data, labels)
    sure = np.ones(len(points), bool) if place == 1 else ~stray
    axis.scatter(*points[sure].T, c=colours[kinds[sure]], s=14)
    if place == 2:
        axis.scatter(*points[~sure].T, c="gray", marker="x", s=20)
    axis.set_title(title)
    axis.view_init(24, -58)
    axis.set(xticklabels=[], yticklabels=[], zticklabels=[])

# %%
# Save a model to a file and load it again with ``ekss.io.save_model`` and
# ``ekss.io.load_model``. On the command line, use ``--model`` and ``ekss predict``.
