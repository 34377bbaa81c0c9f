"""
Moving bodies in video
======================

Follow points through a video. The tracks of points on one rigid body, seen from far
away, lie on an affine subspace of dimension at most 3. Tracks can therefore be sorted
by body without knowing what the bodies look like, even where they pass in front of a
moving scene.
"""

# %%
# Two bodies turn and move in front of a scene that moves as well, as it does when the
# camera moves. A row of ``data`` is x_1, y_1, x_2, y_2, ... over 24 frames.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

from ekss import EKSS
from ekss.datasets import make_moving_bodies
from ekss.metrics import clustering_error

scene = make_moving_bodies(random_state=0)
print(scene.data.shape)

# %%
# EKSS detects that neighbourhoods are flat and chooses affine subspaces automatically.

ekss = EKSS(n_clusters=3, random_state=0).fit(scene.data)
kmeans = KMeans(n_clusters=3, n_init=10, random_state=0).fit(scene.data)
print("affine:", ekss.affine_, "- dimension:", ekss.subspace_dim_)

# %%
# k-means groups points by where they are; EKSS groups them by how they move.

colours = ["#2a7fb8", "#e07a1f", "#4c9a52"]
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharex=True, sharey=True)
for axis, name, model in zip(axes, ("k-means", "EKSS"), (kmeans, ekss), strict=True):
    error = clustering_error(scene.target, model.labels_)
    for track, label in zip(scene.data, model.labels_, strict=True):
        x, y = track.reshape(-1, 2).T
        axis.plot(x, y, color=colours[label], linewidth=0.7, alpha=0.6)
        axis.plot(x[-1], y[-1], ".", color=colours[label], markersize=4)
    axis.set(title=f"{name}: error {100 * error:.1f} %", xlabel="x in pixels")
axes[0].set_ylabel("y in pixels")
axes[0].invert_yaxis()
figure.tight_layout()
