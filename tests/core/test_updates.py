import numpy as np
import pytest

from ekss.core.ksubspaces import (
    UPDATES,
    Candidates,
    assign,
    captured_energy,
    random_start,
    update_pca,
    update_power,
)
from ekss.core.linalg import Flats, random_bases, squared_residuals


def setup(seed=0, n=600, D=20, K=4, d=3, affine=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)).astype(dtype)
    if affine:
        X += 3
    start = random_start(X, K, d, affine, rng)
    return X, start, assign(X, start)


def cluster_cost(X, labels, flats):
    return squared_residuals(X, flats)[np.arange(len(X)), labels].sum()


def power_reference(X, labels, flats):
    """U_k <- orth(C_k U_k) with the (centred) scatter matrix of each cluster."""
    bases, offsets = [], []
    for k, U in enumerate(flats.bases):
        points = X[labels == k]
        mean = points.mean(axis=0) if flats.offsets is not None else 0 * X[0]
        scatter = (points - mean).T @ (points - mean)
        Q = np.linalg.qr(scatter @ U)[0]
        bases.append(Q)
        offsets.append(mean - Q @ (Q.T @ mean))
    return np.stack(bases), np.stack(offsets)


@pytest.mark.parametrize("affine", [False, True])
def test_power_step_equals_the_scatter_matrix_reference(affine):
    X, start, a = setup(affine=affine)
    updated = update_power(X, a.labels, a.own, start)
    bases, offsets = power_reference(X, a.labels, start)
    projections = updated.bases @ updated.bases.transpose(0, 2, 1)
    np.testing.assert_allclose(projections, bases @ bases.transpose(0, 2, 1), atol=1e-8)
    if affine:
        np.testing.assert_allclose(updated.offsets, offsets, atol=1e-8)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", sorted(set(UPDATES) - {"cop"}))
def test_update_never_raises_the_cost_of_its_clusters(name, affine):
    for seed in range(10):
        X, start, a = setup(seed, affine=affine)
        updated = UPDATES[name](X, a.labels, a.own, start)
        before = cluster_cost(X, a.labels, start)
        assert cluster_cost(X, a.labels, updated) <= before * (1 + 1e-12)


@pytest.mark.parametrize("affine", [False, True])
def test_repeated_power_steps_reach_the_exact_pca(affine):
    X, start, a = setup(affine=affine)
    X = X * np.linspace(3, 0.3, X.shape[1])
    a = assign(X, start)
    exact = update_pca(X, a.labels, a.own, start)
    flats = start
    for _ in range(300):
        own = np.einsum("nd,ndj->nj", X, flats.bases[a.labels])
        flats = update_power(X, a.labels, own, flats)
    assert np.isclose(
        cluster_cost(X, a.labels, flats), cluster_cost(X, a.labels, exact), rtol=1e-6
    )


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", sorted(set(UPDATES) - {"cop"}))
def test_update_of_degenerate_clusters_is_finite_and_orthonormal(name, affine):
    # cluster 0 is empty, 1 has one point, 2 has zero rows only, 3 has duplicates
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((1, 9)), np.zeros((3, 9)), np.ones((5, 9))])
    labels = np.array([1] + 3 * [2] + 5 * [3], np.int32)
    start = random_start(X, 4, 3, affine, rng)
    own = np.einsum("nd,ndj->nj", X, start.bases[labels])
    updated = UPDATES[name](X, labels, own, start)
    gram = updated.bases.transpose(0, 2, 1) @ updated.bases
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-10)
    np.testing.assert_array_equal(updated.bases[0], start.bases[0])
    if affine:
        np.testing.assert_allclose(updated.offsets[0], start.offsets[0], atol=1e-12)
    assert cluster_cost(X, labels, updated) < 1e-20


@pytest.mark.parametrize("affine", [False, True])
def test_captured_energy_equals_total_less_cost(affine):
    X, start, a = setup(affine=affine)
    (captured,) = captured_energy(X, a.labels[None], Candidates.of([start]))
    expected = (X**2).sum() - cluster_cost(X, a.labels, start)
    assert np.isclose(captured, expected)


def test_power_step_in_float32_is_close_to_float64():
    X, start, a = setup()
    single = Flats(start.bases.astype(np.float32))
    own = a.own.astype(np.float32)
    low = update_power(X.astype(np.float32), a.labels, own, single).bases
    high = update_power(X, a.labels, a.own, start).bases
    np.testing.assert_allclose(
        low @ low.transpose(0, 2, 1), high @ high.transpose(0, 2, 1), atol=1e-4
    )


def test_power_step_keeps_dtype():
    X, start, a = setup(dtype=np.float32)
    assert update_power(X, a.labels, a.own, start).bases.dtype == np.float32
    assert random_bases(1, 3, 1, np.random.default_rng(0), np.float32).dtype == "f4"
