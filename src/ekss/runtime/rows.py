"""Rows of points wherever they are: in memory, in a file, or on Dask workers.

:func:`as_rows` wraps an array; the rows are then taken by number, or mapped block by
block, and never all brought into memory at once.
"""

from __future__ import annotations

import mmap
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ekss.runtime.workers import map_numbers

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
            In C order, never a view of the source; all finite, or NaN where entries
            may be missing.
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
            Gets a block of shape (n_rows, n_features) in C order, as ``take`` gives
            rows, which it must not change, and the number of its first row. It may run
            in other threads or processes, with BLAS limited to one thread.
        n_jobs : int, default=None
            Parallel workers, as in joblib.

        Returns
        -------
        results : iterator
            In the order of rows; few blocks are in memory at a time. ValueError names
            a row that is not finite and may not be so, where there is one.
        """


# A block of so many entries, with products of its size, stays in the cache of a
# core or near it, and calls of Python are few beside the work on it.
_MOST_ENTRIES = 2**20
_MOST_ROWS = 2**14
_LEAST_ROWS = 64

REAL_KINDS = "biuf"

# Rows far from each other that are taken from a memory map before its pages are given
# back: the system reads some 64 kB around each.
_TAKEN_AT_ONCE = 1000


def block_rows(n_features: int) -> int:
    """Return the number of rows of a block."""
    return max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_ENTRIES // max(1, n_features)))


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[np.floating]:
    """Return the type in which rows are given: float32 stays, others are float64."""
    is_single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if is_single else np.float64)


def check_matrix(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is not a matrix of real numbers with at least one entry."""
    if len(shape) != 2:
        raise ValueError(
            f"the {kind} has shape {shape}, but points are the rows of a matrix; "
            "reshape it to (n_samples, n_features)"
        )
    if dtype.kind not in REAL_KINDS:
        raise ValueError(
            f"the {kind} has type {dtype}, but points are real numbers; convert it to "
            "float32 or float64"
        )
    if 0 in shape:
        raise ValueError(
            f"the {kind} has shape {shape}, without any entry; give at least one row "
            "and one column"
        )


def check_index(index: NDArray[np.int64], n_samples: int) -> NDArray[np.int64]:
    """Return the numbers of rows to take; they must exist and ascend."""
    index = np.asarray(index, dtype=np.int64)
    if len(index) and (index[0] < 0 or index[-1] >= n_samples):
        raise ValueError(
            f"rows {index[0]} to {index[-1]} were asked for, but there are rows 0 to "
            f"{n_samples - 1}; take only those"
        )
    if np.any(np.diff(index) < 0):
        raise ValueError("the numbers of rows do not ascend; sort them")
    return index


# What may be done with NaN: refuse it, take it for zero, or leave it in for a fit that
# looks at observed entries alone.
MISSING = ("error", "zero", "observed")


def finite_rows(
    rows: NDArray[Any],
    dtype: np.dtype[np.floating],
    numbers: NDArray[np.int64] | int,
    missing: str = "error",
) -> NDArray[np.floating]:
    """Return the rows in C order and of the type; refuse infinity, treat NaN.

    ``numbers`` are the numbers of the rows, or that of the first one.
    """
    points = np.ascontiguousarray(rows, dtype=dtype)
    return _treated(points, numbers, missing)


def _treated(
    points: NDArray[np.floating], numbers: NDArray[np.int64] | int, missing: str
) -> NDArray[np.floating]:
    # A sum is finite only if all entries are, so most blocks need no second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(points.sum()):
            return points
    holes = np.isnan(points)
    wrong = ~np.isfinite(points)
    if missing != "error":
        wrong &= ~holes
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = points[row, column]
        is_nan = np.isnan(value)
        must = "finite or, if it is missing, NaN" if missing != "error" else "finite"
        raise ValueError(
            f"X contains {'NaN' if is_nan else 'infinity'}: row "
            f"{_number(numbers, row)} holds {value} in column {column} (counted from "
            f"0), but every entry must be {must}; drop such rows or fill them in"
        )
    if missing == "zero":
        return np.where(holes, 0, points)
    empty = holes.all(axis=1)
    if empty.any():
        raise ValueError(
            f"row {_number(numbers, int(empty.argmax()))} of X (counted from 0) has no "
            "observed entry, so nothing tells its cluster; drop such rows"
        )
    return points


def _number(numbers: NDArray[np.int64] | int, place: int) -> int:
    """Return the number of a row by its place in a block."""
    return int(np.ravel(numbers)[place] if np.ndim(numbers) else numbers + place)


def validated_rows(
    estimator: BaseEstimator,
    X: Any,
    *,
    fewest: int,
    missing: str = "error",
    **options: Any,
) -> NDArray[np.floating]:
    """Return X as scikit-learn validates it, after a look for what it lets pass.

    Masks and dates would become numbers that nobody meant; and where entries are not
    numbers, or not finite, the message says which.
    """
    if np.ma.is_masked(X) and missing != "error":
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if np.ma.is_masked(X):
        raise ValueError(
            f"X is a masked array, {np.ma.count_masked(X)} of its {X.size} entries are "
            "masked; fill them in or drop their rows"
        )
    found: Any = getattr(X, "dtypes", [getattr(X, "dtype", None)])
    dates = [str(kind) for kind in found if getattr(kind, "kind", "") in ("m", "M")]
    if dates:
        raise TypeError(
            f"X holds dates or times ({dates[0]}), which have no length or angle; "
            "pass numbers, such as days since the first of them, or leave them out"
        )
    try:
        rows = validate_data(
            estimator,
            X,
            ensure_min_samples=fewest,
            ensure_all_finite=False,
            **options,
        )
    except (TypeError, ValueError) as error:
        fault = _not_a_number(X)
        if fault is None:
            raise
        raise type(error)(f"{fault} ({error})") from error
    return _treated(rows, 0, missing)


def _not_a_number(X: Any) -> str | None:
    """Say where a list, a frame or an array of objects has no number; or its shape.

    None where nothing is found.
    """
    if isinstance(X, np.ndarray) and X.ndim > 2 and X.size:
        return (
            f"X has shape {X.shape}, as images have, but points are the rows of a "
            "matrix; pass X.reshape(len(X), -1)"
        )
    if hasattr(X, "columns") and hasattr(X, "drop"):
        return _text_in_frame(X)
    is_of_objects = isinstance(X, np.ndarray) and X.dtype.kind == "O"
    if not isinstance(X, list | tuple) and not is_of_objects:
        return None
    if any(np.ndim(row) != 1 for row in X if not isinstance(row, list | tuple)):
        return None
    widths = [len(row) for row in X]
    if len(set(widths)) > 1:
        odd = next(i for i, width in enumerate(widths) if width != widths[0])
        return (
            f"X has {widths[0]} entries in row 0 but {widths[odd]} in row {odd}; give "
            "every row the same number"
        )
    for i, row in enumerate(X):
        for j, value in enumerate(row):
            try:
                float(value)
            except (TypeError, ValueError):
                text = repr(value)
                shown = text if len(text) < 80 else type(value).__name__
                return f"X holds {shown} in row {i}, column {j}; pass numbers"
    return None


def _text_in_frame(X: Any) -> str | None:
    """Say which columns of a data frame of pandas or polars hold no numbers."""
    found = {}
    for name in X.columns:
        values = np.asarray(X[name])
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            found[name] = values[:1].tolist()[0]
    if not found:
        return None
    first = next(iter(found))
    text = repr(found[first])
    shown = text if len(text) < 80 else type(found[first]).__name__
    others = len(found) - 1
    also = f" (and {others} more like it)" if others else ""
    # Polars names columns without the word.
    names = ", ".join(map(repr, list(found)[:10]))
    word = "columns=" if hasattr(X, "iloc") else ""
    return (
        f"column {first!r} of X holds {shown}{also}, no number; leave text out: "
        f"X.drop({word}[{names}])"
    )


def map_blocks(
    function: Callable[[NDArray[np.floating], int], Result],
    read: Callable[[int, int], NDArray[Any]],
    n_samples: int,
    height: int,
    dtype: np.dtype[np.floating],
    n_jobs: int | None,
    missing: str = "error",
) -> Iterator[Result]:
    """Yield function(block, first_row) in order; threads read and work."""

    def run(number: int) -> Result:
        first = number * height
        rows = read(first, min(first + height, n_samples))
        return function(finite_rows(rows, dtype, first, missing), first)

    # Blocks are bound to this process: to its memory or to its open file.
    return map_numbers(
        run,
        -(-n_samples // height),
        n_jobs=n_jobs,
        description="blocks",
        show=False,
        shared=True,
    )


class MemoryRows:
    """Rows of a numpy array; of a memory map, which the system reads as needed.

    Parameters
    ----------
    array : ndarray of shape (n_samples, n_features)
        Real numbers, in any order of memory.
    missing : {"error", "zero", "observed"}, default="error"
        What is done with NaN, as in :func:`as_rows`.

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
    >>> from ekss.runtime.rows import MemoryRows
    >>> rows = MemoryRows(np.arange(8).reshape(4, 2))
    >>> rows.take(np.array([1, 3]))
    array([[2., 3.],
           [6., 7.]])
    >>> list(rows.map(lambda block, first_row: (first_row, block.sum())))
    [(0, np.float64(28.0))]
    """

    def __init__(self, array: NDArray[Any], missing: str = "error") -> None:
        check_matrix("array", array.shape, array.dtype)
        self.missing = missing
        self.array = array
        self.shape = array.shape[0], array.shape[1]
        self.dtype = float_dtype(array.dtype)
        self.in_memory = not is_memory_map(array)

    def take(self, index: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return a copy of the rows of these ascending numbers."""
        index = check_index(index, len(self.array))
        if self.in_memory:
            taken = np.asarray(self.array[index])
            return finite_rows(taken, self.dtype, index, self.missing)
        taken = np.empty((len(index), self.shape[1]), self.dtype)
        for first in range(0, len(index), _TAKEN_AT_ONCE):
            some = slice(first, first + _TAKEN_AT_ONCE)
            taken[some] = self.array[index[some]]
            give_back(self.array)
        return finite_rows(taken, self.dtype, index, self.missing)

    def map(
        self,
        function: Callable[[NDArray[np.floating], int], Result],
        *,
        n_jobs: int | None = None,
    ) -> Iterator[Result]:
        """Yield function(block, first_row) of consecutive blocks, run in threads."""
        return map_blocks(
            function,
            self._read,
            len(self.array),
            block_rows(self.shape[1]),
            self.dtype,
            n_jobs,
            self.missing,
        )

    def _read(self, first: int, last: int) -> NDArray[Any]:
        if self.in_memory:
            return np.asarray(self.array[first:last])
        block = np.array(self.array[first:last])
        give_back(self.array)
        return block


def is_memory_map(array: Any) -> bool:
    """Tell whether the array, or the one it is a view of, is a memory map."""
    return _mapped(array) is not None


def _mapped(array: Any) -> np.memmap[Any, Any] | None:
    """Return the memory map that the array is, or is a view of."""
    while isinstance(array, np.ndarray):
        # What is computed from a memory map keeps its class, but not its file.
        if getattr(array, "_mmap", None) is not None:
            return array  # type: ignore[return-value]
        array = array.base
    return None


def give_back(array: Any) -> None:
    """Give the pages of a memory map back, which count as memory of the process.

    They are read again where they are needed. On systems without ``madvise``, and for
    a map whose changes are its own, nothing is done.
    """
    mapped = _mapped(array)
    advice = getattr(mmap, "MADV_DONTNEED", None)
    if mapped is not None and mapped.mode != "c" and advice is not None:
        mapped._mmap.madvise(advice)  # type: ignore[attr-defined]


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
    missing : {"error", "zero", "observed"}, default="error"
        What is done with NaN, as in :func:`as_rows`.

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

    def __init__(self, array: Any, missing: str = "error") -> None:
        check_matrix(_kind(array), array.shape, array.dtype)
        self.missing = missing
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
                    span[numbers - numbers[0]], self.dtype, numbers, self.missing
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
            function,
            self._read,
            self.shape[0],
            self._block_rows,
            self.dtype,
            n_jobs,
            self.missing,
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


def as_rows(X: Any, missing: str = "error") -> Rows | None:
    """Wrap an array whose rows can be read block by block.

    Parameters
    ----------
    X : object
        A numpy array or memory map, an h5py dataset, a zarr array, a Dask
        array, or anything.
    missing : {"error", "zero", "observed"}, default="error"
        What is done with NaN: refuse it, give zero in its place, or leave it in. A
        row of nothing else is refused where it would be left in.

    Returns
    -------
    rows : Rows or None
        None for all that scikit-learn's validation deals with: lists, data frames,
        numpy arrays that are no matrix of real numbers.

    Notes
    -----
    Types are recognised by the name of their module; none of these is imported.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.runtime.rows import as_rows
    >>> as_rows(np.eye(3)).shape
    (3, 3)
    >>> as_rows([[1, 2], [3, 4]]) is None
    True
    """
    if type(X) in (np.ndarray, np.memmap):
        usable = X.ndim == 2 and X.dtype.kind in REAL_KINDS and X.size
        return MemoryRows(X, missing) if usable else None
    found = (_wrapped(X, kind, missing) for kind in type(X).__mro__)
    return next(filter(None, found), None)


def _wrapped(X: Any, kind: type, missing: str) -> Rows | None:
    """Wrap the object if this class of it is one that we know."""
    library = kind.__module__.partition(".")[0]
    if library == "h5py" and not X:
        raise ValueError("the file of the HDF5 dataset is closed; open it again")
    match library, kind.__name__:
        case ("h5py", "Dataset") | ("zarr", "Array"):
            return DiskRows(X, missing)
        case "dask", "Array":
            from ekss.runtime.dask import DaskRows

            return DaskRows(X, missing)
        case (("h5py" | "zarr"), "Group"):
            raise ValueError(
                f"X is a group of arrays of {library}; give one of its arrays, such as "
                "X['name']"
            )
        case "dask", ("DataFrame" | "Series"):
            raise ValueError(
                "X is a Dask data frame; give its numbers as an array: "
                "X.to_dask_array(lengths=True)"
            )
        case "dask", ("Delayed" | "Bag"):
            raise ValueError(
                "X is a Dask object that is no array; make one with "
                "dask.array.from_delayed"
            )
    return None


def draw_sample(
    n_samples: int, size: int | None, seed: int
) -> NDArray[np.int64] | None:
    """Draw rows, ascending; None where that would be all of them."""
    if size is None or size >= n_samples:
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    return np.sort(rng.choice(n_samples, size, replace=False))


class LabelStore:
    """Room for the labels of the members of one fit.

    As a context it cleans up: of the files made for a growing ensemble the last one
    stays, and none if the fit fails. Every file has a name of its own, so no fit ever
    writes to the labels of another model. The file belongs to the fitted model, and
    the user deletes it with the model.

    Parameters
    ----------
    directory : Path or None
        None keeps labels in memory.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self._files: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for path in self._files if error is not None else self._files[:-1]:
            with suppress(OSError):
                path.unlink()

    def room(self, count: int, n_samples: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of shape (count, n_samples) for the labels of members."""
        if self.directory is None:
            return np.empty((count, n_samples), dtype)
        path = self.directory / f"member_labels_{count}_{secrets.token_hex(4)}.npy"
        self._files.append(path)
        return open_memmap(path, mode="w+", dtype=dtype, shape=(count, n_samples))

    def settled(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the labels in the smallest unsigned type, where they are in memory."""
        if self.directory is not None:
            return labels
        smallest = np.min_scalar_type(int(labels.max()))
        return labels.astype(smallest, copy=False)
