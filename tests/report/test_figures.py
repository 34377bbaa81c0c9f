import io

import numpy as np
import pytest
from PIL import Image

from ekss.report._figures import (
    SEQUENTIAL,
    averaged,
    palette_of,
    png,
    ticks,
    to_bytes,
)
from ekss.report._page import duration, even, percent
from ekss.report._spectrum import clarities


def opened(content):
    with Image.open(io.BytesIO(content)) as image:
        return image.mode, np.asarray(image), np.asarray(image.convert("RGBA"))


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (4, 3, 3)])
def test_grey_and_colour_images_come_back(rng, shape):
    pixels = rng.integers(256, size=shape).astype(np.uint8)
    mode, seen, _ = opened(png(pixels))
    assert mode == ("RGB" if len(shape) == 3 else "L")
    np.testing.assert_array_equal(seen, pixels)


def test_palettes_and_transparency_come_back(rng):
    indices = rng.integers(256, size=(6, 9)).astype(np.uint8)
    palette, alpha = palette_of(SEQUENTIAL), np.arange(256, dtype=np.uint8)
    _, _, seen = opened(png(indices, palette, alpha))
    np.testing.assert_array_equal(seen[..., :3], palette[indices])
    np.testing.assert_array_equal(seen[..., 3], indices)


def test_a_palette_runs_from_its_first_to_its_last_colour():
    palette = palette_of(["#000000", "#ff8000", "#ffffff"])
    assert palette.shape == (256, 3)
    np.testing.assert_array_equal(palette[[0, -1]], [[0, 0, 0], [255, 255, 255]])
    assert (np.diff(palette.astype(int), axis=0) >= 0).all()


def test_values_outside_the_range_are_clipped():
    values = np.array([-1.0, 0.0, 0.5, 1.0, 9.0])
    np.testing.assert_array_equal(to_bytes(values, 0, 1), [0, 0, 128, 255, 255])
    np.testing.assert_array_equal(to_bytes(np.array([3.0]), 3, 3), [0])


def test_squares_of_pixels_are_averaged(rng):
    images = rng.random((2, 7, 9))
    small = averaged(images, 3)
    assert small.shape == (2, 2, 3)
    assert small[1, 0, 2] == pytest.approx(images[1, :3, 6:9].mean())
    assert averaged(images, 1) is images


def test_ticks_are_round_numbers():
    assert ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(3, 3) == [3]


def test_numbers_are_written_for_people():
    assert percent(0.1234) == "12.3 %"
    assert [duration(s) for s in (0.25, 75, 7300)] == ["0.25 s", "75 s", "2 h 1 min"]
    pairs = (0.28, 0.5), (12.3, 900), (2e-8, 3e-7)
    assert [even(*pair) for pair in pairs] == ["0.280", "12", "2e-08"]


def test_clarity_compares_distances_from_one():
    values = clarities(np.array([1.0, 0.99, 0.49]))
    np.testing.assert_allclose(values, [2, 26])
