"""Blocks of rows: their size, their type, and the check that they are finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.core.parallel import map_numbers
from ekss.rows._protocol import Result

# A block of so many entries, with products of its size, stays in the cache of a
# core or near it, and calls of Python are few beside the work on it.
_MOST_ENTRIES = 2**20
_MOST_ROWS = 2**14
_LEAST_ROWS = 64

REAL_KINDS = "biuf"


def block_rows(n_features: int) -> int:
    """Return the number of rows of a block."""
    return max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_ENTRIES // max(1, n_features)))


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[np.floating]:
    """Return the type in which rows are given: float32 stays, others are float64."""
    is_single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if is_single else np.float64)


def check_matrix(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is not a matrix of real numbers with at least one entry."""
    if len(shape) != 2:
        raise ValueError(
            f"the {kind} has shape {shape}, but points are the rows of a matrix; "
            "reshape it to (n_samples, n_features)"
        )
    if dtype.kind not in REAL_KINDS:
        raise ValueError(
            f"the {kind} has type {dtype}, but points are real numbers; convert it to "
            "float32 or float64"
        )
    if 0 in shape:
        raise ValueError(
            f"the {kind} has shape {shape}, without any entry; give at least one row "
            "and one column"
        )


def check_index(index: NDArray[np.int64], n_samples: int) -> NDArray[np.int64]:
    """Return the numbers of rows to take; they must exist and ascend."""
    index = np.asarray(index, dtype=np.int64)
    if len(index) and (index[0] < 0 or index[-1] >= n_samples):
        raise ValueError(
            f"rows {index[0]} to {index[-1]} were asked for, but there are rows 0 to "
            f"{n_samples - 1}; take only those"
        )
    if np.any(np.diff(index) < 0):
        raise ValueError("the numbers of rows do not ascend; sort them")
    return index


def finite_rows(
    rows: NDArray[Any],
    dtype: np.dtype[np.floating],
    numbers: NDArray[np.int64] | int,
) -> NDArray[np.floating]:
    """Return the rows in C order and of the type; refuse NaN and infinity.

    ``numbers`` are the numbers of the rows, or that of the first one.
    """
    points = np.ascontiguousarray(rows, dtype=dtype)
    # A sum is finite only if all entries are, so most blocks need no second look.
    with np.errstate(over="ignore", invalid="ignore"):
        all_finite = np.isfinite(points.sum())
    if not all_finite:
        wrong = ~np.isfinite(points).all(axis=1)
        if wrong.any():
            first = int(wrong.argmax())
            row = int(np.ravel(numbers)[first] if np.ndim(numbers) else numbers + first)
            value = points[first][~np.isfinite(points[first])][0]
            raise ValueError(
                f"row {row} holds {value}, but every entry must be finite; drop such "
                "rows or fill them in"
            )
    return points


def map_blocks(
    function: Callable[[NDArray[np.floating], int], Result],
    read: Callable[[int, int], NDArray[Any]],
    n_samples: int,
    height: int,
    dtype: np.dtype[np.floating],
    n_jobs: int | None,
) -> Iterator[Result]:
    """Yield function(block, first_row) in order; threads read and work."""

    def run(number: int) -> Result:
        first = number * height
        rows = read(first, min(first + height, n_samples))
        return function(finite_rows(rows, dtype, first), first)

    # Blocks are bound to this process: to its memory or to its open file.
    return map_numbers(
        run,
        -(-n_samples // height),
        n_jobs=n_jobs,
        description="blocks",
        show=False,
        shared=True,
    )
