import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.datasets import make_union_of_subspaces
from ekss.estimators._mkf import MedianKFlats
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=80, random_state=0
    )


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([MedianKFlats(n_init=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_planted_subspaces_are_recovered(union):
    model = MedianKFlats(3, 3, random_state=0, n_jobs=2).fit(union.data)
    assert clustering_error(union.target, model.labels_) == 0
    np.testing.assert_array_equal(model.predict(union.data), model.labels_)
    assert model.offsets_ is None


@pytest.mark.parametrize("seed", range(3))
def test_inliers_are_clustered_among_many_outliers(seed):
    data = make_union_of_subspaces(
        3, 3, 20, 80, outliers=0.5, noise=0.05, random_state=seed
    )
    model = MedianKFlats(3, 3, n_init=20, random_state=0).fit(data.data)
    inliers = data.target >= 0
    assert clustering_error(data.target[inliers], model.labels_[inliers]) < 0.02


def test_dimension_is_found_when_it_is_left_to_the_data(union):
    assert MedianKFlats(3, random_state=0).fit(union.data).subspace_dim_ == 3


def test_cost_is_the_sum_of_distances_and_its_history_never_rises(union):
    X = union.data + 0.2 * np.random.default_rng(0).standard_normal(union.data.shape)
    model = MedianKFlats(3, 3, n_init=3, random_state=0).fit(X)
    assert model.cost_ == pytest.approx(model.transform(X).min(axis=1).sum())
    assert np.all(np.diff(model.cost_history_) <= 0)
    assert model.cost_history_[-1] == model.cost_
    assert len(model.cost_history_) == model.n_iter_ + 1


def test_more_starts_never_cost_more(union):
    X = union.data + 0.2 * np.random.default_rng(0).standard_normal(union.data.shape)
    costs = [
        MedianKFlats(3, 3, n_init=n, random_state=0).fit(X).cost_ for n in (1, 3, 10)
    ]
    assert costs == sorted(costs, reverse=True)


def test_labels_do_not_depend_on_the_number_of_workers(union):
    X = union.data + 0.2 * np.random.default_rng(0).standard_normal(union.data.shape)
    one = MedianKFlats(3, 3, random_state=3, n_jobs=1).fit(X)
    two = MedianKFlats(3, 3, random_state=3, n_jobs=2).fit(X)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.cost_ == two.cost_


def test_length_of_points_counts_only_without_normalisation(union):
    lengths = np.random.default_rng(0).uniform(0.5, 2, (len(union.data), 1))
    scaled = MedianKFlats(3, 3, random_state=0).fit(lengths * union.data)
    same = MedianKFlats(3, 3, random_state=0).fit(union.data)
    np.testing.assert_allclose(scaled.cost_, same.cost_, atol=1e-6)
    raw = MedianKFlats(3, 2, normalize=False, random_state=0).fit(lengths * union.data)
    distances = raw.transform(lengths * union.data)
    assert raw.cost_ == pytest.approx(distances.min(axis=1).sum())


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_zero_rows_duplicates_and_few_points_are_clustered(union):
    X = np.vstack([union.data[:6], np.zeros((2, 20)), union.data[:6]])
    model = MedianKFlats(5, 4, random_state=0).fit(X)
    assert np.isfinite(model.bases_).all()
    assert model.labels_.shape == (14,)


def test_float32_is_kept(union):
    model = MedianKFlats(3, 3, random_state=0).fit(union.data.astype(np.float32))
    assert model.bases_.dtype == np.float32
    assert clustering_error(union.target, model.labels_) == 0


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"step": 0}, "step=0 never moves a subspace"),
        ({"step": -0.1}, "step=-0.1 is outside"),
        ({"normalize": "l2"}, "normalize='l2' is not known; pass 'auto' or True or"),
        ({"n_init": 0}, "n_init=0 is below 1"),
        ({"max_iter": 0}, "max_iter=0 is below 1"),
        ({"tol": -1.0}, "tol=-1.0 is outside"),
        ({"subspace_dim": 21}, "subspace_dim=21 exceeds n_features=20"),
        ({"n_clusters": 241}, "n_clusters=241 exceeds n_samples=240"),
    ],
)
def test_bad_parameters_are_refused_in_words(union, params, words):
    with pytest.raises((ValueError, TypeError), match=words):
        MedianKFlats(3, 3).set_params(**params).fit(union.data)
