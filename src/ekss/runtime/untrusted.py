"""Files of strangers: only regular ones are opened, and sizes are known before use."""

from __future__ import annotations

import gzip
import os
import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path

# Endings of packed files, after that of what is in them.
PACKED = (".gz", ".bz2", ".xz", ".lzma", ".zip")

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
_BLOCK = 2**20


def why_not_regular(path: Path) -> str | None:
    """Say in words why a path cannot be read as a file; None for a regular file.

    Pipes would wait for ever and devices never end, so nothing opens them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.runtime.untrusted import why_not_regular
    >>> why_not_regular(Path("/dev/null")), why_not_regular(Path("missing"))
    ('is a device, not a regular file; copy what it holds into a file', \
'does not exist; check the path')
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist; check the path"
    except ValueError:
        return "is not a path; leave out the null character"
    except OSError as error:
        return f"cannot be read ({error.strerror}); check the path"
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "is a directory; name a file in it"
    kind = _KINDS.get(stat.S_IFMT(mode), "special")
    return f"is {kind}, not a regular file; copy what it holds into a file"


def check_members(members: Iterable[zipfile.ZipInfo], most: float) -> None:
    """Refuse members of a zip file that are too large when unpacked, or odd.

    Parameters
    ----------
    members : iterable of zipfile.ZipInfo
        What is going to be read. ``zipfile`` reads no more of a member than it
        declares, so the sum of what they declare is a bound.
    most : float
        Bytes that they may have together.

    Raises
    ------
    ValueError
        With the size and the limit.
    """
    total = 0
    for member in members:
        if member.compress_type not in _PACKINGS or member.flag_bits & _ENCRYPTED:
            raise ValueError(f"{member.filename!r} is packed in a way that is not read")
        total += member.file_size
    if total > most:
        raise ValueError(
            f"it unpacks to {total / 1e6:.0f} MB, more than the {most / 1e6:.0f} MB "
            "allowed"
        )


def read_maybe_packed(path: Path, most: int) -> bytes:
    """Read a file that may or may not be packed with gzip, up to ``most`` bytes."""
    reason = why_not_regular(path)
    if reason is not None:
        raise ValueError(f"{path.name} {reason}")
    with open(path, "rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        content = bytearray()
        # The size that gzip declares is no bound, so what comes out is counted.
        with gzip.GzipFile(fileobj=raw) if is_packed else raw as stream:
            while block := stream.read(_BLOCK):
                content += block
                if len(content) > most:
                    raise ValueError(
                        f"{path.name} holds more than the {most / 1e6:.0f} MB allowed"
                    )
    return bytes(content)
