"""Where K-subspaces begins: random subspaces, or those of neighbourhoods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats, fit_flat, random_bases


def random_start(
    X: NDArray[np.floating],
    n_subspaces: int,
    dim: int,
    affine: bool,
    rng: np.random.Generator,
) -> Flats:
    """Draw uniform bases; affine subspaces pass through randomly chosen points."""
    bases = random_bases(n_subspaces, X.shape[1], dim, rng, X.dtype)
    if not affine:
        return Flats(bases)
    points = X[rng.integers(len(X), size=n_subspaces)]
    inside = np.einsum("kdj,kd->kj", bases, points)
    return Flats(bases, points - np.einsum("kdj,kj->kd", bases, inside))


def neighbourhood_start(
    X: NDArray[np.floating],
    n_subspaces: int,
    dim: int,
    affine: bool,
    rng: np.random.Generator,
    size: int | None = None,
) -> Flats:
    """Span each subspace by the neighbourhood of a randomly chosen point.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_subspaces, dim : int
    affine : bool
        Affine subspaces take the points of smallest distance, linear ones those of
        largest absolute inner product.
    rng : numpy.random.Generator
    size : int, default=None
        Points of a neighbourhood; None draws one size for all, from twice to five
        times the number of points that determine a subspace.

    Returns
    -------
    start : Flats
        What the neighbours leave free is filled at random.
    """
    spare = random_bases(n_subspaces, X.shape[1], dim, rng, X.dtype)
    seeds = rng.choice(len(X), n_subspaces, replace=len(X) < n_subspaces)
    if size is None:
        determined = dim + affine
        size = int(rng.integers(2 * determined, 5 * determined, endpoint=True))
    fitted = [
        fit_flat(
            X[nearest_points(X, seed, size, affine)],
            dim,
            affine=affine,
            spare=spare[k],
        )
        for k, seed in enumerate(seeds)
    ]
    bases = np.stack([basis for basis, _ in fitted])
    return Flats(bases, np.stack([offset for _, offset in fitted]) if affine else None)


def nearest_points(
    X: NDArray[np.floating], seed: int, size: int, affine: bool
) -> NDArray[np.integer]:
    """Return the rows nearest to row ``seed``, nearest first.

    By distance if affine, else by absolute inner product: for rows of unit length that
    is the angle.
    """
    if affine:
        apart = X - X[seed]
        remoteness = np.einsum("ij,ij->i", apart, apart)
    else:
        remoteness = -np.abs(X @ X[seed])
    return np.argsort(remoteness, kind="stable")[:size]


STARTS = {"random": random_start, "neighbors": neighbourhood_start}
