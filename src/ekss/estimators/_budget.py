"""What a fit will take, told before it starts: memory and time of every stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ekss.core.spectrum import SMALL_SIDE
from ekss.estimators._limits import LIBRARY_BYTES, SLACK, in_bytes
from ekss.estimators._removal import TRIAL_MEMBERS, tried_rows
from ekss.graph.approximate import FRIENDS, N_TREES, WINDOW
from ekss.rows import block_rows

# Entries of a block of products, as in core/ksubspaces.py.
_BLOCK_ENTRIES = 2**20

# Nanoseconds of one core of a Xeon server of 2023, in float32.
_PRODUCT = 0.045  # one multiplication of a point with a basis
_SQUARE = 0.5  # one coordinate of a point in a candidate subspace
_GATHER = 4.0  # one entry of a point in the update of a basis
_VOTE = 0.045  # one member's vote on one pair of all
_LIKELY_VOTE = 0.2  # one member's vote on one likely pair
_LOOKUP = 5.0  # one cluster of one row in one member, when rows are extended
_READ = 3.0  # one entry of a row that is read once for all members
_STREAM = 8.0  # one entry of a row that is read anew by every member
_GRAPH_EDGE = 2000.0  # one edge, when a graph is cut once
_CUT = 90_000.0  # one point, when a graph is cut in all ways
_CUT_START = 5e7  # a graph that is cut in all ways, whatever its size
_STEP = 4e5  # an iteration of a member, whatever the data
_JUDGE = 2500.0  # one point, when one cut is judged

# Pairs that ekss.graph.nearest_by_votes_approximate looks at for a point: half a window
# in every tree, and friends with their friends.
_LIKELY_PAIRS = N_TREES * WINDOW // 2 + FRIENDS * (FRIENDS + 1)
# Cuts that are judged, of each graph.
_CUTS_A_GRAPH = 5
# Points on which two halves of an ensemble that may grow are compared.
_COMPARED = 1000


@dataclass(frozen=True)
class Workload:
    """All that decides how much memory and time a fit takes.

    Attributes
    ----------
    n_samples, n_features, itemsize : int
        Rows, their entries, and the bytes of an entry.
    n_clusters, n_base, n_candidates, dim : int
        K, members, candidate subspaces of a member, and their dimension; where they
        are not known, the largest they can be.
    graph : {"exact", "approximate", "sample"}
        How the graph is made.
    sample_size : int
        Rows that are voted on; ``n_samples`` unless ``graph`` is "sample".
    top_q : int
        Votes kept a point; the most where graphs of several q are cut.
    n_graphs : int
        Graphs that are cut; 1 is the paper's one cut.
    max_iter : int
        Iterations of a member.
    max_samples : int
        Rows to which a member is fitted.
    in_memory : bool
        Whether the rows are.
    n_workers : int
        Parallel workers.
    double : bool
        Whether work is in float64 whatever the data are.
    n_trials : int
        Numbers of components whose removal may be tried; 0 where none is.
    likely_base, likely_candidates, likely_dim, likely_features : int or None
        What is likely where the above are the largest; for the time. None is the same.
    """

    n_samples: int
    n_features: int
    itemsize: int
    n_clusters: int
    n_base: int
    n_candidates: int
    dim: int
    graph: str = "exact"
    sample_size: int = 0
    top_q: int = 10
    n_graphs: int = 1
    max_iter: int = 5
    max_samples: int = 10_000
    in_memory: bool = True
    n_workers: int = 1
    double: bool = False
    n_trials: int = 0
    likely_base: int | None = None
    likely_candidates: int | None = None
    likely_dim: int | None = None
    likely_features: int | None = None

    @property
    def voted(self) -> int:
        """Number of rows that are voted on."""
        some = self.graph == "sample" and 0 < self.sample_size < self.n_samples
        return self.sample_size if some else self.n_samples

    @property
    def width(self) -> int:
        """Bytes of an entry of the points that are worked on."""
        return 8 if self.double else self.itemsize


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
        "preprocessing", "members", "votes", "cuts", "choice" and "rows", as the
        progress bars name them; those of no work are left out.
    """

    resident: float
    stages: Mapping[str, Stage]

    @property
    def bytes(self) -> float:
        """Largest memory of the process."""
        return self.resident + max(stage.bytes for stage in self.stages.values())

    @property
    def seconds(self) -> float:
        """Time of all stages."""
        return sum(stage.seconds for stage in self.stages.values())

    def __str__(self) -> str:
        """Tell it in one line."""
        each = ", ".join(
            f"{name} {in_time(stage.seconds)}" for name, stage in self.stages.items()
        )
        return f"about {in_bytes(self.bytes)} and {in_time(self.seconds)}: {each}"


def estimate(work: Workload, pace: float = 1.0) -> Estimate:
    """Estimate the memory and time of a fit from sizes alone.

    Parameters
    ----------
    work : Workload
    pace : float, default=1.0
        How many times slower this machine is than the one of the rates; see
        :func:`measured_pace`.

    Returns
    -------
    estimate : Estimate
        Seconds are within a factor of about 3, bytes rather too many than too few.

    Examples
    --------
    >>> from ekss.estimators._budget import Workload, estimate
    >>> exact = Workload(10**6, 50, 4, 10, 100, 10, 5, top_q=40, n_graphs=6)
    >>> print(estimate(exact).seconds > 1000)
    True
    """
    seconds = {
        "preprocessing": _trial_seconds(work),
        "members": _member_seconds(work),
        "votes": _vote_seconds(work),
        "cuts": _cut_seconds(work),
        "choice": _choice_seconds(work),
        "rows": _row_seconds(work),
    }
    held = {
        "preprocessing": _trial_bytes(work),
        "members": _member_bytes(work),
        "votes": _vote_bytes(work),
        "cuts": _cut_bytes(work),
        "choice": _choice_bytes(work),
        "rows": _row_bytes(work),
    }
    data = work.n_samples * work.n_features * work.itemsize
    return Estimate(
        LIBRARY_BYTES + data * work.in_memory,
        {
            name: Stage(seconds[name] * pace, SLACK * held[name])
            for name in seconds
            if seconds[name] > 0
        },
    )


def _trial(work: Workload) -> Workload:
    """Return the small fit by which the removal of some components is judged."""
    rows = tried_rows(work.voted, work.n_clusters)
    members = min(work.n_base, TRIAL_MEMBERS)
    small = replace(work, n_samples=rows, n_base=members, likely_base=None)
    return replace(small, graph="exact", max_samples=rows, n_trials=0)


def _trial_seconds(work: Workload) -> float:
    return work.n_trials * estimate(_trial(work)).seconds if work.n_trials else 0.0


def _trial_bytes(work: Workload) -> float:
    """Find the leading directions of all points, or cluster a sample without them."""
    if not work.n_trials:
        return 0.0
    n, n_features = work.voted, work.n_features
    # Copies of the points in float64, or a Gram matrix: see core/spectrum.py.
    by_rows = n < n_features or n_features <= SMALL_SIDE
    spectrum = 8 * 4 * n_features * (n if by_rows else n_features)
    trial = estimate(_trial(work)).stages.values()
    return n * n_features * work.width + max(
        spectrum, *(stage.bytes / SLACK for stage in trial)
    )


def _likely_members(work: Workload) -> int:
    """Return the number of members that time is reckoned with."""
    return work.likely_base or work.n_base


def _coordinates(work: Workload) -> int:
    """Return how many coordinates of a point members look at."""
    return work.likely_features or work.n_features


def _assign_nanoseconds(work: Workload) -> float:
    """Assign one point to the candidates of one member."""
    candidates = work.likely_candidates or work.n_candidates
    dim = work.likely_dim or work.dim
    each = _PRODUCT * _coordinates(work) + _SQUARE
    return candidates * dim * each * work.itemsize / 4


def _member_seconds(work: Workload) -> float:
    members = _likely_members(work)
    fitted = min(work.voted, work.max_samples)
    passes = work.max_iter + 1
    update = _GATHER * _coordinates(work)
    each = passes * (_STEP + fitted * (_assign_nanoseconds(work) + update))
    if fitted < work.voted:
        each += work.voted * (_assign_nanoseconds(work) + _STREAM * _coordinates(work))
    seconds = 1e-9 * members * each / work.n_workers
    if members < work.n_base:
        seconds += 2 * _all_cuts_seconds(work, min(work.voted, _COMPARED))
    return seconds


def _vote_seconds(work: Workload) -> float:
    members = _likely_members(work)
    n = work.voted
    each = n * n / 2 * _VOTE
    if work.graph == "approximate":
        each = min(each, n * _LIKELY_PAIRS * _LIKELY_VOTE)
    return 0.2 + 1e-9 * members * each * _label_bytes(work) / work.n_workers


def _cut_seconds(work: Workload) -> float:
    n = work.voted
    if work.n_graphs == 1:
        return 1e-9 * n * _GRAPH_EDGE * (work.top_q + work.n_clusters)
    return _all_cuts_seconds(work, n)


def _all_cuts_seconds(work: Workload, n: int) -> float:
    rounds = -(-work.n_graphs // work.n_workers)
    return 1e-9 * rounds * (_CUT_START + n * _CUT)


def _choice_seconds(work: Workload) -> float:
    if work.n_graphs == 1:
        return 0.0
    cuts = work.n_graphs * _CUTS_A_GRAPH
    return 1e-9 * work.voted * cuts * _JUDGE / work.n_workers


def _row_seconds(work: Workload) -> float:
    if work.voted == work.n_samples:
        return 0.0
    members = _likely_members(work)
    each = members * (_assign_nanoseconds(work) + _LOOKUP * work.n_clusters)
    each += _READ * work.n_features
    return 1e-9 * work.n_samples * each / work.n_workers


def _label_bytes(work: Workload) -> int:
    return 1 if work.n_candidates <= 2**8 else 2


def _points_bytes(work: Workload) -> float:
    """Points as members see them: scaled, and perhaps in fewer coordinates."""
    return 2 * work.voted * work.n_features * work.width


def _labels_bytes(work: Workload) -> float:
    return work.voted * (work.n_base + 8) * _label_bytes(work)


def _member_bytes(work: Workload) -> float:
    n, size = work.voted, work.width
    scaling = 3 * n * work.n_features * size
    # Labels, gains and coordinates of an assignment, and of the one before it.
    whole = min(n, work.max_samples) == n
    assigned = (2 if whole else 1) * n * (4 + size + work.dim * size)
    drawn = 0 if whole else work.max_samples * work.n_features * size
    each = assigned + drawn + 8 * n + _BLOCK_ENTRIES * size
    running = _points_bytes(work) + work.n_workers * each + 2 * _labels_bytes(work)
    return max(scaling, running)


def _after_members(work: Workload) -> float:
    """Points, labels, and labels as the kernels want them."""
    return _points_bytes(work) + 2 * _labels_bytes(work)


def _vote_bytes(work: Workload) -> float:
    n, q, workers = work.voted, work.top_q, work.n_workers
    lists: float = n * q * (12 * workers + 36)
    if work.graph == "approximate":
        lists = n * (40 * q + 24 * workers) + _labels_bytes(work)
    return _after_members(work) + lists


def _cut_bytes(work: Workload) -> float:
    n, q = work.voted, work.top_q
    at_once = min(work.n_graphs, work.n_workers)
    vectors = 8 * (work.n_clusters + 1)
    # An edge is held in several forms of the graph, a vector in several of the solver.
    edges, copies = (60, 8) if work.n_graphs == 1 else (100, 16)
    graphs = n * at_once * (edges * q + copies * vectors)
    kept = n * work.n_graphs * 8 * (work.n_clusters + 2 + _CUTS_A_GRAPH)
    return _after_members(work) + 12 * n * q + graphs + kept


def _choice_bytes(work: Workload) -> float:
    judged = 3 * work.n_workers * work.voted * work.n_features * work.width
    kept = 12 * work.voted * work.top_q + work.voted * work.n_graphs * 8 * (
        work.n_clusters + 2 + _CUTS_A_GRAPH
    )
    return _after_members(work) + judged + kept


def _row_bytes(work: Workload) -> float:
    n_rows = block_rows(work.n_features)
    block = n_rows * (5 * work.n_features * work.width + 12 * work.n_base)
    block += n_rows * 24 * work.n_clusters + _BLOCK_ENTRIES * work.width
    labels = 24 * work.n_samples
    graph = 24 * work.voted * work.top_q
    return _after_members(work) + graph + labels + 2 * work.n_workers * block


def in_time(seconds: float) -> str:
    """Write a time for people: 0.3 s, 25 s, 7 min, 2.5 h."""
    if seconds < 3:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
