import numpy as np
import pytest

from ekss.core import ksubspaces
from ekss.core.ksubspaces import UPDATES, assign, k_subspaces, random_start
from ekss.core.linalg import Flats, random_bases, squared_residuals
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error

NAMES = sorted(set(UPDATES) - {"cop"})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affine", [False, True])
def test_assign_equals_the_smallest_residual(affine, dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((500, 12)) + 1).astype(dtype)
    flats = random_start(X, 6, 3, affine, rng)
    a = assign(X, flats)
    residuals = squared_residuals(X.astype(float), flats)
    own_residual = residuals[np.arange(500), a.labels]
    # of subspaces that are equally near up to rounding, either will do
    rounding = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(own_residual, residuals.min(axis=1), atol=rounding)
    norms = (X.astype(float) ** 2).sum(axis=1)
    np.testing.assert_allclose(a.gains, norms - residuals.min(axis=1), atol=2e-5)
    own = np.einsum("nd,ndj->nj", X, flats.bases[a.labels])
    np.testing.assert_allclose(a.own, own, atol=1e-5)


def test_assign_in_blocks_equals_assign_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((257, 10))
    flats = Flats(random_bases(4, 10, 3, rng))
    whole = assign(X, flats)
    monkeypatch.setattr(ksubspaces, "BLOCK_ENTRIES", 100)
    blocked = assign(X, flats)
    np.testing.assert_array_equal(whole.labels, blocked.labels)
    np.testing.assert_allclose(whole.own, blocked.own, atol=1e-12)


def test_assign_gives_the_first_of_equal_subspaces_and_takes_zero_rows():
    basis = random_bases(1, 5, 2, np.random.default_rng(0))
    flats = Flats(np.concatenate([basis, basis, basis]))
    X = np.vstack([np.zeros(5), np.random.default_rng(1).standard_normal((20, 5))])
    assert (assign(X, flats).labels == 0).all()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_cost_never_rises(name, affine):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 15)) + affine
        run = k_subspaces(
            X, random_start(X, 7, 3, affine, rng), UPDATES[name], max_iter=25
        )
        assert np.all(np.diff(run.costs) <= 1e-9 * (X**2).sum())
        residual = squared_residuals(X, run.flats).min(axis=1).sum()
        assert np.isclose(run.costs[-1], residual)


@pytest.mark.parametrize("name", NAMES)
def test_cost_never_rises_when_clusters_run_empty(name):
    # more subspaces than distinct points: most clusters are empty or tiny
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((5, 8)), 4, axis=0)
    run = k_subspaces(X, random_start(X, 12, 2, False, rng), UPDATES[name], max_iter=9)
    assert np.all(np.diff(run.costs) <= 1e-12)
    assert np.isfinite(run.flats.bases).all()
    assert run.costs[-1] < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_planted_subspaces_are_a_fixed_point(name):
    data = make_union_of_subspaces(
        n_subspaces=3, dims=4, n_features=30, n_per_subspace=80, random_state=0
    )
    start = Flats(np.stack(data.bases))
    run = k_subspaces(data.data, start, UPDATES[name], max_iter=5, tol=1e-12)
    assert run.converged
    assert clustering_error(data.target, run.labels) == 0
    assert run.costs[-1] < 1e-10


def test_zero_iterations_only_assign():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    start = random_start(X, 3, 2, False, rng)
    run = k_subspaces(X, start, UPDATES["pca"], max_iter=0)
    assert len(run.costs) == 1
    np.testing.assert_array_equal(run.flats.bases, start.bases)
    np.testing.assert_array_equal(run.labels, assign(X, start).labels)


def test_rotation_of_space_and_order_of_points_change_nothing():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 10))
    start = random_start(X, 4, 2, False, rng)
    rotation = random_bases(1, 10, 10, rng)[0]
    order = rng.permutation(200)
    turned = Flats(rotation @ start.bases)
    run = k_subspaces(X, start, UPDATES["pca"], max_iter=10)
    moved = k_subspaces((X @ rotation.T)[order], turned, UPDATES["pca"], max_iter=10)
    np.testing.assert_array_equal(run.labels[order], moved.labels)
    np.testing.assert_allclose(run.costs, moved.costs)


def test_sign_and_scale_of_points_do_not_move_them_to_another_subspace():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 8))
    flats = Flats(random_bases(5, 8, 2, rng))
    scale = rng.uniform(0.1, 10, (100, 1)) * rng.choice([-1, 1], (100, 1))
    np.testing.assert_array_equal(
        assign(X, flats).labels, assign(X * scale, flats).labels
    )


def test_affine_run_does_not_depend_on_the_origin():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 6))
    start = random_start(X, 3, 2, True, rng)
    shift = np.full(6, 5.0)
    shifted_offsets = start.offsets + shift
    inside = np.einsum("kdj,kd->kj", start.bases, shifted_offsets)
    moved = Flats(
        start.bases, shifted_offsets - np.einsum("kdj,kj->kd", start.bases, inside)
    )
    here = k_subspaces(X, start, UPDATES["pca"], max_iter=8)
    there = k_subspaces(X + shift, moved, UPDATES["pca"], max_iter=8)
    np.testing.assert_array_equal(here.labels, there.labels)
    np.testing.assert_allclose(here.costs, there.costs, rtol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_empty_cluster_is_started_anew_where_points_fit_worst(name):
    # both given subspaces miss the second plane; the duplicate one gets no point
    rng = np.random.default_rng(6)
    X = np.zeros((100, 6))
    X[:50, :2], X[50:, 2:4] = rng.standard_normal((2, 50, 2))
    basis = np.eye(6)[:, :2] + 0.05 * rng.standard_normal((6, 2))
    same = np.linalg.qr(basis)[0]
    start = Flats(np.stack([same, same]))
    assert (assign(X, start).labels == 0).all()
    run = k_subspaces(X, start, UPDATES[name], max_iter=50)
    assert clustering_error(np.repeat([0, 1], 50), run.labels) == 0
    assert run.costs[-1] < 1e-9


def test_tolerance_ends_a_run_whose_labels_are_settled_but_whose_cost_still_falls():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 12)) * np.linspace(2, 1, 12)
    start = Flats(random_bases(1, 12, 3, rng))  # one subspace: labels never change
    iterations = [
        len(k_subspaces(X, start, UPDATES["power"], max_iter=500, tol=tol).costs)
        for tol in (1e-2, 1e-4, 1e-8)
    ]
    assert iterations[0] < iterations[1] < iterations[2] < 500
