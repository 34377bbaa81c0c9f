"""Bases and flats: random ones, fitted ones, and how points project on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ekss.core.eigen import top_eigenpairs


@dataclass(frozen=True)
class Flats:
    """K subspaces of one dimension, linear or affine.

    Attributes
    ----------
    bases : ndarray of shape (n_subspaces, n_features, dim)
        Orthonormal columns.
    offsets : ndarray of shape (n_subspaces, n_features) or None
        For affine subspaces the point of each that is nearest to the origin, so it
        is orthogonal to the basis; None for linear subspaces.
    """

    bases: NDArray[np.floating]
    offsets: NDArray[np.floating] | None = None


def random_bases(
    n_subspaces: int,
    n_features: int,
    dim: int,
    rng: np.random.Generator,
    dtype: DTypeLike = np.float64,
) -> NDArray[np.floating]:
    """Draw bases uniformly from the Stiefel manifold St(n_features, dim).

    The Q of a Gaussian matrix is uniform once the signs are fixed by a positive
    diagonal of R.

    Parameters
    ----------
    n_subspaces, n_features, dim : int
        How many bases, and their shape.
    rng : numpy.random.Generator
        Source of randomness.
    dtype : dtype, default=float64
        Type of the result; the draw is the same for every type.

    Returns
    -------
    bases : ndarray of shape (n_subspaces, n_features, dim)
    """
    q, r = np.linalg.qr(rng.standard_normal((n_subspaces, n_features, dim)))
    signs = np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)
    return (q * signs[:, None, :]).astype(dtype, copy=False)


def principal_basis(
    points: NDArray[np.floating], dim: int, spare: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return the leading right singular vectors of the points, exactly ``dim`` of them.

    The smaller of the two Gram matrices is decomposed, in float64. Points of lower
    rank than ``dim`` leave columns free; they are filled from ``spare``, so the result
    is always orthonormal and contains the span of the points.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        May be empty.
    dim : int
        Columns wanted, at most n_features.
    spare : ndarray of shape (n_features, dim)
        Orthonormal columns used where the points do not determine a direction.

    Returns
    -------
    basis : ndarray of shape (n_features, dim)
    """
    n, n_features = points.shape
    if n == 0:
        return spare
    wide = points.astype(np.float64, copy=False)
    top = min(dim, n, n_features)
    if n < n_features:
        values, vectors = top_eigenpairs(wide @ wide.T, top)
        vectors = wide.T @ vectors
    else:
        values, vectors = top_eigenpairs(wide.T @ wide, top)
    rank = int(np.sum(values > values[0] * 1e-14)) if values[0] > 0 else 0
    vectors = vectors[:, :rank]
    if rank == dim:
        return np.linalg.qr(vectors)[0].astype(points.dtype, copy=False)
    filled = np.linalg.qr(np.hstack([vectors, spare]))[0][:, :dim]
    return filled.astype(points.dtype, copy=False)


def fit_flat(
    points: NDArray[np.floating],
    dim: int,
    *,
    affine: bool,
    spare: NDArray[np.floating],
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Fit one subspace by exact PCA; return its basis and its point next to the origin.

    For linear subspaces that point is the origin itself.
    """
    origin = np.zeros(points.shape[1], points.dtype)
    if not affine or not len(points):
        return principal_basis(points, dim, spare), origin
    mean = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    basis = principal_basis(points - mean, dim, spare)
    return basis, mean - basis @ (basis.T @ mean)


def fit_flats(
    X: NDArray[np.floating],
    labels: NDArray[np.integer],
    n_subspaces: int,
    dim: int,
    *,
    affine: bool,
    spare: NDArray[np.floating],
) -> Flats:
    """Fit one subspace to the points of each label by exact PCA.

    ``spare`` (n_subspaces, n_features, dim) fills what the points leave free.
    """
    groups = group_rows(labels, n_subspaces)
    fitted = [
        fit_flat(X[rows], dim, affine=affine, spare=spare[k])
        for k, rows in enumerate(groups)
    ]
    bases = np.stack([basis for basis, _ in fitted])
    offsets = np.stack([offset for _, offset in fitted]) if affine else None
    return Flats(bases, offsets)


def fit_clusters(
    X: NDArray[np.floating],
    labels: NDArray[np.integer],
    n_clusters: int,
    dim: int,
    *,
    affine: bool,
    seed: int,
) -> Flats:
    """Fit one subspace per cluster; random directions fill what small ones leave free.

    Like :func:`fit_flats` where no earlier subspaces are at hand.
    """
    rng = np.random.default_rng(seed)
    spare = random_bases(n_clusters, X.shape[1], dim, rng, X.dtype)
    return fit_flats(X, labels, n_clusters, dim, affine=affine, spare=spare)


def group_rows(labels: NDArray[np.integer], n_groups: int) -> list[NDArray[np.integer]]:
    """Return the row indices of each label 0..n_groups-1, ascending."""
    # NumPy sorts small integers by radix, many times faster than wide ones.
    order = np.argsort(labels.astype(np.min_scalar_type(n_groups)), kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_groups))
    return np.split(order, ends[:-1])


def distances_to_flats(X: NDArray[np.floating], flats: Flats) -> NDArray[np.floating]:
    """Distance of every point to every subspace.

    Computed from the residual vectors, not from a difference of energies, so tiny
    distances keep their precision; and each of these vectors is divided by its largest
    entry first, so no square over- or underflows.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_subspaces)
    """
    n_subspaces = len(flats.bases)
    out = np.empty((len(X), n_subspaces), X.dtype)
    for k, basis in enumerate(flats.bases):
        centred = X if flats.offsets is None else X - flats.offsets[k]
        rest = centred - (centred @ basis) @ basis.T
        largest = np.abs(rest).max(axis=1)
        rest /= np.where(largest > 0, largest, 1)[:, None]
        out[:, k] = largest * np.sqrt(np.einsum("ij,ij->i", rest, rest))
    return out


def squared_residuals(X: NDArray[np.floating], flats: Flats) -> NDArray[np.floating]:
    """Squared distance of every point to every subspace.

    Returns
    -------
    residuals : ndarray of shape (n_samples, n_subspaces)
    """
    return np.square(distances_to_flats(X, flats))
