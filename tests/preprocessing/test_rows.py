import numpy as np
import pytest
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.core.linalg import unit_rows
from ekss.preprocessing import UnitRows


@parametrize_with_checks([UnitRows()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("digits", [-30, 0, 30])
def test_rows_get_unit_length_at_any_scale(dtype, digits):
    X = np.random.default_rng(0).standard_normal((20, 7)).astype(dtype)
    scaled = UnitRows().fit_transform(X * dtype(10.0) ** digits)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(scaled, Normalizer().fit_transform(X), atol=1e-6)


def test_zero_rows_stay_zero():
    np.testing.assert_array_equal(unit_rows(np.zeros((2, 3))), np.zeros((2, 3)))


def test_transform_needs_no_fit_and_leaves_its_input_alone():
    X = np.array([[3.0, 4.0]])
    np.testing.assert_allclose(UnitRows().transform(X), [[0.6, 0.8]])
    np.testing.assert_array_equal(X, [[3.0, 4.0]])


def test_names_of_columns_are_kept():
    model = UnitRows().set_output(transform="pandas").fit([[1.0, 2.0]])
    assert list(model.transform([[1.0, 2.0]]).columns) == ["x0", "x1"]
