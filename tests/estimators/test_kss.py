import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import KSS, CoPKSS
from ekss.core import exchange
from ekss.datasets import make_union_of_subspaces
from ekss.estimators._restarts import RestartedClusterer
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=80, random_state=0
    )


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([KSS(n_init=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("update", ["pca", "power"])
def test_planted_subspaces_are_recovered(union, update):
    model = KSS(3, 3, n_init=30, update=update, random_state=0, n_jobs=2).fit(
        union.data
    )
    assert clustering_error(union.target, model.labels_) == 0
    assert model.cost_ < 1e-6
    np.testing.assert_array_equal(model.predict(union.data), model.labels_)


def test_dimension_is_found_when_it_is_left_to_the_data(union):
    model = KSS(3, n_init=30, random_state=0).fit(union.data)
    assert model.subspace_dim_ == 3


@pytest.mark.parametrize("kind", [KSS, CoPKSS])
@pytest.mark.parametrize("seed", range(3))
def test_planes_with_little_noise_are_told_apart_by_default(kind, seed):
    data = make_union_of_subspaces(4, 2, 12, 50, noise=0.05, random_state=seed)
    model = kind(4, random_state=seed).fit(data.data)
    assert model.subspace_dim_ == 2
    assert clustering_error(data.target, model.labels_) == 0


class PlainKSS(KSS):
    """The best of starts that do not know of each other."""

    _runs = RestartedClusterer._runs


@pytest.fixture(scope="module")
def crowd():
    """Twelve subspaces, so that single starts end in local minima."""
    return make_union_of_subspaces(12, 3, 20, 25, noise=0.3, random_state=0)


@pytest.mark.parametrize("params", [{}, {"init": "random"}, {"affine": True}])
def test_exchange_never_costs_more_than_the_best_start(crowd, params):
    given = {"n_init": 5, "update": "power", "random_state": 0} | params
    plain = PlainKSS(12, 3, **given).fit(crowd.data)
    model = KSS(12, 3, **given).fit(crowd.data)
    assert model.cost_ <= plain.cost_
    assert np.all(np.diff(model.cost_history_) <= 1e-12)
    assert len(model.cost_history_) == model.n_iter_ + 1


def test_exchange_finds_what_more_plain_starts_do_not(crowd):
    plain = PlainKSS(12, 3, n_init=20, init="random", update="power", random_state=0)
    model = KSS(12, 3, n_init=10, update="power", random_state=0)
    assert clustering_error(crowd.target, plain.fit(crowd.data).labels_) > 0.1
    assert clustering_error(crowd.target, model.fit(crowd.data).labels_) < 0.02


@pytest.mark.parametrize(("n_clusters", "n_init"), [(3, 1), (1, 3)])
def test_one_start_or_one_cluster_has_nothing_to_exchange(union, n_clusters, n_init):
    plain, model = (
        kind(n_clusters, 3, n_init=n_init, random_state=0).fit(union.data)
        for kind in (PlainKSS, KSS)
    )
    np.testing.assert_array_equal(model.cost_history_, plain.cost_history_)


def test_cost_stays_at_the_best_start_where_a_sample_misjudges(crowd, monkeypatch):
    monkeypatch.setattr(exchange, "MOST_ENTRIES", 60 * 15)  # 15 points decide
    given = {"n_init": 5, "update": "power", "random_state": 0}
    plain = PlainKSS(12, 3, **given).fit(crowd.data)
    model = KSS(12, 3, **given).fit(crowd.data)
    assert model.cost_ <= plain.cost_
    assert np.all(np.diff(model.cost_history_) <= 1e-12)


def test_cost_history_never_rises_and_ends_in_the_cost(union):
    model = KSS(3, 2, n_init=3, random_state=0).fit(union.data)
    assert np.all(np.diff(model.cost_history_) <= 1e-12)
    assert model.cost_history_[-1] == model.cost_
    assert len(model.cost_history_) == model.n_iter_ + 1
    assert model.score(union.data) * len(union.data) == pytest.approx(
        -model.cost_, rel=1e-6
    )


def test_labels_do_not_depend_on_the_number_of_workers(crowd):
    given = {"n_init": 5, "update": "power", "random_state": 3}
    one = KSS(12, 3, n_jobs=1, **given).fit(crowd.data)
    two = KSS(12, 3, n_jobs=2, **given).fit(crowd.data)
    again = KSS(12, 3, **given).fit(crowd.data)
    for other in (two, again):
        assert one.labels_.tobytes() == other.labels_.tobytes()
        assert one.cost_ == other.cost_


def test_affine_flats_are_recovered():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 80)
    X = np.hstack([rng.standard_normal((240, 2)), 5.0 * np.eye(3)[y]])
    model = KSS(3, 2, affine=True, n_init=50, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert model.offsets_.shape == (3, 5)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_zero_rows_duplicates_and_few_points_are_clustered(union):
    X = np.vstack([union.data[:6], np.zeros((2, 20)), union.data[:6]])
    model = KSS(5, 4, random_state=0).fit(X)
    assert np.isfinite(model.bases_).all()
    assert model.labels_.shape == (14,)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_init": 0}, "n_init=0 is below 1"),
        ({"max_iter": 0}, "max_iter=0 is below 1"),
        ({"tol": -1.0}, "tol=-1.0 is outside"),
        ({"tol": "small"}, "tol='small' is str; pass a number"),
        ({"subspace_dim": 21}, "subspace_dim=21 exceeds n_features=20"),
        ({"subspace_dim": "d"}, "subspace_dim='d' is not known"),
        ({"init": "kmeans"}, "init='kmeans' is not known"),
        ({"update": "svd"}, "update='svd' is not known"),
        ({"n_clusters": 241}, "n_clusters=241 exceeds n_samples=240"),
    ],
)
def test_bad_parameters_are_refused_in_words(union, params, words):
    with pytest.raises((ValueError, TypeError), match=words):
        KSS(3, 3).set_params(**params).fit(union.data)
