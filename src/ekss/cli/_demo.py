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

    from ekss.report import Report

_FIGURE_MEMBERS = (1, 5, 50)  # of the paper's Fig. 1


@dataclass(frozen=True)
class VotesPanel:
    """Co-association of the first members, and the error of cutting it."""

    n_members: int
    votes: NDArray[np.float64]
    error: float


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
    page, motion, votes = (
        output / name for name in ("digits.html", "motion.html", "votes.png")
    )
    console.print(
        "[bold]Clustering 1797 handwritten digits[/] (8 x 8 pixels, 10 kinds)"
    )
    digits = report_digits(seed, jobs)
    console.print(_summary(digits))
    digits.save(page)
    console.print("[bold]Separating moving bodies[/] by the tracks of their points")
    report_motion(seed, jobs).save(motion)
    console.print("[bold]Votes of 1, 5 and 50 members[/] on 4 subspaces of dimension 3")
    save_votes(votes_of_members(seed, jobs), votes)
    for name, path in (("Reports", page), ("", motion), ("Picture", votes)):
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


def report_digits(seed: int, jobs: int) -> Report:
    """Fit EKSS to the digits; their labels are used for scoring only."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return _report(
        *(10, data.data, seed, jobs),
        verbose=1,
        labels=data.target,
        image_shape=(8, 8),
        title="Handwritten digits",
        source="the digits of scikit-learn, 8 x 8 pixels",
    )


def report_motion(seed: int, jobs: int) -> Report:
    """Cluster the tracks of moving bodies, without any setting, and describe them."""
    from ekss.datasets import make_moving_bodies

    scene = make_moving_bodies(random_state=seed)
    return _report(
        *(3, scene.data, seed, jobs),
        labels=scene.target,
        n_frames=scene.n_frames,
        title="Two bodies in front of a moving scene",
        source=f"synthetic tracks over {scene.n_frames} frames, noise of one pixel",
    )


def _report(
    n_clusters: int, points: Any, seed: int, jobs: int, verbose: int = 0, **about: Any
) -> Report:
    """Cluster points by EKSS and describe the clusters."""
    from ekss import EKSS
    from ekss.report import build

    model = EKSS(n_clusters, random_state=seed, n_jobs=jobs, verbose=verbose)
    start = time.perf_counter()
    model.fit(points)
    return build(model, points, seconds=time.perf_counter() - start, **about)


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


def _summary(report: Report) -> Table:
    """Return a table of what was found."""
    from rich.table import Table

    summary = report.summary
    sizes = [str(cluster["size"]) for cluster in summary["clusters"]]
    rows = (
        ("clustering error", f"{100 * summary['scores']['error']:.1f} %"),
        ("normalised mutual information", f"{summary['scores']['nmi']:.3f}"),
        ("time", f"{summary['seconds']:.1f} s"),
        ("cluster sizes", " ".join(sizes)),
        ("subspace dimension", str(summary["subspace_dim"])),
        ("members", str(summary["n_members"])),
    )
    table = Table(show_header=False)
    for row in rows:
        table.add_row(*row)
    return table
