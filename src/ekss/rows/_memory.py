"""Rows of a numpy array or of a memory-mapped file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.rows._blocks import (
    block_rows,
    check_index,
    check_matrix,
    finite_rows,
    float_dtype,
    map_blocks,
)
from ekss.rows._protocol import Result


class MemoryRows:
    """Rows of a numpy array; of a memory map, which the system reads as needed.

    Parameters
    ----------
    array : ndarray of shape (n_samples, n_features)
        Real numbers, in any order of memory.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        float32 or float64.
    in_memory : bool
        False where the array, or the one it is a view of, is a ``numpy.memmap``.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.rows import MemoryRows
    >>> rows = MemoryRows(np.arange(8).reshape(4, 2))
    >>> rows.take(np.array([1, 3]))
    array([[2., 3.],
           [6., 7.]])
    >>> list(rows.map(lambda block, first_row: (first_row, block.sum())))
    [(0, np.float64(28.0))]
    """

    def __init__(self, array: NDArray[Any]) -> None:
        check_matrix("array", array.shape, array.dtype)
        self.array = array
        self.shape = array.shape[0], array.shape[1]
        self.dtype = float_dtype(array.dtype)
        self.in_memory = not is_memory_map(array)

    def take(self, index: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return a copy of the rows of these ascending numbers."""
        index = check_index(index, len(self.array))
        return finite_rows(np.asarray(self.array[index]), self.dtype, index)

    def map(
        self,
        function: Callable[[NDArray[np.floating], int], Result],
        *,
        n_jobs: int | None = None,
    ) -> Iterator[Result]:
        """Yield function(block, first_row) of consecutive blocks, run in threads."""
        return map_blocks(
            function,
            lambda first, last: np.asarray(self.array[first:last]),
            len(self.array),
            block_rows(self.shape[1]),
            self.dtype,
            n_jobs,
        )


def is_memory_map(array: Any) -> bool:
    """Tell whether the array, or the one it is a view of, is a memory map."""
    while isinstance(array, np.ndarray):
        # What is computed from a memory map keeps its class, but not its file.
        if getattr(array, "_mmap", None) is not None:
            return True
        array = array.base
    return False
