import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import KSS, CoPKSS
from ekss.datasets import make_union_of_subspaces
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


def test_more_starts_never_cost_more(union):
    X = union.data + 0.3 * np.random.default_rng(0).standard_normal(union.data.shape)
    costs = [KSS(3, 3, n_init=n, random_state=0).fit(X).cost_ for n in (1, 3, 10, 30)]
    assert costs == sorted(costs, reverse=True)


def test_cost_history_never_rises_and_ends_in_the_cost(union):
    model = KSS(3, 2, n_init=3, random_state=0).fit(union.data)
    assert np.all(np.diff(model.cost_history_) <= 1e-12)
    assert model.cost_history_[-1] == model.cost_
    assert len(model.cost_history_) == model.n_iter_ + 1
    assert model.score(union.data) * len(union.data) == pytest.approx(
        -model.cost_, rel=1e-6
    )


def test_labels_do_not_depend_on_the_number_of_workers(union):
    one = KSS(3, 3, random_state=3, n_jobs=1).fit(union.data)
    two = KSS(3, 3, random_state=3, n_jobs=2).fit(union.data)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.cost_ == two.cost_


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
        ({"update": "svd"}, "update='svd' is not known"),
        ({"n_clusters": 241}, "n_clusters=241 exceeds n_samples=240"),
    ],
)
def test_bad_parameters_are_refused_in_words(union, params, words):
    with pytest.raises((ValueError, TypeError), match=words):
        KSS(3, 3).set_params(**params).fit(union.data)
