"""A fit is a chain of values: who writes, what is observed, where it passes."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import ekss
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
from ekss.runtime.workers import stage_seconds

PACKAGE = str(Path(ekss.__file__).parent)
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
    GSC(3, random_state=0),
    SLBF(3, random_state=0),
    LSR(3, random_state=0),
    LRSC(3, random_state=0),
    LRR(3, random_state=0),
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


@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["plain", "with a common direction"])
def test_a_fit_passes_through_few_files(planted, shift):
    files = set()

    def watch(frame, event, argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            files.add(path)

    sys.setprofile(watch)
    try:
        EKSS(3, random_state=0).fit(planted.data + shift)
    finally:
        sys.setprofile(None)
    assert 6 < len(files) <= 20, sorted(files)
