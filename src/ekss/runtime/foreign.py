"""Arrays in .mat and HDF5 files, decoded in a process of its own.

Their decoders are written in C and trust what a file says; a damaged or malicious file
can end the process that reads it. So that process is :mod:`ekss.runtime.decoder`,
started once and again after a crash, with limits on memory and time.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Memory to list what a file holds, and to decode beside the array and two copies of it.
# scipy unpacks blocks of 128 KiB at once, which may become a thousand times as large.
_BESIDE = 600_000_000
# Seconds, and bytes per second at the least.
_PATIENCE = 10.0
_SLOWEST = 10e6
_PLAIN = "biufcU"


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
        With the reason, whatever is wrong with the file.
    """
    head, _ = _ask(path, None, 0)
    return [
        Variable(one["name"], tuple(one["shape"]), *(one[k] for k in _REST))
        for one in head["entries"]
    ]


_REST = ("type", "kind", "bytes")


def load(path: Path, variable: Variable) -> NDArray[Any]:
    """Return one array of a file.

    Raises
    ------
    ValueError
        With the reason, whatever is wrong with the file.
    """
    _, values = _ask(path, variable.name, variable.bytes)
    return values


def _ask(path: Path, name: str | None, size: int) -> tuple[dict[str, Any], Any]:
    """Send a request and take the answer; a decoder that died is named by its end."""
    request = {"path": os.path.abspath(path), "name": name, "most": 3 * size + _BESIDE}
    seconds = _PATIENCE + (size + path.stat().st_size) / _SLOWEST
    with _Process.lock:
        process = _decoder()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            head = json.loads(process.stdout.readline())
            values = None
            if "dtype" in head:
                values = _taken(head, 3 * size + _BESIDE, process.stdout)
        except (OSError, EOFError, ValueError) as error:
            too_slow = not timer.is_alive()
            raise ValueError(_end_of(process, too_slow, seconds)) from error
        except BaseException:
            # The rest of the answer would be taken for the next one.
            _stop()
            raise
        finally:
            timer.cancel()
    if "error" in head:
        raise ValueError(head["error"])
    return head, values


def _taken(head: dict[str, Any], most: int, stream: Any) -> NDArray[Any]:
    """Read the bytes of an array, after a look at what they are said to be."""
    dtype, shape = np.dtype(head["dtype"]), tuple(head["shape"])
    if dtype.kind not in _PLAIN or math.prod(shape) * dtype.itemsize > most:
        raise ValueError("the decoder sent something else than it was asked for")
    values = np.empty(shape, dtype)
    left = memoryview(values.reshape(-1).view(np.uint8).data)
    while left:
        count = stream.readinto(left)
        if not count:
            raise EOFError
        left = left[count:]
    return values.T if head["turned"] else values


def _decoder() -> subprocess.Popen[bytes]:
    """Return the process that decodes; start it where it is not running."""
    running = _Process.running
    if running is None or running.poll() is not None or _Process.owner != os.getpid():
        paths = os.pathsep.join(path for path in sys.path if path)
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        running = subprocess.Popen(
            # Nothing is imported from the directory of the user's data.
            [sys.executable, "-P", "-m", "ekss.runtime.decoder"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths, **threads},
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
