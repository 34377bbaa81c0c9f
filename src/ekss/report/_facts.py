"""Everything a report says, as numbers: computed here, drawn elsewhere."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.core.doubts import Doubt, find_doubts, rows_to_doubt
from ekss.report._advice import Advice, advice_for
from ekss.report._agreement import Agreement, Blocks, agreement_of, blocks_of
from ekss.report._ensemble import Counts, Members, counts_of, members_of
from ekss.report._gallery import Gallery, Tracks, gallery_of, tracks_of
from ekss.report._geometry import Angles, Fit, Residuals, angles_of, fit_of
from ekss.report._geometry import residuals_of as sum_residuals
from ekss.report._graph import Pieces, Spectrum, pieces_of, spectrum_of
from ekss.report._inputs import Inputs
from ekss.report._layout import Layout, layout_of
from ekss.report._scores import Scores, scores_of


@dataclass(frozen=True)
class Run:
    """What was run.

    Attributes
    ----------
    method : str
        Class of the estimator.
    n_samples, n_features, n_clusters : int
        Points in clusters, their length, and the clusters asked for.
    n_left_out, n_zero : int
        Points in no cluster, and points that are zero.
    n_rows : int
        Rows that were clustered; more than the points where these are a sample.
    affine : bool
        Whether subspaces may miss the origin.
    seconds : float or None
        How long the fit took.
    parameters : tuple of (str, str, bool)
        Name, value and whether it is not the default.
    found : tuple of (str, str)
        What the estimator chose by itself: name and value.
    unfinished : tuple of (str, int)
        Limits on iterations that were reached: name and value.
    """

    method: str
    n_samples: int
    n_features: int
    n_clusters: int
    n_left_out: int
    n_zero: int
    n_rows: int
    affine: bool
    seconds: float | None
    parameters: tuple[tuple[str, str, bool], ...]
    found: tuple[tuple[str, str], ...]
    unfinished: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Cluster:
    """What is known of one cluster.

    Attributes
    ----------
    name : int
        Its number in ``labels_``.
    size : int
        Its points.
    effective_dim : int
        Directions that hold 95 % of its energy.
    energy, captured : float
        Mean squared length of its points, and the share inside its subspace.
    residual_median, residual_high : float
        Median and 90th percentile of the distance to its subspace.
    nearer_elsewhere : float
        Share of its points that are nearer to another subspace.
    agreement, agreement_low, agreement_high : float
        Median, 10th and 90th percentile of its points' agreement.
    agreement_quarters : tuple of (float, float)
        25th and 75th percentile.
    """

    name: int
    size: int
    effective_dim: int
    energy: float
    captured: float
    residual_median: float
    residual_high: float
    nearer_elsewhere: float
    agreement: float
    agreement_low: float
    agreement_high: float
    agreement_quarters: tuple[float, float]


@dataclass(frozen=True)
class Facts:
    """All parts of a report; None for those that a method does not have."""

    inputs: Inputs
    run: Run
    clusters: tuple[Cluster, ...]
    fit: Fit
    residuals: Residuals
    agreement: Agreement
    layout: Layout
    blocks: Blocks | None
    pieces: Pieces | None
    spectrum: Spectrum | None
    angles: Angles | None
    scores: Scores | None
    gallery: Gallery | None
    tracks: Tracks | None
    counts: Counts | None
    members: Members | None
    doubts: tuple[Doubt, ...]

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to read first."""
        return advice_for(self)

    @property
    def captured(self) -> float:
        """Share of the energy of all points that lies in their subspaces."""
        energy = sum(c.energy * c.size for c in self.clusters)
        inside = sum(c.captured * c.energy * c.size for c in self.clusters)
        return inside / energy if energy > 0 else 0.0


def gather_facts(inputs: Inputs, seconds: float | None) -> Facts:
    """Compute every part that the estimator's attributes allow."""
    fit = fit_of(inputs)
    residuals = sum_residuals(fit, inputs.codes)
    agreement = agreement_of(inputs, fit)
    several = inputs.n_clusters > 1
    return Facts(
        inputs,
        _run_of(inputs, seconds),
        _clusters_of(inputs, fit, residuals, agreement),
        fit,
        residuals,
        agreement,
        layout_of(inputs, fit),
        blocks_of(inputs),
        pieces_of(inputs),
        spectrum_of(inputs),
        angles_of(fit.flats.bases) if several else None,
        scores_of(inputs),
        gallery_of(inputs, fit, agreement),
        tracks_of(inputs),
        counts_of(inputs),
        members_of(inputs),
        _doubts_about(inputs, fit),
    )


def _doubts_about(inputs: Inputs, fit: Fit) -> tuple[Doubt, ...]:
    """Return what the estimators warn of."""
    n_clusters = int(getattr(inputs.estimator, "n_clusters_", inputs.n_clusters))
    return find_doubts(
        inputs.points[rows_to_doubt(len(inputs.points), n_clusters)],
        n_clusters=n_clusters,
        n_used=inputs.n_clusters,
        dim=None if fit.fitted_here else fit.dim,
        affine=inputs.affine,
    )


def _run_of(inputs: Inputs, seconds: float | None) -> Run:
    estimator = inputs.estimator
    parameters = estimator.get_params(deep=False)
    signature = inspect.signature(type(estimator).__init__).parameters
    return Run(
        type(estimator).__name__,
        inputs.points.shape[0],
        inputs.points.shape[1],
        int(getattr(estimator, "n_clusters_", inputs.n_clusters)),
        inputs.n_left_out,
        int(np.sum(~inputs.points.any(axis=1))),
        inputs.n_rows,
        inputs.affine,
        seconds,
        tuple(
            (name, _shown(value), not _same(value, signature.get(name)))
            for name, value in parameters.items()
        ),
        tuple(
            (name.rstrip("_"), _shown(getattr(estimator, name)))
            for name in _found_names(inputs)
            if hasattr(estimator, name)
        )
        + _found_removal(estimator),
        _unfinished(estimator, parameters),
    )


def _found_names(inputs: Inputs) -> tuple[str, ...]:
    """Name what is worth telling of a fit; numbers that were given are not."""
    members = members_of(inputs)
    return (
        *(("n_clusters_",) if counts_of(inputs) is not None else ()),
        *(("n_members_",) if members is not None and members.chosen else ()),
        *("subspace_dim_", "affine_", "n_neighbors_", "n_iter_"),
    )


def _found_removal(estimator: Any) -> tuple[tuple[str, str], ...]:
    """Tell how many components were removed, where that was left to the data."""
    if not getattr(estimator, "removals_", ()):
        return ()
    return (("remove_components", _shown(len(estimator.removed_))),)


def _unfinished(
    estimator: Any, parameters: dict[str, Any]
) -> tuple[tuple[str, int], ...]:
    """Name the limit that stopped an iteration; members of ensembles stop early."""
    limit = parameters.get("max_iter")
    if limit is None or hasattr(estimator, "member_labels_"):
        return ()
    converged = getattr(estimator, "converged_", None)
    if converged is not None:
        stopped = not bool(np.all(converged))
    else:
        stopped = getattr(estimator, "n_iter_", 0) >= limit > 0
    return (("max_iter", int(limit)),) if stopped else ()


def _same(value: Any, parameter: inspect.Parameter | None) -> bool:
    default = None if parameter is None else parameter.default
    return bool(value is default or (type(value) is type(default) and value == default))


def _shown(value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _clusters_of(
    inputs: Inputs, fit: Fit, residuals: Residuals, agreement: Agreement
) -> tuple[Cluster, ...]:
    codes = inputs.codes[agreement.rows]
    spread = [
        _quantiles(agreement.values[codes == k]) for k in range(inputs.n_clusters)
    ]
    return tuple(
        Cluster(
            name,
            int(inputs.sizes[k]),
            int(fit.effective_dims[k]),
            float(fit.energies[k]),
            float(fit.captured[k]),
            float(residuals.medians[k]),
            float(residuals.high[k]),
            float(residuals.nearer_elsewhere[k]),
            float(spread[k][2]),
            float(spread[k][0]),
            float(spread[k][4]),
            (float(spread[k][1]), float(spread[k][3])),
        )
        for k, name in enumerate(inputs.names)
    )


def _quantiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not values.size:
        return np.zeros(5)
    return np.quantile(values, (0.1, 0.25, 0.5, 0.75, 0.9))
