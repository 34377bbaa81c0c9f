"""A look at the tags of a .mat file of version 5 before scipy reads it.

scipy trusts the types and lengths in such files; on a damaged one it may end the whole
process instead of raising an exception.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_FILE_HEADER = 128
_TAG = 8
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_NUMERIC_CLASSES = range(5, 16)
_SPARSE = 5
_COMPLEX = 0x0800
_MOST_AXES = 32


def check_mat5(path: Path) -> None:
    """Raise a ValueError unless all arrays of numbers have possible tags.

    Notes
    -----
    Reads, and unpacks, the file once; one variable is in memory at a time. Files of
    version 4 have no tags and pass.
    """
    with open(path, "rb") as stream:
        header = stream.read(_FILE_HEADER)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None:
            return
        while tag := stream.read(_TAG):
            if len(tag) < _TAG:
                raise ValueError("it ends within a variable")
            kind, length = struct.unpack(order + "II", tag)
            body = stream.read(length)
            if len(body) < length:
                raise ValueError("it ends within a variable")
            if kind == _COMPRESSED:
                body = zlib.decompress(body)
                if len(body) < _TAG:
                    raise ValueError("a packed variable is empty")
                kind, length = struct.unpack(order + "II", body[:_TAG])
                body = body[_TAG:]
                if length > len(body):
                    raise ValueError("a packed variable is too short")
            if kind != _MATRIX:
                raise ValueError(f"a variable has the unknown type {kind}")
            _check_matrix(body[:length], order)


def _check_matrix(body: bytes, order: str) -> None:
    """Check the parts of one variable, if it is an array of numbers."""
    parts = _parts(body, order)
    kind, flags = next(parts, (0, b""))
    if kind != 6 or len(flags) != 8:
        raise ValueError("a variable has no flags")
    word = struct.unpack(order + "II", flags)[0]
    of_class = word & 0xFF
    kind, sides = next(parts, (0, b""))
    if kind not in (5, 6) or len(sides) % 4 or not 8 <= len(sides) <= 4 * _MOST_AXES:
        raise ValueError("a variable has no shape")
    kind, _ = next(parts, (0, b""))
    if kind not in (1, 2, 16):
        raise ValueError("a variable has no name")
    if of_class not in _NUMERIC_CLASSES:
        return
    expected = (3 if of_class == _SPARSE else 1) + bool(word & _COMPLEX)
    found = list(parts)
    if len(found) < expected:
        raise ValueError("a variable lacks some of its numbers")
    for kind, numbers in found[:expected]:
        if kind not in _NUMBERS or len(numbers) % _NUMBERS[kind]:
            raise ValueError(f"a variable has numbers of the unknown type {kind}")
    if of_class == _SPARSE:
        return
    count = 1
    for side in struct.unpack(f"{order}{len(sides) // 4}I", sides):
        count *= side
    for kind, numbers in found[:expected]:
        if len(numbers) != count * _NUMBERS[kind]:
            raise ValueError("a variable has not as many numbers as its shape says")


def _parts(body: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield type and content of the elements in a variable."""
    at = 0
    while at + _TAG <= len(body):
        kind, length = struct.unpack_from(order + "II", body, at)
        if kind >> 16:
            # A short element has its content within the tag.
            kind, length, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + _TAG
        else:
            start = at + _TAG
            end = start + -(-length // 8) * 8
        if (length > 4 and start == at + 4) or start + length > len(body):
            raise ValueError("an element is longer than its variable")
        yield kind, body[start : start + length]
        at = end
