"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

# Of files and directories that are in the making. Who makes one holds a lock on it,
# which ends with the process, so what a killed process left can be told.
_PREFIX = ".ekss-"


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
    beside = target.with_name(f"{_PREFIX}{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb") as stream:
            _locked(stream.fileno())
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


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a directory that is removed at the end, with all that killed runs left.

    Parameters
    ----------
    parent : Path
        Directory to make it in.

    Yields
    ------
    folder : Path
    """
    for leftover in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_unless_in_use(leftover)
    with TemporaryDirectory(
        prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True
    ) as folder:
        held = os.open(folder, os.O_RDONLY) if os.name == "posix" else None
        try:
            if held is not None:
                _locked(held)
            yield Path(folder)
        finally:
            if held is not None:
                os.close(held)


def _remove_unless_in_use(leftover: Path) -> None:
    """Remove a file or directory in the making if its maker is gone."""
    if leftover.is_symlink() or not (leftover.is_dir() or leftover.suffix == ".part"):
        return
    held = os.open(leftover, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not _locked(held):
            return
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()
    finally:
        os.close(held)


def _locked(descriptor: int) -> bool:
    """Take the lock that ends with this process; False where another has it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _about(error: OSError, path: Path) -> OSError:
    """Return the same error for the file that the caller knows."""
    if error.errno is None:
        return OSError(f"{path}: {error}")
    return OSError(error.errno, error.strerror, str(path))
