import sys

import numpy as np
import pytest
from PIL import Image

from ekss.io import InputError, read_points


def some_images(n=4, shape=(6, 5), dtype=np.uint8, seed=0):
    rng = np.random.default_rng(seed)
    top = np.iinfo(dtype).max
    return [rng.integers(0, top, size=shape, dtype=dtype) for _ in range(n)]


@pytest.mark.parametrize("ending", ["png", "pgm", "PNG"])
def test_lossless_images_come_back(image_folder, ending):
    images = some_images()
    folder = image_folder({f"{i}.{ending}": image for i, image in enumerate(images)})
    found = read_points(folder)
    np.testing.assert_array_equal(found.points, np.reshape(images, (4, 30)))
    assert found.points.dtype == np.float64
    assert found.ids == tuple(f"{i}.{ending}" for i in range(4))
    assert (found.kind, found.image_shape) == ("images", (6, 5))
    assert found.source == "images"


@pytest.mark.parametrize("ending", ["jpg", "jpeg"])
def test_jpeg_comes_back_nearly(image_folder, ending):
    rows, columns = np.mgrid[:32, :24]
    smooth = [(4 * rows + k * columns).astype(np.uint8) for k in (1, 2, 3)]
    folder = image_folder(
        {f"{k}.{ending}": image for k, image in enumerate(smooth)}, quality=95
    )
    found = read_points(folder)
    assert found.image_shape == (32, 24)
    assert np.abs(found.points - np.reshape(smooth, (3, -1))).max() <= 4


def test_sixteen_bits_are_kept(image_folder):
    images = some_images(dtype=np.uint16)
    folder = image_folder({f"{i}.png": image for i, image in enumerate(images)})
    np.testing.assert_array_equal(
        read_points(folder).points, np.reshape(images, (4, 30))
    )


def test_colour_is_greyed_or_kept(image_folder):
    grey = some_images(3)
    colour = [np.stack([image, image // 2, image // 3], axis=2) for image in grey]
    folder = image_folder({f"{i}.png": image for i, image in enumerate(colour)})
    greyed = read_points(folder)
    weighed = np.reshape(colour, (3, 30, 3)) @ [0.299, 0.587, 0.114]
    assert greyed.image_shape == (6, 5)
    assert np.abs(greyed.points - weighed).max() <= 1
    kept = read_points(folder, grey=False)
    np.testing.assert_array_equal(kept.points, np.reshape(colour, (3, 90)))
    assert kept.image_shape is None
    image_folder({"3.png": grey[0]})
    assert read_points(folder).points.shape == (4, 30)
    with pytest.raises(InputError, match="grey=True"):
        read_points(folder, grey=False)


def test_transparency_and_palettes_are_read(image_folder):
    image = some_images(1)[0]
    folder = image_folder({"a.png": image, "b.png": np.stack([image] * 2, axis=2)})
    Image.fromarray(image).convert("P").save(folder / "c.png")
    found = read_points(folder).points
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_folders_in_the_folder_are_read_and_others_files_are_not(image_folder):
    a, b, c = some_images(3)
    folder = image_folder({"b/1.png": b, "a/2.png": a, "a/10.pgm": c, ".x/3.png": a})
    (folder / "labels.csv").write_text("1\n2\n")
    (folder / ".hidden.png").write_text("no image")
    found = read_points(folder)
    assert found.ids == ("a/10.pgm", "a/2.png", "b/1.png")
    np.testing.assert_array_equal(found.points, np.reshape([c, a, b], (3, 30)))


def test_sizes_must_agree_unless_resized(image_folder):
    wide, high = some_images(1, (6, 12))[0], some_images(1, (12, 6))[0]
    folder = image_folder({"a.png": wide, "b.png": high})
    with pytest.raises(InputError, match=r"b\.png has 12 x 6 .* 6 x 12; .*image_size"):
        read_points(folder)
    found = read_points(folder, image_size=(3, 4))
    assert (found.points.shape, found.image_shape) == ((2, 12), (3, 4))


def test_resizing_keeps_flat_images_flat_and_means_near(image_folder):
    flat = np.full((40, 30), 77, np.uint8)
    rows, columns = np.mgrid[:40, :30]
    slope = (3 * rows + columns).astype(np.uint8)
    folder = image_folder({"a.png": flat, "b.png": slope})
    small = read_points(folder, image_size=(8, 6)).points
    np.testing.assert_allclose(small[0], 77)
    assert abs(small[1].mean() - slope.mean()) < 1


def test_turned_photographs_are_put_upright(image_folder):
    image = np.zeros((8, 16), np.uint8)
    image[:, :8] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    folder = image_folder({"a.png": image, "b.png": image}, exif=exif)
    found = read_points(folder)
    assert found.image_shape == (16, 8)
    np.testing.assert_array_equal(found.points[0].reshape(16, 8), image.T)


@pytest.mark.parametrize("ending", ["png", "jpg", "pgm"])
@pytest.mark.parametrize("spoil", ["cut", "text", "empty"])
def test_broken_image_is_named(image_folder, ending, spoil):
    images = some_images(3, (40, 30))
    folder = image_folder({f"{i}.{ending}": image for i, image in enumerate(images)})
    path = folder / f"1.{ending}"
    whole = path.read_bytes()
    cut = whole[: len(whole) // 2]
    path.write_bytes({"cut": cut, "text": b"no image", "empty": b""}[spoil])
    with pytest.raises(
        InputError, match=rf"1\.{ending} (cannot be read as an image|is empty)"
    ):
        read_points(folder)


def test_image_that_claims_to_be_huge_is_refused(image_folder):
    folder = image_folder({"a.pgm": some_images(1)[0]})
    (folder / "b.pgm").write_bytes(b"P5\n60000 60000\n255\n" + b"\x00" * 99)
    with pytest.raises(InputError, match=r"b\.pgm cannot be read as an image"):
        read_points(folder)


def test_folder_without_use_is_refused(image_folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no image; images end in \.png, \.jpg"):
        read_points(tmp_path / "empty")
    folder = image_folder({"a.png": some_images(1)[0]})
    with pytest.raises(InputError, match="1 row"):
        read_points(folder)
    assert len(read_points(folder, least_rows=1).points) == 1
    with pytest.raises(InputError, match="leave key and mask out"):
        read_points(folder, key="X")
    with pytest.raises(InputError, match="not a table"):
        read_points(folder, id_column="x")


def test_missing_package_is_named_with_its_extra(image_folder, monkeypatch):
    folder = image_folder({"a.png": some_images(1)[0]})
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(InputError, match=r"pillow.*pip install 'ekss\[files\]'"):
        read_points(folder)
