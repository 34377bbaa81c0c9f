"""What every method that keeps the cheapest of several random starts has in common."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ekss.core.bases import Flats
from ekss.core.parallel import map_numbers, one_blas_thread
from ekss.estimators._auto import estimate_dim
from ekss.estimators._base import LARGEST_SEED, SubspaceClusterer, validated
from ekss.estimators._checks import check_int, check_real, check_workers, is_auto
from ekss.estimators._fitting import all_or_nothing


class Run(Protocol):
    """Result of one start."""

    @property
    def labels(self) -> NDArray[np.int32]:
        """Nearest subspace of each point."""

    @property
    def flats(self) -> Flats:
        """Subspaces of the run."""

    @property
    def costs(self) -> NDArray[np.float64]:
        """Cost after each iteration, the last one counts."""


class RestartedClusterer(SubspaceClusterer):
    """Run from several random starts, keep the run of lowest cost.

    Subclasses have the parameters ``n_clusters``, ``subspace_dim``, ``n_init``,
    ``max_iter``, ``tol``, ``normalize``, ``n_jobs``, ``random_state`` and ``verbose``
    and say in :meth:`_run` what a start does.
    """

    # The cost grows with this power of the length of the points.
    _cost_degree = 2

    subspace_dim: str | int
    n_init: int
    max_iter: int
    tol: float
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
        prepared = self._prepare(validated(self, X, reset=True))
        points = prepared.points
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        self._check_parameters()
        with one_blas_thread():
            dim = self._resolve_dim(points, seed)
            runs = map_numbers(
                partial(self._run_number, points, seed, dim),
                self.n_init,
                n_jobs=self.n_jobs,
                description="starts",
                show=self.verbose > 0,
            )
            best = min(runs, key=lambda run: run.costs[-1])
            self.cost_history_ = best.costs * prepared.scaling.scale**self._cost_degree
            self.cost_ = float(self.cost_history_[-1])
            self.n_iter_ = len(best.costs) - 1
            # A refit by PCA would undo the robustness of some subspaces.
            return self._store_model(best.flats, best.labels, prepared.scaling)

    @abstractmethod
    def _run(
        self, points: NDArray[np.floating], dim: int, rng: np.random.Generator
    ) -> Run:
        """Run one start."""

    def _run_number(
        self, points: NDArray[np.floating], seed: int, dim: int, number: int
    ) -> Run:
        """Run start number ``number``, a function of the seed and the number alone."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        return self._run(points, dim, rng)

    def _check_parameters(self) -> None:
        check_int("n_init", self.n_init, 1)
        check_int("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0)
        check_workers(self.n_jobs, self.verbose)

    def _resolve_dim(self, points: NDArray[np.floating], seed: int) -> int:
        dim = self.subspace_dim
        if is_auto("subspace_dim", dim, "an integer"):
            rng = np.random.default_rng(seed)
            return estimate_dim(points, self.n_clusters, rng, affine=bool(self.affine))
        return check_int(
            "subspace_dim",
            dim,
            1,
            points.shape[1],
            limit="n_features",
            also=' or "auto"',
        )
