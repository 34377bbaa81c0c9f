"""Compiled kernels of the approximate graph: windows of a sorted order, and friends.

Labels are stored point-major here, ``rows[i, b]``, because points are visited in
random order: a point is then two cache lines and not one line for every member.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ekss.graph._votes import _offer, _rank_key, _row_votes, _shuffle


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
    """Offer (key, j) unless it is there: within a row a key belongs to one point."""
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

    Windows have no point in common, so threads may work on different ones.
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

    Only the heaps of these points are written, so threads may take different ranges.
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
    """Sort each row from weakest to strongest, which leaves it a heap."""
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
