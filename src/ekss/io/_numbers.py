"""Arrays as they come from files, made into finite floats or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._errors import InputError, one_line

_WORDS = {
    "c": "complex numbers",
    "O": "objects that are no numbers",
    "U": "text",
    "S": "text",
    "V": "records",
    "M": "dates",
    "m": "times",
}
Place = Callable[[int, int], str]


def as_floats(array: NDArray[Any], source: str) -> NDArray[np.floating]:
    """Return the array as float32 if it has no more digits, else as float64."""
    if array.dtype.kind not in "biuf":
        what = _WORDS.get(array.dtype.kind, str(array.dtype))
        raise InputError(
            f"{source} holds {what} ({array.dtype.name}); only real numbers can be "
            "clustered"
        )
    few_digits = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    wanted = np.float32 if few_digits else np.float64
    # Also turns the bytes of files from machines of the other order.
    return np.asarray(array, dtype=wanted, order="C")


def check_points(
    points: NDArray[np.floating],
    source: str,
    place: Place | None = None,
    *,
    least_rows: int = 2,
) -> None:
    """Refuse too few points, no features, and values that are not finite."""
    n_points, n_features = points.shape
    if not points.size:
        raise InputError(
            f"{source} is empty, {n_points} points of {n_features} features; name one "
            "with content"
        )
    if n_points < least_rows:
        raise InputError(
            f"{source} has {n_points} row{'' if n_points == 1 else 's'}, and rows are "
            f"points; at least {least_rows} are needed, so transpose it if its columns "
            "are the points"
        )
    for first in range(0, n_points, 4096):
        finite = np.isfinite(points[first : first + 4096])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value, row, column = points[first + row, column], first + row, column
            where = place(row, column) if place else _numbered(row, column)
            raise InputError(
                f"{source} holds {value} at {where}; fill it in or remove the row"
            )


def whole_numbers(values: NDArray[Any], source: str) -> NDArray[np.int64]:
    """Return labels as int64: whole numbers as they are, text by its sorted order."""
    if values.dtype.kind in "US":
        _, labels = np.unique(values, return_inverse=True)
        return labels.astype(np.int64).ravel()
    if values.dtype.kind not in "biuf":
        what = _WORDS.get(values.dtype.kind, str(values.dtype))
        raise InputError(
            f"{source} holds {what} ({values.dtype.name}); labels are whole numbers "
            "or text"
        )
    # Beyond 2^62 a float may round to a number that int64 does not hold.
    good = np.isfinite(values) & (np.abs(values.astype(np.float64)) < 2**62)
    good &= values == np.floor(values)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"{source} holds {one_line(values[row])} as label {row} (counted from 0); "
            "labels are whole numbers or text"
        )
    return values.astype(np.int64)


def _numbered(row: int, column: int) -> str:
    return f"row {row}, column {column} (counted from 0)"
