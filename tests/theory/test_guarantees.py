import math
from dataclasses import replace

import pytest

from ekss.datasets import make_union_of_subspaces
from ekss.theory import (
    cap_radius,
    coclustering_function,
    connectedness_constant,
    deviation_failure,
    disjoint_failure,
    disjoint_rate,
    inner_product_probability,
    members_needed,
    missing_ratio,
    noisy_failure,
    promised_deviation,
    separation_constant_disjoint,
    separation_constant_noisy,
)
from ekss.theory._assess import (
    connection_guarantees,
    ensemble_guarantees,
    projection_guarantee,
    tolerated_missing,
)
from ekss.theory._explain import (
    size_for_cap,
    size_for_neighbours,
    size_for_rate,
    why_vacuous,
    worst_connection,
)
from ekss.theory._labelled import Situation, smallest_exponent


def orthogonal_bases():
    return make_union_of_subspaces(
        2, 2, n_features=300, n_per_subspace=5, bases="orthogonal", random_state=0
    ).bases


@pytest.fixture(scope="module")
def ideal():
    """Planes at right angles with so many points that every theorem applies."""
    bases = orthogonal_bases()
    return Situation(
        sizes=(100_000, 100_000),
        dims=(2, 2),
        n_features=300,
        q=12_000,
        n_members=10**7,
        ratio=0.0,
        max_affinity=0.0,
        farthest=0.0,
        noise=0.0,
        missing=missing_ratio(bases, 0),
        n_missing=0,
        n_components=10**10,
    )


@pytest.fixture(scope="module")
def f():
    curve = coclustering_function(2, 1, 300, n_draws=20_000)
    return lambda z: float(curve(z))


def test_every_theorem_holds_where_all_is_ideal(ideal, f):
    for guarantee in ensemble_guarantees(ideal, f):
        assert guarantee.applies, guarantee.unmet
        assert guarantee.holds, guarantee.terms
    assert projection_guarantee(ideal).holds
    assert all(g.holds for g in connection_guarantees(ideal))


def test_few_members_are_the_term_to_blame(ideal, f):
    few = replace(ideal, n_members=10)
    for guarantee in ensemble_guarantees(few, f):
        assert guarantee.applies
        assert not guarantee.holds
        assert max(guarantee.terms, key=guarantee.terms.get) == "deviation"
        assert 'its term "deviation" needs' in why_vacuous(guarantee, 200_000, 0.01)


@pytest.mark.parametrize(
    ("change", "statement", "condition"),
    [
        ({"ratio": 1.0}, "Theorem 4", "ratio r_0"),
        ({"q": 5}, "Theorem 4", "q against log N_max"),
        ({"q": 5}, "Theorem 5", "q against log N_max"),
        ({"q": 20_000}, "Theorem 5", "q against N_min / 6"),
        ({"max_affinity": 0.1}, "Theorem 5", "largest affinity plus noise"),
        ({"noise": 10.0}, "Theorem 6", "largest affinity plus noise"),
        ({"noise": math.inf}, "Theorem 6", "largest affinity plus noise"),
        ({"farthest": 0.01}, "Theorem 4", "points on subspaces"),
        ({"farthest": 0.01}, "Theorem 5", "points on subspaces"),
        ({"farthest": 0.01}, "Lemma 1", "points on subspaces"),
    ],
)
def test_what_is_broken_is_named(ideal, f, change, statement, condition):
    guarantees = ensemble_guarantees(replace(ideal, **change), f)
    named = {g.statement: [c.name for c in g.unmet] for g in guarantees}
    assert condition in named[statement]


def test_noise_is_allowed_by_theorem_six_only(ideal, f):
    noisy = replace(ideal, farthest=0.1, noise=0.01)
    applies = {g.statement: g.applies for g in ensemble_guarantees(noisy, f)}
    assert applies == {
        "Theorem 4": False,
        "Theorem 5": False,
        "Theorem 6": True,
        "Lemma 1": False,
    }
    assert not projection_guarantee(noisy).applies


def test_missing_entries_excuse_points_off_their_subspaces(ideal, f):
    bases = orthogonal_bases()
    missing = replace(ideal, farthest=0.1, n_missing=1, missing=missing_ratio(bases, 1))
    names = [c.name for c in ensemble_guarantees(missing, f)[3].conditions]
    assert "points on subspaces" not in names


def test_theorems_are_those_of_the_separate_functions(ideal, f):
    four, _, six, _ = ensemble_guarantees(ideal, f)
    shared = (ideal.sizes, ideal.dims, ideal.q, ideal.n_members)
    alone = disjoint_failure(
        *shared,
        ratio=0.0,
        rho=ideal.rho,
        separation=separation_constant_disjoint(f, 1.0, 1.0),
        connectedness=connectedness_constant(f, 100_000, 2),
    )
    assert four.terms == alone.terms
    assert four.conditions[1:] == alone.conditions
    noisy = separation_constant_noisy(f, 0.0, 0.0, 300, (2, 2), 200_000)
    alone = noisy_failure(
        *shared, n_features=300, max_affinity=0.0, noise=0.0, separation=noisy
    )
    assert six == alone


@pytest.mark.parametrize("n_members", [10, 1000, 10**6])
def test_promised_deviation_undoes_members_needed(n_members):
    tau = promised_deviation(500, n_members, 0.05)
    assert deviation_failure(500, tau, n_members) == pytest.approx(0.05)
    assert abs(members_needed(500, tau, 0.05) - n_members) <= 1


@pytest.mark.parametrize("q", [1, 7, 99])
def test_exponent_is_just_large_enough(q):
    rho = smallest_exponent(q, 100)
    assert q < 100**rho < q * (1 + 1e-6)
    assert rho < 1


@pytest.mark.parametrize(("dim", "share"), [(2, 1.0), (2, 6.0), (3, 6.0)])
def test_size_for_neighbours_is_the_smallest(dim, share):
    def fits(n):
        return 12 * (24 * math.pi) ** (dim - 1) * math.log(n) < n / share

    n = size_for_neighbours(dim, share)
    assert fits(n)
    assert not fits(n - 1)
    assert math.isinf(size_for_neighbours(20, share))


def test_sizes_for_planes_are_those_of_the_docs():
    assert size_for_neighbours(2, 1.0) == 8149
    assert size_for_neighbours(2, 6.0) == 59_700
    assert size_for_cap(2) == 994
    assert size_for_rate(2, 0.5, 3) < 30


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_size_for_cap_is_the_smallest(dim):
    def small(n):
        return cap_radius(3 * math.log(n) / n, dim) < math.pi / 48

    n = size_for_cap(dim)
    assert small(n)
    assert not small(n - 1)


@pytest.mark.parametrize(("dim", "ratio", "q"), [(2, 0.5, 3), (4, 0.9, 10)])
def test_size_for_rate_is_the_smallest(dim, ratio, q):
    p = inner_product_probability((1 + ratio) / 2, dim)
    n = int(size_for_rate(dim, ratio, q))
    assert disjoint_rate(n, smallest_exponent(q, n), p) > 0
    assert disjoint_rate(n - 1, smallest_exponent(q, n - 1), p) <= 0
    assert math.isinf(size_for_rate(dim, 1.0, q))


def test_tolerated_missing_equals_trying_all():
    bases = make_union_of_subspaces(
        2, 1, n_features=40, n_per_subspace=5, bases="orthogonal", random_state=1
    ).bases
    tried = [s for s in range(41) if missing_ratio(bases, s, max_subsets=1).upper < 1]
    assert tolerated_missing(bases) == max(tried)
    assert tolerated_missing([bases[0], bases[0]]) is None


def test_worst_connection_asks_for_the_largest_q(ideal):
    mixed = replace(ideal, sizes=(50, 20, 900), dims=(2, 3, 2))
    assert worst_connection(connection_guarantees(mixed)) == 1
