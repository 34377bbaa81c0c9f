"""ConsensusClustering: votes of any clusterer, abstentions, judges, further rows."""

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.cluster import DBSCAN, AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import normalized_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import KSS, ConsensusClustering, CutOptions
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble.consensus import Bagging, count_parameter, fit_member
from ekss.metrics import clustering_error
from ekss.report import build

QUICK = KMeans(init="random", n_init=1, max_iter=5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([ConsensusClustering(2, n_members=5)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(240, n_features=6, centers=4, random_state=1)


def fitted(X, n_clusters=4, estimator=QUICK, **parameters):
    parameters = {"n_members": 16, "random_state": 0} | parameters
    return ConsensusClustering(n_clusters, estimator, **parameters).fit(X)


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        AgglomerativeClustering(),
        Birch(),
        DBSCAN(eps=4.0),
        GaussianMixture(covariance_type="spherical"),
        make_pipeline(GaussianRandomProjection(3), QUICK),
        [QUICK, AgglomerativeClustering()],
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_blobs_are_recovered_by_any_clusterer(blobs, estimator):
    X, y = blobs
    model = fitted(X, estimator=estimator)
    assert clustering_error(y, model.labels_) == 0
    new, kinds = make_blobs(100, n_features=6, centers=4, random_state=1)
    assert clustering_error(kinds, model.predict(new)) == 0


def test_consensus_of_subspaces_is_judged_by_subspaces():
    data = make_union_of_subspaces(3, 2, 20, 40, noise=0.02, random_state=0)
    model = fitted(data.data, 3, KSS(3, subspace_dim=2, n_init=2), geometry="subspaces")
    assert clustering_error(data.target, model.labels_) == 0


def test_votes_alone_find_what_centres_cannot_describe():
    X, y = make_moons(240, noise=0.04, random_state=0)
    model = fitted(X, 2, n_members=60, n_base_clusters=(12, 20), geometry=None)
    assert clustering_error(y, model.labels_) == 0


def test_small_clusters_are_not_merged_to_even_out_sizes():
    X, y = make_blobs([400, 60, 30], 6, cluster_std=0.5, random_state=3)
    for geometry in ("centers", None):
        model = fitted(X, 3, n_members=40, geometry=geometry)
        assert clustering_error(y, model.labels_) == 0


@pytest.mark.parametrize("geometry", ["centers", None])
def test_candidates_are_ordered_by_residual_dissent_and_discord(blobs, geometry):
    X, _ = blobs
    noisy = X + np.random.default_rng(0).normal(0, 4, X.shape)
    model = fitted(noisy, geometry=geometry)
    for one in model.candidates_:
        shared = [
            normalized_mutual_info_score(member, one.labels, average_method="geometric")
            for member in model.member_labels_.T
        ]
        judged = one.judged
        assert judged.discord == pytest.approx(1 - np.mean(shared), abs=1e-6)
        product = judged.residual**5 * judged.dissent * judged.discord**10
        assert one.score == pytest.approx(np.log(product))
        assert (judged.residual == 1) == (geometry is None)
    scores = [one.score for one in model.candidates_]
    assert scores == sorted(scores)
    assert len(set(scores)) > 1
    np.testing.assert_array_equal(model.labels_, model.candidates_[0].labels)


def test_a_member_sees_its_own_rows_columns_and_parameters(blobs):
    X, _ = blobs
    bagging = Bagging((DBSCAN(),), None, 0.25, 0.5, {"eps": uniform(1, 2)})
    members = [fit_member(X, bagging, 0, number) for number in range(4)]
    for member in members:
        seen = X[np.ix_(member.rows, member.columns)]
        assert seen.shape == (60, 3)
        expected = DBSCAN(eps=member.estimator.eps).fit_predict(seen)
        np.testing.assert_array_equal(member.labels, expected)
        votes = member.votes(X)
        np.testing.assert_array_equal(votes[member.rows], np.maximum(expected, -1))
        assert (np.delete(votes, member.rows) == -1).all()
    assert len({member.estimator.eps for member in members}) == 4
    assert len({member.rows.tobytes() for member in members}) == 4


@pytest.mark.parametrize("number", [1, 2, 7, 14, 24])
def test_numbers_of_rows_and_columns_are_kept(number):
    X = np.random.default_rng(0).random((25, 25))
    model = fitted(X, 2, max_samples=number, max_features=number, n_members=2)
    for member in model.assignment_.models:
        assert len(member.rows) == max(number, 2)
        assert len(member.columns) == number


def test_members_that_predict_vote_on_all_rows(blobs):
    X, _ = blobs
    member = fit_member(X, Bagging((QUICK,), (4, 6), 0.5), 0, 1)
    np.testing.assert_array_equal(member.votes(X), member.estimator.predict(X))
    assert 4 <= member.estimator.n_clusters <= 6


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (QUICK, "n_clusters"),
        (GaussianMixture(), "n_components"),
        (make_pipeline(GaussianRandomProjection(3), QUICK), "kmeans__n_clusters"),
        (DBSCAN(), None),
    ],
)
def test_the_number_of_clusters_is_found_among_the_parameters(estimator, name):
    assert count_parameter(estimator) == name


def test_labels_do_not_depend_on_workers_and_follow_the_seed(blobs):
    X, _ = blobs
    noisy = X + np.random.default_rng(0).normal(0, 4, X.shape)
    one, two, other = (
        fitted(noisy, n_members=8, n_jobs=n, random_state=seed)
        for n, seed in ((1, 0), (2, 0), (1, 1))
    )
    np.testing.assert_array_equal(one.member_labels_, two.member_labels_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert (one.member_labels_ != other.member_labels_).any()


@pytest.mark.parametrize("estimator", [QUICK, AgglomerativeClustering()])
def test_rows_beyond_the_sample_get_their_clusters(estimator):
    X, y = make_blobs(900, n_features=6, centers=4, random_state=1)
    model = fitted(X, estimator=estimator, max_voted=200)
    assert len(model.sample_) == len(model.member_labels_) == 200
    assert len(model.labels_) == 900
    assert clustering_error(y, model.labels_) == 0


def test_rows_on_disk_are_clustered_as_those_in_memory(tmp_path, blobs):
    X, _ = blobs
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    first = fitted(X, max_voted=100)
    second = fitted(mapped, max_voted=100)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(second.predict(mapped), first.predict(X))


def test_the_number_of_clusters_is_found(blobs):
    X, y = blobs
    model = fitted(X, "auto", n_members=30)
    assert model.n_clusters_ == 4
    assert model.counts_[0].n_clusters == 4
    assert clustering_error(y, model.labels_) == 0


def test_the_ensemble_grows_until_halves_agree(blobs):
    X, _ = blobs
    model = ConsensusClustering(4, QUICK, random_state=0).fit(X)
    assert model.n_members_ == 100
    assert model.agreement_ == 1


@pytest.mark.parametrize("estimator", [QUICK, DBSCAN(eps=4.5)])
def test_a_report_is_made_with_and_without_noise(blobs, estimator):
    X = np.vstack([blobs[0], np.full((1, 6), 99.0)])
    page = build(fitted(X, estimator=estimator), X)
    assert page.summary["n_clusters"] == 4


# --- From labels ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def votes():
    """Labels of 30 noisy clusterings of 90 points, a third of them missing."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    labels = np.stack([rng.permutation(3)[truth] for _ in range(30)], axis=1)
    labels[rng.random(labels.shape) < 0.2] = 0
    labels[rng.random(labels.shape) < 1 / 3] = -1
    return labels, truth


def of_labels(labels, **parameters):
    return ConsensusClustering.from_labels(labels, 3, random_state=0, **parameters)


def test_labels_with_missing_votes_give_the_planted_clusters(votes):
    labels, truth = votes
    assert clustering_error(truth, of_labels(labels).labels_) == 0


def test_names_and_order_of_clusterings_do_not_matter(votes):
    labels, _ = votes
    rng = np.random.default_rng(1)
    renamed = np.where(labels < 0, labels, rng.permutation(9)[labels])
    shuffled = renamed[:, rng.permutation(30)]
    np.testing.assert_array_equal(
        of_labels(labels).labels_, of_labels(shuffled).labels_
    )


def test_a_clustering_without_votes_or_weight_changes_nothing(votes):
    labels, _ = votes
    silent = np.column_stack([labels, np.full(90, -1), np.arange(90) % 2])
    model = of_labels(silent, weights=[1.0] * 31 + [0.0])
    np.testing.assert_array_equal(model.labels_, of_labels(labels).labels_)


def test_points_make_prediction_possible(votes):
    labels, truth = votes
    points = np.eye(3)[truth] + 0.01 * np.arange(90)[:, None]
    model = of_labels(labels, points=points)
    np.testing.assert_array_equal(model.predict(points), model.labels_)
    with pytest.raises(ValueError, match="pass points= to from_labels"):
        of_labels(labels).predict(points)


def test_consensus_of_labels_is_that_of_the_fit(blobs):
    X, _ = blobs
    model = fitted(X)
    again = ConsensusClustering.from_labels(
        model.member_labels_, 4, points=X, random_state=0
    )
    np.testing.assert_array_equal(again.labels_, model.labels_)


# --- What is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"estimator": "kmeans"}, TypeError, "has no fit_predict"),
        ({"estimator": []}, ValueError, "pass at least one"),
        ({"max_samples": 0.0}, ValueError, r"not a share in \(0, 1\]"),
        ({"max_samples": 241}, ValueError, "exceeds 240"),
        ({"max_features": 7}, ValueError, "exceeds 6"),
        ({"n_base_clusters": 0}, ValueError, "below 1"),
        ({"geometry": "lines"}, ValueError, "choose one of 'centers'"),
        ({"n_members": 0}, ValueError, "below 1"),
        ({"max_voted": 2}, ValueError, "below 4"),
        ({"cut": "all"}, TypeError, "pass CutOptions"),
    ],
)
def test_bad_parameters_are_refused(blobs, parameters, error, message):
    with pytest.raises(error, match=message):
        fitted(blobs[0], **parameters)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 1], r"shape \(3,\)"),
        ([[0.5], [1.0]], "type float64"),
        ([[-1], [-1]], "all labels are negative"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        ConsensusClustering.from_labels(labels, 2)


def test_labels_have_no_parameters_of_members(votes):
    with pytest.raises(TypeError, match="has no parameter 'max_samples'"):
        of_labels(votes[0], max_samples=0.5)


def test_a_score_of_the_users_chooses(blobs):
    seen = []

    def first_label(labels, evidence):
        seen.append(evidence.dims)
        return float(len(seen))

    options = CutOptions(score=first_label)
    model = fitted(blobs[0], geometry="centers", cut=options)
    assert set(seen) == {(0,)}
    assert model.candidates_[0].score == 1
