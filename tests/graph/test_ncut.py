import numpy as np
import pytest
from scipy.sparse import csr_array

from ekss.graph import mean_ncut
from ekss.graph.spectral import cluster_links


def random_graph(rng, n=23, density=0.3):
    weights = rng.random((n, n)) * (rng.random((n, n)) < density)
    graph = weights + weights.T
    np.fill_diagonal(graph, 0)
    return graph


def slow_ncut(graph, labels, n_clusters):
    """Walk over all pairs of points."""
    shares = []
    for cluster in range(n_clusters):
        total = leaving = 0.0
        for i in np.flatnonzero(labels == cluster):
            for j in range(len(labels)):
                total += graph[i, j]
                leaving += graph[i, j] * (labels[j] != cluster)
        shares.append(leaving / total if total else 0.0)
    return np.mean(shares)


@pytest.mark.parametrize("seed", range(5))
def test_mean_ncut_equals_a_walk_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    labels = rng.integers(4, size=len(graph))
    found = mean_ncut(csr_array(graph), labels, 4)
    assert found == pytest.approx(slow_ncut(graph, labels, 4), abs=1e-12)


def test_links_between_clusters_equal_sums_over_blocks():
    rng = np.random.default_rng(0)
    graph = random_graph(rng)
    labels = rng.integers(3, size=len(graph))
    links = cluster_links(csr_array(graph), labels, 3)
    for k in range(3):
        for m in range(3):
            block = graph[np.ix_(labels == k, labels == m)].sum()
            assert links[k, m] == pytest.approx(block, abs=1e-12)


def test_mean_ncut_is_zero_for_components_and_one_where_no_edge_stays_inside():
    blocks = np.kron(np.eye(3), np.ones((4, 4))) - np.eye(12)
    assert mean_ncut(csr_array(blocks), np.repeat(range(3), 4), 3) == 0
    bipartite = np.kron([[0.0, 1], [1, 0]], np.ones((4, 4)))
    assert mean_ncut(csr_array(bipartite), np.repeat(range(2), 4), 2) == 1


def test_clusters_without_edges_or_points_count_zero():
    graph = np.zeros((5, 5))
    graph[0, 1] = graph[1, 0] = 1.0
    labels = np.array([0, 1, 2, 2, 2])  # 0 and 1 lose all, 2 has none, 3 is empty
    assert mean_ncut(csr_array(graph), labels, 4) == pytest.approx(2 / 4)
    assert mean_ncut(csr_array((5, 5)), labels, 4) == 0
