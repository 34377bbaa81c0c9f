"""The one error of bad files, and how foreign readers' errors become it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

_LONGEST = 200


class InputError(ValueError):
    """A file cannot be used as it is; the message is one line with the remedy.

    Readers of :mod:`ekss.io` raise nothing else for a bad file, so a program can
    show the message to a person and go on.

    Examples
    --------
    >>> from ekss.io import InputError, read_points
    >>> try:
    ...     read_points("points.docx")
    ... except InputError as error:
    ...     print(error)
    points.docx does not exist; check the path
    """


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a foreign reader raises into an InputError about the file."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path") from error
    except PermissionError as error:
        raise InputError(f"{path} may not be read; check its permissions") from error
    except MemoryError as error:
        raise InputError(
            f"{path} does not fit in memory; take a part of it, or float32"
        ) from error
    # Foreign readers raise nearly anything on a damaged file.
    except Exception as error:
        reason = one_line(error) or type(error).__name__
        raise InputError(
            f"{path} cannot be read as {kind} ({reason}); check that it is whole and "
            "of that kind"
        ) from error


def require(module: str, package: str, purpose: str) -> Any:
    """Import a module of the extra ``files``, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"{purpose} needs {package}, which is not installed; install it with: "
            "pip install 'ekss[files]'"
        ) from error


def check_file(path: Path) -> None:
    """Refuse what is missing, empty or no file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise InputError(f"{path} does not exist; check the path")
    if os.path.getsize(path) == 0 and path.is_file():
        raise InputError(f"{path} is empty, 0 bytes; name a file with content")


def one_line(what: object) -> str:
    """Return the text on one line and not too long."""
    text = " ".join(str(what).split()).rstrip(".")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
