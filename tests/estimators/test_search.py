"""LabelFreeSearch: the scikit-learn interface, the choice, the errors in words."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import EKSS, KSS, SSC, SSCOMP, TSC, EnSC, LabelFreeSearch
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import Evidence
from ekss.estimators._search import (
    DEFAULT_GRIDS,
    mean_graph,
    score_by_weakest,
    settings_to_try,
)
from ekss.metrics import clustering_error


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([LabelFreeSearch(TSC(n_clusters=2), {"n_neighbors": [1, 2]})])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    return make_union_of_subspaces(
        n_subspaces=4,
        dims=3,
        n_features=15,
        n_per_subspace=40,
        noise=0.6,
        random_state=0,
    )


@pytest.fixture(scope="module")
def search(noisy):
    grid = {"n_neighbors": [2, 8, 60]}
    return LabelFreeSearch(TSC(4), grid, random_state=0).fit(noisy.data)


def test_setting_of_lowest_error_is_chosen_without_labels(noisy, search):
    errors = {
        q: clustering_error(
            noisy.target, TSC(4, n_neighbors=q, random_state=0).fit_predict(noisy.data)
        )
        for q in (2, 8, 60)
    }
    assert search.best_params_ == {"n_neighbors": min(errors, key=errors.get)}
    assert clustering_error(noisy.target, search.labels_) <= min(errors.values()) < 0.05
    assert min(errors[2], errors[60]) > 0.3


def test_candidates_are_all_different_cuts_best_first(search):
    scores = [candidate.score for candidate in search.candidates_]
    assert scores == sorted(scores)
    assert len(scores) > 10
    assert search.best_params_ == search.candidates_[0].params
    assert search.best_score_ == scores[0]
    assert {c.params["n_neighbors"] for c in search.candidates_} == {2, 8, 60}
    assert "own cut" in {c.origin for c in search.candidates_}


def test_best_estimator_has_the_best_params_and_the_graph(search):
    assert search.best_estimator_.n_neighbors == search.best_params_["n_neighbors"]
    assert search.affinity_ is search.best_estimator_.affinity_
    assert search.embedding_.shape == (160, 4)
    assert search.embedding_ is search.best_estimator_.embedding_
    assert search.eigenvalues_ is search.best_estimator_.eigenvalues_
    assert np.unique(search.labels_).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("method", [TSC, SSCOMP, EnSC, SSC])
def test_default_grid_recovers_planted_subspaces(method):
    X, y = make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=30,
        n_per_subspace=30,
        random_state=1,
        return_X_y=True,
    )
    model = LabelFreeSearch(method(3), random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    parameter, _ = DEFAULT_GRIDS[method]
    assert set(model.best_params_) == {parameter}


def test_ekss_and_a_subclass_with_a_grid_are_searched(noisy):
    class Renamed(TSC):
        pass

    grid = {"subspace_dim": [2, 3]}
    model = LabelFreeSearch(EKSS(4, n_members=20), grid, random_state=0).fit(noisy.data)
    assert model.best_params_["subspace_dim"] in (2, 3)
    assert len(settings_to_try(Renamed(4), None, 160)) == 6


def test_same_seed_gives_same_labels_for_one_and_two_jobs(noisy, search):
    again = clone(search).set_params(n_jobs=2).fit(noisy.data)
    assert np.array_equal(again.labels_, search.labels_)
    assert again.candidates_ == search.candidates_


def test_seed_reaches_estimator_without_one_only(noisy):
    for own, seen in ((None, False), (7, True)):
        model = LabelFreeSearch(TSC(4, random_state=own), {}, random_state=0)
        model.fit(noisy.data)
        assert (model.best_estimator_.random_state == 7) is seen
        assert model.best_estimator_.random_state is not None


def test_labels_ignore_length_and_sign_of_points(noisy, search):
    rng = np.random.default_rng(0)
    factors = rng.choice([-2.0, -1.0, 0.5, 4.0], size=(160, 1))
    model = clone(search).fit(noisy.data * factors)
    assert np.array_equal(model.labels_, search.labels_)


def test_estimator_stays_unfitted_and_nested_names_work():
    search = LabelFreeSearch(TSC(4, n_neighbors=5))
    assert search.get_params()["estimator__n_neighbors"] == 5
    search.set_params(estimator__n_neighbors=7, verbose=0)
    assert clone(search).estimator.n_neighbors == 7
    data = make_union_of_subspaces(n_subspaces=4, dims=2, random_state=0).data
    search.fit(data)
    assert not hasattr(search.estimator, "labels_")


def test_without_cutters_own_cuts_are_the_candidates(noisy):
    model = LabelFreeSearch(
        TSC(4), {"n_neighbors": [2, 8, 60]}, cutters=[], random_state=0
    ).fit(noisy.data)
    assert {candidate.origin for candidate in model.candidates_} == {"own cut"}
    assert np.array_equal(model.labels_, model.best_estimator_.labels_)


def test_own_cutter_and_score_decide(noisy):
    def halves(graph, vectors, n_clusters, rng):
        yield "numbered", np.arange(len(vectors)) * n_clusters // len(vectors)

    def sorted_is_best(labels, evidence):
        return float((np.diff(labels) < 0).sum())

    model = LabelFreeSearch(
        TSC(4), {"n_neighbors": [3, 8]}, cutters=[halves], cut_score=sorted_is_best
    ).fit(noisy.data)
    assert model.candidates_[0].origin == "numbered"
    assert np.array_equal(model.labels_, np.arange(160) * 4 // 160)


def test_evidence_has_unit_rows_and_the_dimensions_asked(noisy):
    seen = []

    def look(labels, evidence):
        seen.append(evidence)
        return 0.0

    LabelFreeSearch(
        TSC(4), {"n_neighbors": [3]}, cut_score=look, subspace_dim=(2, 4)
    ).fit(noisy.data * 5)
    norms = seen[0].norms + (0 if seen[0].outside is None else seen[0].outside)
    assert np.allclose(norms, 1)
    assert seen[0].dims == (2, 3, 4)
    assert not seen[0].affine


def test_affine_method_is_judged_by_affine_subspaces():
    X, y = make_union_of_subspaces(
        n_subspaces=3,
        dims=2,
        n_features=12,
        n_per_subspace=30,
        affine_offset=3.0,
        random_state=0,
        return_X_y=True,
    )
    seen = []

    def look(labels, evidence):
        seen.append(evidence.affine)
        return 0.0

    method = SSC(3, affine=True, normalize=False, tol=1e-3, max_iter=5000)
    LabelFreeSearch(method, {"alpha": [20.0]}, cut_score=look).fit(X)
    assert all(seen)
    model = LabelFreeSearch(method, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0


@pytest.mark.parametrize("n_clusters", [1, 12])
def test_one_cluster_or_one_point_a_cluster(n_clusters):
    X = np.random.default_rng(0).standard_normal((12, 4))
    model = LabelFreeSearch(
        TSC(n_clusters), {"n_neighbors": [3, 5]}, random_state=0
    ).fit(X)
    assert len(np.unique(model.labels_)) == n_clusters


def test_default_neighbours_fit_few_points():
    settings = settings_to_try(TSC(2), None, 7)
    assert settings == [
        {"n_neighbors": 3},
        {"n_neighbors": 4},
        {"n_neighbors": 6},
        {"n_neighbors": "auto"},
    ]
    assert len(settings_to_try(SSCOMP(2), None, 100)) == 4


def test_mean_graph_gives_every_graph_and_point_the_same_weight():
    first = np.array([[0, 3.0, 1], [3, 0, 0], [1, 0, 0]])
    second = np.array([[0, 10.0, 0], [10, 0, 0], [0, 0, 0]])
    expected = [[0, 0.875, 0.125], [1, 0, 0], [0.5, 0, 0]]
    assert np.allclose(mean_graph([first, csr_array(second)]).toarray(), expected)


def test_dissent_is_that_of_the_weakest_quarter():
    rng = np.random.default_rng(0)
    graph = np.abs(rng.standard_normal((40, 40)))
    graph = graph + graph.T
    np.fill_diagonal(graph, 0)
    labels = np.arange(40) % 5
    silhouettes = np.zeros((40,))
    for i in range(40):
        weight = np.array([graph[i, labels == k].sum() for k in range(5)])
        own = weight[labels[i]]
        other = np.delete(weight, labels[i]).max()
        silhouettes[i] = (own - other) / max(own, other)
    clusters = sorted(silhouettes[labels == k].mean() for k in range(5))
    evidence = Evidence(rng.standard_normal((40, 6)), (2,), graph=csr_array(graph))
    found = score_by_weakest(labels, evidence).dissent
    assert found == pytest.approx(2 - (clusters[0] + clusters[1]) / 2)


class DenseGraph(ClusterMixin, BaseEstimator):
    """Somebody else's method: a full matrix, and no more attributes than needed."""

    def __init__(self, n_clusters=2, power=1):
        self.n_clusters = n_clusters
        self.power = power

    def fit(self, X, y=None):
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        self.affinity_ = np.abs(unit @ unit.T) ** self.power
        self.labels_ = np.arange(len(X)) % self.n_clusters
        return self


def test_method_of_somebody_else_with_a_full_matrix_is_searched(noisy):
    grid = {"power": [1, 6]}
    model = LabelFreeSearch(DenseGraph(4), grid, random_state=0).fit(noisy.data)
    assert clustering_error(noisy.target, model.labels_) < 0.1
    assert model.candidates_[0].origin != "own cut"
    assert not hasattr(model, "embedding_")


class NoGraph(ClusterMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self


@pytest.mark.parametrize(
    ("estimator", "grid", "error", "words"),
    [
        (KSS(2), {"n_init": [1]}, TypeError, "KSS has no affinity_; pass a method"),
        (KSS(2), None, ValueError, "no settings are known for KSS"),
        (NoGraph(), {}, TypeError, "NoGraph has no n_clusters"),
        (TSC, {}, TypeError, "is no estimator; pass one such as"),
        (TSC(2), [], ValueError, "is empty; pass at least one setting"),
        (TSC(2), {"q": [3]}, ValueError, "'q', which TSC does not know; .*n_neighbors"),
        (TSC(2), {"n_clusters": [2, 3]}, ValueError, "not comparable"),
        (
            TSC(99),
            {"n_neighbors": [3]},
            ValueError,
            "n_clusters=99 exceeds n_samples=40",
        ),
        (TSC(2), {"n_neighbors": [50]}, ValueError, "n_neighbors=50 exceeds"),
    ],
)
def test_error_says_what_is_wrong(estimator, grid, error, words):
    X = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(error, match=words):
        LabelFreeSearch(estimator, grid).fit(X)


@pytest.mark.parametrize("dim", ["small", 6, 0, (3, 2)])
def test_dimension_that_cannot_be_is_refused_before_any_fit(dim):
    X = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(ValueError, match=r"subspace_dim=.*; (choose|pass)"):
        LabelFreeSearch(KSS(2), {"n_init": [1]}, subspace_dim=dim).fit(X)
