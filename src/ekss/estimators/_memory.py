"""How much memory a fit of EKSS wants, and what to do if that is too much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

from joblib import effective_n_jobs

from ekss.estimators._auto import MOST_DIMS, default_top_q
from ekss.estimators._budget import Estimate, Workload, estimate
from ekss.estimators._checks import check_workers
from ekss.estimators._coordinates import most_coordinates
from ekss.estimators._counting import FIRST_GUESS
from ekss.estimators._cutting import neighbour_counts
from ekss.estimators._limits import Limit, in_bytes, limit_of
from ekss.estimators._members import PIECES
from ekss.estimators._pace import measured_pace
from ekss.estimators._removal import has_common_direction, most_removed
from ekss.estimators._sampling import enough_rows
from ekss.estimators._voting import STEPS
from ekss.rows import MemoryRows, Rows

_FEWEST_MEMBERS = 10


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
    work = workload_of(model, rows)
    show = model.verbose > 0
    wanted = estimate(work, measured_pace() if show else 1.0)
    limit = limit_of(model.memory_limit, wanted.resident)
    limit.check(
        f"clustering {work.n_samples} points with graph='{work.graph}'",
        wanted.bytes,
        lambda: _remedy(work, limit),
    )
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


def _told(wanted: Estimate, model: Any) -> str:
    if _is_auto(model.n_base):
        return f"{wanted} (for {STEPS[0]} members, {STEPS[-1]} if these disagree)"
    return str(wanted)


def _remedy(work: Workload, limit: Limit) -> str:
    """Say which setting would fit."""
    for words, change in _smaller(work):
        least = estimate(change).bytes
        if least <= limit.bytes:
            return f"{words} would need {in_bytes(least)}"
    return "no other setting would fit, so give fewer points or features"


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
