import numpy as np
import pytest

from ekss.graph import approximate as module
from ekss.graph import (
    coassociation_dense,
    nearest_by_votes,
    nearest_by_votes_approximate,
    prepare_votes,
)


def planted_labels(n=3000, n_members=40, n_groups=8, K=12, noise=0.4, seed=0):
    """Each member maps the groups to its labels and errs at random."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    labels = rng.integers(0, K, (n_groups, n_members))[group]
    wrong = rng.random((n, n_members)) < noise
    labels[wrong] = rng.integers(0, K, int(wrong.sum()))
    return labels.astype(np.uint8)


def recall(exact, found):
    """Share of the true top q found; whatever ties with the q-th counts as true."""
    q = exact.index.shape[1]
    good = (found.value >= exact.value[:, -1:]) & (found.index >= 0)
    return (good.sum(axis=1) / q).mean()


@pytest.mark.parametrize("q", [3, 10, 40])
@pytest.mark.parametrize("noise", [0.0, 0.3, 0.5])
def test_nearly_all_true_neighbours_are_found(q, noise):
    votes = prepare_votes(planted_labels(noise=noise))
    exact = nearest_by_votes(votes, q)
    found = nearest_by_votes_approximate(votes, q)
    assert recall(exact, found) >= 0.95


def test_more_trees_find_more():
    votes = prepare_votes(planted_labels(noise=0.6, n=4000))
    exact = nearest_by_votes(votes, 10)
    few = nearest_by_votes_approximate(votes, 10, n_trees=1)
    many = nearest_by_votes_approximate(votes, 10, n_trees=20)
    assert recall(exact, few) + 0.02 < recall(exact, many)


def test_no_point_is_its_own_neighbour_or_twice_a_neighbour():
    found = nearest_by_votes_approximate(prepare_votes(planted_labels()), 12)
    ordered = np.sort(found.index, axis=1)
    assert (ordered[:, 0] >= 0).all()
    assert (np.diff(ordered, axis=1) > 0).all()
    assert (found.index != np.arange(3000)[:, None]).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_values_are_the_votes_of_all_members(dtype):
    labels = planted_labels(n=900, n_members=21).astype(dtype)
    if dtype != np.uint8:
        labels = labels * 300
    weights = np.linspace(0, 1, 21)
    found = nearest_by_votes_approximate(prepare_votes(labels, weights), 7)
    dense = coassociation_dense(labels, weights)
    expected = np.take_along_axis(dense, found.index.astype(int), axis=1)
    np.testing.assert_allclose(found.value, expected, atol=1 / 4095)
    assert (np.diff(found.value, axis=1) <= 0).all()


def test_votes_divided_by_size_are_those_of_the_exact_graph():
    votes = prepare_votes(planted_labels(noise=0.4), divide_by_size=True)
    exact = nearest_by_votes(votes, 5)
    found = nearest_by_votes_approximate(votes, 5)
    assert recall(exact, found) >= 0.95
    same = found.index == exact.index
    assert same.mean() > 0.9
    np.testing.assert_array_equal(found.value[same], exact.value[same])


@pytest.mark.parametrize("n", [2, 9, 200, 256])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_few_points_give_the_exact_graph(n, n_trees):
    votes = prepare_votes(planted_labels(n=n), np.linspace(0.5, 1, 40))
    q = min(n - 1, 6)
    exact = nearest_by_votes(votes, q)
    found = nearest_by_votes_approximate(votes, q, n_trees=n_trees, random_state=5)
    np.testing.assert_array_equal(found.index, exact.index)
    np.testing.assert_array_equal(found.value, exact.value)


def test_points_that_share_no_vote_have_no_neighbour():
    # 600 points, of which only the first two and the last two ever meet
    labels = np.tile(np.arange(600)[:, None], (1, 9))
    labels[1], labels[-1] = labels[0], labels[-2]
    found = nearest_by_votes_approximate(prepare_votes(labels), 2)
    assert found.index[0].tolist() == [1, -1]
    assert found.index[-1].tolist() == [598, -1]
    assert (found.index[2:-2] == -1).all()
    assert (found.value[2:-2] == 0).all()


def test_members_without_weight_do_not_matter():
    labels = planted_labels(n=1500, noise=0.3)
    useless = np.random.default_rng(1).integers(0, 12, labels.shape)
    both = np.concatenate([labels, useless.astype(np.uint8)], axis=1)
    weights = np.repeat([1.0, 0.0], labels.shape[1])
    exact = nearest_by_votes(prepare_votes(labels), 10)
    found = nearest_by_votes_approximate(prepare_votes(both, weights), 10)
    halved = type(found)(found.index, 2 * found.value)  # twice as many members
    assert recall(exact, halved) >= 0.95


def test_all_weights_zero_give_no_neighbours():
    votes = prepare_votes(planted_labels(n=300), np.zeros(40))
    assert (nearest_by_votes_approximate(votes, 4).index == -1).all()


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_result_does_not_depend_on_the_number_of_threads(n_jobs):
    votes = prepare_votes(planted_labels(noise=0.6))
    one = nearest_by_votes_approximate(votes, 8, n_trees=5)
    more = nearest_by_votes_approximate(votes, 8, n_trees=5, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.index, more.index)
    np.testing.assert_array_equal(one.value, more.value)


def test_seed_decides_the_result():
    votes = prepare_votes(planted_labels(noise=0.6))
    first, again, other = (
        nearest_by_votes_approximate(votes, 8, n_trees=2, random_state=seed)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.index, again.index)
    assert (first.index != other.index).any()


def test_neighbours_of_neighbours_are_tried(monkeypatch):
    votes = prepare_votes(planted_labels(noise=0.6))
    exact = nearest_by_votes(votes, 10)
    found = nearest_by_votes_approximate(votes, 10, n_trees=2)
    monkeypatch.setattr(module, "_compare_friends", lambda search: None)
    without = nearest_by_votes_approximate(votes, 10, n_trees=2)
    assert recall(exact, without) + 0.01 < recall(exact, found)


def test_progress_is_told_after_every_tree_and_the_last_pass():
    told = []
    votes = prepare_votes(planted_labels(n=500))
    nearest_by_votes_approximate(votes, 3, n_trees=5, n_jobs=2, report=told.append)
    assert told == [1] * 6


@pytest.mark.parametrize("q", [0, 50, 60])
def test_impossible_q_is_refused_with_the_limit(q):
    votes = prepare_votes(planted_labels(n=50))
    with pytest.raises(ValueError, match=rf"q={q} must lie between 1 .*=49"):
        nearest_by_votes_approximate(votes, q)


def test_no_trees_are_refused():
    votes = prepare_votes(planted_labels(n=50))
    with pytest.raises(ValueError, match="n_trees=0 is below 1"):
        nearest_by_votes_approximate(votes, 3, n_trees=0)
