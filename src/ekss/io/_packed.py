"""Files packed with gzip, bzip2, xz or zip, unpacked up to a limit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from ekss.io._base import InputError, check_file, reading
from ekss.runtime.memory import Limit, in_bytes
from ekss.runtime.untrusted import PACKED, check_members

_BLOCK = 2**20
# What the strongest setting of xz asks for, and a little more.
_XZ_MEMORY = 100 * 2**20


def is_packed(path: Path) -> bool:
    """Whether the name of a file says that it is packed."""
    return path.suffix.lower() in PACKED


def unpacked_name(path: Path) -> Path:
    """Return the name of what is in a packed file, or the name of the file."""
    if not is_packed(path):
        return path
    inner = path.with_suffix("")
    if path.suffix.lower() == ".zip" and not inner.suffix and path.is_file():
        with reading(path, "a .zip file"), zipfile.ZipFile(path) as archive:
            return path.with_name(Path(_only_member(path, archive).filename).name)
    return inner


@contextmanager
def unpacked(path: Path, limit: Limit) -> Iterator[Path]:
    """Unpack into a file of its own, which is there until the block ends.

    What comes out is counted, because what a file declares is no bound. It may be as
    large as the memory that reading may take. Errors name the packed file.
    """
    check_file(path)
    with TemporaryDirectory() as folder:
        target = Path(folder) / unpacked_name(path).name
        with reading(path, f"a {path.suffix.lower()} file"), ExitStack() as stack:
            source = stack.enter_context(_opened(path, stack))
            _check_room(path, Path(folder))
            with open(target, "wb") as stream:
                while block := source.read(_BLOCK):
                    stream.write(block)
                    if stream.tell() > limit.bytes:
                        raise InputError(
                            f"{path} unpacks to more than {in_bytes(limit.bytes)}, all "
                            "that reading may take; unpack it and take a part"
                        )
        try:
            yield target
        except InputError as error:
            raise InputError(str(error).replace(str(target), str(path))) from error


def _check_room(path: Path, folder: Path) -> None:
    """Refuse where not even the packed file would fit on the disk."""
    if path.stat().st_size > shutil.disk_usage(folder).free:
        raise InputError(
            f"{path} does not fit into {folder.parent} when unpacked; make room, or "
            "name another directory in TMPDIR"
        )


def _opened(path: Path, stack: ExitStack) -> IO[bytes] | Any:
    """Return a stream of what is packed."""
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".bz2":
            return bz2.open(path, "rb")
        case ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            return archive.open(_only_member(path, archive))
        case _:
            return _Xz(stack.enter_context(open(path, "rb")))


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        # macOS adds a member about the file.
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise InputError(
            f"{path} holds {len(members)} files; unpack it and name one of them"
        )
    check_members(members, float("inf"))
    return members[0]


class _Xz:
    """A stream of .xz or .lzma with a bound on the memory that its header asks for."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._decoder = raw, lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    def __enter__(self) -> _Xz:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof:
                # Streams may follow each other, with zeros between them.
                rest = self._decoder.unused_data.lstrip(b"\0") or self._raw.read(_BLOCK)
                if not rest.lstrip(b"\0"):
                    return b""
                self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
            elif self._decoder.needs_input:
                rest = self._raw.read(_BLOCK)
                if not rest:
                    raise EOFError("the file ends too early")
            else:
                rest = b""
            if block := self._decoder.decompress(rest, size):
                return block
