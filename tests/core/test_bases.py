import numpy as np
import pytest

from ekss.core.linalg import (
    Flats,
    fit_flat,
    fit_flats,
    group_rows,
    principal_basis,
    random_bases,
    squared_residuals,
)


def assert_orthonormal(bases, tol=1e-6):
    gram = np.swapaxes(bases, -1, -2) @ bases
    np.testing.assert_allclose(
        gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), atol=tol
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_bases_are_orthonormal(dtype):
    bases = random_bases(7, 20, 5, np.random.default_rng(0), dtype)
    assert bases.shape == (7, 20, 5)
    assert bases.dtype == dtype
    assert_orthonormal(bases)


def test_random_bases_are_uniform_on_the_stiefel_manifold():
    # Uniform columns have mean zero and covariance I / D, and the captured energy of
    # a fixed unit vector is Beta(d/2, (D-d)/2) with mean d / D.
    D, d, n = 6, 2, 20_000
    bases = random_bases(n, D, d, np.random.default_rng(1))
    first = bases[:, :, 0]
    np.testing.assert_allclose(first.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(first.T @ first / n, np.eye(D) / D, atol=0.01)
    energy = (bases[:, 0, :] ** 2).sum(axis=1)
    assert abs(energy.mean() - d / D) < 0.01
    variance = d / 2 * (D - d) / 2 / ((D / 2) ** 2 * (D / 2 + 1))
    assert abs(energy.var() - variance) < 0.005


def test_random_bases_draw_is_the_same_for_both_types():
    single = random_bases(2, 9, 3, np.random.default_rng(3), np.float32)
    double = random_bases(2, 9, 3, np.random.default_rng(3), np.float64)
    np.testing.assert_allclose(single, double, atol=1e-6)


@pytest.mark.parametrize("shape", [(50, 8), (6, 30), (12, 12)])
def test_principal_basis_spans_the_leading_singular_vectors(shape):
    rng = np.random.default_rng(2)
    points = rng.standard_normal(shape) @ np.diag(np.linspace(3, 0.1, shape[1]))
    spare = random_bases(1, shape[1], 3, rng)[0]
    basis = principal_basis(points, 3, spare)
    expected = np.linalg.svd(points)[2][:3].T
    np.testing.assert_allclose(basis @ basis.T, expected @ expected.T, atol=1e-8)
    assert_orthonormal(basis, 1e-12)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_principal_basis_of_too_few_points_contains_them_and_is_orthonormal(n):
    rng = np.random.default_rng(n)
    points = rng.standard_normal((n, 10))
    spare = random_bases(1, 10, 5, rng)[0]
    basis = principal_basis(points, 5, spare)
    assert basis.shape == (10, 5)
    assert_orthonormal(basis, 1e-12)
    np.testing.assert_allclose(points @ basis @ basis.T, points, atol=1e-10)


def test_principal_basis_of_zero_and_duplicate_points_is_orthonormal():
    spare = random_bases(1, 6, 3, np.random.default_rng(0))[0]
    assert_orthonormal(principal_basis(np.zeros((4, 6)), 3, spare))
    same = np.tile(np.arange(6.0), (9, 1))
    basis = principal_basis(same, 3, spare)
    assert_orthonormal(basis, 1e-12)
    np.testing.assert_allclose(same @ basis @ basis.T, same, atol=1e-9)


def test_principal_basis_with_repeated_singular_values_captures_all_their_energy():
    points = np.vstack([2 * np.eye(5), np.ones((1, 5)) * 0])
    spare = random_bases(1, 5, 2, np.random.default_rng(0))[0]
    basis = principal_basis(points, 2, spare)
    assert np.isclose(((points @ basis) ** 2).sum(), 8.0)


def test_fit_flat_affine_passes_through_the_points():
    rng = np.random.default_rng(5)
    directions = random_bases(1, 12, 2, rng)[0]
    points = 4 * np.ones(12) + rng.standard_normal((30, 2)) @ directions.T
    basis, offset = fit_flat(
        points, 2, affine=True, spare=random_bases(1, 12, 2, rng)[0]
    )
    np.testing.assert_allclose(basis.T @ offset, 0, atol=1e-10)
    residual = squared_residuals(points, Flats(basis[None], offset[None]))
    np.testing.assert_allclose(residual, 0, atol=1e-20)


def test_squared_residuals_match_the_definition_and_stay_precise():
    rng = np.random.default_rng(6)
    bases = random_bases(3, 15, 4, rng)
    X = rng.standard_normal((20, 15))
    expected = np.stack([((X - X @ U @ U.T) ** 2).sum(axis=1) for U in bases], axis=1)
    np.testing.assert_allclose(squared_residuals(X, Flats(bases)), expected)
    inside = rng.standard_normal((5, 4)) @ bases[0].T
    assert squared_residuals(inside, Flats(bases))[:, 0].max() < 1e-28


def test_group_rows_covers_every_row_once_even_with_empty_groups():
    labels = np.array([2, 0, 2, 5, 0], np.int32)
    groups = group_rows(labels, 7)
    assert [list(rows) for rows in groups] == [[1, 4], [], [0, 2], [], [], [3], []]


def test_fit_flats_leaves_empty_clusters_on_their_spare_basis():
    rng = np.random.default_rng(7)
    spare = random_bases(3, 8, 2, rng)
    X = rng.standard_normal((10, 8))
    flats = fit_flats(X, np.zeros(10, np.int32), 3, 2, affine=False, spare=spare)
    np.testing.assert_array_equal(flats.bases[1:], spare[1:])
    assert flats.offsets is None
