"""Whitened points: what they are, when they are used, in how many directions."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from ekss import EKSS, CutOptions
from ekss.core.linalg import leading_spectrum, unit_rows
from ekss.core.low_rank import low_rank_rows
from ekss.ensemble import score_cut, settle, whiten
from ekss.ensemble.chain import work_of
from ekss.ensemble.prepare import Coordinates, View, whitened_directions
from ekss.ensemble.whiten import (
    Whitening,
    _best_first,
    has_common_direction,
    numbers_of_directions,
    tried_rows,
)
from ekss.io import load_model, save_model
from ekss.metrics import clustering_error
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
        rules = replace(whiten.WHITENING, common=limit, block_entries=70)
        monkeypatch.setattr(whiten, "WHITENING", rules)
        assert has_common_direction(leaning) == seen


# --- The coordinates ------------------------------------------------------------------


def whitened(X, count, *, unit=False):
    spectrum = leading_spectrum(X, min(count + 1, *X.shape))
    return View(whitened_directions(spectrum, count), unit)(X)


def test_all_directions_of_points_have_the_same_energy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8)) * np.logspace(0, 3, 8)
    Y = whitened(X, 8)
    np.testing.assert_allclose(Y.T @ Y, np.eye(8), atol=1e-9)


@pytest.mark.parametrize("count", [1, 4, 9])
def test_products_are_the_coefficients_of_least_nuclear_norm(leaning, count):
    left_out = np.linalg.svd(leaning, compute_uv=False)[count] ** 2
    Y, expected = whitened(leaning, count), low_rank_rows(leaning, left_out)
    np.testing.assert_allclose(Y @ Y.T, expected @ expected.T, atol=1e-9)


def test_independent_subspaces_become_orthogonal_however_close_they_are():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((1, 20))
    bases = common + 0.05 * rng.standard_normal((3, 2, 20))
    X = np.concatenate([rng.standard_normal((15, 2)) @ basis for basis in bases])
    cosines = np.abs(unit_rows(X) @ unit_rows(X).T)
    target = np.repeat([0, 1, 2], 15)
    others = target[:, None] != target
    assert cosines[others].max() > 0.99
    Y = whitened(X, 6, unit=True)
    assert np.abs(Y @ Y.T)[others].max() < 1e-6


def test_coordinates_do_not_depend_on_rotation_scale_or_order(leaning):
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    order = rng.permutation(len(leaning))
    Y = whitened(leaning, 7, unit=True)
    other = whitened(3.5 * leaning[order] @ turn, 7, unit=True)
    np.testing.assert_allclose(other @ other.T, (Y @ Y.T)[np.ix_(order, order)])


def test_directions_without_energy_are_zero():
    X = np.random.default_rng(2).standard_normal((20, 3)) @ np.eye(3, 8)
    assert whitened(X, 6).any(axis=0).tolist() == [True] * 3 + [False] * 3
    same = np.tile(np.eye(4), (5, 1))  # no direction holds more than the next
    lengths = np.linalg.norm(whitened(same, 2, unit=True), axis=1)
    np.testing.assert_allclose(np.sort(lengths), np.repeat([0, 1], 10), atol=1e-12)


def test_further_points_are_seen_in_the_same_coordinates(leaning):
    directions = whitened_directions(leading_spectrum(leaning, 6), 5)
    for unit in (True, False):
        view = View(directions, unit)
        points = view(leaning)
        seen = Coordinates(points.astype(np.float32), None, view)
        few = seen.take(np.arange(0))
        assert few.points.shape == (0, 5)
        again = few.of(leaning)
        assert again.dtype == np.float32
        np.testing.assert_array_equal(again, seen.points)


# --- The choice -----------------------------------------------------------------------


def test_lowest_score_comes_first_and_of_nearly_equal_ones_the_most_directions():
    scores = [2.0, 1.0, 1.05, float("inf"), 1.2]
    order = _best_first([Whitening(n, score, 100) for n, score in enumerate(scores)])
    assert order == [2, 1, 4, 0, 3]
    assert _best_first([Whitening(n, float("inf"), 100) for n in (1, 2)]) == [1, 0]


def test_every_cut_is_judged_in_every_number_of_directions(leaning):
    judged = {}

    def look(labels, evidence):
        judged.setdefault(labels.tobytes(), set()).add(evidence.points.shape[1])
        return score_cut(labels, evidence)

    fitted = model(n_members=5, cut=CutOptions(score=look)).fit(leaning)
    numbers = {one.n_directions for one in fitted.whitenings_}
    assert max(judged.values(), key=len) == numbers


def test_numbers_that_were_given_up_come_last_whatever_their_score():
    tried = [Whitening(1, 1.0, 100), Whitening(2, 0.9, 50), Whitening(3, 0.5, 25)]
    assert _best_first(tried) == [0, 1, 2]


def test_numbers_of_directions_leave_one_to_each_of_few_clusters():
    assert numbers_of_directions(10, (1000, 64)) == (10, 15, 20, 30, 40, 60)
    assert numbers_of_directions(100, (7200, 1024)) == (50, 100, 150, 200, 300, 400)
    assert numbers_of_directions(3, (4, 100)) == (3,)
    assert numbers_of_directions(5, (100, 4)) == ()
    assert numbers_of_directions(3, (100, 30), (2, 6)) == (9, 12, 18, 24)
    assert numbers_of_directions(3, (100, 30), (2, 24)) == ()
    assert tried_rows(500, 3) == 500
    assert tried_rows(10**6, 3) == 2000
    assert tried_rows(10**6, 80) == 8000


def test_points_with_a_common_direction_are_whitened_and_only_so_clusters_found(
    planted, leaning, chosen_fit
):
    assert clustering_error(planted.target, chosen_fit.labels_) == 0
    assert clustering_error(planted.target, chosen_fit.predict(leaning)) == 0
    plain = model(whiten=0, second_opinion=False).fit(leaning)
    assert clustering_error(planted.target, plain.labels_) > 0.3
    # self-expression helps where the common direction is not much stronger
    leaning_more = leaning + 2 * (leaning - planted.data)
    assert clustering_error(planted.target, model().fit_predict(leaning_more)) == 0
    plain = model(whiten=0).fit(leaning_more)
    assert clustering_error(planted.target, plain.labels_) > 0.3
    numbers = {one.n_directions for one in chosen_fit.whitenings_}
    assert numbers == set(numbers_of_directions(3, leaning.shape))
    assert chosen_fit.n_directions_ == chosen_fit.whitenings_[0].n_directions


def test_points_without_a_common_direction_are_fitted_as_they_are(planted):
    chosen = model().fit(planted.data)
    same_fit(chosen, model(whiten=0).fit(planted.data))
    assert chosen.whitenings_ == ()
    assert chosen.n_directions_ == 0


@pytest.mark.parametrize(
    "params", [{"normalize": False, "affine": False}, {"affine": True}], ids=str
)
def test_nothing_is_tried_for_affine_subspaces_or_without_unit_length(leaning, params):
    params = {"second_opinion": False, **params}
    chosen = model(**params).fit(leaning)
    same_fit(chosen, model(whiten=0, **params).fit(leaning))
    assert chosen.whitenings_ == ()


@pytest.mark.parametrize("count", [4, 9])
def test_number_of_ones_own_is_the_fit_of_points_whitened_by_hand(leaning, count):
    fitted = model(whiten=count).fit(leaning)
    assert fitted.whitenings_ == ()
    assert fitted.n_directions_ == count
    by_hand = model(whiten=0).fit(whitened(unit_rows(leaning), count, unit=True))
    np.testing.assert_array_equal(fitted.labels_, by_hand.labels_)


def test_number_that_was_chosen_gives_the_same_fit_if_given(leaning, chosen_fit):
    given = model(whiten=chosen_fit.n_directions_).fit(leaning)
    same_fit(chosen_fit, given)


@pytest.mark.parametrize("params", [{"affine": True}, {"normalize": False}], ids=str)
def test_points_of_any_length_can_be_whitened(planted, leaning, params):
    fitted = model(subspace_dim=2, whiten=8, **params).fit(leaning)
    assert fitted.n_directions_ == 8
    assert fitted.bases_.shape[1] == 30
    twice = model(subspace_dim=2, whiten=8, **params).fit(2 * leaning)
    np.testing.assert_array_equal(fitted.labels_, twice.labels_)


def test_single_precision_stays_and_gives_the_same_clusters(
    planted, leaning, chosen_fit
):
    single = model().fit(leaning.astype(np.float32))
    assert single.bases_.dtype == np.float32
    assert single.n_directions_ == chosen_fit.n_directions_
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
    for name in ("whitenings_", "candidates_"):
        one, other = getattr(watched, name), getattr(plain, name)
        np.testing.assert_allclose(
            sorted(each.score for each in one),
            sorted(each.score for each in other),
            rtol=1e-5,
        )
    tried = [
        [(one.n_directions, one.n_members) for one in fit.whitenings_]
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
    numbers = numbers_of_directions(3, leaning.shape)
    assert [one.score for one in fitted.whitenings_] == [7.0] * len(numbers)
    assert fitted.n_directions_ == numbers[-1]


def test_number_of_clusters_is_sought_among_whitened_points(
    planted, leaning, monkeypatch
):
    tried = []
    true = settle.try_whitening

    def counted(rows, wishes, *more):
        tried.append(more[0])
        return true(rows, wishes, *more)

    monkeypatch.setattr(settle, "try_whitening", counted)
    fitted = model("auto").fit(leaning)
    assert tried[0] == 8  # for a guess
    assert tried[-1] == 3  # and for the number that was found
    assert fitted.n_clusters_ == 3
    assert fitted.n_directions_ == fitted.whitenings_[0].n_directions > 0
    assert clustering_error(planted.target, fitted.labels_) == 0


def test_warm_start_keeps_the_choice_with_the_members(leaning, chosen_fit, monkeypatch):
    warm = model(n_members=10, warm_start=True).fit(leaning)
    before, ensemble = warm.whitenings_, warm._known.ensemble
    with monkeypatch.context() as patch:
        patch.setattr(settle, "try_whitening", None)  # a second trial would fail
        warm.set_params(n_members=20, n_jobs=2).fit(leaning)
    assert warm.whitenings_ == before
    assert warm._known.ensemble.origin == ensemble.origin
    assert clustering_error(warm.labels_, chosen_fit.labels_) == 0
    seven = CutOptions(score=lambda labels, evidence: 7.0)
    warm.set_params(cut=seven).fit(leaning)
    assert {one.score for one in warm.whitenings_} == {7.0}
    warm.set_params(cut=None).fit(leaning[::2])
    assert warm.whitenings_ not in ((), before)


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
    fitted = model(max_samples=200, n_members=40).fit(rows)
    alone = model(n_members=40).fit(X[fitted.sample_])
    assert fitted.n_directions_ == alone.n_directions_ > 0
    np.testing.assert_array_equal(fitted.labels_[fitted.sample_], alone.labels_)
    expected = np.tile(planted.target, 4)
    assert clustering_error(expected, fitted.labels_) == 0
    assert clustering_error(expected, fitted.predict(rows)) == 0


def test_workers_do_not_change_the_choice_and_progress_is_shown(
    leaning, chosen_fit, capsys
):
    same_fit(chosen_fit, model(n_jobs=2, verbose=1).fit(leaning))
    assert "preprocessing" in capsys.readouterr().err


def test_model_file_predicts_as_the_fit_does(leaning, chosen_fit, tmp_path):
    save_model(tmp_path / "model.ekss", chosen_fit)
    loaded = load_model(tmp_path / "model.ekss")
    np.testing.assert_array_equal(loaded.predict(leaning), chosen_fit.predict(leaning))
    np.testing.assert_array_equal(
        loaded.transform(leaning), chosen_fit.transform(leaning)
    )


def test_report_tells_how_many_directions(leaning, chosen_fit):
    found = build(chosen_fit, leaning).summary["found"]
    assert str(found["whiten"]) == str(chosen_fit.n_directions_)


def test_estimate_counts_trials_where_they_may_be(planted, leaning, tmp_path):
    def trials(X, **params):
        rows = MemoryRows(X)
        wishes = model(**params)._wishes(rows.shape)
        return work_of(wishes, rows, None, Workers()).n_trials

    most = len(numbers_of_directions(3, leaning.shape))
    assert trials(leaning) == trials(leaning, subspace_dim=2) == most
    assert trials(planted.data) == 0
    assert trials(leaning, whiten=2) == trials(leaning, whiten=0) == 0
    np.save(tmp_path / "points.npy", planted.data)
    assert trials(np.load(tmp_path / "points.npy", mmap_mode="r")) == most


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1, "whiten=-1 is below 0; choose at least 0"),
        (31, r"whiten=31 exceeds min\(n_samples, n_features\)=30"),
        ("all", "whiten='all' is not known; pass 'auto' or an integer"),
        (1.5, "whiten=1.5 is float; pass an integer"),
        (True, "whiten=True is bool; pass an integer"),
        (None, "whiten=None is NoneType; pass an integer"),
    ],
)
def test_bad_numbers_are_refused_in_words(planted, value, words):
    with pytest.raises((ValueError, TypeError), match=words):
        model(whiten=value).fit(planted.data)


def test_subspaces_leave_a_direction_outside(leaning):
    words = "whiten=4 leaves no direction outside of a subspace of dimension 4; choose"
    with pytest.raises(ValueError, match=words):
        model(subspace_dim=4, whiten=4).fit(leaning)
    fitted = model(subspace_dim=4, n_members=5).fit(leaning)
    assert min(one.n_directions for one in fitted.whitenings_) > 4
    assert model(subspace_dim=28, n_members=5).fit(leaning).n_directions_ == 0


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_points_that_are_all_alike_are_clustered():
    X = np.ones((12, 6))
    assert model(2).fit(X).labels_.shape == (12,)
    assert model(2, whiten=2).fit(X).labels_.shape == (12,)
