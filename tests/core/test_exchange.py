"""Swaps of subspaces between runs, against a plain search of all pairs."""

from itertools import product

import numpy as np
import pytest

from ekss.core import exchange
from ekss.core.exchange import choose_subspaces, pool_of, swap_subspaces
from ekss.core.ksubspaces import random_start
from ekss.core.linalg import Flats, squared_residuals


def cost_of(residuals, chosen):
    return residuals[:, list(chosen)].min(axis=1).sum()


def plain_swaps(residuals, chosen):
    """Make the best of all swaps, one after the other."""
    chosen = list(chosen)
    while True:
        swaps = []
        for place, column in product(range(len(chosen)), range(residuals.shape[1])):
            other = [*chosen[:place], column, *chosen[place + 1 :]]
            swaps.append((cost_of(residuals, other), other))
        cost, other = min(swaps)
        if cost >= cost_of(residuals, chosen) - 1e-9:
            return chosen
        chosen = other


@pytest.mark.parametrize("seed", range(5))
def test_swaps_are_those_of_a_plain_search(seed):
    residuals = np.random.default_rng(seed).random((40, 12))
    begun = np.arange(4)
    chosen = swap_subspaces(residuals, begun, 1e-9)
    assert chosen.tolist() == plain_swaps(residuals, begun)
    assert begun.tolist() == [0, 1, 2, 3]


def test_no_single_swap_lowers_the_cost_at_the_end():
    residuals = np.random.default_rng(0).random((60, 15))
    chosen = swap_subspaces(residuals, np.arange(5), 1e-9)
    best = cost_of(residuals, chosen)
    assert best < cost_of(residuals, range(5))
    for place, column in product(range(5), range(15)):
        other = chosen.copy()
        other[place] = column
        assert cost_of(residuals, other) >= best - 1e-9


def test_of_equal_swaps_the_first_is_made():
    residuals = np.array([[0.0, 9.0, 1.0, 1.0], [9.0, 9.0, 1.0, 1.0 - 1e-12]])
    assert swap_subspaces(residuals, np.array([0, 1]), 1e-9).tolist() == [0, 2]


@pytest.mark.parametrize("affine", [False, True])
def test_residuals_of_the_pool_are_squared_distances(affine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    runs = [random_start(X, 3, 2, affine, rng) for _ in range(2)]
    pool = pool_of(X, runs, seed=0)
    expected = np.hstack([squared_residuals(X, one) for one in runs])
    np.testing.assert_allclose(pool.residuals, expected, atol=1e-12)
    taken = pool.take((1, 4))
    np.testing.assert_array_equal(taken.bases, pool.flats.bases[[1, 4]])


def test_halves_of_two_runs_make_a_whole():
    axes = np.eye(4)[:, :, None]
    X = np.repeat(np.eye(4), 5, axis=0)
    runs = [Flats(axes[[0, 1, 1, 1]]), Flats(axes[[2, 3, 3, 3]])]
    pool = pool_of(X, runs, seed=0)
    for run in range(2):
        chosen = choose_subspaces(pool, run, slack=1e-9)
        assert cost_of(pool.residuals, chosen) == 0
    whole = pool_of(X, [Flats(axes), runs[0]], seed=0)
    assert choose_subspaces(whole, 0, slack=1e-9) is None


def test_a_sample_decides_where_residuals_would_be_too_many(monkeypatch):
    monkeypatch.setattr(exchange, "MOST_ENTRIES", 60)
    X = np.repeat(np.eye(4), 50, axis=0)
    runs = [Flats(np.eye(4)[:, :, None])] * 2
    pools = [pool_of(X, runs, seed=0) for _ in range(2)]
    assert pools[0].residuals.shape == (7, 8)
    np.testing.assert_array_equal(pools[0].residuals, pools[1].residuals)
