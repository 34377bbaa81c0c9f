"""The compiled loop of the scattering cascade; importing it loads numba."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def add_folded_products(spectra: Any, filters: Any, sums: Any) -> None:
    """Add spectra times filters to sums, all frequencies of one alias together.

    Complex rows are seen as twice as many real numbers, so that the inner loop is one
    of plain products; ``filters`` therefore holds every value twice.

    Parameters
    ----------
    spectra : ndarray of shape (n_images, height, 2 width)
    filters : ndarray of shape (n_filters, height, 2 width)
    sums : ndarray of shape (n_images, n_filters, height / s, 2 width / s)
        Changed in place.
    """
    n_images, n_filters, rows, columns = sums.shape
    for image in range(n_images):
        for index in range(n_filters):
            for row in range(spectra.shape[1]):
                target = sums[image, index, row % rows]
                for left in range(0, spectra.shape[2], columns):
                    values = spectra[image, row, left : left + columns]
                    weights = filters[index, row, left : left + columns]
                    for column in range(columns):
                        target[column] += values[column] * weights[column]
