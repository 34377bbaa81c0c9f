"""The nearest doubly stochastic matrix: optimality, slow references, invariances."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from ekss.core.linalg import unit_rows
from ekss.graph import doubly_stochastic, symmetric_graph
from ekss.graph.votes import Neighbours

EDGELESS = csr_array((4, 4))


def random_graph(n, share, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.exponential(size=(n, n)) * (rng.random((n, n)) < share), 1)
    return W + W.T


def alternating_projections(target, allowed, rounds=2000):
    """Dykstra's algorithm between sums of 1 and non-negative allowed entries."""
    n = len(target)
    found, correction = target.copy(), np.zeros_like(target)
    for _ in range(rounds):
        # Rows and columns that sum to 1 (the nearest matrix, in closed form).
        over = found.sum(axis=1) - 1
        found -= (over[:, None] + over[None, :]) / n - over.sum() / n**2
        kept = np.where(allowed, np.maximum(found + correction, 0), 0)
        correction += found - kept
        found = kept
    return found


@pytest.mark.parametrize(("share", "scale"), [(1.0, 0.1), (1.0, 3.0), (0.2, 2.0)])
def test_equals_alternating_projections(share, scale):
    W = random_graph(30, share, seed=0)
    result = doubly_stochastic(W, scale=scale)
    allowed = (W > 0) | np.eye(30, dtype=bool)
    np.testing.assert_allclose(result.factor, scale / W.max(axis=1).mean())
    expected = alternating_projections(result.factor * W, allowed)
    np.testing.assert_allclose(result.graph.toarray(), expected, atol=2e-5)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("scale", [1e-3, 3.0, 30.0])
def test_conditions_of_optimality(share, scale):
    W = random_graph(100, share, seed=1)
    result = doubly_stochastic(W, scale=scale)
    A, a = result.graph.toarray(), result.multipliers
    np.testing.assert_array_equal(A, A.T)
    assert A.min() >= 0
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=2e-8)
    allowed = (W > 0) | np.eye(100, dtype=bool)
    assert (A[~allowed] == 0).all()
    dual = np.maximum(result.factor * W - np.add.outer(a, a), 0)
    np.testing.assert_allclose(A, np.where(allowed, dual, 0), atol=1e-12)
    assert result.violation <= 1e-8


def test_more_scale_leaves_fewer_edges_and_none_makes_them_equal():
    W = random_graph(60, 1.0, seed=2)
    edges = [doubly_stochastic(W, scale=scale).graph.nnz for scale in (0.01, 1, 9)]
    assert edges[0] > edges[1] > edges[2]
    even = doubly_stochastic(W, scale=1e-9).graph.toarray()
    np.testing.assert_allclose(even, 1 / 60, atol=1e-8)


def test_units_and_order_of_points_have_no_influence():
    W = random_graph(80, 0.2, seed=3)
    A = doubly_stochastic(W).graph.toarray()
    order = np.random.default_rng(0).permutation(80)
    turned = doubly_stochastic(1e5 * W[order][:, order]).graph.toarray()
    np.testing.assert_allclose(turned, A[order][:, order], atol=1e-7)


def test_edges_of_the_nearest_are_enough_for_all_pairs():
    """Where no other pair would get an entry, the matrix is that of all pairs."""
    rows = unit_rows(np.random.default_rng(4).standard_normal((150, 5)))
    C = np.abs(rows @ rows.T)
    np.fill_diagonal(C, 0)
    index = np.argsort(-C, axis=1)[:, :30]
    near = Neighbours(index, np.take_along_axis(C, index, axis=1))
    listed = symmetric_graph(near)
    result = doubly_stochastic(csr_array(C * (listed.toarray() > 0)), scale=3)
    a = result.multipliers
    assert (result.factor * C - np.add.outer(a, a))[listed.toarray() == 0].max() < 0
    everything = doubly_stochastic(C, scale=3).graph.toarray()
    np.testing.assert_allclose(result.graph.toarray(), everything, atol=1e-7)


def test_points_without_edges_keep_their_sum_to_themselves():
    np.testing.assert_allclose(doubly_stochastic(EDGELESS).graph.toarray(), np.eye(4))
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 5
    found = doubly_stochastic(W).graph.toarray()
    np.testing.assert_allclose(found, [[0, 1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-8)


def test_a_hub_shares_itself_among_its_leaves():
    W = np.zeros((6, 6))
    W[0, 1:] = W[1:, 0] = 1
    A = doubly_stochastic(W).graph.toarray()
    np.testing.assert_allclose(A[0], [0, *5 * [0.2]], atol=1e-8)
    np.testing.assert_allclose(np.diag(A)[1:], 0.8, atol=1e-8)


@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan])
def test_bad_scales_are_refused(scale):
    with pytest.raises(ValueError, match="is not positive and finite; choose above 0"):
        doubly_stochastic(np.ones((3, 3)), scale=scale)


def test_too_few_steps_are_told():
    W = random_graph(50, 0.3, seed=5)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps; raise max_iter"):
        result = doubly_stochastic(W, max_iter=2)
    assert result.violation > 1e-8
