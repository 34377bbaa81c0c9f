"""
Handwritten digits
==================

Digits are not subspaces, but images of one digit are close to one: a mean shape and a
few ways to write it. The model fits well enough to sort the images without labels, and
it shows which images it is unsure about.
"""

# %%
# Some of the digits that ship with scikit-learn, 8 x 8 pixels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ekss import EKSS
from ekss.metrics import clustering_error

n_digits = 700
images, target = load_digits(return_X_y=True)
images, target = images[:n_digits], target[:n_digits]

model = EKSS(n_clusters=10, n_jobs=2, random_state=0).fit(images)
print(f"error {100 * clustering_error(target, model.labels_):.1f} %")

# %%
# ``transform`` gives the distance of every image to every subspace. An image is typical
# if its own subspace is much nearer than the next one, and doubtful if not.

distances = np.sort(model.transform(images), axis=1)
margin = 1 - distances[:, 0] / distances[:, 1]

figure, axes = plt.subplots(10, 13, figsize=(9, 7.6))
for axis in axes.flat:
    axis.set_axis_off()
for k, row in enumerate(axes):
    members = np.flatnonzero(model.labels_ == k)
    ranked = members[np.argsort(-margin[members])]
    shown = [images[members].mean(axis=0), *images[ranked[:6]], *images[ranked[-5:]]]
    places = [0, *range(1, 7), *range(8, 13)]
    for place, image in zip(places, shown, strict=False):
        row[place].imshow(image.reshape(8, 8), cmap="gray_r")
axes[0, 0].set_title("mean")
axes[0, 3].set_title("typical")
axes[0, 10].set_title("doubtful")

# %%
# This shows how often members put two images together, with images ordered by cluster.
# Bright blocks are firm clusters, and grey patches are digits that look alike. The
# report from ``ekss cluster FILE -k 10 --report report.html`` has the same picture,
# with a page around it.

from ekss.graph import coassociation_dense

order = np.argsort(model.labels_, kind="stable")
votes = coassociation_dense(model.member_labels_[order])
figure, axis = plt.subplots(figsize=(5.5, 5))
picture = axis.imshow(votes, cmap="magma", vmin=0, vmax=0.6)
axis.set(xlabel="image", ylabel="image", title="Votes, in the order of the clusters")
figure.colorbar(picture, label="share of members")
