"""
Spectra: which mixtures are there?
==================================

The spectrum of a mixture is the sum of the spectra of its substances times their
concentrations. All mixtures of the same substances therefore lie on one subspace,
whatever their amounts and however thick the sample. For such a table, subspaces are the
right model and distances are the wrong one.
"""

# %%
# Seven substances have peaks at random places. Four recipes use two or three of them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from ekss import EKSS
from ekss.metrics import clustering_error

rng = np.random.default_rng(3)
wavelength = np.linspace(400, 1000, 150)
places = rng.uniform(420, 980, (7, 4))
widths = rng.uniform(8, 35, (7, 4))
heights = rng.uniform(0.3, 1, (7, 4, 1))
peaks = np.exp(-(((wavelength - places[..., None]) / widths[..., None]) ** 2))
substances = (heights * peaks).sum(axis=1)
recipes = [(0, 1), (1, 2, 3), (3, 4), (4, 5, 6)]

spectra, target = [], []
for kind, recipe in enumerate(recipes):
    amounts = rng.dirichlet(np.ones(len(recipe)), 80) * rng.uniform(0.3, 2, (80, 1))
    spectra.append(amounts @ substances[list(recipe)])
    target += [kind] * 80
X = np.concatenate(spectra)
X += 0.01 * rng.standard_normal(X.shape)

# %%
# EKSS is told only the number of clusters.

model = EKSS(n_clusters=4, random_state=0).fit(X)
kmeans = KMeans(4, n_init=10, random_state=0).fit(X)
for name, one in (("EKSS", model), ("k-means", kmeans)):
    print(f"{name}: error {100 * clustering_error(target, one.labels_):.1f} %")

# %%
# The upper plots show the spectra of each cluster, and the lower plots show how much of
# each pure substance lies in its subspace. A full bar means that the substance is in
# the recipe. ``preparation_`` prepares the pure spectra in the same way as the fit
# prepared the mixtures.

pure = model.preparation_(substances)
colours = plt.cm.tab10(range(4))
figure, axes = plt.subplots(2, 4, figsize=(12, 5), height_ratios=(2, 1))
for k, (above, below) in enumerate(axes.T):
    members = X[model.labels_ == k]
    above.plot(wavelength, members[:40].T, color=colours[k], linewidth=0.5, alpha=0.5)
    above.set(title=f"cluster {k}", xlabel="wavelength in nm", ylim=(-0.1, 2))
    inside = ((pure @ model.bases_[k]) ** 2).sum(axis=1)
    below.bar(range(7), inside, color=colours[k])
    below.set(xlabel="substance", ylim=(0, 1))
axes[0, 0].set_ylabel("absorption")
axes[1, 0].set_ylabel("share inside")
figure.tight_layout()
