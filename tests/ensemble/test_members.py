"""A member is any function from points and a seed to labels with a weight."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from ekss import EKSS, KSSMember
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    centres = 5 * np.eye(4)[:, :, None].reshape(4, 4)
    points = np.repeat(centres, 30, axis=0) + 0.2 * rng.normal(size=(120, 4))
    return points, np.repeat(np.arange(4), 30)


def kmeans(points, seed):
    return KMeans(6, n_init=1, random_state=seed).fit(points).labels_


def test_callable_votes(blobs):
    X, target = blobs
    fitted = EKSS(4, member=kmeans, n_members=20, random_state=0).fit(X)
    assert clustering_error(target, fitted.labels_) == 0
    assert fitted.member_labels_.shape == (120, 20)
    np.testing.assert_array_equal(fitted.member_weights_, 1)


def test_callable_has_a_seed_of_its_own_for_any_number_of_workers(blobs):
    X, _ = blobs
    seeds = []

    def member(points, seed):
        seeds.append(seed)
        return np.random.default_rng(seed).integers(4, size=len(points)), 0.5

    one = EKSS(4, member=member, n_members=10, random_state=0).fit(X)
    two = EKSS(4, member=member, n_members=10, random_state=0, n_jobs=2).fit(X)
    assert len(set(seeds)) == 10
    np.testing.assert_array_equal(one.member_labels_, two.member_labels_)
    np.testing.assert_array_equal(one.member_weights_, 0.5)


def test_callable_is_extended_to_rows_it_has_not_seen():
    data = make_union_of_subspaces(
        3, 2, n_features=12, n_per_subspace=200, noise=0.02, random_state=0
    )

    def member(points, seed):
        run = EKSS(6, 2, n_members=1, random_state=seed, member=KSSMember(6))
        return run.fit(points).member_labels_[:, 0]

    fitted = EKSS(
        3, 2, member=member, n_members=20, max_samples=150, random_state=0
    ).fit(data.data)
    assert len(fitted.sample_) == 150
    assert clustering_error(data.target, fitted.labels_) < 0.05


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (np.zeros(3, int), "return 120 integers, one per point"),
        (np.full(120, 0.5), "return 120 integers"),
        (np.full(120, -1), "at least 0"),
    ],
)
def test_bad_labels_of_a_member_are_refused(blobs, returned, words):
    with pytest.raises(ValueError, match=words):
        EKSS(4, member=lambda points, seed: returned).fit(blobs[0])


def test_what_is_no_member_is_refused(blobs):
    with pytest.raises(TypeError, match="pass a KSSMember, a callable"):
        EKSS(4, member="kmeans").fit(blobs[0])
    with pytest.raises(ValueError, match="pass the number of clusters"):
        EKSS("auto", member=kmeans).fit(blobs[0])


def test_options_of_members_are_parameters_of_the_estimator():
    model = EKSS(3, member=KSSMember())
    model.set_params(member__update="pca", member__max_iter=0)
    assert model.member == KSSMember(update="pca", max_iter=0)
    with pytest.raises(ValueError, match="update='svd' is not known"):
        model.set_params(member__update="svd").fit(np.eye(9))
