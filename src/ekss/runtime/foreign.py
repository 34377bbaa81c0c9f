"""Arrays in .mat and HDF5 files, images and .parquet, decoded in a process of its own.

Their decoders are written in C and trust what a file says; a damaged or malicious file
can end the process that reads it. So that process is :mod:`ekss.runtime.decoder`,
started once and again after a crash, with limits on memory and time. What it sends is
taken block by block, so that a file takes twice the memory of its content: there and
here.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Memory of the decoder beside the content of a file: libraries, and blocks on the way.
# scipy unpacks blocks of 128 KiB at once, which may become a thousand times as large.
_BESIDE = 600_000_000
# Bytes of an array here beyond those it declares: letters of text.
_TEXT = 2**27
# Seconds, and bytes per second at the least.
_PATIENCE = 10.0
_SLOWEST = 10e6
_PLAIN = "biufcU"
# Memory to read some rows at a time: chunks of an array, a page of a column, and the
# threads of zarr, which claim addresses for each.
_CHUNK = 300_000_000
_PAGE = 2**22
_ZARR = 3_000_000_000


@dataclass(frozen=True)
class Variable:
    """What a file says of an array before it is read.

    Attributes
    ----------
    name : str
        With its groups, "group/data".
    shape : tuple of int
    type : str
        Name of its type.
    kind : str
        NumPy's letter of it, "O" for all that is neither numbers nor text.
    bytes : int
        Size that is declared.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    kind: str
    bytes: int


class _Process:
    """The decoder that is running, and which process started it."""

    lock = Lock()
    running: subprocess.Popen[bytes] | None = None
    owner = 0


def variables(path: Path) -> list[Variable]:
    """Return what a .mat or HDF5 file holds.

    Raises
    ------
    ValueError
        With the reason, whatever is wrong with the file. So do all that follow.
    """
    with _asked("variables", path, 0) as answer:
        head = _first(answer)
        return [
            Variable(one["name"], tuple(one["shape"]), *(one[k] for k in _REST))
            for one in head["entries"]
        ]


_REST = ("type", "kind", "bytes")


def load(path: Path, variable: Variable) -> NDArray[Any]:
    """Return one array of a .mat or HDF5 file, along its rows."""
    # MATLAB's numbers of any type are declared as of 8 bytes, complex ones have 16.
    most = 2 * variable.bytes + (_TEXT if variable.kind in "OU" else 0)
    with _asked("variable", path, variable.bytes, name=variable.name) as answer:
        return _taken(answer, most)


def zarr_variables(path: Path) -> list[Variable]:
    """Return which arrays a zarr directory holds; the only one may have no name."""
    with _asked("zarr variables", path, 0, more=_ZARR) as answer:
        head = _first(answer)
        return [
            Variable(one["name"], tuple(one["shape"]), *(one[k] for k in _REST))
            for one in head["entries"]
        ]


def write_rows(path: Path, variable: Variable, stream: IO[bytes]) -> np.dtype[Any]:
    """Write the numbers of an array of HDF5 or zarr, some rows at a time.

    Returns their type; the shape is that of the variable. No more than a block is in
    memory, here or in the decoder.
    """
    more = _ZARR if path.is_dir() else _CHUNK
    size, name = variable.bytes, variable.name
    with _asked("rows", path, size, more=more, name=name) as answer:
        return _copied(answer, variable.shape, stream)


def write_table_rows(
    path: Path, columns: Sequence[str], dtype: str, n_rows: int, stream: IO[bytes]
) -> None:
    """Write columns of a .parquet file as one matrix, some rows at a time."""
    names, size = list(columns), 8 * n_rows * len(columns)
    more = _CHUNK + _PAGE * len(names)
    with _asked(
        "table rows", path, size, more=more, columns=names, dtype=dtype
    ) as answer:
        _copied(answer, (n_rows, len(names)), stream)


def _copied(answer: Answer, shape: tuple[int, ...], stream: IO[bytes]) -> np.dtype[Any]:
    """Write the blocks of an array to a file, no more than were declared."""
    head = _first(answer)
    dtype = np.dtype(head["dtype"])
    if dtype.kind not in "biuf" or tuple(head["shape"]) != tuple(shape):
        raise ValueError("it holds something else than it declares")
    left = math.prod(shape) * dtype.itemsize
    for about, source in answer:
        left -= about["bytes"]
        if left < 0:
            raise ValueError("it holds more than it declares")
        stream.write(source.read(about["bytes"]))
    if left:
        raise EOFError
    return dtype


def n_pages(path: Path, formats: Sequence[str]) -> int:
    """Return the number of images in a file."""
    with _asked("pages", path, 0, formats=list(formats)) as answer:
        return int(_first(answer)["pages"])


def image(
    path: Path, formats: Sequence[str], most_pixels: int, grey: bool, page: int = 0
) -> NDArray[Any]:
    """Return the pixels of an image: height x width, or height x width x 3.

    Parameters
    ----------
    path : Path
    formats : sequence of str
        Names that Pillow has for the formats that may be opened.
    most_pixels : int
        Larger images are refused.
    grey : bool
        Whether to turn colour into grey.
    page : int, default=0
        Which one, where a file holds several.
    """
    options: dict[str, Any] = {"formats": list(formats), "most": most_pixels}
    options |= {"grey": grey, "page": page}
    # Pixels of 4 bytes, before and after they are turned.
    with _asked("image", path, 4 * most_pixels, **options) as answer:
        return _taken(answer, 4 * most_pixels)


@dataclass(frozen=True)
class TableSize:
    """Rows, columns and bytes of the columns that a .parquet file declares."""

    rows: int
    columns: int
    stored: int

    @property
    def bytes(self) -> int:
        """Bytes of all numbers, or of what is stored if that is more."""
        return max(8 * self.rows * self.columns, self.stored)


def table_size(path: Path) -> TableSize:
    """Return the size that a .parquet file declares."""
    with _asked("table size", path, 0) as answer:
        head = _first(answer)
        return TableSize(head["rows"], head["columns"], head["stored"])


def table(path: Path, names: Sequence[str] | None = None) -> Any:
    """Return a .parquet file as a table of pyarrow, or some of its columns.

    Of () only the names and types are read.
    """
    from pyarrow import Table, chunked_array, ipc, py_buffer

    size = table_size(path).bytes
    left = 2 * size + _TEXT
    chosen = None if names is None else list(names)
    with _asked("table", path, size, columns=chosen) as answer:
        schema: Any = None
        columns: dict[int, list[Any]] = {}
        for head, stream in answer:
            left -= head["bytes"]
            if left < 0:
                raise ValueError("it holds more than it declares")
            content = py_buffer(stream.read(head["bytes"]))
            part = ipc.open_stream(content).read_all()
            if schema is None:
                schema, columns = part.schema, {i: [] for i in range(part.num_columns)}
                continue
            for i, column in enumerate(part.columns, head["first"]):
                columns[i] += column.chunks
    if schema is None:
        raise ValueError("its decoder ended without an answer")
    made = [chunked_array(columns[i], schema.field(i).type) for i in columns]
    return Table.from_arrays(made, schema=schema)


Answer = Iterator[tuple[dict[str, Any], Any]]


@contextmanager
def _asked(
    task: str, path: Path, size: int, *, more: int | None = None, **options: Any
) -> Iterator[Answer]:
    """Send a request; give the messages of the answer and the stream of their bytes.

    ``size`` bounds the time and, unless ``more`` does, the memory that the decoder may
    take. A decoder that died is named by its end.
    """
    about = {"task": task, "path": os.path.abspath(path), "options": options}
    seconds = _PATIENCE + (size + path.stat().st_size) / _SLOWEST
    with _Process.lock:
        process = _decoder()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(seconds, process.kill)
        timer.start()
        answer = _messages(process.stdout)
        try:
            most = (2 * size if more is None else more) + _BESIDE
            request = json.dumps({**about, "most": most})
            process.stdin.write(request.encode() + b"\n")
            process.stdin.flush()
            yield answer
            # What is left would be taken for the beginning of the next answer.
            for head, stream in answer:
                stream.read(head["bytes"])
        except _Told as error:
            raise ValueError(str(error)) from None
        except (OSError, EOFError, json.JSONDecodeError) as error:
            too_slow = not timer.is_alive()
            raise ValueError(_end_of(process, too_slow, seconds)) from error
        except BaseException:
            _stop()
            raise
        finally:
            timer.cancel()


class _Told(Exception):
    """What the decoder says is wrong with a file."""


def _messages(stream: Any) -> Answer:
    """Yield the heads of messages; who takes them reads their bytes."""
    while True:
        head = json.loads(stream.readline())
        if "error" in head:
            raise _Told(head["error"])
        if "end" in head:
            return
        yield head, stream


def _first(answer: Answer) -> dict[str, Any]:
    """Return the head of the first message."""
    for head, _ in answer:
        return head
    raise EOFError


def _taken(answer: Answer, most: int) -> NDArray[Any]:
    """Read an array block by block, after a look at what it is said to be."""
    head = _first(answer)
    dtype, shape = np.dtype(head["dtype"]), tuple(head["shape"])
    if dtype.kind not in _PLAIN or math.prod(shape) * dtype.itemsize > most:
        raise ValueError("it holds more than it declares")
    values = np.empty(shape, dtype)
    # A view whose rows come one after the other.
    rows = values.T if head["turned"] else np.atleast_1d(values)
    first = 0
    for about, stream in answer:
        count = about["bytes"] // (math.prod(rows.shape[1:]) * dtype.itemsize)
        place = rows[first : first + count]
        block = np.empty(place.shape, dtype) if head["turned"] else place
        _fill(block, about["bytes"], stream)
        if head["turned"]:
            place[...] = block
        first += count
    if first < len(rows) and values.size:
        raise EOFError
    return values


def _fill(block: NDArray[Any], size: int, stream: Any) -> None:
    """Read the bytes of a block into its memory."""
    left = memoryview(block.reshape(-1).view(np.uint8).data)
    if len(left) != size:
        raise EOFError
    while left:
        count = stream.readinto(left)
        if not count:
            raise EOFError
        left = left[count:]


def _decoder() -> subprocess.Popen[bytes]:
    """Return the process that decodes; start it where it is not running."""
    running = _Process.running
    if running is None or running.poll() is not None or _Process.owner != os.getpid():
        paths = os.pathsep.join(path for path in sys.path if path)
        settings = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        # Other pools of Arrow claim far more addresses than they use.
        settings["ARROW_DEFAULT_MEMORY_POOL"] = "system"
        running = subprocess.Popen(
            # Nothing is imported from the directory of the user's data.
            [sys.executable, "-P", "-m", "ekss.runtime.decoder"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths, **settings},
            # Ctrl-C is for this process, which then ends the other.
            start_new_session=True,
        )
        _Process.running, _Process.owner = running, os.getpid()
    return running


def _end_of(process: subprocess.Popen[bytes], too_slow: bool, seconds: float) -> str:
    """Say how the decoder ended."""
    _stop()
    code = process.returncode
    if too_slow:
        return f"decoding it took more than {seconds:.0f} s"
    if code is not None and code < 0 and code != -signal.SIGKILL:
        return f"its decoder crashed by {signal.Signals(-code).name}"
    return "its decoder ended without an answer"


def _stop() -> None:
    """End the decoder."""
    process, _Process.running = _Process.running, None
    if process is None or _Process.owner != os.getpid():
        return
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass
    try:
        # A decoder that crashed is ending by its signal already.
        process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


atexit.register(_stop)
