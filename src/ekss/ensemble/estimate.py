"""What a fit will take, told before it starts, and refused where that is too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ekss.core.spectrum import SMALL_SIDE
from ekss.ensemble import choose, cut, extend, vote
from ekss.ensemble.automatic import (
    COUNT,
    REMOVAL,
    has_common_direction,
    most_removed,
    tried_rows,
)
from ekss.ensemble.decide import MOST_DIMS, Wishes, neighbor_counts
from ekss.ensemble.prepare import most_coordinates
from ekss.ensemble.vote import RULES, KSSMember, enough_rows
from ekss.runtime.cost import Estimate, Stage, Work, measured_pace
from ekss.runtime.memory import LIBRARY_BYTES, Limit, in_bytes, limit_of
from ekss.runtime.rows import MemoryRows, Rows
from ekss.runtime.workers import Workers

_FEWEST_MEMBERS = 10


def estimate(work: Work) -> Estimate:
    """Add up the stages of a fit.

    Seconds are within a factor of about 3, bytes rather too many than too few.

    Examples
    --------
    >>> from ekss.ensemble.estimate import estimate
    >>> from ekss.runtime.cost import Work
    >>> exact = Work(10**6, 50, 4, 10, 100, 10, 5, 10**6, n_neighbors=40, n_graphs=6)
    >>> estimate(exact).seconds > 1000
    True
    """
    stages = {
        "preprocessing": trial_cost(work),
        "members": vote.cost(work),
        "votes": cut.votes_cost(work),
        "cuts": cut.cost(work),
        "choice": choose.cost(work),
        "rows": extend.cost(work),
    }
    data = work.n_samples * work.n_features * work.itemsize
    return Estimate(
        LIBRARY_BYTES + data * work.in_memory,
        {name: stage for name, stage in stages.items() if stage.seconds > 0},
    )


def trial_cost(work: Work) -> Stage:
    """Compare numbers of components on a sample, after finding all of them."""
    if not work.n_trials:
        return Stage(0.0, 0.0)
    rows = tried_rows(work.voted, work.n_clusters)
    small = estimate(
        replace(
            work,
            n_samples=rows,
            voted=rows,
            fitted=rows,
            n_members=min(work.n_members, REMOVAL.members),
            likely_members=None,
            n_graphs=1,
            n_trials=0,
        )
    )
    n, n_features = work.voted, work.n_features
    # Copies of the points in float64, or a Gram matrix: see core/spectrum.py.
    by_rows = n < n_features or n_features <= SMALL_SIDE
    spectrum = 8 * 4 * n_features * (n if by_rows else n_features)
    held = max(spectrum, *(stage.bytes for stage in small.stages.values()))
    return Stage(work.n_trials * small.seconds, n * n_features * work.width + held)


def check_memory(
    wishes: Wishes,
    rows: Rows,
    sample: NDArray[np.int64] | None,
    memory_limit: Any,
    workers: Workers,
) -> None:
    """Refuse a fit that wants more memory than there is; tell what it will take."""
    work = work_of(wishes, rows, sample, workers)
    wanted = estimate(work)
    limit = limit_of(memory_limit, wanted.resident)
    task = f"clustering {work.n_samples} points, {work.voted} of them by votes,"
    limit.check(task, wanted.bytes, lambda: _remedy(work, limit))
    if workers.show:
        told = wanted.at_pace(measured_pace())
        note = ""
        if wishes.n_members is None:
            few, most = RULES.steps[0], RULES.steps[-1]
            note = f" (for {few} members, {most} if these disagree)"
        workers.say(f"{told}{note}")


def work_of(
    wishes: Wishes, rows: Rows, sample: NDArray[np.int64] | None, workers: Workers
) -> Work:
    """Return the sizes of a fit, at their worst where the data decide."""
    n_samples, n_features = rows.shape
    voted = n_samples if sample is None else len(sample)
    n_clusters = wishes.n_clusters or COUNT.first
    dims = wishes.dims
    dim = dims[1] if dims else max(1, min(MOST_DIMS, n_features // 2))
    likely_dim = None if dims else -(-dim // 3)
    neighbors = neighbor_counts(voted, n_clusters)
    if wishes.n_neighbors is not None:
        neighbors = (wishes.n_neighbors,)
    kss = wishes.member if isinstance(wishes.member, KSSMember) else KSSMember()
    most, likely = _candidates(kss, n_clusters)
    return Work(
        n_samples,
        n_features,
        rows.dtype.itemsize,
        n_clusters,
        wishes.n_members or RULES.steps[-1],
        most,
        dim,
        voted,
        all_pairs=wishes.cut.looks_at_all_pairs(voted),
        n_neighbors=max(neighbors),
        n_graphs=len(neighbors),
        max_iter=kss.max_iter,
        fitted=kss.fitted_rows(voted, n_clusters) or voted,
        in_memory=rows.in_memory,
        n_workers=effective_n_jobs(workers.n_jobs),
        double=wishes.affine is not False,
        n_trials=_n_trials(wishes, rows),
        likely_members=None if wishes.n_members else RULES.steps[0],
        likely_candidates=likely,
        likely_dim=likely_dim,
        likely_features=min(
            n_samples, n_features, most_coordinates(n_clusters, likely_dim or dim)
        ),
    )


def _candidates(member: KSSMember, n_clusters: int) -> tuple[int, int | None]:
    """Return the most candidates of a member, and the likely number if it differs."""
    given: Any = member.n_candidates
    if given == "auto":
        return RULES.pieces[1] * n_clusters, sum(RULES.pieces) * n_clusters // 2
    if given is None:
        return n_clusters, None
    return (given[1], None) if isinstance(given, (tuple, list)) else (given, None)


def _n_trials(wishes: Wishes, rows: Rows) -> int:
    """Return how many numbers of components may be tried.

    Points in memory are looked at; of others it is known only when they are read.
    """
    most = most_removed(*rows.shape)
    may = wishes.n_removed is None and wishes.affine is not True
    if not most or not may or wishes.normalize is False:
        return 0
    if isinstance(rows, MemoryRows) and rows.in_memory:
        return most + 1 if has_common_direction(rows.array) else 0
    return most + 1


def _remedy(work: Work, limit: Limit) -> str:
    """Say which setting would fit."""
    for words, change in _smaller(work):
        needed = estimate(change).bytes
        if needed <= limit.bytes:
            return f"{words} would need {in_bytes(needed)}"
    return "no other setting would fit, so give fewer points or features"


def _smaller(work: Work) -> Iterator[tuple[str, Work]]:
    """Yield changes that make a fit smaller, in words and in sizes."""
    enough = min(work.n_samples, enough_rows(work.n_clusters))
    sampled = replace(work, voted=min(work.voted, enough), fitted=enough)
    if work.voted > enough:
        yield f"max_samples={enough}", sampled
    if work.all_pairs:
        yield "cut=CutOptions(pairs='likely')", replace(work, all_pairs=False)
    members = work.n_members
    while members > _FEWEST_MEMBERS:
        members = max(members // 2, _FEWEST_MEMBERS)
        yield f"n_members={members}", replace(work, n_members=members)
    if work.in_memory:
        words = f"max_samples={enough} with X on disk, as numpy.load(f, mmap_mode='r'),"
        yield words, replace(sampled, in_memory=False)
