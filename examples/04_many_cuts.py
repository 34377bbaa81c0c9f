"""
One cut against many
====================

The votes of an ensemble can be cut into clusters in many ways: with more or fewer
neighbours, more or fewer eigenvectors, by k-means or by rotation. The paper uses one
cut. EKSS makes them all and keeps the one whose subspaces fit, differ and agree with
the votes. No labels are involved, so here we check whether the score can be trusted.
"""

# %%
# A third of the digits that ship with scikit-learn: not every cut of them is right.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ekss import EKSS
from ekss.metrics import clustering_error

images, target = load_digits(return_X_y=True)
images, target = images[:600], target[:600]
model = EKSS(n_clusters=10, random_state=0).fit(images)

# %%
# ``candidates_`` lists every cut with its score, best first. Here we look at the cuts
# of the votes; the best of them then competes with the best cut of a second graph
# (``finalists_``).

cuts = [cut for cut in model.candidates_ if cut.graph == "votes"]
errors = 100 * np.array([clustering_error(target, cut.labels) for cut in cuts])
scores = np.array([cut.score for cut in cuts])
print(f"{len(cuts)} cuts, errors from {errors.min():.1f} to {errors.max():.1f} %")
print(f"best: {cuts[0].origin}, error {errors[0]:.1f} %")

# %%
# A low score goes with a low error. The dotted line is the mean over all cuts, which is
# what to expect from a single cut.

figure, axis = plt.subplots(figsize=(7, 4.4))
dots = axis.scatter(
    scores, errors, c=[cut.n_neighbors for cut in cuts], norm="log", s=40
)
axis.scatter(scores[0], errors[0], s=220, facecolors="none", edgecolors="#c2410c")
axis.annotate("lowest", (scores[0], errors[0]), (12, 10), textcoords="offset points")
axis.axhline(errors.mean(), linestyle=":", color="gray")
axis.set(xlabel="score of the cut, seen by EKSS", ylabel="error in %, unknown to it")
figure.colorbar(dots, label="neighbours kept per point")
