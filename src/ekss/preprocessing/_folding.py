"""The compiled loop of the scattering cascade; importing it loads numba."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def add_folded_products(spectra: Any, filters: Any, sums: Any) -> None:
    """Add spectra times filters to sums, adding up all frequencies of one alias.

    Complex rows are treated as twice as many real numbers, so that the inner loop
    consists of plain products; ``filters`` therefore holds every value twice. Shapes
    are (n_images, h, 2 w), (n_filters, h, 2 w) and (n_images, n_filters, h / s, 2 w /
    s).
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
