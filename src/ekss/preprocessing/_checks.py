"""Parameter checks: every refusal gives the value, the limit and the remedy."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def check_count(
    name: str, value: Any, low: int, high: int | None = None, limit: str = ""
) -> int:
    """Return value as an int in low..high; ``limit`` names the upper end."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass an integer of at least "
            f"{low}"
        )
    number = int(value)
    if number < low:
        raise ValueError(f"{name}={value} is below {low}; choose at least {low}")
    if high is not None and number > high:
        raise ValueError(
            f"{name}={value} exceeds {limit} = {high}; choose at most {high}"
        )
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return value if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}; pass True or False")
    return bool(value)


def check_pair(name: str, value: Any, low: int) -> tuple[int, int]:
    """Return value as a pair of ints of at least low."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name}={value!r} is no pair; pass (height, width) or None")
    height, width = (check_count(name, side, low) for side in value)
    return height, width
