from functools import partial, wraps

import numpy as np
import pytest
from scipy.sparse import csr_array

from ekss.ensemble import CUTTERS, candidate_cuts
from ekss.ensemble.cut import (
    kmeans_cuts,
    mean_link,
    merge_pieces,
    merged_cuts,
    ncut_gain,
    rotated_cut,
)
from ekss.graph.spectral import number_by_appearance
from ekss.metrics import clustering_error


def planted_graph(rng, n_clusters=4, n_each=25, inside=0.5, across=0.02):
    labels = np.repeat(np.arange(n_clusters), n_each)[
        rng.permutation(n_clusters * n_each)
    ]
    chance = np.where(labels[:, None] == labels, inside, across)
    upper = np.triu(rng.random(chance.shape) < chance, 1)
    weights = upper * rng.uniform(0.5, 1.5, chance.shape)
    return csr_array(weights + weights.T), labels


def assert_proper(pool, n_points, n_clusters):
    """Check what every pool promises."""
    assert len({cut.labels.tobytes() for cut in pool.cuts}) == len(pool.cuts)
    for cut in pool.cuts:
        assert cut.labels.shape == (n_points,)
        np.testing.assert_array_equal(np.unique(cut.labels), np.arange(n_clusters))
        np.testing.assert_array_equal(cut.labels, number_by_appearance(cut.labels))
        assert cut.origin


def slow_merge(graph, labels, n_clusters, value):
    """Try all pairs of pieces, merge the best, start over."""
    labels = np.array(labels)
    while len(np.unique(labels)) > n_clusters:
        names = np.unique(labels)
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        gains = [value(graph, labels, a, b) for a, b in pairs]
        kept, gone = pairs[int(np.argmax(gains))]
        labels[labels == gone] = kept
    return labels


def total_ncut(graph, labels):
    terms = []
    for name in np.unique(labels):
        rows = graph[labels == name]
        terms.append(rows[:, labels != name].sum() / rows.sum())
    return sum(terms)


def drop_of_ncut(graph, labels, a, b):
    merged = np.where(labels == b, a, labels)
    return total_ncut(graph, labels) - total_ncut(graph, merged)


def mean_edge(graph, labels, a, b):
    return graph[np.ix_(labels == a, labels == b)].mean()


@pytest.mark.parametrize(
    ("gain", "slow"), [(ncut_gain, drop_of_ncut), (mean_link, mean_edge)]
)
@pytest.mark.parametrize("seed", range(4))
def test_merging_pieces_equals_trying_all_pairs(seed, gain, slow):
    rng = np.random.default_rng(seed)
    weights = rng.random((40, 40))
    dense = weights + weights.T
    np.fill_diagonal(dense, 0)
    pieces = number_by_appearance(rng.integers(9, size=40))
    for n_clusters in (1, 3, 8):
        found = merge_pieces(csr_array(dense), pieces, n_clusters, gain)
        expected = slow_merge(dense, pieces, n_clusters, slow)
        np.testing.assert_array_equal(
            number_by_appearance(found), number_by_appearance(expected)
        )


def test_merging_keeps_pieces_whole_and_leaves_few_pieces_alone():
    rng = np.random.default_rng(0)
    graph, _ = planted_graph(rng)
    pieces = rng.integers(12, size=100)
    merged = merge_pieces(graph, pieces, 4, ncut_gain)
    assert len(np.unique(merged)) == 4
    for piece in range(12):
        assert len(set(merged[pieces == piece])) == 1
    few = number_by_appearance(rng.integers(3, size=100))
    np.testing.assert_array_equal(merge_pieces(graph, few, 4, ncut_gain), few)


@pytest.mark.parametrize("gain", [ncut_gain, mean_link])
def test_pieces_without_edges_are_merged_without_warnings(gain):
    graph = np.zeros((12, 12))
    graph[:4, :4] = 1 - np.eye(4)
    merged = merge_pieces(csr_array(graph), np.arange(12) // 2, 2, gain)
    assert len(np.unique(merged)) == 2
    assert merged[0] == merged[2]


def test_pieces_of_planted_blocks_come_together_again():
    rng = np.random.default_rng(0)
    graph, truth = planted_graph(rng, inside=0.7)
    pieces = 3 * truth + rng.integers(3, size=100)
    for gain in (ncut_gain, mean_link):
        assert clustering_error(truth, merge_pieces(graph, pieces, 4, gain)) == 0


@pytest.mark.parametrize("n_clusters", [2, 4, 7])
def test_every_cut_has_all_clusters_and_is_different(n_clusters):
    graph, _ = planted_graph(np.random.default_rng(0), inside=0.2, across=0.1)
    pool = candidate_cuts(graph, n_clusters, random_state=0)
    assert len(pool.cuts) > 1
    assert_proper(pool, 100, n_clusters)
    assert pool.in_cut.all()
    assert len(pool.embedding.vectors) == 100


def test_same_seed_gives_the_same_pool():
    graph, _ = planted_graph(np.random.default_rng(0), inside=0.2, across=0.1)
    one, two = (candidate_cuts(graph, 4, random_state=3) for _ in range(2))
    assert [cut.origin for cut in one.cuts] == [cut.origin for cut in two.cuts]
    for first, second in zip(one.cuts, two.cuts, strict=True):
        assert first.labels.tobytes() == second.labels.tobytes()
    assert one.embedding.vectors.tobytes() == two.embedding.vectors.tobytes()


@pytest.mark.parametrize("cutter", CUTTERS)
def test_each_way_of_cutting_finds_planted_blocks(cutter):
    for seed in range(3):
        graph, truth = planted_graph(np.random.default_rng(seed), inside=0.7)
        pool = candidate_cuts(graph, 4, cutters=(cutter,), random_state=seed)
        errors = [clustering_error(truth, cut.labels) for cut in pool.cuts]
        assert min(errors) == 0


def test_rotated_cut_has_no_randomness_and_ignores_signs_of_eigenvectors():
    graph, _ = planted_graph(np.random.default_rng(0), inside=0.3, across=0.1)
    vectors = candidate_cuts(graph, 4, random_state=0).embedding.vectors
    signs = np.where(np.arange(vectors.shape[1]) % 2, -1.0, 1.0)
    labels = [
        next(rotated_cut(graph, v, 4, np.random.default_rng(seed)))[1]
        for v, seed in ((vectors, 0), (vectors * signs, 1))
    ]
    assert clustering_error(*labels) == 0


@pytest.mark.parametrize("cutter", [kmeans_cuts, rotated_cut, merged_cuts])
def test_too_few_eigenvectors_give_no_cut(cutter):
    graph, _ = planted_graph(np.random.default_rng(0))
    vectors = np.random.default_rng(0).standard_normal((100, 3))
    assert list(cutter(graph, vectors, 4, np.random.default_rng(0))) == []


def test_scale_of_the_graph_plays_no_role():
    graph, _ = planted_graph(np.random.default_rng(0), inside=0.4, across=0.05)
    plain = {
        cut.labels.tobytes() for cut in candidate_cuts(graph, 4, random_state=0).cuts
    }
    scaled = candidate_cuts(graph * 2.0**-80, 4, random_state=0).cuts
    assert plain == {cut.labels.tobytes() for cut in scaled}


def test_isolated_points_join_the_largest_cluster_where_no_bridge_reaches_them():
    blocks = np.zeros((23, 23))
    blocks[:12, :12] = blocks[12:20, 12:20] = 1  # the last three have no edge
    pool = candidate_cuts(blocks, 2, random_state=0)
    assert_proper(pool, 23, 2)
    np.testing.assert_array_equal(pool.in_cut, np.arange(23) < 20)
    assert len(pool.embedding.vectors) == 20
    truth = np.r_[np.zeros(12), np.ones(8), np.zeros(3)]
    assert any(clustering_error(truth, cut.labels) == 0 for cut in pool.cuts)
    for cut in pool.cuts:
        largest = np.bincount(cut.labels[:20]).argmax()
        np.testing.assert_array_equal(cut.labels[20:], largest)


def test_bridge_says_where_isolated_points_belong():
    blocks = np.zeros((21, 21))
    blocks[:12, :12] = blocks[12:20, 12:20] = 1

    def bridge(rows, component_of):
        return csr_array(([1.0], ([20], [13])), shape=(21, 21))

    pool = candidate_cuts(blocks, 2, bridge=bridge, random_state=0)
    assert pool.in_cut.all()
    truth = np.r_[np.zeros(12), np.ones(9)]
    assert any(clustering_error(truth, cut.labels) == 0 for cut in pool.cuts)


@pytest.mark.parametrize("n_components", [3, 5, 20])
def test_more_components_than_clusters_are_cut_without_warnings(n_components):
    graph = np.kron(np.eye(n_components), np.ones((6, 6)))
    assert_proper(candidate_cuts(graph, 3, random_state=0), 6 * n_components, 3)


def test_components_that_are_the_clusters_are_among_the_cuts():
    truth = np.repeat(range(3), 6)
    pool = candidate_cuts(np.kron(np.eye(3), np.ones((6, 6))), 3, random_state=0)
    assert any(clustering_error(truth, cut.labels) == 0 for cut in pool.cuts)


def test_graph_without_edges_gives_no_cut():
    assert candidate_cuts(np.zeros((10, 10)), 3, random_state=0).cuts == ()


@pytest.mark.parametrize("n_points", [4, 5, 6, 9])
def test_graphs_of_few_points_are_cut(n_points):
    weights = np.random.default_rng(0).random((n_points, n_points))
    assert_proper(candidate_cuts(weights + weights.T, 4, random_state=0), n_points, 4)


def test_own_cutter_is_used_and_sees_graph_eigenvectors_and_generator():
    graph, _ = planted_graph(np.random.default_rng(0))
    seen = []

    def by_number(part, vectors, n_clusters, rng):
        seen.append((part.shape, vectors.shape, n_clusters, rng.random()))
        yield "remainder", np.arange(len(vectors))[::-1] % n_clusters

    pool = candidate_cuts(graph, 4, cutters=(by_number,), random_state=0)
    (cut,) = pool.cuts
    assert cut.origin == "remainder"
    np.testing.assert_array_equal(cut.labels, np.arange(100) % 4)
    shape, vectors, n_clusters, _ = seen[0]
    assert (shape, n_clusters) == ((100, 100), 4)
    assert vectors[0] == 100
    assert vectors[1] >= 8


def test_cuts_with_empty_clusters_and_repeated_cuts_are_dropped():
    graph, truth = planted_graph(np.random.default_rng(0))

    def careless(part, vectors, n_clusters, rng):
        yield "empty", np.where(truth == 1, 0, truth)
        yield "good", truth
        yield "again", (truth + 1) % 4

    pool = candidate_cuts(graph, 4, cutters=(careless,), random_state=0)
    assert [cut.origin for cut in pool.cuts] == ["good"]


def by_chance(graph, vectors, n_clusters, rng):
    """Draw numbers, as many as a careless cutter may."""
    yield "by chance", rng.permutation(len(vectors)) % n_clusters


class Chance:
    def __call__(self, graph, vectors, n_clusters, rng):
        yield from by_chance(graph, vectors, n_clusters, rng)


def cuts_by_origin(graph, cutters, seed):
    pool = candidate_cuts(graph, 4, cutters=cutters, random_state=seed)
    return {cut.origin: cut.labels for cut in pool.cuts}


def labels_of_each(graph, cutters, seed):
    """Cuts of every cutter in the order in which it yields them."""
    seen = {}

    def recorded(number, cutter):
        @wraps(cutter)
        def record(*args):
            seen[number] = []
            for origin, labels in cutter(*args):
                seen[number].append((origin, np.array(labels)))
                yield origin, labels

        return record

    recorders = [recorded(number, cutter) for number, cutter in enumerate(cutters)]
    candidate_cuts(graph, 4, cutters=recorders, random_state=seed)
    return [seen[number] for number in range(len(cutters))]


def assert_same_cuts(one, other):
    assert [origin for origin, _ in one] == [origin for origin, _ in other]
    for (_, labels), (_, others) in zip(one, other, strict=True):
        np.testing.assert_array_equal(labels, others)


@pytest.mark.parametrize("seed", range(3))
def test_a_cutter_makes_the_same_cuts_whichever_others_there_are(seed):
    graph, _ = planted_graph(np.random.default_rng(seed), inside=0.15, across=0.1)
    alone = {
        cutter: labels_of_each(graph, (cutter,), seed)[0]
        for cutter in (*CUTTERS, by_chance)
    }
    assert sum(len(cuts) for cuts in alone.values()) > 8
    orders = [
        (*CUTTERS, by_chance),
        (by_chance, *reversed(CUTTERS)),
        (merged_cuts, by_chance, kmeans_cuts),
        (by_chance, kmeans_cuts, by_chance),
    ]
    for cutters in orders:
        found = labels_of_each(graph, cutters, seed)
        for cutter, cuts in zip(cutters, found, strict=True):
            assert_same_cuts(cuts, alone[cutter])


def test_cutters_without_a_name_have_generators_too():
    graph, _ = planted_graph(np.random.default_rng(0))
    chance, named = Chance(), partial(by_chance)
    first = cuts_by_origin(graph, (chance,), 0)
    again = cuts_by_origin(graph, (kmeans_cuts, chance), 0)
    np.testing.assert_array_equal(first["by chance"], again["by chance"])
    expected = cuts_by_origin(graph, (by_chance,), 0)
    found = cuts_by_origin(graph, (named,), 0)
    np.testing.assert_array_equal(found["by chance"], expected["by chance"])


def test_cutters_of_other_names_and_other_seeds_draw_other_numbers():
    graph, _ = planted_graph(np.random.default_rng(0))
    found = [
        cuts_by_origin(graph, (cutter,), seed)["by chance"].tobytes()
        for cutter in (by_chance, Chance())
        for seed in (0, 1)
    ]
    assert len(set(found)) == 4
