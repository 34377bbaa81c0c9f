"""Angular separation, deviation, and the certificate they make (Theorem 1).

Statements are numbered as in J. Lipor, D. Hong, Y. S. Tan, L. Balzano, Subspace
clustering using ensembles of K-subspaces, Information and Inference, 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components

from ekss.theory._types import Floats, Ints, Monotone

_BLOCK_ENTRIES = 2**20  # inner products at a time: 8 MB, about a second-level cache
_LARGEST_FIT = 4000  # points whose pairs are sorted: 60 n^2 bytes, 1 GB here
_N_WORST = 10  # points that are named
_BISECTIONS = 64  # enough to exhaust the digits of a double
ROUNDING = 16 * np.finfo(np.float64).eps  # a margin below this may be a tie


@dataclass(frozen=True)
class AngularSeparation:
    """The q-angular separation of labelled points.

    Attributes
    ----------
    phi : float
        The separation, the smallest of the gaps.
    gaps : ndarray of shape (n_samples,)
        Half-difference of f between the q-th nearest point of its own cluster and the
        nearest point of another.
    worst : ndarray of shape (min(10, n_samples),)
        The points with the smallest gaps, the smallest first.

    Examples
    --------
    >>> from ekss.theory import angular_separation
    >>> found = angular_separation([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 1, 1], q=1)
    >>> found.phi, found.gaps
    (0.5, array([0.5, 0.5, 0.5, 0.5]))
    """

    phi: float
    gaps: Floats
    worst: Ints


@dataclass(frozen=True)
class NeighbourProfile:
    """For some points, how near their own cluster is, and how near another."""

    rows: Ints  # the points looked at
    near: Floats  # q-th largest inner product with its own cluster
    far: Floats  # largest inner product with another cluster
    rival: Ints  # the point that ``far`` belongs to

    def gaps(self, f: Monotone) -> Floats:
        """Half differences of f; the smallest is phi_q."""
        return (np.asarray(f(self.near), float) - np.asarray(f(self.far), float)) / 2


@dataclass(frozen=True)
class MonotoneFit:
    """A non-decreasing step function; call it with absolute inner products.

    Attributes
    ----------
    knots, values : ndarrays of shape (n_knots,)
        The inner products of the data, increasing, and the values from there on.
    tau : float
        Largest deviation of the affinity from the function.
    resolution : float
        Inner products that are no farther apart than this count as equal: they may
        differ by rounding alone. Knots are farther apart.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.theory import monotone_fit
    >>> X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> fit = monotone_fit(X, np.square(X @ X.T))
    >>> fit(np.array([0.7])).round(2)
    array([0.36])
    """

    knots: Floats
    values: Floats
    tau: float
    resolution: float

    def __call__(self, inner: Floats) -> Floats:
        """Evaluate the step function."""
        reached = inner + self.resolution / 2
        position = np.searchsorted(self.knots, reached, side="right") - 1
        return self.values[np.maximum(position, 0)]


@dataclass(frozen=True)
class NfcCertificate:
    """Whether Theorem 1 guarantees no false connections, and how clearly.

    Attributes
    ----------
    holds : bool
        True guarantees it; False says nothing (the condition is sufficient only).
    margin : float
        phi - tau; the certificate holds if it is positive by more than rounding.
    phi : float
        q-angular separation of the points.
    tau : float
        Deviation of the affinity from f.
    worst : ndarray of int
        The points with the smallest gaps, the smallest first.

    Examples
    --------
    >>> from ekss.theory import nfc_certificate
    >>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    >>> affinity = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> nfc_certificate(X, [0, 0, 1, 1], affinity, q=1).holds
    True
    """

    holds: bool
    margin: float
    phi: float
    tau: float
    worst: Ints


def angular_separation(
    X: ArrayLike, labels: ArrayLike, q: int, f: Monotone | None = None
) -> AngularSeparation:
    """Measure how far apart clusters are in angle: phi_q of Definition 2.

        phi_q = min_i [ f(q-th largest |<x_i, x_j>|, j != i in the cluster of i)
                        - f(largest |<x_i, x_j>|, j in another cluster) ] / 2

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points as rows. Inner products are those of the rows as given; the paper's
        points have unit norm, so normalise them first to talk about angles.
    labels : array-like of shape (n_samples,)
        The cluster of each point, at least two different ones.
    q : int
        Number of neighbours, below the size of the smallest cluster.
    f : callable, default=None
        Non-decreasing function of an array of inner products; None is the identity.

    Returns
    -------
    separation : AngularSeparation
        The smallest gap, and the gap of every point.

    Notes
    -----
    Time O(n_samples^2 n_features), in blocks of rows of about 8 MB.

    Examples
    --------
    >>> angular_separation([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 1, 1], q=1).phi
    0.5
    """
    points, codes = _checked_points(X), _checked_labels(labels)
    _check_clusters(len(points), codes, q)
    profile = neighbour_profile(points, codes, q)
    if f is not None:
        _check_monotone(f, np.concatenate([profile.near, profile.far]))
    gaps = profile.gaps(f or np.asarray)
    worst = np.argsort(gaps, kind="stable")[:_N_WORST]
    return AngularSeparation(float(gaps[worst[0]]), gaps, worst)


def deviation(X: ArrayLike, affinity: Any, f: Monotone | None = None) -> float:
    """Measure how far an affinity is from a function of angles: tau of Definition 1.

        tau = max over i != j of |A_ij - f(|<x_i, x_j>|)|

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points as rows; inner products are those of the rows as given.
    affinity : ndarray or sparse array of shape (n_samples, n_samples)
        The diagonal is ignored: a point is not its own neighbour.
    f : callable, default=None
        Non-decreasing function of an array of absolute inner products; if None the
        one that makes tau smallest, see :func:`monotone_fit`.

    Returns
    -------
    tau : float
        The largest deviation.

    Notes
    -----
    With f, time O(n_samples^2 n_features) in blocks of rows of about 8 MB; without,
    pairs are sorted, which is refused for more than 4000 points.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> deviation(X, np.square(X @ X.T), f=np.square)
    0.0
    """
    if f is None:
        return monotone_fit(X, affinity).tau
    points = _checked_points(X)
    affinity = _checked_affinity(affinity, len(points))
    return _largest_error(points, None, f, lambda own: _dense_rows(affinity, own))


def votes_deviation(
    points: Floats, members: NDArray[Any], f: Monotone, rows: Ints | None = None
) -> float:
    """Tau of Definition 1 for the co-association of members, without the matrix.

    ``members`` holds the label of every point (row) in every member (column).
    """
    by_member = np.ascontiguousarray(members.T)
    return _largest_error(points, rows, f, lambda own: _votes(by_member, own))


def monotone_fit(X: ArrayLike, affinity: Any) -> MonotoneFit:
    """Fit the non-decreasing function of |<x_i, x_j>| nearest to an affinity.

    Nearest in the largest deviation, the one that Definition 1 asks for; not in least
    squares, which is what isotonic regression usually minimises. With pairs sorted by
    inner product z, an optimal fit is

        f(z) = ( max of A over pairs up to z + min of A over pairs from z on ) / 2,

    and tau is half the largest amount by which A decreases while z increases. Inner
    products that differ by rounding alone count as equal, so that (i, j) and (j, i)
    always get one value and the fit is the same on every machine.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least 2 and at most 4000 points as rows.
    affinity : ndarray or sparse array of shape (n_samples, n_samples)
        The diagonal is ignored.

    Returns
    -------
    fit : MonotoneFit
        The function, which can be called, and its deviation tau.

    Notes
    -----
    Memory is about 60 n_samples^2 bytes, 1 GB at the limit.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> A = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.9], [0.4, 0.9, 1.0]])
    >>> round(monotone_fit(X, A).tau, 12)
    0.1
    """
    points = _checked_points(X)
    n = len(points)
    if not 2 <= n <= _LARGEST_FIT:
        raise ValueError(
            f"n_samples={n} is outside 2 to {_LARGEST_FIT}, where all pairs can be "
            f"sorted; give f, or a sample of the points"
        )
    affinity = _checked_affinity(affinity, n)
    # Both (i, j) and (j, i): they may differ in the affinity.
    inner, value = np.empty((n, n - 1)), np.empty((n, n - 1))
    for part, own, block in _blocks(points):
        other = np.arange(n) != own[:, None]
        inner[part] = block[other].reshape(-1, n - 1)
        value[part] = _dense_rows(affinity, own)[other].reshape(-1, n - 1)
    order = np.argsort(inner, axis=None)
    z, a = inner.ravel()[order], value.ravel()[order]
    resolution = _rounding_of_products(points)
    first = np.flatnonzero(np.diff(z, prepend=-np.inf) > resolution)
    last = np.append(first[1:], z.size) - 1
    up_to = np.maximum.accumulate(a)[last]
    from_on = np.minimum.accumulate(a[::-1])[::-1][first]
    tau = float(np.max(up_to - from_on)) / 2
    return MonotoneFit(z[first], (up_to + from_on) / 2, tau, resolution)


def nfc_certificate(
    X: ArrayLike, labels: ArrayLike, affinity: Any, q: int, f: Monotone | None = None
) -> NfcCertificate:
    """Certify that a q-nearest-neighbour graph has no false connections: Theorem 1.

    The certificate holds if tau < phi_q, with the deviation tau and the separation
    phi_q measured against the same f.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points as rows, of unit length.
    labels : array-like of shape (n_samples,)
        The cluster of each point, at least two different ones.
    affinity : ndarray or sparse array of shape (n_samples, n_samples)
        The graph takes the q largest entries of each row, the diagonal left out.
    q : int
        Number of neighbours, below the size of the smallest cluster.
    f : callable, default=None
        Non-decreasing function of an array of absolute inner products; if None the
        :func:`monotone_fit` of the affinity (at most 4000 points). The fit makes tau
        smallest, not the margin largest: another f may certify more.

    Returns
    -------
    certificate : NfcCertificate
        Whether the theorem guarantees it, by what margin, and the critical points.

    Notes
    -----
    Why it is sound: let z be the q-th largest |<x_i, x_j>| in the cluster of i and w
    the largest to another cluster. The q points of the cluster with inner products of
    at least z have A_ij >= f(z) - tau, every point outside has A_ij <= f(w) + tau, and
    f(z) - tau > f(w) + tau is tau < phi_q. So the q largest entries of row i are in the
    cluster, however ties are broken. This uses only that f does not decrease: the
    strictly increasing f of the paper is not needed, plateaus of the fit do no harm.
    The inequality must be strict, as in the paper's proof (its statement allows
    tau = phi_q, where a point of another cluster can tie). A need not be symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> certificate = nfc_certificate(X, [0, 0, 1, 1], 0.9 * X @ X.T, q=1)
    >>> certificate.holds, certificate.margin
    (True, 0.45)
    """
    if f is None:
        fit = monotone_fit(X, affinity)
        f, tau = fit, fit.tau
    else:
        tau = deviation(X, affinity, f)
    separation = angular_separation(X, labels, q, f)
    margin = separation.phi - tau
    # Ties are common in co-associations; rounding must not turn one into a guarantee.
    scale = tau + abs(_checked_affinity(affinity, len(separation.gaps))).max()
    holds = bool(margin > ROUNDING * scale)
    return NfcCertificate(holds, margin, separation.phi, tau, separation.worst)


def neighbour_profile(
    points: Floats, labels: ArrayLike, q: int, rows: Ints | None = None
) -> NeighbourProfile:
    """Measure what Definition 2 compares, for all points or for some."""
    codes = np.asarray(labels)
    chosen = np.arange(len(points)) if rows is None else np.asarray(rows, np.int64)
    near, far = np.empty(len(chosen)), np.empty(len(chosen))
    rival = np.empty(len(chosen), np.int64)
    for part, own, inner in _blocks(points, chosen):
        same = codes[own, None] == codes
        others = np.where(same, -1.0, inner)
        rival[part] = others.argmax(axis=1)
        far[part] = others.max(axis=1)
        inner[~same] = -1.0
        inner[np.arange(len(own)), own] = -1.0
        near[part] = np.partition(inner, -q, axis=1)[:, -q]
    return NeighbourProfile(chosen, near, far, rival)


def count_nearer(
    points: Floats, labels: ArrayLike, rows: Ints, thresholds: Floats
) -> Ints:
    """Count points of the same cluster with inner products of at least a threshold.

    Thresholds and counts have the shape (n_thresholds, n_rows).
    """
    codes = np.asarray(labels)
    counts = np.zeros(thresholds.shape, np.int64)
    for part, own, inner in _blocks(points, np.asarray(rows)):
        inner[codes[own, None] != codes] = -1.0
        inner[np.arange(len(own)), own] = -1.0
        for count, limit in zip(counts, thresholds, strict=True):
            count[part] = (inner >= limit[part, None]).sum(axis=1)
    return counts


def rises_above(f: Monotone, targets: Floats) -> Floats:
    """Find the smallest inner products at which f is above each target, or infinity."""
    low, high = np.zeros(targets.shape), np.ones(targets.shape)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = np.asarray(f(middle)) > targets
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    at_zero = np.asarray(f(np.zeros(targets.shape))) > targets
    high = np.where(at_zero, 0.0, high)
    return np.where(np.asarray(f(high)) > targets, high, np.inf)


def cluster_components(graph: Any, labels: ArrayLike) -> Ints:
    """Count the connected components of a graph inside each cluster.

    All ones and no false connections give correct clustering (Proposition 1).

    Parameters
    ----------
    graph : ndarray or sparse array of shape (n_samples, n_samples)
        Nonzero entries are edges, in either direction; only those inside count.
    labels : array-like of shape (n_samples,)
        The cluster of each point.

    Returns
    -------
    counts : ndarray of shape (n_clusters,)
        In the order of the sorted labels.

    Examples
    --------
    >>> import numpy as np
    >>> cluster_components(np.diag([0.0, 1.0, 1.0], k=1), [0, 0, 1, 1])
    array([2, 1])
    """
    codes = _checked_labels(labels)
    edges = coo_array(_checked_affinity(graph, len(codes)))
    inside = (edges.data != 0) & (codes[edges.row] == codes[edges.col])
    row, col = edges.row[inside], edges.col[inside]
    kept = csr_array((np.ones(row.size), (row, col)), shape=edges.shape)
    _, component = connected_components(kept, directed=False)
    _, representative = np.unique(component, return_index=True)
    return np.bincount(codes[representative])


def _blocks(
    points: Floats, rows: Ints | None = None
) -> Iterator[tuple[slice, Ints, Floats]]:
    """Yield positions in ``rows`` (None: all), the rows, and their |inner products|."""
    chosen = np.arange(len(points)) if rows is None else np.asarray(rows, np.int64)
    step = max(1, _BLOCK_ENTRIES // len(points))
    for first in range(0, len(chosen), step):
        part = slice(first, min(first + step, len(chosen)))
        own = chosen[part]
        yield part, own, np.abs(points[own] @ points.T)


def _largest_error(
    points: Floats, rows: Ints | None, f: Monotone, affinity: Callable[[Ints], Floats]
) -> float:
    """Compare rows of an affinity with f of the inner products, off the diagonal."""
    largest = 0.0
    for _, own, inner in _blocks(points, rows):
        error = np.abs(affinity(own) - np.asarray(f(inner)))
        error[np.arange(len(own)), own] = 0.0
        largest = max(largest, float(error.max()))
    return largest


def _votes(by_member: NDArray[Any], own: Ints) -> Floats:
    """Return the rows ``own`` of the co-association matrix."""
    n_members, n_samples = by_member.shape
    total = np.zeros((len(own), n_samples), np.int32)
    for first in range(0, n_members, 255):  # as many as a byte can count
        together = np.zeros((len(own), n_samples), np.uint8)
        for labels in by_member[first : first + 255]:
            together += (labels[own, None] == labels).view(np.uint8)
        total += together
    return total / n_members


def _rounding_of_products(points: Floats) -> float:
    """Bound the difference of two computations of the same inner product.

    Each is within n_features eps |x| |y| of the exact value, to first order.
    """
    largest = float(np.square(points).sum(axis=1).max())
    return 2 * points.shape[1] * np.finfo(np.float64).eps * largest


def _dense_rows(affinity: Any, rows: Ints) -> Floats:
    block = affinity[rows]
    return np.asarray(block.toarray() if issparse(block) else block, dtype=np.float64)


def _checked_points(X: ArrayLike) -> Floats:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or not len(points):
        raise ValueError(f"X has shape {points.shape}; give one row per point")
    if not np.isfinite(points).all():
        raise ValueError("X contains NaN or infinity; fill in or drop such points")
    return points


def _checked_labels(labels: ArrayLike) -> Ints:
    return np.unique(np.ravel(labels), return_inverse=True)[1].astype(np.int64)


def _checked_affinity(affinity: Any, n_samples: int) -> Any:
    matrix = csr_array(affinity) if issparse(affinity) else np.asarray(affinity)
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(
            f"the matrix has shape {matrix.shape}; give ({n_samples}, {n_samples})"
        )
    if not np.isfinite(matrix.data if issparse(matrix) else matrix).all():
        raise ValueError(
            "the matrix contains NaN or infinity; give finite similarities"
        )
    return matrix


def _check_clusters(n_samples: int, codes: Ints, q: int) -> None:
    if len(codes) != n_samples:
        raise ValueError(
            f"labels has {len(codes)} entries; give one per point, {n_samples}"
        )
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        raise ValueError("labels has 1 cluster; separation needs at least 2")
    if not 1 <= q < sizes.min():
        raise ValueError(
            f"q={q} is not between 1 and {sizes.min() - 1}, one less than the smallest "
            f"cluster has points; choose q in that range"
        )


def _check_monotone(f: Monotone, inner: Floats) -> None:
    """Look at f where it is used and on a grid between; decreasing is refused."""
    z = np.sort(np.append(inner, np.linspace(0.0, inner.max(), 1001)))
    drop = float(np.min(np.diff(np.asarray(f(z), dtype=np.float64))))
    if not drop >= 0:
        raise ValueError(f"f decreases by {-drop:g}; give a non-decreasing function")
