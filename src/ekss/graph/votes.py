"""Votes of members: who shares base clusters with whom, never as an N x N matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

import numba
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Neighbours:
    """The strongest neighbours of every point, strongest first.

    Attributes
    ----------
    index : ndarray of shape (n_samples, q), int32
        Neighbour indices; -1 where a point has fewer than q neighbours.
    value : ndarray of shape (n_samples, q), float64
        Their similarities, descending; 0 where ``index`` is -1.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import nearest_by_votes, prepare_votes
    >>> labels = np.array([[0, 0], [0, 1], [1, 1]])
    >>> found = nearest_by_votes(prepare_votes(labels), q=1)
    >>> found.index.shape, found.value[0]
    ((3, 1), array([0.5]))
    """

    index: NDArray[np.int32]
    value: NDArray[np.float64]


def directed_graph(neighbours: Neighbours, q: int | None = None) -> sparse.csr_array:
    """Return the (n, n) graph with one edge from each point to its first q neighbours.

    Parameters
    ----------
    neighbours : Neighbours
        Lists with at least q entries per row.
    q : int, default=None
        Number of neighbours to keep; all of them if None. Smaller values reuse the same
        lists, so a sweep over q needs no further votes.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Weights are the similarities; lists that end early give fewer edges.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import Neighbours, directed_graph
    >>> lists = Neighbours(np.array([[1], [0], [0]]), np.array([[0.9], [0.9], [0.4]]))
    >>> directed_graph(lists).toarray()
    array([[0. , 0.9, 0. ],
           [0.9, 0. , 0. ],
           [0.4, 0. , 0. ]])
    """
    index, value = neighbours.index[:, :q], neighbours.value[:, :q]
    n = index.shape[0]
    present = index >= 0
    # scikit-learn requires 32-bit indices in precomputed affinities.
    row = np.repeat(np.arange(n, dtype=np.int32), present.sum(axis=1))
    graph = sparse.csr_array((value[present], (row, index[present])), shape=(n, n))
    graph.sort_indices()
    return graph


def graph_of_rows(
    neighbours: Neighbours, rows: NDArray[np.int64], n_samples: int
) -> sparse.csr_array:
    """Return the directed graph in which only the given rows have neighbours.

    Parameters
    ----------
    neighbours : Neighbours
        Lists of the given rows, in the same order.
    rows : ndarray of int
        Points that the lists belong to.
    n_samples : int
        Total number of points.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Rows that were not given are empty.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import Neighbours, graph_of_rows
    >>> lists = Neighbours(np.array([[0]]), np.array([[0.4]]))
    >>> graph_of_rows(lists, np.array([2]), n_samples=3).toarray()
    array([[0. , 0. , 0. ],
           [0. , 0. , 0. ],
           [0.4, 0. , 0. ]])
    """
    q = neighbours.index.shape[1]
    full = Neighbours(np.full((n_samples, q), -1, np.int32), np.zeros((n_samples, q)))
    full.index[rows], full.value[rows] = neighbours.index, neighbours.value
    return directed_graph(full)


def symmetric_graph(neighbours: Neighbours, q: int | None = None) -> sparse.csr_array:
    """Average row and column thresholding: (Z + Z^T) / 2 (the paper's Alg. 2).

    Because similarities are symmetric, thresholding the columns gives the transpose
    of thresholding the rows. A point is not its own neighbour.

    Parameters
    ----------
    neighbours : Neighbours
        Lists with at least q entries per row.
    q : int, default=None
        Number of neighbours to keep per row; all of them if None.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Symmetric, zero diagonal, at most 2 q n_samples entries.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import Neighbours, symmetric_graph
    >>> lists = Neighbours(np.array([[1], [0], [0]]), np.array([[0.9], [0.9], [0.4]]))
    >>> symmetric_graph(lists).toarray()
    array([[0. , 0.9, 0.2],
           [0.9, 0. , 0. ],
           [0.2, 0. , 0. ]])
    """
    rows = directed_graph(neighbours, q)
    graph = sparse.csr_array((rows + rows.T) * 0.5)
    graph.sort_indices()
    return graph


# Members are compared eight at a time and summed in 16 bits, twice, before the sum
# goes into the 32-bit total: a loop over 32-bit numbers would use a quarter of the
# lanes that a comparison of bytes can fill.
_TILE_ROWS = 64
_TILE_COLUMNS = 1024


@numba.njit(nogil=True, cache=True, error_model="numpy")
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
    zero = np.uint16(0)
    n_members, width = labels.shape[0], last - first
    for j in range(width):
        votes[j] = 0
        partial[j] = 0
    for b in range(0, n_members, 8):
        row0, k0 = labels[b, first:last], labels[b, i]
        row1, k1 = labels[b + 1, first:last], labels[b + 1, i]
        row2, k2 = labels[b + 2, first:last], labels[b + 2, i]
        row3, k3 = labels[b + 3, first:last], labels[b + 3, i]
        row4, k4 = labels[b + 4, first:last], labels[b + 4, i]
        row5, k5 = labels[b + 5, first:last], labels[b + 5, i]
        row6, k6 = labels[b + 6, first:last], labels[b + 6, i]
        row7, k7 = labels[b + 7, first:last], labels[b + 7, i]
        w0, w1 = table[b, k0], table[b + 1, k1]
        w2, w3 = table[b + 2, k2], table[b + 3, k3]
        w4, w5 = table[b + 4, k4], table[b + 5, k5]
        w6, w7 = table[b + 6, k6], table[b + 7, k7]
        for j in range(width):
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
        if b % 16 == 8 or b + 8 == n_members:
            for j in range(width):
                votes[j] += np.uint32(partial[j])
                partial[j] = 0


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
    """Return a key that orders by votes, then by a hash: strictly within row i."""
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


@numba.njit(nogil=True, cache=True, error_model="numpy")
def scan_rows(
    labels: NDArray[Any],
    table: NDArray[np.uint16],
    rows: NDArray[np.int64],
    group: NDArray[np.int64],
    n_offered: int,
    both: bool,
    votes: NDArray[np.uint32],
    partial: NDArray[np.uint16],
    keys: NDArray[np.uint64],
    neighbours: NDArray[np.int32],
) -> None:
    """Offer the first points to rows that are not in their group.

    With ``both``, only later points are offered to a row, and the row is offered to
    them in turn: every pair is compared once, and the heaps ``keys`` and ``neighbours``
    are those of all points. Otherwise they are those of the rows. No other thread
    writes to them; because the order is strict, merging the heaps of all threads gives
    the same result however the rows are divided among threads. ``votes`` and
    ``partial`` are working memory for a tile.
    """
    for first in range(0, n_offered, votes.shape[0]):
        last = min(n_offered, first + votes.shape[0])
        for r in range(rows.shape[0]):
            i = rows[r]
            start = max(first, i + 1) if both else first
            if start >= last:
                continue
            _row_votes(labels, table, i, start, last, votes, partial)
            heap = i if both else r
            for j in range(start, last):
                v = votes[j - start]
                if v == 0 or group[j] == group[i]:
                    continue
                if np.uint64(v) >= keys[heap, 0] >> np.uint64(32):
                    key = _rank_key(v, i, j)
                    if key > keys[heap, 0]:
                        _offer(keys[heap], neighbours[heap], key, j)
                if both and np.uint64(v) >= keys[j, 0] >> np.uint64(32):
                    key = _rank_key(v, j, i)
                    if key > keys[j, 0]:
                        _offer(keys[j], neighbours[j], key, i)


def _tile_memory() -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    return np.empty(_TILE_COLUMNS, np.uint32), np.empty(_TILE_COLUMNS, np.uint16)


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


# What the compiled kernels expect: members in blocks of eight, and integer votes such
# that two blocks still sum in 16 bits.
MEMBERS_AT_ONCE = 8
LARGEST_VOTE = (2**16 - 1) // (2 * MEMBERS_AT_ONCE)

# When votes are divided by size, votes of clusters below this share of the mean cluster
# size are not raised further: a cluster of two points is not a thousand times better
# evidence than one of two thousand.
SMALLEST_SIZE_SHARE = 1 / 16

# Number of connections that a stray point gets.
_BRIDGES = 10

# Stray points are compared with all others up to this many pairs, then with a sample.
MAX_BRIDGE_PAIRS = 10**10

# The scan over pairs is done in equal parts, so that progress can be reported.
SCAN_CHUNKS = 64


@dataclass(frozen=True)
class Votes:
    """Member labels and integer vote weights, ready for the compiled kernels.

    Attributes
    ----------
    labels : ndarray of shape (n_padded, n_samples), unsigned
        Labels member by member, padded to a multiple of eight members.
    table : ndarray of shape (n_padded, n_labels), uint16
        Integer vote of a member for two points in its cluster k; 0 for padding, and for
        the label after the last, which marks points that a member does not vote on.
    unit : float
        Value of an integer vote of 1, such that similarities lie in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import prepare_votes
    >>> prepare_votes(np.array([[0, 0], [0, 1], [1, 1]])).n_samples
    3
    """

    labels: NDArray[Any]
    table: NDArray[np.uint16]
    unit: float

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return int(self.labels.shape[1])


def prepare_votes(
    labels: ArrayLike, weights: ArrayLike | None = None, *, divide_by_size: bool = False
) -> Votes:
    r"""Turn member labels and weights into integer votes.

    The co-association of the paper is
    :math:`A_{ij} = \frac1B \sum_b w(b)\, 1\{i, j \text{ together in member } b\}`.
    Integers make every sum exact, and hence the same for any order and number of
    workers.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Labels of every point in every member; a negative label means no vote.
    weights : array-like of shape (n_members,), default=None
        Non-negative weight of each member; all 1 if None. The largest weight is
        resolved to 1 part in 4095.
    divide_by_size : bool, default=False
        Whether to divide each vote by the size of the cluster it comes from, which
        makes the full matrix doubly stochastic up to the weights. Clusters smaller than
        1/16 of their member's mean cluster size count as that size.

    Returns
    -------
    votes : Votes
        Ready for :func:`nearest_by_votes` and its relatives.

    See Also
    --------
    nearest_by_votes : Finds the strongest votes.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import nearest_by_votes, prepare_votes
    >>> votes = prepare_votes(np.array([[0, 0], [0, 0], [1, 0]]), weights=[3.0, 1.0])
    >>> nearest_by_votes(votes, q=1).index[:2].tolist()
    [[1], [0]]
    """
    by_member, n_labels, weight = _check_labels(labels, weights)
    n_members, n_samples = by_member.shape
    value = np.broadcast_to(weight[:, None], (n_members, n_labels))
    if divide_by_size:
        value = value * _inverse_sizes(by_member, n_labels)
    largest = float(value.max())
    unit = largest / LARGEST_VOTE if largest > 0 else 1.0
    padding = -n_members % MEMBERS_AT_ONCE
    table = np.zeros((n_members + padding, int(by_member.max()) + 1), np.uint16)
    table[:n_members, :n_labels] = np.rint(value / unit)
    if padding:
        empty = np.zeros((padding, n_samples), by_member.dtype)
        by_member = np.concatenate([by_member, empty])
    return Votes(by_member, table, unit / n_members)


def nearest_by_votes(
    votes: Votes,
    q: int,
    *,
    n_jobs: int | None = None,
    report: Callable[[int], None] | None = None,
) -> Neighbours:
    """Find the q points that share the most votes with each point.

    Ties are broken by a hash of the pair. Among good members hundreds of pairs have
    equal votes; choosing by index would give every point the same few neighbours and
    tear clusters apart, whereas a hash makes a random, well-connected graph.

    Parameters
    ----------
    votes : Votes
        From :func:`prepare_votes`.
    q : int
        Neighbours kept per point; a point's vote with itself does not count.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.
    report : callable, default=None
        Called with 1 after each of ``SCAN_CHUNKS`` equal parts of the work.

    Returns
    -------
    neighbours : Neighbours
        Lists of q neighbours, with the share of votes of each.

    See Also
    --------
    nearest_by_votes_approximate : For very many points.
    symmetric_graph : The next step.

    Notes
    -----
    Takes n_samples^2 n_members / 2 byte comparisons, and O(n_samples q) memory per
    thread.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import nearest_by_votes, prepare_votes
    >>> votes = prepare_votes(np.array([[0, 0], [0, 0], [1, 1], [1, 0]]))
    >>> nearest_by_votes(votes, q=1).index[:2].tolist()
    [[1], [0]]
    """
    n = votes.n_samples
    check_q(q, n)
    n_workers = effective_n_jobs(n_jobs)
    heaps = [_empty_heaps(n, q) for _ in range(n_workers)]
    stop = Event()

    def scan(worker: int) -> None:
        for chunk in range(worker, SCAN_CHUNKS, n_workers):
            if stop.is_set():
                return
            rows = np.flatnonzero(np.arange(n) // _TILE_ROWS % SCAN_CHUNKS == chunk)
            scan_rows(
                votes.labels,
                votes.table,
                rows,
                np.arange(n),
                n,
                True,
                *_tile_memory(),
                *heaps[worker],
            )
            if report is not None:
                report(1)

    with ThreadPoolExecutor(n_workers) as pool:
        try:
            list(pool.map(scan, range(n_workers)))
        finally:
            stop.set()  # so that Ctrl-C ends the scan after the chunks under way
    for keys, index in heaps[1:]:
        merge_heaps(*heaps[0], keys, index)
    return _sorted_neighbours(*heaps[0], votes.unit)


def votes_outside(
    votes: Votes, rows: NDArray[np.int64], group: NDArray[np.int64], q: int
) -> sparse.csr_array:
    """Connect the given rows to their q best points outside their own group.

    Parameters
    ----------
    votes : Votes
        From :func:`prepare_votes`.
    rows : ndarray of int
        The points that need a connection.
    group : ndarray of shape (n_samples,), int
        Group (for example, the connected component) of every point.
    q : int
        Number of connections per row.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Directed; rows that were not given, or that share no vote with any other group,
        are empty.

    Notes
    -----
    Takes O(len(rows) n_samples n_members) byte comparisons, up to 10^10 pairs. Beyond
    that, which takes more than 100,000 points, the rows choose from a random sample of
    the points that makes this many pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import prepare_votes, votes_outside
    >>> votes = prepare_votes(np.array([[0, 0], [0, 0], [1, 0], [1, 1]]))
    >>> group = np.array([0, 0, 0, 1])
    >>> votes_outside(votes, np.array([3]), group, q=1).nonzero()[1]
    array([2], dtype=int32)
    """
    rows, group = np.asarray(rows, np.int64), np.asarray(group, np.int64)
    n = votes.n_samples
    n_offered = MAX_BRIDGE_PAIRS // max(len(rows), 1)
    if n_offered >= n:
        labels, positions, offered = votes.labels, rows, np.arange(n)
    else:
        offered = np.sort(np.random.default_rng(0).permutation(n)[:n_offered])
        points = np.concatenate([offered, rows])
        labels, group = votes.labels[:, points], group[points]
        positions = np.arange(n_offered, len(points))
    keys, index = _empty_heaps(len(rows), q)
    scan_rows(
        labels,
        votes.table,
        positions,
        group,
        len(offered),
        False,
        *_tile_memory(),
        keys,
        index,
    )
    found = _sorted_neighbours(keys, index, votes.unit)
    in_all = np.where(found.index >= 0, offered[found.index], -1).astype(np.int32)
    return graph_of_rows(Neighbours(in_all, found.value), rows, n)


def bridge_by_votes(votes: Votes, q: int) -> partial[sparse.csr_array]:
    """Return the bridge for :func:`ekss.graph.spectral_labels` on the graph of top q.

    A stray point is connected by its few strongest votes outside its component, at most
    as many as the graph keeps: they indicate where it belongs.

    Parameters
    ----------
    votes : Votes
        From :func:`prepare_votes`.
    q : int
        Number of neighbours per point in the graph.

    Returns
    -------
    bridge : callable
        Maps rows and groups to a graph, as :func:`votes_outside` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import bridge_by_votes, prepare_votes
    >>> votes = prepare_votes(np.array([[0, 0], [0, 0], [1, 0], [1, 1]]))
    >>> bridge = bridge_by_votes(votes, q=1)
    >>> bridge(np.array([3]), np.array([0, 0, 0, 1])).nnz
    1
    """
    return partial(votes_outside, votes, q=min(q, _BRIDGES))


def coassociation_topq(
    labels: ArrayLike,
    weights: ArrayLike | None,
    q: int,
    *,
    divide_by_size: bool = False,
    n_jobs: int | None = None,
) -> sparse.csr_array:
    """Return the co-association graph with the top q entries of each row and column.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Labels of every point in every member; a negative label means no vote.
    weights : array-like of shape (n_members,) or None
        Weight of each member; None for equal weights.
    q : int
        Number of entries kept per row, not counting self-votes.
    divide_by_size : bool, default=False
        Whether to divide votes by the size of the cluster they come from.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Returns
    -------
    affinity : csr_array of shape (n_samples, n_samples)
        Symmetric, zero diagonal: the paper's Thresh of the co-association matrix.

    Examples
    --------
    >>> from ekss.graph import coassociation_topq
    >>> labels = [[0, 1], [0, 1], [0, 0], [1, 0]]
    >>> coassociation_topq(labels, None, 1).toarray()
    array([[0. , 1. , 0. , 0. ],
           [1. , 0. , 0. , 0. ],
           [0. , 0. , 0. , 0.5],
           [0. , 0. , 0.5, 0. ]])
    """
    votes = prepare_votes(labels, weights, divide_by_size=divide_by_size)
    return symmetric_graph(nearest_by_votes(votes, q, n_jobs=n_jobs))


def coassociation_dense(
    labels: ArrayLike, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the full co-association matrix, for pictures of a few thousand points.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Labels of every point in every member; a negative label means no vote.
    weights : array-like of shape (n_members,), default=None
        Weight of each member; all 1 if None.

    Returns
    -------
    coassociation : ndarray of shape (n_samples, n_samples)
        Share of votes of every pair of points.

    Examples
    --------
    >>> from ekss.graph import coassociation_dense
    >>> coassociation_dense([[0, 0], [0, 1], [1, 1]])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    by_member, n_labels, weight = _check_labels(labels, weights)
    n = by_member.shape[1]
    total = np.zeros((n, n))
    for member, w in zip(by_member, weight, strict=True):
        votes = member < n_labels
        total += w * ((member[:, None] == member[None, :]) & votes)
    return total / len(weight)


def _check_labels(
    labels: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[Any], int, NDArray[np.float64]]:
    """Return labels member by member, the number of labels, and float weights.

    The labels have their smallest type; those that are not votes come after all others.
    """
    array = np.asarray(labels)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"labels has shape {array.shape}; pass (n_samples, n_members) with at "
            "least one point and one member"
        )
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"labels has the type {array.dtype}; pass integers from 0, and -1 where a "
            "member says nothing of a point"
        )
    by_member, n_labels = _voting_labels(array)
    if n_labels == 0:
        raise ValueError("all labels are negative; pass a vote of at least one member")
    n_members = len(by_member)
    weight = np.ones(n_members) if weights is None else np.asarray(weights, np.float64)
    if weight.shape != (n_members,):
        raise ValueError(
            f"weights has shape {weight.shape}; pass one weight for each of the "
            f"{n_members} members"
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("weights must be finite and not negative")
    return by_member, n_labels, weight


def _voting_labels(labels: NDArray[np.integer]) -> tuple[NDArray[Any], int]:
    """Return labels member by member, unsigned, and how many of them stand for votes.

    Negative labels, which are not votes, become one label after the last.
    """
    n_labels = max(int(labels.max()) + 1, 0)
    if labels.dtype.kind == "i":
        if labels.min() < 0:
            labels = np.where(labels < 0, n_labels, labels)
        labels = labels.astype(np.min_scalar_type(int(labels.max())))
    return np.ascontiguousarray(labels.T), n_labels


def _inverse_sizes(by_member: NDArray[Any], n_labels: int) -> NDArray[np.float64]:
    """Return 1 / cluster size, bounded for tiny clusters; 0 for labels not in use."""
    counts = [np.bincount(m, minlength=n_labels)[:n_labels] for m in by_member]
    sizes = np.stack(counts)
    mean_size = sizes.sum(axis=1) / np.maximum((sizes > 0).sum(axis=1), 1)
    floor = np.maximum(SMALLEST_SIZE_SHARE * mean_size, 1.0)
    return np.where(sizes > 0, 1 / np.maximum(sizes, floor[:, None]), 0.0)


def check_q(q: int, n_samples: int) -> None:
    """Refuse a number of neighbours that no point can have."""
    if not 1 <= q <= n_samples - 1:
        raise ValueError(
            f"q={q} must lie between 1 and n_samples-1={n_samples - 1}: "
            "a point has no more neighbours than that"
        )


def _empty_heaps(n: int, q: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    return np.zeros((n, q), np.uint64), np.full((n, q), -1, np.int32)


def _sorted_neighbours(
    keys: NDArray[np.uint64], index: NDArray[np.int32], unit: float
) -> Neighbours:
    """Sort each row's heap from strongest to weakest and turn keys into values."""
    order = np.argsort(keys, axis=1)[:, ::-1]
    keys = np.take_along_axis(keys, order, axis=1)
    value = (keys >> np.uint64(32)).astype(np.float64) * unit
    return Neighbours(np.take_along_axis(index, order, axis=1), value)


# Members whose tables of shares are held at once: they fit in the cache of a core.
_MEMBERS_HELD = 8
# The number of columns of such a table is a multiple of this, so that whole vectors are
# added.
_LANES = 32


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _count_together(
    by_member: NDArray[Any], columns: NDArray[np.uint32], tables: NDArray[np.float32]
) -> None:
    """Count the points of each base cluster in each column, member by member."""
    for b in range(by_member.shape[0]):
        for c in range(columns.shape[0]):
            for i in range(columns.shape[1]):
                tables[b, by_member[b, i], columns[c, i]] += 1


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _add_tables(
    by_member: NDArray[Any],
    tables: NDArray[np.float32],
    each: NDArray[np.float32],
    shares: NDArray[np.float32],
    itself: NDArray[np.float32],
) -> None:
    """Add to every point's row the rows of its base clusters, and its own share."""
    for i in range(by_member.shape[1]):
        for b in range(by_member.shape[0]):
            m = by_member[b, i]
            itself[i] += each[b, m]
            for k in range(shares.shape[1]):
                shares[i, k] += tables[b, m, k]


def companion_shares(
    member_labels: NDArray[Any], labels: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float32]:
    r"""Return the share of each cluster among the companions of each point.

    A companion of point i in a member is another point of its base cluster. With
    :math:`n_{mk}` points of cluster k in base cluster m of size :math:`s_m`, cluster k
    has the share :math:`(n_{mk} - 1\{i \in k\}) / (s_m - 1)` of the companions. The
    mean over members is returned; a member in which a point is alone adds nothing.

    Parameters
    ----------
    member_labels : ndarray of shape (n_points, n_members)
        Labels of every member; a negative label means no vote.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    shares : ndarray of shape (n_points, n_clusters)
        Rows sum to 1, or to less if a point is alone in some members or is not voted on
        by some.

    Notes
    -----
    No pairs of points are compared: O(n_points n_members n_clusters) additions.

    Examples
    --------
    >>> import numpy as np
    >>> members = np.array([[0], [0], [0], [1], [1]])
    >>> companion_shares(members, np.array([0, 0, 1, 1, 1]), 2)
    array([[0.5, 0.5],
           [0.5, 0.5],
           [1. , 0. ],
           [0. , 1. ],
           [0. , 1. ]], dtype=float32)
    """
    return shares_of_cuts(member_labels, [labels], [n_clusters])[0]


def shares_of_cuts(
    member_labels: NDArray[Any],
    cuts: Sequence[NDArray[np.integer]],
    n_clusters: Sequence[int],
) -> list[NDArray[np.float32]]:
    """Return the :func:`companion_shares` of several partitions, computed together.

    This is several times faster than one by one; beyond a hundred clusters in total
    there is nothing more to gain.
    """
    by_member, n_labels = _voting_labels(member_labels)
    n_members, n_points = by_member.shape
    columns, ends = _columns_of_cuts(cuts, n_clusters)
    shares: NDArray[np.float32] | None = None
    itself = np.zeros(n_points, np.float32)
    for some, tables in _contingency(by_member, columns, int(ends[-1])):
        if shares is None:
            shares = np.zeros((n_points, tables.shape[2]), np.float32)
        companions = tables[:, :, : ends[0]].sum(axis=2) - 1
        each = np.where(companions > 0, 1 / (np.maximum(companions, 1) * n_members), 0)
        each[:, n_labels:] = 0
        tables *= each[:, :, None]
        _add_tables(some, tables, each, shares, itself)
    assert shares is not None  # there is at least one member
    for column in columns:
        shares[np.arange(n_points), column] -= itself
    return np.split(shares[:, : ends[-1]], ends[:-1], axis=1)


def _columns_of_cuts(
    cuts: Sequence[NDArray[np.integer]], n_clusters: Sequence[int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Give the clusters of all cuts consecutive numbers; return where each cut ends."""
    ends = np.cumsum(n_clusters)
    columns = np.stack(cuts).astype(np.uint32)
    columns[1:] += ends[:-1, None].astype(np.uint32)
    return columns, ends


def _contingency(
    by_member: NDArray[Any], columns: NDArray[np.uint32], n_columns: int
) -> Iterator[tuple[NDArray[Any], NDArray[np.float32]]]:
    """Yield some members at a time, and the counts of points they share with cuts.

    The tables, of base clusters by columns, may be modified; they are refilled
    each time.
    """
    width = -(-n_columns // _LANES) * _LANES
    tables = np.empty((_MEMBERS_HELD, int(by_member.max()) + 1, width), np.float32)
    for first in range(0, len(by_member), _MEMBERS_HELD):
        some = by_member[first : first + _MEMBERS_HELD]
        tables[:] = 0
        _count_together(some, columns, tables)
        yield some, tables[: len(some)]


def shared_information(
    member_labels: NDArray[Any], labels: NDArray[np.integer], n_clusters: int
) -> float:
    r"""Return the mean normalised mutual information of members with a partition.

    For one member it is :math:`I / \sqrt{H_1 H_2}`, where I is the mutual information
    of its base clusters and the clusters, and :math:`H_1` and :math:`H_2` are their
    entropies, over the points that it votes on; 0 if one of them has a single cluster.
    This is the objective of [1]_.

    Parameters
    ----------
    member_labels : ndarray of shape (n_points, n_members)
        Labels of every member; a negative label means no vote.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    information : float
        In [0, 1]; 1 if all members agree with the partition.

    Notes
    -----
    Computed from counts of points, in O(n_points n_members) time.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles: A Knowledge Reuse Framework for
       Combining Multiple Partitions", Journal of Machine Learning Research 3, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import shared_information
    >>> members = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> shared_information(members, np.array([0, 0, 1, 1]), 2)
    0.5
    """
    by_member, n_labels = _voting_labels(member_labels)
    columns, _ = _columns_of_cuts([labels], [n_clusters])
    total = 0.0
    for _, tables in _contingency(by_member, columns, n_clusters):
        counts = tables[:, :n_labels, :n_clusters].astype(np.float64)
        votes = counts.sum(axis=(1, 2), keepdims=True)
        joint = counts / np.maximum(votes, 1)
        of_members = _entropies(joint.sum(axis=2))
        of_labels = _entropies(joint.sum(axis=1))
        shared = of_members + of_labels - _entropies(joint.reshape(len(joint), -1))
        scale = np.sqrt(of_members * of_labels)
        total += (shared / np.where(scale > 0, scale, np.inf)).sum()
    return float(np.clip(total / len(by_member), 0.0, 1.0))


def _entropies(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of every row."""
    logarithms = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return np.maximum(-(shares * logarithms).sum(axis=1), 0.0)


def edge_shares(
    graph: csr_array, labels: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float64]:
    """Return the share of each cluster in each point's edge weight; 0 without edges.

    Parameters
    ----------
    graph : csr_array of shape (n_points, n_points)
        Non-negative, with zero diagonal.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    shares : ndarray of shape (n_points, n_clusters)
        Rows sum to 1, or to 0 without edges.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from ekss.graph import edge_shares
    >>> path = csr_array(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> edge_shares(path, np.array([0, 0, 1]), 2)
    array([[1. , 0. ],
           [0.5, 0.5],
           [1. , 0. ]])
    """
    n_points = len(labels)
    indicator = csr_array(
        (np.ones(n_points), (np.arange(n_points), labels)), shape=(n_points, n_clusters)
    )
    weight = (graph @ indicator).toarray()
    total = weight.sum(axis=1, keepdims=True)
    return weight / np.where(total > 0, total, 1.0)


def cluster_silhouettes(
    shares: NDArray[np.floating], labels: NDArray[np.integer]
) -> NDArray[np.float64]:
    r"""Return the mean over each cluster of :math:`(a - b) / \max(a, b)`.

    Here a is the share of a point's own cluster, and b the largest share of another. 1
    means that all companions are in the cluster, 0 that as many are in another one. A
    point without companions counts as 0.

    Parameters
    ----------
    shares : ndarray of shape (n_points, n_clusters)
        From :func:`companion_shares` or :func:`edge_shares`.
    labels : ndarray of shape (n_points,)
        In 0, ..., n_clusters - 1, each used.

    Returns
    -------
    silhouettes : ndarray of shape (n_clusters,)
        In [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.graph import cluster_silhouettes
    >>> shares = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> cluster_silhouettes(shares, np.array([0, 0, 1]))
    array([0.5, 1. ])
    """
    at = np.arange(len(labels))
    own = np.maximum(shares[at, labels], 0).astype(np.float64)
    others = shares.copy()
    others[at, labels] = 0
    other = others.max(axis=1).astype(np.float64)
    larger = np.maximum(own, other)
    each = (own - other) / np.where(larger > 0, larger, 1.0)
    return np.bincount(labels, each) / np.bincount(labels)
