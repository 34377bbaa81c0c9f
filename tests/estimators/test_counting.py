import numpy as np
import pytest

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.estimators import _ekss as module
from ekss.estimators._counting import coarse_grid, fine_grid, is_near
from ekss.metrics import clustering_error


def make_union(n_subspaces, n_per_subspace=40, seed=0):
    return make_union_of_subspaces(
        n_subspaces=n_subspaces,
        dims=3,
        n_features=30,
        n_per_subspace=n_per_subspace,
        noise=0.1,
        random_state=seed,
    )


@pytest.mark.parametrize("guess", [2, 3, 8, 20, 100])
def test_grids_reach_from_a_third_to_three_times_the_guess_in_small_steps(guess):
    coarse = coarse_grid(guess, 10_000)
    assert coarse[0] == max(2, round(guess / 3))
    assert coarse[-1] == 3 * guess
    ratios = np.array(coarse[1:]) / coarse[:-1]
    steps = np.diff(coarse)
    assert ((ratios < 1.35) | (steps == 1)).all()
    for best in coarse:
        fine = fine_grid(best, coarse)
        tried = sorted({*coarse, *fine})
        place = tried.index(best)
        beside = tried[max(place - 1, 0) : place + 2]
        assert (np.diff(beside) <= max(1, 0.1 * best)).all()


def test_grids_stay_below_the_limit():
    assert coarse_grid(8, 5) == (3, 4, 5)
    assert coarse_grid(8, 2) == (2,)
    assert max(coarse_grid(20, 33)) == 33


def test_numbers_within_half_of_the_guess_are_near():
    assert is_near(8, 8)
    assert is_near(12, 8)
    assert is_near(3, 2)
    assert not is_near(13, 8)
    assert not is_near(5, 8)


@pytest.mark.parametrize("n_subspaces", [2, 3, 5, 12])
def test_planted_number_of_clusters_is_found(n_subspaces):
    data = make_union(n_subspaces)
    model = EKSS("auto", random_state=0, n_base=60, n_jobs=2).fit(data.data)
    assert model.n_clusters_ == n_subspaces
    assert clustering_error(data.target, model.labels_) == 0
    assert model.counts_[0].n_clusters == n_subspaces
    scores = [count.score for count in model.counts_]
    assert scores == sorted(scores)
    assert len({count.n_clusters for count in model.counts_}) == len(scores) > 3


def test_number_is_sought_on_a_sample_of_many_points(monkeypatch):
    monkeypatch.setattr(module, "_SCOUTED_POINTS", 150)
    data = make_union(4, n_per_subspace=100)
    model = EKSS("auto", random_state=0, n_base=60).fit(data.data)
    assert model.n_clusters_ == 4
    assert clustering_error(data.target, model.labels_) == 0


def test_number_found_gives_the_labels_of_the_number_given():
    data = make_union(3)
    found = EKSS("auto", random_state=0, n_base=40).fit(data.data)
    given = EKSS(3, random_state=0, n_base=40).fit(data.data)
    np.testing.assert_array_equal(found.labels_, given.labels_)
    assert given.counts_ == ()


@pytest.mark.parametrize("n_samples", [2, 5, 9, 20])
def test_few_points_get_a_number_too(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 6))
    model = EKSS("auto", n_base=5, random_state=0).fit(X)
    assert 1 <= model.n_clusters_ <= n_samples
    assert model.labels_.max() < model.n_clusters_


def test_word_other_than_auto_is_refused():
    with pytest.raises(ValueError, match="n_clusters='many' is not known"):
        EKSS("many").fit(np.eye(10))
