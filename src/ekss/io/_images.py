"""Folders of images, and stacks of them in an array."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._base import (
    InputError,
    Points,
    check_file,
    check_size,
    reading,
    require,
)
from ekss.runtime import foreign
from ekss.runtime.memory import Limit

# Files of several images, one to a page.
STACKS = (".tif", ".tiff")
IMAGES = (".png", ".jpg", ".jpeg", ".pgm", *STACKS)
Size = tuple[int, int]

_FORMATS = ("PNG", "JPEG", "PPM", "TIFF")
# 8192 x 8192: more than cameras have, and 0.5 GB as numbers.
_MOST_PIXELS = 2**26
_LUMINANCE = (0.299, 0.587, 0.114)


def image_paths(folder: Path) -> list[Path]:
    """Return the images in a folder and the folders in it, by name."""
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in IMAGES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    for path in found:
        try:
            str(path).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{folder} holds an image whose name is not UTF-8, "
                f"{os.fsencode(path.name)!r}; rename it"
            ) from error
    if not found:
        raise InputError(f"{folder} holds no image; images end in {', '.join(IMAGES)}")
    return sorted(found)


def read_images(place: Path, size: Size | None, grey: bool, limit: Limit) -> Points:
    """Read images of one size, or make them of one size, one in memory at a time.

    ``place`` is a folder, or a file of several images.
    """
    paths = image_paths(place) if place.is_dir() else [place]
    pages = [(path, page) for path in paths for page in range(_n_pages(path))]
    first = _read_image(*pages[0], size, grey)
    check_size(place, len(pages) * first.size * 8, limit)
    stack = np.empty((len(pages), *first.shape))
    for number, (path, page) in enumerate(pages):
        image = _read_image(path, page, size, grey) if number else first
        if image.ndim != first.ndim:
            raise InputError(
                f"{path} and {paths[0]} are not both grey or both in colour; read "
                "them with grey=True"
            )
        if image.shape != first.shape:
            raise InputError(
                f"{path} has {image.shape[0]} x {image.shape[1]} pixels, but "
                f"{paths[0]} has {first.shape[0]} x {first.shape[1]}; pass "
                "image_size=(height, width) to resize all"
            )
        stack[number] = image
    ids = None if paths == [place] else tuple(_ids(place, pages))
    return _as_points(stack, place.name, ids)


def _ids(folder: Path, pages: list[tuple[Path, int]]) -> Iterator[str]:
    """Yield the names of images; of those in one file the page, counted from 0."""
    count = Counter(path for path, _ in pages)
    for path, page in pages:
        name = path.relative_to(folder).as_posix()
        yield name if count[path] == 1 else f"{name}#{page}"


def _n_pages(path: Path) -> int:
    if path.suffix.lower() not in STACKS:
        return 1
    require("PIL.Image", "reading images")
    check_file(path)
    with reading(path, "an image"):
        return foreign.n_pages(path, _FORMATS)


def images_of_stack(
    stack: NDArray[np.floating], size: Size | None, grey: bool, source: str
) -> Points:
    """Return images N x h x w, or N x h x w x 3, as rows."""
    if stack.ndim == 4 and stack.shape[3] == 1:
        stack = stack[..., 0]
    if stack.ndim == 4 and grey:
        stack = (stack @ np.array(_LUMINANCE)).astype(stack.dtype)
    if size is not None:
        resized = np.empty((len(stack), *size, *stack.shape[3:]), stack.dtype)
        for number, image in enumerate(stack):
            resized[number] = _resized(image, size)
        stack = resized
    return _as_points(stack, source)


def _as_points(
    stack: NDArray[np.floating], source: str, ids: tuple[str, ...] | None = None
) -> Points:
    return Points(
        stack.reshape(len(stack), -1),
        ids=ids,
        kind="images",
        image_shape=stack.shape[1:] if stack.ndim == 3 else None,
        source=source,
    )


def _read_image(path: Path, page: int, size: Size | None, grey: bool) -> NDArray[Any]:
    require("PIL.Image", "reading images")
    check_file(path)
    with reading(path, "an image"):
        pixels = foreign.image(path, _FORMATS, _MOST_PIXELS, grey, page)
    return pixels if size is None else _resized(pixels, size)


def _resized(image: NDArray[Any], size: Size) -> NDArray[np.floating]:
    """Return the image in another size; smaller ones average over what they cover."""
    if image.ndim == 3:
        planes = [_resized(plane, size) for plane in np.moveaxis(image, 2, 0)]
        return np.stack(planes, axis=2)
    image_module = require("PIL.Image", "resizing images")
    picture = image_module.fromarray(np.ascontiguousarray(image, np.float32))
    return np.asarray(picture.resize(size[::-1], image_module.Resampling.BILINEAR))
