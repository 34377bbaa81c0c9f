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
_GAP = 4


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
    model, images = result.model, result.images
    distances = model.transform(images.reshape(len(images), -1))
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
    order = np.argsort(-sizes)
    ranked = []
    for k in order:
        members = np.flatnonzero(model.labels_ == k)
        ranked.append(members[np.argsort(_doubt(distances[members], k))])
    figure = Figure(figsize=(11, 4.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axis, title, chosen in (
        (left, "most typical", [rows[:_SHOWN] for rows in ranked]),
        (right, "most doubtful", [rows[::-1][:_SHOWN] for rows in ranked]),
    ):
        axis.imshow(_mosaic(images, chosen), cmap="gray_r", interpolation="bilinear")
        axis.set_title(title, fontsize=11)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[:].set_visible(False)
    cell = images.shape[1] + _GAP
    left.set_yticks(
        (np.arange(len(order)) + 0.5) * cell, [f"{sizes[k]} digits" for k in order]
    )
    left.tick_params(length=0, labelsize=9)
    figure.suptitle(
        f"Ten clusters, one a row: error {100 * result.error:.1f} %", fontsize=12
    )
    figure.savefig(path, dpi=130)


def _mosaic(images: Any, chosen: list[Any]) -> Any:
    """Lay the chosen images out on a white sheet, one list a row."""
    height, width = images.shape[1] + _GAP, images.shape[2] + _GAP
    sheet = np.zeros((len(chosen), height, _SHOWN, width))
    for row, indices in enumerate(chosen):
        for place, index in enumerate(indices):
            sheet[row, _GAP // 2 : -_GAP // 2, place, _GAP // 2 : -_GAP // 2] = images[
                index
            ]
    return sheet.reshape(len(chosen) * height, _SHOWN * width)


def _doubt(distances: Any, k: int) -> Any:
    """Return distance to the own subspace less that to the nearest other one."""
    others = np.delete(distances, k, axis=1).min(axis=1)
    return distances[:, k] - others
