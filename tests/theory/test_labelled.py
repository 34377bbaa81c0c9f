import math

import numpy as np
import pytest

from ekss.core.linalg import unit_rows
from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces
from ekss.graph import coassociation_dense
from ekss.theory import (
    angular_separation,
    coclustering_function,
    deviation,
    largest_affinity,
    missing_ratio,
)
from ekss.theory._labelled import labelled_subspaces, subspace_pairs
from ekss.theory._separation import (
    count_nearer,
    neighbour_profile,
    rises_above,
    votes_deviation,
)


@pytest.fixture
def planted():
    data = make_union_of_subspaces(
        3, (2, 4, 3), n_features=30, n_per_subspace=(40, 60, 50), random_state=3
    )
    return data.data, data.target, data.bases


def test_subspaces_of_exact_points_are_the_planted_ones(planted):
    X, y, bases = planted
    found = labelled_subspaces(X, y)
    assert found.dims == (2, 4, 3)
    assert found.sizes == (40, 60, 50)
    assert found.how == ("rank",) * 3
    assert max(found.farthest) < 1e-12
    assert found.noise == 0.0
    for ours, theirs in zip(found.bases, bases, strict=True):
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-10)


@pytest.mark.parametrize("sigma", [0.1, 0.3])
def test_noise_is_estimated_from_what_is_outside(sigma):
    data = make_union_of_subspaces(
        3, 4, n_features=200, n_per_subspace=300, noise=sigma, random_state=0
    )
    found = labelled_subspaces(unit_rows(data.data), data.target, dim=4)
    assert found.how == ("given",) * 3
    assert found.noise == pytest.approx(sigma, rel=0.05)


def test_noisy_clusters_keep_the_share_of_energy_they_promise():
    X = unit_rows(np.random.default_rng(0).standard_normal((90, 12)))
    found = labelled_subspaces(X, np.repeat([0, 1], 45))
    assert found.how == ("energy", "energy")
    assert max(found.outside) <= 0.05
    smaller = labelled_subspaces(X, np.repeat([0, 1], 45), dim=min(found.dims) - 1)
    assert min(smaller.outside) > 0.05


def test_few_points_in_general_position_are_no_exact_subspace():
    X = unit_rows(np.random.default_rng(0).standard_normal((16, 40)))
    assert labelled_subspaces(X, np.repeat([0, 1], 8)).how == ("energy", "energy")


@pytest.mark.parametrize("dim", [0, 30, 41])
def test_impossible_dimension_is_refused(planted, dim):
    X, y, _ = planted
    with pytest.raises(ValueError, match=f"dim={dim} is not between 1 and 29"):
        labelled_subspaces(X, y, dim)


def test_pairs_agree_with_affinity_and_ratio(planted):
    _, _, bases = planted
    pairs = subspace_pairs(bases)
    off = ~np.eye(3, dtype=bool)
    assert pairs.affinities[off].max() == pytest.approx(largest_affinity(bases))
    assert pairs.cosines[off].max() == pytest.approx(missing_ratio(bases, 0).upper)
    first, second = pairs.closest
    assert pairs.affinities[first, second] == pairs.affinities[off].max()


def test_closest_pair_has_the_planted_angles():
    data = make_subspaces_at_angle(0.4, dim=3, n_features=20, random_state=1)
    pairs = subspace_pairs(data.bases)
    np.testing.assert_allclose(pairs.angles, math.degrees(0.4), rtol=1e-6)


@pytest.mark.parametrize("q", [1, 5, 39])
def test_profile_gives_the_gaps_of_the_separation(planted, q):
    X, y, _ = planted
    profile = neighbour_profile(X, y, q)
    expected = angular_separation(X, y, q).gaps
    np.testing.assert_allclose((profile.near - profile.far) / 2, expected, atol=1e-14)
    inner = np.abs(X @ X.T)
    assert (y[profile.rival] != y).all()
    np.testing.assert_allclose(inner[np.arange(len(X)), profile.rival], profile.far)


def test_profile_of_some_rows_is_part_of_the_whole(planted):
    X, y, _ = planted
    rows = np.array([3, 77, 140])
    part, whole = neighbour_profile(X, y, 4, rows), neighbour_profile(X, y, 4)
    np.testing.assert_allclose(part.near, whole.near[rows])
    np.testing.assert_array_equal(part.rival, whole.rival[rows])


def test_counts_equal_counting_one_by_one(planted):
    X, y, _ = planted
    rng = np.random.default_rng(0)
    rows = np.array([0, 10, 149])
    limits = rng.uniform(0, 1, (2, 3))
    inner = np.abs(X @ X.T)
    for t, counts in enumerate(count_nearer(X, y, rows, limits)):
        for k, i in enumerate(rows):
            own = [
                inner[i, j] >= limits[t, k]
                for j in range(len(X))
                if j != i and y[j] == y[i]
            ]
            assert counts[k] == sum(own)


def test_rises_above_finds_the_smallest_argument():
    f = coclustering_function(3, 2, 20, n_draws=2000)
    targets = np.array([0.0, 0.4, 0.7, 0.999, 1.0])
    found = rises_above(f, targets)
    assert found[0] == 0.0
    assert np.isinf(found[-1])
    inside = found[1:-1]
    assert (f(inside) > targets[1:-1]).all()
    assert (f(inside - 1e-9) <= targets[1:-1]).all()


@pytest.mark.parametrize("n_members", [3, 300])
def test_deviation_of_votes_equals_that_of_the_matrix(planted, n_members):
    X, _, _ = planted
    members = np.random.default_rng(0).integers(0, 4, (len(X), n_members))
    f = coclustering_function(4, 2, 30, n_draws=2000)
    votes = coassociation_dense(members)
    assert votes_deviation(X, members, f) == pytest.approx(deviation(X, votes, f))
    some = votes_deviation(X, members, f, np.arange(5))
    assert some <= votes_deviation(X, members, f)
