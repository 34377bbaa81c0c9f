"""SSCOMP: the scikit-learn interface, planted recovery, affinity, edge cases."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.datasets import make_union_of_subspaces
from ekss.estimators._sscomp import SSCOMP
from ekss.metrics import clustering_error, false_connection_rate

# Its blobs are in the plane, where any two points represent every other one.
EXPECTED_FAILURES = {"check_clustering": "three blobs in a plane are one subspace"}


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks(
    [SSCOMP(n_clusters=2)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=60,
        n_per_subspace=80,
        random_state=0,
        return_X_y=True,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_clusters_are_recovered_without_false_connections(planted, dtype):
    X, y = planted
    model = SSCOMP(3, n_nonzero=3, random_state=0).fit(X.astype(dtype))
    assert clustering_error(y, model.labels_) == 0
    assert false_connection_rate(model.affinity_, y) == 0


def test_noisy_clusters_are_recovered_up_to_few_points():
    X, y = make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=60,
        n_per_subspace=80,
        noise=0.1,
        random_state=0,
        return_X_y=True,
    )
    model = SSCOMP(3, n_nonzero=3, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) < 0.04


def test_coefficients_reproduce_points_of_exact_subspaces(planted):
    X, _ = planted
    model = SSCOMP(3, n_nonzero=3, random_state=0).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert not model.coefficients_.diagonal().any()
    assert np.diff(model.coefficients_.indptr).max() <= 3
    assert np.abs(model.coefficients_ @ unit - unit).max() < 1e-6


def test_affinity_is_the_scaled_coefficients_with_their_transpose(planted):
    model = SSCOMP(3, n_nonzero=3, random_state=0).fit(planted[0])
    C = np.abs(model.coefficients_.toarray())
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    assert np.allclose(model.affinity_.toarray(), (C + C.T) / 2)
    assert (model.affinity_ != model.affinity_.T).nnz == 0


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_labels_equal_for_one_and_two_jobs():
    X = np.random.default_rng(1).standard_normal((1300, 8))
    one = SSCOMP(4, n_nonzero=3, random_state=0, n_jobs=1).fit(X)
    two = SSCOMP(4, n_nonzero=3, random_state=0, n_jobs=2).fit(X)
    assert np.array_equal(one.labels_, two.labels_)
    assert (one.affinity_ != two.affinity_).nnz == 0


def test_scale_of_points_is_ignored_when_normalized(planted):
    X, _ = planted
    scale = np.random.default_rng(2).uniform(0.2, 5, (len(X), 1))
    plain = SSCOMP(3, n_nonzero=3, random_state=0).fit(X)
    scaled = SSCOMP(3, n_nonzero=3, random_state=0).fit(X * scale)
    assert abs(plain.affinity_ - scaled.affinity_).max() < 1e-6
    free = SSCOMP(3, n_nonzero=3, normalize=False, random_state=0).fit(X * scale)
    assert abs(plain.affinity_ - free.affinity_).max() > 1e-3


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_larger_tolerance_gives_fewer_neighbours():
    X = np.random.default_rng(3).standard_normal((200, 6))
    counts = [
        SSCOMP(2, tol=tol, random_state=0).fit(X).coefficients_.nnz
        for tol in (1e-6, 0.1, 0.5)
    ]
    assert counts[0] > counts[1] > counts[2]


def test_zero_rows_duplicates_and_many_features_are_accepted():
    data = make_union_of_subspaces(
        n_subspaces=2, dims=2, n_features=90, n_per_subspace=30, random_state=1
    )
    X = np.vstack([data.data, data.data[:5] + 0, np.zeros((2, 90))])
    y = np.append(data.target, data.target[:5])
    model = SSCOMP(2, n_nonzero=2, random_state=0).fit(X)
    assert len(X) < X.shape[1]
    assert clustering_error(y, model.labels_[:-2]) == 0
    assert set(model.labels_) == {0, 1}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_nonzero": 0}, ValueError, "n_nonzero=0 is below 1"),
        ({"n_nonzero": "auto"}, TypeError, "n_nonzero='auto' is str"),
        ({"tol": -1.0}, ValueError, "tol=-1.0 is outside"),
        ({"normalize": 1}, TypeError, "normalize=1"),
        ({"n_clusters": 9}, ValueError, "n_clusters=9 exceeds n_samples=8"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    X = np.random.default_rng(5).standard_normal((8, 3))
    with pytest.raises(error, match=message):
        SSCOMP(**{"n_clusters": 2, **options}).fit(X)


def test_verbose_shows_progress_on_stderr(planted, capsys):
    SSCOMP(3, random_state=0, verbose=1).fit(planted[0])
    shown = capsys.readouterr()
    assert "pursuit" in shown.err
    assert shown.out == ""
