"""All theorems for one labelled data set, and what it would take to make them hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ekss.theory._bounds import (
    bounded_affinity_failure,
    disjoint_failure,
    fixed_missing_failure,
    noisy_failure,
    reduced_failure,
)
from ekss.theory._conditions import (
    Condition,
    Guarantee,
    cap_radius,
    connectedness_constant,
    connectedness_failure,
)
from ekss.theory._constants import (
    PAPER_RATE,
    disjoint_rate,
    inner_product_probability,
    separation_constant_disjoint,
    separation_constant_noisy,
)
from ekss.theory._missing import MissingRatio

ON_SUBSPACE = 1e-6
OPEN_CONSTANT = 1.0  # stands for the constants of Theorem 8 that the paper leaves open
_LARGEST_COUNT = 10**15

Increasing = Callable[[float], float]


@dataclass(frozen=True)
class Situation:
    """What the theorems ask about the data and the methods.

    Attributes
    ----------
    sizes, dims : tuples of int
        Points and dimension of each cluster.
    n_features, n_neighbors, n_members : int
        D, q and B.
    ratio, max_affinity : float
        r_0, the largest cosine between two subspaces, and the largest affinity.
    farthest : float
        Largest distance of a point of unit length from its subspace.
    noise : float
        sigma of Lemma 2.
    missing : MissingRatio
        r_s of Lemma 1.
    n_missing : int
        s of Lemma 1.
    n_components : int
        p of Theorem 8.
    """

    sizes: tuple[int, ...]
    dims: tuple[int, ...]
    n_features: int
    n_neighbors: int
    n_members: int
    ratio: float
    max_affinity: float
    farthest: float
    noise: float
    missing: MissingRatio
    n_missing: int
    n_components: int

    @property
    def n_samples(self) -> int:
        """Number of points N."""
        return sum(self.sizes)

    @property
    def rho(self) -> float:
        """The smallest rho with q < N_min^rho, which makes c_1 largest."""
        return smallest_exponent(self.n_neighbors, min(self.sizes))


@dataclass(frozen=True)
class Constants:
    """The deviations C_1, C_2 (without and with noise), C_3 that theorems allow."""

    disjoint: float
    bounded: float
    noisy: float
    missing: float
    connected: float


def smallest_exponent(n_neighbors: int, n: int) -> float:
    """Return the smallest rho with q < n^rho, at most just under 1.

    Examples
    --------
    >>> round(smallest_exponent(10, 100), 6)
    0.5
    """
    exponent = math.log(n_neighbors * (1 + 1e-9)) / math.log(n)
    return min(exponent, math.nextafter(1.0, 0.0))


def promised_deviation(
    n_samples: int,
    n_members: int,
    failure: float,
    *,
    deviation_rate: float = PAPER_RATE,
) -> float:
    r"""Theorem 3 solved for tau: what B members promise.

    :math:`\tau = \sqrt{\log(N (N-1) / \varepsilon) / (c_3 B)}`.

    Parameters
    ----------
    n_samples, n_members : int
        N, at least 2, and B.
    failure : float
        epsilon, in (0, 1).
    deviation_rate : float, default=PAPER_RATE
        c_3.

    Returns
    -------
    float

    Examples
    --------
    >>> round(promised_deviation(100, 830, 0.01), 3)
    0.1
    """
    log_pairs = math.log(n_samples * (n_samples - 1) / failure)
    return math.sqrt(log_pairs / (deviation_rate * n_members))


def allowed_deviations(situation: Situation, f: Increasing) -> Constants:
    """Evaluate C_1, C_2 and C_3 for an expected affinity f.

    Parameters
    ----------
    situation : Situation
    f : callable
        Absolute inner product to expected affinity.

    Returns
    -------
    Constants
        Each is 0 or below where nothing is allowed.
    """
    s = situation
    shared = (s.n_features, s.dims, s.n_samples)
    alpha = s.missing.within_lower
    connected = [
        connectedness_constant(f, n, dim) if dim > 1 else 0.0
        for n, dim in zip(s.sizes, s.dims, strict=True)
    ]
    noisy = 0.0
    if math.isfinite(s.noise):
        noisy = separation_constant_noisy(f, s.max_affinity, s.noise, *shared)
    return Constants(
        separation_constant_disjoint(f, 1.0, 1.0 - s.ratio),
        separation_constant_noisy(f, s.max_affinity, 0.0, *shared),
        noisy,
        separation_constant_disjoint(f, alpha, alpha - s.missing.cross_upper),
        min(connected),
    )


def ensemble_guarantees(situation: Situation, f: Increasing) -> tuple[Guarantee, ...]:
    """Evaluate Theorems 4 to 7 for EKSS-0.

    Theorem 7 leaves constants open; in its place stands Lemma 1 with Theorem 3, which
    is the same statement for bases that are known. Theorems for points without noise
    get one more condition, that the points lie on their subspaces; it cannot be
    checked where entries are missing.

    Parameters
    ----------
    situation : Situation
    f : callable
        The co-clustering probability, see `coclustering_function`.

    Returns
    -------
    tuple of Guarantee
    """
    s, c = situation, allowed_deviations(situation, f)
    shared = (s.sizes, s.dims, s.n_neighbors, s.n_members)
    disjoint = disjoint_failure(
        *shared,
        ratio=s.ratio,
        rho=s.rho,
        separation=c.disjoint,
        connectedness=c.connected,
    )
    bounded = bounded_affinity_failure(
        *shared,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        separation=c.bounded,
        connectedness=c.connected,
    )
    noisy = noisy_failure(
        *shared,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        noise=s.noise,
        separation=c.noisy,
    )
    missing = fixed_missing_failure(
        *shared, ratio=s.missing.upper, rho=s.rho, separation=c.missing
    )
    return (
        _for_exact_points(disjoint, s),
        _for_exact_points(bounded, s),
        noisy,
        missing if s.n_missing else _for_exact_points(missing, s),
    )


def projection_guarantee(situation: Situation) -> Guarantee:
    """Evaluate Theorem 8 for TSC after a random projection, open constants set to 1.

    Parameters
    ----------
    situation : Situation

    Returns
    -------
    Guarantee
    """
    s, c = situation, allowed_deviations(situation, lambda z: z)
    reduced = reduced_failure(
        s.sizes,
        s.dims,
        s.n_neighbors,
        s.n_components,
        n_features=s.n_features,
        max_affinity=s.max_affinity,
        separation=c.bounded,
        connectedness=c.connected,
        constant=OPEN_CONSTANT,
        concentration=OPEN_CONSTANT,
    )
    return _for_exact_points(reduced, s)


def connection_guarantees(situation: Situation) -> tuple[Guarantee, ...]:
    """Evaluate Theorem 2 for every cluster."""
    s = situation
    return tuple(
        connectedness_failure(n, dim, s.n_neighbors)
        for n, dim in zip(s.sizes, s.dims, strict=True)
    )


def size_for_neighbours(dim: int, share: float) -> float:
    r"""Fewest points of a cluster that leave room for q in Theorems 4, 5 and 8.

    The smallest n with :math:`12 (24 \pi)^{d-1} \log n < n / share`.

    Parameters
    ----------
    dim : int
        Dimension of the subspace.
    share : float
        6 for Theorems 5 and 8 (q < N_min / 6), 1 for Theorems 2 and 4.

    Returns
    -------
    float
        Infinite above 10^15.

    Examples
    --------
    >>> size_for_neighbours(2, 1.0), size_for_neighbours(2, 6.0)
    (8149.0, 59700.0)
    """
    needed = 12 * (24 * math.pi) ** (dim - 1)
    return _fewest(lambda n: needed * math.log(n) < n / share)


def size_for_cap(dim: int, gamma: float = 3.0) -> float:
    """Fewest points of a cluster whose cap of Theorem 2 is small enough.

    Examples
    --------
    >>> size_for_cap(2)
    994.0
    """
    return _fewest(
        lambda n: cap_radius(min(gamma * math.log(n) / n, 1.0), dim) < math.pi / 48
    )


def size_for_rate(dim: int, ratio: float, n_neighbors: int) -> float:
    """Fewest points of a cluster for c_1 of Lemma 1 above 0, q unchanged.

    Examples
    --------
    >>> size_for_rate(2, 0.5, 3) < 30
    True
    """
    p = inner_product_probability((1 + ratio) / 2, dim)
    return _fewest(
        lambda n: (
            n > n_neighbors
            and disjoint_rate(n, smallest_exponent(n_neighbors, n), p) > 0
        )
    )


def largest_tolerated(
    ratios: Callable[[int], MissingRatio], n_features: int
) -> int | None:
    """Find the most missing entries for which r_s is surely below 1, by bisection.

    Parameters
    ----------
    ratios : callable
        From s to its ratio, which grows with s.
    n_features : int
        D.

    Returns
    -------
    int or None
        None where r_0 is not below 1 either.
    """
    if not ratios(0).upper < 1:
        return None
    low, high = 0, n_features
    while high - low > 1:
        middle = (low + high) // 2
        if ratios(middle).upper < 1:
            low = middle
        else:
            high = middle
    return low


def dominant_term(guarantee: Guarantee) -> str:
    """Return the name of the largest term of the failure sum."""
    return max(guarantee.terms, key=lambda name: guarantee.terms[name])


def worst_connection(guarantees: Sequence[Guarantee]) -> int:
    """Return the cluster that asks for the largest q in Theorem 2."""
    limits = [
        next(c.limit for c in g.conditions if c.name == "n_neighbors against log n")
        for g in guarantees
    ]
    return max(range(len(limits)), key=limits.__getitem__)


def _for_exact_points(guarantee: Guarantee, situation: Situation) -> Guarantee:
    exact = Condition("points on subspaces", situation.farthest, "<=", ON_SUBSPACE)
    return replace(guarantee, conditions=(exact, *guarantee.conditions))


def _fewest(enough: Callable[[int], bool]) -> float:
    """Smallest count from which on a condition holds; it may hold by chance before."""
    high = 4
    while not enough(high) or not enough(2 * high):
        high *= 2
        if high > _LARGEST_COUNT:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)
