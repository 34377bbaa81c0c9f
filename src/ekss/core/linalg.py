"""Linear algebra: unit rows, leading eigenpairs and directions, bases and flats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg
from scipy.linalg import LinAlgError, eigh


def unit_rows(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Scale every row to unit length, x / ||x||; zero rows stay zero.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)

    Returns
    -------
    scaled : ndarray of shape (n_samples, n_features)
        Of the dtype of ``points``.

    Notes
    -----
    Rows are divided by their largest entry first, so that no square over- or
    underflows. O(n_samples n_features) time.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.core.linalg import unit_rows
    >>> unit_rows(np.array([[3e200, 4e200], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    largest = np.abs(points).max(axis=1, keepdims=True)
    points = points / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(norms > 0, norms, 1)


def without(
    points: NDArray[np.floating],
    removed: NDArray[np.floating] | None,
    *,
    unit: bool,
) -> NDArray[np.floating]:
    """Return points less their part along some directions.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    removed : ndarray of shape (n_removed, n_features) or None
        Orthonormal rows; None is no direction.
    unit : bool
        Whether points are scaled to unit length, before and after.

    Returns
    -------
    rest : ndarray of shape (n_samples, n_features)
        Rows of which nothing but rounding errors would be left are zero.
    """
    points = unit_rows(points) if unit else points
    if removed is None or not len(removed):
        return points
    directions = removed.astype(points.dtype, copy=False)
    rest = points - (points @ directions.T) @ directions
    # Scaled to unit length, rounding errors would look like points.
    smallest = points.shape[1] * np.finfo(points.dtype).eps
    nothing = _lengths(rest) <= smallest * _lengths(points)
    rest[nothing] = 0
    return unit_rows(rest) if unit else rest


def _lengths(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the largest entry of each row, which cannot overflow as squares can."""
    return np.abs(points).max(axis=1)


# From this size on it pays to compute only the eigenvectors that are wanted: three
# times faster for few of them. Below, NumPy is as fast and lets other threads run.
_LARGE = 256
# Relative errors of the eigenpairs of LAPACK are some thousand units of rounding at
# most, about 1e-13; larger ones mean that it failed.
_LARGEST_ERROR = 1e-11


def top_eigenpairs(
    matrix: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues, largest first, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and finite.
    count : int
        How many pairs, at most n.

    Returns
    -------
    values : ndarray of shape (count,)
    vectors : ndarray of shape (n, count)
        Orthonormal columns.

    Notes
    -----
    LAPACK computes part of the eigenvectors by bisection and inverse iteration. On
    matrices with many equal eigenvalues, such as those of ideal graphs, that may end
    in an error or return fewer vectors than were asked for, depending on the processor.
    So its result is checked, and if it fails the whole matrix is decomposed by divide
    and conquer, which has no such weakness. O(n^3) time.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = top_eigenpairs(np.diag([1.0, 3.0, 2.0]), 2)
    >>> values, np.abs(vectors[1])
    (array([3., 2.]), array([1., 0.]))
    """
    if count == 0:
        return np.empty(0), np.empty((len(matrix), 0))
    if len(matrix) >= _LARGE and count < len(matrix):
        found = _by_bisection(matrix, count)
        if found is not None:
            return found
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def _by_bisection(
    matrix: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Compute only the pairs that are wanted, or return None if that fails."""
    wanted = (len(matrix) - count, len(matrix) - 1)
    try:
        values, vectors = eigh(matrix, subset_by_index=wanted, check_finite=False)
    except LinAlgError:
        return None
    if vectors.shape[1] != count:
        return None
    residual = np.abs(matrix @ vectors - vectors * values).max()
    skewness = np.abs(vectors.T @ vectors - np.eye(count)).max()
    size = np.abs(matrix).sum(axis=1).max()
    if not (residual <= _LARGEST_ERROR * size and skewness <= _LARGEST_ERROR):
        return None
    return values[::-1], vectors[:, ::-1]


_BLOCK_ENTRIES = 2**22
SMALL_SIDE = 256


@dataclass(frozen=True)
class Spectrum:
    """Leading right singular vectors as rows, their singular values, ||X||^2."""

    directions: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    total: float


def leading_spectrum(
    X: NDArray[np.floating],
    n_components: int,
    centre: NDArray[np.float64] | None = None,
) -> Spectrum:
    """Return the leading right singular vectors of X, or of X - centre.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_components : int
        At most min(n_samples, n_features).
    centre : ndarray of shape (n_features,), default=None
        Subtracted from every row.

    Returns
    -------
    spectrum : Spectrum
        ``directions`` of shape (n_components, n_features), orthonormal also where X
        has a lower rank; the largest entry of each in absolute value is positive.

    Notes
    -----
    All sums are in float64. With min(n_samples, n_features) up to 256 this is a
    singular value decomposition; beyond, the leading eigenvectors of X^T X or X X^T,
    whichever is smaller: O(n_samples n_features m + m^3), m the smaller side. The
    Gram matrix squares the condition number: singular values under 1e-8 of the
    largest, and the directions that belong to them, are then rounding errors.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.core.linalg import leading_spectrum
    >>> found = leading_spectrum(np.diag([1.0, -3.0]), 1)
    >>> found.directions + 0.0
    array([[0., 1.]])
    >>> found.singular_values
    array([3.])
    """
    shift = np.zeros(1) if centre is None else centre
    # Entries near 1 keep squares from over- or underflowing; powers of two round none.
    scale = float(np.exp2(np.floor(np.log2(max(float(np.abs(X).max()), 1e-300)))))
    n_samples, n_features = X.shape
    if min(n_samples, n_features) <= SMALL_SIDE:
        found = _by_svd((X.astype(np.float64) - shift) / scale, n_components)
    elif n_features <= n_samples:
        found = _by_inner_products_of_columns(X, shift, scale, n_components)
    else:
        found = _by_inner_products_of_rows(
            (X.astype(np.float64) - shift) / scale, n_components
        )
    return Spectrum(
        _with_positive_peaks(found.directions),
        found.singular_values * scale,
        found.total * scale * scale,
    )


def _by_svd(X: NDArray[np.float64], k: int) -> Spectrum:
    _, values, directions = linalg.svd(X, full_matrices=False)
    return Spectrum(directions[:k], values[:k], float(values @ values))


def _by_inner_products_of_columns(
    X: NDArray[np.floating], shift: NDArray[np.float64], scale: float, k: int
) -> Spectrum:
    """Sum X^T X over blocks of rows, so that no float64 copy of X is made."""
    gram = np.zeros((X.shape[1], X.shape[1]))
    step = max(1, _BLOCK_ENTRIES // X.shape[1])
    for first in range(0, len(X), step):
        rows = (X[first : first + step].astype(np.float64) - shift) / scale
        gram += rows.T @ rows
    total = float(np.trace(gram))
    values, vectors = top_eigenpairs(gram, k)
    return Spectrum(vectors.T, np.sqrt(np.maximum(values, 0)), total)


def _by_inner_products_of_rows(X: NDArray[np.float64], k: int) -> Spectrum:
    gram = X @ X.T
    total = float(np.trace(gram))
    values, vectors = top_eigenpairs(gram, k)
    # The columns of X^T U are orthogonal already; QR scales them, and completes the
    # basis where a singular value is zero.
    directions, _ = linalg.qr(X.T @ vectors, mode="economic")
    return Spectrum(directions.T, np.sqrt(np.maximum(values, 0)), total)


def _with_positive_peaks(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn every row so that its largest entry in absolute value is positive."""
    peaks = np.abs(directions).argmax(axis=1)
    signs = np.where(directions[np.arange(len(directions)), peaks] < 0, -1.0, 1.0)
    return directions * signs[:, None]


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
