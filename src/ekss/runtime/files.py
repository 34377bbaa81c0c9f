"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file in one step: an earlier one stays until the new one is whole.

    Parameters
    ----------
    path : path-like
        File to write or replace. Its folder must exist.
    content : bytes
        All of the new file.

    Raises
    ------
    OSError
        Where the file cannot be written: no folder, no permission, no space. Its
        ``filename`` is the path, and an earlier file is as it was.

    Notes
    -----
    See :func:`atomic_file`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.runtime.files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "labels.txt", b"0 1 1")
    ...     print((Path(folder) / "labels.txt").read_text())
    0 1 1
    """
    with atomic_file(path) as stream:
        stream.write(content)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a stream that takes the place of a file when its block ends well.

    Parameters
    ----------
    path : path-like
        File to write or replace. Its folder must exist.

    Yields
    ------
    stream : binary file
        For the new content.

    Raises
    ------
    OSError
        As :func:`write_atomically`.

    Notes
    -----
    The stream is a file in the same folder, forced to the disk and then renamed; any
    exception, KeyboardInterrupt too, removes it. A link is followed, an earlier file
    keeps its permissions. What is no ordinary file (a pipe, /dev/null) is written
    directly, for a rename would put a file in its place.
    """
    wanted = Path(path)
    if wanted.exists() and not wanted.is_file():
        with open(wanted, "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(wanted))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(wanted))
    beside = target.with_name(f".ekss-{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            os.chmod(beside, target.stat().st_mode & 0o7777)
        os.replace(beside, target)
    except OSError as error:
        if error.filename not in (None, str(beside), beside):
            raise
        raise _about(error, wanted) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _about(error: OSError, path: Path) -> OSError:
    """Return the same error for the file that the caller knows."""
    if error.errno is None:
        return OSError(f"{path}: {error}")
    return OSError(error.errno, error.strerror, str(path))
