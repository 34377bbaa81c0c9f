"""The demo's picture of votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pictures need matplotlib, which is not installed; "
        "install it with: pip install 'ekss[plot]'"
    ) from error

if TYPE_CHECKING:
    from ekss.cli._demo import VotesPanel


def save_votes(panels: list[VotesPanel], path: Path) -> None:
    """Draw the co-association matrices side by side, points in cluster order."""
    figure = Figure(figsize=(11, 4.1), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        image = axis.imshow(
            panel.votes, cmap="magma", vmin=0, vmax=1, interpolation="nearest"
        )
        members = "1 member" if panel.n_members == 1 else f"{panel.n_members} members"
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
