"""``ekss demo``: reports on digits and moving bodies, and the paper's first figure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ekss.cli import _options as shared
from ekss.cli._output import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from ekss import EKSS
    from ekss.report import Report

# Of the paper's Fig. 1.
_FIGURE_MEMBERS = (1, 5, 50)


@dataclass(frozen=True)
class _Body:
    """A rigid body of the synthetic scene, in pixels and radians."""

    n_points: int
    middle: tuple[int, int]
    half_sizes: tuple[int, int, int]
    shift: tuple[int, int]
    turn: tuple[float, float, float]


@dataclass(frozen=True)
class _Scene:
    """Two bodies in front of a moving scene; an image of 640 x 480 pixels."""

    bodies: tuple[_Body, ...] = (
        _Body(140, (320, 240), (300, 210, 120), (-20, 8), (0.05, 0.12, 0.02)),
        _Body(80, (200, 300), (80, 50, 60), (70, -25), (0.1, 0.5, -0.1)),
        _Body(60, (440, 200), (60, 60, 50), (-40, 45), (-0.4, 0.2, 0.5)),
    )
    # About as many as sequences of Hopkins 155 have.
    frames: int = 24
    # Standard deviation in pixels, as of a tracker.
    noise: float = 1.0


_SCENE = _Scene()


@dataclass(frozen=True)
class DigitsResult:
    """The model fitted to the digits, and how good it is."""

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
    """Tracks of points: rows (x_1, y_1, x_2, y_2, ...), and the body of each."""

    points: NDArray[np.float64]
    target: NDArray[np.int64]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for reports and picture.")
    ] = Path("demo"),
    seed: shared.Seed = 0,
    jobs: shared.Jobs = -1,
) -> None:
    """Cluster handwritten digits and picture how votes add up to clusters."""
    run_demo(output, shared.check_seed(seed), shared.check_jobs(jobs))


def run_demo(output: Path, seed: int, jobs: int) -> None:
    """Cluster digits and moving bodies; write reports and a picture."""
    from rich.console import Console

    _figure_class()  # fails at once if matplotlib is missing
    console = Console()
    _make_directory(output)
    console.print(
        "[bold]Clustering 1797 handwritten digits[/] (8 x 8 pixels, 10 kinds)"
    )
    result = cluster_digits(seed, jobs)
    console.print(_summary(result))
    digits = output / "digits.html"
    report_digits(result).save(digits)
    console.print("[bold]Separating moving bodies[/] by the tracks of their points")
    motion = output / "motion.html"
    report_motion(seed, jobs).save(motion)
    console.print("[bold]Votes of 1, 5 and 50 members[/] on 4 subspaces of dimension 3")
    votes = output / "votes.png"
    save_votes(votes_of_members(seed, jobs), votes)
    for name, path in (("Reports", digits), ("", motion), ("Picture", votes)):
        say(console, f"{name:8}{path}")


def _make_directory(output: Path) -> None:
    """Create the directory, or say which file is in its place."""
    for path in (output, *output.parents):
        if path.exists() and not path.is_dir():
            raise ValueError(
                f"--output {output} cannot be a directory, since {path} is a file; "
                "choose another name, or move the file away"
            )
    output.mkdir(parents=True, exist_ok=True)


def cluster_digits(seed: int, jobs: int) -> DigitsResult:
    """Fit EKSS to the digits; their labels are used for scoring only."""
    from sklearn.datasets import load_digits

    from ekss import EKSS
    from ekss.metrics import clustering_error, normalized_mutual_info

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
    from ekss.report import build

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
    """Cluster the tracks of moving bodies, without any setting, and describe them."""
    import numpy as np

    from ekss import EKSS
    from ekss.report import build

    tracks = moving_bodies(np.random.default_rng(seed))
    model = EKSS(n_clusters=3, random_state=seed, n_jobs=jobs)
    start = time.perf_counter()
    model.fit(tracks.points)
    return build(
        model,
        tracks.points,
        labels=tracks.target,
        n_frames=_SCENE.frames,
        title="Two bodies in front of a moving scene",
        source=f"synthetic tracks over {_SCENE.frames} frames, noise of one pixel",
        seconds=time.perf_counter() - start,
    )


def moving_bodies(rng: np.random.Generator) -> Tracks:
    """Follow points on a scene and on two bodies that turn and move in front of it.

    Seen from far away, the tracks of one rigid body lie on an affine subspace of
    dimension at most 3: a mean path and one direction for each coordinate of the body.
    The scene moves too, as it does when the camera moves.
    """
    import numpy as np

    tracks = []
    for body in _SCENE.bodies:
        points = rng.uniform(-1, 1, (body.n_points, 3)) * body.half_sizes
        path = [
            body.middle
            + share * np.array(body.shift)
            + (points @ _turn(share * np.array(body.turn)).T)[:, :2]
            for share in np.linspace(0, 1, _SCENE.frames)
        ]
        tracks.append(np.stack(path, axis=1).reshape(body.n_points, -1))
    rows = np.concatenate(tracks)
    target = np.repeat(np.arange(len(tracks)), [len(track) for track in tracks])
    return Tracks(rows + _SCENE.noise * rng.standard_normal(rows.shape), target)


def _turn(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation about the three axes, one after the other."""
    import numpy as np

    total = np.eye(3)
    for axis, angle in enumerate(angles):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3)
        step[[i, j], [i, j]] = np.cos(angle)
        step[i, j], step[j, i] = -np.sin(angle), np.sin(angle)
        total = step @ total
    return total


def votes_of_members(seed: int, jobs: int) -> list[VotesPanel]:
    """Reproduce the paper's Fig. 1: D=100, d=3, K=4, N=400, no noise, no threshold."""
    from ekss import PaperEKSS
    from ekss.datasets import make_union_of_subspaces
    from ekss.graph import coassociation_dense, coassociation_topq, spectral_labels
    from ekss.metrics import clustering_error

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


def save_votes(panels: list[VotesPanel], path: Path) -> None:
    """Draw the co-association matrices side by side, points in cluster order."""
    figure = _figure_class()(figsize=(11, 4.1), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        image = axis.imshow(
            panel.votes, cmap="magma", vmin=0, vmax=1, interpolation="nearest"
        )
        members = "1 member" if panel.n_members == 1 else f"{panel.n_members} members"
        axis.set_title(f"{members}: error {100 * panel.error:.0f} %", fontsize=12)
        n = len(panel.votes)
        axis.set_xticks(range(0, n + 1, n // 4))
        axis.set_yticks(range(0, n + 1, n // 4))
        axis.tick_params(labelsize=8, length=2)
        axis.set_xlabel("point", fontsize=9)
    axes[0].set_ylabel("point", fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=0.82, pad=0.01)
    bar.set_label("share of members that put two points together", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    figure.savefig(path, dpi=130)


def _figure_class() -> Any:
    """Return matplotlib's figure, or say how to install it."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need matplotlib, which is not installed; "
            "install it with: pip install 'ekss[plot]'"
        ) from error
    return Figure


def _summary(result: DigitsResult) -> Table:
    """Return a table of what was found."""
    import numpy as np
    from rich.table import Table

    table = Table(show_header=False)
    table.add_row("clustering error", f"{100 * result.error:.1f} %")
    table.add_row("normalised mutual information", f"{result.nmi:.3f}")
    table.add_row("time", f"{result.seconds:.1f} s")
    sizes = np.sort(np.bincount(result.model.labels_))[::-1]
    table.add_row("cluster sizes", " ".join(str(size) for size in sizes))
    table.add_row("subspace dimension", str(result.model.subspace_dim_))
    table.add_row("members", str(result.model.n_members_))
    return table
