import numpy as np
import pytest
from scipy.sparse import csr_array

from ekss.graph import mean_ncut, mean_votes_ncut
from ekss.graph.ncut import cluster_links


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


def votes_pair_by_pair(base_labels):
    """Co-association, each vote divided by the number of companions in its cluster."""
    n, n_base = base_labels.shape
    votes = np.zeros((n, n))
    for b in range(n_base):
        for i in range(n):
            for j in range(n):
                if i != j and base_labels[i, b] == base_labels[j, b]:
                    votes[i, j] += 1 / (
                        (base_labels[:, b] == base_labels[i, b]).sum() - 1
                    )
    return votes


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


@pytest.mark.parametrize("seed", range(5))
def test_votes_ncut_equals_the_ncut_of_votes_built_pair_by_pair(seed):
    rng = np.random.default_rng(seed)
    base = rng.integers(6, size=(20, 7))
    base[:3, 2] = [6, 7, 8]  # alone in their base cluster
    base[:, 5] = np.arange(20)  # a member that puts every point alone
    labels = rng.integers(4, size=20)
    dense = votes_pair_by_pair(base)
    expected = slow_ncut(dense, labels, 4)
    assert mean_votes_ncut(base, labels, 4) == pytest.approx(expected, abs=1e-12)
    sparse = mean_ncut(csr_array(dense), labels, 4)
    assert mean_votes_ncut(base, labels, 4) == pytest.approx(sparse, abs=1e-12)


def test_votes_ncut_has_no_overflow_in_the_smallest_label_type():
    rng = np.random.default_rng(0)
    base = rng.integers(256, size=(2000, 3))
    labels = rng.integers(50, size=2000)
    wide = mean_votes_ncut(base, labels, 50)
    assert mean_votes_ncut(base.astype(np.uint8), labels, 50) == wide
    narrow = labels.astype(np.uint8)
    assert mean_votes_ncut(base.astype(np.uint8), narrow, 50) == wide


def test_votes_ncut_of_members_that_agree_is_zero_and_of_strangers_is_one():
    labels = np.repeat(range(3), 4)
    assert mean_votes_ncut(np.tile(labels[:, None], 5), labels, 3) == 0
    strangers = np.tile(np.arange(4), 3)[:, None]  # one point of each cluster together
    assert mean_votes_ncut(strangers, labels, 3) == 1


def test_points_that_are_always_alone_and_empty_clusters_count_zero():
    base = np.arange(6)[:, None]
    assert mean_votes_ncut(base, np.array([0, 0, 0, 1, 1, 1]), 2) == 0
    together = np.zeros((6, 1), int)
    half = mean_votes_ncut(together, np.array([0, 0, 0, 1, 1, 1]), 2)
    with_empty = mean_votes_ncut(together, np.array([0, 0, 0, 1, 1, 1]), 4)
    assert with_empty == pytest.approx(half / 2)


def test_numbering_of_clusters_and_members_and_order_of_points_play_no_role():
    rng = np.random.default_rng(0)
    base = rng.integers(5, size=(30, 6))
    labels = rng.integers(3, size=30)
    expected = mean_votes_ncut(base, labels, 3)
    moved = rng.permutation(30)
    renamed = rng.permutation(5)[base][moved][:, rng.permutation(6)]
    found = mean_votes_ncut(renamed, rng.permutation(3)[labels][moved], 3)
    assert found == pytest.approx(expected, abs=1e-12)
