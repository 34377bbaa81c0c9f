"""What all readers share: one error for bad files, one result, checks of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.runtime.memory import Limit, OverLimit, limit_of
from ekss.runtime.untrusted import why_not_regular

# What to do about a value that is not there.
FILL_IN = "fill it in or remove the row, or pass missing=True"

_LONGEST = 200
_LISTED = 12
_CHECKED_ROWS = 4096
_WORDS = {
    "c": "complex numbers",
    "O": "objects that are not numbers",
    "U": "text",
    "S": "text",
    "V": "records",
    "M": "dates",
    "m": "times",
}


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


@dataclass(frozen=True)
class Points:
    """Points of a file, one per row, and what is known about them.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_features)
        float32 where the file has float32 or less, else float64; finite, or NaN
        where a value is missing and that is allowed.
    ids : tuple of str or None
        Names of the points: an id column, or the files of a folder of images.
    kind : {"table", "images", "tracks"}
        What the rows are.
    image_shape : (int, int) or None
        Height and width where a row is the grey pixels of an image.
    n_frames : int or None
        Number of frames where a row is a track x_1, y_1, x_2, y_2, ...
    feature_names : tuple of str or None
        Names of the columns, where the file has names.
    source : str
        The file, and the key of the array in brackets.
    columns : tuple of str or None
        How ``drop`` and ``id_column`` call the features of a table: by their names, or
        by their numbers from 0 where it has none.
    id_name : str or None
        Name of the column of a table that ``ids`` come from.
    left_out : tuple of str
        Columns of a table that are neither features nor ids and were not dropped by
        the caller: identifiers, text, dates, empty ones, and what was not asked for.
    identifiers : tuple of str
        Those of ``left_out`` that tell records apart.
    notes : tuple of str
        What a person should know about the reading: why columns were left out, what
        was found before the table, how the text is encoded.

    See Also
    --------
    read_points : Reads them from a file, with examples.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.io import Points
    >>> Points(np.zeros((2, 3)), ids=("anna", "ben")).kind
    'table'
    """

    points: NDArray[np.floating]
    ids: tuple[str, ...] | None = None
    kind: str = "table"
    image_shape: tuple[int, int] | None = None
    n_frames: int | None = None
    feature_names: tuple[str, ...] | None = None
    source: str = ""
    columns: tuple[str, ...] | None = None
    id_name: str | None = None
    left_out: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
    except OverLimit as error:
        raise InputError(str(error)) from error
    except MemoryError as error:
        raise InputError(
            f"{path} does not fit in memory; take a part of it, or float32"
        ) from error
    # Foreign readers raise nearly anything on a damaged file.
    except Exception as error:
        reason = one_line(error) or type(error).__name__
        raise InputError(
            f"{path} cannot be read as {kind} ({reason}); check that it is complete "
            "and of that kind"
        ) from error


def require(module: str, purpose: str, extra: str = "files") -> Any:
    """Import a module of an extra, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0].replace("PIL", "pillow")
        raise InputError(
            f"{purpose} needs {package}, which is not installed; install it with: "
            f"pip install 'ekss[{extra}]'"
        ) from error


def check_file(path: Path) -> None:
    """Refuse what is missing, empty or not a regular file."""
    reason = why_not_regular(path)
    if reason is not None:
        raise InputError(f"{path} {reason}")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty, 0 bytes; name a file with content")


def reading_limit(memory_limit: Any) -> Limit:
    """Return how much memory reading may take."""
    try:
        return limit_of(memory_limit, 0.0 if memory_limit is None else math.inf)
    except ValueError as error:
        raise InputError(str(error)) from error


def check_size(path: Path, needed: float, limit: Limit) -> None:
    """Refuse to read what takes more memory than there may be."""
    limit.check(f"reading {path}", needed, lambda: "take a part of it, or float32")


def as_floats(array: NDArray[Any], source: str) -> NDArray[np.floating]:
    """Return the array as float32 if it has no more digits, else as float64."""
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{source} holds {in_words(array.dtype)}; only real numbers can be "
            "clustered"
        )
    few_digits = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    wanted = np.float32 if few_digits else np.float64
    # Also turns the bytes of files from machines of the other order.
    return np.asarray(array, dtype=wanted, order="C")


def check_points(
    points: NDArray[np.floating],
    source: str,
    least_rows: int,
    place: Callable[[int, int], str] = "row {}, column {} (counted from 0)".format,
    *,
    missing: bool = False,
) -> None:
    """Refuse too few points, no features, and values that are not finite.

    With ``missing`` NaN is.
    """
    n_points, n_features = points.shape
    if not points.size:
        raise InputError(
            f"{source} is empty, {n_points} points of {n_features} features; name one "
            "with content"
        )
    if n_points < least_rows:
        raise InputError(
            f"{source} has {n_points} row{'' if n_points == 1 else 's'}, and rows are "
            f"points; at least {least_rows} are needed, so transpose it if its columns "
            "are the points"
        )
    for first in range(0, n_points, _CHECKED_ROWS):
        block = points[first : first + _CHECKED_ROWS]
        good = ~np.isinf(block) if missing else np.isfinite(block)
        if not good.all():
            row, column = np.argwhere(~good)[0] + (first, 0)
            value = points[row, column]
            remedy = FILL_IN if np.isnan(value) else "correct it or remove the row"
            raise InputError(
                f"{source} holds {value} at {place(row, column)}; {remedy}"
            )


def in_words(dtype: np.dtype[Any]) -> str:
    """Say what values of a type are, for example "text (str32)"."""
    return f"{_WORDS.get(dtype.kind, str(dtype))} ({dtype.name})"


def listed(things: Iterable[object]) -> str:
    """Write things one after the other, of many the first."""
    texts = list(map(str, things))
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more


def one_line(what: object) -> str:
    """Return the text on one line and not too long."""
    text = " ".join(str(what).split()).rstrip(".")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
