"""Failure probabilities by hand, by simulation and in the limit."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from ekss.core.linalg import random_bases
from ekss.theory._missing import missing_ratio
from ekss.theory._theorems import (
    HOEFFDING_RATE,
    PAPER_RATE,
    bounded_affinity_failure,
    deviation_failure,
    disjoint_failure,
    disjoint_rate,
    fixed_missing_failure,
    inner_product_probability,
    largest_affinity,
    members_needed,
    missing_failure,
    noise_condition,
    noisy_failure,
    reduced_failure,
    separation_constant_disjoint,
    separation_constant_noisy,
)

SIZES, DIMS = [100, 150], [2, 2]
N = sum(SIZES)
DISJOINT = {"ratio": 0.3, "rho": 0.4, "separation": 0.05, "connectedness": 0.02}
AFFINE = {
    "n_features": 500,
    "max_affinity": 0.001,
    "separation": 0.05,
    "connectedness": 0.02,
}
BIG_SIZES = [80_000, 90_000]
Q5 = 12_000  # above 12 * 24 pi * log 90000 = 10322 and below 80000 / 6


def uniform_cosines(rng, n, dim):
    points = rng.standard_normal((n, dim))
    return np.abs(points[:, 0]) / np.linalg.norm(points, axis=1)


@pytest.mark.parametrize("rate", [PAPER_RATE, HOEFFDING_RATE])
@pytest.mark.parametrize("tau", [0.5, 0.03, 1e-3])
@pytest.mark.parametrize("failure", [0.5, 1e-2, 1e-9])
def test_members_needed_is_the_smallest_that_works(rate, tau, failure):
    for n_samples in (2, 57, 10**5):
        need = members_needed(n_samples, tau, failure, deviation_rate=rate)
        pairs = n_samples * (n_samples - 1)
        assert pairs * math.exp(-rate * tau**2 * need) <= failure * (1 + 1e-9)
        assert pairs * math.exp(-rate * tau**2 * (need - 1)) > failure * (1 - 1e-9)
        reached = deviation_failure(n_samples, tau, need, deviation_rate=rate)
        assert reached <= failure


def test_members_needed_ends_for_deviations_beyond_float_counts():
    assert members_needed(100, 1e-10, 0.01) > 10**20


@pytest.mark.parametrize(
    "arguments", [(1, 0.1, 0.1), (9, 0.0, 0.1), (9, 0.1, 0.0), (9, 0.1, 1.0)]
)
def test_members_needed_refuses_the_impossible(arguments):
    with pytest.raises(ValueError, match="must be at least 2"):
        members_needed(*arguments)


def test_deviation_failure_by_hand_and_capped():
    by_hand = 30 * 29 * math.exp(-2 * math.sqrt(math.log(2)) * 0.2**2 * 300)
    assert deviation_failure(30, 0.2, 300) == pytest.approx(by_hand)
    assert deviation_failure(30, 0.2, 1) == 1.0
    assert deviation_failure(30, 0.0, 10**9) == 1.0
    values = [deviation_failure(30, 0.2, b) for b in (200, 400, 800)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("mean", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("n_members", [10, 100, 1000])
def test_both_rates_bound_the_exact_binomial_tail(mean, n_members):
    for tau in (0.02, 0.1, 0.3):
        counts = np.arange(n_members + 1)
        outside = np.abs(counts / n_members - mean) > tau
        exact = binom.pmf(counts, n_members, mean)[outside].sum()
        sharp = deviation_failure(2, tau, n_members, deviation_rate=HOEFFDING_RATE)
        assert exact <= sharp + 1e-12
        assert sharp <= deviation_failure(2, tau, n_members)


@pytest.mark.parametrize("dim", [2, 3, 6, 20])
@pytest.mark.parametrize("limit", [0.1, 0.5, 0.9])
def test_inner_product_probability_matches_simulation(dim, limit):
    cosines = uniform_cosines(np.random.default_rng(dim), 200_000, dim)
    share = np.mean(cosines <= limit)
    assert inner_product_probability(limit, dim) == pytest.approx(share, abs=0.006)


def test_inner_product_probability_closed_forms():
    assert inner_product_probability(0.7, 3) == pytest.approx(0.7)
    on_circle = 2 / np.pi * math.asin(0.7)
    assert inner_product_probability(0.7, 2) == pytest.approx(on_circle)
    assert inner_product_probability(0.7, 1) == 0.0
    for dim in (1, 2, 7):
        assert inner_product_probability(1.0, dim) == 1.0
        assert inner_product_probability(-0.1, dim) == 0.0


def test_disjoint_rate_solves_its_equation():
    n, rho, p = 500, 0.4, 0.8
    xi = (n - 1) / (n**rho - 1)
    left = (math.e * xi) ** (1 / xi) * p ** (1 - 1 / xi)
    assert math.exp(-disjoint_rate(n, rho, p)) == pytest.approx(left)


def test_disjoint_rate_limits():
    assert disjoint_rate(50, 0.0, 0.8) == pytest.approx(-math.log(0.8))
    assert disjoint_rate(50, 0.5, 0.0) == math.inf
    assert disjoint_rate(10**12, 0.3, 0.8) == pytest.approx(-math.log(0.8), rel=1e-4)
    assert disjoint_rate(10, 0.9, 0.99) < 0  # too few points: below N_0
    rates = [disjoint_rate(n, 0.5, 0.8) for n in (10, 100, 1000, 10_000)]
    assert rates == sorted(rates)
    with pytest.raises(ValueError, match="rho=1"):
        disjoint_rate(10, 1.0, 0.5)


def test_disjoint_rate_bounds_the_simulated_order_statistic():
    n, rho, limit, dim, q = 12, 0.35, 0.45, 3, 2
    assert q < n**rho
    rate = disjoint_rate(n, rho, inner_product_probability(limit, dim))
    rng = np.random.default_rng(0)
    cosines = uniform_cosines(rng, 100_000 * (n - 1), dim).reshape(-1, n - 1)
    failed = np.mean(np.sort(cosines, axis=1)[:, -q] <= limit)
    assert 0 < failed <= math.exp(-rate * (n - 1)) < 1


def test_separation_constant_disjoint_by_hand():
    assert separation_constant_disjoint(lambda x: x**2, 0.9, 0.4) == pytest.approx(
        (0.7**2 - 0.5**2) / 2
    )
    assert separation_constant_disjoint(lambda x: x, 0.9, -0.1) == 0.0


def test_separation_constant_disjoint_bounds_the_separation_with_missing_entries():
    rng = np.random.default_rng(2)
    n, dim, n_missing, q = 60, 2, 1, 3
    bases = random_bases(2, 200, dim, rng)
    ratio = missing_ratio(bases, n_missing)
    alpha = ratio.within_lower
    bound = separation_constant_disjoint(float, alpha, alpha - ratio.cross_upper)
    coefficients = rng.standard_normal((2, n, dim))
    coefficients /= np.linalg.norm(coefficients, axis=2, keepdims=True)
    points = coefficients @ bases.transpose(0, 2, 1)
    points[:, np.arange(n), rng.integers(200, size=n)] = 0.0
    cross = np.abs(points[0] @ points[1].T)
    for k in range(2):
        own = np.abs(points[k] @ points[k].T)
        np.fill_diagonal(own, -1.0)
        nearest = np.sort(own, axis=1)[:, -q]
        assert np.min(nearest - cross.max(axis=1 - k)) / 2 > bound > 0


def test_separation_constant_noisy_by_hand():
    beta = math.sqrt(6 * math.log(300))
    blur = 2 * 0.1 * 1.1 * beta / math.sqrt(10_000)
    gaps = [
        (2 / 3 / math.sqrt(d) - blur) ** 2
        - (beta * (1 + beta) * 0.005 / math.sqrt(d) + blur) ** 2
        for d in (2, 5)
    ]
    got = separation_constant_noisy(lambda x: x**2, 0.005, 0.1, 10_000, [2, 5], 300)
    assert got == pytest.approx(min(gaps) / 2)


@pytest.mark.parametrize("seed", range(30))
def test_separation_constant_noisy_is_positive_where_lemma_two_holds(seed):
    rng = np.random.default_rng(seed)
    n_samples = int(rng.integers(7, 10**6))
    dims = rng.integers(1, 20, size=3).tolist()
    n_features = int(rng.integers(6 * math.log(n_samples) + 1, 10**6))
    log_n, largest = math.log(n_samples), max(dims)
    # spend the whole allowance of the condition between affinity and noise
    share = rng.random()
    blur = (1 - share) / 15 / math.sqrt(log_n) * math.sqrt(n_features / largest)
    noise = (math.sqrt(1 + 4 * blur) - 1) / 2 * (1 - 1e-9)
    affinity = share / (15 * log_n)
    conditions = noise_condition(
        affinity, noise, n_samples, n_features, largest, q=1, smallest_cluster=7
    )
    assert all(c.holds for c in conditions)
    found = separation_constant_noisy(
        float, affinity, noise, n_features, dims, n_samples
    )
    assert found > 0


def test_separation_constant_noisy_is_negative_for_equal_subspaces():
    assert separation_constant_noisy(float, 1.0, 0.0, 50, [2, 2], 100) < 0


def test_affinity_bounds_the_proofs_cross_term():
    U, V = np.eye(9)[:, :2], np.linalg.qr(np.random.default_rng(0).random((9, 4)))[0]
    norm = np.linalg.norm(U.T @ V)
    for dim in (2, 4):
        assert norm / math.sqrt(dim) <= largest_affinity([U, V]) + 1e-12


def test_disjoint_failure_by_hand():
    got = disjoint_failure(SIZES, DIMS, 5, 20_000, **DISJOINT)
    p = 2 / np.pi * math.asin(0.65)
    rates = [disjoint_rate(n, 0.4, p) for n in SIZES]
    by_hand = {
        "too few near neighbours": sum(
            n * math.exp(-c * (n - 1)) for n, c in zip(SIZES, rates, strict=True)
        ),
        "disconnected": sum(2 / n**2 for n in SIZES),
        "deviation": N * (N - 1) * math.exp(-PAPER_RATE * 20_000 * 0.02**2),
    }
    assert dict(got.terms) == pytest.approx(by_hand)
    assert got.total == pytest.approx(sum(by_hand.values()))
    assert [c.name for c in got.unmet] == ["q against log N_max"]


def test_disjoint_failure_promises_success_in_a_large_sample():
    settings = DISJOINT | {"rho": 0.7}
    got = disjoint_failure([10**6] * 2, DIMS, 13_000, 500_000, **settings)
    assert got.holds
    assert got.total < 1e-6


@pytest.mark.parametrize(
    ("changes", "unmet"),
    [
        ({"ratio": 1.0}, {"ratio r_0", "rate c_1"}),
        ({"rho": 0.6}, {"q against N_min^rho"}),
        ({"separation": 0.0}, {"C_1"}),
        ({"connectedness": -1.0}, {"C_3"}),
    ],
)
def test_disjoint_failure_names_what_fails(changes, unmet):
    setting = {"ratio": 0.01, "rho": 0.7, "separation": 0.1, "connectedness": 0.1}
    got = disjoint_failure([10**6] * 2, DIMS, 13_000, 10**5, **(setting | changes))
    assert {c.name for c in got.unmet} == unmet


def test_disjoint_failure_refuses_lines():
    got = disjoint_failure(SIZES, [1, 2], 5, 10**6, **DISJOINT)
    assert "dim for connectedness" in {c.name for c in got.unmet}


def test_bounded_affinity_failure_adds_where_the_paper_subtracts():
    got = bounded_affinity_failure(BIG_SIZES, DIMS, Q5, 10**5, **AFFINE)
    n = sum(BIG_SIZES)
    by_hand = {
        "far points look near": 10 / n,
        "too few near neighbours": sum(m * math.exp(-(m - 1) / 20) for m in BIG_SIZES),
        "disconnected": sum(2 / m**2 for m in BIG_SIZES),
        "deviation": n * (n - 1) * math.exp(-PAPER_RATE * 10**5 * 0.02**2),
    }
    assert dict(got.terms) == pytest.approx(by_hand)
    assert got.total == pytest.approx(sum(by_hand.values()))
    assert got.terms["disconnected"] > 0
    assert got.holds


@pytest.mark.parametrize(
    ("changes", "unmet"),
    [
        ({"max_affinity": 0.1}, {"largest affinity plus noise"}),
        ({"n_features": 50}, {"n_features"}),
        ({"separation": -0.1}, {"C_2"}),
    ],
)
def test_bounded_affinity_failure_names_what_fails(changes, unmet):
    got = bounded_affinity_failure(BIG_SIZES, DIMS, Q5, 10**5, **(AFFINE | changes))
    assert {c.name for c in got.unmet} == unmet


NOISY = {"n_features": 3000, "max_affinity": 0.001, "noise": 0.1, "separation": 0.06}


def test_noisy_failure_by_hand():
    got = noisy_failure([300, 200], [2, 3], 20, 4000, **NOISY)
    by_hand = {
        "far points look near": 10 / 500,
        "too few near neighbours": 300 * math.exp(-299 / 20)
        + 200 * math.exp(-199 / 20),
        "deviation": 500 * 499 * math.exp(-PAPER_RATE * 0.06**2 * 4000),
    }
    assert dict(got.terms) == pytest.approx(by_hand)
    assert got.holds


def test_noisy_failure_falls_with_members_and_has_a_floor():
    def total(n_members):
        return noisy_failure([300, 200], [2, 3], 20, n_members, **NOISY).total

    totals = [total(b) for b in (3000, 4000, 8000)]
    assert totals == sorted(totals, reverse=True)
    assert total(10**7) > 10 / 500


MISSING = {"ratio": 0.5, "rho": 0.2, "separation": 0.06}


def test_missing_failure_by_hand():
    got = missing_failure(
        400, 3, 2, 3, 5000, n_features=60, n_missing=4, c5=2, c6=3, c7=0.1, **MISSING
    )
    rate = disjoint_rate(400, 0.2, 2 / np.pi * math.asin(0.75))
    by_hand = {
        "too few near neighbours": 1200 * math.exp(-rate * 399),
        "deviation": 1200 * 1199 * math.exp(-PAPER_RATE * 0.06**2 * 5000),
        "bases too close": 4 * math.exp(-6),
    }
    assert dict(got.terms) == pytest.approx(by_hand)
    room = got.conditions[-1]
    assert room.value == pytest.approx(60 - 12 - 2 * math.log(3))
    assert room.limit == pytest.approx(4 * (2 * math.log(60 * math.e / 8) + 3))
    assert got.holds


def test_missing_failure_without_missing_entries_needs_no_room():
    got = missing_failure(
        400, 3, 2, 3, 5000, n_features=60, n_missing=0, c5=2, c6=3, c7=0.1, **MISSING
    )
    assert got.conditions[-1].limit == 0.0


def test_fixed_missing_failure_drops_only_the_random_bases():
    fixed = fixed_missing_failure([400] * 3, [2] * 3, 3, 5000, **MISSING)
    random = missing_failure(
        400, 3, 2, 3, 5000, n_features=60, n_missing=4, c5=2, c6=3, c7=0.1, **MISSING
    )
    rest = {k: v for k, v in random.terms.items() if k != "bases too close"}
    assert dict(fixed.terms) == rest
    assert fixed.conditions == random.conditions[:-1]
    hopeless = fixed_missing_failure(
        [400] * 3, [2] * 3, 3, 5000, ratio=math.inf, rho=0.2, separation=0.06
    )
    assert {c.name for c in hopeless.unmet} == {"ratio r_s", "rate c_1"}


def test_reduced_failure_differs_from_theorem_five_in_one_term():
    reduced = reduced_failure(
        BIG_SIZES, DIMS, Q5, 40_000, constant=1.0, concentration=0.5, **AFFINE
    )
    full = bounded_affinity_failure(BIG_SIZES, DIMS, Q5, 10**6, **AFFINE)
    shared = {k: v for k, v in full.terms.items() if k != "deviation"}
    last = 2 * math.exp(-0.5 * 0.02**2 * 40_000)
    assert dict(reduced.terms) == pytest.approx(shared | {"projection": last})
    assert reduced.holds
    few = reduced_failure(
        BIG_SIZES, DIMS, Q5, 400, constant=1.0, concentration=0.5, **AFFINE
    )
    assert [c.name for c in few.unmet] == ["n_components against log N"]
    assert few.terms["projection"] > last
