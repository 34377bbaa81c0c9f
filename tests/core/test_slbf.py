"""Local best-fit flats against the plain definitions."""

import numpy as np
import pytest

from ekss.core.slbf import (
    distances_to_each,
    flat_weights,
    local_flats,
    most_neighbours,
    nearest_points,
    nearest_to_flats,
    neighbourhood_sizes,
)

both = pytest.mark.parametrize("affine", [False, True])


def noisy_planes(affine, seed=0, n=30):
    """Three noisy planes in eight dimensions, through the origin or not."""
    rng = np.random.default_rng(seed)
    offsets = 2 * affine * rng.standard_normal((3, 8))
    planes = [
        rng.standard_normal((n, 2)) @ rng.standard_normal((2, 8)) + offset
        for offset in offsets
    ]
    return np.vstack(planes) + 0.02 * rng.standard_normal((3 * n, 8))


def plain_fit(points, dim, affine):
    """Centre and basis of the flat of least squared distances, by an SVD."""
    centre = points.mean(axis=0) if affine else np.zeros(points.shape[1])
    return centre, np.linalg.svd(points - centre)[2][:dim]


def plain_errors(points, centre, basis):
    seen = points - centre
    return np.linalg.norm(seen - seen @ basis.T @ basis, axis=1)


def plain_neighbourhood(X, i, dim, affine):
    """Zhang et al., Algorithm 1: the first local minimum of the beta number."""
    signs = np.ones(len(X)) if affine else np.where(X @ X[i] < 0, -1, 1)
    distances = np.linalg.norm(signs[:, None] * X - X[i], axis=1)
    order = np.argsort(distances, kind="stable")
    betas, sizes = [], range(2 * dim + 1, most_neighbours(len(X), dim) + 1, 2)
    for size in sizes:
        near = order[:size]
        errors = plain_errors(X[near], *plain_fit(X[near], dim, affine))
        betas.append(np.sqrt(np.mean(errors**2)) / distances[near].max())
    places = range(1, len(sizes) - 1)
    low = [k for k in places if betas[k] < min(betas[k - 1], betas[k + 1])]
    return order[: sizes[low[0] if low else int(np.argmin(betas))]]


@both
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_neighbourhoods_and_flats_are_those_of_the_definition(affine, dim):
    X = noisy_planes(affine)
    flats = local_flats(X, np.arange(len(X)), dim, affine=affine)
    for i in range(0, len(X), 4):
        near = plain_neighbourhood(X, i, dim, affine)
        assert flats.sizes[i] == len(near)
        centre, basis = plain_fit(X[near], dim, affine)
        found = flats.bases[i]
        np.testing.assert_allclose(found.T @ found, basis.T @ basis, atol=1e-8)
        np.testing.assert_allclose(flats.centres[i], centre, atol=1e-12)
    assert len(set(flats.sizes)) > 2


@both
def test_nearest_points_are_sorted_by_distance_and_begin_with_the_point(affine):
    X = noisy_planes(affine, seed=1)
    index, distance = nearest_points(X, np.array([5, 70]), 12, affine=affine)
    for row, i in enumerate((5, 70)):
        gaps = np.linalg.norm(X - X[i], axis=1)
        if not affine:
            gaps = np.minimum(gaps, np.linalg.norm(X + X[i], axis=1))
        np.testing.assert_array_equal(index[row], np.argsort(gaps, kind="stable")[:12])
        np.testing.assert_allclose(distance[row], np.sort(gaps)[:12], atol=1e-7)


def test_exact_neighbourhoods_grow_until_another_cluster_comes_in():
    rng = np.random.default_rng(2)
    here = rng.uniform(-1, 1, (20, 1)) * [1.0, 0, 0]
    there = rng.uniform(-1, 1, (20, 1)) * [0, 1.0, 0] + [0, 0, 3.0]
    X = np.vstack([here, there])
    flats = local_flats(X, np.arange(20), 1, affine=True)
    # 3, 5, ..., 19 points of the line; 21 would take one of the other.
    assert (flats.sizes == 19).all()
    errors = distances_to_each(X, flats, [np.arange(20)] * 20)
    assert errors.max() < 1e-12


@both
def test_lists_hold_the_points_nearest_to_each_flat(affine):
    X = noisy_planes(affine, seed=3)
    rows = np.array([3, 40, 77])
    flats = local_flats(X, rows, 2, affine=affine)
    index = nearest_to_flats(X, rows, flats, q=7)
    for place, i in enumerate(rows):
        errors = plain_errors(X, flats.centres[place], flats.bases[place])
        own, errors[i] = errors[i], np.inf
        assert set(index[place]) == set(np.argsort(errors)[:7])
        seen = distances_to_each(X, flats, [[i] if one == i else [] for one in rows])
        np.testing.assert_allclose(seen, [own])


def test_weights_are_those_of_the_definition_and_symmetric():
    rng = np.random.default_rng(4)
    D = rng.exponential(size=(6, 6))
    index = np.array([np.delete(np.arange(6), i) for i in range(6)])
    onward, back = np.take_along_axis(D, index, 1), np.take_along_axis(D.T, index, 1)
    weights = flat_weights(index, onward, back, rounding=1e-9)
    S = np.sqrt(D * D.T)
    widths = [np.sqrt(np.median(np.delete(S[i], i) ** 2)) for i in range(6)]
    for i in range(6):
        for j, weight in zip(index[i], weights[i], strict=True):
            parts = [np.exp(-(S[i, j] ** 2) / 2 / widths[k] ** 2) for k in (i, j)]
            assert np.isclose(weight, sum(parts))
    assert (flat_weights(index, 0 * onward, back, rounding=1e-9) == 2).all()


def test_equal_points_and_few_points_do_no_harm():
    X = np.repeat(np.eye(4)[:2], 3, axis=0)
    flats = local_flats(X, np.arange(6), 3, affine=True)
    assert np.isfinite(flats.bases).all()
    assert (flats.sizes == 6).all()
    gram, distance = np.zeros((1, 5, 5)), np.zeros((1, 5))
    assert neighbourhood_sizes(gram, distance, 1, affine=False).tolist() == [5]
