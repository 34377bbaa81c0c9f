"""Cells and plans: what is to be computed, and under which name it is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of a table or figure that is computed in one go.

    Attributes
    ----------
    table : str
        Table or figure it belongs to.
    dataset, method, column : str
        Its place there.
    params : mapping
        Everything else that decides its result; JSON types only.
    seed : int
        Seed of all its random draws.
    cost : float
        Estimated seconds on one thread. Not part of the cell's identity.
    files : tuple of str
        Prepared features that it reads. Not part of its identity: ``params`` names
        the recipes.
    """

    table: str
    dataset: str
    method: str
    column: str
    params: Mapping[str, Any]
    seed: int
    cost: float = field(default=1.0, compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)

    def identity(self) -> dict[str, Any]:
        """Return what decides the result, as JSON types."""
        return {
            "table": self.table,
            "dataset": self.dataset,
            "method": self.method,
            "column": self.column,
            "params": json.loads(json.dumps(self.params)),
            "seed": self.seed,
        }

    @property
    def key(self) -> str:
        """Hash of the identity, the name of the cell's row file."""
        return short_hash(self.identity())

    @property
    def title(self) -> str:
        """Short name for people."""
        return f"{self.dataset} {self.method} {self.column} seed {self.seed}"


Work = Callable[[Cell], Result]


@dataclass(frozen=True)
class Plan:
    """Cells, and the function that computes one.

    Attributes
    ----------
    name : str
        Name of the table or figure.
    cells : tuple of Cell
    work : callable
        ``work(cell)`` returns the result as a dict of JSON types. It runs in a fresh
        process, so it must be importable: a function at the top of a module.
    missing : mapping of str to str
        Data sets that could not be loaded, and why.
    """

    name: str
    cells: tuple[Cell, ...]
    work: Work
    missing: Mapping[str, str] = field(default_factory=dict)


def short_hash(value: Any) -> str:
    """Hash JSON types independently of the order of keys.

    Examples
    --------
    >>> short_hash({"a": 1, "b": 2}) == short_hash({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def output_folder(folder: Path) -> Path:
    """Make the folder for results and its folder of rows."""
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    return folder
