"""Rows of an array in a file: an HDF5 dataset or a zarr array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
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

# Blocks grow to the height of the chunks in the file, but not beyond this size.
_LARGEST_BLOCK = 128 * 2**20
# Reading so many bytes too much is cheaper than another read.
_WORTH_READING = 2**16


class DiskRows:
    """Rows of an array that is read by slices: h5py dataset or zarr array.

    Parameters
    ----------
    array : h5py.Dataset or zarr.Array of shape (n_samples, n_features)
        Real numbers; its file stays open as long as the rows are used.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        float32 or float64.
    in_memory : bool
        False.

    Notes
    -----
    Blocks start at the start of a chunk of the file, so every chunk is read and
    unpacked once in a pass; chunks so high that a block would exceed 128 MB are read
    more than once.
    """

    in_memory = False

    def __init__(self, array: Any) -> None:
        check_matrix(_kind(array), array.shape, array.dtype)
        self.array = array
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = float_dtype(array.dtype)
        self._chunk_rows = _chunk_rows(array)
        self._block_rows = _aligned_rows(self.shape[1], self._chunk_rows)

    def take(self, index: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the rows of these ascending numbers, reading each chunk once."""
        index = check_index(index, self.shape[0])
        taken = np.empty((len(index), self.shape[1]), self.dtype)
        row_bytes = self.shape[1] * self.array.dtype.itemsize
        far = max(self._chunk_rows, _WORTH_READING // row_bytes)
        block = index // self._block_rows
        breaks = (np.diff(index) > far) | (np.diff(block) > 0)
        edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(index)]
        for start, stop in pairwise(edges):
            numbers = index[start:stop]
            if len(numbers):
                span = self._read(int(numbers[0]), int(numbers[-1]) + 1)
                taken[start:stop] = finite_rows(
                    span[numbers - numbers[0]], self.dtype, numbers
                )
        return taken

    def map(
        self,
        function: Callable[[NDArray[np.floating], int], Result],
        *,
        n_jobs: int | None = None,
    ) -> Iterator[Result]:
        """Yield function(block, first_row) of consecutive blocks, run in threads."""
        return map_blocks(
            function, self._read, self.shape[0], self._block_rows, self.dtype, n_jobs
        )

    def _read(self, first: int, last: int) -> NDArray[Any]:
        return np.asarray(self.array[first:last])


def _kind(array: Any) -> str:
    return "zarr array" if hasattr(array, "store") else "HDF5 dataset"


def _chunk_rows(array: Any) -> int:
    """Return the height of what is read at once; 1 where any row can be read alone."""
    chunks = array.chunks
    return int(chunks[0]) if chunks else 1


def _aligned_rows(n_features: int, chunk_rows: int) -> int:
    """Return the rows of a block: whole chunks, unless they are too high for that."""
    usual = block_rows(n_features)
    if chunk_rows <= usual:
        return usual // chunk_rows * chunk_rows
    too_large = chunk_rows * n_features * 8 > _LARGEST_BLOCK
    return usual if too_large else chunk_rows
