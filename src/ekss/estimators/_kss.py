"""K-subspaces with restarts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import UPDATES, KSubspacesRun, k_subspaces, random_start
from ekss.estimators._base import check_choice
from ekss.estimators._restarts import RestartedClusterer

# The updates that never raise the cost of K-subspaces.
_DESCENDING = ("pca", "power")


class KSS(RestartedClusterer):
    r"""K-subspaces: alternate between nearest subspace and principal components.

    Minimises :math:`\sum_k \sum_{i \in c_k} \|x_i - U_k U_k^T x_i\|^2` from several
    random starts and keeps the cheapest result [1]_ [2]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    subspace_dim : "auto" or int, default="auto"
        Dimension of the subspaces; "auto" estimates it from the neighbourhoods of
        points.
    n_init : int, default=10
        Random starts; the one of lowest cost is kept, of equal ones one of most
        clusters.
    max_iter : int, default=100
        Iterations at most of each start.
    tol : float, default=1e-7
        A start ends when labels stay the same and the cost falls by less than this
        share of the squared norm of the data.
    update : {"pca", "power"}, default="pca"
        How a subspace is fitted to its points: exact PCA or one warm power step.
    affine : bool, default=False
        Whether subspaces may miss the origin.
    normalize : bool or "auto", default="auto"
        Scale points to unit length first. "auto" does so for linear subspaces only.
    missing : {"observed", "zero", "error"}, default="observed"
        What NaN in X means: cluster by the entries that are there and fill in the
        others from the subspaces of the clusters, take them for zero, or
        refuse them.
    n_jobs : int, default=None
        Parallel workers, as in joblib. Labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed; the same int gives the same labels.
    verbose : int, default=0
        Show a progress bar with time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    bases_ : ndarray of shape (n_clusters, n_features, subspace_dim_)
        Orthonormal basis of each cluster's subspace.
    offsets_ : ndarray of shape (n_clusters, n_features) or None
        A point on each affine subspace; None for linear ones.
    outlier_scores_ : ndarray of shape (n_samples,)
        How far each point lies from the subspace of its cluster, in standard deviations
        of that distance from its median in the cluster; higher is further.
    cost_ : float
        Sum of squared residuals of the best start.
    cost_history_ : ndarray of shape (n_iter_ + 1,)
        Its cost after each assignment; it never rises.
    n_iter_ : int
        Iterations of the best start.
    n_clusters_, subspace_dim_ : int
        What was used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    EKSS : Many such clusterings that vote.
    CoPKSS : Robust to outliers.
    MedianKFlats : Least absolute distances.

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
        check_choice("update", self.update, _DESCENDING)

    def _run(
        self, points: NDArray[np.floating], dim: int, rng: np.random.Generator
    ) -> KSubspacesRun:
        start = random_start(points, int(self.n_clusters), dim, bool(self.affine), rng)
        return k_subspaces(
            points,
            start,
            UPDATES[self.update],
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )
