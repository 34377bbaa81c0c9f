import gzip
import io
import sys
import zipfile

import numpy as np
import pytest
from PIL import Image

from ekss.datasets import _convert
from ekss.datasets._sources import convert


def pgm(pixels):
    height, width = pixels.shape
    return f"P5\n{width} {height}\n255\n".encode() + pixels.tobytes()


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def slow_means(pixels):
    blocks = pixels.astype(float).reshape(pixels.shape[0] // 4, 4, -1, 4)
    return blocks.sum(axis=3).sum(axis=1).ravel() / 16


@pytest.mark.parametrize(
    "name", ["small_mnist", "small_usps", "small_coil20", "small_hopkins"]
)
def test_official_files_become_the_expected_arrays(name, request, tmp_path):
    small = request.getfixturevalue(name)
    folder = small.write(tmp_path)
    arrays = convert(small.dataset, [folder / file for file in small.files])
    assert arrays.keys() == small.arrays.keys()
    for key, expected in small.arrays.items():
        assert arrays[key].dtype == expected.dtype, key
        np.testing.assert_array_equal(arrays[key], expected)


def test_mnist_files_may_be_unpacked(small_mnist, tmp_path):
    paths = []
    for name, content in small_mnist.files.items():
        paths.append(tmp_path / name.removesuffix(".gz"))
        paths[-1].write_bytes(gzip.decompress(content))
    arrays = _convert.convert_mnist(paths)
    np.testing.assert_array_equal(arrays["X"], small_mnist.arrays["X"])


def test_coil100_is_grey_and_keeps_the_angle(tmp_path):
    rng = np.random.default_rng(0)
    members, expected = {}, []
    for number, angle in ((1, 0), (1, 5), (1, 100), (2, 0)):
        colours = rng.integers(0, 256, (128, 128, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(colours).save(file, "PNG")
        members[f"coil-100/obj{number}__{angle}.png"] = file.getvalue()
        expected.append(slow_means(colours @ np.array([0.299, 0.587, 0.114])))
    members["coil-100/convertGroupppm2png.pl"] = b"a script"
    path = write_zip(tmp_path / "coil-100.zip", dict(sorted(members.items())[::-1]))
    arrays = _convert.convert_coil100([path])
    assert arrays["X"].dtype == np.uint8
    assert np.abs(arrays["X"] - np.array(expected)).max() <= 1
    assert arrays["y"].tolist() == [0, 0, 0, 1]
    assert arrays["angle"].tolist() == [0, 5, 100, 0]


@pytest.fixture
def faces():
    rng = np.random.default_rng(0)
    lights = ("A+000E+00", "A+000E-20", "A-005E+10")
    keys = [(subject, light) for subject in (1, 13, 15) for light in lights]
    return {key: rng.integers(0, 256, (192, 168), dtype=np.uint8) for key in keys}


def yale_members(faces, bad=((13, "A-005E+10"),)):
    members = {}
    for (subject, light), pixels in faces.items():
        stem = f"CroppedYale/yaleB{subject:02d}/yaleB{subject:02d}_P00"
        ending = ".pgm.bad" if (subject, light) in bad else ".pgm"
        members[f"{stem}{light}{ending}"] = pgm(pixels)
        members[f"{stem}_Ambient.pgm"] = pgm(np.zeros((480, 640), np.uint8))
        members[f"{stem}.info"] = b"list"
    members["__MACOSX/CroppedYale/yaleB01/yaleB01_P00A+000E+00.pgm"] = b"shadow"
    return members


def test_yale_leaves_out_ambient_images_and_counts_bad_ones(faces, tmp_path):
    path = write_zip(tmp_path / "CroppedYale.zip", yale_members(faces))
    arrays = _convert.convert_yale([path])
    assert arrays["X"].shape == (9, 48 * 42)
    expected = np.array([slow_means(pixels) for pixels in faces.values()])
    assert np.abs(arrays["X"] - expected).max() <= 0.5
    assert arrays["y"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert arrays["subject"].tolist() == [1] * 3 + [13] * 3 + [15] * 3
    assert arrays["azimuth"].tolist() == [0, 0, -5] * 3
    assert arrays["elevation"].tolist() == [0, -20, 10] * 3
    assert np.flatnonzero(arrays["bad"]).tolist() == [5]


def test_yale_image_that_cannot_be_read_is_zero_only_if_marked_bad(faces, tmp_path):
    members = yale_members(faces)
    key = "CroppedYale/yaleB13/yaleB13_P00A-005E+10.pgm.bad"
    members[key] = members[key][:100]
    path = write_zip(tmp_path / "CroppedYale.zip", members)
    assert not _convert.convert_yale([path])["X"][5].any()
    good = key.removesuffix(".bad")
    members[good] = members.pop(key)
    path = write_zip(tmp_path / "CroppedYale.zip", members)
    with pytest.raises(ValueError, match="an image in it cannot be read"):
        _convert.convert_yale([path])


def test_cut_or_foreign_files_are_refused_in_one_sentence(small_mnist, tmp_path):
    folder = small_mnist.write(tmp_path)
    paths = [folder / name for name in small_mnist.files]
    for wrong in (paths[0].read_bytes()[:-20], b"<html>not here</html>", b""):
        paths[0].write_bytes(wrong)
        with pytest.raises(ValueError, match="cannot be read as the mnist_test"):
            convert(small_mnist.dataset, paths)


def test_cut_zip_is_refused(small_hopkins, tmp_path):
    path = tmp_path / "Hopkins155.zip"
    path.write_bytes(small_hopkins.files["Hopkins155.zip"][:-50])
    with pytest.raises(ValueError, match="cannot be read as the hopkins155"):
        convert(small_hopkins.dataset, [path])


def test_zip_without_the_expected_files_is_refused(small_coil20, tmp_path):
    path = write_zip(tmp_path / "coil-20-proc.zip", {"readme.txt": b"hello"})
    with pytest.raises(ValueError, match="holds no file named like"):
        convert(small_coil20.dataset, [path])


def test_images_need_sides_that_are_multiples_of_four():
    with pytest.raises(ValueError, match=r"\(6, 8\)"):
        _convert.block_mean(np.zeros((6, 8)))


def test_missing_pillow_is_named_with_its_remedy(small_coil20, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    folder = small_coil20.write(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "ekss\[data\]"'):
        convert(small_coil20.dataset, [folder / "coil-20-proc.zip"])
