"""Strongest votes of very many points: candidates from sorted labels, exact votes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ekss.graph.coassociation import Votes, check_q
from ekss.graph.neighbours import Neighbours

# Points of a window, all pairs of which are compared. Wider windows cost less a pair
# (the kernel runs along them) and more a tree.
WINDOW = 256
N_TREES = 12
# How many of a point's neighbours, and of theirs, are looked at in the last pass.
FRIENDS = 10
# Bits of a sort key that hold labels; the rest shuffles points with equal labels.
_LABEL_BITS = 40
_TASKS_A_WORKER = 4


@dataclass(frozen=True)
class _Search:
    """Labels point by point, and the heaps of the best so far, which are filled."""

    rows: NDArray[Any]
    table: NDArray[np.uint16]
    keys: NDArray[np.uint64]
    index: NDArray[np.int32]
    pool: Executor
    n_workers: int

    def parts(self, count: int) -> list[tuple[int, int]]:
        """Split ``range(count)`` for the workers."""
        n_parts = min(count, _TASKS_A_WORKER * self.n_workers)
        ends = np.linspace(0, count, n_parts + 1).astype(np.int64)
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def nearest_by_votes_approximate(
    votes: Votes,
    q: int,
    *,
    n_trees: int = N_TREES,
    n_jobs: int | None = None,
    random_state: int | np.random.Generator = 0,
    report: Callable[[int], None] | None = None,
) -> Neighbours:
    """Find nearly all of the q points that share most votes with each point.

    For every tree the points are sorted by their labels in a few members drawn at
    random, one member after the other, points with equal labels in random order.
    Points that many members put together come close to each other in most of these
    orders. Each order is cut into windows of ``WINDOW`` points, and all pairs in a
    window are compared by the votes of all members. In the end every point looks at
    the neighbours of its neighbours.

    Parameters
    ----------
    votes : Votes
        From :func:`ekss.graph.prepare_votes`.
    q : int
        Neighbours kept a point; a point's vote with itself does not count.
    n_trees : int, default=12
        Random orders; more find more of the true neighbours.
    n_jobs : int, default=None
        Threads; the result does not depend on it.
    random_state : int or Generator, default=0
        Seed of the orders: the same votes, q and seed give the same bytes.
    report : callable, default=None
        Called with 1 after each tree and after the last pass, n_trees + 1 times.

    Returns
    -------
    neighbours : Neighbours
        Its values are exact votes. With at most ``WINDOW`` points it equals
        :func:`ekss.graph.nearest_by_votes`.

    Notes
    -----
    Time O(n_samples n_trees WINDOW n_members / 2) byte comparisons and n_trees sorts.
    Memory beyond the votes: one copy of the labels, 24 q bytes a point for lists and
    result, and 24 bytes a point and thread for the orders.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import nearest_by_votes_approximate, prepare_votes
    >>> labels = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> nearest_by_votes_approximate(prepare_votes(labels), 1).index.ravel()
    array([1, 0, 3, 2], dtype=int32)
    """
    from ekss.graph import _approximate  # loads numba on first use

    n = votes.n_samples
    check_q(q, n)
    if n_trees < 1:
        raise ValueError(f"n_trees={n_trees} is below 1; choose at least 1")
    n_workers = effective_n_jobs(n_jobs)
    rng = np.random.default_rng(random_state)
    rows = np.ascontiguousarray(votes.labels.T)
    keys, index = np.zeros((n, q), np.uint64), np.full((n, q), -1, np.int32)
    voting = np.flatnonzero(votes.table.any(axis=1))
    n_bits = max((votes.table.shape[1] - 1).bit_length(), 1)

    def sort(draw: tuple[NDArray[np.int64], np.uint32]) -> NDArray[np.int64]:
        return _sorted_points(rows, n_bits, *draw)

    with ThreadPoolExecutor(n_workers) as pool:
        search = _Search(rows, votes.table, keys, index, pool, n_workers)
        # Orders are sorted side by side, a few at a time: each is 8 bytes a point.
        for first in range(0, n_trees, n_workers):
            draws = [
                (rng.permutation(voting), np.uint32(rng.integers(2**32)))
                for _ in range(first, min(first + n_workers, n_trees))
            ]
            for order in pool.map(sort, draws):
                _compare_windows(search, order)
                if report is not None:
                    report(1)
        _approximate.sort_heaps(keys, index)
        if n > WINDOW:
            _compare_friends(search)
            _approximate.sort_heaps(keys, index)
    if report is not None:
        report(1)
    value = np.multiply(keys[:, ::-1] >> np.uint64(32), votes.unit, dtype=np.float64)
    return Neighbours(np.ascontiguousarray(index[:, ::-1]), value)


def _sorted_points(
    rows: NDArray[Any], n_bits: int, members: NDArray[np.int64], salt: np.uint32
) -> NDArray[np.int64]:
    """Return the points sorted by the labels of the first of the given members."""
    from ekss.graph import _approximate

    used = members[: max(_LABEL_BITS // n_bits, 1)]
    keys = np.empty(len(rows), np.uint64)
    _approximate.order_keys(rows, used, n_bits, salt, keys)
    return np.argsort(keys, kind="stable")


def _compare_windows(search: _Search, order: NDArray[np.int64]) -> None:
    """Offer all pairs of each window of the order to both their points."""
    from ekss.graph import _approximate

    n_windows = -(-len(order) // WINDOW)
    bounds = np.linspace(0, len(order), n_windows + 1).astype(np.int64)

    def compare(part: tuple[int, int]) -> None:
        first, last = part
        _approximate.scan_windows(
            search.rows,
            search.table,
            order,
            bounds[first : last + 1],
            search.keys,
            search.index,
        )

    list(search.pool.map(compare, search.parts(n_windows)))


def _compare_friends(search: _Search) -> None:
    """Offer to each point the neighbours that its neighbours had until now."""
    from ekss.graph import _approximate

    known = np.ascontiguousarray(search.index[:, ::-1][:, :FRIENDS])

    def compare(part: tuple[int, int]) -> None:
        _approximate.scan_friends(
            search.rows, search.table, known, *part, search.keys, search.index
        )

    list(search.pool.map(compare, search.parts(len(known))))
