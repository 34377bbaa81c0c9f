import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import normalized_mutual_info_score

from ekss.graph import (
    cluster_silhouettes,
    companion_shares,
    edge_shares,
    shared_information,
)
from ekss.graph.votes import shares_of_cuts


def slow_shares(member_labels, labels, n_clusters):
    """Look at every point's companions, one by one."""
    n_points, n_members = member_labels.shape
    shares = np.zeros((n_points, n_clusters))
    for i in range(n_points):
        for b in range(n_members):
            companions = [
                j
                for j in range(n_points)
                if j != i and member_labels[j, b] == member_labels[i, b]
            ]
            for j in companions:
                shares[i, labels[j]] += 1 / len(companions)
    return shares / n_members


def awkward_members(rng, n_points=20):
    base = rng.integers(6, size=(n_points, 7))
    base[:3, 2] = [6, 7, 8]  # alone in their base cluster
    base[:, 5] = np.arange(n_points)  # a member that puts every point alone
    return base


@pytest.mark.parametrize("seed", range(5))
def test_companion_shares_equal_a_walk_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    base, labels = awkward_members(rng), rng.integers(4, size=20)
    expected = slow_shares(base, labels, 4)
    np.testing.assert_allclose(companion_shares(base, labels, 4), expected, atol=1e-6)


def test_companion_shares_have_no_overflow_in_the_smallest_label_type():
    rng = np.random.default_rng(0)
    base = rng.integers(256, size=(2000, 3))
    labels = rng.integers(200, size=2000)
    wide = companion_shares(base, labels, 200)
    narrow = companion_shares(base.astype(np.uint8), labels.astype(np.uint8), 200)
    np.testing.assert_array_equal(narrow, wide)


def test_companion_shares_sum_to_the_share_of_members_with_a_companion():
    rng = np.random.default_rng(0)
    base, labels = awkward_members(rng), rng.integers(4, size=20)
    alone = [
        np.mean([(base[:, b] == base[i, b]).sum() == 1 for b in range(7)])
        for i in range(20)
    ]
    sums = companion_shares(base, labels, 4).sum(axis=1)
    np.testing.assert_allclose(sums, 1 - np.array(alone), atol=1e-6)


def test_edge_shares_equal_row_sums_of_blocks():
    rng = np.random.default_rng(0)
    graph = rng.random((15, 15)) * (rng.random((15, 15)) < 0.4)
    np.fill_diagonal(graph, 0)
    graph[3] = 0
    labels = rng.integers(3, size=15)
    shares = edge_shares(csr_array(graph), labels, 3)
    assert (shares[3] == 0).all()
    for i in (*range(3), *range(4, 15)):
        expected = [graph[i, labels == k].sum() / graph[i].sum() for k in range(3)]
        np.testing.assert_allclose(shares[i], expected, atol=1e-12)


def test_one_member_gives_the_shares_of_its_graph():
    rng = np.random.default_rng(0)
    base, labels = rng.integers(4, size=(30, 1)), rng.integers(3, size=30)
    together = (base == base.T).astype(float)
    np.fill_diagonal(together, 0)
    np.testing.assert_allclose(
        companion_shares(base, labels, 3),
        edge_shares(csr_array(together), labels, 3),
        atol=1e-6,
    )


def test_silhouettes_equal_their_definition_point_by_point():
    rng = np.random.default_rng(0)
    shares = rng.random((40, 3))
    shares[5] = 0  # no companions: counts 0
    labels = np.arange(40) % 3
    each = []
    for row, k in zip(shares, labels, strict=True):
        own, other = row[k], max(row[m] for m in range(3) if m != k)
        each.append((own - other) / max(own, other) if max(own, other) else 0.0)
    expected = [np.mean(np.array(each)[labels == k]) for k in range(3)]
    np.testing.assert_allclose(cluster_silhouettes(shares, labels), expected)


def test_silhouettes_are_one_for_members_that_agree_and_minus_one_for_strangers():
    labels = np.repeat(range(3), 4)
    agreed = companion_shares(np.tile(labels[:, None], 5), labels, 3)
    np.testing.assert_allclose(cluster_silhouettes(agreed, labels), 1, atol=1e-6)
    # one point of each cluster together: no companion is of the own cluster
    apart = companion_shares(np.tile(np.arange(4), 3)[:, None], labels, 3)
    np.testing.assert_allclose(cluster_silhouettes(apart, labels), -1, atol=1e-6)


def test_halves_of_a_class_that_members_keep_whole_have_silhouettes_near_zero():
    rng = np.random.default_rng(0)
    halves = rng.permutation(np.arange(400) % 2)
    shares = companion_shares(np.zeros((400, 3), int), halves, 2)
    assert np.abs(cluster_silhouettes(shares, halves)).max() < 0.01


def test_numbering_of_clusters_and_members_and_order_of_points_play_no_role():
    rng = np.random.default_rng(0)
    base, labels = rng.integers(5, size=(30, 6)), rng.integers(3, size=30)
    expected = np.sort(cluster_silhouettes(companion_shares(base, labels, 3), labels))
    moved = rng.permutation(30)
    renamed = rng.permutation(5)[base][moved][:, rng.permutation(6)]
    other = rng.permutation(3)[labels][moved]
    found = cluster_silhouettes(companion_shares(renamed, other, 3), other)
    np.testing.assert_allclose(np.sort(found), expected, atol=1e-6)


@pytest.mark.parametrize("n_members", [1, 7, 8, 17])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_shares_of_several_cuts_are_those_of_each(n_members, dtype):
    rng = np.random.default_rng(0)
    base = rng.integers(6, size=(40, n_members)).astype(dtype)
    base[0] = 6  # alone
    counts = [2, 5, 40, 3]
    cuts = [rng.integers(count, size=40) for count in counts]
    found = shares_of_cuts(base, cuts, counts)
    for shares, labels, count in zip(found, cuts, counts, strict=True):
        assert shares.shape == (40, count)
        np.testing.assert_allclose(shares, slow_shares(base, labels, count), atol=1e-6)


def test_points_without_a_vote_are_nobodys_companions():
    rng = np.random.default_rng(0)
    members, labels = rng.integers(-1, 3, (25, 9)), rng.integers(0, 2, 25)
    expected = np.zeros((25, 2))
    for i in range(25):
        for member in members.T:
            others = (member == member[i]) & (member >= 0)
            others[i] = False
            if others.any():
                expected[i] += np.bincount(labels[others], minlength=2) / others.sum()
    found = companion_shares(members, labels, 2)
    np.testing.assert_allclose(found, expected / 9, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_shared_information_is_the_mean_of_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    members = rng.integers(-1, 6, size=(200, 11))
    labels = rng.integers(4, size=200) if seed else np.maximum(members[:, 0], 0) % 4
    each = [
        normalized_mutual_info_score(
            one[one >= 0], labels[one >= 0], average_method="geometric"
        )
        for one in members.T
    ]
    found = shared_information(members, labels, 4)
    np.testing.assert_allclose(found, np.mean(each), atol=1e-6)


def test_shared_information_is_one_for_the_partition_and_zero_for_nothing():
    labels = np.repeat([0, 1, 2], 10)
    renamed = np.array([2, 0, 1])[labels]
    same = np.stack([labels, renamed], axis=1)
    assert shared_information(same, labels, 3) == pytest.approx(1)
    crossed = np.tile(np.arange(10), 3)[:, None]
    assert shared_information(crossed, labels, 3) == pytest.approx(0, abs=1e-9)
    assert shared_information(np.zeros((30, 2), int), labels, 3) == 0
    silent = np.stack([labels, np.full(30, -1)], axis=1)
    assert shared_information(silent, labels, 3) == pytest.approx(0.5)
