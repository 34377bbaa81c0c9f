"""Files that hold one or more named arrays: .npy, .npz, .mat, .h5."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._base import InputError, check_size, listed, reading, require
from ekss.io._spool import is_large, spooled
from ekss.runtime import foreign
from ekss.runtime.memory import Limit
from ekss.runtime.untrusted import check_members

_NPY_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class Entry:
    """An array in a file: what is known before it is read, and how to read it.

    ``type`` is the name of its type, ``kind`` numpy's letter of it ("O" for all that
    is not a plain array), ``bytes`` what reading takes by the size it declares.
    ``map``, where there is one, leaves the numbers on the disk.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    kind: str
    bytes: int
    load: Callable[[], NDArray[Any]]
    map: Callable[[], NDArray[Any]] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the array holds real numbers."""
        return self.kind in "biuf"

    def __str__(self) -> str:
        sides = " x ".join(map(str, self.shape)) or "one value"
        return f"{self.name} ({sides}, {self.type})"


def read_array(
    path: Path,
    key: str | None,
    may_be: Callable[[Entry], bool],
    purpose: str,
    limit: Limit,
    *,
    in_blocks: bool = False,
) -> tuple[str, NDArray[Any]]:
    """Read the array called ``key``, or the only one that ``may_be`` meant.

    The name is empty in a .npy file; ``purpose`` says in messages what is looked for.
    With ``in_blocks`` a large table stays on the disk.
    """
    ending = path.suffix.lower()
    with reading(path, f"a {ending} file"), _OPENERS[ending](path) as entries:
        if key is not None:
            name = key.strip("/")
            found = [entry for entry in entries if entry.name == name and name]
            if not found and ending == ".npy":
                raise InputError(
                    f"key={key!r}, but {path} holds one array; leave the key out"
                )
            if not found:
                held = listed(entries) or "nothing"
                raise InputError(f"{path} has no array {key!r}; it holds {held}")
        else:
            found = [entry for entry in entries if may_be(entry)]
            if len(found) != 1 and len(entries) > 1:
                count = f"{len(found)} arrays" if found else "no array"
                raise InputError(
                    f"{path} holds {count} that may be {purpose}; choose one by key: "
                    f"{listed(entries)}"
                )
            found = found or entries
        if not found:
            raise InputError(f"{path} holds no array; name a file that holds {purpose}")
        entry = found[0]
        large = entry.is_numeric and is_large(entry.shape)
        if in_blocks and large and entry.map is not None:
            return entry.name, entry.map()
        check_size(path, entry.bytes + _converted(entry), limit)
        return entry.name, entry.load()


def _converted(entry: Entry) -> int:
    """Return the bytes of the floats that numbers of another type become."""
    return 0 if entry.kind == "f" else 8 * math.prod(entry.shape)


@contextmanager
def _open_npy(path: Path) -> Iterator[list[Entry]]:
    yield [_npy_entry(path, "", path.stat().st_size, lambda: open(path, "rb"))]


@contextmanager
def _open_npz(path: Path) -> Iterator[list[Entry]]:
    with zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        check_members(members, math.inf)
        yield [
            _npy_entry(
                path,
                member.filename.removesuffix(".npy"),
                member.file_size,
                partial(archive.open, member),
            )
            for member in members
        ]


def _npy_entry(path: Path, name: str, size: int, opened: Callable[[], Any]) -> Entry:
    with opened() as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _NPY_HEADERS:
            raise ValueError(f"version {version} of the format is not known")
        shape, _, dtype = _NPY_HEADERS[version](stream)
        held = size - stream.tell()
    declared = math.prod(shape) * dtype.itemsize

    def load() -> NDArray[Any]:
        if dtype.hasobject:
            raise InputError(
                f"{path} holds Python objects, which could run code when read; save "
                "plain numbers instead"
            )
        if held != declared:
            raise ValueError(f"it declares {declared} bytes of numbers but has {held}")
        with opened() as stream:
            return np.load(stream, allow_pickle=False)

    def mapped() -> NDArray[Any]:
        if held != declared:
            raise ValueError(f"it declares {declared} bytes of numbers but has {held}")
        return np.load(path, mmap_mode="r", allow_pickle=False)

    about = name, shape, dtype.name, dtype.kind, declared, load
    return Entry(*about, None if name else mapped)


@contextmanager
def _open_foreign(path: Path) -> Iterator[list[Entry]]:
    is_hdf5 = path.suffix.lower() != ".mat" or _is_hdf5(path)
    if is_hdf5:
        require("h5py", f"reading {path.name}, which is HDF5,")
    entries = [_foreign_entry(path, variable) for variable in foreign.variables(path)]
    # MATLAB's own format has no way to read a part.
    yield entries if is_hdf5 else [replace(entry, map=None) for entry in entries]


def _foreign_entry(path: Path, variable: foreign.Variable) -> Entry:
    def load() -> NDArray[Any]:
        if variable.kind == "O":
            raise InputError(
                f"{path}[{variable.name}] holds {variable.type}, neither numbers nor "
                "text; save it as a plain array"
            )
        return foreign.load(path, variable)

    # Here and in the decoder.
    needed = 2 * variable.bytes
    about = variable.name, variable.shape, variable.type, variable.kind
    return Entry(*about, needed, load, partial(_spooled, path, variable))


def _spooled(path: Path, variable: foreign.Variable) -> NDArray[Any]:
    itemsize = variable.bytes // math.prod(variable.shape)
    write = partial(foreign.write_rows, path, variable)
    return spooled(path, variable.shape, itemsize, write)


@contextmanager
def _open_zarr(path: Path) -> Iterator[list[Entry]]:
    require("zarr", f"reading {path.name}", "zarr")
    yield [_zarr_entry(path, variable) for variable in foreign.zarr_variables(path)]


def _zarr_entry(path: Path, variable: foreign.Variable) -> Entry:
    about = variable.name, variable.shape, variable.type, variable.kind
    on_disk = partial(_spooled, path, variable)
    return Entry(*about, variable.bytes, lambda: np.array(on_disk()), on_disk)


def _is_hdf5(path: Path) -> bool:
    with open(path, "rb") as stream:
        # MATLAB puts 512 bytes of its own before the HDF5 of version 7.3.
        start = stream.read(520)
    return b"\x89HDF\r\n" in (start[:6], start[512:518])


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".mat": _open_foreign,
    ".h5": _open_foreign,
    ".hdf5": _open_foreign,
    ".zarr": _open_zarr,
}
CONTAINERS = tuple(_OPENERS)
