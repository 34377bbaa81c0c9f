"""
Guarantees for your data
========================

Theorem 1 of the paper says the following. If votes are within tau of an increasing
function f of the angle between two points, and the clusters are separated by more than
tau in f, then the graph of the strongest votes has no false connections. Both numbers
can be computed for labelled data. ``ekss theory POINTS --labels LABELS`` does this for
all theorems at once.
"""

# %%
# Plot the votes of EKSS-0 on three planes in 60 dimensions against the angle. The votes
# gather around an increasing function, more closely with more members.

import matplotlib.pyplot as plt
import numpy as np

from ekss import PaperEKSS
from ekss.datasets import make_union_of_subspaces
from ekss.graph import coassociation_dense
from ekss.theory import monotone_fit, nfc_certificate

data = make_union_of_subspaces(3, 2, n_features=60, noise=0.1, random_state=0)
X = data.data / np.linalg.norm(data.data, axis=1, keepdims=True)
inner = np.abs(X @ X.T)
same = data.target[:, None] == data.target
pairs = np.triu_indices(len(X), 1)

model = PaperEKSS(3, 2, n_members=1000, max_iter=0, random_state=0).fit(X)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
for axis, n_members in zip(axes, (50, 1000), strict=True):
    votes = coassociation_dense(model.member_labels_[:, :n_members])
    f = monotone_fit(X, votes)
    for own, colour in ((False, "#8aa3b5"), (True, "#e07a1f")):
        shown = same[pairs] == own
        axis.plot(inner[pairs][shown], votes[pairs][shown], ",", color=colour)
    grid = np.linspace(0, 1, 400)
    axis.plot(grid, f(grid), color="black", linewidth=1)
    axis.fill_between(grid, f(grid) - f.tau, f(grid) + f.tau, color="black", alpha=0.1)
    axis.set(title=f"{n_members} members: tau = {f.tau:.3f}", xlabel="|<x, y>|")
axes[0].set_ylabel("share of members that put x and y together")
figure.tight_layout()

# %%
# The certificate: it holds as soon as tau is below the separation phi.

numbers = [20, 50, 100, 200, 500, 1000]
found = [
    nfc_certificate(X, data.target, coassociation_dense(model.member_labels_[:, :b]), 5)
    for b in numbers
]
figure, axis = plt.subplots(figsize=(7, 3.8))
axis.loglog(numbers, [one.tau for one in found], "o-", label="deviation tau")
axis.loglog(numbers, [one.phi for one in found], "s-", label="separation phi")
for b, one in zip(numbers, found, strict=True):
    if one.holds:
        axis.axvspan(b, numbers[-1], color="#4c9a52", alpha=0.15)
        axis.text(b, 0.9, "  guaranteed", transform=axis.get_xaxis_transform())
        break
axis.set(xlabel="members", ylabel="tau and phi")
axis.legend()
