import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from ekss.graph import (
    coassociation_dense,
    coassociation_topq,
    directed_graph,
    nearest_by_votes,
    prepare_votes,
    symmetric_graph,
    votes_outside,
)
from ekss.graph import (
    votes as coassociation,
)


def random_labels(n=150, n_members=21, K=5, seed=0, dtype=np.uint8):
    return np.random.default_rng(seed).integers(0, K, (n, n_members)).astype(dtype)


def votes_reference(labels, weights, divide_by_size=False):
    """The obvious loop over members, points and points."""
    n, n_members = labels.shape
    A = np.zeros((n, n))
    for b in range(n_members):
        for i in range(n):
            for j in range(n):
                if i != j and labels[i, b] == labels[j, b]:
                    size = (labels[:, b] == labels[i, b]).sum()
                    A[i, j] += weights[b] / (size if divide_by_size else 1)
    return A / n_members


def thresh_reference(A, q):
    """Algorithm 2 of the paper, rows and columns written out; no ties allowed."""
    rows, columns = np.zeros_like(A), np.zeros_like(A)
    for i in range(len(A)):
        top = np.argsort(A[i])[::-1][:q]
        rows[i, top] = A[i, top]
        top = np.argsort(A[:, i])[::-1][:q]
        columns[top, i] = A[top, i]
    return (rows + columns) / 2


@pytest.mark.parametrize("divide_by_size", [False, True])
@pytest.mark.parametrize("n_members", [1, 7, 8, 9, 16, 24, 40])
def test_all_votes_equal_the_reference(n_members, divide_by_size):
    labels = random_labels(40, n_members)
    weights = np.random.default_rng(1).uniform(0.5, 1, n_members)
    A = coassociation_topq(labels, weights, 39, divide_by_size=divide_by_size)
    expected = votes_reference(labels, weights, divide_by_size)
    # a vote is resolved to 1 part in 4095 of the largest of all votes
    largest = 0.5 if divide_by_size else 1
    np.testing.assert_allclose(A.toarray(), expected, atol=largest / 4095)


def test_equal_weights_are_counted_exactly():
    labels = random_labels(60, 33)
    A = coassociation_topq(labels, None, 59).toarray()
    np.testing.assert_allclose(A, votes_reference(labels, np.ones(33)), atol=1e-15)


@pytest.mark.parametrize("q", [1, 4, 20])
def test_top_q_equals_the_papers_thresh_when_votes_have_no_ties(q):
    # weights 2^-b make every pair's vote distinct unless the labels agree entirely
    labels = random_labels(70, 11, K=3, seed=3)
    weights = 0.5 ** np.arange(11)
    votes = votes_reference(labels, weights)
    off = votes[~np.eye(70, dtype=bool)].reshape(70, 69)
    A = coassociation_topq(labels, weights, q)
    ordered = np.sort(off, axis=1)[:, ::-1]
    untied = ordered[:, q - 1] - ordered[:, q] > 1e-3 * votes.max()
    expected = thresh_reference(votes, q)
    both = np.ix_(untied, untied)
    assert untied.sum() > 10
    np.testing.assert_allclose(
        A.toarray()[both], expected[both], atol=1e-3 * votes.max()
    )


def test_kept_votes_are_never_smaller_than_dropped_ones():
    labels = random_labels(300, 30, K=3)
    votes = prepare_votes(labels)
    found = nearest_by_votes(votes, 12)
    dense = coassociation_dense(labels)
    np.fill_diagonal(dense, -1)
    for i in range(300):
        assert i not in found.index[i]
        assert len(set(found.index[i])) == 12
        np.testing.assert_allclose(dense[i, found.index[i]], found.value[i])
        assert np.sort(dense[i])[::-1][11] == pytest.approx(found.value[i, -1])
        assert np.all(np.diff(found.value[i]) <= 0)


@pytest.mark.parametrize("n", [2, 63, 64, 65, 1023, 1100])
def test_tile_borders_lose_no_pair(n):
    labels = random_labels(n, 3, K=2, seed=n)
    A = coassociation_topq(labels, None, n - 1).toarray()
    expected = coassociation_dense(labels)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(A, expected)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads_gives_the_same_bytes(n_jobs):
    votes = prepare_votes(random_labels(500, 40, K=3))
    alone = nearest_by_votes(votes, 7)
    shared = nearest_by_votes(votes, 7, n_jobs=n_jobs)
    np.testing.assert_array_equal(alone.index, shared.index)
    np.testing.assert_array_equal(alone.value, shared.value)


def test_ties_leave_clusters_connected():
    # perfect members: all pairs of a cluster tie; a choice by index would not connect
    labels = np.repeat(np.arange(3), 400)[:, None].repeat(10, axis=1)
    for q in (3, 10):
        graph = coassociation_topq(labels, None, q)
        assert connected_components(graph)[0] == 3


def test_ties_are_spread_evenly_over_points():
    labels = np.zeros((1000, 8), int)
    found = nearest_by_votes(prepare_votes(labels), 10)
    popularity = np.bincount(found.index.ravel(), minlength=1000)
    # binomial(1000, 1/100): mean 10, standard deviation 3.1
    assert popularity.max() < 30
    assert popularity.min() > 0


def test_order_of_members_changes_nothing():
    labels = random_labels(200, 25)
    weights = np.random.default_rng(2).uniform(size=25)
    order = np.random.default_rng(3).permutation(25)
    A = coassociation_topq(labels, weights, 6)
    B = coassociation_topq(labels[:, order], weights[order], 6)
    assert (A != B).nnz == 0


def test_renaming_labels_changes_nothing():
    labels = random_labels(200, 25, K=5)
    A = coassociation_topq(labels, None, 6)
    B = coassociation_topq(4 - labels, None, 6)
    assert (A != B).nnz == 0


def test_wide_labels_are_counted():
    labels = random_labels(120, 9, K=400, dtype=np.uint16)
    expected = coassociation_dense(labels)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(
        coassociation_topq(labels, None, 119).toarray(), expected
    )


def test_points_that_share_no_vote_are_not_neighbours():
    labels = np.arange(5)[:, None].repeat(4, axis=1)
    found = nearest_by_votes(prepare_votes(labels), 3)
    assert (found.index == -1).all()
    assert symmetric_graph(found).nnz == 0


def test_smaller_q_reuses_the_same_lists():
    labels = random_labels(150, 30)
    votes = prepare_votes(labels)
    long_lists = nearest_by_votes(votes, 30)
    for q in (1, 5, 29):
        A = symmetric_graph(long_lists, q)
        B = symmetric_graph(nearest_by_votes(votes, q))
        assert (A != B).nnz == 0


def test_division_by_size_makes_rows_sum_to_one():
    labels = random_labels(90, 16, K=3)
    A = coassociation_topq(labels, None, 89, divide_by_size=True).toarray()
    own = np.mean(
        [[1 / (labels[:, b] == k).sum() for b, k in enumerate(row)] for row in labels],
        axis=1,
    )
    np.testing.assert_allclose(A.sum(axis=1) + own, 1, atol=2e-3)


def test_votes_of_tiny_clusters_are_bounded():
    # mean size 50, so the cluster of two counts as 50 / 16 points
    labels = np.r_[np.zeros(98, int), 1, 1][:, None]
    A = coassociation_topq(labels, None, 99, divide_by_size=True).toarray()
    assert A[98, 99] == pytest.approx(16 / 50)
    assert A[0, 1] == pytest.approx(1 / 98, rel=0.01)


def test_unused_labels_change_no_vote():
    labels = random_labels(80, 12)
    A = coassociation_topq(labels, None, 5, divide_by_size=True)
    B = coassociation_topq(2 * labels, None, 5, divide_by_size=True)
    assert (A != B).nnz == 0


def test_votes_outside_finds_the_best_points_of_other_groups():
    labels = random_labels(200, 40, K=3)
    group = np.random.default_rng(5).integers(0, 4, 200)
    rows = np.array([3, 50, 199])
    graph = votes_outside(prepare_votes(labels), rows, group, q=4).toarray()
    dense = coassociation_dense(labels)
    assert set(np.flatnonzero(graph.any(axis=1))) == set(rows)
    for i in rows:
        kept = np.flatnonzero(graph[i])
        assert (group[kept] != group[i]).all()
        outside = np.sort(dense[i, group != group[i]])[::-1]
        np.testing.assert_allclose(np.sort(graph[i, kept])[::-1], outside[:4])


def test_votes_outside_of_many_rows_come_from_a_sample(monkeypatch):
    labels = random_labels(200, 40, K=3)
    group = np.random.default_rng(5).integers(0, 4, 200)
    rows = np.array([3, 50, 150, 199])
    monkeypatch.setattr(coassociation, "MAX_BRIDGE_PAIRS", 4 * 60)
    graph = votes_outside(prepare_votes(labels), rows, group, q=60)
    again = votes_outside(prepare_votes(labels), rows, group, q=60)
    offered = np.unique(graph.indices)
    assert 40 < len(offered) <= 60
    dense = coassociation_dense(labels)
    graph, again = graph.toarray(), again.toarray()
    np.testing.assert_array_equal(graph, again)
    assert set(np.flatnonzero(graph.any(axis=1))) == set(rows)
    for i in rows:
        others = offered[group[offered] != group[i]]
        np.testing.assert_allclose(graph[i, others], dense[i, others])
        assert np.count_nonzero(graph[i]) == np.count_nonzero(dense[i, others])


@pytest.mark.parametrize(
    ("labels", "weights", "q", "words"),
    [
        (np.zeros(4, int), None, 1, "shape"),
        (np.zeros((4, 0), int), None, 1, "at least one"),
        (-np.ones((4, 2), int), None, 1, "all labels are negative"),
        (np.zeros((4, 2)), None, 1, "pass integers from 0"),
        (np.zeros((4, 2), int), [1.0], 1, "2 members"),
        (np.zeros((4, 2), int), [1.0, np.nan], 1, "finite"),
        (np.zeros((4, 2), int), [1.0, -1.0], 1, "not negative"),
        (np.zeros((4, 2), int), None, 4, "n_samples-1=3"),
        (np.zeros((4, 2), int), None, 0, "between 1 and"),
    ],
)
def test_bad_input_is_refused_in_words(labels, weights, q, words):
    with pytest.raises(ValueError, match=words):
        coassociation_topq(labels, weights, q)


def test_points_without_a_vote_share_nothing():
    """A negative label is no vote: against sums over pairs that both vote."""
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, (40, 11))
    both = (labels[:, None] >= 0) & (labels[None] >= 0)
    together = (labels[:, None] == labels[None]) & both
    expected = together.mean(axis=2)
    np.testing.assert_allclose(coassociation_dense(labels), expected)
    found = nearest_by_votes(prepare_votes(labels), 39)
    full = directed_graph(found).toarray()
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(full, expected, atol=1e-12)
    sizes = np.array([[(column == k).sum() for k in range(4)] for column in labels.T])
    divided = prepare_votes(labels, divide_by_size=True)
    share = np.array(divided.table[:11, :4] * divided.unit * 11)
    np.testing.assert_allclose(share, 1 / sizes, rtol=2e-3)
    assert not divided.table[:, 4].any()
