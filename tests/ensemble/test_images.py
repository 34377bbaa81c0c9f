"""Images as images: pixels or scattering features, whichever the trial chooses."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from ekss import EKSS
from ekss.core.linalg import unit_rows
from ekss.datasets import make_faces_under_light
from ekss.ensemble.chain import estimate, work_of
from ekss.ensemble.prepare import Coordinates, Scattering, View
from ekss.metrics import clustering_error
from ekss.preprocessing import Scattering2D
from ekss.runtime.rows import MemoryRows
from ekss.runtime.workers import Workers

SHAPE = (16, 20)


def model(n_clusters=3, **params):
    given = {"n_members": 20, "image_shape": SHAPE, "random_state": 0}
    return EKSS(n_clusters, **{**given, **params})


@pytest.fixture(scope="module")
def textures():
    """Stripes of about three orientations, of several widths, at random places."""
    rng = np.random.default_rng(0)
    down, across = np.mgrid[: SHAPE[0], : SHAPE[1]]
    target = np.repeat(np.arange(3), 40)
    images = []
    for k in target:
        angle = np.pi * k / 3 + rng.uniform(-0.35, 0.35)
        along = np.cos(angle) * down + np.sin(angle) * across
        waves = 2 * np.pi * rng.uniform(0.1, 0.4, (8, 1, 1)) * along
        images.append(np.cos(waves + rng.uniform(0, 7, (8, 1, 1))).sum(axis=0))
    X = 10 + np.reshape(images, (len(target), -1))
    return X + 0.5 * rng.standard_normal(X.shape), target


@pytest.fixture(scope="module")
def fitted(textures):
    return model().fit(textures[0])


def test_textures_are_told_apart_by_their_features(textures, fitted):
    assert fitted.features_ == "scattering"
    assert clustering_error(textures[1], fitted.labels_) <= 0.02


def test_pixels_and_features_are_tried_in_all_numbers_of_directions(fitted):
    numbers = {"rows": set(), "scattering": set()}
    for one in fitted.whitenings_:
        numbers[one.features].add(one.n_directions)
    assert numbers["rows"]
    assert numbers["scattering"] >= numbers["rows"]
    assert fitted.features_ == fitted.whitenings_[0].features
    assert fitted.n_directions_ == fitted.whitenings_[0].n_directions


def test_without_a_shape_rows_are_not_seen_as_images(textures):
    plain = model(image_shape=None).fit(textures[0])
    assert plain.features_ == "rows"
    assert {one.features for one in plain.whitenings_} <= {"rows"}


@pytest.mark.parametrize("draw", [0, 2])
def test_faces_are_seen_by_their_pixels_as_without_a_shape(draw):
    faces = make_faces_under_light(4, 20, random_state=draw)
    images = model(4, image_shape=faces.image_shape).fit(faces.data)
    plain = model(4, image_shape=None).fit(faces.data)
    assert images.features_ == "rows"
    np.testing.assert_array_equal(images.labels_, plain.labels_)
    assert images.n_directions_ == plain.n_directions_


def test_features_must_be_clearly_better(fitted):
    best = {one.features: one.score for one in reversed(fitted.whitenings_)}
    assert fitted.whitenings_[0].score == best["scattering"]
    assert best["scattering"] < best["rows"] - 0.1


def test_a_given_number_of_directions_leaves_the_features_to_choose(textures):
    found = model(whiten=12).fit(textures[0])
    tried = {(one.features, one.n_directions) for one in found.whitenings_}
    assert tried == {("rows", 12), ("scattering", 12)}
    assert found.n_directions_ == 12


def test_subspaces_are_in_the_coordinates_of_the_pixels(textures, fitted):
    X, _ = textures
    assert fitted.bases_.shape[1] == X.shape[1]
    assert fitted.predict(X).shape == (len(X),)


def test_scale_of_images_does_not_matter(textures, fitted):
    X, _ = textures
    louder = X * np.random.default_rng(1).uniform(0.5, 2, (len(X), 1))
    again = model().fit(louder)
    assert again.features_ == fitted.features_
    assert clustering_error(fitted.labels_, again.labels_) == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_do_not_change_labels(textures, fitted, n_jobs):
    again = model(n_jobs=n_jobs).fit(textures[0])
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    assert again.whitenings_ == fitted.whitenings_


def test_one_side_may_be_left_to_the_number_of_pixels(textures, fitted):
    again = model(image_shape=(16, -1)).fit(textures[0])
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


def test_rows_beyond_a_sample_are_seen_by_the_same_features(textures):
    X, target = textures
    for rows in (X, da.from_array(X, chunks=(50, -1))):
        found = model(max_samples=90).fit(rows)
        assert clustering_error(target, found.labels_) <= 0.1


def test_further_points_get_the_features_of_a_fit(textures):
    X = unit_rows(textures[0])
    scattering = Scattering(SHAPE)
    features = scattering(X)
    expected = unit_rows(Scattering2D(2, image_shape=SHAPE).fit_transform(X))
    np.testing.assert_allclose(features, expected)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1)
    assert features.shape[1] == scattering.n_features
    directions = np.random.default_rng(0).standard_normal((features.shape[1], 4))
    view = View(directions, True, scattering)
    seen = Coordinates(view.along(features), view=view)
    np.testing.assert_allclose(seen.of(X[:7]), seen.points[:7])


@pytest.mark.parametrize(
    ("shape", "scales"), [((16, 16), 2), ((28, 28), 3), ((48, 42), 3), ((512, 300), 5)]
)
def test_windows_are_three_to_six_along_the_shorter_side(shape, scales):
    assert Scattering(shape).n_scales == scales


def test_missing_pixels_are_filled_in_before_images_are_seen(textures):
    X, target = textures
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.05, np.nan, X)
    found = model().fit(holes)
    assert found.features_ in ("rows", "scattering")
    assert clustering_error(target, found.labels_) <= 0.1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"image_shape": (8, 40)}, "16 pixels along the shorter side"),
        ({"image_shape": (16, 21)}, "does not hold n_features=320"),
        ({"image_shape": 320}, "is not a pair"),
        ({"affine": True}, "affine=True cannot be combined with image_shape"),
        ({"normalize": False}, "normalize=False cannot be combined"),
        ({"whiten": 0}, "whiten=0 cannot be combined"),
    ],
)
def test_what_cannot_be_combined_is_refused(textures, params, words):
    with pytest.raises(ValueError, match=words):
        model(**params).fit(textures[0])


def test_features_count_in_the_estimate(textures):
    rows, workers = MemoryRows(textures[0]), Workers(1)
    wishes = model()._wishes(rows.shape)
    images = estimate(work_of(wishes, rows, None, workers))
    plain = estimate(work_of(replace(wishes, image_shape=None), rows, None, workers))
    for one, other in ((images, plain),):
        assert one.stages["preprocessing"].bytes > other.stages["preprocessing"].bytes
        assert one.seconds > other.seconds
