"""Algorithm 1 against a slow, literal transcription."""

import numpy as np
import pytest

from ekss import PaperEKSS
from ekss.core.linalg import random_bases
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        3, 2, n_features=15, n_per_subspace=25, noise=0.05, random_state=0
    )


def nearest(X, bases):
    lengths = np.stack([np.linalg.norm(X @ U, axis=1) for U in bases], axis=1)
    return lengths.argmax(axis=1)


def slow_members(X, n_candidates, dim, n_members, n_iter, seed):
    members = []
    for b in range(n_members):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
        bases = list(random_bases(n_candidates, X.shape[1], dim, rng))
        labels = nearest(X, bases)
        for _ in range(n_iter):
            for k in range(n_candidates):
                if (labels == k).sum() >= dim:
                    bases[k] = np.linalg.svd(X[labels == k])[2][:dim].T
            labels = nearest(X, bases)
        members.append(labels)
    return np.stack(members, axis=1)


@pytest.mark.parametrize("n_iter", [0, 1, 3])
def test_base_clusterings_are_those_of_the_algorithm(planted, n_iter):
    X = planted.data / np.linalg.norm(planted.data, axis=1, keepdims=True)
    model = PaperEKSS(3, 2, n_members=6, max_iter=n_iter, random_state=0).fit(X)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    expected = slow_members(X, 3, 2, 6, n_iter, seed)
    np.testing.assert_array_equal(model.member_labels_, expected)


def test_affinity_is_the_thresholded_share_of_members_that_agree(planted):
    q, n_members = 5, 16
    model = PaperEKSS(3, 2, n_members=n_members, n_neighbors=q, random_state=0)
    labels = model.fit(planted.data).member_labels_
    together = (labels[:, None] == labels[None]).mean(axis=2)
    np.fill_diagonal(together, 0)
    affinity = model.affinity_.toarray()
    kept = affinity > 0
    assert (kept == kept.T).all()
    assert (kept.sum(axis=1) >= q).all()
    # Every kept vote is among the q strongest of its row or of its column.
    limit = -np.sort(-together, axis=1)[:, q - 1]
    strong = together >= np.minimum(limit[:, None], limit[None]) - 1e-3
    assert strong[kept].all()
    # An entry kept by both of its points is the share, by one of them half of it.
    shares = affinity[kept] / together[kept]
    assert np.all(np.isclose(shares, 1, atol=2e-3) | np.isclose(shares, 0.5, atol=2e-3))


def test_planted_subspaces_are_recovered_whatever_the_number_of_rows(planted):
    model = PaperEKSS(3, 2, n_members=60, random_state=0).fit(planted.data)
    assert clustering_error(planted.target, model.labels_) == 0
    np.testing.assert_array_equal(model.predict(planted.data), model.labels_)
    twice = PaperEKSS(3, 2, n_members=60, random_state=0, n_jobs=2).fit(planted.data)
    np.testing.assert_array_equal(model.labels_, twice.labels_)


def test_rule_of_the_paper_for_neighbors(planted):
    model = PaperEKSS(3, 2, n_members=2, random_state=0).fit(planted.data)
    assert model.n_neighbors_ == 5  # a sixth of 25, rounded up


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"subspace_dim": 16}, "subspace_dim=16 exceeds n_features=15"),
        ({"n_members": 0}, "n_members=0 is below 1"),
        ({"n_neighbors": 75}, "n_neighbors=75 exceeds n_samples-1=74"),
        ({"update": "svd"}, "update='svd' is not known"),
    ],
)
def test_impossible_parameters_are_refused(planted, params, words):
    with pytest.raises(ValueError, match=words):
        PaperEKSS(3, **params).fit(planted.data)
