"""Rows of a Dask array: work goes to the workers that hold its chunks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ekss.runtime.rows import (
    Result,
    block_rows,
    check_index,
    check_matrix,
    finite_rows,
    float_dtype,
)
from ekss.runtime.workers import large_graphs, one_blas_thread, packed, unpacked

# A worker holds a few chunks at a time: one at work, one that waits, one on its way.
_LARGEST_CHUNK = 256 * 2**20
_GOOD_CHUNK = 64 * 2**20
# Values of Dask's setting "scheduler" that leave the work to a client.
_CLUSTER = (None, "distributed", "dask.distributed")


class DaskRows:
    """Rows of a Dask array that is chunked by rows.

    Parameters
    ----------
    array : dask.array.Array of shape (n_samples, n_features)
        Real numbers in chunks of whole rows, of known sizes, at most 256 MB each.
    missing : {"error", "zero", "observed"}, default="error"
        What is done with NaN, as in :func:`ekss.runtime.rows.as_rows`.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        float32 or float64.
    in_memory : bool
        False.

    Notes
    -----
    With a ``distributed.Client`` the work runs on its workers, which need ekss too;
    without one in threads of this process. A function is sent to a worker once,
    however many blocks it works on there. What a worker lost with its death is done
    again by another.

    Examples
    --------
    >>> import dask.array as da
    >>> from ekss.runtime.dask import DaskRows
    >>> rows = DaskRows(da.ones((1000, 3), chunks=(400, 3)))
    >>> list(rows.map(lambda block, first_row: (first_row, len(block))))
    [(0, 400), (400, 400), (800, 200)]
    """

    in_memory = False

    def __init__(self, array: Any, missing: str = "error") -> None:
        _check_chunks(array)
        self.missing = missing
        self.array = array
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = float_dtype(array.dtype)

    def take(self, index: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the rows of these ascending numbers; workers send no others."""
        from dask import delayed

        index = check_index(index, self.shape[0])
        pick = delayed(_pick, pure=False)
        taken = np.empty((len(index), self.shape[1]), self.dtype)
        spans, tasks = [], []
        for chunk, place in self._chunks():
            span = slice(*np.searchsorted(index, [place.first_row, place.end]))
            if span.stop > span.start:
                spans.append(span)
                tasks.append(pick(chunk, place, index[span]))
        for span, rows in zip(spans, _results(tasks, 1), strict=True):
            taken[span] = rows
        return taken

    def map(
        self,
        function: Callable[[NDArray[np.floating], int], Result],
        *,
        n_jobs: int | None = None,
    ) -> Iterator[Result]:
        """Yield function(block, first_row) of consecutive blocks, run by Dask.

        ``n_jobs`` counts threads where there is no client; a cluster uses all of its
        own.
        """
        from dask import delayed

        # One task makes a chunk and works on it: chunks that were made and wait, be it
        # for the function to arrive, would fill the memory of a worker.
        worked = self.array.map_blocks(
            _run_chunk,
            function=delayed(unpacked, pure=False)(packed(function)),
            dtype=object,
            meta=np.empty((0, 0), object),
            chunks=((1,) * self.array.numblocks[0], (1,)),
            rows_dtype=self.dtype,
            missing=self.missing,
        )
        for results in _results(list(worked.to_delayed().ravel()), n_jobs):
            yield from results.item()

    def _chunks(self) -> Iterator[tuple[Any, _Place]]:
        """Yield the delayed chunks that hold rows, and their places."""
        heights = self.array.chunks[0]
        starts = np.cumsum([0, *heights]).tolist()
        for chunk, first, height in zip(
            self.array.to_delayed().ravel(), starts[:-1], heights, strict=True
        ):
            if height:
                shape = int(height), self.shape[1]
                yield chunk, _Place(first, shape, self.dtype, self.missing)


@dataclass(frozen=True)
class _Place:
    """Where a chunk belongs, its shape, and what its rows and their NaN become."""

    first_row: int
    shape: tuple[int, int]
    dtype: np.dtype[np.floating]
    missing: str

    @property
    def end(self) -> int:
        return self.first_row + self.shape[0]


def _check_chunks(array: Any) -> None:
    """Refuse a Dask array with the call that makes it usable."""
    if np.isnan(array.shape).any():
        raise ValueError(
            "the Dask array has chunks of unknown sizes; find them with "
            "X.compute_chunk_sizes()"
        )
    check_matrix("Dask array", array.shape, np.dtype(array.dtype))
    heights, widths = array.chunks
    if len(widths) > 1:
        raise ValueError(
            f"the Dask array is cut into {len(widths)} chunks across columns, but a "
            "chunk must hold whole rows; use X = X.rechunk({1: -1})"
        )
    row_bytes = array.shape[1] * array.dtype.itemsize
    largest = max(heights) * row_bytes
    if largest > _LARGEST_CHUNK:
        rows = max(1, _GOOD_CHUNK // row_bytes)
        raise ValueError(
            f"the Dask array has a chunk of {largest / 2**20:.0f} MB, more than the "
            f"{_LARGEST_CHUNK // 2**20} MB of which a worker can hold several; use "
            f"X = X.rechunk({{0: {rows}}})"
        )


def _results(tasks: list[Any], n_jobs: int | None) -> Iterator[Any]:
    """Yield the results of tasks in order, from the cluster or from threads here.

    The scheduler of a cluster starts no more chunks than its workers have threads,
    and a little more; results are let go as soon as they were used.
    """
    import dask

    client = _current_client()
    if client is None:
        yield from dask.compute(*tasks, num_workers=effective_n_jobs(n_jobs))
        return
    with large_graphs():
        futures = client.compute(tasks)[::-1]
    try:
        while futures:
            yield futures.pop().result()
    finally:
        futures.clear()


def _current_client() -> Any:
    """Return the client of a cluster, or None where Dask is to work here."""
    import dask

    if "distributed" not in sys.modules:
        return None
    if dask.config.get("scheduler", None) not in _CLUSTER:
        return None
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None


def _run_chunk(
    chunk: Any,
    function: Callable[[NDArray[np.floating], int], Result],
    rows_dtype: np.dtype[np.floating],
    missing: str,
    block_info: Any,
) -> NDArray[np.object_]:
    """Run the function on the blocks of a chunk, on a worker."""
    start, stop = block_info[0]["array-location"][0]
    shape = stop - start, block_info[0]["shape"][1]
    place = _Place(start, shape, rows_dtype, missing)
    _check_chunk(chunk, place)
    height = block_rows(place.shape[1])
    results = []
    with one_blas_thread():
        for first in range(0, len(chunk), height):
            rows = chunk[first : first + height]
            block = finite_rows(rows, rows_dtype, start + first, missing)
            results.append(function(block, start + first))
    only = np.empty((1, 1), object)
    only[0, 0] = results
    return only


def _pick(
    chunk: Any, place: _Place, numbers: NDArray[np.int64]
) -> NDArray[np.floating]:
    """Return some rows of a chunk, on a worker."""
    _check_chunk(chunk, place)
    rows = chunk[numbers - place.first_row]
    return finite_rows(rows, place.dtype, numbers, place.missing)


def _check_chunk(chunk: Any, place: _Place) -> None:
    """Refuse a chunk that is not what the Dask array said it would be."""
    if type(chunk) is not np.ndarray and not isinstance(chunk, np.memmap):
        raise ValueError(
            f"the chunk of rows from {place.first_row} on is a "
            f"{type(chunk).__module__}.{type(chunk).__name__}, but chunks must be "
            "numpy arrays; convert them with X.map_blocks"
        )
    if chunk.shape != place.shape:
        raise ValueError(
            f"the chunk of rows from {place.first_row} on has shape {chunk.shape}, but "
            f"the Dask array says {place.shape}; make it with the right chunks"
        )
