"""Clusterers of scikit-learn in the tables: plain ones, fairly scored."""

import re
from inspect import signature

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from ekss.benchmarks import METHODS
from ekss.benchmarks._rivals import OnComponents, hdbscan, kmeans, noise_alone
from ekss.methods import RIVALS, imported
from ekss.metrics import clustering_error

every_rival = pytest.mark.parametrize("name", RIVALS)


@pytest.fixture(scope="module")
def clouds():
    return make_blobs(120, 30, centers=3, cluster_std=0.5, random_state=0)


@every_rival
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_clouds_are_found(name, clouds):
    X, y = clouds
    model = imported(RIVALS[name])(3, random_state=0, **METHODS[name].params).fit(X)
    assert clustering_error(y, model.labels_) == 0


@every_rival
def test_settings_of_sweeps_are_parameters(name):
    known = set(signature(imported(RIVALS[name])).parameters)
    for tried in METHODS[name].sweeps.values():
        for setting in tried:
            assert set(setting["params"]) <= known


@every_rival
def test_note_tells_the_setting_without_labels(name):
    method = METHODS[name]
    told = {int(number) for number in re.findall(r"\d+", method.note)}
    used = {*method.params.values(), *_numbers_of(imported(method.estimator)(3))}
    assert told
    assert told <= used


def _numbers_of(model):
    """Return the parameters of a clusterer that are numbers."""
    given = model.clusterer.get_params().values()
    return {value for value in given if isinstance(value, int)}


def test_points_as_they_are_have_the_labels_of_scikit_learn(clouds):
    X, _ = clouds
    plain = KMeans(5, n_init=10, random_state=3).fit_predict(X)
    np.testing.assert_array_equal(kmeans(5, random_state=3).fit(X).labels_, plain)


@pytest.mark.parametrize("whiten", [False, True])
def test_components_are_those_of_scikit_learn(whiten, clouds):
    X, _ = clouds
    reduced = PCA(4, whiten=whiten, svd_solver="covariance_eigh")
    pipeline = make_pipeline(reduced, KMeans(5, n_init=10, random_state=3))
    model = kmeans(5, random_state=3, n_components=4, whiten=whiten).fit(X)
    np.testing.assert_array_equal(model.labels_, pipeline.fit_predict(X))


def test_more_components_than_there_are_is_all(clouds):
    X, _ = clouds
    every, more = (OnComponents(HDBSCAN(copy=True), n) for n in (30, 1000))
    np.testing.assert_array_equal(every.fit(X).labels_, more.fit(X).labels_)


def test_every_point_of_noise_is_an_error(clouds):
    _, y = clouds
    labels = y.copy()
    labels[::4] = -1
    alone = noise_alone(labels)
    assert clustering_error(y, alone) == 1 / 4
    assert (alone >= 0).all()
    np.testing.assert_array_equal(noise_alone(y), y)
    # Nothing but noise finds one point of each cluster, by chance.
    assert clustering_error(y, noise_alone(np.full(len(y), -1))) == 1 - 3 / len(y)


def test_hdbscan_is_told_neither_number_nor_seed(clouds):
    X, _ = clouds
    one, other = hdbscan(3, random_state=0), hdbscan(50, random_state=1)
    np.testing.assert_array_equal(one.fit(X).labels_, other.fit(X).labels_)
