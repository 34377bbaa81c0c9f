"""Directions that all points have in common: found, removed, kept in the model."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from ekss import EKSS, CutOptions
from ekss.core.linalg import unit_rows, without
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import decide as automatic
from ekss.ensemble import score_cut
from ekss.ensemble.chain import work_of
from ekss.ensemble.decide import (
    Removal,
    _best_first,
    has_common_direction,
    most_removed,
    tried_rows,
)
from ekss.ensemble.prepare import common_directions
from ekss.io import load_model, save_model
from ekss.metrics import clustering_error
from ekss.preprocessing import RemoveComponents, UnitRows
from ekss.report import build
from ekss.runtime.rows import MemoryRows
from ekss.runtime.workers import Workers

FITTED = (
    "labels_",
    "bases_",
    "member_labels_",
    "embedding_",
    "candidates_",
    "n_neighbors_",
)


def model(n_clusters=3, **params):
    return EKSS(n_clusters, **{"n_members": 20, "random_state": 0, **params})


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        3, 2, n_features=30, n_per_subspace=30, noise=0.1, random_state=0
    )


@pytest.fixture(scope="module")
def leaning(planted):
    """Return the planted points, each with much of one direction added."""
    rng = np.random.default_rng(0)
    lengths = 2 + rng.random(len(planted.data))
    return planted.data + np.outer(lengths, rng.random(30))


@pytest.fixture(scope="module")
def chosen_fit(leaning):
    return model().fit(leaning)


def same_fit(one, other):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def test_common_direction_is_seen_whatever_the_lengths(planted, leaning):
    for scale in (1e-200, 1.0, 1e200):
        assert has_common_direction(scale * leaning)
        assert not has_common_direction(scale * planted.data)
    assert not has_common_direction(np.zeros((5, 3)))


def test_blocks_see_the_same_mean(leaning, monkeypatch):
    mean = unit_rows(leaning).mean(axis=0)
    for limit, seen in ((mean @ mean - 1e-9, True), (mean @ mean + 1e-9, False)):
        rules = replace(automatic.REMOVAL, common=limit, block_entries=70)
        monkeypatch.setattr(automatic, "REMOVAL", rules)
        assert has_common_direction(leaning) == seen


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rest_is_orthogonal_to_what_was_removed(leaning, unit, dtype):
    points = leaning.astype(dtype)
    removed = common_directions(points, 2, unit=unit)
    rest = without(points, removed, unit=unit)
    assert removed.dtype == rest.dtype == dtype
    small = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(removed @ removed.T, np.eye(2), atol=small)
    assert np.abs(rest @ removed.T).max() < small
    if unit:
        np.testing.assert_allclose(np.linalg.norm(rest, axis=1), 1, rtol=small)


def test_rest_equals_the_transformers(leaning):
    once = UnitRows().fit_transform(leaning)
    expected = UnitRows().fit_transform(RemoveComponents(2).fit_transform(once))
    removed = common_directions(leaning, 2, unit=True)
    np.testing.assert_allclose(without(leaning, removed, unit=True), expected)


def test_nothing_removed_changes_no_bit(leaning):
    for removed in (None, common_directions(leaning, 0, unit=True)):
        rest = without(leaning, removed, unit=True)
        np.testing.assert_array_equal(rest, unit_rows(leaning))
        assert without(leaning, removed, unit=False) is leaning


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_point_within_the_removed_directions_becomes_zero(dtype):
    direction = unit_rows(np.random.default_rng(0).random((1, 50))).astype(dtype)
    rest = without(3 * direction, direction, unit=True)
    np.testing.assert_array_equal(rest, np.zeros((1, 50)))


def test_lowest_score_comes_first_and_of_nearly_equal_ones_the_fewest_components():
    scores = [2.0, 1.05, float("inf"), 1.0]
    tried = _best_first([Removal(n, score, 100) for n, score in enumerate(scores)])
    assert [one.n_removed for one in tried] == [1, 3, 0, 2]


def test_numbers_that_were_given_up_come_last_whatever_their_score():
    tried = [Removal(0, 0.5, 25), Removal(1, 1.0, 100), Removal(2, 0.9, 50)]
    assert [one.n_removed for one in _best_first(tried)] == [1, 2, 0]


def test_energy_is_what_is_outside_of_all_components(leaning):
    energies = set()

    def look(labels, evidence):
        energies.add(evidence.energy)
        return 0.0

    model(cut=CutOptions(score=look)).fit(leaning)
    directions = common_directions(leaning, 3, unit=True)
    expected = [1.0]
    for count in range(4):
        rest = without(leaning, directions[:count], unit=True)
        outside = without(rest, directions[count:], unit=False)
        expected.append(np.square(outside).sum(axis=1).mean())
    for energy in expected:
        assert np.isclose(list(energies), energy, rtol=1e-9).any()
    for energy in energies:
        assert np.isclose(expected, energy, rtol=1e-9).any()


def test_few_features_or_points_leave_less_to_remove():
    assert [most_removed(100, n) for n in (1, 2, 3, 4, 5, 7, 50)] == [
        *(0, 0, 1, 1, 2, 3, 3)
    ]
    assert most_removed(3, 100) == 1
    assert tried_rows(500, 3) == 500
    assert tried_rows(10**6, 3) == 2000
    assert tried_rows(10**6, 80) == 8000


def test_common_direction_is_removed_by_itself_and_only_so_planted_ones_found(
    planted, leaning, chosen_fit
):
    assert clustering_error(planted.target, chosen_fit.labels_) == 0
    assert clustering_error(planted.target, chosen_fit.predict(leaning)) == 0
    plain = model(remove_components=0).fit(leaning)
    assert clustering_error(planted.target, plain.labels_) > 0.3
    assert [one.n_removed for one in chosen_fit.removals_][-1] == 0
    last = chosen_fit.removals_[0].n_members
    scores = [one.score for one in chosen_fit.removals_ if one.n_members == last]
    assert scores == sorted(scores)
    assert len(chosen_fit.removals_) == 4
    n_removed = chosen_fit.removals_[0].n_removed
    assert chosen_fit.removed_.shape == (n_removed, 30)
    overlap = chosen_fit.removed_ @ chosen_fit.bases_
    assert np.abs(overlap).max() < 1e-10


def test_points_without_a_common_direction_are_fitted_as_they_are(planted):
    chosen = model().fit(planted.data)
    same_fit(chosen, model(remove_components=0).fit(planted.data))
    assert chosen.removals_ == ()
    assert chosen.removed_.shape == (0, 30)


@pytest.mark.parametrize(
    "params", [{"normalize": False, "affine": False}, {"affine": True}], ids=str
)
def test_nothing_is_tried_for_affine_subspaces_or_without_unit_length(leaning, params):
    chosen = model(**params).fit(leaning)
    same_fit(chosen, model(remove_components=0, **params).fit(leaning))
    assert chosen.removals_ == ()
    assert chosen.removed_.shape == (0, 30)


@pytest.mark.parametrize("n_removed", [1, 2])
def test_number_of_ones_own_is_the_fit_of_points_prepared_by_hand(leaning, n_removed):
    fitted = model(remove_components=n_removed).fit(leaning)
    assert fitted.removals_ == ()
    once = UnitRows().fit_transform(leaning)
    steps = RemoveComponents(n_removed).fit(once)
    prepared = UnitRows().fit_transform(steps.transform(once))
    by_hand = model(remove_components=0).fit(prepared)
    np.testing.assert_array_equal(fitted.labels_, by_hand.labels_)
    np.testing.assert_array_equal(fitted.predict(leaning), by_hand.predict(prepared))
    np.testing.assert_allclose(
        fitted.transform(leaning), by_hand.transform(prepared), atol=1e-8
    )
    assert fitted.score(leaning) == pytest.approx(by_hand.score(prepared))


def test_number_that_was_chosen_gives_the_same_fit_if_given(leaning, chosen_fit):
    given = model(remove_components=len(chosen_fit.removed_)).fit(leaning)
    same_fit(chosen_fit, given)
    np.testing.assert_array_equal(chosen_fit.removed_, given.removed_)


@pytest.mark.parametrize("params", [{"affine": True}, {"normalize": False}])
def test_projection_alone_without_unit_length(planted, leaning, params):
    fitted = model(subspace_dim=2, remove_components=1, **params).fit(leaning)
    assert fitted.removed_.shape == (1, 30)
    assert np.abs(fitted.removed_ @ fitted.bases_).max() < 1e-10
    along = 5 * fitted.removed_
    np.testing.assert_allclose(
        fitted.transform(leaning + along), fitted.transform(leaning), atol=1e-8
    )


def test_single_precision_stays_and_gives_the_same_clusters(
    planted, leaning, chosen_fit
):
    single = model().fit(leaning.astype(np.float32))
    assert single.removed_.dtype == single.bases_.dtype == np.float32
    assert len(single.removed_) == len(chosen_fit.removed_)
    assert clustering_error(planted.target, single.labels_) == 0
    assert clustering_error(chosen_fit.labels_, single.predict(leaning)) == 0


@pytest.mark.parametrize("n_clusters", [3, "auto"])
@pytest.mark.parametrize("data", ["leaning", "planted"])
def test_a_score_that_only_looks_changes_nothing(n_clusters, data, request):
    points = request.getfixturevalue(data)
    points = getattr(points, "data", points) if data == "planted" else points
    seen = []

    def look(labels, evidence):
        seen.append(evidence)
        return score_cut(labels, evidence)

    plain = model(n_clusters, n_members=8).fit(points)
    watched = model(n_clusters, n_members=8, cut=CutOptions(score=look)).fit(points)
    assert seen
    # cuts that are scored together and alone differ by rounding
    for name in ("removals_", "candidates_"):
        one, other = getattr(watched, name), getattr(plain, name)
        np.testing.assert_allclose(
            sorted(each.score for each in one),
            sorted(each.score for each in other),
            rtol=1e-5,
        )
    tried = [
        [(one.n_removed, one.n_members) for one in fit.removals_]
        for fit in (watched, plain)
    ]
    assert tried[0] == tried[1]
    cuts = [
        {one.labels.tobytes() for one in fit.candidates_} for fit in (watched, plain)
    ]
    assert cuts[0] == cuts[1]
    for name in set(FITTED) - {"candidates_"}:
        one, other = getattr(watched, name), getattr(plain, name)
        np.testing.assert_array_equal(one, other, name)


def test_scores_and_cuts_of_ones_own_are_used_in_the_trial(leaning):
    seven = CutOptions(score=lambda labels, evidence: 7.0)
    fitted = model(cut=seven).fit(leaning)
    assert [one.score for one in fitted.removals_] == [7.0] * 4
    assert len(fitted.removed_) == 0


def test_number_of_clusters_is_sought_without_the_common_direction(
    planted, leaning, monkeypatch
):
    tried = []
    true = automatic.try_removals

    def counted(rows, wishes, *more):
        tried.append(more[0])
        return true(rows, wishes, *more)

    monkeypatch.setattr(automatic, "try_removals", counted)
    fitted = model("auto").fit(leaning)
    assert tried == [8, 3]  # for a guess, and for the number that was found
    assert fitted.n_clusters_ == 3
    assert len(fitted.removals_) == 4
    assert len(fitted.removed_) == fitted.removals_[0].n_removed > 0
    assert clustering_error(planted.target, fitted.labels_) == 0


def test_warm_start_keeps_the_choice_with_the_members(leaning, chosen_fit, monkeypatch):
    warm = model(n_members=10, warm_start=True).fit(leaning)
    before, ensemble = warm.removals_, warm._known.ensemble
    with monkeypatch.context() as patch:
        patch.setattr(automatic, "try_removals", None)  # a second trial would fail
        warm.set_params(n_members=20, n_jobs=2).fit(leaning)
    assert warm.removals_ == before
    assert warm._known.ensemble.origin == ensemble.origin
    np.testing.assert_array_equal(warm.labels_, chosen_fit.labels_)
    seven = CutOptions(score=lambda labels, evidence: 7.0)
    warm.set_params(cut=seven).fit(leaning)
    assert {one.score for one in warm.removals_} == {7.0}
    warm.set_params(cut=None).fit(leaning[::2])
    assert warm.removals_ not in ((), before)


def on_disk(X, folder):
    np.save(folder / "points.npy", X)
    return np.load(folder / "points.npy", mmap_mode="r")


SOURCES = {
    "memory": lambda X, folder: X,
    "disk": on_disk,
    "dask": lambda X, folder: da.from_array(X, (100, 30)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sample_decides_for_all_rows(planted, leaning, source, tmp_path):
    X = np.tile(leaning, (4, 1))
    rows = SOURCES[source](X, tmp_path)
    fitted = model(max_samples=90).fit(rows)
    directions = common_directions(X[fitted.sample_], 3, unit=True)
    count = len(fitted.removed_)
    assert count == fitted.removals_[0].n_removed > 0
    np.testing.assert_allclose(fitted.removed_, directions[:count], atol=1e-10)
    assert np.abs(fitted.removed_ @ fitted.bases_).max() < 1e-10
    expected = np.tile(planted.target, 4)
    assert clustering_error(expected, fitted.labels_) == 0
    assert clustering_error(expected, fitted.predict(rows)) == 0


def test_workers_do_not_change_the_choice_and_progress_is_shown(
    leaning, chosen_fit, capsys
):
    same_fit(chosen_fit, model(n_jobs=2, verbose=1).fit(leaning))
    assert "preprocessing" in capsys.readouterr().err


def test_model_file_keeps_what_is_removed(leaning, chosen_fit, tmp_path):
    save_model(tmp_path / "model.ekss", chosen_fit)
    loaded = load_model(tmp_path / "model.ekss")
    np.testing.assert_array_equal(loaded.estimator.removed_, chosen_fit.removed_)
    np.testing.assert_array_equal(loaded.predict(leaning), chosen_fit.predict(leaning))
    np.testing.assert_array_equal(
        loaded.transform(leaning), chosen_fit.transform(leaning)
    )


def test_report_sees_points_as_the_estimator_does(leaning, chosen_fit):
    page = build(chosen_fit, leaning)
    found = {name: value for name, value in page.summary["found"].items()}
    assert str(found["remove_components"]) == str(len(chosen_fit.removed_))
    expected = without(leaning, chosen_fit.removed_, unit=True)
    np.testing.assert_allclose(chosen_fit.preparation_(leaning), expected, atol=1e-12)


def test_estimate_counts_trials_where_they_may_be(planted, leaning, tmp_path):
    def trials(X, **params):
        rows = MemoryRows(X)
        wishes = model(**params)._wishes(rows.shape)
        return work_of(wishes, rows, None, Workers()).n_trials

    assert trials(leaning) == trials(leaning, subspace_dim=2) == 4
    assert trials(planted.data) == 0
    assert trials(leaning, remove_components=2) == 0
    np.save(tmp_path / "points.npy", planted.data)
    assert trials(np.load(tmp_path / "points.npy", mmap_mode="r")) == 4


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1, "remove_components=-1 is below 0; choose at least 0"),
        (30, r"remove_components=30 exceeds min\(n_samples, n_features\)-1=29"),
        ("all", "remove_components='all' is not known; pass 'auto' or an integer"),
        (1.5, "remove_components=1.5 is float; pass an integer"),
        (True, "remove_components=True is bool; pass an integer"),
        (None, "remove_components=None is NoneType; pass an integer"),
    ],
)
def test_bad_numbers_are_refused_in_words(planted, value, words):
    with pytest.raises((ValueError, TypeError), match=words):
        model(remove_components=value).fit(planted.data)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_points_that_are_all_alike_are_clustered():
    X = np.ones((12, 6))
    assert model(2).fit(X).labels_.shape == (12,)
    assert model(2, remove_components=2).fit(X).labels_.shape == (12,)
