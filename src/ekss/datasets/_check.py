"""Whether arrays are the data set they claim to be: sizes, counts, digests."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.datasets._catalog import DataSet

REFERENCE, CONVERTED = "reference", "converted"
_CELLS = 4


@dataclass(frozen=True)
class Checked:
    """Arrays that passed, the digest of each, and which variant they are."""

    arrays: dict[str, NDArray]
    digests: dict[str, str]
    variant: str


def array_digest(name: str, array: NDArray) -> str:
    """SHA-256 over name, dtype, shape and bytes in row-major order."""
    head = f"{name} {array.dtype.str} {tuple(array.shape)}\n"
    digest = hashlib.sha256(head.encode())
    digest.update(array.tobytes())
    return digest.hexdigest()


def set_digest(digests: Mapping[str, str]) -> str:
    """SHA-256 over the names and digests of all arrays, in order of name."""
    lines = (f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_arrays(dataset: DataSet, arrays: Mapping[str, NDArray]) -> Checked:
    """Pick the data set's own arrays and check them, or say what is wrong.

    Arrays beyond those of the catalogue are left out.
    """
    own = {name: _get(dataset, arrays, name) for name in array_names(dataset, arrays)}
    _check_layout(dataset, own)
    counts = class_counts(dataset, own)
    if counts != dataset.counts:
        raise _refuse(dataset, "class counts", dataset.counts, counts)
    digests = {name: array_digest(name, array) for name, array in own.items()}
    return Checked(own, digests, _variant(dataset, own, digests))


def array_names(dataset: DataSet, arrays: Mapping[str, NDArray]) -> list[str]:
    """Names of the arrays that the data set is made of."""
    if dataset.layout:
        return [name for name, _, _ in dataset.layout]
    names = [str(name) for name in _get(dataset, arrays, "names")]
    return ["names", *(f"{name}__{part}" for name in names for part in "xs")]


def class_counts(dataset: DataSet, arrays: Mapping[str, NDArray]) -> tuple[int, ...]:
    """Points of each class; for sequences, how many have 0, 1, 2, ... motions."""
    if dataset.layout:
        labels = arrays["y"]
    else:
        names = [str(name) for name in arrays["names"]]
        counted = [name for name in names if name not in dataset.uncounted]
        labels = np.array([arrays[f"{name}__s"].max() for name in counted])
    if labels.size == 0 or labels.min() < 0:
        return ()
    return tuple(np.bincount(labels).tolist())


def fingerprint(X: NDArray, y: NDArray, image_shape: tuple[int, int]) -> NDArray:
    """Grey levels, 0 to 255, of 4 x 4 cells of mean images.

    One mean over the first and one over the second half of the rows of each class,
    so of shape (n_classes, 2, 4, 4). The halves tell lights from the left and from
    the right apart, and so mirrored images and a wrong order of rows.
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


def _variant(
    dataset: DataSet, arrays: Mapping[str, NDArray], digests: Mapping[str, str]
) -> str:
    """Tell the reference from another conversion, or refuse what is neither."""
    found = set_digest(digests)
    if found in dataset.digests:
        return REFERENCE
    if dataset.side_digest is None or dataset.image_shape is None:
        raise _refuse(dataset, "digest", " or ".join(dataset.digests), found)
    rest = set_digest({name: digests[name] for name in digests if name != "X"})
    if rest != dataset.side_digest:
        what = "digest of the labels and other arrays but X"
        raise _refuse(dataset, what, dataset.side_digest, rest)
    cells = fingerprint(arrays["X"], arrays["y"], dataset.image_shape)
    known = np.frombuffer(dataset.fingerprint, np.uint8).reshape(cells.shape)
    gap = float(np.abs(cells - known).mean(axis=(1, 2, 3)).max())
    if not gap <= dataset.tolerance:
        what = "distance of mean images from the known ones, in grey levels,"
        raise _refuse(dataset, what, f"at most {dataset.tolerance}", f"{gap:.1f}")
    return CONVERTED


def _check_layout(dataset: DataSet, arrays: Mapping[str, NDArray]) -> None:
    for name, dtype, shape in dataset.layout or _sequence_layout(arrays):
        found = arrays[name]
        if found.dtype != np.dtype(dtype):
            raise _refuse(dataset, f"dtype of {name}", dtype, found.dtype.str)
        if found.shape != shape:
            raise _refuse(dataset, f"shape of {name}", shape, found.shape)


def _sequence_layout(
    arrays: Mapping[str, NDArray],
) -> list[tuple[str, str, tuple[int, ...]]]:
    """Shapes that follow from the labels: 3 coordinates of P points in F frames."""
    layout: list[tuple[str, str, tuple[int, ...]]] = []
    for name in arrays["names"]:
        points = arrays[f"{name}__s"].size
        frames = arrays[f"{name}__x"].shape[-1:] or (0,)
        layout.append((f"{name}__s", "<i8", (points,)))
        layout.append((f"{name}__x", "<f8", (3, points, *frames)))
    return layout


def _get(dataset: DataSet, arrays: Mapping[str, NDArray], name: str) -> NDArray:
    if name not in arrays:
        found = ", ".join(sorted(arrays)[:6]) or "none"
        raise _refuse(dataset, "arrays", f"one called {name}", found)
    return arrays[name]


def _refuse(dataset: DataSet, what: str, expected: Any, found: Any) -> ValueError:
    return ValueError(
        f"{dataset.name} is refused: {what} expected {expected}, found {found}; "
        f"get the file again with: ekss data fetch {dataset.name}"
    )
