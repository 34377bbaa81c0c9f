"""
How votes settle
================

One run of K-subspaces from a random start is nearly useless. The share of many runs
that put two points together is useful: it settles on a function that is high within
clusters and low between them. This example shows the paper's first figure, with a
curve.
"""

# %%
# Four subspaces of dimension 3 in 100 dimensions, and Algorithm 1 of the paper.

import matplotlib.pyplot as plt
import numpy as np

from ekss import PaperEKSS
from ekss.datasets import make_union_of_subspaces
from ekss.graph import coassociation_dense, coassociation_topq, spectral_labels
from ekss.metrics import clustering_error

data = make_union_of_subspaces(4, 3, n_features=100, shuffle=False, random_state=0)
model = PaperEKSS(4, 3, n_members=100, random_state=0).fit(data.data)
members = model.member_labels_  # one column per member

# %%
# Use only the first members, and more and more of them.

figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), sharey=True)
for axis, n_members in zip(axes, (1, 5, 20, 100), strict=True):
    votes = coassociation_dense(members[:, :n_members])
    axis.imshow(votes, cmap="magma", vmin=0, vmax=1)
    axis.set_title(f"{n_members} member" + "s" * (n_members > 1))
figure.tight_layout()

# %%
# The error of the cut falls, and so does the distance of the votes from where they will
# settle. Grey marks single members, each as a clustering of its own.

numbers = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100]
errors = []
for n_members in numbers:
    graph = coassociation_topq(members[:, :n_members], None, 30)
    cut = spectral_labels(graph, 4, random_state=0).labels
    errors.append(100 * clustering_error(data.target, cut))
alone = [100 * clustering_error(data.target, column) for column in members.T]

figure, axis = plt.subplots(figsize=(7, 4))
axis.semilogx(np.arange(1, 101), alone, ".", color="silver", label="one member alone")
axis.semilogx(numbers, errors, "o-", color="#c2410c", label="first members together")
axis.set(xlabel="members", ylabel="error in %")
axis.legend()
