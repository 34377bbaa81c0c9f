"""Rows on disk: one JSON file a cell, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ekss.benchmarks._cells import Cell
from ekss.core.files import write_atomically

Row = dict[str, Any]


def row_path(folder: Path, cell: Cell) -> Path:
    """Return the file of a cell's row."""
    return folder / "rows" / f"{cell.key}.json"


def write_row(folder: Path, cell: Cell, content: Row) -> Row:
    """Store the row of a cell; a reader never sees half of it."""
    row = {"cell": cell.identity(), **content}
    text = json.dumps(row, indent=1, sort_keys=True)
    write_atomically(row_path(folder, cell), (text + "\n").encode())
    return row


def read_row(folder: Path, cell: Cell) -> Row | None:
    """Return the stored row of a cell, or None."""
    try:
        row = json.loads(row_path(folder, cell).read_text())
    except FileNotFoundError:
        return None
    return row if isinstance(row, dict) else None


def finished(row: Row | None) -> bool:
    """Whether the cell has a result."""
    return row is not None and "failed" not in row


def read_rows(folder: Path, cells: Iterable[Cell]) -> dict[str, Row]:
    """Return the rows there are, finished or failed, by the cells' keys."""
    found = {cell.key: read_row(folder, cell) for cell in cells}
    return {key: row for key, row in found.items() if row is not None}
