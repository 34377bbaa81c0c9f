import numpy as np
import pytest
from scipy.linalg import subspace_angles

from ekss.core.cop import FEWEST_PER_DIM, coherence, coherent_rows, update_cop
from ekss.core.ksubspaces import (
    UPDATES,
    MemberOptions,
    assign,
    k_subspaces,
    random_start,
    run_member,
    update_pca,
)
from ekss.core.linalg import Flats, random_bases, squared_residuals
from ekss.datasets import make_union_of_subspaces


def contaminated(seed, outliers=0.4, noise=0.0, n=300, D=40, d=4):
    """Points of one subspace and outliers in a corner of the space, as unit rows."""
    rng = np.random.default_rng(seed)
    U = random_bases(1, D, d, rng)[0]
    n_out = round(outliers * n)
    X = rng.standard_normal((n, d)) @ U.T + noise * rng.standard_normal((n, D))
    # Outliers of unequal directions pull principal components much more than uniform
    # ones do; none of their directions is as crowded as those of the subspace.
    X[:n_out] = rng.standard_normal((n_out, D)) * np.linspace(2, 0.2, D)
    return X / np.linalg.norm(X, axis=1, keepdims=True), U


def one_cluster(X, d, seed=0):
    start = Flats(random_bases(1, X.shape[1], d, np.random.default_rng(seed), X.dtype))
    return np.zeros(len(X), np.int32), X @ start.bases[0], start


def largest_angle(U, V):
    return float(subspace_angles(U, V).max())


def slow_coherence(X, p):
    scores = []
    for i, x in enumerate(X):
        total = 0.0
        for j, other in enumerate(X):
            if i != j and x.any() and other.any():
                cosine = x @ other / np.linalg.norm(x) / np.linalg.norm(other)
                total += abs(cosine) ** p
        scores.append(total)
    return np.array(scores)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
@pytest.mark.parametrize(("norm", "p"), [("l2", 2), ("l1", 1)])
def test_coherence_equals_the_double_loop(shape, norm, p):
    X = np.random.default_rng(0).standard_normal(shape)
    X[3] = 0
    X[4] = X[5]
    np.testing.assert_allclose(coherence(X, norm), slow_coherence(X, p), atol=1e-12)


def test_l1_coherence_in_blocks_equals_the_whole_gram_matrix():
    X = np.random.default_rng(0).standard_normal((1200, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    gram = np.abs(X @ X.T)
    np.fill_diagonal(gram, 0)
    np.testing.assert_allclose(coherence(X, "l1"), gram.sum(axis=1))


def test_coherence_ignores_length_and_sign_of_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    scaled = X * rng.uniform(-5, 5, (50, 1))
    np.testing.assert_allclose(coherence(X), coherence(scaled))


def test_both_norms_put_outliers_last_on_easy_data():
    X, _ = contaminated(0, outliers=0.3)
    n_out = 90
    for norm in ("l1", "l2"):
        order = np.argsort(coherence(X, norm))
        assert set(order[:n_out]) == set(range(n_out))
    chosen = [set(coherent_rows(X, 4, share=0.7, norm=norm)) for norm in ("l1", "l2")]
    assert chosen[0] == chosen[1] == set(range(n_out, 300))


@pytest.mark.parametrize("seed", range(5))
def test_subspace_is_recovered_among_outliers_where_pca_fails(seed):
    X, U = contaminated(seed)
    labels, own, start = one_cluster(X, 4)
    robust = update_cop(X, labels, own, start).bases[0]
    plain = update_pca(X, labels, own, start).bases[0]
    assert largest_angle(U, robust) < 1e-6
    assert largest_angle(U, plain) > 0.05


@pytest.mark.parametrize("share", [0.2, 0.3, 0.4, 0.5, 0.6])
def test_any_share_up_to_that_of_the_inliers_serves(share):
    X, U = contaminated(0, noise=0.02)
    labels, own, start = one_cluster(X, 4)
    robust = update_cop(X, labels, own, start, share=share).bases[0]
    plain = update_pca(X, labels, own, start).bases[0]
    assert largest_angle(U, robust) < 0.5 * largest_angle(U, plain)


@pytest.mark.parametrize("affine", [False, True])
def test_share_of_one_is_exact_pca(affine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12)) + affine
    start = random_start(X, 3, 2, affine, rng)
    a = assign(X, start)
    coherent = update_cop(X, a.labels, a.own, start, share=1.0)
    exact = update_pca(X, a.labels, a.own, start)
    np.testing.assert_array_equal(coherent.bases, exact.bases)
    if affine:
        np.testing.assert_array_equal(coherent.offsets, exact.offsets)


def test_affine_flat_is_recovered_among_outliers():
    rng = np.random.default_rng(0)
    U = random_bases(1, 30, 3, rng)[0]
    X = 3 * rng.standard_normal((200, 3)) @ U.T + 1.0
    X[:50] += rng.standard_normal((50, 30))
    start = random_start(X, 1, 3, True, rng)
    labels, own = np.zeros(200, np.int32), X @ start.bases[0]
    robust = update_cop(X, labels, own, start)
    assert largest_angle(U, robust.bases[0]) < 1e-6
    assert squared_residuals(X[50:], robust).max() < 1e-10
    assert np.abs(robust.bases[0].T @ robust.offsets[0]).max() < 1e-10


@pytest.mark.parametrize("affine", [False, True])
def test_degenerate_clusters_give_finite_orthonormal_bases(affine):
    # cluster 0 is empty, 1 has one point, 2 zero rows only, 3 duplicates, 4 few points
    rng = np.random.default_rng(0)
    few = rng.standard_normal((2, 9))
    X = np.vstack([few[:1], np.zeros((30, 9)), np.ones((50, 9)), few])
    labels = np.repeat([1, 2, 3, 4], [1, 30, 50, 2]).astype(np.int32)
    start = random_start(X, 5, 3, affine, rng)
    updated = update_cop(X, labels, X[:, :3], start)
    gram = updated.bases.transpose(0, 2, 1) @ updated.bases
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-10)
    np.testing.assert_array_equal(updated.bases[0], start.bases[0])
    assert squared_residuals(X, updated)[np.arange(83), labels].max() < 1e-20
    if affine:
        np.testing.assert_array_equal(updated.offsets[0], start.offsets[0])


def test_small_clusters_keep_enough_points_to_span_their_subspace():
    X = np.random.default_rng(0).standard_normal((20, 30))
    assert len(coherent_rows(X, 5, share=0.1)) == FEWEST_PER_DIM * 5
    assert len(coherent_rows(X, 15, share=0.1)) == 20
    assert len(coherent_rows(X, 1, share=0.31)) == 7


def test_equally_coherent_points_are_chosen_in_order():
    rows = coherent_rows(np.eye(10), 1, share=0.5)
    np.testing.assert_array_equal(rows, np.arange(5))


def test_float32_stays_float32_and_is_close_to_float64():
    X, _ = contaminated(0, noise=0.05)
    labels, own, start = one_cluster(X, 4)
    high = update_cop(X, labels, own, start).bases[0]
    single = Flats(start.bases.astype(np.float32))
    low = update_cop(X.astype(np.float32), labels, own, single).bases[0]
    assert low.dtype == np.float32
    np.testing.assert_allclose(low @ low.T, high @ high.T, atol=1e-3)


def test_inputs_are_not_changed():
    X, _ = contaminated(0)
    labels, own, start = one_cluster(X, 4)
    copies = X.copy(), start.bases.copy()
    update_cop(X, labels, own, start)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(start.bases, copies[1])


def test_loop_ends_in_subspaces_that_assign_its_labels():
    data = make_union_of_subspaces(3, 3, 20, 60, outliers=0.2, random_state=0)
    start = random_start(data.data, 3, 3, False, np.random.default_rng(0))
    run = k_subspaces(data.data, start, UPDATES["cop"], max_iter=50)
    np.testing.assert_array_equal(assign(data.data, run.flats).labels, run.labels)
    if run.converged:
        own = run.assignment.own
        again = UPDATES["cop"](data.data, run.labels, own, run.flats)
        np.testing.assert_allclose(again.bases, run.flats.bases, atol=1e-10)


def test_ensemble_members_run_on_coherent_points():
    data = make_union_of_subspaces(3, 3, 20, 60, outliers=0.2, random_state=0)
    options = MemberOptions((3, 3), (3, 3), max_iter=5, update="cop")
    members = [run_member(data.data, 0, 7, options) for _ in range(2)]
    np.testing.assert_array_equal(members[0].labels, members[1].labels)
    assert 0 < members[0].weight <= 1
