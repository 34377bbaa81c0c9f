"""What the rows say: one entry for every data set and method of Table I."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from ekss.benchmarks._cells import Cell, Plan
from ekss.benchmarks._paper import ERRORS
from ekss.benchmarks._rows import Row, finished
from ekss.benchmarks._settings import COLUMNS, SWEPT
from ekss.benchmarks._versions import code_in, libraries_in

# A difference of more points than this to the paper's figure is to be explained.
NOTABLE = 5.0
# Why there are no errors where none are wanted.
NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Figure:
    """One column of an entry.

    Attributes
    ----------
    mean : float or None
        Mean error over seeds, in percent.
    spread : float or None
        Standard deviation over seeds; None for a single one.
    lowest, highest : float or None
        Range over seeds.
    seeds : int
        How many there are.
    best : dict or None
        Parameters that gave the lowest error with the first seed.
    seconds : float
        Computing time of the cells, summed over seeds.
    megabytes : float
        Largest memory of a cell.
    reason : str
        Why there are no errors.
    codes, commits, libraries : tuple of str
        Versions that made the rows, each once.
    """

    mean: float | None = None
    spread: float | None = None
    lowest: float | None = None
    highest: float | None = None
    seeds: int = 0
    best: dict[str, Any] | None = None
    seconds: float = 0.0
    megabytes: float = 0.0
    reason: str = ""
    codes: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A data set and a method: the paper's figure and ours, by column."""

    dataset: str
    method: str
    published: float
    figures: Mapping[str, Figure]

    def differences(self) -> dict[str, float]:
        """Return ours less the paper's figure where it is more than 5 points."""
        found = {}
        for column in ("paper", "tuned"):
            mean = self.figures[column].mean
            if mean is not None and abs(mean - self.published) > NOTABLE:
                found[column] = mean - self.published
        return found


def summarise(
    plan: Plan,
    rows: Mapping[str, Row],
    datasets: Iterable[str],
    methods: Iterable[str],
) -> list[Entry]:
    """Return the entries of Table I, data set by data set.

    "Label-tuned" is the lowest error over all that was tried, the paper's and the
    default parameters among it: seed by seed, for Hopkins 155 sequence by sequence.
    """
    methods = tuple(methods)
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        cells.setdefault((cell.dataset, cell.method, cell.column), []).append(cell)
    return [
        _entry(dataset, method, cells, rows, plan.missing.get(dataset, ""))
        for dataset in datasets
        for method in methods
    ]


def _entry(
    dataset: str,
    method: str,
    cells: Mapping[tuple[str, str, str], list[Cell]],
    rows: Mapping[str, Row],
    missing: str,
) -> Entry:
    found = {
        column: _rows_by_seed(cells.get((dataset, method, column), []), rows)
        for column in COLUMNS
    }
    figures = {column: _figure(by_seed, missing) for column, by_seed in found.items()}
    if not missing and not cells.get((dataset, method, "chosen")):
        figures["chosen"] = Figure(reason=NOT_TRIED)
    tuned = {
        seed: _lowest(
            [found[column][seed] for column in SWEPT if seed in found[column]]
        )
        for seed, row in found["tuned"].items()
        if finished(row)
    }
    if tuned:
        figures["tuned"] = _figure(tuned, missing)
    return Entry(dataset, method, ERRORS[dataset, method], figures)


def _rows_by_seed(cells: list[Cell], rows: Mapping[str, Row]) -> dict[int, Row]:
    return {cell.seed: rows[cell.key] for cell in cells if cell.key in rows}


def _figure(by_seed: Mapping[int, Row], missing: str) -> Figure:
    done = [row for _, row in sorted(by_seed.items()) if finished(row)]
    if not done:
        failures = [row["failed"] for row in by_seed.values()]
        reason = missing or (f"failed: {failures[0]}" if failures else "not run yet")
        return Figure(reason=reason)
    errors = [row["error"] for row in done]
    return Figure(
        mean=fmean(errors),
        spread=pstdev(errors) if len(errors) > 1 else None,
        lowest=min(errors),
        highest=max(errors),
        seeds=len(errors),
        best=_told_best(done[0]),
        seconds=sum(row["seconds"] for row in done),
        megabytes=max(row["peak_megabytes"] for row in done),
        codes=_each_once(code_in(row) for row in done),
        commits=_each_once(row["commit"] for row in done),
        libraries=_each_once(libraries_in(row) for row in done),
    )


def _each_once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _lowest(rows: list[Row]) -> Row:
    """Return the row of lowest error; of sequences each one's lowest."""
    done = [row for row in rows if finished(row)]
    best = min(done, key=lambda row: row["error"])
    if "sequences" not in best:
        return best
    sequences = {
        name: min(
            (row["sequences"][name] for row in done), key=lambda one: one["error"]
        )
        for name in best["sequences"]
    }
    mean = round(fmean(one["error"] for one in sequences.values()), 4)
    return {**best, "error": mean, "sequences": sequences}


def _told_best(row: Row) -> dict[str, Any]:
    """Return the best parameters; of sequences the most frequent ones."""
    if "sequences" not in row:
        return dict(row["best"])
    counts = Counter(one["best"] for one in row["sequences"].values())
    return dict(json.loads(counts.most_common(1)[0][0]))
