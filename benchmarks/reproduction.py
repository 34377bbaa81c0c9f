"""What it takes to reach the figures of the paper's Table I: docs/results.

Cells of the table that our figures missed are run again at the paper's size, and then
with one change at a time. Every error is a row of docs/results/reproduction.csv; rows
that are there already are not computed again, so a run can be stopped and continued,
and ``--fresh`` begins anew. Cells that are not run again are read from
docs/results/table1.csv. With Python: ``python benchmarks/reproduction.py``; the data
sets come by ``ekss data fetch``. Members of ensembles are kept in the folder "members"
of the data home, and may be deleted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss import KSS, SSC, SSCOMP, TSC, ClusteringWarning, CoPKSS, EnSC, MedianKFlats
from ekss.benchmarks._data import (
    DATASETS,
    Points,
    error_of,
    loaders,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.benchmarks._paper import parameters
from ekss.benchmarks._versions import code_of, libraries_in, provenance
from ekss.core.cop import update_cop
from ekss.core.ksubspaces import UPDATES, assign, random_start
from ekss.core.linalg import unit_rows
from ekss.datasets import get_data_home
from ekss.graph import (
    bridge_by_votes,
    directed_graph,
    nearest_by_votes,
    prepare_votes,
    spectral_labels,
    symmetric_graph,
)
from ekss.preprocessing import WhitenedComponents
from ekss.runtime.workers import one_blas_thread
from rows import Key, RowFile

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGE = RESULTS / "reproduction.md"
TABLE = RESULTS / "table1.csv"
ROWS = RowFile(
    RESULTS / "reproduction.csv",
    ("dataset", "method", "change", "part"),
    ("error", "middle", "runs", "seconds", "libraries"),
)
# A figure is reproduced if ours is lower, or higher by no more points than this.
NEAR = 2.0
PRINTED = ""
CHUNK = 50
Labels = NDArray[np.integer]


@dataclass(frozen=True)
class Members:
    """Members of an ensemble as Algorithm 1 makes them, and labels on the way.

    Attributes
    ----------
    dataset, data : str
        A data set of Table I, and one of its variants.
    dim : int
    kept : tuple of int
        Numbers T of iterations after which labels are kept; the last is the largest.
    update : str
        "pca", "power" or "cop"; "cop" with another share of coherent points than a
        half is "cop 0.9".
    candidates : int
        Multiple of the number of clusters.
    count : int
    seed : int
    """

    dataset: str
    data: str
    dim: int
    kept: tuple[int, ...] = (0, 1, 3)
    update: str = "pca"
    candidates: int = 1
    count: int = 1000
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of the files in which they are kept."""
        kept = "-".join(map(str, self.kept))
        words = (self.dataset, self.data, self.dim, kept, self.update, self.candidates)
        return "_".join(str(word).replace(" ", "") for word in (*words, self.seed))


@dataclass(frozen=True)
class Change:
    """One way to run a cell, and in what it differs from the paper's parameters.

    Attributes
    ----------
    dataset, method : str
    words : str
        What is changed; "" is nothing.
    members : Members or None
        Of EKSS; then T is ``iterations``, and q is swept.
    iterations : int
    weighted, divided : bool
        Whether votes are weighted by w(b), as the paper does on real data, or divided
        by the size of the base cluster.
    published_code : bool
        Whether votes are weighted and thresholded as in the program that the paper's
        first author published in 2018: a member counts 1 - (1 - w(b))^(1/2), and an
        edge that one of two points keeps counts as much as one that both keep.
    neighbors : tuple of int
        What is swept as q.
    params : tuple of pairs
        Names and values of parameters of the other methods.
    trials : int
        Starts of KSS, CoP-KSS and MKF, of which the best by the labels counts.
    data : str
    """

    dataset: str
    method: str
    words: str = PRINTED
    members: Members | None = None
    iterations: int = 3
    weighted: bool = True
    divided: bool = False
    published_code: bool = False
    neighbors: tuple[int, ...] = (2, 3, 4, 6, 8, 12, 20, 50)
    params: tuple[tuple[str, Any], ...] = ()
    trials: int = 0
    data: str = ""


def ekss(members: Members, words: str = PRINTED, **more: Any) -> Change:
    return Change(members.dataset, "ekss", words, members, **more)


def _on_images(dataset: str, dims: tuple[int, ...], plain: int) -> Iterator[Change]:
    """What is tried of EKSS on faces and objects; the paper has d = 2 there."""
    printed = Members(dataset, "whitened", 2, (0, 1, 2, 3))
    yield ekss(printed)
    yield ekss(printed, "all votes equal", weighted=False)
    yield ekss(printed, "votes divided by size", divided=True)
    # The loop of that program begins to count at 1 and ends before T.
    told = "T = 2, weights and threshold of the published program"
    yield ekss(printed, told, iterations=2, published_code=True)
    yield ekss(printed, "T = 1", iterations=1)
    yield ekss(printed, "T = 0", iterations=0)
    for dim in dims:
        larger = replace(printed, dim=dim, kept=(0, 1, 3))
        yield ekss(larger, f"d = {dim}")
        yield ekss(larger, f"d = {dim}, T = 1", iterations=1)
        yield ekss(larger, f"d = {dim}, T = 0", iterations=0)
        yield ekss(larger, f"d = {dim}, votes divided by size", divided=True)
    if plain:
        pixels = replace(printed, data="plain", kept=(0, 1, 3))
        yield ekss(pixels, "pixels not whitened")
        yield ekss(pixels, "pixels not whitened, T = 0", iterations=0)
        larger = replace(pixels, dim=plain)
        yield ekss(larger, f"pixels not whitened, d = {plain}")
        yield ekss(
            larger,
            f"pixels not whitened, d = {plain}, votes divided by size",
            divided=True,
        )
    more = replace(printed, candidates=3, kept=(0, 1, 3), count=300)
    yield ekss(more, "3 K candidates")


def _on_digits(
    dataset: str, data: str, kept: tuple[int, ...], counts: Mapping[str, int]
) -> Iterator[Change]:
    """What is tried of EKSS on USPS and MNIST; the paper has Coherence Pursuit there.

    ``counts`` are members by the way in which they are fitted.
    """
    wide = (2, 3, 5, 8, 10, 20, 40, 72, 120, 200)
    said = {
        "cop": "",
        "cop 0.9": "Coherence Pursuit keeps 90 % of a cluster",
        "pca": "PCA in place of Coherence Pursuit",
        "power": "power steps in place of Coherence Pursuit",
    }
    for update, count in counts.items():
        members = Members(dataset, data, 13, kept, update, count=count)
        for iterations in reversed(kept):
            words = [said[update]] if said[update] else []
            if iterations != kept[-1]:
                words.append(f"T = {iterations}")
            told = ", ".join(words)
            more: dict[str, Any] = {"iterations": iterations, "neighbors": wide}
            yield ekss(members, told, **more)
            if iterations == kept[-1]:
                told = ", ".join([*words, "votes divided by size"])
                yield ekss(members, told, divided=True, **more)


def _trials(
    dataset: str, method: str, data: str, count: int, words: str = PRINTED, **more: Any
) -> Change:
    params = {**(parameters(dataset, method) or {}), **more}
    return Change(
        dataset, method, words, params=tuple(params.items()), trials=count, data=data
    )


def _tsc_on_motions() -> Iterator[Change]:
    """TSC on tracks, and on their leading left singular vectors."""
    yield Change("hopkins155", "tsc", "q of each sequence by the labels")
    for times in (2, 3, 4):
        words = f"WhitenedComponents({times} K)"
        yield Change("hopkins155", "tsc", words, params=(("times", times),))
        told = f"{words}, q of each sequence by the labels"
        yield Change("hopkins155", "tsc", told, params=(("times", times),))
    yield Change(
        "hopkins155",
        "tsc",
        "WhitenedComponents, number and q of each sequence by the labels",
        params=(("times", 0),),
    )


def _fits(
    dataset: str, method: str, data: str, *changes: tuple[str, Mapping[str, Any]]
) -> Iterator[Change]:
    """One fit of a method at the paper's parameters, with each of the changes."""
    printed = parameters(dataset, method) or {}
    for words, more in changes:
        params = tuple({**printed, **more}.items())
        yield Change(dataset, method, words, params=params, data=data)


WHITE = ("WhitenedComponents(4 K)", {"times": 4})
CHANGES: tuple[Change, ...] = (
    *_tsc_on_motions(),
    *_fits("hopkins155", "sscomp", "plain", ("", {}), WHITE),
    *_fits(
        "eyaleb",
        "ssc",
        "plain",
        ("1 iteration", {"max_iter": 1, "polish": False}),
        ("2 iterations", {"max_iter": 2, "polish": False}),
        ("5 iterations", {"max_iter": 5, "polish": False}),
    ),
    *_fits(
        "mnist_test",
        "sscomp",
        "scattering",
        ("", {}),
        ("all weights equal", {"equal": True}),
    ),
    *_on_images("coil20", (9,), plain=9),
    *_on_images("eyaleb", (14, 9), plain=0),
    *_on_digits("usps", "plain", (1, 3), {"cop": 1000, "cop 0.9": 300, "pca": 300}),
    _trials("usps", "kss", "plain", 1000, update="power", init="random"),
    _trials("usps", "copkss", "plain", 1000),
    _trials("coil20", "kss", "whitened", 1000, update="power", init="random"),
    _trials("eyaleb", "kss", "whitened", 1000, update="power", init="random"),
    _trials("coil20", "copkss", "whitened", 1000),
    _trials("eyaleb", "copkss", "whitened", 1000),
    *_on_digits(
        "mnist_test", "scattering", (3, 30), {"power": 100, "cop": 100, "cop 0.9": 50}
    ),
    _trials("mnist_test", "copkss", "scattering", 1000),
    _trials("eyaleb", "mkf", "whitened", 1000),
    *_fits("hopkins155", "ensc", "plain", WHITE),
)
# Starts of a cell that are run before those of the next one, and the rest at the end.
FIRST_STARTS = 200
WAYS = {(one.dataset, one.method, one.words): one for one in CHANGES}


# Measuring --------------------------------------------------------------------------


@cache
def points_of(dataset: str, data: str) -> tuple[Points, ...]:
    home = get_data_home()
    recipe = recipe_of(DATASETS[dataset], data, None)
    path = prepare_features(home, recipe, loaders(home)[dataset])
    return tuple(read_features(path))


def base_clustering(
    X: NDArray[np.floating], members: Members, n_clusters: int, number: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return labels and w(b) of one member after each number of iterations kept."""
    rng = np.random.default_rng(
        np.random.SeedSequence(members.seed, spawn_key=(number,))
    )
    name, _, share = members.update.partition(" ")
    update = partial(update_cop, share=float(share)) if share else UPDATES[name]
    flats = random_start(X, members.candidates * n_clusters, members.dim, False, rng)
    found = assign(X, flats)
    labels, weights = [], []
    for iteration in range(members.kept[-1] + 1):
        if iteration in members.kept:
            labels.append(found.labels.astype(np.uint8))
            weights.append(found.gains.mean(dtype=np.float64))
        if iteration < members.kept[-1]:
            flats = update(X, found.labels, found.own, flats)
            found = assign(X, flats)
    return np.stack(labels), np.array(weights)


def ensemble(members: Members, until: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels (kept, points, members) and weights (kept, members).

    There are fewer members than wanted if the time is over before.
    """
    (points,) = points_of(members.dataset, members.data)
    X = np.ascontiguousarray(unit_rows(points.data))
    folder = get_data_home() / "members" / code_of()
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for first in range(0, members.count, CHUNK):
        path = folder / f"{members.name}_{first}.npz"
        if not path.exists():
            if time.time() > until:
                break
            with one_blas_thread():
                made = [
                    base_clustering(X, members, points.n_clusters, number)
                    for number in range(first, min(first + CHUNK, members.count))
                ]
            labels = np.stack([one for one, _ in made], axis=2)
            weights = np.stack([one for _, one in made], axis=1)
            with path.open("wb") as file:
                np.savez_compressed(file, labels=labels, weights=weights)
            print(path.name, flush=True)
        with np.load(path) as stored:
            parts.append((stored["labels"], stored["weights"]))
    if not parts:
        raise TimeoutError
    return (
        np.concatenate([labels for labels, _ in parts], axis=2),
        np.concatenate([weights for _, weights in parts], axis=1),
    )


@lru_cache(maxsize=1)
def votes_of(change: Change, until: float) -> tuple[Any, Any, int]:
    """Return the votes, the strongest neighbours and the number of members."""
    members = change.members
    assert members is not None
    labels, weights = ensemble(members, until)
    place = members.kept.index(change.iterations)
    weight = weights[place] if change.weighted else None
    if change.published_code:
        weight = 1 - np.sqrt(np.maximum(1 - weights[place], 0))
    votes = prepare_votes(
        labels[place],
        weight,
        divide_by_size=change.divided,
    )
    return votes, nearest_by_votes(votes, max(sweep(change))), labels.shape[2]


def sweep(change: Change) -> list[int]:
    """Return what is tried as q, the paper's among it."""
    printed = (parameters(change.dataset, "ekss") or {})["n_neighbors"]
    return sorted({*change.neighbors, printed})


def cut_votes(change: Change, q: int, until: float) -> dict[str, Any]:
    assert change.members is not None
    (points,) = points_of(change.dataset, change.members.data)
    votes, nearest, count = votes_of(change, until)
    graph = symmetric_graph(nearest, q)
    if change.published_code:
        one_sided = directed_graph(nearest, q)
        graph = one_sided.maximum(one_sided.T).tocsr()
    cut = spectral_labels(
        graph,
        points.n_clusters,
        bridge=bridge_by_votes(votes, q),
        random_state=change.members.seed,
    )
    return {"error": error_of(points, cut.labels), "runs": count}


STARTED = {"kss": KSS, "copkss": CoPKSS, "mkf": MedianKFlats}
MOST_ITERATIONS = {"kss": 60, "copkss": 20, "mkf": 30}


def several_starts(change: Change, first: int) -> dict[str, Any]:
    """Return the lowest error of some starts, and the middle one."""
    (points,) = points_of(change.dataset, change.data)
    make, params = STARTED[change.method], dict(change.params)
    params |= {"n_init": 1, "max_iter": MOST_ITERATIONS[change.method]}
    errors = [
        error_of(
            points,
            make(points.n_clusters, random_state=number, **params)
            .fit(points.data)
            .labels_,
        )
        for number in range(first, first + CHUNK)
    ]
    return {"error": min(errors), "middle": float(np.median(errors)), "runs": CHUNK}


TSC_NEIGHBORS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
TSC_TIMES = (1, 2, 3, 4, 5)


@cache
def motion_errors(times: int | None) -> NDArray[np.float64]:
    """Return errors of TSC, (sequences, q): on tracks, or on whitened coordinates."""
    found = []
    for points in points_of("hopkins155", "plain"):
        X, K = points.data, points.n_clusters
        if times is not None:
            X = WhitenedComponents(min(times * K, *X.shape)).fit_transform(X)
        errors = []
        for q in TSC_NEIGHBORS:
            model = TSC(K, n_neighbors=min(q, len(X) - 1), random_state=0)
            errors.append(error_of(points, model.fit(X).labels_))
        found.append(errors)
    return np.array(found)


def motions(change: Change, part: str) -> dict[str, Any]:
    """Return the mean error of TSC over sequences, with q fixed or by the labels."""
    times = dict(change.params).get("times")
    tried = TSC_TIMES if times == 0 else (times,)
    errors = np.stack([motion_errors(one) for one in tried])
    if part == "labels":
        error = errors.min(axis=(0, 2)).mean()
    else:
        error = errors[0, :, TSC_NEIGHBORS.index(int(part))].mean()
    return {"error": float(error), "runs": errors.shape[1]}


GRAPHS = {"ssc": SSC, "sscomp": SSCOMP, "ensc": EnSC}


def fit_once(change: Change) -> dict[str, Any]:
    """Return the error of one fit; of motions the mean over sequences."""
    params = dict(change.params)
    times, equal = params.pop("times", None), params.pop("equal", False)
    errors = []
    for points in points_of(change.dataset, change.data):
        X, K = points.data, points.n_clusters
        if times is not None:
            X = WhitenedComponents(min(times * K, *X.shape)).fit_transform(X)
        model = GRAPHS[change.method](K, random_state=0, **params).fit(X)
        labels = model.labels_
        if equal:
            used = (model.coefficients_ != 0).astype(np.float64)
            labels = spectral_labels(used + used.T, K, random_state=0).labels
        errors.append(error_of(points, labels))
    return {"error": float(np.mean(errors)), "runs": len(errors)}


def parts_of(change: Change) -> list[str]:
    """Return the rows of a change: numbers of neighbours, or of the first start."""
    if change.members is not None:
        return [str(q) for q in sweep(change)]
    if change.trials:
        return [str(first) for first in range(0, change.trials, CHUNK)]
    if change.method in GRAPHS:
        return ["one"]
    by_labels = "by the labels" in change.words
    return ["labels"] if by_labels else [str(q) for q in TSC_NEIGHBORS]


def measure(key: Key, until: float) -> dict[str, Any] | None:
    change, part = WAYS[key[0], key[1], key[2]], key[3]
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClusteringWarning)
            if change.members is not None:
                found = cut_votes(change, int(part), until)
            elif time.time() > until:
                return None
            elif change.method in GRAPHS:
                found = fit_once(change)
            elif change.trials:
                found = several_starts(change, int(part))
            else:
                found = motions(change, part)
    except TimeoutError:
        return None
    found |= {"seconds": time.process_time() - started}
    return {"middle": "", **found, "libraries": libraries_in(provenance())}


def run(until: float) -> None:
    all_parts = [(one, part) for one in CHANGES for part in parts_of(one)]
    late = [one.trials > 0 and int(part) >= FIRST_STARTS for one, part in all_parts]
    ordered = [all_parts[place] for place in np.argsort(late, kind="stable")]
    wanted = ((one.dataset, one.method, one.words, part) for one, part in ordered)
    ROWS.add(wanted, lambda key: measure(key, until), code_of())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="forget earlier rows")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument(
        "--minutes", type=float, default=np.inf, help="begin nothing new after these"
    )
    given = parser.parse_args()
    if given.fresh:
        ROWS.path.unlink(missing_ok=True)
    if not given.page:
        run(time.time() + 60 * given.minutes)


if __name__ == "__main__":
    main()
