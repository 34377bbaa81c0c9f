"""``ekss demo``: reports on digits and moving bodies, and the paper's first figure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ekss import EKSS, PaperEKSS
from ekss.datasets import make_union_of_subspaces
from ekss.graph import coassociation_dense, coassociation_topq, spectral_labels
from ekss.metrics import clustering_error, normalized_mutual_info
from ekss.report import Report, build

_FIGURE_MEMBERS = (1, 5, 50)
# Points, middle, half sizes, way in pixels and turn in radians: a scene, two bodies.
_BODIES = (
    (140, (320, 240), (300, 210, 120), (-20, 8), (0.05, 0.12, 0.02)),
    (80, (200, 300), (80, 50, 60), (70, -25), (0.1, 0.5, -0.1)),
    (60, (440, 200), (60, 60, 50), (-40, 45), (-0.4, 0.2, 0.5)),
)
_FRAMES = 24
_NOISE = 1.0


@dataclass(frozen=True)
class DigitsResult:
    """The fitted model on the digits, with what a person wants to know of it."""

    model: EKSS
    points: NDArray[np.floating]
    target: NDArray[np.int64]
    error: float
    nmi: float
    seconds: float


@dataclass(frozen=True)
class VotesPanel:
    """Co-association of the first members, and the error of cutting it."""

    n_members: int
    votes: NDArray[np.float64]
    error: float


@dataclass(frozen=True)
class Tracks:
    """Points of moving bodies: rows (x_1, y_1, x_2, y_2, ...), and their bodies."""

    points: NDArray[np.float64]
    target: NDArray[np.int64]


def run_demo(output: Path, seed: int, jobs: int) -> None:
    """Cluster digits and moving bodies; write reports and a picture."""
    from ekss.cli import _pictures  # says how to install matplotlib if it is missing

    console = Console()
    _make_folder(output)
    console.print(
        "[bold]Clustering 1797 handwritten digits[/] (8 x 8 pixels, 10 kinds)"
    )
    result = cluster_digits(seed, jobs)
    console.print(_summary(result))
    digits = output / "digits.html"
    report_digits(result).save(digits)
    console.print("[bold]Telling moving bodies apart[/] by the tracks of their points")
    motion = output / "motion.html"
    report_motion(seed, jobs).save(motion)
    console.print("[bold]Votes of 1, 5 and 50 members[/] on 4 subspaces of dimension 3")
    votes = output / "votes.png"
    _pictures.save_votes(votes_of_members(seed, jobs), votes)
    for name, path in (("Reports", digits), ("", motion), ("Picture", votes)):
        console.print(f"{name:8}{path}", markup=False, highlight=False, soft_wrap=True)


def _make_folder(output: Path) -> None:
    """Make the folder, or say which file is in its place."""
    for path in (output, *output.parents):
        if path.exists() and not path.is_dir():
            raise ValueError(
                f"--output {output} cannot be a folder, since {path} is a file; choose "
                "another name, or move the file away"
            )
    output.mkdir(parents=True, exist_ok=True)


def cluster_digits(seed: int, jobs: int) -> DigitsResult:
    """Fit EKSS to the digits; the labels are used for scoring alone."""
    from sklearn.datasets import load_digits

    data = load_digits()
    model = EKSS(n_clusters=10, random_state=seed, n_jobs=jobs, verbose=1)
    start = time.perf_counter()
    model.fit(data.data)
    seconds = time.perf_counter() - start
    return DigitsResult(
        model,
        data.data,
        data.target,
        clustering_error(data.target, model.labels_),
        normalized_mutual_info(data.target, model.labels_),
        seconds,
    )


def report_digits(result: DigitsResult) -> Report:
    """Describe the clusters of the digits."""
    return build(
        result.model,
        result.points,
        labels=result.target,
        image_shape=(8, 8),
        title="Handwritten digits",
        source="the digits of scikit-learn, 8 x 8 pixels",
        seconds=result.seconds,
    )


def report_motion(seed: int, jobs: int) -> Report:
    """Cluster the tracks of moving bodies, without a setting, and describe them."""
    tracks = moving_bodies(np.random.default_rng(seed))
    model = EKSS(n_clusters=3, random_state=seed, n_jobs=jobs)
    start = time.perf_counter()
    model.fit(tracks.points)
    return build(
        model,
        tracks.points,
        labels=tracks.target,
        n_frames=_FRAMES,
        title="Two bodies before a moving scene",
        source=f"synthetic tracks over {_FRAMES} frames, noise of a pixel",
        seconds=time.perf_counter() - start,
    )


def moving_bodies(rng: np.random.Generator) -> Tracks:
    """Follow points on a scene and on two bodies that turn and move in front of it.

    Seen from far away, the tracks of one rigid body lie on an affine subspace of
    dimension at most 3: a mean path and one direction for each coordinate of the body.
    The scene moves too, as it does where the camera does.
    """
    bodies = []
    for count, place, size, way, turn in _BODIES:
        body = rng.uniform(-1, 1, (count, 3)) * size
        path = [
            place
            + share * np.array(way)
            + (body @ _turn(share * np.array(turn)).T)[:, :2]
            for share in np.linspace(0, 1, _FRAMES)
        ]
        bodies.append(np.stack(path, axis=1).reshape(count, -1))
    points = np.concatenate(bodies)
    target = np.repeat(np.arange(len(bodies)), [len(body) for body in bodies])
    return Tracks(points + _NOISE * rng.standard_normal(points.shape), target)


def votes_of_members(seed: int, jobs: int) -> list[VotesPanel]:
    """Reproduce the paper's Fig. 1: D=100, d=3, K=4, N=400, no noise, no threshold."""
    data = make_union_of_subspaces(
        n_subspaces=4,
        dims=3,
        n_features=100,
        n_per_subspace=100,
        shuffle=False,
        random_state=seed,
    )
    model = PaperEKSS(
        4, 3, n_members=max(_FIGURE_MEMBERS), random_state=seed, n_jobs=jobs
    )
    members = model.fit(data.data).member_labels_
    panels = []
    for n_members in _FIGURE_MEMBERS:
        first = members[:, :n_members]
        graph = coassociation_topq(first, None, len(first) - 1)
        cut = spectral_labels(graph, 4, random_state=seed).labels
        error = clustering_error(data.target, cut)
        panels.append(VotesPanel(n_members, coassociation_dense(first), error))
    return panels


def _turn(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation about the three axes, one after the other."""
    total = np.eye(3)
    for axis, angle in enumerate(angles):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3)
        step[[i, j], [i, j]] = np.cos(angle)
        step[i, j], step[j, i] = -np.sin(angle), np.sin(angle)
        total = step @ total
    return total


def _summary(result: DigitsResult) -> Table:
    """Table of what was found."""
    table = Table(show_header=False)
    table.add_row("clustering error", f"{100 * result.error:.1f} %")
    table.add_row("normalised mutual information", f"{result.nmi:.3f}")
    table.add_row("time", f"{result.seconds:.1f} s")
    sizes = np.sort(np.bincount(result.model.labels_))[::-1]
    table.add_row("cluster sizes", " ".join(str(size) for size in sizes))
    table.add_row("subspace dimension", str(result.model.subspace_dim_))
    table.add_row("members", str(result.model.n_members_))
    return table
