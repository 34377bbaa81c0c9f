"""What every method that cuts a graph of pairwise affinities has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from ekss.core.parallel import map_numbers, one_blas_thread, progress
from ekss.core.scaling import unit_rows
from ekss.core.tsc import nearest_by_angle
from ekss.estimators._base import LARGEST_SEED, validated
from ekss.estimators._checks import check_bool, check_int, check_workers
from ekss.estimators._fitting import all_or_nothing
from ekss.graph.neighbours import Neighbours, graph_of_rows
from ekss.graph.spectral import spectral_labels

Result = TypeVar("Result")

_BRIDGES = 3


class AffinityClusterer(ClusterMixin, BaseEstimator):
    """Validate, build an affinity, cut it.

    Subclasses have the parameters ``n_clusters``, ``normalize``, ``n_jobs``,
    ``random_state`` and ``verbose``, check their own parameters in
    :meth:`_check_parameters` and build the graph in :meth:`_build_affinity`.
    """

    n_clusters: int
    normalize: bool
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one a row.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : object
        """
        points = validated(self, X, reset=True)
        check_int("n_clusters", self.n_clusters, 1, len(points), limit="n_samples")
        check_workers(self.n_jobs, self.verbose)
        if check_bool("normalize", self.normalize):
            points = np.ascontiguousarray(unit_rows(points))
        self._check_parameters(points)
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        with one_blas_thread():
            self.affinity_ = self._build_affinity(points)
            with progress("spectral cut", None, show=self.verbose > 0):
                result = spectral_labels(
                    self.affinity_,
                    self.n_clusters,
                    bridge=lambda rows, group: bridge_by_angle(points, rows, group),
                    random_state=seed,
                )
        self.labels_ = result.labels
        self.embedding_ = result.embedding
        self.eigenvalues_ = result.eigenvalues
        self.n_clusters_ = int(self.n_clusters)
        return self

    def _map_blocks(
        self,
        function: Callable[[NDArray[np.int64]], Result],
        n_samples: int,
        size: int,
        description: str,
    ) -> list[Result]:
        """Call the function on blocks of row numbers, in parallel; keep their order."""

        def run(number: int) -> Result:
            return function(
                np.arange(number * size, min((number + 1) * size, n_samples))
            )

        return list(
            map_numbers(
                run,
                -(-n_samples // size),
                n_jobs=self.n_jobs,
                description=description,
                show=self.verbose > 0,
            )
        )

    @abstractmethod
    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        """Check parameters against the prepared data; store resolved ones."""

    @abstractmethod
    def _build_affinity(self, points: NDArray[np.floating]) -> sparse.csr_array:
        """Return the symmetric, non-negative affinity with zero diagonal."""


def bridge_by_angle(
    points: NDArray[np.floating], rows: NDArray[np.int64], group: NDArray[np.int64]
) -> sparse.csr_array:
    """Connect stray rows to the points of smallest angle outside their component."""
    index, value = nearest_by_angle(points, _BRIDGES, rows=rows, group=group)
    return graph_of_rows(Neighbours(index, value), rows, len(points))
