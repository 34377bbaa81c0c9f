"""Missing entries: every estimator that takes NaN clusters by what is observed."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from ekss import EKSS, KSS, SSC, TSC, MedianKFlats
from ekss.datasets import make_union_of_subspaces
from ekss.io import InputError, load_model, save_model
from ekss.metrics import clustering_error
from ekss.report import build

TAKE_NAN = [
    EKSS(3, n_members=20, random_state=0),
    KSS(3, random_state=0),
    TSC(3, random_state=0),
]
WITH_SUBSPACES = TAKE_NAN[:2]


def name_of(estimator):
    return type(estimator).__name__


def again(estimator, **params):
    return type(estimator)(**{**estimator.get_params(deep=False), **params})


def holed(rows, share, seed=0):
    """Remove the same number of entries from every row, never the first."""
    rng = np.random.default_rng(seed)
    order = rng.random(rows.shape).argsort(axis=1)
    holes = order < round(share * rows.shape[1])
    return np.where(holes, np.nan, rows)


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        3, 2, n_features=12, n_per_subspace=40, noise=0.02, random_state=0
    )


@pytest.fixture(scope="module")
def rows(planted):
    return holed(planted.data, 0.3)


@pytest.fixture(scope="module")
def fitted(rows):
    return {name_of(one): again(one).fit(rows) for one in TAKE_NAN}


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_planted_subspaces_are_found(estimator, fitted, planted):
    assert clustering_error(planted.target, fitted[name_of(estimator)].labels_) <= 0.02


def test_half_of_the_entries_are_enough_where_zeros_are_not():
    data = make_union_of_subspaces(
        3, 3, n_features=15, n_per_subspace=50, random_state=1
    )
    rows = holed(data.data, 0.5)
    model = EKSS(3, n_members=20, random_state=0)
    by_observed = clustering_error(data.target, again(model).fit(rows).labels_)
    zeros = again(model, missing="zero").fit(rows)
    assert by_observed <= 0.01
    assert clustering_error(data.target, zeros.labels_) > by_observed + 0.05


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_zero_is_the_fit_to_rows_with_zeros(estimator, rows):
    zeros = again(estimator, missing="zero").fit(rows)
    plain = again(estimator).fit(np.nan_to_num(rows))
    np.testing.assert_array_equal(zeros.labels_, plain.labels_)
    if hasattr(zeros, "predict"):
        np.testing.assert_array_equal(
            zeros.predict(rows), plain.predict(np.nan_to_num(rows))
        )


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_complete_rows_give_the_labels_of_a_fit_that_refuses_nan(estimator, planted):
    found = again(estimator).fit(planted.data)
    strict = again(estimator, missing="error").fit(planted.data)
    np.testing.assert_array_equal(found.labels_, strict.labels_)
    assert found.preparation_.completion is None


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_error_refuses_and_says_where(estimator, rows):
    row, column = np.argwhere(np.isnan(rows))[0]
    with pytest.raises(ValueError, match=f"row {row} holds nan in column {column}"):
        again(estimator, missing="error").fit(rows)


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_scikit_learn_is_told(estimator):
    tags = again(estimator).__sklearn_tags__()
    assert tags.input_tags.allow_nan
    strict = again(estimator, missing="error").__sklearn_tags__()
    assert not strict.input_tags.allow_nan
    assert not SSC(3).__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_an_unknown_word_is_refused(estimator, rows):
    with pytest.raises(ValueError, match="missing='median' is not known; choose one"):
        again(estimator, missing="median").fit(rows)


def test_other_methods_refuse_missing_entries(rows):
    for model in (SSC(3), MedianKFlats(3)):
        with pytest.raises(ValueError, match="X contains NaN"):
            model.fit(rows)


@pytest.mark.parametrize("estimator", WITH_SUBSPACES, ids=name_of)
def test_predict_sees_rows_as_the_fit_did(estimator, fitted, rows):
    model = fitted[name_of(estimator)]
    assert (model.predict(rows) == model.labels_).mean() >= 0.97
    distances = model.transform(rows)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.predict(rows))
    assert -0.1 < model.score(rows) <= 0


@pytest.mark.parametrize("estimator", WITH_SUBSPACES, ids=name_of)
def test_a_model_of_complete_rows_takes_rows_with_holes(estimator, planted):
    model = again(estimator).fit(planted.data)
    rows = holed(planted.data, 0.25)
    assert (model.predict(rows) == model.labels_).mean() >= 0.97
    holes = np.isnan(rows)
    off = (model.impute(rows) - planted.data)[holes]
    assert np.sqrt(np.square(off).mean()) < 0.3 * np.std(planted.data[holes])
    with pytest.raises(ValueError, match="return_std=True needs the spread"):
        model.impute(rows, return_std=True)


@pytest.mark.parametrize("estimator", WITH_SUBSPACES, ids=name_of)
def test_entries_are_filled_in_with_honest_errors(estimator, fitted, planted, rows):
    filled, std = fitted[name_of(estimator)].impute(rows, return_std=True)
    holes = np.isnan(rows)
    np.testing.assert_array_equal(filled[~holes], rows[~holes])
    assert (std[~holes] == 0).all()
    off = (filled - planted.data)[holes]
    assert np.sqrt(np.square(off).mean()) < 0.2 * np.std(planted.data[holes])
    # Nearly all errors are within three of their standard errors.
    assert (np.abs(off) <= 3 * std[holes]).mean() > 0.9
    assert 0.7 < np.sqrt(np.mean(np.square(off / std[holes]))) < 1.4


def test_directions_that_clusters_share_are_learnt_from_all_rows():
    rng = np.random.default_rng(0)
    # Three groups of 25 rows, which share 12 directions and differ in their weights.
    spread = rng.uniform(0.2, 2, (3, 12))[np.repeat([0, 1, 2], 25)]
    scores = spread * rng.standard_normal((75, 12))
    whole = scores @ rng.standard_normal((12, 40))
    whole += 0.3 * rng.standard_normal(whole.shape)
    rows = holed(whole, 0.3)
    model = EKSS(3, n_members=20, random_state=0).fit(rows)
    assert len(model.preparation_.completion.shares) == 1
    filled, std = model.impute(rows, return_std=True)
    holes = np.isnan(rows)
    off = (filled - whole)[holes]
    assert np.sqrt(np.square(off).mean()) < 0.3 * np.std(whole[holes])
    assert 0.8 < np.sqrt(np.mean(np.square(off / std[holes]))) < 1.25


def test_labels_are_those_of_the_filled_rows(fitted, rows):
    model = fitted["EKSS"]
    assert len(model.preparation_.completion.shares) == 3
    complete = again(TAKE_NAN[0]).fit(model.impute(rows))
    np.testing.assert_array_equal(complete.labels_, model.labels_)


def test_masked_arrays_are_missing_entries(rows, fitted):
    masked = np.ma.masked_invalid(rows)
    model = again(TAKE_NAN[0]).fit(masked)
    np.testing.assert_array_equal(model.labels_, fitted["EKSS"].labels_)


def test_affine_subspaces_with_missing_entries():
    data = make_union_of_subspaces(
        2, 2, n_features=14, n_per_subspace=40, affine_offset=2.0, random_state=0
    )
    rows = holed(data.data, 0.3)
    model = EKSS(2, 2, affine=True, n_members=20, random_state=0).fit(rows)
    assert clustering_error(data.target, model.labels_) == 0
    holes = np.isnan(rows)
    assert np.abs(model.impute(rows) - data.data)[holes].max() < 0.2


def test_tracks_seen_in_40_percent_of_the_frames_get_their_body():
    rng = np.random.default_rng(0)
    tracks = []
    for _ in range(2):
        shape = rng.standard_normal((4, 40))
        shape[3] = 1
        poses = np.cumsum(0.2 * rng.standard_normal((60, 4)), axis=0)
        tracks.append((poses @ shape).T)
    rows = np.concatenate(tracks)
    rows = rows.reshape(80, 30, 2)
    hidden = rng.random((80, 30)).argsort(axis=1) < 18
    rows[hidden] = np.nan
    model = EKSS(2, n_members=20, random_state=0).fit(rows.reshape(80, -1))
    assert clustering_error(np.repeat([0, 1], 40), model.labels_) <= 0.02


def test_a_sample_labels_the_other_rows(planted, rows):
    model = again(TAKE_NAN[0], max_samples=60).fit(rows)
    assert len(model.sample_) == 60
    assert clustering_error(planted.target, model.labels_) <= 0.05
    few = rows.copy()
    few[model.sample_] = planted.data[model.sample_]
    # No hole in the sample: the subspaces alone fill in the other rows.
    found = again(TAKE_NAN[0], max_samples=60).fit(few)
    assert found.preparation_.completion is None
    assert clustering_error(planted.target, found.labels_) <= 0.05


def test_a_memory_map_with_holes_is_read_in_blocks(tmp_path, rows, fitted):
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    mapped = np.load(path, mmap_mode="r")
    model = again(TAKE_NAN[0], max_samples=None).fit(mapped)
    np.testing.assert_array_equal(model.labels_, fitted["EKSS"].labels_)


def test_a_warm_start_keeps_the_completion(rows):
    model = again(TAKE_NAN[0], warm_start=True).fit(rows)
    before = model.preparation_.completion
    model.set_params(n_members=25).fit(rows)
    assert model.preparation_.completion is before
    fresh = again(TAKE_NAN[0], n_members=25).fit(rows)
    np.testing.assert_array_equal(model.labels_, fresh.labels_)


@pytest.mark.parametrize("estimator", WITH_SUBSPACES, ids=name_of)
def test_saved_models_fill_in_the_same(estimator, fitted, rows, tmp_path):
    model = fitted[name_of(estimator)]
    save_model(tmp_path / "model.ekss", model)
    loaded = load_model(tmp_path / "model.ekss")
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(
        loaded.estimator.impute(rows, return_std=True),
        model.impute(rows, return_std=True),
    )


@pytest.mark.parametrize("calibration", ["1", -1.0, float("inf"), True])
def test_a_saved_calibration_must_be_a_number(calibration, fitted, tmp_path):
    model = deepcopy(fitted["KSS"])
    preparation = model.preparation_
    wrong = replace(preparation.completion, calibration=calibration)
    model.preparation_ = replace(preparation, completion=wrong)
    # Saving reads the file again before it is called one.
    with pytest.raises(InputError, match=r"calibration=.* is not a number of 0"):
        save_model(tmp_path / "model.ekss", model)


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_a_report_is_made(estimator, fitted, rows):
    summary = build(fitted[name_of(estimator)], rows).summary
    assert summary["n_samples"] == len(rows)
    assert summary["missing"] == pytest.approx(np.isnan(rows).mean())


# --- What cannot be answered ----------------------------------------------------------


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_a_row_without_entries_is_refused(estimator, rows):
    bad = rows.copy()
    bad[7] = np.nan
    with pytest.raises(ValueError, match=r"row 7 of X .* has no observed entry"):
        again(estimator).fit(bad)


@pytest.mark.parametrize("estimator", WITH_SUBSPACES, ids=name_of)
def test_a_new_row_without_entries_is_refused(estimator, fitted, rows):
    bad = rows.copy()
    bad[7] = np.nan
    with pytest.raises(ValueError, match=r"row 7 of X .* has no observed entry"):
        fitted[name_of(estimator)].predict(bad)


@pytest.mark.parametrize("estimator", TAKE_NAN, ids=name_of)
def test_a_column_without_entries_is_refused(estimator, rows):
    bad = rows.copy()
    bad[:, 4] = np.nan
    with pytest.raises(ValueError, match=r"column 4 .* has no observed entry"):
        again(estimator).fit(bad)


@pytest.mark.parametrize("missing", ["observed", "zero"])
def test_infinity_beside_nan_is_refused(missing, rows):
    bad = rows.copy()
    row, column = np.argwhere(~np.isnan(rows))[50]
    bad[row, column] = -np.inf
    words = f"X contains infinity: row {row} holds -inf in column {column}"
    with pytest.raises(ValueError, match=words):
        EKSS(3, missing=missing).fit(bad)


def test_fewer_entries_than_dimensions_still_get_a_cluster(planted, rows):
    poor = rows.copy()
    poor[:5, 1:] = np.nan
    poor[:5, 0] = planted.data[:5, 0]
    model = again(TAKE_NAN[0]).fit(poor)
    assert set(model.labels_[:5]) <= {0, 1, 2}
    assert clustering_error(planted.target[5:], model.labels_[5:]) <= 0.05
    assert np.isfinite(model.impute(poor)).all()
