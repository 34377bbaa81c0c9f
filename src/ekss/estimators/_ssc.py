"""Sparse subspace clustering."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ekss.core.admm import prepare_system
from ekss.core.representation import affinity_of
from ekss.core.ssc import (
    Codes,
    block_codes,
    block_size,
    join_codes,
    make_objective,
    working_bytes,
)
from ekss.estimators._affinity import AffinityClusterer, Similarity, map_blocks
from ekss.estimators._base import check_bool, check_int, check_real, is_auto
from ekss.runtime.memory import LIBRARY_BYTES, SLACK, limit_of
from ekss.runtime.workers import Workers


class SSC(AffinityClusterer):
    r"""Sparse subspace clustering: connect each point to the few that combine to it.

    Every point is written as a sparse combination of the others,

    .. math:: \min_{c, e}\ \|c\|_1 + \lambda_e \|e\|_1
        + \frac{\lambda_z}{2} \|x_i - cX - e\|_2^2
        \quad \text{with } c_i = 0 \text{ (and } \textstyle\sum_j c_j = 1
        \text{ if affine)},

    and the graph of coefficients is cut by spectral clustering [1]_. A combination
    tends to use only points of the same subspace.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float or None, default=20.0
        Weight of the noise term; :math:`\lambda_z` is ``alpha`` divided by the smallest
        value, over all points, of the largest inner product with another point. It must
        be above 1; larger values give more coefficients and a better fit. None demands
        that points are fitted exactly except for outliers.
    alpha_outliers : float or None, default=None
        Weight of the term for sparse outlying entries, such as shadows in images;
        :math:`\lambda_e` is ``alpha_outliers`` divided by the second largest
        :math:`\ell_1` norm of a point. None leaves the term out.
    affine : bool, default=False
        Whether subspaces may miss the origin; best with ``normalize=False``.
    keep : float, default=1.0
        Share, in (0, 1], of the :math:`\ell_1` norm of a point's coefficients that is
        kept, largest coefficients first.
    equal_rows : bool, default=True
        Whether to divide the coefficients of each point by the largest of them before
        the graph is made, as the authors do. False lets badly fitted points count less.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-3
        A point is done when its coefficients violate the optimality conditions of the
        objective by at most ``tol``. The violation is a difference between slopes, on a
        scale where the slope of the term :math:`\|c\|_1` is 1. It therefore has no
        unit, and the scale of the data and the penalty play no part in it.
    penalty : float or "auto", default="auto"
        Penalty of the iteration. It affects the speed, not the coefficients of points
        that converge. If the iteration is stopped early, a large penalty leaves many
        small coefficients. "auto" is :math:`3 \sqrt{\lambda_z m}`, where m is the mean
        squared norm of the points; this is about :math:`3 \sqrt{\alpha}` for points of
        similar norm.
    polish : bool, default=True
        Whether an active set takes over from the iteration and finishes it exactly, for
        points with at most 256 nonzero coefficients. It is not available with the
        outlier term. False returns the iterate, as the authors do; their early stopping
        spreads coefficients over more points.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first. "auto" does so for linear
        subspaces but not for affine ones.
    memory_limit : int, str or None, default=None
        The most memory that the process may use, in bytes or as "4GB". Blocks of points
        are made smaller to stay below the limit. A fit that is still expected to need
        more is refused with MemoryError before it starts. None means the machine's free
        memory.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the spectral cut.
    verbose : int, default=0
        Show progress bars with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    affinity_ : csr_array of shape (n_samples, n_samples)
        Magnitudes of the coefficients, with rows scaled if ``equal_rows``, plus the
        transpose.
    coefficients_ : csr_array of shape (n_samples, n_samples)
        Row i expresses point i and holds only the coefficients that were kept.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity: one more than there are
        eigenvectors, if there is one more, to show the gap.
    n_iter_ : int
        Largest number of iterations of a point.
    converged_ : ndarray of shape (n_samples,), bool
        Which points reached ``tol``, so that their coefficients are optimal up to this
        tolerance.
    n_clusters_ : int
        Number of clusters.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Warns
    -----
    ConvergenceWarning
        When points did not reach ``tol`` within ``max_iter`` iterations.

    See Also
    --------
    SSCOMP : Sparse codes by matching pursuit, for many points.
    EnSC : Elastic net, for many points.
    LabelFreeSearch : Chooses the weight of the fit without labels.

    Notes
    -----
    An iteration takes O(N^2 min(N, 2 D)) time for N points in D dimensions, and twice
    that with outliers; points that are done drop out. Memory holds one factor of N
    min(N, D) numbers if N > 2 D (otherwise N^2) and, per worker, eleven arrays of N by
    a block of at most 256 points. No other N x N matrix is formed.

    References
    ----------
    .. [1] E. Elhamifar and R. Vidal, "Sparse subspace clustering: algorithm, theory,
       and applications", IEEE TPAMI 35(11), 2013.

    Examples
    --------
    >>> from ekss import SSC
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = SSC(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float | None = 20.0,
        alpha_outliers: float | None = None,
        affine: bool = False,
        keep: float = 1.0,
        equal_rows: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-3,
        penalty: float | str = "auto",
        polish: bool = True,
        normalize: bool | str = "auto",
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.alpha_outliers = alpha_outliers
        self.affine = affine
        self.keep = keep
        self.equal_rows = equal_rows
        self.max_iter = max_iter
        self.tol = tol
        self.penalty = penalty
        self.polish = polish
        self.normalize = normalize
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        given: dict[str, Any] = {
            "alpha": self.alpha,
            "alpha_outliers": self.alpha_outliers,
        }
        if not is_auto("penalty", self.penalty, "a number above 0"):
            given["penalty"] = self.penalty
        for name, value in given.items():
            if value is None and name != "penalty":
                continue
            if check_real(name, value, 0.0) == 0:
                raise ValueError(f"{name}={value} is not positive; choose above 0")
        check_bool("affine", self.affine)
        check_int("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0)
        check_bool("polish", self.polish)
        check_bool("equal_rows", self.equal_rows)
        if not 0 < check_real("keep", self.keep, 0.0) <= 1:
            raise ValueError(f"keep={self.keep} is outside (0, 1]; choose from there")

    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        codes = self._codes(points, workers)
        n_open = int((~codes.converged).sum())
        if n_open:
            warnings.warn(
                f"{n_open} of {len(points)} points did not reach tol={self.tol} in "
                f"max_iter={self.max_iter} iterations; raise either of them",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Similarity(
            affinity_of(codes.coefficients, equal_rows=bool(self.equal_rows)),
            {
                "coefficients_": codes.coefficients,
                "converged_": codes.converged,
                "n_iter_": int(codes.n_iter.max()),
            },
        )

    def _codes(self, points: NDArray[np.floating], workers: Workers) -> Codes:
        block = self._fitting_block(points)
        objective = make_objective(
            points, self.alpha, self.alpha_outliers, affine=bool(self.affine)
        )
        penalty = None if isinstance(self.penalty, str) else float(self.penalty)
        system = prepare_system(points, objective, penalty)
        solve = partial(
            block_codes,
            system,
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            polish=bool(self.polish),
            keep=self.keep,
        )
        return join_codes(
            map_blocks(solve, len(points), block, "coefficients", workers)
        )

    def _fitting_block(self, points: NDArray[np.floating]) -> int:
        """Return the usual block, or the largest half, quarter, ... that fits."""
        limit = limit_of(self.memory_limit, LIBRARY_BYTES + points.nbytes)
        block = block_size(len(points))
        while self._needed_bytes(points, block) > limit.bytes and block > 1:
            block //= 2
        limit.check(
            f"sparse coding of {len(points)} points of {points.shape[1]} features",
            self._needed_bytes(points, block),
            lambda: "use SSCOMP, EnSC or EKSS, which need less, or give fewer points",
        )
        return block

    def _needed_bytes(self, points: NDArray[np.floating], block: int) -> float:
        """Return the bytes of the process: with data, scaled data and results."""
        arrays = working_bytes(
            points.shape,
            points.itemsize,
            block,
            int(effective_n_jobs(self.n_jobs)),
            self.alpha_outliers is not None,
        )
        return LIBRARY_BYTES + points.nbytes + SLACK * (points.nbytes + arrays)
