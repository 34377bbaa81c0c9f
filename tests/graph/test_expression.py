"""Graphs of expressions: fast and blocked against slow and dense."""

import joblib
import numpy as np
import pytest

from ekss import EnSC
from ekss.core.ensc import block_size
from ekss.core.linalg import unit_rows
from ekss.core.tsc import ROWS_AT_ONCE
from ekss.datasets import make_union_of_subspaces
from ekss.graph.expression import elastic_net_graph, ridge_graph
from ekss.runtime.workers import Workers


def union(n_features=20, n_per_subspace=20, noise=0.1, seed=0):
    return make_union_of_subspaces(
        3,
        2,
        n_features=n_features,
        n_per_subspace=n_per_subspace,
        noise=noise,
        random_state=seed,
    )


def sparse_graph(points, workers=None):
    return elastic_net_graph(points, l1_ratio=0.95, gamma=3.0, workers=workers)


def dense_graph(points, workers=None):
    return ridge_graph(points, 5, workers)


GRAPHS = pytest.mark.parametrize("graph_of", [sparse_graph, dense_graph])


def slow_ridge_graph(points, n_neighbors):
    """Solve the normal equations, and keep the largest coefficients one by one."""
    X = points.astype(float)
    n = len(X)
    energies = np.linalg.svd(X, compute_uv=False) ** 2
    alpha = np.median(energies[energies > 1e-12 * energies[0]])
    gram = X @ X.T
    coefficients = np.abs(np.linalg.solve(gram + alpha * np.eye(n), gram))
    kept = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i and coefficients[i, j] > 1e-12]
        for j in sorted(others, key=lambda j: -coefficients[i, j])[:n_neighbors]:
            kept[i, j] = coefficients[i, j]
    return (kept + kept.T) / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("l1_ratio", "gamma"), [(0.95, 3.0), (0.5, 10.0)])
def test_elastic_net_graph_is_that_of_ensc(dtype, l1_ratio, gamma):
    points = unit_rows(union(n_per_subspace=100).data.astype(dtype))
    assert len(points) > block_size(len(points))
    model = EnSC(3, l1_ratio=l1_ratio, gamma=gamma, random_state=0).fit(points)
    graph = elastic_net_graph(points, l1_ratio=l1_ratio, gamma=gamma)
    assert graph.dtype == np.float64
    expected = model.affinity_.toarray()
    assert (expected > 0).sum(axis=1).min() >= 1
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("n_features", "n_per_subspace"), [(5, 20), (20, 20), (90, 20)]
)
@pytest.mark.parametrize("n_neighbors", [1, 5, 80])
def test_ridge_graph_solves_the_normal_equations(
    n_features, n_per_subspace, n_neighbors
):
    points = union(n_features, n_per_subspace).data
    graph = ridge_graph(points, n_neighbors).toarray()
    expected = slow_ridge_graph(points, n_neighbors)
    np.testing.assert_allclose(graph, expected, atol=1e-10)


def test_ridge_graph_of_points_on_few_directions_ignores_rounding_errors():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 4)) @ rng.standard_normal((4, 30))
    expected = slow_ridge_graph(points, 5)
    np.testing.assert_allclose(ridge_graph(points, 5).toarray(), expected, atol=1e-10)


@GRAPHS
def test_graph_is_symmetric_and_nonnegative_without_a_diagonal(graph_of):
    graph = graph_of(unit_rows(union().data))
    assert graph.nnz
    assert abs(graph - graph.T).max() == 0
    assert graph.data.min() > 0
    assert not graph.diagonal().any()


@GRAPHS
@pytest.mark.parametrize("share", [0.2, 0.0])
def test_points_without_length_have_no_edges_and_change_no_others(graph_of, share):
    full = unit_rows(union().data)
    zero = np.random.default_rng(0).random(len(full)) < share
    points = np.where(zero[:, None], 0.0, full)
    graph = graph_of(points)
    assert graph[zero].nnz == 0
    alone = graph_of(points[~zero]).toarray()
    np.testing.assert_allclose(graph[~zero][:, ~zero].toarray(), alone, atol=1e-6)


@GRAPHS
def test_points_of_which_all_or_all_but_one_are_zero_have_no_edges(graph_of):
    points = np.zeros((6, 4))
    assert graph_of(points).shape == (6, 6)
    assert graph_of(points).nnz == 0
    points[2, 1] = 1.0
    assert graph_of(points).nnz == 0


@GRAPHS
def test_order_of_points_changes_only_the_order_of_the_graph(graph_of):
    points = unit_rows(union().data)
    order = np.random.default_rng(0).permutation(len(points))
    moved = graph_of(points[order]).toarray()
    expected = graph_of(points)[order][:, order].toarray()
    np.testing.assert_allclose(moved, expected, atol=1e-5)


@GRAPHS
def test_signs_and_rotations_change_nothing(graph_of):
    points = unit_rows(union().data)
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (len(points), 1))
    rotation = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    moved = graph_of(signs * points @ rotation).toarray()
    np.testing.assert_allclose(moved, graph_of(points).toarray(), atol=1e-5)


@pytest.mark.parametrize("scale", [1e-100, 1e3])
def test_scale_does_not_change_the_ridge_graph(scale):
    points = union().data
    scaled = ridge_graph(scale * points, 5).toarray()
    np.testing.assert_allclose(scaled, ridge_graph(points, 5).toarray(), atol=1e-10)


@GRAPHS
def test_points_on_orthogonal_subspaces_are_not_joined(graph_of):
    rng = np.random.default_rng(0)
    labels = np.repeat(range(3), 20)
    points = np.zeros((60, 9))
    for k in range(3):
        points[labels == k, 3 * k : 3 * k + 3] = rng.standard_normal((20, 3))
    graph = graph_of(unit_rows(points)).tocoo()
    weight = np.zeros((3, 3))
    np.add.at(weight, (labels[graph.row], labels[graph.col]), graph.data)
    apart = weight.sum() - np.trace(weight)
    assert np.trace(weight) > 1
    assert apart < 1e-12


@GRAPHS
def test_edges_join_mostly_points_of_one_planted_subspace(graph_of):
    data = union(noise=0.2)
    graph = graph_of(unit_rows(data.data)).tocoo()
    within = data.target[graph.row] == data.target[graph.col]
    assert graph.data[within].sum() > 0.9 * graph.data.sum()


@GRAPHS
def test_workers_do_not_change_the_graph(graph_of):
    points = unit_rows(union(n_per_subspace=200).data.astype(np.float32))
    assert len(points) > max(ROWS_AT_ONCE, block_size(len(points)))
    alone = graph_of(points)
    for n_jobs in (1, 2):
        assert abs(graph_of(points, Workers(n_jobs)) - alone).max() == 0
    with joblib.parallel_config("loky", n_jobs=2):
        in_processes = graph_of(points, Workers(None))
    assert abs(in_processes - alone).max() == 0
