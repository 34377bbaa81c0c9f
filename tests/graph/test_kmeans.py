import numpy as np
import pytest
from sklearn.cluster import KMeans

from ekss.graph import spectral as kmeans
from ekss.metrics import clustering_error
from ekss.runtime.workers import one_blas_thread


def blobs(n=3000, n_clusters=6, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n)
    centres = 4 * rng.standard_normal((n_clusters, 5))
    return centres[truth] + spread * rng.standard_normal((n, 5)), truth


def inertia(rows, labels):
    return sum(
        ((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum()
        for k in np.unique(labels)
    )


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n_clusters", [2, 6, 40])
def test_cost_is_as_low_as_that_of_scikit_learn(spread, n_clusters):
    rows, _ = blobs(n=600, spread=spread)
    ours = [kmeans.kmeans_labels(rows, n_clusters, 4, seed) for seed in range(3)]
    with one_blas_thread():
        theirs = [
            KMeans(n_clusters, n_init=4, random_state=seed).fit(rows)
            for seed in range(3)
        ]
    cost = np.mean([inertia(rows, labels) for labels in ours])
    assert cost <= 1.03 * np.mean([model.inertia_ for model in theirs])
    assert all(len(np.unique(labels)) == n_clusters for labels in ours)


@pytest.mark.parametrize("seed", range(3))
def test_no_row_is_nearer_to_the_mean_of_another_cluster(seed):
    rows, _ = blobs(n=500, spread=0.5, seed=seed)
    labels = kmeans.kmeans_labels(rows, 6, 10, seed)
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(6)])
    distances = np.linalg.norm(rows[:, None] - means, axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), labels)


def test_separate_clusters_are_found_wherever_the_origin_is():
    rows, truth = blobs(n=400, spread=0.05)
    for shift in (0.0, 1e3):
        labels = kmeans.kmeans_labels(rows + shift, 6, 10, 0)
        assert clustering_error(truth, labels) == 0


@pytest.mark.parametrize("noise", [0.0, 1e-17, 1e-15])
@pytest.mark.parametrize("n_clusters", [3, 5, 12])
def test_coinciding_rows_leave_clusters_empty_without_a_word(noise, n_clusters):
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(3), 20, axis=0)
    rows = rows + noise * rng.standard_normal(rows.shape)
    labels = kmeans.kmeans_labels(rows, n_clusters, 3, 0)
    assert clustering_error(np.repeat(range(3), 20), labels) == 0
    assert len(np.unique(labels)) == 3


def test_all_rows_may_be_one():
    for rows in (np.ones((7, 2)), np.zeros((7, 2))):
        assert len(np.unique(kmeans.kmeans_labels(rows, 3, 2, 0))) == 1


def test_as_many_clusters_as_rows_are_the_rows():
    rows = np.random.default_rng(0).standard_normal((15, 4))
    assert len(np.unique(kmeans.kmeans_labels(rows, 15, 1, 0))) == 15


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_many_rows_cost_as_little_as_with_all_in_every_restart(monkeypatch, spread):
    rows, _ = blobs(spread=spread)
    whole = kmeans.kmeans_labels(rows, 6, 10, 0)
    monkeypatch.setattr(kmeans, "ALL_ROWS", 300)
    sampled = kmeans.kmeans_labels(rows, 6, 10, 0)
    assert inertia(rows, sampled) <= 1.01 * inertia(rows, whole)


def test_restarts_of_many_rows_see_only_a_sample(monkeypatch):
    seen = []
    descend = kmeans._descend

    def spy(features, centres):
        seen.append(features.shape[1])
        return descend(features, centres)

    monkeypatch.setattr(kmeans, "ALL_ROWS", 300)
    monkeypatch.setattr(kmeans, "_descend", spy)
    kmeans.kmeans_labels(blobs()[0], 6, 4, 0)
    assert seen == [300] * 4 + [3000]


def test_many_rows_with_the_same_seed_get_the_same_labels(monkeypatch):
    monkeypatch.setattr(kmeans, "ALL_ROWS", 300)
    rows, _ = blobs(spread=2.0)
    first, again = (kmeans.kmeans_labels(rows, 6, 2, 3) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_sample_is_never_smaller_than_the_number_of_clusters(monkeypatch):
    monkeypatch.setattr(kmeans, "ALL_ROWS", 10)
    labels = kmeans.kmeans_labels(np.arange(60.0)[:, None], 40, 1, 0)
    assert len(np.unique(labels)) == 40


def as_features(rows):
    """Rows as the compiled loops take them: by features, in fours."""
    features = np.zeros((-(-rows.shape[1] // 4) * 4, len(rows)), np.float32)
    features[: rows.shape[1]] = rows.T
    return features


def slow_descend(rows, centres):
    """Assign and move in turns, until nothing changes."""
    labels = None
    while True:
        distances = np.square(rows[:, None] - centres).sum(axis=2)
        now = distances.argmin(axis=1)
        if labels is not None and np.array_equal(now, labels):
            return labels, centres, distances.min(axis=1).sum()
        labels = now
        centres = np.stack([rows[labels == k].mean(axis=0) for k in range(6)])


@pytest.mark.parametrize("n_each", [50, 500])
@pytest.mark.parametrize("n_features", [3, 4, 5, 9])
def test_descent_equals_assigning_and_moving_in_turns(monkeypatch, n_features, n_each):
    rng = np.random.default_rng(n_features)
    centres = rng.standard_normal((6, n_features))
    rows = np.repeat(centres, n_each, axis=0)
    rows += 0.3 * rng.standard_normal(rows.shape)
    rows -= rows.mean(axis=0)
    start = rows[::n_each]
    monkeypatch.setattr(kmeans, "_TOLERANCE", 0.0)
    found = kmeans._descend(as_features(rows), as_features(start).T.copy())
    labels, means, cost = slow_descend(rows, start)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres[:, :n_features], means, atol=1e-5)
    assert found.cost == pytest.approx(cost, rel=1e-5)


def slow_spread(rows, draws):
    """Greedy k-means++ with the numbers drawn."""
    distances = np.full(len(rows), 5.0 * rows.shape[1])
    chosen = []
    for drawn in draws:
        sums = np.cumsum(distances)
        tried = [int((sums <= share * sums[-1]).sum()) for share in drawn]
        nearest = [
            np.minimum(distances, np.square(rows - rows[number]).sum(axis=1))
            for number in tried
        ]
        best = int(np.argmin([found.sum() for found in nearest]))
        chosen.append(tried[best])
        distances = nearest[best]
    return chosen


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 30])
def test_centres_are_spread_as_the_numbers_drawn_say(n_clusters):
    rows = np.random.default_rng(0).uniform(-1, 1, (200, 8))
    centres = kmeans._spread_centres(
        as_features(rows), n_clusters, np.random.default_rng(1)
    )
    draws = np.random.default_rng(1).random((n_clusters, 2 + int(np.log(n_clusters))))
    np.testing.assert_allclose(centres, rows[slow_spread(rows, draws)], atol=1e-6)
