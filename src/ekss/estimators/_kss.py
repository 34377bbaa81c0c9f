"""K-subspaces from several starts that exchange subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ekss.core.exchange import Pool, choose_subspaces, pool_of
from ekss.core.ksubspaces import (
    STARTS,
    UPDATES,
    KSubspacesRun,
    k_subspaces,
    squared_norms,
)
from ekss.core.linalg import Flats
from ekss.estimators._base import check_choice
from ekss.estimators._restarts import (
    EQUAL_COSTS,
    RestartedClusterer,
    Run,
    best_run,
)
from ekss.runtime.workers import Workers

# The updates that never raise the cost of K-subspaces.
_DESCENDING = ("pca", "power")


class KSS(RestartedClusterer):
    r"""K-subspaces: alternate between nearest subspace and principal components.

    Minimises :math:`\sum_k \sum_{i \in c_k} \|x_i - U_k U_k^T x_i\|^2` from several
    starts [1]_ [2]_. When all starts have converged, each swaps its subspaces for those
    of the others where that lowers its cost, and then continues. This is repeated until
    the lowest cost no longer changes. The result with the lowest cost is kept.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    subspace_dim : "auto" or int, default="auto"
        Dimension of the subspaces; "auto" estimates it from the neighbourhoods of
        points.
    n_init : int, default=10
        Number of starts, which exchange subspaces. The start with the lowest cost is
        kept; among equal ones, one with the most clusters. With 1 there is nothing to
        exchange.
    init : {"neighbors", "random"}, default="neighbors"
        How a start begins: with the neighbourhoods of randomly chosen points (by angle,
        or by distance if affine), or with subspaces drawn uniformly.
    max_iter : int, default=100
        Maximum number of iterations of each start, and after each exchange.
    tol : float, default=1e-7
        Iterations end when the labels stay the same and the cost falls by less than
        this share of the squared norm of the data.
    update : {"pca", "power"}, default="pca"
        How a subspace is fitted to its points: exact PCA or one warm-started power
        step.
    affine : bool, default=False
        Whether subspaces may miss the origin.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first. "auto" does so only for linear
        subspaces.
    missing : {"observed", "zero", "error"}, default="observed"
        What NaN in X means. "observed" clusters by the entries that are present and
        fills in the others from the subspaces of the clusters. "zero" treats missing
        entries as zero. "error" refuses them.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The same int gives the same labels.
    verbose : int, default=0
        Show a progress bar with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    bases_ : ndarray of shape (n_clusters, n_features, subspace_dim_)
        Orthonormal basis of each cluster's subspace.
    dims_ : ndarray of shape (n_clusters,)
        Dimension of each cluster's subspace: all have ``subspace_dim_``.
    offsets_ : ndarray of shape (n_clusters, n_features) or None
        A point on each affine subspace; None for linear subspaces.
    outlier_scores_ : ndarray of shape (n_samples,)
        How far each point lies from the subspace of its cluster: the difference between
        this distance and its median in the cluster, in standard deviations. Higher
        means farther away.
    cost_ : float
        Sum of squared residuals of the best start.
    cost_history_ : ndarray of shape (n_iter_ + 1,)
        Cost of the best start after each assignment; it never rises.
    n_iter_ : int
        Iterations of the best start; an exchange counts as one.
    n_clusters_, subspace_dim_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    EKSS : Many such clusterings, which vote.
    CoPKSS : Robust to outliers.
    MedianKFlats : Minimises absolute distances.

    References
    ----------
    .. [1] P. S. Bradley, O. L. Mangasarian, "k-Plane Clustering", J. Global
       Optimization, 2000.
    .. [2] P. K. Agarwal, N. H. Mustafa, "k-Means Projective Clustering", PODS, 2004.

    Examples
    --------
    >>> from ekss import KSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=2, dims=2, n_features=20,
    ...                                random_state=0)
    >>> model = KSS(n_clusters=2, subspace_dim=2, random_state=0).fit(data.data)
    >>> clustering_error(data.target, model.labels_)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        subspace_dim: str | int = "auto",
        *,
        n_init: int = 10,
        init: str = "neighbors",
        max_iter: int = 100,
        tol: float = 1e-7,
        update: str = "pca",
        affine: bool = False,
        normalize: bool | str = "auto",
        missing: str = "observed",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.update = update
        self.affine = affine
        self.normalize = normalize
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("init", self.init, tuple(STARTS))
        check_choice("update", self.update, _DESCENDING)

    def _run(
        self, points: NDArray[np.floating], dim: int, rng: np.random.Generator
    ) -> KSubspacesRun:
        draw = STARTS[self.init]
        start = draw(points, int(self.n_clusters), dim, bool(self.affine), rng)
        return self._descend(points, start)

    def _descend(self, points: NDArray[np.floating], start: Flats) -> KSubspacesRun:
        return k_subspaces(
            points,
            start,
            UPDATES[self.update],
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )

    def _runs(
        self, points: NDArray[np.floating], seed: int, workers: Workers
    ) -> tuple[int, Sequence[Run]]:
        dim, runs = super()._runs(points, seed, workers)
        slack = EQUAL_COSTS * float(squared_norms(points).sum(dtype=np.float64))
        before, lowest = np.inf, _lowest_cost(runs)
        while self.n_clusters > 1 and len(runs) > 1 and lowest < before - slack:
            pool = pool_of(points, [run.flats for run in runs], seed)
            runs = self._exchange(points, runs, pool, slack, workers.quiet())
            before, lowest = lowest, _lowest_cost(runs)
        return dim, runs

    def _exchange(
        self,
        points: NDArray[np.floating],
        runs: Sequence[Run],
        pool: Pool,
        slack: float,
        workers: Workers,
    ) -> list[Run]:
        """Let every run take subspaces of the others and go on.

        Runs that come to choose the same subspaces go on as one. The lowest cost does
        not rise.
        """
        choose = partial(choose_subspaces, pool, slack=slack)
        resting: list[Run] = []
        moving: dict[tuple[int, ...], list[Run]] = {}
        choices = workers.map(choose, len(runs), "swaps")
        for run, chosen in zip(runs, choices, strict=True):
            if chosen is None:
                resting.append(run)
            else:
                moving.setdefault(tuple(sorted(chosen.tolist())), []).append(run)
        starts = [pool.take(chosen) for chosen in moving]
        moved = [best_run(alike, slack) for alike in moving.values()]
        go_on = partial(self._go_on, points, moved, starts)
        return resting + list(workers.map(go_on, len(moved), "exchange"))

    def _go_on(
        self,
        points: NDArray[np.floating],
        runs: Sequence[Run],
        starts: Sequence[Flats],
        number: int,
    ) -> Run:
        """Continue a run with other subspaces, unless these cost more after all."""
        later = self._descend(points, starts[number])
        costs = np.concatenate([runs[number].costs, later.costs])
        if later.costs[0] > runs[number].costs[-1]:
            return runs[number]
        return replace(later, costs=costs)


def _lowest_cost(runs: Sequence[Run]) -> float:
    return float(min(run.costs[-1] for run in runs))
