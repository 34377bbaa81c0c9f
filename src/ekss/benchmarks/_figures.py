"""The paper's figures by name: how to plan each, and how to write it from rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ekss.benchmarks._cells import Plan
from ekss.benchmarks._figure1 import plan_figure1, write_figure1
from ekss.benchmarks._figure2 import plan_figure2, write_figure2
from ekss.benchmarks._figure3 import plan_figure3, write_figure3
from ekss.benchmarks._figure4 import plan_figure4, write_figure4
from ekss.benchmarks._figure_profiles import FigureProfile
from ekss.benchmarks._render import Written


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Attributes
    ----------
    plan : callable
        ``plan(profile)`` lists the cells.
    write : callable
        ``write(plan, rows, folder, profile, command=...)`` makes the files.
    """

    plan: Callable[[FigureProfile], Plan]
    write: Callable[..., Written]


FIGURES = {
    "figure1": Figure(plan_figure1, write_figure1),
    "figure2": Figure(plan_figure2, write_figure2),
    "figure3": Figure(plan_figure3, write_figure3),
    "figure4": Figure(plan_figure4, write_figure4),
}
