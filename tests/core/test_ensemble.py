import numpy as np
import pytest

from ekss.core.ksubspaces import MemberOptions, run_member, run_side_by_side
from ekss.core.linalg import random_bases
from ekss.datasets import make_union_of_subspaces


def options(**changes):
    defaults = {"n_candidates": (4, 4), "subspace_dim": (2, 2), "max_iter": 3}
    return MemberOptions(**(defaults | changes))


@pytest.fixture(scope="module")
def points():
    return make_union_of_subspaces(
        n_subspaces=4, dims=2, n_features=20, n_per_subspace=50, random_state=0
    ).data


def test_member_depends_on_seed_and_number_alone(points):
    alone = run_member(points, 7, 3, options())
    for number in (5, 1, 0):
        run_member(points, 7, number, options())
    again = run_member(points, 7, 3, options())
    np.testing.assert_array_equal(alone.labels, again.labels)
    assert alone.weight == again.weight


def test_members_of_different_number_or_seed_differ(points):
    first = run_member(points, 7, 0, options(max_iter=0)).labels
    assert (first != run_member(points, 7, 1, options(max_iter=0)).labels).any()
    assert (first != run_member(points, 8, 0, options(max_iter=0)).labels).any()


@pytest.mark.parametrize(
    ("n_candidates", "dtype"), [(4, np.uint8), (256, np.uint8), (257, np.uint16)]
)
def test_labels_have_the_smallest_unsigned_type(n_candidates, dtype):
    X = np.random.default_rng(0).standard_normal((600, 10))
    member = run_member(
        X, 0, 0, options(n_candidates=(n_candidates, n_candidates), max_iter=1)
    )
    assert member.labels.dtype == dtype


def test_ranges_draw_their_own_candidates_per_member(points):
    chosen = options(n_candidates=(2, 6), max_iter=0)
    counts = {int(run_member(points, 0, b, chosen).labels.max()) + 1 for b in range(40)}
    assert counts == {2, 3, 4, 5, 6}


def test_ranges_draw_their_own_dimension_per_member(points):
    # the captured energy of random subspaces, refitted once, grows with the dimension
    chosen = options(subspace_dim=(1, 5), n_candidates=(1, 1), max_iter=3, update="pca")
    weights = {round(run_member(points, 0, b, chosen).weight, 6) for b in range(40)}
    energy = np.linalg.svd(points, compute_uv=False) ** 2
    expected = np.cumsum(energy)[:5] / energy.sum()
    np.testing.assert_allclose(sorted(weights), expected, atol=1e-5)


@pytest.mark.parametrize("affine", [False, True])
def test_weight_is_one_less_the_pca_cost_of_the_clusters(points, affine):
    member = run_member(points, 0, 1, options(affine=affine))
    cost = 0.0
    for k in np.unique(member.labels):
        cluster = points[member.labels == k]
        if affine:
            cluster = cluster - cluster.mean(axis=0)
        cost += (np.linalg.svd(cluster, compute_uv=False)[2:] ** 2).sum()
    assert np.isclose(member.weight, 1 - cost / (points**2).sum())


@pytest.mark.parametrize("update", ["pca", "power"])
def test_weight_lies_between_zero_and_one_and_rises_with_iterations(points, update):
    weights = [
        np.mean(
            [
                run_member(points, 0, b, options(max_iter=t, update=update)).weight
                for b in range(10)
            ]
        )
        for t in (0, 1, 3, 10)
    ]
    assert all(0 <= w <= 1 for w in weights)
    assert (np.diff(weights) >= -1e-12).all()


def test_member_of_all_zero_points_is_finite():
    member = run_member(np.zeros((10, 4)), 0, 0, options())
    assert member.weight == 1.0
    assert member.labels.shape == (10,)


def test_float32_member_is_close_to_float64(points):
    low = run_member(points.astype(np.float32), 0, 0, options())
    high = run_member(points, 0, 0, options())
    assert abs(low.weight - high.weight) < 1e-4
    assert (low.labels == high.labels).mean() > 0.99


def test_co_clustering_of_ekss0_follows_the_angle():
    # Lemma 3 of the paper: the probability grows with |<x, y>|.
    rng = np.random.default_rng(0)
    x, e = random_bases(1, 30, 2, rng)[0].T
    angles = np.array([0.0, 0.3, 0.6, 0.9, 1.2, np.pi / 2])
    X = np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * e
    labels = np.stack(
        [run_member(X, 1, b, options(max_iter=0)).labels for b in range(3000)]
    )
    together = (labels == labels[:, :1]).mean(axis=0)
    assert together[0] == 1
    assert np.all(np.diff(together) < 0)


def noisy_points():
    """Return points of which hardly any has two subspaces that are equally near."""
    return make_union_of_subspaces(
        n_subspaces=4, dims=2, n_features=20, noise=0.3, random_state=1
    ).data


def reference_member(X, seed, number, n_candidates, dim, n_iter, affine):
    """The same member in plain NumPy: exact residuals, QR, one cluster at a time."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    rng.integers(1), rng.integers(1)  # one number of candidates, one dimension
    drawn = rng.standard_normal((n_candidates, X.shape[1], dim))
    Q, R = np.linalg.qr(drawn)
    bases = list(Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None])
    through = np.zeros((n_candidates, X.shape[1]))
    if affine:
        through = X[rng.integers(len(X), size=n_candidates)]
    for t in range(n_iter + 1):
        rest = [
            (X - c) - (X - c) @ U @ U.T for U, c in zip(bases, through, strict=True)
        ]
        squares = np.stack([(r**2).sum(axis=1) for r in rest])
        labels = squares.argmin(axis=0)
        if t == n_iter:
            return labels
        worst = np.argsort(-squares.min(axis=0), kind="stable")
        taken = 0
        for k in range(n_candidates):
            mine = X[labels == k]
            if len(mine) == 0:
                size = dim + affine
                mine = X[worst[taken : taken + size]]
                taken += size
                through[k] = affine * mine.mean(axis=0)
                bases[k] = np.linalg.svd((mine - through[k]).T)[0][:, :dim]
                continue
            through[k] = affine * mine.mean(axis=0)
            mine = mine - through[k]
            left, sizes, _ = np.linalg.svd(mine.T @ (mine @ bases[k]))
            kept = list(left.T[:dim][sizes > 1e-12 * sizes[0]])
            for u in bases[k].T:  # what the points do not determine stays as it was
                rest = u - sum((u @ v) * v for v in kept)
                if len(kept) < dim and np.linalg.norm(rest) > 1e-8:
                    kept.append(rest / np.linalg.norm(rest))
            bases[k] = np.stack(kept, axis=1)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("n_candidates", [3, 25])
def test_power_member_equals_the_plain_reference(affine, n_candidates):
    points = noisy_points()
    chosen = options(
        n_candidates=(n_candidates, n_candidates), update="power", affine=affine
    )
    same = [
        run_member(points, 5, number, chosen).labels
        == reference_member(points, 5, number, n_candidates, 2, 3, affine)
        for number in range(8)
    ]
    # of two subspaces that are equally near up to rounding, either will do
    assert np.mean(same) > 0.98
    assert np.median(np.mean(same, axis=1)) == 1


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_members_side_by_side_are_those_alone(affine, dtype):
    X = noisy_points().astype(dtype)
    chosen = options(
        n_candidates=(2, 9), subspace_dim=(1, 4), update="power", affine=affine
    )
    together = run_side_by_side(X, 3, range(8), chosen)
    for number, member in enumerate(together):
        alone = run_member(X, 3, number, chosen)
        # products of other shapes may differ in their last bits
        assert (member.labels == alone.labels).mean() > 0.98
        assert abs(member.weight - alone.weight) < 1e-3
        assert member.labels.dtype == alone.labels.dtype


def test_members_side_by_side_end_each_in_its_own_time():
    # clean lines: some starts come to rest at once, others do not
    X = np.repeat(np.eye(6), 10, axis=0)
    chosen = options(
        n_candidates=(2, 12), subspace_dim=(1, 1), update="power", max_iter=20
    )
    together = run_side_by_side(X, 0, range(8), chosen)
    alone = [run_member(X, 0, number, chosen) for number in range(8)]
    assert [one.n_iter for one in together] == [one.n_iter for one in alone]
    assert len({one.n_iter for one in alone}) > 1
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)


@pytest.mark.parametrize(("n_samples", "expected"), [(300, 8), (3_000, 3), (20_000, 1)])
def test_few_points_have_members_side_by_side(n_samples, expected):
    chosen = options(n_candidates=(12, 24), subspace_dim=(2, 4), update="power")
    assert chosen.at_once(n_samples) == expected
    assert options(update="pca").at_once(n_samples) == 1
