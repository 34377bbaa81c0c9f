"""What whitening, features and second opinions are worth on data not seen before.

Classes, images or frames are drawn anew for each draw. Every fit is a row of
docs/results/unseen.csv; only rows that are missing, or that other code made, are
computed, so a run can be stopped and continued, and ``--fresh`` begins anew. With
Python: ``python benchmarks/unseen.py``; the data sets are those of ``ekss data fetch``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from ekss import EKSS
from ekss.core.linalg import unit_rows
from ekss.datasets import fetch_coil100, fetch_eyaleb, fetch_hopkins155, fetch_mnist
from ekss.ensemble import whiten
from ekss.metrics import clustering_error
from rows import Key, Rows, Study

STUDY = Study(
    "unseen",
    "Data that no rule was set on",
    ("case", "variant", "draw"),
    ("error", "features", "directions", "seconds"),
)
# Draws 0 to 6 were looked at while rules were settled.
FIRST, DRAWS = 7, 3
# Loader, classes and images that are drawn (None for all), height and width.
CASES: dict[str, tuple[Any, int | None, int | None, tuple[int, int]]] = {
    "20 objects of COIL-100": (fetch_coil100, 20, None, (32, 32)),
    "10 people of Yale B": (fetch_eyaleb, 10, None, (48, 42)),
    "2000 training images of MNIST": (
        lambda: fetch_mnist(subset="train"),
        None,
        2000,
        (28, 28),
    ),
}
# All sequences, each with half of its frames.
MOTIONS = "Hopkins 155, half of the frames"
VARIANTS = (
    "not whitened",
    "number of directions by its own score",
    "no second opinion",
    "the default",
    "images as images",
)
OF_MOTIONS = ("no second opinion", "the default")


@cache
def loaded(case: str) -> tuple[np.ndarray, np.ndarray]:
    found = CASES[case][0]()
    return found.data.reshape(len(found.data), -1), np.asarray(found.target)


def points_of(case: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the drawn images as rows of unit length, and their classes."""
    X, y = loaded(case)
    _, n_classes, n_images, _ = CASES[case]
    rng = np.random.default_rng(draw)
    rows = np.arange(len(X))
    if n_classes is not None:
        rows = np.flatnonzero(np.isin(y, rng.permutation(np.unique(y))[:n_classes]))
    if n_images is not None:
        rows = np.sort(rng.permutation(rows)[:n_images])
    return unit_rows(X[rows].astype(np.float32)), y[rows]


def motions(draw: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the tracks of every sequence in half of its frames, and the motions."""
    rng = np.random.default_rng(draw)
    for sequence in fetch_hopkins155().sequences:
        n_frames = sequence.tracks.shape[2]
        kept = np.sort(rng.permutation(n_frames)[: -(-n_frames // 2)])
        tracks = np.swapaxes(sequence.tracks[:, :, kept], 0, 1)
        yield tracks.reshape(len(tracks), -1), sequence.target


def measure_motions(variant: str, draw: int) -> dict[str, Any]:
    errors, started = [], perf_counter()
    for X, y in motions(draw):
        model = EKSS(
            len(np.unique(y)),
            second_opinion=variant == "the default",
            random_state=draw,
        ).fit(X)
        errors.append(clustering_error(y, model.labels_))
    return {
        "error": 100 * float(np.mean(errors)),
        "features": "tracks",
        "directions": 0,
        "seconds": perf_counter() - started,
    }


_mean_score = whiten._mean_score


def _own_score(cuts: Any, evidence: Any, wishes: Any, number: int) -> float:
    """Judge the cut of a trial by its own points and votes alone."""
    return _mean_score([cuts[number]], [evidence[number]], wishes, 0)


def measure(key: Key) -> dict[str, Any]:
    case, variant, draw = key[0], key[1], int(key[2])
    if case == MOTIONS:
        return measure_motions(variant, draw)
    X, y = points_of(case, draw)
    params: dict[str, Any] = {}
    if variant == "not whitened":
        params = {"whiten": 0}
    elif variant == "no second opinion":
        params = {"second_opinion": False}
    elif variant == "images as images":
        params = {"image_shape": CASES[case][3]}
    rules = whiten.WHITENING
    if variant == "number of directions by its own score":
        whiten._mean_score = _own_score
        whiten.WHITENING = replace(rules, equal=0.0)
    started = perf_counter()
    try:
        model = EKSS(len(np.unique(y)), random_state=draw, **params).fit(X)
    finally:
        whiten._mean_score, whiten.WHITENING = _mean_score, rules
    return {
        "error": 100 * clustering_error(y, model.labels_),
        "features": model.features_,
        "directions": model.n_directions_,
        "seconds": perf_counter() - started,
    }


def table(rows: Rows) -> Iterator[str]:
    yield "| data | variant | mean error % | each draw | features | seconds |"
    yield "|---|---|---:|---|---|---:|"
    for case, variant in [*product(CASES, VARIANTS), *product([MOTIONS], OF_MOTIONS)]:
        own = [row for row in rows if (row["case"], row["variant"]) == (case, variant)]
        if not own:
            continue
        errors = [float(row["error"]) for row in own]
        each = ", ".join(f"{error:.1f}" for error in errors)
        seen = sum(row["features"] == "scattering" for row in own)
        features = f"scattering in {seen} of {len(own)}" if seen else "pixels"
        features = "tracks" if case == MOTIONS else features
        seconds = np.mean([float(row["seconds"]) for row in own])
        yield (
            f"| {case} | {variant} | {np.mean(errors):.2f} | {each} | {features} | "
            f"{seconds:.0f} |"
        )


def body(rows: Rows) -> list[str]:
    return [
        "Made by `python benchmarks/unseen.py`: `EKSS(K)` on pixels at unit length, "
        "without labels. The rules for [whitening](../choosing.md#which-preprocessing) "
        "and for scattering features were set on COIL-20, all of Yale B, USPS and "
        "scikit-learn's digits; here classes of COIL-100 and people of Yale B are "
        "drawn at random, and images of MNIST's training set. Other draws of these "
        "images were looked at while the rules for features and for the [second "
        f"opinion](../choosing.md#4-a-second-opinion) were settled; draws {FIRST} and "
        "later were not. The rules for [motions]"
        "(../choosing.md#a-second-look-at-affine-subspaces) were set on all frames of "
        "Hopkins 155; here half of the frames of each sequence are drawn. Each draw "
        "has its own seed.",
        "",
        '"Number of directions by its own score" chooses it without the other numbers '
        'as judges; the default asks all of them. "No second opinion" goes by '
        "the votes alone. Seconds are those of a machine with other work.",
        "",
        *table(rows),
    ]


def main() -> None:
    parser = STUDY.arguments(__doc__)
    cases = [*CASES, MOTIONS]
    parser.add_argument("--cases", nargs="*", choices=cases, default=cases)
    parser.add_argument("--draws", type=int, default=DRAWS)
    given = parser.parse_args()
    draws = range(FIRST, FIRST + given.draws)
    wanted = (
        (case, variant, str(draw))
        for draw, case in product(draws, given.cases)
        for variant in (OF_MOTIONS if case == MOTIONS else VARIANTS)
    )
    STUDY.carry_out(given, wanted, measure, body)


if __name__ == "__main__":
    main()
