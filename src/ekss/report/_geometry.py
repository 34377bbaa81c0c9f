"""Subspaces of the clusters: how well they fit, how they lie to each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats, distances_to_flats, fit_clusters
from ekss.metrics import subspace_affinities
from ekss.report._inputs import Inputs

# A cluster has as many dimensions as hold this share of its energy.
ENERGY = 0.95
# Subspaces fitted for methods that fit none are no larger than this.
_LARGEST_DIM = 20
# Rows that are decomposed: of all clusters together, and of one with its entries.
_FEWEST_ROWS = 200
_MOST_ROWS = 2000
_ALL_ROWS = 30_000
_CLUSTER_ENTRIES = 1_000_000
# Distances of all points to all subspaces are computed up to so many operations, of
# which a number of a point takes a few besides its products with a basis.
_WORK = 1e10
_BESIDES = 8
_SMALLEST_SAMPLE = 2000
_CHUNK = 8192
HISTOGRAM_BINS = 24


@dataclass(frozen=True)
class Fit:
    """How points lie to the subspaces of the clusters.

    Attributes
    ----------
    flats : Flats
        One subspace a cluster, in the order of the report.
    fitted_here : bool
        Whether the estimator has no subspaces and these are principal components.
    rows : ndarray of shape (n_rows,)
        The points that were measured: all, or a sample of a large set.
    distances : ndarray of shape (n_rows, n_clusters)
        Distance of each of them to each subspace.
    effective_dims : ndarray of shape (n_clusters,)
        Directions that hold 95 % of the energy of a cluster.
    captured : ndarray of shape (n_clusters,)
        Share of the energy of a cluster that lies in its subspace.
    energies : ndarray of shape (n_clusters,)
        Mean squared length of its points, from the mean if subspaces are affine.
    """

    flats: Flats
    fitted_here: bool
    rows: NDArray[np.int64]
    distances: NDArray[np.floating]
    effective_dims: NDArray[np.int64]
    captured: NDArray[np.float64]
    energies: NDArray[np.float64]

    @property
    def dim(self) -> int:
        """Dimension of the subspaces."""
        return int(self.flats.bases.shape[2])


@dataclass(frozen=True)
class Residuals:
    """Distances of points to the subspace of their own cluster.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Bins of the histograms, the same for all clusters.
    counts : ndarray of shape (n_clusters, n_bins)
        The last bin also counts what lies beyond.
    medians, high : ndarray of shape (n_clusters,)
        Median and 90th percentile.
    nearer_elsewhere : ndarray of shape (n_clusters,)
        Share of points that lie nearer to the subspace of another cluster.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    medians: NDArray[np.float64]
    high: NDArray[np.float64]
    nearer_elsewhere: NDArray[np.float64]


@dataclass(frozen=True)
class Angles:
    """How the subspaces lie to each other.

    Attributes
    ----------
    affinities : ndarray of shape (n_clusters, n_clusters)
        Root mean square of the cosines of the principal angles.
    smallest : ndarray of shape (n_clusters, n_clusters)
        Smallest principal angle in degrees.
    """

    affinities: NDArray[np.float64]
    smallest: NDArray[np.float64]


def fit_of(inputs: Inputs) -> Fit:
    """Measure how well subspaces fit, the estimator's or principal components.

    Notes
    -----
    O(n_samples n_features n_clusters dim) time, up to a bound beyond which a sample
    of the points is measured; memory beyond the result is that of a few thousand
    points.
    """
    rng = np.random.default_rng(0)
    energies, dims = _spectra(inputs, rng)
    own = getattr(inputs.estimator, "bases_", None)
    flats = _own_flats(inputs) if own is not None else _fitted(inputs, dims)
    rows = _measured_rows(inputs, flats, rng)
    distances = np.concatenate(
        [
            distances_to_flats(inputs.points[part], flats)
            for part in np.array_split(rows, -(-len(rows) // _CHUNK))
        ]
    )
    squares = distances[np.arange(len(rows)), inputs.codes[rows]].astype(float) ** 2
    lost = _means(squares, inputs.codes[rows], inputs.n_clusters)
    total = np.where(energies > 0, energies, 1.0)
    captured = np.where(energies > 0, np.clip(1 - lost / total, 0, 1), 0.0)
    return Fit(flats, own is None, rows, distances, dims, captured, energies)


def residuals_of(fit: Fit, codes: NDArray[np.int64]) -> Residuals:
    """Sum the distances up, cluster by cluster."""
    codes = codes[fit.rows]
    n_clusters = fit.distances.shape[1]
    own = fit.distances[np.arange(len(codes)), codes].astype(float)
    top = float(np.quantile(own, 0.995)) or float(own.max()) or 1.0
    edges = np.linspace(0, top, HISTOGRAM_BINS + 1)
    bins = np.minimum((own / top * HISTOGRAM_BINS).astype(int), HISTOGRAM_BINS - 1)
    flat = np.bincount(
        codes * HISTOGRAM_BINS + bins, minlength=n_clusters * HISTOGRAM_BINS
    )
    groups = [own[codes == k] for k in range(n_clusters)]
    tiny = 1e-9 * top
    elsewhere = nearest_other(fit.distances, codes) < own - tiny
    return Residuals(
        edges,
        flat.reshape(n_clusters, HISTOGRAM_BINS),
        np.array([_quantile(group, 0.5) for group in groups]),
        np.array([_quantile(group, 0.9) for group in groups]),
        _means(elsewhere, codes, n_clusters),
    )


def angles_of(bases: NDArray[np.floating]) -> Angles:
    """Principal angles between all pairs of subspaces of one dimension."""
    n_clusters, _, dim = bases.shape
    exact = bases.astype(np.float64)
    stacked = exact.transpose(1, 0, 2).reshape(exact.shape[1], -1)
    blocks = (stacked.T @ stacked).reshape(n_clusters, dim, n_clusters, dim)
    cosines = np.linalg.svd(blocks.transpose(0, 2, 1, 3), compute_uv=False)[..., 0]
    smallest = np.degrees(np.arccos(np.clip(cosines, 0, 1)))
    np.fill_diagonal(smallest, 0.0)
    return Angles(subspace_affinities(list(exact)), (smallest + smallest.T) / 2)


def nearest_other(
    distances: NDArray[np.floating], codes: NDArray[np.int64]
) -> NDArray[np.floating]:
    """Distance of each point to the nearest subspace that is not its own."""
    others = distances.astype(np.float64)
    others[np.arange(len(codes)), codes] = np.inf
    return others.min(axis=1)


def _spectra(
    inputs: Inputs, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean energy and effective dimension of every cluster, from a sample of it."""
    most = _rows_a_cluster(inputs)
    energies, dims = np.zeros(inputs.n_clusters), np.zeros(inputs.n_clusters, np.int64)
    for k in range(inputs.n_clusters):
        rows = _at_most(np.flatnonzero(inputs.codes == k), most, rng)
        points = inputs.points[rows].astype(np.float64)
        if inputs.affine:
            points -= points.mean(axis=0)
        gram = points @ points.T if len(points) < points.shape[1] else points.T @ points
        values = np.clip(np.linalg.eigvalsh(gram)[::-1], 0, None)
        total = values.sum()
        energies[k] = total / len(rows)
        if total > 0:
            dims[k] = np.searchsorted(np.cumsum(values) / total, ENERGY - 1e-12) + 1
    return energies, dims


def _own_flats(inputs: Inputs) -> Flats:
    order = list(inputs.names)
    dtype = inputs.points.dtype
    offsets = getattr(inputs.estimator, "offsets_", None)
    return Flats(
        inputs.estimator.bases_[order].astype(dtype, copy=False),
        None if offsets is None else offsets[order].astype(dtype, copy=False),
    )


def _fitted(inputs: Inputs, dims: NDArray[np.int64]) -> Flats:
    dim = int(np.clip(np.median(dims), 1, min(_LARGEST_DIM, inputs.points.shape[1])))
    rng = np.random.default_rng(0)
    most = _rows_a_cluster(inputs)
    groups = (np.flatnonzero(inputs.codes == k) for k in range(inputs.n_clusters))
    rows = np.concatenate([_at_most(group, most, rng) for group in groups])
    return fit_clusters(
        inputs.points[rows],
        inputs.codes[rows],
        inputs.n_clusters,
        dim,
        affine=inputs.affine,
        seed=0,
    )


def _measured_rows(
    inputs: Inputs, flats: Flats, rng: np.random.Generator
) -> NDArray[np.int64]:
    n_clusters, n_features, dim = flats.bases.shape
    affordable = int(_WORK / (n_clusters * n_features * (dim + _BESIDES)))
    rows = np.arange(len(inputs.points))
    return _at_most(rows, max(_SMALLEST_SAMPLE, affordable), rng)


def _rows_a_cluster(inputs: Inputs) -> int:
    entries = _CLUSTER_ENTRIES // inputs.points.shape[1]
    shared = _ALL_ROWS // inputs.n_clusters
    return max(_FEWEST_ROWS, min(_MOST_ROWS, entries, shared))


def _at_most(
    rows: NDArray[np.int64], most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    if len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))


def _means(
    values: NDArray[np.generic], codes: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    counts = np.bincount(codes, minlength=n_clusters)
    sums = np.bincount(codes, weights=values, minlength=n_clusters)
    return sums / np.maximum(counts, 1)


def _quantile(values: NDArray[np.float64], share: float) -> float:
    return float(np.quantile(values, share)) if values.size else 0.0
