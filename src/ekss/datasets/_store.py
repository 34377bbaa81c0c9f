"""Canonical files: written in one step, checked on the way in and out."""

import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.datasets._catalog import DataSet
from ekss.datasets._check import (
    REFERENCE,
    Checked,
    array_digest,
    check_arrays,
    set_digest,
)
from ekss.runtime.files import atomic_file

Names = Callable[[Sequence[str]], Sequence[str]]

_RECORD = "__record__"
_DAMAGE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Stored:
    """Arrays from the data home, and which variant of the data set they are."""

    arrays: dict[str, NDArray]
    variant: str


def save(dataset: DataSet, arrays: dict[str, NDArray], home: Path) -> Checked:
    """Check arrays and write the canonical file; an earlier file stays on failure."""
    checked = check_arrays(dataset, arrays)
    record = json.dumps({"variant": checked.variant, "digests": checked.digests})
    home.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {**checked.arrays, _RECORD: np.array(record)}
    with atomic_file(home / dataset.filename) as file:
        np.savez_compressed(file, **content)
    return checked


def all_names(names: Sequence[str]) -> Sequence[str]:
    """Want every array."""
    return names


def load(dataset: DataSet, home: Path, wanted: Names = all_names) -> Stored:
    """Read arrays of the canonical file and compare them with its record.

    `wanted` picks, among the names of all arrays, those to read.
    """
    path = home / dataset.filename
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            record = json.loads(str(file[_RECORD]))
            digests, variant = record["digests"], record["variant"]
            names = wanted(list(digests))
            arrays = {name: file[name] for name in names}
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise _damaged(dataset, path, f"it cannot be read ({error})") from error
    if variant == REFERENCE and set_digest(digests) not in dataset.digests:
        raise _damaged(dataset, path, "its record is not that of the known data")
    for name, array in arrays.items():
        if array_digest(name, array) != digests[name]:
            raise _damaged(dataset, path, f"array {name} differs from its record")
    return Stored(arrays, variant)


def variant_of(dataset: DataSet, home: Path) -> str | None:
    """Name the variant of the file in the data home; None if there is no file."""
    if not (home / dataset.filename).exists():
        return None
    try:
        return load(dataset, home, lambda names: []).variant
    except ValueError:
        return "damaged"


def read_npz(path: Path) -> dict[str, NDArray]:
    """All arrays of a file to import, without any record."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name != _RECORD}
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise ValueError(
            f"{path} cannot be read as a .npz file ({error}); get it again"
        ) from error


def _damaged(dataset: DataSet, path: Path, reason: str) -> ValueError:
    return ValueError(
        f"{path} is refused: {reason}; replace it with: "
        f"ekss data fetch {dataset.name}, or: ekss data import PATH"
    )
