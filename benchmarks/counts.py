"""How many clusters ``EKSS("auto")`` finds: docs/results/counts.md.

Every fit is a row of docs/results/counts.csv; only rows that are missing, or that other
code made, are computed, so a run can be stopped and continued, and ``--fresh`` begins
anew. With Python: ``python benchmarks/counts.py``; the data sets are those of ``ekss
data fetch``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from ekss import EKSS
from ekss.benchmarks._data import (
    DATASETS,
    Points,
    loaders,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.datasets import get_data_home
from ekss.metrics import clustering_error
from rows import Key, Rows, Study

STUDY = Study(
    "counts",
    "How many clusters",
    ("data", "variant", "seed"),
    ("found", "true", "error", "seconds"),
)
SEEDS, DRAWS = range(2), range(20, 22)
# What EKSS gets of each set of Table I, as in its label-free line.
SETS = {
    "digits": "",
    "usps": "pixels",
    "mnist_test": "scattering",
    "coil20": "pixels",
    "eyaleb": "pixels",
    "hopkins155": "plain",
    "coil100": "pixels",
}
# Classes that are drawn: the set, and how many. No rule was set on these draws.
DRAWN = {
    "20 people of Yale B": ("eyaleb", 20),
    "30 objects of COIL-100": ("coil100", 30),
    "50 objects of COIL-100": ("coil100", 50),
}
VARIANTS = {"the default": {}, "no communities": {"second_opinion": False}}


@cache
def points_of(dataset: str) -> tuple[Points, ...]:
    """Return the points of a set; of motions, those of every sequence."""
    if dataset == "digits":
        from sklearn.datasets import load_digits

        data, target = load_digits(return_X_y=True)
        return (Points(data, target, dataset),)
    home = get_data_home()
    recipe = recipe_of(DATASETS[dataset], SETS[dataset], None)
    path = prepare_features(home, recipe, loaders(home)[dataset])
    return tuple(read_features(path))


def drawn(case: str, draw: int) -> tuple[Points, ...]:
    """Return the points of some classes of a set."""
    dataset, n_classes = DRAWN[case]
    (points,) = points_of(dataset)
    classes = np.random.default_rng(draw).permutation(np.unique(points.target))
    kept = np.isin(points.target, classes[:n_classes])
    return (Points(points.data[kept], points.target[kept], case),)


def measure(key: Key) -> dict[str, Any]:
    data, variant, seed = key[0], key[1], int(key[2])
    some = drawn(data, seed) if data in DRAWN else points_of(data)
    true = [len(np.unique(points.target)) for points in some]
    started, found, errors = perf_counter(), [], []
    for points in some:
        model = EKSS("auto", random_state=seed, **VARIANTS[variant]).fit(points.data)
        found.append(model.n_clusters_)
        errors.append(clustering_error(points.target, model.labels_))
    right = sum(a == b for a, b in zip(found, true, strict=True))
    several = len(some) > 1
    return {
        "found": right if several else found[0],
        "true": len(some) if several else true[0],
        "error": 100 * float(np.mean(errors)),
        "seconds": perf_counter() - started,
    }


def wanted() -> Iterator[Key]:
    for data, seed in product(SETS, SEEDS):
        yield data, "the default", str(seed)
    for seed, case, variant in product(DRAWS, DRAWN, VARIANTS):
        yield case, variant, str(seed)


def table(rows: Rows, some: list[tuple[str, str]]) -> Iterator[str]:
    yield "| data | variant | true | found | error % | seconds |"
    yield "|---|---|---:|---:|---:|---:|"
    for data, variant in some:
        own = [row for row in rows if (row["data"], row["variant"]) == (data, variant)]
        if not own:
            continue
        found, error, seconds = (
            ", ".join(f"{float(row[name]):.{digits}f}" for row in own)
            for name, digits in (("found", 0), ("error", 1), ("seconds", 0))
        )
        title = DATASETS[data].title if data in DATASETS else data
        if data in DATASETS and DATASETS[data].sequences:
            title += ", sequences that are right"
        yield (
            f"| {title} | {variant} | {own[0]['true']} | {found} | {error} | "
            f"{seconds} |"
        )


def body(rows: Rows) -> list[str]:
    return [
        'Made by `python benchmarks/counts.py`: `EKSS("auto")`, which is told nothing '
        "([how it finds the number]"
        "(../choosing.md#how-many-members-how-many-clusters)). The points are those of "
        'the line "label-free" of [Table I](table1.md), and scikit-learn\'s digits. '
        "The figures of a line are those of different seeds. The error counts all "
        "points of clusters beyond the true number as wrong. Seconds are those of a "
        "machine with other work.",
        "",
        *table(rows, [(data, "the default") for data in SETS]),
        "",
        "Classes that were drawn at random, on which no rule was set; the draw is the "
        'seed of the fit too. "No communities" is `second_opinion=False`, which also '
        "asks for no second opinion on the labels.",
        "",
        *table(rows, list(product(DRAWN, VARIANTS))),
    ]


def main() -> None:
    given = STUDY.arguments(__doc__).parse_args()
    STUDY.carry_out(given, wanted(), measure, body)


if __name__ == "__main__":
    main()
