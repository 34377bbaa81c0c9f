"""The scattering cascade on a batch of images: wavelets, moduli, averages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ekss.preprocessing._wavelets import morlet_transforms, window_matrix

Path = tuple[int, ...]


def scattering_paths(J: int, L: int, order: int) -> list[Path]:
    """Return the paths in the order of the output.

    Parameters
    ----------
    J, L : int
        Numbers of scales and of angles.
    order : int
        1 or 2.

    Returns
    -------
    paths : list of tuples
        (), then all (j1, l1), then all (j1, l1, j2, l2) with j1 < j2.

    Examples
    --------
    >>> from ekss.preprocessing._cascade import scattering_paths
    >>> scattering_paths(J=2, L=1, order=2)
    [(), (0, 0), (1, 0), (0, 0, 1, 0)]
    """
    first: list[Path] = [(j, a) for j in range(J) for a in range(L)]
    second: list[Path] = [
        (*path, j, a) for path in first for j in range(path[0] + 1, J) for a in range(L)
    ]
    return [(), *first, *(second if order == 2 else [])]


@dataclass(frozen=True)
class Plan:
    """Filters and windows for images of one shape.

    ``wavelets[r, j]`` are those of scale j on the grid of every 2^r-th pixel, for a
    result on that of every 2^j-th, as :func:`_for_folding` leaves them; ``windows[r]``
    are the averages along both axes from the grid of every 2^r-th pixel.
    """

    shape: tuple[int, int]
    J: int
    L: int
    order: int
    wavelets: dict[tuple[int, int], NDArray[np.floating]]
    windows: list[tuple[NDArray[np.floating], NDArray[np.floating]]]

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


@lru_cache(maxsize=8)
def make_plan(shape: tuple[int, int], J: int, L: int, order: int, dtype: str) -> Plan:
    """Return filters and windows; the last few plans are kept.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    J, L, order : int
        As in :class:`ekss.preprocessing.Scattering2D`.
    dtype : str
        "float32" or "float64".

    Returns
    -------
    plan : Plan
    """
    step = 2**J
    counts = [-(-side // step) for side in shape]
    padded = [(count + 2) * step for count in counts]
    centres = [step * np.arange(1, count + 1) for count in counts]
    windows = [
        (
            window_matrix(padded[0], 2**r, centres[0], J).astype(dtype),
            window_matrix(padded[1], 2**r, centres[1], J).astype(dtype),
        )
        for r in range(J)
    ]
    # A wavelet seen at every 2^r-th pixel is the one r scales finer.
    wavelets = {
        (r, j): _for_folding(
            morlet_transforms((padded[0] >> r, padded[1] >> r), j - r, L), 2 ** (j - r)
        ).astype(dtype)
        for r in range(J if order == 2 else 1)
        for j in range(r, J)
        if r == 0 or r < j
    }
    return Plan(shape, J, L, order, wavelets, windows)


def _for_folding(transforms: NDArray[np.float64], stride: int) -> NDArray[np.float64]:
    """Repeat values for real and imaginary parts, and undo the shorter inverse."""
    return np.repeat(transforms, 2, axis=2) / stride**2


def scatter(images: NDArray[np.floating], plan: Plan) -> NDArray[np.floating]:
    """Return the scattering coefficients of a batch of images.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
    plan : Plan

    Returns
    -------
    coefficients : ndarray of shape (n_images, n_paths, output height, output width)

    Notes
    -----
    A modulus at scale j is known at every 2^j-th pixel. Such values are exact; what
    the coarser grid costs is aliasing in the filters that follow. The product in
    frequency is folded onto the coarser grid before the inverse transform, and the
    last average is two matrix products, without transforms.
    """
    J, L = plan.J, plan.L
    n_paths = len(scattering_paths(J, L, plan.order))
    out = np.empty((len(images), n_paths, *plan.output_shape), images.dtype)
    padded = _reflected(images, plan.padded_shape, 2**J)
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


def _reflected(
    images: NDArray[np.floating], padded: tuple[int, int], border: int
) -> NDArray[np.floating]:
    """Mirror the images at their edges, to soften the period of the transforms."""
    widths = [
        (border, whole - side - border)
        for whole, side in zip(padded, images.shape[1:], strict=True)
    ]
    return np.pad(images, ((0, 0), *widths), mode="reflect")


def _moduli(
    spectra: NDArray[np.complexfloating], filters: NDArray[np.floating], stride: int
) -> NDArray[np.floating]:
    """Return |x * psi_l| at every stride-th pixel: (n_images, n_angles, h, w)."""
    from ekss.preprocessing._folding import add_folded_products

    n_images, height, width = spectra.shape
    coarse = (n_images, len(filters), height // stride, 2 * (width // stride))
    sums = np.zeros(coarse, filters.dtype)
    add_folded_products(spectra.view(filters.dtype), filters, sums)
    return np.abs(fft.ifft2(sums.view(spectra.dtype), overwrite_x=True))


def _averaged(
    values: NDArray[np.floating],
    windows: tuple[NDArray[np.floating], NDArray[np.floating]],
) -> NDArray[np.floating]:
    """Average along both of the last axes, each by one large matrix product."""
    by_row, by_column = windows
    half = np.ascontiguousarray((values @ by_column.T).swapaxes(-1, -2))
    return (half @ by_row.T).swapaxes(-1, -2)
