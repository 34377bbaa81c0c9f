"""Low-rank Gaussians fitted to observed entries, against slow and obvious ones."""

from dataclasses import replace

import numpy as np
import pytest

from ekss.core.completion import (
    Completion,
    completion_of,
    fit_completion,
    fit_each,
    fit_one,
    hold_out,
    observe,
    refine,
    solve_packed,
)
from ekss.core.linalg import Flats, random_bases


def some_completion(rng, *, affine=False, n_components=3, n_features=8, rank=2):
    means = rng.standard_normal((n_components, n_features)) if affine else None
    shares = np.arange(1.0, n_components + 1)
    return Completion(
        rng.standard_normal((n_components, n_features, rank)),
        means,
        rng.uniform(0.1, 0.5, n_components),
        shares / shares.sum(),
        unit=False,
    )


def with_holes(rows, share, rng):
    return np.where(rng.random(rows.shape) < share, np.nan, rows)


def conditional(model, row):
    """Mean and variance of a row given its observed entries, by full covariances."""
    seen = ~np.isnan(row)
    logs, means, variances = [], [], []
    for k, loadings in enumerate(model.loadings):
        mean = np.zeros(len(row)) if model.means is None else model.means[k]
        covariance = loadings @ loadings.T + model.noise[k] * np.eye(len(row))
        inner = covariance[np.ix_(seen, seen)]
        gain = covariance[:, seen] @ np.linalg.inv(inner)
        rest = row[seen] - mean[seen]
        means.append(mean + gain @ rest)
        variances.append(np.diag(covariance - gain @ covariance[seen]))
        logs.append(
            np.log(model.shares[k])
            - 0.5 * rest @ np.linalg.solve(inner, rest)
            - 0.5 * np.linalg.slogdet(2 * np.pi * inner)[1]
        )
    odds = np.exp(np.array(logs) - max(logs))
    odds /= odds.sum()
    mean = odds @ np.array(means)
    square = odds @ (np.array(means) ** 2 + np.array(variances))
    return np.where(seen, row, mean), np.where(seen, 0, square - mean**2)


@pytest.mark.parametrize("affine", [False, True])
def test_entries_are_the_conditional_means_of_a_mixture(affine):
    rng = np.random.default_rng(0)
    model = some_completion(rng, affine=affine)
    rows = with_holes(rng.standard_normal((20, 8)), 0.4, rng)
    rows[:, 0] = 1.0
    filled, errors = model.estimate(rows)
    for row, found, error in zip(rows, filled, errors, strict=True):
        mean, variance = conditional(model, row)
        np.testing.assert_allclose(found, mean, atol=1e-5)
        np.testing.assert_allclose(error**2, variance, atol=1e-5)
    np.testing.assert_array_equal(model(rows), filled)


def test_small_systems_are_solved_as_numpy_does():
    rng = np.random.default_rng(1)
    halves = rng.standard_normal((5, 4, 6))
    matrices = halves @ halves.transpose(0, 2, 1)
    right = rng.standard_normal((5, 4))
    upper = np.triu_indices(4)
    found = solve_packed(matrices[:, *upper], right, 0.3, True)
    ridged = matrices + 0.3 * np.eye(4)
    inverses = np.linalg.inv(ridged)
    np.testing.assert_allclose(
        found[0], np.linalg.solve(ridged, right[..., None])[..., 0]
    )
    np.testing.assert_allclose(found[1], inverses[:, *upper], atol=1e-10)
    np.testing.assert_allclose(found[2], np.linalg.slogdet(ridged)[1])
    fewer = solve_packed(matrices[:, *upper], right, 0.3, False)
    np.testing.assert_array_equal(fewer[0], found[0])
    assert fewer[1].shape == (0, 10)


@pytest.mark.parametrize("affine", [False, True])
def test_subspaces_are_found_from_observed_entries(affine):
    rng = np.random.default_rng(2)
    bases = random_bases(2, 12, 2, rng)
    labels = np.repeat([0, 1], 60)
    whole = np.einsum("ndk,nk->nd", bases[labels], rng.standard_normal((120, 2)))
    if affine:
        whole = whole + rng.standard_normal((2, 12))[labels]
    rows = with_holes(whole, 0.3, rng)
    rows[:, 0] = whole[:, 0]
    begun = labels.copy()
    begun[::6] = 1 - begun[::6]
    zeros = np.where(np.isnan(rows), 0, rows)
    model = fit_completion(rows, zeros, [begun], 2, unit=False, affine=affine)
    filled, errors = model.estimate(rows)
    holes = np.isnan(rows)
    assert np.sqrt(np.square((filled - whole)[holes]).mean()) < 0.05
    assert (errors[~holes] == 0).all()
    assert (errors[holes] > 0).all()
    np.testing.assert_array_equal(filled[~holes], whole[~holes])
    more = refine(model, rows)(rows)
    assert np.abs(more - filled)[holes].max() < 0.1


def test_the_most_likely_start_is_followed():
    rng = np.random.default_rng(3)
    bases = random_bases(2, 10, 1, rng)
    labels = np.repeat([0, 1], 40)
    whole = bases[labels, :, 0] * rng.standard_normal((80, 1))
    rows = with_holes(whole, 0.2, rng)
    rows[:, 0] = whole[:, 0]
    zeros = np.where(np.isnan(rows), 0, rows)
    options = {"unit": True, "affine": False}
    good = fit_completion(rows, zeros, [labels], 1, **options)
    both = fit_completion(rows, zeros, [np.arange(80) % 2, labels], 1, **options)
    np.testing.assert_allclose(both(rows), good(rows), atol=1e-2)


@pytest.mark.parametrize("factor", [1e-150, 1.0, 1e150])
def test_nothing_depends_on_the_lengths_of_unit_rows(factor):
    rng = np.random.default_rng(4)
    whole = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 9))
    rows = with_holes(whole, 0.2, rng)
    rows[:, 0] = whole[:, 0]
    lengths = np.linspace(1, 3, 60)[:, None] * factor
    everyone = [np.zeros(60, int)]
    options = {"unit": True, "affine": False}
    zeros = np.where(np.isnan(rows), 0, rows)
    plain = fit_completion(rows, zeros, everyone, 2, **options)(rows)
    scaled = fit_completion(rows * lengths, zeros * lengths, everyone, 2, **options)
    np.testing.assert_allclose(scaled(rows * lengths) / lengths, plain, atol=1e-6)


def test_given_subspaces_complete_by_least_squares():
    rng = np.random.default_rng(5)
    bases = random_bases(2, 10, 3, rng)
    offsets = rng.standard_normal((2, 10))
    whole = offsets[1] + bases[1] @ rng.standard_normal(3)
    row = whole.copy()
    row[:4] = np.nan
    model = completion_of(Flats(bases, offsets), unit=False)
    np.testing.assert_allclose(model(row[None])[0], whole, atol=0.05)
    fewer = np.where(np.arange(10) < 8, np.nan, whole)
    assert np.isfinite(model(fewer[None])).all()


def test_the_length_of_a_row_is_guessed_from_what_is_observed():
    row = np.array([[3.0, np.nan, 4.0, np.nan]])
    seen = observe(row, unit=True)
    np.testing.assert_allclose(seen.lengths, np.sqrt(50))
    np.testing.assert_allclose(seen.values * seen.lengths, [[3, 0, 4, 0]])


def test_rows_of_zeros_are_completed_by_zeros():
    rows = np.zeros((10, 4))
    rows[::2, 1] = np.nan
    everyone = [np.zeros(10, int)]
    model = fit_completion(
        rows, np.zeros((10, 4)), everyone, 2, unit=True, affine=False
    )
    np.testing.assert_array_equal(model(rows), np.zeros((10, 4)))


def test_entries_are_held_out_and_no_row_loses_all():
    rng = np.random.default_rng(7)
    rows = with_holes(rng.standard_normal((200, 10)), 0.3, rng)
    rows[:50, 1:] = np.nan
    rows[:50, 0] = 1.0
    held = hold_out(rows, 0.2, rng)
    np.testing.assert_array_equal(held.values, rows[held.places])
    assert np.isnan(held.rows[held.places]).all()
    assert np.isnan(held.rows).sum() == np.isnan(rows).sum() + len(held.values)
    assert not np.isnan(held.rows).all(axis=1).any()
    assert 0.1 < len(held.values) / (~np.isnan(rows)).sum() < 0.25


@pytest.mark.parametrize("true_rank", [4, 18])
def test_one_gaussian_has_the_directions_that_held_out_entries_need(true_rank):
    rng = np.random.default_rng(8)
    whole = rng.standard_normal((150, true_rank)) @ rng.standard_normal((true_rank, 50))
    whole += 0.3 * rng.standard_normal(whole.shape)
    rows = with_holes(whole, 0.2, rng)
    held = hold_out(rows, 0.1, rng)
    model = fit_one(held)
    # The ladder is 5, 10, 20: the first that holds the true ones.
    assert model.loadings.shape[2] == {4: 5, 18: 20}[true_rank]
    assert held.error(model) < 0.1


def test_many_directions_are_found_by_filling_in():
    rng = np.random.default_rng(10)
    whole = rng.standard_normal((300, 40)) @ rng.standard_normal((40, 120))
    noise = 0.3 * rng.standard_normal(whole.shape)
    rows = with_holes(whole + noise, 0.2, rng)
    held = hold_out(rows, 0.05, rng)
    model = fit_one(held)
    # The ladder is 5, 10, 20, 50, and then half of the features.
    assert model.loadings.shape[2] in (50, 60)
    assert held.error(model) < 0.02
    holes = np.isnan(rows)
    size = np.sqrt(np.square(whole[holes]).mean())

    def off(filled):
        return np.sqrt(np.square((filled - whole)[holes]).mean()) / size

    refined = refine(model, rows)
    assert refined.loadings.shape == model.loadings.shape
    assert off(refined(rows)) < off(model(rows)) < 0.15


def test_clusters_that_no_row_leaves_have_their_own_subspaces():
    rng = np.random.default_rng(11)
    bases = random_bases(2, 15, 3, rng)
    labels = np.repeat([0, 1], 50)
    whole = np.einsum("ndk,nk->nd", bases[labels], rng.standard_normal((100, 3)))
    rows = with_holes(whole, 0.2, rng)
    zeros = np.where(np.isnan(rows), 0, rows)
    model = fit_each(rows, zeros, labels, 3, unit=True, affine=False)
    np.testing.assert_allclose(model.shares, [0.5, 0.5])
    filled = model(rows)
    holes = np.isnan(rows)
    assert np.sqrt(np.square((filled - whole)[holes]).mean()) < 0.1


@pytest.mark.parametrize("factor", [0.5, 1.0, 10.0])
def test_calibration_is_the_ratio_of_errors_to_standard_errors(factor):
    rng = np.random.default_rng(9)
    model = some_completion(rng, n_components=1, n_features=30, rank=3)
    noise = rng.standard_normal((300, 30)) * np.sqrt(model.noise[0])
    whole = rng.standard_normal((300, 3)) @ model.loadings[0].T + noise
    held = hold_out(whole, 0.2, rng)
    wrong = replace(
        model,
        loadings=model.loadings * factor,
        noise=model.noise * factor**2,
    )
    assert abs(held.calibration(wrong) * factor - 1) < 0.1
