"""Fewer coordinates for the same points: what members and judges work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import squared_norms
from ekss.core.spectrum import leading_spectrum

# Kept are all coordinates that the subspaces can span, and up to _FEW more if they are
# needed to hold this share of the energy. The rest is mostly noise, and the time of
# every member is proportional to it.
_KEPT_ENERGY = 1 - 1e-4
_FEW = 128


@dataclass(frozen=True)
class Coordinates:
    """Points in leading principal coordinates.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_kept)
    outside : ndarray of shape (n_samples,) or None
        Squared length of each point outside the coordinates; None where all are kept.
    directions : ndarray of shape (n_features, n_kept) or None
        Orthonormal directions of the coordinates; None where they are the features.
    """

    points: NDArray[np.floating]
    outside: NDArray[np.floating] | None
    directions: NDArray[np.floating] | None = None

    def take(self, rows: NDArray[np.integer]) -> Coordinates:
        """Return some of the points."""
        outside = None if self.outside is None else self.outside[rows]
        points = np.ascontiguousarray(self.points[rows])
        return Coordinates(points, outside, self.directions)


def leading_coordinates(
    points: NDArray[np.floating], n_clusters: int, span: int
) -> Coordinates:
    """Keep the principal coordinates that subspaces of the clusters can use.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Centred for affine subspaces.
    n_clusters : int
    span : int
        Number of directions that the subspace of a cluster typically spans.
    """
    n_samples, n_features = points.shape
    at_most = min(n_samples, n_features, most_coordinates(n_clusters, span))
    spectrum = leading_spectrum(points, at_most)
    held = np.cumsum(spectrum.singular_values**2)
    needed = int(np.searchsorted(held, _KEPT_ENERGY * spectrum.total) + 1)
    kept = min(at_most, max(n_clusters * span, needed))
    if kept >= n_features:
        return Coordinates(points, None)
    directions = spectrum.directions[:kept].T.astype(points.dtype)
    inside = np.ascontiguousarray(points @ directions)
    outside = np.maximum(squared_norms(points) - squared_norms(inside), 0)
    return Coordinates(inside, outside, directions)


def most_coordinates(n_clusters: int, span: int) -> int:
    """Return up to how many coordinates are kept."""
    return max(_FEW, n_clusters * span)
