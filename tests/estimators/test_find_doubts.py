import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from ekss.datasets import make_union_of_subspaces
from ekss.estimators._base import find_doubts, resembles_noise, rows_to_doubt


def keys(X, n_clusters=3, n_used=None, dim=None, affine=False):
    X = np.asarray(X, float)
    found = find_doubts(
        X[rows_to_doubt(len(X), n_clusters)],
        n_clusters=n_clusters,
        n_used=n_clusters if n_used is None else n_used,
        dim=dim,
        affine=affine,
    )
    return [doubt.key for doubt in found]


def noise(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("shape", [(60, 8), (100, 20), (200, 3), (300, 30), (90, 400)])
def test_gaussian_noise_is_recognised(shape):
    found = [keys(noise(shape, seed)) for seed in range(20)]
    assert sum(found == ["noise"] for found in found) >= 19


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_noise_of_other_kinds_and_scales_is_recognised(scale):
    rng = np.random.default_rng(0)
    assert keys(scale * rng.uniform(-1, 1, (300, 15))) == ["noise"]
    assert keys(scale * (rng.standard_normal((300, 15)) + 1)) == ["noise"]
    assert keys(scale * rng.standard_normal((300, 15)) * np.arange(1, 16)) == ["noise"]


@pytest.mark.parametrize(
    ("n_clusters", "dim", "n_features", "n_each", "noise"),
    [
        (3, 4, 30, 60, 0.0),
        (4, 2, 12, 50, 0.05),
        (5, 4, 50, 50, 0.5),
        (4, 4, 50, 60, 1.0),
        (2, 1, 5, 30, 0.05),
        (4, 2, 6, 40, 0.1),
        (8, 5, 50, 20, 0.2),
        (2, 5, 10, 50, 0.1),
        (100, 3, 50, 20, 0.1),
    ],
)
def test_unions_of_subspaces_are_not_doubted(
    n_clusters, dim, n_features, n_each, noise
):
    for seed in range(5):
        union = make_union_of_subspaces(
            n_clusters, dim, n_features, n_each, noise=noise, random_state=seed
        )
        assert keys(union.data, n_clusters, dim=dim) == []
        assert keys(union.data, n_clusters, dim=None) == []


def test_images_blobs_and_repeated_points_are_not_doubted():
    assert keys(load_digits().data, 10, dim=4) == []
    for seed in range(5):
        assert keys(make_blobs(200, 5, centers=3, random_state=seed)[0]) == []
    assert keys(np.eye(10)[np.arange(60) % 10], 10, dim=1) == []


def test_zero_equal_and_collinear_points_are_told_apart():
    line = noise((30, 1)) * np.ones(4)
    assert keys(np.zeros((30, 4))) == ["zero"]
    assert keys(np.zeros((30, 4)), affine=True) == ["equal"]
    assert keys(np.ones((30, 4)), affine=True) == ["equal"]
    assert keys(np.ones((30, 4))) == ["one_subspace"]
    assert keys(line) == ["one_subspace"]
    assert keys(line + 5, dim=1, affine=True) == ["one_subspace"]


def test_one_subspace_is_doubted_from_its_dimension_on():
    X = noise((100, 2)) @ noise((2, 9), 1)
    assert keys(X, dim=1) == []
    assert keys(X, dim=2) == keys(X, dim=3) == ["one_subspace"]
    assert keys(X.astype(np.float32), dim=2) == ["one_subspace"]
    assert keys(X + 3, dim=2, affine=True) == ["one_subspace"]
    assert keys(X + 1e-3 * noise((100, 9), 2), dim=2) == []


def test_empty_clusters_are_told_beside_noise_but_not_beside_worse():
    union = make_union_of_subspaces(3, 2, 12, 40, random_state=0).data
    assert keys(union, 5, n_used=4, dim=2) == ["empty"]
    assert keys(noise((200, 9)), 5, n_used=4) == ["noise", "empty"]
    assert keys(np.zeros((30, 4)), 5, n_used=1) == ["zero"]


def test_nothing_is_said_of_one_cluster_or_of_few_points():
    assert keys(np.zeros((30, 4)), 1) == []
    assert not resembles_noise(noise((30, 10)), np.random.default_rng(0))
    assert not resembles_noise(noise((200, 2)), np.random.default_rng(0))


@pytest.mark.parametrize(("n", "k", "size"), [(50, 3, 50), (10**6, 3, 200)])
def test_some_rows_of_many_are_looked_at(n, k, size):
    rows = rows_to_doubt(n, k)
    assert len(rows) == len(np.unique(rows)) == size
    assert (np.diff(rows) > 0).all()
    assert rows.max() < n
    assert len(rows_to_doubt(10**6, 100)) == 300
    assert len(rows_to_doubt(10**6, 10**5)) == 1000
