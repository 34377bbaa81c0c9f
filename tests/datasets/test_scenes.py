"""Synthetic faces and moving bodies have the geometry that they are made to show."""

import numpy as np
import pytest

from ekss.datasets import make_faces_under_light, make_moving_bodies


def spread_of(points):
    return np.linalg.svd(points, compute_uv=False) ** 2


def test_tracks_of_a_body_lie_near_an_affine_subspace_of_dimension_three():
    scene = make_moving_bodies(random_state=0)
    for body in range(3):
        points = scene.data[scene.target == body]
        spread = spread_of(points - points.mean(axis=0))
        assert spread[3:].sum() < 0.002 * spread.sum()


def test_tracks_without_noise_lie_on_it():
    tracks, target = make_moving_bodies(noise=0, random_state=0, return_X_y=True)
    for body in range(3):
        points = tracks[target == body]
        spread = spread_of(points - points.mean(axis=0))
        assert spread[3:].sum() < 1e-20 * spread.sum()


def test_images_of_a_face_lie_near_a_subspace_of_dimension_nine():
    faces = make_faces_under_light(3, 60, noise=0, random_state=0)
    shares = []
    for some in (*(faces.target == person for person in range(3)), slice(None)):
        spread = spread_of(faces.data[some])
        shares.append(spread[9:].sum() / spread.sum())
    assert max(shares[:3]) < 0.01
    assert shares[3] > 2 * max(shares[:3])


def test_lit_from_the_front_a_face_has_no_shadow_and_three_dimensions():
    """Where no pixel turns away from any lamp, images are linear in the lamp."""
    faces = make_faces_under_light(1, 200, noise=0, random_state=0)
    lit = (faces.data > 0).mean(axis=0) == 1
    assert lit.any()
    spread = spread_of(faces.data[:, lit])
    assert spread[3:].sum() < 1e-20 * spread.sum()


@pytest.mark.parametrize("make", [make_moving_bodies, make_faces_under_light])
def test_same_seed_gives_the_same_points(make):
    first, second = (make(random_state=3, return_X_y=True) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
    assert not np.array_equal(first[0], make(random_state=4).data)


def test_sizes_are_those_asked_for():
    faces = make_faces_under_light(2, 7, height=40, random_state=0)
    assert faces.image_shape == (40, 30)
    assert faces.data.shape == (14, 1200)
    assert faces.images.shape == (14, 40, 30)
    assert np.bincount(faces.target).tolist() == [7, 7]
    assert np.allclose(np.linalg.norm(faces.lights, axis=1), 1)


@pytest.mark.parametrize(("name", "value"), [("n_people", 0), ("height", 7)])
def test_impossible_sizes_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}; it must be at least"):
        make_faces_under_light(**{name: value})
