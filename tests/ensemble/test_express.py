"""A second opinion on the votes: what it is, when it is asked, when it is followed."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from ekss import EKSS, CutOptions
from ekss.core.linalg import unit_rows
from ekss.datasets import make_subspaces_at_angle
from ekss.ensemble import CUTTERS, Candidate, Evidence, express, score_cut, whiten
from ekss.ensemble.choose import Chosen
from ekss.ensemble.express import Expressions, ask_expressions, let_spread, spread
from ekss.graph.expression import elastic_net_graph, ridge_graph
from ekss.graph.spectral import number_by_appearance
from ekss.metrics import clustering_error
from ekss.runtime.workers import Workers


def closed_curves(n_clusters=5, n_per_curve=40, n_waves=6, power=0.5, seed=0):
    """Points along closed curves in R^12, as images of turning objects are."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(n_per_curve) / n_per_curve
    waves = np.arange(1, n_waves + 1)
    turns = np.outer(angles, waves)
    turns = np.hstack([np.cos(turns), np.sin(turns)]) * np.tile(waves**-power, 2)
    curves = [turns @ rng.standard_normal((2 * n_waves, 12)) for _ in range(n_clusters)]
    order = rng.permutation(n_clusters * n_per_curve)
    truth = np.repeat(range(n_clusters), n_per_curve)
    return np.concatenate(curves)[order], truth[order]


def short_curves():
    return closed_curves(5, 30, 4, 0.0, seed=5)


def model(n_clusters=5, **params):
    given = {"n_members": 40, "affine": False, "whiten": 0, "random_state": 0}
    return EKSS(n_clusters, **{**given, **params})


@pytest.fixture(scope="module")
def curves():
    return closed_curves()


@pytest.fixture(scope="module")
def of_curves(curves):
    """A fit in which the expressions win."""
    return model().fit(curves[0])


@pytest.fixture(scope="module")
def of_planted(planted):
    """A fit in which the votes win."""
    return model(3, subspace_dim=2).fit(planted.data)


@pytest.fixture(scope="module")
def of_short_curves():
    """A fit in which the expressions win, and then the labels spread."""
    return model().fit(short_curves()[0])


@pytest.fixture(params=["of_curves", "of_planted", "of_short_curves"])
def fitted(request):
    return request.getfixturevalue(request.param)


def same_fit(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.candidates_ == other.candidates_
    assert one.finalists_ == other.finalists_
    for left, right in zip(one.finalists_, other.finalists_, strict=True):
        np.testing.assert_array_equal(left.labels, right.labels)
    assert abs(one.affinity_ - other.affinity_).max() == 0


# --- Labels spread --------------------------------------------------------------------


def graph_of(weights):
    weights = np.triu(weights, 1)
    return csr_array(weights + weights.T)


def random_expressions(rng, n=30):
    """Two graphs of planted groups; about a tenth of the points have no edges."""
    group_of = np.arange(n) % 3
    likely = np.where(group_of[:, None] == group_of, 0.6, 0.05)
    alone = rng.random(n) < 0.1
    likely[alone] = likely[:, alone] = 0
    graphs = (
        graph_of(rng.random((n, n)) * (rng.random((n, n)) < likely)) for _ in "ab"
    )
    return Expressions(*graphs), alone


def slow_normalised(weights):
    out = np.zeros_like(weights)
    degrees = weights.sum(axis=1)
    for i, j in np.argwhere(weights):
        out[i, j] = weights[i, j] / np.sqrt(degrees[i] * degrees[j])
    return out


def slow_spread(labels, expressions, n_clusters):
    """Spread indicators with dense matrices; return labels before renumbering."""
    sparse, dense = (
        slow_normalised(one.toarray())
        for one in (expressions.sparse, expressions.dense)
    )
    links = slow_normalised(sparse + dense)
    given = np.array([[float(k == one) for k in range(n_clusters)] for one in labels])
    shares = given.copy()
    for _ in range(20):
        shares = 0.9 * links @ shares + 0.1 * given
    return (shares / shares.sum(axis=0)).argmax(axis=1)


def some_labels(rng, n=30):
    """The planted groups, with half of the labels drawn at random."""
    labels = np.where(rng.random(n) < 1 / 2, rng.integers(3, size=n), np.arange(n) % 3)
    return number_by_appearance(labels)


@pytest.mark.parametrize("seed", range(5))
def test_spreading_equals_repeated_dense_products(seed):
    rng = np.random.default_rng(seed)
    expressions, _ = random_expressions(rng)
    labels = some_labels(rng)
    expected = number_by_appearance(slow_spread(labels, expressions, 3))
    found = spread(labels, expressions, 3)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, labels)


@pytest.mark.parametrize("seed", range(3))
def test_components_of_one_cluster_keep_their_labels(seed):
    rng = np.random.default_rng(seed)
    piece_of = np.repeat(range(5), 8)
    labels = number_by_appearance(rng.permutation([0, 0, 1, 1, 2]))[piece_of]
    same = piece_of[:, None] == piece_of
    expressions = Expressions(*(graph_of(rng.random((40, 40)) * same) for _ in "ab"))
    np.testing.assert_array_equal(spread(labels, expressions, 3), labels)


@pytest.mark.parametrize("seed", range(3))
def test_order_of_points_does_not_change_where_labels_spread(seed):
    rng = np.random.default_rng(seed)
    expressions, _ = random_expressions(rng)
    labels, order = some_labels(rng), rng.permutation(30)
    moved = Expressions(
        *(graph[order][:, order] for graph in (expressions.sparse, expressions.dense))
    )
    found = spread(number_by_appearance(labels[order]), moved, 3)
    expected = spread(labels, expressions, 3)[order]
    np.testing.assert_array_equal(found, number_by_appearance(expected))


@pytest.mark.parametrize("numbers", [[1, 2, 0], [2, 1, 0]])
def test_numbers_of_clusters_do_not_change_where_labels_spread(numbers):
    rng = np.random.default_rng(0)
    expressions, _ = random_expressions(rng)
    labels = some_labels(rng)
    found = spread(np.array(numbers)[labels], expressions, 3)
    np.testing.assert_array_equal(found, spread(labels, expressions, 3))


def test_scales_of_the_graphs_do_not_change_where_labels_spread():
    rng = np.random.default_rng(0)
    expressions, _ = random_expressions(rng)
    labels = some_labels(rng)
    scaled = Expressions(1e-6 * expressions.sparse, 1e6 * expressions.dense)
    np.testing.assert_array_equal(
        spread(labels, scaled, 3), spread(labels, expressions, 3)
    )


@pytest.mark.parametrize("seed", range(1, 5))
def test_points_without_edges_keep_their_cluster(seed):
    rng = np.random.default_rng(seed)
    expressions, alone = random_expressions(rng)
    alone[:2] = True
    kept = np.diag((~alone).astype(float))
    cut_off = Expressions(
        csr_array(kept @ expressions.sparse @ kept),
        csr_array(kept @ expressions.dense @ kept),
    )
    labels = some_labels(rng)
    raw = slow_spread(labels, cut_off, 3)
    np.testing.assert_array_equal(raw[alone], labels[alone])
    found = spread(labels, cut_off, 3)
    np.testing.assert_array_equal(found, number_by_appearance(raw))
    assert not np.array_equal(found, labels)


def test_graphs_without_edges_leave_all_labels():
    none = csr_array((6, 6))
    labels = np.array([0, 1, 0, 2, 1, 2])
    np.testing.assert_array_equal(spread(labels, Expressions(none, none), 3), labels)


def test_labels_are_left_if_a_cluster_would_be_lost():
    # half of each clique belongs to a cluster of its own, half to one in both
    clique_of = np.repeat([0, 1], 20)
    cliques = graph_of((clique_of[:, None] == clique_of).astype(float))
    labels = np.repeat([0, 1, 2, 1], 10)
    expressions = Expressions(cliques, cliques)
    np.testing.assert_array_equal(
        np.unique(slow_spread(labels, expressions, 3)), [0, 2]
    )
    np.testing.assert_array_equal(spread(labels, expressions, 3), labels)


@pytest.mark.parametrize("seed", range(10))
def test_no_cluster_is_lost_even_if_it_has_one_point(seed):
    rng = np.random.default_rng(seed)
    everyone = Expressions(*(graph_of(rng.random((30, 30))) for _ in "ab"))
    labels = np.minimum(np.arange(30), 4)
    assert len(np.unique(spread(labels, everyone, 5))) == 5


@pytest.mark.parametrize("seed", range(3))
def test_a_tenth_of_wrong_labels_is_mended_on_planted_groups(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat(range(4), 25)
    within = truth[:, None] == truth
    likely = np.where(within, 0.4, 0.01)
    expressions = Expressions(
        *(graph_of((rng.random((100, 100)) < likely) * 1.0) for _ in "ab")
    )
    labels = truth.copy()
    wrong = rng.choice(100, 10, replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, 4, 10)) % 4
    found = spread(number_by_appearance(labels), expressions, 4)
    assert clustering_error(truth, labels) == 0.1
    assert clustering_error(truth, found) == 0


# --- Finalists are judged -------------------------------------------------------------


def by_hand(fitted, X, labels):
    """Judge a cut of points on subspaces of dimension 2, from what a fit returns."""
    points = unit_rows(X)
    graph = elastic_net_graph(points, l1_ratio=0.95, gamma=3.0)
    both = (
        Evidence(points, (2,), member_labels=fitted.member_labels_),
        Evidence(points, (), graph=graph),
    )
    return [score_cut(labels.astype(int), one) for one in both]


@pytest.mark.parametrize("kind", ["planted", "curves"])
def test_score_of_a_finalist_adds_up_both_kinds_of_evidence(kind, planted, curves):
    X = planted.data[:, :12] if kind == "planted" else curves[0]
    fitted = model(3 if kind == "planted" else 5, subspace_dim=2).fit(X)
    assert len(fitted.finalists_) >= 2
    for one in fitted.finalists_:
        votes, expressions = by_hand(fitted, X, one.labels)
        assert one.score == pytest.approx(votes.total + expressions.total, abs=1e-3)
        assert one.judged[0].total == pytest.approx(votes.total, abs=1e-3)
        assert one.judged[1].total == pytest.approx(expressions.total, abs=1e-3)
        assert (expressions.residual, expressions.overlap) == (1.0, 1.2)


def test_cuts_of_expressions_are_judged_by_points_and_their_own_graph(curves):
    X, _ = curves
    fitted = model(subspace_dim=2).fit(X)
    points = unit_rows(X)
    graph = elastic_net_graph(points, l1_ratio=0.95, gamma=3.0)
    own = Evidence(points, (2,), graph=graph)
    found = [one for one in fitted.candidates_ if one.graph == "expressions"]
    assert len(found) > 1
    for one in found:
        expected = score_cut(one.labels.astype(int), own).total
        assert one.score == pytest.approx(expected, abs=1e-3)


def test_first_of_the_finalists_gives_the_labels(fitted):
    scores = [one.score for one in fitted.finalists_]
    assert scores == sorted(scores)
    np.testing.assert_array_equal(fitted.labels_, fitted.finalists_[0].labels)
    assert fitted.finalists_[0].graph == fitted.candidates_[0].graph


def test_each_graph_nominates_its_best_candidate(fitted):
    nominated = [one for one in fitted.finalists_ if "spread" not in one.origin]
    assert {one.graph for one in nominated} == {"votes", "expressions"}
    for one in nominated:
        of_graph = [other for other in fitted.candidates_ if other.graph == one.graph]
        best = min(of_graph, key=lambda other: other.score)
        assert one.origin == best.origin
        np.testing.assert_array_equal(one.labels, best.labels)


def test_candidates_are_of_the_graph_kept_and_then_of_the_other(fitted):
    graphs = [one.graph for one in fitted.candidates_]
    kept = fitted.finalists_[0].graph
    assert graphs == sorted(graphs, key=lambda graph: graph != kept)
    for graph in ("votes", "expressions"):
        scores = [one.score for one in fitted.candidates_ if one.graph == graph]
        assert scores
        assert scores == sorted(scores)


def test_only_cuts_of_votes_have_a_number_of_neighbors(fitted):
    for one in fitted.candidates_ + fitted.finalists_:
        assert (one.n_neighbors is None) == (one.graph == "expressions")
    assert fitted.n_neighbors_ == fitted.candidates_[0].n_neighbors


def test_graph_of_expressions_is_kept_where_they_win(of_curves, curves):
    assert of_curves.finalists_[0].graph == "expressions"
    assert of_curves.n_neighbors_ is None
    expected = elastic_net_graph(unit_rows(curves[0]), l1_ratio=0.95, gamma=3.0)
    kept = of_curves.affinity_.toarray()
    np.testing.assert_allclose(kept, expected.toarray(), atol=1e-5)
    assert of_curves.embedding_.shape == (200, 5)
    assert of_curves.eigenvalues_.shape == (6,)


def test_graph_of_votes_is_kept_where_they_win(of_planted, planted):
    assert of_planted.finalists_[0].graph == "votes"
    without = model(3, subspace_dim=2, second_opinion=False).fit(planted.data)
    assert of_planted.n_neighbors_ == without.n_neighbors_
    assert abs(of_planted.affinity_ - without.affinity_).max() == 0


def chosen_of(labels, finalists=()):
    """A choice by hand, of one cut."""
    one = Candidate("by hand", 5, 0.0, labels.astype(np.uint8), None)
    none = np.zeros((len(labels), 0))
    return Chosen(labels, 5, csr_array((1, 1)), none, none[0], (one,), finalists)


def preferring(wanted):
    """Return a score that is low for some labels only."""
    return lambda labels, evidence: float(not np.array_equal(labels, wanted))


@pytest.fixture(scope="module")
def moving():
    """Labels, expressions along which they spread, and where to."""
    rng = np.random.default_rng(0)
    expressions, _ = random_expressions(rng)
    labels = some_labels(rng)
    moved = spread(labels, expressions, 3)
    assert not np.array_equal(labels, moved)
    return labels, expressions, moved, Evidence(rng.standard_normal((30, 6)), (2,))


@pytest.mark.parametrize("wants_moved", [False, True])
def test_labels_stay_where_they_spread_to_only_if_judged_better(moving, wants_moved):
    labels, expressions, moved, evidence = moving
    options = CutOptions(score=preferring(moved if wants_moved else labels))
    before = Candidate("by hand", 5, 2.0 * wants_moved, labels.astype(np.uint8), None)
    chosen = chosen_of(labels, (before,))
    found = let_spread(chosen, expressions, 3, evidence, options)
    np.testing.assert_array_equal(found.labels, moved if wants_moved else labels)
    assert [one.score for one in found.finalists] == [0.0, 2.0]
    best, last = found.finalists if wants_moved else found.finalists[::-1]
    assert best.origin == "by hand, spread along the expressions"
    assert best.n_neighbors == 5
    assert last == before
    np.testing.assert_array_equal(best.labels, moved)
    assert found.candidates == chosen.candidates


def test_labels_that_spread_to_an_equal_score_stay_as_they_are(moving):
    labels, expressions, _, evidence = moving
    before = Candidate("by hand", 5, 0.0, labels.astype(np.uint8), None)
    options = CutOptions(score=lambda labels, evidence: 0.0)
    found = let_spread(chosen_of(labels, (before,)), expressions, 3, evidence, options)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.finalists[0] is before


def test_labels_that_were_not_compared_do_not_spread(moving):
    labels, expressions, moved, evidence = moving
    options = CutOptions(score=preferring(moved))
    chosen = chosen_of(labels)
    assert let_spread(chosen, expressions, 3, evidence, options) is chosen


def ask(labels, evidence, expressions, **options):
    return ask_expressions(
        chosen_of(labels),
        expressions.sparse,
        3,
        evidence,
        CutOptions(**options),
        0,
        Workers(1),
    )


def test_votes_are_kept_in_a_tie(moving):
    labels, expressions, _, evidence = moving
    found = ask(labels, evidence, expressions, score=lambda labels, evidence: 0.0)
    np.testing.assert_array_equal(found.labels, labels)
    assert [one.graph for one in found.finalists] == ["votes", "expressions"]


def test_votes_are_kept_if_expressions_cannot_be_cut(moving):
    def nothing(graph, vectors, n_clusters, rng):
        return iter(())

    labels, expressions, _, evidence = moving
    found = ask(labels, evidence, expressions, cutters=[nothing])
    np.testing.assert_array_equal(found.labels, labels)
    assert found.finalists == ()
    assert [one.origin for one in found.candidates] == ["by hand"]


def test_expressions_are_kept_if_judged_better(moving):
    labels, expressions, _, evidence = moving
    disliked = preferring(labels)
    found = ask(labels, evidence, expressions, score=lambda *given: -disliked(*given))
    assert [one.graph for one in found.finalists] == ["expressions", "votes"]
    assert not np.array_equal(found.labels, labels)
    assert found.n_neighbors is None
    assert abs(found.affinity - expressions.sparse).max() == 0
    assert found.candidates[-1].origin == "by hand"


# --- When the opinion is asked --------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """The numbers of points that were expressed."""
    sizes = []

    def watch(points, **given):
        sizes.append(len(points))
        return elastic_net_graph(points, **given)

    monkeypatch.setattr(express, "elastic_net_graph", watch)
    return sizes


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_expressions_are_those_of_points_of_unit_length(planted, n_jobs):
    points = unit_rows(planted.data)
    lengths = np.random.default_rng(0).uniform(0.1, 10, (90, 1))
    found = express.express(lengths * points, Workers(n_jobs))
    sparse = elastic_net_graph(points, l1_ratio=0.95, gamma=3.0)
    np.testing.assert_allclose(found.sparse.toarray(), sparse.toarray(), atol=1e-6)
    dense = ridge_graph(points, 5)
    np.testing.assert_allclose(found.dense.toarray(), dense.toarray(), atol=1e-6)
    assert found.sparse.nnz < found.dense.nnz


def test_points_are_expressed_once(asked, planted):
    model(3).fit(planted.data)
    assert asked == [90]


@pytest.mark.parametrize(
    ("n_clusters", "params"),
    [
        (3, {"affine": True}),
        (1, {}),
        (90, {}),
        (3, {"cut": CutOptions(pairs="likely")}),
        (3, {"second_opinion": False}),
    ],
    ids=["affine", "one cluster", "one point each", "likely pairs", "not wanted"],
)
def test_nothing_is_expressed_where_it_cannot_be_or_is_not_wanted(
    asked, planted, n_clusters, params
):
    fitted = model(n_clusters, **params).fit(planted.data)
    assert asked == []
    assert fitted.finalists_ == ()
    assert {one.graph for one in fitted.candidates_} <= {"votes"}
    assert fitted.n_neighbors_ is not None
    if fitted.candidates_:
        np.testing.assert_array_equal(fitted.labels_, fitted.candidates_[0].labels)


def test_without_expressions_the_candidates_of_the_votes_are_the_same(
    curves, of_curves
):
    X, _ = curves
    without = model(second_opinion=False).fit(X)
    by_votes = [one for one in of_curves.candidates_ if one.graph == "votes"]
    assert list(without.candidates_) == by_votes
    np.testing.assert_array_equal(without.labels_, by_votes[0].labels)
    np.testing.assert_array_equal(without.member_labels_, of_curves.member_labels_)
    assert not np.array_equal(without.labels_, of_curves.labels_)


@pytest.mark.parametrize(("n_members", "rounds"), [(20, [20]), (60, [25, 50, 60])])
def test_directions_are_compared_with_expressions_in_the_last_round(
    leaning, monkeypatch, n_members, rounds
):
    calls = []

    def watch(points, workers):
        calls.append(points.shape)
        return express.express_sparsely(points, workers)

    monkeypatch.setattr(whiten, "express_sparsely", watch)
    options = {"n_members": n_members, "whiten": "auto", "affine": "auto"}
    fitted = model(3, **options).fit(leaning)
    tried = [one for one in fitted.whitenings_ if one.n_members == rounds[-1]]
    assert len(tried) > 1
    assert len(calls) == len(tried)
    calls.clear()
    model(3, second_opinion=False, **options).fit(leaning)
    assert calls == []


# --- Fits -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_closed_curves_are_told_apart_by_expressions(seed):
    X, y = closed_curves(seed=seed)
    with_expressions = clustering_error(y, model().fit_predict(X))
    by_votes = clustering_error(y, model(second_opinion=False).fit_predict(X))
    assert with_expressions <= 0.1
    assert by_votes > with_expressions + 0.1


def test_labels_spread_where_that_is_better(of_short_curves):
    _, y = short_curves()
    first, *others = of_short_curves.finalists_
    assert first.origin.endswith(", spread along the expressions")
    (before,) = (one for one in others if one.graph == first.graph)
    assert first.origin.startswith(before.origin)
    error = clustering_error(y, of_short_curves.labels_)
    assert error < clustering_error(y, before.labels)


@pytest.fixture(scope="module", params=[0, 1, 2])
def leaning_subspaces(request):
    """Noisy subspaces at a small angle: truth, expressions, and evidence."""
    X, y = make_subspaces_at_angle(
        0.4, 3, 30, 40, noise=0.2, random_state=request.param, return_X_y=True
    )
    points = unit_rows(X)
    rng = np.random.default_rng(0)
    anywhere = rng.integers(3, size=(120, 40))
    members = np.where(rng.random((120, 40)) < 2 / 3, y[:, None], anywhere)
    evidence = Evidence(points, (3,), member_labels=members)
    return number_by_appearance(y), express.express(points, Workers(1)), evidence


def spread_from(labels, expressions, evidence):
    """Let given labels spread, after they were compared."""
    asked = ask(labels, evidence, expressions)
    own = [one for one in asked.finalists if one.origin == "by hand"]
    chosen = chosen_of(labels, tuple(own))
    return let_spread(chosen, expressions, 3, evidence, CutOptions()).labels


def test_wrong_labels_of_leaning_subspaces_are_mended(leaning_subspaces):
    truth, expressions, evidence = leaning_subspaces
    rng = np.random.default_rng(0)
    labels = truth.copy()
    labels[rng.choice(120, 8, replace=False)] = 2
    labels = number_by_appearance(labels)
    assert clustering_error(truth, labels) > 0.02
    found = spread_from(labels, expressions, evidence)
    assert clustering_error(truth, found) < 0.01


def test_true_labels_of_leaning_subspaces_are_not_spoiled(leaning_subspaces):
    truth, expressions, evidence = leaning_subspaces
    np.testing.assert_array_equal(spread_from(truth, expressions, evidence), truth)
    # not even along edges that join points of different subspaces
    rng = np.random.default_rng(0)
    some = (truth[:, None] != truth) & (rng.random((120, 120)) < 0.02)
    misleading = Expressions(*[graph_of(some.astype(float))] * 2)
    assert clustering_error(truth, spread(truth, misleading, 3)) > 0.02
    np.testing.assert_array_equal(spread_from(truth, misleading, evidence), truth)


@pytest.mark.parametrize("angle", [0.3, 0.5])
def test_subspaces_at_a_small_angle_are_not_spoiled(angle):
    X, y = make_subspaces_at_angle(
        angle, 3, 30, 40, noise=0.05, random_state=0, return_X_y=True
    )
    for second_opinion in (False, True):
        fitted = model(3, subspace_dim=3, second_opinion=second_opinion)
        labels = fitted.fit_predict(X)
        assert clustering_error(y, labels) == 0


def test_labels_do_not_depend_on_the_number_of_workers():
    X, _ = closed_curves(6, 50)
    alone = model(6, n_members=20, n_jobs=1).fit(X)
    assert alone.finalists_[0].graph == "expressions"
    same_fit(alone, model(6, n_members=20, n_jobs=2).fit(X))


def test_own_score_that_is_the_default_changes_nothing(curves, of_curves):
    same = CutOptions(score=lambda labels, evidence: score_cut(labels, evidence))
    custom = model(cut=same).fit(curves[0])
    np.testing.assert_array_equal(custom.labels_, of_curves.labels_)
    for name in ("candidates_", "finalists_"):
        one, other = getattr(custom, name), getattr(of_curves, name)
        assert [a.origin for a in one] == [b.origin for b in other]
        assert [a.score for a in one] == pytest.approx([b.score for b in other])


def test_own_cutters_cut_the_expressions_too(curves):
    few = CutOptions(cutters=CUTTERS[1:2])
    fitted = model(cut=few).fit(curves[0])
    found = {(one.graph, one.origin) for one in fitted.candidates_}
    name = "rotated eigenvectors"
    assert found == {("votes", name), ("expressions", name)}


def test_scales_and_signs_of_points_change_nothing(curves, of_curves):
    X, _ = curves
    rng = np.random.default_rng(0)
    scales = 2.0 ** rng.integers(-3, 4, (len(X), 1))
    np.testing.assert_array_equal(model().fit_predict(scales * X), of_curves.labels_)
    flipped = model().fit_predict(rng.choice([-1.0, 1.0], (len(X), 1)) * X)
    assert clustering_error(of_curves.labels_, flipped) < 0.05


def test_a_sample_is_expressed_as_it_is_alone_and_all_points_get_labels(asked):
    X, y = closed_curves(4, 50, 4, 0.0, seed=2)
    fitted = model(4, max_samples=180).fit(X)
    assert asked == [180]
    assert fitted.labels_.shape == (200,)
    alone = model(4).fit(X[fitted.sample_])
    assert fitted.finalists_ == alone.finalists_
    for one, other in zip(fitted.finalists_, alone.finalists_, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
    best = fitted.finalists_[0].labels
    np.testing.assert_array_equal(fitted.labels_[fitted.sample_], best)
    by_votes = model(4, max_samples=180, second_opinion=False).fit_predict(X)
    assert clustering_error(y, fitted.labels_) < clustering_error(y, by_votes) - 0.1


def test_points_without_length_are_clustered_with_the_others(curves):
    X, y = curves
    fitted = model().fit(np.concatenate([np.zeros((3, 12)), X]))
    assert fitted.finalists_[0].graph == "expressions"
    assert fitted.affinity_[:3].nnz == 0
    assert clustering_error(y, fitted.labels_[3:]) <= 0.1


@pytest.mark.parametrize("first", [False, True])
def test_a_warm_start_may_ask_for_the_opinion_or_drop_it(curves, of_curves, first):
    X, _ = curves
    warm = model(warm_start=True, second_opinion=first).fit(X)
    warm.set_params(second_opinion=not first).fit(X)
    same_fit(warm, model(second_opinion=False).fit(X) if first else of_curves)
    np.testing.assert_array_equal(warm.member_labels_, of_curves.member_labels_)
