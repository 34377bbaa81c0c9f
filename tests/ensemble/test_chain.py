"""A fit is a chain of values: who writes, what is observed, where it passes."""

import sys

import numpy as np
import pytest
from sklearn.base import clone

from ekss import (
    EKSS,
    KSS,
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
from ekss.runtime.workers import stage_seconds

ESTIMATORS = [
    EKSS(3, n_members=8, random_state=0),
    PaperEKSS(3, 2, n_members=8, random_state=0),
    KSS(3, n_init=2, random_state=0),
    CoPKSS(3, n_init=2, random_state=0),
    MedianKFlats(3, n_init=2, random_state=0),
    TSC(3, random_state=0),
    SSC(3, random_state=0),
    SSCOMP(3, random_state=0),
    EnSC(3, random_state=0),
    LabelFreeSearch(TSC(3), random_state=0),
]


def name_of(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        3, 2, n_features=20, n_per_subspace=30, noise=0.05, random_state=0
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_only_the_last_step_of_a_fit_writes_to_the_estimator(estimator, planted):
    writers = []

    class Watched(type(estimator)):
        def __setattr__(self, name, value):
            writers.append((self, sys._getframe(1).f_code.co_name))
            super().__setattr__(name, value)

        def __delattr__(self, name):
            writers.append((self, sys._getframe(1).f_code.co_name))
            super().__delattr__(name)

    watched = Watched(**estimator.get_params(deep=False))
    writers.clear()
    watched.fit(planted.data)
    watched.fit(planted.data)
    assert {name for one, name in writers if one is watched} == {"store"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_observers_do_not_change_a_result(estimator, planted, capsys):
    plain = clone(estimator).fit(planted.data)
    with stage_seconds() as seconds:
        shown = clone(estimator).set_params(verbose=1).fit(planted.data)
    assert seconds
    np.testing.assert_array_equal(plain.labels_, shown.labels_)
