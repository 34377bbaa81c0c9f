"""Memory and time that a fit will take: sizes in, stages out, words for people.

Every stage of a fit has a function ``cost(work)`` beside its code; what is here is
common to all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from time import perf_counter

import numpy as np

from ekss.runtime.memory import SLACK, in_bytes


@dataclass(frozen=True)
class Rates:
    """Nanoseconds of one core of a Xeon server of 2023, in float32.

    Measured with ``ekss bench scale``; :func:`measured_pace` adapts them to a machine.
    """

    product: float = 0.045  # one multiplication of a point with a basis
    square: float = 0.5  # one coordinate of a point in a candidate subspace
    gather: float = 4.0  # one entry of a point in the update of a basis
    vote: float = 0.045  # one member's vote on one pair of all
    likely_vote: float = 0.2  # one member's vote on one likely pair
    lookup: float = 5.0  # one cluster of one row in one member, when extended
    read: float = 3.0  # one entry of a row that is read once for all members
    stream: float = 8.0  # one entry of a row that is read anew by every member
    cut: float = 90_000.0  # one point, when a graph is cut in all ways
    cut_start: float = 5e7  # a graph that is cut in all ways, whatever its size
    step: float = 4e5  # an iteration of a member, whatever the data
    judge: float = 2500.0  # one point, when one cut is judged
    # Cuts that are judged, of each graph.
    cuts_per_graph: int = 5


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
        Whether work is in float64 whatever the data are.
    n_trials : int
        Numbers of components whose removal may be tried; 0 where none is.
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
    n_trials: int = 0
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
        return candidates * dim * each * self.itemsize / 4


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

    Told by a few products of matrices, a few milliseconds once per process.
    """
    left, right = np.ones((4096, 64), np.float32), np.ones((64, 64), np.float32)
    spent = []
    for _ in range(5):
        start = perf_counter()
        left @ right
        spent.append(perf_counter() - start)
    # The machine of the rates took 0.35 ms.
    return min(max(min(spent) / 3.5e-4, 0.1), 10.0)


def in_time(seconds: float) -> str:
    """Write a time for people: 0.3 s, 25 s, 7 min, 2.5 h."""
    if seconds < 3:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
