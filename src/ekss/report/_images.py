"""Images of the points and of the basis vectors, ready for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.report._facts import Facts
from ekss.report._png import DIVERGING, averaged, data_uri, palette_of, png, to_bytes

# Images smaller than this are shown with sharp pixels.
_TINY = 24


@dataclass(frozen=True)
class Shown:
    """An image: its address and the words for those who cannot see it."""

    address: str
    alt: str


@dataclass(frozen=True)
class Album:
    """The images of one cluster."""

    name: int
    size: int
    position: int
    typical: tuple[Shown, ...]
    doubtful: tuple[Shown, ...]
    vectors: tuple[Shown, ...]


def albums_of(facts: Facts) -> list[Album]:
    """Encode the images of every cluster that is shown."""
    gallery, inputs = facts.gallery, facts.inputs
    if gallery is None or inputs.image_shape is None:
        return []
    chosen = np.concatenate([*gallery.typical, *gallery.doubtful])
    low, high = np.quantile(inputs.shown[chosen], (0.002, 0.998))
    albums = []
    for k, rows in enumerate(gallery.typical):
        cluster = facts.clusters[k]
        ends = [
            tuple(_shown_image(facts, int(row), low, high) for row in end)
            for end in (rows, gallery.doubtful[k])
        ]
        vectors = () if gallery.vectors is None else _vectors(facts, k)
        albums.append(Album(cluster.name, cluster.size, k, ends[0], ends[1], vectors))
    return albums


def are_tiny(facts: Facts) -> bool:
    """Tell whether images are so small that pixels should stay sharp."""
    shape = facts.inputs.image_shape
    return shape is not None and max(shape[:2]) <= _TINY


def _shown_image(facts: Facts, row: int, low: float, high: float) -> Shown:
    shape, gallery = facts.inputs.image_shape, facts.gallery
    assert shape is not None
    assert gallery is not None
    pixels = averaged(facts.inputs.shown[row].reshape(1, *shape), gallery.step)[0]
    return Shown(data_uri(png(to_bytes(pixels, low, high))), name_of(facts, row))


def _vectors(facts: Facts, k: int) -> tuple[Shown, ...]:
    gallery = facts.gallery
    assert gallery is not None
    assert gallery.vectors is not None
    shown = []
    for number, vector in enumerate(averaged(gallery.vectors[k], gallery.step), 1):
        most = float(np.abs(vector).max()) or 1.0
        indices = to_bytes(vector, -most, most)
        alt = f"basis vector {number} of cluster {facts.clusters[k].name}"
        shown.append(Shown(data_uri(png(indices, _palette())), alt))
    return tuple(shown)


def _palette() -> NDArray[Any]:
    return palette_of(DIVERGING)


def name_of(facts: Facts, row: int) -> str:
    """Name of a point: its id, or its number."""
    ids, number = facts.inputs.ids, int(facts.inputs.kept[row])
    return f"point {number}" if ids is None else f"{ids[row]} (point {number})"
