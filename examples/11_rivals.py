"""
Choosing between rivals
=======================

All methods share the same interface, so a comparison is a simple loop. Which method is
best depends on the data. :doc:`/which` has a larger table, measured in the same way.
"""

# %%
# Three kinds of data, and eight methods that are given only the number of clusters.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from ekss import EKSS, KSS, SSC, SSCOMP, TSC, CoPKSS, EnSC
from ekss.datasets import make_faces_under_light, make_union_of_subspaces
from ekss.metrics import clustering_error

images, digits = load_digits(n_class=5, return_X_y=True)
sets = {
    "planted": make_union_of_subspaces(
        *(5, 4, 25, 40), noise=0.3, random_state=0, return_X_y=True
    ),
    "faces": make_faces_under_light(5, 30, random_state=0, return_X_y=True),
    "digits 0 to 4": (images[:300], digits[:300]),
}
methods = [EKSS, KSS, CoPKSS, TSC, SSC, SSCOMP, EnSC, KMeans]

# %%
errors = np.empty((len(methods), len(sets)))
seconds = np.empty_like(errors)
for column, (X, y) in enumerate(sets.values()):
    for row, method in enumerate(methods):
        start = time.perf_counter()
        labels = method(n_clusters=5, random_state=0).fit_predict(X)
        seconds[row, column] = time.perf_counter() - start
        errors[row, column] = 100 * clustering_error(y, labels)

# %%
# Colours show errors in percent, and brackets show seconds. If no labels are known,
# ``ekss compare FILE -k 5`` runs the methods and says on which points they agree.

figure, axis = plt.subplots(figsize=(7, 5))
axis.imshow(errors, cmap="YlOrBr", aspect="auto", vmin=0, vmax=70)
for (row, column), error in np.ndenumerate(errors):
    text = f"{error:.1f} %  ({seconds[row, column]:.1f} s)"
    axis.text(column, row, text, ha="center", va="center")
axis.set_xticks(range(len(sets)), sets)
axis.set_yticks(range(len(methods)), [method.__name__ for method in methods])
figure.tight_layout()
