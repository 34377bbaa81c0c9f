import numpy as np
import pytest

from ekss.datasets import make_union_of_subspaces
from ekss.ensemble.dimension import clear_dim, estimate_dim


def estimate(X, n_clusters, seed=0):
    return estimate_dim(X, n_clusters, np.random.default_rng(seed))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("n_features", [6, 12, 50])
@pytest.mark.parametrize("n_clusters", [2, 4, 10])
@pytest.mark.parametrize("n_each", [20, 60])
def test_lines_planes_and_spaces_have_their_dimension(
    dim, n_features, n_clusters, n_each
):
    for seed, noise in enumerate([0.0, 0.05, 0.1]):
        data = make_union_of_subspaces(
            n_clusters, dim, n_features, n_each, noise=noise, random_state=seed
        )
        assert estimate(data.data, n_clusters, seed) == dim


@pytest.mark.parametrize("dim", [4, 5])
@pytest.mark.parametrize("n_features", [12, 50])
@pytest.mark.parametrize("n_clusters", [2, 6])
@pytest.mark.parametrize("n_each", [50, 200])
def test_more_dimensions_are_seen_with_more_points(dim, n_features, n_clusters, n_each):
    for seed, noise in enumerate([0.0, 0.1]):
        data = make_union_of_subspaces(
            n_clusters, dim, n_features, n_each, noise=noise, random_state=seed
        )
        assert estimate(data.data, n_clusters, seed) == dim


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("sizes", [(30, 60, 120), (20, 40, 200, 100)])
def test_sizes_of_clusters_may_differ(dim, sizes):
    k = len(sizes)
    for seed in range(3):
        data = make_union_of_subspaces(k, dim, 20, sizes, noise=0.05, random_state=seed)
        assert estimate(data.data, k, seed) == dim


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_lengths_of_points_and_single_precision_do_not_matter(dim):
    data = make_union_of_subspaces(4, dim, 15, 50, noise=0.05, random_state=dim)
    rng = np.random.default_rng(0)
    lengths = rng.uniform(0.1, 10, (200, 1)) * rng.choice([-1, 1], (200, 1))
    assert estimate(data.data * lengths, 4) == dim
    assert estimate(data.data.astype(np.float32), 4) == dim


def test_a_few_repeated_directions_are_lines():
    assert estimate(np.eye(10)[np.arange(60) % 10], 10) == 1


@pytest.mark.parametrize("shape", [(300, 3), (300, 12), (300, 50), (60, 8)])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_no_dimension_stands_out_in_noise(shape, n_clusters):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal(shape)
        assert clear_dim(X, n_clusters, rng) is None


def test_no_dimension_stands_out_where_energy_fades_slowly():
    # one spectrum 1, 1/2, 1/3, ... for each of four clusters, as images have
    for seed in range(5):
        rng = np.random.default_rng(seed)
        bases = np.linalg.qr(rng.standard_normal((4, 60, 40)))[0]
        inside = rng.standard_normal((4, 60, 40)) / np.arange(1, 41)
        X = np.concatenate(inside @ bases.transpose(0, 2, 1))
        assert clear_dim(X, 4, rng) is None


@pytest.mark.parametrize("n_clusters", [1, 3, 8])
def test_points_without_directions_are_not_refused(n_clusters):
    for X in (np.zeros((8, 5)), np.ones((8, 5)), np.ones((8, 1))):
        assert estimate(X, n_clusters) == 1
