"""The scattering cascade on a batch of images: wavelets, moduli, averages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ekss.runtime.memory import limit_of

Path = tuple[int, ...]
Floats = NDArray[np.floating]

_FINEST_SPREAD = 0.8  # of the envelope of the finest wavelet, in pixels
_FINEST_FREQUENCY = 3 * np.pi / 4  # of the finest wavelet, in radians per pixel
_COPIES = np.arange(-2, 3)  # a Gaussian this wide vanishes beyond two periods


def scattering_paths(J: int, L: int, order: int) -> list[Path]:
    """Return (), then all (j1, l1), then all (j1, l1, j2, l2) with j1 < j2."""
    first: list[Path] = [(j, a) for j in range(J) for a in range(L)]
    second: list[Path] = [
        (*path, j, a) for path in first for j in range(path[0] + 1, J) for a in range(L)
    ]
    return [(), *first, *(second if order == 2 else [])]


@dataclass(frozen=True)
class Plan:
    """Filters and windows for images of one shape.

    ``wavelets[r, j]`` are the wavelets of scale j on the grid of every 2^r-th pixel,
    for a result on the grid of every 2^j-th pixel, as :func:`_for_folding` returns
    them; ``windows[r]`` are the averages along both axes, from the grid of every 2^r-th
    pixel.
    """

    J: int
    L: int
    order: int
    wavelets: dict[tuple[int, int], Floats]
    windows: list[tuple[Floats, Floats]]

    @property
    def output_shape(self) -> tuple[int, int]:
        """Height and width of every path's output."""
        rows, columns = self.windows[0]
        return len(rows), len(columns)

    @property
    def padded_shape(self) -> tuple[int, int]:
        """Height and width with the reflected border."""
        rows, columns = self.windows[0]
        return rows.shape[1], columns.shape[1]


def padded_sides(shape: tuple[int, int], J: int) -> tuple[int, int]:
    """Return the height and width of images with their reflected border."""
    height, width = ((count + 2) << J for count in coarse_sides(shape, J))
    return height, width


def coarse_sides(shape: tuple[int, int], J: int) -> tuple[int, int]:
    """Return the height and width of every path's output."""
    height, width = (-(-side >> J) for side in shape)
    return height, width


def plan_bytes(
    shape: tuple[int, int], J: int, L: int, order: int, dtype: str = "float64"
) -> int:
    """Return the memory that :func:`make_plan` takes."""
    padded, itemsize = padded_sides(shape, J), np.dtype(dtype).itemsize
    pixels = math.prod(padded)
    deeper = sum((J - 1 - r) * pixels >> 2 * r for r in range(1, J))
    filters = 2 * itemsize * L * (J * pixels + (deeper if order == 2 else 0))
    matrices = [
        count * side for count, side in zip(coarse_sides(shape, J), padded, strict=True)
    ]
    windows = 2 * itemsize * sum(matrices)
    # For one scale, a float64 array and three in the type of the filters; or three
    # float64 matrices of windows.
    working = max((8 + 3 * itemsize) * L * pixels, 3 * 8 * max(matrices))
    return filters + windows + working


@lru_cache(maxsize=2)
def make_plan(shape: tuple[int, int], J: int, L: int, order: int, dtype: str) -> Plan:
    """Return the filters and windows for images of a shape; recent plans are cached."""
    limit_of(None, 0.0).check(
        f"making filters for images of {shape[0]} x {shape[1]} pixels",
        plan_bytes(shape, J, L, order, dtype),
        lambda: "choose a smaller J or L, or smaller images",
    )
    counts, (height, width) = coarse_sides(shape, J), padded_sides(shape, J)
    windows = [
        (
            _window_matrix(height, 2**r, counts[0], J).astype(dtype),
            _window_matrix(width, 2**r, counts[1], J).astype(dtype),
        )
        for r in range(J)
    ]
    # A wavelet sampled at every 2^r-th pixel is the one r scales finer.
    wavelets = {
        (r, j): _for_folding(
            morlet_transforms((height >> r, width >> r), j - r, L), 2 ** (j - r), dtype
        )
        for r in range(J if order == 2 else 1)
        for j in range(r, J)
        if r == 0 or r < j
    }
    return Plan(J, L, order, wavelets, windows)


def morlet_transforms(
    shape: tuple[int, int], scale: int, n_angles: int
) -> NDArray[np.float64]:
    """Return the Fourier transforms of the Morlet wavelets of one scale, by angle.

    With s = 0.8 2^scale, centre frequency c = (3 pi / 4) 2^-scale, w rotated by the
    angle pi l / L to (a, b), and slant t = min(1, 4 / L):

        psi^(w) = g(a - c, b) - k g(a, b),   g(a, b) = exp(-s^2 (a^2 + b^2 / t^2) / 2),

    summed over all w + 2 pi Z^2 (because the wavelet is sampled at the pixels). The
    constant k makes psi^(0) = 0. All transforms are real; frequencies are in the order
    of ``scipy.fft.fft2``, and angles are measured from the direction of the first axis.
    """
    spread, frequency = _FINEST_SPREAD * 2**scale, _FINEST_FREQUENCY / 2**scale
    slant = min(1.0, 4 / n_angles)
    transforms = np.empty((n_angles, *shape))
    for index, angle in enumerate(np.pi * np.arange(n_angles) / n_angles):
        wave = _periodic_bump(shape, angle, frequency, spread, slant)
        envelope = _periodic_bump(shape, angle, 0.0, spread, slant)
        transforms[index] = wave - envelope * (wave[0, 0] / envelope[0, 0])
    return transforms


def _periodic_bump(
    shape: tuple[int, int], angle: float, frequency: float, spread: float, slant: float
) -> NDArray[np.float64]:
    """Return the slanted Gaussian around one frequency, summed over its copies."""
    rows, columns = (
        2 * np.pi * np.fft.fftfreq(side) + 2 * np.pi * _COPIES[:, None]
        for side in shape
    )
    bump = np.zeros(shape)
    # Keep one copy in memory at a time.
    for row, column in product(rows[:, :, None], columns[:, None, :]):
        along = np.cos(angle) * row + np.sin(angle) * column - frequency
        across = np.cos(angle) * column - np.sin(angle) * row
        squared = along**2 + (across / slant) ** 2
        bump += np.exp(-(spread**2) * squared / 2)
    return bump


def _for_folding(
    transforms: NDArray[np.float64], stride: int, dtype: str = "float64"
) -> Floats:
    """Repeat values for real and imaginary parts; scale for the shorter inverse."""
    return np.repeat((transforms / stride**2).astype(dtype), 2, axis=2)


def _window_matrix(padded: int, stride: int, count: int, J: int) -> NDArray[np.float64]:
    """Return the Gaussian averages along one axis, as a matrix whose rows sum to 1.

    Row k averages a signal of period ``padded``, known at every stride-th pixel,
    around the pixel (k + 1) 2^J with weights exp(-x^2 / (2 s^2)), s = 0.8 2^(J - 1).
    The window in the plane is the product of two of these.
    """
    centres = 2**J * np.arange(1, count + 1)
    offsets = np.arange(0, padded, stride) - centres[:, None]
    spread = _FINEST_SPREAD * 2 ** (J - 1)
    weights = np.zeros(offsets.shape)
    for copy in _COPIES:
        weights += np.exp(-(((offsets + padded * copy) / spread) ** 2) / 2)
    return weights / weights.sum(axis=1, keepdims=True)


def scatter(images: Floats, plan: Plan) -> Floats:
    """Return the coefficients of a batch of images: (n_images, n_paths, h, w).

    A modulus at scale j is computed at every 2^j-th pixel. These values are exact; the
    price of the coarser grid is aliasing in the filters that follow. The product in
    frequency is folded onto the coarser grid before the inverse transform, and the last
    average is computed by two matrix products, without transforms.
    """
    J, L = plan.J, plan.L
    n_paths = len(scattering_paths(J, L, plan.order))
    out = np.empty((len(images), n_paths, *plan.output_shape), images.dtype)
    # Images are mirrored at their edges, to soften the periodicity of the transforms.
    widths = [
        (2**J, whole - side - 2**J)
        for whole, side in zip(plan.padded_shape, images.shape[1:], strict=True)
    ]
    padded = np.pad(images, ((0, 0), *widths), mode="reflect")
    out[:, 0] = _averaged(padded, plan.windows[0])
    spectra = fft.fft2(padded)
    second = 1 + J * L
    for j1 in range(J):
        moduli = _moduli(spectra, plan.wavelets[0, j1], 2**j1)
        first = 1 + j1 * L
        out[:, first : first + L] = _averaged(moduli, plan.windows[j1])
        if plan.order == 1 or j1 == J - 1:
            continue
        for l1 in range(L):
            deeper = fft.fft2(moduli[:, l1])
            for j2 in range(j1 + 1, J):
                again = _moduli(deeper, plan.wavelets[j1, j2], 2 ** (j2 - j1))
                out[:, second : second + L] = _averaged(again, plan.windows[j2])
                second += L
    return out


def _moduli(
    spectra: NDArray[np.complexfloating], filters: Floats, stride: int
) -> Floats:
    """Return |x * psi_l| at every stride-th pixel: (n_images, n_angles, h, w)."""
    from ekss.preprocessing._folding import add_folded_products

    n_images, height, width = spectra.shape
    coarse = (n_images, len(filters), height // stride, 2 * (width // stride))
    sums = np.zeros(coarse, filters.dtype)
    add_folded_products(spectra.view(filters.dtype), filters, sums)
    return np.abs(fft.ifft2(sums.view(spectra.dtype), overwrite_x=True))


def _averaged(values: Floats, windows: tuple[Floats, Floats]) -> Floats:
    """Average along the last two axes, each by one large matrix product."""
    by_row, by_column = windows
    half = np.ascontiguousarray((values @ by_column.T).swapaxes(-1, -2))
    return (half @ by_row.T).swapaxes(-1, -2)
