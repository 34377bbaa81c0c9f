"""Label-free measures of a clustering, and scores against true labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats, fit_clusters, group_rows, squared_residuals
from ekss.core.scaling import unit_rows, without

# Shares below it are rounding errors of exact fits.
_NOTHING = 1e-12


@dataclass(frozen=True)
class ClusterRow:
    """One line of the table of clusters; ``energy`` is None for an empty cluster."""

    cluster: int
    size: int
    dim: int
    energy: float | None


@dataclass(frozen=True)
class Scores:
    """How far labels agree with the true ones."""

    error: float
    nmi: float
    ari: float

    def as_dict(self) -> dict[str, float]:
        """Return the three by name."""
        return asdict(self)


def score(true: NDArray[np.int64], labels: NDArray[np.int64]) -> Scores:
    """Compare labels with the true ones."""
    from ekss.metrics import adjusted_rand, clustering_error, normalized_mutual_info

    return Scores(
        float(clustering_error(true, labels)),
        float(normalized_mutual_info(true, labels)),
        float(adjusted_rand(true, labels)),
    )


def cluster_rows(
    estimator: Any, rows: NDArray[np.floating], dim: int | None, seed: int
) -> list[ClusterRow]:
    """Return size, dimension and captured energy of every cluster.

    The subspaces are the estimator's; with ``dim``, for methods that have none,
    subspaces of that dimension are fitted to the clusters.
    """
    affine = bool(getattr(estimator, "affine_", False))
    points = _as_fitted(estimator, rows, affine)
    labels, k = estimator.labels_, int(estimator.n_clusters_)
    if dim is None:
        flats = Flats(estimator.bases_, estimator.offsets_)
    else:
        flats = fit_clusters(points, labels, k, dim, affine=affine, seed=seed)
    return [
        ClusterRow(
            number, len(group), flats.bases.shape[2], _energy(points[group], one)
        )
        for number, (group, one) in enumerate(
            zip(group_rows(labels, k), _singles(flats), strict=True)
        )
    ]


def residual_share(
    rows: NDArray[np.floating],
    labels: NDArray[np.int64],
    dims: Sequence[int],
    *,
    affine: bool,
    seed: int,
) -> float:
    """Return the share of the energy outside subspaces fitted to the clusters.

    Of several dimensions, the geometric mean, so that each counts by the ratio between
    methods: a dimension that is too low leaves much of the energy outside whatever
    the labels, and must not outweigh the others. The same measure for labels of every
    method, and at one dimension the cost that K-subspaces minimises.
    """
    points = _as_judged(rows, affine=affine)
    shares = [_share_outside(points, labels, dim, affine, seed) for dim in dims]
    if len(shares) == 1:
        return shares[0]
    return float(np.exp(np.log(np.maximum(shares, _NOTHING)).mean()))


def _share_outside(
    points: NDArray[np.floating],
    labels: NDArray[np.int64],
    dim: int,
    affine: bool,
    seed: int,
) -> float:
    k = int(labels.max()) + 1
    flats = fit_clusters(points, labels, k, dim, affine=affine, seed=seed)
    outside = sum(
        float(squared_residuals(points[group], one).sum())
        for group, one in zip(group_rows(labels, k), _singles(flats), strict=True)
    )
    total = float(np.square(points).sum())
    return outside / total if total > 0 else 0.0


def judged_dims(
    rows: NDArray[np.floating], clusters: int, *, affine: bool, seed: int
) -> tuple[int, ...]:
    """Return the dimensions that subspaces may have, as EKSS estimates them."""
    from ekss.core.parallel import one_blas_thread
    from ekss.estimators._auto import estimate_geometry

    points = _as_judged(rows, affine=affine)
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        found = estimate_geometry(points, clusters, rng, affine=affine)
    return tuple(range(found.low, found.high + 1))


def _as_judged(rows: NDArray[np.floating], *, affine: bool) -> NDArray[np.floating]:
    """Scale rows to unit length for linear subspaces, centre them for affine ones."""
    exact = rows.astype(np.float64)
    return exact - exact.mean(axis=0) if affine else unit_rows(exact)


def common_dim(rows: NDArray[np.floating], clusters: int, seed: int) -> int:
    """Estimate one dimension for all subspaces."""
    from ekss.core.parallel import one_blas_thread
    from ekss.estimators._auto import estimate_dim

    rng = np.random.default_rng(seed)
    # Threads that wait for each other make many small decompositions slow.
    with one_blas_thread():
        return estimate_dim(unit_rows(rows), clusters, rng)


def _as_fitted(
    estimator: Any, rows: NDArray[np.floating], affine: bool
) -> NDArray[np.floating]:
    """Return the rows as the estimator saw them."""
    wanted = estimator.normalize
    unit = not affine if wanted == "auto" else bool(wanted)
    removed = getattr(estimator, "removed_", None)
    return without(rows.astype(np.float64), removed, unit=unit)


def _singles(flats: Flats) -> list[Flats]:
    """Return every subspace by itself."""
    return [
        Flats(
            flats.bases[k : k + 1].astype(np.float64),
            None if flats.offsets is None else flats.offsets[k : k + 1],
        )
        for k in range(len(flats.bases))
    ]


def _energy(points: NDArray[np.floating], flat: Flats) -> float | None:
    """Return the share of the points' energy that the subspace holds.

    For an affine one, the energy about the mean of the points.
    """
    if not len(points):
        return None
    centred = points if flat.offsets is None else points - points.mean(axis=0)
    total = float(np.square(centred).sum())
    outside = float(squared_residuals(points, flat).sum())
    return max(0.0, 1 - outside / total) if total > 0 else None
