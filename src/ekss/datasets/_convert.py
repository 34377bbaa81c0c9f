"""Conversion of the official archives to arrays."""

import io
import re
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.runtime import foreign
from ekss.runtime.untrusted import check_members, read_maybe_packed

Arrays = dict[str, NDArray[Any]]
_BLOCK = 4
_IDX_UINT8 = 8
_FACE = (192, 168)
# Maximum unpacked size of an archive: more than twice that of the largest, COIL-100.
MOST_UNPACKED = 2**29
# No image of the data sets has more pixels, or any other format.
_MOST_PIXELS = 10**6
_IMAGE_FORMATS = ("PNG", "PPM")


def convert_mnist(paths: Sequence[Path]) -> Arrays:
    """Return images and labels from two idx files."""
    images, labels = map(_read_idx, paths)
    return {"X": images.reshape(len(images), -1), "y": labels.astype("<i8")}


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read one idx file of bytes, compressed with gzip or not."""
    content = read_maybe_packed(path, MOST_UNPACKED)
    if len(content) < 4 or content[:3] != bytes([0, 0, _IDX_UINT8]):
        raise ValueError(f"{path.name} does not begin like an idx file of bytes")
    sizes = np.frombuffer(content, ">i4", count=content[3], offset=4)
    body = content[4 + 4 * len(sizes) :]
    if len(body) != sizes.prod():
        raise ValueError(
            f"{path.name} announces {sizes.prod()} bytes of data but holds {len(body)}"
        )
    return np.frombuffer(body, np.uint8).reshape(sizes)


def convert_usps(paths: Sequence[Path]) -> Arrays:
    """Return the digits of zip.train.gz and zip.test.gz, values mapped to [0, 1]."""
    texts = [io.BytesIO(read_maybe_packed(path, MOST_UNPACKED)) for path in paths]
    table = np.concatenate([np.loadtxt(text, ndmin=2) for text in texts])
    return {
        "X": ((table[:, 1:] + 1) / 2).astype("<f4"),
        "y": table[:, 0].astype("<i8"),
    }


def convert_coil20(paths: Sequence[Path]) -> Arrays:
    """Return 4 x 4 block means of the processed grey images, in [0, 1]."""
    keys, means = _objects(paths[0])
    return {"X": means / 255, "y": _classes(keys[:, 0])}


def convert_coil100(paths: Sequence[Path]) -> Arrays:
    """Return 4 x 4 block means of the colour images, in grey, rounded to bytes."""
    keys, means = _objects(paths[0])
    return {
        "X": np.rint(means).astype(np.uint8),
        "y": _classes(keys[:, 0]),
        "angle": keys[:, 1],
    }


def convert_yale(paths: Sequence[Path]) -> Arrays:
    """Return 4 x 4 block means of the cropped faces, by subject and name of light."""
    pattern = r"yaleB(\d+)_P00(A([+-]\d+)E([+-]\d+))\.pgm(\.bad)?"
    found = sorted(
        (int(match[1]), match[2], int(match[3]), int(match[4]), bool(match[5]), image)
        for match, image in _members(paths[0], pattern)
    )
    subject, _, azimuth, elevation, bad, images = zip(*found, strict=True)
    rows = [_face(image, is_bad) for image, is_bad in zip(images, bad, strict=True)]
    return {
        "X": np.rint(np.stack(rows)).astype(np.uint8),
        "y": _classes(np.array(subject)),
        "bad": np.array(bad),
        "subject": np.array(subject, "<i8"),
        "azimuth": np.array(azimuth, "<i8"),
        "elevation": np.array(elevation, "<i8"),
    }


def convert_hopkins(paths: Sequence[Path]) -> Arrays:
    """Return tracks and motions of every NAME_truth.mat, in order of file name."""
    arrays: Arrays = {}
    pattern = r"(.+)_truth\.mat"
    found = sorted(_members(paths[0], pattern), key=lambda pair: pair[0][0])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "truth.mat"
        for match, content in found:
            name = match[1]
            file.write_bytes(content)
            truth = _numbers_in(file)
            arrays[f"{name}__x"] = np.ascontiguousarray(truth["x"], "<f8")
            arrays[f"{name}__s"] = truth["s"].ravel().astype("<i8")
    return {"names": np.array([match[1] for match, _ in found]), **arrays}


def _numbers_in(file: Path) -> Arrays:
    """Read the tracks x and the motions s of a .mat file."""
    wanted = [v for v in foreign.variables(file) if v.name in ("x", "s")]
    if sum(variable.bytes for variable in wanted) > MOST_UNPACKED:
        raise ValueError("a sequence declares more numbers than any of Hopkins 155 has")
    return {variable.name: foreign.load(file, variable) for variable in wanted}


def block_mean(image: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean of each 4 x 4 block of an image, as one row.

    Examples
    --------
    >>> block_mean(np.arange(32).reshape(4, 8))
    array([13.5, 17.5])
    """
    height, width = (size // _BLOCK for size in image.shape)
    if image.shape != (height * _BLOCK, width * _BLOCK) or not image.size:
        raise ValueError(f"an image has sides {image.shape}, not multiples of {_BLOCK}")
    return image.reshape(height, _BLOCK, width, _BLOCK).mean(axis=(1, 3)).ravel()


def has_members(path: Path, pattern: str) -> bool:
    """Decide whether a zip file has a member whose whole path matches."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(re.search(pattern, name) for name in archive.namelist())


def _members(path: Path, pattern: str) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the files in a zip file whose base name matches, with their content."""
    with zipfile.ZipFile(path) as archive:
        found = []
        for member in archive.infolist():
            inside = PurePosixPath(member.filename)
            match = re.fullmatch(pattern, inside.name)
            # macOS adds a folder of shadow files with almost the same names.
            if match and "__MACOSX" not in inside.parts:
                found.append((match, member))
        if not found:
            raise ValueError(f"{path.name} holds no file named like {pattern}")
        check_members([member for _, member in found], MOST_UNPACKED)
        for match, member in found:
            yield match, archive.read(member)


def _objects(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return object and view numbers, and block means, of files like obj12__35.png."""
    found = sorted(
        ((int(match[1]), int(match[2])), content)
        for match, content in _members(path, r"obj(\d+)__(\d+)\.png")
    )
    means = np.stack([block_mean(_grey(content)) for _, content in found])
    return np.array([key for key, _ in found], "<i8"), means


def _face(content: bytes, is_bad: bool) -> NDArray[np.float64]:
    """Return block means of a face; zeros for an image marked bad and unreadable."""
    try:
        return block_mean(_grey(content))
    except ValueError:
        if not is_bad:
            raise
        return block_mean(np.zeros(_FACE))


def _grey(content: bytes) -> NDArray[np.uint8]:
    if find_spec("PIL") is None:
        raise ModuleNotFoundError(
            "reading images needs pillow, which is not installed; "
            'install it with: pip install "ekss[data]"'
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "image"
        file.write_bytes(content)
        try:
            return foreign.image(file, _IMAGE_FORMATS, _MOST_PIXELS, grey=True)
        except ValueError as error:
            raise ValueError(f"an image in it cannot be read: {error}") from error


def _classes(numbers: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(numbers, return_inverse=True)[1].astype("<i8")


CONVERTERS = {
    "hopkins155": convert_hopkins,
    "eyaleb": convert_yale,
    "coil20": convert_coil20,
    "coil100": convert_coil100,
    "usps": convert_usps,
    "mnist_test": convert_mnist,
    "mnist_train": convert_mnist,
}
