"""Optimality, agreement with other solvers, and invariances of sparse codes."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.linear_model import Lasso

from ekss.core import admm
from ekss.core.admm import Objective, prepare_system, shrink
from ekss.core.representation import affinity_of
from ekss.core.ssc import (
    block_size,
    keep_largest,
    make_objective,
    sparse_codes,
    working_bytes,
)
from ekss.datasets import make_union_of_subspaces

TIGHT = {"max_iter": 50_000, "tol": 1e-8}
WIDE, TALL = (16, 20), (30, 8)


def _points(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def _cost(X, i, c, objective):
    """Objective of point i, with the best e for the given c."""
    misfit = X[i] - c @ X
    if np.isinf(objective.noise):
        return np.abs(c).sum() + objective.outliers * np.abs(misfit).sum()
    e = np.zeros_like(misfit)
    if np.isfinite(objective.outliers):
        bound = objective.outliers / objective.noise
        e = misfit - np.clip(misfit, -bound, bound)
    penalty = 0.0 if np.isinf(objective.outliers) else np.abs(e).sum()
    fit = objective.noise / 2 * np.sum((misfit - e) ** 2)
    weight = 0.0 if np.isinf(objective.outliers) else objective.outliers
    return np.abs(c).sum() + weight * penalty + fit


def _fit_gradient(X, i, c, objective):
    """Derivative of the (Huber) misfit by each coefficient, with its sign turned."""
    pull = objective.noise * (X[i] - c @ X)
    return X @ np.clip(pull, -objective.outliers, objective.outliers)


@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("alpha_outliers", [None, 5.0])
@pytest.mark.parametrize("affine", [False, True])
def test_codes_meet_optimality_conditions(shape, alpha_outliers, affine):
    X = _points(shape)
    objective = make_objective(X, 20.0, alpha_outliers, affine=affine)
    codes = sparse_codes(X, objective, **TIGHT)
    assert codes.converged.all()
    C = codes.coefficients.toarray()
    assert np.all(np.diag(C) == 0)
    for i, c in enumerate(C):
        gradient = np.delete(_fit_gradient(X, i, c, objective), i)
        c = np.delete(c, i)
        used = c != 0
        assert used.any()
        if affine:
            assert c.sum() == pytest.approx(1, abs=1e-6)
            # The multiplier of the sum, read off one used coefficient.
            gradient += np.sign(c[used][0]) - gradient[used][0]
        np.testing.assert_allclose(gradient[used], np.sign(c[used]), atol=1e-4)
        assert np.abs(gradient).max() <= 1 + 1e-4


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_codes_equal_lasso_of_scikit_learn(shape):
    X = _points(shape)
    n, n_features = shape
    objective = make_objective(X, 10.0)
    C = sparse_codes(X, objective, **TIGHT).coefficients.toarray()
    for i in range(n):
        others = np.delete(np.arange(n), i)
        lasso = Lasso(
            alpha=1 / (objective.noise * n_features),
            fit_intercept=False,
            tol=1e-10,
            max_iter=100_000,
        ).fit(X[others].T, X[i])
        np.testing.assert_allclose(C[i, others], lasso.coef_, atol=1e-5)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(10, 12), (20, 5)])
def test_exact_fit_up_to_outliers_costs_as_little_as_linear_program(shape, affine):
    X = _points(shape)
    n, n_features = shape
    objective = make_objective(X, None, 8.0, affine=affine)
    codes = sparse_codes(X, objective, max_iter=20_000, tol=1e-8)
    C = codes.coefficients.toarray()
    for i in range(n):
        others = np.delete(X, i, axis=0).T
        eye = np.eye(n_features)
        A, b = np.hstack([others, -others, eye, -eye]), X[i]
        if affine:
            ones = np.ones(n - 1)
            total = np.concatenate([ones, -ones, np.zeros(2 * n_features)])
            A, b = np.vstack([A, total]), np.append(b, 1)
        weights = np.repeat([1.0, objective.outliers], [2 * n - 2, 2 * n_features])
        best = linprog(weights, A_eq=A, b_eq=b).fun
        assert _cost(X, i, C[i], objective) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("affine", [False, True])
def test_noise_and_outliers_cost_as_little_as_quadratic_program(affine):
    X = _points((8, 6))
    n, n_features = X.shape
    objective = make_objective(X, 10.0, 4.0, affine=affine)
    C = sparse_codes(X, objective, **TIGHT).coefficients.toarray()
    weights = np.repeat([1.0, objective.outliers], [2 * n - 2, 2 * n_features])
    signs = np.repeat([1.0, -1.0, 0.0], [n - 1, n - 1, 2 * n_features])
    for i in range(n):
        others = np.delete(X, i, axis=0).T
        eye = np.eye(n_features)
        A = np.hstack([others, -others, eye, -eye])

        def cost(v, A=A, x=X[i]):
            rest = x - A @ v
            slope = weights - objective.noise * (A.T @ rest)
            return weights @ v + objective.noise / 2 * rest @ rest, slope

        total = {"type": "eq", "fun": lambda v: signs @ v - 1, "jac": lambda v: signs}
        best = minimize(
            cost,
            np.full(len(weights), 0.1),
            jac=True,
            bounds=[(0, None)] * len(weights),
            constraints=[total] if affine else [],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 2000},
        )
        assert best.success
        assert _cost(X, i, C[i], objective) == pytest.approx(best.fun, rel=1e-5)


def test_outlier_weight_beyond_every_misfit_equals_no_outlier_term():
    X = _points(WIDE)
    plain = sparse_codes(X, Objective(noise=2.0), **TIGHT)
    huber = sparse_codes(X, Objective(noise=2.0, outliers=1e3), **TIGHT)
    np.testing.assert_allclose(
        plain.coefficients.toarray(), huber.coefficients.toarray(), atol=1e-6
    )


def test_outlier_term_ignores_gross_errors_in_few_entries():
    data = make_union_of_subspaces(
        n_subspaces=2, dims=3, n_features=40, n_per_subspace=30, random_state=0
    )
    X, y = data.data, data.target
    rng = np.random.default_rng(1)
    spoiled = X.copy()
    spoiled[np.arange(len(X)), rng.integers(40, size=len(X))] += 1.0
    objective = make_objective(spoiled, None, 10.0)
    C = sparse_codes(spoiled, objective, max_iter=5000).coefficients
    plain = sparse_codes(spoiled, make_objective(spoiled, 10.0), max_iter=5000)
    assert _false_share(C, y) < 0.5 * _false_share(plain.coefficients, y)


def _false_share(C, y):
    C = abs(C).tocoo()
    return C.data[y[C.row] != y[C.col]].sum() / C.data.sum()


@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("outliers", [np.inf, 0.5])
@pytest.mark.parametrize("affine", [False, True])
def test_linear_step_equals_direct_solve(shape, outliers, affine):
    X = _points(shape)
    rng = np.random.default_rng(1)
    n, n_features = shape
    system = prepare_system(X, Objective(3.0, outliers, affine))
    assert (system.hat is None) == (n > 2 * n_features)
    own = np.array([4, 0, 9])
    width = 0 if np.isinf(outliers) else n_features
    codes, dual = rng.standard_normal((2, 3, n))
    fit, fit_dual = rng.standard_normal((2, 3, width))
    state = admm._State(own, codes, dual, fit, fit_dual)
    wanted = X[own] + (fit_dual - fit if width else 0)
    rho, fit_rho = system.coefficient_penalty, system.fit_penalty
    matrix = fit_rho * X @ X.T + rho * np.eye(n)
    right = fit_rho * wanted @ X.T + rho * (codes - dual)
    if affine:
        ones = np.ones((n, 1))
        matrix = np.block([[matrix, ones], [ones.T, np.zeros((1, 1))]])
        right = np.hstack([right, np.ones((3, 1))])
    expected = np.linalg.solve(matrix, right.T).T[:, :n]
    np.testing.assert_allclose(admm._linear_step(system, state), expected, atol=1e-10)


@pytest.mark.parametrize("outliers", [None, 5.0])
def test_blocks_give_the_codes_of_all_points_at_once(outliers):
    X = _points(TALL)
    objective = make_objective(X, 20.0, outliers)
    whole = sparse_codes(X, objective, block=len(X))
    parts = sparse_codes(X, objective, block=7)
    np.testing.assert_array_equal(whole.n_iter, parts.n_iter)
    np.testing.assert_allclose(
        whole.coefficients.toarray(), parts.coefficients.toarray(), atol=1e-10
    )


def _planted():
    data = make_union_of_subspaces(
        n_subspaces=3,
        dims=2,
        n_features=10,
        n_per_subspace=14,
        noise=0.05,
        random_state=0,
    )
    return data.data


def _optimality_gap(X, i, c, objective):
    """Largest violation of the optimality conditions, with the best multiplier."""
    others = np.arange(len(X)) != i
    slope, c = _fit_gradient(X, i, c, objective)[others], c[others]
    low = np.where(c == 0, -1, np.sign(c)) - slope
    high = np.where(c == 0, 1, np.sign(c)) - slope
    if not objective.affine:
        return max(low.max(), -high.min(), 0)
    return max((low.max() - high.min()) / 2, abs(c.sum() - 1), 0)


VARIANTS = pytest.mark.parametrize(
    ("alpha", "outliers", "affine"),
    [
        (20.0, None, False),
        (800.0, None, False),
        (20.0, None, True),
        (800.0, None, True),
        (20.0, 5.0, False),
        (20.0, 5.0, True),
    ],
)


@VARIANTS
@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("penalty", [None, 1.0, 30.0, 800.0])
def test_converged_points_are_optimal_for_every_penalty(
    alpha, outliers, affine, polish, penalty
):
    X = _planted()
    objective = make_objective(X, alpha, outliers, affine=affine)
    codes = sparse_codes(
        X, objective, penalty=penalty, polish=polish, max_iter=2000, tol=1e-3
    )
    C = codes.coefficients.toarray()
    gaps = np.array([_optimality_gap(X, i, c, objective) for i, c in enumerate(C)])
    assert gaps[codes.converged].max(initial=0) <= 2e-3
    if polish and (penalty is None or outliers is None):
        assert codes.converged.all()


@VARIANTS
def test_codes_do_not_depend_on_the_penalty(alpha, outliers, affine):
    X = _planted()
    objective = make_objective(X, alpha, outliers, affine=affine)
    found = [
        sparse_codes(X, objective, penalty=penalty, max_iter=30_000, tol=1e-6)
        for penalty in (None, 5.0, 80.0)
    ]
    assert all(codes.converged.all() for codes in found)
    first, *others = (codes.coefficients.toarray() for codes in found)
    for other in others:
        np.testing.assert_allclose(first, other, atol=1e-4)
        if outliers is None:
            np.testing.assert_array_equal(first != 0, other != 0)
        for i in range(len(X)):
            cost = _cost(X, i, first[i], objective)
            assert _cost(X, i, other[i], objective) == pytest.approx(cost, rel=1e-5)


def test_polished_codes_are_those_of_many_iterations():
    X = _planted()
    objective = make_objective(X, 20.0)
    polished, iterated = (
        sparse_codes(X, objective, polish=polish, max_iter=50_000, tol=tol)
        for polish, tol in ((True, 1e-3), (False, 1e-9))
    )
    assert polished.n_iter.max() < iterated.n_iter.max()
    np.testing.assert_allclose(
        polished.coefficients.toarray(), iterated.coefficients.toarray(), atol=1e-7
    )


def test_more_nonzeros_than_an_active_set_holds_are_left_to_the_iteration(
    monkeypatch,
):
    X = _planted()
    objective = make_objective(X, 20.0)
    usual = sparse_codes(X, objective, tol=1e-6, max_iter=20_000)
    monkeypatch.setattr(admm, "_LARGEST_SUPPORT", 2)
    small = sparse_codes(X, objective, tol=1e-6, max_iter=20_000)
    assert np.diff(usual.coefficients.indptr).max() > 2
    assert small.converged.all()
    np.testing.assert_allclose(
        usual.coefficients.toarray(), small.coefficients.toarray(), atol=1e-4
    )


@pytest.mark.parametrize("outliers", [None, 5.0])
def test_codes_do_not_depend_on_the_scale_of_the_data(outliers):
    X = _points(WIDE)
    codes, scaled = (
        sparse_codes(Y, make_objective(Y, 20.0, outliers)) for Y in (X, 1000 * X)
    )
    np.testing.assert_array_equal(codes.n_iter, scaled.n_iter)
    np.testing.assert_allclose(
        codes.coefficients.toarray(), scaled.coefficients.toarray(), atol=1e-10
    )


def test_codes_follow_a_rotation_and_a_permutation():
    X = _points(WIDE)
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    order = rng.permutation(len(X))
    Y = X[order] @ rotation
    codes = sparse_codes(X, make_objective(X, 20.0)).coefficients.toarray()
    moved = sparse_codes(Y, make_objective(Y, 20.0)).coefficients.toarray()
    np.testing.assert_allclose(codes[order][:, order], moved, atol=1e-10)


def test_float32_stays_float32_and_close_to_float64():
    X = _points(TALL)
    objective = make_objective(X, 20.0)
    wide = sparse_codes(X, objective, max_iter=2000)
    narrow = sparse_codes(X.astype(np.float32), objective, max_iter=2000)
    assert narrow.coefficients.dtype == np.float32
    np.testing.assert_allclose(
        wide.coefficients.toarray(), narrow.coefficients.toarray(), atol=2e-3
    )


@pytest.mark.parametrize("outliers", [None, 5.0])
def test_zero_points_have_no_coefficients_and_duplicates_find_each_other(outliers):
    X = _points(WIDE)
    X[3] = 0
    X[10] = X[4]
    objective = make_objective(X, 20.0, outliers)
    assert np.isfinite(objective.noise)
    C = sparse_codes(X, objective, max_iter=5000).coefficients.toarray()
    assert not C[3].any()
    assert not C[:, 3].any()
    assert np.abs(C[4]).argmax() == 10
    assert np.abs(C[10]).argmax() == 4


def test_iterations_and_convergence_are_counted_for_each_point():
    X = _points(WIDE)
    objective = make_objective(X, 20.0)
    codes = sparse_codes(X, objective, max_iter=5000)
    assert codes.converged.all()
    # Points are tested every ten iterations, and at the last.
    median = int(np.median(codes.n_iter)) // 10 * 10
    cut = sparse_codes(X, objective, max_iter=median)
    np.testing.assert_array_equal(cut.converged, codes.n_iter <= median)
    np.testing.assert_array_equal(cut.n_iter, np.minimum(codes.n_iter, median))


def test_weights_follow_their_definition():
    X = _points(WIDE)
    gram = np.abs(X @ X.T)
    np.fill_diagonal(gram, 0)
    norms = np.abs(X).sum(axis=1)
    others = [np.delete(norms, i).max() for i in range(len(X))]
    objective = make_objective(X, 20.0, 7.0, affine=True)
    assert objective.noise == pytest.approx(20 / gram.max(axis=1).min())
    assert objective.outliers == pytest.approx(7 / min(others))
    assert objective.affine


def test_alpha_below_one_leaves_some_point_without_coefficients():
    X = _points(WIDE)
    below, above = (
        sparse_codes(X, make_objective(X, alpha), **TIGHT).coefficients
        for alpha in (0.99, 1.01)
    )
    assert np.diff(below.indptr).min() == 0
    assert np.diff(above.indptr).min() > 0


def test_no_term_for_the_misfit_is_refused():
    with pytest.raises(ValueError, match="leave no term for the misfit"):
        make_objective(_points(WIDE), None, None)


@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.eye(4)])
def test_data_without_inner_products_has_no_coefficients(X):
    codes = sparse_codes(X, make_objective(X, 20.0))
    assert codes.coefficients.nnz == 0
    assert codes.converged.all()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.999])
def test_kept_coefficients_are_the_fewest_with_the_share(share):
    C = sparse.random_array((30, 40), density=0.3, rng=np.random.default_rng(0))
    C = C.tocsr() * -1.0
    kept, full = keep_largest(C, share).toarray(), C.toarray()
    np.testing.assert_array_equal(kept[kept != 0], full[kept != 0])
    for some, every in zip(np.abs(kept), np.abs(full), strict=True):
        chosen = np.sort(some[some > 0])
        assert chosen.sum() >= share * every.sum() - 1e-9
        assert chosen[1:].sum() < share * every.sum()
        assert every[some == 0].max() <= chosen[0]


def test_keeping_everything_changes_nothing():
    C = sparse.random_array((9, 9), density=0.4, rng=np.random.default_rng(0)).tocsr()
    np.testing.assert_array_equal(keep_largest(C, 1.0).toarray(), C.toarray())


def test_keeping_of_empty_rows_keeps_them_empty():
    C = sparse.csr_array(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0], [0.0, 0.0, 0.0]]))
    expected = [[0, 0, 0], [0, 0, 2], [0, 0, 0]]
    np.testing.assert_array_equal(keep_largest(C, 0.5).toarray(), expected)


def test_affinity_equals_scaled_magnitudes_plus_transpose():
    C = _points((6, 6))
    np.fill_diagonal(C, 0)
    C[2] = 0
    C[:, 1] = 0
    expected = np.abs(C)
    for row in expected:
        row /= row.max() if row.max() > 0 else 1
    expected = expected + expected.T
    affinity = affinity_of(sparse.csr_array(C))
    np.testing.assert_allclose(affinity.toarray(), expected)
    assert affinity.dtype == np.float64


def test_shrinking_equals_numpy_reference():
    rng = np.random.default_rng(0)
    linear, codes, dual = rng.standard_normal((3, 4, 9))
    own = np.array([2, 0, 8, 5])
    value = 1.6 * linear - 0.6 * codes + dual
    after = np.sign(value) * np.maximum(np.abs(value) - 0.4, 0)
    after[np.arange(4), own] = 0
    shrink(linear, codes, dual, own, 0.4, 1.6)
    np.testing.assert_allclose(codes, after)
    np.testing.assert_allclose(dual, value - after)


def test_blocks_shrink_with_the_number_of_points_within_limits():
    sizes = [block_size(n) for n in (10, 1000, 10_000, 20_000, 10**6)]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (256, 64)


def test_working_memory_holds_no_square_matrix_for_many_points():
    n, n_features = 10**6, 100
    need = working_bytes((n, n_features), 4, block_size(n), 1, False)
    assert need < 0.002 * 8 * n**2
    assert working_bytes((n, n_features), 4, block_size(n), 2, False) > need
    assert working_bytes((n, n_features), 4, block_size(n), 1, True) > need
