"""Picture the idea: mixed faces, votes that settle, faces sorted by person.

Run: python benchmarks/publish.py idea. Points are shown in the order of the clusters
that EKSS finds; true labels are used for the error alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from ekss import EKSS
from ekss.datasets import make_faces_under_light
from ekss.graph import coassociation_dense
from ekss.metrics import clustering_error

PEOPLE, LIGHTS, SHOWN = 6, 40, 8
MEMBERS = (1, 100)
INK, ACCENT = "#1c2733", "#b4560b"


def draw_faces(part, images, title: str) -> None:
    axes = part.subplots(
        PEOPLE,
        SHOWN,
        gridspec_kw={"wspace": 0.06, "hspace": 0.06, "top": 0.86, "bottom": 0.04},
    )
    for axis, image in zip(axes.flat, images, strict=True):
        axis.imshow(image, cmap="gray", vmin=0, vmax=0.85)
        axis.set_axis_off()
    part.suptitle(title, fontsize=13, color=INK, y=0.97)


def main(path: Path) -> None:
    faces = make_faces_under_light(PEOPLE, LIGHTS, random_state=0)
    model = EKSS(PEOPLE, random_state=0, n_jobs=-1).fit(faces.data)
    error = clustering_error(faces.target, model.labels_)
    rng = np.random.default_rng(0)

    figure = Figure(figsize=(12, 4), facecolor="white")
    left, middle, right = figure.subfigures(1, 3, width_ratios=(3, 4, 3))
    mixed = rng.permutation(len(faces.images))[: PEOPLE * SHOWN]
    draw_faces(left, faces.images[mixed], "faces under changing light")

    order = np.argsort(model.labels_, kind="stable")
    axes = middle.subplots(
        1, len(MEMBERS), gridspec_kw={"wspace": 0.08, "top": 0.86, "bottom": 0.04}
    )
    for axis, count in zip(axes, MEMBERS, strict=True):
        votes = coassociation_dense(model.member_labels_[order, :count])
        axis.imshow(votes, cmap="magma", vmin=0, vmax=0.8)
        axis.set_axis_off()
        name = "1 member" if count == 1 else f"{count} members"
        axis.set_title(name, fontsize=11, color=INK)
    middle.suptitle(
        "random clusterings vote on every pair", fontsize=13, color=INK, y=0.97
    )

    sorted_faces = [
        number
        for k in range(PEOPLE)
        for number in rng.permutation(np.flatnonzero(model.labels_ == k))[:SHOWN]
    ]
    title = f"sorted by person, error {100 * error:.0f} %"
    draw_faces(right, faces.images[sorted_faces], title)
    for start in (0.287, 0.692):
        arrow = FancyArrowPatch(
            (start, 0.47),
            (start + 0.026, 0.47),
            transform=figure.transFigure,
            arrowstyle="simple,head_width=14,head_length=10,tail_width=5",
            color=ACCENT,
            linewidth=0,
        )
        figure.add_artist(arrow)
    figure.savefig(path, dpi=110)
