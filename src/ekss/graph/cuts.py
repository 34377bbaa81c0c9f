"""Candidate cuts of a graph: several ways to make K clusters, none trusted alone.

A normalised cut has near-optima that merge two similar classes and pay with the split
of a third. No single way of cutting avoids them on all data, so a pool of cuts is made
and :mod:`ekss.graph.selection` chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, svd
from scipy.sparse import csr_array

from ekss.graph.components import Bridge, as_graph, settle_components
from ekss.graph.kmeans import kmeans_labels
from ekss.graph.ncut import cluster_links
from ekss.graph.spectral import (
    SpectralEmbedding,
    number_by_appearance,
    spectral_embedding,
    unit_rows,
)

_MORE_EIGENVECTORS = (1.0, 1.25, 1.5, 2.0)
_MORE_PIECES = (1.5, 2.0, 3.0)
_RESTARTS = 5


@dataclass(frozen=True)
class Cut:
    """One way to cut.

    Attributes
    ----------
    labels : ndarray of shape (n_points,)
        Cluster of each point, numbered in order of first appearance.
    origin : str
        How it was made, for people.
    """

    labels: NDArray[np.int64]
    origin: str


@dataclass(frozen=True)
class CutPool:
    """Cuts of one graph, with the embedding they share.

    Attributes
    ----------
    cuts : tuple of Cut
        All different, all with ``n_clusters`` clusters; may be empty.
    embedding : SpectralEmbedding
        Of the graph after stray components were bridged, for the points in it.
    in_cut : ndarray of shape (n_points,), bool
        Which points the embedding has; the others have no edge at all.
    """

    cuts: tuple[Cut, ...]
    embedding: SpectralEmbedding
    in_cut: NDArray[np.bool_]


Cutter = Callable[
    [csr_array, NDArray[np.float64], int, np.random.Generator],
    Iterator[tuple[str, NDArray[np.integer]]],
]


def kmeans_cuts(
    graph: csr_array,
    vectors: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """K-means on unit rows of K, 1.25 K, 1.5 K and 2 K eigenvectors."""
    for factor in _MORE_EIGENVECTORS:
        count = ceil(factor * n_clusters)
        if count <= vectors.shape[1]:
            rows = unit_rows(vectors[:, :count])
            yield f"k-means on {count} eigenvectors", _kmeans(rows, n_clusters, rng)


def rotated_cut(
    graph: csr_array,
    vectors: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Rotate K eigenvectors to K indicators by pivoted QR [1]_; no randomness.

    References
    ----------
    .. [1] A. Damle, V. Minden, L. Ying, "Simple, direct and efficient multi-way
       spectral clustering", Information and Inference 8, 2019.
    """
    leading = vectors[:, :n_clusters]
    if leading.shape[1] == n_clusters:
        pivots = qr(leading.T, mode="r", pivoting=True)[1][:n_clusters]
        left, _, right = svd(leading[pivots].T)
        yield "rotated eigenvectors", np.abs(leading @ (left @ right)).argmax(axis=1)


def merged_cuts(
    graph: csr_array,
    vectors: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """K-means with 1.5 K, 2 K and 3 K clusters, merged until K are left."""
    for factor in _MORE_PIECES:
        pieces = ceil(factor * n_clusters)
        if n_clusters < pieces < len(vectors) and vectors.shape[1] > n_clusters:
            fine = _kmeans(unit_rows(vectors[:, :pieces]), pieces, rng)
            for gain in (ncut_gain, mean_link):
                name = gain.__name__.replace("_", " ")
                origin = f"{pieces} pieces merged by {name}"
                yield origin, merge_pieces(graph, fine, n_clusters, gain)


CUTTERS: tuple[Cutter, ...] = (kmeans_cuts, rotated_cut, merged_cuts)


def candidate_cuts(
    affinity: ArrayLike | Any,
    n_clusters: int,
    *,
    cutters: Sequence[Cutter] = CUTTERS,
    bridge: Bridge | None = None,
    random_state: int | None = None,
) -> CutPool:
    """Cut one graph in several ways.

    Parameters
    ----------
    affinity : sparse array, sparse matrix or ndarray of shape (n_points, n_points)
        Symmetric and non-negative; its diagonal is ignored.
    n_clusters : int
        Number of clusters K.
    cutters : sequence of callables, default=CUTTERS
        ``cutter(graph, vectors, n_clusters, rng)`` yields pairs (origin, labels);
        ``vectors`` are up to 2 K + 1 leading eigenvectors of the normalised graph.
        Write your own to try another way; cuts with empty clusters are dropped. The
        generator of a cutter depends on `random_state` and on the cutter's name
        alone, so that its cuts stay the same whichever others there are. Cutters of
        one name draw the same numbers.
    bridge : callable or None, default=None
        As in :func:`ekss.graph.spectral_labels`; connects stray components.
    random_state : int or None, default=None
        Seed of solver and k-means.

    Returns
    -------
    CutPool

    Examples
    --------
    >>> import numpy as np
    >>> weak_link = np.kron(np.eye(2), np.ones((4, 4))) + 0.01
    >>> candidate_cuts(weak_link, 2, random_state=0).cuts[0].labels
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    graph = as_graph(affinity)
    n_points = graph.shape[0]
    # Points that no bridge reaches are no reason for a warning: other graphs of the
    # same points may reach them, and the score sees what is lost.
    settled = settle_components(graph, min(2 * n_clusters, n_points), bridge)
    in_cut = settled.group_of >= 0
    part = settled.graph if in_cut.all() else settled.graph[in_cut][:, in_cut]
    solver_rng, cut_rng = np.random.default_rng(random_state).spawn(2)
    seed = int(cut_rng.integers(2**63))
    n_vectors = min(2 * n_clusters + 1, part.shape[0])
    embedding = spectral_embedding(part, n_vectors, random_state=solver_rng)
    cuts: dict[bytes, Cut] = {}
    for cutter in cutters:
        rng = _own_generator(cutter, seed)
        for origin, found in cutter(part, embedding.vectors, n_clusters, rng):
            labels = np.zeros(n_points, np.int64)
            labels[in_cut] = found
            labels[~in_cut] = np.bincount(found).argmax()
            labels = number_by_appearance(labels)
            if labels.max() + 1 == n_clusters:
                cuts.setdefault(labels.tobytes(), Cut(labels, origin))
    return CutPool(tuple(cuts.values()), embedding, in_cut)


def _own_generator(cutter: Any, seed: int) -> np.random.Generator:
    """Return the generator of a cutter: of its own name, or of that of its class."""
    while isinstance(cutter, partial):
        cutter = cutter.func
    name = getattr(cutter, "__name__", type(cutter).__name__)
    return np.random.default_rng([seed, crc32(name.encode())])


Gain = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def ncut_gain(
    links: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much merging each pair of pieces lowers the normalised cut."""
    degrees = np.maximum(links.sum(axis=1), np.finfo(float).tiny)
    own = np.diagonal(links)
    joint = own[:, None] + own[None] + 2 * links
    share = own / degrees
    return joint / (degrees[:, None] + degrees[None]) - share[:, None] - share[None]


def mean_link(
    links: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean edge between two pieces, over all pairs of their points."""
    return links / np.outer(sizes, sizes)


def merge_pieces(
    graph: csr_array, labels: NDArray[np.integer], n_clusters: int, gain: Gain
) -> NDArray[np.int64]:
    """Merge the pair of pieces of largest gain until ``n_clusters`` are left."""
    labels = number_by_appearance(labels)
    n_pieces = int(labels.max()) + 1
    links = cluster_links(graph, labels, n_pieces)
    sizes = np.bincount(labels).astype(np.float64)
    piece_of = np.arange(n_pieces)
    while len(links) > n_clusters:
        gains = gain(links, sizes)
        np.fill_diagonal(gains, -np.inf)
        pair = np.unravel_index(np.argmax(gains), gains.shape)
        kept, gone = int(min(pair)), int(max(pair))
        links[kept] += links[gone]
        links[:, kept] += links[:, gone]
        links = np.delete(np.delete(links, gone, axis=0), gone, axis=1)
        sizes[kept] += sizes[gone]
        sizes = np.delete(sizes, gone)
        piece_of = np.where(piece_of == gone, kept, piece_of)
        piece_of = piece_of - (piece_of > gone)
    return piece_of[labels]


def _kmeans(
    rows: NDArray[np.float64], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    return kmeans_labels(rows, n_clusters, _RESTARTS, int(rng.integers(2**31)))
