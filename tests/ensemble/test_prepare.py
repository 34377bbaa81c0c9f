import numpy as np
import pytest

from ekss.ensemble.prepare import leading_coordinates


def decaying(n_samples, n_features, rng, power=1.0):
    scale = np.arange(1, n_features + 1) ** -power
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    return (rng.standard_normal((n_samples, n_features)) * scale) @ rotation


def test_points_of_low_rank_keep_all_angles_and_lengths():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6)) @ rng.standard_normal((6, 200))
    kept = leading_coordinates(X, 2, 3)
    assert kept.points.shape == (80, 6)
    scale = np.abs(X @ X.T).max()
    np.testing.assert_allclose(kept.points @ kept.points.T, X @ X.T, atol=1e-9 * scale)
    np.testing.assert_allclose(kept.outside, 0, atol=1e-9 * scale)


def test_all_coordinates_are_the_points_themselves():
    X = np.random.default_rng(0).standard_normal((60, 10))
    kept = leading_coordinates(X, 3, 2)
    assert kept.points is X
    assert kept.outside is None


@pytest.mark.parametrize("n_features", [40, 300, 700])
def test_inside_and_outside_add_up_and_distances_shrink(n_features):
    rng = np.random.default_rng(0)
    X = decaying(350, n_features, rng, power=0.8 if n_features > 40 else 4.0)
    kept = leading_coordinates(X, 3, 4)
    assert 12 <= kept.points.shape[1] < n_features
    total = (X**2).sum(axis=1)
    inside = (kept.points**2).sum(axis=1)
    np.testing.assert_allclose(inside + kept.outside, total, rtol=1e-9)
    assert (kept.outside >= 0).all()
    apart = np.linalg.norm(X[0] - X, axis=1)
    assert (np.linalg.norm(kept.points[0] - kept.points, axis=1) <= apart + 1e-9).all()


def test_outside_is_the_energy_of_the_small_singular_values():
    X = decaying(300, 250, np.random.default_rng(0), power=1.5)
    kept = leading_coordinates(X, 2, 2)
    values = np.linalg.svd(X, compute_uv=False)
    rest = (values[kept.points.shape[1] :] ** 2).sum()
    assert kept.outside.sum() == pytest.approx(rest, rel=1e-6)
    # no other coordinates hold more: these are principal
    gram = kept.points.T @ kept.points
    np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-8)


def test_little_is_lost_where_few_directions_hold_the_energy():
    X = decaying(300, 250, np.random.default_rng(0), power=2.0)
    kept = leading_coordinates(X, 2, 2)
    assert kept.points.shape[1] < 60
    assert kept.outside.sum() < 1e-3 * (X**2).sum()


def test_as_many_coordinates_are_kept_as_all_subspaces_can_span():
    X = decaying(400, 150, np.random.default_rng(0), power=6.0)
    for n_clusters, span in ((2, 3), (5, 7), (9, 10)):
        kept = leading_coordinates(X, n_clusters, span)
        assert kept.points.shape[1] == n_clusters * span


def test_distance_to_a_subspace_of_the_coordinates_is_that_of_the_points():
    X = decaying(200, 300, np.random.default_rng(0), power=1.2)
    kept = leading_coordinates(X, 3, 3)
    # the coordinates are X @ directions: lift a basis back to the space of the points
    directions = np.linalg.pinv(X) @ kept.points
    basis = np.linalg.svd(kept.points[:40], full_matrices=False)[2][:3].T
    inside = kept.points - (kept.points @ basis) @ basis.T
    lifted = directions @ basis
    rest = X - (X @ lifted) @ lifted.T
    expected = (rest**2).sum(axis=1)
    np.testing.assert_allclose(
        (inside**2).sum(axis=1) + kept.outside, expected, rtol=1e-6
    )


def test_float32_stays_float32_and_is_contiguous():
    X = decaying(200, 180, np.random.default_rng(0)).astype(np.float32)
    kept = leading_coordinates(X, 2, 2)
    assert kept.points.dtype == kept.outside.dtype == np.float32
    assert kept.points.flags.c_contiguous
    wide = leading_coordinates(X.astype(float), 2, 2)
    assert kept.points.shape == wide.points.shape
    np.testing.assert_allclose(
        np.abs(kept.points[:, :5]), np.abs(wide.points[:, :5]), atol=1e-3
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0, 1])
def test_points_without_length_or_all_equal_work(value, dtype):
    X = np.full((30, 200), value, dtype)
    kept = leading_coordinates(X, 2, 3)
    inside = (kept.points**2).sum(axis=1)
    np.testing.assert_allclose(inside, (X**2).sum(axis=1), rtol=1e-5, atol=0)
