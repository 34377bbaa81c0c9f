"""Votes become graphs, graphs are cut in many ways, and one cut is kept."""

import numpy as np
import pytest
from sklearn.base import clone

from ekss import EKSS, CutOptions, KSSMember
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import CUTTERS, score_cut
from ekss.ensemble.choose import choose as choose_cut
from ekss.ensemble.choose import gather_evidence
from ekss.ensemble.cut import cut
from ekss.ensemble.decide import Geometry, Plan, neighbor_counts
from ekss.ensemble.prepare import Coordinates, prepare
from ekss.graph import nearest_by_votes, prepare_votes, symmetric_graph
from ekss.metrics import clustering_error
from ekss.runtime.workers import Workers


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=3,
        n_features=20,
        n_per_subspace=40,
        noise=0.2,
        random_state=0,
    )


@pytest.fixture(scope="module")
def member_labels(union):
    """Members that put a third of the points anywhere."""
    rng = np.random.default_rng(0)
    random = rng.integers(3, size=(120, 40))
    return np.where(rng.random((120, 40)) < 2 / 3, union.target[:, None], random)


def plan_of(X, geometry=None, outside=None):
    seen = Coordinates(X, outside)
    points = prepare(X, unit=False, affine=False)
    return Plan(points, seen, 3, geometry or Geometry(False, 2, 4), (5,))


def choose(X, member_labels, cutters=CUTTERS, score=score_cut, n_jobs=None, **more):
    plan = plan_of(X, **more)
    votes = prepare_votes(member_labels, divide_by_size=True)
    tasks = [(q, 3) for q in neighbor_counts(len(X), 3)]
    workers = Workers(n_jobs)
    cuts = cut(votes, tasks, CutOptions(cutters=cutters), 0, workers)
    return choose_cut(cuts, gather_evidence(plan, member_labels), score, workers)


@pytest.mark.parametrize("n_samples", [2, 5, 30, 500, 5000])
@pytest.mark.parametrize("n_clusters", [2, 3, 40])
def test_counts_ascend_and_are_below_the_number_of_points(n_samples, n_clusters):
    counts = neighbor_counts(n_samples, n_clusters)
    assert list(counts) == sorted(set(counts))
    assert counts[0] >= 1
    assert max(counts) <= n_samples - 1
    some = [q for q in counts if q < n_samples - 1]
    assert max(some, default=0) <= max(3, n_samples // (2 * n_clusters))


def test_all_votes_are_cut_for_few_points_only():
    assert neighbor_counts(100, 3)[-1] == 99
    assert neighbor_counts(10_000, 3)[-1] < 1000


def test_graphs_of_large_clusters_are_not_thin():
    for n_samples in (200, 2000, 20_000, 2_000_000):
        counts = neighbor_counts(n_samples, 4)
        assert counts[0] >= min(np.sqrt(n_samples / 4) / 4, 40)


def test_evidence_has_the_dimensions_the_points_and_the_members(union, member_labels):
    outside = np.arange(120.0)
    plan = plan_of(union.data, Geometry(True, 2, 30), outside)
    found = gather_evidence(plan, member_labels)
    assert (found.dims[0], found.dims[-1]) == (2, 30)
    assert list(found.dims) == sorted(set(found.dims))
    assert found.affine
    assert found.outside is outside
    assert found.member_labels is member_labels
    narrow = plan_of(union.data, Geometry(False, 4, 4))
    assert gather_evidence(narrow, member_labels).dims == (4,)


def test_best_of_all_candidates_is_chosen_and_they_come_best_first(
    union, member_labels
):
    chosen = choose(union.data, member_labels)
    scores = [candidate.score for candidate in chosen.candidates]
    assert scores == sorted(scores)
    assert len(scores) > 1
    assert chosen.n_neighbors == chosen.candidates[0].n_neighbors
    assert clustering_error(union.target, chosen.labels) == 0
    assert chosen.embedding.shape == (120, 3)
    np.testing.assert_allclose(np.linalg.norm(chosen.embedding, axis=1), 1)
    assert chosen.eigenvalues.shape == (4,)
    assert (np.diff(chosen.eigenvalues) <= 1e-12).all()


def test_graph_of_the_choice_is_that_of_its_count(union, member_labels):
    chosen = choose(union.data, member_labels)
    votes = prepare_votes(member_labels, divide_by_size=True)
    expected = symmetric_graph(nearest_by_votes(votes, 119), chosen.n_neighbors)
    assert abs(expected - chosen.affinity).max() == 0


def test_choice_does_not_depend_on_the_number_of_workers(union, member_labels):
    one, two = (choose(union.data, member_labels, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.labels.tobytes() == two.labels.tobytes()
    assert [c.score for c in one.candidates] == [c.score for c in two.candidates]
    assert one.embedding.tobytes() == two.embedding.tobytes()


def test_opposite_score_reverses_the_candidates(union, member_labels):
    good = choose(union.data, member_labels)
    bad = choose(
        union.data, member_labels, score=lambda y, seen: -score_cut(y, seen).total
    )
    best_last = [-candidate.score for candidate in reversed(bad.candidates)]
    assert best_last == [candidate.score for candidate in good.candidates]
    truth = union.target
    assert clustering_error(truth, bad.labels) > clustering_error(truth, good.labels)


def test_no_cut_gives_no_choice(union, member_labels):
    def nothing(graph, vectors, n_clusters, rng):
        return iter(())

    def too_few(graph, vectors, n_clusters, rng):
        yield "one cluster", np.zeros(len(vectors), int)

    assert choose(union.data, member_labels, cutters=(nothing, too_few)) is None


def test_points_that_share_no_vote_get_a_label_and_an_embedding_of_zeros():
    rng = np.random.default_rng(0)
    y = np.repeat(range(3), 40)
    X = 5 * np.eye(3)[y] + 0.1 * rng.standard_normal((120, 3))
    base = np.tile(y[:, None], 10)
    base[[0, 50]] = [[3] * 10, [4] * 10]  # alone in every member
    chosen = choose(X, base, geometry=Geometry(False, 1, 1))
    assert (
        clustering_error(np.delete(y, [0, 50]), np.delete(chosen.labels, [0, 50])) == 0
    )
    np.testing.assert_array_equal(chosen.embedding[[0, 50]], 0)


def test_default_fit_lists_candidates_best_first(union):
    model = EKSS(3, n_members=40, random_state=0).fit(union.data)
    of_graph = dict.fromkeys(candidate.graph for candidate in model.candidates_)
    ordered = sorted(model.candidates_, key=lambda one: one.score)
    expected = [one for graph in of_graph for one in ordered if one.graph == graph]
    assert list(model.candidates_) == expected
    assert set(of_graph) == {"votes", "expressions"}
    assert model.n_neighbors_ == model.candidates_[0].n_neighbors
    assert all(candidate.origin for candidate in model.candidates_)
    assert clustering_error(union.target, model.labels_) == 0


def test_automatic_neighbors_are_chosen_from_several(union):
    for n in (120, 90, 30):
        model = EKSS(3, 4, n_members=10, second_opinion=False, random_state=0)
        model.fit(union.data[:n])
        tried = neighbor_counts(n, 3)
        assert model.n_neighbors_ in tried
        assert {candidate.n_neighbors for candidate in model.candidates_} <= set(tried)


@pytest.mark.parametrize("expression", [False, True])
def test_own_cutter_makes_the_cut(union, expression):
    def by_number(graph, vectors, n_clusters, rng):
        yield "thirds", np.arange(len(vectors)) * n_clusters // len(vectors)

    options = {"cut": CutOptions(cutters=[by_number]), "second_opinion": expression}
    model = EKSS(3, 3, n_members=20, **options, random_state=0).fit(union.data)
    thirds = np.repeat(range(3), 40)
    np.testing.assert_array_equal(model.candidates_[0].labels, thirds)
    assert {candidate.origin for candidate in model.candidates_} == {"thirds"}
    if not expression:
        np.testing.assert_array_equal(model.labels_, thirds)


def test_own_cutter_beside_the_others_wins_only_if_it_is_better(union):
    def oracle(graph, vectors, n_clusters, rng):
        yield "oracle", union.target

    def monkey(graph, vectors, n_clusters, rng):
        yield "monkey", rng.integers(n_clusters, size=len(vectors))

    # so few members are too little for the votes to find the classes
    member = KSSMember(3, max_iter=0)
    model = EKSS(3, 3, n_members=8, member=member, second_opinion=False, random_state=0)
    alone = clone(model).fit(union.data)
    assert clustering_error(union.target, alone.labels_) > 0.1
    helped = clone(model).set_params(cut=CutOptions(cutters=(*CUTTERS, monkey, oracle)))
    helped.fit(union.data)
    assert helped.candidates_[0].origin == "oracle"
    assert clustering_error(union.target, helped.labels_) == 0
    assert "monkey" in {candidate.origin for candidate in helped.candidates_}


def test_own_score_chooses_the_cut(union):
    def unbalanced(labels, evidence):
        assert evidence.member_labels.shape == (120, 5)
        return -int(np.bincount(labels).max())

    member = KSSMember(3, max_iter=0)
    poor = EKSS(3, 3, n_members=5, member=member, second_opinion=False, random_state=0)
    plain = clone(poor).fit(union.data)
    model = poor.set_params(cut=CutOptions(score=unbalanced)).fit(union.data)
    assert len(model.candidates_) == len(plain.candidates_)
    largest = np.bincount(model.labels_).max()
    assert model.candidates_[0].score == -largest
    assert largest >= np.bincount(plain.labels_).max()
    assert not np.array_equal(model.labels_, plain.labels_)


def test_cutters_without_any_cut_fall_back_to_the_one_cut(union):
    def nothing(graph, vectors, n_clusters, rng):
        return iter(())

    none = CutOptions(cutters=[nothing])
    model = EKSS(3, 3, n_members=40, cut=none, random_state=0).fit(union.data)
    assert model.candidates_ == ()
    assert clustering_error(union.target, model.labels_) == 0


@pytest.mark.parametrize("n_samples", [3, 4, 5, 7, 12])
def test_few_points_are_clustered(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 6))
    for n_clusters in range(1, n_samples + 1):
        model = EKSS(n_clusters, n_members=5, random_state=0).fit(X)
        assert model.labels_.shape == (n_samples,)
        assert model.labels_.max() < n_clusters


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_points_without_length_and_equal_points_are_clustered():
    for X in (np.zeros((20, 5)), np.ones((20, 5))):
        for affine in (False, True, "auto"):
            model = EKSS(2, affine=affine, n_members=10, random_state=0).fit(X)
            assert set(model.labels_) == {0, 1}
