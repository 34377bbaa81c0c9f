"""Lemma 1's ratio r_s: how far apart subspaces stay when entries are missing."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from ekss.theory._types import Bases, Floats, Ints

_CHUNK = 1024  # subsets treated at once, so memory does not grow with their number


@dataclass(frozen=True)
class MissingRatio:
    """The ratio r_s of Lemma 1 and its two parts, each between two bounds.

    ``cross`` is the numerator (different subspaces), ``within`` the denominator, alpha
    in the proof; the proof stays valid with alpha = ``within_lower`` and
    eta = ``within_lower - cross_upper``. The bounds are equal where ``exact``.

    Attributes
    ----------
    lower, upper : float
        Bounds of r_s.
    exact : bool
        Whether every subset of entries was tried, so that the bounds are equal.
    cross_lower, cross_upper : float
        Bounds of the numerator.
    within_lower, within_upper : float
        Bounds of the denominator.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.theory import missing_ratio
    >>> ratio = missing_ratio([np.eye(6)[:, :2], np.eye(6)[:, 3:5]], 0)
    >>> ratio.upper, ratio.exact
    (0.0, True)
    """

    lower: float
    upper: float
    exact: bool
    cross_lower: float
    cross_upper: float
    within_lower: float
    within_upper: float


def missing_ratio(
    bases: Bases, n_missing: int, *, max_subsets: int = 20_000
) -> MissingRatio:
    r"""Find r_s of Lemma 1: below 1, points with s missing entries can be told apart.

    .. math:: r_s = \frac{\max_{k \ne l, |D| \le 2s} \|U_D^{(k)T} U^{(l)}\|_2}
        {\min_{l, |D| \le 2s, \|a\| = 1} \|U_D^{(l)T} U^{(l)} a\|_2}

    where the rows in D of U_D are set to zero.

    Parameters
    ----------
    bases : sequence of ndarray of shape (n_features, dim)
        At least two; columns need not be orthonormal and dims may differ.
    n_missing : int
        Most entries missing in a point, s.
    max_subsets : int, default=20000
        All subsets D are tried up to this number; beyond it bounds are returned.

    Returns
    -------
    MissingRatio
        Infinite where 2s removed rows make a subspace lose a dimension.

    Notes
    -----
    Exact: one SVD per subset and pair of subspaces. Otherwise the lower bound is a
    ratio some D attain, found by alternating between D and the singular vectors; the
    upper bound uses the triangle inequality on the removed rows, which it bounds by
    their norms and by Gershgorin's theorem: O(K n_features^2 dim).

    Examples
    --------
    >>> angle = np.array([[0.6], [0.8], [0.0]])
    >>> missing_ratio([np.eye(3)[:, :1], angle], 0).upper
    0.6
    """
    checked = checked_bases(bases)
    n_features = len(checked[0])
    if not 0 <= n_missing <= n_features:
        raise ValueError(
            f"n_missing={n_missing} must lie in [0, n_features={n_features}]; "
            "it counts the entries missing in one point"
        )
    size = min(2 * n_missing, n_features)
    n_subsets = sum(math.comb(n_features, j) for j in range(size + 1))
    exact = size == 0 or n_subsets <= max_subsets
    if exact:
        cross, within = _enumerated(checked, size)
        parts = (cross, cross, within, within)
    else:
        parts = _bounded(checked, size)
    cross_lower, cross_upper, within_lower, within_upper = parts
    lower, upper = (
        cross / within if within > 0 else math.inf
        for cross, within in ((cross_lower, within_upper), (cross_upper, within_lower))
    )
    return MissingRatio(lower, upper, exact, *parts)


def checked_bases(bases: Bases) -> list[Floats]:
    """Return the bases as float64 arrays, refusing fewer than two or odd shapes."""
    checked: list[Floats] = [np.asarray(basis, dtype=np.float64) for basis in bases]
    if len(checked) < 2 or len({basis.shape[:1] for basis in checked}) > 1:
        raise ValueError(
            f"{len(checked)} bases of shapes {[b.shape for b in checked]} given; "
            "pass at least two of shape (n_features, dim) with equal n_features"
        )
    return checked


def _positive(value: float, gram: Floats) -> float:
    """Return an eigenvalue of a semidefinite matrix with rounding noise set to 0."""
    noise = 1e-13 * float(np.trace(gram))
    return value if value > noise else 0.0


def _enumerated(bases: list[Floats], size: int) -> tuple[float, float]:
    """Return numerator and denominator over every D of at most ``size`` rows."""
    cross, within = 0.0, math.inf
    for removed in _subsets(len(bases[0]), size):
        rows = [basis[removed] for basis in bases]
        for U, out in zip(bases, rows, strict=True):
            kept = U.T @ U - out.transpose(0, 2, 1) @ out
            value = float(np.linalg.eigvalsh(kept)[:, 0].min())
            within = min(within, _positive(value, U.T @ U))
        for k, m in combinations(range(len(bases)), 2):
            kept = bases[k].T @ bases[m] - rows[k].transpose(0, 2, 1) @ rows[m]
            norms = np.linalg.norm(kept, ord=2, axis=(1, 2))
            cross = max(cross, float(norms.max()))
    return cross, within


def _subsets(n: int, size: int) -> Iterator[Ints]:
    for length in range(size + 1):
        subsets = combinations(range(n), length)
        while chunk := list(islice(subsets, _CHUNK)):
            yield np.array(chunk, dtype=np.intp).reshape(len(chunk), length)


def _bounded(bases: list[Floats], size: int) -> tuple[float, float, float, float]:
    """Return lower and upper bounds of the numerator, then of the denominator."""
    weights = [np.linalg.norm(basis, axis=1) for basis in bases]
    removable = [_removable(basis, size) for basis in bases]
    cross_lower = cross_upper = 0.0
    for k, m in combinations(range(len(bases)), 2):
        cross_lower = max(cross_lower, _attained_cross(bases[k], bases[m], size))
        lost = np.sort(weights[k] * weights[m])[-size:].sum()
        lost = min(lost, math.sqrt(removable[k] * removable[m]))
        product = np.linalg.norm(bases[k], 2) * np.linalg.norm(bases[m], 2)
        whole = np.linalg.norm(bases[k].T @ bases[m], 2)
        cross_upper = max(cross_upper, float(min(whole + lost, product)))
    within_lower = within_upper = math.inf
    for basis, lost in zip(bases, removable, strict=True):
        smallest = float(np.linalg.svd(basis, compute_uv=False)[-1]) ** 2
        within_lower = min(within_lower, max(smallest - lost, 0.0))
        within_upper = min(within_upper, _attained_within(basis, size))
    return cross_lower, cross_upper, within_lower, within_upper


def _removable(basis: Floats, size: int) -> float:
    """Bound the largest squared singular value of any ``size`` rows."""
    by_norm = np.sort(np.sum(basis**2, axis=1))[-size:].sum()
    gershgorin = 0.0
    for start in range(0, len(basis), _CHUNK):
        products = np.abs(basis[start : start + _CHUNK] @ basis.T)
        own = np.arange(len(products))
        diagonal = products[own, start + own].copy()
        products[own, start + own] = 0.0
        others = np.sort(products, axis=1)[:, len(basis) - size + 1 :].sum(axis=1)
        gershgorin = max(gershgorin, float((diagonal + others).max()))
    return float(min(by_norm, gershgorin))


def _attained_cross(U: Floats, V: Floats, size: int) -> float:
    """Climb from each singular pair of U^T V to a large norm that some D attains."""
    whole = U.T @ V
    left, values, right = np.linalg.svd(whole, full_matrices=False)
    best = float(values[0])
    for start in range(len(values)):
        for sign in (1.0, -1.0):
            a, b, reached = sign * left[:, start], right[start], -1.0
            while True:
                gains = (U @ a) * (V @ b)
                removed = np.argsort(gains)[:size]
                removed = removed[gains[removed] < 0]
                p, s, q = np.linalg.svd(whole - U[removed].T @ V[removed])
                if s[0] <= reached + 1e-12:
                    break
                a, b, reached = p[:, 0], q[0], float(s[0])
            best = max(best, reached)
    return best


def _attained_within(basis: Floats, size: int) -> float:
    """Descend from each eigenvector to a small eigenvalue that some D attains."""
    gram = basis.T @ basis
    best = math.inf
    for a in np.linalg.eigh(gram)[1].T:
        reached = math.inf
        while True:
            removed = np.argsort(-((basis @ a) ** 2))[:size]
            rows = basis[removed]
            values, vectors = np.linalg.eigh(gram - rows.T @ rows)
            if values[0] >= reached - 1e-12:
                break
            a, reached = vectors[:, 0], float(values[0])
        best = min(best, reached)
    return _positive(best, gram)
