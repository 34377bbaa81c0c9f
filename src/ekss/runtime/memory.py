"""What a fit may cost: ``memory_limit``, and estimates of memory and time.

``memory_limit`` is the most memory that the process may have during a fit, whatever the
estimator: the library, the data and the working arrays together. :class:`Work` holds
the sizes of a fit, from which every stage of :mod:`ekss.ensemble` estimates its own
:class:`Stage`; :class:`Estimate` is their sum.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Real
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ekss.runtime.workers import one_blas_thread

# The interpreter with NumPy, SciPy, scikit-learn and compiled kernels. Compiling them,
# once after installation, takes more for a moment.
LIBRARY_BYTES = 400_000_000
# Freed memory that the system does not have back yet, and what sums leave out.
SLACK = 1.15
_MOST_BYTES = 1e30
# Share of a task's memory from which on what the process has already is told.
_MUCH = 0.05
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class OverLimit(MemoryError):
    """A task needs more memory than is allowed; the message is for people."""


@dataclass(frozen=True)
class Limit:
    """Bytes that the process may have for a task.

    Attributes
    ----------
    bytes : float
    name : str
        What sets them, for messages.
    held : float
        Bytes that the process has already for other things, and that are not among
        the above.
    """

    bytes: float
    name: str
    held: float = 0.0

    def check(self, task: str, needed: float, remedy: Callable[[], str]) -> None:
        """Refuse a task that needs more.

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
        OverLimit
            With the bytes that are needed, the limit and the remedy.
        """
        if needed <= self.bytes:
            return
        held = ""
        if self.held > _MUCH * needed:
            held = f" beside the {in_bytes(self.held)} that this process has already"
        raise OverLimit(
            f"{task} needs about {in_bytes(needed)}{held}, more than {self.name}"
            f"{in_bytes(self.bytes + self.held)}; {remedy()}"
        )


def limit_of(memory_limit: Any, resident: float) -> Limit:
    """Read the parameter ``memory_limit``.

    Parameters
    ----------
    memory_limit : int, str or None
        Bytes, or words such as "4GB"; None is what the machine can still give.
    resident : float
        Bytes that a task is reckoned with and that the process may have already. What
        it has beyond them counts against a limit that is given.

    Returns
    -------
    limit : Limit
        Without bound where None is given and the machine does not tell.
    """
    if memory_limit is not None:
        held = max(resident_bytes() - resident, 0.0)
        return Limit(bytes_of(memory_limit) - held, "memory_limit=", held)
    free = available_bytes()
    bound = float("inf") if free is None else free + resident
    return Limit(bound, "the memory of this machine, ")


def bytes_of(text: Any) -> float:
    """Read a size: a number of bytes, or words such as "4GB", "500 MiB", "2g".

    Examples
    --------
    >>> from ekss.runtime.memory import bytes_of
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


def resident_bytes() -> float:
    """Return the memory that this process has now; 0 where nothing tells."""
    words = _read("/proc/self/statm").split()
    return float(words[1]) * os.sysconf("SC_PAGE_SIZE") if words else 0.0


def peak_bytes() -> float:
    """Return the most memory that this process has held so far."""
    # ru_maxrss also counts the process that started this one, so it comes second.
    if found := re.search(r"VmHWM:\s+(\d+)", _read("/proc/self/status")):
        return 1024.0 * int(found[1])
    import resource  # not on every system

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


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


@dataclass(frozen=True)
class Rates:
    """Nanoseconds of one core of an EPYC server with AVX2, in float32.

    Measured with ``make bench`` and ``ekss bench scale``; :func:`measured_pace` adapts
    them to a machine.
    """

    product: float = 0.024  # one multiplication of a point with a basis
    square: float = 0.16  # one coordinate of a point in a candidate subspace
    gather: float = 0.4  # one entry of a point and one direction, when bases are moved
    vote: float = 0.045  # one member's vote on one pair of all
    likely_vote: float = 0.2  # one member's vote on one likely pair
    lookup: float = 5.0  # one cluster of one row in one member, when extended
    read: float = 3.0  # one entry of a row that is read once for all members
    stream: float = 8.0  # one entry of a row that is read anew by every member
    cut: float = 15_000.0  # one point, when a graph is cut in all ways
    cut_vector: float = 6_000.0  # one point and one cluster, likewise
    cut_start: float = 1.5e7  # a graph that is cut in all ways, whatever its size
    step: float = 5e4  # an iteration of a member, whatever the data
    moment: float = 0.1  # one multiplication, when missing entries are filled in
    scatter: float = 400.0  # one scattering feature of one image
    judge: float = 2500.0  # one point, when one cut is judged
    express: float = 120_000.0  # one point that is expressed by others
    rounds: int = 6  # products with all other points that this takes
    # Cuts that are judged, of each graph.
    cuts_per_graph: int = 5
    # Share of the members that a trial of directions usually takes.
    tried_members: float = 0.65


RATES = Rates()


@dataclass(frozen=True)
class Work:
    """All that decides how much memory and time a fit takes.

    Attributes
    ----------
    n_samples, n_features, itemsize : int
        Rows, their entries, and the bytes of an entry.
    n_clusters, n_members, n_candidates, dim : int
        K, members, candidate subspaces of a member, and their dimension; where they
        are not known, the largest they can be.
    voted : int
        Rows that are voted on.
    all_pairs : bool
        Whether the graph is made of all pairs or of likely ones.
    expressed : bool
        Whether points are expressed by others.
    seen_twice : bool
        Whether members vote once more, on whitened points.
    n_neighbors : int
        Neighbours kept per point; the most where several graphs are cut.
    n_graphs : int
        Graphs that are cut.
    max_iter : int
        Iterations of a member.
    fitted : int
        Rows to which a member is fitted.
    in_memory : bool
        Whether the rows are.
    n_workers : int
        Parallel workers.
    double : bool
        Whether work may be in float64 whatever the data are.
    single : bool
        Whether members are likely to work in float32 whatever the data are.
    n_trials : int
        Numbers of directions that may be tried; 0 where none is.
    image_features : int
        Scattering features of an image; 0 where rows are not seen as images.
    missing : bool
        Whether entries are missing, as far as that is known before the rows are read.
    likely_members, likely_candidates, likely_dim, likely_features : int or None
        What is likely where the above are the largest; for the time. None is the same.
    """

    n_samples: int
    n_features: int
    itemsize: int
    n_clusters: int
    n_members: int
    n_candidates: int
    dim: int
    voted: int
    all_pairs: bool = True
    n_neighbors: int = 10
    n_graphs: int = 1
    max_iter: int = 5
    fitted: int = 10_000
    in_memory: bool = True
    n_workers: int = 1
    double: bool = False
    single: bool = False
    n_trials: int = 0
    image_features: int = 0
    missing: bool = False
    expressed: bool = False
    seen_twice: bool = False
    likely_members: int | None = None
    likely_candidates: int | None = None
    likely_dim: int | None = None
    likely_features: int | None = None

    @property
    def width(self) -> int:
        """Bytes of an entry of the points that are worked on."""
        return 8 if self.double else self.itemsize

    @property
    def members(self) -> int:
        """Number of members that time is reckoned with."""
        return self.likely_members or self.n_members

    @property
    def coordinates(self) -> int:
        """Number of coordinates that members look at."""
        return self.likely_features or self.n_features

    @property
    def label_bytes(self) -> int:
        """Bytes of the label of a point in a member."""
        return 1 if self.n_candidates <= 2**8 else 2

    @property
    def labels(self) -> float:
        """Bytes of the labels of all members."""
        return self.voted * (self.n_members + 8) * self.label_bytes

    @property
    def points(self) -> float:
        """Bytes of points as members see them: scaled, perhaps in fewer coordinates."""
        return 2 * self.voted * self.n_features * self.width

    @property
    def after_members(self) -> float:
        """Bytes of points, labels, and labels as the kernels want them."""
        return self.points + 2 * self.labels

    @property
    def assignment(self) -> float:
        """Nanoseconds that assign one point to the candidates of one member."""
        candidates = self.likely_candidates or self.n_candidates
        dim = self.likely_dim or self.dim
        each = RATES.product * self.coordinates + RATES.square
        return candidates * dim * each * (1 if self.single else self.itemsize / 4)


@dataclass(frozen=True)
class Stage:
    """Seconds of a stage, and bytes in use at its worst moment beside the data."""

    seconds: float
    bytes: float


@dataclass(frozen=True)
class Estimate:
    """Memory and time of a fit.

    Attributes
    ----------
    resident : float
        Bytes that are in use before the fit begins: the library and the data.
    stages : mapping of str to Stage
        By the names of the progress bars; those of no work are left out.
    """

    resident: float
    stages: Mapping[str, Stage]

    @property
    def bytes(self) -> float:
        """Largest memory of the process."""
        return self.resident + SLACK * max(
            stage.bytes for stage in self.stages.values()
        )

    @property
    def seconds(self) -> float:
        """Time of all stages."""
        return sum(stage.seconds for stage in self.stages.values())

    def at_pace(self, pace: float) -> Estimate:
        """Return the estimate for a machine so many times slower."""
        stages = {
            name: Stage(stage.seconds * pace, stage.bytes)
            for name, stage in self.stages.items()
        }
        return Estimate(self.resident, stages)

    def __str__(self) -> str:
        """Tell it in one line."""
        each = ", ".join(
            f"{name} {in_time(stage.seconds)}" for name, stage in self.stages.items()
        )
        return f"about {in_bytes(self.bytes)} and {in_time(self.seconds)}: {each}"


@cache
def measured_pace() -> float:
    """Return how many times slower than the machine of the rates this one is.

    Told by a few products of matrices in one thread, a few milliseconds once per
    process.
    """
    left, right = np.ones((1024, 64), np.float32), np.ones((64, 512), np.float32)
    spent = []
    with one_blas_thread():
        for _ in range(10):
            start = perf_counter()
            left @ right
            spent.append(perf_counter() - start)
    # The machine of the rates took 0.72 ms.
    return min(max(min(spent) / 7.2e-4, 0.1), 10.0)


def crowding() -> float:
    """Return how many times longer work takes because others compute too.

    The load of the last minute per core, at least 1; 1 where nothing tells.
    """
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 1.0
    return max(load / (os.cpu_count() or 1), 1.0)


def in_time(seconds: float) -> str:
    """Write a time for people: 0.3 s, 25 s, 7 min, 2.5 h."""
    if seconds < 3:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
