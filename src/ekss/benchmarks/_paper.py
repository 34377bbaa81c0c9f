"""What the paper prints, from ``paper.toml``: errors, sizes, parameters; and notes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_PRINTED = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
_DATASETS: list[str] = _PRINTED["datasets"]

# Clustering errors in percent, by data set and method.
ERRORS: dict[tuple[str, str], float] = {
    (dataset, method): error
    for method, errors in _PRINTED["errors"].items()
    for dataset, error in zip(_DATASETS, errors, strict=True)
}
# Points, clusters and dimension of each data set.
SIZES: dict[str, list[Any]] = _PRINTED["sizes"]
# Why a figure differs from the paper's, by data set and method.
NOTES: dict[tuple[str, ...], str] = {
    tuple(place.split()): words
    for places, words in _PRINTED["notes"].items()
    for place in places.split(", ")
}
NOT_EXPLAINED = "not explained yet."


def parameters(dataset: str, method: str) -> dict[str, Any] | None:
    """Return the paper's parameters of a method on a data set; None if it has none."""
    if (dataset, method) not in ERRORS:
        return None
    place = _DATASETS.index(dataset)
    given = _PRINTED["parameters"][method]
    return {name: values[place] for name, values in given.items()}
