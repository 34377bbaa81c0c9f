"""What every method that keeps the cheapest of several random starts has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ekss.core.linalg import Flats, score_points
from ekss.ensemble.dimension import estimate_dim
from ekss.ensemble.prepare import has_holes, prepare
from ekss.estimators._base import (
    SubspaceClusterer,
    bool_or_auto,
    check_bool,
    check_int,
    check_real,
    check_workers,
    checked_rows,
    is_auto,
    seed_of,
    store,
    warn_of_doubts,
)
from ekss.runtime.workers import Workers, one_blas_thread

if TYPE_CHECKING:
    from ekss.core.completion import Completion

# Costs this close, as a share of the cost without subspaces, differ by rounding.
EQUAL_COSTS = 1e-6


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
        self._check_parameters()
        affine = check_bool("affine", self.affine)
        normalize = bool_or_auto("normalize", self.normalize)
        unit = not affine if normalize is None else normalize
        seed = seed_of(self.random_state)
        completion = None
        if has_holes(rows):
            completion = self._complete(rows, unit, affine, seed, workers)
            rows = completion(rows)
        points = prepare(rows, unit=unit, affine=affine, completion=completion)
        with one_blas_thread():
            dim, runs = self._runs(points.rows, seed, workers)
        lengths = np.linalg.norm(points.rows, axis=1).astype(np.float64)
        slack = EQUAL_COSTS * float((lengths**self._cost_degree).sum())
        best = best_run(runs, slack)
        costs = best.costs * points.preparation.scale**self._cost_degree
        # A refit by PCA would undo the robustness of some subspaces.
        labels, inside = _by_appearance(best.labels, best.flats)
        flats = points.preparation.outwards(inside)
        warn_of_doubts(rows, labels, n_clusters, dim=dim, affine=affine)
        return store(
            self,
            **names,
            labels_=labels,
            bases_=flats.bases,
            dims_=flats.dims,
            offsets_=flats.offsets,
            outlier_scores_=score_points(points.rows, labels, inside),
            preparation_=points.preparation,
            cost_history_=costs,
            cost_=float(costs[-1]),
            n_iter_=len(costs) - 1,
            affine_=affine,
            n_clusters_=n_clusters,
            subspace_dim_=dim,
        )

    def _runs(
        self, points: NDArray[np.floating], seed: int, workers: Workers
    ) -> tuple[int, Sequence[Run]]:
        """Return the dimension of the subspaces, and the runs from all starts."""
        dim = self._resolve_dim(points, seed)
        run = partial(self._run_number, points, seed, dim)
        return dim, list(workers.map(run, int(self.n_init), "starts"))

    def _complete(
        self,
        rows: NDArray[np.floating],
        unit: bool,
        affine: bool,
        seed: int,
        workers: Workers,
    ) -> Completion:
        """Find subspaces that fill in missing entries, from the runs of all starts."""
        from ekss.ensemble.complete import Begun, complete

        def begin(filled: NDArray[np.floating]) -> Begun:
            points = prepare(filled, unit=unit, affine=affine).rows
            dim, runs = self._runs(points, seed, workers.quiet())
            runs = sorted(runs, key=lambda run: run.costs[-1])
            labels = [run.labels.astype(np.int64) for run in runs]
            return Begun(labels, dim, unit=unit, affine=affine)

        with one_blas_thread():
            return complete(rows, begin, int(self.n_clusters), seed, workers)

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

    def _resolve_dim(self, points: NDArray[np.floating], seed: int) -> int:
        dim = self.subspace_dim
        if is_auto("subspace_dim", dim, "an integer"):
            rng = np.random.default_rng(seed)
            n_clusters = int(self.n_clusters)
            return estimate_dim(points, n_clusters, rng, affine=bool(self.affine))
        return check_int(
            "subspace_dim",
            dim,
            1,
            points.shape[1],
            limit="n_features",
            also=' or "auto"',
        )


def best_run(runs: Sequence[Run], slack: float) -> Run:
    """Return the run of lowest cost; of equal ones that of most clusters, the first.

    Costs within the slack of the lowest are equal: no choice hangs on their last bits.
    """
    lowest = min(run.costs[-1] for run in runs)
    equal = [run for run in runs if run.costs[-1] <= lowest + slack]
    return max(equal, key=lambda run: len(np.unique(run.labels)))


def _by_appearance(
    labels: NDArray[np.integer], flats: Flats
) -> tuple[NDArray[np.int64], Flats]:
    """Return clusters numbered by their first point: equal partitions look equal."""
    used, first = np.unique(labels, return_index=True)
    unused = np.setdiff1d(np.arange(len(flats.bases)), used)
    order = np.concatenate([used[np.argsort(first)], unused])
    offsets = None if flats.offsets is None else flats.offsets[order]
    return np.argsort(order)[labels], Flats(flats.bases[order], offsets)
