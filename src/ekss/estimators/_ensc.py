"""Elastic net subspace clustering."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ekss.core.ensc import (
    ElasticNetRows,
    block_size,
    elastic_net_rows,
)
from ekss.core.representation import affinity_of
from ekss.estimators._affinity import AffinityClusterer, Similarity, map_blocks
from ekss.estimators._base import check_int, check_real
from ekss.runtime.workers import Workers


class EnSC(AffinityClusterer):
    r"""Elastic net subspace clustering: each point as a sparse sum of others.

    For every point j it solves

    .. math:: \min_{c : c_j = 0} \lambda \|c\|_1 + \frac{1 - \lambda}{2} \|c\|_2^2
        + \frac{\alpha \gamma_0}{2} \|x_j - X^T c\|_2^2, \qquad
        \gamma_0 = \frac{\lambda}{\max_{i \ne j} |\langle x_i, x_j \rangle|},

    by the oracle-guided active set method of [1]_. With these coefficients as the rows
    of C, the graph :math:`|C| + |C|^T` is cut by spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    l1_ratio : float, default=0.95
        The paper's :math:`\lambda` in (0, 1]: 1 is the lasso, which gives the
        sparsest graph; smaller values connect more points.
    gamma : float, default=3.0
        The :math:`\alpha` of the formula, above 1: the weight of the residual as a
        multiple of :math:`\gamma_0`, up to which all coefficients are zero. Larger
        values give more neighbours; use small values for noisy data.
    max_iter : int, default=50
        Maximum number of rounds of the active set.
    tol : float, default=1e-6
        Allowed violation of the optimality conditions, as a share of lambda; for
        float32 data, rounding is added to it.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the spectral step; the graph has no randomness.
    verbose : int, default=0
        Show progress bars with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    affinity_ : csr_array of shape (n_samples, n_samples)
        The graph that was cut.
    coefficients_ : csr_array of shape (n_samples, n_samples)
        Row j holds the coefficients of point j as they solve its problem; the
        diagonal is empty.
    n_iter_ : int
        Rounds of the active set that the slowest point needed.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity, to show the gap.
    n_clusters_ : int
        The value that was used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Warns
    -----
    ConvergenceWarning
        When points had not converged after ``max_iter`` rounds.

    See Also
    --------
    SSC : The same without the squared norm.
    SSCOMP : Greedy codes.

    Notes
    -----
    A round takes O(n_samples^2 n_features) time in matrix products, computed for a
    block of points at once. In addition to the data and the sparse graph, memory is
    O(n_samples) per point of the block. No n_samples x n_samples matrix is formed.

    References
    ----------
    .. [1] C. You, C.-G. Li, D. P. Robinson, R. Vidal, "Oracle Based Active Set
       Algorithm for Scalable Elastic Net Subspace Clustering", CVPR, 2016.

    Examples
    --------
    >>> from ekss import EnSC
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = EnSC(n_clusters=3, gamma=10, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        l1_ratio: float = 0.95,
        gamma: float = 3.0,
        max_iter: int = 50,
        tol: float = 1e-6,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.l1_ratio = l1_ratio
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        ratio = check_real("l1_ratio", self.l1_ratio, 0.0)
        if not 0 < ratio <= 1:
            raise ValueError(
                f"l1_ratio={ratio} is outside (0, 1]; choose from there, 1 is the lasso"
            )
        if check_real("gamma", self.gamma, 0.0) <= 1:
            raise ValueError(
                f"gamma={self.gamma} is at most 1, where all coefficients are zero; "
                "choose a value above 1"
            )
        check_int("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0)

    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        solve = partial(
            elastic_net_rows,
            points,
            l1_ratio=float(self.l1_ratio),
            gamma=float(self.gamma),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )
        n = len(points)
        blocks = map_blocks(solve, n, block_size(n), "blocks", workers)
        self._warn_unless_converged(blocks)
        stacked = sparse.vstack([block.coefficients for block in blocks], format="csr")
        coefficients = sparse.csr_array(stacked)
        return Similarity(
            affinity_of(coefficients, equal_rows=False),
            {
                "coefficients_": coefficients,
                "n_iter_": int(max(block.n_iter.max() for block in blocks)),
            },
        )

    def _warn_unless_converged(self, blocks: list[ElasticNetRows]) -> None:
        unfinished = sum(int((~block.converged).sum()) for block in blocks)
        if unfinished:
            warnings.warn(
                f"{unfinished} points had not converged after max_iter={self.max_iter} "
                f"rounds to tol={self.tol}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
