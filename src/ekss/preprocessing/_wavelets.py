"""Morlet wavelets and the Gaussian window of the scattering transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FINEST_SPREAD = 0.8  # of the envelope of the finest wavelet, in pixels
FINEST_FREQUENCY = 3 * np.pi / 4  # of the finest wavelet, in radians per pixel

_COPIES = 2  # beyond two periods a Gaussian this wide has no digit left


def morlet_transforms(
    shape: tuple[int, int], scale: int, n_angles: int
) -> NDArray[np.float64]:
    """Return the Fourier transforms of the Morlet wavelets of one scale.

    With s = 0.8 2^scale, centre frequency c = (3 pi / 4) 2^-scale, w turned by the
    angle pi l / L to (a, b), and slant t = min(1, 4 / L):

        psi^(w) = g(a - c, b) - k g(a, b),   g(a, b) = exp(-s^2 (a^2 + b^2 / t^2) / 2),

    summed over all w + 2 pi Z^2 (the wavelet is sampled at the pixels). The constant
    k makes psi^(0) = 0. All are real.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the grid.
    scale : int
        0 for the finest.
    n_angles : int
        L; the angles run over half a turn, from the direction of the first axis.

    Returns
    -------
    transforms : ndarray of shape (n_angles, height, width)
        Frequencies in the order of ``scipy.fft.fft2``.

    Examples
    --------
    >>> from ekss.preprocessing._wavelets import morlet_transforms
    >>> filters = morlet_transforms((16, 16), scale=1, n_angles=4)
    >>> filters.shape, float(abs(filters[:, 0, 0]).max())
    ((4, 16, 16), 0.0)
    """
    spread, frequency = FINEST_SPREAD * 2**scale, FINEST_FREQUENCY / 2**scale
    slant = min(1.0, 4 / n_angles)
    angles = np.pi * np.arange(n_angles) / n_angles
    transforms = np.empty((n_angles, *shape))
    for index, angle in enumerate(angles):
        wave = _periodic_bump(shape, angle, frequency, spread, slant)
        envelope = _periodic_bump(shape, angle, 0.0, spread, slant)
        transforms[index] = wave - envelope * (wave[0, 0] / envelope[0, 0])
    return transforms


def _periodic_bump(
    shape: tuple[int, int], angle: float, frequency: float, spread: float, slant: float
) -> NDArray[np.float64]:
    """Return the slanted Gaussian around one frequency, summed over its copies."""
    copies = 2 * np.pi * np.arange(-_COPIES, _COPIES + 1)
    rows, columns = (
        (2 * np.pi * np.fft.fftfreq(side) + copies[:, None]) for side in shape
    )
    row = rows[:, None, :, None]
    column = columns[None, :, None, :]
    along = np.cos(angle) * row + np.sin(angle) * column - frequency
    across = np.cos(angle) * column - np.sin(angle) * row
    squared = along**2 + (across / slant) ** 2
    return np.exp(-(spread**2) * squared / 2).sum(axis=(0, 1))


def window_matrix(
    padded: int, stride: int, centres: NDArray[np.integer], n_scales: int
) -> NDArray[np.float64]:
    """Return the Gaussian averages along one axis, as a matrix.

    Row k averages a periodic signal, known at the pixels 0, stride, 2 stride, ...,
    around the pixel ``centres[k]`` with weights exp(-x^2 / (2 s^2)), where
    s = 0.8 2^(n_scales - 1). The window in the plane is the product of two of these.

    Parameters
    ----------
    padded : int
        Period of the signal in pixels.
    stride : int
        Pixels between the values known; divides ``padded``.
    centres : ndarray of shape (n_centres,)
        Pixels to average around.
    n_scales : int
        J.

    Returns
    -------
    weights : ndarray of shape (n_centres, padded / stride)
        Every row sums to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.preprocessing._wavelets import window_matrix
    >>> window_matrix(8, 2, np.array([0, 4]), n_scales=1).round(2)
    array([[0.92, 0.04, 0.  , 0.04],
           [0.  , 0.04, 0.92, 0.04]])
    """
    spread = FINEST_SPREAD * 2 ** (n_scales - 1)
    copies = padded * np.arange(-_COPIES, _COPIES + 1)
    offsets = np.arange(0, padded, stride) - centres[:, None]
    distances = offsets[:, :, None] + copies
    weights = np.exp(-((distances / spread) ** 2) / 2).sum(axis=2)
    return weights / weights.sum(axis=1, keepdims=True)
