import numpy as np
import pytest

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble.decide import (
    Geometry,
    Wishes,
    _directions_for,
    decide,
    estimate_geometry,
    few_neighbors,
    has_flat_neighbourhoods,
)
from ekss.ensemble.dimension import estimate_dim
from ekss.ensemble.prepare import prepare
from ekss.metrics import clustering_error

N_FRAMES = 20


def rotation(angles):
    """Turn about the three axes, one after the other."""
    out = np.eye(3)
    for axis, angle in enumerate(angles):
        i, j = [k for k in range(3) if k != axis]
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        out = turn @ out
    return out


def moving_bodies(n_bodies, n_each=50, noise=0.2, seed=0):
    """Tracks of points on rigid bodies seen by an affine camera: rank 4 each."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, N_FRAMES)
    tracks = []
    for body in range(n_bodies):
        speed = rng.standard_normal(3)
        cameras = np.vstack([rotation(t * speed)[:2] for t in time])
        path = 300.0 * body + np.outer(time, 60 * rng.standard_normal(2))
        shape = 30 * rng.standard_normal((n_each, 3))
        tracks.append(shape @ cameras.T + path.ravel())
    X = np.vstack(tracks)
    X += noise * rng.standard_normal(X.shape)
    return X, np.repeat(np.arange(n_bodies), n_each)


def faces(n_people=4, n_each=40, n_pixels=100, noise=0.1, seed=0):
    """Images under changing light: a cone of nine directions each, and noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_people), n_each)
    albedo = rng.random((n_people, 9, n_pixels))
    X = np.einsum("nj,njp->np", rng.random((len(y), 9)), albedo[y])
    return X + noise * X.std() * rng.standard_normal(X.shape), y


def detects(X, n_clusters):
    return has_flat_neighbourhoods(X, n_clusters, np.random.default_rng(0))


def rank_of(X):
    return np.linalg.matrix_rank(X, tol=1e-6 * np.linalg.norm(X))


@pytest.mark.parametrize("n_bodies", [2, 3, 5])
def test_tracks_of_moving_bodies_are_flat(n_bodies):
    clean, y = moving_bodies(n_bodies, noise=0.0)
    assert all(rank_of(clean[y == k]) == 4 for k in range(n_bodies))
    for noise in (0.0, 0.3):
        X, _ = moving_bodies(n_bodies, noise=noise)
        assert detects(X, n_bodies)


@pytest.mark.parametrize("shift", [-1e6, 1e4, 1e7])
def test_shift_of_all_points_does_not_change_the_detection(shift):
    X, _ = moving_bodies(3)
    assert detects(X + shift, 3)
    images, _ = faces()
    assert not detects(images + shift, 4)


def test_images_noise_and_subspaces_of_more_dimensions_are_not_flat():
    rng = np.random.default_rng(0)
    assert not detects(faces()[0], 4)
    assert not detects(rng.standard_normal((200, 50)), 4)
    assert not detects(rng.random((200, 8)), 4)
    union = make_union_of_subspaces(4, 6, 50, 60, random_state=0)
    assert not detects(union.data, 4)
    noisy = make_union_of_subspaces(4, 2, 50, 60, noise=0.3, random_state=0)
    assert not detects(noisy.data, 4)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_few_features_are_never_called_flat_by_their_number_alone(n_features):
    X = np.random.default_rng(0).standard_normal((120, n_features))
    assert not detects(X, 3)


@pytest.mark.parametrize("exponent", [-150, -20, 0, 20, 150])
def test_scale_neither_changes_the_detection_nor_the_labels(exponent):
    X, y = moving_bodies(3)
    model = EKSS(3, n_members=20, random_state=0).fit(X * 10.0**exponent)
    assert model.affine_
    assert clustering_error(y, model.labels_) == 0
    images, _ = faces()
    small = EKSS(4, n_members=5, random_state=0).fit(images * 10.0**exponent)
    assert not small.affine_


def test_single_precision_does_not_change_the_detection():
    X, y = moving_bodies(3)
    model = EKSS(3, n_members=20, random_state=0).fit(X.astype(np.float32))
    assert model.affine_
    assert clustering_error(y, model.labels_) == 0


def test_detection_does_not_depend_on_the_seed_of_the_ensemble():
    X, _ = moving_bodies(3)
    found = [EKSS(3, n_members=3, random_state=s).fit(X) for s in range(3)]
    assert all(model.affine_ for model in found)
    assert len({model.subspace_dim_ for model in found}) == 1


def test_affine_detection_is_made_unless_it_is_given():
    X, _ = moving_bodies(3)
    assert EKSS(3, 4, n_members=5, random_state=0).fit(X).affine_
    assert not EKSS(3, affine=False, n_members=5, random_state=0).fit(X).affine_
    images, _ = faces()
    assert EKSS(4, affine=True, n_members=5, random_state=0).fit(images).affine_


def test_moving_bodies_are_clustered_by_default():
    for n_bodies in (2, 3):
        for seed in range(2):
            X, y = moving_bodies(n_bodies, noise=0.3, seed=seed)
            model = EKSS(n_bodies, n_members=40, random_state=seed).fit(X)
            assert model.affine_
            assert model.offsets_.shape == (n_bodies, 2 * N_FRAMES)
            assert clustering_error(y, model.labels_) == 0


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_linear_subspaces_are_recovered_by_default(dim, noise):
    rng = np.random.default_rng(dim)
    y = np.repeat(range(3), 60)
    bases = np.linalg.qr(rng.standard_normal((3, 30, dim)))[0]
    # lengths from 1/2 to 2: a point next to the origin belongs nowhere
    inside = rng.standard_normal((180, dim))
    inside /= np.linalg.norm(inside, axis=1, keepdims=True)
    inside *= rng.uniform(0.5, 2, (180, 1))
    X = np.einsum("ndj,nj->nd", bases[y], inside)
    X += noise * rng.standard_normal(X.shape)
    model = EKSS(3, n_members=40, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) <= 0.01
    assert dim <= model.subspace_dim_ <= 3 * dim + 3


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("offset", [3.0, 1000.0])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_affine_subspaces_far_from_the_origin_are_recovered_by_default(
    dim, offset, noise
):
    data = make_union_of_subspaces(
        3, dim, 30, 60, affine_offset=offset, noise=noise, random_state=dim
    )
    model = EKSS(3, n_members=40, random_state=0).fit(data.data)
    assert clustering_error(data.target, model.labels_) == 0
    if dim < 4:
        assert model.affine_
        assert dim <= model.subspace_dim_ <= dim + 1


def affine_classes(offsets):
    rng = np.random.default_rng(0)
    y = np.repeat(range(4), 80)
    bases = np.linalg.qr(rng.standard_normal((4, 20, 4)))[0]
    X = np.einsum("ndj,nj->nd", bases[y], rng.standard_normal((320, 4)))
    return X + offsets[y], y


@pytest.mark.parametrize("rank", range(1, 9))
@pytest.mark.parametrize("decay", [1.0, 0.3, 0.05])
def test_bound_without_eigenvalues_never_contradicts_them(rank, decay):
    rng = np.random.default_rng(rank)
    energy = decay ** np.arange(rank)
    points = rng.standard_normal((60, rank)) * energy @ rng.standard_normal((rank, 30))
    (exact,) = _directions_for(points, (0.99,), None)
    for most in (1, 2, 3, 5):
        (count,) = _directions_for(points, (0.99,), most)
        assert count == exact or count == most + 1 <= exact


def test_automatic_dimension_of_affine_subspaces_ignores_where_they_lie():
    directions = np.random.default_rng(1).standard_normal((4, 20))
    for offsets in (2 * directions, 1000 * directions, 2 * directions + 500):
        X, y = affine_classes(offsets)
        model = EKSS(4, affine=True, n_members=50, random_state=0).fit(X)
        assert 3 <= model.subspace_dim_ <= 6
        assert clustering_error(y, model.labels_) < 0.02


def test_affine_subspaces_that_meet_in_a_point_are_told_apart():
    # neighbourhoods near the common point hold two classes: their dimensions add up
    offsets = np.array([[5.0], [-5.0], [5.0], [-5.0]])
    X, y = affine_classes(np.broadcast_to(offsets, (4, 20)))
    model = EKSS(4, affine=True, random_state=0).fit(X)
    assert 3 <= model.subspace_dim_ <= 8
    assert clustering_error(y, model.labels_) < 0.02


@pytest.mark.parametrize("affine", [False, True])
def test_same_seed_gives_the_same_labels_for_any_number_of_workers(affine):
    X, _ = moving_bodies(3) if affine else faces()
    one, two = (
        EKSS(4, n_members=30, random_state=1, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2)
    )
    assert one.affine_ is two.affine_ is affine
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.member_labels_.tobytes() == two.member_labels_.tobytes()
    assert one.bases_.tobytes() == two.bases_.tobytes()
    assert [c.score for c in one.candidates_] == [c.score for c in two.candidates_]
    assert (one.affinity_ != two.affinity_).nnz == 0


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dim", [2, 4])
def test_range_of_dimensions_brackets_the_truth_of_separate_subspaces(affine, dim):
    data = make_union_of_subspaces(
        3, dim, 40, 100, bases="orthogonal", affine_offset=5.0 * affine, random_state=0
    )
    rng = np.random.default_rng(0)
    geometry = estimate_geometry(data.data, 3, rng, affine=affine)
    assert geometry.affine is affine
    assert dim - 1 <= geometry.low <= dim <= geometry.high + (not affine)
    assert geometry.high <= dim + 1


def test_range_is_ordered_and_within_its_limits():
    rng = np.random.default_rng(0)
    for shape in ((10, 3), (40, 2), (300, 100), (60, 500)):
        for n_clusters in (1, 2, shape[0] // 3, shape[0]):
            for affine in (False, True):
                X = rng.standard_normal(shape)
                found = estimate_geometry(X, n_clusters, rng, affine=affine)
                most = max(1, min(shape[1] // 2, shape[0] // (3 * n_clusters)))
                assert 1 <= found.low <= found.high <= most


def test_range_of_points_without_length_or_all_equal_is_one():
    rng = np.random.default_rng(0)
    for X in (np.zeros((30, 8)), np.ones((30, 8))):
        assert estimate_geometry(X, 3, rng, affine=False) == Geometry(False, 1, 1)
        assert estimate_geometry(X, 3, rng, affine=True).low == 1
        assert estimate_dim(X, 3, rng) == 1


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_rotation_and_scale_do_not_change_the_range(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10)) * 0.7 ** np.arange(10)
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    for affine in (False, True):
        plain, moved = (
            estimate_geometry(points, 3, np.random.default_rng(1), affine=affine)
            for points in (X, scale * (X @ turn))
        )
        assert plain == moved


@pytest.mark.parametrize("affine", [False, True])
def test_given_dimensions_are_taken_and_estimates_follow_the_seed(affine):
    X = np.random.default_rng(0).standard_normal((90, 20))
    points = prepare(X, unit=False, affine=affine)
    for given in ((3, 3), (2, 5)):
        found = decide(points, Wishes(3, given), 3, 0).geometry
        assert (found.affine, found.low, found.high) == (affine, *given)
        assert found.of_members == given
    expected = estimate_geometry(
        points.rows, 3, np.random.default_rng(4), affine=affine
    )
    assert decide(points, Wishes(3), 3, 4).geometry == expected


def test_few_neighbors_are_a_sixth_of_a_cluster_from_3_to_10():
    assert [few_neighbors(n, 3) for n in (20, 90, 180, 6000)] == [3, 5, 10, 10]
    assert few_neighbors(3, 3) == 2


@pytest.mark.parametrize(("noise", "dtype"), [(0.0, np.float64), (0.1, np.float32)])
def test_members_work_in_float32_unless_points_are_clean(noise, dtype):
    data = make_union_of_subspaces(
        3, 4, n_features=30, n_per_subspace=60, noise=noise, random_state=0
    ).data
    points = prepare(data, unit=True, affine=False)
    assert decide(points, Wishes(3), 3, 0).seen.points.dtype == dtype
    single = prepare(data.astype(np.float32), unit=True, affine=False)
    assert decide(single, Wishes(3), 3, 0).seen.points.dtype == np.float32
    for unit, affine in ((False, False), (False, True), (True, True)):
        points = prepare(data, unit=unit, affine=affine)
        assert decide(points, Wishes(3), 3, 0).seen.points.dtype == np.float64
