import numpy as np
import pytest
from sklearn.base import clone

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.estimators._auto import Geometry
from ekss.estimators._coordinates import Coordinates
from ekss.estimators._cutting import Cutting, gather_evidence, neighbour_counts
from ekss.graph import (
    CUTTERS,
    nearest_by_votes,
    prepare_votes,
    score_cut,
    symmetric_graph,
)
from ekss.metrics import clustering_error


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
def base_labels(union):
    """Members that put a third of the points anywhere."""
    rng = np.random.default_rng(0)
    random = rng.integers(3, size=(120, 40))
    return np.where(rng.random((120, 40)) < 2 / 3, union.target[:, None], random)


def make_cutting(cutters=CUTTERS, score=score_cut, n_jobs=None, divide=True):
    return Cutting(cutters, score, divide, False, 0, n_jobs, False)


def choose(union, base_labels, cutters=CUTTERS, score=score_cut, n_jobs=None):
    evidence = gather_evidence(
        Coordinates(union.data, None), Geometry(False, 2, 4), base_labels
    )
    votes = prepare_votes(base_labels, divide_by_size=True)
    counts = neighbour_counts(len(union.data), 3)
    return make_cutting(cutters, score, n_jobs).best(votes, evidence, 3, counts)


@pytest.mark.parametrize("n_samples", [2, 5, 30, 500, 5000])
@pytest.mark.parametrize("n_clusters", [2, 3, 40])
def test_counts_ascend_and_are_below_the_number_of_points(n_samples, n_clusters):
    counts = neighbour_counts(n_samples, n_clusters)
    assert list(counts) == sorted(set(counts))
    assert counts[0] >= 1
    assert max(counts) <= n_samples - 1
    some = [q for q in counts if q < n_samples - 1]
    assert max(some, default=0) <= max(3, n_samples // (2 * n_clusters))


def test_all_votes_are_cut_for_few_points_only():
    assert neighbour_counts(100, 3)[-1] == 99
    assert neighbour_counts(10_000, 3)[-1] < 1000


def test_a_sample_is_cut_as_the_whole_would_be():
    assert neighbour_counts(500, 3, n_all=500)[-1] == 499
    assert neighbour_counts(500, 3, n_all=2000) == neighbour_counts(500, 3)[:-1]


def test_graphs_of_large_clusters_are_not_thin():
    for n_samples in (200, 2000, 20_000, 2_000_000):
        counts = neighbour_counts(n_samples, 4, n_all=2000)
        assert counts[0] >= min(np.sqrt(n_samples / 4) / 4, 40)


def test_evidence_has_the_dimensions_the_points_and_the_members(union, base_labels):
    outside = np.arange(120.0)
    kept = Coordinates(union.data, outside)
    found = gather_evidence(kept, Geometry(True, 2, 30), base_labels)
    assert (found.dims[0], found.dims[-1]) == (2, 30)
    assert list(found.dims) == sorted(set(found.dims))
    assert found.affine
    assert found.outside is outside
    assert found.base_labels is base_labels
    assert gather_evidence(kept, Geometry(False, 4, 4), base_labels).dims == (4,)


def test_best_of_all_candidates_is_chosen_and_they_come_best_first(union, base_labels):
    chosen = choose(union, base_labels)
    scores = [candidate.score for candidate in chosen.candidates]
    assert scores == sorted(scores)
    assert len(scores) > 1
    assert chosen.top_q == chosen.candidates[0].top_q
    assert clustering_error(union.target, chosen.labels) == 0
    assert chosen.embedding.shape == (120, 3)
    np.testing.assert_allclose(np.linalg.norm(chosen.embedding, axis=1), 1)
    assert chosen.eigenvalues.shape == (4,)
    assert (np.diff(chosen.eigenvalues) <= 1e-12).all()


def test_graph_of_the_choice_is_that_of_its_count(union, base_labels):
    chosen = choose(union, base_labels)
    votes = prepare_votes(base_labels, divide_by_size=True)
    expected = symmetric_graph(nearest_by_votes(votes, 119), chosen.top_q)
    assert abs(expected - chosen.affinity).max() == 0


def test_choice_does_not_depend_on_the_number_of_workers(union, base_labels):
    one, two = (choose(union, base_labels, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.labels.tobytes() == two.labels.tobytes()
    assert one.candidates == two.candidates
    assert one.embedding.tobytes() == two.embedding.tobytes()


def test_opposite_score_reverses_the_candidates(union, base_labels):
    good = choose(union, base_labels)
    bad = choose(union, base_labels, score=lambda y, seen: -score_cut(y, seen).total)
    best_last = [-candidate.score for candidate in reversed(bad.candidates)]
    assert best_last == [candidate.score for candidate in good.candidates]
    truth = union.target
    assert clustering_error(truth, bad.labels) > clustering_error(truth, good.labels)


def test_no_cut_gives_no_choice(union, base_labels):
    def nothing(graph, vectors, n_clusters, rng):
        return iter(())

    def too_few(graph, vectors, n_clusters, rng):
        yield "one cluster", np.zeros(len(vectors), int)

    assert choose(union, base_labels, cutters=(nothing, too_few)) is None


def test_points_that_share_no_vote_get_a_label_and_an_embedding_of_zeros():
    rng = np.random.default_rng(0)
    y = np.repeat(range(3), 40)
    X = 5 * np.eye(3)[y] + 0.1 * rng.standard_normal((120, 3))
    base = np.tile(y[:, None], 10)
    base[[0, 50]] = [[3] * 10, [4] * 10]  # alone in every member
    evidence = gather_evidence(Coordinates(X, None), Geometry(False, 1, 1), base)
    counts = neighbour_counts(len(base), 3)
    chosen = make_cutting(divide=False).best(prepare_votes(base), evidence, 3, counts)
    assert (
        clustering_error(np.delete(y, [0, 50]), np.delete(chosen.labels, [0, 50])) == 0
    )
    np.testing.assert_array_equal(chosen.embedding[[0, 50]], 0)


def test_default_fit_lists_candidates_best_first(union):
    model = EKSS(3, n_base=40, random_state=0).fit(union.data)
    scores = [candidate.score for candidate in model.candidates_]
    assert scores == sorted(scores)
    assert model.top_q_ == model.candidates_[0].top_q
    assert all(candidate.origin for candidate in model.candidates_)
    assert clustering_error(union.target, model.labels_) == 0


def test_integers_give_the_one_cut_of_the_paper(union):
    model = EKSS(3, 3, n_candidates=3, top_q=6, n_base=40, random_state=0)
    model.fit(union.data)
    assert model.candidates_ == ()
    assert model.top_q_ == 6

    def refuse(labels, evidence):
        raise AssertionError("the one cut needs no score")

    again = clone(model).set_params(cut_score=refuse).fit(union.data)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_automatic_top_q_of_the_one_cut_is_a_sixth_of_a_cluster_from_3_to_10(union):
    # one cut is asked for by a number of eigenvectors
    model = EKSS(3, 4, n_base=5, n_eigenvectors=4, random_state=0)
    for n, q in ((120, 7), (90, 5), (30, 3)):
        assert clone(model).fit(union.data[:n]).top_q_ == q
    large = np.random.default_rng(0).standard_normal((600, 5))
    assert clone(model).fit(large).top_q_ == 10
    assert clone(model).fit(large).candidates_ == ()


def test_automatic_top_q_is_chosen_from_several(union):
    for n in (120, 90, 30):
        model = EKSS(3, 4, n_base=10, random_state=0).fit(union.data[:n])
        tried = neighbour_counts(n, 3)
        assert model.top_q_ in tried
        assert {candidate.top_q for candidate in model.candidates_} <= set(tried)


def test_own_cutter_makes_the_cut(union):
    def by_number(graph, vectors, n_clusters, rng):
        yield "thirds", np.arange(len(vectors)) * n_clusters // len(vectors)

    model = EKSS(3, 3, n_base=20, cutters=[by_number], random_state=0).fit(union.data)
    np.testing.assert_array_equal(model.labels_, np.repeat(range(3), 40))
    assert {candidate.origin for candidate in model.candidates_} == {"thirds"}


def test_own_cutter_beside_the_others_wins_only_if_it_is_better(union):
    def oracle(graph, vectors, n_clusters, rng):
        yield "oracle", union.target

    def monkey(graph, vectors, n_clusters, rng):
        yield "monkey", rng.integers(n_clusters, size=len(vectors))

    # so few members are too little for the votes to find the classes
    model = EKSS(3, 3, n_base=8, max_iter=0, random_state=0)
    alone = clone(model).fit(union.data)
    assert clustering_error(union.target, alone.labels_) > 0.1
    helped = clone(model).set_params(cutters=(*CUTTERS, monkey, oracle))
    helped.fit(union.data)
    assert helped.candidates_[0].origin == "oracle"
    assert clustering_error(union.target, helped.labels_) == 0
    assert "monkey" in {candidate.origin for candidate in helped.candidates_}


def test_own_score_chooses_the_cut(union):
    def unbalanced(labels, evidence):
        assert evidence.base_labels.shape == (120, 5)
        return -int(np.bincount(labels).max())

    model = EKSS(3, 3, n_base=5, max_iter=0, cut_score=unbalanced, random_state=0)
    model.fit(union.data)
    plain = clone(model).set_params(cut_score=None).fit(union.data)
    assert len(model.candidates_) == len(plain.candidates_)
    largest = np.bincount(model.labels_).max()
    assert model.candidates_[0].score == -largest
    assert largest >= np.bincount(plain.labels_).max()
    assert not np.array_equal(model.labels_, plain.labels_)


def test_cutters_without_any_cut_fall_back_to_the_one_cut(union):
    def nothing(graph, vectors, n_clusters, rng):
        return iter(())

    model = EKSS(3, 3, n_base=40, cutters=[nothing], random_state=0).fit(union.data)
    assert model.candidates_ == ()
    once = clone(model).set_params(top_q=model.top_q_).fit(union.data)
    np.testing.assert_array_equal(model.labels_, once.labels_)


@pytest.mark.parametrize("n_samples", [3, 4, 5, 7, 12])
def test_few_points_are_clustered(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 6))
    for n_clusters in range(1, n_samples + 1):
        model = EKSS(n_clusters, n_base=5, random_state=0).fit(X)
        assert model.labels_.shape == (n_samples,)
        assert model.labels_.max() < n_clusters


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_points_without_length_and_equal_points_are_clustered():
    for X in (np.zeros((20, 5)), np.ones((20, 5))):
        for affine in (False, True, "auto"):
            model = EKSS(2, affine=affine, n_base=10, random_state=0).fit(X)
            assert set(model.labels_) == {0, 1}
