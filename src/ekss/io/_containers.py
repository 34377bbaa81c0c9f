"""Files that hold one or more named arrays: .npy, .npz, .mat, .h5."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ekss.io._errors import InputError, reading, require
from ekss.io._mat5 import check_mat5

_MATLAB_NUMERIC = ("double", "single", "logical", "sparse", "int", "uint")
_LISTED = 12


@dataclass(frozen=True)
class Entry:
    """An array in a file: what is known before it is read, and how to read it.

    ``type`` is the name of its type, ``kind`` numpy's letter of it ("O" for all that
    is no plain array).
    """

    name: str
    shape: tuple[int, ...]
    type: str
    kind: str
    load: Callable[[], NDArray[Any]]

    @property
    def is_numeric(self) -> bool:
        """Whether the array holds real numbers."""
        return self.kind in "biuf"

    def __str__(self) -> str:
        sides = " x ".join(map(str, self.shape)) or "one value"
        return f"{self.name} ({sides}, {self.type})"


Chooser = Callable[[Entry], bool]


def read_array(
    path: Path, key: str | None, wanted: Chooser, purpose: str
) -> tuple[str, NDArray[Any]]:
    """Read the array called ``key``, or the only one that may be meant.

    Parameters
    ----------
    path : Path
        File that ends in .npy, .npz, .mat, .h5 or .hdf5.
    key : str or None
        Name of the array.
    wanted : callable
        Tells of an entry whether it may be meant where there is no key.
    purpose : str
        What the array is for, in messages.

    Returns
    -------
    name : str
        Name of the array; empty in a .npy file.
    array : ndarray
    """
    ending = path.suffix.lower()
    with reading(path, f"a {ending} file"), _OPENERS[ending](path) as entries:
        entry = _choose(path, entries, key, wanted, purpose)
        return entry.name, entry.load()


def _choose(
    path: Path, entries: list[Entry], key: str | None, wanted: Chooser, purpose: str
) -> Entry:
    if key is not None:
        return _named(path, entries, key)
    if not entries:
        raise InputError(f"{path} holds no array; name a file that holds {purpose}")
    found = [entry for entry in entries if wanted(entry)]
    if len(found) == 1:
        return found[0]
    if len(entries) == 1:
        return entries[0]
    count = f"{len(found)} arrays" if found else "no array"
    raise InputError(
        f"{path} holds {count} that may be {purpose}; choose one by key: "
        f"{_listed(entries)}"
    )


def _named(path: Path, entries: list[Entry], key: str) -> Entry:
    for entry in entries:
        if entry.name == key.strip("/") and entry.name:
            return entry
    if path.suffix.lower() == ".npy":
        raise InputError(f"key={key!r}, but {path} holds one array; leave the key out")
    raise InputError(f"{path} has no array {key!r}; it holds {_listed(entries)}")


def _listed(entries: list[Entry]) -> str:
    names = [str(entry) for entry in entries[:_LISTED]]
    if len(entries) > _LISTED:
        names.append(f"and {len(entries) - _LISTED} more")
    return ", ".join(names) or "nothing"


@contextmanager
def _open_npy(path: Path) -> Iterator[list[Entry]]:
    with open(path, "rb") as stream:
        shape, dtype = _npy_header(stream)
    yield [
        Entry("", shape, dtype.name, dtype.kind, lambda: _load_npy(path, path, dtype))
    ]


@contextmanager
def _open_npz(path: Path) -> Iterator[list[Entry]]:
    with zipfile.ZipFile(path) as archive:
        entries = []
        for member in archive.namelist():
            if not member.endswith(".npy"):
                continue
            with archive.open(member) as header:
                shape, dtype = _npy_header(header)

            def load(member: str = member, dtype: np.dtype[Any] = dtype) -> NDArray:
                with archive.open(member) as stream:
                    return _load_npy(path, stream, dtype)

            name = member.removesuffix(".npy")
            entries.append(Entry(name, shape, dtype.name, dtype.kind, load))
        yield entries


def _npy_header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"version {version} of the format is not known")
    shape, _, dtype = readers[version](stream)
    return shape, dtype


def _load_npy(path: Path, source: Path | BinaryIO | Any, dtype: np.dtype) -> NDArray:
    if dtype.hasobject:
        raise InputError(
            f"{path} holds Python objects, which could run code when read; save plain "
            "numbers instead"
        )
    return np.load(source, allow_pickle=False)


@contextmanager
def _open_mat(path: Path) -> Iterator[list[Entry]]:
    with open(path, "rb") as stream:
        # MATLAB puts 512 bytes of its own before the HDF5 of version 7.3.
        start = stream.read(520)
    if b"\x89HDF\r\n" in (start[:6], start[512:518]):
        with _open_hdf5(path) as entries:
            yield entries
        return
    from scipy.io import loadmat, whosmat

    check_mat5(path)

    def entry(name: str, shape: tuple[int, ...], of_class: str) -> Entry:
        numeric = of_class.startswith(_MATLAB_NUMERIC)

        def load() -> NDArray[Any]:
            value = loadmat(path, variable_names=[name])[name]
            return _dense(value) if of_class == "sparse" else value

        return Entry(name, tuple(shape), of_class, "f" if numeric else "O", load)

    yield [entry(*about) for about in whosmat(path)]


@contextmanager
def _open_hdf5(path: Path) -> Iterator[list[Entry]]:
    h5py = require("h5py", "h5py", f"reading {path.name}, which is HDF5,")
    with h5py.File(path, "r") as file:
        entries: list[Entry] = []
        # Everything in MATLAB's files runs along the last axis first.
        always = path.suffix.lower() == ".mat"

        def visit(name: str, item: Any) -> None:
            if name.startswith("#"):
                return
            turned = always or "MATLAB_class" in item.attrs
            if "MATLAB_sparse" in item.attrs:
                entries.append(_sparse_entry(name, item))
            elif isinstance(item, h5py.Dataset) and not _inside_sparse(item):
                is_text = h5py.check_string_dtype(item.dtype) is not None
                entries.append(_hdf5_entry(name, item, turned=turned, is_text=is_text))

        file.visititems(visit)
        yield entries


def _inside_sparse(item: Any) -> bool:
    return "MATLAB_sparse" in item.parent.attrs


def _hdf5_entry(name: str, item: Any, *, turned: bool, is_text: bool) -> Entry:
    shape = tuple(item.shape or ())
    of_class = item.attrs.get("MATLAB_class", b"")
    text = of_class.decode() if isinstance(of_class, bytes) else str(of_class)
    numeric = item.dtype.kind in "biuf" and text not in ("char", "cell", "struct")
    kind = item.dtype.kind if numeric or item.dtype.kind == "c" else "O"
    if is_text:
        kind = "U"
    if item.attrs.get("MATLAB_empty", 0):
        # Such a data set holds the sides, not the values.
        shape = (0, 0)

    def load() -> NDArray[Any]:
        if 0 in shape:
            return np.empty(shape)
        values = item.asstr()[()] if is_text else item[()]
        return np.asarray(values).T if turned else np.asarray(values)

    sides = shape[::-1] if turned else shape
    return Entry(name, sides, text or item.dtype.name, kind, load)


def _sparse_entry(name: str, group: Any) -> Entry:
    rows, columns = int(group.attrs["MATLAB_sparse"]), len(group["jc"]) - 1

    def load() -> NDArray[Any]:
        from scipy.sparse import csc_array

        if "data" not in group:
            return np.zeros((rows, columns))
        parts = group["data"][()], group["ir"][()], group["jc"][()]
        return _dense(csc_array(parts, shape=(rows, columns)))

    return Entry(name, (rows, columns), "sparse", "f", load)


def _dense(matrix: Any) -> NDArray[Any]:
    """Return all entries; positions outside would be written to stray memory."""
    # Some versions of SciPy give triplets, which have no check; columns do.
    columns = matrix if hasattr(matrix, "check_format") else matrix.tocsc()
    columns.check_format(full_check=True)
    return columns.toarray()


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".mat": _open_mat,
    ".h5": _open_hdf5,
    ".hdf5": _open_hdf5,
}
CONTAINERS = tuple(_OPENERS)
