"""A look at the tags of a .mat file of version 5 before scipy reads it.

scipy trusts the types and lengths in such files; on a damaged one it may end the whole
process instead of raising an exception. Packed variables are unpacked block by block
and never kept, whatever size they declare.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

_FILE_HEADER = 128
_TAG = 8
_BLOCK = 2**16
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_NUMERIC_CLASSES = range(5, 16)
_SPARSE = 5
_COMPLEX = 0x0800
_MOST_AXES = 32
_LONGEST_NAME = 4096


def check_mat5(path: Path, names: Collection[str] | None = None) -> None:
    """Raise a ValueError unless all arrays of numbers have possible tags.

    Of variables that are not among ``names`` (None for all) only flags, shape and name
    are looked at. Files of version 4 have no tags and pass.
    """
    size = path.stat().st_size
    with open(path, "rb") as stream:
        header = stream.read(_FILE_HEADER)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None:
            return
        at = len(header)
        while at < size:
            stream.seek(at)
            kind, length = _tag(stream.read(_TAG), order)
            at += _TAG + length
            if at > size:
                raise ValueError("it ends within a variable")
            content = _Content(stream, length, packed=kind == _COMPRESSED)
            if kind == _COMPRESSED:
                kind, length = _tag(content.take(_TAG), order)
            if kind != _MATRIX:
                raise ValueError(f"a variable has the unknown type {kind}")
            _check_matrix(_Parts(content, length, order), order, names)


def _tag(raw: bytes, order: str) -> tuple[int, int]:
    if len(raw) < _TAG:
        raise ValueError("it ends within a variable")
    kind, length = struct.unpack(order + "II", raw)
    return kind, length


class _Content:
    """The bytes of a variable, unpacked as they are taken."""

    def __init__(self, stream: BinaryIO, length: int, *, packed: bool) -> None:
        self._stream, self._left = stream, length
        self._unpacker = zlib.decompressobj() if packed else None

    def take(self, count: int) -> bytes:
        """Return the next bytes, fewer where the variable ends."""
        found = bytearray()
        while len(found) < count and (block := self._next(count - len(found))):
            found += block
        return bytes(found)

    def skip(self, count: int) -> bool:
        """Pass over bytes; False where the variable ends before."""
        while count > 0 and (block := self._next(min(count, _BLOCK))):
            count -= len(block)
        return count <= 0

    def _next(self, most: int) -> bytes:
        if self._unpacker is None:
            return self._raw(most)
        while not self._unpacker.eof:
            waiting = self._unpacker.unconsumed_tail or self._raw(_BLOCK)
            if block := self._unpacker.decompress(waiting, most):
                return block
            if not waiting:
                break
        return b""

    def _raw(self, most: int) -> bytes:
        block = self._stream.read(min(most, self._left))
        self._left -= len(block)
        return block


class _Parts:
    """The elements in a variable, one after the other."""

    def __init__(self, content: _Content, length: int, order: str) -> None:
        self._content, self._left, self._order = content, length, order

    def next(self, *, keep: int = 0) -> tuple[int, int, bytes]:
        """Return type, length and content of an element; content up to ``keep``."""
        if self._left < _TAG:
            return 0, 0, b""
        tag = self._content.take(_TAG)
        self._left -= _TAG
        kind, length = _tag(tag, self._order)
        if kind >> 16:
            # A short element has its content within the tag.
            kind, length = kind & 0xFFFF, kind >> 16
            if length > 4:
                raise ValueError("an element is longer than its variable")
            return kind, length, tag[4 : 4 + length]
        padded = min(-(-length // 8) * 8, self._left)
        if length > self._left:
            raise ValueError("an element is longer than its variable")
        self._left -= padded
        kept = self._content.take(min(keep, length))
        whole = self._content.skip(length - len(kept))
        # The last element need not be filled up.
        self._content.skip(padded - length)
        if not whole or len(kept) < min(keep, length):
            raise ValueError("a packed variable is too short")
        return kind, length, kept


def _check_matrix(parts: _Parts, order: str, names: Collection[str] | None) -> None:
    """Check the parts of one variable, if it is an array of numbers."""
    kind, length, flags = parts.next(keep=8)
    if kind != 6 or length != 8:
        raise ValueError("a variable has no flags")
    word = struct.unpack(order + "II", flags)[0]
    of_class = word & 0xFF
    kind, length, sides = parts.next(keep=4 * _MOST_AXES)
    if kind not in (5, 6) or length % 4 or not 8 <= length <= 4 * _MOST_AXES:
        raise ValueError("a variable has no shape")
    kind, length, name = parts.next(keep=_LONGEST_NAME)
    if kind not in (1, 2, 16) or length > _LONGEST_NAME:
        raise ValueError("a variable has no name")
    if names is not None and name.decode("latin-1") not in names:
        return
    if of_class not in _NUMERIC_CLASSES:
        return
    expected = (3 if of_class == _SPARSE else 1) + bool(word & _COMPLEX)
    count = math.prod(struct.unpack(f"{order}{len(sides) // 4}I", sides))
    for _ in range(expected):
        kind, length, _ = parts.next()
        if kind == 0 and length == 0:
            raise ValueError("a variable lacks some of its numbers")
        if kind not in _NUMBERS or length % _NUMBERS[kind]:
            raise ValueError(f"a variable has numbers of the unknown type {kind}")
        if of_class != _SPARSE and length != count * _NUMBERS[kind]:
            raise ValueError("a variable has not as many numbers as its shape says")
