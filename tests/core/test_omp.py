"""Matching pursuit: agreement with scikit-learn, optimality, stops, edge cases."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from ekss.core import omp
from ekss.core.omp import (
    SparseCodes,
    matching_pursuit,
    rows_at_once,
    unit_coefficients,
)
from ekss.datasets import make_union_of_subspaces


def unit_points(n, n_features, seed, dtype=np.float64):
    X = np.random.default_rng(seed).standard_normal((n, n_features))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


def dense_coefficients(codes, n):
    C = np.zeros((len(codes.index), n))
    row, column = np.nonzero(codes.index >= 0)
    C[row, codes.index[row, column]] = codes.coefficient[row, column]
    return C


@pytest.mark.parametrize("shape", [(80, 40), (40, 80), (300, 12)])
@pytest.mark.parametrize("n_nonzero", [1, 4, 9])
def test_supports_and_coefficients_equal_scikit_learn(shape, n_nonzero):
    X = unit_points(*shape, seed=0)
    C = dense_coefficients(matching_pursuit(X, n_nonzero), len(X))
    for i in range(0, len(X), 7):
        others = np.delete(np.arange(len(X)), i)
        expected = orthogonal_mp(X[others].T, X[i], n_nonzero_coefs=n_nonzero)
        assert np.array_equal(C[i, others] != 0, expected != 0)
        assert np.allclose(C[i, others], expected, atol=1e-10)


@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_residual_is_orthogonal_to_support_and_has_the_norm_told(dtype, limit):
    X = unit_points(700, 25, seed=1, dtype=dtype)
    codes = matching_pursuit(X, 6)
    wide = X.astype(np.float64)
    C = dense_coefficients(codes, len(X))
    residuals = wide - C @ wide
    products = np.abs(residuals @ wide.T)
    assert products[C != 0].max() < limit
    relative = np.linalg.norm(residuals, axis=1) / np.linalg.norm(wide, axis=1)
    assert np.allclose(codes.residual, relative, atol=limit)


def test_representation_never_uses_the_point_itself_nor_repeats():
    X = unit_points(200, 30, seed=2)
    codes = matching_pursuit(X, 20)
    assert (codes.index != np.arange(200)[:, None]).all()
    assert all(len(set(row)) == 20 for row in codes.index.tolist())


def test_more_atoms_extend_the_same_support_and_lower_the_residual():
    X = unit_points(150, 20, seed=3)
    few, many = matching_pursuit(X, 4), matching_pursuit(X, 8)
    assert np.array_equal(many.index[:, :4], few.index)
    assert (many.residual < few.residual).all()


def test_pursuit_stops_at_the_relative_residual():
    X = unit_points(300, 10, seed=4)
    full = matching_pursuit(X, 10)
    codes = matching_pursuit(X, 10, tol=0.3)
    counts = (codes.index >= 0).sum(axis=1)
    assert (codes.residual <= 0.3).all()
    assert counts.max() < 10
    for i, count in enumerate(counts):
        assert np.array_equal(codes.index[i, :count], full.index[i, :count])
    one_less = matching_pursuit(X, int(counts.max()) - 1)
    assert (one_less.residual[counts == counts.max()] > 0.3).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_subspaces_need_no_more_atoms_than_dimensions(dtype):
    X, y = make_union_of_subspaces(
        n_subspaces=2, dims=3, n_features=40, random_state=5, return_X_y=True
    )
    # Even the paper's tolerance of 2^-52 must not let rounding choose atoms.
    codes = matching_pursuit(X.astype(dtype), 12, tol=2**-52)
    assert ((codes.index >= 0).sum(axis=1) <= 4).all()
    taken = codes.index >= 0
    owner = np.repeat(y[:, None], taken.shape[1], axis=1)
    assert (y[codes.index[taken]] == owner[taken]).mean() > 0.999


def test_scale_of_all_points_has_no_influence():
    X = unit_points(100, 8, seed=6)
    small, large = matching_pursuit(X * 2**-20, 4), matching_pursuit(X * 2**20, 4)
    assert np.array_equal(small.index, large.index)
    assert np.array_equal(small.coefficient, large.coefficient)


def test_zero_rows_neither_represent_nor_are_represented():
    X = np.vstack([unit_points(20, 6, seed=7), np.zeros((3, 6))])
    codes = matching_pursuit(X, 5)
    assert (codes.index[20:] == -1).all()
    assert (codes.residual[20:] == 0).all()
    assert codes.index[:20].max() < 20


def test_duplicates_are_represented_by_one_copy():
    X = np.repeat(unit_points(5, 6, seed=8), 3, axis=0)
    codes = matching_pursuit(X, 4)
    assert ((codes.index >= 0).sum(axis=1) == 1).all()
    assert np.array_equal(codes.index[:, 0] // 3, np.arange(15) // 3)
    assert np.allclose(codes.coefficient[:, 0], 1)


def test_copies_of_two_points_stop_at_a_singular_factor():
    pair = unit_points(3, 6, seed=9)
    X = np.vstack([pair[:1], np.repeat(pair[1:], 4, axis=0)])
    codes = matching_pursuit(X, 6)
    assert (codes.index[0] >= 0).sum() == 2
    assert np.isfinite(codes.coefficient).all()


def test_points_orthogonal_to_all_others_have_no_representation():
    rng = np.random.default_rng(10)
    X = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    codes = matching_pursuit(X, 3)
    assert (codes.index == -1).all()
    assert np.array_equal(codes.residual, np.ones(9))


def test_blocks_have_no_influence(monkeypatch):
    X = unit_points(120, 10, seed=11)
    whole = matching_pursuit(X, 5)
    monkeypatch.setattr(omp, "_MOST_ROWS", 17)
    monkeypatch.setattr(omp, "_COLUMNS_AT_ONCE", 13)
    parts = matching_pursuit(X, 5)
    assert np.array_equal(whole.index, parts.index)
    assert np.allclose(whole.coefficient, parts.coefficient, atol=1e-12)


def test_chosen_rows_equal_rows_of_all():
    X = unit_points(90, 10, seed=12)
    rows = np.array([80, 3, 41])
    some, every = matching_pursuit(X, 5, rows=rows), matching_pursuit(X, 5)
    assert np.array_equal(some.index, every.index[rows])
    assert np.allclose(some.coefficient, every.coefficient[rows], atol=1e-12)


def test_width_is_bounded_by_points_and_features():
    assert matching_pursuit(unit_points(6, 9, seed=13), 50).index.shape == (6, 5)
    assert matching_pursuit(unit_points(9, 4, seed=14), 50).index.shape == (9, 4)


def test_blocks_shrink_when_factors_grow():
    assert rows_at_once(5) == 512
    assert rows_at_once(200) == 104
    assert rows_at_once(5000) == 16


def test_unit_coefficients_have_length_one_or_zero():
    codes = SparseCodes(
        np.array([[1, 2], [-1, -1]], np.int32),
        np.array([[3.0, 4.0], [0.0, 0.0]]),
        np.zeros(2),
    )
    assert np.allclose(np.linalg.norm(unit_coefficients(codes), axis=1), [1, 0])
