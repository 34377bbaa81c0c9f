"""EnSC: the scikit-learn interface, planted recovery, edge cases."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.core.representation import affinity_of
from ekss.datasets import make_union_of_subspaces
from ekss.estimators._ensc import EnSC
from ekss.metrics import clustering_error, false_connection_rate


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([EnSC(n_clusters=2)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=30,
        n_per_subspace=60,
        random_state=0,
        return_X_y=True,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_clusters_are_recovered(planted, dtype):
    X, y = planted
    model = EnSC(3, gamma=20, random_state=0).fit(X.astype(dtype))
    assert clustering_error(y, model.labels_) == 0
    assert false_connection_rate(model.affinity_, y, weighted=True) < 1e-5
    assert model.coefficients_.dtype == dtype


def test_noisy_clusters_are_recovered():
    X, y = make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=30,
        n_per_subspace=60,
        noise=0.1,
        random_state=0,
        return_X_y=True,
    )
    model = EnSC(3, gamma=5, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_labels_equal_for_one_and_two_jobs():
    X = np.random.default_rng(1).standard_normal((600, 6))
    one = EnSC(4, gamma=5, random_state=0, n_jobs=1).fit(X)
    two = EnSC(4, gamma=5, random_state=0, n_jobs=2).fit(X)
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.coefficients_.data, two.coefficients_.data)


def test_affinity_is_symmetric_with_empty_diagonal(planted):
    model = EnSC(3, random_state=0).fit(planted[0])
    assert abs(model.affinity_ - model.affinity_.T).max() == 0
    assert not model.affinity_.diagonal().any()
    expected = affinity_of(model.coefficients_, equal_rows=False)
    assert (model.affinity_ != expected).nnz == 0


def test_scale_of_points_is_ignored_when_normalized(planted):
    X, _ = planted
    scale = np.random.default_rng(2).uniform(0.5, 2, (len(X), 1))
    plain = EnSC(3, random_state=0).fit(X)
    scaled = EnSC(3, random_state=0).fit(X * scale)
    assert abs(plain.affinity_ - scaled.affinity_).max() < 1e-5
    unscaled = EnSC(3, normalize=False, random_state=0).fit(X * scale)
    assert abs(plain.affinity_ - unscaled.affinity_).max() > 1e-3


def test_zero_rows_duplicates_and_many_features_are_accepted():
    data = make_union_of_subspaces(
        n_subspaces=2, dims=2, n_features=80, n_per_subspace=15, random_state=1
    )
    X = np.vstack([data.data, data.data[:5], np.zeros((2, 80))])
    y = np.append(data.target, data.target[:5])
    model = EnSC(2, gamma=10, random_state=0).fit(X)
    assert len(X) < X.shape[1]
    assert clustering_error(y, model.labels_[:-2]) == 0
    assert set(model.labels_) == {0, 1}


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_larger_gamma_gives_more_neighbours():
    X = np.random.default_rng(3).standard_normal((200, 8))
    counts = [
        EnSC(2, gamma=gamma, random_state=0).fit(X).coefficients_.nnz
        for gamma in (1.5, 5, 50)
    ]
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_smaller_l1_ratio_gives_more_neighbours():
    X = np.random.default_rng(4).standard_normal((200, 8))
    counts = [
        EnSC(2, l1_ratio=ratio, random_state=0).fit(X).coefficients_.nnz
        for ratio in (1.0, 0.5, 0.1)
    ]
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_too_few_rounds_warn():
    X = np.random.default_rng(5).standard_normal((300, 6))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        EnSC(2, l1_ratio=0.3, gamma=50, max_iter=1, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1_ratio": 0.0}, "l1_ratio=0.0 is outside"),
        ({"l1_ratio": 1.5}, "l1_ratio=1.5 is outside"),
        ({"gamma": 1.0}, "gamma=1.0 is at most 1"),
        ({"max_iter": 0}, "max_iter=0 is below 1"),
        ({"tol": -1.0}, "tol=-1.0 is outside"),
        ({"n_clusters": 9}, "n_clusters=9 exceeds n_samples=8"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    X = np.random.default_rng(6).standard_normal((8, 3))
    with pytest.raises(ValueError, match=message):
        EnSC(**{"n_clusters": 2, **options}).fit(X)


def test_verbose_shows_progress_on_stderr(planted, capsys):
    EnSC(3, random_state=0, verbose=1).fit(planted[0])
    shown = capsys.readouterr()
    assert "blocks" in shown.err
    assert shown.out == ""


def test_points_of_which_squares_of_products_underflow_are_orthogonal():
    X = np.array([[2.899e-299, 5.658e195], [9.37e44, -2.553e-169]])
    assert set(EnSC(2, random_state=0).fit_predict(X)) == {0, 1}
