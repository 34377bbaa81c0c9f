"""Everything a report on clusters says, as numbers: computed here, drawn elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.core.doubts import Doubt, find_doubts, rows_to_doubt
from ekss.report._advice import advice_for
from ekss.report._agreement import Agreement, agreement_of
from ekss.report._fitted import Counts, Inputs, Members, Run
from ekss.report._gallery import Gallery, Tracks, gallery_of, tracks_of
from ekss.report._geometry import (
    Angles,
    Fit,
    Residuals,
    angles_of,
    fit_of,
    residuals_of,
)
from ekss.report._layout import Layout, layout_of
from ekss.report._matrix import Blocks, blocks_of
from ekss.report._page import Notice
from ekss.report._scores import Scores, scores_of
from ekss.report._spectrum import Pieces, Spectrum, pieces_of, spectrum_of


@dataclass(frozen=True)
class Cluster:
    """What is known of one cluster."""

    name: int  # its number in ``labels_``
    size: int  # its points
    effective_dim: int  # directions that hold 95 % of its energy
    energy: float  # mean squared length of its points
    captured: float  # share of the energy inside its subspace
    residual_median: float  # distance to its subspace, and below it the 90th percentile
    residual_high: float
    nearer_elsewhere: float  # share of its points that are nearer to another subspace
    agreement: float  # median of its points, then their 10th and 90th percentile
    agreement_low: float
    agreement_high: float
    agreement_quarters: tuple[float, float]  # 25th and 75th percentile


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
    def advice(self) -> tuple[Notice, ...]:
        """What to read first."""
        return advice_for(self)

    @property
    def captured(self) -> float:
        """Share of the energy of all points that lies in their subspaces."""
        energy = sum(c.energy * c.size for c in self.clusters)
        inside = sum(c.captured * c.energy * c.size for c in self.clusters)
        return inside / energy if energy > 0 else 0.0

    @property
    def about_crosses(self) -> str:
        """What crosses in figures mean, where there are any."""
        if self.scores is None or not self.scores.wrong.any():
            return ""
        return " Crosses are points whose true label says otherwise."


def gather_facts(inputs: Inputs, run: Run) -> Facts:
    """Compute every part that the estimator's attributes allow."""
    fit = fit_of(inputs)
    residuals = residuals_of(fit, inputs.codes)
    agreement = agreement_of(inputs, fit)
    several = inputs.n_clusters > 1
    return Facts(
        inputs,
        run,
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
        inputs.counts,
        inputs.members,
        _doubts_about(inputs, fit),
    )


def _doubts_about(inputs: Inputs, fit: Fit) -> tuple[Doubt, ...]:
    """Return what the estimators warn of."""
    return find_doubts(
        inputs.points[rows_to_doubt(len(inputs.points), inputs.n_asked)],
        n_clusters=inputs.n_asked,
        n_used=inputs.n_clusters,
        dim=None if fit.fitted_here else fit.dim,
        affine=inputs.affine,
    )


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
