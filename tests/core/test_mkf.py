import numpy as np
import pytest

from ekss.core.ksubspaces import assign, neighbourhood_start, random_start
from ekss.core.linalg import Flats, random_bases, squared_residuals, unit_rows
from ekss.core.mkf import (
    SEEDS_PER_DIM,
    descend,
    distances,
    median_k_flats,
)
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error

SMOOTHING = 0.01


def planted(seed=0, outliers=0.0, noise=0.0, dtype=np.float64):
    data = make_union_of_subspaces(
        3, 3, 20, 60, outliers=outliers, noise=noise, random_state=seed
    )
    return data.data.astype(dtype), data.target


def run(X, seed=0, n_subspaces=3, dim=3, **options):
    rng = np.random.default_rng(seed)
    start = neighbourhood_start(X, n_subspaces, dim, False, rng, SEEDS_PER_DIM * dim)
    return median_k_flats(X, start, rng, **{"max_iter": 60, "step": 0.3, **options})


def slow_descend(X, flats, order, step, length):
    """Gradient of the smoothed distance, then the polar factor by an SVD."""
    bases = flats.bases.copy()
    for i in order:
        x = X[i]
        k = int(np.argmax([np.sum((U.T @ x) ** 2) for U in bases]))
        U = bases[k]
        rest = x - U @ (U.T @ x)
        distance = np.sqrt(rest @ rest + (SMOOTHING * length) ** 2)
        moved = U + step / length * np.outer(rest, U.T @ x) / distance
        left, _, right = np.linalg.svd(moved, full_matrices=False)
        bases[k] = left @ right
    return bases


def projections(bases):
    return bases @ np.swapaxes(bases, -1, -2)


def total(X, bases):
    return np.sqrt(squared_residuals(X, Flats(bases))).min(axis=1).sum()


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_kernel_equals_gradient_and_svd_step_by_step(scale):
    X, _ = planted(noise=0.3)
    X = X * scale
    X[5] = 0
    rng = np.random.default_rng(0)
    flats = Flats(random_bases(3, 20, 3, rng))
    order = rng.permutation(len(X))
    fast = descend(X, flats, order, 0.2, scale).bases
    slow = slow_descend(X, flats, order, 0.2, scale)
    np.testing.assert_allclose(projections(fast), projections(slow), atol=1e-9)


def test_small_step_follows_the_gradient_of_the_distance():
    X, _ = planted(noise=0.5)
    U = random_bases(1, 20, 3, np.random.default_rng(0))
    small = 1e-6
    moved = descend(X, Flats(U), np.array([4]), small, 1.0).bases
    lost = (total(X[4:5], U) - total(X[4:5], moved)) / small
    inside = np.linalg.norm(U[0].T @ X[4])
    # the squared norm of the gradient r p^T / |r| is |p|^2
    assert lost == pytest.approx(inside**2, rel=1e-3)


def test_bases_stay_orthonormal_over_many_steps():
    X, _ = planted(noise=0.5, dtype=np.float32)
    flats = Flats(random_bases(3, 20, 3, np.random.default_rng(0), np.float32))
    order = np.random.default_rng(1).integers(len(X), size=50_000)
    bases = descend(X, flats, order, 0.3, 1.0).bases
    gram = bases.transpose(0, 2, 1) @ bases
    assert bases.dtype == np.float32
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-5)


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_descend_leaves_its_input_alone(dim):
    X, _ = planted()
    flats = Flats(random_bases(3, 20, dim, np.random.default_rng(0)))
    before = flats.bases.copy()
    descend(X, flats, np.arange(len(X)), 0.3, 1.0)
    np.testing.assert_array_equal(flats.bases, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(5))
def test_lines_along_nearly_collinear_points_stay_orthonormal(seed, dtype):
    rng = np.random.default_rng(seed)
    along, across = rng.standard_normal((60, 1)), rng.standard_normal((60, 5))
    X = unit_rows(along * rng.standard_normal(5) + 1e-6 * across).astype(dtype)
    result = run(X, seed, n_subspaces=2, dim=1)
    lengths = np.linalg.norm(result.flats.bases, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    np.testing.assert_array_equal(assign(X, result.flats).labels, result.labels)


@pytest.mark.parametrize("seed", range(5))
def test_cost_falls_and_is_the_total_distance_of_the_result(seed):
    X, _ = planted(seed, noise=0.3)
    result = run(X, seed)
    assert np.all(np.diff(result.costs) <= 0)
    assert result.costs[-1] < 0.9 * result.costs[0]
    assert result.costs[-1] == pytest.approx(total(X, result.flats.bases))
    np.testing.assert_array_equal(assign(X, result.flats).labels, result.labels)


def test_more_passes_continue_the_same_run():
    X, _ = planted(noise=0.3)
    short, long = run(X, max_iter=3), run(X, max_iter=9)
    np.testing.assert_array_equal(short.costs, long.costs[:4])


def test_planted_subspaces_are_recovered_by_the_cheapest_start():
    for seed in range(3):
        X, y = planted(seed)
        best = min((run(X, start) for start in range(8)), key=lambda r: r.costs[-1])
        assert clustering_error(y, best.labels) == 0
        assert best.costs[-1] / len(X) < 1e-3


def test_inliers_are_clustered_among_as_many_outliers():
    for seed in range(3):
        X, y = planted(seed, outliers=0.5)
        best = min((run(X, start) for start in range(8)), key=lambda r: r.costs[-1])
        inliers = y >= 0
        assert clustering_error(y[inliers], best.labels[inliers]) == 0


def test_labels_do_not_depend_on_the_unit_of_the_data():
    X, _ = planted(noise=0.2)
    one, other = run(X), run(1024.0 * X)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(1024 * one.costs, other.costs, rtol=1e-6)


def test_distances_equal_the_residual_norms():
    X, _ = planted(noise=0.2)
    flats = random_start(X, 4, 2, False, np.random.default_rng(0))
    expected = np.sqrt(squared_residuals(X, flats).min(axis=1))
    np.testing.assert_allclose(distances(X, flats, assign(X, flats)), expected)


def test_start_spans_neighbourhoods_and_is_orthonormal():
    X, _ = planted()
    start = neighbourhood_start(X, 5, 3, False, np.random.default_rng(0), 6)
    gram = start.bases.transpose(0, 2, 1) @ start.bases
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-10)
    # every flat is spanned by points near a point of the data, so it fits some well
    assert (squared_residuals(X, start).min(axis=0) < 0.1).all()


def test_flats_without_points_are_started_anew():
    X, y = planted()
    good = [np.linalg.svd(X[y == k].T)[0][:, :3] for k in range(3)]
    # the third flat is orthogonal to all data of a 6-dimensional subspace
    inside = np.isin(y, [0, 1])
    frame = np.linalg.qr(np.hstack(good[:2]), mode="complete")[0]
    start = Flats(np.stack([*good[:1], frame[:, 10:13], frame[:, 13:16]]))
    rng = np.random.default_rng(0)
    result = median_k_flats(X[inside], start, rng, max_iter=30, step=0.3)
    assert clustering_error(y[inside], result.labels) < 0.5
    assert result.costs[-1] < 0.1 * result.costs[0]


def test_zero_rows_duplicates_and_few_points_are_handled():
    rng = np.random.default_rng(0)
    few = rng.standard_normal((3, 20))
    X = np.vstack([few, np.zeros((2, 20)), few])
    result = run(X, n_subspaces=4, dim=3)
    assert np.isfinite(result.flats.bases).all()
    assert result.costs[-1] < 1e-6
    nothing = run(np.zeros((4, 20)), n_subspaces=2, dim=3)
    assert nothing.costs[-1] == 0


def test_run_in_float32_costs_about_the_same():
    X, _ = planted(noise=0.3)
    low, high = run(X.astype(np.float32)), run(X)
    assert low.flats.bases.dtype == np.float32
    assert low.costs[-1] == pytest.approx(high.costs[-1], rel=0.05)
