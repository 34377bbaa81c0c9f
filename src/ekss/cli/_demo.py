"""``ekss demo``: the digits of scikit-learn, and the paper's first figure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.graph import coassociation_dense, coassociation_topq, spectral_labels
from ekss.metrics import clustering_error, normalized_mutual_info

_FIGURE_MEMBERS = (1, 5, 50)


@dataclass(frozen=True)
class DigitsResult:
    """The fitted model on the digits, with what a person wants to know of it."""

    model: EKSS
    images: NDArray[np.floating]
    target: NDArray[np.int64]
    error: float
    nmi: float
    seconds: float


@dataclass(frozen=True)
class VotesPanel:
    """Co-association of the first members, and the error of cutting it."""

    n_base: int
    votes: NDArray[np.float64]
    error: float


def run_demo(output: Path, seed: int, jobs: int) -> None:
    """Cluster the digits, print a summary, write the two pictures."""
    from ekss.cli import _pictures  # says how to install matplotlib if it is missing

    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    console.print(
        "[bold]Clustering 1797 handwritten digits[/] (8 x 8 pixels, 10 kinds)"
    )
    result = cluster_digits(seed, jobs)
    console.print(_summary(result))
    console.print("Drawing ...")
    digits = output / "digits.png"
    _pictures.save_digits(result, digits)
    console.print("[bold]Votes of 1, 5 and 50 members[/] on 4 subspaces of dimension 3")
    votes = output / "votes.png"
    _pictures.save_votes(votes_of_members(seed, jobs), votes)
    console.print(f"Pictures: {digits} and {votes}", markup=False, soft_wrap=True)


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
        data.images,
        data.target,
        clustering_error(data.target, model.labels_),
        normalized_mutual_info(data.target, model.labels_),
        seconds,
    )


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
    model = EKSS(4, 3, n_base=max(_FIGURE_MEMBERS), random_state=seed, n_jobs=jobs)
    members = model.fit(data.data).base_labels_
    panels = []
    for n_base in _FIGURE_MEMBERS:
        first = members[:, :n_base]
        graph = coassociation_topq(first, None, len(first) - 1)
        cut = spectral_labels(graph, 4, random_state=seed).labels
        error = clustering_error(data.target, cut)
        panels.append(VotesPanel(n_base, coassociation_dense(first), error))
    return panels


def _summary(result: DigitsResult) -> Table:
    """Table of what was found."""
    table = Table(show_header=False)
    table.add_row("clustering error", f"{100 * result.error:.1f} %")
    table.add_row("normalised mutual information", f"{result.nmi:.3f}")
    table.add_row("time", f"{result.seconds:.1f} s")
    sizes = np.sort(np.bincount(result.model.labels_))[::-1]
    table.add_row("cluster sizes", " ".join(str(size) for size in sizes))
    table.add_row("subspace dimension", str(result.model.subspace_dim_))
    table.add_row("members", str(result.model.n_base))
    return table
