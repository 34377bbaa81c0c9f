"""What scikit-learn would take for numbers, and parameters beyond all bounds."""

import datetime

import numpy as np
import pandas as pd
import pytest

from ekss import (
    EKSS,
    KSS,
    SSC,
    SSCOMP,
    TSC,
    CoPKSS,
    CutOptions,
    EnSC,
    KSSMember,
    LabelFreeSearch,
    MedianKFlats,
    PaperEKSS,
)
from ekss.datasets import make_union_of_subspaces
from ekss.preprocessing import PrincipalComponents
from ekss.runtime import memory

X = make_union_of_subspaces(
    3, 1, n_features=6, n_per_subspace=25, noise=0.01, random_state=0
).data
MAKE = [
    EKSS(2, 1, n_members=10, missing="error"),
    PaperEKSS(2, 1, n_members=10),
    KSS(2, 1, missing="error"),
    TSC(2, missing="error"),
    SSC(2),
    PrincipalComponents(2),
]
ALL = [EKSS, PaperEKSS, KSS, CoPKSS, MedianKFlats, TSC, SSC, SSCOMP, EnSC]


def spoilt(value, dtype=float):
    changed = X.astype(dtype)
    changed[7, 3] = value
    return changed


class Frame:
    """Stands for a data frame with a column of dates."""

    dtypes = (np.dtype("f8"), np.dtype("M8[s]"))


ODD = {
    "masked": (
        np.ma.masked_array(X, X > 0.1),
        ValueError,
        "masked array, .* of its 450",
    ),
    "dates": (
        np.full((9, 2), np.datetime64("2020-01-01")),
        TypeError,
        "dates or times",
    ),
    "times": (np.ones((9, 2), "m8[s]"), TypeError, r"dates or times \(timedelta64"),
    "frame": (Frame(), TypeError, r"dates or times \(datetime64"),
    "objects": (
        spoilt(datetime.date(2020, 1, 1), object),
        TypeError,
        r"datetime.date\(2020, 1, 1\) in row 7, column 3; pass numbers",
    ),
    "words": ([["1", "b"], ["2", "3"]], ValueError, "X holds 'b' in row 0, column 1"),
    "stack": (
        X.reshape(75, 2, 3),
        ValueError,
        r"X has shape \(75, 2, 3\), as images have.* pass X.reshape\(len\(X\), -1\)",
    ),
    "text": (
        pd.DataFrame(X).rename(columns=str).assign(species="setosa"),
        ValueError,
        r"column 'species' of X holds 'setosa', no number.*drop\(columns=\['species'\]",
    ),
    "ragged": ([[1, 2], [3]], ValueError, "2 entries in row 0 but 1 in row 1; give"),
    "NaN": (spoilt(np.nan), ValueError, "X contains NaN: row 7 holds nan in column 3"),
    "infinity": (spoilt(-np.inf), ValueError, "contains infinity: row 7 holds -inf in"),
}


@pytest.mark.parametrize("estimator", MAKE, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("kind", ODD)
def test_odd_data_are_refused_with_their_place(estimator, kind):
    data, error, words = ODD[kind]
    with pytest.raises(error, match=words):
        estimator.fit(data)


def test_an_array_without_masked_entries_is_taken():
    model = KSS(3, 1, random_state=0)
    expected = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit(np.ma.masked_array(X)).labels_, expected)


@pytest.mark.parametrize("kind", ["masked", "NaN"])
def test_new_points_are_checked_the_same(kind):
    data, error, words = ODD[kind]
    with pytest.raises(error, match=words):
        KSS(3, 1, missing="error", random_state=0).fit(X).predict(data)


@pytest.mark.parametrize("make", ALL)
def test_too_many_workers_or_clusters_are_named(make):
    with pytest.raises(ValueError, match=r"n_jobs=99999 exceeds 1024; .* -1 for all"):
        make(2, n_jobs=99999).fit(X)
    with pytest.raises(ValueError, match="n_jobs=True is not a number of workers"):
        make(2, n_jobs=True).fit(X)
    with pytest.raises(ValueError, match="n_clusters=1000000000 exceeds n_samples=75"):
        make(10**9).fit(X)


@pytest.mark.parametrize("kind", [np.int8, np.uint64])
@pytest.mark.parametrize("make", ALL)
def test_integers_of_numpy_are_integers(make, kind):
    params = {"n_clusters": 3, "subspace_dim": 1, "max_iter": 100, "n_jobs": 1}
    params |= {"n_init": 2, "n_members": 10, "random_state": 3, "verbose": 0}
    params |= {"n_neighbors": 8, "n_nonzero": 2, "whiten": 0}
    params |= {"max_samples": 75, "member": {"n_candidates": 4, "max_iter": 3}}
    known = make().get_params()
    chosen = {key: value for key, value in params.items() if key in known}
    whole = {key for key, value in known.items() if type(value) is int}
    assert whole <= set(chosen), "a parameter that is not tried"

    def labels(of):
        given = {key: of(v) for key, v in chosen.items() if key != "member"}
        if "member" in chosen:
            options = {key: of(value) for key, value in chosen["member"].items()}
            given["member"] = KSSMember(**options)
        return make(**given).fit(X).labels_

    np.testing.assert_array_equal(labels(kind), labels(int))


def test_numbers_of_any_type_are_taken():
    expected = SSC(3, random_state=0).fit(X).labels_
    found = SSC(np.int8(3), n_jobs=np.int8(2), max_iter=np.int16(1000), random_state=0)
    np.testing.assert_array_equal(found.fit(X).labels_, expected)
    SSCOMP(3, tol=2**70, n_nonzero=np.int8(2)).fit(X)


@pytest.mark.parametrize("seed", [-1, 2**70, 1.5, "x", [1, [2]]])
def test_bad_seeds_are_named(seed):
    with pytest.raises(ValueError, match=r"random_state=.* is not a seed; pass an int"):
        KSS(3, 1, random_state=seed).fit(X)


def with_cut(kind, **options):
    """Return an estimator whose cuts have these options."""
    if kind is LabelFreeSearch:
        if "score" in options:
            options["cut_score"] = options.pop("score")
        return LabelFreeSearch(TSC(2), {"n_neighbors": [3, 8]}, **options)
    return EKSS(2, 1, n_members=10, cut=CutOptions(**options))


@pytest.mark.parametrize("kind", [EKSS, LabelFreeSearch])
@pytest.mark.parametrize("cutters", ["kmeans", [1], 3, (len, None)])
def test_bad_cutters_are_named(kind, cutters):
    with pytest.raises(TypeError, match=r"cutters=.* is not a sequence of functions"):
        with_cut(kind, cutters=cutters).fit(X)


@pytest.mark.parametrize("kind", [EKSS, LabelFreeSearch])
def test_bad_scores_are_named(kind):
    for score in (3, "ncut"):
        with pytest.raises(TypeError, match=r"score=.* cannot be called; pass a func"):
            with_cut(kind, score=score).fit(X)
    for value in (np.nan, None, "low"):
        with pytest.raises(ValueError, match=r"score of a cut is .*; return a number"):
            with_cut(kind, score=lambda labels, evidence, value=value: value).fit(X)


def test_what_a_process_holds_already_counts_against_a_limit(monkeypatch):
    monkeypatch.setattr(memory, "resident_bytes", lambda: 1.9e9)
    with pytest.raises(MemoryError, match=r"beside the 1\.. GB that this process has"):
        EKSS(3, 1, n_members=10, memory_limit="600MB").fit(X)
    EKSS(3, 1, n_members=10, memory_limit="4GB").fit(X)
