"""The page of the scale run: stages, memory and slopes from rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from pathlib import Path

from ekss.benchmarks._cells import Cell, Plan
from ekss.benchmarks._pages import Page, write_page
from ekss.benchmarks._render import Grid, Written
from ekss.benchmarks._rows import Row, finished
from ekss.benchmarks._scale import METHODS, MNIST, PLANTED, ScaleProfile

# Stages of the table, and the names under which progress was reported.
STAGES = {
    "members": ("members", "halves", "clusters"),
    "votes": ("votes",),
    "cuts": ("cuts", "spectral cut"),
    "choice": ("choice",),
    "rows": ("rows",),
}

_TEXT = """\
Seconds of `fit` by stage, the largest memory of the process with the library and the
data, and the clustering error. The planted points lie near K = 10 random subspaces of
dimension d = 5 in 50 dimensions, as many near each, in float32: a vector of length 1
in the subspace plus Gaussian noise whose length is about 0.1. Every fit has a fresh
process to itself.

- "K and d given" is `EKSS(10, subspace_dim=5, n_members={n_members})`: beyond 20000 rows it
  clusters a sample of 10000, and the stage "rows" gives all others their clusters.
- "K given" is `EKSS(10)`, which also finds dimensions and the number of members.
- "one cut" has `n_neighbors=10` as well, so all points are voted on and the graph of all
  points is cut once, as in the paper: `graph="approximate"` or `graph="exact"`.

"Rest" is reading, scaling, and fitting subspaces. The slope says how a time grows
between the two largest numbers of points of a method: 1 is as fast as the points, 2
as their square. In brackets: what `verbose` said before the fit began."""


@dataclass(frozen=True)
class Measured:
    """One fit: where it belongs, and what it took.

    Attributes
    ----------
    dataset, method : str
    n_samples : int
    seconds : float
    stages : dict
        Seconds by the names of :data:`STAGES`, and "rest".
    megabytes : float
        Largest memory of the process.
    error : float
        In percent.
    workers : int
    expected : tuple of float or None
        Megabytes and seconds that were estimated.
    """

    dataset: str
    method: str
    n_samples: int
    seconds: float
    megabytes: float
    error: float
    workers: int
    stages: dict[str, float] = field(default_factory=dict)
    expected: tuple[float, float] | None = None


def write_scale(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: ScaleProfile,
    *,
    command: str = "ekss bench scale",
) -> Written:
    """Write the table of times, its numbers and its picture: md, csv and png.

    Parameters
    ----------
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    profile : ScaleProfile
    command : str
        What made the rows.

    Returns
    -------
    written : Written
    """
    measured = list(_measured(plan, rows))
    parts = [_TEXT.format(n_members=profile.n_members), profile.caption]
    parts += list(_compared(plan, rows, measured))
    page = Page(
        name="scale",
        title="Time and memory as the number of points grows",
        alt="Seconds of every stage and memory against the number of points",
        findings=[],
        grid=scale_grid(measured),
        text="\n\n".join(part for part in parts if part),
        csv=scale_csv(measured),
        made=f"Workers of a fit: {', '.join(_workers(measured))}",
    )
    planted = [one for one in measured if one.dataset == PLANTED]

    def draw(path: Path) -> None:
        from ekss.benchmarks._scale_picture import draw_scale

        draw_scale(planted, path)

    return write_page(page, plan, rows, folder, command, draw if planted else None)


def scale_grid(measured: list[Measured]) -> Grid:
    """Return the table: a line for every fit, and the slopes of every method."""
    head = ["", "points", "s", *STAGES, "rest", "MB", "error %"]
    grid: Grid = [head]
    for method, title in METHODS.items():
        fits = _fits(measured, PLANTED, method)
        grid += [_line(title, one) for one in fits]
        if len(fits) > 1:
            grid.append(_slope_line(*fits[-2:]))
    for method, title in METHODS.items():
        grid += [
            _line(f"MNIST: {title}", one) for one in _fits(measured, MNIST, method)
        ]
    return grid


def slope(before: float, after: float, growth: float) -> float | None:
    """Return the power with which a time grew; None where there was none.

    Examples
    --------
    >>> from ekss.benchmarks._scale_page import slope
    >>> round(slope(2.0, 200.0, growth=10.0), 3)
    2.0
    """
    if before <= 0 or after <= 0:
        return None
    return log(after / before) / log(growth)


def scale_csv(measured: list[Measured]) -> str:
    """Write one line for every fit."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(
        [
            *"dataset method points workers seconds".split(),
            *STAGES,
            *"rest megabytes error expected_megabytes expected_seconds".split(),
        ]
    )
    for one in measured:
        stages = [one.stages.get(name, "") for name in (*STAGES, "rest")]
        expected = one.expected or ("", "")
        place = [one.dataset, one.method, one.n_samples, one.workers, one.seconds]
        table.writerow([*place, *stages, one.megabytes, one.error, *expected])
    return stream.getvalue()


def _measured(plan: Plan, rows: Mapping[str, Row]) -> Iterator[Measured]:
    for cell in plan.cells:
        row = rows.get(cell.key)
        if row is not None and finished(row) and cell.column != "recall":
            yield _of_row(cell, row)


def _of_row(cell: Cell, row: Row) -> Measured:
    told = row.get("stages", {})
    stages = {
        name: round(sum(told.get(part, 0.0) for part in parts), 3)
        for name, parts in STAGES.items()
    }
    if told:
        stages["rest"] = round(max(row["seconds"] - sum(stages.values()), 0.0), 3)
    expected = row.get("estimated")
    return Measured(
        cell.dataset,
        cell.method,
        cell.params["problem"]["n_samples"],
        row["seconds"],
        row["peak_megabytes"],
        row["error"],
        cell.params["workers"],
        stages if told else {},
        None if expected is None else (expected["megabytes"], expected["seconds"]),
    )


def _fits(measured: list[Measured], dataset: str, method: str) -> list[Measured]:
    found = [one for one in measured if (one.dataset, one.method) == (dataset, method)]
    return sorted(found, key=lambda one: one.n_samples)


def _line(title: str, one: Measured) -> list[str]:
    stages = [_shown(one.stages.get(name, 0.0)) for name in (*STAGES, "rest")]
    megabytes, seconds = f"{one.megabytes:.0f}", _shown(one.seconds)
    if one.expected is not None:
        megabytes += f" ({one.expected[0]:.0f})"
        seconds += f" ({_shown(one.expected[1])})"
    place = [title, f"{one.n_samples:,}", seconds]
    return [*place, *stages, megabytes, f"{one.error:.2f}"]


def _slope_line(before: Measured, after: Measured) -> list[str]:
    growth = after.n_samples / before.n_samples
    pairs = [(before.seconds, after.seconds)]
    pairs += [
        (before.stages.get(name, 0.0), after.stages.get(name, 0.0))
        for name in (*STAGES, "rest")
    ]
    slopes = [slope(*pair, growth) for pair in pairs]
    # What takes hardly any time has no slope worth telling.
    shown = [
        "" if one is None or max(pair) < 1 else f"{one:.2f}"
        for one, pair in zip(slopes, pairs, strict=True)
    ]
    return ["slope", "", *shown, "", ""]


def _shown(seconds: float) -> str:
    if seconds == 0:
        return ""
    return f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


def _compared(
    plan: Plan, rows: Mapping[str, Row], measured: list[Measured]
) -> Iterator[str]:
    """Say what the approximate graph misses, and what that does to the error."""
    for cell in plan.cells:
        row = rows.get(cell.key)
        if cell.column != "recall" or row is None or not finished(row):
            continue
        n = cell.params["problem"]["n_samples"]
        errors = {
            one.method: one.error
            for one in measured
            if (one.dataset, one.n_samples) == (PLANTED, n)
        }
        text = (
            f"At {n:,} points the approximate graph has {100 * row['recall']:.2f} % of "
            "the ten strongest votes of a point (what ties with the tenth counts)."
        )
        if {"approximate", "exact"} <= set(errors):
            text += (
                f" The error is {errors['approximate']:.2f} % with it and "
                f"{errors['exact']:.2f} % with the exact graph."
            )
        yield text


def _workers(measured: list[Measured]) -> list[str]:
    return sorted({str(one.workers) for one in measured})
