import numpy as np
import pytest

from ekss import EKSS, KSS
from ekss.datasets import make_union_of_subspaces
from ekss.report import _layout, build
from ekss.report._fitted import read_inputs
from ekss.report._geometry import fit_of
from ekss.report._layout import layout_of


def laid_out(model, X):
    inputs = read_inputs(model, X)
    return inputs, layout_of(inputs, fit_of(inputs))


def test_centres_stand_on_a_circle_and_points_near_their_own(union, ensemble):
    inputs, layout = laid_out(ensemble, union.data)
    assert layout.origin == "embedding"
    np.testing.assert_allclose(np.linalg.norm(layout.centres, axis=1), 1, atol=1e-9)
    gaps = np.linalg.norm(layout.dots[:, None] - layout.centres, axis=2)
    assert np.mean(gaps.argmin(axis=1) == inputs.codes[layout.rows]) > 0.95


def test_similar_clusters_are_neighbours_on_the_circle():
    # on a line, the two ends are farthest apart; a round trip keeps the others' order
    means = np.array([[0.0], [5.0], [1.0], [4.0], [2.0], [3.0]])
    order = _layout._round_trip(means)
    steps = np.abs(np.diff(means[[*order, order[0]], 0]))
    assert sorted(order) == list(range(6))
    assert steps.sum() == 10  # there and back


def test_methods_without_embedding_are_laid_out_by_their_subspaces(union):
    model = KSS(4, 3, random_state=0).fit(union.data)
    _, layout = laid_out(model, union.data)
    assert layout.origin == "subspaces"
    assert layout.on_circle


def test_separate_pieces_are_shown_by_subspaces_and_no_dot_covers_another():
    union = make_union_of_subspaces(4, 3, 100, n_per_subspace=60, random_state=0)
    model = EKSS(4, n_members=20, random_state=0).fit(union.data)
    # The embedding of pieces that do not touch: one place for each, and a fifth piece
    # of a cluster in the middle of all.
    model.embedding_ = np.eye(4)[model.labels_]
    model.embedding_[np.flatnonzero(model.labels_ == 2)[:20]] = 0.25
    inputs, layout = laid_out(model, union.data)
    assert layout.origin == "subspaces"
    codes = inputs.codes[layout.rows]
    gaps = np.linalg.norm(layout.dots[:, None] - layout.centres, axis=2)
    assert (gaps.argmin(axis=1) == codes).all()
    assert "has links to several clusters" not in build(model, union.data).html


def test_dots_at_one_place_are_spread_to_discs_by_their_number(rng):
    dots = np.repeat([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]], [300, 40, 1], axis=0)
    codes = np.repeat([0, 1, 2], [300, 40, 1])
    moved, count = _layout._uncovered(dots, codes, 3)
    assert count == 340
    assert len(np.unique(moved.round(6), axis=0)) == 341
    radii = np.linalg.norm(moved - dots, axis=1)
    assert radii[:300].max() > 2 * radii[300:340].max() > 0
    assert radii[340] == 0
    far = dots + 10 * rng.standard_normal(dots.shape)
    assert _layout._uncovered(far, codes, 3)[1] < 20


def test_one_cluster_is_laid_out_by_its_points(union):
    model = KSS(1, 3, random_state=0).fit(union.data)
    _, layout = laid_out(model, union.data)
    assert layout.origin == "points"
    variances = layout.dots.var(axis=0)
    total = np.linalg.svd(union.data / np.linalg.norm(union.data, axis=1)[:, None])
    assert variances[0] >= variances[1] > 0
    assert variances.sum() <= (total[1] ** 2).sum()


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_a_sample_is_drawn_of_many_points_and_no_cluster_is_lost(monkeypatch, rng):
    monkeypatch.setattr(_layout, "MOST_DOTS", 30)
    X = rng.standard_normal((200, 5))
    model = KSS(3, 1, random_state=0).fit(X)
    model.labels_ = np.where(np.arange(200) == 77, 2, np.arange(200) % 2)
    inputs, layout = laid_out(model, X)
    assert 30 <= len(layout.rows) <= 31
    assert set(inputs.codes[layout.rows]) == {0, 1, 2}
