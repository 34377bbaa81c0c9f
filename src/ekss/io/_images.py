"""Folders of images, and stacks of them in an array."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._errors import InputError, reading, require

IMAGES = (".png", ".jpg", ".jpeg", ".pgm")
Size = tuple[int, int]

_GREY_MODES = ("1", "L", "LA", "I", "F")
_LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Pictures:
    """Images as rows of pixels.

    ``shape`` is height and width, None where a pixel has three numbers.
    """

    points: NDArray[np.floating]
    shape: Size | None


def image_paths(folder: Path) -> list[Path]:
    """Return the images in a folder and the folders in it, by name."""
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in IMAGES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise InputError(f"{folder} holds no image; images end in {', '.join(IMAGES)}")
    return sorted(found)


def read_images(paths: list[Path], size: Size | None, grey: bool) -> Pictures:
    """Read images of one size, or make them of one size.

    Notes
    -----
    The largest array beside the result is one image.
    """
    first = _read_image(paths[0], size, grey)
    stack = np.empty((len(paths), *first.shape))
    stack[0] = first
    for number, path in enumerate(paths[1:], start=1):
        image = _read_image(path, size, grey)
        if image.ndim != first.ndim:
            raise InputError(
                f"{path} and {paths[0]} are not both grey or both in colour; read "
                "them with grey=True"
            )
        if image.shape != first.shape:
            raise InputError(
                f"{path} has {_sides(image)} pixels, but {paths[0]} has "
                f"{_sides(first)}; pass image_size=(height, width) to resize all"
            )
        stack[number] = image
    return _as_rows(stack)


def pictures_of_stack(
    stack: NDArray[np.floating], size: Size | None, grey: bool
) -> Pictures:
    """Return the rows of images N x h x w, or N x h x w x 3."""
    if stack.ndim == 4 and stack.shape[3] == 1:
        stack = stack[..., 0]
    if stack.ndim == 4 and grey:
        stack = (stack @ np.array(_LUMINANCE)).astype(stack.dtype)
    if size is not None:
        resized = np.empty((len(stack), *size, *stack.shape[3:]), stack.dtype)
        for number, image in enumerate(stack):
            resized[number] = _resized(image, size)
        stack = resized
    return _as_rows(stack)


def _as_rows(stack: NDArray[np.floating]) -> Pictures:
    shape = stack.shape[1:3] if stack.ndim == 3 else None
    return Pictures(stack.reshape(len(stack), -1), shape)


def _sides(image: NDArray[Any]) -> str:
    return f"{image.shape[0]} x {image.shape[1]}"


def _read_image(path: Path, size: Size | None, grey: bool) -> NDArray[np.floating]:
    image_module = require("PIL.Image", "pillow", "reading images")
    image_ops = require("PIL.ImageOps", "pillow", "reading images")
    with reading(path, "an image"), warnings.catch_warnings():
        # A small file that claims to be a huge image
        warnings.simplefilter("error", image_module.DecompressionBombWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        with image_module.open(path, formats=("PNG", "JPEG", "PPM")) as image:
            upright = image_ops.exif_transpose(image)
            pixels = np.asarray(_in_one_mode(upright, grey), dtype=np.float64)
    return pixels if size is None else _resized(pixels, size)


def _in_one_mode(image: Any, grey: bool) -> Any:
    """Return the image in grey of any depth, or in red, green and blue."""
    if image.mode.startswith(("I", "F")):
        return image
    return image.convert("L" if grey or image.mode in _GREY_MODES else "RGB")


def _resized(image: NDArray[np.floating], size: Size) -> NDArray[np.floating]:
    """Return the image in another size; smaller ones average over what they cover."""
    image_module = require("PIL.Image", "pillow", "resizing images")
    if image.ndim == 3:
        planes = [_resized(plane, size) for plane in np.moveaxis(image, 2, 0)]
        return np.stack(planes, axis=2)
    picture = image_module.fromarray(np.ascontiguousarray(image, np.float32))
    height, width = size
    wanted = picture.resize((width, height), image_module.Resampling.BILINEAR)
    return np.asarray(wanted)
