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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.ndimage import gaussian_filter
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from ekss import EKSS, SSCOMP, TSC, EnSC, PaperEKSS
from ekss.core.ksubspaces import (
    MemberOptions,
    run_member,
    run_side_by_side,
    squared_norms,
)
from ekss.core.linalg import random_bases
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
        ("(c) EKSS(10)", EKSS(10), 2.5),
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
        "import speed\n"
        "from ekss import EKSS\n"
        "from ekss.runtime.memory import peak_bytes\n"
        "points = speed.union(50_000, 100, dim=5)\n"
        "EKSS(10, 5, n_members=200, random_state=0).fit(points)\n"
        "print(peak_bytes())"
    )
    command, here = [sys.executable, "-c", code], Path(__file__).parent
    peak = float(subprocess.check_output(command, cwd=here, text=True))
    detail = "N=50,000, D=100, B=200, fresh process"
    return Row("(d) peak memory", peak / 2**30, 2.0, "GB", detail)


def faces() -> np.ndarray:
    """Ten images of 32 x 32 pixels of each of 40 smooth objects under random light."""
    rng = np.random.default_rng(0)

    def smooth(width: int) -> np.ndarray:
        return gaussian_filter(rng.standard_normal((32, 32)), width)

    common, images = 30 * smooth(6), []
    for _ in range(40):
        base = common + 6 * smooth(3)
        modes = np.stack([4 * smooth(4) for _ in range(4)])
        for _ in range(10):
            light = np.tensordot(rng.standard_normal(4), modes, 1)
            noise = 0.05 * rng.standard_normal((32, 32))
            images.append((base + light + noise).ravel())
    X = np.array(images)
    return X - X.min()


def yardstick(X: np.ndarray) -> float:
    """Seconds of 600 float32 products of X with 780 columns, in two threads.

    About what 100 members of 60 candidates of dimension 13 must multiply.
    """
    X = np.ascontiguousarray(X, np.float32)
    columns = np.ones((X.shape[1], 780), np.float32)

    def half(_: int) -> None:
        products = np.empty((len(X), 780), np.float32)
        for _ in range(300):
            np.matmul(X, columns, out=products)

    def both() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(half, range(2)))

    with threadpool_limits(1):
        return seconds(both, 2)


def median_seconds(work: Callable[[], object]) -> float:
    return float(np.median([seconds(work) for _ in range(3)]))


def first_fits() -> list[Row]:
    """(f) Default fits of data that people try first, in yardsticks; and workers."""
    cases = [
        ("300 x 30, K=3", union(300, 30, 3, 4).astype(float), 3, 7.6, 0.67),
        ("digits, K=10", load_digits().data, 10, 9.0, 0.59),
        ("400 x 1024, K=40", faces(), 40, 2.1, 1.0),
    ]
    rows = []
    for name, X, n_clusters, limit, limit_of_workers in cases:
        EKSS(n_clusters, random_state=0).fit(X)  # compile
        unit = yardstick(X)

        def fit(n_clusters: int | str, jobs: int, X: np.ndarray = X) -> float:
            model = EKSS(n_clusters, random_state=0, n_jobs=jobs)
            return median_seconds(lambda: model.fit(X))

        spent = {jobs: fit(n_clusters, jobs) for jobs in (1, 2)}
        found = fit("auto", 2)
        detail = f"{spent[2]:.2f} s, Y = {unit:.3f} s"
        rows.append(Row(f"(f) {name} / Y", spent[2] / unit, limit, "x", detail))
        detail = f"{spent[1]:.2f} s with one"
        rows.append(
            Row(
                f"(f) {name}: 2 workers / 1",
                spent[2] / spent[1],
                limit_of_workers,
                "x",
                detail,
            )
        )
        detail = f"{found:.2f} s"
        rows.append(
            Row(f"(f) {name}: K unknown / known", found / spent[2], 3.0, "x", detail)
        )
    return rows


def member_shapes() -> list[Row]:
    """(a) Members of several shapes against their products."""
    rows = []
    for n, n_features, n_candidates, dim, limit in (
        (300, 30, 18, 4, 2.5),
        (400, 390, 120, 2, 2.5),
        (1797, 64, 60, 10, 1.5),
        (1440, 300, 120, 4, 1.5),
        (10_000, 100, 60, 13, 1.5),
    ):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, n_features)).astype(np.float32)
        options = MemberOptions(
            (n_candidates, n_candidates), (dim, dim), 5, "power", least_points=0
        )
        norms, at_once = squared_norms(X), options.at_once(n)
        count = max(at_once, 4 * 10**8 // (n * n_features * n_candidates * dim))
        columns = rng.standard_normal((n_features, n_candidates * dim)).astype("f4")
        out = np.empty((n, n_candidates * dim), np.float32)

        def run(X=X, options=options, norms=norms, count=count, at_once=at_once):
            for first in range(0, count, at_once):
                batch = range(first, min(first + at_once, count))
                run_side_by_side(X, 0, batch, options, norms)

        def multiply(X=X, columns=columns, out=out, count=count):
            for _ in range(6 * count):
                np.matmul(X, columns, out=out)

        run()
        spent, product = seconds(run, 5), seconds(multiply, 5)
        name = f"(a) {n} x {n_features}, {n_candidates} of {dim}"
        detail = f"{1e3 * spent / count:.2f} ms per member"
        rows.append(Row(f"{name} / GEMMs", spent / product, limit, "x", detail))
    return rows


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
        with console.status(member_shapes.__doc__ or ""):
            rows += member_shapes()
    for several in (first_fits, partial(whole_fits, jobs)):
        with console.status((several.__doc__ or "").splitlines()[0]):
            rows += several()
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
