"""Estimators say so where their clusters mean nothing, or are fewer than asked for."""

import threading
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

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
)
from ekss.datasets import make_union_of_subspaces

MODELS = [
    EKSS(3, n_members=10, random_state=0),
    KSS(3, n_init=3, random_state=0),
    CoPKSS(3, n_init=3, random_state=0),
    MedianKFlats(3, n_init=3, random_state=0),
    TSC(3, random_state=0),
    SSC(3, random_state=0),
    SSCOMP(3, random_state=0),
    EnSC(3, random_state=0),
    GSC(3, random_state=0),
    SLBF(3, random_state=0),
    LSR(3, random_state=0),
    LRSC(3, random_state=0),
    LRR(3, random_state=0),
    LabelFreeSearch(TSC(3), {"n_neighbors": [3, 5]}, n_jobs=2, random_state=0),
]
nine = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
restarted = pytest.mark.parametrize("kind", [KSS, CoPKSS, MedianKFlats])


def noise(n_samples=120, n_features=10):
    return np.random.default_rng(0).standard_normal((n_samples, n_features))


def told(model, X):
    """Fit and return the doubts, after a look at where they come from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(X)
    ours = [w for w in caught if w.category is ekss.ClusteringWarning]
    assert all(w.filename == __file__ for w in ours)
    return [str(w.message) for w in ours]


@nine
@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((60, 6)), "All points are zero"),
        (np.ones((60, 6)), "One subspace of dimension 1 holds all points"),
        (noise(60, 1), "One subspace of dimension 1 holds all points"),
        (noise(), "The points look like noise"),
    ],
    ids=["zero", "equal", "line", "noise"],
)
def test_points_without_clusters_are_told_once(model, X, words):
    (message,) = told(model, X)
    assert message.startswith(words)


@nine
def test_nothing_is_said_of_subspaces_with_noise(model):
    for noise in (0.0, 0.3):
        union = make_union_of_subspaces(3, 2, 12, 30, noise=noise, random_state=0)
        assert told(model, union.data) == []


@nine
def test_the_usual_filter_turns_it_off(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ekss.ClusteringWarning)
        clone(model).fit(noise())
    assert issubclass(ekss.ClusteringWarning, UserWarning)


def test_a_warning_turned_into_an_error_leaves_the_estimator_as_it_was():
    model = KSS(3, random_state=0)
    before = dict(vars(model))
    with pytest.raises(ekss.ClusteringWarning, match="look like noise"):
        model.fit(noise())
    assert vars(model) == before


def test_warnings_come_from_the_calling_thread(monkeypatch):
    threads = []
    monkeypatch.setattr(
        "ekss.estimators._base.warnings.warn",
        lambda *args, **kwargs: threads.append(threading.current_thread()),
    )
    LabelFreeSearch(TSC(3), {"n_neighbors": [3, 4, 5]}, n_jobs=2).fit(noise())
    KSS(3, n_jobs=2, random_state=0).fit(noise())
    assert threads == [threading.current_thread()] * 2


@pytest.mark.parametrize("kind", [KSS, CoPKSS, MedianKFlats, EKSS])
@pytest.mark.parametrize("n_clusters", [4, 10])
def test_every_direction_of_ideal_data_is_a_cluster(kind, n_clusters):
    y = np.arange(6 * n_clusters) % n_clusters
    X = np.eye(n_clusters)[y]
    options = {"n_members": 20} if kind is EKSS else {}
    for seed in range(3):
        model = kind(n_clusters, random_state=seed, **options).fit(X)
        assert len(set(zip(y, model.labels_, strict=True))) == n_clusters
        assert len(np.unique(model.labels_)) == n_clusters


@restarted
def test_of_equal_starts_one_of_most_clusters_is_kept(kind):
    # planes fit ten lines with five clusters as well as with ten
    X = np.eye(10)[np.arange(60) % 10]
    used = []
    for n_init in (1, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ekss.ClusteringWarning)
            model = kind(10, 2, n_init=n_init, random_state=0).fit(X)
        assert model.cost_ < 1e-6
        used.append(len(np.unique(model.labels_)))
    assert used[0] <= used[1]


def test_empty_clusters_are_told_with_their_number():
    X = np.eye(10)[np.arange(60) % 10]
    model = KSS(10, 5, n_init=1, random_state=0)
    (message,) = told(model, X)
    with pytest.warns(ekss.ClusteringWarning):
        used = len(np.unique(model.fit(X).labels_))
    assert used < 10
    assert message.startswith(f"{10 - used} of 10 clusters are empty")
    assert f"n_clusters={used}" in message


def test_nothing_is_said_of_one_cluster():
    assert told(KSS(1, random_state=0), noise()) == []
