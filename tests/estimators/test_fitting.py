"""A fit that is refused, fails or is interrupted leaves the estimator as it was."""

import copy
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ekss import (
    EKSS,
    GSC,
    KSS,
    LRR,
    LRSC,
    LSR,
    SLBF,
    SSC,
    SSCOMP,
    TSC,
    CoPKSS,
    EnSC,
    LabelFreeSearch,
    MedianKFlats,
    PaperEKSS,
)
from ekss.datasets import make_union_of_subspaces

MODELS = [
    EKSS(3, n_members=10, whiten=0, random_state=0),
    PaperEKSS(3, 2, n_members=10, random_state=0),
    KSS(3, n_init=2, random_state=0),
    CoPKSS(3, n_init=2, random_state=0),
    MedianKFlats(3, n_init=2, random_state=0),
    TSC(3, random_state=0),
    SSC(3, random_state=0),
    SSCOMP(3, random_state=0),
    EnSC(3, random_state=0),
    GSC(3, random_state=0),
    SLBF(3, random_state=0),
    LSR(3, random_state=0),
    LRSC(3, random_state=0),
    LRR(3, random_state=0),
    LabelFreeSearch(TSC(3), random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def points(n_features=12, seed=0):
    union = make_union_of_subspaces(3, 2, n_features, 20, random_state=seed)
    return union.data


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def broken_cut(*args, **kwargs):
    raise RuntimeError("the cut is broken")


def spoil_data(model, monkeypatch):
    return np.full((30, 7), np.nan)


def spoil_parameter(model, monkeypatch):
    owner = getattr(model, "estimator", model)
    owner.set_params(n_clusters=10**6)
    return points(7)


def interrupt_at_the_end(model, monkeypatch):
    module = sys.modules[type(model).fit.__module__]
    monkeypatch.setattr(module, "warn_of_doubts", interrupt)
    return points(7)


def break_in_the_middle(model, monkeypatch):
    kind = type(model).__name__
    if kind in ("KSS", "CoPKSS", "MedianKFlats"):
        monkeypatch.setattr(type(model), "_run", broken_cut)
    elif kind == "EKSS":
        monkeypatch.setattr("ekss.ensemble.chain.cut_and_choose", broken_cut)
    elif kind == "PaperEKSS":
        monkeypatch.setattr("ekss.ensemble.paper.spectral_labels", broken_cut)
    else:
        monkeypatch.setattr("ekss.estimators._affinity.spectral_labels", broken_cut)
    return points(7)


faults = pytest.mark.parametrize(
    "fault", [spoil_data, spoil_parameter, interrupt_at_the_end, break_in_the_middle]
)


@cache
def fitted_to_points(model):
    return copy.deepcopy(model).fit(points())


def fails(model, X):
    with pytest.raises((ValueError, RuntimeError, KeyboardInterrupt)):
        model.fit(X)


@every
@faults
def test_failed_refit_changes_nothing(model, fault, monkeypatch):
    fitted = copy.deepcopy(fitted_to_points(model))
    bad = fault(fitted, monkeypatch)
    before, labels = dict(vars(fitted)), fitted.labels_.copy()
    fails(fitted, bad)
    after = vars(fitted)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(fitted.labels_, labels)
    if hasattr(fitted, "predict"):
        expected = fitted_to_points(model).predict(points())
        np.testing.assert_array_equal(fitted.predict(points()), expected)


@every
@faults
def test_failed_first_fit_leaves_an_estimator_that_is_not_fitted(
    model, fault, monkeypatch
):
    fresh = copy.deepcopy(model)
    bad = fault(fresh, monkeypatch)
    before = dict(vars(fresh))
    fails(fresh, bad)
    assert vars(fresh) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    if hasattr(fresh, "predict"):
        with pytest.raises(NotFittedError):
            fresh.predict(points())


@pytest.mark.parametrize("rows", [np.asarray, lambda X: X.astype(np.float32)])
def test_fit_that_needs_too_much_memory_leaves_nothing_behind(rows):
    model = EKSS(3, memory_limit=1)
    with pytest.raises((ValueError, MemoryError), match="memory_limit"):
        model.fit(rows(points()))
    with pytest.raises(NotFittedError):
        model.predict(points())


def test_refit_keeps_nothing_of_the_last_fit():
    frame = pd.DataFrame(points(), columns=[f"pixel{i}" for i in range(12)])
    model = KSS(3, random_state=0).fit(frame)
    assert hasattr(model, "feature_names_in_")
    model.fit(points())
    assert not hasattr(model, "feature_names_in_")
    assert vars(model).keys() == vars(KSS(3, random_state=0).fit(points())).keys()


def test_refit_keeps_what_scikit_learn_put_there():
    model = KSS(3, random_state=0).set_output(transform="pandas")
    for _ in range(2):
        assert isinstance(model.fit(points()).transform(points()), pd.DataFrame)
    assert len(make_pipeline(StandardScaler(), model).fit_predict(points())) == 60
