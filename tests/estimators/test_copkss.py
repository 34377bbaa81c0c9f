import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import KSSMember
from ekss.estimators._copkss import CoPKSS
from ekss.estimators._ekss import EKSS
from ekss.estimators._kss import KSS
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=80, random_state=0
    )


def with_clumped_outliers(seed, share=0.4):
    """Three subspaces and outliers of unequal directions, which attract PCA."""
    data = make_union_of_subspaces(3, 3, 12, 60, random_state=seed)
    rng = np.random.default_rng(seed)
    n_out = round(len(data.data) * share / (1 - share))
    outliers = rng.standard_normal((n_out, 12)) * np.linspace(2, 0.2, 12)
    return np.vstack([data.data, outliers]), data.target


def inlier_error(model, X, y):
    return clustering_error(y, model.fit(X).labels_[: len(y)])


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([CoPKSS(n_init=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_planted_subspaces_are_recovered(union):
    model = CoPKSS(3, 3, n_init=30, random_state=0, n_jobs=2).fit(union.data)
    assert clustering_error(union.target, model.labels_) == 0
    assert model.cost_ < 1e-6
    np.testing.assert_array_equal(model.predict(union.data), model.labels_)


def test_outliers_do_less_harm_than_to_k_subspaces():
    errors, distances = [], []
    for seed in range(4):
        X, y = with_clumped_outliers(seed)
        models = [kind(3, 3, n_init=10, random_state=0) for kind in (CoPKSS, KSS)]
        errors.append([inlier_error(model, X, y) for model in models])
        inliers = X[: len(y)]
        distances.append([m.transform(inliers).min(axis=1).mean() for m in models])
    robust, plain = np.mean(errors, axis=0)
    assert robust < 0.5 * plain
    near, far = np.mean(distances, axis=0)
    assert near < 0.2 * far


def test_share_of_one_gives_the_labels_of_k_subspaces(union):
    X = union.data + 0.2 * np.random.default_rng(0).standard_normal(union.data.shape)
    everything = CoPKSS(3, 3, coherent_share=1.0, max_iter=20, random_state=0).fit(X)
    plain = KSS(3, 3, max_iter=20, random_state=0).fit(X)
    np.testing.assert_array_equal(everything.labels_, plain.labels_)
    assert everything.cost_ == pytest.approx(plain.cost_)


def test_labels_are_those_of_the_stored_subspaces(union):
    X = union.data + 0.3 * np.random.default_rng(0).standard_normal(union.data.shape)
    model = CoPKSS(3, 3, n_init=2, max_iter=4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) * len(X) == pytest.approx(-model.cost_)
    assert model.cost_history_[-1] == model.cost_
    assert len(model.cost_history_) == model.n_iter_ + 1


def test_labels_do_not_depend_on_the_number_of_workers(union):
    one = CoPKSS(3, 3, random_state=3, n_jobs=1).fit(union.data)
    two = CoPKSS(3, 3, random_state=3, n_jobs=2).fit(union.data)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.cost_ == two.cost_


def test_affine_flats_are_recovered():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 80)
    X = np.hstack([rng.standard_normal((240, 2)), 5.0 * np.eye(3)[y]])
    model = CoPKSS(3, 2, affine=True, n_init=50, random_state=0).fit(X + 100)
    assert clustering_error(y, model.labels_) == 0
    assert model.transform(X + 100).min(axis=1).max() < 1e-6


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_zero_rows_duplicates_and_few_points_are_clustered(union):
    X = np.vstack([union.data[:6], np.zeros((2, 20)), union.data[:6]])
    model = CoPKSS(5, 4, random_state=0).fit(X)
    assert np.isfinite(model.bases_).all()
    assert model.labels_.shape == (14,)


def test_float32_is_kept(union):
    model = CoPKSS(3, 3, random_state=0).fit(union.data.astype(np.float32))
    assert model.bases_.dtype == np.float32


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"coherent_share": 0}, r"coherent_share=0.0 is outside \(0, 1\]; choose"),
        ({"coherent_share": 1.5}, r"coherent_share=1.5 is outside \(0, 1\]; choose"),
        ({"coherent_share": "half"}, "coherent_share='half' is str; pass a number"),
        ({"n_init": 0}, "n_init=0 is below 1"),
        ({"max_iter": 0}, "max_iter=0 is below 1"),
        ({"tol": -1.0}, "tol=-1.0 is outside"),
        ({"subspace_dim": 21}, "subspace_dim=21 exceeds n_features=20"),
        ({"n_clusters": 241}, "n_clusters=241 exceeds n_samples=240"),
    ],
)
def test_bad_parameters_are_refused_in_words(union, params, words):
    with pytest.raises((ValueError, TypeError), match=words):
        CoPKSS(3, 3).set_params(**params).fit(union.data)


@pytest.mark.parametrize("affine", [False, True])
def test_ensemble_takes_coherence_pursuit_as_its_base(union, affine):
    model = EKSS(
        3,
        3,
        member=KSSMember(3, update="cop"),
        n_members=40,
        affine=affine,
        normalize=True,
        random_state=0,
    )
    labels = model.fit_predict(union.data)
    assert clustering_error(union.target, labels) == 0


def test_k_subspaces_refuses_an_update_that_may_raise_its_cost(union):
    with pytest.raises(ValueError, match="update='cop' is not known; choose one of"):
        KSS(3, 3, update="cop").fit(union.data)
