"""One parameter, one effect: giving one changes nothing else."""

import numpy as np
import pytest

from ekss import EKSS, CutOptions, KSSMember
from ekss.ensemble import CUTTERS, score_cut


def model(n_clusters=3, **params):
    return EKSS(n_clusters, **{"n_members": 20, "random_state": 0, **params})


@pytest.fixture(scope="module")
def tracks():
    """Points on flats of dimension 2 that miss the origin."""
    rng = np.random.default_rng(0)
    flats = [
        rng.normal(size=(40, 2)) @ rng.normal(size=(2, 20)) + 4 * rng.normal(size=20)
        for _ in range(3)
    ]
    return np.concatenate(flats)


@pytest.mark.parametrize(
    "given",
    [
        {"subspace_dim": 2},
        {"n_neighbors": 5},
        {"member": KSSMember(3)},
        {"member": KSSMember(update="pca", max_iter=2)},
        {"cut": CutOptions(score=lambda labels, evidence: score_cut(labels, evidence))},
        {"cut": CutOptions(cutters=CUTTERS[:1])},
        {"cut": CutOptions(divide_by_size=False)},
    ],
    ids=["dimension", "neighbors", "candidates", "update", "score", "cutters", "votes"],
)
def test_whitening_stays_automatic(leaning, given):
    fitted = model(**given).fit(leaning)
    assert len(fitted.whitenings_) > 1
    assert fitted.n_directions_ == fitted.whitenings_[0].n_directions


@pytest.mark.parametrize(
    "given",
    [{"subspace_dim": 2}, {"n_neighbors": 5}, {"member": KSSMember(3)}],
    ids=str,
)
def test_affine_subspaces_are_recognised_whatever_else_is_given(tracks, given):
    assert model().fit(tracks).affine_
    assert model(**given).fit(tracks).affine_


def test_number_of_neighbors_leaves_the_choice_among_cuts(planted):
    fitted = model(n_neighbors=5).fit(planted.data)
    by_votes = [one for one in fitted.candidates_ if one.graph == "votes"]
    assert {one.n_neighbors for one in by_votes} == {5}
    several = model().fit(planted.data)
    assert len({one.n_neighbors for one in several.candidates_}) >= 1
    np.testing.assert_array_equal(fitted.member_labels_, several.member_labels_)


def test_score_changes_the_score_and_nothing_else(leaning):
    same = CutOptions(score=lambda labels, evidence: score_cut(labels, evidence).total)
    default, custom = model().fit(leaning), model(cut=same).fit(leaning)
    np.testing.assert_array_equal(default.labels_, custom.labels_)
    assert [one.n_directions for one in default.whitenings_] == [
        one.n_directions for one in custom.whitenings_
    ]


def test_dimension_leaves_the_number_of_candidates(planted):
    automatic, given = (
        model().fit(planted.data),
        model(subspace_dim=2).fit(planted.data),
    )
    assert automatic.member_labels_.max() >= 8
    assert given.member_labels_.max() >= 8
    assert given.subspace_dim_ == 2


def test_candidates_leave_the_dimensions(planted):
    members = [KSSMember("auto"), KSSMember(5), KSSMember(None)]
    dims = {model(member=one).fit(planted.data).subspace_dim_ for one in members}
    assert len(dims) == 1


def test_cutters_leave_the_cuts_of_each_other(planted):
    every = model(n_neighbors=5).fit(planted.data)
    few = CutOptions(cutters=CUTTERS[:2])
    some = model(n_neighbors=5, cut=few).fit(planted.data)
    scores = {(one.graph, one.origin): one.score for one in every.candidates_}
    assert {one.graph for one in some.candidates_} == {"votes", "expressions"}
    for one in some.candidates_:
        assert scores[one.graph, one.origin] == pytest.approx(one.score)


def test_there_are_at_most_nineteen_parameters():
    assert len(EKSS().get_params(deep=False)) <= 19
