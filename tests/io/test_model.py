"""A loaded model is the saved one, to the last bit."""

import os

import numpy as np
import pandas as pd
import pytest

from ekss import EKSS, KSS, TSC, CoPKSS, CutOptions, MedianKFlats
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import score_cut
from ekss.io import InputError, load_model, save_model
from ekss.preprocessing import (
    PrincipalComponents,
    RemoveComponents,
    Scattering2D,
    UnitRows,
    WhitenedComponents,
)


def some_points(n_features=12, dtype=np.float64, seed=0):
    data = make_union_of_subspaces(
        n_subspaces=3,
        dims=2,
        n_features=n_features,
        n_per_subspace=30,
        noise=0.05,
        random_state=seed,
    ).data
    return data.astype(dtype)


FITTED = {
    "EKSS": EKSS(3, 2, n_members=10, random_state=0),
    "EKSS auto": EKSS(3, n_members=10, n_jobs=2, random_state=0),
    "EKSS whitened": EKSS(3, n_members=10, whiten=4, random_state=0),
    "EKSS affine": EKSS(3, (1, 2), n_members=10, affine=True, random_state=0),
    "KSS": KSS(3, 2, n_init=2, random_state=0),
    "KSS affine": KSS(3, 1, n_init=2, affine=True, normalize=True, random_state=0),
    "KSS plain": KSS(3, 2, n_init=2, normalize=False, random_state=0),
    "CoPKSS": CoPKSS(3, 2, n_init=2, random_state=0),
    "MedianKFlats": MedianKFlats(3, 2, n_init=2, random_state=0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FITTED)
def test_loaded_estimator_predicts_the_same_bits(tmp_path, name, dtype):
    X, new = some_points(dtype=dtype), some_points(dtype=dtype, seed=1)
    fitted = FITTED[name].fit(X)
    save_model(tmp_path / "m.ekss", fitted)
    model = load_model(tmp_path / "m.ekss")
    assert type(model.estimator) is type(fitted)
    assert model.preprocessing == ()
    for points in (X, new, new.astype(np.float32), np.asfortranarray(new)):
        np.testing.assert_array_equal(model.predict(points), fitted.predict(points))
        distances = fitted.transform(points)
        assert model.transform(points).dtype == distances.dtype
        np.testing.assert_array_equal(model.transform(points), distances)
    assert model.estimator.score(new) == fitted.score(new)
    for attribute in ("n_clusters_", "subspace_dim_", "n_features_in_", "affine_"):
        assert getattr(model.estimator, attribute) == getattr(fitted, attribute)
    np.testing.assert_array_equal(model.estimator.dims_, fitted.dims_)
    kept = {**fitted.get_params(), "n_jobs": None, "verbose": 0}
    assert model.estimator.get_params() == kept


@pytest.mark.parametrize("order", ["C", "F", "middle"])
def test_order_in_memory_is_part_of_the_model(tmp_path, order):
    fitted = KSS(3, 2, n_init=1, random_state=0).fit(some_points())
    axes = {"C": (0, 1, 2), "F": (2, 1, 0), "middle": (0, 2, 1)}[order]
    turned = np.ascontiguousarray(fitted.bases_.transpose(axes))
    fitted.bases_ = turned.transpose(np.argsort(axes))
    save_model(tmp_path / "m.ekss", fitted)
    loaded = load_model(tmp_path / "m.ekss").estimator.bases_
    np.testing.assert_array_equal(loaded, fitted.bases_)
    assert loaded.strides == fitted.bases_.strides
    assert loaded.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "steps",
    [
        [UnitRows()],
        [RemoveComponents(2)],
        [RemoveComponents(0)],
        [PrincipalComponents(5)],
        [PrincipalComponents(5, center=False)],
        [WhitenedComponents(5)],
        [Scattering2D(J=1, L=2, image_shape=(4, 4), path_scaling="max")],
        [Scattering2D(J=1, L=2, order=1, pad_to=(6, 6), n_jobs=2)],
        [UnitRows(), RemoveComponents(1), PrincipalComponents(6), UnitRows()],
    ],
    ids=lambda steps: "-".join(type(step).__name__ for step in steps),
)
def test_preprocessing_comes_back(tmp_path, steps, dtype):
    X, new = some_points(16, dtype), some_points(16, dtype, seed=1)
    prepared = X
    for step in steps:
        prepared = step.fit_transform(prepared)
    fitted = KSS(3, 2, n_init=2, random_state=0).fit(prepared)
    save_model(tmp_path / "m.ekss", fitted, preprocessing=steps)
    model = load_model(tmp_path / "m.ekss")
    assert [type(step) for step in model.preprocessing] == [type(s) for s in steps]
    assert model.n_features == 16
    expected = new
    for step in steps:
        expected = step.transform(expected)
    np.testing.assert_array_equal(model.prepare(new), expected)
    np.testing.assert_array_equal(model.predict(new), fitted.predict(expected))
    np.testing.assert_array_equal(model.transform(new), fitted.transform(expected))


def test_one_transformer_needs_no_list(tmp_path):
    X = some_points()
    step = PrincipalComponents(4).fit(X)
    fitted = KSS(3, 2, n_init=1, random_state=0).fit(step.transform(X))
    save_model(tmp_path / "m.ekss", fitted, preprocessing=step)
    assert len(load_model(tmp_path / "m.ekss").preprocessing) == 1


def test_saved_again_gives_the_same_bytes(tmp_path):
    save_model(tmp_path / "a", KSS(3, 2, n_init=1, random_state=0).fit(some_points()))
    save_model(tmp_path / "b", load_model(tmp_path / "a").estimator)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_point_of_the_data_is_in_the_file(tmp_path):
    few, many = some_points(), np.tile(some_points(), (20, 1))
    sizes = []
    for X in (few, many):
        save_model(tmp_path / "m", EKSS(3, 2, n_members=5, random_state=0).fit(X))
        sizes.append((tmp_path / "m").stat().st_size)
    assert sizes[0] == sizes[1] < 6000


def test_column_names_are_kept(tmp_path):
    frame = pd.DataFrame(some_points(), columns=[f"x{i}" for i in range(12)])
    fitted = KSS(3, 2, n_init=1, random_state=0).fit(frame)
    save_model(tmp_path / "m", fitted)
    model = load_model(tmp_path / "m")
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"x0": "other"}))


def test_parameters_that_a_file_cannot_hold_are_told(tmp_path):
    fitted = EKSS(
        3,
        n_members=5,
        cut=CutOptions(score=score_cut),
        random_state=np.random.RandomState(0),
    ).fit(some_points())
    save_model(tmp_path / "m", fitted)
    model = load_model(tmp_path / "m")
    assert set(model.left_out) == {"cut", "random_state"}
    assert model.estimator.cut is None


def test_wrong_number_of_features_is_told(tmp_path):
    save_model(tmp_path / "m", KSS(3, 2, n_init=1, random_state=0).fit(some_points()))
    with pytest.raises(InputError, match="7 features, but the model was fitted on 12"):
        load_model(tmp_path / "m").predict(np.ones((2, 7)))


def test_what_cannot_be_saved_is_refused_and_writes_nothing(tmp_path):
    X = some_points()
    fitted = KSS(3, 2, n_init=1, random_state=0).fit(X)

    class Mine(KSS):
        pass

    narrow = PrincipalComponents(4).fit(X)
    cases = [
        (TSC(3).fit(X), None, "TSC cannot be put in a model file.*EKSS, KSS"),
        (Mine(3, 2, n_init=1).fit(X), None, "Mine cannot be put"),
        (KSS(3), None, "KSS is not fitted"),
        (fitted, [PrincipalComponents(2)], "PrincipalComponents is not fitted"),
        (fitted, [fitted], "KSS cannot be put"),
        (fitted, [narrow], "takes 12 features, but the one before has 4"),
    ]
    for estimator, preprocessing, reason in cases:
        with pytest.raises(InputError, match=reason):
            save_model(tmp_path / "m", estimator, preprocessing=preprocessing)
    assert not list(tmp_path.iterdir())


def test_failed_write_leaves_the_earlier_model(tmp_path, monkeypatch):
    fitted = KSS(3, 2, n_init=1, random_state=0).fit(some_points())
    save_model(tmp_path / "m", fitted)
    before = (tmp_path / "m").read_bytes()

    def stop(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        save_model(tmp_path / "m", fitted)
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


NAMES = [f"sensor{i}" for i in range(12)]


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("framed", [True, False])
def test_names_of_columns_are_kept_and_checked(tmp_path, steps, framed):
    X = some_points()
    frame = pd.DataFrame(X, columns=NAMES)
    seen = frame if framed else X
    before = [UnitRows().fit(seen)][:steps]
    fitted = KSS(3, 2, n_init=2, random_state=0).fit(X if steps else seen)
    names = None if framed else NAMES
    save_model(tmp_path / "m", fitted, preprocessing=before, feature_names=names)
    model = load_model(tmp_path / "m")
    assert model.feature_names == tuple(NAMES)
    expected = fitted.predict(X if steps or not framed else frame)
    np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_a_model_without_names_says_so(tmp_path):
    save_model(tmp_path / "m", KSS(3, 2, n_init=2, random_state=0).fit(some_points()))
    assert load_model(tmp_path / "m").feature_names is None


def test_names_that_do_not_belong_to_the_model_are_refused(tmp_path):
    X = some_points()
    fitted = KSS(3, 2, n_init=2, random_state=0).fit(pd.DataFrame(X, columns=NAMES))
    with pytest.raises(InputError, match="11 names, but the model was fitted on 12"):
        save_model(tmp_path / "m", fitted, feature_names=NAMES[1:])
    with pytest.raises(InputError, match="not those that the model was fitted on"):
        save_model(tmp_path / "m", fitted, feature_names=NAMES[::-1])
    save_model(tmp_path / "m", fitted, feature_names=NAMES)
