"""Large arrays on the disk: as a file is, or written there from one in blocks."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._base import InputError
from ekss.runtime.memory import in_bytes

# Below this many bytes, or rows, all is read: EKSS votes on all rows of such a table.
_LARGE = 2**28
_MANY_ROWS = 20_000


def is_large(shape: tuple[int, ...], itemsize: int = 8) -> bool:
    """Whether a table is left on the disk where that is possible."""
    is_table = len(shape) == 2 and shape[0] > _MANY_ROWS
    return is_table and math.prod(shape) * itemsize > _LARGE


def spooled(
    path: Path,
    shape: tuple[int, ...],
    itemsize: int,
    write: Callable[[IO[bytes]], np.dtype[Any]],
) -> NDArray[Any]:
    """Return a memory map of numbers that ``write`` puts into a temporary file.

    The file has no name and ends with the array.
    """
    folder, size = tempfile.gettempdir(), math.prod(shape) * itemsize
    free = shutil.disk_usage(folder).free
    if size > free:
        raise InputError(
            f"{path} takes {in_bytes(size)} on the disk when unpacked, but {folder} "
            f"has {in_bytes(free)}; make room, or name another directory in TMPDIR"
        )
    with tempfile.TemporaryFile() as stream:
        dtype = write(stream)
        stream.flush()
        return np.memmap(stream, dtype, mode="r", shape=shape)
