"""Theorem 3, the constants of Lemmas 1 and 2, and the terms that theorems share.

C_1 and C_2 depend on f, the expected affinity as a function of the absolute inner
product. c_3 of Theorem 3, ``deviation_rate``, is 2 sqrt(log 2) = 1.665 in the paper,
smaller than Hoeffding's 2 for averages of variables in [0, 1]: the paper's bound is
true but weaker. `HOEFFDING_RATE` gives the sharper one.
"""

import math
from collections.abc import Callable, Sequence

from scipy.special import betainc

from ekss.theory._conditions import Condition, noise_condition

PAPER_RATE = 2 * math.sqrt(math.log(2))
HOEFFDING_RATE = 2.0
NOISY_RATE = 1 / 20  # the proof of Lemma 2 has c_2 > 1/20


def deviation_failure(
    n_samples: int, tau: float, n_members: int, *, deviation_rate: float = PAPER_RATE
) -> float:
    r"""Theorem 3: chance that EKSS-0 is not tau-angle preserving.

    :math:`\min\{1, N (N-1) e^{-c_3 \tau^2 B}\}`, a union over the pairs of points.

    Parameters
    ----------
    n_samples, n_members : int
        N and B.
    tau : float
        Deviation allowed; at 0 or below nothing is promised and 1 is returned.
    deviation_rate : float, default=PAPER_RATE
        c_3: `PAPER_RATE`, or the sharper `HOEFFDING_RATE`.

    Returns
    -------
    float in [0, 1]

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
        N, at least 2.
    tau, failure : float
        Deviation allowed, positive, and failure probability epsilon in (0, 1).
    deviation_rate : float, default=PAPER_RATE
        c_3: `PAPER_RATE`, or the sharper `HOEFFDING_RATE`.

    Returns
    -------
    int

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
        got = deviation_failure(
            n_samples, tau, n_members, deviation_rate=deviation_rate
        )
        if got <= failure:
            return n_members
    return guess + 1


def separation_constant_disjoint(
    f: Callable[[float], float], alpha: float, eta: float
) -> float:
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
    f: Callable[[float], float],
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
    n_features, n_samples : int
        D and N.
    dims : sequence of int
        Dimension of each subspace.

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

    Examples
    --------
    >>> round(inner_product_probability(0.25, 3), 12)
    0.25
    """
    if limit < 0 or limit >= 1 or dim == 1:
        return float(limit >= 1)
    return float(betainc(0.5, (dim - 1) / 2, limit**2))


def disjoint_rate(n: int, rho: float, p: float) -> float:
    r"""c_1 of Lemma 1 for a cluster of n points, the best its proof gives.

    :math:`(e\xi)^{1/\xi} p^{1 - 1/\xi} = e^{-c_1}` with :math:`\xi = (n-1) /
    (n^\rho - 1)`; :math:`-\log p` at :math:`\rho = 0`.

    Parameters
    ----------
    n : int
        Points of the cluster, at least 2.
    rho : float in [0, 1)
        q is below n^rho.
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


def lemma_one(
    sizes: Sequence[int], dims: Sequence[int], ratio: float, rho: float
) -> tuple[float, Condition]:
    """Return the term of Lemma 1, and the condition on c_1 of the worst cluster."""
    limit = (1 + ratio) / 2
    rates = [
        disjoint_rate(n, rho, inner_product_probability(limit, dim))
        for n, dim in zip(sizes, dims, strict=True)
    ]
    return too_few_term(sizes, rates), Condition("rate c_1", min(rates), ">", 0.0)


def lemma_two(
    sizes: Sequence[int],
    dims: Sequence[int],
    n_neighbors: int,
    n_features: int,
    max_affinity: float,
    noise: float,
) -> tuple[Condition, ...]:
    """Return the conditions of Lemma 2 for the clusters listed."""
    return noise_condition(
        max_affinity,
        noise,
        sum(sizes),
        n_features,
        max(dims),
        n_neighbors=n_neighbors,
        smallest_cluster=min(sizes),
    )


def connecting_neighbours(
    sizes: Sequence[int], dims: Sequence[int], n_neighbors: int
) -> tuple[Condition, ...]:
    """Return q >= c_4 log N_max (gamma is 3), and that no cluster is a line."""
    needed = 12 * (24 * math.pi) ** (max(dims) - 1) * math.log(max(sizes))
    return (
        Condition("n_neighbors against log N_max", float(n_neighbors), ">=", needed),
        Condition("dim for connectedness", float(min(dims)), ">=", 2.0),
    )


def positive_constants(**constants: float) -> tuple[Condition, ...]:
    """Return the condition that each constant is positive."""
    return tuple(Condition(name, c, ">", 0.0) for name, c in constants.items())


def too_few_term(sizes: Sequence[int], rates: Sequence[float]) -> float:
    """Return the sum of N_k exp(-c (N_k - 1)), c given per cluster."""
    pairs = zip(sizes, rates, strict=True)
    return sum(n * math.exp(min(-rate * (n - 1), 0.0)) for n, rate in pairs)


def disconnected_term(sizes: Sequence[int]) -> float:
    """Return the sum of 2 / N_k^2, Theorem 2 for gamma 3 and N_k of 2 or more."""
    return sum(2 / n**2 for n in sizes)


def deviation_term(
    sizes: Sequence[int], tau: float, n_members: int, rate: float
) -> float:
    """Return the term of Theorem 3 for all points together."""
    return deviation_failure(sum(sizes), tau, n_members, deviation_rate=rate)
