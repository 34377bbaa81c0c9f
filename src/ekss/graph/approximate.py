"""Strongest votes of very many points: candidates from sorted labels, exact votes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ekss.graph.votes import (
    Neighbours,
    Votes,
    _offer,
    _rank_key,
    _row_votes,
    _shuffle,
    check_q,
)


@numba.njit(nogil=True, cache=True)
def order_keys(
    rows: NDArray[Any],
    members: NDArray[np.int64],
    n_bits: int,
    salt: np.uint32,
    keys: NDArray[np.uint64],
) -> None:
    """Pack the labels of some members, then a hash of the point, into 64 bits."""
    n_hashed = np.uint64(64 - n_bits * members.shape[0])
    for i in range(rows.shape[0]):
        key = np.uint64(0)
        for member in members:
            key = (key << np.uint64(n_bits)) | np.uint64(rows[i, member])
        tie = np.uint64(_shuffle(np.uint32(np.uint32(i) ^ salt)))
        if n_hashed < 32:
            tie >>= np.uint64(32) - n_hashed
        keys[i] = (key << n_hashed) | tie


@numba.njit(nogil=True, cache=True)
def _offer_once(
    keys: NDArray[np.uint64], index: NDArray[np.int32], key: np.uint64, j: int
) -> None:
    """Offer (key, j) unless it is there: within a row, a key belongs to one point."""
    known = False
    for r in range(keys.shape[0]):
        known |= keys[r] == key
    if not known:
        _offer(keys, index, key, j)


@numba.njit(nogil=True, cache=True)
def scan_windows(
    rows: NDArray[Any],
    table: NDArray[np.uint16],
    order: NDArray[np.int64],
    bounds: NDArray[np.int64],
    keys: NDArray[np.uint64],
    index: NDArray[np.int32],
) -> None:
    """Offer all pairs within each window ``order[bounds[w]:bounds[w + 1]]``.

    No point is in two windows, so threads may work on different ones.
    """
    n_members = rows.shape[1]
    width = 0
    for w in range(bounds.shape[0] - 1):
        width = max(width, bounds[w + 1] - bounds[w])
    tile = np.empty((n_members, width), rows.dtype)
    votes = np.empty(width, np.uint32)
    partial = np.empty(width, np.uint16)
    for w in range(bounds.shape[0] - 1):
        points = order[bounds[w] : bounds[w + 1]]
        n = points.shape[0]
        for r in range(n):
            for b in range(n_members):
                tile[b, r] = rows[points[r], b]
        for r in range(n - 1):
            i = points[r]
            _row_votes(tile, table, r, r + 1, n, votes, partial)
            own = keys[i, 0] >> np.uint64(32)
            for s in range(r + 1, n):
                v = np.uint64(votes[s - r - 1])
                if v == 0:
                    continue
                j = points[s]
                if v >= own:
                    key = _rank_key(votes[s - r - 1], i, j)
                    if key > keys[i, 0]:
                        _offer_once(keys[i], index[i], key, j)
                        own = keys[i, 0] >> np.uint64(32)
                if v >= keys[j, 0] >> np.uint64(32):
                    key = _rank_key(votes[s - r - 1], j, i)
                    if key > keys[j, 0]:
                        _offer_once(keys[j], index[j], key, i)


@numba.njit(nogil=True, cache=True)
def scan_friends(
    rows: NDArray[Any],
    table: NDArray[np.uint16],
    known: NDArray[np.int32],
    first: int,
    last: int,
    keys: NDArray[np.uint64],
    index: NDArray[np.int32],
) -> None:
    """Offer to points first..last-1 the neighbours of their neighbours in ``known``.

    Only the heaps of these points are written to, so threads may take different ranges.
    """
    n_members = rows.shape[1]
    own = np.empty(n_members, np.uint32)
    seen = np.full(4 * known.shape[1] * known.shape[1] + 64, -1, np.int32)
    for i in range(first, last):
        mine = rows[i]
        for b in range(n_members):
            own[b] = table[b, mine[b]]
        for friend in known[i]:
            if friend < 0:
                continue
            for j in known[friend]:
                if j < 0 or j == i:
                    continue
                slot = _shuffle(np.uint32(j)) % np.uint32(seen.shape[0])
                if seen[slot] == j:
                    continue
                seen[slot] = j
                theirs = rows[j]
                total = np.uint32(0)
                for b in range(n_members):
                    total += own[b] if mine[b] == theirs[b] else np.uint32(0)
                if total > 0 and np.uint64(total) >= keys[i, 0] >> np.uint64(32):
                    key = _rank_key(total, i, j)
                    if key > keys[i, 0]:
                        _offer_once(keys[i], index[i], key, j)
        seen[:] = -1


@numba.njit(nogil=True, cache=True)
def sort_heaps(keys: NDArray[np.uint64], index: NDArray[np.int32]) -> None:
    """Sort each row from weakest to strongest, which keeps it a heap."""
    for i in range(keys.shape[0]):
        for r in range(1, keys.shape[1]):
            key, j = keys[i, r], index[i, r]
            place = r
            while place > 0 and keys[i, place - 1] > key:
                keys[i, place] = keys[i, place - 1]
                index[i, place] = index[i, place - 1]
                place -= 1
            keys[i, place] = key
            index[i, place] = j


# Points per window, all pairs of which are compared. Wider windows cost less per pair
# (the kernel runs along them) and more per tree.
WINDOW = 256
N_TREES = 12
# How many of a point's neighbours, and of theirs, are examined in the last pass.
FRIENDS = 10
# Bits of a sort key that hold labels; the rest shuffle points with equal labels.
_LABEL_BITS = 40
_TASKS_A_WORKER = 4


@dataclass(frozen=True)
class _Search:
    """Labels by point, and the heaps of the best candidates so far, to be filled."""

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
    random, one member after the other, with points of equal labels in random order.
    Points that many members put together end up close to each other in most of these
    orders. Each order is cut into windows of ``WINDOW`` points, and all pairs in a
    window are compared by the votes of all members. Finally, every point examines the
    neighbours of its neighbours.

    Parameters
    ----------
    votes : Votes
        From :func:`ekss.graph.prepare_votes`.
    q : int
        Neighbours kept per point; a point's vote with itself does not count.
    n_trees : int, default=12
        Number of random orders; more orders find more of the true neighbours.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.
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
    Takes O(n_samples n_trees WINDOW n_members / 2) byte comparisons and n_trees sorts.
    Memory beyond the votes: one copy of the labels, 24 q bytes per point for lists and
    result, and 24 bytes per point and thread for the orders.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import nearest_by_votes_approximate, prepare_votes
    >>> labels = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> nearest_by_votes_approximate(prepare_votes(labels), 1).index.ravel()
    array([1, 0, 3, 2], dtype=int32)
    """
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
        # Orders are sorted side by side, a few at a time: each takes 8 bytes per point.
        for first in range(0, n_trees, n_workers):
            draws = [
                (rng.permutation(voting), np.uint32(rng.integers(2**32)))
                for _ in range(first, min(first + n_workers, n_trees))
            ]
            for order in pool.map(sort, draws):
                _compare_windows(search, order)
                if report is not None:
                    report(1)
        sort_heaps(keys, index)
        if n > WINDOW:
            _compare_friends(search)
            sort_heaps(keys, index)
    if report is not None:
        report(1)
    value = np.multiply(keys[:, ::-1] >> np.uint64(32), votes.unit, dtype=np.float64)
    return Neighbours(np.ascontiguousarray(index[:, ::-1]), value)


def _sorted_points(
    rows: NDArray[Any], n_bits: int, members: NDArray[np.int64], salt: np.uint32
) -> NDArray[np.int64]:
    """Return the points sorted by the labels of the first of the given members."""
    used = members[: max(_LABEL_BITS // n_bits, 1)]
    keys = np.empty(len(rows), np.uint64)
    order_keys(rows, used, n_bits, salt, keys)
    return np.argsort(keys, kind="stable")


def _compare_windows(search: _Search, order: NDArray[np.int64]) -> None:
    """Offer each pair in each window of the order to both of its points."""
    n_windows = -(-len(order) // WINDOW)
    bounds = np.linspace(0, len(order), n_windows + 1).astype(np.int64)

    def compare(part: tuple[int, int]) -> None:
        first, last = part
        scan_windows(
            search.rows,
            search.table,
            order,
            bounds[first : last + 1],
            search.keys,
            search.index,
        )

    list(search.pool.map(compare, search.parts(n_windows)))


def _compare_friends(search: _Search) -> None:
    """Offer to each point the current neighbours of its neighbours."""
    known = np.ascontiguousarray(search.index[:, ::-1][:, :FRIENDS])

    def compare(part: tuple[int, int]) -> None:
        scan_friends(search.rows, search.table, known, *part, search.keys, search.index)

    list(search.pool.map(compare, search.parts(len(known))))
