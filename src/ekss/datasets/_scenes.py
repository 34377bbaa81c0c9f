"""Synthetic faces under light and tracks of moving bodies, with no download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sklearn.utils import Bunch

from ekss.datasets._synthetic import Seed

# The scene, in an image of 640 x 480 pixels, with about as many frames as the sequences
# of Hopkins 155 have.
_FRAMES = 24
# Lamps stand within 60 degrees of the camera's axis, like most in Extended Yale B.
_WIDEST_LAMP = np.pi / 3


@dataclass(frozen=True)
class _Body:
    """A rigid body of the scene, in pixels and radians."""

    n_points: int
    middle: tuple[int, int]
    half_sizes: tuple[int, int, int]
    shift: tuple[int, int]
    turn: tuple[float, float, float]


# A moving scene, and two bodies in front of it.
_BODIES = (
    _Body(140, (320, 240), (300, 210, 120), (-20, 8), (0.05, 0.12, 0.02)),
    _Body(80, (200, 300), (80, 50, 60), (70, -25), (0.1, 0.5, -0.1)),
    _Body(60, (440, 200), (60, 60, 50), (-40, 45), (-0.4, 0.2, 0.5)),
)


def make_moving_bodies(
    *, noise: float = 1.0, random_state: Seed = None, return_X_y: bool = False
) -> Any:
    """Track points on a scene and on two bodies that turn and move in front of it.

    Seen from far away, the tracks of one rigid body lie on an affine subspace of
    dimension at most 3: a mean path, plus one direction for each coordinate of the
    body. The scene moves too, as if the camera were moving.

    Parameters
    ----------
    noise : float, default=1.0
        Standard deviation of every coordinate, in pixels of a 640 x 480 image; one
        pixel is what a point tracker achieves.
    random_state : int, SeedSequence, Generator or None, default=None
        Source of randomness: the points on the bodies, and the noise.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (280, 48), the tracks as rows x_1, y_1, x_2, y_2, ...;
        ``target`` of shape (280,), 0 for the scene, 1 and 2 for the bodies;
        ``n_frames``, the number of frames.

    Examples
    --------
    >>> scene = make_moving_bodies(random_state=0)
    >>> scene.data.shape, scene.n_frames
    ((280, 48), 24)
    """
    rng = np.random.default_rng(random_state)
    tracks, times = [], np.linspace(0, 1, _FRAMES)[:, None]
    for body in _BODIES:
        points = rng.uniform(-1, 1, (body.n_points, 3)) * body.half_sizes
        # Only the first two of the three coordinates are visible.
        turns = Rotation.from_euler("xyz", times * body.turn).as_matrix()[:, :2]
        seen = body.middle + times * body.shift + (turns @ points.T).transpose(2, 0, 1)
        tracks.append(seen.reshape(body.n_points, -1))
    rows = np.concatenate(tracks)
    data = rows + noise * rng.standard_normal(rows.shape)
    target = np.repeat(np.arange(len(tracks)), [body.n_points for body in _BODIES])
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, n_frames=_FRAMES)


def make_faces_under_light(
    n_people: int = 5,
    n_lights: int = 40,
    *,
    height: int = 32,
    noise: float = 0.02,
    random_state: Seed = None,
    return_X_y: bool = False,
) -> Any:
    """Draw matt faces, each lit by lamps at random positions.

    A matt (Lambertian) surface reflects albedo times the cosine of the angle between
    its normal and the light, and nothing where it faces away from the lamp. Without
    these shadows the images of one face would span 3 dimensions; with them they lie
    near a subspace of dimension about 9 [1]_.

    Parameters
    ----------
    n_people : int, default=5
        Number of faces; depth and albedo are drawn anew for each.
    n_lights : int, default=40
        Number of images per face, with the lamp at random within 60 degrees of the
        front.
    height : int, default=32
        Height of the images in pixels, at least 8; the width is three quarters of it.
    noise : float, default=0.02
        Standard deviation of every pixel; the brightest pixels are near 1.
    random_state : int, SeedSequence, Generator or None, default=None
        Source of randomness.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (n_people * n_lights, n_pixels), with images as rows;
        ``target``, the person in each image; ``images``, the same as data in the shape
        of images; ``image_shape``, height and width; ``lights`` of shape
        (n_samples, 3), the direction of the lamp in each image.

    References
    ----------
    .. [1] R. Basri, D. W. Jacobs, "Lambertian Reflectance and Linear Subspaces", IEEE
       Transactions on Pattern Analysis and Machine Intelligence, 2003.

    Examples
    --------
    >>> faces = make_faces_under_light(3, 20, random_state=0)
    >>> faces.images.shape
    (60, 32, 24)
    """
    for name, value, least in (
        ("n_people", n_people, 1),
        ("n_lights", n_lights, 1),
        ("height", height, 8),
    ):
        if value < least:
            raise ValueError(f"{name} is {value!r}; it must be at least {least}")
    rng = np.random.default_rng(random_state)
    shape = (height, 3 * height // 4)
    images, lights = [], []
    for _ in range(n_people):
        surface = _draw_face(shape, rng)
        lamps = _draw_lamps(n_lights, rng)
        images.append(np.maximum(lamps @ surface.reshape(3, -1), 0))
        lights.append(lamps)
    clean = np.concatenate(images)
    data = clean + noise * rng.standard_normal(clean.shape)
    target = np.repeat(np.arange(n_people), n_lights)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=data.reshape(-1, *shape),
        image_shape=shape,
        lights=np.concatenate(lights),
    )


def _draw_lamps(n_lights: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return directions of lamps, uniform on the cap in front of the face."""
    around = rng.uniform(0, 2 * np.pi, n_lights)
    ahead = rng.uniform(np.cos(_WIDEST_LAMP), 1, n_lights)
    aside = np.sqrt(1 - ahead**2)
    return np.column_stack([aside * np.cos(around), aside * np.sin(around), ahead])


def _draw_face(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return normal times albedo in every pixel, of shape (3, height, width)."""
    down, across = np.meshgrid(
        np.linspace(-1, 1, shape[0]), np.linspace(-0.75, 0.75, shape[1]), indexing="ij"
    )

    def spot(x: float, y: float, wide: float, high: float) -> NDArray[np.float64]:
        """Return a smooth hill whose height is 1 in the middle."""
        return np.exp(-(((across - x) / wide) ** 2) - ((down - y) / high) ** 2)

    def vary(value: float, by: float = 0.25) -> float:
        """Return a value that differs from person to person."""
        return value * rng.uniform(1 - by, 1 + by)

    eye, brow = vary(0.3, 0.2), vary(-0.3, 0.2)
    wide, high = vary(0.62, 0.12), vary(0.9, 0.08)
    bowl = np.clip(1 - (across / wide) ** 2 - (down / high) ** 2, 0, None)
    depth = vary(0.6) * np.sqrt(bowl)
    depth += vary(0.28, 0.4) * spot(0, vary(0.08), vary(0.11), vary(0.24))  # nose
    depth += vary(0.10, 0.5) * spot(0, vary(0.62), vary(0.22), vary(0.12))  # chin
    skin, hair = vary(0.75, 0.2), vary(0.3, 0.8)
    albedo = np.full(shape, skin)
    for side in (-1, 1):
        depth -= vary(0.12, 0.5) * spot(side * eye, -0.15, vary(0.13), vary(0.1))
        depth += vary(0.10, 0.5) * spot(side * vary(0.35), 0.2, 0.14, 0.14)  # cheek
        albedo -= 0.5 * skin * spot(side * eye, brow, vary(0.16), vary(0.05))
        albedo -= 0.6 * skin * spot(side * eye, -0.12, vary(0.09), vary(0.05))
    albedo -= vary(0.3, 0.5) * skin * spot(0, vary(0.45), vary(0.2), vary(0.06))
    scalp = down < vary(-0.62, 0.15) + 0.25 * across**2
    albedo = np.where(scalp, hair, albedo) * (bowl > 0)
    steps = 2 / (shape[0] - 1)
    slope_down, slope_across = np.gradient(depth, steps)
    normal = np.stack([-slope_across, -slope_down, np.ones(shape)])
    return albedo * normal / np.linalg.norm(normal, axis=0)
