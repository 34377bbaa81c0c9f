"""SSC: recovery, the scikit-learn interface, refusals and warnings."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.core.admm import violations
from ekss.core.linalg import unit_rows
from ekss.core.ssc import make_objective, sparse_codes
from ekss.datasets import make_union_of_subspaces
from ekss.estimators._ssc import SSC
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=20,
        n_per_subspace=30,
        noise=0.05,
        random_state=0,
        return_X_y=True,
    )


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([SSC(n_clusters=2, max_iter=5000)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 5.0, "keep": 0.8},
        {"alpha_outliers": 20.0},
        {"alpha": None, "alpha_outliers": 20.0, "max_iter": 20_000},
    ],
)
def test_planted_subspaces_are_recovered(planted, options):
    X, y = planted
    model = SSC(3, random_state=0, **options).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert model.converged_.all()


def test_planted_affine_subspaces_need_the_affine_constraint():
    # On parallel lines through x = 0 and x = 1 linear combinations cross over.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    y = np.repeat([0, 1], 30)
    X[:, 0] = y + 1.0
    affine = SSC(2, affine=True, normalize=False, random_state=0, max_iter=20_000)
    labels = affine.fit_predict(X)
    assert clustering_error(y, labels) == 0
    sums = affine.coefficients_.sum(axis=1)
    np.testing.assert_allclose(sums, 1, atol=2e-4)
    linear = SSC(2, normalize=False, random_state=0, max_iter=20_000).fit_predict(X)
    assert clustering_error(y, linear) > 0.1


def test_more_features_than_samples():
    X, y = make_union_of_subspaces(
        n_subspaces=2,
        dims=2,
        n_features=100,
        n_per_subspace=15,
        random_state=0,
        return_X_y=True,
    )
    labels = SSC(2, random_state=0, max_iter=5000).fit_predict(X)
    assert clustering_error(y, labels) == 0


def test_zero_rows_and_duplicates_get_labels(planted):
    X, y = planted
    X = np.vstack([X, X[:5], np.zeros((2, X.shape[1]))])
    labels = SSC(3, random_state=0, max_iter=5000).fit_predict(X)
    n = len(y)
    assert clustering_error(y, labels[:n]) == 0
    np.testing.assert_array_equal(labels[n : n + 5], labels[:5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_do_not_depend_on_n_jobs(planted, dtype, monkeypatch):
    X = planted[0].astype(dtype)
    monkeypatch.setattr("ekss.estimators._ssc.block_size", lambda n: 16)
    one, two = (SSC(3, n_jobs=jobs, random_state=0).fit(X) for jobs in (1, 2))
    assert one.coefficients_.dtype == dtype
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.affinity_.toarray(), two.affinity_.toarray())


def test_coefficients_are_those_of_the_core_function(planted):
    X, _ = planted
    model = SSC(3, alpha=10.0, random_state=0).fit(X)
    points = unit_rows(X)
    codes = sparse_codes(points, make_objective(points, 10.0))
    np.testing.assert_allclose(
        model.coefficients_.toarray(), codes.coefficients.toarray(), atol=1e-12
    )
    assert model.n_iter_ == codes.n_iter.max()
    assert model.affinity_.diagonal().max() == 0


def test_smaller_share_keeps_fewer_coefficients(planted):
    X, _ = planted
    sizes = [
        SSC(3, keep=keep, random_state=0).fit(X).coefficients_.nnz
        for keep in (1.0, 0.8, 0.5)
    ]
    assert sizes[0] > sizes[1] > sizes[2] >= len(X)


def test_early_stop_warns_with_the_number_of_points(planted):
    X, _ = planted
    pattern = r"of 90 points did not reach tol=0.001 in max_iter=5 iterations"
    with pytest.warns(ConvergenceWarning, match=pattern):
        model = SSC(3, max_iter=5, random_state=0).fit(X)
    assert model.n_iter_ == 5
    assert not model.converged_.all()


def test_memory_refusal_names_need_limit_and_remedy(planted):
    X, _ = planted
    pattern = (
        r"^sparse coding of 90 points of 20 features needs about 0\.4 GB, more than "
        r"memory_limit=5 MB; use SSCOMP, EnSC or EKSS"
    )
    with pytest.raises(MemoryError, match=pattern):
        SSC(3, memory_limit="5MB").fit(X)


def test_little_memory_makes_blocks_smaller_and_changes_nothing(planted):
    X, _ = planted
    usual = SSC(3, random_state=0)
    least = usual._needed_bytes(X, usual._fitting_block(X) // 2)
    small = SSC(3, memory_limit=int(least) + 1, random_state=0)
    assert small._fitting_block(X) < usual._fitting_block(X)
    np.testing.assert_array_equal(usual.fit(X).labels_, small.fit(X).labels_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha=0.0 is not positive; choose above 0"),
        ({"alpha_outliers": -1.0}, "alpha_outliers=-1.0 is outside"),
        ({"alpha": None}, "leave no term for the misfit"),
        ({"penalty": 0}, "penalty=0 is not positive; choose above 0"),
        ({"penalty": "fast"}, "penalty='fast' is not known; pass 'auto' or"),
        ({"keep": 0.0}, "keep=0.0 is outside (0, 1]"),
        ({"keep": 1.5}, "keep=1.5 is outside (0, 1]"),
        ({"max_iter": 0}, "max_iter=0 is below 1"),
        ({"tol": -1.0}, "tol=-1.0 is outside"),
    ],
)
def test_refused_parameters_give_value_and_remedy(planted, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SSC(3, **options).fit(planted[0])


def test_verbose_shows_bars_on_stderr(planted, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        SSC(3, max_iter=3, verbose=1, random_state=0).fit(planted[0])
    shown = capsys.readouterr()
    assert "coefficients" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("factor", [1e-20, 0.01, 10.0, 1e20])
@pytest.mark.parametrize(
    "options",
    [{}, {"affine": True}, {"alpha_outliers": 10.0}],
    ids=["linear", "affine", "outliers"],
)
def test_coefficients_do_not_depend_on_the_scale_of_the_points(
    planted, options, factor
):
    X, _ = planted
    model = SSC(3, normalize=False, max_iter=5000, random_state=0, **options)
    expected = model.fit(X).coefficients_.toarray()
    assert model.converged_.all()
    found = model.fit(factor * X).coefficients_.toarray()
    assert model.converged_.all()
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"affine": True}, {"alpha_outliers": 10.0}])
def test_converged_means_optimal_for_every_penalty(planted, options):
    X = planted[0][::3]
    found = {}
    for penalty in ("auto", 1.0, 800.0):
        model = SSC(
            3, alpha=50.0, penalty=penalty, max_iter=3000, normalize=True, **options
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        points = unit_rows(X)
        objective = make_objective(
            points, 50.0, model.alpha_outliers, affine=model.affine
        )
        codes = model.coefficients_.toarray()
        gaps = violations(points, np.arange(len(points)), codes, objective)
        assert model.converged_.any()
        assert gaps[model.converged_].max() <= 2 * model.tol
        found[penalty] = np.where(model.converged_[:, None], codes, np.nan)
    for other in found.values():
        gap = np.abs(other - found["auto"])
        assert np.nanmax(gap) < 2e-2


def test_without_polish_an_early_stop_is_left_as_it_is(planted):
    X, _ = planted
    options = {"max_iter": 100, "penalty": 800.0, "random_state": 0}
    exact = SSC(3, **options).fit(X)
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        stopped = SSC(3, polish=False, **options).fit(X)
    assert exact.converged_.all()
    assert stopped.coefficients_.nnz > 2 * exact.coefficients_.nnz


def test_rows_count_equally_or_as_they_are(planted):
    X, _ = planted
    equal = SSC(3, random_state=0, max_iter=3000).fit(X)
    plain = SSC(3, random_state=0, max_iter=3000, equal_rows=False).fit(X)
    size = abs(plain.coefficients_.toarray())
    np.testing.assert_allclose(plain.affinity_.toarray(), size + size.T)
    size /= size.max(axis=1, keepdims=True)
    np.testing.assert_allclose(equal.affinity_.toarray(), size + size.T)
