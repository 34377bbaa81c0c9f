"""Members vote, and the ensemble grows until two halves of it agree."""

from dataclasses import replace

import numpy as np
import pytest

from ekss import EKSS, CutOptions, KSSMember
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import chain, score_cut, vote
from ekss.ensemble.decide import Geometry, Plan, Wishes
from ekss.ensemble.prepare import Coordinates, prepare
from ekss.ensemble.vote import Ensemble, matched_share
from ekss.metrics import clustering_error
from ekss.runtime.workers import Workers


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=40, random_state=0
    )


def plan_of(X):
    points = prepare(X, unit=False, affine=False)
    seen = Coordinates(points.rows)
    return Plan(points, seen, 3, Geometry(False, 2, 4), (5, 20))


def agreement_of(X, labels, cut=None):
    """Compare the halves of an ensemble of these labels."""
    ensemble = Ensemble(labels, np.ones(labels.shape[1]), 1, ("", 0, None))
    wishes = Wishes(3, cut=cut or CutOptions())

    def cluster(half, rows):
        return chain._cluster_some(plan_of(X), wishes, 0, half, rows)

    return vote._halves_agreement(ensemble, 3, 0, cluster, Workers())


def test_matched_share_is_one_less_the_clustering_error():
    rng = np.random.default_rng(0)
    for n_clusters in (2, 5):
        first, second = rng.integers(n_clusters, size=(2, 60))
        expected = 1 - clustering_error(first, second)
        assert matched_share(first, second) == pytest.approx(expected)
    assert matched_share(first, (first + 1) % 5) == 1


def test_halves_that_vote_alike_agree_and_halves_that_do_not_disagree(union):
    alike = np.tile(union.target[:, None], 20)
    assert agreement_of(union.data, alike) == 1
    other = np.random.default_rng(0).permutation(union.target)
    apart = alike.copy()
    apart[:, 1::2] = other[:, None]
    # each half finds its own classes
    expected = matched_share(union.target, other)
    assert agreement_of(union.data, apart) == pytest.approx(expected)


def test_halves_are_compared_on_a_sample_of_many_points(union, monkeypatch):
    monkeypatch.setattr(vote, "RULES", replace(vote.RULES, compared=60))
    seen = []

    def score(labels, evidence):
        seen.append(len(labels))
        return score_cut(labels, evidence)

    alike = np.tile(union.target[:, None], 20)
    assert agreement_of(union.data, alike, CutOptions(score=score)) == 1
    assert set(seen) == {60}


def grow(X, steps, max_iter=3):
    plan, wishes = plan_of(X), Wishes(3)

    def cluster(half, rows):
        return chain._cluster_some(plan, wishes, 0, half, rows)

    member = KSSMember(max_iter=max_iter).options(plan)
    return vote.vote(plan, member, steps, 0, Workers(), cluster=cluster)


def test_ensemble_stops_growing_when_its_halves_agree(union):
    ensemble = grow(union.data, (30, 60, 90))
    assert ensemble.labels.shape[1] == 30
    assert ensemble.agreement >= 0.97


def test_ensemble_of_poor_members_grows_to_the_last_step(union):
    noise = np.random.default_rng(0).standard_normal(union.data.shape)
    ensemble = grow(noise, (4, 8, 12))
    assert ensemble.labels.shape[1] == 12
    assert ensemble.agreement < 0.97


def test_one_step_measures_nothing(union):
    ensemble = grow(union.data, (7,))
    assert ensemble.labels.shape[1] == 7
    assert ensemble.agreement is None


def test_easy_data_need_the_smallest_ensemble_and_the_model_tells(union):
    model = EKSS(3, random_state=0).fit(union.data)
    assert model.n_members_ == 100 == model.member_labels_.shape[1]
    assert model.agreement_ >= 0.97
    assert clustering_error(union.target, model.labels_) == 0
    fixed = EKSS(3, n_members=30, random_state=0).fit(union.data)
    assert (fixed.n_members_, fixed.agreement_) == (30, None)


def test_word_other_than_auto_is_refused():
    with pytest.raises(ValueError, match="n_members='many' is not known; pass 'auto'"):
        EKSS(3, n_members="many").fit(np.eye(10))
