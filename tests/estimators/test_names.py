"""Names of columns: kept and checked by every estimator as scikit-learn does."""

import warnings

import numpy as np
import pandas as pd
import pytest

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
)
from ekss.datasets import make_union_of_subspaces
from ekss.preprocessing import (
    PrincipalComponents,
    RemoveComponents,
    UnitRows,
    WhitenedComponents,
)

ESTIMATORS = {
    "EKSS": EKSS(2, 2, n_members=5, random_state=0),
    "KSS": KSS(2, 2, n_init=1, random_state=0),
    "CoPKSS": CoPKSS(2, 2, n_init=1, random_state=0),
    "MedianKFlats": MedianKFlats(2, 2, n_init=1, random_state=0),
    "TSC": TSC(2, random_state=0),
    "SSC": SSC(2, random_state=0, tol=1e-2),
    "SSCOMP": SSCOMP(2, random_state=0),
    "EnSC": EnSC(2, random_state=0),
    "GSC": GSC(2, random_state=0),
    "SLBF": SLBF(2, random_state=0),
    "LSR": LSR(2, random_state=0),
    "LRSC": LRSC(2, random_state=0),
    "LRR": LRR(2, random_state=0),
    "LabelFreeSearch": LabelFreeSearch(TSC(2), random_state=0),
    "UnitRows": UnitRows(),
    "RemoveComponents": RemoveComponents(1),
    "PrincipalComponents": PrincipalComponents(3),
    "WhitenedComponents": WhitenedComponents(3),
}


@pytest.fixture(scope="module")
def frame():
    data = make_union_of_subspaces(
        n_subspaces=2, dims=2, n_features=8, n_per_subspace=15, random_state=0
    ).data
    return pd.DataFrame(data, columns=[f"sensor{i}" for i in range(8)])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_are_those_of_the_last_fit(frame, name):
    estimator = ESTIMATORS[name].fit(frame)
    assert list(estimator.feature_names_in_) == list(frame.columns)
    estimator.fit(frame.to_numpy())
    assert not hasattr(estimator, "feature_names_in_")


def methods_of(name):
    return [
        method
        for method in ("predict", "transform", "score")
        if hasattr(ESTIMATORS[name], method)
    ]


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name in ESTIMATORS for method in methods_of(name)],
)
def test_other_names_and_orders_are_refused(frame, name, method):
    ask = getattr(ESTIMATORS[name].fit(frame), method)
    expected = ask(frame)
    with pytest.raises(ValueError, match="must be in the same order"):
        ask(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- other"):
        ask(frame.rename(columns={"sensor3": "other"}))
    with pytest.raises(ValueError, match=r"now missing:\n- sensor3"):
        ask(frame.drop(columns="sensor3"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        # rows of a frame and of its array may be in another order in memory
        np.testing.assert_allclose(ask(frame.to_numpy()), expected, atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(frame)
