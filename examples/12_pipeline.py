"""
Sensors, in a scikit-learn pipeline
===================================

The estimators are scikit-learn estimators: they can be the last step of a pipeline,
they can be cloned, and their parameters can be set by name. Here the columns of a table
have different units, and a step before the ensemble brings them to a common scale.
"""

# %%
# A machine has five modes of operation. In each mode, three hidden loads drive twenty
# sensors. A sensor may measure volts, pascals or degrees, and has noise on its own
# scale.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from ekss import EKSS
from ekss.metrics import clustering_error

rng = np.random.default_rng(2)
units = 10.0 ** rng.integers(-2, 4, 20)
loads = rng.exponential(size=(5, 60, 3))
responses = rng.standard_normal((5, 3, 20))
clean = (loads @ responses).reshape(-1, 20)
table = (clean + 0.1 * rng.standard_normal(clean.shape)) * units
target = np.repeat(np.arange(5), 60)

# %%
# Scaling a column maps subspaces to subspaces, but shifting it would move them away
# from the origin. ``MaxAbsScaler`` scales and does not shift.

ekss = EKSS(n_clusters=5, random_state=0)
fits = {"as it is": clone(ekss), "scaled": make_pipeline(MaxAbsScaler(), ekss)}

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for axis, (name, model) in zip(axes, fits.items(), strict=True):
    labels = model.fit_predict(table)
    error = clustering_error(target, labels)
    counts = confusion_matrix(target, labels)
    order = np.argsort(counts.argmax(axis=0), kind="stable")
    shown = ConfusionMatrixDisplay(counts[:, order], display_labels=range(5))
    shown.plot(ax=axis, cmap="Blues", colorbar=False)
    axis.set(title=f"{name}: error {100 * error:.1f} %", xlabel="cluster")
    axis.set(ylabel="way to run", xticklabels=order)

# %%
# ``predict`` of the pipeline applies both steps to new rows, and parameters are set by
# the name of the step.

print(model.predict(table[::60]))
print(clone(model).set_params(ekss__n_members=50)[-1])
