"""Co-association: how often members put two points together, never as N x N."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ekss.graph.neighbours import Neighbours, graph_of_rows, symmetric_graph

# What the kernels of _votes.py expect: members in blocks of eight, and integer votes
# of which two blocks still sum in 16 bits.
MEMBERS_AT_ONCE = 8
LARGEST_VOTE = (2**16 - 1) // (2 * MEMBERS_AT_ONCE)

# Votes of clusters below this share of the mean cluster size are not raised further
# when votes are divided by size: a cluster of two points is not a thousand times
# better evidence than one of two thousand.
SMALLEST_SIZE_SHARE = 1 / 16

# Connections a stray point gets.
_BRIDGES = 10

# Stray points are compared with all others up to so many pairs, then with a sample.
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
        Integer vote of a member for two points in its cluster k; 0 for padding.
    unit : float
        What an integer vote of 1 is worth, so that similarities lie in [0, 1].
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
    Integers make every sum exact, hence the same for any order and number of workers.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Non-negative labels of every point in every member.
    weights : array-like of shape (n_members,), default=None
        Non-negative weight of each member; all 1 if None. The largest weight is
        resolved to 1 part in 4095.
    divide_by_size : bool, default=False
        Divide each vote by the size of the cluster it comes from, which makes the
        full matrix doubly stochastic up to the weights. Clusters smaller than 1/16
        of their member's mean cluster size count as that size.

    Returns
    -------
    votes : Votes
    """
    by_member, weight = _check_labels(labels, weights)
    n_members, n_samples = by_member.shape
    n_labels = int(by_member.max()) + 1
    value = np.broadcast_to(weight[:, None], (n_members, n_labels))
    if divide_by_size:
        value = value * _inverse_sizes(by_member, n_labels)
    largest = float(value.max())
    unit = largest / LARGEST_VOTE if largest > 0 else 1.0
    padding = -n_members % MEMBERS_AT_ONCE
    table = np.zeros((n_members + padding, n_labels), np.uint16)
    table[:n_members] = np.rint(value / unit)
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
    """Find the q points that share most votes with each point.

    Ties are broken by a hash of the pair. Among good members hundreds of pairs have
    equal votes, and a choice by index would give every point the same few neighbours
    and tear clusters apart; a hash makes a random, well connected graph.

    Parameters
    ----------
    votes : Votes
        From :func:`prepare_votes`.
    q : int
        Neighbours kept a point; a point's vote with itself does not count.
    n_jobs : int, default=None
        Threads; the result does not depend on it.
    report : callable, default=None
        Called with 1 after each of ``SCAN_CHUNKS`` equal parts of the work.

    Returns
    -------
    neighbours : Neighbours

    Notes
    -----
    Time O(n_samples^2 n_members / 2) byte comparisons, memory O(n_samples q) a thread.
    """
    from ekss.graph import _votes  # loads numba on first use

    n = votes.n_samples
    check_q(q, n)
    n_workers = effective_n_jobs(n_jobs)
    heaps = [_empty_heaps(n, q) for _ in range(n_workers)]
    stop = Event()

    def scan(worker: int) -> None:
        for chunk in range(worker, SCAN_CHUNKS, n_workers):
            if stop.is_set():
                return
            _votes.scan_tiles(
                votes.labels, votes.table, chunk, SCAN_CHUNKS, *heaps[worker]
            )
            if report is not None:
                report(1)

    with ThreadPoolExecutor(n_workers) as pool:
        try:
            list(pool.map(scan, range(n_workers)))
        finally:
            stop.set()  # so that Ctrl-C ends the scan after the chunks under way
    for keys, index in heaps[1:]:
        _votes.merge_heaps(*heaps[0], keys, index)
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
        Group (for example the connected component) of every point.
    q : int
        Connections a row.

    Returns
    -------
    graph : csr_array of shape (n_samples, n_samples)
        Directed; rows that were not asked for, or that share no vote with any other
        group, are empty.

    Notes
    -----
    Time O(len(rows) n_samples n_members) byte comparisons up to 10^10 pairs. Beyond,
    which takes more than 100,000 points, the rows choose from a random sample of the
    points that makes so many pairs.
    """
    from ekss.graph import _votes  # loads numba on first use

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
    _votes.scan_outside(
        labels, votes.table, positions, group, len(offered), keys, index
    )
    found = _sorted_neighbours(keys, index, votes.unit)
    in_all = np.where(found.index >= 0, offered[found.index], -1).astype(np.int32)
    return graph_of_rows(Neighbours(in_all, found.value), rows, n)


def bridge_by_votes(votes: Votes, q: int) -> partial[sparse.csr_array]:
    """Return the bridge for :func:`ekss.graph.spectral_labels` on the graph of top q.

    A stray point is connected by its few strongest votes outside its component, at
    most as many as the graph keeps: they say where it belongs.
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
    """Return the co-association graph with the top q entries a row and column kept.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Labels of every point in every member.
    weights : array-like of shape (n_members,) or None
        Weight of each member; None for equal weights.
    q : int
        Entries kept a row, self-votes not counted.
    divide_by_size : bool, default=False
        Divide votes by the size of the cluster they come from.
    n_jobs : int, default=None
        Threads; the result does not depend on it.

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
        Labels of every point in every member.
    weights : array-like of shape (n_members,), default=None
        Weight of each member; all 1 if None.

    Returns
    -------
    coassociation : ndarray of shape (n_samples, n_samples)
    """
    by_member, weight = _check_labels(labels, weights)
    n = by_member.shape[1]
    total = np.zeros((n, n))
    for member, w in zip(by_member, weight, strict=True):
        total += w * (member[:, None] == member[None, :])
    return total / len(weight)


def _check_labels(
    labels: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return labels member by member in their smallest type, and float weights."""
    array = np.asarray(labels)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"labels has shape {array.shape}; pass (n_samples, n_members) with at "
            "least one point and one member"
        )
    if array.dtype.kind not in "iu" or array.min() < 0:
        raise ValueError("labels must be non-negative integers; renumber them from 0")
    if array.dtype.kind == "i":
        array = array.astype(np.min_scalar_type(int(array.max())))
    by_member = np.ascontiguousarray(array.T)
    n_members = len(by_member)
    weight = np.ones(n_members) if weights is None else np.asarray(weights, np.float64)
    if weight.shape != (n_members,):
        raise ValueError(
            f"weights has shape {weight.shape}; pass one weight for each of the "
            f"{n_members} members"
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("weights must be finite and not negative")
    return by_member, weight


def _inverse_sizes(by_member: NDArray[Any], n_labels: int) -> NDArray[np.float64]:
    """One over cluster size, bounded for tiny clusters; 0 for labels not in use."""
    n_samples = by_member.shape[1]
    sizes = np.stack([np.bincount(m, minlength=n_labels) for m in by_member])
    mean_size = n_samples / np.maximum((sizes > 0).sum(axis=1), 1)
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
