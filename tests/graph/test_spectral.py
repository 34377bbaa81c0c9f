import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import block_diag, csr_array
from sklearn.metrics import adjusted_rand_score

from ekss.graph import spectral as eigenpairs
from ekss.graph import spectral as kmeans
from ekss.graph.spectral import (
    as_graph,
    can_be_clusters,
    settle_components,
    spectral_labels,
)


def random_graph(n_points, density, rng):
    upper = np.triu(rng.random((n_points, n_points)) < density, 1)
    weights = upper * (0.1 + rng.random((n_points, n_points)))
    return weights + weights.T


def connected_graph(n_points, density, rng):
    graph = random_graph(n_points, density, rng)
    for left, right in pairwise(range(n_points)):
        graph[left, right] = graph[right, left] = 0.5
    return graph


def planted_blocks(sizes, within, between, rng):
    truth = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(truth[:, None] == truth, within, between)
    upper = np.triu(rng.random(chance.shape) < chance, 1)
    return (upper + upper.T).astype(float), truth


def disjoint(*graphs):
    return block_diag(graphs, format="csr").toarray()


@pytest.mark.parametrize("n_eigenvectors", [None, 6])
@pytest.mark.parametrize("size", [40, 300])
def test_labels_recover_planted_blocks(n_eigenvectors, size):
    rng = np.random.default_rng(5)
    sizes = [size, 2 * size, size, size]
    graph, truth = planted_blocks(sizes, 12 / size, 1 / size, rng)
    found = spectral_labels(graph, 4, n_eigenvectors=n_eigenvectors, random_state=0)
    assert adjusted_rand_score(truth, found.labels) > 0.97
    assert found.case in ("fewer", "more")
    n_columns = n_eigenvectors or 4
    assert found.embedding.shape == (5 * size, n_columns)
    assert found.eigenvalues.shape == (n_columns + 1,)
    assert (np.diff(found.eigenvalues) <= 1e-12).all()
    assert_allclose(np.linalg.norm(found.embedding, axis=1), 1)


@pytest.mark.parametrize("scale", [1e-6, 1e-200, 1e9])
def test_labels_do_not_depend_on_scale(scale):
    graph, _ = planted_blocks([40] * 3, 0.3, 0.03, np.random.default_rng(2))
    plain = spectral_labels(graph, 3, random_state=0)
    scaled = spectral_labels(graph * scale, 3, random_state=0)
    assert_array_equal(plain.labels, scaled.labels)
    assert_allclose(plain.eigenvalues, scaled.eigenvalues, atol=1e-10)


def test_labels_follow_a_permutation_of_points():
    rng = np.random.default_rng(4)
    graph, _ = planted_blocks([40] * 3, 0.4, 0.02, rng)
    order = rng.permutation(len(graph))
    plain = spectral_labels(graph, 3, random_state=0).labels
    permuted = spectral_labels(graph[order][:, order], 3, random_state=0).labels
    assert adjusted_rand_score(plain[order], permuted) == 1


def test_labels_same_seed_same_bytes(monkeypatch):
    monkeypatch.setattr(eigenpairs, "DENSE_SIZE", 20)
    graph, _ = planted_blocks([40] * 3, 0.3, 0.1, np.random.default_rng(6))
    first, second = (spectral_labels(graph, 3, random_state=9) for _ in range(2))
    assert first.labels.tobytes() == second.labels.tobytes()
    assert first.embedding.tobytes() == second.embedding.tobytes()


def test_labels_of_large_graphs_are_those_of_the_precise_way(monkeypatch):
    graph, _ = planted_blocks([400, 300, 300], 0.1, 0.01, np.random.default_rng(0))
    precise = spectral_labels(graph, 3, random_state=0)
    monkeypatch.setattr(eigenpairs, "MAX_PRECISE_SIZE", 500)
    monkeypatch.setattr(kmeans, "ALL_ROWS", 500)
    large = spectral_labels(graph, 3, random_state=0)
    again = spectral_labels(graph, 3, random_state=0)
    assert_array_equal(large.labels, precise.labels)
    assert_allclose(large.eigenvalues, precise.eigenvalues, atol=1e-6)
    assert large.embedding.tobytes() != precise.embedding.tobytes()
    assert large.embedding.tobytes() == again.embedding.tobytes()


def test_labels_are_numbered_by_first_appearance():
    graph = disjoint(*[np.ones((4, 4))] * 5)[::-1, ::-1]
    order = np.random.default_rng(0).permutation(20)
    labels = spectral_labels(graph[order][:, order], 5).labels
    firsts = [np.flatnonzero(labels == label)[0] for label in range(5)]
    assert firsts == sorted(firsts)


def test_equal_case_labels_are_components():
    rng = np.random.default_rng(1)
    sizes = [30, 7, 12]
    graph = disjoint(*[connected_graph(size, 0.2, rng) for size in sizes])
    found = spectral_labels(graph, 3, random_state=0)
    assert (found.case, found.n_components) == ("equal", 3)
    assert_array_equal(found.labels, np.repeat([0, 1, 2], sizes))
    degrees = graph.sum(axis=1)
    values = np.linalg.eigvalsh(graph / np.sqrt(np.outer(degrees, degrees)))
    assert_allclose(found.eigenvalues, values[::-1][:4], atol=1e-9)


def test_equal_case_with_extra_eigenvectors_uses_kmeans():
    rng = np.random.default_rng(1)
    two_halves, _ = planted_blocks([40, 40], 0.5, 0.002, rng)
    graph = disjoint(two_halves, np.ones((10, 10)) * 0.5)
    found = spectral_labels(graph, 2, n_eigenvectors=3, random_state=0)
    assert found.case == "equal"
    assert found.embedding.shape == (90, 3)
    assert len(np.unique(found.labels)) == 2


def test_fewer_case_splits_the_component_with_the_clearest_cut():
    rng = np.random.default_rng(7)
    two_halves, truth = planted_blocks([40, 40], 0.4, 0.01, rng)
    graph = disjoint(two_halves, connected_graph(40, 0.4, rng))
    found = spectral_labels(graph, 3, random_state=0)
    assert (found.case, found.n_components) == ("fewer", 2)
    assert_array_equal(found.labels, np.append(truth, np.full(40, 2)))


def bridge_of(votes, n_edges=5):
    """Bridge from a dense matrix of votes: the strongest few outside a component."""

    def bridge(rows, component_of):
        edges = np.zeros_like(votes)
        for row in rows:
            outside = np.where(component_of == component_of[row], 0.0, votes[row])
            strongest = np.argsort(-outside)[:n_edges]
            edges[row, strongest] = outside[strongest]
        return csr_array(edges)

    return bridge


def giant_with_isolated(n_isolated, rng):
    graph, truth = planted_blocks([30] * 10, 0.5, 0.01, rng)
    graph = disjoint(graph, np.zeros((n_isolated, n_isolated)))
    truth = np.append(truth, rng.integers(10, size=n_isolated))
    votes = np.where(truth[:, None] == truth, 0.2, 0.02)
    return graph, truth, votes


def test_isolated_points_never_become_clusters_with_bridge():
    graph, truth, votes = giant_with_isolated(20, np.random.default_rng(0))
    found = spectral_labels(graph, 10, bridge=bridge_of(votes), random_state=0)
    assert (found.case, found.n_components) == ("more", 21)
    assert found.notes == ()
    assert adjusted_rand_score(truth, found.labels) == 1


def test_isolated_points_never_become_clusters_without_bridge():
    graph, truth, _ = giant_with_isolated(20, np.random.default_rng(0))
    with pytest.warns(UserWarning, match=r"20 of 320 points.*denser or pass a br"):
        found = spectral_labels(graph, 10, random_state=0)
    assert adjusted_rand_score(truth[:300], found.labels[:300]) == 1
    largest = np.bincount(found.labels[:300]).argmax()
    assert_array_equal(found.labels[300:], np.full(20, largest))
    assert not found.embedding[300:].any()


def test_small_dense_component_on_a_weak_bridge_is_not_cut_off_again():
    rng = np.random.default_rng(8)
    graph, truth = planted_blocks([60] * 3, 0.3, 0.02, rng)
    graph = disjoint(graph, np.ones((4, 4)))
    truth = np.append(truth, np.full(4, 2))
    votes = np.where(truth[:, None] == truth, 1e-4, 0.0)
    found = spectral_labels(graph, 3, bridge=bridge_of(votes), random_state=0)
    assert found.case == "more"
    assert adjusted_rand_score(truth, found.labels) == 1


def test_surplus_components_go_where_their_votes_point():
    rng = np.random.default_rng(9)
    sizes = [30, 28, 26, 8, 9, 10]
    truth = np.repeat([0, 1, 2, 2, 0, 1], sizes)
    graph = disjoint(*[connected_graph(size, 0.3, rng) for size in sizes])
    votes = np.where(truth[:, None] == truth, 0.3, 0.05)
    settled = settle_components(as_graph(graph), 3, bridge_of(votes))
    assert settled.n_groups == 3
    assert abs(settled.graph - settled.graph.T).max() == 0
    found = spectral_labels(graph, 3, bridge=bridge_of(votes), random_state=0)
    assert (found.case, found.n_components) == ("more", 6)
    assert_array_equal(found.labels, truth)


def test_surplus_bridging_removes_exactly_the_surplus():
    graph = disjoint(*[np.ones((6, 6))] * 7)
    votes = np.random.default_rng(0).random((42, 42))
    for n_clusters in range(2, 8):
        settled = settle_components(
            as_graph(graph), n_clusters, bridge_of(votes, n_edges=42)
        )
        assert settled.n_groups == n_clusters
        assert not settled.notes


def test_surplus_components_without_bridge_are_joined_smallest_first():
    sizes = [30, 25, 4, 3, 6]
    graph = disjoint(*[np.ones((size, size)) for size in sizes])
    with pytest.warns(UserWarning, match="2 components more than n_clusters=3"):
        found = spectral_labels(graph, 3, random_state=0)
    assert_array_equal(found.labels, np.repeat([0, 1, 2, 2, 2], sizes))


def test_points_no_bridge_reaches_get_the_largest_cluster_silently():
    graph = disjoint(np.ones((30, 30)), np.ones((20, 20)), np.zeros((2, 2)))
    votes = np.zeros((52, 52))
    votes[50, 35] = 0.1
    found = spectral_labels(graph, 2, bridge=bridge_of(votes), random_state=0)
    assert_array_equal(found.labels[50:], [1, 0])
    assert len(found.notes) == 1


def test_surplus_no_bridge_reaches_is_joined_with_a_warning():
    graph = disjoint(*[np.ones((6, 6))] * 4)
    with pytest.warns(UserWarning, match="joined smallest with smallest"):
        found = spectral_labels(graph, 3, bridge=bridge_of(np.zeros((24, 24))))
    assert len(np.unique(found.labels)) == 3


def test_all_components_too_small_are_bridged_into_clusters():
    truth = np.repeat([0, 1, 2], 60)
    graph = disjoint(*[np.ones((2, 2))] * 90)
    noise = np.random.default_rng(0).random((180, 180)) * 0.1
    votes = np.where(truth[:, None] == truth, 0.5, 0.0) + noise
    found = spectral_labels(graph, 3, bridge=bridge_of(votes), random_state=0)
    assert found.n_components == 90
    assert_array_equal(found.labels, truth)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (np.zeros((3, 3)), "bridge returned shape"),
        (-np.ones((8, 8)), "bridge returned negative"),
        (np.full((8, 8), np.nan), "NaN"),
    ],
)
def test_bad_bridge_is_refused(edges, message):
    graph = disjoint(np.ones((7, 7)), np.zeros((1, 1)))
    with pytest.raises(ValueError, match=message):
        spectral_labels(graph, 2, bridge=lambda rows, component_of: edges)


def test_one_cluster_is_all_points_without_warning():
    graph = disjoint(np.ones((5, 5)), np.zeros((40, 40)))
    found = spectral_labels(graph, 1)
    assert not found.labels.any()
    assert found.labels.dtype == np.int64


def test_as_many_clusters_as_points():
    for graph in (np.zeros((5, 5)), np.ones((5, 5)), disjoint(np.ones((3, 3)), [[0]])):
        labels = spectral_labels(graph, len(graph)).labels
        assert_array_equal(labels, np.arange(len(graph)))


def test_graph_without_edges_gives_balanced_groups_and_a_warning():
    with pytest.warns(UserWarning, match="denser"):
        found = spectral_labels(np.zeros((100, 100)), 3)
    counts = np.bincount(found.labels)
    assert len(counts) == 3
    assert counts.max() <= 2 * counts.min()
    assert found.embedding.shape == (100, 0)
    assert found.case == "more"


@pytest.mark.parametrize("n_clusters", range(1, 11))
def test_every_label_is_used_on_awkward_graphs(n_clusters):
    rng = np.random.default_rng(0)
    star = np.zeros((10, 10))
    star[0, 1:] = star[1:, 0] = 1.0
    graphs = [
        star,
        np.ones((10, 10)),
        disjoint(np.ones((4, 4)), np.zeros((6, 6))),
        disjoint(*[np.ones((2, 2))] * 5),
        random_graph(10, 0.15, rng),
        np.kron([[0, 1], [1, 0]], np.ones((5, 5))),
    ]
    for graph in graphs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            labels = spectral_labels(graph, n_clusters, random_state=0).labels
        assert_array_equal(np.unique(labels), np.arange(n_clusters))


def test_coinciding_rows_warn_and_fill_the_empty_clusters():
    graph = disjoint([[0, 1], [1, 0]], np.zeros((3, 3)))
    with pytest.warns(UserWarning, match="too few distinct rows"):
        found = spectral_labels(graph, 4, n_eigenvectors=5, random_state=0)
    assert_array_equal(np.unique(found.labels), np.arange(4))


def test_can_be_clusters_counts_all_when_too_few_points_are_left():
    assert_array_equal(can_be_clusters(np.array([2, 1, 1]), 3), [True] * 3)
    assert_array_equal(can_be_clusters(np.array([3, 1, 1]), 3), [True, False, False])


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.array([[0, 1.0], [0, 0]]), r"pass \(W \+ W.T\) / 2"),
        (np.array([[0, -1.0], [-1, 0]]), "negative entry -1"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
    ],
)
def test_bad_affinity_is_refused(affinity, message):
    with pytest.raises(ValueError, match=message):
        spectral_labels(affinity, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is below 1"),
        ({"n_clusters": 6}, "n_clusters=6 exceeds the 5 points"),
        ({"n_clusters": 3, "n_eigenvectors": 2}, "n_eigenvectors=2 is below 3"),
        ({"n_clusters": 3, "n_eigenvectors": 6}, "n_eigenvectors=6 exceeds"),
        ({"n_clusters": 3, "n_init": 0}, "n_init=0 is below 1"),
    ],
)
def test_bad_counts_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        spectral_labels(np.ones((5, 5)), **options)


def test_counts_that_are_not_integers_are_refused():
    with pytest.raises(TypeError, match=r"n_clusters=2.5 is not an integer"):
        spectral_labels(np.ones((5, 5)), 2.5)
