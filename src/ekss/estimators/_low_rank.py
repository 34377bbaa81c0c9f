"""Self-expression with small or low-rank coefficients: LSR, LRSC and LRR."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ekss.core.linalg import unit_rows
from ekss.core.low_rank import (
    balanced_rows,
    low_rank_representation,
    low_rank_rows,
    ridge_rows,
)
from ekss.estimators._affinity import (
    AffinityClusterer,
    Similarity,
    joined,
    nearest_neighbours,
)
from ekss.estimators._base import check_int, check_real
from ekss.estimators._tsc import check_scale, fewest, neighbors_of
from ekss.graph.votes import Neighbours
from ekss.runtime.workers import Workers


class CoefficientClusterer(AffinityClusterer):
    """Cut the graph of the largest coefficients, which are inner products of rows.

    Subclasses define the rows: ``_factor`` returns one row per point, and further
    fitted attributes by name. Rows are scaled to unit length, which divides a
    coefficient by the square roots of both diagonal entries, so that no point dominates
    the graph.
    """

    alpha: float
    n_neighbors: str | int
    doubly_stochastic: float | None

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        check_real("alpha", self.alpha, 0.0)
        check_scale(self.doubly_stochastic)
        neighbors_of(self.n_neighbors, len(points), self.n_clusters)

    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        factor, fitted = self._factor(points, workers)
        rows = unit_rows(factor)
        q = neighbors_of(
            self.n_neighbors,
            len(points),
            self.n_clusters,
            fewest(self.doubly_stochastic),
        )
        found = nearest_neighbours(rows, q, "coefficients", workers)
        weights = self._weights(found.value)
        affinity = joined(Neighbours(found.index, weights), self.doubly_stochastic)
        return Similarity(affinity, {"n_neighbors_": q, **fitted})

    @abstractmethod
    def _factor(
        self, points: NDArray[np.floating], workers: Workers
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Return one row per point, and fitted attributes."""

    def _weights(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of edges whose inner products have these sizes."""
        return value

    def _cluster_energy(self, points: NDArray[np.floating]) -> float:
        """Return the squared length of all points, per cluster."""
        squares = np.einsum("ij,ij->", points, points, dtype=np.float64)
        return float(squares) / int(self.n_clusters)


class LSR(CoefficientClusterer):
    r"""Least-squares regression: write every point by all points, with small weights.

    The coefficients :math:`\min_C \|X - C X\|^2 + \alpha s \|C\|^2` have a closed form.
    They are not sparse: points that resemble each other get similar coefficients. The
    largest coefficients of each point, divided by the square roots of both diagonal
    entries, form a graph that is cut by spectral clustering [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    alpha : float, default=0.1
        Weight of the squared coefficients, in units of s, the squared length of all
        points divided by the number of clusters.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point: those with the largest coefficients. "auto" is max(3,
        n_samples / (20 n_clusters)), rounded up, but at least 30 with
        ``doubly_stochastic``, which drops most of them.
    doubly_stochastic : float or None, default=None
        Scale at which the graph is replaced by the nearest doubly stochastic graph, in
        which all points have the same degree and weak edges are removed. A larger scale
        removes more edges; try 1 and 3 (:func:`ekss.graph.doubly_stochastic`). None
        leaves the graph as it is.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does.
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
    affinity_ : csr_array of shape (n_samples, n_samples)
        Symmetric graph that was cut.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity.
    n_clusters_, n_neighbors_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    LRSC : The same with a low-rank penalty.

    Notes
    -----
    A fit takes O(n_samples^2 min(n_samples, n_features)) time in matrix products, plus
    one eigendecomposition of the smaller Gram matrix. No n_samples x n_samples matrix
    is formed unless there are fewer points than features: coefficients are inner
    products of rows, and only the largest are kept.

    References
    ----------
    .. [1] C.-Y. Lu et al., "Robust and Efficient Subspace Segmentation via Least
       Squares Regression", ECCV, 2012.

    Examples
    --------
    >>> from ekss import LSR
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = LSR(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.1,
        n_neighbors: str | int = "auto",
        doubly_stochastic: float | None = None,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.doubly_stochastic = doubly_stochastic
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _factor(
        self, points: NDArray[np.floating], workers: Workers
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        scale = self._cluster_energy(points)
        with workers.stage("regression"):
            return ridge_rows(points, float(self.alpha) * scale), {}


class LRSC(CoefficientClusterer):
    r"""Low-rank subspace clustering: coefficients of small nuclear norm.

    The coefficients :math:`\min_C \frac12 \|X - C X\|^2 + \alpha s \|C\|_*` have a
    closed form: strong singular directions of the points are kept and weak ones are
    dropped. With ``alpha=0`` they are the shape interaction matrix, which is what LRR
    finds for points without noise. The largest coefficients of each point, divided by
    the square roots of both diagonal entries, form a graph that is cut by spectral
    clustering [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    alpha : float, default=0.03
        Weight of the nuclear norm, in units of s, the squared length of all points
        divided by the number of clusters.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point: those with the largest coefficients. "auto" is max(3,
        n_samples / (20 n_clusters)), rounded up, but at least 30 with
        ``doubly_stochastic``, which drops most of them.
    doubly_stochastic : float or None, default=None
        Scale at which the graph is replaced by the nearest doubly stochastic graph, in
        which all points have the same degree and weak edges are removed. A larger scale
        removes more edges; try 1 and 3 (:func:`ekss.graph.doubly_stochastic`). None
        leaves the graph as it is.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does.
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
    affinity_ : csr_array of shape (n_samples, n_samples)
        Symmetric graph that was cut.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity.
    rank_ : int
        Number of singular directions that were kept.
    n_clusters_, n_neighbors_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    LSR : The same with a squared penalty.
    LRR : Also low-rank, but treats whole points as outliers.

    Notes
    -----
    Cost and memory are those of :class:`LSR`.

    References
    ----------
    .. [1] R. Vidal, P. Favaro, "Low Rank Subspace Clustering (LRSC)", Pattern
       Recognition Letters 43, 2014.

    Examples
    --------
    >>> from ekss import LRSC
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = LRSC(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.03,
        n_neighbors: str | int = "auto",
        doubly_stochastic: float | None = None,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.doubly_stochastic = doubly_stochastic
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _factor(
        self, points: NDArray[np.floating], workers: Workers
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        scale = self._cluster_energy(points)
        with workers.stage("decomposition"):
            rows = low_rank_rows(points, float(self.alpha) * scale)
        return rows, {"rank_": rows.shape[1]}


class LRR(CoefficientClusterer):
    r"""Low-rank representation: coefficients of small nuclear norm, with outliers.

    The coefficients minimise :math:`\|C\|_* + \alpha \sum_i \|(X - C X)_i\|`: some
    points may be left entirely unexplained. With :math:`C = P S Q^T`, the squared
    cosines between rows of :math:`P S^{1/2}` form a graph. The graph of the largest
    edges of each point is cut by spectral clustering [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    alpha : float, default=1.0
        Weight of the errors of points. Errors are relative to the root mean squared
        length of a point.
    max_iter : int, default=300
        Maximum number of ADMM iterations.
    tol : float, default=0.001
        Stop when the objective is proven to be within this share of its minimum.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point: those with the largest coefficients. "auto" is max(3,
        n_samples / (20 n_clusters)), rounded up, but at least 30 with
        ``doubly_stochastic``, which drops most of them.
    doubly_stochastic : float or None, default=None
        Scale at which the graph is replaced by the nearest doubly stochastic graph, in
        which all points have the same degree and weak edges are removed. A larger scale
        removes more edges; try 1 and 3 (:func:`ekss.graph.doubly_stochastic`). None
        leaves the graph as it is.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does.
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
    affinity_ : csr_array of shape (n_samples, n_samples)
        Symmetric graph that was cut.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity.
    errors_ : ndarray of shape (n_samples,)
        Length of the part of each point that the coefficients leave unexplained; large
        for outliers.
    gap_ : float
        The objective exceeds its minimum by at most this share.
    n_iter_ : int
        Number of ADMM iterations.
    n_clusters_, n_neighbors_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    LRSC : Low-rank coefficients in closed form, for noise instead of outliers.

    Notes
    -----
    An iteration takes O(n_samples r^2) time, where r is the rank of the points, because
    C is found as a product of two matrices with r columns.

    References
    ----------
    .. [1] G. Liu et al., "Robust Recovery of Subspace Structures by Low-Rank
       Representation", IEEE Transactions on Pattern Analysis and Machine Intelligence
       35(1), 2013.

    Examples
    --------
    >>> from ekss import LRR
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = LRR(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 1.0,
        max_iter: int = 300,
        tol: float = 1e-3,
        n_neighbors: str | int = "auto",
        doubly_stochastic: float | None = None,
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.doubly_stochastic = doubly_stochastic
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        super()._check_parameters(points)
        if self.alpha <= 0:
            raise ValueError(
                f"alpha={self.alpha} leaves every point unexplained; choose above 0"
            )
        check_int("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0)

    def _factor(
        self, points: NDArray[np.floating], workers: Workers
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        energy = self._cluster_energy(points) * int(self.n_clusters) / len(points)
        scale = np.sqrt(energy) if energy > 0 else 1.0
        max_iter = int(self.max_iter)
        with workers.stage("iterations", max_iter) as advance:
            run = low_rank_representation(
                points / scale,
                float(self.alpha),
                max_iter=max_iter,
                tol=float(self.tol),
                report=advance,
            )
        if run.gap > self.tol:
            warnings.warn(
                f"LRR stopped after max_iter={max_iter} iterations, at most "
                f"{run.gap:.2g} above the minimum (tol={self.tol}); raise max_iter or "
                "tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        fitted = {"errors_": scale * run.errors, "gap_": run.gap, "n_iter_": run.n_iter}
        return balanced_rows(run), fitted

    def _weights(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.square(value)
