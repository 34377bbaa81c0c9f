"""Arrays as PNG images inside the page."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

# Dark to light, even to the eye, also for the colour-blind: points of viridis (CC0).
SEQUENTIAL = (
    "#440154 #472d7b #3b528b #2c728e #21918c #28ae80 #5ec962 #addc30 #fde725".split()
)
# Negative to positive through a neutral middle; told apart by the colour-blind.
DIVERGING = "#1c5f96 #5a9fd0 #a9cfe8 #f4f2ee #f3bd84 #d97b2b #974806".split()


def png(
    pixels: NDArray[np.uint8],
    palette: NDArray[np.uint8] | None = None,
    alpha: NDArray[np.uint8] | None = None,
) -> bytes:
    r"""Encode grey (h, w), colour (h, w, 3) or, with a palette (256, 3), indices.

    ``alpha`` (256,) makes colours of the palette transparent.

    Examples
    --------
    >>> import numpy as np
    >>> png(np.zeros((2, 3), np.uint8))[:4]
    b'\x89PNG'
    """
    height, width = pixels.shape[:2]
    kind = 3 if palette is not None else (2 if pixels.ndim == 3 else 0)
    rows = pixels.reshape(height, -1)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = [(b"IHDR", header)]
    if palette is not None:
        chunks.append((b"PLTE", palette.astype(np.uint8).tobytes()))
    if alpha is not None:
        chunks.append((b"tRNS", alpha.tobytes()))
    chunks += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def data_uri(image: bytes) -> str:
    """Write a PNG as an address that needs no file."""
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def palette_of(colours: list[str]) -> NDArray[np.uint8]:
    """Interpolate 256 colours between the given ones."""
    anchors = np.array(
        [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours], float
    )
    places = np.linspace(0, len(anchors) - 1, 256)
    channels = [np.interp(places, range(len(anchors)), column) for column in anchors.T]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)


def to_bytes(values: NDArray[np.floating], low: float, high: float) -> NDArray:
    """Map the range from low to high to 0..255, and clip."""
    width = high - low if high > low else 1.0
    return np.rint(255 * np.clip((values - low) / width, 0, 1)).astype(np.uint8)


def averaged(images: NDArray[np.floating], step: int) -> NDArray[np.floating]:
    """Average squares of ``step`` pixels of images (n, height, width, ...)."""
    if step == 1:
        return images
    n, height, width = images.shape[:3]
    kept = images[:, : height - height % step, : width - width % step]
    shape = (n, kept.shape[1] // step, step, kept.shape[2] // step, step)
    return kept.reshape(*shape, *images.shape[3:]).mean(axis=(2, 4))


def _chunk(name: bytes, content: bytes) -> bytes:
    """Put length before and checksum after, as PNG wants it."""
    checksum = zlib.crc32(name + content)
    return (
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)
    )
