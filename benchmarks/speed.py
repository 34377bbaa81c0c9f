"""Speed as ratios, each against its limit in the same run: ``make bench``.

Seconds mean little on a shared machine, so every figure is divided by a reference
measured next to it with the same number of threads: one for parts, ``--jobs`` (2) for
whole fits. Wall time, best of a few repeats.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import SpectralClustering
from threadpoolctl import threadpool_limits

from ekss import SSCOMP, TSC, EnSC, PaperEKSS
from ekss.core.bases import random_bases
from ekss.core.ensemble import MemberOptions, run_member
from ekss.core.ksubspaces import squared_norms
from ekss.datasets import make_union_of_subspaces
from ekss.graph import nearest_by_votes, prepare_votes


@dataclass(frozen=True)
class Row:
    name: str
    value: float
    limit: float
    unit: str
    detail: str


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def union(n: int, n_features: int, n_clusters: int = 10, dim: int = 13) -> np.ndarray:
    data = make_union_of_subspaces(
        n_subspaces=n_clusters,
        dims=dim,
        n_features=n_features,
        n_per_subspace=n // n_clusters,
        noise=0.5,
        random_state=0,
    )
    return data.data.astype(np.float32)


def member_seconds(n: int, n_members: int = 3) -> float:
    X = union(n, 500)
    options = MemberOptions((10, 10), (13, 13), 10, "power")
    run_member(X[:500], 0, 0, options)  # compile
    norms = squared_norms(X)
    return seconds(
        lambda: [run_member(X, 0, b, options, norms) for b in range(n_members)], 3
    )


def members() -> Row:
    """(a) B members with T iterations against their (T+1) B matrix products."""
    n_members, n_iter = 3, 10
    X = union(10_000, 500)
    stacked = np.hstack(list(random_bases(10, 500, 13, np.random.default_rng(0), "f4")))
    spent = member_seconds(10_000, n_members)
    product = seconds(lambda: [X @ stacked for _ in range((n_iter + 1) * n_members)], 3)
    detail = (
        f"{spent / n_members:.3f} s per member, {product / n_members:.3f} s its GEMMs"
    )
    return Row("(a) members / GEMMs alone", spent / product, 2.0, "x", detail)


def votes() -> Row:
    """(b) Top q of the votes against the one-hot matrix product of the same counts."""
    n, n_members, n_clusters = 10_000, 1_000, 10
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_clusters, (n_members, n)).astype(np.uint8).T
    prepared = prepare_votes(labels, rng.uniform(0.7, 0.9, n_members))
    nearest_by_votes(prepare_votes(labels[:200]), 10)  # compile
    spent = seconds(lambda: nearest_by_votes(prepared, 10), 2)
    # A tenth of the rows of the product: all of it needs the N x N matrix.
    one_hot = np.zeros((n, n_members * n_clusters), np.float32)
    one_hot[np.arange(n)[:, None], np.arange(n_members) * n_clusters + labels] = 1
    product = 10 * seconds(lambda: one_hot[: n // 10] @ one_hot.T, 2)
    detail = f"{spent:.2f} s, one-hot GEMM {product:.2f} s"
    return Row("(b) top-q votes / one-hot GEMM", spent / product, 0.2, "x", detail)


def whole_fits(jobs: int) -> list[Row]:
    """(c) and the rivals: a whole fit against scikit-learn's spectral clustering."""
    X = union(10_000, 500)
    reference_model = SpectralClustering(
        n_clusters=10, affinity="nearest_neighbors", n_jobs=jobs, random_state=0
    )
    cases = [
        (
            "(c) the paper's EKSS, B=100, T=3",
            PaperEKSS(10, 13, n_members=100, n_neighbors=10, update="power"),
            2.0,
        ),
        ("TSC", TSC(10), 1.5),
        ("SSCOMP, 5 nonzeros", SSCOMP(10, n_nonzero=5), 4.0),
        ("EnSC, 0.95, 3", EnSC(10, l1_ratio=0.95, gamma=3.0), 20.0),
    ]
    rows = []
    with threadpool_limits(jobs), warnings.catch_warnings():
        # scikit-learn's neighbour graph of these points has several components
        warnings.simplefilter("ignore", UserWarning)
        reference = seconds(lambda: reference_model.fit(X), 2)
        for name, model, limit in cases:
            model.set_params(random_state=0, n_jobs=jobs)
            spent = seconds(lambda model=model: model.fit(X), 2)
            detail = f"{spent:.1f} s, scikit-learn {reference:.1f} s"
            rows.append(Row(f"{name} / sklearn", spent / reference, limit, "x", detail))
    return rows


def peak_memory() -> Row:
    """(d) Peak memory of a fresh process that fits 50,000 points."""
    code = (
        "import resource, speed\n"
        "from ekss import EKSS\n"
        "points = speed.union(50_000, 100, dim=5)\n"
        "EKSS(10, 5, n_members=200, random_state=0).fit(points)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    detail = "N=50,000, D=100, B=200, fresh process"
    return Row("(d) peak memory", int(done.stdout) / 2**20, 2.0, "GB", detail)


def growth() -> Row:
    """(e) Member time at 2N against N."""
    small, large = member_seconds(10_000), member_seconds(20_000)
    detail = f"{small:.2f} s at N=10,000, {large:.2f} s at 20,000"
    return Row("(e) members at 2N / at N", large / small, 2.2, "x", detail)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="workers of whole fits (2)")
    jobs = parser.parse_args().jobs
    console = Console()
    rows: list[Row] = []
    with threadpool_limits(1):
        for measure in (members, votes, growth):
            with console.status(measure.__doc__ or ""):
                rows.append(measure())
    with console.status(whole_fits.__doc__ or ""):
        rows += whole_fits(jobs)
    with console.status(peak_memory.__doc__ or ""):
        rows.append(peak_memory())
    table = Table("what", "measured", "limit", "holds", "detail")
    for row in sorted(rows, key=lambda row: row.name):
        table.add_row(
            row.name,
            f"{row.value:.2f} {row.unit}",
            f"{row.limit:g} {row.unit}",
            "yes" if row.value <= row.limit else "NO",
            row.detail,
        )
    console.print(table)
    return int(any(row.value > row.limit for row in rows))


if __name__ == "__main__":
    sys.exit(main())
