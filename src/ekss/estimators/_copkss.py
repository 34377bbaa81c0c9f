"""K-subspaces with Coherence Pursuit in place of PCA."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ekss.core.cop import COHERENT_SHARE, update_cop
from ekss.core.ksubspaces import KSubspacesRun, k_subspaces, random_start
from ekss.estimators._base import check_real
from ekss.estimators._restarts import RestartedClusterer


class CoPKSS(RestartedClusterer):
    r"""CoP-KSS: K-subspaces whose subspaces are fitted by Coherence Pursuit.

    Like K-subspaces, it alternates between assigning points to their nearest subspace
    and fitting subspaces. It fits each subspace only to the most coherent points of its
    cluster, those with the largest :math:`\sum_{j \ne i} \langle x_i, x_j \rangle^2`
    over the cluster [1]_ [2]_. Outliers and wrongly assigned points then have little
    influence.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    subspace_dim : "auto" or int, default="auto"
        Dimension of the subspaces; "auto" estimates it from the neighbourhoods of
        points.
    coherent_share : float, default=0.5
        Share of the points of a cluster to which its subspace is fitted, in (0, 1];
        never fewer points than twice the dimension. Choose less than the expected share
        of inliers; 1 is KSS.
    n_init : int, default=10
        Number of random starts. The start with the lowest cost is kept; among equal
        ones, one with the most clusters.
    max_iter : int, default=50
        Maximum number of iterations per start.
    tol : float, default=1e-7
        A start ends when the labels stay the same and the cost falls by less than this
        share of the squared norm of the data.
    affine : bool, default=False
        Whether subspaces may miss the origin. Points are then compared relative to the
        mean of their cluster.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first. "auto" does so only for linear
        subspaces.
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
        Orthonormal basis of each cluster's subspace, fitted only to coherent points.
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
        Cost of the best start after each assignment. It may rise, because outliers do
        not count in the fit but do count in the cost.
    n_iter_ : int
        Iterations of the best start.
    n_clusters_, subspace_dim_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    KSS : Least squares in place of coherence pursuit.

    Notes
    -----
    An iteration takes at most about twice as long as one of KSS with exact PCA:
    O(n_samples n_features min(N_k, n_features)) time for clusters of N_k points. The
    labels may never settle; a start then ends after ``max_iter`` iterations.

    References
    ----------
    .. [1] A. Gitlin, B. Tao, L. Balzano, J. Lipor, "Improving K-Subspaces via
       Coherence Pursuit", IEEE J. Selected Topics in Signal Processing, 2018.
    .. [2] M. Rahmani, G. K. Atia, "Coherence Pursuit: Fast, Simple, and Robust
       Principal Component Analysis", IEEE Trans. Signal Processing, 2017.

    Examples
    --------
    >>> from ekss import CoPKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=2, dims=2, n_features=20,
    ...                                outliers=0.2, random_state=0)
    >>> model = CoPKSS(n_clusters=2, subspace_dim=2, random_state=0).fit(data.data)
    >>> inliers = data.target >= 0
    >>> clustering_error(data.target[inliers], model.labels_[inliers])
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        subspace_dim: str | int = "auto",
        *,
        coherent_share: float = COHERENT_SHARE,
        n_init: int = 10,
        max_iter: int = 50,
        tol: float = 1e-7,
        affine: bool = False,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.coherent_share = coherent_share
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.affine = affine
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        share = check_real("coherent_share", self.coherent_share, 0.0)
        if not 0 < share <= 1:
            raise ValueError(
                f"coherent_share={share} is outside (0, 1]; choose the share of a "
                "cluster to trust, such as 0.5"
            )

    def _run(
        self, points: NDArray[np.floating], dim: int, rng: np.random.Generator
    ) -> KSubspacesRun:
        start = random_start(points, int(self.n_clusters), dim, bool(self.affine), rng)
        update = partial(update_cop, share=float(self.coherent_share))
        return k_subspaces(
            points, start, update, max_iter=int(self.max_iter), tol=float(self.tol)
        )
