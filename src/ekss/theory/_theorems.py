"""The paper's theorems and lemmas as functions: conditions, constants, failure sums.

Statements are numbered as in [1]_. A theorem becomes a function that returns a
`Guarantee`: the terms of its failure probability by name, and the conditions without
which the sum means nothing. Arguments shared by the theorems: ``sizes`` (N_k) and
``dims`` (d_k) list the clusters, ``q`` is the number of neighbours, ``n_members`` is B,
``separation`` is C_1 or C_2, ``connectedness`` is C_3, the smallest
`connectedness_constant` over the clusters.

C_1 and C_2 depend on f, the expected affinity as a function of the absolute inner
product. c_3 of Theorem 3, ``deviation_rate``, is 2 sqrt(log 2) = 1.665 in the paper,
smaller than Hoeffding's 2 for averages of variables in [0, 1]: the paper's bound is
true but weaker. `HOEFFDING_RATE` gives the sharper one.

.. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using Ensembles of
   K-Subspaces", Information and Inference, 2021.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
from scipy.special import betainc, betaincinv, gammaln

from ekss.theory._missing import checked_bases
from ekss.theory._types import Bases, Increasing

PAPER_RATE = 2 * math.sqrt(math.log(2))
HOEFFDING_RATE = 2.0
NOISY_RATE = 1 / 20  # the proof of Lemma 2 has c_2 > 1/20
LARGEST_CAP = math.pi / 48  # radius that Theorem 2 allows

_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """One inequality a guarantee needs: ``value relation limit``.

    Attributes
    ----------
    name : str
        What is compared, and the statement that asks for it.
    value, limit : float
        The two sides.
    relation : {"<", "<=", ">", ">="}
        How they should compare.

    Examples
    --------
    >>> Condition("r_0 (Theorem 4)", 0.8, "<", 1.0).holds
    True
    """

    name: str
    value: float
    relation: str
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the inequality is true; false where a side is not a number."""
        return bool(_RELATIONS[self.relation](self.value, self.limit))


@dataclass(frozen=True)
class Guarantee:
    """A theorem evaluated: terms of its failure probability, and its conditions.

    Attributes
    ----------
    statement : str
        The theorem.
    terms : mapping of str to float
        Every term of the failure sum; that of Theorem 3 is at most 1.
    conditions : tuple of Condition
        What the theorem needs.

    Examples
    --------
    >>> from ekss.theory import connectedness_failure
    >>> found = connectedness_failure(100_000, 2, 12_000)
    >>> found.applies, found.failure < 1e-10
    (True, True)
    >>> [condition.name for condition in found.unmet]
    []
    """

    statement: str
    terms: Mapping[str, float]
    conditions: tuple[Condition, ...]

    @property
    def total(self) -> float:
        """The failure probability, at most 1; it means nothing unless ``applies``."""
        return min(1.0, sum(self.terms.values()))

    @property
    def failure(self) -> float | None:
        """The failure probability; None where a condition fails."""
        return self.total if self.applies else None

    @property
    def unmet(self) -> tuple[Condition, ...]:
        """The conditions that fail."""
        return tuple(c for c in self.conditions if not c.holds)

    @property
    def applies(self) -> bool:
        """Whether every condition holds."""
        return not self.unmet

    @property
    def holds(self) -> bool:
        """Whether the theorem applies and its failure probability is below 1."""
        return self.applies and self.total < 1


@dataclass(frozen=True)
class ProjectionDimension:
    """Smallest projected dimensions that suffice for no false connections by TSC.

    Attributes
    ----------
    deviation_limit : float
        Deviation of inner products below which the theorem speaks.
    dimension : int
        What the discussion of Theorem 8 asks for.
    heckel_dimension : int
        What Heckel, Tschannen and Bölcskei ask for.

    Examples
    --------
    >>> from ekss.theory import projection_dimension
    >>> found = projection_dimension(1000, 4, constant=1.0, concentration=1.0)
    >>> found.dimension, found.heckel_dimension
    (609201, 157467)
    """

    deviation_limit: float
    dimension: int
    heckel_dimension: int


def deviation_failure(
    n_samples: int, tau: float, n_members: int, *, deviation_rate: float = PAPER_RATE
) -> float:
    r"""Theorem 3: chance that EKSS-0 is not tau-angle preserving.

    :math:`\min\{1, N (N-1) e^{-c_3 \tau^2 B}\}`, a union over the pairs of points.

    Parameters
    ----------
    n_samples : int
        Number of points, N.
    tau : float
        Deviation allowed; at 0 or below nothing is promised and 1 is returned.
    n_members : int
        Number of members, B.
    deviation_rate : float, default=PAPER_RATE
        Rate c_3: `PAPER_RATE`, or the sharper `HOEFFDING_RATE`.

    Returns
    -------
    float
        A probability.

    Examples
    --------
    >>> deviation_failure(100, 0.1, 2000) < 1e-10
    True
    """
    if tau <= 0:
        return 1.0
    log_pairs = math.log(max(n_samples * (n_samples - 1), 1))
    return math.exp(min(0.0, log_pairs - deviation_rate * tau**2 * n_members))


def members_needed(
    n_samples: int, tau: float, failure: float, *, deviation_rate: float = PAPER_RATE
) -> int:
    r"""Theorem 3 solved for B: the fewest members for a wanted tau and failure.

    .. math:: B \ge \log(N (N-1) / \varepsilon) / (c_3 \tau^2)

    Parameters
    ----------
    n_samples : int
        Number of points, at least 2.
    tau, failure : float
        Deviation allowed, positive, and failure probability epsilon in (0, 1).
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    int
        Number of members, B.

    Examples
    --------
    >>> members_needed(100, 0.1, 0.01)
    830
    >>> members_needed(100, 0.1, 0.01, deviation_rate=HOEFFDING_RATE)
    691
    """
    if n_samples < 2 or tau <= 0 or not 0 < failure < 1:
        raise ValueError(
            f"n_samples={n_samples}, tau={tau}, failure={failure} must be at least 2, "
            "positive and in (0, 1); no ensemble reaches anything else"
        )
    pairs = n_samples * (n_samples - 1)
    guess = math.ceil(math.log(pairs / failure) / (deviation_rate * tau**2))
    for n_members in (guess - 1, guess):  # rounding may move the solution by one
        rate = deviation_rate
        if deviation_failure(n_samples, tau, n_members, deviation_rate=rate) <= failure:
            return n_members
    return guess + 1


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
        Number of points, at least 2, and of members.
    failure : float
        Failure probability epsilon in (0, 1).
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    float
        The deviation tau.

    Examples
    --------
    >>> round(promised_deviation(100, 830, 0.01), 3)
    0.1
    """
    log_pairs = math.log(n_samples * (n_samples - 1) / failure)
    return math.sqrt(log_pairs / (deviation_rate * n_members))


def separation_constant_disjoint(f: Increasing, alpha: float, eta: float) -> float:
    r"""C_1 of Lemma 1: :math:`\{f(\alpha - \eta/2) - f(\alpha - \eta)\} / 2`.

    Parameters
    ----------
    f : callable
        Strictly increasing on [0, 1].
    alpha, eta : float
        Denominator of r_s, and how far the numerator is below it. Full data and
        orthonormal bases: 1 and 1 - r_0; otherwise see `MissingRatio`.

    Returns
    -------
    float
        Positive where eta is; where it is not, 0, for nothing is promised.

    Examples
    --------
    >>> separation_constant_disjoint(lambda x: x, 1.0, 0.5)
    0.125
    """
    if eta <= 0:
        return 0.0
    return float(f(alpha - eta / 2) - f(max(alpha - eta, 0.0))) / 2


def separation_constant_noisy(
    f: Increasing,
    max_affinity: float,
    noise: float,
    n_features: int,
    dims: Sequence[int],
    n_samples: int,
) -> float:
    r"""C_2 of Lemma 2, with :math:`\beta = \sqrt{6 \log N}` and :math:`\nu = 2/3`.

    .. math:: C_2 = \tfrac12 \min_l f(\nu / \sqrt{d_l} - \varepsilon) -
        f(\beta (1+\beta)\, \mathrm{aff} / \sqrt{d_l} + \varepsilon), \quad
        \varepsilon = 2 \sigma (1+\sigma) \beta / \sqrt D

    Parameters
    ----------
    f : callable
        Strictly increasing on [0, 1]; its argument is clipped to that range.
    max_affinity, noise : float
        Largest affinity and sigma. The affinity bounds the proof's
        ||U_k^T U_l||_F / sqrt(d_k), so C_2 is never too large.
    n_features : int
        Dimension of the space, D.
    dims : sequence of int
        Dimension of each subspace.
    n_samples : int
        Number of points, N.

    Returns
    -------
    float
        Positive where Lemma 2's condition holds.

    Examples
    --------
    >>> separation_constant_noisy(lambda x: x, 0.0, 0.0, 100, [4, 1], 50) == 1 / 6
    True
    """
    beta = math.sqrt(6 * math.log(n_samples))
    blur = 2 * noise * (1 + noise) * beta / math.sqrt(n_features)
    gaps = []
    for dim in dims:
        near = max(2 / 3 / math.sqrt(dim) - blur, 0.0)
        far = min(beta * (1 + beta) * max_affinity / math.sqrt(dim) + blur, 1.0)
        gaps.append(float(f(near) - f(far)))
    return min(gaps) / 2


def inner_product_probability(limit: float, dim: int) -> float:
    r"""P(|<a, b>| <= limit) for independent uniform points of S^{dim-1}, exactly.

    :math:`I_{t^2}(1/2, (d-1)/2)`. Lemma 1 needs it at :math:`1 - \eta / (2\alpha) =
    (1 + r_s) / 2`. Points of S^0 have |<a, b>| = 1.

    Parameters
    ----------
    limit : float
        Largest absolute inner product.
    dim : int
        Dimension of the space that the sphere lies in.

    Returns
    -------
    float
        The probability; 0 below a limit of 0, and 1 from a limit of 1 on.

    Examples
    --------
    >>> round(inner_product_probability(0.25, 3), 12)
    0.25
    """
    if limit < 0 or limit >= 1 or dim == 1:
        return float(limit >= 1)
    return float(betainc(0.5, (dim - 1) / 2, limit**2))


def disjoint_rate(n: int, rho: float, p: float) -> float:
    r"""Compute c_1 of Lemma 1 for a cluster of n points, the best its proof gives.

    :math:`(e\xi)^{1/\xi} p^{1 - 1/\xi} = e^{-c_1}` with :math:`\xi = (n-1) /
    (n^\rho - 1)`; :math:`-\log p` at :math:`\rho = 0`.

    Parameters
    ----------
    n : int
        Points of the cluster, at least 2.
    rho : float in [0, 1)
        Exponent: q is below n^rho.
    p : float in [0, 1]
        See `inner_product_probability`.

    Returns
    -------
    float
        Positive exactly where n exceeds the N_0 of the lemma.

    Examples
    --------
    >>> disjoint_rate(100, 0.0, 0.5) == math.log(2)
    True
    """
    if n < 2 or not 0 <= rho < 1 or not 0 <= p <= 1:
        raise ValueError(
            f"n={n}, rho={rho}, p={p} must be at least 2, in [0, 1) and in [0, 1]; "
            "Lemma 1 says nothing otherwise"
        )
    inverse = (n**rho - 1) / (n - 1)
    decay = -math.log(p) if p > 0 else math.inf
    cost = inverse * (1 - math.log(inverse)) if inverse > 0 else 0.0
    return (1 - inverse) * decay - cost


def largest_affinity(bases: Bases) -> float:
    r"""Largest subspace affinity over pairs, the first term of Lemma 2's condition.

    .. math:: \max_{k \ne l} \|U_k^T U_l\|_F / \sqrt{\min(d_k, d_l)}

    Parameters
    ----------
    bases : sequence of ndarray of shape (n_features, dim)
        At least two, orthonormal columns; dims may differ.

    Returns
    -------
    float
        From 0 for orthogonal subspaces to 1 where one contains another.

    Examples
    --------
    >>> largest_affinity([np.eye(3)[:, :1], np.eye(3)[:, 1:]])
    0.0
    """
    return max(
        float(np.linalg.norm(U.T @ V) / math.sqrt(min(U.shape[1], V.shape[1])))
        for U, V in combinations(checked_bases(bases), 2)
    )


def noise_condition(
    max_affinity: float,
    noise: float,
    n_samples: int,
    n_features: int,
    largest_dim: int,
    *,
    q: int,
    smallest_cluster: int,
) -> tuple[Condition, ...]:
    r"""List the conditions of Lemma 2 and Theorem 6 (with ``noise=0`` of Theorem 5).

    .. math:: \max_{k \ne l} \mathrm{aff}(S_k, S_l) + \frac{\sigma(1+\sigma)}
        {\sqrt{\log N}} \sqrt{\frac{d_{max}}{D}} \le \frac{1}{15 \log N},

    :math:`D > 6 \log N` and :math:`q < N_{min} / 6`.

    Parameters
    ----------
    max_affinity : float
        See `largest_affinity`.
    noise : float
        The sigma of Lemma 2: the noise of a point is N(0, sigma^2 / D I_D), so its
        norm is near sigma.
    n_samples, n_features, largest_dim : int
        Points N, features D, and the largest dimension d_max.
    q, smallest_cluster : int
        Neighbours kept, and points of the smallest cluster, N_min.

    Returns
    -------
    tuple of Condition
        Affinity, number of features, neighbours.

    Examples
    --------
    >>> [c.holds for c in noise_condition(0.001, 0.1, 100, 900, 2, q=3,
    ...                                   smallest_cluster=50)]
    [True, True, True]
    """
    if n_samples < 2 or noise < 0:
        raise ValueError(
            f"n_samples={n_samples} and noise={noise} must be at least 2 and 0; "
            "give the size of the data and a standard deviation"
        )
    log_n = math.log(n_samples)
    spread = noise * (1 + noise) * math.sqrt(largest_dim / n_features / log_n)
    total = max_affinity + spread
    return (
        Condition("largest affinity plus noise", total, "<=", 1 / (15 * log_n)),
        Condition("n_features", float(n_features), ">", 6 * log_n),
        Condition("q against N_min / 6", float(q), "<", smallest_cluster / 6),
    )


def cap_radius(fraction: float, dim: int) -> float:
    r"""Spherical radius of a cap that covers a fraction of the sphere in R^dim.

    Up to one half a cap of radius t covers :math:`I_{\sin^2 t}((d-1)/2, 1/2) / 2`, the
    regularised incomplete beta function, inverted here.

    Parameters
    ----------
    fraction : float in [0, 1]
        Share of the area of S^{dim-1}.
    dim : int
        1 is the pair of points {-1, 1}: radius 0 covers one half; 2 is the circle.

    Returns
    -------
    float
        The radius, in [0, pi].

    Examples
    --------
    >>> cap_radius(0.25, 2) == np.pi / 4, round(cap_radius(0.5, 9) / np.pi, 12)
    (True, 0.5)
    """
    if not 0 <= fraction <= 1 or dim < 1:
        raise ValueError(
            f"fraction={fraction} must lie in [0, 1] and dim={dim} be at least 1; "
            "give a share of the sphere S^(dim-1)"
        )
    if dim == 1:
        return 0.0 if fraction <= 0.5 else math.pi
    if dim == 2:
        return math.pi * fraction
    if fraction > 0.5:
        return math.pi - cap_radius(1 - fraction, dim)
    half = (dim - 1) / 2
    if fraction < 0.25:  # the sine is accurate for small caps, the cosine near pi/2
        return math.asin(math.sqrt(betaincinv(half, 0.5, 2 * fraction)))
    return math.acos(math.sqrt(betaincinv(0.5, half, 1 - 2 * fraction)))


def dense_cap(n: int, dim: int, gamma: float = 3.0) -> float:
    """Return the radius of a cap that covers gamma log n / n of the sphere."""
    return cap_radius(min(max(gamma * math.log(n) / n, 0.0), 1.0), dim)


def connecting_q(n: int, dim: int, gamma: float = 3.0) -> float:
    """Return the q that Theorem 2 asks for: 4 (24 pi)^(d-1) gamma log n."""
    return 4 * (24 * math.pi) ** (dim - 1) * gamma * math.log(n)


def connectedness_conditions(
    n: int, dim: int, q: int, gamma: float = 3.0
) -> tuple[Condition, ...]:
    r"""List the conditions of Theorem 2 for n points uniform on S^{dim-1}.

    :math:`\gamma > 1`, a cap covering :math:`\gamma \log n / n` of the sphere has
    radius below :math:`\pi / 48`, and
    :math:`4 (24 \pi)^{d-1} \gamma \log n \le q \le n`.

    Parameters
    ----------
    n, dim, q : int
        Points of the cluster, dimension of its subspace, neighbours kept.
    gamma : float, default=3.0
        The value the proofs of Theorems 4 and 5 use.

    Returns
    -------
    tuple of Condition
        All of them, whether they hold or not.

    Notes
    -----
    ``dim >= 2`` is our addition: on a line all points have the same inner product, so
    errors of any size can split them and no positive C_3 exists.

    Examples
    --------
    >>> [c.holds for c in connectedness_conditions(100_000, 2, 12_000)]
    [True, True, True, True, True]
    """
    if n < 2 or dim < 1:
        raise ValueError(f"n={n} and dim={dim} must be at least 2 and 1; add points")
    radius = dense_cap(n, dim, gamma)
    needed = connecting_q(n, dim, gamma)
    return (
        Condition("gamma", float(gamma), ">", 1.0),
        Condition("dim for connectedness", float(dim), ">=", 2.0),
        Condition("cap radius", radius, "<", LARGEST_CAP),
        Condition("q against log n", float(q), ">=", needed),
        Condition("q against n", float(q), "<=", float(n)),
    )


def connectedness_failure(n: int, dim: int, q: int, gamma: float = 3.0) -> Guarantee:
    r"""Theorem 2: the q-nearest-neighbour graph of one cluster is not connected.

    :math:`2 / (n^{\gamma-1} \gamma \log n)`, for any C_3-angle preserving affinity.

    Parameters
    ----------
    n, dim, q : int
        Points of the cluster, dimension of its subspace, neighbours kept.
    gamma : float, default=3.0
        The value the proofs of Theorems 4 and 5 use.

    Returns
    -------
    Guarantee
        Its conditions are those of `connectedness_conditions`.

    Examples
    --------
    >>> connectedness_failure(100_000, 2, 12_000).holds
    True
    """
    conditions = connectedness_conditions(n, dim, q, gamma)
    term = 2 / (n ** (gamma - 1) * gamma * math.log(n)) if gamma > 0 else math.inf
    return Guarantee("Theorem 2", MappingProxyType({"disconnected": term}), conditions)


def connectedness_constant(
    f: Increasing, n: int, dim: int, gamma: float = 3.0
) -> float:
    r"""C_3 of Theorem 2, the deviation under which a cluster stays connected.

    .. math:: C_3 = \tfrac12 \{f(\cos 16\theta) - f(\cos(16\theta + \delta))\},\;
        \delta = \min\{12\pi (\tfrac{d-1}{3} \tfrac{L(S^{d-1})}{L(S^{d-2})}
        \tfrac{\gamma \log n}{n})^{1/(d-1)}, \tfrac\pi2 - 24\theta\}

    with theta the radius of a cap covering gamma log n / n of the sphere.

    Parameters
    ----------
    f : callable
        Strictly increasing on [0, 1]: absolute inner product to expected affinity.
    n, dim : int
        Points of the cluster and dimension of its subspace, at least 2.
    gamma : float, default=3.0
        As in `connectedness_conditions`.

    Returns
    -------
    float
        Positive where the conditions of Theorem 2 hold; 0 where the cap is too large.

    Notes
    -----
    C_3 falls to 0 as n grows beyond the smallest n the theorem allows, so over
    clusters of one dimension the largest decides, not N_min as Theorem 4 says: take
    the minimum over the clusters. Differences of f below rounding come out as 0.

    Examples
    --------
    >>> connectedness_constant(lambda x: x, 100_000, 2) > 0
    True
    """
    if n < 2 or dim < 2:
        raise ValueError(
            f"n={n} and dim={dim} must both be at least 2; points on a line have no C_3"
        )
    theta = dense_cap(n, dim, gamma)
    if theta >= LARGEST_CAP:
        return 0.0
    # L(S^{d-1}) / L(S^{d-2}) = sqrt(pi) Gamma((d-1)/2) / Gamma(d/2)
    areas = math.sqrt(math.pi) * math.exp(gammaln((dim - 1) / 2) - gammaln(dim / 2))
    fraction = gamma * math.log(n) / n
    spread = ((dim - 1) / 3 * areas * fraction) ** (1 / (dim - 1))
    delta = min(12 * math.pi * spread, math.pi / 2 - 24 * theta)
    gap = f(math.cos(16 * theta)) - f(math.cos(16 * theta + delta))
    return float(gap) / 2


def projection_dimension(
    n_samples: int,
    dim: int,
    *,
    constant: float,
    concentration: float,
    tau: float | None = None,
) -> ProjectionDimension:
    r"""Projected dimension p after which TSC has no false connections (Theorem 8).

    The discussion asks :math:`\tau < \bar c / \sqrt d` with
    :math:`\bar c = (5 - 2\sqrt6) / 15` and :math:`p > (C / \tau^2) \log N`; Heckel,
    Tschannen and Bölcskei ask :math:`p \ge (825 / c_3)\, d \log^2 N`.

    Parameters
    ----------
    n_samples, dim : int
        N and the dimension of the subspaces.
    constant, concentration : float
        C of the random projection, and c_3 of its failure 2 exp(-c_3 tau^2 p); the
        paper leaves both open.
    tau : float, default=None
        Deviation wanted, below the limit; None takes the limit, the smallest p.

    Returns
    -------
    ProjectionDimension
        Both dimensions, and the limit of tau.

    Examples
    --------
    >>> projection_dimension(1000, 4, constant=1.0, concentration=1.0).heckel_dimension
    157467
    """
    limit = (5 - 2 * math.sqrt(6)) / 15 / math.sqrt(dim)
    if tau is not None and not 0 < tau < limit:
        raise ValueError(
            f"tau={tau} must lie in (0, {limit:.3g}), the limit for dim={dim}; lower it"
        )
    log_n = math.log(n_samples)
    ours = constant / (tau or limit) ** 2 * log_n
    heckel = 825 / concentration * dim * log_n**2
    return ProjectionDimension(limit, math.floor(ours) + 1, math.ceil(heckel))


def _union(statement: str, *parts: Guarantee) -> Guarantee:
    """Add the failure probabilities of the parts, and ask what all of them ask."""
    terms = {name: term for part in parts for name, term in part.terms.items()}
    conditions = tuple(c for part in parts for c in part.conditions)
    return Guarantee(statement, MappingProxyType(terms), conditions)


def _positive(**constants: float) -> tuple[Condition, ...]:
    return tuple(Condition(name, c, ">", 0.0) for name, c in constants.items())


@dataclass(frozen=True)
class _Clusters:
    """What can fail, event by event; a theorem is a union of some of them."""

    sizes: Sequence[int]
    dims: Sequence[int]
    q: int

    def near(self, name: str, ratio: float, rho: float, relation: str) -> Guarantee:
        """Lemma 1: every point has q near neighbours in its cluster."""
        rates = [
            disjoint_rate(n, rho, inner_product_probability((1 + ratio) / 2, dim))
            for n, dim in zip(self.sizes, self.dims, strict=True)
        ]
        conditions = (
            Condition(name, ratio, "<", 1.0),
            Condition("rate c_1", min(rates), ">", 0.0),
            Condition("q against N_min^rho", self.q, relation, min(self.sizes) ** rho),
        )
        return Guarantee("Lemma 1", self._too_few(rates), conditions)

    def near_despite_noise(
        self, n_features: int, max_affinity: float, noise: float, rate: float
    ) -> Guarantee:
        """Lemma 2: the same for nearly orthogonal subspaces and noisy points."""
        n_samples = sum(self.sizes)
        conditions = noise_condition(
            max_affinity,
            noise,
            n_samples,
            n_features,
            max(self.dims),
            q=self.q,
            smallest_cluster=min(self.sizes),
        )
        few = self._too_few([rate] * len(self.sizes))
        terms = {"far points look near": 10 / n_samples, **few}
        return Guarantee("Lemma 2", terms, conditions)

    def connected(self) -> Guarantee:
        """Theorem 2 for every cluster, with gamma = 3 and N_k of at least 2."""
        needed = connecting_q(max(self.sizes), max(self.dims))
        conditions = (
            Condition("q against log N_max", float(self.q), ">=", needed),
            Condition("dim for connectedness", float(min(self.dims)), ">=", 2.0),
        )
        terms = {"disconnected": sum(2 / n**2 for n in self.sizes)}
        return Guarantee("Theorem 2", terms, conditions)

    def deviation(self, n_members: int, rate: float, **constants: float) -> Guarantee:
        """Theorem 3: no vote deviates by more than the smallest constant."""
        n_samples, tau = sum(self.sizes), min(constants.values())
        term = deviation_failure(n_samples, tau, n_members, deviation_rate=rate)
        return Guarantee("Theorem 3", {"deviation": term}, _positive(**constants))

    def _too_few(self, rates: Sequence[float]) -> dict[str, float]:
        """Return the term sum N_k exp(-c (N_k - 1)), with c given per cluster."""
        pairs = zip(self.sizes, rates, strict=True)
        total = sum(n * math.exp(min(-rate * (n - 1), 0.0)) for n, rate in pairs)
        return {"too few near neighbours": total}


def disjoint_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    q: int,
    n_members: int,
    *,
    ratio: float,
    rho: float,
    separation: float,
    connectedness: float,
    deviation_rate: float = PAPER_RATE,
) -> Guarantee:
    r"""Theorem 4: EKSS-0 does not cluster disjoint subspaces correctly.

    .. math:: \sum_k (N_k e^{-c_1 (N_k - 1)} + 2 N_k^{-2})
        + N (N-1) e^{-c_3 B \min\{C_1, C_3\}^2}

    Parameters
    ----------
    sizes, dims : sequence of int
        Points and dimension of each cluster.
    q, n_members : int
        Neighbours kept, and members B.
    ratio : float
        The largest cosine between two subspaces, r_0; c_1 follows from it per cluster.
    rho : float in [0, 1)
        Free exponent: q is at most N_min^rho.
    separation, connectedness : float
        C_1 and C_3, for the f of EKSS-0.
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    Guarantee
        "rate c_1" above 0 stands for the paper's N_min > N_0.

    Examples
    --------
    >>> disjoint_failure([100] * 2, [2] * 2, 5, 9000, ratio=0.5, rho=0.4,
    ...                  separation=0.1, connectedness=0.1).unmet[0].name
    'q against log N_max'
    """
    clusters, rate = _Clusters(sizes, dims, q), deviation_rate
    return _union(
        "Theorem 4",
        clusters.near("ratio r_0", ratio, rho, "<="),
        clusters.connected(),
        clusters.deviation(n_members, rate, C_1=separation, C_3=connectedness),
    )


def bounded_affinity_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    q: int,
    n_members: int,
    *,
    n_features: int,
    max_affinity: float,
    separation: float,
    connectedness: float,
    noisy_rate: float = NOISY_RATE,
    deviation_rate: float = PAPER_RATE,
) -> Guarantee:
    r"""Theorem 5: EKSS-0 does not cluster subspaces of bounded affinity correctly.

    .. math:: 10/N + \sum_k (N_k e^{-c_2 (N_k - 1)} + 2 N_k^{-2})
        + N (N-1) e^{-c_3 B \min\{C_2, C_3\}^2}

    Parameters
    ----------
    sizes, dims : sequence of int
        Points and dimension of each cluster.
    q, n_members : int
        Neighbours kept, and members B.
    n_features : int
        D, above 6 log N: Lemma 2 asks for it, the theorem omits it.
    max_affinity : float
        Largest affinity of two subspaces.
    separation, connectedness : float
        C_2, see `separation_constant_noisy` with noise 0, and C_3, see
        `connectedness_constant`.
    noisy_rate : float, default=1/20
        Rate c_2, above 1/20 by the proof of Lemma 2.
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    Guarantee
        Terms of the sum, and conditions.

    Notes
    -----
    The paper prints a minus before 2 N_k^{-2}; the union bound adds, and so do we.

    Examples
    --------
    >>> bounded_affinity_failure([100] * 2, [2] * 2, 5, 9000, n_features=50,
    ...     max_affinity=0.0, separation=0.1, connectedness=0.1).applies
    False
    """
    clusters, rate = _Clusters(sizes, dims, q), deviation_rate
    return _union(
        "Theorem 5",
        clusters.near_despite_noise(n_features, max_affinity, 0.0, noisy_rate),
        clusters.connected(),
        clusters.deviation(n_members, rate, C_2=separation, C_3=connectedness),
    )


def noisy_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    q: int,
    n_members: int,
    *,
    n_features: int,
    max_affinity: float,
    noise: float,
    separation: float,
    noisy_rate: float = NOISY_RATE,
    deviation_rate: float = PAPER_RATE,
) -> Guarantee:
    r"""Theorem 6: EKSS-0 has false connections on noisy data.

    .. math:: 10/N + \sum_k N_k e^{-c_2 (N_k - 1)} + N (N-1) e^{-c_3 C_2^2 B}

    Parameters
    ----------
    sizes, dims : sequence of int
        Points and dimension of each cluster.
    q, n_members : int
        Neighbours kept, and members B.
    n_features : int
        Dimension of the space, D.
    max_affinity, noise : float
        Largest affinity of two subspaces, and sigma, see `noise_condition`.
    separation : float
        C_2, see `separation_constant_noisy`.
    noisy_rate : float, default=1/20
        Rate c_2, above 1/20 by the proof of Lemma 2.
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    Guarantee
        Terms of the sum, and conditions.

    Notes
    -----
    The proof uses f(|<x_i, x_j>|) for noisy points, whose norm is not 1, while EKSS-0
    sees angles only; the statement is evaluated as printed.

    Examples
    --------
    >>> noisy_failure([500] * 2, [2] * 2, 5, 20_000, n_features=5000, noise=0.1,
    ...               max_affinity=0.0, separation=0.1).holds
    True
    """
    clusters = _Clusters(sizes, dims, q)
    return _union(
        "Theorem 6",
        clusters.near_despite_noise(n_features, max_affinity, noise, noisy_rate),
        clusters.deviation(n_members, deviation_rate, C_2=separation),
    )


def missing_failure(
    n: int,
    n_clusters: int,
    dim: int,
    q: int,
    n_members: int,
    *,
    n_features: int,
    n_missing: int,
    ratio: float,
    rho: float,
    separation: float,
    c5: float,
    c6: float,
    c7: float,
    deviation_rate: float = PAPER_RATE,
) -> Guarantee:
    r"""Theorem 7: EKSS-0 has false connections, entries missing, Gaussian bases.

    .. math:: N e^{-c_1 (n-1)} + N (N-1) e^{-c_3 C_1^2 B} + 4 e^{-c_7 D}

    if :math:`D - 3 c_5 d - c_5 \log K \ge s (c_5 \log(D e / (2 s)) + c_6)`.

    Parameters
    ----------
    n, n_clusters, dim : int
        Points of each cluster, clusters and their dimension.
    q, n_members : int
        Neighbours kept, and members B.
    n_features, n_missing : int
        D and s.
    ratio : float
        The ratio r_s of Lemma 1, see `missing_ratio`.
    rho : float in [0, 1)
        Free exponent: q is at most N_min^rho.
    separation : float
        C_1, see `separation_constant_disjoint`.
    c5, c6, c7 : float
        Constants the paper leaves open; where the bases are known
        `fixed_missing_failure` does without them.
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    Guarantee
        Terms of the sum, and conditions.

    Examples
    --------
    >>> missing_failure(500, 2, 2, 3, 20_000, n_features=100, n_missing=1, ratio=0.5,
    ...     rho=0.2, separation=0.1, c5=1.0, c6=1.0, c7=1.0).holds
    True
    """
    clusters = _Clusters([n] * n_clusters, [dim] * n_clusters, q)
    room = n_features - 3 * c5 * dim - c5 * math.log(n_clusters)
    lost = 0.0
    if n_missing:
        per_entry = c5 * math.log(n_features * math.e / (2 * n_missing)) + c6
        lost = n_missing * per_entry
    enough = Condition("room for missing entries", room, ">=", lost)
    close = {"bases too close": 4 * math.exp(-c7 * n_features)}
    return _union(
        "Theorem 7",
        clusters.near("ratio r_s", ratio, rho, "<"),
        clusters.deviation(n_members, deviation_rate, C_1=separation),
        Guarantee("Theorem 7", close, (enough,)),
    )


def fixed_missing_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    q: int,
    n_members: int,
    *,
    ratio: float,
    rho: float,
    separation: float,
    deviation_rate: float = PAPER_RATE,
) -> Guarantee:
    r"""Lemma 1 with Theorem 3: Theorem 7 for bases that are known, not random.

    :math:`\sum_k N_k e^{-c_1 (N_k - 1)} + N (N-1) e^{-c_3 C_1^2 B}` if r_s < 1.

    Parameters
    ----------
    sizes, dims : sequence of int
        Points and dimension of each cluster.
    q, n_members : int
        Neighbours kept, and members B.
    ratio : float
        The ratio r_s of Lemma 1 or an upper bound of it, see `missing_ratio`.
    rho : float in [0, 1)
        Free exponent: q is at most N_min^rho.
    separation : float
        C_1, see `separation_constant_disjoint`.
    deviation_rate : float, default=PAPER_RATE
        Rate c_3, see `deviation_failure`.

    Returns
    -------
    Guarantee
        Terms of the sum, and conditions.

    Notes
    -----
    The proof needs missing entries chosen without looking at the points, and uses
    f(|<x_i, x_j>|) though points with missing entries do not have norm 1.

    Examples
    --------
    >>> fixed_missing_failure([500] * 2, [2] * 2, 3, 20_000, ratio=0.5, rho=0.2,
    ...                       separation=0.1).holds
    True
    """
    clusters = _Clusters(sizes, dims, q)
    return _union(
        "Lemma 1",
        clusters.near("ratio r_s", ratio, rho, "<"),
        clusters.deviation(n_members, deviation_rate, C_1=separation),
    )


def reduced_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    q: int,
    n_components: int,
    *,
    n_features: int,
    max_affinity: float,
    separation: float,
    connectedness: float,
    constant: float,
    concentration: float,
    noisy_rate: float = NOISY_RATE,
) -> Guarantee:
    r"""Theorem 8: TSC on randomly projected data does not cluster correctly.

    .. math:: 10/N + \sum_k (N_k e^{-c_2 (N_k - 1)} + 2 N_k^{-2})
        + 2 e^{-\tilde c \min\{C_2, C_3\}^2 p}

    Parameters
    ----------
    sizes, dims : sequence of int
        Points and dimension of each cluster.
    q : int
        Neighbours kept.
    n_components, n_features : int
        Dimension after projection, p, and before, D.
    max_affinity : float
        Largest affinity of two subspaces.
    separation, connectedness : float
        C_2 and C_3 for f(x) = x.
    constant, concentration : float
        C of p > (C / tau^2) log N, and c-tilde; the paper leaves both open.
    noisy_rate : float, default=1/20
        Rate c_2, above 1/20 by the proof of Lemma 2.

    Returns
    -------
    Guarantee
        Terms of the sum, and conditions.

    Notes
    -----
    See `bounded_affinity_failure` on the sign of 2 N_k^{-2}.

    Examples
    --------
    >>> reduced_failure([100] * 2, [2] * 2, 5, 40, n_features=50, max_affinity=0.0,
    ...     separation=0.1, connectedness=0.1, constant=1.0, concentration=1.0).applies
    False
    """
    clusters = _Clusters(sizes, dims, q)
    tau = max(min(separation, connectedness), 0.0)
    needed = constant * math.log(sum(sizes)) / tau**2 if tau else math.inf
    enough = Condition("n_components against log N", float(n_components), ">", needed)
    moved = {"projection": 2 * math.exp(-concentration * tau**2 * n_components)}
    positive = _positive(C_2=separation, C_3=connectedness)
    return _union(
        "Theorem 8",
        clusters.near_despite_noise(n_features, max_affinity, 0.0, noisy_rate),
        clusters.connected(),
        Guarantee("Theorem 8", moved, (*positive, enough)),
    )
