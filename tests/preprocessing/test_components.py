import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import EKSS, TSC, PaperEKSS
from ekss.core.linalg import leading_spectrum
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble.prepare import whitened_directions
from ekss.metrics import clustering_error
from ekss.preprocessing import (
    PrincipalComponents,
    RemoveComponents,
    UnitRows,
    WhitenedComponents,
)

# A singular value decomposition, X^T X and X X^T, in this order.
SHAPES = [(60, 40), (400, 300), (300, 400)]


def decaying(shape, seed=0):
    rng = np.random.default_rng(seed)
    scales = 0.8 ** np.arange(shape[1])
    return 3 + rng.standard_normal(shape) * (scales + 1e-3)


@parametrize_with_checks(
    [
        RemoveComponents(),
        PrincipalComponents(1),
        PrincipalComponents(1, center=False),
        WhitenedComponents(1),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("center", [True, False])
def test_principal_components_are_those_of_numpy(shape, center):
    X = decaying(shape)
    mean = X.mean(axis=0) if center else np.zeros(shape[1])
    _, values, directions = np.linalg.svd(X - mean, full_matrices=False)
    model = PrincipalComponents(5, center=center).fit(X)
    cosines = np.abs((model.components_ * directions[:5]).sum(axis=1))
    np.testing.assert_allclose(cosines, 1, atol=1e-10)
    np.testing.assert_allclose(model.singular_values_, values[:5], rtol=1e-10)
    shares = values**2 / (values @ values)
    np.testing.assert_allclose(model.explained_variance_ratio_, shares[:5], rtol=1e-9)
    np.testing.assert_allclose(model.mean_, mean)
    expected = (X - mean) @ model.components_.T
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_signs_do_not_depend_on_those_of_the_data(shape):
    X = decaying(shape)
    components = PrincipalComponents(4).fit(X).components_
    np.testing.assert_allclose(
        PrincipalComponents(4).fit(-X).components_, components, atol=1e-9
    )
    peaks = np.abs(components).argmax(axis=1)
    assert (components[np.arange(4), peaks] > 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_directions_are_orthonormal_beyond_the_rank(shape):
    X = np.outer(np.arange(shape[0]), np.ones(shape[1]))
    directions = leading_spectrum(X, 6).directions
    np.testing.assert_allclose(directions @ directions.T, np.eye(6), atol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_spectrum_survives_extreme_scales(size):
    X = decaying(SHAPES[1])
    found, expected = leading_spectrum(X * size, 3), leading_spectrum(X, 3)
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-9)
    np.testing.assert_allclose(
        found.singular_values / size, expected.singular_values, rtol=1e-9
    )


def test_all_components_lose_nothing():
    X = decaying((50, 12))
    model = PrincipalComponents(12).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


def test_fewer_components_give_the_best_approximation():
    X = decaying((50, 12))
    model = PrincipalComponents(3, center=False).fit(X)
    rest = X - model.inverse_transform(model.transform(X))
    values = np.linalg.svd(X, compute_uv=False)
    assert (rest**2).sum() == pytest.approx((values[3:] ** 2).sum())


@pytest.mark.parametrize("shape", SHAPES)
def test_removal_leaves_data_orthogonal_to_the_leading_vectors(shape):
    X = decaying(shape)
    _, values, directions = np.linalg.svd(X, full_matrices=False)
    rest = RemoveComponents(2).fit_transform(X)
    np.testing.assert_allclose(rest @ directions[:2].T, 0, atol=1e-9)
    left = np.linalg.svd(rest, compute_uv=False)
    np.testing.assert_allclose(left[:5], values[2:7], rtol=1e-9)


def test_removal_twice_is_removal_once():
    X = decaying((60, 40))
    model = RemoveComponents(3).fit(X)
    once = model.transform(X)
    np.testing.assert_allclose(model.transform(once), once, atol=1e-12)


def test_removal_of_none_changes_nothing():
    X = decaying((20, 5))
    np.testing.assert_array_equal(RemoveComponents(0).fit_transform(X), X)


@pytest.mark.parametrize(
    "make", [RemoveComponents, PrincipalComponents, WhitenedComponents]
)
def test_float32_stays_float32(make):
    X = decaying((400, 300)).astype(np.float32)
    model = make(2).fit(X)
    assert model.transform(X).dtype == model.components_.dtype == np.float32
    double = make(2).fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(model.transform(X), double, atol=1e-4)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (PrincipalComponents(0), ValueError, "n_components=0 is below 1"),
        (PrincipalComponents(6), ValueError, "n_components=6 exceeds .* = 5"),
        (PrincipalComponents(1.5), TypeError, "n_components=1.5 is float"),
        (PrincipalComponents(1, center="no"), TypeError, "center='no'"),
        (WhitenedComponents(0), ValueError, "n_components=0 is below 1"),
        (WhitenedComponents(6), ValueError, "n_components=6 exceeds .* = 5"),
        (RemoveComponents(-1), ValueError, "n_components=-1 is below 0"),
        (RemoveComponents(6), ValueError, "n_components=6 exceeds .* = 5"),
    ],
)
def test_bad_parameters_are_refused(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(decaying((20, 5)))


def test_names_of_components():
    frame = PrincipalComponents(2).set_output(transform="pandas")
    columns = list(frame.fit_transform(decaying((20, 5))).columns)
    assert columns == ["principalcomponents0", "principalcomponents1"]


@pytest.mark.parametrize("shape", SHAPES)
def test_whitened_points_are_the_left_singular_vectors(shape):
    X = decaying(shape)
    expected, values, _ = np.linalg.svd(X, full_matrices=False)
    model = WhitenedComponents(5).fit(X)
    found = model.transform(X)
    signs = np.sign((found * expected[:, :5]).sum(axis=0))
    np.testing.assert_allclose(found, signs * expected[:, :5], atol=1e-9)
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(model.singular_values_, values[:5], rtol=1e-10)


def test_whitened_inner_products_do_not_depend_on_a_map_of_the_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    turned = X @ (rng.standard_normal((6, 6)) + np.diag(10.0 ** np.arange(6)))
    found, again = (WhitenedComponents(6).fit_transform(one) for one in (X, turned))
    np.testing.assert_allclose(again @ again.T, found @ found.T, atol=1e-9)


def test_new_points_are_whitened_as_those_of_the_fit():
    X = decaying((60, 40))
    model = WhitenedComponents(4).fit(X)
    found = model.transform(X)
    np.testing.assert_allclose(model.transform(X[7:9]), found[7:9], atol=1e-12)
    mixed = np.array([[2.0, -3.0]])
    np.testing.assert_allclose(
        model.transform(mixed @ X[7:9]), mixed @ found[7:9], atol=1e-12
    )


def test_whitening_leaves_rounding_errors_at_zero():
    X = np.outer(np.arange(1.0, 9), np.ones(4))
    found = WhitenedComponents(3).fit_transform(X)
    np.testing.assert_allclose(found[:, 0], np.arange(1, 9) / np.sqrt(204))
    np.testing.assert_array_equal(found[:, 1:], 0)
    np.testing.assert_array_equal(WhitenedComponents(2).fit_transform(0 * X), 0)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_whitening_does_not_depend_on_the_scale(size):
    X = decaying((60, 40))
    expected = WhitenedComponents(3).fit_transform(X)
    found = WhitenedComponents(3).fit_transform(X * size)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_whitening_is_that_of_ekss_without_its_noise():
    X = decaying((60, 40))
    directions = whitened_directions(leading_spectrum(X, 4), 4)
    np.testing.assert_allclose(
        WhitenedComponents(4).fit_transform(X), X @ directions, atol=1e-12
    )


def test_whitening_makes_independent_subspaces_orthogonal():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    shared = rng.standard_normal((2, 30))
    bases = [shared + 0.05 * rng.standard_normal((2, 30)) for _ in range(3)]
    X = np.concatenate([rng.standard_normal((20, 2)) @ basis for basis in bases])
    white = WhitenedComponents(6).fit_transform(X)
    np.testing.assert_allclose((white @ white.T)[y[:, None] != y], 0, atol=1e-9)
    cluster = TSC(3, n_neighbors=6, random_state=0)
    assert clustering_error(y, cluster.fit_predict(X)) > 0.2
    assert clustering_error(y, cluster.fit_predict(white)) == 0


@pytest.mark.parametrize("seed", range(4))
def test_removal_uncovers_subspaces_that_share_a_strong_direction(seed):
    union = make_union_of_subspaces(
        n_subspaces=3, dims=2, n_features=20, n_per_subspace=60, random_state=seed
    )
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal(20) / 20**0.5
    X = union.data + 10 * rng.uniform(1, 2, (180, 1)) * shared
    X += 0.1 * rng.standard_normal(X.shape)
    cluster = PaperEKSS(3, 2, n_members=30, random_state=0)
    pipeline = make_pipeline(RemoveComponents(1), UnitRows(), cluster)
    assert clustering_error(union.target, cluster.fit_predict(X)) > 0.1
    assert clustering_error(union.target, pipeline.fit_predict(X)) == 0


def test_pipeline_clusters_digits_as_its_parts_do_one_by_one():
    X, y = (part[::3] for part in load_digits(return_X_y=True))
    cluster = EKSS(10, 6, n_members=60, whiten=0, random_state=0)
    parts = [RemoveComponents(1), PrincipalComponents(30, center=False), UnitRows()]
    labels = make_pipeline(*map(clone, parts), clone(cluster)).fit_predict(X)
    assert clustering_error(y, labels) < 0.3
    for part in parts:
        X = part.fit_transform(X)
    np.testing.assert_array_equal(labels, cluster.fit_predict(X))
