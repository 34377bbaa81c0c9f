"""Elastic net self-expression: optimality, agreement with scikit-learn, edge cases."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import ElasticNet, Lasso

from ekss.core.elastic_net import solve_elastic_net
from ekss.core.ensc import block_size, elastic_net_rows
from ekss.core.representation import affinity_of


def unit_points(n, n_features, seed, dtype=np.float64):
    X = np.random.default_rng(seed).standard_normal((n, n_features))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


def all_rows(X, **options):
    return elastic_net_rows(X, np.arange(len(X)), **options)


def worst_violation(X, found, l1_ratio):
    """Largest violation of the optimality conditions, as a share of lambda."""
    X = X.astype(np.float64)
    C = found.coefficients.toarray().astype(np.float64)
    oracle = found.gammas[:, None] * (X - C @ X)
    products = oracle @ X.T
    off_diagonal = ~np.eye(len(X), dtype=bool)
    at_zero = np.abs(products[(C == 0) & off_diagonal]) - l1_ratio
    on_support = products - (1 - l1_ratio) * C - l1_ratio * np.sign(C)
    worst = max(at_zero.max(), np.abs(on_support[C != 0]).max(initial=0))
    return worst / l1_ratio


@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1.1e-6), (np.float32, 1e-4)])
@pytest.mark.parametrize(
    ("l1_ratio", "gamma"), [(0.95, 3.0), (0.5, 20.0), (1.0, 50.0), (0.01, 98.0)]
)
@pytest.mark.parametrize("shape", [(300, 10), (60, 100)])
def test_optimality_conditions_hold(dtype, limit, l1_ratio, gamma, shape):
    X = unit_points(*shape, seed=0, dtype=dtype)
    found = all_rows(X, l1_ratio=l1_ratio, gamma=gamma)
    assert found.converged.all()
    assert found.coefficients.dtype == dtype
    assert worst_violation(X, found, l1_ratio) <= limit


@pytest.mark.parametrize(("l1_ratio", "gamma"), [(0.9, 5.0), (0.3, 30.0)])
def test_coefficients_equal_sklearn_elastic_net(l1_ratio, gamma):
    X = unit_points(120, 15, seed=1)
    found = all_rows(X, l1_ratio=l1_ratio, gamma=gamma)
    n_features = X.shape[1]
    for j in (0, 17, 119):
        others = np.delete(np.arange(len(X)), j)
        # Ours over gamma n_features is scikit-learn's objective with the weights
        # alpha l1_ratio = lambda / (gamma n_features) and
        # alpha (1 - l1_ratio) = (1 - lambda) / (gamma n_features).
        reference = ElasticNet(
            alpha=1 / (found.gammas[j] * n_features),
            l1_ratio=l1_ratio,
            fit_intercept=False,
            tol=1e-13,
            max_iter=100_000,
        ).fit(X[others].T, X[j])
        ours = found.coefficients[[j]].toarray().ravel()[others]
        np.testing.assert_allclose(ours, reference.coef_, atol=1e-6)


def test_coefficients_equal_sklearn_lasso_for_l1_ratio_1():
    X = unit_points(40, 60, seed=2)
    found = all_rows(X, l1_ratio=1.0, gamma=10.0)
    for j in (0, 39):
        others = np.delete(np.arange(len(X)), j)
        alpha = 1 / (found.gammas[j] * X.shape[1])
        reference = Lasso(alpha, fit_intercept=False, tol=1e-13, max_iter=100_000)
        reference.fit(X[others].T, X[j])
        ours = found.coefficients[[j]].toarray().ravel()[others]
        np.testing.assert_allclose(ours, reference.coef_, atol=1e-6)


def test_active_set_equals_full_solve():
    X = unit_points(200, 12, seed=3)
    l1_ratio, gamma = 0.9, 30.0
    found = all_rows(X, l1_ratio=l1_ratio, gamma=gamma)
    assert found.n_iter.max() > 1
    gram = X @ X.T
    for j in range(0, 200, 20):
        others = np.delete(np.arange(200), j)
        weight = found.gammas[j]
        coef = np.zeros(199)
        assert solve_elastic_net(
            gram[np.ix_(others, others)],
            gram[others, j],
            l1_ratio / weight,
            (1 - l1_ratio) / weight,
            1e-10,
            coef,
        )
        ours = found.coefficients[[j]].toarray().ravel()[others]
        np.testing.assert_allclose(ours, coef, atol=1e-6)


def test_small_problem_equals_closed_form_for_orthonormal_atoms():
    target = np.array([3.0, -0.5, -2.0, 1.0])
    coef = np.ones(4)
    assert solve_elastic_net(np.eye(4), target, 1.0, 0.5, 1e-12, coef)
    expected = np.sign(target) * np.maximum(np.abs(target) - 1, 0) / 1.5
    np.testing.assert_allclose(coef, expected, atol=1e-12)


def test_small_problem_from_any_start_equals_cold_start():
    rng = np.random.default_rng(4)
    atoms = rng.standard_normal((30, 20))
    gram, target = atoms @ atoms.T, atoms @ rng.standard_normal(20)
    cold, warm = np.zeros(30), rng.standard_normal(30)
    assert solve_elastic_net(gram, target, 0.5, 0.1, 1e-11, cold)
    assert solve_elastic_net(gram, target, 0.5, 0.1, 1e-11, warm)
    np.testing.assert_allclose(warm, cold, atol=1e-9)


def test_diagonal_is_empty():
    X = unit_points(50, 5, seed=5)
    found = all_rows(X, l1_ratio=0.5, gamma=50.0)
    assert np.all(found.coefficients.diagonal() == 0)
    assert found.coefficients.nnz > 0


@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_support_is_empty_up_to_gamma_1(gamma):
    found = all_rows(unit_points(30, 5, seed=6), l1_ratio=0.9, gamma=gamma)
    assert found.coefficients.nnz == 0
    assert found.converged.all()


def test_support_begins_just_above_gamma_1():
    found = all_rows(unit_points(30, 5, seed=6), l1_ratio=0.9, gamma=1.001)
    assert np.all(np.diff(found.coefficients.indptr) >= 1)


def test_gammas_are_multiples_of_the_critical_weight():
    X = unit_points(30, 5, seed=7)
    similarity = np.abs(X @ X.T)
    np.fill_diagonal(similarity, 0)
    found = all_rows(X, l1_ratio=0.9, gamma=4.0)
    np.testing.assert_allclose(found.gammas, 4.0 * 0.9 / similarity.max(axis=1))


def test_rows_do_not_depend_on_their_block():
    X = unit_points(80, 8, seed=8)
    options = {"l1_ratio": 0.9, "gamma": 10.0}
    whole = all_rows(X, **options).coefficients.toarray()
    part = elastic_net_rows(X, np.array([70, 3]), **options).coefficients.toarray()
    np.testing.assert_allclose(part, whole[[70, 3]], atol=1e-7)


def test_signs_of_points_do_not_change_magnitudes():
    X = unit_points(60, 6, seed=9)
    signs = np.where(np.arange(60) % 3, 1.0, -1.0)[:, None]
    options = {"l1_ratio": 0.9, "gamma": 10.0}
    plain = np.abs(all_rows(X, **options).coefficients.toarray())
    flipped = np.abs(all_rows(X * signs, **options).coefficients.toarray())
    np.testing.assert_allclose(flipped, plain, atol=1e-6)


def test_zero_rows_are_neither_represented_nor_used():
    X = unit_points(20, 4, seed=10)
    X[[3, 11]] = 0
    found = all_rows(X, l1_ratio=0.9, gamma=10.0)
    C = found.coefficients.toarray()
    assert not C[[3, 11]].any()
    assert not C[:, [3, 11]].any()
    assert np.all(found.gammas[[3, 11]] == 0)
    assert found.converged.all()


@pytest.mark.parametrize("l1_ratio", [1.0, 0.9])
def test_duplicates_converge(l1_ratio):
    X = np.repeat(unit_points(15, 4, seed=11), 4, axis=0)
    found = all_rows(X, l1_ratio=l1_ratio, gamma=20.0)
    assert found.converged.all()
    assert worst_violation(X, found, l1_ratio) <= 1.1e-6


@pytest.mark.parametrize("l1_ratio", [1.0, 0.95])
def test_noiseless_subspaces_give_no_false_connections(l1_ratio):
    rng = np.random.default_rng(12)
    bases = np.linalg.qr(rng.standard_normal((3, 40, 3)))[0]
    X = np.concatenate([rng.standard_normal((50, 3)) @ basis.T for basis in bases])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = all_rows(X, l1_ratio=l1_ratio, gamma=20.0)
    assert found.converged.all()
    assert worst_violation(X, found, l1_ratio) <= 1.1e-6
    row, column = found.coefficients.nonzero()
    assert np.array_equal(row // 50, column // 50)


def test_unscaled_points_satisfy_optimality_conditions():
    rng = np.random.default_rng(13)
    X = rng.standard_normal((80, 10)) * rng.uniform(0.01, 100, (80, 1))
    found = all_rows(X, l1_ratio=0.9, gamma=5.0)
    C = found.coefficients.toarray()
    products = np.abs(found.gammas[:, None] * (X - C @ X) @ X.T)
    products[(C != 0) | np.eye(80, dtype=bool)] = 0
    assert found.converged.all()
    assert products.max() <= 0.9 * (1 + 1e-5)


def test_too_few_rounds_are_reported():
    found = all_rows(unit_points(300, 10, seed=0), l1_ratio=0.5, gamma=20.0, max_iter=1)
    assert not found.converged.all()
    assert found.n_iter.max() == 1


def test_two_points_represent_each_other():
    X = np.array([[1.0, 0.0], [0.6, 0.8]])
    found = all_rows(X, l1_ratio=1.0, gamma=2.0)
    np.testing.assert_allclose(
        found.coefficients.toarray(), [[0, 0.3], [0.3, 0]], atol=1e-12
    )


def test_affinity_is_symmetric_sum_of_magnitudes():
    C = sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(0))
    C.data -= 0.5
    dense = np.abs(C.toarray())
    affinity = affinity_of(sparse.csr_array(C), equal_rows=False)
    np.testing.assert_allclose(affinity.toarray(), dense + dense.T)


@pytest.mark.parametrize("n_samples", [2, 1000, 10_000, 10**7])
def test_block_size_stays_within_limits(n_samples):
    size = block_size(n_samples)
    assert 16 <= size <= 256
    assert size == 16 or size * n_samples <= 2**22
