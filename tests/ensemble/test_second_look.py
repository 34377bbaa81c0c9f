"""A second look at affine subspaces: votes on whitened points against the votes."""

import numpy as np
import pytest

from ekss import EKSS, CutOptions
from ekss.ensemble import CutScore, Evidence, score_cut
from ekss.ensemble.second_look import contrast
from ekss.metrics import clustering_error


def tracks(n_motions=4, n_points=40, n_features=20, noise=0.2, seed=0):
    """Noisy points on flats with one strong direction and two weak ones."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(range(n_motions), n_points)
    points = np.empty((len(truth), n_features))
    for k in range(n_motions):
        basis = np.linalg.qr(rng.standard_normal((n_features, 3)))[0]
        places = rng.standard_normal((n_points, 3)) * (3, 1, 0.3)
        middle = rng.standard_normal(n_features) / 2
        points[truth == k] = places @ basis.T + middle
    points += 2 * noise / np.sqrt(n_features) * rng.standard_normal(points.shape)
    return points, truth


def model(n_clusters=4, **params):
    return EKSS(n_clusters, **{"n_members": 60, "affine": True, **params})


@pytest.fixture(scope="module")
def weak():
    return tracks()


@pytest.fixture(scope="module")
def of_weak(weak):
    """A fit in which the whitened votes win."""
    return model(random_state=0).fit(weak[0])


@pytest.fixture(scope="module")
def of_clear():
    """A fit in which the votes win."""
    return model(2, random_state=0).fit(tracks(2, n_features=40)[0])


@pytest.fixture(params=["of_weak", "of_clear"])
def fitted(request):
    return request.getfixturevalue(request.param)


def of_graph(candidates, graph):
    return [one for one in candidates if one.graph == graph]


@pytest.mark.parametrize("seed", range(3))
def test_weak_directions_are_seen_on_whitened_points(seed):
    X, truth = tracks(seed=seed)
    twice = model(random_state=seed).fit_predict(X)
    once = model(random_state=seed, second_opinion=False).fit_predict(X)
    assert clustering_error(truth, twice) < 0.01
    assert clustering_error(truth, once) >= clustering_error(truth, twice)


def test_cuts_of_whitened_votes_are_those_of_a_fit_to_whitened_points(weak, fitted):
    n_clusters = fitted.n_clusters
    X = weak[0] if n_clusters == 4 else tracks(2, n_features=40)[0]
    n_directions = min(6 * n_clusters, X.shape[1])
    alone = model(n_clusters, whiten=n_directions, random_state=0).fit(X)
    own = of_graph(fitted.candidates_, "whitened votes")
    assert len(own) == len(alone.candidates_) > 0
    for one, other in zip(own, alone.candidates_, strict=True):
        assert (one.origin, one.n_neighbors) == (other.origin, other.n_neighbors)
        assert one.score == pytest.approx(other.score)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_votes_on_the_points_stay_what_they_are(weak, of_weak):
    once = model(random_state=0, second_opinion=False).fit(weak[0])
    assert list(once.candidates_) == of_graph(of_weak.candidates_, "votes")
    np.testing.assert_array_equal(once.member_labels_, of_weak.member_labels_)
    assert once.finalists_ == ()


def test_finalists_are_the_best_of_both_and_the_first_gives_the_labels(fitted):
    first, second = fitted.finalists_
    assert first.score <= second.score
    np.testing.assert_array_equal(fitted.labels_, first.labels)
    assert first.n_neighbors == fitted.n_neighbors_
    assert {first.graph, second.graph} == {"votes", "whitened votes"}
    for one in (first, second):
        best = of_graph(fitted.candidates_, one.graph)[0]
        assert one.origin == best.origin
        np.testing.assert_array_equal(one.labels, best.labels)


def test_each_wins_where_it_is_better(of_weak, of_clear):
    assert of_weak.finalists_[0].graph == "whitened votes"
    assert of_clear.finalists_[0].graph == "votes"


def whitened_by_hand(X, n_directions):
    """Left singular vectors of the centred points, less where noise is as strong."""
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    noise = values[n_directions] if n_directions < len(values) else 0.0
    kept = np.sqrt(np.maximum(1 - (noise / values[:n_directions]) ** 2, 0))
    return left[:, :n_directions] * kept


def test_finalists_are_judged_by_overlap_and_dissent_of_both(weak):
    X, _ = weak
    given = {"subspace_dim": 3, "n_members": 20, "random_state": 0}
    fitted, alone = model(**given).fit(X), model(whiten=20, **given).fit(X)
    centred = X - X.mean(axis=0)
    views = [
        Evidence(centred, (3,), True, member_labels=fitted.member_labels_),
        # 20 features are fewer than 6 K
        Evidence(
            whitened_by_hand(X, 20), (3,), True, member_labels=alone.member_labels_
        ),
    ]
    for one in fitted.finalists_:
        judged = [score_cut(one.labels.astype(int), view) for view in views]
        for ours, theirs in zip(one.judged, judged, strict=True):
            assert ours.overlap == pytest.approx(theirs.overlap, abs=1e-6)
            assert ours.dissent == pytest.approx(theirs.dissent)
        parts = [2 * np.log(j.overlap) + 2 * np.log(j.dissent) for j in judged]
        assert one.score == pytest.approx(sum(parts), abs=1e-4)


def test_contrast_leaves_the_residual_out_and_keeps_other_scores():
    one, other = CutScore(0.1, 0.3, 0.2), CutScore(7.0, 0.3, 0.2)
    assert contrast(one) == pytest.approx(contrast(other))
    assert contrast(CutScore(0.1, 0.4, 0.2)) > contrast(one)
    assert contrast(3.5) == 3.5


def test_score_of_ones_own_is_asked_about_both(weak):
    X, _ = weak
    seen = []

    def score(labels, evidence):
        seen.append(evidence.points.copy())
        return score_cut(labels, evidence).dissent

    fitted = model(cut=CutOptions(score=score), n_members=20, random_state=0).fit(X)
    for one in fitted.finalists_:
        assert one.score == pytest.approx(sum(one.judged))
    assert len({points.tobytes() for points in seen}) == 2


@pytest.mark.parametrize(
    ("n_clusters", "params"),
    [
        (4, {"affine": False}),
        (4, {"second_opinion": False}),
        (4, {"whiten": 0}),
        (4, {"whiten": 10}),
        (4, {"cut": CutOptions(pairs="likely")}),
        (2, {"subspace_dim": 13}),
        (1, {}),
    ],
    ids=str,
)
def test_no_second_look_where_it_cannot_be_or_is_not_wanted(weak, n_clusters, params):
    fitted = model(n_clusters, n_members=10, random_state=0, **params).fit(weak[0])
    assert "whitened votes" not in {one.graph for one in fitted.candidates_}
    assert "whitened votes" not in {one.graph for one in fitted.finalists_}


def test_order_and_scale_of_points_change_nothing(weak, of_weak):
    X, _ = weak
    order = np.random.default_rng(0).permutation(len(X))
    other = model(random_state=0).fit(1024.0 * X[order] + 5.0)
    assert clustering_error(of_weak.labels_[order], other.labels_) <= 0.01
    scaled = model(random_state=0).fit(1024.0 * X)
    np.testing.assert_array_equal(scaled.labels_, of_weak.labels_)


def test_labels_do_not_depend_on_the_number_of_workers(weak, of_weak):
    two = model(random_state=0, n_jobs=2).fit(weak[0])
    np.testing.assert_array_equal(two.labels_, of_weak.labels_)
    assert two.candidates_ == of_weak.candidates_
    assert two.finalists_ == of_weak.finalists_


def test_warm_start_gives_the_same(weak, of_weak):
    warm = model(random_state=0, warm_start=True, n_members=30).fit(weak[0])
    warm.set_params(n_members=60).fit(weak[0])
    np.testing.assert_array_equal(warm.labels_, of_weak.labels_)
    assert warm.finalists_ == of_weak.finalists_


def test_new_points_get_the_cluster_of_their_flat(of_weak):
    X, truth = tracks()
    assert clustering_error(truth, of_weak.predict(X + 0.0)) < 0.02


def test_sample_of_the_rows_is_looked_at_twice():
    X, truth = tracks(n_points=80)
    fitted = model(random_state=0, max_samples=160).fit(X)
    assert of_graph(fitted.candidates_, "whitened votes")
    assert clustering_error(truth, fitted.labels_) < 0.02


def test_members_of_ones_own_look_at_whitened_points_too(weak):
    shapes = set()

    def member(points, seed):
        shapes.add(points.shape)
        return np.random.default_rng(seed).integers(8, size=len(points))

    wide = np.hstack([weak[0], weak[0][:, ::-1] ** 2])
    model(member=member, n_members=4, random_state=0).fit(wide)
    assert shapes == {(160, 40), (160, 24)}
