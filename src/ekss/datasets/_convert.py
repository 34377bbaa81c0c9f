"""Official archives turned into arrays."""

import gzip
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray]
_BLOCK = 4
_IDX_UINT8 = 8
_TRUTH = "_truth.mat"


def convert_mnist(paths: Sequence[Path]) -> Arrays:
    """Images and labels from two idx files."""
    images, labels = (read_idx(path) for path in paths)
    return {"X": images.reshape(len(images), -1), "y": labels.astype("<i8")}


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read one idx file of bytes, packed with gzip or not."""
    content = read_maybe_packed(path)
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
    """Digits from zip.train.gz and zip.test.gz, their values moved to [0, 1]."""
    texts = [io.BytesIO(read_maybe_packed(path)) for path in paths]
    table = np.concatenate([np.loadtxt(text, ndmin=2) for text in texts])
    return {
        "X": ((table[:, 1:] + 1) / 2).astype("<f4"),
        "y": table[:, 0].astype("<i8"),
    }


def convert_coil20(paths: Sequence[Path]) -> Arrays:
    """4 x 4 block means of the processed grey images, in [0, 1]."""
    keys, means = _objects(paths[0])
    return {"X": means / 255, "y": _classes(keys[:, 0])}


def convert_coil100(paths: Sequence[Path]) -> Arrays:
    """4 x 4 block means of the colour images turned to grey, rounded to bytes."""
    keys, means = _objects(paths[0])
    return {
        "X": np.rint(means).astype(np.uint8),
        "y": _classes(keys[:, 0]),
        "angle": keys[:, 1],
    }


def convert_yale(paths: Sequence[Path]) -> Arrays:
    """4 x 4 block means of the cropped faces, by subject and name of the light."""
    pattern = r"yaleB(\d+)_P00(A([+-]\d+)E([+-]\d+))\.pgm(\.bad)?"
    found = sorted(
        (int(match[1]), match[2], int(match[3]), int(match[4]), bool(match[5]), image)
        for match, image in _members(paths[0], pattern)
    )
    rows = [_yale_row(image, bad) for *_, bad, image in found]
    shape = next((row.shape for row in rows if row is not None), (0,))
    filled = [np.zeros(shape) if row is None else row for row in rows]
    subject = np.array([entry[0] for entry in found], "<i8")
    return {
        "X": np.rint(np.stack(filled)).astype(np.uint8),
        "y": _classes(subject),
        "bad": np.array([entry[4] for entry in found], bool),
        "subject": subject,
        "azimuth": np.array([entry[2] for entry in found], "<i8"),
        "elevation": np.array([entry[3] for entry in found], "<i8"),
    }


def convert_hopkins(paths: Sequence[Path]) -> Arrays:
    """Tracks and motions of every NAME_truth.mat, in order of file name."""
    from scipy.io import loadmat

    arrays: Arrays = {}
    found = sorted(_members(paths[0], r"(.+)" + _TRUTH), key=lambda pair: pair[0][0])
    for match, content in found:
        name = match[1]
        truth = loadmat(io.BytesIO(content), variable_names=["x", "s"])
        arrays[f"{name}__x"] = np.ascontiguousarray(truth["x"], "<f8")
        arrays[f"{name}__s"] = truth["s"].ravel().astype("<i8")
    return {"names": np.array([match[1] for match, _ in found]), **arrays}


def read_maybe_packed(path: Path) -> bytes:
    """Read a file that may or may not be packed with gzip."""
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def block_mean(image: NDArray) -> NDArray[np.float64]:
    """Mean of each 4 x 4 block of an image, as one row.

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
    """Whether a zip file has a member whose whole path matches."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(re.search(pattern, name) for name in archive.namelist())


def _members(path: Path, pattern: str) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the files in a zip file whose own name matches, with their content."""
    count = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            inside = PurePosixPath(member)
            match = re.fullmatch(pattern, inside.name)
            # macOS adds a folder of shadow files with almost the same names
            if match and "__MACOSX" not in inside.parts:
                count += 1
                yield match, archive.read(member)
    if not count:
        raise ValueError(f"{path.name} holds no file named like {pattern}")


def _objects(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Object and view numbers, and block means, of files like obj12__35.png."""
    found = sorted(
        ((int(match[1]), int(match[2])), content)
        for match, content in _members(path, r"obj(\d+)__(\d+)\.png")
    )
    means = np.stack([block_mean(_grey(content)) for _, content in found])
    return np.array([key for key, _ in found], "<i8"), means


def _yale_row(content: bytes, bad: bool) -> NDArray[np.float64] | None:
    """Block means of a face; None for an image marked bad that cannot be read."""
    try:
        return block_mean(_grey(content))
    except (OSError, ValueError):
        if not bad:
            raise
        return None


def _grey(content: bytes) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading images needs pillow, which is not installed; "
            'install it with: pip install "ekss[data]"'
        ) from error
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("L"))


def _classes(numbers: NDArray) -> NDArray[np.int64]:
    return np.unique(numbers, return_inverse=True)[1].astype("<i8")
