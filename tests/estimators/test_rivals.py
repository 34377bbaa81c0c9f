"""GSC, SLBF, LSR, LRSC, LRR: interface, planted recovery, edge cases."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import GSC, LRR, LRSC, LSR, SLBF, TSC
from ekss.core.low_rank import low_rank_rows, ridge_rows
from ekss.core.slbf import local_flats
from ekss.datasets import make_union_of_subspaces
from ekss.graph import doubly_stochastic
from ekss.metrics import clustering_error, false_connection_rate

KINDS = [GSC, SLBF, LSR, LRSC, LRR]
each = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([kind(n_clusters=2) for kind in KINDS])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=40,
        n_per_subspace=60,
        noise=0.05,
        random_state=0,
        return_X_y=True,
    )


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_clusters_are_recovered(planted, kind, dtype):
    X, y = planted
    model = kind(3, random_state=0).fit(X.astype(dtype))
    assert clustering_error(y, model.labels_) == 0
    assert false_connection_rate(model.affinity_, y) < 0.02


@each
def test_labels_equal_for_one_and_two_jobs(planted, kind):
    one = kind(3, random_state=0, n_jobs=1).fit(planted[0])
    two = kind(3, random_state=0, n_jobs=2).fit(planted[0])
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert (one.affinity_ != two.affinity_).nnz == 0


@pytest.mark.parametrize(("kind", "rows"), [(LSR, ridge_rows), (LRSC, low_rank_rows)])
def test_graph_holds_the_largest_normalised_coefficients(planted, kind, rows):
    X, _ = planted
    model = kind(3, n_neighbors=6, random_state=0).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    Y = rows(unit, model.alpha * len(X) / 3)
    C = Y @ Y.T
    roots = np.sqrt(np.diag(C))
    C = np.abs(C / np.outer(roots, roots))
    np.fill_diagonal(C, 0)
    least = np.sort(C, axis=1)[:, -6][:, None]
    Z = np.where(C >= least, C, 0)
    np.testing.assert_allclose(model.affinity_.toarray(), (Z + Z.T) / 2, atol=1e-8)


@pytest.mark.parametrize("kind", [TSC, LSR, LRSC, LRR])
def test_doubly_stochastic_is_the_projection_of_the_graph(planted, kind):
    X, y = planted
    given = {"n_clusters": 3, "n_neighbors": 25, "random_state": 0}
    plain = kind(**given).fit(X)
    model = kind(**given, doubly_stochastic=3).fit(X)
    expected = doubly_stochastic(plain.affinity_, scale=3).graph.toarray()
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(model.affinity_.toarray(), expected, atol=1e-7)
    assert model.affinity_.nnz < plain.affinity_.nnz / 2
    assert clustering_error(y, model.labels_) == 0
    auto = kind(3, doubly_stochastic=1.0, random_state=0).fit(X)
    assert auto.n_neighbors_ == 30
    with pytest.raises(ValueError, match="doubly_stochastic=0 leaves nothing"):
        kind(3, doubly_stochastic=0).fit(X)
    with pytest.raises(TypeError, match="doubly_stochastic='yes' is str"):
        kind(3, doubly_stochastic="yes").fit(X)


def test_lrr_tells_outliers_by_their_errors():
    X, _ = make_union_of_subspaces(
        3, 3, n_features=40, n_per_subspace=40, random_state=1, return_X_y=True
    )
    outliers = np.random.default_rng(0).standard_normal((10, 40))
    X = np.vstack([X / np.linalg.norm(X, axis=1, keepdims=True), outliers])
    X[-10:] /= np.linalg.norm(X[-10:], axis=1, keepdims=True)
    model = LRR(3, alpha=0.5, random_state=0).fit(X)
    assert model.errors_[:-10].max() < model.errors_[-10:].min()
    assert model.gap_ <= model.tol


def test_lrr_says_that_it_did_not_converge(planted):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations"):
        model = LRR(3, max_iter=2, random_state=0).fit(planted[0])
    assert model.gap_ > model.tol
    assert model.n_iter_ == 2


def test_gsc_prefers_long_points_unless_they_are_normalised(planted):
    X = planted[0].copy()
    X[:5] *= 100
    edges = {
        normalize: GSC(3, 2, normalize=normalize, random_state=0).fit(X).affinity_
        for normalize in (True, False)
    }
    degree = {key: np.diff(graph.indptr)[:5].sum() for key, graph in edges.items()}
    assert degree[False] > 3 * degree[True]


@pytest.mark.parametrize("kind", [GSC, SLBF])
def test_dimension_and_neighbours_that_are_given_are_taken(planted, kind):
    model = kind(3, 2, n_neighbors=4, random_state=0).fit(planted[0])
    assert (model.subspace_dim_, model.n_neighbors_) == (2, 4)
    auto = kind(3, random_state=0).fit(planted[0])
    assert auto.subspace_dim_ == 3


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_slbf_finds_affine_subspaces_wherever_they_are(shift):
    X, y = make_union_of_subspaces(
        3,
        2,
        n_features=10,
        n_per_subspace=50,
        noise=0.02,
        affine_offset=0.5,
        random_state=0,
        return_X_y=True,
    )
    model = SLBF(3, 2, affine=True, random_state=0).fit(X + shift)
    assert clustering_error(y, model.labels_) == 0
    assert false_connection_rate(model.affinity_, y) < 0.02
    assert model.affine_


def test_slbf_joins_far_points_of_one_flat():
    """Of two long parallel lines, each point is nearer to some of the other line."""
    along = np.linspace(-30, 30, 61)
    X = np.vstack([[[t, side] for t in along] for side in (-0.6, 0.6)])
    X += 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    y = np.repeat([0, 1], 61)
    model = SLBF(2, 1, affine=True, n_neighbors=10, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    row, column = model.affinity_.nonzero()
    assert np.abs(X[row, 0] - X[column, 0]).max() > 30


def test_slbf_tells_lines_that_cross():
    rng = np.random.default_rng(0)
    turned = np.pi / 3 * np.arange(3)
    lines = np.column_stack([np.cos(turned), np.sin(turned)])
    X = np.vstack([rng.uniform(-1, 1, (80, 1)) * line for line in lines])
    X += np.repeat(0.2 * rng.standard_normal((3, 2)), 80, axis=0)
    X += 0.005 * rng.standard_normal(X.shape)
    model = SLBF(3, 1, affine=True, random_state=0).fit(X)
    # Points where two lines cross belong to both.
    assert clustering_error(np.repeat([0, 1, 2], 80), model.labels_) < 0.08
    assert np.median(model.neighborhood_sizes_) > 5


def test_slbf_graph_joins_points_near_each_others_flats(planted):
    """The graph is that of the definition, from the full matrix of distances."""
    X = planted[0] / np.linalg.norm(planted[0], axis=1, keepdims=True)
    model = SLBF(3, 3, n_neighbors=6, random_state=0).fit(X)
    flats = local_flats(X, np.arange(len(X)), 3, affine=False)
    inside = np.einsum("ikf,jf->ijk", flats.bases, X)
    D = np.sqrt(np.maximum(1 - np.square(inside).sum(axis=2), 0))
    S = np.sqrt(D * D.T)
    W = np.zeros_like(S)
    lists = [
        np.argsort(np.where(np.arange(len(X)) == i, 9, D[i]))[:6] for i in range(len(X))
    ]
    widths = np.array([np.median(S[i, near] ** 2) for i, near in enumerate(lists)])
    for i, near in enumerate(lists):
        for j in near:
            parts = np.exp(-(S[i, j] ** 2) / 2 / widths[[i, j]])
            W[i, j] = W[j, i] = parts.sum()
    np.testing.assert_allclose(model.affinity_.toarray(), W, atol=1e-6)
    np.testing.assert_array_equal(model.neighborhood_sizes_, flats.sizes)


@each
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 is below 1"),
        ({"n_neighbors": 8}, ValueError, "n_neighbors=8 exceeds n_samples-1=7"),
        ({"n_clusters": 9}, ValueError, "n_clusters=9 exceeds n_samples=8"),
        ({"alpha": -1.0}, ValueError, "alpha=-1.0 is outside"),
        ({"alpha": "low"}, TypeError, "alpha='low' is str"),
        ({"subspace_dim": 4}, ValueError, "subspace_dim=4 exceeds n_features=3"),
    ],
)
def test_bad_parameters_are_refused(kind, options, error, message):
    X = np.random.default_rng(5).standard_normal((8, 3))
    if not set(options) <= set(kind().get_params()):
        return
    with pytest.raises(error, match=message):
        kind(**{"n_clusters": 2, **options}).fit(X)


def test_lrr_refuses_a_weight_of_zero():
    with pytest.raises(ValueError, match="alpha=0 leaves every point unexplained"):
        LRR(2, alpha=0).fit(np.eye(5))
