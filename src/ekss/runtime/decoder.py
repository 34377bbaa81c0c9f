"""The process that decodes .mat and HDF5 files, for :mod:`ekss.runtime.foreign`.

It takes one request per line on stdin and answers with one line of JSON and the bytes
of an array on stdout. A file that makes a decoder crash ends this process alone.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.runtime.mat5 import check_mat5

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MATLAB_NUMERIC = ("double", "single", "logical", "sparse", "int", "uint")
# What an answer may hold beside numbers: text. All else would be Python objects.
_SENT = "biufcU"


def serve() -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    # What libraries print must not get between the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit_memory(request["most"])
        values = None
        try:
            found = _answer(Path(request["path"]), request["name"])
        # Decoders raise nearly anything on a damaged file.
        except MemoryError:
            head: dict[str, Any] = {"error": "it wants more memory than it declares"}
        except Exception as error:
            text = " ".join(str(error).split())
            head = {"error": text or type(error).__name__}
        else:
            if isinstance(found, list):
                head = {"entries": found}
            else:
                values = found if found.flags.c_contiguous else found.T
                values = np.ascontiguousarray(values)
                turned = not found.flags.c_contiguous
                about = {"dtype": values.dtype.str, "shape": values.shape}
                head = {**about, "turned": turned}
        answers.write(json.dumps(head).encode() + b"\n")
        if values is not None:
            answers.write(values.reshape(-1).view(np.uint8).data)
        answers.flush()


def _limit_memory(more: int) -> None:
    """Let this process take so many bytes beyond those it has, where that is told."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted = pages * resource.getpagesize() + more
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    except (ImportError, OSError, ValueError):
        return


def _answer(path: Path, name: str | None) -> list[dict[str, Any]] | NDArray[Any]:
    """Return what a file holds, or one of its arrays."""
    with open(path, "rb") as stream:
        # MATLAB puts 512 bytes of its own before the HDF5 of version 7.3.
        start = stream.read(520)
    if path.suffix.lower() != ".mat" or _HDF5 in (start[:8], start[512:520]):
        return _hdf5(path, name)
    return _mat(path, name)


def _mat(path: Path, name: str | None) -> list[dict[str, Any]] | NDArray[Any]:
    from scipy.io import loadmat, whosmat

    check_mat5(path, () if name is None else (name,))
    if name is None:
        return [
            _entry(key, shape, kind, "f" if kind.startswith(_MATLAB_NUMERIC) else "O")
            for key, shape, kind in whosmat(path)
        ]
    value = loadmat(path, variable_names=[name])[name]
    if hasattr(value, "tocsc"):
        value = _dense(value)
    return _sendable(value)


def _entry(
    name: str, shape: Any, kind: str, letter: str, itemsize: int = 8
) -> dict[str, Any]:
    sides = [int(side) for side in shape]
    about = {"name": name, "shape": sides, "type": kind, "kind": letter}
    return {**about, "bytes": math.prod(sides) * itemsize}


def _sendable(value: Any) -> NDArray[Any]:
    """Return an array of numbers or text; refuse all else."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in _SENT:
        raise ValueError("it holds neither numbers nor text")
    return value if value.dtype.itemsize else value.astype("U1")


def _hdf5(path: Path, name: str | None) -> list[dict[str, Any]] | NDArray[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        found: dict[str, tuple[dict[str, Any], Any]] = {}
        # Everything in MATLAB's files runs along the last axis first.
        always_turned = path.suffix.lower() == ".mat"

        def visit(key: str, item: Any) -> None:
            if key.startswith("#"):
                return
            if "MATLAB_sparse" in item.attrs:
                sides = int(item.attrs["MATLAB_sparse"]), len(_own(item, "jc")) - 1
                found[key] = (_entry(key, sides, "sparse", "f"), _of_columns)
            elif (
                isinstance(item, h5py.Dataset)
                and "MATLAB_sparse" not in item.parent.attrs
            ):
                turned = always_turned or "MATLAB_class" in item.attrs
                found[key] = (_of_dataset(key, item, turned), _values(turned))

        # Neither soft nor external links are followed.
        file.visititems(visit)
        if name is None:
            return [about for about, _ in found.values()]
        about, load = found[name]
        return _sendable(load(file[name], about["shape"]))


def _of_dataset(key: str, item: Any, turned: bool) -> dict[str, Any]:
    import h5py

    # An empty array of MATLAB is stored as its sides.
    shape = (0, 0) if item.attrs.get("MATLAB_empty", 0) else tuple(item.shape or ())
    of_class = item.attrs.get("MATLAB_class", b"")
    text = of_class.decode() if isinstance(of_class, bytes) else str(of_class)
    kind = item.dtype.kind
    if h5py.check_string_dtype(item.dtype) is not None:
        kind = "U"
    elif kind not in "biufc" or (kind != "c" and text in ("char", "cell", "struct")):
        kind = "O"
    sides = shape[::-1] if turned else shape
    return _entry(key, sides, text or item.dtype.name, kind, item.dtype.itemsize)


def _values(turned: bool) -> Any:
    def load(item: Any, shape: list[int]) -> NDArray[Any]:
        import h5py

        _check_own(item)
        if 0 in shape:
            return np.empty(shape)
        is_text = h5py.check_string_dtype(item.dtype) is not None
        values = np.asarray(item.asstr()[()], str) if is_text else np.asarray(item[()])
        return values.T if turned else values

    return load


def _of_columns(group: Any, shape: list[int]) -> NDArray[Any]:
    from scipy.sparse import csc_array

    if "data" not in group:
        return np.zeros(shape)
    parts = [_own(group, key)[()] for key in ("data", "ir", "jc")]
    return _dense(csc_array(tuple(parts), shape=tuple(shape)))


def _own(group: Any, key: str) -> Any:
    """Return a dataset that lies in the group itself."""
    import h5py

    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        raise ValueError(f"{key} is a link to another place")
    _check_own(group[key])
    return group[key]


def _check_own(item: Any) -> None:
    """Refuse a dataset whose numbers are those of another file of this machine."""
    if item.external or item.is_virtual:
        raise ValueError(
            f"{item.name} takes its numbers from other files; save it with its own"
        )


def _dense(matrix: Any) -> NDArray[Any]:
    """Return all entries; positions outside would be written to stray memory."""
    # Some versions of SciPy give triplets, which have no check; columns do.
    columns = matrix if hasattr(matrix, "check_format") else matrix.tocsc()
    columns.check_format(full_check=True)
    return columns.toarray()


if __name__ == "__main__":
    serve()
