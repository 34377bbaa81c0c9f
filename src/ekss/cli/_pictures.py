"""The demo's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pictures need matplotlib, which is not installed; "
        "install it with: pip install 'ekss[plot]'"
    ) from error

if TYPE_CHECKING:
    from ekss.cli._demo import DigitsResult, VotesPanel

_SHOWN = 12


def save_votes(panels: list[VotesPanel], path: Path) -> None:
    """Draw the co-association matrices side by side, points in cluster order."""
    figure = Figure(figsize=(11, 4.1), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        image = axis.imshow(
            panel.votes, cmap="magma", vmin=0, vmax=1, interpolation="nearest"
        )
        members = "1 member" if panel.n_base == 1 else f"{panel.n_base} members"
        axis.set_title(f"{members}: error {100 * panel.error:.0f} %", fontsize=12)
        n = len(panel.votes)
        axis.set_xticks(np.arange(0, n + 1, n // 4))
        axis.set_yticks(np.arange(0, n + 1, n // 4))
        axis.tick_params(labelsize=8, length=2)
        axis.set_xlabel("point", fontsize=9)
    axes[0].set_ylabel("point", fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=0.82, pad=0.01)
    bar.set_label("share of members that put two points together", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    figure.savefig(path, dpi=130)


def save_digits(result: DigitsResult, path: Path) -> None:
    """Draw for each cluster the best fitting digits and the most doubtful ones."""
    model = result.model
    n_features = model.n_features_in_
    X = result.images.reshape(len(result.images), n_features)
    distances = model.transform(X)
    n_clusters = model.n_clusters_
    figure = Figure(figsize=(11, 6.6), layout="constrained")
    grid = figure.add_gridspec(
        n_clusters,
        2 * _SHOWN + 3,
        width_ratios=[2.6] + [1] * _SHOWN + [0.5] * 2 + [1] * _SHOWN,
    )
    order = np.argsort(-np.bincount(model.labels_, minlength=n_clusters))
    for row, k in enumerate(order):
        members = np.flatnonzero(model.labels_ == k)
        doubt = _doubt(distances[members], k)
        ranked = members[np.argsort(doubt)]
        label = figure.add_subplot(grid[row, 0])
        label.axis("off")
        label.text(
            1, 0.5, f"{len(members)} digits", ha="right", va="center", fontsize=9
        )
        _draw_row(figure, grid, row, 1, result.images, ranked[:_SHOWN])
        _draw_row(figure, grid, row, _SHOWN + 3, result.images, ranked[::-1][:_SHOWN])
    figure.suptitle(
        f"One row a cluster: its most typical digits (left) and its most doubtful "
        f"(right); error {100 * result.error:.1f} %",
        fontsize=12,
    )
    figure.savefig(path, dpi=130)


def _doubt(distances: Any, k: int) -> Any:
    """Return distance to the own subspace less that to the nearest other one."""
    others = np.delete(distances, k, axis=1).min(axis=1)
    return distances[:, k] - others


def _draw_row(
    figure: Figure, grid: Any, row: int, first: int, images: Any, chosen: Any
) -> None:
    for place, index in enumerate(chosen):
        axis = figure.add_subplot(grid[row, first + place])
        axis.imshow(images[index], cmap="gray_r", interpolation="bilinear")
        axis.axis("off")
