"""Lemma 3: the plane of the proof against brute force in R^D."""

import time

import numpy as np
import pytest

from ekss.core.ksubspaces import MemberOptions, run_member
from ekss.core.linalg import random_bases
from ekss.theory._coclustering import (
    coclustering_function,
    coclustering_probability,
    conditional_coclustering,
    restricted_projections,
    winning_arcs,
)

ANGLES = np.array([0.3, 0.8, 1.2, np.pi / 2])
# M = 0.8 I wins around both diagonals, the other two around one axis each.
TWO_SECTORS = np.array(
    [[np.diag([0.8, 0.8]), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]]
)


def points_at(angles, n_features):
    points = np.zeros((len(angles) + 1, n_features))
    points[0, 0] = 1
    points[1:, 0], points[1:, 1] = np.cos(angles), np.sin(angles)
    return points


def brute_force(n_candidates, dim, n_features, n_draws):
    rng = np.random.default_rng(7)
    points = points_at(ANGLES, n_features)
    together = np.zeros(len(ANGLES))
    for _ in range(n_draws):
        bases = random_bases(n_candidates, n_features, dim, rng)
        energy = np.square(points @ bases).sum(axis=2)
        label = energy.argmax(axis=0)
        together += label[1:] == label[0]
    return together / n_draws


def paper_formula(matrices, theta):
    """Lemma 3's formula with phi the whole measure of the angles a candidate wins."""
    n_draws, n_candidates = matrices.shape[:2]
    draw, start, end, owner = winning_arcs(matrices)
    phi = np.zeros((n_draws, n_candidates))
    np.add.at(phi, (draw, owner), (end - start) / 2)
    phi = phi[:, :, None]
    pieces = np.maximum(phi - theta, 0) + np.maximum(theta - np.pi + phi, 0)
    return pieces.sum(axis=1) / np.pi


def on_a_grid(matrices, theta, n_grid=20000):
    t = (np.arange(n_grid) + 0.5) * np.pi / n_grid

    def winner(at):
        z = np.stack([np.cos(at), np.sin(at)])
        return np.einsum("it,nkij,jt->nkt", z, matrices, z).argmax(axis=1)

    here = winner(t)
    return np.stack([(here == winner(t + a)).mean(axis=1) for a in theta], axis=1)


@pytest.mark.parametrize(
    ("n_candidates", "dim", "n_features"),
    [(2, 1, 2), (2, 1, 10), (3, 2, 3), (4, 3, 5), (5, 2, 30), (10, 3, 20), (6, 9, 10)],
)
def test_plane_agrees_with_brute_force(n_candidates, dim, n_features):
    n_draws = 6000
    result = coclustering_probability(ANGLES, n_candidates, dim, n_features)
    brute = brute_force(n_candidates, dim, n_features, n_draws)
    error = np.sqrt(result.probability * (1 - result.probability) / n_draws)
    error = np.hypot(error, result.standard_error)
    assert np.all(np.abs(brute - result.probability) < 4 * error)
    assert np.all(result.standard_error < 1.1e-3)


@pytest.mark.parametrize(("dim", "n_features"), [(1, 2), (1, 6), (5, 6), (3, 8)])
def test_restricted_projections_match_moments_of_real_ones(dim, n_features):
    rng = np.random.default_rng(3)
    drawn = restricted_projections(20000, 1, dim, n_features, rng)[:, 0]
    rows = random_bases(20000, n_features, dim, rng)[:, :2]
    real = rows @ rows.transpose(0, 2, 1)
    for power in (1, 2, 3):
        assert np.allclose((drawn**power).mean(0), (real**power).mean(0), atol=0.015)
    eigenvalues = np.linalg.eigvalsh(drawn)
    assert eigenvalues.min() > -1e-12
    assert eigenvalues.max() < 1 + 1e-12
    assert np.linalg.det(drawn).mean() == pytest.approx(
        np.linalg.det(real).mean(), abs=0.01
    )
    if dim == 1:
        assert np.abs(eigenvalues[:, 0]).max() < 1e-12
    if dim == n_features - 1:
        assert np.abs(eigenvalues[:, 1] - 1).max() < 1e-12


@pytest.mark.parametrize(("n_candidates", "dim"), [(3, 2), (10, 1), (10, 5), (25, 3)])
def test_conditional_probability_is_exact(n_candidates, dim):
    rng = np.random.default_rng(0)
    matrices = restricted_projections(20, n_candidates, dim, 6, rng)
    exact = conditional_coclustering(matrices, ANGLES)
    assert np.allclose(exact, on_a_grid(matrices, ANGLES), atol=3e-3)


@pytest.mark.parametrize(("n_candidates", "dim"), [(2, 3), (2, 5), (7, 1)])
def test_paper_formula_is_exact_for_two_candidates_or_lines(n_candidates, dim):
    rng = np.random.default_rng(1)
    matrices = restricted_projections(500, n_candidates, dim, 6, rng)
    exact = conditional_coclustering(matrices, ANGLES)
    assert np.allclose(exact, paper_formula(matrices, ANGLES), atol=1e-9)


def test_paper_formula_misses_candidates_that_win_two_sectors():
    theta = np.array([np.pi / 4, np.pi / 2])
    exact = conditional_coclustering(TWO_SECTORS, theta)
    assert np.allclose(exact, on_a_grid(TWO_SECTORS, theta), atol=1e-3)
    narrow = np.arccos(np.sqrt(0.8))
    # At pi/2 only the isotropic candidate's two sectors map to each other.
    assert exact[0, 1] == pytest.approx((np.pi - 4 * narrow) / np.pi)
    assert exact[0, 1] > exact[0, 0] + 0.1
    assert paper_formula(TWO_SECTORS, theta)[0, 1] == pytest.approx(0)
    rng = np.random.default_rng(2)
    matrices = restricted_projections(20000, 5, 2, 3, rng)
    gap = conditional_coclustering(matrices, ANGLES) - paper_formula(matrices, ANGLES)
    assert np.abs(gap.mean(axis=0)).max() > 0.03


@pytest.mark.parametrize("sizes", [(2, 1, 10), (3, 2, 3), (10, 3, 20), (5, 50, 100)])
def test_probability_decreases_from_one_to_its_minimum_at_right_angles(sizes):
    theta = np.linspace(0, np.pi / 2, 31)
    probability = coclustering_probability(theta, *sizes, n_draws=30000).probability
    assert probability[0] == pytest.approx(1, abs=1e-12)
    assert np.all(np.diff(probability) < 0)
    # Co-clustering by chance, 1/K, is not a floor: right angles can repel.
    assert 0 < probability[-1] < 1


def test_one_candidate_takes_all():
    result = coclustering_probability(ANGLES, 1, 2, 5, n_draws=100)
    assert np.allclose(result.probability, 1, atol=1e-12)


def test_lines_in_the_plane_have_the_known_probability():
    # Two random lines in R^2: each wins a quarter turn on either side of itself.
    result = coclustering_probability(ANGLES, 2, 1, 2)
    assert np.allclose(result.probability, 1 - 2 * ANGLES / np.pi, atol=1e-9)


def test_agrees_with_the_members_of_ekss_0():
    X = points_at(ANGLES, 12)
    options = MemberOptions((4, 4), (3, 3), max_iter=0)
    n_members = 3000
    labels = np.stack(
        [run_member(X, 0, member, options).labels for member in range(n_members)]
    )
    together = (labels[:, 1:] == labels[:, :1]).mean(axis=0)
    expected = coclustering_probability(ANGLES, 4, 3, 12).probability
    error = np.sqrt(expected * (1 - expected) / n_members)
    assert np.all(np.abs(together - expected) < 4 * error)


def test_standard_error_is_honest():
    runs = [
        coclustering_probability(1.0, 5, 2, 10, n_draws=500, random_state=seed)
        for seed in range(200)
    ]
    spread = np.std([run.probability for run in runs])
    claimed = np.mean([run.standard_error for run in runs])
    assert spread == pytest.approx(claimed, rel=0.2)


def test_same_seed_same_result_and_scalar_in_scalar_shape_out():
    first = coclustering_probability(0.5, 3, 2, 6, n_draws=5000, random_state=4)
    again = coclustering_probability([0.5], 3, 2, 6, n_draws=5000, random_state=4)
    assert first.probability.shape == ()
    assert again.probability.shape == (1,)
    assert first.probability == pytest.approx(again.probability[0], rel=1e-12)


def test_function_of_inner_products_increases_and_agrees():
    f = coclustering_function(4, 2, 8)
    inner = np.linspace(0, 1, 500)
    assert np.all(np.diff(f(inner)) >= 0)
    assert f(np.array([1.0])) == pytest.approx(1)
    expected = coclustering_probability(ANGLES, 4, 2, 8).probability
    assert np.allclose(f(np.cos(ANGLES)), expected, atol=5e-4)


def test_a_thousandth_takes_less_than_a_second():
    coclustering_probability(0.8, 10, 3, 100, n_draws=100)
    before = time.process_time()
    result = coclustering_probability(0.8, 10, 3, 100)
    # Alone on a core it takes half a second; the slack is for busy machines.
    assert time.process_time() - before < 1.5
    assert result.standard_error < 5e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2.0, 3, 2, 5), "outside"),
        ((np.nan, 3, 2, 5), "outside"),
        ((0.5, 0, 2, 5), "n_candidates=0"),
        ((0.5, 3, 5, 5), "dim=5"),
        ((0.5, 3, 0, 5), "dim=0"),
    ],
)
def test_impossible_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        coclustering_probability(*arguments)


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="n_draws=1"):
        coclustering_probability(0.5, 3, 2, 5, n_draws=1)
