"""Local best-fit flats: a subspace through the neighbourhood of each point.

How far a neighbourhood reaches is chosen for each point by its beta numbers: the error
of the best flat, relative to the size of the neighbourhood, falls while it grows within
a cluster, and grows again where another cluster comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Points whose flats are fitted at once: their projections of all points are the
# largest array.
_ENTRIES_AT_ONCE = 2**22
# The smallest neighbourhood has so many points for each dimension, and neighbourhoods
# grow by so many points (both of the paper), up to this many times.
_PER_DIM, _STEP, _STEPS = 2, 2, 25
# Relative errors below this are rounding: eigenvalues are exact to about 1e-14 of the
# largest, and these are roots.
ROUNDING = 1e-6


@dataclass(frozen=True)
class LocalFlats:
    """Flats fitted around some points.

    Attributes
    ----------
    bases : ndarray of shape (n_flats, dim, n_features)
        Orthonormal rows; zero where the neighbours span fewer dimensions.
    centres : ndarray of shape (n_flats, n_features)
        A point of each flat; zero for linear subspaces.
    sizes : ndarray of shape (n_flats,)
        Points of each neighbourhood, its own point among them.
    """

    bases: NDArray[np.floating]
    centres: NDArray[np.floating]
    sizes: NDArray[np.int64]


def block_size(n_samples: int, dim: int) -> int:
    """Return how many flats are worked on at once."""
    return max(4, min(256, _ENTRIES_AT_ONCE // (n_samples * dim)))


def nearest_points(
    X: NDArray[np.floating],
    rows: NDArray[np.integer],
    count: int,
    *,
    affine: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest points of some rows, the row itself first.

    For linear subspaces x and -x are one point, and the nearer of both counts.

    Returns
    -------
    index : ndarray of shape (m, count)
    distance : ndarray of shape (m, count)
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-0.8, 0.6], [0.0, 1.0]])
    >>> nearest_points(X, np.array([0]), 2, affine=False)[0]
    array([[0, 1]])
    >>> nearest_points(X, np.array([0]), 2, affine=True)[0]
    array([[0, 2]])
    """
    squares = np.einsum("ij,ij->i", X, X)
    products = X[rows] @ X.T
    products = products if affine else np.abs(products)
    squared = squares[rows][:, None] + squares - 2 * products
    squared[np.arange(len(rows)), rows] = -np.inf
    index = np.argpartition(squared, count - 1, axis=1)[:, :count]
    values = np.take_along_axis(squared, index, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    found = np.take_along_axis(values, order, axis=1).astype(np.float64)
    return np.take_along_axis(index, order, axis=1), np.sqrt(np.maximum(found, 0))


def most_neighbours(n_samples: int, dim: int) -> int:
    """Return how many points the largest neighbourhood has."""
    return min(n_samples, _PER_DIM * dim + 1 + _STEPS * _STEP)


def neighbourhood_sizes(
    gram: NDArray[np.float64],
    distance: NDArray[np.float64],
    dim: int,
    *,
    affine: bool,
) -> NDArray[np.int64]:
    r"""Choose how many of the nearest points make the neighbourhood of each point.

    With :math:`\beta(s)` the root mean squared distance of the s nearest points to
    their best flat, divided by the distance of the farthest of them, s grows from
    ``2 dim + 1`` in steps of 2 until :math:`\beta` has fallen and grows again: its
    first local minimum [1]_. Where there is none, the s of least :math:`\beta` is
    taken.

    Parameters
    ----------
    gram : ndarray of shape (m, n_neighbours, n_neighbours)
        Inner products of the nearest points of each of m points, nearest first.
    distance : ndarray of shape (m, n_neighbours)
        Their distances from the point, ascending.
    dim : int
        Dimension of the flats.
    affine : bool
        Whether flats may miss the origin.

    Returns
    -------
    sizes : ndarray of shape (m,)

    References
    ----------
    .. [1] T. Zhang, A. Szlam, Y. Wang, G. Lerman, "Hybrid linear modeling via local
       best-fit flats", International Journal of Computer Vision 100(3), 2012.
    """
    n_neighbours = gram.shape[1]
    first = min(_PER_DIM * dim + 1, n_neighbours)
    sizes = np.full(len(gram), first)  # of the least beta number so far
    least, before = np.full((2, len(gram)), np.inf)
    falling = np.zeros(len(gram), bool)
    growing = np.arange(len(gram))
    for size in range(first, n_neighbours + 1, _STEP):
        parts = _centred(gram[growing, :size, :size], affine)
        errors = np.linalg.eigvalsh(parts)[:, : max(size - dim, 0)].sum(axis=1)
        radius = distance[growing, size - 1]
        beta = np.sqrt(np.maximum(errors, 0) / size) / np.where(radius > 0, radius, 1.0)
        beta = np.maximum(beta, ROUNDING)
        ended = falling[growing] & (beta > before[growing])
        sizes[growing[ended]] = size - _STEP
        growing, beta = growing[~ended], beta[~ended]
        falling[growing] = (beta <= before[growing]) & (size > first)
        before[growing] = beta
        lower = growing[beta <= least[growing]]
        sizes[lower], least[lower] = size, before[lower]
        if not len(growing):
            break
    return sizes


def local_flats(
    X: NDArray[np.floating], rows: NDArray[np.integer], dim: int, *, affine: bool
) -> LocalFlats:
    """Fit a flat to the neighbourhood of each of some points.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points, one per row.
    rows : ndarray of shape (m,)
        The points around which flats are fitted.
    dim : int
        Dimension of the flats.
    affine : bool
        Whether flats may miss the origin.

    Returns
    -------
    LocalFlats
        One flat per row.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]])
    >>> flats = local_flats(line, np.array([0]), dim=1, affine=False)
    >>> abs(flats.bases).round(3)
    array([[[0.707, 0.707]]])
    """
    count = most_neighbours(len(X), dim)
    index, distance = nearest_points(X, rows, count, affine=affine)
    bases = np.zeros((len(rows), dim, X.shape[1]), X.dtype)
    centres = np.zeros((len(rows), X.shape[1]), X.dtype)
    gram = np.empty((len(rows), count, count))
    for row, near in enumerate(index):
        gram[row] = X[near] @ X[near].T
    sizes = neighbourhood_sizes(gram, distance, dim, affine=affine)
    for size in np.unique(sizes).tolist():
        places = np.flatnonzero(sizes == size)
        parts = _centred(gram[places, :size, :size], affine)
        energies, vectors = np.linalg.eigh(parts)
        kept = energies[:, None, -dim:]
        exact = kept > energies[:, None, -1:] * ROUNDING**2
        weights = vectors[:, :, -dim:] * np.where(
            exact, 1 / np.sqrt(np.where(exact, kept, 1.0)), 0.0
        )
        for place, weight in zip(places, weights, strict=True):
            near = X[index[place, :size]]
            if affine:
                centres[place] = near.mean(axis=0)
            fitted = weight.T @ (near - centres[place])
            bases[place, : len(fitted)] = fitted
    return LocalFlats(bases, centres, sizes)


def _centred(gram: NDArray[np.float64], affine: bool) -> NDArray[np.float64]:
    """Return the inner products of points from which their mean is taken, if affine."""
    if not affine:
        return gram
    means = gram.mean(axis=1, keepdims=True)
    overall = means.mean(axis=2, keepdims=True)
    return gram - means - means.transpose(0, 2, 1) + overall


def nearest_to_flats(
    X: NDArray[np.floating], rows: NDArray[np.integer], flats: LocalFlats, q: int
) -> NDArray[np.int64]:
    """Find the q points nearest to the flat of each row, the row itself left out.

    Returns
    -------
    index : ndarray of shape (m, q)
        In order of index.
    """
    n_flats, dim, n_features = flats.bases.shape
    inside = (flats.bases.reshape(-1, n_features) @ X.T).reshape(n_flats, dim, -1)
    inside -= np.einsum("ikf,if->ik", flats.bases, flats.centres)[:, :, None]
    squared = np.einsum("ij,ij->i", X, X) - 2 * flats.centres @ X.T
    squared -= np.einsum("ikj,ikj->ij", inside, inside)
    squared[np.arange(len(rows)), rows] = np.inf
    return np.sort(np.argpartition(squared, q - 1, axis=1)[:, :q], axis=1)


def distances_to_each(
    X: NDArray[np.floating],
    flats: LocalFlats,
    lists: Sequence[NDArray[np.integer]],
) -> NDArray[np.float64]:
    """Return the distances of the points of each list to its flat, one after another.

    They are lengths of what lies outside the flat, exact also where they are small.
    """
    found = [np.empty(0)]
    for basis, centre, some in zip(flats.bases, flats.centres, lists, strict=True):
        seen = X[some] - centre
        found.append(np.linalg.norm(seen - (seen @ basis.T) @ basis, axis=1))
    return np.concatenate(found)


def flat_weights(
    index: NDArray[np.integer],
    onward: NDArray[np.float64],
    back: NDArray[np.float64],
    rounding: float,
) -> NDArray[np.float64]:
    r"""Return the weights of edges between points that lie near each other's flats.

    With S the geometric mean of both distances of a pair, the weight is
    :math:`e^{-S^2 / 2 w_i^2} + e^{-S^2 / 2 w_j^2}`, where the width :math:`w_i` of a
    point is the median of S over its list.

    Parameters
    ----------
    index : ndarray of shape (n_samples, q)
        The points that are listed at the flat of each point.
    onward, back : ndarray of shape (n_samples, q)
        Their distances to that flat, and those of the point to their flats.
    rounding : float
        Widths are at least this.

    Returns
    -------
    weights : ndarray of shape (n_samples, q)
        Between 0 and 2, the same for both directions of a pair.

    Examples
    --------
    >>> import numpy as np
    >>> index = np.array([[1], [0]])
    >>> flat_weights(index, np.ones((2, 1)), np.ones((2, 1)), 1e-6).round(3)
    array([[1.213],
           [1.213]])
    """
    squared = onward * back
    widths = np.maximum(np.median(squared, axis=1), rounding**2)
    return np.exp(-squared / 2 / widths[:, None]) + np.exp(-squared / 2 / widths[index])
