import io

import numpy as np
import pytest
from PIL import Image

from ekss.report._figures import SEQUENTIAL, averaged, palette_of, png, to_bytes


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
