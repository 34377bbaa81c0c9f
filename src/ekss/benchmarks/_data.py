"""The six data sets of Table I, and all of MNIST, loaded from the data home."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ekss.benchmarks._recipes import Loader, Points

_FETCHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "hopkins": ("fetch_hopkins155", {}),
    "yaleb": ("fetch_extended_yale_b", {}),
    "coil20": ("fetch_coil20", {}),
    "coil100": ("fetch_coil100", {}),
    "usps": ("fetch_usps", {}),
    "mnist": ("fetch_mnist", {"subset": "test"}),
    "mnist70k": ("fetch_mnist", {"subset": "all"}),
}


def loaders(data_home: Path | None) -> Mapping[str, Loader]:
    """Return a function for each data set that loads it, without downloading.

    Parameters
    ----------
    data_home : Path or None
        Folder of the data; None is the one the package uses.
    """
    return {name: partial(_load, name, data_home) for name in _FETCHERS}


def _load(name: str, data_home: Path | None) -> list[Points]:
    from ekss import datasets

    fetcher, options = _FETCHERS[name]
    fetch = getattr(datasets, fetcher)
    bunch = fetch(data_home=data_home, download_if_missing=False, **options)
    if name == "hopkins":
        return [_points(one, one.name, np.float64) for one in bunch.sequences]
    return [_points(bunch, name, np.float32)]


def _points(bunch: Any, name: str, dtype: Any) -> Points:
    data = np.asarray(bunch.data, dtype)
    return Points(data.reshape(len(data), -1), np.asarray(bunch.target, np.int64), name)
