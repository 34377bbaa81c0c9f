"""
Faces under light
=================

Images of one face under changing light lie near a low-dimensional subspace. Two faces
lit from the same side look more alike than one face lit from two sides. That is why
methods that compare distances sort by lamp, while subspace clustering sorts by person.
"""

# %%
# Six matt faces, each lit by forty lamps at random places, in random order.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from ekss import EKSS
from ekss.datasets import make_faces_under_light
from ekss.metrics import clustering_error

faces = make_faces_under_light(n_people=6, n_lights=40, random_state=0)
order = np.random.default_rng(0).permutation(len(faces.data))

figure, axes = plt.subplots(3, 12, figsize=(10, 3.5))
for axis, number in zip(axes.flat, order, strict=False):
    axis.imshow(faces.images[number], cmap="gray", vmin=0, vmax=0.9)
    axis.set_axis_off()
figure.suptitle("Who is who?")

# %%
# EKSS gets only the raw pixels and the number of people.

ekss = EKSS(n_clusters=6, random_state=0).fit(faces.data)
kmeans = KMeans(n_clusters=6, n_init=10, random_state=0).fit(faces.data)
for name, model in (("EKSS", ekss), ("k-means", kmeans)):
    error = clustering_error(faces.target, model.labels_)
    print(f"{name}: {100 * error:.1f} % of the images in the wrong cluster")

# %%
# Twelve images of each cluster. k-means has sorted by lamp, EKSS by person.


def draw_clusters(part, labels, title):
    """Draw twelve images of each cluster, one cluster per row."""
    rng = np.random.default_rng(1)
    axes = part.subplots(6, 12, gridspec_kw={"wspace": 0.05, "hspace": 0.05})
    for row, k in zip(axes, range(6), strict=True):
        members = rng.permutation(np.flatnonzero(labels == k))
        for axis in row:
            axis.set_axis_off()
        for axis, number in zip(row, members, strict=False):
            axis.imshow(faces.images[number], cmap="gray", vmin=0, vmax=0.9)
    part.suptitle(title)


# sphinx_gallery_thumbnail_number = 2
figure = plt.figure(figsize=(11, 4.4))
left, right = figure.subfigures(1, 2)
draw_clusters(left, kmeans.labels_, "k-means")
draw_clusters(right, ekss.labels_, "EKSS")

# %%
# Each cluster has a subspace. Its directions are pictures. All images of that person
# can be mixed from them, together with what all people have in common.

figure, axes = plt.subplots(3, 6, figsize=(8, 5))
for column, basis in zip(axes.T, ekss.bases_, strict=True):
    for axis, direction in zip(column, basis.T, strict=False):
        picture = direction.reshape(faces.image_shape)
        axis.imshow(picture, cmap="RdBu", vmin=-0.15, vmax=0.15)
        axis.set_axis_off()
figure.suptitle("Three directions of each subspace, one person per column")
