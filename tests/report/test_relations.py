import numpy as np
import pytest
from planted import EQUATIONS, GIVEN, NAMES, planted

from ekss.report._relations import relations_of


def found(relations):
    """Equations as names, factors and constants."""
    return {
        NAMES[r.column]: ({NAMES[j]: f for j, f in r.terms}, r.constant)
        for r in relations
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_equations_are_found_and_no_others(seed):
    table = planted(seed)
    *clusters, everywhere = relations_of(table.rows, table.truth, 3, ~table.torn)
    assert everywhere == []
    for relations, planted_here in zip(clusters, EQUATIONS, strict=True):
        told = found(relations)
        assert set(told) == set(GIVEN)
        for name, (terms, constant) in planted_here.items():
            assert told[name][0] == pytest.approx(terms, abs=0.011)
            assert told[name][1] == pytest.approx(constant, abs=0.06)


def test_the_order_of_rows_does_not_matter(rng):
    table = planted()
    order = rng.permutation(len(table.rows))
    one = relations_of(table.rows, table.truth, 3, ~table.torn)
    other = relations_of(table.rows[order], table.truth[order], 3, ~table.torn[order])
    assert [found(r) for r in one] == [found(r) for r in other]


def test_other_units_give_the_same_equations_in_other_units():
    table = planted()
    scaled = table.rows.copy()
    scaled[:, NAMES.index("pressure")] *= 1000
    *clusters, _ = relations_of(scaled, table.truth, 3, ~table.torn)
    for relations, planted_here in zip(clusters, EQUATIONS, strict=True):
        terms, constant = planted_here["pressure"]
        told = found(relations)["pressure"]
        thousand = {name: 1000 * factor for name, factor in terms.items()}
        assert told[0] == pytest.approx(thousand, rel=0.02)
        assert told[1] == pytest.approx(1000 * constant, abs=60)


def test_errors_are_those_of_the_equation_as_it_is_written():
    table = planted()
    groups = [table.truth == k for k in range(3)]
    *clusters, _ = relations_of(table.rows, table.truth, 3, ~table.torn)
    for inside, relations in zip(groups, clusters, strict=True):
        for r in relations:
            right = r.constant + sum(f * table.rows[:, j] for j, f in r.terms)
            off = np.abs(table.rows[:, r.column] - right)
            assert 0.3 * r.error < np.median(off[inside]) < r.error
            assert 0.3 * r.elsewhere < np.median(off[~inside]) < 1.2 * r.elsewhere
            assert r.elsewhere > 10 * r.error


def test_what_holds_everywhere_is_told_once(rng):
    rows = rng.standard_normal((300, 6))
    rows[:, 5] = rows[:, 0] + rows[:, 1] + rows[:, 2]
    codes = np.arange(300) % 3
    *clusters, everywhere = relations_of(rows, codes, 3)
    assert clusters == [[], [], []]
    (total,) = everywhere
    assert (total.column, total.constant) == (5, 0)
    assert dict(total.terms) == {0: 1, 1: 1, 2: 1}


def test_clusters_that_share_an_equation_are_named(rng):
    rows = rng.standard_normal((300, 4))
    codes = np.arange(300) % 3
    shared = codes < 2
    rows[shared, 3] = 2 * rows[shared, 0] + 1 + 0.01 * rng.standard_normal(200)
    (one,), (two,), three, _ = relations_of(rows, codes, 3)
    assert (one.also, two.also, three) == ((1,), (0,), [])


def test_noise_and_few_rows_have_no_equations(rng):
    codes = np.arange(300) % 3
    assert relations_of(rng.standard_normal((300, 12)), codes, 3) == [[]] * 4
    few = rng.standard_normal((12, 5))
    few[:, 4] = few[:, 0]
    assert relations_of(few, np.arange(12) % 2, 2) == [[]] * 3


def test_a_column_that_stands_still_in_a_cluster_is_told(rng):
    rows = rng.standard_normal((200, 4))
    codes = np.arange(200) % 2
    rows[codes == 1, 2] = 7 + 0.01 * rng.standard_normal(100)
    first, (still,), _ = relations_of(rows, codes, 2)
    assert first == []
    assert (still.column, still.terms, still.constant) == (2, (), 7)
