"""Thresholding-based subspace clustering."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from ekss.core.tsc import angle_weights
from ekss.estimators._affinity import (
    AffinityClusterer,
    Similarity,
    joined,
    nearest_neighbours,
)
from ekss.estimators._base import check_int, check_real, is_auto
from ekss.graph.votes import Neighbours
from ekss.runtime.workers import Workers

# Neighbours at least: of the EKSS paper's experiments, and where a projection chooses
# among them, of which it keeps 4 to 8 a point on images, whether it gets 30 or 50.
_FEWEST, _CANDIDATES = 3, 30


class TSC(AffinityClusterer):
    r"""Thresholding-based subspace clustering: cut the graph of smallest angles.

    Each point is joined to the q points with the largest
    :math:`|\langle x_i, x_j \rangle|`, with weight :math:`\exp(-2 \arccos |\langle x_i,
    x_j \rangle|)` for points of unit length. The graph is averaged with its transpose
    and cut by spectral clustering [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point. "auto" is max(3, n_samples / (20 n_clusters)),
        rounded up, but at least 30 with ``doubly_stochastic``, which drops most of
        them.
    doubly_stochastic : float or None, default=None
        Scale at which the graph is replaced by the nearest doubly stochastic graph, in
        which all points have the same degree and weak edges are removed. A larger scale
        removes more edges; try 1 and 3 (:func:`ekss.graph.doubly_stochastic`). None
        leaves the graph as it is.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does. Without scaling,
        neighbours are chosen by the inner products of the unscaled points, which
        favours long points. The weights depend on angles in either case.
    missing : {"observed", "zero", "error"}, default="observed"
        What NaN in X means. "observed" clusters by the entries that are present and
        fills in the others from the subspaces of the clusters. "zero" treats missing
        entries as zero, as in the theory. "error" refuses them.
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
    LabelFreeSearch : Chooses the number of neighbours without labels.
    SSC : Sparse codes instead of inner products.

    Notes
    -----
    A fit takes O(n_samples^2 n_features) time in matrix products and O(n_samples
    (n_features + n_neighbors)) memory. No n_samples x n_samples matrix is formed.

    References
    ----------
    .. [1] R. Heckel, H. Bölcskei, "Robust Subspace Clustering via Thresholding", IEEE
       Transactions on Information Theory 61(11), 2015.

    Examples
    --------
    >>> from ekss import TSC
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = TSC(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: str | int = "auto",
        doubly_stochastic: float | None = None,
        normalize: bool | str = "auto",
        missing: str = "observed",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.doubly_stochastic = doubly_stochastic
        self.normalize = normalize
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        check_scale(self.doubly_stochastic)
        neighbors_of(self.n_neighbors, len(points), self.n_clusters)

    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        q = neighbors_of(
            self.n_neighbors,
            len(points),
            self.n_clusters,
            fewest(self.doubly_stochastic),
        )
        found = nearest_neighbours(points, q, "angles", workers)
        # Of unit rows the inner products are cosines already.
        weights = angle_weights(_cosines(points, found.index, found.value))
        weights = np.where(found.index >= 0, weights, 0)
        affinity = joined(Neighbours(found.index, weights), self.doubly_stochastic)
        return Similarity(affinity, {"n_neighbors_": q})


def check_scale(scale: float | None) -> None:
    """Refuse what is no scale of a doubly stochastic graph."""
    if scale is not None and check_real("doubly_stochastic", scale, 0.0) == 0:
        raise ValueError(
            f"doubly_stochastic={scale} leaves nothing of the graph; choose above 0, "
            "or None for the graph as it is"
        )


def fewest(scale: float | None) -> int:
    """Return how many neighbours "auto" takes at least."""
    return _FEWEST if scale is None else _CANDIDATES


def neighbors_of(
    n_neighbors: str | int, n_samples: int, n_clusters: int, least: int = _FEWEST
) -> int:
    """Apply the rule of the EKSS paper's experiments, or check the number given."""
    if is_auto("n_neighbors", n_neighbors, "an integer"):
        return min(max(least, ceil(n_samples / (20 * n_clusters))), n_samples - 1)
    return check_int("n_neighbors", n_neighbors, 1, n_samples - 1, limit="n_samples-1")


def _cosines(
    points: NDArray[np.floating],
    index: NDArray[np.int32],
    value: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Divide inner products by the lengths of both points."""
    lengths = np.linalg.norm(points, axis=1).astype(np.float64)
    lengths[lengths == 0] = 1.0
    return value / lengths[:, None] / lengths[index]
