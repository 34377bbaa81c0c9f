"""Median K-flats with restarts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import neighbourhood_start
from ekss.core.mkf import SEEDS_PER_DIM, MedianRun, median_k_flats
from ekss.estimators._base import check_real
from ekss.estimators._restarts import RestartedClusterer


class MedianKFlats(RestartedClusterer):
    r"""Median K-flats: K linear subspaces of least total distance to the points.

    Minimises :math:`\sum_i \min_k \|x_i - U_k U_k^T x_i\|` by stochastic gradient
    descent from several random starts and keeps the result with the lowest cost [1]_.
    Distances are not squared, so distant points weigh less than in K-subspaces.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    subspace_dim : "auto" or int, default="auto"
        Dimension of the subspaces; "auto" estimates it from the neighbourhoods of
        points.
    n_init : int, default=10
        Number of random starts. The start with the lowest cost is kept; among equal
        ones, one with the most clusters.
    max_iter : int, default=50
        Maximum number of passes over the data per start.
    step : float, default=0.3
        First step: the tangent of the largest angle by which one point of average
        length rotates a subspace. It is halved after every pass that does not lower the
        cost.
    tol : float, default=1e-3
        A start ends when five passes in a row each lower the cost by at most this
        share.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does, because the subspaces
        are linear.
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
    offsets_ : None
        The subspaces pass through the origin.
    outlier_scores_ : ndarray of shape (n_samples,)
        How far each point lies from the subspace of its cluster: the difference between
        this distance and its median in the cluster, in standard deviations. Higher
        means farther away.
    cost_ : float
        Sum of distances of the best start.
    cost_history_ : ndarray of shape (n_iter_ + 1,)
        Lowest cost of the best start so far, after each pass; it never rises.
    n_iter_ : int
        Passes of the best start.
    n_clusters_, subspace_dim_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    KSS : Least squares in place of absolute distances.

    Notes
    -----
    A pass takes O(n_samples n_features n_clusters subspace_dim) time. Memory beyond the
    data is that of the bases.

    References
    ----------
    .. [1] T. Zhang, A. Szlam, G. Lerman, "Median K-Flats for Hybrid Linear Modeling
       with Many Outliers", ICCV Workshops, 2009.

    Examples
    --------
    >>> from ekss import MedianKFlats
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=2, dims=2, n_features=20,
    ...                                outliers=0.2, random_state=0)
    >>> model = MedianKFlats(n_clusters=2, subspace_dim=2, random_state=0)
    >>> labels = model.fit_predict(data.data)
    >>> inliers = data.target >= 0
    >>> clustering_error(data.target[inliers], labels[inliers])
    0.0
    """

    affine = False

    _cost_degree = 1

    def __init__(
        self,
        n_clusters: int = 8,
        subspace_dim: str | int = "auto",
        *,
        n_init: int = 10,
        max_iter: int = 50,
        step: float = 0.3,
        tol: float = 1e-3,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.n_init = n_init
        self.max_iter = max_iter
        self.step = step
        self.tol = tol
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_real("step", self.step, 0.0) == 0:
            raise ValueError(
                "step=0 never moves a subspace; choose a positive step, such as 0.3"
            )

    def _run(
        self, points: NDArray[np.floating], dim: int, rng: np.random.Generator
    ) -> MedianRun:
        size = SEEDS_PER_DIM * dim
        start = neighbourhood_start(points, int(self.n_clusters), dim, False, rng, size)
        return median_k_flats(
            points,
            start,
            rng,
            max_iter=int(self.max_iter),
            step=float(self.step),
            tol=float(self.tol),
        )
