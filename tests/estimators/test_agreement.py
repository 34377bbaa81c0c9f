import numpy as np
import pytest
from ekss.estimators._agreement import grow_ensemble, halves_agreement, matched_share
from ekss.estimators._auto import Geometry
from ekss.estimators._coordinates import Coordinates
from ekss.estimators._cutting import Cutting
from ekss.estimators._members import Ensemble, Wanted, member_options

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.estimators import _agreement as module
from ekss.graph import CUTTERS, score_cut
from ekss.metrics import clustering_error

GEOMETRY = Geometry(False, 2, 4)
CUTTING = Cutting(CUTTERS, score_cut, True, False, 0, 1, False)


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=40, random_state=0
    )


def as_ensemble(labels):
    return Ensemble(labels, np.ones(labels.shape[1]), 1, None)


def test_matched_share_is_one_less_the_clustering_error():
    rng = np.random.default_rng(0)
    for n_clusters in (2, 5):
        first, second = rng.integers(n_clusters, size=(2, 60))
        expected = 1 - clustering_error(first, second)
        assert matched_share(first, second) == pytest.approx(expected)
    assert matched_share(first, (first + 1) % 5) == 1


def test_halves_that_vote_alike_agree_and_halves_that_do_not_disagree(union):
    kept = Coordinates(union.data, None)
    alike = np.tile(union.target[:, None], 20)
    assert halves_agreement(as_ensemble(alike), kept, GEOMETRY, 3, CUTTING) == 1
    other = np.random.default_rng(0).permutation(union.target)
    apart = alike.copy()
    apart[:, 1::2] = other[:, None]
    found = halves_agreement(as_ensemble(apart), kept, GEOMETRY, 3, CUTTING)
    # each half finds its own classes
    assert found == pytest.approx(matched_share(union.target, other))


def test_halves_are_compared_on_a_sample_of_many_points(union, monkeypatch):
    monkeypatch.setattr(module, "_FEWEST_POINTS", 60)
    seen = []

    def score(labels, evidence):
        seen.append(len(labels))
        return score_cut(labels, evidence)

    cutting = Cutting(CUTTERS, score, True, False, 0, 1, False)
    outside = np.zeros(120)
    kept = Coordinates(union.data, outside)
    alike = as_ensemble(np.tile(union.target[:, None], 20))
    assert halves_agreement(alike, kept, GEOMETRY, 3, cutting) == 1
    assert set(seen) == {60}


def grow(union, steps, max_iter=3):
    wanted = Wanted("auto", "auto", max_iter, "power", "auto")
    return grow_ensemble(
        Coordinates(union.data, None),
        GEOMETRY,
        member_options(wanted, 120, 3, GEOMETRY),
        3,
        steps,
        CUTTING,
        known=None,
    )


def test_ensemble_stops_growing_when_its_halves_agree(union):
    ensemble, agreement = grow(union, (30, 60, 90))
    assert ensemble.labels.shape[1] == 30
    assert agreement >= 0.97


def test_ensemble_of_poor_members_grows_to_the_last_step(union):
    noise = np.random.default_rng(0).standard_normal(union.data.shape)
    union = type(union)(data=noise, target=union.target)
    ensemble, agreement = grow(union, (4, 8, 12))
    assert ensemble.labels.shape[1] == 12
    assert agreement < 0.97


def test_one_step_measures_nothing(union):
    ensemble, agreement = grow(union, (7,))
    assert ensemble.labels.shape[1] == 7
    assert agreement is None
    with pytest.raises(ValueError, match="at least one"):
        grow(union, ())


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
