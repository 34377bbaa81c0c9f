"""Parameter checks: every refusal gives the value, the limit and the remedy."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

IntRange = tuple[int, int]


def check_int(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    limit: str = "",
    also: str = "",
) -> int:
    """Return value as an int in low..high, or raise with the limit's name.

    ``also`` names what else the parameter may be, for the message.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass an integer of at least "
            f"{low}{also}"
        )
    number = int(value)
    if number < low:
        raise ValueError(f"{name}={value} is below {low}; choose at least {low}")
    if high is not None and number > high:
        named = f"{limit}={high}" if limit else str(high)
        raise ValueError(f"{name}={value} exceeds {named}; choose at most {high}")
    return number


def check_int_range(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    limit: str = "",
    also: str = "",
) -> IntRange:
    """Return (smallest, largest) from an int or from a pair of ints."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(
                f"{name}={value!r} has {len(value)} entries; pass an integer or a pair "
                "(smallest, largest)"
            )
        first, last = (
            check_int(name, entry, low, high, limit=limit) for entry in value
        )
        if first > last:
            raise ValueError(
                f"{name}={value!r} runs downwards; pass (smallest, largest)"
            )
        return first, last
    also = f" or a pair (smallest, largest){also}"
    single = check_int(name, value, low, high, limit=limit, also=also)
    return single, single


def check_real(name: str, value: Any, low: float) -> float:
    """Return value as a finite float of at least low."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass a number of at least "
            f"{low}"
        )
    number = float(value)
    if not low <= number < float("inf"):
        raise ValueError(f"{name}={value} is outside [{low}, inf); choose from there")
    return number


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return value if it is one of the choices."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is not known; choose one of {known}")
    return value


def is_auto(name: str, value: Any, otherwise: str) -> bool:
    """Tell "auto" from other values, and refuse other words."""
    if isinstance(value, str) and value != "auto":
        raise ValueError(f"{name}={value!r} is not known; pass 'auto' or {otherwise}")
    return isinstance(value, str)


def check_bool(name: str, value: Any) -> bool:
    """Return value if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}; pass True or False")
    return bool(value)


def check_workers(n_jobs: Any, verbose: Any) -> None:
    """Check the two parameters that every estimator shares."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} is no number of workers; pass a count, or -1 for all"
        )
    if not isinstance(verbose, (bool, np.bool_)):
        check_int("verbose", verbose, 0)


def check_folder(name: str, value: Any) -> Path | None:
    """Return the path of an existing directory, or None."""
    if value is None:
        return None
    if not isinstance(value, (str, PathLike)):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass the path of a "
            "directory, or None"
        )
    folder = Path(value)
    if not folder.is_dir():
        raise ValueError(f"{name}={str(value)!r} is not a directory; create it first")
    return folder
