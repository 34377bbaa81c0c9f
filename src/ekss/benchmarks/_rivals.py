"""Clusterers of scikit-learn as the tables take them.

Each function makes one from the number of clusters and a seed; what is not given is the
default of scikit-learn, or what its users take. The labels are scored as they come,
but for noise: see :func:`noise_alone`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass
class OnComponents:
    """A clusterer that sees the leading principal components of the points.

    Attributes
    ----------
    clusterer : object
        It has ``fit_predict``.
    n_components : int or None
        At most so many components; None is the points as they are.
    whiten : bool
        Whether components are scaled to equal variance.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point after the fit; points of noise are alone.
    """

    clusterer: Any
    n_components: int | None = None
    whiten: bool = False
    labels_: NDArray[np.int64] = field(init=False, repr=False)

    def fit(self, X: NDArray[np.floating]) -> Self:
        """Cluster the points."""
        self.labels_ = noise_alone(self.clusterer.fit_predict(self._seen(X)))
        return self

    def _seen(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the points as the clusterer sees them."""
        if self.n_components is None:
            return X
        from sklearn.decomposition import PCA

        count = min(self.n_components, *X.shape)
        # Exact, so no seed is needed; in float64, for covariances that are nearly
        # singular.
        reduce = PCA(count, whiten=self.whiten, svd_solver="covariance_eigh")
        seen: NDArray[np.floating] = reduce.fit_transform(X.astype(np.float64))
        return seen


def noise_alone(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Make each point of noise, of a negative label, a cluster of its own.

    A clusterer that calls points noise has not found their cluster: each of them is an
    error, up to one for a true cluster that nothing else matches.

    Examples
    --------
    >>> import numpy as np
    >>> noise_alone(np.array([-1, 0, 1, -1, 1]))
    array([2, 0, 1, 3, 1])
    """
    labels = np.asarray(labels, np.int64)
    noise = labels < 0
    alone = labels.max(initial=-1) + np.cumsum(noise)
    return np.where(noise, alone, labels)


def kmeans(
    n_clusters: int,
    *,
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_components: int | None = None,
    whiten: bool = False,
) -> OnComponents:
    """Make k-means with ten starts."""
    from sklearn.cluster import KMeans

    found = KMeans(n_clusters, n_init=10, random_state=random_state)
    return OnComponents(found, n_components, whiten)


def spectral(
    n_clusters: int,
    *,
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_neighbors: int = 10,
) -> OnComponents:
    """Make spectral clustering of the graph of nearest neighbours."""
    from sklearn.cluster import SpectralClustering

    return OnComponents(
        SpectralClustering(
            n_clusters,
            affinity="nearest_neighbors",
            n_neighbors=n_neighbors,
            random_state=random_state,
            n_jobs=n_jobs,
        )
    )


def mixture(
    n_clusters: int,
    *,
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_components: int | None = None,
    covariance_type: str = "full",
) -> OnComponents:
    """Make a mixture of Gaussians."""
    from sklearn.mixture import GaussianMixture

    found = GaussianMixture(
        n_clusters, covariance_type=covariance_type, random_state=random_state
    )
    return OnComponents(found, n_components)


def hdbscan(
    n_clusters: int,
    *,
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_components: int | None = None,
    min_cluster_size: int = 5,
    min_samples: int | None = None,
) -> OnComponents:
    """Make HDBSCAN, which finds the number of clusters itself and draws nothing."""
    from sklearn.cluster import HDBSCAN

    found = HDBSCAN(
        min_cluster_size=min_cluster_size,
        min_samples=min_samples,
        n_jobs=n_jobs,
        copy=True,
    )
    return OnComponents(found, n_components)
