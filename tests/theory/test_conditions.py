"""Conditions of the guarantees against closed forms, simulation and enumeration."""

import math
from itertools import chain, combinations, pairwise

import numpy as np
import pytest

from ekss.core.linalg import random_bases
from ekss.theory._missing import missing_ratio
from ekss.theory._theorems import (
    Condition,
    Guarantee,
    cap_radius,
    connectedness_conditions,
    connectedness_constant,
    connectedness_failure,
    largest_affinity,
    noise_condition,
    projection_dimension,
)


def direct_ratio(bases, n_missing):
    """Numerator and denominator of r_s exactly as Lemma 1 writes them."""
    n_features = len(bases[0])
    rows = range(n_features)
    sizes = range(min(2 * n_missing, n_features) + 1)
    top, bottom = 0.0, math.inf
    for removed in chain.from_iterable(combinations(rows, m) for m in sizes):
        for k, U in enumerate(bases):
            without = U.copy()
            without[list(removed)] = 0.0
            for m, V in enumerate(bases):
                values = np.linalg.svd(without.T @ V, compute_uv=False)
                if k == m:
                    bottom = min(bottom, values[-1])
                else:
                    top = max(top, values[0])
    return top, bottom


def uneven_bases(rng, n_features):
    full = rng.standard_normal((3, n_features, 2)) / math.sqrt(n_features)
    return [full[0], full[1][:, :1], full[2]]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [("<", False), ("<=", True), (">", False), (">=", True)],
)
def test_condition_at_its_limit_follows_the_relation(relation, expected):
    assert Condition("c", 1.0, relation, 1.0).holds is expected


def test_condition_without_a_number_does_not_hold():
    assert not Condition("c", math.nan, "<=", 1.0).holds


def test_guarantee_caps_the_total_and_names_what_fails():
    bad = Condition("bad", 2.0, "<", 1.0)
    good = Condition("good", 0.0, "<", 1.0)
    guarantee = Guarantee("T", {"a": 0.7, "b": 0.6}, (good, bad))
    assert guarantee.total == 1.0
    assert guarantee.unmet == (bad,)
    assert not guarantee.applies
    vacuous = Guarantee("T", {"a": 0.7, "b": 0.6}, (good,))
    assert vacuous.applies
    assert not vacuous.holds
    assert Guarantee("T", {"a": 0.7}, (good,)).holds


def test_largest_affinity_of_equal_and_orthogonal_subspaces():
    eye = np.eye(6)
    assert largest_affinity([eye[:, :2], eye[:, 2:5]]) == 0.0
    assert largest_affinity([eye[:, :2], eye[:, :4]]) == pytest.approx(1.0)
    one_shared = largest_affinity([eye[:, :2], eye[:, 1:3], eye[:, 4:]])
    assert one_shared == pytest.approx(math.sqrt(0.5))


def test_noise_condition_by_hand():
    affinity, features, neighbours = noise_condition(
        0.01, 0.5, 200, 50, 4, q=10, smallest_cluster=60
    )
    log_n = math.log(200)
    by_hand = 0.01 + 0.5 * 1.5 / math.sqrt(log_n) * math.sqrt(4) / math.sqrt(50)
    assert affinity.value == pytest.approx(by_hand)
    assert affinity.limit == pytest.approx(1 / (15 * log_n))
    assert features.limit == pytest.approx(6 * log_n)
    assert features.holds
    assert (neighbours.value, neighbours.limit) == (10.0, 10.0)
    assert not neighbours.holds  # q < N_min / 6 is strict


def test_noise_condition_without_noise_is_the_affinity_alone():
    condition = noise_condition(0.3, 0.0, 99, 7, 3, q=1, smallest_cluster=9)[0]
    assert condition.value == 0.3


def test_noise_condition_refuses_one_point():
    with pytest.raises(ValueError, match="n_samples=1"):
        noise_condition(0.0, 0.0, 1, 5, 1, q=1, smallest_cluster=1)


@pytest.mark.parametrize("radius", [1e-6, 0.01, 0.7, 1.5, np.pi / 2, 1.6, 2.5, 3.0])
def test_cap_radius_inverts_the_closed_forms(radius):
    assert cap_radius(radius / np.pi, 2) == pytest.approx(radius, rel=1e-12)
    on_sphere = np.sin(radius / 2) ** 2  # (1 - cos) / 2
    assert cap_radius(on_sphere, 3) == pytest.approx(radius, rel=1e-9)
    on_s3 = (radius - np.sin(radius) * np.cos(radius)) / np.pi
    assert cap_radius(on_s3, 4) == pytest.approx(
        radius, rel=1e-3 if radius < 1e-4 else 1e-7
    )


@pytest.mark.parametrize("dim", [2, 3, 5, 12])
@pytest.mark.parametrize("fraction", [0.02, 0.2, 0.4, 0.8])
def test_cap_radius_covers_its_fraction_of_random_points(dim, fraction):
    points = np.random.default_rng(dim).standard_normal((200_000, dim))
    angles = np.arccos(points[:, 0] / np.linalg.norm(points, axis=1))
    covered = np.mean(angles <= cap_radius(fraction, dim))
    assert covered == pytest.approx(fraction, abs=0.006)


def test_cap_radius_on_two_points_and_at_the_ends():
    assert [cap_radius(f, 1) for f in (0.0, 0.5, 0.6, 1.0)] == [0, 0, np.pi, np.pi]
    for dim in (2, 3, 8):
        assert cap_radius(0.0, dim) == 0.0
        assert cap_radius(1.0, dim) == pytest.approx(np.pi)
        assert cap_radius(0.5, dim) == pytest.approx(np.pi / 2)
    with pytest.raises(ValueError, match=r"fraction=1\.5"):
        cap_radius(1.5, 3)


def test_connectedness_conditions_by_hand_on_the_circle():
    by_name = {c.name: c for c in connectedness_conditions(50_000, 2, 7000, 2.0)}
    fraction = 2 * math.log(50_000) / 50_000
    assert by_name["cap radius"].value == pytest.approx(np.pi * fraction)
    needed = 4 * 24 * np.pi * 2 * math.log(50_000)
    assert by_name["q against log n"].limit == pytest.approx(needed)
    assert all(c.holds for c in by_name.values())


@pytest.mark.parametrize(
    ("changes", "unmet"),
    [
        ({"gamma": 1.0}, {"gamma"}),
        ({"q": 100}, {"q against log n"}),
        ({"q": 60_000}, {"q against n"}),
        ({"dim": 1, "q": 7000}, {"dim for connectedness"}),
        ({"n": 200}, {"cap radius", "q against n"}),
    ],
)
def test_connectedness_failure_names_the_condition_that_fails(changes, unmet):
    setting = {"n": 50_000, "dim": 2, "q": 7000, "gamma": 2.0} | changes
    guarantee = connectedness_failure(**setting)
    assert {c.name for c in guarantee.unmet} == unmet


def test_connectedness_failure_by_hand():
    guarantee = connectedness_failure(50_000, 2, 7000, 2.0)
    by_hand = 2 / (50_000 * 2 * math.log(50_000))
    assert guarantee.total == pytest.approx(by_hand)
    assert guarantee.holds
    assert connectedness_failure(50_000, 2, 20_000, 3.0).total < guarantee.total


def test_connectedness_constant_by_hand_on_the_circle():
    n, gamma = 50_000, 2.0
    fraction = gamma * math.log(n) / n
    theta = np.pi * fraction
    # circle: L(S^1) / L(S^0) = 2 pi / 2
    delta = min(12 * np.pi * np.pi / 3 * fraction, np.pi / 2 - 24 * theta)
    by_hand = (np.cos(16 * theta) ** 3 - np.cos(16 * theta + delta) ** 3) / 2
    got = connectedness_constant(lambda x: x**3, n, 2, gamma)
    assert got == pytest.approx(by_hand)


def test_connectedness_constant_on_the_sphere_stays_within_a_quarter_turn():
    n, gamma = 10**7, 3.0
    fraction = gamma * math.log(n) / n
    theta = math.acos(1 - 2 * fraction)
    # sphere: L(S^2) / L(S^1) = 4 pi / (2 pi)
    delta = min(12 * np.pi * math.sqrt(2 / 3 * 2 * fraction), np.pi / 2 - 24 * theta)
    by_hand = (math.cos(16 * theta) - math.cos(16 * theta + delta)) / 2
    assert connectedness_constant(float, n, 3, gamma) == pytest.approx(by_hand)


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_connectedness_constant_falls_as_points_are_added(dim):
    # from the first power of ten that leaves room for q >= c_4 log n
    sizes = [10**k for k in range(2 * dim, 2 * dim + 5)]
    constants = [connectedness_constant(float, n, dim) for n in sizes]
    assert all(a > b > 0 for a, b in pairwise(constants))


def test_connectedness_constant_is_zero_where_the_cap_is_too_large():
    assert connectedness_constant(float, 100, 3) == 0.0
    with pytest.raises(ValueError, match="dim=1"):
        connectedness_constant(float, 100, 1)


@pytest.mark.parametrize("dim", [2, 3, 5, 8])
@pytest.mark.parametrize("extra", [1.0, 3.0, 100.0])
def test_neighbours_asked_by_theorem_four_imply_the_cap_condition(dim, extra):
    # q >= c_4 log n and q <= n: Theorems 4 and 5 need not name the cap radius
    n = 12 * (24 * math.pi) ** (dim - 1) * extra
    while n < 12 * (24 * math.pi) ** (dim - 1) * extra * math.log(n):
        n *= 1.5
    conditions = connectedness_conditions(math.ceil(n), dim, math.ceil(n))
    assert all(c.holds for c in conditions)


def test_projection_dimension_by_hand_and_minimal():
    got = projection_dimension(500, 3, constant=2.0, concentration=0.5)
    limit = (5 - 2 * math.sqrt(6)) / (15 * math.sqrt(3))
    assert got.deviation_limit == pytest.approx(limit)
    bound = 2.0 / limit**2 * math.log(500)
    assert got.dimension - 1 <= bound < got.dimension
    heckel = 825 / 0.5 * 3 * math.log(500) ** 2
    assert got.heckel_dimension - 1 < heckel <= got.heckel_dimension


def test_projection_dimension_grows_as_the_deviation_shrinks():
    limit = projection_dimension(500, 3, constant=1, concentration=1).deviation_limit
    half = projection_dimension(500, 3, constant=1, concentration=1, tau=limit / 2)
    whole = projection_dimension(500, 3, constant=1, concentration=1)
    assert half.dimension == pytest.approx(4 * whole.dimension, abs=4)
    with pytest.raises(ValueError, match="lower it"):
        projection_dimension(500, 3, constant=1, concentration=1, tau=limit)


def test_missing_ratio_of_full_data_is_the_largest_cosine():
    bases = random_bases(4, 30, 3, np.random.default_rng(0))
    cosines = [np.linalg.norm(U.T @ V, 2) for U, V in combinations(bases, 2)]
    got = missing_ratio(bases, 0)
    assert got.exact
    assert got.lower == got.upper == pytest.approx(max(cosines))
    assert got.within_lower == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_missing", [0, 1, 2])
def test_missing_ratio_equals_direct_enumeration(seed, n_missing):
    bases = uneven_bases(np.random.default_rng(seed), 8)
    top, bottom = direct_ratio(bases, n_missing)
    got = missing_ratio(bases, n_missing)
    assert got.exact
    assert got.cross_upper == pytest.approx(top)
    assert got.within_lower == pytest.approx(bottom)
    assert got.upper == pytest.approx(top / bottom)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_missing", [1, 2])
@pytest.mark.parametrize("n_features", [9, 14])
def test_missing_ratio_bounds_bracket_the_exact_value(seed, n_missing, n_features):
    rng = np.random.default_rng(seed)
    bases = uneven_bases(rng, n_features)
    exact = missing_ratio(bases, n_missing)
    loose = missing_ratio(bases, n_missing, max_subsets=1)
    assert exact.exact
    assert not loose.exact
    slack = 1 + 1e-10
    assert loose.lower <= exact.lower * slack
    assert exact.upper <= loose.upper * slack
    assert loose.cross_lower <= exact.cross_lower * slack
    assert exact.cross_upper <= loose.cross_upper * slack
    assert loose.within_lower <= exact.within_lower * slack
    assert exact.within_upper <= loose.within_upper * slack


def test_missing_ratio_bounds_are_useful_in_many_features():
    bases = random_bases(3, 2000, 2, np.random.default_rng(1))
    full, some = missing_ratio(bases, 0), missing_ratio(bases, 5)
    assert not some.exact
    assert full.upper <= some.lower <= some.upper < 0.5
    assert some.lower > full.upper  # the climb finds rows worth removing


def test_missing_ratio_grows_with_missing_entries():
    bases = random_bases(2, 10, 2, np.random.default_rng(3))
    ratios = [missing_ratio(bases, s).upper for s in range(3)]
    assert ratios == sorted(ratios)


def test_missing_ratio_is_infinite_when_a_subspace_loses_a_dimension():
    bases = [np.eye(5)[:, :2], random_bases(1, 5, 2, np.random.default_rng(0))[0]]
    assert missing_ratio(bases, 1).upper == math.inf
    assert missing_ratio(bases, 1, max_subsets=1).lower == math.inf
    assert missing_ratio(bases, 5).lower == math.inf


def test_missing_ratio_ignores_the_choice_of_orthonormal_basis():
    rng = np.random.default_rng(5)
    bases = random_bases(2, 9, 3, rng)
    turned = bases @ random_bases(2, 3, 3, rng)
    assert missing_ratio(turned, 1).upper == pytest.approx(
        missing_ratio(bases, 1).upper
    )


@pytest.mark.parametrize(
    ("bases", "n_missing", "message"),
    [
        (np.ones((1, 4, 1)), 0, "1 bases"),
        ([np.ones((4, 1)), np.ones((5, 1))], 0, "equal n_features"),
        (np.ones((2, 4, 1)), 5, "n_missing=5"),
    ],
)
def test_missing_ratio_refuses_what_it_cannot_mean(bases, n_missing, message):
    with pytest.raises(ValueError, match=message):
        missing_ratio(bases, n_missing)
