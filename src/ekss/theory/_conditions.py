"""What the guarantees ask of the data: named conditions, value beside limit.

Statements are numbered as in [1]_: Lemma 1 (missing entries), Lemma 2 (noise), Theorem
2 (connectedness), Theorem 8 (random projection).

.. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using Ensembles of
   K-Subspaces", Information and Inference, 2021.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
from scipy.special import betaincinv, gammaln

from ekss.theory._missing import Bases, MissingRatio, checked_bases, missing_ratio

__all__ = [
    "Condition",
    "Guarantee",
    "MissingRatio",
    "ProjectionDimension",
    "cap_radius",
    "connectedness_conditions",
    "connectedness_constant",
    "connectedness_failure",
    "largest_affinity",
    "missing_ratio",
    "noise_condition",
    "projection_dimension",
]

_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """One inequality a guarantee needs: ``value relation limit``.

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
    """

    statement: str
    terms: Mapping[str, float]
    conditions: tuple[Condition, ...]

    @property
    def total(self) -> float:
        """The failure probability, at most 1; it means nothing unless ``applies``."""
        return min(1.0, sum(self.terms.values()))

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
    """Smallest projected dimensions that suffice for no false connections by TSC."""

    deviation_limit: float
    dimension: int
    heckel_dimension: int


def largest_affinity(bases: Bases) -> float:
    r"""Largest subspace affinity over pairs, the first term of Lemma 2's condition.

    .. math:: \max_{k \ne l} \|U_k^T U_l\|_F / \sqrt{\min(d_k, d_l)}

    Parameters
    ----------
    bases : sequence of ndarray of shape (n_features, dim)
        At least two, orthonormal columns; dims may differ.

    Returns
    -------
    float in [0, 1]

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
    n_neighbors: int,
    smallest_cluster: int,
) -> tuple[Condition, ...]:
    r"""Conditions of Lemma 2 and Theorem 6 (with ``noise=0`` of Theorem 5).

    .. math:: \max_{k \ne l} \mathrm{aff}(S_k, S_l) + \frac{\sigma(1+\sigma)}
        {\sqrt{\log N}} \sqrt{\frac{d_{max}}{D}} \le \frac{1}{15 \log N},

    :math:`D > 6 \log N` and :math:`q < N_{min} / 6`.

    Parameters
    ----------
    max_affinity : float
        See `largest_affinity`.
    noise : float
        sigma; the noise of a point is N(0, sigma^2 / D I_D), so its norm is near sigma.
    n_samples, n_features, largest_dim : int
        N, D and d_max.
    n_neighbors, smallest_cluster : int
        q and N_min.

    Returns
    -------
    tuple of Condition
        Affinity, number of features, neighbours.

    Examples
    --------
    >>> [c.holds for c in noise_condition(0.001, 0.1, 100, 900, 2, n_neighbors=3,
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
        Condition(
            "n_neighbors against N_min / 6",
            float(n_neighbors),
            "<",
            smallest_cluster / 6,
        ),
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
    float in [0, pi]

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


def connectedness_conditions(
    n: int, dim: int, n_neighbors: int, gamma: float = 3.0
) -> tuple[Condition, ...]:
    r"""Conditions of Theorem 2 for n points uniform on S^{dim-1}.

    :math:`\gamma > 1`, a cap covering :math:`\gamma \log n / n` of the sphere has
    radius below :math:`\pi / 48`, and
    :math:`4 (24 \pi)^{d-1} \gamma \log n \le q \le n`.

    Parameters
    ----------
    n, dim, n_neighbors : int
        Points of the cluster, dimension of its subspace, neighbours kept.
    gamma : float, default=3.0
        The value the proofs of Theorems 4 and 5 use.

    Returns
    -------
    tuple of Condition

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
    needed = 4 * (24 * math.pi) ** (dim - 1) * gamma * math.log(n)
    radius = cap_radius(min(max(gamma * math.log(n) / n, 0.0), 1.0), dim)
    return (
        Condition("gamma", float(gamma), ">", 1.0),
        Condition("dim for connectedness", float(dim), ">=", 2.0),
        Condition("cap radius", radius, "<", math.pi / 48),
        Condition("n_neighbors against log n", float(n_neighbors), ">=", needed),
        Condition("n_neighbors against n", float(n_neighbors), "<=", float(n)),
    )


def connectedness_failure(
    n: int, dim: int, n_neighbors: int, gamma: float = 3.0
) -> Guarantee:
    r"""Theorem 2: the q-nearest-neighbour graph of one cluster is not connected.

    :math:`2 / (n^{\gamma-1} \gamma \log n)`, for any C_3-angle preserving affinity.

    Parameters
    ----------
    n, dim, n_neighbors : int
        Points of the cluster, dimension of its subspace, neighbours kept.
    gamma : float, default=3.0
        Above 1.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> connectedness_failure(100_000, 2, 12_000).holds
    True
    """
    conditions = connectedness_conditions(n, dim, n_neighbors, gamma)
    term = 2 / (n ** (gamma - 1) * gamma * math.log(n)) if gamma > 0 else math.inf
    return Guarantee("Theorem 2", MappingProxyType({"disconnected": term}), conditions)


def connectedness_constant(
    f: Callable[[float], float], n: int, dim: int, gamma: float = 3.0
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
    fraction = gamma * math.log(n) / n
    theta = cap_radius(min(fraction, 1.0), dim)
    if theta >= math.pi / 48:
        return 0.0
    # L(S^{d-1}) / L(S^{d-2}) = sqrt(pi) Gamma((d-1)/2) / Gamma(d/2)
    areas = math.sqrt(math.pi) * math.exp(gammaln((dim - 1) / 2) - gammaln(dim / 2))
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
