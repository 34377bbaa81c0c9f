"""The data home: canonical files, checked when written and when read."""

import hashlib
import json
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.datasets._catalog import DataSet
from ekss.runtime.files import atomic_file
from ekss.runtime.untrusted import check_members, why_not_regular

# Everything that readers raise on a truncated or damaged file, or another format.
UNREADABLE = (
    OSError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    NotImplementedError,
    MemoryError,
    ArithmeticError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_REFERENCE, _CONVERTED = "reference", "converted"
_RECORD = "__record__"
_CELLS = 4
# More than all arrays of any data set take.
_MOST_BYTES = 2**29


@dataclass(frozen=True)
class Checked:
    """Arrays that passed the checks, the digest of each, and their variant.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays of the canonical file.
    digests : dict of str to str
        SHA-256 of each array.
    variant : str
        Name of the known variant.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.datasets import Checked
    >>> Checked({"X": np.zeros((2, 3))}, {"X": "0a1b"}, "reference").variant
    'reference'
    """

    arrays: dict[str, NDArray[Any]]
    digests: dict[str, str]
    variant: str


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    r"""Return the folder that holds the benchmark data.

    The first of these that is given is used: the argument, the environment variable
    ``EKSS_DATA``, the platform's cache folder for ``ekss``. The folder is not created.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder to use; None for the environment variable or the cache folder.

    Returns
    -------
    pathlib.Path
        The folder, with ``~`` replaced by the home folder.

    Notes
    -----
    The cache folder comes from platformdirs if that is installed. Otherwise it is
    ``%LOCALAPPDATA%\ekss`` on Windows and ``~/.cache/ekss`` elsewhere. O(1) time.

    Examples
    --------
    >>> from ekss.datasets import get_data_home
    >>> get_data_home("some/folder").as_posix()
    'some/folder'
    """
    chosen = data_home if data_home is not None else os.environ.get("EKSS_DATA")
    if chosen:
        return Path(chosen).expanduser()
    try:
        from platformdirs import user_cache_path
    except ModuleNotFoundError:
        local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
        return (Path(local) if local else Path.home() / ".cache") / "ekss"
    return user_cache_path("ekss", appauthor=False)


def save(dataset: DataSet, arrays: Mapping[str, NDArray[Any]], home: Path) -> Checked:
    """Check arrays and write the canonical file; on failure, keep any earlier file."""
    checked = check_arrays(dataset, arrays)
    record = json.dumps({"variant": checked.variant, "digests": checked.digests})
    home.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {**checked.arrays, _RECORD: np.array(record)}
    with atomic_file(home / dataset.filename) as file:
        np.savez_compressed(file, **content)
    return checked


def load(dataset: DataSet, home: Path, wanted: Sequence[str] | None = None) -> Checked:
    """Read arrays of the canonical file (all by default) and check them."""
    path = home / dataset.filename

    def damaged(reason: str) -> ValueError:
        return ValueError(
            f"{path} is refused: {reason}; replace it with: "
            f"ekss data fetch {dataset.name}, or: ekss data import PATH"
        )

    try:
        content = _read_npz(path, None if wanted is None else [_RECORD, *wanted])
        record = json.loads(str(content[_RECORD]))
        digests, variant = record["digests"], record["variant"]
        names = digests if wanted is None else wanted
        arrays = {name: content[name] for name in names}
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise damaged(f"it cannot be read ({error})") from error
    if variant == _REFERENCE and set_digest(digests) not in dataset.digests:
        raise damaged("its record is not that of the known data")
    for name, array in arrays.items():
        if array_digest(name, array) != digests[name]:
            raise damaged(f"array {name} differs from its record")
    return Checked(arrays, digests, variant)


def variant_of(dataset: DataSet, home: Path) -> str | None:
    """Return the variant of the file in the data home; None if there is no file.

    Parameters
    ----------
    dataset : DataSet
        A data set from the catalog.
    home : Path
        The data home.

    Returns
    -------
    variant : str or None
        One of the variants that ``ekss data list`` shows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.datasets import CATALOG, variant_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(variant_of(CATALOG[0], Path(folder)))
    None
    """
    if not (home / dataset.filename).exists():
        return None
    try:
        return load(dataset, home, []).variant
    except ValueError:
        return "damaged"


def read_foreign(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of a file to import, whatever its record says."""
    try:
        return _read_npz(path)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise ValueError(
            f"{path} cannot be read as a .npz file ({error}); get it again"
        ) from error


def _read_npz(
    path: Path, wanted: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    if not path.is_file() and path.exists():
        raise ValueError(f"{path} {why_not_regular(path)}")
    with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
        check_members(file.zip.infolist(), _MOST_BYTES)
        return {name: file[name] for name in (file.files if wanted is None else wanted)}


def check_arrays(dataset: DataSet, arrays: Mapping[str, NDArray[Any]]) -> Checked:
    """Pick the data set's own arrays and check them, or say what is wrong.

    Arrays that are not in the catalogue are left out.
    """
    own = {}

    def take(name: str) -> NDArray[Any]:
        if name not in arrays:
            found = ", ".join(sorted(arrays)[:6]) or "none"
            raise _refusal(dataset, "arrays", f"one called {name}", found)
        own[name] = arrays[name]
        return own[name]

    layout = dataset.layout
    if not layout:
        for name in take("names"):
            # The labels of P points, and their 3 coordinates in F frames.
            n_points = take(f"{name}__s").size
            frames = take(f"{name}__x").shape[-1:] or (0,)
            layout += (
                (f"{name}__s", "<i8", (n_points,)),
                (f"{name}__x", "<f8", (3, n_points, *frames)),
            )
    for name, dtype, shape in layout:
        found = take(name)
        if found.dtype != np.dtype(dtype):
            raise _refusal(dataset, f"dtype of {name}", dtype, found.dtype.str)
        if found.shape != shape:
            raise _refusal(dataset, f"shape of {name}", shape, found.shape)
    counts = _class_counts(dataset, own)
    if counts != dataset.counts:
        raise _refusal(dataset, "class counts", dataset.counts, counts)
    digests = {name: array_digest(name, array) for name, array in own.items()}
    return Checked(own, digests, _variant(dataset, own, digests))


def _class_counts(
    dataset: DataSet, arrays: Mapping[str, NDArray[Any]]
) -> tuple[int, ...]:
    """Count points per class; for sequences, those with 0, 1, 2, ... motions."""
    if dataset.layout:
        labels = arrays["y"]
    else:
        counted = [str(n) for n in arrays["names"] if str(n) not in dataset.uncounted]
        labels = np.array([arrays[f"{name}__s"].max() for name in counted])
    if labels.size == 0 or labels.min() < 0:
        return ()
    return tuple(np.bincount(labels).tolist())


def array_digest(name: str, array: NDArray[Any]) -> str:
    """Return the SHA-256 of name, dtype, shape and bytes in row-major order."""
    head = f"{name} {array.dtype.str} {tuple(array.shape)}\n"
    digest = hashlib.sha256(head.encode())
    digest.update(array.tobytes())
    return digest.hexdigest()


def set_digest(digests: Mapping[str, str]) -> str:
    """Return the SHA-256 of the names and digests of all arrays, in order of name."""
    lines = (f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _variant(
    dataset: DataSet, arrays: Mapping[str, NDArray[Any]], digests: Mapping[str, str]
) -> str:
    """Distinguish the reference from another conversion; refuse anything else."""
    found = set_digest(digests)
    if found in dataset.digests:
        return _REFERENCE
    if dataset.side_digest is None or dataset.image_shape is None:
        raise _refusal(dataset, "digest", " or ".join(dataset.digests), found)
    rest = set_digest({name: digests[name] for name in digests if name != "X"})
    if rest != dataset.side_digest:
        what = "digest of the labels and other arrays but X"
        raise _refusal(dataset, what, dataset.side_digest, rest)
    cells = fingerprint(arrays["X"], arrays["y"], dataset.image_shape)
    known = np.frombuffer(dataset.fingerprint, np.uint8).reshape(cells.shape)
    gap = float(np.abs(cells - known).mean(axis=(1, 2, 3)).max())
    if not gap <= dataset.tolerance:
        what = "distance of mean images from the known ones, in grey levels,"
        raise _refusal(dataset, what, f"at most {dataset.tolerance}", f"{gap:.1f}")
    return _CONVERTED


def fingerprint(
    X: NDArray[Any], y: NDArray[Any], image_shape: tuple[int, int]
) -> NDArray[Any]:
    """Return grey levels, 0 to 255, of 4 x 4 cells of mean images.

    There is one mean over the first and one over the second half of the rows of each
    class, so the shape is (n_classes, 2, 4, 4). The two halves distinguish lights from
    the left from lights from the right, and so reveal mirrored images and a wrong order
    of rows.
    """
    images = X.reshape(-1, *image_shape)
    scale = 255.0 if X.dtype.kind == "f" else 1.0
    halves = [
        images[rows].mean(axis=0, dtype=np.float64) * scale
        for k in range(int(y.max()) + 1)
        for rows in np.array_split(np.flatnonzero(y == k), 2)
    ]
    cells = np.stack(halves)
    for axis, size in enumerate(image_shape, start=1):
        starts = np.arange(_CELLS) * size // _CELLS
        widths = np.diff(np.append(starts, size))
        shape = (1, -1, 1) if axis == 1 else (1, 1, -1)
        cells = np.add.reduceat(cells, starts, axis=axis) / widths.reshape(shape)
    return cells.reshape(-1, 2, _CELLS, _CELLS)


def _refusal(dataset: DataSet, what: str, expected: Any, found: Any) -> ValueError:
    return ValueError(
        f"{dataset.name} is refused: {what} expected {expected}, found {found}; "
        f"get the file again with: ekss data fetch {dataset.name}"
    )
