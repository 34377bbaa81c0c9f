from dataclasses import replace

import numpy as np
import pytest

from ekss import EKSS
from ekss.core.ksubspaces import MemberOptions
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import settle
from ekss.ensemble.count import (
    Count,
    coarse_grid,
    confirmed_clusters,
    count_communities,
    fine_grid,
    gap_counts,
    is_clear,
    is_near,
    judge_options,
    numbers_around,
    prefer_communities,
    seek_counts,
    seek_gap,
    smoothed,
)
from ekss.ensemble.decide import Geometry, Plan, Wishes
from ekss.ensemble.vote import Ensemble
from ekss.metrics import clustering_error
from ekss.runtime.workers import Workers


def make_union(n_subspaces, n_per_subspace=40, *, noise=0.1, dims=3, seed=0):
    return make_union_of_subspaces(
        n_subspaces=n_subspaces,
        dims=dims,
        n_features=30,
        n_per_subspace=n_per_subspace,
        noise=noise,
        random_state=seed,
    )


@pytest.mark.parametrize("guess", [2, 3, 8, 20, 100])
def test_grids_reach_from_a_third_to_three_times_the_guess_in_small_steps(guess):
    coarse = coarse_grid(numbers_around(guess), 10_000)
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
    assert coarse_grid((3, 24), 5) == (3, 4, 5)
    assert coarse_grid((3, 24), 2) == (2,)
    assert max(coarse_grid((7, 60), 33)) == 33
    for low in range(10, 90):
        coarse = coarse_grid((low, round(1.25 * low)), 10_000)
        assert (coarse[0], coarse[-1]) == (low, round(1.25 * low))


def test_numbers_up_to_two_and_a_half_times_the_guess_are_near():
    assert is_near(8, 8)
    assert is_near(20, 8)
    assert is_near(19, 20)
    assert not is_near(21, 8)
    assert not is_near(7, 8)


@pytest.mark.parametrize(
    ("guess", "candidates"), [(1, (1, 1)), (2, (2, 2)), (3, (2, 3)), (20, (15, 20))]
)
def test_judges_have_hardly_as_many_candidates_as_clusters(guess, candidates):
    members = MemberOptions((4 * guess, 8 * guess), (1, 6), 5, least_points=3)
    plan = Plan(None, None, guess, Geometry(affine=False, low=2, high=6), ())
    judges = judge_options(members, plan)
    assert judges.n_candidates == candidates
    assert judges.subspace_dim == (2, 6)
    assert (judges.max_iter, judges.least_points) == (5, 3)


def search(found_for, n_samples=1000, confirmed=lambda guess: 1.0, first=8):
    """Run the search on made-up findings; return the guesses and the number found."""
    guesses = []

    def count(guess):
        guesses.append(guess)
        return (Count(found_for(guess), -1.0, confirmed(guess)),)

    counts = seek_counts(count, n_samples, first)
    return guesses, counts[0].n_clusters


def test_search_stops_where_the_number_is_near_the_guess():
    assert search(lambda guess: 10) == ([8], 10)
    assert search(lambda guess: 22) == ([8, 22], 22)
    assert search(lambda guess: 5) == ([8, 5], 5)
    assert search(lambda guess: 2, first=3) == ([3], 2)
    assert search(lambda guess: 9, first=3) == ([3, 9], 9)
    assert search(lambda guess: 2, n_samples=2) == ([2], 2)


def test_search_moves_down_to_judges_of_two_or_three_candidates():
    assert search(lambda guess: max(2, guess // 2)) == ([8, 4, 3], 2)
    assert search(lambda guess: 2) == ([8, 3], 2)


def test_search_ends_when_findings_go_round_or_run_away():
    assert search(lambda guess: 3 if guess == 8 else 8) == ([8, 3], 8)
    guesses, found = search(lambda guess: 3 * guess, 100_000)
    assert guesses == [8, 24, 72, 216, 648]
    assert found == 3 * 648


def test_guess_is_raised_where_nothing_is_confirmed():
    guesses, found = search(lambda guess: 40, confirmed=lambda guess: guess - 20)
    assert guesses == [8, 24]
    assert found == 40


def test_first_findings_are_kept_if_nothing_is_ever_confirmed():
    def find(guess):
        return guess // 2

    assert search(find, 300, lambda guess: -1.0) == ([8, 24], 4)
    assert search(find, 1000, lambda guess: 0.0) == ([8, 24, 72], 4)


def test_last_confirmed_findings_are_kept():
    guesses, found = search(lambda guess: 4 * guess, 1000, lambda guess: 20 - guess)
    assert guesses == [8, 32]
    assert found == 32


def test_search_without_findings_gives_none():
    assert seek_counts(lambda guess: (), 3, 8) == ()


def gaps(*widths):
    return tuple(Count(n, -gap, gap=gap) for n, gap in widths)


def test_gap_is_clear_if_it_is_twice_as_wide_as_those_elsewhere():
    assert is_clear(gaps((10, 3.0), (20, 1.4)))
    assert not is_clear(gaps((10, 3.0), (20, 1.6)))
    assert is_clear(gaps((40, 3.0), (38, 2.9), (43, 2.8), (60, 1.0)))
    assert is_clear(gaps((2, 1.0)))
    assert not is_clear(gaps((2, 0.0), (3, 0.0)))


def follow_gaps(widest_for, n_samples=1000, *, other=0.1):
    """Run the search on made-up gaps; return the guesses and the number found."""
    guesses = []

    def around(guess):
        guesses.append(guess)
        return gaps((widest_for(guess), 1.0), (1000, other))

    counts = seek_gap(around, n_samples, 8)
    return guesses, counts[0].n_clusters if counts else None


def test_guess_follows_the_widest_gap_until_it_rests():
    assert follow_gaps(lambda guess: 8) == ([8], 8)
    assert follow_gaps(lambda guess: 40) == ([8, 40], 40)
    assert follow_gaps(lambda guess: 13 if guess == 8 else 40) == ([8, 13, 40], 40)
    assert follow_gaps(lambda guess: 49 if guess == 40 else 40) == ([8, 40], 49)
    assert follow_gaps(lambda guess: 2) == ([8, 3, 3, 3], None)


def test_gaps_that_wander_or_are_not_clear_tell_nothing():
    assert follow_gaps(lambda guess: 2 * guess) == ([8, 16, 32, 64], None)
    assert follow_gaps(lambda guess: 8, other=0.9) == ([8], None)
    assert follow_gaps(lambda guess: 40, n_samples=399) == ([8], None)
    assert seek_gap(lambda guess: (), 1000, 8) == ()


@pytest.mark.parametrize("n_clusters", [2, 5, 11])
def test_widest_gap_is_after_as_many_eigenvalues_as_groups_vote_together(n_clusters):
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(n_clusters), 60)
    noise = rng.integers(n_clusters, size=(len(target), 50))
    votes = np.where(rng.random(noise.shape) < 0.2, noise, target[:, None])
    ensemble = Ensemble(votes.astype(np.uint8), np.ones(50), 1, ("made up", 0, None))
    counts = gap_counts(8, ensemble, Wishes(None), 0, Workers())
    assert counts[0].n_clusters == n_clusters
    assert is_clear(counts)
    assert {count.n_clusters for count in counts} == set(range(2, 25))
    few = ensemble.take(slice(0, 12), slice(None))
    assert gap_counts(8, few, Wishes(None), 0, Workers()) == ()


def recount(found, n_communities, *, n_samples=1000, best=None, scores=None):
    """Prefer communities on made-up scores; return the guesses and the number kept."""
    guesses = []

    def around(guess, between):
        guesses.append(guess)
        assert between == (guess, n_communities)
        return (Count(best or guess, -1.0),) if best != 0 else ()

    def score_of_cut(guess, n_clusters):
        return (scores or {}).get(n_clusters, 0.0)

    counts = tuple(Count(n, -1.0) for n in found)
    kept = prefer_communities(counts, n_communities, n_samples, around, score_of_cut)
    return guesses, kept[0].n_clusters if kept else None


def test_communities_are_asked_if_they_are_far_more_than_the_clusters_found():
    assert recount([9], 18) == ([], 9)
    assert recount([9], 50, best=45, scores={45: -2.1, 9: -1.0}) == ([40], 45)


def test_communities_within_a_subspace_do_not_count():
    assert recount([2], 20, best=15, scores={15: -1.0, 2: -2.0}) == ([16], 2)
    assert recount([2], 20, best=15, scores={15: -2.9, 2: -2.0}) == ([16], 2)


def test_pieces_of_clusters_are_more_than_the_communities():
    assert recount([50], 40, best=33) == ([], 50)
    assert recount([51], 40, best=33) == ([32], 33)


def test_numbers_found_stay_where_communities_cannot_be_scored():
    assert recount([51], 40, best=0) == ([32], 51)
    # A guess of two has no judges.
    assert recount([9], 3, best=2) == ([], 9)
    # Fewer than ten points for each of 40 clusters; nothing scored; nothing found.
    assert recount([9], 50, n_samples=399) == ([], 9)
    assert recount([9], 50, best=0) == ([40], 9)
    assert recount([], 50) == ([], None)


def turning_objects(n_objects, n_views, seed=0, *, common=0.0):
    """Views of objects that turn all the way round: closed curves."""
    rng = np.random.default_rng(seed)
    turns = np.outer(2 * np.pi * np.arange(n_views) / n_views, np.arange(1, 11))
    waves = np.hstack([np.cos(turns), np.sin(turns)]) / np.tile(np.arange(1, 11), 2)
    views = [waves @ rng.standard_normal((20, 60)) for _ in range(n_objects)]
    shared = rng.standard_normal(60)
    return np.concatenate(views) + common * shared, np.repeat(range(n_objects), n_views)


@pytest.mark.parametrize("common", [0.0, 2.0])
def test_communities_are_about_as_many_as_turning_objects(common):
    X, _ = turning_objects(30, 40, common=common)
    n_communities = count_communities(X, Wishes(None), 0, Workers())
    assert 30 <= n_communities <= 48


def slowly_confirmed(labels, judges):
    """Return the definition, point by point and pair by pair."""
    n_points, n_clusters = len(labels), labels.max() + 1
    each = np.zeros(n_points)
    for i in range(n_points):
        share = np.zeros(n_clusters)
        for judge in judges.T:
            together = [j for j in range(n_points) if j != i and judge[j] == judge[i]]
            for j in together:
                share[labels[j]] += 1 / len(together)
        own, other = share[labels[i]], np.delete(share, labels[i]).max()
        each[i] = (own - other) / max(own, other) if max(own, other) > 0 else 0
    return sum(each[labels == k].mean() - 0.15 for k in range(n_clusters))


def test_confirmed_clusters_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=30)
    judges = rng.integers(4, size=(30, 5)).astype(np.uint8)
    expected = slowly_confirmed(labels, judges)
    assert confirmed_clusters(labels, 3, judges) == pytest.approx(expected, abs=1e-5)


def test_neither_a_split_nor_a_merged_class_is_confirmed():
    # Judges of two candidates put whole classes together, each time others.
    target = np.repeat(np.arange(4), 20)
    sides = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]], np.uint8)
    judges = sides[:, target].T
    right = confirmed_clusters(target, 4, judges)
    split = np.where((target == 0) & (np.arange(80) % 2 == 1), 4, target)
    merged = np.where(target == 3, 2, target)
    assert right > 4 * 0.4
    assert confirmed_clusters(split, 5, judges) < right - 0.5
    assert confirmed_clusters(merged, 3, judges) < right - 0.5


@pytest.mark.parametrize(
    ("n_subspaces", "options"),
    [
        (2, {}),
        (5, {"noise": 0.3}),
        (12, {}),
        (3, {"n_per_subspace": [90, 60, 40]}),
        (4, {"dims": [1, 2, 4, 6]}),
    ],
)
def test_planted_number_of_clusters_is_found(n_subspaces, options):
    data = make_union(n_subspaces, **options)
    model = EKSS("auto", random_state=0, n_members=60, n_jobs=2).fit(data.data)
    assert model.n_clusters_ == n_subspaces
    assert clustering_error(data.target, model.labels_) < 0.03
    best = model.counts_[0]
    assert best.n_clusters == n_subspaces
    assert 0 < best.confirmed <= 0.85 * n_subspaces or best.gap > 1
    scores = [count.score for count in model.counts_]
    assert scores == sorted(scores)
    assert len({count.n_clusters for count in model.counts_}) == len(scores) > 3


def test_number_is_sought_on_a_sample_of_many_points(monkeypatch):
    monkeypatch.setattr(settle, "COUNT", replace(settle.COUNT, rows=150))
    data = make_union(4, n_per_subspace=100)
    model = EKSS("auto", random_state=0, n_members=60).fit(data.data)
    assert model.n_clusters_ == 4
    assert clustering_error(data.target, model.labels_) == 0


def test_number_found_gives_the_labels_of_the_number_given():
    data = make_union(3)
    found = EKSS("auto", random_state=0, n_members=40).fit(data.data)
    given = EKSS(3, random_state=0, n_members=40).fit(data.data)
    np.testing.assert_array_equal(found.labels_, given.labels_)
    assert given.counts_ == ()


@pytest.mark.parametrize("n_samples", [2, 5, 9, 20])
def test_few_points_get_a_number_too(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 6))
    model = EKSS("auto", n_members=5, random_state=0).fit(X)
    assert 1 <= model.n_clusters_ <= n_samples
    assert model.labels_.max() < model.n_clusters_


def test_word_other_than_auto_is_refused():
    with pytest.raises(ValueError, match="n_clusters='many' is not known"):
        EKSS("many").fit(np.eye(10))


def test_scores_of_close_numbers_are_averaged():
    scores = {9: -3.0, 10: -4.0, 38: -10.0, 39: -13.0, 40: -10.0, 60: -12.0}
    counts = [Count(number, score, 1.0) for number, score in scores.items()]
    found = {count.n_clusters: count for count in smoothed(counts)}
    assert [found[n].score for n in (9, 10, 60)] == [-3, -4, -12]
    assert found[39].score == pytest.approx(-11)
    assert found[38].score == pytest.approx(-11.5)
    assert all(count.confirmed == 1 for count in found.values())
