"""Greedy neighbours against the plain definition."""

import numpy as np
import pytest

from ekss.core.gsc import greedy_neighbours


def plain_neighbours(X, i, dim, q):
    """Park et al., Algorithm 1, as printed: one point, full projections."""
    span, found = [X[i]], []
    for _ in range(q):
        basis = np.linalg.qr(np.array(span).T)[0]
        lengths = np.linalg.norm(X @ basis, axis=1)
        lengths[[i, *found]] = -1
        found.append(int(lengths.argmax()))
        if len(span) < dim:
            span.append(X[found[-1]])
    return found


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize(("dim", "q"), [(1, 3), (3, 3), (3, 8), (5, 2)])
def test_neighbours_are_those_of_the_definition(dim, q, unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 9))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if not unit:
        X *= np.exp(rng.standard_normal((60, 1)))
    found = greedy_neighbours(X, np.arange(60), dim, q)
    expected = [plain_neighbours(X, i, dim, q) for i in range(60)]
    np.testing.assert_array_equal(found, expected)
    some = np.array([7, 3])
    np.testing.assert_array_equal(greedy_neighbours(X, some, dim, q), found[some])


def test_neighbours_lie_on_the_same_subspace():
    rng = np.random.default_rng(1)
    X = np.vstack(
        [rng.standard_normal((25, 4)) @ rng.standard_normal((4, 40)) for _ in "abc"]
    )
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = greedy_neighbours(X, np.arange(75), dim=4, q=10)
    assert (found // 25 == np.arange(75)[:, None] // 25).all()


def test_equal_and_zero_points_do_no_harm():
    X = np.vstack([np.repeat(np.eye(3)[:2], 4, axis=0), np.zeros((1, 3))])
    found = greedy_neighbours(X, np.arange(9), dim=3, q=3)
    assert (found[:4] < 4).all()
    assert all(len(set(row)) == 3 for row in found)
    assert (found != np.arange(9)[:, None]).all()
