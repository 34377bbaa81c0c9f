"""Compiled kernels: votes of point pairs and the running top q of every row.

Labels are stored member-major, ``labels[b, i]``, so that the inner loop runs over
contiguous points. ``table[b, k]`` is the integer vote of member b for two points
that it puts together into its cluster k. The number of members is a multiple of
``MEMBERS_AT_ONCE`` and no vote exceeds ``LARGEST_VOTE``, both of
:mod:`ekss.graph.coassociation`, which pads with members that have no vote.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# Members are compared eight at a time and summed in 16 bits, twice, before the sum
# goes into the 32-bit total: a loop over 32-bit numbers would use a quarter of the
# lanes that a comparison of bytes can fill.
_TILE_ROWS = 64
_TILE_COLUMNS = 1024


@numba.njit(nogil=True, cache=True)
def _add_eight(
    labels: NDArray[Any],
    table: NDArray[np.uint16],
    b: int,
    i: int,
    first: int,
    last: int,
    partial: NDArray[np.uint16],
) -> None:
    """Add the votes of members b..b+7 for row i with points first..last-1."""
    zero = np.uint16(0)
    row0, k0 = labels[b, first:last], labels[b, i]
    row1, k1 = labels[b + 1, first:last], labels[b + 1, i]
    row2, k2 = labels[b + 2, first:last], labels[b + 2, i]
    row3, k3 = labels[b + 3, first:last], labels[b + 3, i]
    row4, k4 = labels[b + 4, first:last], labels[b + 4, i]
    row5, k5 = labels[b + 5, first:last], labels[b + 5, i]
    row6, k6 = labels[b + 6, first:last], labels[b + 6, i]
    row7, k7 = labels[b + 7, first:last], labels[b + 7, i]
    w0, w1, w2, w3 = table[b, k0], table[b + 1, k1], table[b + 2, k2], table[b + 3, k3]
    w4, w5 = table[b + 4, k4], table[b + 5, k5]
    w6, w7 = table[b + 6, k6], table[b + 7, k7]
    for j in range(last - first):
        s = partial[j]
        s = np.uint16(s + (w0 if row0[j] == k0 else zero))
        s = np.uint16(s + (w1 if row1[j] == k1 else zero))
        s = np.uint16(s + (w2 if row2[j] == k2 else zero))
        s = np.uint16(s + (w3 if row3[j] == k3 else zero))
        s = np.uint16(s + (w4 if row4[j] == k4 else zero))
        s = np.uint16(s + (w5 if row5[j] == k5 else zero))
        s = np.uint16(s + (w6 if row6[j] == k6 else zero))
        s = np.uint16(s + (w7 if row7[j] == k7 else zero))
        partial[j] = s


@numba.njit(nogil=True, cache=True)
def _row_votes(
    labels: NDArray[Any],
    table: NDArray[np.uint16],
    i: int,
    first: int,
    last: int,
    votes: NDArray[np.uint32],
    partial: NDArray[np.uint16],
) -> None:
    """Write the votes of row i with points first..last-1 into ``votes``."""
    n_members, width = labels.shape[0], last - first
    votes[:width] = 0
    for b in range(0, n_members, 16):
        partial[:width] = 0
        _add_eight(labels, table, b, i, first, last, partial)
        if b + 8 < n_members:
            _add_eight(labels, table, b + 8, i, first, last, partial)
        for j in range(width):
            votes[j] += np.uint32(partial[j])


@numba.njit(nogil=True, cache=True, inline="always")
def _shuffle(value: np.uint32) -> np.uint32:
    """Mix 32 bits; a bijection, so no two points of a row share a tie-break."""
    value = np.uint32(value ^ (value >> np.uint32(16)))
    value = np.uint32(value * np.uint32(0x7FEB352D))
    value = np.uint32(value ^ (value >> np.uint32(15)))
    value = np.uint32(value * np.uint32(0x846CA68B))
    return np.uint32(value ^ (value >> np.uint32(16)))


@numba.njit(nogil=True, cache=True, inline="always")
def _rank_key(votes: np.uint32, i: int, j: int) -> np.uint64:
    """Order by votes, then by a hash of the pair: strict within row i."""
    salt = _shuffle(np.uint32(i))
    tie = _shuffle(np.uint32(np.uint32(j) ^ salt))
    return (np.uint64(votes) << np.uint64(32)) | np.uint64(tie)


@numba.njit(nogil=True, cache=True)
def _offer(
    keys: NDArray[np.uint64], neighbours: NDArray[np.int32], key: np.uint64, j: int
) -> None:
    """Replace the smallest of a full min-heap by (key, j) and restore the heap."""
    q = keys.shape[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= q:
            break
        if child + 1 < q and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place] = keys[child]
        neighbours[place] = neighbours[child]
        place = child
    keys[place] = key
    neighbours[place] = j


@numba.njit(nogil=True, cache=True)
def scan_tiles(
    labels: NDArray[Any],
    table: NDArray[np.uint16],
    chunk: int,
    n_chunks: int,
    keys: NDArray[np.uint64],
    neighbours: NDArray[np.int32],
) -> None:
    """Offer every pair i < j of this chunk's row tiles to both its rows.

    ``keys`` and ``neighbours`` (n, q) are heaps that no other thread writes to;
    because the order is strict, merging the heaps of all threads gives the same rows
    however the chunks are shared out.
    """
    n = labels.shape[1]
    votes = np.empty(_TILE_COLUMNS, np.uint32)
    partial = np.empty(_TILE_COLUMNS, np.uint16)
    n_tiles = (n + _TILE_ROWS - 1) // _TILE_ROWS
    for tile in range(chunk, n_tiles, n_chunks):
        row_end = min(n, (tile + 1) * _TILE_ROWS)
        for first in range(tile * _TILE_ROWS, n, _TILE_COLUMNS):
            last = min(n, first + _TILE_COLUMNS)
            for i in range(tile * _TILE_ROWS, row_end):
                start = max(first, i + 1)
                if start >= last:
                    continue
                _row_votes(labels, table, i, start, last, votes, partial)
                own = np.uint64(keys[i, 0] >> np.uint64(32))
                for j in range(start, last):
                    v = np.uint64(votes[j - start])
                    if v == 0:
                        continue
                    if v >= own:
                        key = _rank_key(votes[j - start], i, j)
                        if key > keys[i, 0]:
                            _offer(keys[i], neighbours[i], key, j)
                            own = np.uint64(keys[i, 0] >> np.uint64(32))
                    if v >= keys[j, 0] >> np.uint64(32):
                        key = _rank_key(votes[j - start], j, i)
                        if key > keys[j, 0]:
                            _offer(keys[j], neighbours[j], key, i)


@numba.njit(nogil=True, cache=True)
def scan_outside(
    labels: NDArray[Any],
    table: NDArray[np.uint16],
    rows: NDArray[np.int64],
    group: NDArray[np.int64],
    n_offered: int,
    keys: NDArray[np.uint64],
    neighbours: NDArray[np.int32],
) -> None:
    """Offer to each row those of the first points that are not in its own group."""
    n = n_offered
    votes = np.empty(_TILE_COLUMNS, np.uint32)
    partial = np.empty(_TILE_COLUMNS, np.uint16)
    for first in range(0, n, _TILE_COLUMNS):
        last = min(n, first + _TILE_COLUMNS)
        for r in range(rows.shape[0]):
            i = rows[r]
            _row_votes(labels, table, i, first, last, votes, partial)
            for j in range(first, last):
                v = votes[j - first]
                if v == 0 or group[j] == group[i]:
                    continue
                if np.uint64(v) >= keys[r, 0] >> np.uint64(32):
                    key = _rank_key(v, i, j)
                    if key > keys[r, 0]:
                        _offer(keys[r], neighbours[r], key, j)


@numba.njit(nogil=True, cache=True)
def merge_heaps(
    keys: NDArray[np.uint64],
    neighbours: NDArray[np.int32],
    other_keys: NDArray[np.uint64],
    other_neighbours: NDArray[np.int32],
) -> None:
    """Offer every entry of the other worker's heaps to the first worker's."""
    n, q = keys.shape
    for i in range(n):
        for r in range(q):
            if other_keys[i, r] > keys[i, 0]:
                _offer(keys[i], neighbours[i], other_keys[i, r], other_neighbours[i, r])
