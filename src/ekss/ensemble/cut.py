"""Stage 4, cut: turn votes into sparse graphs, and cut the graphs in many ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, svd
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from ekss.graph.approximate import (
    FRIENDS,
    N_TREES,
    WINDOW,
    nearest_by_votes_approximate,
)
from ekss.graph.spectral import (
    Bridge,
    SpectralEmbedding,
    SpectralResult,
    as_graph,
    cluster_links,
    embed,
    kmeans_labels,
    number_by_appearance,
    settle_components,
    spectral_labels,
    unit_rows,
)
from ekss.graph.votes import (
    SCAN_CHUNKS,
    Neighbours,
    Votes,
    bridge_by_votes,
    nearest_by_votes,
    prepare_votes,
    symmetric_graph,
)
from ekss.runtime.memory import RATES, Stage, Work
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.choose import Score
    from ekss.ensemble.vote import Ensemble

_MORE_EIGENVECTORS = (1.0, 1.25, 1.5, 2.0)
_MORE_PIECES = (1.5, 2.0, 3.0)
_RESTARTS = 5


@dataclass(frozen=True)
class Cut:
    """One way of cutting a graph.

    Attributes
    ----------
    labels : ndarray of shape (n_points,)
        Cluster of each point, numbered in order of first appearance.
    origin : str
        How the cut was made, in readable form.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.ensemble import Cut
    >>> Cut(np.array([0, 0, 1]), "by hand").origin
    'by hand'
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
        Embedding of the graph after stray components were bridged, without the points
        that have no edge.
    in_cut : ndarray of shape (n_points,), bool
        Which points are in the embedding; the others have no edge at all.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.ensemble import candidate_cuts
    >>> weak_link = np.kron(np.eye(2), np.ones((4, 4))) + 0.01
    >>> pool = candidate_cuts(weak_link, 2, random_state=0)
    >>> pool.cuts[0].labels, bool(pool.in_cut.all())
    (array([0, 0, 0, 0, 1, 1, 1, 1]), True)
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
    """Run k-means on unit rows of K, 1.25 K, 1.5 K and 2 K eigenvectors."""
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
    """Run k-means with 1.5 K, 2 K and 3 K clusters, and merge until K are left."""
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
        Write your own to try another way of cutting; cuts with empty clusters are
        dropped. The random generator of a cutter depends only on `random_state` and on
        the cutter's name, so that its cuts stay the same whichever other cutters there
        are. Cutters with the same name draw the same numbers.
    bridge : callable or None, default=None
        As in :func:`ekss.graph.spectral_labels`; connects stray components.
    random_state : int or None, default=None
        Seed of the eigensolver and of k-means.

    Returns
    -------
    CutPool
        The cuts, and the embedding they share.

    Examples
    --------
    >>> import numpy as np
    >>> weak_link = np.kron(np.eye(2), np.ones((4, 4))) + 0.01
    >>> candidate_cuts(weak_link, 2, random_state=0).cuts[0].labels
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    return cut_graph(as_graph(affinity), n_clusters, cutters, bridge, random_state)


def cut_graph(
    graph: csr_array,
    n_clusters: int,
    cutters: Sequence[Cutter],
    bridge: Bridge | None,
    random_state: int | None,
) -> CutPool:
    """Cut a graph that is known to be symmetric, non-negative, without a diagonal."""
    n_points = graph.shape[0]
    # Points that no bridge reaches do not justify a warning: other graphs of the same
    # points may reach them, and the score reflects what is lost.
    settled = settle_components(graph, min(2 * n_clusters, n_points), bridge)
    in_cut = settled.group_of >= 0
    part = settled.graph if in_cut.all() else settled.graph[in_cut][:, in_cut]
    solver_rng, cut_rng = np.random.default_rng(random_state).spawn(2)
    seed = int(cut_rng.integers(2**63))
    n_vectors = min(2 * n_clusters + 1, part.shape[0])
    embedding = embed(part, n_vectors, solver_rng)
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
    """Return a generator seeded by the name of the cutter, or else of its class."""
    while isinstance(cutter, partial):
        cutter = cutter.func
    name = getattr(cutter, "__name__", type(cutter).__name__)
    return np.random.default_rng([seed, crc32(name.encode())])


Gain = Callable[[NDArray[np.float64], NDArray[np.float64], slice], NDArray[np.float64]]


def ncut_gain(
    links: NDArray[np.float64], sizes: NDArray[np.float64], rows: slice
) -> NDArray[np.float64]:
    """Return how much merging some pieces with each piece lowers the normalised cut."""
    degrees = np.maximum(links.sum(axis=1), np.finfo(float).tiny)
    own = np.diagonal(links)
    share = own / degrees
    joint = own[rows, None] + own + 2 * links[rows]
    return joint / (degrees[rows, None] + degrees) - share[rows, None] - share


def mean_link(
    links: NDArray[np.float64], sizes: NDArray[np.float64], rows: slice
) -> NDArray[np.float64]:
    """Return the mean edge between some pieces and each, over all pairs of points."""
    return links[rows] / (sizes[rows, None] * sizes)


def merge_pieces(
    graph: csr_array, labels: NDArray[np.integer], n_clusters: int, gain: Gain
) -> NDArray[np.int64]:
    """Merge the pair of pieces with the largest gain until ``n_clusters`` are left."""
    labels = number_by_appearance(labels)
    n_pieces = int(labels.max()) + 1
    links = cluster_links(graph, labels, n_pieces)
    sizes = np.bincount(labels).astype(np.float64)
    piece_of = np.arange(n_pieces)
    # The gain of a piece with itself, or with one that is gone, is minus infinity.
    never = np.where(np.eye(n_pieces, dtype=bool), -np.inf, 0.0)
    gains = gain(links, sizes, slice(None)) + never
    for _ in range(n_pieces - n_clusters):
        kept, gone = sorted(divmod(int(gains.argmax()), n_pieces))
        links[kept] += links[gone]
        links[:, kept] += links[:, gone]
        links[gone] = links[:, gone] = 0.0
        sizes[kept] += sizes[gone]
        piece_of[piece_of == gone] = kept
        gains[gone] = gains[:, gone] = never[gone] = never[:, gone] = -np.inf
        grown = gain(links, sizes, slice(kept, kept + 1))[0] + never[kept]
        gains[kept] = gains[:, kept] = grown
    return np.unique(piece_of, return_inverse=True)[1][labels]


def _kmeans(
    rows: NDArray[np.float64], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    return kmeans_labels(rows, n_clusters, _RESTARTS, int(rng.integers(2**31)))


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Up to this many points all pairs are compared; beyond, only likely pairs.
    most_for_pairs: int = 50_000


RULES = _Rules()


class CutOptions(BaseEstimator):
    """How votes are counted, cut and judged.

    Parameters
    ----------
    divide_by_size : bool, default=True
        Whether to divide votes by the size of the base cluster they come from; False
        gives the paper's vote.
    cutters : sequence of callables, default=None
        Ways of cutting a graph; None means :data:`ekss.ensemble.CUTTERS`. See
        :func:`ekss.ensemble.candidate_cuts` for how to write one.
    score : callable, default=None
        ``score(labels, evidence)``, lower is better; None means
        :func:`ekss.ensemble.score_cut`. It is also asked about the second graph. For
        the expressions of the points, ``evidence`` has a ``graph`` instead of
        ``member_labels``, and ``dims`` may be empty; for whitened votes, it has the
        points and the votes of members as these saw them, whitened.
    pairs : {"auto", "all", "likely"}, default="auto"
        Which pairs of points are compared to build a graph: all of them, or those that
        often share base clusters. "auto" means all up to 50000 points, and likely pairs
        beyond.
    labels_dir : path, default=None
        Directory in which the labels of the members are kept as a memory map, while
        their votes are counted and afterwards; None keeps them in memory.

    Examples
    --------
    >>> from ekss import EKSS, CutOptions
    >>> paper_votes = EKSS(3, cut=CutOptions(divide_by_size=False))
    """

    def __init__(
        self,
        *,
        divide_by_size: bool = True,
        cutters: Sequence[Cutter] | None = None,
        score: Score | None = None,
        pairs: str = "auto",
        labels_dir: str | Path | None = None,
    ) -> None:
        self.divide_by_size = divide_by_size
        self.cutters = cutters
        self.score = score
        self.pairs = pairs
        self.labels_dir = labels_dir

    def __hash__(self) -> int:
        return hash(repr(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CutOptions) and vars(self) == vars(other)

    def votes(self, ensemble: Ensemble) -> Votes:
        """Return the votes of the members.

        Parameters
        ----------
        ensemble : Ensemble
            Labels and weights of the members.

        Returns
        -------
        votes : Votes
            Ready to be counted.
        """
        return prepare_votes(
            ensemble.labels, ensemble.weights, divide_by_size=self.divide_by_size
        )

    def looks_at_all_pairs(self, n_samples: int) -> bool:
        """Decide whether all pairs of ``n_samples`` points are compared.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        all_pairs : bool
            False if candidates for neighbours are found approximately.
        """
        if self.pairs == "auto":
            return n_samples <= RULES.most_for_pairs
        return self.pairs == "all"

    @property
    def ways(self) -> Sequence[Cutter]:
        """The ways of cutting."""
        return CUTTERS if self.cutters is None else self.cutters


@dataclass(frozen=True)
class Cuts:
    """Graphs of the votes, and the cuts of each.

    Attributes
    ----------
    neighbours : Neighbours
        Strongest votes of each point, as many as the densest graph needs.
    tasks : tuple of (int, int)
        Numbers of neighbours and of clusters, for each pool.
    pools : tuple of CutPool
        Candidate cuts of each task.
    """

    neighbours: Neighbours
    tasks: tuple[tuple[int, int], ...]
    pools: tuple[CutPool, ...]

    def graph(self, number: int) -> csr_array:
        """Return the graph of a task."""
        return symmetric_graph(self.neighbours, self.tasks[number][0])

    def distinct(self) -> list[tuple[int, Cut]]:
        """Return all distinct cuts, each with the index of the first task giving it."""
        return distinct_cuts([pool.cuts for pool in self.pools])


def cut(
    votes: Votes,
    tasks: Sequence[tuple[int, int]],
    options: CutOptions,
    seed: int,
    workers: Workers,
) -> Cuts:
    """Cut the graph of each number of neighbours into each number of clusters.

    Parameters
    ----------
    votes : Votes
    tasks : sequence of (int, int)
        Pairs of a number of neighbours and a number of clusters; at least one.
    options : CutOptions
    seed : int
    workers : Workers

    Returns
    -------
    Cuts
    """
    neighbours = nearest(votes, max(q for q, _ in tasks), options, seed, workers)
    run = partial(_cut_one, votes, neighbours, tasks, options.ways, seed)
    pools = workers.map(run, len(tasks), "cuts")
    return Cuts(neighbours, tuple(tasks), tuple(pools))


def cut_once(
    votes: Votes,
    n_clusters: int,
    q: int,
    options: CutOptions,
    seed: int,
    workers: Workers,
) -> tuple[SpectralResult, csr_array]:
    """Cut one graph as the paper does; return the cut and the graph."""
    graph = symmetric_graph(nearest(votes, q, options, seed, workers), q)
    with workers.stage("spectral cut"):
        found = spectral_labels(
            graph,
            n_clusters,
            bridge=bridge_by_votes(votes, q),
            random_state=seed,
        )
    return found, graph


def nearest(
    votes: Votes, q: int, options: CutOptions, seed: int, workers: Workers
) -> Neighbours:
    """Return the q strongest votes of each point."""
    if options.looks_at_all_pairs(votes.n_samples):
        with workers.stage("votes", SCAN_CHUNKS) as advance:
            return nearest_by_votes(votes, q, n_jobs=workers.n_jobs, report=advance)
    with workers.stage("votes", N_TREES + 1) as advance:
        return nearest_by_votes_approximate(
            votes, q, n_jobs=workers.n_jobs, random_state=seed, report=advance
        )


def distinct_cuts(pools: Sequence[Sequence[Cut]]) -> list[tuple[int, Cut]]:
    """Return all distinct cuts, each with the index of the first graph that gave it."""
    seen: dict[bytes, tuple[int, Cut]] = {}
    for number, cuts in enumerate(pools):
        for one in cuts:
            seen.setdefault(one.labels.tobytes(), (number, one))
    return list(seen.values())


def _cut_one(
    votes: Votes,
    neighbours: Neighbours,
    tasks: Sequence[tuple[int, int]],
    cutters: Sequence[Cutter],
    seed: int,
    number: int,
) -> CutPool:
    """Cut the graph of one task; at module level, so that processes can call it."""
    q, n_clusters = tasks[number]
    graph = symmetric_graph(neighbours, q)
    return cut_graph(graph, n_clusters, cutters, bridge_by_votes(votes, q), seed)


def labels_of(cuts: Sequence[tuple[int, Cut]]) -> list[NDArray[np.int64]]:
    """Return the labels of cuts."""
    return [one.labels for _, one in cuts]


# Pairs compared per point if not all pairs are: half a window in every tree, and
# friends with their friends.
_LIKELY_PAIRS = N_TREES * WINDOW // 2 + FRIENDS * (FRIENDS + 1)


def votes_cost(work: Work) -> Stage:
    """Estimate the cost of finding the strongest votes of each point."""
    n, q, workers = work.voted, work.n_neighbors, work.n_workers
    each = n * n / 2 * RATES.vote
    lists: float = n * q * (12 * workers + 36)
    if not work.all_pairs:
        each = min(each, n * _LIKELY_PAIRS * RATES.likely_vote)
        lists = n * (40 * q + 24 * workers) + work.labels
    seconds = 0.01 + 1e-9 * work.members * each * work.label_bytes / workers
    return Stage(seconds, work.after_members + lists)


def cut_cost(work: Work) -> Stage:
    """Estimate the cost of cutting all graphs in all ways."""
    n, q = work.voted, work.n_neighbors
    vectors = 8 * (work.n_clusters + 1)
    # The graph holds each edge in several forms, the solver each vector in several.
    at_once = min(work.n_graphs, work.n_workers)
    graphs = n * at_once * (100 * q + 16 * vectors)
    held = work.after_members + 12 * n * q + graphs + pools_bytes(work)
    return Stage(cuts_seconds(work, n), held)


def cuts_seconds(work: Work, n_points: int) -> float:
    """Return the time it takes to cut all graphs of ``n_points`` points."""
    rounds = -(-work.n_graphs // work.n_workers)
    each = RATES.cut + RATES.cut_vector * work.n_clusters
    return 1e-9 * rounds * (RATES.cut_start + n_points * each)


def pools_bytes(work: Work) -> float:
    """Return the bytes of the candidate cuts and embeddings of all graphs."""
    each = 8 * (work.n_clusters + 2 + RATES.cuts_per_graph)
    return work.voted * work.n_graphs * each
