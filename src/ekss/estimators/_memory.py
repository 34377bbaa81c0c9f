"""How much memory there is, how much is wanted, and what to do if that is too much."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from ekss.estimators._auto import MOST_DIMS, default_top_q
from ekss.estimators._budget import (
    Estimate,
    Workload,
    estimate,
    in_bytes,
)
from ekss.estimators._checks import check_workers
from ekss.estimators._coordinates import most_coordinates
from ekss.estimators._counting import FIRST_GUESS
from ekss.estimators._cutting import neighbour_counts
from ekss.estimators._members import PIECES
from ekss.estimators._pace import measured_pace
from ekss.estimators._removal import has_common_direction, most_removed
from ekss.estimators._sampling import enough_rows
from ekss.estimators._voting import STEPS
from ekss.runtime.rows import MemoryRows, Rows

_FEWEST_MEMBERS = 10
_MOST_BYTES = 1e30
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def check_memory(model: Any, rows: Rows) -> str:
    """Refuse a fit that wants more memory than there is; tell what it will take.

    Parameters
    ----------
    model : EKSS
        Its parameters, and ``graph_``.
    rows : Rows

    Returns
    -------
    notice : str
        Memory and time, for people; empty unless ``verbose``.
    """
    check_workers(model.n_jobs, model.verbose)
    limit = _limit_of(model.memory_limit)
    work = workload_of(model, rows)
    show = model.verbose > 0
    wanted = estimate(work, measured_pace() if show else 1.0)
    if limit is not None:
        allowed = limit.bytes + (0 if limit.whole else wanted.resident)
        if wanted.bytes > allowed:
            raise ValueError(_refusal(work, wanted, allowed, limit))
    return _told(wanted, model) if show else ""


def workload_of(model: Any, rows: Rows) -> Workload:
    """Return the sizes of a fit, at their worst where the data decide.

    Parameters that are no good are left to the checks of the fit.
    """
    n_samples, n_features = rows.shape
    n_clusters = _number(model.n_clusters, FIRST_GUESS)
    sampled = _fitted_rows(model.max_samples, n_samples, n_clusters)
    voted = sampled if model.graph_ == "sample" else n_samples
    in_pieces = _is_auto(model.subspace_dim) and _is_auto(model.n_candidates)
    most_dims = max(1, min(MOST_DIMS, n_features // 2))
    dim = _number(model.subspace_dim, most_dims)
    likely_dim = -(-dim // 3) if _is_auto(model.subspace_dim) else None
    candidates = _number(model.n_candidates, n_clusters)
    one_cut = model._makes_one_cut()
    counts = neighbour_counts(voted, n_clusters)
    may_be_affine = model.affine is True or (
        _is_auto(model.affine) and _is_auto(model.subspace_dim)
    )
    return Workload(
        n_samples,
        n_features,
        rows.dtype.itemsize,
        n_clusters,
        _number(model.n_base, STEPS[-1]),
        PIECES[1] * n_clusters if in_pieces else candidates,
        dim,
        graph=model.graph_,
        sample_size=sampled,
        top_q=_number(model.top_q, default_top_q(voted, n_clusters))
        if one_cut
        else max(counts),
        n_graphs=1 if one_cut else len(counts),
        max_iter=_number(model.max_iter, 0),
        max_samples=_fitted_rows(model.max_samples, voted, n_clusters),
        in_memory=rows.in_memory,
        n_workers=effective_n_jobs(model.n_jobs),
        double=may_be_affine,
        n_trials=_n_trials(model, rows),
        likely_base=STEPS[0] if _is_auto(model.n_base) else None,
        likely_candidates=sum(PIECES) * n_clusters // 2 if in_pieces else None,
        likely_dim=likely_dim,
        likely_features=likely_dim
        and min(n_samples, n_features, most_coordinates(n_clusters, likely_dim)),
    )


def _n_trials(model: Any, rows: Rows) -> int:
    """Return how many fits may be made to choose a preprocessing.

    Points in memory are looked at; of others it is known only when they are read.
    """
    most = most_removed(*rows.shape)
    if not most or not model._may_try_removals():
        return 0
    if (
        isinstance(rows, MemoryRows)
        and rows.in_memory
        and not has_common_direction(rows.array)
    ):
        return 0
    return most + 1


def bytes_of(text: Any) -> float:
    """Read a size: a number of bytes, or words such as "4GB", "500 MiB", "2g".

    Examples
    --------
    >>> from ekss.estimators._memory import bytes_of
    >>> bytes_of("1.5 GB"), bytes_of("2KiB"), bytes_of(10**6)
    (1500000000.0, 2048.0, 1000000.0)
    """
    count = _read_words(text) if isinstance(text, str) else text
    is_number = isinstance(count, (int, float)) and not isinstance(count, bool)
    if count is None or not is_number or not 0 < count < _MOST_BYTES:
        raise ValueError(
            f"memory_limit={text!r} is no amount of memory; pass bytes, or words such "
            "as '4GB' or '500 MiB', or None"
        )
    return float(count)


def _read_words(text: str) -> float | None:
    words = re.fullmatch(
        r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([kmgt]?)(i?)b?\s*", text.lower()
    )
    if words is None:
        return None
    return float(words[1]) * (1024 if words[3] else 1000) ** _UNITS[words[2]]


def available_bytes() -> float | None:
    """Return the memory that is free for this process; None where nothing tells.

    On Linux what the kernel can give without swapping, and no more than the control
    group of the process may still take; elsewhere free pages, where they are counted.
    """
    found = [_system_bytes(), *_group_bytes()]
    known = [count for count in found if count is not None]
    return min(known, default=None)


@dataclass(frozen=True)
class _Limit:
    """Bytes: of the whole process, or of what it may take beside what it has."""

    bytes: float
    whole: bool


def _limit_of(memory_limit: Any) -> _Limit | None:
    if memory_limit is not None:
        return _Limit(bytes_of(memory_limit), whole=True)
    free = available_bytes()
    return None if free is None else _Limit(free, whole=False)


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


def _told(wanted: Estimate, model: Any) -> str:
    if _is_auto(model.n_base):
        return f"{wanted} (for {STEPS[0]} members, {STEPS[-1]} if these disagree)"
    return str(wanted)


def _refusal(work: Workload, wanted: Estimate, allowed: float, limit: _Limit) -> str:
    """Say how much is too much, and which setting would fit."""
    name = "memory_limit=" if limit.whole else "the memory of this machine, "
    start = (
        f"clustering {work.n_samples} points with graph='{work.graph}' needs about "
        f"{in_bytes(wanted.bytes)}, more than {name}{in_bytes(allowed)}"
    )
    for words, change in _smaller(work):
        least = estimate(change)
        beside = 0.0 if limit.whole else wanted.resident - least.resident
        if least.bytes + beside <= allowed:
            return f"{start}; {words} would need {in_bytes(least.bytes)}"
    return f"{start}; no other setting would fit, so give fewer points or features"


def _smaller(work: Workload) -> Iterator[tuple[str, Workload]]:
    """Yield settings that need less memory, and the words for them."""
    changes: list[tuple[str, Callable[[Workload], Workload]]] = []
    sampled = replace(work, graph="sample")
    if sampled.voted < work.voted:
        changes.append(("graph='sample'", lambda one: replace(one, graph="sample")))
    if work.graph == "exact":
        changes.append(
            ("graph='approximate'", lambda one: replace(one, graph="approximate"))
        )
    if work.max_samples > enough_rows(work.n_clusters):
        rows = enough_rows(work.n_clusters)
        changes.append(
            (f"max_samples={rows}", lambda one: replace(one, max_samples=rows))
        )
    members = work.n_base
    while members > _FEWEST_MEMBERS:
        members = max(members // 2, _FEWEST_MEMBERS)
        changes.append((f"n_base={members}", _with_members(members)))
    yield from ((words, change(work)) for words, change in changes)
    if work.in_memory:
        words = "graph='sample' with X on disk, as numpy.load(file, mmap_mode='r'),"
        yield words, replace(sampled, in_memory=False)


def _with_members(count: int) -> Callable[[Workload], Workload]:
    return lambda work: replace(work, n_base=count)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str)


def _fitted_rows(max_samples: Any, voted: int, n_clusters: int) -> int:
    if max_samples is None:
        return voted
    return min(voted, _number(max_samples, enough_rows(n_clusters)))


def _number(value: Any, otherwise: int) -> int:
    """Return an integer, the larger of a pair, or what stands for anything else."""
    if isinstance(value, (tuple, list)) and value:
        value = value[-1]
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        return otherwise
    return int(value)
