"""The process that decodes files of strangers, for :mod:`ekss.runtime.foreign`.

It takes one request per line on stdin. An answer is a number of messages on stdout,
each one line of JSON and as many bytes as that line says; the last one is empty, or
tells an error. A file that makes a decoder crash ends this process alone.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.runtime.mat5 import check_mat5

Message = tuple[dict[str, Any], Any]

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MATLAB_NUMERIC = ("double", "single", "logical", "sparse", "int", "uint")
# What an answer may hold beside numbers: text. All else would be Python objects.
_SENT = "biufcU"
# Bytes that are sent at once, about.
_BLOCK = 2**22
# Columns of a table that are decoded at once, and bytes that are read ahead for each.
_COLUMNS = 64
_BUFFER = 2**16
# Bytes of an array on the disk that are read at once, about, if chunks allow it.
_SLICE = 2**25
# What packs the chunks of zarr; others may be pickle, or whatever is installed.
_ZARR_CODECS = frozenset(
    "blosc zlib gzip zstd lz4 bz2 lzma shuffle bytes crc32c transpose sharding_indexed "
    "endian numcodecs.blosc numcodecs.zlib numcodecs.shuffle".split()
)
_GREY_MODES = ("1", "L", "LA", "I", "F")


def serve() -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    # What libraries print must not get between the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit_memory(request["most"])
        for head, content in _answer(request):
            view = memoryview(content).cast("B")
            answers.write(json.dumps({**head, "bytes": len(view)}).encode() + b"\n")
            answers.write(view)
        answers.flush()


def _answer(request: dict[str, Any]) -> Iterator[Message]:
    """Yield the messages of an answer; whatever a decoder raises is the last one."""
    end: dict[str, Any] = {"end": True}
    try:
        yield from _TASKS[request["task"]](Path(request["path"]), **request["options"])
    except MemoryError:
        end["error"] = "it wants more memory than it declares"
    # Decoders raise nearly anything on a damaged file.
    except Exception as error:
        end["error"] = " ".join(str(error).split()) or type(error).__name__
    yield end, b""


def _variables(path: Path) -> Iterator[Message]:
    """Tell what a .mat or HDF5 file holds."""
    entries = _hdf5(path, None) if _is_hdf5(path) else _mat(path, None)
    yield {"entries": entries}, b""


def _variable(path: Path, name: str) -> Iterator[Message]:
    """Send one array of a .mat or HDF5 file."""
    found: Any = _hdf5(path, name) if _is_hdf5(path) else _mat(path, name)
    return _parts(found)


def _rows(path: Path, name: str) -> Iterator[Message]:
    """Send an array of an HDF5 file or a zarr directory, read some rows at a time."""
    import h5py

    if path.is_dir():
        yield from _sliced(_zarr_array(path, name), turned=False)
        return
    with h5py.File(path, "r") as file:
        about, item, turned = _datasets(file, path)[name]
        if about["kind"] not in "biuf" or not isinstance(item, h5py.Dataset):
            raise ValueError("it holds no plain numbers")
        _check_own(item)
        yield from _sliced(item, turned)


def _sliced(item: Any, turned: bool) -> Iterator[Message]:
    """Yield what an array on the disk is, and then its rows block by block."""
    shape = tuple(item.shape[::-1] if turned else item.shape)
    yield {"dtype": item.dtype.str, "shape": shape, "turned": False}, b""
    chunk = (item.chunks or (1,))[-1 if turned else 0]
    each = math.prod(shape[1:]) * item.dtype.itemsize
    step = max(_SLICE // max(each, 1) // chunk, 1) * chunk
    for first in range(0, shape[0], step):
        some = slice(first, first + step)
        block = np.asarray(item[..., some]).T if turned else np.asarray(item[some])
        yield {}, np.ascontiguousarray(block).reshape(-1).view(np.uint8)


def _zarr_variables(path: Path) -> Iterator[Message]:
    """Tell which arrays a zarr directory holds."""
    names = (
        [""]
        if _is_zarr_array(path)
        else sorted(
            folder.relative_to(path).as_posix()
            for folder in path.rglob("*")
            if _is_zarr_array(folder)
        )
    )
    entries = []
    for name in names:
        array = _zarr_array(path, name)
        kind, size = array.dtype.kind, array.dtype.itemsize
        entries.append(_entry(name, array.shape, array.dtype.name, kind, size))
    yield {"entries": entries}, b""


def _is_zarr_array(folder: Path) -> bool:
    if (folder / ".zarray").is_file():
        return True
    about = folder / "zarr.json"
    return about.is_file() and _json_of(about).get("node_type") == "array"


def _json_of(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _BLOCK:
        raise ValueError(f"{path.name} is no description of an array: it is too long")
    found = json.loads(path.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}


def _zarr_array(path: Path, name: str) -> Any:
    """Open an array, after a look at its codecs: some would run code."""
    import zarr

    folder = path / name if name else path
    for file in folder.rglob("*"):
        if file.is_symlink() or not (file.is_file() or file.is_dir()):
            raise ValueError(f"{file.name} in it is a link or no regular file")
    old, new = folder / ".zarray", folder / "zarr.json"
    about = _json_of(old if old.is_file() else new)
    codecs = [about.get("compressor"), *(about.get("filters") or [])]
    codecs += _nested_codecs(about.get("codecs") or [])
    for codec in codecs:
        known = codec.get("id", codec.get("name")) if isinstance(codec, dict) else codec
        if known is not None and known not in _ZARR_CODECS:
            raise ValueError(f"it is packed by {known!r}, which is not read")
    array = zarr.open_array(folder, mode="r")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"it holds {array.dtype}, no numbers")
    return array


def _nested_codecs(codecs: list[Any]) -> Iterator[Any]:
    """Yield codecs, and those inside of shards."""
    for codec in codecs:
        yield codec
        settings = codec.get("configuration") if isinstance(codec, dict) else None
        for key in ("codecs", "index_codecs"):
            inner = (settings or {}).get(key)
            if isinstance(inner, list):
                yield from _nested_codecs(inner)


def _pages(path: Path, formats: list[str]) -> Iterator[Message]:
    """Tell how many images a file holds."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path, formats=formats) as image:
        yield {"pages": getattr(image, "n_frames", 1)}, b""


def _image(
    path: Path, formats: list[str], most: int, grey: bool, page: int
) -> Iterator[Message]:
    """Send the pixels of an image."""
    from PIL import Image, ImageOps

    # The limit is ours.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path, formats=formats) as image:
        if page:
            image.seek(page)
        if image.width * image.height > most:
            raise ValueError(
                f"it has {image.width} x {image.height} pixels, more than {most}"
            )
        upright: Any = ImageOps.exif_transpose(image)
        if not upright.mode.startswith(("I", "F")):
            is_grey = grey or upright.mode in _GREY_MODES
            upright = upright.convert("L" if is_grey else "RGB")
        return _parts(np.asarray(upright))


def _table_size(path: Path) -> Iterator[Message]:
    """Tell the size that a .parquet file declares."""
    from pyarrow import parquet

    about = parquet.read_metadata(path)
    groups = range(about.num_row_groups)
    stored = sum(about.row_group(i).total_byte_size for i in groups)
    yield {"rows": about.num_rows, "columns": about.num_columns, "stored": stored}, b""


def _table_rows(path: Path, columns: list[str], dtype: str) -> Iterator[Message]:
    """Send columns of a .parquet file as one matrix, some rows at a time."""
    from pyarrow import parquet

    with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        shape = file.metadata.num_rows, len(columns)
        yield {"dtype": dtype, "shape": shape, "turned": False}, b""
        step = max(_BLOCK // (8 * len(columns)), 1)
        for batch in file.iter_batches(step, columns=columns, use_threads=False):
            block = np.empty((batch.num_rows, len(columns)), dtype)
            for at, name in enumerate(columns):
                values = batch.column(name)
                if str(values.type).startswith(("decimal", "bool")):
                    values = values.cast(
                        "float64" if values.type != "bool" else "uint8"
                    )
                block[:, at] = values.to_numpy(zero_copy_only=False)
            yield {}, block.reshape(-1).view(np.uint8)


def _table(path: Path, columns: list[str] | None) -> Iterator[Message]:
    """Send a .parquet file, some columns after the other, in streams of Arrow.

    ``columns`` chooses some of them; of none, only what the columns are is sent.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        schema = file.schema_arrow
        if columns:
            schema = schema.empty_table().select(columns).schema
        names = [] if columns == [] else schema.names
        yield {}, _streamed(schema.empty_table().to_batches(), schema)
        step = _COLUMNS if len(set(names)) == len(names) else len(names)
        for first in range(0, len(names), step):
            chosen = names[first : first + step]
            rows = max(_BLOCK // (8 * len(chosen)), 1)
            for batch in file.iter_batches(rows, columns=chosen, use_threads=False):
                # A name also chooses others that go on after it with a dot.
                part = batch.select(chosen) if step == _COLUMNS else batch
                yield {"first": first}, _streamed([part], part.schema)


def _streamed(batches: list[Any], schema: Any) -> Any:
    from pyarrow import BufferOutputStream, ipc

    sink = BufferOutputStream()
    with ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return sink.getvalue()


def _parts(found: NDArray[Any]) -> Iterator[Message]:
    """Yield what an array is, and then its numbers block by block.

    They come along the order of its memory, so that no copy is made here.
    """
    turned = found.ndim > 1 and not found.flags.c_contiguous
    values = found.T if turned else np.atleast_1d(found)
    about = {"dtype": found.dtype.str, "shape": found.shape, "turned": turned}
    yield about, b""
    each = math.prod(values.shape[1:]) * values.itemsize
    step = max(_BLOCK // max(each, 1), 1)
    for first in range(0, len(values) if values.size else 0, step):
        block = np.ascontiguousarray(values[first : first + step])
        yield {}, block.reshape(-1).view(np.uint8)


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


def _is_hdf5(path: Path) -> bool:
    with open(path, "rb") as stream:
        # MATLAB puts 512 bytes of its own before the HDF5 of version 7.3.
        start = stream.read(520)
    return path.suffix.lower() != ".mat" or _HDF5 in (start[:8], start[512:520])


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
        found = _datasets(file, path)
        if name is None:
            return [about for about, _, _ in found.values()]
        about, item, turned = found[name]
        load = _values(turned) if isinstance(item, h5py.Dataset) else _of_columns
        return _sendable(load(item, about["shape"]))


def _datasets(file: Any, path: Path) -> dict[str, tuple[dict[str, Any], Any, bool]]:
    """Return what a file holds: what is told of it, the item, if its axes turn."""
    import h5py

    found: dict[str, tuple[dict[str, Any], Any, bool]] = {}
    # Everything in MATLAB's files runs along the last axis first.
    always_turned = path.suffix.lower() == ".mat"

    def visit(key: str, item: Any) -> None:
        if key.startswith("#"):
            return
        if "MATLAB_sparse" in item.attrs:
            sides = int(item.attrs["MATLAB_sparse"]), len(_own(item, "jc")) - 1
            found[key] = (_entry(key, sides, "sparse", "f"), item, False)
        elif (
            isinstance(item, h5py.Dataset) and "MATLAB_sparse" not in item.parent.attrs
        ):
            turned = always_turned or "MATLAB_class" in item.attrs
            found[key] = (_of_dataset(key, item, turned), item, turned)

    # Neither soft nor external links are followed.
    file.visititems(visit)
    return found


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


_TASKS: dict[str, Callable[..., Iterator[Message]]] = {
    "variables": _variables,
    "variable": _variable,
    "rows": _rows,
    "zarr variables": _zarr_variables,
    "pages": _pages,
    "image": _image,
    "table size": _table_size,
    "table": _table,
    "table rows": _table_rows,
}

if __name__ == "__main__":
    serve()
