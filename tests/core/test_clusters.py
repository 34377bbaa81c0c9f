"""Clusters are described by subspaces of their own dimensions, without outliers."""

import numpy as np
import pytest

from ekss.core.linalg import (
    Flats,
    describe_clusters,
    distances_to_flats,
    find_dim,
    is_near,
    nearest_flats,
    outlier_score,
    own_distances,
    score_points,
    squared_residuals,
    unit_rows,
)
from ekss.datasets import make_union_of_subspaces

EPS = np.finfo(float).eps
DIMS = [1, 2, 5, 10, 20]


def everyone(points):
    return np.ones(len(points), bool)


def described(X, labels, **how):
    asked = {"dim": 3, "within": (1, X.shape[1]), "affine": False} | how
    return describe_clusters(X, labels, labels.max() + 1, **asked)


def scores(found, labels):
    return found.spreads.scores(found.distances, labels)


def planted(noise, outliers=0.0, seed=0, **how):
    """Draw a union, and put its outliers into clusters at random."""
    union = make_union_of_subspaces(
        len(DIMS),
        DIMS,
        60,
        n_per_subspace=120,
        noise=noise,
        outliers=outliers,
        random_state=seed,
        **how,
    )
    rng = np.random.default_rng(seed)
    apart = union.target < 0
    anywhere = rng.integers(len(DIMS), size=len(apart))
    return union.data, np.where(apart, anywhere, union.target), apart


@pytest.mark.parametrize("outliers", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
def test_each_cluster_has_its_own_dimension(noise, outliers):
    X, labels, apart = planted(noise, outliers)
    found = described(unit_rows(X), labels)
    np.testing.assert_array_equal(found.flats.dims, DIMS)
    marked = scores(found, labels) > outlier_score(scores(found, labels), "auto")
    assert marked[apart].mean() > 0.95 if apart.any() else True
    assert marked[~apart].mean() < 0.02


def test_dimensions_of_affine_subspaces_do_not_depend_on_the_origin():
    X, labels, _ = planted(0.1, affine_offset=2.0)
    one = described(X, labels, affine=True)
    other = described(X + 7.0, labels, affine=True)
    np.testing.assert_array_equal(one.flats.dims, DIMS)
    np.testing.assert_array_equal(other.flats.dims, DIMS)
    np.testing.assert_allclose(other.distances, one.distances, rtol=1e-6)


def test_scores_do_not_depend_on_scale_or_rotation():
    X, labels, _ = planted(0.1, 0.1)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    one, other = described(X, labels), described(8 * X @ turn, labels)
    np.testing.assert_allclose(
        scores(other, labels), scores(one, labels), rtol=1e-5, atol=1e-5
    )


def test_bases_are_orthonormal_and_end_in_zeros():
    X, labels, _ = planted(0.1)
    bases = described(X, labels).flats.bases
    for basis, dim in zip(bases, DIMS, strict=True):
        np.testing.assert_allclose(
            basis.T @ basis, np.diag(np.arange(20) < dim), atol=1e-12
        )


def test_points_without_a_dimension_show_none():
    rng = np.random.default_rng(0)
    decaying = rng.standard_normal((200, 40)) * 0.85 ** np.arange(40)
    assert find_dim(decaying, everyone(decaying), affine=False, exact=EPS)[0] is None
    found = described(decaying, np.zeros(200, int), dim=7)
    assert found.flats.dims.tolist() == [7]


def test_white_noise_shows_no_more_than_one_dimension():
    rng = np.random.default_rng(0)
    draws = [rng.standard_normal((100, 30)) for _ in range(50)]
    shown = [find_dim(one, everyone(one), affine=False, exact=EPS)[0] for one in draws]
    assert shown.count(1) >= 49


def test_a_dimension_outside_the_range_is_not_taken():
    X, labels, _ = planted(0.1)
    found = described(X, labels, dim=4, within=(2, 8))
    assert found.flats.dims.tolist() == [4, 2, 5, 4, 4]
    fixed = described(X, labels, dim=4, within=(4, 4))
    assert fixed.flats.dims.tolist() == [4] * 5


def test_distances_are_those_from_a_fit_without_the_point():
    X, labels, _ = planted(0.3)
    rows = np.flatnonzero(labels == 2)[:30]
    points = X[rows]
    found = described(points, np.zeros(30, int), dim=5, within=(5, 5))

    def without(i):
        rest = np.delete(points, i, axis=0)
        basis = np.linalg.svd(rest, full_matrices=False)[2][:5].T
        return float(distances_to_flats(points[[i]], Flats(basis[None]))[0, 0])

    left_out = np.array([without(i) for i in range(30)])
    plain = own_distances(points, np.zeros(30, int), found.flats)
    off, plain_off = np.abs(found.distances - left_out), np.abs(plain - left_out)
    assert off.mean() < plain_off.mean() / 2


def test_a_point_that_pulls_a_direction_to_itself_lies_apart():
    X, labels, _ = planted(0.05)
    points = X[labels == 1]
    stray = np.eye(60)[:1] * 5
    both = np.concatenate([points, stray])
    found = described(both, np.zeros(len(both), int), dim=3, within=(3, 3))
    assert scores(found, np.zeros(len(both), int)).argmax() == len(points)
    assert found.distances[-1] > 4


@pytest.mark.parametrize(
    "X", [np.zeros((4, 3)), np.ones((4, 3)), np.eye(3)[:1], np.eye(3)[[0, 0, 1]]]
)
@pytest.mark.parametrize("affine", [False, True])
def test_degenerate_clusters_have_at_least_one_direction(X, affine):
    labels = np.zeros(len(X), int)
    found = describe_clusters(X, labels, 2, dim=2, within=(1, 3), affine=affine)
    assert (found.flats.dims >= 1).all()
    assert np.isfinite(found.distances).all()
    assert np.isfinite(scores(found, labels)).all()


def test_scores_of_given_subspaces_are_those_of_the_definition():
    X, labels, _ = planted(0.1)
    flats = described(X, labels).flats
    for k in range(len(DIMS)):
        rows = labels == k
        own = distances_to_flats(X[rows], flats)[:, k]
        quarter, middle = np.quantile(own, [0.25, 0.5])
        expected = (own - middle) / ((middle - quarter) / 0.6745)
        np.testing.assert_allclose(score_points(X, labels, flats)[rows], expected)


def test_nearest_subspace_is_fair_between_dimensions():
    X, labels, _ = planted(0.5)
    flats = described(X, labels).flats
    squared = distances_to_flats(X, flats) ** 2
    np.testing.assert_array_equal(nearest_flats(squared, flats), labels)
    # One line and the space around it: noise lies nearer to the space.
    line, plane = np.eye(4)[:, [0]], np.eye(4)[:, [1, 2, 3]]
    two = Flats(np.stack([np.pad(line, ((0, 0), (0, 2))), plane]))
    assert nearest_flats(np.array([[0.3, 0.2], [0.7, 0.2]]), two).tolist() == [0, 1]
    alike = Flats(np.stack([np.eye(4)[:, :2], np.eye(4)[:, 2:]]))
    assert nearest_flats(np.array([[0.3, 0.2]]), alike).tolist() == [1]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_share_of_the_points_is_marked(share):
    values = np.random.default_rng(0).standard_normal(200)
    assert (values > outlier_score(values, share)).sum() == 200 * share
    assert not (values > outlier_score(values, None)).any()


def test_points_that_show_no_dimension_do_not_lie_apart_from_their_own_subspace():
    rng = np.random.default_rng(8)
    turns = [np.linalg.qr(rng.standard_normal((60, 60)))[0] for _ in range(3)]
    decay = 0.9 ** np.arange(60)  # no direction is the last that counts
    lengths = np.exp(0.9 * rng.standard_normal((3, 64, 1)))
    X = lengths * rng.standard_normal((3, 64, 60)) * decay
    X = (X @ np.stack(turns)).reshape(-1, 60)
    labels = np.repeat([0, 1, 2], 64)
    found = describe_clusters(X, labels, 3, dim=8, within=(1, 60), affine=False)
    assert (found.flats.dims == 8).all()
    assert is_near(found.spreads.scores(found.distances, labels)).mean() > 0.9
    nearest = squared_residuals(X, found.flats).argmin(axis=1)
    assert (nearest == labels).mean() > 0.95
    principal = np.linalg.svd(X[:64])[2][:8].T
    np.testing.assert_allclose(
        principal @ principal.T,
        found.flats.bases[0] @ found.flats.bases[0].T,
        atol=1e-8,
    )
