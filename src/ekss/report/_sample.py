"""A report of many rows is one of the sample whose votes were cut."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.runtime.rows import as_rows


@dataclass(frozen=True)
class Described:
    """What a report describes: an estimator with labels of just these points.

    Attributes
    ----------
    estimator : object
    points, raw, labels, ids : array-like or None
        As given to :func:`ekss.report.build`, of the described points.
    n_rows : int
        Rows that the estimator clustered.
    """

    estimator: Any
    points: Any
    raw: Any
    labels: Any
    ids: Any
    n_rows: int


def describe(estimator: Any, X: Any, raw: Any, labels: Any, ids: Any) -> Described:
    """Keep the rows of the sample where the estimator has drawn one."""
    clusters = getattr(estimator, "labels_", ())
    sample = getattr(estimator, "sample_", None)
    if sample is None:
        return Described(estimator, X, raw, labels, ids, len(clusters))
    view = copy(estimator)
    view.labels_, view.sample_ = clusters[sample], None
    n_rows = len(clusters)
    return Described(
        view,
        _taken("X", X, sample, n_rows),
        None if raw is None else _taken("raw", raw, sample, n_rows),
        None if labels is None else _chosen("labels", labels, sample, n_rows),
        None if ids is None else _chosen("ids", ids, sample, n_rows),
        n_rows,
    )


def _taken(name: str, X: Any, sample: NDArray[np.int64], n_rows: int) -> NDArray[Any]:
    rows = as_rows(X)
    if rows is None:
        array = np.asarray(X)
        _check_length(name, len(array), n_rows)
        taken: NDArray[Any] = array[sample]
        return taken
    _check_length(name, rows.shape[0], n_rows)
    return rows.take(sample)


def _chosen(
    name: str, values: Iterable[Any], sample: NDArray[np.int64], n_rows: int
) -> list[Any]:
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    _check_length(name, len(given), n_rows)
    return [given[row] for row in sample]


def _check_length(name: str, found: int, n_rows: int) -> None:
    if found != n_rows:
        raise ValueError(
            f"{name} has {found} rows but the estimator was fitted on {n_rows}; pass "
            "one for each of them"
        )
