"""The parameter ``memory_limit``: what it means, how it is read, when it refuses.

It is the most memory that the process may have during a fit, whatever the estimator:
the library, the data and the working arrays together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

# The interpreter with NumPy, SciPy, scikit-learn and compiled kernels. Compiling them,
# once after installation, takes more for a moment.
LIBRARY_BYTES = 400_000_000
# Freed memory that the system does not have back yet, and what sums leave out.
SLACK = 1.15
_MOST_BYTES = 1e30
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class Limit:
    """Bytes that the process may have.

    Attributes
    ----------
    bytes : float
    name : str
        What sets them, for messages.
    """

    bytes: float
    name: str

    def check(self, task: str, needed: float, remedy: Callable[[], str]) -> None:
        """Refuse a fit that needs more.

        Parameters
        ----------
        task : str
            What is to be done.
        needed : float
            Bytes of the process at their most.
        remedy : callable
            Returns what would help.

        Raises
        ------
        MemoryError
            With the bytes that are needed, the limit and the remedy.
        """
        if needed > self.bytes:
            raise MemoryError(
                f"{task} needs about {in_bytes(needed)}, more than {self.name}"
                f"{in_bytes(self.bytes)}; {remedy()}"
            )


def limit_of(memory_limit: Any, resident: float) -> Limit:
    """Read the parameter ``memory_limit``.

    Parameters
    ----------
    memory_limit : int, str or None
        Bytes, or words such as "4GB"; None is what the machine can still give.
    resident : float
        Bytes that the process has already, for None.

    Returns
    -------
    limit : Limit
        Without bound where None is given and the machine does not tell.
    """
    if memory_limit is not None:
        return Limit(bytes_of(memory_limit), "memory_limit=")
    free = available_bytes()
    bound = float("inf") if free is None else free + resident
    return Limit(bound, "the memory of this machine, ")


def bytes_of(text: Any) -> float:
    """Read a size: a number of bytes, or words such as "4GB", "500 MiB", "2g".

    Examples
    --------
    >>> from ekss.estimators._limits import bytes_of
    >>> bytes_of("1.5 GB"), bytes_of("2KiB"), bytes_of(10**6)
    (1500000000.0, 2048.0, 1000000.0)
    """
    count = _read_words(text) if isinstance(text, str) else text
    is_number = isinstance(count, Real) and not isinstance(count, bool)
    if count is None or not is_number or not 0 < count < _MOST_BYTES:
        raise ValueError(
            f"memory_limit={text!r} is not an amount of memory; pass a positive number "
            "of bytes, or words such as '4GB' or '500 MiB', or None"
        )
    return float(count)


def in_bytes(count: float) -> str:
    """Write bytes for people: 40 MB, 0.7 GB, 350 GB."""
    if count < 1e8:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e9:.1f} GB" if count < 9.95e10 else f"{count / 1e9:.0f} GB"


def available_bytes() -> float | None:
    """Return the memory that is free for this process; None where nothing tells.

    On Linux what the kernel can give without swapping, and no more than the control
    group of the process may still take; elsewhere free pages, where they are counted.
    """
    found = [_system_bytes(), *_group_bytes()]
    known = [count for count in found if count is not None]
    return min(known, default=None)


def _read_words(text: str) -> float | None:
    words = re.fullmatch(
        r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([kmgt]?)(i?)b?\s*", text.lower()
    )
    if words is None:
        return None
    return float(words[1]) * (1024 if words[3] else 1000) ** _UNITS[words[2]]


def _system_bytes() -> float | None:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * float(line.split()[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _group_bytes(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[float]:
    """Yield what the control groups of version 2 and 1 leave, where they limit."""
    found = re.search(r"^0::/(.*)$", _read(own), re.MULTILINE)
    folders = {root, root / found[1].strip()} if found else {root}
    places = [(folder / "memory.max", folder / "memory.current") for folder in folders]
    first = root / "memory"
    places.append((first / "memory.limit_in_bytes", first / "memory.usage_in_bytes"))
    for most, used in places:
        limit, now = _read(most).strip(), _read(used).strip()
        if limit.isdigit() and now.isdigit():
            yield max(float(limit) - float(now), 0.0)


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
