"""What every source of rows can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")


class Rows(Protocol):
    """Points as rows of a matrix that need not be in memory.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_features).
    dtype : dtype
        float32 or float64, the type in which rows are given; others are converted to
        float64 block by block.
    in_memory : bool
        Whether all rows already are in the memory of this process.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """float32 or float64."""

    @property
    def in_memory(self) -> bool:
        """Whether all rows already are in the memory of this process."""

    def take(self, index: NDArray[np.int64]) -> NDArray[np.floating]:
        """Bring some rows into this process.

        Parameters
        ----------
        index : ndarray of shape (n_taken,)
            Numbers of rows, ascending.

        Returns
        -------
        points : ndarray of shape (n_taken, n_features)
            In C order, all finite, never a view of the source.
        """

    def map(
        self,
        function: Callable[[NDArray[np.floating], int], Result],
        *,
        n_jobs: int | None = None,
    ) -> Iterator[Result]:
        """Yield function(block, first_row) of consecutive blocks of rows.

        Parameters
        ----------
        function : callable
            Gets a block of shape (n_rows, n_features) in C order, all finite, which
            it must not change, and the number of its first row. It may run in other
            threads or processes, with BLAS limited to one thread.
        n_jobs : int, default=None
            Parallel workers, as in joblib.

        Returns
        -------
        results : iterator
            In the order of rows; few blocks are in memory at a time. ValueError names
            a row that is not finite, where there is one.
        """
