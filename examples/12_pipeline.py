"""
An ensemble in a scikit-learn pipeline
======================================

The estimators are scikit-learn estimators: they can be the last step of a pipeline,
cloned, and have their parameters set by name. Here features that are stable under
small shifts come before the ensemble.
"""

# %%
# Digits that somebody has pushed about by a pixel. Pixels suffer; scattering features,
# averages of wavelets, do not care much.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix
from sklearn.pipeline import make_pipeline

from ekss import EKSS
from ekss.metrics import clustering_error
from ekss.preprocessing import PrincipalComponents, Scattering2D

images, target = load_digits(n_class=6, return_X_y=True)
images, target = images[:600].reshape(-1, 8, 8), target[:600]
rng = np.random.default_rng(0)
padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
shifts = rng.integers(-1, 2, (len(images), 2))
pushed = np.array(
    [np.roll(image, shift, (0, 1)) for image, shift in zip(padded, shifts, strict=True)]
).reshape(len(images), -1)

# %%
# Two pipelines, the second with a step more; ``clone`` copies settings, not fits.

plain = make_pipeline(
    PrincipalComponents(n_components=30, center=False),
    EKSS(n_clusters=6, random_state=0),
)
steps = clone(plain).steps
features = Scattering2D(J=1, L=6, image_shape=(12, 12))
stable = make_pipeline(features, *(step for _, step in steps))
stable.set_params(principalcomponents__n_components=60)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
for axis, name, pipeline in (
    (axes[0], "pixels", plain),
    (axes[1], "scattering", stable),
):
    labels = pipeline.fit_predict(pushed)
    error = clustering_error(target, labels)
    counts = confusion_matrix(target, labels)[:6, :6]
    order = np.argsort(counts.argmax(axis=0), kind="stable")
    shown = ConfusionMatrixDisplay(counts[:, order], display_labels=range(6))
    shown.plot(ax=axis, cmap="Blues", colorbar=False)
    axis.set(title=f"{name}: error {100 * error:.1f} %", xlabel="cluster")
    axis.set(ylabel="digit", xticklabels=order)
figure.tight_layout()

# %%
# ``predict`` of the pipeline does both steps for new images.

print(stable.predict(pushed[:5]))
