"""The algorithm of the paper, as it is printed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ekss.core.ksubspaces import UPDATES
from ekss.core.linalg import fit_clusters, score_points
from ekss.ensemble.decide import paper_neighbors
from ekss.ensemble.paper import ensemble_k_subspaces
from ekss.ensemble.prepare import prepare
from ekss.estimators._base import (
    SubspaceClusterer,
    bool_or_auto,
    check_bool,
    check_choice,
    check_int,
    check_workers,
    checked_rows,
    int_or_auto,
    seed_of,
    store,
    warn_of_doubts,
)
from ekss.runtime.workers import one_blas_thread


class PaperEKSS(SubspaceClusterer):
    """Algorithm 1 of the paper, line by line, for any number of rows.

    B times, the algorithm draws random subspaces, assigns points to the nearest and
    runs K-subspaces for T iterations. It counts how often two points are together,
    keeps the q largest entries per row and column, and cuts the graph by spectral
    clustering [1]_. Nothing is decided from the data. :class:`EKSS` is built on the
    same idea and needs no parameters. Use this class to reproduce or study the paper.

    Parameters
    ----------
    n_clusters : int
        Number of output clusters K.
    subspace_dim : int
        Dimension of the candidate subspaces.
    n_candidates : int or None, default=None
        Number of candidate subspaces; None means ``n_clusters``.
    n_members : int, default=1000
        Number B of base clusterings, as in the paper's experiments on real data.
    max_iter : int, default=3
        Number T of K-subspaces iterations, as in the paper's experiments; 0 gives
        EKSS-0, which has the paper's recovery guarantees.
    n_neighbors : "auto" or int, default="auto"
        The threshold parameter q. "auto" is the paper's rule: a sixth of the mean
        cluster size, but at least 3.
    update : {"pca", "power", "cop"}, default="pca"
        How subspaces are estimated in line 7 of the algorithm: by exact PCA, as
        printed; by one power step towards it, which is many times faster; or by
        Coherence Pursuit, the paper's robust variant.
    affine : bool, default=False
        Whether candidate subspaces may miss the origin, as they may in the paper for
        motions.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first, as the paper does. "auto" does so
        for linear subspaces but not for affine ones.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The same int gives the same labels.
    verbose : int, default=0
        Show progress bars with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    affinity_ : csr_array of shape (n_samples, n_samples)
        The thresholded co-association matrix.
    member_labels_ : ndarray of shape (n_samples, n_members_)
        The base clusterings.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity.
    bases_ : ndarray of shape (n_clusters, n_features, subspace_dim_)
        Orthonormal basis of each cluster's subspace, fitted after clustering.
    dims_ : ndarray of shape (n_clusters,)
        Dimension of each cluster's subspace: all have ``subspace_dim_``.
    offsets_ : ndarray of shape (n_clusters, n_features) or None
        A point on each affine subspace; None for linear subspaces.
    outlier_scores_ : ndarray of shape (n_samples,)
        How far each point lies from the subspace of its cluster: the difference between
        this distance and its median in the cluster, in standard deviations. Higher
        means farther away.
    preparation_ : Preparation
        How rows become points. Call it to get rows as the fit saw them.
    affine_ : bool
        Whether subspaces may miss the origin.
    n_clusters_, n_members_, n_neighbors_, subspace_dim_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    EKSS : The default, which decides from the data whatever is not given.

    Notes
    -----
    The co-association matrix is counted in blocks and never held in memory as a whole.
    Time grows with the square of n_samples.

    References
    ----------
    .. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using
       Ensembles of K-Subspaces", Information and Inference, 2021.

    Examples
    --------
    >>> from ekss import PaperEKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> model = PaperEKSS(n_clusters=3, subspace_dim=4, n_members=50, random_state=0)
    >>> clustering_error(data.target, model.fit_predict(data.data))
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        subspace_dim: int = 3,
        *,
        n_candidates: int | None = None,
        n_members: int = 1000,
        max_iter: int = 3,
        n_neighbors: int | str = "auto",
        update: str = "pca",
        affine: bool = False,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.n_candidates = n_candidates
        self.n_members = n_members
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.update = update
        self.affine = affine
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        self : PaperEKSS
            The fitted estimator.
        """
        workers = check_workers(self.n_jobs, self.verbose)
        rows, names = checked_rows(self, X)
        sizes = self._sizes(*rows.shape)
        affine = check_bool("affine", self.affine)
        normalize = bool_or_auto("normalize", self.normalize)
        update = UPDATES[check_choice("update", self.update, tuple(UPDATES))]
        unit = not affine if normalize is None else normalize
        points = prepare(rows, unit=unit, affine=affine)
        seed = seed_of(self.random_state)
        with one_blas_thread():
            found = ensemble_k_subspaces(
                points.rows,
                **sizes,
                seed=seed,
                workers=workers,
                update=update,
                affine=affine,
            )
            flats = fit_clusters(
                points.rows,
                found.cut.labels,
                sizes["n_clusters"],
                sizes["dim"],
                affine=affine,
                seed=seed,
            )
        outside = points.preparation.outwards(flats)
        warn_of_doubts(
            rows,
            found.cut.labels,
            sizes["n_clusters"],
            dim=sizes["dim"],
            affine=affine,
        )
        return store(
            self,
            **names,
            labels_=found.cut.labels,
            affinity_=found.affinity,
            member_labels_=found.member_labels,
            embedding_=found.cut.embedding,
            eigenvalues_=found.cut.eigenvalues,
            bases_=outside.bases,
            dims_=outside.dims,
            offsets_=outside.offsets,
            outlier_scores_=score_points(points.rows, found.cut.labels, flats),
            preparation_=points.preparation,
            affine_=affine,
            n_clusters_=sizes["n_clusters"],
            n_members_=sizes["n_members"],
            n_neighbors_=sizes["q"],
            subspace_dim_=sizes["dim"],
        )

    def _sizes(self, n_samples: int, n_features: int) -> dict[str, Any]:
        """Check the numbers that the algorithm is given."""
        n_clusters = check_int(
            "n_clusters", self.n_clusters, 1, n_samples, limit="n_samples"
        )
        n_candidates = n_clusters
        if self.n_candidates is not None:
            n_candidates = check_int(
                "n_candidates", self.n_candidates, 1, n_samples, limit="n_samples"
            )
        q = int_or_auto(
            "n_neighbors", self.n_neighbors, 1, n_samples - 1, limit="n_samples-1"
        )
        return {
            "n_candidates": n_candidates,
            "dim": check_int(
                "subspace_dim", self.subspace_dim, 1, n_features, limit="n_features"
            ),
            "n_clusters": n_clusters,
            "q": paper_neighbors(n_samples, n_clusters) if q is None else q,
            "n_members": check_int("n_members", self.n_members, 1),
            "n_iter": check_int("max_iter", self.max_iter, 0),
        }
