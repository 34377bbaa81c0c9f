import numpy as np
import pytest
from sklearn.cluster import KMeans

from ekss.graph import kmeans


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


def test_few_rows_are_clustered_as_by_scikit_learn():
    rows, _ = blobs()
    expected = KMeans(6, n_init=4, random_state=7).fit(rows).labels_
    np.testing.assert_array_equal(kmeans.kmeans_labels(rows, 6, 4, 7), expected)


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_many_rows_cost_as_little_as_with_all_in_every_restart(monkeypatch, spread):
    rows, _ = blobs(spread=spread)
    whole = kmeans.kmeans_labels(rows, 6, 10, 0)
    monkeypatch.setattr(kmeans, "ALL_ROWS", 300)
    sampled = kmeans.kmeans_labels(rows, 6, 10, 0)
    assert inertia(rows, sampled) <= 1.01 * inertia(rows, whole)


def test_restarts_of_many_rows_see_only_a_sample(monkeypatch):
    seen = []

    class Spy(KMeans):
        def fit(self, X):
            seen.append((len(X), self.n_init))
            return super().fit(X)

    monkeypatch.setattr(kmeans, "ALL_ROWS", 300)
    monkeypatch.setattr(kmeans, "KMeans", Spy)
    kmeans.kmeans_labels(blobs()[0], 6, 10, 0)
    assert seen == [(300, 10), (3000, 1)]


def test_many_rows_with_the_same_seed_get_the_same_labels(monkeypatch):
    monkeypatch.setattr(kmeans, "ALL_ROWS", 300)
    rows, _ = blobs(spread=2.0)
    first, again = (kmeans.kmeans_labels(rows, 6, 2, 3) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_sample_is_never_smaller_than_the_number_of_clusters(monkeypatch):
    monkeypatch.setattr(kmeans, "ALL_ROWS", 10)
    labels = kmeans.kmeans_labels(np.arange(60.0)[:, None], 40, 1, 0)
    assert len(np.unique(labels)) == 40
