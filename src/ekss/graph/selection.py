"""Choose among candidate cuts without labels.

Bad cuts are near-optima of the normalised cut, so the cut alone cannot tell them from
good ones; the subspaces can, and so can each point's companions in the members. Three
quantities are small for a good partition, each in its own, incomparable units; their
product has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ekss.core.bases import group_rows
from ekss.core.eigen import top_eigenpairs
from ekss.core.ksubspaces import squared_norms
from ekss.graph.companions import (
    cluster_silhouettes,
    companion_shares,
    edge_shares,
)
from ekss.graph.cuts import Cut

# Rows whose residuals are computed at once.
_BLOCK_ENTRIES = 2**21
# Silhouettes of subspaces are moderate for images and near 1 for motions; measured
# from 1.2 a difference among excellent ones does not outweigh all else.
_FROM = 1.2
# Silhouettes of votes above 0.97 are all excellent; the logarithm must not tell them
# apart.
_SMALLEST_DISSENT = 0.03
# The terms of a score, and their exponents in the product.
EXPONENTS = {"residual": 1.0, "overlap": 2.0, "dissent": 2.0}
# A cluster of hardly more points than directions fits anything: its residual is raised
# at most by this factor.
_SMALLEST_FREEDOM = 0.05


@dataclass(frozen=True)
class Evidence:
    """What cuts are judged by; nothing here knows true labels.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        The data, or their leading coordinates.
    dims : tuple of int
        Subspace dimensions at which clusters are fitted, ascending.
    affine : bool
        Whether subspaces may miss the origin.
    outside : ndarray of shape (n_points,) or None
        Squared length of each point outside the given coordinates.
    member_labels : ndarray of shape (n_points, n_members) or None
        Labels of ensemble members; a point's companions in them are asked.
    graph : csr_array of shape (n_points, n_points) or None
        Where there are no members: the edges of a point are asked instead.
    energy : float
        Mean squared length of a point that counts; residuals are shares of it.
    """

    points: NDArray[np.floating]
    dims: tuple[int, ...]
    affine: bool = False
    outside: NDArray[np.floating] | None = None
    member_labels: NDArray[Any] | None = None
    graph: csr_array | None = None
    energy: float = 1.0

    @cached_property
    def norms(self) -> NDArray[np.floating]:
        """Squared norms of the points."""
        return squared_norms(self.points)

    @cached_property
    def floor(self) -> float:
        """Residual below which differences are rounding errors."""
        limits = np.finfo(self.points.dtype)
        mean = float(self.norms.mean())
        return max(mean * 100 * float(limits.eps), float(limits.tiny))


@dataclass(frozen=True)
class CutScore:
    r"""Three quantities that are small for a good cut.

    Attributes
    ----------
    residual : float
        Geometric mean over dimensions of the mean squared distance of points to
        the subspace of their cluster, each cluster's raised by
        :math:`(1 - d / n_k)^{-2}` as in generalised cross-validation; divided by the
        ``energy`` of the evidence.
    overlap : float
        1.2 - S with S the mean over points and dimensions of
        :math:`(r' - r) / \max(r, r')`, r the squared distance to the own, r' to the
        nearest other subspace: a silhouette of subspaces. Near 1.2 for a split class,
        because both halves have the same subspace; in [0.2, 2.2].
    dissent : float
        Geometric mean over clusters of :math:`1.03 - V_k`, :math:`V_k` the mean over
        the points of cluster k of :math:`(a - b) / \max(a, b)`, a the share of their
        cluster among their companions, b the largest share of another one: a silhouette
        of votes. In [0.03, 2.03]; 1 where there are no votes.
    """

    residual: float
    overlap: float
    dissent: float

    @property
    def total(self) -> float:
        """Logarithm of residual * overlap^2 * dissent^2: lower is better."""
        parts = np.log([getattr(self, term) for term in EXPONENTS])
        return float(parts @ list(EXPONENTS.values()))


Score = Callable[[NDArray[np.int64], Evidence], Any]


def score_cut(labels: NDArray[np.int64], evidence: Evidence) -> CutScore:
    """Measure a partition by its subspaces and by the votes.

    Parameters
    ----------
    labels : ndarray of shape (n_points,)
        In 0, ..., K - 1, each used, K at least 2.
    evidence : Evidence

    Returns
    -------
    CutScore

    Notes
    -----
    O(n_points K (n_features max(dims) + n_members)) time.

    Examples
    --------
    >>> import numpy as np
    >>> lines = np.repeat(np.eye(3)[:2], 4, axis=0)
    >>> good, bad = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    >>> seen = Evidence(lines, dims=(1,))
    >>> score_cut(good, seen).total < score_cut(bad, seen).total
    True
    """
    n_clusters = int(labels.max()) + 1
    residual, silhouette = fit_quality(labels, n_clusters, evidence)
    dissent = 1.0
    shares = _vote_shares(labels, n_clusters, evidence)
    if shares is not None:
        against = 1 + _SMALLEST_DISSENT - cluster_silhouettes(shares, labels)
        dissent = float(np.exp(np.log(against).mean()))
    return CutScore(residual, _FROM - silhouette, dissent)


def _vote_shares(
    labels: NDArray[np.int64], n_clusters: int, evidence: Evidence
) -> NDArray[np.floating] | None:
    if evidence.member_labels is not None:
        return companion_shares(evidence.member_labels, labels, n_clusters)
    if evidence.graph is not None:
        return edge_shares(evidence.graph, labels, n_clusters)
    return None


def select_cut(
    cuts: Sequence[Cut], evidence: Evidence, score: Score = score_cut
) -> tuple[int, list[float]]:
    """Score every cut; return the number of the best and all totals.

    Parameters
    ----------
    cuts : sequence of Cut
    evidence : Evidence
    score : callable, default=score_cut
        ``score(labels, evidence)`` returns a number, or an object with ``total``;
        lower is better.

    Returns
    -------
    best : int
        The first of the lowest.
    totals : list of float
    """
    totals = [total_of(score(cut.labels, evidence)) for cut in cuts]
    return int(np.argmin(totals)), totals


def total_of(score: Any) -> float:
    """Return the number that a score stands for."""
    return float(getattr(score, "total", score))


def fit_quality(
    labels: NDArray[np.int64], n_clusters: int, evidence: Evidence
) -> tuple[float, float]:
    """Residual and silhouette of the subspaces of the clusters.

    See :class:`CutScore` for their definitions.
    """
    points, dims = evidence.points, usable_dims(evidence)
    groups = group_rows(labels, n_clusters)
    models = [_leading_directions(points[rows], dims[-1], evidence) for rows in groups]
    centres = np.stack([centre for centre, _ in models])
    stacked = np.stack([basis for _, basis in models])
    freedom = 1 - (np.array(dims)[None] + evidence.affine) / np.maximum(
        np.bincount(labels, minlength=n_clusters)[:, None], 1
    )
    raise_by = np.maximum(freedom, _SMALLEST_FREEDOM) ** -2
    costs = np.zeros(len(dims))
    silhouette = 0.0
    step = max(1, _BLOCK_ENTRIES // (n_clusters * dims[-1]))
    for first in range(0, len(points), step):
        rows = slice(first, first + step)
        rest = _residuals(rows, centres, stacked, dims, evidence)
        own_label = labels[rows]
        at = np.arange(len(own_label))
        own = rest[at, own_label].copy()
        rest[at, own_label] = np.inf
        other = rest.min(axis=1)
        costs += (own * raise_by[own_label]).sum(axis=0)
        silhouette += float(((other - own) / np.maximum(other, own)).mean(axis=1).sum())
    residual = float(np.exp(np.log(costs / len(points)).mean())) / evidence.energy
    return residual, silhouette / len(points)


def usable_dims(evidence: Evidence) -> tuple[int, ...]:
    """Return the dimensions that leave at least one direction outside."""
    most = max(1, evidence.points.shape[1] - 1)
    return tuple(sorted({min(dim, most) for dim in evidence.dims}))


def _leading_directions(
    points: NDArray[np.floating], dim: int, evidence: Evidence
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return the centre and ``dim`` principal directions, strongest first.

    Directions that the points do not determine are zero and capture nothing.
    """
    n_points, n_features = points.shape
    centre = np.zeros(n_features, points.dtype)
    if evidence.affine:
        centre = points.mean(axis=0)
    wide = (points - centre).astype(np.float64, copy=False)
    by_rows = n_points < n_features
    gram = wide @ wide.T if by_rows else wide.T @ wide
    top = min(dim, len(gram))
    values, vectors = top_eigenpairs(gram, top)
    known = values > values[0] * 1e-12 if values[0] > 0 else np.zeros(top, bool)
    if by_rows:
        vectors = wide.T @ (vectors / np.sqrt(np.where(known, values, 1.0)))
    basis = np.zeros((n_features, dim), points.dtype)
    basis[:, :top] = np.where(known, vectors, 0.0)
    return centre, basis


def _residuals(
    rows: slice,
    centres: NDArray[np.floating],
    stacked: NDArray[np.floating],
    dims: tuple[int, ...],
    evidence: Evidence,
) -> NDArray[np.floating]:
    """Squared distances of rows to every subspace, (n_rows, n_clusters, n_dims)."""
    points = evidence.points[rows]
    n_clusters, n_features, dim = stacked.shape
    flat = stacked.transpose(1, 0, 2).reshape(n_features, -1)
    inside = (points @ flat).reshape(len(points), n_clusters, dim)
    inside -= np.einsum("kf,kfd->kd", centres, stacked)
    np.square(inside, out=inside)
    edges = (0, *dims[:-1])
    captured = np.add.reduceat(inside, edges, axis=2).cumsum(axis=2)
    apart = (
        evidence.norms[rows][:, None]
        - 2 * points @ centres.T
        + np.einsum("kf,kf->k", centres, centres)
    )
    rest = np.maximum(apart[:, :, None] - captured, evidence.floor)
    if evidence.outside is not None:
        rest += evidence.outside[rows][:, None, None]
    return rest
