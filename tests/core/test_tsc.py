"""Nearest points by angle: equality with the dense computation, ties, zero rows."""

import numpy as np
import pytest

from ekss.core import tsc
from ekss.core.tsc import angle_weights, nearest_by_angle


def dense_nearest(X, q, group=None):
    """The q largest absolute inner products of every row, by full sorting."""
    group = np.arange(len(X)) if group is None else group
    products = np.abs(X @ X.T).astype(np.float64)
    products[group[:, None] == group[None, :]] = 0
    index = np.argsort(-products, axis=1, kind="stable")[:, :q].astype(np.int32)
    value = np.take_along_axis(products, index, axis=1)
    index[value == 0] = -1
    return index, value


def small_integers(n, seed, dtype=np.float64):
    """Points whose inner products are exact, with many ties and some zero rows."""
    X = np.random.default_rng(seed).integers(-2, 3, (n, 3)).astype(dtype)
    X[::50] = 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "q"), [(12, 11), (700, 1), (2500, 30)])
def test_blocked_lists_equal_dense_lists_with_ties_and_zero_rows(n, q, dtype):
    X = small_integers(n, seed=0, dtype=dtype)
    index, value = nearest_by_angle(X, q)
    expected_index, expected_value = dense_nearest(X, q)
    assert np.array_equal(index, expected_index)
    assert np.array_equal(value, expected_value)
    assert (index[0] == -1).all()


def test_blocked_lists_equal_dense_lists_on_generic_points():
    X = np.random.default_rng(1).standard_normal((1200, 20))
    index, value = nearest_by_angle(X, 7)
    expected_index, expected_value = dense_nearest(X, 7)
    assert np.array_equal(index, expected_index)
    assert np.allclose(value, expected_value, rtol=1e-12)


def test_tile_sizes_have_no_influence(monkeypatch):
    X = small_integers(300, seed=2)
    whole = nearest_by_angle(X, 5)
    monkeypatch.setattr(tsc, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(tsc, "_COLUMNS_AT_ONCE", 11)
    tiled = nearest_by_angle(X, 5)
    assert np.array_equal(whole[0], tiled[0])
    assert np.array_equal(whole[1], tiled[1])


def test_chosen_rows_equal_rows_of_all():
    X = small_integers(900, seed=3)
    rows = np.array([5, 899, 0, 5, 600])
    index, value = nearest_by_angle(X, 4, rows=rows)
    all_index, all_value = nearest_by_angle(X, 4)
    assert np.array_equal(index, all_index[rows])
    assert np.array_equal(value, all_value[rows])


def test_own_group_is_left_out():
    X = small_integers(400, seed=4)
    group = np.random.default_rng(4).integers(0, 3, 400)
    index, value = nearest_by_angle(X, 6, group=group)
    expected_index, expected_value = dense_nearest(X, 6, group)
    assert np.array_equal(index, expected_index)
    assert np.array_equal(value, expected_value)


def test_no_neighbours_when_all_points_are_in_one_group():
    X = np.random.default_rng(5).standard_normal((10, 3))
    index, value = nearest_by_angle(X, 2, group=np.zeros(10, int))
    assert (index == -1).all()
    assert (value == 0).all()


def test_sign_of_points_has_no_influence():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((200, 5))
    signs = rng.choice([-1.0, 1.0], (200, 1))
    plain, flipped = nearest_by_angle(X, 5), nearest_by_angle(X * signs, 5)
    assert np.array_equal(plain[0], flipped[0])


def test_weights_decrease_with_the_angle_and_survive_rounding():
    angles = np.linspace(0, np.pi / 2, 20)
    weights = angle_weights(np.cos(angles))
    assert np.allclose(weights, np.exp(-2 * angles))
    assert angle_weights(np.array([1 + 1e-7, -1 - 1e-7])).tolist() == [1.0, 1.0]
