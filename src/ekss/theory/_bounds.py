"""Failure probabilities of Theorems 4 to 8 of [1]_, term by term.

Every theorem becomes a function that returns a `Guarantee`: the terms of the failure
sum by name, and the conditions without which the sum means nothing. Arguments shared by
the theorems: ``sizes`` (N_k) and ``dims`` (d_k) list the clusters, ``n_neighbors`` is q,
``n_members`` is B, ``separation`` is C_1 or C_2, ``connectedness`` is C_3, the smallest
`connectedness_constant` over the clusters.

.. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using Ensembles of
   K-Subspaces", Information and Inference, 2021.
"""

import math
from collections.abc import Sequence
from types import MappingProxyType

from ekss.theory._conditions import Condition, Guarantee
from ekss.theory._constants import (
    NOISY_RATE,
    PAPER_RATE,
    connecting_neighbours,
    deviation_term,
    disconnected_term,
    lemma_one,
    lemma_two,
    positive_constants,
    too_few_term,
)


def disjoint_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    n_neighbors: int,
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
    n_neighbors, n_members : int
        q and B.
    ratio : float
        r_0, the largest cosine between two subspaces; c_1 follows from it per cluster.
    rho : float in [0, 1)
        Free exponent: q is at most N_min^rho.
    separation, connectedness : float
        C_1 and C_3, for the f of EKSS-0.
    deviation_rate : float, default=PAPER_RATE
        c_3: `PAPER_RATE`, or the sharper `HOEFFDING_RATE`.

    Returns
    -------
    Guarantee
        "rate c_1" above 0 stands for the paper's N_min > N_0.

    Examples
    --------
    >>> disjoint_failure([100] * 2, [2] * 2, 5, 9000, ratio=0.5, rho=0.4,
    ...                  separation=0.1, connectedness=0.1).unmet[0].name
    'n_neighbors against log N_max'
    """
    near, rate = lemma_one(sizes, dims, ratio, rho)
    tau = min(separation, connectedness)
    conditions = (
        Condition("ratio r_0", ratio, "<", 1.0),
        rate,
        *connecting_neighbours(sizes, dims, n_neighbors),
        Condition(
            "n_neighbors against N_min^rho", n_neighbors, "<=", min(sizes) ** rho
        ),
        *positive_constants(C_1=separation, C_3=connectedness),
    )
    terms = {
        "too few near neighbours": near,
        "disconnected": disconnected_term(sizes),
        "deviation": deviation_term(sizes, tau, n_members, deviation_rate),
    }
    return Guarantee("Theorem 4", MappingProxyType(terms), conditions)


def bounded_affinity_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    n_neighbors: int,
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
    sizes, dims, n_neighbors, n_members, connectedness, deviation_rate
        As in `disjoint_failure`.
    n_features : int
        D, above 6 log N: Lemma 2 asks for it, the theorem omits it.
    max_affinity : float
        Largest affinity of two subspaces.
    separation : float
        C_2, see `separation_constant_noisy` with noise 0.
    noisy_rate : float, default=1/20
        c_2, above 1/20 by the proof of Lemma 2.

    Returns
    -------
    Guarantee

    Notes
    -----
    The paper prints a minus before 2 N_k^{-2}; the union bound adds, and so do we.

    Examples
    --------
    >>> bounded_affinity_failure([100] * 2, [2] * 2, 5, 9000, n_features=50,
    ...     max_affinity=0.0, separation=0.1, connectedness=0.1).applies
    False
    """
    tau = min(separation, connectedness)
    conditions = (
        *lemma_two(sizes, dims, n_neighbors, n_features, max_affinity, 0.0),
        *connecting_neighbours(sizes, dims, n_neighbors),
        *positive_constants(C_2=separation, C_3=connectedness),
    )
    terms = {
        "far points look near": 10 / sum(sizes),
        "too few near neighbours": too_few_term(sizes, [noisy_rate] * len(sizes)),
        "disconnected": disconnected_term(sizes),
        "deviation": deviation_term(sizes, tau, n_members, deviation_rate),
    }
    return Guarantee("Theorem 5", MappingProxyType(terms), conditions)


def noisy_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    n_neighbors: int,
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
    sizes, dims, n_neighbors, n_members, n_features, max_affinity, noisy_rate, deviation_rate
        As in `bounded_affinity_failure`.
    noise : float
        sigma, see `noise_condition`.
    separation : float
        C_2, see `separation_constant_noisy`.

    Returns
    -------
    Guarantee

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
    conditions = (
        *lemma_two(sizes, dims, n_neighbors, n_features, max_affinity, noise),
        *positive_constants(C_2=separation),
    )
    terms = {
        "far points look near": 10 / sum(sizes),
        "too few near neighbours": too_few_term(sizes, [noisy_rate] * len(sizes)),
        "deviation": deviation_term(sizes, separation, n_members, deviation_rate),
    }
    return Guarantee("Theorem 6", MappingProxyType(terms), conditions)


def missing_failure(
    n: int,
    n_clusters: int,
    dim: int,
    n_neighbors: int,
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
    n_neighbors, n_members, rho, deviation_rate
        As in `disjoint_failure`.
    n_features, n_missing : int
        D and s.
    ratio, separation : float
        r_s (see `missing_ratio`) and C_1.
    c5, c6, c7 : float
        Constants the paper leaves open; where the bases are known
        `fixed_missing_failure` does without them.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> missing_failure(500, 2, 2, 3, 20_000, n_features=100, n_missing=1, ratio=0.5,
    ...     rho=0.2, separation=0.1, c5=1.0, c6=1.0, c7=1.0).holds
    True
    """
    fixed = fixed_missing_failure(
        [n] * n_clusters,
        [dim] * n_clusters,
        n_neighbors,
        n_members,
        ratio=ratio,
        rho=rho,
        separation=separation,
        deviation_rate=deviation_rate,
    )
    room = n_features - 3 * c5 * dim - c5 * math.log(n_clusters)
    lost = 0.0
    if n_missing:
        per_entry = c5 * math.log(n_features * math.e / (2 * n_missing)) + c6
        lost = n_missing * per_entry
    conditions = (Condition("room for missing entries", room, ">=", lost),)
    terms = {**fixed.terms, "bases too close": 4 * math.exp(-c7 * n_features)}
    return Guarantee(
        "Theorem 7", MappingProxyType(terms), fixed.conditions + conditions
    )


def fixed_missing_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    n_neighbors: int,
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
    sizes, dims, n_neighbors, n_members, rho, deviation_rate
        As in `disjoint_failure`.
    ratio, separation : float
        r_s or an upper bound (see `missing_ratio`), and C_1.

    Returns
    -------
    Guarantee

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
    near, rate = lemma_one(sizes, dims, ratio, rho)
    conditions = (
        Condition("ratio r_s", ratio, "<", 1.0),
        rate,
        Condition("n_neighbors against N_min^rho", n_neighbors, "<", min(sizes) ** rho),
        *positive_constants(C_1=separation),
    )
    terms = {
        "too few near neighbours": near,
        "deviation": deviation_term(sizes, separation, n_members, deviation_rate),
    }
    return Guarantee("Lemma 1", MappingProxyType(terms), conditions)


def reduced_failure(
    sizes: Sequence[int],
    dims: Sequence[int],
    n_neighbors: int,
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
    sizes, dims, n_neighbors, n_features, max_affinity, noisy_rate
        As in `bounded_affinity_failure`.
    n_components : int
        p, the dimension after projection.
    separation, connectedness : float
        C_2 and C_3 for f(x) = x.
    constant, concentration : float
        C of p > (C / tau^2) log N, and c-tilde; the paper leaves both open.

    Returns
    -------
    Guarantee

    Notes
    -----
    The paper prints a minus before 2 N_k^{-2}; the union bound adds, and so do we.

    Examples
    --------
    >>> reduced_failure([100] * 2, [2] * 2, 5, 40, n_features=50, max_affinity=0.0,
    ...     separation=0.1, connectedness=0.1, constant=1.0, concentration=1.0).applies
    False
    """
    tau = max(min(separation, connectedness), 0.0)
    needed = constant * math.log(sum(sizes)) / tau**2 if tau else math.inf
    conditions = (
        *lemma_two(sizes, dims, n_neighbors, n_features, max_affinity, 0.0),
        *connecting_neighbours(sizes, dims, n_neighbors),
        *positive_constants(C_2=separation, C_3=connectedness),
        Condition("n_components against log N", float(n_components), ">", needed),
    )
    terms = {
        "far points look near": 10 / sum(sizes),
        "too few near neighbours": too_few_term(sizes, [noisy_rate] * len(sizes)),
        "disconnected": disconnected_term(sizes),
        "projection": 2 * math.exp(-concentration * tau**2 * n_components),
    }
    return Guarantee("Theorem 8", MappingProxyType(terms), conditions)
