from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import CutScore, Evidence, score_cut
from ekss.ensemble import choose as module
from ekss.ensemble.choose import (
    fit_quality,
    judge_all,
    select_cut,
    total_of,
    usable_dims,
)
from ekss.ensemble.cut import Cut
from ekss.graph import cluster_silhouettes, companion_shares, edge_shares
from ekss.runtime.workers import Workers


def make_union(noise=0.1, affine_offset=0.0, seed=0):
    return make_union_of_subspaces(
        n_subspaces=4,
        dims=3,
        n_features=20,
        n_per_subspace=40,
        noise=noise,
        affine_offset=affine_offset,
        random_state=seed,
    )


def slow_residuals(evidence, labels, n_clusters, dim):
    """Squared distance of every point to every cluster's subspace, one by one."""
    X = evidence.points.astype(float)
    out = np.empty((len(X), n_clusters))
    for k in range(n_clusters):
        own = X[labels == k]
        centre = own.mean(axis=0) if evidence.affine else np.zeros(X.shape[1])
        _, values, directions = np.linalg.svd(own - centre, full_matrices=False)
        basis = directions[:dim][values[:dim] > 1e-6 * values[0]].T
        for i, x in enumerate(X):
            rest = (x - centre) - basis @ (basis.T @ (x - centre))
            out[i, k] = rest @ rest
    out = np.maximum(out, evidence.floor)
    return out if evidence.outside is None else out + evidence.outside[:, None]


def slow_quality(labels, n_clusters, evidence):
    costs, silhouettes = [], []
    for dim in evidence.dims:
        rest = slow_residuals(evidence, labels, n_clusters, dim)
        cost = 0.0
        for i, k in enumerate(labels):
            own = rest[i, k]
            other = min(rest[i, m] for m in range(n_clusters) if m != k)
            silhouettes.append((other - own) / max(own, other))
            freedom = 1 - (dim + evidence.affine) / (labels == k).sum()
            cost += own / max(freedom, module._SMALLEST_FREEDOM) ** 2
        costs.append(cost / len(labels))
    return np.exp(np.mean(np.log(costs))), np.mean(silhouettes)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("with_outside", [False, True])
@pytest.mark.parametrize("planted", [False, True])
def test_residual_and_silhouette_equal_a_loop_over_points(
    affine, with_outside, planted
):
    data = make_union(affine_offset=2.0 * affine)
    rng = np.random.default_rng(0)
    labels = data.target if planted else rng.integers(4, size=160)
    outside = rng.random(160) if with_outside else None
    evidence = Evidence(data.data, (1, 2, 3, 6), affine, outside)
    residual, silhouette = fit_quality(labels, 4, evidence)
    slow_residual, slow_silhouette = slow_quality(labels, 4, evidence)
    assert residual == pytest.approx(slow_residual, rel=1e-9)
    assert silhouette == pytest.approx(slow_silhouette, abs=1e-9)


@pytest.mark.parametrize("affine", [False, True])
def test_clusters_of_fewer_points_than_features_equal_the_loop_too(affine):
    rng = np.random.default_rng(0)
    labels = np.repeat(range(3), 8)
    evidence = Evidence(rng.standard_normal((24, 50)), (2, 5), affine)
    residual, silhouette = fit_quality(labels, 3, evidence)
    slow_residual, slow_silhouette = slow_quality(labels, 3, evidence)
    assert residual == pytest.approx(slow_residual, rel=1e-9)
    assert silhouette == pytest.approx(slow_silhouette, abs=1e-9)


@pytest.mark.parametrize("affine", [False, True])
def test_blocks_of_rows_give_the_same_numbers(affine, monkeypatch):
    data = make_union()
    outside = np.random.default_rng(0).random(160)
    evidence = Evidence(data.data, (1, 3, 5), affine, outside)
    whole = fit_quality(data.target, 4, evidence)
    for entries in (1, 7 * 4 * 5):
        monkeypatch.setattr(module, "_BLOCK_ENTRIES", entries)
        blocked = fit_quality(data.target, 4, evidence)
        np.testing.assert_allclose(blocked, whole, rtol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("votes", ["members", "graph", "none"])
def test_cuts_scored_together_have_the_scores_they_have_alone(affine, votes):
    data = make_union(affine_offset=affine)
    evidence = full_evidence(data, affine)
    if votes != "members":
        graph = nearest_graph(data.data) if votes == "graph" else None
        evidence = replace(evidence, member_labels=None, graph=graph)
    # clusters in common, other numbers of clusters, and more than are taken at once
    halves = np.where(np.arange(160) % 2, data.target, data.target + 4)
    some = [*some_partitions(data.target), (data.target + 1) % 4, data.target // 2]
    cuts = [*some, halves] * 10
    together = judge_all(cuts, evidence, None, Workers(1))
    assert len(together) == len(cuts)
    for labels, found in zip(cuts, together, strict=True):
        alone = score_cut(labels, evidence)
        assert found.residual == pytest.approx(alone.residual, rel=1e-9)
        assert found.overlap == pytest.approx(alone.overlap, rel=1e-9)
        assert found.dissent == pytest.approx(alone.dissent, rel=1e-6)


def nearest_graph(X, q=6):
    similarity = np.abs(X @ X.T)
    np.fill_diagonal(similarity, 0)
    cutoff = np.sort(similarity, axis=1)[:, -q, None]
    kept = np.where(similarity >= cutoff, similarity, 0)
    return csr_array((kept + kept.T) / 2)


def full_evidence(data, affine=False):
    rng = np.random.default_rng(0)
    base = np.where(
        rng.random((160, 10)) < 0.8,
        data.target[:, None],
        rng.integers(4, size=(160, 10)),
    )
    return Evidence(data.data, (2, 3, 4), affine, None, base)


def some_partitions(truth):
    rng = np.random.default_rng(0)
    partly = np.where(rng.random(160) < 0.7, truth, rng.integers(4, size=160))
    return [truth, partly, rng.integers(4, size=160), (np.arange(160) * 4) // 160]


@pytest.mark.parametrize("affine", [False, True])
def test_score_ignores_numbering_of_clusters_order_of_points_and_rotation(affine):
    data = make_union(affine_offset=affine)
    evidence = full_evidence(data, affine)
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    order = rng.permutation(160)
    moved = Evidence(
        (data.data @ rotation)[order],
        evidence.dims,
        affine,
        None,
        evidence.member_labels[order],
    )
    for labels in some_partitions(data.target):
        expected = score_cut(labels, evidence)
        found = score_cut(rng.permutation(4)[labels][order], moved)
        assert found.residual == pytest.approx(expected.residual, rel=1e-9)
        assert found.overlap == pytest.approx(expected.overlap, rel=1e-9)
        assert found.dissent == pytest.approx(expected.dissent, rel=1e-5)


def test_affine_score_ignores_a_shift_of_all_points():
    data = make_union(affine_offset=2.0)
    labels = some_partitions(data.target)[1]
    here = score_cut(labels, Evidence(data.data, (2, 3), True))
    there = score_cut(labels, Evidence(data.data + 30, (2, 3), True))
    assert there.total == pytest.approx(here.total, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-60, 1e-3, 1e60])
def test_scale_of_the_data_shifts_all_totals_alike(scale):
    data = make_union()
    partitions = some_partitions(data.target)
    plain = full_evidence(data)
    scaled = replace(plain, points=data.data * scale)
    before = np.array([score_cut(labels, plain).total for labels in partitions])
    after = np.array([score_cut(labels, scaled).total for labels in partitions])
    # the same for all, so that their order stays
    np.testing.assert_allclose(after - before, 2 * np.log(scale), rtol=1e-9)
    graph = nearest_graph(data.data)
    light, heavy = (
        Evidence(data.data, plain.dims, graph=graph * by) for by in (1.0, scale)
    )
    weighed = [score_cut(labels, heavy).total for labels in partitions]
    np.testing.assert_allclose(
        weighed, [score_cut(labels, light).total for labels in partitions], rtol=1e-9
    )


def merged_and_split(truth):
    """Merge classes 0 and 1, and split class 3 into halves."""
    rank = np.cumsum(truth == 3)
    half = (truth == 3) & (rank > rank[-1] // 2)
    return np.where(half, 1, np.where(truth == 1, 0, truth))


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("dims", [(3,), (2, 3, 5)])
def test_truth_scores_lower_than_merged_and_split_or_random_labels(affine, noise, dims):
    for seed in range(3):
        data = make_union(noise, 2.0 * affine, seed)
        evidence = Evidence(data.data, dims, affine)
        wrong = merged_and_split(data.target)
        assert len(np.unique(wrong)) == 4
        chance = np.random.default_rng(seed).integers(4, size=160)
        best = score_cut(data.target, evidence).total
        assert best < score_cut(wrong, evidence).total
        assert best < score_cut(chance, evidence).total


def test_silhouette_is_near_one_for_the_truth_and_zero_for_a_split_class():
    data = make_union(noise=0.05)
    evidence = Evidence(data.data, (3,))
    assert fit_quality(data.target, 4, evidence)[1] > 0.9
    one_class = Evidence(data.data[data.target == 0], (3,))
    assert -0.2 < fit_quality(np.arange(40) % 2, 2, one_class)[1] < 0.4


def test_overlap_falls_where_the_silhouette_rises():
    data = make_union()
    evidence = Evidence(data.data, (2, 3))
    partitions = some_partitions(data.target)
    silhouettes = [fit_quality(labels, 4, evidence)[1] for labels in partitions]
    overlaps = np.array([score_cut(labels, evidence).overlap for labels in partitions])
    assert (overlaps > 0).all()
    np.testing.assert_allclose(overlaps + silhouettes, overlaps[0] + silhouettes[0])


def test_small_clusters_are_raised_so_that_fitting_noise_does_not_pay():
    X = np.random.default_rng(0).standard_normal((60, 12))
    sizes = np.repeat(range(5), 12)
    few, many = Evidence(X, (2,)), Evidence(X, (8,))
    plain = slow_residuals(many, sizes, 5, 8)[np.arange(60), sizes].mean()
    assert fit_quality(sizes, 5, many)[0] == pytest.approx(plain * 3**2, rel=1e-9)
    plain = slow_residuals(few, sizes, 5, 2)[np.arange(60), sizes].mean()
    assert fit_quality(sizes, 5, few)[0] == pytest.approx(plain * 1.2**2, rel=1e-9)


@pytest.mark.parametrize("from_members", [False, True])
def test_dissent_is_the_geometric_mean_over_clusters(from_members):
    data = make_union()
    labels = some_partitions(data.target)[1]
    if from_members:
        evidence = full_evidence(data)
        shares = companion_shares(evidence.member_labels, labels, 4)
    else:
        evidence = Evidence(data.data, (3,), graph=nearest_graph(data.data))
        shares = edge_shares(evidence.graph, labels, 4)
    # 1.03 is what the documentation of CutScore states
    expected = np.prod(1.03 - cluster_silhouettes(shares, labels)) ** (1 / 4)
    assert score_cut(labels, evidence).dissent == pytest.approx(expected, rel=1e-6)
    assert score_cut(labels, Evidence(data.data, (3,))).dissent == 1


def test_votes_that_never_leave_a_cluster_give_a_finite_score():
    data = make_union()
    order = np.argsort(data.target, kind="stable")
    blocks = csr_array(np.kron(np.eye(4), np.ones((40, 40)) - np.eye(40)))
    truth, wrong = data.target[order], np.roll(data.target[order], 20)
    for more in ({"graph": blocks}, {"member_labels": truth[:, None]}):
        evidence = Evidence(data.data[order], (3,), **more)
        good, bad = (score_cut(labels, evidence) for labels in (truth, wrong))
        assert np.isfinite(good.total)
        assert good.dissent == pytest.approx(0.03, rel=1e-4)
        assert good.dissent < bad.dissent


def test_total_is_the_log_of_a_product_of_powers():
    one = CutScore(1.0, 1.0, 1.0)
    assert one.total == 0
    assert CutScore(2.0, 1.0, 1.0).total == pytest.approx(np.log(2))
    for name in ("residual", "overlap", "dissent"):
        doubled = replace(one, **{name: 2.0}).total
        assert doubled > 0
        assert replace(one, **{name: 4.0}).total == pytest.approx(2 * doubled)
    joint = CutScore(3.0, 5.0, 1.0).total
    alone = CutScore(3.0, 1.0, 1.0).total + CutScore(1.0, 5.0, 1.0).total
    assert joint == pytest.approx(alone)


@pytest.mark.parametrize("affine", [False, True])
def test_float32_is_close_to_float64(affine):
    data = make_union(affine_offset=affine)
    for labels in some_partitions(data.target):
        wide = score_cut(labels, Evidence(data.data, (1, 3, 4), affine))
        narrow = score_cut(
            labels, Evidence(data.data.astype(np.float32), (1, 3, 4), affine)
        )
        assert narrow.residual == pytest.approx(wide.residual, rel=1e-3)
        assert narrow.overlap == pytest.approx(wide.overlap, abs=1e-3)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clusters_of_one_point_or_below_the_dimension_give_finite_numbers(
    affine, dtype
):
    X = np.random.default_rng(0).standard_normal((40, 10)).astype(dtype)
    labels = np.full(40, 2)
    labels[0] = 0  # a single point
    labels[1:4] = 1  # three points for five dimensions
    score = score_cut(labels, Evidence(X, (1, 3, 5), affine))
    assert np.isfinite(
        [score.residual, score.overlap, score.dissent, score.total]
    ).all()
    assert score.residual > 0


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_points_exactly_on_their_subspaces_give_finite_numbers(affine, scale):
    data = make_union(noise=0.0, affine_offset=affine)
    evidence = Evidence(data.data * scale, (1, 3, 5), affine)
    score = score_cut(data.target, evidence)
    assert np.isfinite([score.residual, score.overlap, score.total]).all()
    assert score.overlap < 1.0
    assert score.total < score_cut(merged_and_split(data.target), evidence).total


def test_equal_points_give_finite_numbers():
    for affine in (False, True):
        evidence = Evidence(np.ones((12, 4)), (1, 2), affine)
        score = score_cut(np.arange(12) % 3, evidence)
        assert np.isfinite([score.residual, score.overlap, score.total]).all()


def test_points_without_length_give_finite_numbers():
    score = score_cut(np.arange(12) % 3, Evidence(np.zeros((12, 4)), (1, 2)))
    assert np.isfinite([score.overlap, score.dissent]).all()


def test_dimensions_that_leave_no_direction_are_lowered():
    X = np.random.default_rng(0).standard_normal((10, 4))
    assert usable_dims(Evidence(X, (1, 3, 4, 9))) == (1, 3)
    assert usable_dims(Evidence(X[:, :1], (1, 2))) == (1,)
    labels = np.arange(10) % 2
    lowered = score_cut(labels, Evidence(X, (4, 9)))
    assert lowered == score_cut(labels, Evidence(X, (3,)))


def test_selection_returns_the_first_of_the_lowest_and_all_totals():
    cuts = [Cut(np.full(3, value), "") for value in (4, 1, 3, 1)]
    best, totals = select_cut(
        cuts, Evidence(np.eye(3), (1,)), lambda labels, evidence: int(labels[0])
    )
    assert best == 1
    assert totals == [4.0, 1.0, 3.0, 1.0]


def test_selection_finds_the_truth_among_wrong_cuts():
    data = make_union(noise=0.2)
    wrong = [merged_and_split(data.target), *some_partitions(data.target)[1:]]
    cuts = [Cut(labels, "") for labels in (*wrong, data.target)]
    best, totals = select_cut(cuts, full_evidence(data))
    assert best == len(wrong)
    assert totals[best] == score_cut(data.target, full_evidence(data)).total


def test_scores_may_be_numbers_or_have_a_total():
    assert total_of(np.float32(2.5)) == 2.5
    assert total_of(CutScore(1.0, 1.0, 1.0)) == 0.0


@pytest.mark.parametrize("bad", [float("nan"), None, "good", np.arange(2)])
def test_score_that_is_not_a_number_is_refused(bad):
    with pytest.raises(ValueError, match=r"the score of a cut is .*; return a number"):
        total_of(bad)
    assert total_of(np.float32(2.5)) == 2.5
    assert total_of(float("inf")) == float("inf")
