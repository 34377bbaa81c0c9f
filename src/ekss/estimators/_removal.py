"""Directions that all points have in common: seen, taken out, and how many to take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

from ekss.core.scaling import unit_rows, without
from ekss.core.spectrum import leading_spectrum

# Squared length of the mean of points of unit length: 0.45 to 0.7 for images as they
# are, at most 0.015 for subspaces, or images less their mean or leading components.
_COMMON = 0.1
MOST_REMOVED = 3
# Numbers of components are compared with so many members ...
TRIAL_MEMBERS = 100
# ... on so many points, and so many for each cluster.
_FEWEST_TRIED = 2000
_TRIED_PER_CLUSTER = 100
# Scores this close are equal, and what removes least is taken: a component that
# clusters do not have in common is a loss to them.
_EQUAL = 0.1
_BLOCK_ENTRIES = 2**20


@dataclass(frozen=True)
class Removal:
    """A number of leading components that was tried.

    Attributes
    ----------
    n_removed : int
    score : float
        Of the best cut of the points without them; lower is better. Where the number
        of clusters is sought, that of the best number near a guess, per cluster.
    """

    n_removed: int
    score: float


def has_common_direction(points: NDArray[np.floating]) -> bool:
    """Tell whether the mean of the points, at unit length, has a length to speak of."""
    n_samples, n_features = points.shape
    step = max(1, _BLOCK_ENTRIES // n_features)
    total = np.zeros(n_features)
    for first in range(0, n_samples, step):
        rows = unit_rows(points[first : first + step])
        total += rows.sum(axis=0, dtype=np.float64)
    mean = total / n_samples
    return float(mean @ mean) > _COMMON


def common_directions(
    points: NDArray[np.floating], count: int, *, unit: bool
) -> NDArray[np.floating]:
    """Return the leading right singular vectors of the points, not centred, as rows."""
    if not count:
        return np.zeros((0, points.shape[1]), points.dtype)
    rows = unit_rows(points) if unit else points
    return leading_spectrum(rows, count).directions.astype(points.dtype)


def most_removed(n_samples: int, n_features: int) -> int:
    """Return up to how many components are tried: the better half must be left."""
    return max(0, min(MOST_REMOVED, (min(n_samples, n_features) - 1) // 2))


def tried_rows(n_samples: int, n_clusters: int) -> int:
    """Return on how many points numbers of components are compared."""
    return min(n_samples, max(_FEWEST_TRIED, _TRIED_PER_CLUSTER * n_clusters))


def try_removals(
    points: NDArray[np.floating],
    directions: NDArray[np.floating],
    score: Callable[[NDArray[np.floating], float], float],
    *,
    report: Callable[[int], None],
) -> tuple[Removal, ...]:
    """Score the points without none, one, ... all directions.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    directions : ndarray of shape (n_directions, n_features)
        Orthonormal rows, strongest first.
    score : callable
        ``score(rest, energy)``, lower is better. ``rest`` are the points of unit length
        without some of the directions; ``energy`` is their mean squared length outside
        of all directions. A residual has to count as a share of it: otherwise
        directions that stay in would be praised for being easy to fit.
    report : callable
        Told 1 after each trial.

    Returns
    -------
    tried : tuple of Removal
        By their score, but first the one that removes least among those within 0.1 of
        the lowest.
    """
    tried = []
    for count in range(len(directions) + 1):
        rest = without(points, directions[:count], unit=True)
        energy = _energy(without(rest, directions[count:], unit=False))
        found = float(score(rest, energy))
        tried.append(Removal(count, float("inf") if isnan(found) else found))
        report(1)
    lowest = min(one.score for one in tried)
    best = next(one for one in tried if one.score <= lowest + _EQUAL)
    others = [one for one in tried if one is not best]
    return (best, *sorted(others, key=lambda one: one.score))


def _energy(points: NDArray[np.floating]) -> float:
    """Return the mean squared length, more than zero."""
    squares = np.einsum("ij,ij->", points, points, dtype=np.float64)
    return max(float(squares) / len(points), float(np.finfo(points.dtype).tiny))
