"""Basis updates of K-subspaces, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats, fit_flats, group_rows
from ekss.core.cop import update_cop

Update = Callable[
    [NDArray[np.floating], NDArray[np.int32], NDArray[np.floating], Flats], Flats
]

# Rows gathered at once: small enough to stay in cache until the product has used them.
_GATHERED_ROWS = 128


def update_pca(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    flats: Flats,
) -> Flats:
    """Exact PCA of each cluster; directions the points leave free stay as they were."""
    n_subspaces, _, dim = flats.bases.shape
    affine = flats.offsets is not None
    fitted = fit_flats(X, labels, n_subspaces, dim, affine=affine, spare=flats.bases)
    sizes = np.bincount(labels, minlength=n_subspaces)
    return Flats(fitted.bases, _keep_empty(fitted.offsets, flats.offsets, sizes))


@dataclass(frozen=True)
class Moments:
    """Sums over the points of each cluster: all that a power step needs to know.

    Moments of blocks of rows add up to those of all rows.

    Attributes
    ----------
    products : ndarray of shape (n_subspaces, dim, n_features)
        Sum of coordinate times point, for each direction of the cluster's subspace.
    sums : ndarray of shape (n_subspaces, n_features)
        Sum of the points; zero for linear subspaces, which do not need it.
    sizes : ndarray of shape (n_subspaces,)
        Number of points.
    """

    products: NDArray[np.floating]
    sums: NDArray[np.floating]
    sizes: NDArray[np.int64]

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of points, in float64."""
        return Moments(
            np.add(self.products, other.products, dtype=np.float64),
            np.add(self.sums, other.sums, dtype=np.float64),
            self.sizes + other.sizes,
        )


def power_moments(
    X: NDArray[np.floating],
    labels: NDArray[np.integer],
    own: NDArray[np.floating],
    flats: Flats,
) -> Moments:
    """Sum up points and their coordinates ``own`` in the subspaces assigned to them."""
    n_subspaces, n_features, dim = flats.bases.shape
    products = np.zeros((n_subspaces, dim, n_features), X.dtype)
    sums = np.zeros((n_subspaces, n_features), X.dtype)
    for k, rows, points in cluster_blocks(X, labels, n_subspaces):
        products[k] += own[rows].T @ points
        if flats.offsets is not None:
            sums[k] += points.sum(axis=0)
    return Moments(products, sums, np.bincount(labels, minlength=n_subspaces))


def power_step(moments: Moments, flats: Flats) -> Flats:
    """Move each subspace by one step of orthogonal iteration."""
    products = moments.products.transpose(0, 2, 1)
    if flats.offsets is None:
        return Flats(_orthonormal(products, flats.bases))
    sums, dtype = moments.sums, moments.sums.dtype
    means = sums / np.maximum(moments.sizes, 1)[:, None].astype(dtype)
    along = np.einsum("kd,kdj->kj", sums, flats.bases)
    products = products - means[:, :, None] * along[:, None, :]
    bases = _orthonormal(products, flats.bases)
    inside = np.einsum("kdj,kd->kj", bases, means)
    offsets = means - np.einsum("kdj,kj->kd", bases, inside)
    return Flats(bases, _keep_empty(offsets, flats.offsets, moments.sizes))


def update_power(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    flats: Flats,
) -> Flats:
    r"""One warm step of orthogonal iteration: :math:`U_k \leftarrow orth(X_k^T P_k)`.

    It reuses the coordinates :math:`P_k = X_k U_k` that the assignment has just made
    and never lowers the energy that a subspace captures, so the cost of K-subspaces
    still never rises. An empty cluster keeps its subspace.
    """
    return power_step(power_moments(X, labels, own, flats), flats)


UPDATES: dict[str, Update] = {
    "pca": update_pca,
    "power": update_power,
    "cop": update_cop,
}


def assigned_gains(
    X: NDArray[np.floating], labels: NDArray[np.int32], flats: Flats
) -> float:
    """Sum over points of what their assigned subspace takes off the squared norm."""
    total = 0.0
    for k, _, points in cluster_blocks(X, labels, len(flats.bases)):
        inside = points @ flats.bases[k]
        total += float(np.einsum("ij,ij->", inside, inside))
        if flats.offsets is not None:
            offset = flats.offsets[k]
            total += float(2 * (points @ offset).sum() - len(points) * offset @ offset)
    return total


def cluster_blocks(
    X: NDArray[np.floating], labels: NDArray[np.integer], n_clusters: int
) -> Iterator[tuple[int, NDArray[np.integer], NDArray[np.floating]]]:
    """Yield (cluster, row numbers, rows of X) in blocks, cluster after cluster.

    The rows are a buffer that the next block overwrites.
    """
    buffer = np.empty((min(_GATHERED_ROWS, len(X)), X.shape[1]), X.dtype)
    for k, members in enumerate(group_rows(labels, n_clusters)):
        for first in range(0, len(members), _GATHERED_ROWS):
            rows = members[first : first + _GATHERED_ROWS]
            points = buffer[: len(rows)]
            # mode="clip" writes straight into the buffer; the indices are all valid.
            np.take(X, rows, axis=0, out=points, mode="clip")
            yield k, rows, points


def _keep_empty(
    offsets: NDArray[np.floating] | None,
    previous: NDArray[np.floating] | None,
    sizes: NDArray[np.integer],
) -> NDArray[np.floating] | None:
    """Return the offsets, with the previous ones where a cluster has no point."""
    if offsets is None or previous is None:
        return None
    return np.where(sizes[:, None] > 0, offsets, previous)


def _orthonormal(
    moments: NDArray[np.floating], previous: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Orthonormalise each set of columns; where all are zero keep the previous ones."""
    bases = np.linalg.qr(moments)[0]
    untouched = ~moments.any(axis=(1, 2))
    bases[untouched] = previous[untouched]
    return bases
