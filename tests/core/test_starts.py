import numpy as np
import pytest

from ekss.core.ksubspaces import (
    STARTS,
    nearest_points,
    neighbourhood_start,
    random_start,
)
from ekss.core.linalg import random_bases, squared_residuals


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def blocks(rng, n_blocks=3, dim=2, n_each=40, affine=False):
    """Points on mutually orthogonal subspaces, far apart if affine."""
    labels = np.repeat(np.arange(n_blocks), n_each)
    X = np.zeros((len(labels), n_blocks * (dim + 1)))
    for k in range(n_blocks):
        first = k * (dim + 1)
        X[labels == k, first : first + dim] = rng.standard_normal((n_each, dim))
        X[labels == k, first + dim] = 50.0 * affine
    return X, labels


def assert_orthonormal(bases, tolerance=1e-10):
    gram = bases.transpose(0, 2, 1) @ bases
    eye = np.broadcast_to(np.eye(bases.shape[2]), gram.shape)
    np.testing.assert_allclose(gram, eye, atol=tolerance)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", sorted(STARTS))
def test_start_has_orthonormal_bases_and_offsets_next_to_the_origin(name, affine, rng):
    X = rng.standard_normal((30, 8)) + 3
    start = STARTS[name](X, 5, 3, affine, rng)
    assert start.bases.shape == (5, 8, 3)
    assert_orthonormal(start.bases)
    if not affine:
        assert start.offsets is None
        return
    assert start.offsets.shape == (5, 8)
    inside = np.einsum("kdj,kd->kj", start.bases, start.offsets)
    np.testing.assert_allclose(inside, 0, atol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", sorted(STARTS))
def test_start_is_the_same_for_the_same_generator_only(name, affine):
    X = np.random.default_rng(1).standard_normal((40, 6))
    draws = [
        STARTS[name](X, 4, 2, affine, np.random.default_rng(seed)) for seed in (7, 7, 8)
    ]
    np.testing.assert_array_equal(draws[0].bases, draws[1].bases)
    assert not np.allclose(draws[0].bases, draws[2].bases)


@pytest.mark.parametrize("name", sorted(STARTS))
def test_start_keeps_float32(name, rng):
    X = rng.standard_normal((30, 8)).astype(np.float32)
    start = STARTS[name](X, 4, 2, True, rng)
    assert start.bases.dtype == np.float32
    assert start.offsets.dtype == np.float32
    assert_orthonormal(start.bases, 1e-5)


def test_random_linear_start_is_the_uniform_draw_and_ignores_the_points():
    X = np.random.default_rng(1).standard_normal((40, 6))
    drawn = random_start(X, 4, 2, False, np.random.default_rng(3))
    uniform = random_bases(4, 6, 2, np.random.default_rng(3))
    np.testing.assert_allclose(drawn.bases, uniform, atol=1e-13)
    other = random_start(X[:5] * 9, 4, 2, False, np.random.default_rng(3))
    np.testing.assert_array_equal(drawn.bases, other.bases)


def test_random_affine_flats_pass_through_points_of_the_data(rng):
    X = rng.standard_normal((40, 6)) + 100
    start = random_start(X, 7, 2, True, rng)
    assert squared_residuals(X, start).min(axis=0).max() < 1e-18


@pytest.mark.parametrize("affine", [False, True])
def test_neighbourhoods_of_separate_subspaces_span_exactly_them(affine, rng):
    # all inner products between classes are zero, all distances large
    X, labels = blocks(rng, affine=affine)
    start = neighbourhood_start(X, 30, 2, affine, rng)
    residuals = squared_residuals(X, start)
    found = set()
    for flat in range(30):
        exact = [k for k in range(3) if residuals[labels == k, flat].max() < 1e-18]
        assert len(exact) == 1
        found.update(exact)
    assert found == {0, 1, 2}


@pytest.mark.parametrize("size", [1, 2, 5])
def test_given_size_is_the_number_of_points_that_are_spanned(size, rng):
    X = rng.standard_normal((20, 9))
    start = neighbourhood_start(X, 6, 5, False, rng, size)
    spanned = (squared_residuals(X, start) < 1e-18).sum(axis=0)
    np.testing.assert_array_equal(spanned, size)


def test_duplicates_and_points_without_length_leave_directions_at_random(rng):
    for X in (np.ones((12, 5)), np.zeros((12, 5))):
        for affine in (False, True):
            start = neighbourhood_start(X, 4, 3, affine, rng)
            assert_orthonormal(start.bases)
            assert squared_residuals(X, start).max() < 1e-18


def test_more_subspaces_than_points_and_sizes_beyond_all_points_work(rng):
    X = rng.standard_normal((4, 6))
    for affine in (False, True):
        start = neighbourhood_start(X, 9, 3, affine, rng, size=100)
        assert start.bases.shape == (9, 6, 3)
        assert_orthonormal(start.bases)


def test_no_point_is_the_centre_of_two_neighbourhoods(rng):
    X = np.eye(8)  # of size 1, a neighbourhood spans its centre alone
    start = neighbourhood_start(X, 8, 1, False, rng, size=1)
    assert sorted(np.abs(start.bases[:, :, 0]).argmax(axis=1)) == list(range(8))


def test_nearest_points_agree_with_sorting_one_by_one(rng):
    X = rng.standard_normal((25, 4))
    for seed in (0, 11, 24):
        by_distance = sorted(range(25), key=lambda i: np.linalg.norm(X[i] - X[seed]))
        np.testing.assert_array_equal(nearest_points(X, seed, 6, True), by_distance[:6])
        by_product = sorted(range(25), key=lambda i: -abs(float(X[i] @ X[seed])))
        np.testing.assert_array_equal(nearest_points(X, seed, 6, False), by_product[:6])


def test_sign_of_points_plays_no_role_for_linear_neighbourhoods(rng):
    X = rng.standard_normal((25, 4))
    flipped = X * rng.choice([-1, 1], (25, 1))
    np.testing.assert_array_equal(
        nearest_points(X, 3, 8, False), nearest_points(flipped, 3, 8, False)
    )


def test_shift_plays_no_role_for_affine_neighbourhoods(rng):
    X = rng.standard_normal((25, 4))
    np.testing.assert_array_equal(
        nearest_points(X, 3, 8, True), nearest_points(X + 1000, 3, 8, True)
    )
