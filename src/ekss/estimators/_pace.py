"""How fast this machine is."""

from __future__ import annotations

from functools import cache
from time import perf_counter

import numpy as np

# A product of this shape took so many seconds on the machine whose times
# estimators/_budget.py has.
_REFERENCE_SHAPE = 4096, 64, 64
_REFERENCE_SECONDS = 3.5e-4


@cache
def measured_pace() -> float:
    """Return how many times slower than the reference machine this one is.

    Told by a few products of matrices, a few milliseconds once a process.
    """
    n, inner, columns = _REFERENCE_SHAPE
    left, right = np.ones((n, inner), np.float32), np.ones((inner, columns), np.float32)
    spent = []
    for _ in range(5):
        start = perf_counter()
        left @ right
        spent.append(perf_counter() - start)
    return min(max(min(spent) / _REFERENCE_SECONDS, 0.1), 10.0)
