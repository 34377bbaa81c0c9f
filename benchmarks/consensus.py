"""Consensus of k-means against its rivals: docs/results/consensus.md.

Every fit runs in a process of its own, so that its peak of memory can be read, and is a
row of docs/results/consensus.csv; only rows that are missing, or that other code made,
are computed. With Python: ``python benchmarks/consensus.py``. MNIST needs the data
(``ekss data``); without them, name the other sets by ``--sets``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from rows import Key, Rows, Study

SETS = ("iris", "wine", "breast cancer", "digits", "MNIST-10k", "200000 rows")
STUDY = Study(
    "consensus",
    "Consensus of k-means",
    ("data", "method", "seed"),
    ("error", "nmi", "seconds", "megabytes"),
)
SEEDS = range(3)
# Where a matrix of all pairs takes too much or too long, so that some are left out.
LARGE = ("MNIST-10k", "200000 rows")
N_MEMBERS = 100


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points and classes."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    if name == "200000 rows":
        return datasets.make_blobs(
            200_000, 20, centers=10, cluster_std=3.0, random_state=0
        )
    if name == "MNIST-10k":
        from ekss.benchmarks import DATASETS
        from ekss.benchmarks._data import prepare_features, read_features, recipe_of
        from ekss.datasets import get_data_home

        mnist = DATASETS["mnist_test"]
        recipe = recipe_of(mnist, "scattering", None)
        path = prepare_features(get_data_home(), recipe, lambda: mnist.load(None))
        (points,) = read_features(path)
        return points.data, points.target
    X, y = getattr(datasets, f"load_{name.replace(' ', '_')}")(return_X_y=True)
    # Pixels have one unit, other columns have not.
    return (X if name == "digits" else StandardScaler().fit_transform(X)), y


def consensus(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    from ekss import ConsensusClustering

    model = ConsensusClustering(n_clusters, random_state=seed, n_jobs=2)
    return model.fit_predict(X)


def kmeans(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X)


def members(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return labels of as many k-means as our members, drawn as these are."""
    from ekss.ensemble.consensus import Bagging, fit_member
    from ekss.estimators._consensus import DEFAULT

    bagging = Bagging((DEFAULT,)).settled(n_clusters, len(X))
    found = [fit_member(X, bagging, seed, b).votes(X) for b in range(N_MEMBERS)]
    return np.stack(found)


def unit_kmeans(vectors: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    from sklearn.preprocessing import normalize

    return kmeans(normalize(vectors), n_clusters, seed)


def average_linkage(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Evidence accumulation in plain SciPy: average linkage of one minus the votes."""
    labels = members(X, n_clusters, seed)
    return _linked(labels, np.ones((len(labels), labels.max() + 1)), n_clusters)


def _linked(labels: np.ndarray, weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average linkage of one minus the votes, with a weight for every base cluster."""
    from scipy.cluster.hierarchy import fcluster, linkage

    n_members, n = labels.shape
    each = np.take_along_axis(weights, labels, axis=1) / n_members
    votes = [
        (each[:, i, None] * (labels[:, i, None] == labels[:, i + 1 :])).sum(axis=0)
        for i in range(n - 1)
    ]
    apart = np.maximum(1 - np.concatenate(votes), 0)
    return fcluster(linkage(apart, "average"), n_clusters, "maxclust") - 1


def entropy_linkage(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Votes of a base cluster count less the more the other members divide it.

    LWEA of Huang, Wang, Lai, "Locally weighted ensemble clustering", 2018, theta = 0.4.
    """
    labels = members(X, n_clusters, seed)
    n_labels = labels.max() + 1
    entropy = np.zeros((len(labels), n_labels))
    for member in labels:
        for b, other in enumerate(labels):
            shared = np.zeros((n_labels, n_labels))
            np.add.at(shared, (other, member), 1)
            share = shared / np.maximum(shared.sum(axis=1, keepdims=True), 1)
            logarithm = np.log2(share, where=share > 0, out=np.zeros_like(share))
            entropy[b] -= (share * logarithm).sum(axis=1)
    return _linked(labels, np.exp(-entropy / (0.4 * len(labels))), n_clusters)


def bipartite(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Spectral cut of the graph of points and base clusters.

    HBGF of Fern and Brodley, "Solving cluster ensemble problems by bipartite graph
    partitioning", 2004.
    """
    from scipy.sparse import csr_array, diags_array, hstack
    from scipy.sparse.linalg import svds

    n, parts = len(X), []
    for member in members(X, n_clusters, seed):
        used, column = np.unique(member, return_inverse=True)
        shape = n, len(used)
        parts.append(csr_array((np.ones(n), (np.arange(n), column)), shape=shape))
    votes = csr_array(hstack(parts))
    scaled = votes @ diags_array(1 / np.sqrt(votes.sum(axis=0)))
    vectors = svds(scaled, n_clusters, random_state=seed)[0]
    return unit_kmeans(vectors, n_clusters, seed)


def doubly_stochastic(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Spectral cut of the matrix of all votes, scaled to rows and columns of sum 1."""
    from ekss.graph import coassociation_dense

    votes = coassociation_dense(members(X, n_clusters, seed).T)
    scale = np.ones(len(votes))
    for _ in range(200):
        scale = np.sqrt(scale / (votes @ scale))
    vectors = np.linalg.eigh(votes * scale * scale[:, None])[1][:, -n_clusters:]
    return unit_kmeans(vectors, n_clusters, seed)


def probabilistic(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Most likely memberships, if votes are drawn with the chance to be together.

    Probabilistic evidence accumulation of Rota Bulo, Lourenco, Fred, Pelillo, 2010, by
    expectation-maximisation from ten random starts.
    """
    from ekss.graph import coassociation_dense

    votes = coassociation_dense(members(X, n_clusters, seed).T)
    np.fill_diagonal(votes, 0)
    rng = np.random.default_rng(seed)
    best: tuple[float, np.ndarray] = (-np.inf, np.zeros(len(X)))
    for _ in range(10):
        share = rng.dirichlet(np.full(n_clusters, 5.0), len(X))
        for _ in range(100):
            together = np.clip(share @ share.T, 1e-9, 1 - 1e-9)
            yes, no = votes / together, (1 - votes) / (1 - together)
            np.fill_diagonal(no, 0)
            share = share * (yes @ share + no @ (1 - share))
            share /= share.sum(axis=1, keepdims=True)
        together = np.clip(share @ share.T, 1e-9, 1 - 1e-9)
        likelihood = votes * np.log(together) + (1 - votes) * np.log(1 - together)
        total = float(likelihood.sum() - np.trace(likelihood))
        best = max(best, (total, share.argmax(axis=1)), key=lambda found: found[0])
    return best[1]


SCIPY = "votes and average linkage in SciPy"
QUICK = ("ConsensusClustering", "KMeans, best of 10")
METHODS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "ConsensusClustering": consensus,
    "KMeans, best of 10": kmeans,
    SCIPY: average_linkage,
    "LWEA: votes weighted by entropy": entropy_linkage,
    "HBGF: points and base clusters": bipartite,
    "doubly stochastic votes": doubly_stochastic,
    "probabilistic evidence accumulation": probabilistic,
}


def measure(data: str, method: str, seed: int) -> dict[str, Any]:
    """Fit once; called in a process of its own."""
    from sklearn.metrics import normalized_mutual_info_score

    from ekss.metrics import clustering_error
    from ekss.runtime.memory import peak_bytes

    X, y = load(data)
    before = peak_bytes()
    start = perf_counter()
    labels = METHODS[method](X, len(np.unique(y)), seed)
    seconds = perf_counter() - start
    grown = peak_bytes() - before
    return {
        "error": f"{100 * clustering_error(y, labels):.2f}",
        "nmi": f"{normalized_mutual_info_score(y, labels):.3f}",
        "seconds": f"{seconds:.2f}",
        "megabytes": f"{grown / 1e6:.0f}",
    }


def wanted(sets: list[str]) -> Iterator[Key]:
    for data, method, seed in product(sets, METHODS, SEEDS):
        if data not in LARGE or (method in QUICK and seed == 0):
            yield data, method, str(seed)


def _in_own_process(key: Key) -> dict[str, Any] | None:
    """Measure in a process of its own; None if it fails."""
    found = subprocess.run(
        [sys.executable, "-c", f"import consensus as c; c.tell({key!r})"],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if found.returncode:
        print(*key, "failed", flush=True)
        return None
    measured: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return measured


def tell(key: tuple[str, str, str]) -> None:
    """Measure and print, for the process that asks."""
    data, method, seed = key
    print(json.dumps(measure(data, method, int(seed))))


def body(every: Rows) -> list[str]:
    page = [
        "Made by `python benchmarks/consensus.py`. Error in percent and normalised "
        "mutual information with the classes, means over the seeds; seconds with two "
        "workers where a method has them; megabytes above those of data and imports. "
        "Iris, wine, breast cancer and digits come with scikit-learn, the columns of "
        "the first three scaled to unit variance; MNIST-10k are scattering features; "
        "200000 rows are ten Gaussian clusters. The defaults of ConsensusClustering "
        "were chosen on the first four, on 3000 images of USPS and on planted blobs "
        "([log](../experiments.md#consensus-of-k-means)). The others get 100 "
        "k-means drawn as our members are.",
        "",
    ]
    for data in SETS:
        rows = [row for row in every if row["data"] == data]
        if not rows:
            continue
        page += [
            f"## {data}",
            "",
            "| method | seeds | error % | worst | NMI | seconds | MB |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for method in dict.fromkeys(row["method"] for row in rows):
            some = [row for row in rows if row["method"] == method]
            mean = {
                name: np.mean([float(row[name]) for row in some])
                for name in STUDY.measured
            }
            worst = max(float(row["error"]) for row in some)
            page.append(
                f"| {method} | {len(some)} | {mean['error']:.1f} | {worst:.1f} | "
                f"{mean['nmi']:.3f} | {mean['seconds']:.1f} | "
                f"{mean['megabytes']:.0f} |"
            )
        page.append("")
    return page


def main() -> None:
    parser = STUDY.arguments(__doc__)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    given = parser.parse_args()
    STUDY.carry_out(given, wanted(given.sets), _in_own_process, body)


if __name__ == "__main__":
    main()
