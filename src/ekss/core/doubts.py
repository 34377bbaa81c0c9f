"""Signs, cheap to see, that the clusters of a fit mean nothing or are not all there.

The estimators warn of them and the report shows them: one rule for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.core.scaling import unit_rows

# Rows that are looked at: at least so many, and so many for each cluster; and columns.
_FEWEST_ROWS = 200
_ROWS_PER_CLUSTER = 3
_MOST_ROWS = 1000
_MOST_FEATURES = 300
# Singular values below this share of the largest are rounding errors of float32.
_ROUNDING = 1e-6
# Fewer rows or features say too little about noise.
_ROWS_FOR_NOISE = 40
_FEATURES_FOR_NOISE = 3
# Shuffled copies that noise is compared with, and by how many of their standard
# deviations structure must exceed them. Measured: Gaussian noise exceeds them by 4 in 4
# of 1,000 draws (at most 5.1); unions of subspaces by at least 7.7; digits, USPS,
# MNIST, COIL, Yale B and the sequences of Hopkins 155 by at least 54.
_COPIES = 10
_EXCESS = 4.0


class ClusteringWarning(UserWarning):
    """The clusters of a fit mean nothing, or there are fewer than were asked for.

    All estimators warn of

    - points that are all zero, or, for affine subspaces, all equal;
    - points that one subspace holds, of the dimension that is fitted, so that nothing
      tells clusters apart; methods that fit no subspaces warn of points on one line;
    - points that resemble each other no more than if every feature had been shuffled
      for itself, as independent Gaussian noise does;
    - fewer clusters with points than ``n_clusters``.

    Turn it off with ``warnings.simplefilter("ignore", ekss.ClusteringWarning)``, or
    into an error with "error" in place of "ignore".
    """


@dataclass(frozen=True)
class Doubt:
    """A reason to doubt the clusters.

    Attributes
    ----------
    key : {"zero", "equal", "one_subspace", "noise", "empty"}
        Short name that does not change, for programs.
    title : str
        What was seen.
    text : str
        What it means and what to do.
    """

    key: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.title}. {self.text}"


def rows_to_doubt(n_samples: int, n_clusters: int) -> NDArray[np.int64]:
    """Return the numbers of the rows that :func:`find_doubts` needs, ascending."""
    size = min(_MOST_ROWS, max(_FEWEST_ROWS, _ROWS_PER_CLUSTER * n_clusters))
    if size >= n_samples:
        return np.arange(n_samples)
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(n_samples, size, replace=False))


def find_doubts(
    points: NDArray[np.floating],
    *,
    n_clusters: int,
    n_used: int,
    dim: int | None,
    affine: bool,
) -> tuple[Doubt, ...]:
    """Return reasons to doubt a clustering.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        All points or, of many, those of :func:`rows_to_doubt`.
    n_clusters, n_used : int
        Clusters that were asked for, and clusters that have points.
    dim : int or None
        Dimension of the subspaces that were fitted; None if the method fits none.
    affine : bool
        Whether they may miss the origin.

    Returns
    -------
    doubts : tuple of Doubt
        Always empty for one cluster, of which nothing is claimed.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.core.doubts import find_doubts
    >>> noise = np.random.default_rng(0).standard_normal((300, 20))
    >>> found = find_doubts(noise, n_clusters=4, n_used=3, dim=2, affine=False)
    >>> [doubt.key for doubt in found]
    ['noise', 'empty']
    """
    if n_clusters == 1:
        return ()
    degenerate = tuple(_of_few_directions(points, n_clusters, dim, affine))
    if degenerate:
        return degenerate
    return (*_of_noise(points), *_of_empty_clusters(n_clusters, n_used))


def resembles_noise(points: NDArray[np.floating], rng: np.random.Generator) -> bool:
    """Tell whether points are no more alike than if features were independent.

    Two measures of the angles between points, the mean cosine of a point and its
    nearest and the mean fourth power of all cosines, are compared with those of copies
    of which every feature was shuffled for itself. Points near subspaces, or in any
    other kind of clusters, have smaller angles. Noise whose features are correlated is
    not recognised.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Fewer than 40 points, or 3 features, are never called noise.
    rng : numpy.random.Generator
        Shuffles.
    """
    n_samples, n_features = points.shape
    if n_samples < _ROWS_FOR_NOISE or n_features < _FEATURES_FOR_NOISE:
        return False
    if n_features > _MOST_FEATURES:
        chosen = rng.choice(n_features, _MOST_FEATURES, replace=False)
        points = points[:, chosen]
    rows = unit_rows(points.astype(np.float64, copy=False))
    shuffled = [_likeness(rng.permuted(rows, axis=0)) for _ in range(_COPIES)]
    spread = np.std(shuffled, axis=0, ddof=1)
    excess = _likeness(rows) - np.mean(shuffled, axis=0)
    return bool((excess <= _EXCESS * spread).all())


def _of_few_directions(
    points: NDArray[np.floating], n_clusters: int, dim: int | None, affine: bool
) -> Iterator[Doubt]:
    if not affine and not points.any():
        yield Doubt(
            "zero",
            "All points are zero",
            "The origin lies on every subspace, so their clusters mean nothing.",
        )
        return
    rank = _rank(points - points.mean(axis=0) if affine else unit_rows(points))
    if rank == 0:
        yield Doubt(
            "equal", "All points are equal", "There is nothing to tell clusters apart."
        )
    elif rank <= (1 if dim is None else dim):
        yield Doubt(
            "one_subspace",
            f"One subspace of dimension {rank} holds all points",
            f"Nothing tells {n_clusters} clusters of that dimension apart; choose "
            + ("one cluster." if rank == 1 else f"subspace_dim below {rank}."),
        )


def _of_noise(points: NDArray[np.floating]) -> Iterator[Doubt]:
    if resembles_noise(points, np.random.default_rng(0)):
        yield Doubt(
            "noise",
            "The points look like noise without clusters",
            "They resemble each other no more than if every feature had been shuffled "
            "for itself, so other data of the same kind would give other clusters.",
        )


def _of_empty_clusters(n_clusters: int, n_used: int) -> Iterator[Doubt]:
    empty = n_clusters - n_used
    if empty > 0:
        yield Doubt(
            "empty",
            f"{empty} of {n_clusters} clusters {'is' if empty == 1 else 'are'} empty",
            f"Choose n_clusters={n_used} or a smaller subspace_dim, or try another "
            "random_state.",
        )


def _rank(points: NDArray[np.floating]) -> int:
    """Return the number of directions that points have, up to rounding."""
    # The largest entry near 1 keeps squares from over- or underflowing.
    largest = float(np.abs(points).max())
    if largest == 0:
        return 0
    values = np.linalg.svd(points.astype(np.float64) / largest, compute_uv=False)
    return int((values > _ROUNDING * values[0]).sum())


def _likeness(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return two measures of how near to each other the directions of rows are."""
    unit = unit_rows(rows)
    squares = np.square(unit @ unit.T)
    np.fill_diagonal(squares, 0)
    nearest = np.sqrt(squares.max(axis=1)).mean()
    return np.array([nearest, np.square(squares).mean()])
