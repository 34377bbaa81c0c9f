"""Errors of single trials: from rows, to and from CSV, and their means."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from statistics import fmean
from typing import NamedTuple

from ekss.benchmarks._cells import Plan
from ekss.benchmarks._rows import Row, finished


class Place(NamedTuple):
    """A method at a point of a panel."""

    panel: str
    method: str
    n_per_subspace: int
    dim: int
    angle: float | None


@dataclass(frozen=True)
class Trial:
    """One clustering of one random problem.

    Attributes
    ----------
    place : Place
    setting : str
        Parameters of the method, where several were tried.
    seed : int
    error : float
        Clustering error in percent.
    """

    place: Place
    setting: str
    seed: int
    error: float


def trials_of(plan: Plan, rows: Mapping[str, Row]) -> list[Trial]:
    """Return the trials in the finished rows of a plan of simulations."""
    found = []
    for cell in plan.cells:
        row = rows.get(cell.key)
        if row is None or not finished(row):
            continue
        for given, result in zip(cell.params["problems"], row["trials"], strict=True):
            place = Place(
                cell.dataset,
                cell.method,
                given["n_per_subspace"],
                given["dim"],
                given["angle"],
            )
            found += [
                Trial(place, setting, cell.seed, error)
                for setting, error in result["errors"].items()
            ]
    return found


def processor_time(rows: Mapping[str, Row]) -> str:
    """Say how long the clusterings of simulated problems kept a processor busy."""
    done = [row for row in rows.values() if finished(row)]
    seconds = sum(one.get("cpu_seconds", 0) for row in done for one in row["trials"])
    return f"Processor time of all clusterings: {seconds / 60:.1f} minutes"


def write_trials(trials: Iterable[Trial]) -> str:
    """Write trials as CSV, one a line."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow([*Place._fields, *(one.name for one in fields(Trial)[1:])])
    for trial in trials:
        place, *others = astuple(trial)
        table.writerow(["" if one is None else one for one in (*place, *others)])
    return stream.getvalue()


def read_trials(text: str) -> list[Trial]:
    """Read what :func:`write_trials` wrote.

    Examples
    --------
    >>> trial = Trial(Place("angle", "ssc", 10, 2, 0.5), "alpha=20", 0, 12.5)
    >>> read_trials(write_trials([trial])) == [trial]
    True
    """
    found = []
    for line in csv.DictReader(io.StringIO(text)):
        place = Place(
            line["panel"],
            line["method"],
            int(line["n_per_subspace"]),
            int(line["dim"]),
            float(line["angle"]) if line["angle"] else None,
        )
        setting, seed = line["setting"], int(line["seed"])
        found.append(Trial(place, setting, seed, float(line["error"])))
    return found


def mean_errors(trials: Iterable[Trial]) -> dict[Place, float]:
    """Return the mean over trials, of several settings the lowest mean.

    The setting is chosen for every place by the labels, which is how the paper chose
    the parameters of SSC.
    """
    return {place: fmean(errors) for place, errors in best_errors(trials).items()}


def best_errors(trials: Iterable[Trial]) -> dict[Place, list[float]]:
    """Return the errors of all trials with the setting of lowest mean."""
    errors: dict[Place, dict[str, list[float]]] = {}
    for trial in trials:
        settings = errors.setdefault(trial.place, {})
        settings.setdefault(trial.setting, []).append(trial.error)
    return {
        place: min(settings.values(), key=fmean) for place, settings in errors.items()
    }
