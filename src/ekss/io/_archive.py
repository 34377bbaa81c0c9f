"""The container of a model: a zip file of one JSON header and plain arrays.

Nothing in it is compressed, so what is read into memory is never more than the size
of the file, and nothing in it is pickled, so reading it cannot run code.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss import __version__
from ekss.io._base import check_file, one_line
from ekss.runtime.files import atomic_file

FORMAT = "ekss-model"
VERSION = 2

_HEADER = "header.json"
_LONGEST_HEADER = 2**20
_MOST_MEMBERS = 100
_MOST_AXES = 3
_TYPES = ("<f4", "<f8")
_DATE = (1980, 1, 1, 0, 0, 0)

Arrays = dict[str, NDArray[np.floating]]


class Unsound(Exception):
    """The content of a file does not make a model: the reason, and the remedy."""

    def __init__(
        self,
        reason: str,
        remedy: str = "save the model again, and load only files that ekss wrote",
    ) -> None:
        super().__init__(f"{reason}; {remedy}")


def need(condition: object, otherwise: str) -> None:
    """Raise Unsound unless the condition holds."""
    if not condition:
        raise Unsound(otherwise)


@dataclass(frozen=True)
class Content:
    """A description that JSON can hold, the arrays it names, and who wrote it."""

    description: dict[str, Any]
    arrays: Arrays
    written_by: str = __version__


def write_archive(path: Path, content: Content) -> None:
    """Write the file in one step; the same content gives the same bytes."""
    turned = {name: _dense(array) for name, array in content.arrays.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ekss": content.written_by,
        **content.description,
        "arrays": {
            name: {"dtype": values.dtype.str, "shape": values.shape, "axes": axes}
            for name, (values, axes) in turned.items()
        },
    }
    text = json.dumps(header, indent=1, allow_nan=False)
    with atomic_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), text)
        for name, (values, _) in turned.items():
            raw = io.BytesIO()
            np.lib.format.write_array(raw, values, (1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), raw.getvalue())


def _dense(array: NDArray[np.floating]) -> tuple[NDArray[np.floating], list[int]]:
    """Return the array along the order of its memory, and the axes to turn it back.

    Products of matrices round differently for other orders in memory, so that order
    is part of a model that predicts the same to the last bit.
    """
    by_stride = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    values = np.ascontiguousarray(array.transpose(by_stride))
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return little, [by_stride.index(axis) for axis in range(array.ndim)]


def read_archive(path: Path) -> Content:
    """Read a file that anyone may have written: all is checked before it is used."""
    check_file(path)
    with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
        members = _checked_members(archive, os.fstat(stream.fileno()).st_size)
        header = _checked_header(archive.read(_HEADER))
        about = header.pop("arrays")
        if not isinstance(about, dict) or {f"{name}.npy" for name in about} != members:
            raise Unsound("its arrays are not those that its header names")
        arrays = {
            name: _checked_array(name, archive.read(f"{name}.npy"), about[name])
            for name in about
        }
    return Content(header, arrays, one_line(header.pop("ekss", "?"))[:40])


def _checked_members(archive: zipfile.ZipFile, size: int) -> set[str]:
    """Return the names of the arrays; refuse all that we never write."""
    infos = archive.infolist()
    names = {info.filename for info in infos}
    count, total = len(infos), sum(info.file_size for info in infos)
    need(count <= _MOST_MEMBERS, f"it has {count} members, more than {_MOST_MEMBERS}")
    need(len(names) == count, "it has two members of one name")
    need(_HEADER in names, f"it has no {_HEADER}")
    for info in infos:
        is_plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
        if not is_plain or info.compress_size != info.file_size:
            raise Unsound(f"member {one_line(info.filename)!r} is packed")
    need(total <= size, f"its members claim {total} bytes, but it has {size}")
    if archive.getinfo(_HEADER).file_size > _LONGEST_HEADER:
        raise Unsound(f"its header is longer than {_LONGEST_HEADER} bytes")
    return names - {_HEADER}


def _checked_header(text: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise Unsound(f"its header holds {constant}")

    header = json.loads(text, parse_constant=refuse)
    if not isinstance(header, dict) or header.pop("format", None) != FORMAT:
        raise Unsound(f"its header does not say {FORMAT!r}")
    version = header.pop("version", None)
    if type(version) is int and version > VERSION:
        raise Unsound(
            f"it has version {version} of the model format, and this ekss "
            f"({__version__}) reads up to {VERSION}",
            remedy="update ekss",
        )
    if type(version) is not int or version != VERSION:
        raise Unsound(f"its version is {one_line(repr(version))}")
    return header


def _checked_array(name: str, raw: bytes, about: Any) -> NDArray[np.floating]:
    """Return one array whose own header and size agree with the JSON header."""
    fault = f"array {one_line(name)!r} is not as the header says"
    stream = io.BytesIO(raw)
    need(np.lib.format.read_magic(stream) == (1, 0), fault)
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
    need(dtype.str in _TYPES and not by_column and 1 <= len(shape) <= _MOST_AXES, fault)
    need(len(raw) - stream.tell() == math.prod(shape) * dtype.itemsize, fault)
    axes: Any = about.get("axes") if isinstance(about, dict) else None
    need(about == {"dtype": dtype.str, "shape": list(shape), "axes": axes}, fault)
    need(isinstance(axes, list) and all(type(axis) is int for axis in axes), fault)
    need(sorted(axes) == list(range(len(shape))), fault)
    values = np.frombuffer(raw, dtype, offset=stream.tell()).reshape(shape)
    # A copy can be written to, and is in the byte order of this machine.
    return values.astype(dtype.newbyteorder("=")).transpose(axes)
