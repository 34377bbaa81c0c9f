"""Greedy subspace clustering."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.core.gsc import block_size, greedy_neighbours
from ekss.core.linalg import unit_rows
from ekss.ensemble.dimension import estimate_dim
from ekss.estimators._affinity import AffinityClusterer, Similarity, map_blocks
from ekss.estimators._base import check_int, is_auto
from ekss.estimators._tsc import neighbors_of
from ekss.graph.votes import Neighbours, symmetric_graph
from ekss.runtime.workers import Workers


class GSC(AffinityClusterer):
    r"""Greedy subspace clustering: neighbours nearest to the span of those before.

    The subspace of a point begins as its own direction. The point nearest to it becomes
    a neighbour and adds its direction, until the subspace has ``subspace_dim``
    dimensions; the remaining neighbours are those nearest to the whole subspace. The
    graph of neighbours, averaged with its transpose, is cut by spectral clustering
    [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    subspace_dim : "auto" or int, default="auto"
        Dimension at which the subspace of a point stops growing. "auto" estimates it
        from neighbourhoods, as in :class:`KSS`.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point. "auto" is max(3, n_samples / (20 n_clusters)),
        rounded up, or ``subspace_dim`` if that is more.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first; "auto" does. Without scaling, the
        point with the longest projection becomes a neighbour, so long points are
        preferred.
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
    n_clusters_, n_neighbors_, subspace_dim_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    TSC : Joins the points at the smallest angles in one step.

    Notes
    -----
    A fit takes O(n_samples^2 n_features subspace_dim) time in matrix products and
    O(n_samples (n_features + n_neighbors)) memory. No n_samples x n_samples matrix is
    formed.

    References
    ----------
    .. [1] D. Park, C. Caramanis, S. Sanghavi, "Greedy Subspace Clustering", NeurIPS,
       2014.

    Examples
    --------
    >>> from ekss import GSC
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = GSC(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        subspace_dim: str | int = "auto",
        *,
        n_neighbors: str | int = "auto",
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.n_neighbors = n_neighbors
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self, points: NDArray[np.floating]) -> None:
        if not is_auto("subspace_dim", self.subspace_dim, "an integer"):
            check_int(
                "subspace_dim",
                self.subspace_dim,
                1,
                points.shape[1],
                limit="n_features",
                also=' or "auto"',
            )
        neighbors_of(self.n_neighbors, len(points), self.n_clusters)

    def _build_affinity(
        self, points: NDArray[np.floating], workers: Workers
    ) -> Similarity:
        n_samples = len(points)
        if self.subspace_dim == "auto":
            rng = np.random.default_rng(0)
            dim = estimate_dim(unit_rows(points), int(self.n_clusters), rng)
        else:
            dim = int(self.subspace_dim)
        q = neighbors_of(self.n_neighbors, n_samples, self.n_clusters)
        if self.n_neighbors == "auto":
            q = min(max(q, dim), n_samples - 1)
        parts = map_blocks(
            lambda rows: greedy_neighbours(points, rows, dim, q),
            n_samples,
            block_size(n_samples),
            "neighbours",
            workers,
        )
        index = np.concatenate(parts)
        affinity = symmetric_graph(Neighbours(index, np.ones(index.shape)))
        return Similarity(affinity, {"n_neighbors_": q, "subspace_dim_": dim})
