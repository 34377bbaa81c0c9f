"""Spectral local best-fit flats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ekss.core.slbf import (
    ROUNDING,
    block_size,
    distances_to_each,
    flat_weights,
    local_flats,
    nearest_to_flats,
)
from ekss.ensemble.dimension import estimate_dim
from ekss.estimators._affinity import AffinityClusterer, Similarity, map_blocks
from ekss.estimators._base import check_int, is_auto
from ekss.estimators._tsc import neighbors_of
from ekss.graph.votes import Neighbours, directed_graph
from ekss.runtime.workers import Workers


class SLBF(AffinityClusterer):
    r"""Spectral local best-fit flats: points near each other's local subspaces.

    A flat (a subspace that may miss the origin if ``affine``) is fitted to the
    neighbourhood of every point. The number of points in each neighbourhood is chosen
    by the error of the flat relative to the size of the neighbourhood. Points that lie
    near each other's flats are joined, however far apart they are, and the graph is cut
    by spectral clustering [1]_.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    subspace_dim : "auto" or int, default="auto"
        Dimension of the flats. "auto" estimates it from neighbourhoods, as in
        :class:`KSS`.
    affine : bool, default=False
        Whether subspaces may miss the origin.
    n_neighbors : "auto" or int, default="auto"
        Number of points joined to each flat: those nearest to it. "auto" is max(3,
        n_samples / (20 n_clusters)), rounded up, or ``subspace_dim`` if that is more.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first. "auto" does so for linear
        subspaces but not for affine ones.
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
    neighborhood_sizes_ : ndarray of shape (n_samples,)
        Number of points to which the flat of each point was fitted, including the point
        itself.
    n_clusters_, n_neighbors_, subspace_dim_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    GSC : Subspaces of points grow by one neighbour at a time.

    Notes
    -----
    A fit takes O(n_samples^2 n_features subspace_dim) time in matrix products and
    O(n_samples (n_features + n_neighbors)) memory. No n_samples x n_samples matrix is
    formed.

    References
    ----------
    .. [1] T. Zhang, A. Szlam, Y. Wang, G. Lerman, "Hybrid linear modeling via local
       best-fit flats", International Journal of Computer Vision 100(3), 2012.

    Examples
    --------
    >>> from ekss import SLBF
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> labels = SLBF(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        subspace_dim: str | int = "auto",
        *,
        affine: bool = False,
        n_neighbors: str | int = "auto",
        normalize: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.affine = affine
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
        n, affine = len(points), bool(self.affine)
        if affine:  # far from the origin, distances to flats would lose digits
            points = points - points.mean(axis=0)
        if self.subspace_dim == "auto":
            rng = np.random.default_rng(0)
            dim = estimate_dim(points, int(self.n_clusters), rng, affine=affine)
        else:
            dim = int(self.subspace_dim)
        q = neighbors_of(self.n_neighbors, n, self.n_clusters)
        if self.n_neighbors == "auto":
            q = min(max(q, dim), n - 1)

        def near(rows: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
            flats = local_flats(points, rows, dim, affine=affine)
            index = nearest_to_flats(points, rows, flats, q)
            distances = distances_to_each(points, flats, list(index))
            return index, distances.reshape(index.shape), flats.sizes

        def back(rows: NDArray[np.int64]) -> NDArray[np.float64]:
            # Flats are fitted again: kept, they would need n_samples bases.
            flats = local_flats(points, rows, dim, affine=affine)
            return distances_to_each(points, flats, lists[rows[0] : rows[-1] + 1])

        block = block_size(n, dim)
        parts = map_blocks(near, n, block, "flats", workers)
        index, onward, sizes = map(np.concatenate, zip(*parts, strict=True))
        # Pairs in order of the listed point, and for each the points that list it.
        order = np.argsort(index, axis=None, kind="stable")
        ends = np.cumsum(np.bincount(index.ravel(), minlength=n))
        lists = np.split(order // q, ends[:-1])
        returned = np.empty(index.size)
        returned[order] = np.concatenate(
            map_blocks(back, n, block, "distances", workers)
        )
        length = float(np.linalg.norm(points)) / n**0.5
        rounding = ROUNDING * (length or 1.0)
        weights = flat_weights(index, onward, returned.reshape(index.shape), rounding)
        directed = directed_graph(Neighbours(index, weights))
        affinity = sparse.csr_array(directed.maximum(directed.T))
        affinity.eliminate_zeros()
        affinity.sort_indices()
        return Similarity(
            affinity,
            {"n_neighbors_": q, "subspace_dim_": dim, "neighborhood_sizes_": sizes},
        )
