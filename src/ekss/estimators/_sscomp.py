"""Sparse subspace clustering by orthogonal matching pursuit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.core.omp import SparseCodes, matching_pursuit, rows_at_once, unit_coefficients
from ekss.estimators._affinity import AffinityClusterer, Similarity, map_blocks
from ekss.estimators._base import check_int, check_real
from ekss.graph.votes import Neighbours, directed_graph, symmetric_graph
from ekss.runtime.workers import Workers


class SSCOMP(AffinityClusterer):
    r"""Sparse subspace clustering by orthogonal matching pursuit.

    Every point is written as a combination of a few other points, chosen greedily:
    :math:`\min_c \|x_i - \sum_j c_j x_j\|` with at most ``n_nonzero`` nonzeros and
    :math:`c_i = 0`. The coefficients C define the affinity :math:`(|C| + |C|^T) / 2`,
    which is cut by spectral clustering [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_nonzero : int, default=10
        Maximum number of points in a representation; use about the dimension of the
        subspaces.
    tol : float, default=1e-6
        A point is done when the norm of its residual, relative to its own norm, is at
        most this. Values below 8 units of rounding of the data's dtype are treated as 8
        units.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does. Without scaling,
        points are chosen by the inner products of the unscaled points with the
        residual, which favours long points.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the spectral step. The same int gives the same labels.
    verbose : int, default=0
        Show progress bars with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    coefficients_ : csr_array of shape (n_samples, n_samples)
        Row i holds the unscaled coefficients of point i.
    affinity_ : csr_array of shape (n_samples, n_samples)
        Symmetric graph that was cut; the coefficients of each point were first scaled
        to unit length.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity.
    n_clusters_ : int
        The value that was used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SSC : The convex problem.
    EnSC : Elastic net, with denser codes.

    Notes
    -----
    A fit takes O(n_nonzero n_samples^2 n_features) time in matrix products and
    O(n_samples (n_features + n_nonzero)) memory. No n_samples x n_samples matrix is
    formed. Scaling the coefficients of a point to unit length gives points that are
    hard to represent the same weight in the graph as the others.

    References
    ----------
    .. [1] C. You, D. Robinson, R. Vidal, "Scalable Sparse Subspace Clustering by
       Orthogonal Matching Pursuit", CVPR 2016.

    Examples
    --------
    >>> from ekss import SSCOMP
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> model = SSCOMP(n_clusters=3, n_nonzero=4, random_state=0)
    >>> clustering_error(data.target, model.fit_predict(data.data))
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_nonzero: int = 10,
        tol: float = 1e-6,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_nonzero = n_nonzero
        self.tol = tol
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        check_int("n_nonzero", self.n_nonzero, 1)
        check_real("tol", self.tol, 0.0)

    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        n = len(points)
        parts = map_blocks(
            lambda rows: matching_pursuit(
                points, int(self.n_nonzero), tol=float(self.tol), rows=rows
            ),
            n,
            rows_at_once(min(int(self.n_nonzero), n - 1, points.shape[1])),
            "pursuit",
            workers,
        )
        codes = SparseCodes(
            np.concatenate([part.index for part in parts]),
            np.concatenate([part.coefficient for part in parts]),
            np.concatenate([part.residual for part in parts]),
        )
        coefficients = directed_graph(Neighbours(codes.index, codes.coefficient))
        weights = np.abs(unit_coefficients(codes))
        affinity = symmetric_graph(Neighbours(codes.index, weights))
        return Similarity(affinity, {"coefficients_": coefficients})
