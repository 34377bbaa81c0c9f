"""Linear algebra: unit rows, leading eigenpairs and directions, bases and flats.

The last part describes clusters: their subspaces, each of its own dimension, and how
far points lie from them.
"""

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


# From this size on it pays to compute only the eigenvectors that are wanted: three
# times faster for few of them. Below, NumPy is as fast and lets other threads run.
_LARGE = 256
# Relative errors of the eigenpairs of LAPACK are some thousand units of rounding at
# most, about 1e-13; larger ones mean that it failed.
_LARGEST_ERROR = 1e-11
# Eigenvalues of a Gram matrix in float64 below this share of the largest are rounding
# errors.
SMALLEST_ENERGY = 1e-14
# In place of an energy of zero, by which one cannot divide.
_TINY = float(np.finfo(np.float64).tiny)


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


def whitening_scales(
    energies: NDArray[np.float64], noise: float = 0.0
) -> NDArray[np.float64]:
    r"""Return by what coordinates are multiplied to have equal energy.

    Parameters
    ----------
    energies : ndarray of shape (n_directions,)
        Squared singular values :math:`\sigma^2`, largest first.
    noise : float, default=0.0
        Energy of noise along any direction.

    Returns
    -------
    scales : ndarray of shape (n_directions,)
        :math:`(1 - noise / \sigma^2)^{1/2} / \sigma`, and 0 for directions that hold
        nothing but noise or rounding errors.
    """
    kept = energies > max(noise, energies[0] * SMALLEST_ENERGY)
    if not kept.any():
        kept, noise = energies > 0, 0.0
    shares = np.zeros(len(energies))
    shares[kept] = (1 - noise / energies[kept]) / energies[kept]
    return np.sqrt(shares)


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
    """K subspaces, linear or affine.

    Attributes
    ----------
    bases : ndarray of shape (n_subspaces, n_features, dim)
        Orthonormal columns. A subspace of a smaller dimension than the largest ends in
        columns of zeros.
    offsets : ndarray of shape (n_subspaces, n_features) or None
        For affine subspaces the point of each that is nearest to the origin, so it
        is orthogonal to the basis; None for linear subspaces.
    """

    bases: NDArray[np.floating]
    offsets: NDArray[np.floating] | None = None

    @property
    def dims(self) -> NDArray[np.int64]:
        """Dimension of each subspace."""
        return self.bases.any(axis=1).sum(axis=1)


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
    rank = int(np.sum(values > values[0] * SMALLEST_ENERGY)) if values[0] > 0 else 0
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


def nearest_flats(squared: NDArray[np.floating], flats: Flats) -> NDArray[np.int64]:
    """Return the subspace that explains each point best.

    Noise leaves less of itself outside a subspace of more dimensions, by one part for
    each of the n_features - dim directions that are left. So squared distances are
    compared per such direction; where all dimensions are equal, that changes nothing.

    Parameters
    ----------
    squared : ndarray of shape (n_samples, n_subspaces)
        Squared distances of points to the subspaces.
    flats : Flats
    """
    left = np.maximum(flats.bases.shape[1] - flats.dims, 1)
    return (squared / left.astype(squared.dtype)).argmin(axis=1)


# --- Clusters: their dimensions, and points that lie apart ----------------------------


@dataclass(frozen=True)
class _Rules:
    """Constants of the description of clusters."""

    # Noise passes the test of a dimension in 999 of 1000 cases: a quantile of the
    # distribution of Tracy and Widom, of real matrices.
    tracy_widom: float = 3.27
    # Dimensions that are looked for: at most so many, half of the features, and one for
    # each four points. So many points are looked at.
    most_dims: int = 50
    points_per_dim: int = 4
    looked_at: int = 400
    # Rounds of "find the dimension, leave out points that lie apart".
    rounds: int = 3
    # Outliers lie so many standard deviations beyond the median: the limit of Iglewicz
    # and Hoaglin, "How to Detect and Handle Outliers", 1993. The distance from lower
    # quartile to median, of a normal distribution, is this share of one.
    apart: float = 3.5
    quartile: float = 0.6745
    # A point that has more than this share in the directions that fit it is measured
    # from a subspace that was fitted without it.
    own_share: float = 0.5


RULES = _Rules()


@dataclass(frozen=True)
class Spreads:
    """How far the points of each cluster usually lie from its subspace.

    Attributes
    ----------
    middle, spread : ndarray of shape (n_clusters,)
        Median of the distances, and their standard deviation as the lower half of them
        shows it, to which points that lie apart do not belong.
    """

    middle: NDArray[np.float64]
    spread: NDArray[np.float64]

    def scores(
        self, distances: NDArray[np.floating], labels: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return how many standard deviations points lie beyond the median."""
        return (distances - self.middle[labels]) / self.spread[labels]

    def limits_at(self, score: float) -> NDArray[np.float64]:
        """Return the distance of each cluster at which points have this score."""
        return self.middle + score * self.spread


@dataclass(frozen=True)
class Description:
    """Subspaces of clusters, and how points lie to them.

    Attributes
    ----------
    flats : Flats
        Fitted to the points of each cluster that do not lie apart.
    distances : ndarray of shape (n_samples,)
        Of every point to the subspace of its cluster, as if it had had no part in it.
    spreads : Spreads
    """

    flats: Flats
    distances: NDArray[np.float64]
    spreads: Spreads


def describe_clusters(
    X: NDArray[np.floating],
    labels: NDArray[np.integer],
    n_clusters: int,
    *,
    dim: int,
    within: tuple[int, int],
    affine: bool,
    firm: NDArray[np.bool_] | None = None,
) -> Description:
    """Fit a subspace to each cluster, of the dimension that its own points show.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
        In 0, ..., n_clusters - 1.
    n_clusters : int
    dim : int
        Dimension of clusters that show none, or one outside ``within``.
    within : (int, int)
        Smallest and largest dimension that a cluster may have.
    affine : bool
        Whether subspaces may miss the origin.
    firm : ndarray of shape (n_samples,), bool, default=None
        Points from which the fits begin: outliers may be the majority of a cluster, but
        not of these. None is all points.

    Returns
    -------
    Description
        Clusters of fewer directions than ``dim`` have as many as they show.

    Notes
    -----
    A few principal component analyses of each cluster:
    O(n_samples n_features min(n_samples, n_features)) time.
    """
    n_features, low, high = X.shape[1], *within
    exact = float(np.finfo(X.dtype).eps)
    found = []
    for rows in group_rows(labels, n_clusters):
        # An empty cluster has any one direction, as points at the origin do.
        points = X[rows].astype(np.float64) if len(rows) else np.zeros((1, n_features))
        start = np.ones(len(points), bool)
        if firm is not None and len(rows):
            start = firm[rows]
        shown, near = find_dim(points, start, affine=affine, exact=exact)
        own = shown if shown is not None and low <= shown <= high else dim
        if shown is None:
            # Without a clear dimension nothing tells which points lie apart.
            everyone = np.ones(len(points), bool)
            fit = _fit_to(points, everyone, own, affine, exact)
        else:
            fit = _fit_most(points, near, own, affine, exact)
        found.append((rows, fit))
    largest = max(fit.basis.shape[1] for _, fit in found)
    bases = np.zeros((n_clusters, n_features, largest), X.dtype)
    offsets = np.zeros((n_clusters, n_features), X.dtype)
    distances = np.zeros(len(X))
    for k, (rows, fit) in enumerate(found):
        bases[k, :, : fit.basis.shape[1]] = fit.basis
        offsets[k] = fit.centre - fit.basis @ (fit.basis.T @ fit.centre)
        distances[rows] = fit.distances[: len(rows)]
    middle, spread = np.array([(f.middle, f.spread) for _, f in found]).T
    return Description(
        Flats(bases, offsets if affine else None), distances, Spreads(middle, spread)
    )


def score_points(
    X: NDArray[np.floating], labels: NDArray[np.integer], flats: Flats
) -> NDArray[np.float64]:
    """Return the scores of points in clusters whose subspaces are given.

    See :class:`Spreads`; the points need not have had a part in the subspaces.
    """
    distances = own_distances(X, labels, flats).astype(np.float64)
    length = max(float(np.linalg.norm(X)), _TINY)
    rounding = float(np.sqrt(np.finfo(X.dtype).eps / len(X))) * length
    pairs = [
        _spread(distances[rows], rounding)
        for rows in group_rows(labels, len(flats.bases))
    ]
    return Spreads(*np.array(pairs).T).scores(distances, labels)


def own_distances(
    X: NDArray[np.floating], labels: NDArray[np.integer], flats: Flats
) -> NDArray[np.floating]:
    """Distance of every point to the subspace of its own cluster."""
    distances = np.empty(len(X), X.dtype)
    for k, rows in enumerate(group_rows(labels, len(flats.bases))):
        offsets = None if flats.offsets is None else flats.offsets[[k]]
        one = Flats(flats.bases[[k]], offsets)
        distances[rows] = distances_to_flats(X[rows], one)[:, 0]
    return distances


def outlier_score(scores: NDArray[np.float64], wanted: float | str | None) -> float:
    """Return the score beyond which points are outliers.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
    wanted : float, "auto" or None
        Share of the points; a fixed limit of 3.5; or no outliers.
    """
    if wanted is None:
        return float("inf")
    if isinstance(wanted, str):
        return RULES.apart
    return float(np.quantile(scores, 1 - wanted))


def is_near(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which points are near enough to count in the fit of a subspace."""
    return scores <= RULES.apart


@dataclass(frozen=True)
class _Fit:
    """A subspace of some points, and how all points of the cluster lie to it."""

    centre: NDArray[np.float64]
    basis: NDArray[np.float64]
    distances: NDArray[np.float64]
    middle: float
    spread: float
    near: NDArray[np.bool_]


@dataclass(frozen=True)
class _Axes:
    """Principal axes of some points: energies, largest first, and directions."""

    centre: NDArray[np.float64]
    energies: NDArray[np.float64]
    directions: NDArray[np.float64]
    total: float


def find_dim(
    points: NDArray[np.float64],
    start: NDArray[np.bool_],
    *,
    affine: bool,
    exact: float,
) -> tuple[int | None, NDArray[np.bool_]]:
    """Find the dimension of the subspace of a cluster, and the points that lie near it.

    It is the smallest at which what is left outside looks like white noise: the largest
    energy along any direction is not larger than it would be by chance [1]_. Points
    that lie apart are left out, round by round; while the dimension is not clear, from
    a subspace of the largest one, lest points of the cluster lie apart themselves.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    start : ndarray of shape (n_points,), bool
        Points of the first round.
    affine : bool
        Whether the subspace may miss the origin.
    exact : float
        Share of the energy that is a rounding error.

    Returns
    -------
    dim : int or None
        None if the points show no dimension.
    near : ndarray of shape (n_points,), bool
        Points that do not lie apart.

    References
    ----------
    .. [1] S. Kritchman, B. Nadler, "Determining the number of components in a factor
       model from limited noisy data", Chemometrics and Intelligent Laboratory Systems,
       2008.
    """
    n_points, n_features = points.shape
    looked_at = np.zeros(n_points, bool)
    chosen = np.linspace(0, n_points - 1, min(n_points, RULES.looked_at))
    looked_at[chosen.astype(np.int64)] = True
    most = min(
        RULES.most_dims, n_features // 2, looked_at.sum() // RULES.points_per_dim
    )
    near, shown = start, None
    for _ in range(RULES.rounds):
        fitted = near & looked_at
        count = int(fitted.sum())
        if most < 1 or count <= most + affine:
            return None, start
        axes = _principal_axes(points[fitted], most + 1, affine)
        shown = _white_from(axes, count - affine, n_features, most, exact)
        before = near
        near = _measure(points, fitted, axes, shown or most, affine, exact).near
        if (near == before).all():
            break
    return shown, near


def _white_from(
    axes: _Axes, n_points: int, n_features: int, most: int, exact: float
) -> int | None:
    """Return the number of axes beyond which energies are those of white noise."""
    for dim in range(1, most + 1):
        rest = axes.total - float(axes.energies[:dim].sum())
        nothing = axes.total * exact * max(n_points, n_features)
        if rest <= nothing or dim == len(axes.energies):
            return dim
        rows, columns = np.sqrt(n_points - dim), np.sqrt(n_features - dim)
        chance = (rows + columns) ** 2 + RULES.tracy_widom * (rows + columns) * (
            1 / rows + 1 / columns
        ) ** (1 / 3)
        if axes.energies[dim] <= rest / (rows * columns) ** 2 * chance:
            return dim
    return None


def _fit_to(
    points: NDArray[np.float64],
    some: NDArray[np.bool_],
    dim: int,
    affine: bool,
    exact: float,
) -> _Fit:
    """Fit a subspace to some of the points."""
    axes = _principal_axes(points[some], dim, affine)
    return _measure(points, some, axes, dim, affine, exact)


def _fit_most(
    points: NDArray[np.float64],
    near: NDArray[np.bool_],
    dim: int,
    affine: bool,
    exact: float,
) -> _Fit:
    """Fit a subspace to some points, then to those that do not lie apart from it."""
    if near.sum() <= dim + affine:
        near = np.ones(len(points), bool)
    fit = _fit_to(points, near, dim, affine, exact)
    if (fit.near == near).all() or fit.near.sum() <= dim + affine:
        return fit
    return _fit_to(points, fit.near, dim, affine, exact)


def _principal_axes(points: NDArray[np.float64], count: int, affine: bool) -> _Axes:
    n_points, n_features = points.shape
    centre = np.zeros(n_features)
    if affine:
        centre = points.mean(axis=0)
        points = points - centre
    by_rows = n_points < n_features
    gram = points @ points.T if by_rows else points.T @ points
    energies, vectors = top_eigenpairs(gram, min(count, len(gram)))
    # At least one direction, even of points at the origin.
    known = energies >= energies[0] * SMALLEST_ENERGY
    energies, vectors = np.maximum(energies[known], _TINY), vectors[:, known]
    if by_rows:
        vectors = np.linalg.qr(points.T @ vectors)[0]
    return _Axes(centre, energies, vectors, float(np.trace(gram)))


def _measure(
    points: NDArray[np.float64],
    fitted: NDArray[np.bool_],
    axes: _Axes,
    dim: int,
    affine: bool,
    exact: float,
) -> _Fit:
    """Measure the distances of points to a subspace that was fitted to some of them.

    A point pulls the subspace towards itself. Its share in the directions, as in
    regression, tells what its distance would be without it.
    """
    basis, energies = axes.directions[:, :dim], axes.energies[:dim]
    distances, share = np.empty(len(points)), np.empty(len(points))
    step = max(1, _BLOCK_ENTRIES // points.shape[1])
    for first in range(0, len(points), step):
        block = slice(first, first + step)
        some = points[block] - axes.centre
        inside = some @ basis
        distances[block] = np.linalg.norm(some - inside @ basis.T, axis=1)
        share[block] = (inside**2 / energies).sum(axis=1)
    count = int(fitted.sum())
    share = np.where(fitted, share + affine / count, 0.0)
    distances /= 1 - np.minimum(share, RULES.own_share)
    rounding = float(np.sqrt(exact) * np.sqrt(max(axes.total, _TINY) / count))
    middle, spread = _spread(distances[fitted], rounding)
    near = (distances <= middle + RULES.apart * spread) & (share <= RULES.own_share)
    return _Fit(axes.centre, basis, distances, middle, spread, near)


def _spread(distances: NDArray[np.float64], rounding: float) -> tuple[float, float]:
    """Return the median, and the standard deviation of the lower half."""
    if not len(distances):
        return 0.0, 1.0
    quarter, middle = np.quantile(distances, (0.25, 0.5))
    return float(middle), max(float(middle - quarter) / RULES.quartile, rounding)
