"""TSC: the scikit-learn interface, planted recovery, weights, edge cases."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.datasets import make_union_of_subspaces
from ekss.estimators._tsc import TSC
from ekss.metrics import clustering_error, false_connection_rate


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([TSC(n_clusters=2)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=60,
        n_per_subspace=200,
        random_state=0,
        return_X_y=True,
    )


def dense_affinity(X, q):
    """The graph of the definition, from the full matrix of cosines."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = np.minimum(np.abs(X @ X.T), 1.0)
    np.fill_diagonal(cosines, 0)
    least = np.sort(cosines, axis=1)[:, -q][:, None]
    Z = np.where(cosines >= least, np.exp(-2 * np.arccos(cosines)), 0.0)
    return (Z + Z.T) / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_clusters_are_recovered_without_false_connections(planted, dtype):
    X, y = planted
    model = TSC(3, random_state=0).fit(X.astype(dtype))
    assert clustering_error(y, model.labels_) == 0
    assert false_connection_rate(model.affinity_, y) == 0
    assert model.n_neighbors_ == 10


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_affinity_equals_dense_definition():
    X = np.random.default_rng(1).standard_normal((700, 12))
    model = TSC(4, n_neighbors=6, random_state=0).fit(X)
    assert np.allclose(model.affinity_.toarray(), dense_affinity(X, 6), atol=1e-12)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_labels_equal_for_one_and_two_jobs():
    X = np.random.default_rng(2).standard_normal((1500, 8))
    one = TSC(4, random_state=0, n_jobs=1).fit(X)
    two = TSC(4, random_state=0, n_jobs=2).fit(X)
    assert np.array_equal(one.labels_, two.labels_)
    assert (one.affinity_ != two.affinity_).nnz == 0


def test_scale_and_sign_of_points_are_ignored_when_normalized(planted):
    X, _ = planted
    rng = np.random.default_rng(3)
    scale = rng.uniform(0.2, 5, (len(X), 1)) * rng.choice([-1, 1], (len(X), 1))
    plain = TSC(3, n_neighbors=4, random_state=0).fit(X)
    scaled = TSC(3, n_neighbors=4, random_state=0).fit(X * scale)
    assert abs(plain.affinity_ - scaled.affinity_).max() < 1e-6
    assert np.array_equal(plain.labels_, scaled.labels_)


def test_without_normalization_long_points_are_neighbours_weighted_by_angle(planted):
    X, _ = planted
    lengths = np.ones((len(X), 1))
    lengths[:30] = 10
    free = TSC(3, n_neighbors=4, normalize=False, random_state=0).fit(X * lengths)
    degrees = (free.affinity_ > 0).sum(axis=0)
    assert degrees[:30].mean() > 5 * degrees[30:].mean()
    row, column = free.affinity_.nonzero()
    cosines = np.minimum(np.abs(np.einsum("ij,ij->i", X[row], X[column])), 1)
    weights = free.affinity_[row, column] / np.exp(-2 * np.arccos(cosines))
    # One direction alone has half the weight of a mutual edge.
    assert np.isclose(weights, 0.5, rtol=1e-5).sum() > 0
    assert (np.isclose(weights, 0.5, rtol=1e-5) | np.isclose(weights, 1)).all()


@pytest.mark.parametrize(
    ("n", "n_clusters", "expected"), [(30, 2, 3), (410, 4, 6), (4, 2, 3), (3, 2, 2)]
)
def test_automatic_q_follows_the_cluster_size(n, n_clusters, expected):
    X = np.random.default_rng(4).standard_normal((n, 2))
    assert TSC(n_clusters, random_state=0).fit(X).n_neighbors_ == expected


def test_zero_rows_duplicates_and_many_features_are_accepted():
    data = make_union_of_subspaces(
        n_subspaces=2, dims=2, n_features=90, n_per_subspace=30, random_state=1
    )
    X = np.vstack([data.data, data.data[:5], np.zeros((2, 90))])
    y = np.append(data.target, data.target[:5])
    model = TSC(2, n_neighbors=6, random_state=0).fit(X)
    assert len(X) < X.shape[1]
    assert clustering_error(y, model.labels_[:-2]) == 0
    assert set(model.labels_) == {0, 1}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 is below 1"),
        ({"n_neighbors": 8}, ValueError, "n_neighbors=8 exceeds n_samples-1=7"),
        ({"n_neighbors": "all"}, ValueError, "n_neighbors='all' is not known"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors=2.5 is float"),
        ({"normalize": "no"}, ValueError, "normalize='no'"),
        ({"n_clusters": 9}, ValueError, "n_clusters=9 exceeds n_samples=8"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    X = np.random.default_rng(5).standard_normal((8, 3))
    with pytest.raises(error, match=message):
        TSC(**{"n_clusters": 2, **options}).fit(X)


def test_verbose_shows_progress_on_stderr(planted, capsys):
    TSC(3, random_state=0, verbose=1).fit(planted[0])
    shown = capsys.readouterr()
    assert "angles" in shown.err
    assert shown.out == ""
