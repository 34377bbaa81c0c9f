"""Subspaces of the clusters: how well they fit, how they lie to each other."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ekss.core.linalg import Flats, distances_to_flats, fit_clusters
from ekss.metrics import subspace_affinities
from ekss.report import _figures as fig
from ekss.report._figures import Floats, Ints
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
BINS = 24  # of the histograms of distances
_LONGEST_FILE = 1_400_000  # bytes of labels that a page offers; Chromium takes 2 MB


@dataclass(frozen=True)
class Fit:
    """How points lie to the subspaces of the clusters."""

    flats: Flats  # one subspace per cluster, in the order of the report
    # whether the estimator has no subspaces and these are principal components
    fitted_here: bool
    rows: Ints  # (n_rows,): the points that were measured: all, or a sample
    codes: Ints  # (n_rows,): their clusters
    distances: Floats  # (n_rows, n_clusters): from each of them to each subspace
    effective_dims: Ints  # (n_clusters,): directions that hold 95 % of the energy
    # (n_clusters,): mean squared length of the points, from the mean if subspaces are
    # affine
    energies: Floats

    @property
    def dim(self) -> int:
        """Dimension of the subspaces, the largest if they differ."""
        return int(self.flats.bases.shape[2])

    @cached_property
    def dims(self) -> Ints:
        """Dimension of each subspace."""
        return self.flats.dims

    @cached_property
    def own(self) -> Floats:
        """Distance of each point to the subspace of its own cluster."""
        return self.distances[np.arange(len(self.codes)), self.codes].astype(float)

    @cached_property
    def other(self) -> Floats:
        """Distance of each point to the nearest subspace that is not its own."""
        others = self.distances.astype(float)
        others[np.arange(len(self.codes)), self.codes] = np.inf
        return others.min(axis=1)

    def rival(self, row: int) -> int:
        """Position of the nearest cluster of a measured point that is not its own."""
        place = int(np.searchsorted(self.rows, row))
        others = self.distances[place].astype(float)
        others[self.codes[place]] = np.inf
        return int(others.argmin())

    @cached_property
    def reach(self) -> float:
        """A distance that nearly all points keep: the end of the histograms."""
        return float(np.quantile(self.own, 0.995)) or float(self.own.max()) or 1.0


@dataclass(frozen=True)
class Angles:
    """How the subspaces lie to each other."""

    # (n_clusters, n_clusters): root mean square of the cosines of the principal angles
    affinities: Floats
    smallest: Floats  # (n_clusters, n_clusters): smallest principal angle in degrees


def fit_of(inputs: Inputs) -> Fit:
    """Measure how well subspaces fit, the estimator's or principal components.

    Of many points a sample is measured, so that it takes a few seconds at most.
    """
    rng, k = np.random.default_rng(0), inputs.n_clusters
    entries = _CLUSTER_ENTRIES // inputs.n_features
    most = max(_FEWEST_ROWS, min(_MOST_ROWS, entries, _ALL_ROWS // k))
    groups = [at_most(np.flatnonzero(inputs.codes == i), most, rng) for i in range(k)]
    spectra = [_spectrum(inputs, rows) for rows in groups]
    energies = np.array([energy for energy, _ in spectra])
    dims = np.array([dim for _, dim in spectra], np.int64)
    flats, fitted_here = inputs.subspaces, False
    if flats is None:
        flats, fitted_here = _principal_flats(inputs, groups, dims), True
    rows = at_most(np.arange(inputs.n_samples), _affordable(flats), rng)
    distances = np.concatenate(
        [
            distances_to_flats(inputs.points[some], flats)
            for some in np.array_split(rows, -(-len(rows) // _CHUNK))
        ]
    )
    codes = inputs.codes[rows]
    return Fit(flats, fitted_here, rows, codes, distances, dims, energies)


def angles_of(bases: Floats) -> Angles:
    """Principal angles between all pairs of subspaces; columns may be zero."""
    n_clusters, _, dim = bases.shape
    exact = bases.astype(np.float64)
    stacked = exact.transpose(1, 0, 2).reshape(exact.shape[1], -1)
    blocks = (stacked.T @ stacked).reshape(n_clusters, dim, n_clusters, dim)
    cosines = np.linalg.svd(blocks.transpose(0, 2, 1, 3), compute_uv=False)[..., 0]
    smallest = np.degrees(np.arccos(np.clip(cosines, 0, 1)))
    np.fill_diagonal(smallest, 0.0)
    trimmed = [basis[:, basis.any(axis=0)] for basis in exact]
    return Angles(subspace_affinities(trimmed), (smallest + smallest.T) / 2)


def at_most(rows: Ints, most: int, rng: np.random.Generator | None = None) -> Ints:
    """All rows, or a sample that is always the same, in order."""
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng(0) if rng is None else rng
    return np.sort(rng.choice(rows, most, replace=False))


def quantiles(values: Floats, shares: Sequence[float]) -> list[float]:
    """Quantiles of values; 0 where there are none."""
    return np.quantile(values, shares).tolist() if values.size else [0.0] * len(shares)


def draw_clusters(facts: Facts) -> Panel:
    """List the clusters: size, dimension, fit and agreement."""
    inputs, fit = facts.inputs, facts.fit
    rows = [(k, c, _draw_histogram(facts, k)) for k, c in enumerate(facts.clusters)]
    edge = fit.reach
    body = part(
        "clusters",
        rows=rows,
        shown=rows_at_once(len(rows)),
        reach=edge,
        download=_labels_file(inputs),
    )
    centred = ", measured from their mean" if inputs.affine else ""
    ours = f"; {_about_principal(facts)}" if fit.fitted_here else ""
    sampled = (
        f" Energy, distances and dimensions are measured on {len(fit.rows):,} points "
        "drawn at random."
        if len(fit.rows) < inputs.n_samples
        else ""
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
    if facts.angles is None:
        return None
    about = ""
    if facts.inputs.affine:
        about = " Only directions count: parallel affine subspaces have affinity 1."
    elif facts.fit.fitted_here:
        about = f" {_about_principal(facts)}."
    return affinities_panel(facts.angles.affinities, facts.names, about)


def draw_angles(facts: Facts) -> Panel | None:
    """Draw the smallest principal angles between the subspaces."""
    if facts.angles is None:
        return None
    return angles_panel(facts.angles.smallest, facts.names)


def affinities_panel(values: Floats, names: Sequence[str], about: str = "") -> Panel:
    """Draw affinities between subspaces as a heat map."""
    off = values[~np.eye(len(values), dtype=bool)]
    low, high = f"{off.min():.2f}", f"{off.max():.2f}"
    alt = f"Affinities between {len(names)} subspaces, from {low} to {high}."
    cells = [[f"{v:.2f}".lstrip("0") for v in row] for row in values]
    shades, both = fig.relative_shades(values), (range(len(names)),) * 2
    drawing = fig.heat_map(shades, cells, names, names, alt, clusters=both)
    reading = (
        "Affinity of two subspaces (root mean square cosine of their principal "
        "angles): 0 at right angles, 1 if one contains the other. Shaded from the "
        f"least ({low}) to the most alike ({high}): the strongest colour marks the "
        f"pairs that are hardest to tell apart.{about}"
    )
    return Panel("affinities", "Affinities between subspaces", drawing, reading)


def angles_panel(values: Floats, names: Sequence[str]) -> Panel:
    """Draw smallest principal angles, in degrees, as a heat map."""
    off = values[~np.eye(len(values), dtype=bool)]
    low, high = f"{off.min():.0f}", f"{off.max():.0f}"
    alt = (
        f"Smallest principal angles between {len(names)} subspaces, from {low} to "
        f"{high} degrees."
    )
    cells = [[f"{v:.0f}°" for v in row] for row in values]
    shades, both = fig.relative_shades(90 - values), (range(len(names)),) * 2
    drawing = fig.heat_map(shades, cells, names, names, alt, clusters=both)
    reading = (
        "Smallest principal angle of two subspaces: 0° if they share a direction, 90° "
        f"if they are orthogonal. Shaded from {high}° to {low}°: the strongest colour "
        "marks the pairs that come nearest to sharing a direction."
    )
    return Panel("angles", "Smallest principal angles", drawing, reading)


def _labels_file(inputs: Inputs) -> str:
    """Write the labels of all rows into an address, as `ekss.io` writes them.

    Empty where they are too many: browsers refuse long addresses.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    labels, ids = inputs.labels.tolist(), inputs.all_ids
    writer.writerow(["label"] if ids is None else ["id", "label"])
    writer.writerows(zip(labels) if ids is None else zip(ids, labels, strict=True))
    content = text.getvalue().encode()
    if len(content) > _LONGEST_FILE:
        return ""
    return f"data:text/csv;base64,{base64.b64encode(content).decode('ascii')}"


def _about_principal(facts: Facts) -> str:
    return (
        f"{facts.inputs.method} fits no subspaces, so these are the first "
        f"{facts.fit.dim} principal components of each cluster"
    )


def _draw_histogram(facts: Facts, position: int) -> fig.Html:
    """Draw the distances of one cluster to its subspace, small, for the table."""
    cluster = facts.clusters[position]
    counts = cluster.residual_histogram
    frame = fig.Frame(1, 2, 119, 26, (0, 1), (0, max(*counts, 1)))
    alt = (
        f"Distances of cluster {cluster.name} to its subspace: median "
        f"{cluster.residual_median:.3g}, 90 % below {cluster.residual_high:.3g}, axis "
        f"to {facts.fit.reach:.3g}."
    )
    bars = fig.steps(frame, counts, f"fill {fig.colour(position)}")
    return fig.svg(120, 28, [bars, fig.rule(frame)], alt, "spark")


def _spectrum(inputs: Inputs, rows: Ints) -> tuple[float, int]:
    """Mean energy of some points of a cluster, and how many directions hold it."""
    points = inputs.points[rows].astype(np.float64)
    if inputs.affine:
        points -= points.mean(axis=0)
    gram = points @ points.T if len(points) < points.shape[1] else points.T @ points
    values = np.clip(np.linalg.eigvalsh(gram)[::-1], 0, None)
    total = float(values.sum())
    if total <= 0:
        return 0.0, 0
    dim = np.searchsorted(np.cumsum(values) / total, ENERGY - 1e-12) + 1
    return total / len(rows), int(dim)


def _principal_flats(inputs: Inputs, groups: list[Ints], dims: Ints) -> Flats:
    """Fit subspaces to some points of each cluster, of the median of its dimensions."""
    dim = int(np.clip(np.median(dims), 1, min(_LARGEST_DIM, inputs.n_features)))
    rows = np.concatenate(groups)
    points, codes = inputs.points[rows], inputs.codes[rows]
    k, affine = inputs.n_clusters, inputs.affine
    return fit_clusters(points, codes, k, dim, affine=affine, seed=0)


def _affordable(flats: Flats) -> int:
    """Return how many points can be measured in a few seconds."""
    n_clusters, n_features, dim = flats.bases.shape
    work = n_clusters * n_features * (dim + _BESIDES)
    return max(_SMALLEST_SAMPLE, int(_WORK / work))
