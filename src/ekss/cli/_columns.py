"""Which columns of a table are clustered by, and which of them look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ekss.cli._preparing import Step
    from ekss.cli._reading import Read
    from ekss.io import Points

# A column with more of the sum of squares decides the subspaces alone.
_DOMINANT = 0.9
# With fewer rows, values that increase may do so by chance: 1 in 12! for a column.
_FEWEST_ROWS = 12
# n whole numbers drawn at random from a range of R values are all different with
# probability about exp(-n^2 / 2R); below exp(-12) they are different on purpose.
_LOG_CHANCE = 12.0
# More columns than these cannot all number the rows: it is how the data are.
_MOST_COUNTERS = 2
_SHOWN = 8
_ROWS_AT_ONCE = 4096


def columns_line(found: Read) -> list[tuple[str, str]]:
    """Return the line of the plan about the columns of a table with names."""
    points = found.points
    if points.feature_names is None:
        return []
    return [("Columns", "; ".join([_listed(points.feature_names), *left_out(found)]))]


def left_out(found: Read) -> list[str]:
    """Say which columns are no features though nobody dropped them."""
    names = found.points.left_out
    if not names:
        return []
    return [f"left out as identifiers: {_listed(names)} (--id-column none keeps them)"]


def doubts(found: Read, steps: Sequence[Step] = ()) -> list[str]:
    """Say which columns look as if they should not be clustered by.

    Rows of images and tracks have no columns of their own meaning, and so none.
    """
    points = found.points
    if points.kind != "table" or points.points.shape[1] < 2:
        return []
    return [*_counters(points), *_dominant(points, steps)]


def _counters(points: Points) -> list[str]:
    """Warn of columns that number the rows."""
    rows = points.points
    if len(rows) < _FEWEST_ROWS:
        return []
    found = [j for j in range(rows.shape[1]) if _numbers_rows(rows[:, j])]
    if len(found) > _MOST_COUNTERS:
        return []
    return [
        f"{_called(points, j)} is used as a feature but looks like an identifier, with "
        f"whole numbers from {rows[:, j].min():.0f} to {rows[:, j].max():.0f} and none "
        f"of them twice; unless it is a measurement, {_removal(points, j)}"
        f"{_naming(points, j)}"
        for j in found
    ]


def _numbers_rows(values: NDArray[np.floating]) -> bool:
    """Whether whole numbers increase from row to row, or differ as if by intention."""
    start = values[:_FEWEST_ROWS]
    if not np.array_equal(start, np.rint(start)):
        return False
    if not np.array_equal(values, np.rint(values)):
        return False
    if (np.diff(values) > 0).all():
        return True
    span = float(values.max()) - float(values.min()) + 1
    if len(values) > span or len(values) ** 2 < 2 * span * _LOG_CHANCE:
        return False
    return len(np.unique(values)) == len(values)


def _dominant(points: Points, steps: Sequence[Step]) -> list[str]:
    """Warn of a column beside which the others hardly count.

    Points lose their mean by pca, and what they share by remove.
    """
    if any(step.name == "remove" for step in steps):
        return []
    centred = any(step.name == "pca" for step in steps)
    energy = _energies(points.points, centred)
    j, total = int(energy.argmax()), float(energy.sum())
    if total <= 0 or energy[j] <= _DOMINANT * total:
        return []
    share = 100 * energy[j] / total
    return [
        f"{_called(points, j)} holds {_percent(share)} of the energy (sum of squares), "
        "so the clusters depend on it alone; bring the columns to one scale, or "
        f"{_removal(points, j)}"
    ]


def _energies(rows: NDArray[np.floating], centred: bool) -> NDArray[np.float64]:
    """Return the sum of squares of every column, all divided by the same number."""
    scale = max(float(rows.max()), -float(rows.min()))
    energies = np.zeros(rows.shape[1])
    if scale <= 0:
        return energies
    mean = (rows / scale).mean(axis=0, dtype=np.float64) if centred else 0.0
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[first : first + _ROWS_AT_ONCE].astype(np.float64) / scale
        energies += np.square(block - mean).sum(axis=0)
    return energies


def _percent(share: float) -> str:
    return "over 99.9 %" if share > 99.9 else f"{share:.1f} %"


def _called(points: Points, column: int) -> str:
    if points.feature_names is not None:
        return f"column {points.feature_names[column]!r} of {points.source}"
    number = column if points.columns is None else points.columns[column]
    return f"column {number} (counted from 0) of {points.source}"


def _removal(points: Points, column: int) -> str:
    """Say how to leave a column out; arrays have no options for it."""
    if points.columns is None:
        return "leave it out of the array"
    return f"leave it out by --drop-column {points.columns[column]!r}"


def _naming(points: Points, column: int) -> str:
    """Say how to name the rows by a column, if they have no names yet."""
    if points.columns is None or points.ids is not None:
        return ""
    return f", or name the rows by it: --id-column {points.columns[column]!r}"


def _listed(names: Sequence[str]) -> str:
    """Write names, of many the first and the last."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    shown = ", ".join(names[: _SHOWN - 2])
    return f"{shown}, ..., {names[-1]} ({len(names)} columns)"
