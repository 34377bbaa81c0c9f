import numpy as np
import pytest
from scipy.linalg import subspace_angles

from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces


def distance_to_own_subspace(union):
    worst = 0.0
    for k, basis in enumerate(union.bases):
        points = union.data[union.target == k] - union.offsets[k]
        worst = max(worst, np.abs(points - points @ basis @ basis.T).max())
    return worst


def assert_orthonormal(bases):
    for basis in bases:
        gram = basis.T @ basis
        np.testing.assert_allclose(gram, np.eye(basis.shape[1]), atol=1e-13)


def test_points_lie_on_unit_sphere_of_their_subspace():
    union = make_union_of_subspaces(random_state=0)
    assert union.data.shape == (300, 100)
    np.testing.assert_array_equal(np.bincount(union.target), [100, 100, 100])
    assert_orthonormal(union.bases)
    assert distance_to_own_subspace(union) < 1e-12
    np.testing.assert_allclose(np.linalg.norm(union.data, axis=1), 1, rtol=1e-13)


def test_dims_and_counts_per_subspace():
    union = make_union_of_subspaces(3, [1, 4, 10], 10, [5, 50, 20], random_state=1)
    assert [basis.shape for basis in union.bases] == [(10, 1), (10, 4), (10, 10)]
    np.testing.assert_array_equal(np.bincount(union.target), [5, 50, 20])
    for k, dim in enumerate([1, 4, 10]):
        assert np.linalg.matrix_rank(union.data[union.target == k]) == min(
            dim, np.sum(union.target == k)
        )
    assert distance_to_own_subspace(union) < 1e-12


def test_points_are_uniform_on_the_sphere():
    union = make_union_of_subspaces(1, 3, 6, 40_000, random_state=2)
    coordinates = union.data @ union.bases[0]
    np.testing.assert_allclose(coordinates.mean(axis=0), 0, atol=0.015)
    covariance = coordinates.T @ coordinates / len(coordinates)
    np.testing.assert_allclose(covariance, np.eye(3) / 3, atol=0.01)
    # Archimedes: on the sphere of R^3 every coordinate is uniform on [-1, 1].
    quartiles = np.quantile(coordinates, [0.25, 0.5, 0.75], axis=0)
    np.testing.assert_allclose(quartiles.T, [[-0.5, 0, 0.5]] * 3, atol=0.03)


def test_random_subspaces_are_uniform():
    bases = make_union_of_subspaces(4000, 2, 5, 1, random_state=3).bases
    mean_projection = np.mean([basis @ basis.T for basis in bases], axis=0)
    np.testing.assert_allclose(mean_projection, 0.4 * np.eye(5), atol=0.025)


def test_orthogonal_bases_are_orthogonal():
    union = make_union_of_subspaces(3, [2, 3, 5], 10, bases="orthogonal")
    stacked = np.concatenate(union.bases, axis=1)
    np.testing.assert_allclose(stacked.T @ stacked, np.eye(10), atol=1e-13)
    assert [basis.shape[1] for basis in union.bases] == [2, 3, 5]


def test_given_bases_are_used_and_copied():
    given = [np.eye(6)[:, :2], np.eye(6)[:, 1:5]]
    union = make_union_of_subspaces(bases=given, n_per_subspace=30, random_state=0)
    assert distance_to_own_subspace(union) == 0.0
    union.bases[0][:] = 7
    np.testing.assert_array_equal(given[0], np.eye(6)[:, :2])
    named = make_union_of_subspaces(2, [2, 4], 6, 30, bases=given, random_state=0)
    np.testing.assert_array_equal(named.data, union.data)


def test_given_bases_may_be_single_precision():
    exact = make_union_of_subspaces(2, 20, 60, 5, random_state=1).bases
    given = [basis.astype(np.float32) for basis in exact]
    union = make_union_of_subspaces(bases=given, n_per_subspace=5, random_state=0)
    assert union.data.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(union.data, axis=1), 1, rtol=1e-6)


def test_noise_has_given_norm_and_equal_variance_per_entry():
    clean = make_union_of_subspaces(2, 3, 50, 2000, random_state=4)
    noisy = make_union_of_subspaces(2, 3, 50, 2000, noise=0.3, random_state=4)
    error = noisy.data - clean.data
    assert np.mean(np.sum(error**2, axis=1)) == pytest.approx(0.09, rel=0.02)
    covariance = error.T @ error / len(error)
    np.testing.assert_allclose(covariance, 0.09 / 50 * np.eye(50), atol=2.5e-4)
    np.testing.assert_allclose(error.mean(axis=0), 0, atol=0.004)


@pytest.mark.parametrize(("missing", "count"), [(0.1, 2), (0.33, 7), (0.94, 19)])
def test_missing_entries_counted_per_point(missing, count):
    full = make_union_of_subspaces(2, 3, 20, 400, outliers=0.1, random_state=5)
    union = make_union_of_subspaces(
        2, 3, 20, 400, outliers=0.1, missing=missing, random_state=5
    )
    np.testing.assert_array_equal(union.missing_mask.sum(axis=1), count)
    np.testing.assert_array_equal(
        union.data, np.where(union.missing_mask, 0, full.data)
    )
    share = union.missing_mask.mean(axis=0)
    np.testing.assert_allclose(share, count / 20, atol=0.09)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.9])
def test_outliers_are_share_of_all_points(share):
    union = make_union_of_subspaces(3, 2, 15, 300, outliers=share, random_state=6)
    is_outlier = union.target == -1
    assert is_outlier.mean() == pytest.approx(share, abs=1 / len(union.data))
    assert np.sum(~is_outlier) == 900
    outside = union.data[is_outlier]
    np.testing.assert_allclose(np.linalg.norm(outside, axis=1), 1, rtol=1e-13)
    if share >= 0.5:
        covariance = outside.T @ outside / len(outside)
        np.testing.assert_allclose(covariance, np.eye(15) / 15, atol=0.02)


def test_affine_offset_is_orthogonal_and_of_given_length():
    union = make_union_of_subspaces(
        4, [1, 2, 3, 5], 6, affine_offset=2.5, random_state=7
    )
    np.testing.assert_allclose(np.linalg.norm(union.offsets, axis=1), 2.5, rtol=1e-13)
    for basis, offset in zip(union.bases, union.offsets, strict=True):
        np.testing.assert_allclose(basis.T @ offset, 0, atol=1e-13)
    assert distance_to_own_subspace(union) < 1e-12
    np.testing.assert_allclose(np.linalg.norm(union.data, axis=1), np.sqrt(1 + 2.5**2))
    linear = make_union_of_subspaces(4, [1, 2, 3, 5], 6, random_state=7)
    np.testing.assert_array_equal(linear.offsets, 0)
    np.testing.assert_array_equal(linear.target, union.target)


def test_shuffle_only_reorders():
    mixed = make_union_of_subspaces(2, 2, 8, [30, 50], outliers=0.2, random_state=8)
    ordered = make_union_of_subspaces(
        2, 2, 8, [30, 50], outliers=0.2, random_state=8, shuffle=False
    )
    np.testing.assert_array_equal(ordered.target, [0] * 30 + [1] * 50 + [-1] * 20)
    assert not np.array_equal(mixed.target, ordered.target)
    in_order = np.lexsort(mixed.data.T), np.lexsort(ordered.data.T)
    np.testing.assert_array_equal(mixed.data[in_order[0]], ordered.data[in_order[1]])
    np.testing.assert_array_equal(
        mixed.target[in_order[0]], ordered.target[in_order[1]]
    )


def test_seed_determines_everything():
    options = {"noise": 0.1, "missing": 0.1, "outliers": 0.1, "affine_offset": 1.0}
    a, b, c = (
        make_union_of_subspaces(random_state=seed, **options) for seed in (9, 9, 10)
    )
    np.testing.assert_array_equal(a.data, b.data)
    np.testing.assert_array_equal(a.target, b.target)
    assert not np.array_equal(a.data, c.data)
    rng = np.random.default_rng(9)
    first = make_union_of_subspaces(random_state=rng, **options)
    second = make_union_of_subspaces(random_state=rng, **options)
    np.testing.assert_array_equal(first.data, a.data)
    assert not np.array_equal(second.data, first.data)
    unseeded = [make_union_of_subspaces().data for _ in range(2)]
    assert not np.array_equal(*unseeded)


def test_return_X_y_gives_data_and_target():
    X, y = make_union_of_subspaces(random_state=0, return_X_y=True)
    union = make_union_of_subspaces(random_state=0)
    np.testing.assert_array_equal(X, union.data)
    np.testing.assert_array_equal(y, union.target)
    assert "300 points, 0 of them outliers, on 3 subspaces" in union.DESCR


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_subspaces": 0}, "n_subspaces=0 .*choose 1 or more"),
        ({"n_subspaces": 2.0}, "n_subspaces=2.0"),
        ({"n_features": True}, "n_features=True"),
        ({"dims": 101}, "dims=101 exceeds n_features=100; choose at most 100"),
        ({"dims": [1, 2]}, "dims has 2 values for 3 subspaces; pass 1 integer or 3"),
        ({"n_per_subspace": [5, 0, 5]}, "n_per_subspace=0"),
        ({"noise": -0.1}, "noise=-0.1 .*choose 0 or more"),
        ({"noise": np.nan}, "noise=nan"),
        ({"noise": "loud"}, "noise='loud'"),
        ({"missing": 1.0}, r"missing=1.0 .*share in \[0, 1\)"),
        ({"missing": 0.999}, "missing=0.999 sets all 100 .*at most 0.99"),
        ({"outliers": 1}, "outliers=1 is not below 1"),
        ({"affine_offset": np.inf}, "affine_offset=inf"),
        ({"affine_offset": 1, "dims": 100}, "choose dims at most 99"),
        ({"bases": "close"}, "bases='close' is unknown"),
        ({"bases": []}, r"shapes \[\]; pass at least 1"),
        ({"bases": [np.eye(3), np.eye(4)]}, "all with the same n_features"),
        ({"bases": [2 * np.eye(3)]}, "basis 0 is off orthonormal by 3"),
        ({"bases": [np.eye(3)], "n_features": 4}, r"n_features=4 but .* have 3"),
        ({"bases": [np.eye(3)], "dims": 2}, r"dims=\[2\] but .* leave dims out"),
        ({"bases": [np.eye(3)], "n_subspaces": 2}, "n_subspaces=2 but .* have 1"),
        ({"bases": "orthogonal", "dims": 40}, "sum of dims, 120, exceeds .*=100"),
        ({"random_state": "x"}, "random_state='x' is not a seed"),
        ({"random_state": -1}, "random_state=-1 is not a seed"),
    ],
)
def test_union_refuses_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        make_union_of_subspaces(**options)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 0.001, 0.08, 0.8, np.pi / 2])
def test_all_principal_angles_are_the_asked_one(angle):
    union = make_subspaces_at_angle(angle, dim=4, n_features=12, random_state=0)
    first, second, third = union.bases
    assert_orthonormal(union.bases)
    np.testing.assert_allclose(subspace_angles(first, second), angle, atol=3e-15)
    np.testing.assert_allclose(subspace_angles(first, third), angle, atol=3e-15)
    # arccos(cos(angle)^2) in a form that is exact for tiny angles.
    sine = np.sin(angle)
    between = np.arctan2(sine * np.sqrt(1 + np.cos(angle) ** 2), np.cos(angle) ** 2)
    np.testing.assert_allclose(subspace_angles(second, third), between, atol=3e-15)
    assert union.data.shape == (1500, 12)
    assert distance_to_own_subspace(union) < 1e-12
    np.testing.assert_allclose(np.linalg.norm(union.data, axis=1), 1, rtol=1e-13)


def test_angle_turns_subspaces_in_place():
    options = {"dim": 3, "n_features": 9, "n_per_subspace": [20, 30, 40]}
    near = make_subspaces_at_angle(0.1, random_state=1, **options)
    far = make_subspaces_at_angle(0.9, random_state=1, **options)
    np.testing.assert_array_equal(near.target, far.target)
    np.testing.assert_array_equal(near.bases[0], far.bases[0])
    for k in range(3):
        a, b = (u.data[u.target == k] @ u.bases[k] for u in (near, far))
        np.testing.assert_allclose(a, b, atol=1e-13)
    other = make_subspaces_at_angle(0.1, random_state=2, **options)
    assert not np.allclose(other.bases[0], near.bases[0])


def test_angle_noise_order_and_return_options():
    clean = make_subspaces_at_angle(0.5, random_state=3, shuffle=False)
    noisy = make_subspaces_at_angle(0.5, noise=0.2, random_state=3, shuffle=False)
    np.testing.assert_array_equal(clean.target, np.repeat([0, 1, 2], 500))
    energy = np.mean(np.sum((noisy.data - clean.data) ** 2, axis=1))
    assert energy == pytest.approx(0.04, rel=0.02)
    X, y = make_subspaces_at_angle(0.5, random_state=3, shuffle=False, return_X_y=True)
    np.testing.assert_array_equal(X, clean.data)
    np.testing.assert_array_equal(y, clean.target)


@pytest.mark.parametrize(
    ("angle", "options", "message"),
    [
        (30, {}, r"angle=30.0 exceeds pi/2; .*deg2rad\(30.0\)"),
        (-0.1, {}, "angle=-0.1"),
        (0.1, {"dim": 34}, "dim=34 needs .*102 .*at most 33 .*at least 102"),
        (0.1, {"dim": 0}, "dim=0"),
        (0.1, {"n_per_subspace": [1, 2]}, "n_per_subspace has 2 values for 3"),
        (0.1, {"noise": -1}, "noise=-1"),
    ],
)
def test_angle_refuses_bad_parameters(angle, options, message):
    with pytest.raises(ValueError, match=message):
        make_subspaces_at_angle(angle, **options)
