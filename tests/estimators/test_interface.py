"""What scikit-learn asks of estimators beyond its own checks: display, tags, names."""

import html
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import ekss
from ekss import preprocessing
from ekss.datasets import make_union_of_subspaces

SMALL = {
    "EKSS": {"n_clusters": 2, "subspace_dim": 2, "n_members": 5, "random_state": 0},
    "PaperEKSS": {"n_clusters": 2, "n_members": 5, "random_state": 0},
    "LabelFreeSearch": {"estimator": ekss.TSC(2), "random_state": 0},
    "SSC": {"n_clusters": 2, "tol": 1e-2},
    "Scattering2D": {"J": 1, "L": 2, "image_shape": (4, 4)},
    "UnitRows": {},
    "RemoveComponents": {"n_components": 1},
    "PrincipalComponents": {"n_components": 3},
    "WhitenedComponents": {"n_components": 3},
}
CLUSTERERS = [name for name in ekss.__all__ if hasattr(getattr(ekss, name), "fit")]
ESTIMATORS = [
    getattr(ekss if name in CLUSTERERS else preprocessing, name)(
        **SMALL.get(name, {"n_clusters": 2, "random_state": 0})
    )
    for name in (*CLUSTERERS, *preprocessing.__all__)
]
every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__
)
every_transformer = pytest.mark.parametrize(
    "estimator",
    [estimator for estimator in ESTIMATORS if hasattr(estimator, "transform")],
    ids=lambda estimator: type(estimator).__name__,
)


@pytest.fixture(scope="module")
def points():
    return make_union_of_subspaces(2, 2, 16, 20, random_state=0).data


def test_every_clusterer_is_here():
    assert {"EKSS", "KSS", "TSC", "LabelFreeSearch"} <= set(CLUSTERERS)
    assert "CutOptions" not in CLUSTERERS


@every_estimator
def test_html_shows_the_estimator_and_links_nowhere(estimator):
    page = estimator._repr_html_()
    assert html.escape(str(estimator)) in page
    # scikit-learn has no page about our classes, and the address of ours is not known.
    assert not re.search(r'href="https?://', page)


@every_estimator
def test_tags_say_what_the_estimator_does(estimator):
    tags = get_tags(estimator)
    clusters = type(estimator).__name__ in CLUSTERERS
    assert tags.estimator_type == ("clusterer" if clusters else None)
    assert (tags.transformer_tags is not None) == hasattr(estimator, "transform")
    assert not tags.target_tags.required
    assert not tags.input_tags.sparse
    assert tags.requires_fit == (type(estimator).__name__ != "UnitRows")


@every_estimator
def test_dimensions_are_those_of_the_bases(estimator, points):
    model = clone(estimator).fit(points)
    assert hasattr(model, "dims_") == hasattr(model, "bases_")
    if hasattr(model, "dims_"):
        spanned = np.linalg.matrix_rank(model.bases_)
        np.testing.assert_array_equal(model.dims_, spanned)
        assert model.subspace_dim_ == model.dims_.max()


@every_transformer
def test_transform_keeps_the_types_that_its_tags_name(estimator, points):
    # Distances to affine subspaces are float64 whatever the points are.
    for dtype in get_tags(estimator).transformer_tags.preserves_dtype:
        rows = points.astype(dtype)
        assert clone(estimator).fit(rows).transform(rows).dtype == dtype


@every_transformer
def test_every_column_of_transform_has_a_name(estimator, points):
    fitted = clone(estimator).fit(points)
    names = fitted.get_feature_names_out()
    assert len(set(names)) == len(names) == fitted.transform(points).shape[1]
    frame = clone(estimator).set_output(transform="pandas").fit(points)
    assert list(frame.transform(points).columns) == list(names)
