"""Outliers get a high score and, on request, the label -1, in fit and predict."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from ekss import EKSS, KSS, CoPKSS, MedianKFlats, PaperEKSS
from ekss.datasets import make_union_of_subspaces
from ekss.io import InputError, load_model, save_model
from ekss.io._archive import Content, read_archive, write_archive
from ekss.metrics import clustering_error
from ekss.report import build


def draw(outliers=0.1, seed=0, n=60):
    return make_union_of_subspaces(
        3, [1, 3, 5], 30, n, noise=0.1, outliers=outliers, random_state=seed
    )


PLAIN = EKSS(3, n_members=40, random_state=0)


def marking(outliers):
    return clone(PLAIN).set_params(outliers=outliers)


@pytest.fixture(scope="module")
def union():
    return draw()


@pytest.fixture(scope="module")
def plain(union):
    return clone(PLAIN).fit(union.data)


@pytest.fixture(scope="module")
def auto(union):
    return marking("auto").fit(union.data)


def test_nothing_is_marked_unless_asked_for(plain, union):
    assert plain.labels_.min() == 0
    assert plain.outlier_limits_ is None
    assert plain.predict(100 * union.data).min() == 0


def test_outliers_have_high_scores_and_dimensions_are_found(plain, union):
    apart = union.target < 0
    assert roc_auc_score(apart, plain.outlier_scores_) > 0.99
    assert sorted(plain.dims_) == [1, 3, 5]
    assert plain.subspace_dim_ == 5 == plain.bases_.shape[2]


def test_auto_marks_outliers_and_few_others(auto, plain, union):
    apart = union.target < 0
    assert (auto.labels_[apart] < 0).mean() > 0.95
    assert clustering_error(union.target[~apart], auto.labels_[~apart]) < 0.02
    kept = auto.labels_ >= 0
    np.testing.assert_array_equal(auto.labels_[kept], plain.labels_[kept])
    np.testing.assert_array_equal(auto.outlier_scores_, plain.outlier_scores_)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_a_share_is_marked_from_the_top(share, plain, union):
    model = marking(share).fit(union.data)
    marked = model.labels_ < 0
    assert abs(marked.sum() - share * len(marked)) <= 1
    assert model.outlier_scores_[marked].min() > model.outlier_scores_[~marked].max()
    np.testing.assert_array_equal(model.labels_[~marked], plain.labels_[~marked])


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("affine", [False, True])
def test_new_points_are_marked_as_those_of_the_fit(affine, scale):
    union = make_union_of_subspaces(
        3,
        2,
        20,
        n_per_subspace=80,
        noise=0.1,
        outliers=0.1,
        affine_offset=float(affine),
        random_state=1,
    )
    points, target = scale * union.data, union.target
    old, new = slice(None, 200), slice(200, None)
    model = marking("auto").set_params(affine=affine).fit(points[old])
    found = model.predict(points[new])
    apart = target[new] < 0
    assert (found[apart] < 0).mean() > 0.8
    assert clustering_error(target[new][~apart], found[~apart]) <= 0.05
    far = model.transform(points[new]).min(axis=1) > model.outlier_limits_.max()
    assert (found[far] < 0).all()
    again = model.predict(points[old])
    assert (again == model.labels_).mean() > 0.97


def test_rows_beyond_the_sample_are_scored_and_marked():
    union = draw(n=200)
    model = marking("auto").set_params(max_samples=300).fit(union.data)
    apart = union.target < 0
    assert len(model.sample_) == 300
    assert roc_auc_score(apart, model.outlier_scores_) > 0.99
    assert (model.labels_[apart] < 0).mean() > 0.95
    assert clustering_error(union.target[~apart], model.labels_[~apart]) < 0.03
    assert sorted(model.dims_) == [1, 3, 5]
    used = model.bases_.any(axis=1)
    for basis, columns in zip(model.bases_, used, strict=True):
        np.testing.assert_allclose(basis.T @ basis, np.diag(columns), atol=1e-10)


def test_a_warm_start_keeps_members_when_only_the_marks_change(union, auto):
    model = clone(PLAIN).set_params(warm_start=True).fit(union.data)
    members = model.member_labels_
    model.set_params(outliers="auto").fit(union.data)
    np.testing.assert_array_equal(model.member_labels_, members)
    np.testing.assert_array_equal(model.labels_, auto.labels_)


@pytest.mark.parametrize(
    "model",
    [
        KSS(3, 3, n_init=4, random_state=0),
        CoPKSS(3, 3, n_init=4, random_state=0),
        MedianKFlats(3, 3, n_init=4, random_state=0),
        PaperEKSS(3, 3, n_members=40, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_methods_score_too(model):
    union = make_union_of_subspaces(
        3, 3, 30, 60, noise=0.1, outliers=0.1, random_state=0
    )
    model.fit(union.data)
    assert model.outlier_scores_.shape == model.labels_.shape
    assert roc_auc_score(union.target < 0, model.outlier_scores_) > 0.9


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0.0, ValueError, r"outliers=0.0 is not a share .* \(0, 0.5\]"),
        (0.6, ValueError, "outliers=0.6 is not a share"),
        (-0.1, ValueError, "outliers=-0.1"),
        ("some", ValueError, "outliers='some' is not known"),
        ([0.1], TypeError, "pass a number"),
    ],
)
def test_other_values_are_refused(value, error, words, union):
    with pytest.raises(error, match=words):
        marking(value).fit(union.data)


# --- What is made of the labels -------------------------------------------------------


def test_a_saved_model_marks_the_same_points(tmp_path, auto, union):
    save_model(tmp_path / "m.ekss", auto)
    model = load_model(tmp_path / "m.ekss").estimator
    new = draw(0.3, seed=5).data
    np.testing.assert_array_equal(model.predict(new), auto.predict(new))
    assert (auto.predict(new) < 0).any()
    np.testing.assert_array_equal(model.dims_, auto.dims_)
    assert model.outliers == "auto"


def test_a_saved_model_without_marks_has_none(tmp_path, plain):
    save_model(tmp_path / "m.ekss", plain)
    assert load_model(tmp_path / "m.ekss").estimator.outlier_limits_ is None


def swap_first_columns(bases):
    """Put a column of zeros before others."""
    small = bases.any(axis=1).sum(axis=1).argmin()
    bases[small, :, [0, -1]] = bases[small, :, [-1, 0]]
    return bases


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("outlier_limits_", lambda limits: limits[:2], "shape 2, not 3"),
        ("outlier_limits_", lambda limits: limits * np.nan, "NaN"),
        ("bases_", lambda bases: bases * 0, "no direction"),
        ("bases_", swap_first_columns, "no direction|zeros between"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path, auto, name, change, words):
    path = tmp_path / "m.ekss"
    save_model(path, auto)
    content = read_archive(path)
    arrays = dict(content.arrays)
    arrays[f"estimator.{name}"] = change(arrays[f"estimator.{name}"].copy())
    write_archive(path, Content(content.description, arrays))
    with pytest.raises(InputError, match=words):
        load_model(path)


def test_the_report_leaves_outliers_out_and_counts_them(auto, union):
    summary = build(auto, union.data, labels=union.target).summary
    count = int((auto.labels_ < 0).sum())
    assert summary["n_left_out"] == count
    assert sum(one["size"] for one in summary["clusters"]) == len(union.data) - count
    told = {one["key"]: one["title"] for one in summary["warnings"]}
    assert told["left_out"].startswith(f"{count} points")
    assert "low_rank" not in told
    json.dumps(summary)


def test_outliers_may_be_about_half_of_a_cluster():
    union = make_union_of_subspaces(
        5, 5, n_features=50, noise=0.3, outliers=0.3, random_state=1
    )
    model = EKSS(5, outliers="auto", random_state=1).fit(union.data)
    apart = union.target < 0
    sizes = np.bincount(model.candidates_[0].labels[apart], minlength=5)
    assert sizes.max() > 80  # beside 100 planted points
    assert ((model.labels_ < 0) == apart).mean() > 0.99
    assert clustering_error(union.target[~apart], model.labels_[~apart]) < 0.01
