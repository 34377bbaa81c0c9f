"""Subspaces of the clusters: how well they fit, how they lie to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats, distances_to_flats, fit_clusters
from ekss.metrics import subspace_affinities
from ekss.report import _figures as fig
from ekss.report._fitted import Inputs
from ekss.report._page import Panel, part, rows_at_once

if TYPE_CHECKING:
    from ekss.report._facts import Facts

ENERGY = 0.95  # the dimension of a cluster holds this share of its energy
_LARGEST_DIM = 20  # of subspaces fitted here, for methods that fit none
_FEWEST_ROWS = 200  # rows per cluster that are decomposed, at least ...
_MOST_ROWS = 2000  # ... and at most,
_ALL_ROWS = 30_000  # of all clusters together,
_CLUSTER_ENTRIES = 1_000_000  # and the entries of one cluster
_WORK = 1e10  # operations up to which all points are measured: a few seconds
_BESIDES = 8  # operations per number of a point besides its products with a basis
_SMALLEST_SAMPLE = 2000  # points that are measured however costly
_CHUNK = 8192  # points measured at a time
HISTOGRAM_BINS = 24


@dataclass(frozen=True)
class Fit:
    """How points lie to the subspaces of the clusters."""

    flats: Flats  # one subspace per cluster, in the order of the report
    # whether the estimator has no subspaces and these are principal components
    fitted_here: bool
    # (n_rows,): the points that were measured: all, or a sample of a large set
    rows: NDArray[np.int64]
    # (n_rows, n_clusters): distance of each of them to each subspace
    distances: NDArray[np.floating]
    # (n_clusters,): directions that hold 95 % of the energy of a cluster
    effective_dims: NDArray[np.int64]
    # (n_clusters,): share of the energy of a cluster that lies in its subspace
    captured: NDArray[np.float64]
    # (n_clusters,): mean squared length of its points, from the mean if subspaces are
    # affine
    energies: NDArray[np.float64]

    @property
    def dim(self) -> int:
        """Dimension of the subspaces."""
        return int(self.flats.bases.shape[2])


@dataclass(frozen=True)
class Residuals:
    """Distances of points to the subspace of their own cluster."""

    # (n_bins + 1,): bins of the histograms, the same for all clusters
    edges: NDArray[np.float64]
    # (n_clusters, n_bins): the last bin also counts what lies beyond
    counts: NDArray[np.int64]
    medians: NDArray[np.float64]  # (n_clusters,)
    high: NDArray[np.float64]  # (n_clusters,): 90th percentile
    # (n_clusters,): share of points that lie nearer to the subspace of another cluster
    nearer_elsewhere: NDArray[np.float64]


@dataclass(frozen=True)
class Angles:
    """How the subspaces lie to each other."""

    # (n_clusters, n_clusters): root mean square of the cosines of the principal angles
    affinities: NDArray[np.float64]
    # (n_clusters, n_clusters): smallest principal angle in degrees
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
    own = inputs.subspaces
    flats = own if own is not None else _fitted(inputs, dims)
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


def draw_clusters(facts: Facts) -> Panel:
    """List the clusters: size, dimension, fit and agreement."""
    clusters, run = facts.clusters, facts.run
    rows = [(k, c, _draw_histogram(facts, k)) for k, c in enumerate(clusters)]
    edge = facts.residuals.edges[-1]
    body = part("clusters", rows=rows, shown=rows_at_once(len(rows)), reach=edge)
    centred = ", measured from their mean" if run.affine else ""
    ours = ""
    if facts.fit.fitted_here:
        ours = (
            f"; {run.method} fits no subspaces, so these are the first "
            f"{facts.fit.dim} principal components of each cluster"
        )
    sampled = ""
    if len(facts.fit.rows) < run.n_samples:
        sampled = (
            f" Energy, distances and dimensions are measured on "
            f"{len(facts.fit.rows):,} points drawn at random."
        )
    reading = fig.Html(
        "The largest cluster comes first; numbers are those of the labels. "
        "<em>Dimension</em>: directions that hold 95 % of the energy of its points"
        f"{centred}. <em>Energy captured</em>: share inside its subspace{ours}. "
        f"<em>Distance</em>: median, and a histogram from 0 to {edge:.3g}, the same "
        "scale for all: the better a cluster fits, the further left and the narrower "
        f"it is. <em>Agreement</em>: median of “{facts.agreement.title}” "
        f"below.{sampled}"
    )
    return Panel("clusters", "", body, reading, wide=True)


def draw_affinities(facts: Facts) -> Panel | None:
    """Draw the affinities between the subspaces."""
    angles, run = facts.angles, facts.run
    if angles is None:
        return None
    about = ""
    if run.affine:
        about = " Only directions count: parallel affine subspaces have affinity 1."
    elif facts.fit.fitted_here:
        about = (
            f" {run.method} fits no subspaces: these are the first {facts.fit.dim} "
            "principal components of each cluster."
        )
    names = [str(cluster.name) for cluster in facts.clusters]
    return affinities_panel(angles.affinities, names, about)


def draw_angles(facts: Facts) -> Panel | None:
    """Draw the smallest principal angles between the subspaces."""
    if facts.angles is None:
        return None
    names = [str(cluster.name) for cluster in facts.clusters]
    return angles_panel(facts.angles.smallest, names)


def affinities_panel(
    values: NDArray[np.float64], names: Sequence[str], about: str = ""
) -> Panel:
    """Draw affinities between subspaces as a heat map."""
    off = values[~np.eye(len(values), dtype=bool)]
    low, high = f"{off.min():.2f}", f"{off.max():.2f}"
    alt = f"Affinities between {len(names)} subspaces, from {low} to {high}."
    cells = [[f"{v:.2f}".lstrip("0") for v in row] for row in values]
    drawing = fig.heat_map(fig.relative_shades(values), cells, names, names, alt)
    reading = (
        "Affinity of two subspaces (root mean square cosine of their principal "
        "angles): 0 at right angles, 1 if one contains the other. Shaded from the "
        f"least ({low}) to the most alike ({high}): the strongest colour marks the "
        f"pairs that are hardest to tell apart.{about}"
    )
    return Panel("affinities", "Affinities between subspaces", drawing, reading)


def angles_panel(values: NDArray[np.float64], names: Sequence[str]) -> Panel:
    """Draw smallest principal angles, in degrees, as a heat map."""
    off = values[~np.eye(len(values), dtype=bool)]
    low, high = f"{off.min():.0f}", f"{off.max():.0f}"
    alt = (
        f"Smallest principal angles between {len(names)} subspaces, from {low} to "
        f"{high} degrees."
    )
    cells = [[f"{v:.0f}°" for v in row] for row in values]
    drawing = fig.heat_map(fig.relative_shades(90 - values), cells, names, names, alt)
    reading = (
        "Smallest principal angle of two subspaces: 0° if they share a direction, 90° "
        f"if they are orthogonal. Shaded from {high}° to {low}°: the strongest colour "
        "marks the pairs that come nearest to sharing a direction."
    )
    return Panel("angles", "Smallest principal angles", drawing, reading)


def _draw_histogram(facts: Facts, position: int) -> fig.Html:
    """Draw the distances of one cluster to its subspace, small, for the table."""
    counts = facts.residuals.counts[position]
    frame = fig.Frame(1, 2, 119, 26, (0, 1), (0, max(int(counts.max()), 1)))
    cluster = facts.clusters[position]
    alt = (
        f"Distances of cluster {cluster.name} to its subspace: median "
        f"{cluster.residual_median:.3g}, 90 % below {cluster.residual_high:.3g}, axis "
        f"to {facts.residuals.edges[-1]:.3g}."
    )
    body = [
        fig.steps(frame, counts.tolist(), f"fill {fig.colour(position)}"),
        fig.rule(frame),
    ]
    return fig.svg(120, 28, body, alt, "spark")


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
