"""Low-rank coefficients: closed forms, optimality conditions, certified ADMM."""

import numpy as np
import pytest

from ekss.core.low_rank import (
    balanced_rows,
    low_rank_representation,
    low_rank_rows,
    ridge_rows,
    singular_parts,
)


@pytest.fixture(params=[(30, 8), (9, 20)], ids=["tall", "wide"])
def X(request):
    return np.random.default_rng(0).standard_normal(request.param)


def objective(C, X, alpha):
    return np.linalg.norm(C, "nuc") + alpha * np.linalg.norm(X - C @ X, axis=1).sum()


def test_singular_parts_are_those_of_the_svd(X):
    parts = singular_parts(X)
    np.testing.assert_allclose(parts.values, np.linalg.svd(X, compute_uv=False))
    np.testing.assert_allclose(
        parts.left.T @ parts.left, np.eye(len(parts.values)), atol=1e-9
    )
    np.testing.assert_allclose(parts.left @ (parts.left.T @ X), X, atol=1e-9)


def test_points_of_low_rank_have_few_singular_parts():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 12))
    assert len(singular_parts(X).values) == 3
    assert len(singular_parts(np.zeros((4, 3))).values) == 0


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_ridge_coefficients_solve_the_normal_equations(X, alpha):
    Y = ridge_rows(X, alpha)
    C, gram = Y @ Y.T, X @ X.T
    np.testing.assert_allclose(C @ gram + alpha * C, gram, atol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4])
def test_low_rank_coefficients_meet_the_optimality_conditions(X, share):
    """(X - C X) X^T / alpha is a subgradient of the nuclear norm at C."""
    alpha = share * np.linalg.norm(X, 2) ** 2
    Y = low_rank_rows(X, alpha)
    C = Y @ Y.T
    residual = (X - C @ X) @ X.T
    if alpha == 0:
        np.testing.assert_allclose(C @ X, X, atol=1e-8)
        return
    U, values, _ = np.linalg.svd(C)
    inside = U[:, values > 1e-9]
    np.testing.assert_allclose(residual @ inside, alpha * inside, atol=1e-7)
    assert np.linalg.norm(residual, 2) <= alpha * (1 + 1e-9)


def test_no_other_coefficients_of_ridge_or_nuclear_norm_cost_less(X):
    rng = np.random.default_rng(2)
    costs = {
        ridge_rows: lambda C: np.sum((X - C @ X) ** 2) + 2.0 * np.sum(C**2),
        low_rank_rows: lambda C: (
            np.sum((X - C @ X) ** 2) / 2 + 2.0 * np.linalg.norm(C, "nuc")
        ),
    }
    for rows, cost in costs.items():
        C = rows(X, 2.0) @ rows(X, 2.0).T
        for size in (1e-3, 0.1, 1.0):
            other = C + size * rng.standard_normal(C.shape)
            assert cost(C) < cost(other)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_admm_is_certified_and_the_certificate_holds(alpha):
    rng = np.random.default_rng(3)
    parts = [rng.standard_normal((12, 2)) @ rng.standard_normal((2, 10)) for _ in "abc"]
    X = np.vstack(parts) + 0.05 * rng.standard_normal((36, 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    run = low_rank_representation(X, alpha, max_iter=500, tol=1e-4)
    C = run.factor @ run.left.T
    assert run.gap <= 1e-4
    np.testing.assert_allclose(run.objective, objective(C, X, alpha), rtol=1e-9)
    np.testing.assert_allclose(run.errors, np.linalg.norm(X - C @ X, axis=1))
    least = run.objective * (1 - run.gap)
    others = [np.zeros_like(C), low_rank_rows(X, 0.0) @ low_rank_rows(X, 0.0).T]
    others += [C + s * rng.standard_normal(C.shape) for s in (1e-3, 1e-2, 0.1)]
    longer = low_rank_representation(X, alpha, max_iter=3000, tol=1e-7)
    others.append(longer.factor @ longer.left.T)
    assert all(objective(other, X, alpha) >= least - 1e-9 for other in others)


def test_without_noise_coefficients_are_the_shape_interaction_matrix():
    rng = np.random.default_rng(4)
    X = np.vstack(
        [rng.standard_normal((9, 2)) @ rng.standard_normal((2, 12)) for _ in "ab"]
    )
    run = low_rank_representation(X, 100.0, max_iter=2000, tol=1e-8)
    C = run.factor @ run.left.T
    left = singular_parts(X).left
    np.testing.assert_allclose(C, left @ left.T, atol=1e-4)
    np.testing.assert_allclose(C[:9, 9:], 0, atol=1e-4)


def test_outlying_points_are_left_out():
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((30, 3)))[0]
    X = rng.standard_normal((60, 3)) @ basis.T
    X = np.vstack([X, rng.standard_normal((5, 30))])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    run = low_rank_representation(X, 0.4, max_iter=500, tol=1e-4)
    assert run.errors[:60].max() < 0.5 * run.errors[60:].min()


def test_balanced_rows_have_the_row_space_of_the_coefficients():
    X = np.random.default_rng(6).standard_normal((20, 5))
    run = low_rank_representation(X, 1.0, max_iter=50, tol=1e-3)
    P, values, _ = np.linalg.svd(run.factor @ run.left.T)
    kept = values > 1e-6 * values[0]
    expected = (P[:, kept] * values[kept]) @ P[:, kept].T
    rows = balanced_rows(run)
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-8)


def test_zero_points_have_no_coefficients():
    zero = np.zeros((6, 4))
    assert not ridge_rows(zero, 1.0).any()
    assert not low_rank_rows(zero, 1.0).any()
    run = low_rank_representation(zero, 1.0, max_iter=3, tol=1e-3)
    assert run.errors.tolist() == [0.0] * 6
    assert not balanced_rows(run).any()
