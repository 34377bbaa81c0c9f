"""From a sample to all rows."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.naive_bayes import CategoricalNB

from ekss import EKSS, KSSMember
from ekss.core.ksubspaces import assign, update_power
from ekss.core.linalg import fit_clusters
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import extend, vote
from ekss.estimators import _ekss
from ekss.metrics import clustering_error
from ekss.runtime.rows import MemoryRows


@pytest.fixture
def small_samples(monkeypatch):
    """Samples begin at 300 rows, so that small data are large."""
    rules = replace(vote.RULES, fitted_rows=300, fitted_per_cluster=10)
    monkeypatch.setattr(vote, "RULES", rules)
    monkeypatch.setattr(_ekss, "MOST_VOTED", 400)


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=4,
        dims=3,
        n_features=20,
        n_per_subspace=500,
        noise=0.05,
        random_state=0,
    )


def fitted(X, **changes):
    options = {"n_members": 30, "random_state": 0}
    return EKSS(4, 3, **(options | changes)).fit(X)


def test_all_rows_are_clustered_from_a_sample(small_samples, union):
    model = fitted(union.data)
    assert len(model.sample_) == 300
    assert len(model.labels_) == 2000
    assert clustering_error(union.target, model.labels_) < 0.01


def test_ensemble_attributes_are_those_of_the_sample(small_samples, union):
    model = fitted(union.data)
    assert model.member_labels_.shape == (300, 30)
    assert model.affinity_.shape == (300, 300)
    assert len(model.embedding_) == 300


def test_sample_keeps_the_labels_of_a_fit_on_it_alone(small_samples, union):
    model = fitted(union.data)
    alone = fitted(union.data[model.sample_])
    assert alone.sample_ is None
    np.testing.assert_array_equal(model.labels_[model.sample_], alone.labels_)


def test_labels_do_not_depend_on_workers_or_blocks(small_samples, union, monkeypatch):
    one = fitted(union.data, n_jobs=1)
    two = fitted(union.data, n_jobs=2)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.bases_, two.bases_)
    monkeypatch.setattr("ekss.runtime.rows._MOST_ROWS", 77)
    small = fitted(union.data)
    np.testing.assert_array_equal(one.labels_, small.labels_)
    np.testing.assert_allclose(one.bases_, small.bases_, atol=1e-6)


def test_subspaces_use_all_rows(small_samples, union):
    """They are nearer to those of a fit to all rows than the sample's are."""
    model = fitted(union.data)
    everything = fit_clusters(
        np.asarray(union.data), model.labels_, 4, 3, affine=False, seed=0
    )
    kept = model.sample_
    of_sample = fit_clusters(
        np.asarray(union.data)[kept], model.labels_[kept], 4, 3, affine=False, seed=0
    )
    for found, whole, part in zip(
        model.bases_, everything.bases, of_sample.bases, strict=True
    ):
        assert np.max(subspace_angles(found, whole)) < np.max(
            subspace_angles(part, whole)
        )


def test_affine_rows_are_clustered_from_a_sample(small_samples):
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((3, 12, 2)))[0]
    target = rng.integers(3, size=1500)
    along = rng.standard_normal((1500, 2))
    X = np.einsum("nfd,nd->nf", bases[target], along)
    X += 3 * rng.standard_normal((3, 12))[target]
    model = EKSS(3, 2, n_members=30, affine=True, random_state=0).fit(X)
    assert len(model.sample_) == 300
    assert clustering_error(target, model.labels_) < 0.01
    assert clustering_error(model.labels_, model.predict(X)) < 0.01


def test_rows_in_a_file_are_clustered_like_rows_in_memory(
    small_samples, union, tmp_path
):
    np.save(tmp_path / "points.npy", union.data)
    model = fitted(union.data)
    mapped = fitted(np.load(tmp_path / "points.npy", mmap_mode="r"))
    np.testing.assert_array_equal(model.labels_, mapped.labels_)
    assert mapped.n_features_in_ == 20


def test_few_rows_in_a_file_are_read_whole(union, tmp_path):
    np.save(tmp_path / "points.npy", union.data[:200])
    mapped = fitted(np.load(tmp_path / "points.npy", mmap_mode="r"))
    assert mapped.sample_ is None
    np.testing.assert_array_equal(mapped.labels_, fitted(union.data[:200]).labels_)


def test_one_cluster_of_many_rows(small_samples, union):
    model = EKSS(1, 3, n_members=5, random_state=0).fit(union.data)
    assert (model.labels_ == 0).all()


def test_number_of_clusters_of_many_rows_is_found(small_samples, union):
    model = EKSS("auto", 3, n_members=30, random_state=0).fit(union.data)
    assert model.n_clusters_ == 4
    assert clustering_error(union.target, model.labels_) < 0.01


def test_members_fitted_to_some_rows_still_vote_on_all(union):
    model = fitted(union.data, member=KSSMember(max_samples=200))
    assert model.sample_ is None
    assert model.member_labels_.shape == (2000, 30)
    assert clustering_error(union.target, model.labels_) < 0.02


def test_moments_of_blocks_add_up(union):
    X = np.asarray(union.data)
    flats = fit_clusters(X[:50], np.arange(50) % 4, 4, 3, affine=True, seed=0)
    found = assign(X, flats)
    whole = update_power(X, found.labels, found.own, flats)
    parts = [
        extend.sum_moments(X[rows], found.labels[rows], flats)
        for rows in (slice(700), slice(700, 701), slice(701, None))
    ]
    total = parts[0] + parts[1] + parts[2]
    assert total.sizes.sum() == len(X)
    stepped = extend.power_step(total, flats)
    projections = [one.bases @ one.bases.transpose(0, 2, 1) for one in (stepped, whole)]
    np.testing.assert_allclose(*projections, atol=1e-12)
    np.testing.assert_allclose(stepped.offsets, whole.offsets, atol=1e-12)


def test_bad_row_of_a_file_is_named(small_samples, union, tmp_path):
    X = np.array(union.data)
    sampled = fitted(X).sample_
    bad = int(np.setdiff1d(np.arange(len(X)), sampled)[100])
    X[bad, 3] = np.inf
    np.save(tmp_path / "points.npy", X)
    with pytest.raises(ValueError, match=f"row {bad} holds inf"):
        fitted(np.load(tmp_path / "points.npy", mmap_mode="r"))


def test_predict_reads_rows_block_by_block(small_samples, union, tmp_path):
    np.save(tmp_path / "points.npy", union.data)
    model = fitted(union.data)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    np.testing.assert_array_equal(model.predict(mapped), model.predict(union.data))
    assert MemoryRows(mapped).in_memory is False
    chunked = da.from_array(union.data, chunks=(300, 20))
    np.testing.assert_array_equal(model.predict(chunked), model.predict(union.data))
    np.testing.assert_allclose(model.score(chunked), model.score(union.data))
    with pytest.raises(ValueError, match="19 features"):
        model.predict(chunked[:, :19].rechunk({1: -1}))


def test_rows_get_the_cluster_that_naive_bayes_gives_them():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=200)
    members = np.where(rng.random((200, 12)) < 0.7, truth[:, None], 3)
    members = (members + np.arange(12)) % 5
    voters = CategoricalNB(min_categories=np.full(12, 5)).fit(members, truth)
    new = rng.integers(5, size=(500, 12))
    expected = voters.predict_joint_log_proba(new)
    first, second = np.sort(expected, axis=1)[:, :-3:-1].T
    sure = first - second > 1e-9
    assert sure.sum() > 400
    np.testing.assert_array_equal(
        extend.most_likely(voters, new)[sure], voters.predict(new)[sure]
    )
