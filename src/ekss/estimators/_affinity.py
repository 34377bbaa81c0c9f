"""What every method that cuts a graph of pairwise affinities has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ekss.core.linalg import unit_rows
from ekss.core.tsc import ROWS_AT_ONCE, nearest_by_angle
from ekss.ensemble.dimension import estimate_dim
from ekss.ensemble.prepare import has_holes, prepare
from ekss.estimators._base import (
    Clusterer,
    bool_or_auto,
    check_bool,
    check_int,
    check_workers,
    checked_rows,
    seed_of,
    store,
    warn_of_doubts,
)
from ekss.graph.spectral import SpectralResult, as_graph, spectral_labels
from ekss.graph.stochastic import doubly_stochastic
from ekss.graph.votes import Neighbours, graph_of_rows, symmetric_graph
from ekss.runtime.workers import Workers, one_blas_thread

if TYPE_CHECKING:
    from ekss.core.completion import Completion

Result = TypeVar("Result")

# Edges from a stray point to the points of smallest angle outside its component.
_BRIDGES = 3


@dataclass(frozen=True)
class Similarity:
    """A graph of the points, and what its making leaves behind.

    Attributes
    ----------
    affinity : csr_array of shape (n_samples, n_samples)
        Symmetric and non-negative, with zero diagonal.
    fitted : dict
        Further fitted attributes by name.
    """

    affinity: sparse.csr_array
    fitted: dict[str, Any] = field(default_factory=dict)


class AffinityClusterer(Clusterer):
    """Validate, build an affinity, cut it.

    Subclasses have the parameters ``n_clusters``, ``normalize``, ``n_jobs``,
    ``random_state`` and ``verbose``; those that take ``affine`` too do not normalise
    affine subspaces unless they are told to.
    """

    n_clusters: int
    normalize: bool | str
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one per row.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        workers = check_workers(self.n_jobs, self.verbose)
        rows, names = checked_rows(self, X)
        n_clusters = check_int(
            "n_clusters", self.n_clusters, 1, len(rows), limit="n_samples"
        )
        affine = check_bool("affine", getattr(self, "affine", False))
        normalize = bool_or_auto("normalize", self.normalize)
        unit = not affine if normalize is None else normalize
        seed = seed_of(self.random_state)
        completion = None
        if has_holes(rows):
            completion = self._complete(rows, n_clusters, unit, seed, workers)
            rows = completion(rows)
        prepared = prepare(rows, unit=unit, affine=False, completion=completion)
        self._check_parameters(prepared.rows)
        with one_blas_thread():
            built, cut = self._built_and_cut(prepared.rows, n_clusters, seed, workers)
        warn_of_doubts(rows, cut.labels, n_clusters, dim=None, affine=affine)
        return store(
            self,
            **names,
            **built.fitted,
            labels_=cut.labels,
            affinity_=built.affinity,
            embedding_=cut.embedding,
            eigenvalues_=cut.eigenvalues,
            preparation_=prepared.preparation,
            affine_=affine,
            n_clusters_=n_clusters,
        )

    def _built_and_cut(
        self,
        points: NDArray[np.floating],
        n_clusters: int,
        seed: int,
        workers: Workers,
    ) -> tuple[Similarity, SpectralResult]:
        """Return the graph of the points, and its cut."""
        built = self._build_affinity(points, workers)
        with workers.stage("spectral cut"):
            cut = spectral_labels(
                built.affinity,
                n_clusters,
                bridge=partial(bridge_by_angle, points),
                random_state=seed,
            )
        return built, cut

    def _complete(
        self,
        rows: NDArray[np.floating],
        n_clusters: int,
        unit: bool,
        seed: int,
        workers: Workers,
    ) -> Completion:
        """Find subspaces that fill in missing entries, by cuts of small graphs."""
        from ekss.ensemble.complete import Begun, complete

        def begin(filled: NDArray[np.floating]) -> Begun:
            points = prepare(filled, unit=unit, affine=False).rows
            self._check_parameters(points)
            _, cut = self._built_and_cut(points, n_clusters, seed, workers.quiet())
            dim = estimate_dim(points, n_clusters, np.random.default_rng(seed))
            return Begun([cut.labels], dim, unit=unit, affine=False)

        with one_blas_thread():
            return complete(rows, begin, n_clusters, seed, workers)

    @abstractmethod
    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        """Check parameters against the prepared data."""

    @abstractmethod
    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        """Return the graph of the points."""


def map_blocks(
    function: Callable[[NDArray[np.int64]], Result],
    n_samples: int,
    size: int,
    description: str,
    workers: Workers,
) -> list[Result]:
    """Call the function on blocks of row numbers, in parallel; keep their order."""

    def run(number: int) -> Result:
        return function(np.arange(number * size, min((number + 1) * size, n_samples)))

    return list(workers.map(run, -(-n_samples // size), description))


def nearest_neighbours(
    rows: NDArray[np.floating], q: int, description: str, workers: Workers
) -> Neighbours:
    """Return the q largest absolute inner products of every row, in parallel."""
    parts = map_blocks(
        lambda some: nearest_by_angle(rows, q, rows=some),
        len(rows),
        ROWS_AT_ONCE,
        description,
        workers,
    )
    return Neighbours(*map(np.concatenate, zip(*parts, strict=True)))


def joined(neighbours: Neighbours, scale: float | None) -> sparse.csr_array:
    """Return the graph of the neighbours, or its doubly stochastic one at a scale."""
    graph = symmetric_graph(neighbours)
    if scale is None:
        return graph
    # What is left on the diagonal is no edge.
    return as_graph(doubly_stochastic(graph, scale=float(scale)).graph)


def bridge_by_angle(
    points: NDArray[np.floating], rows: NDArray[np.int64], group: NDArray[np.int64]
) -> sparse.csr_array:
    """Connect stray rows to the points of smallest angle outside their component.

    Edges weigh the cosines of the angles, whatever the lengths of the points: so they
    are on the scale of affinities, and no bridge outweighs the graph.
    """
    unit = unit_rows(points)
    index, value = nearest_by_angle(unit, _BRIDGES, rows=rows, group=group)
    return graph_of_rows(Neighbours(index, value), rows, len(points))
