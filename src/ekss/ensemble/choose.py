"""Stage 5, choose: of many cuts, keep the one on which subspaces and votes agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ekss.core.ksubspaces import squared_norms
from ekss.core.linalg import group_rows, top_eigenpairs
from ekss.ensemble.cut import (
    Cut,
    CutOptions,
    CutPool,
    Cuts,
    cut,
    distinct_cuts,
    labels_of,
    pools_bytes,
)
from ekss.ensemble.prepare import Coordinates
from ekss.graph.spectral import unit_rows
from ekss.graph.votes import (
    cluster_silhouettes,
    companion_shares,
    edge_shares,
    shares_of_cuts,
)
from ekss.runtime.memory import RATES, Stage, Work
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.decide import Plan
    from ekss.ensemble.vote import Ensemble

# Clusters of different cuts that are scored together, and numbers that this may hold.
_CLUSTERS_AT_ONCE = 160
_SHARES_AT_ONCE = 2**24
# Coordinates in subspaces that are held at once: as many as fit in a core's cache.
_BLOCK_ENTRIES = 2**19
# Silhouettes of subspaces are moderate for images and near 1 for motions. Measuring
# from 1.2 keeps a difference between excellent silhouettes from outweighing all else.
_FROM = 1.2
# Silhouettes of votes above 0.97 are all excellent; the logarithm must not distinguish
# between them.
_SMALLEST_DISSENT = 0.03
# The terms of a score, and their exponents in the product.
EXPONENTS = {"residual": 1.0, "overlap": 2.0, "dissent": 2.0}
# A point is firmly placed from this share of companions on, relative to the share of
# the best tenth of its cluster: planted points have at least 0.75, planted outliers at
# most 0.55 (docs/experiments.md, "Outliers, dimensions, sizes").
_FIRM = 2 / 3
# A cluster with hardly more points than directions fits anything. At least this share
# of its points counts as free, so that its residual is raised by a factor of at most
# 400.
_SMALLEST_FREEDOM = 0.05


@dataclass(frozen=True)
class Evidence:
    """What cuts are judged by; it contains no true labels.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        The data, or their leading coordinates.
    dims : tuple of int
        Subspace dimensions at which clusters are fitted, ascending. Affine subspaces of
        dimension 0 are centres. If empty, cuts are judged by votes alone.
    affine : bool
        Whether subspaces may miss the origin.
    outside : ndarray of shape (n_points,) or None
        Squared length of each point outside the given coordinates.
    member_labels : ndarray of shape (n_points, n_members) or None
        Labels of the ensemble members, from which a point's companions are found.
    graph : csr_array of shape (n_points, n_points) or None
        Used if there are no members: the edges of a point replace its companions.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.ensemble import Evidence, score_cut
    >>> lines = np.repeat(np.eye(3)[:2], 4, axis=0)
    >>> evidence = Evidence(lines, dims=(1,))
    >>> score_cut(np.repeat([0, 1], 4), evidence).residual < 1e-6
    True
    """

    points: NDArray[np.floating]
    dims: tuple[int, ...]
    affine: bool = False
    outside: NDArray[np.floating] | None = None
    member_labels: NDArray[Any] | None = None
    graph: csr_array | None = None

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
        Geometric mean over dimensions of the mean squared distance of points to the
        subspace of their cluster, where the residual of each cluster is raised by
        :math:`(1 - d / n_k)^{-2}` as in generalised cross-validation.
    overlap : float
        1.2 - S, where S is the mean over points and dimensions of
        :math:`(r' - r) / \max(r, r')`, r the squared distance to the point's own
        subspace and r' that to the nearest other one: a silhouette of subspaces. Near
        1.2 for a split class, because both halves have the same subspace; in
        [0.2, 2.2].
    dissent : float
        Geometric mean over clusters of :math:`1.03 - V_k`, where :math:`V_k` is the
        mean over the points of cluster k of :math:`(a - b) / \max(a, b)`, a the share
        of their own cluster among their companions and b the largest share of another
        cluster: a silhouette of votes. In [0.03, 2.03]; 1 if there are no votes.

    Examples
    --------
    >>> from ekss.ensemble import CutScore
    >>> good = CutScore(residual=0.1, overlap=0.3, dissent=0.2)
    >>> good.total < CutScore(residual=0.1, overlap=1.2, dissent=0.9).total
    True
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
        In 0, ..., K - 1, each used, with K at least 2.
    evidence : Evidence
        What the cut is judged by.

    Returns
    -------
    CutScore
        Cuts are compared by its ``total``.

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
    return score_cuts([labels], evidence)[0]


def score_cuts(cuts: Sequence[NDArray[np.int64]], evidence: Evidence) -> list[CutScore]:
    """Measure several partitions together, which is faster than one by one."""
    counts = [int(labels.max()) + 1 for labels in cuts]
    fits = _fit_qualities(cuts, counts, evidence)
    all_shares = _vote_shares(cuts, counts, evidence)
    scores = []
    for labels, (residual, silhouette), shares in zip(
        cuts, fits, all_shares, strict=True
    ):
        dissent = 1.0
        if shares is not None:
            against = 1 + _SMALLEST_DISSENT - cluster_silhouettes(shares, labels)
            dissent = float(np.exp(np.log(against).mean()))
        scores.append(CutScore(residual, _FROM - silhouette, dissent))
    return scores


def _vote_shares(
    cuts: Sequence[NDArray[np.int64]], counts: Sequence[int], evidence: Evidence
) -> Iterable[NDArray[np.floating] | None]:
    """Return each cluster's share in the votes of each point, for each cut."""
    if evidence.member_labels is not None:
        return shares_of_cuts(evidence.member_labels, cuts, counts)
    if evidence.graph is not None:
        return (
            edge_shares(evidence.graph, labels, count)
            for labels, count in zip(cuts, counts, strict=True)
        )
    return [None] * len(cuts)


def select_cut(
    cuts: Sequence[Cut], evidence: Evidence, score: Score = score_cut
) -> tuple[int, list[float]]:
    """Score every cut; return the index of the best, and all totals.

    Parameters
    ----------
    cuts : sequence of Cut
        At least one.
    evidence : Evidence
        What the cuts are judged by.
    score : callable, default=score_cut
        ``score(labels, evidence)`` returns a number, or an object with ``total``;
        lower is better.

    Returns
    -------
    best : int
        Index of the cut with the lowest total; the first of them if several tie.
    totals : list of float
        One per cut.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.ensemble import Cut, Evidence, select_cut
    >>> lines = np.repeat(np.eye(3)[:2], 4, axis=0)
    >>> cuts = [Cut(np.tile([0, 1], 4), "bad"), Cut(np.repeat([0, 1], 4), "good")]
    >>> best, totals = select_cut(cuts, Evidence(lines, dims=(1,)))
    >>> cuts[best].origin
    'good'
    """
    totals = [total_of(score(cut.labels, evidence)) for cut in cuts]
    return int(np.argmin(totals)), totals


def total_of(score: Any) -> float:
    """Return the number that a score stands for; refuse anything that is not one."""
    total = getattr(score, "total", score)
    if not isinstance(total, Real) or isnan(total):
        raise ValueError(
            f"the score of a cut is {total!r}; return a number, or an object with a "
            "number `total`, lower for a better cut (infinity for one to be avoided)"
        )
    return float(total)


def fit_quality(
    labels: NDArray[np.int64], n_clusters: int, evidence: Evidence
) -> tuple[float, float]:
    """Return the residual and the silhouette of the subspaces of the clusters.

    See :class:`CutScore` for their definitions.
    """
    return _fit_qualities([labels], [n_clusters], evidence)[0]


def _fit_qualities(
    cuts: Sequence[NDArray[np.int64]], counts: Sequence[int], evidence: Evidence
) -> list[tuple[float, float]]:
    """Return residuals and silhouettes of several cuts; fit shared clusters once."""
    if not evidence.dims:
        return [(1.0, 0.0)] * len(cuts)
    points, dims = evidence.points, usable_dims(evidence)
    n_points = len(points)
    models: dict[bytes, tuple[int, Any]] = {}
    numbers, raise_by = [], []
    for labels, count in zip(cuts, counts, strict=True):
        groups = group_rows(labels, count)
        for rows in groups:
            if rows.tobytes() not in models:
                model = _leading_directions(points[rows], dims[-1], evidence)
                models[rows.tobytes()] = len(models), model
        numbers.append(np.array([models[rows.tobytes()][0] for rows in groups]))
        sizes = np.maximum(np.bincount(labels, minlength=count), 1)
        freedom = 1 - (np.array(dims)[:, None] + evidence.affine) / sizes
        raise_by.append(np.maximum(freedom, _SMALLEST_FREEDOM) ** -2)
    centres = np.stack([centre for _, (centre, _) in models.values()])
    stacked = np.stack([basis for _, (_, basis) in models.values()])
    costs = np.zeros((len(cuts), len(dims)))
    silhouettes = np.zeros(len(cuts))
    step = max(1, _BLOCK_ENTRIES // (len(models) * max(dims[-1], 1)))
    for first in range(0, n_points, step):
        block = slice(first, min(first + step, n_points))
        at = np.arange(block.stop - first)
        of_all = _residuals(block, centres, stacked, dims, evidence)
        for c, labels in enumerate(cuts):
            rest = of_all[numbers[c]]
            own_label = labels[block]
            own = rest[own_label, :, at].T
            rest[own_label, :, at] = np.inf
            other = rest.min(axis=0)
            costs[c] += (own * raise_by[c][:, own_label]).sum(axis=1)
            silhouettes[c] += (
                ((other - own) / np.maximum(other, own)).mean(axis=0).sum()
            )
    residuals = np.exp(np.log(costs / n_points).mean(axis=1))
    return list(zip(residuals.tolist(), (silhouettes / n_points).tolist(), strict=True))


def usable_dims(evidence: Evidence) -> tuple[int, ...]:
    """Return the dimensions that leave at least one direction outside the subspace."""
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
    if dim == 0:
        return centre, np.zeros((n_features, 0), points.dtype)
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
    """Return squared distances of rows to subspaces: (n_clusters, n_dims, n_rows)."""
    points = evidence.points[rows]
    n_clusters, n_features, dim = stacked.shape
    inside = stacked.transpose(0, 2, 1).reshape(-1, n_features) @ points.T
    inside = inside.reshape(n_clusters, dim, len(points))
    apart = evidence.norms[rows][None]
    if evidence.affine:
        inside -= np.einsum("kf,kfd->kd", centres, stacked)[:, :, None]
        lengths = np.einsum("kf,kf->k", centres, centres)
        apart = apart - 2 * centres @ points.T + lengths[:, None]
    np.square(inside, out=inside)
    leading = (np.arange(dim) < np.array(dims)[:, None]).astype(inside.dtype)
    rest = np.maximum(apart[:, None] - leading @ inside, evidence.floor)
    if evidence.outside is not None:
        rest += evidence.outside[rows]
    return rest


@dataclass(frozen=True)
class Candidate:
    """A cut that was considered.

    Attributes
    ----------
    origin : str
        How the cut was made.
    n_neighbors : int or None
        Neighbours per point in its graph of votes; None for the graph of expressions.
    score : float
        Lower is better. Scores of cuts of different graphs cannot be compared, because
        each are judged by their own graph.
    labels : ndarray of shape (n_samples,)
        Cluster of each point, in the smallest unsigned type.
    judged : object
        What the score function returned.
    graph : {"votes", "expressions", "whitened votes"}
        Which graph was cut.

    Examples
    --------
    >>> from ekss import EKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> X = make_union_of_subspaces(2, 2, 20, 30, random_state=0).data
    >>> model = EKSS(2, subspace_dim=2, n_members=20, random_state=0).fit(X)
    >>> best = model.candidates_[0]
    >>> others = [one for one in model.candidates_ if one.graph == best.graph]
    >>> all(best.score <= one.score for one in others)
    True
    """

    origin: str
    n_neighbors: int | None
    score: float
    labels: NDArray[Any] = field(compare=False, repr=False)
    judged: Any = field(compare=False, repr=False)
    graph: str = "votes"


@dataclass(frozen=True)
class Chosen:
    """The partition that was kept.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
    n_neighbors : int or None
        Neighbours per point in its graph of votes; None for the graph of expressions.
    affinity : csr_array of shape (n_samples, n_samples)
        Its graph.
    embedding : ndarray of shape (n_samples, n_eigenvectors)
        Spectral embedding of the graph, rows of unit length.
    eigenvalues : ndarray
        Eigenvalues of the normalised graph: one more than there are eigenvectors, if
        there is one.
    candidates : tuple of Candidate
        All cuts that were considered: those of the graph that was kept, best first,
        then those of the other graph; empty if there was only one cut.
    finalists : tuple of Candidate
        The best cut of the votes and that of the second graph, judged by the evidence
        of both, best first; for expressions also the better of the two after its labels
        have spread along them. Empty if there was no second graph.
    """

    labels: NDArray[np.int64]
    n_neighbors: int | None
    affinity: csr_array
    embedding: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    candidates: tuple[Candidate, ...] = ()
    finalists: tuple[Candidate, ...] = ()


def gather_evidence(
    plan: Plan, member_labels: NDArray[Any], seen: Coordinates | None = None
) -> Evidence:
    """Gather what cuts are judged by.

    ``seen`` are the points to judge by; None means all points of the plan.
    """
    seen = seen or plan.seen
    return Evidence(
        seen.points,
        plan.geometry.judged,
        plan.geometry.affine,
        seen.outside,
        member_labels,
    )


def choose(
    cuts: Cuts, evidence: Evidence, score: Score | None, workers: Workers
) -> Chosen | None:
    """Score every cut and keep the best.

    Parameters
    ----------
    cuts : Cuts
        All with the same number of clusters.
    evidence : Evidence
    score : callable or None
        ``score(labels, evidence)``, lower is better; None means :func:`score_cut`.
    workers : Workers

    Returns
    -------
    Chosen or None
        None if no way of cutting produced all clusters.
    """
    return choose_from_pools(
        cuts.pools, cuts.tasks, cuts.graph, evidence, score, workers
    )


def cuts_of(graph: str, chosen: Chosen) -> Chosen:
    """Say which graph the candidates are cuts of."""
    named = tuple(replace(one, graph=graph) for one in chosen.candidates)
    return replace(chosen, candidates=named)


def hold_against(
    chosen: Chosen, other: Chosen, finalists: Sequence[Candidate]
) -> Chosen:
    """Keep the result whose best cut is the better finalist, with all candidates.

    Parameters
    ----------
    chosen, other : Chosen
        Results of two graphs.
    finalists : sequence of Candidate
        Best cut of ``chosen`` and, unless it is left out, that of ``other``, judged
        alike.

    Returns
    -------
    Chosen
        One of the two.
    """
    ranked = best_first(finalists)
    kept, left = (chosen, other) if ranked[0] is finalists[0] else (other, chosen)
    return replace(kept, candidates=kept.candidates + left.candidates, finalists=ranked)


def best_first(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Order candidates by their scores."""
    return tuple(sorted(candidates, key=lambda one: one.score))


def choose_from_pools(
    pools: Sequence[CutPool],
    tasks: Sequence[tuple[int | None, int]],
    graph_of: Callable[[int], csr_array],
    evidence: Evidence,
    score: Score | None,
    workers: Workers,
) -> Chosen | None:
    """Keep the best of the cuts of some graphs.

    ``tasks`` are the numbers of neighbours and of clusters of each pool, and
    ``graph_of`` returns the graph of a pool.
    """
    found = distinct_cuts([pool.cuts for pool in pools])
    if not found:
        return None
    judged = judge_all(labels_of(found), evidence, score, workers)
    totals = [total_of(one) for one in judged]
    order = np.argsort(totals, kind="stable")
    number, best = found[order[0]]
    n_neighbors, n_clusters = tasks[number]
    pool = pools[number]
    vectors = pool.embedding.vectors[:, :n_clusters]
    embedding = np.zeros((len(best.labels), vectors.shape[1]))
    embedding[pool.in_cut] = unit_rows(vectors)
    return Chosen(
        best.labels,
        n_neighbors,
        graph_of(number),
        embedding,
        pool.embedding.values[: n_clusters + 1],
        tuple(
            Candidate(
                found[i][1].origin,
                tasks[found[i][0]][0],
                float(totals[i]),
                found[i][1].labels.astype(np.min_scalar_type(n_clusters)),
                judged[i],
            )
            for i in order
        ),
    )


def cut_and_choose(
    ensemble: Ensemble,
    n_clusters: int,
    neighbors: Sequence[int],
    evidence: Evidence,
    options: CutOptions,
    seed: int,
    workers: Workers,
) -> Chosen | None:
    """Cut graphs of the votes in many ways and keep the best; None if all ways fail."""
    tasks = [(q, n_clusters) for q in neighbors]
    cuts = cut(options.votes(ensemble), tasks, options, seed, workers)
    return choose(cuts, evidence, options.score, workers)


def judge_all(
    labels: Sequence[NDArray[np.int64]],
    evidence: Evidence,
    score: Score | None,
    workers: Workers,
) -> list[Any]:
    """Score every partition."""
    groups = _groups(labels) if score is None else [[one] for one in labels]
    judge = partial(_judge_some, groups, evidence, score)
    return [one for some in workers.map(judge, len(groups), "choice") for one in some]


def _groups(
    labels: Sequence[NDArray[np.int64]],
) -> list[list[NDArray[np.int64]]]:
    """Group cuts that are scored together; a group holds at least one."""
    groups: list[list[NDArray[np.int64]]] = []
    room = 0
    for one in labels:
        count = int(one.max()) + 1
        if count > room:
            groups.append([])
            room = min(_CLUSTERS_AT_ONCE, _SHARES_AT_ONCE // len(one))
        groups[-1].append(one)
        room -= count
    return groups


def _judge_some(
    groups: Sequence[Sequence[NDArray[np.int64]]],
    evidence: Evidence,
    score: Score | None,
    number: int,
) -> list[Any]:
    """Score some partitions; defined at module level so that processes can call it."""
    if score is None:
        return score_cuts(groups[number], evidence)
    return [score(labels, evidence) for labels in groups[number]]


def firmly_voted(
    member_labels: NDArray[Any], labels: NDArray[np.int64], n_clusters: int
) -> NDArray[np.bool_]:
    """Decide which points are firmly placed by their companions in the members.

    For such a point, the share of its own cluster among its companions is at least two
    thirds of that of the best tenth of the cluster. Outliers have companions in all
    clusters.
    """
    shares = companion_shares(member_labels, labels, n_clusters)
    own = shares[np.arange(len(labels)), labels]
    firm = np.zeros(len(labels), bool)
    for rows in group_rows(labels, n_clusters):
        if len(rows):
            firm[rows] = own[rows] >= _FIRM * np.quantile(own[rows], 0.9)
    return firm


def choose_cost(work: Work) -> Stage:
    """Estimate the cost of scoring all cuts."""
    cuts = work.n_graphs * RATES.cuts_per_graph
    seconds = 1e-9 * work.voted * cuts * RATES.judge / work.n_workers
    judged = 3 * work.n_workers * work.voted * work.n_features * work.width
    together = min(_CLUSTERS_AT_ONCE * work.voted, _SHARES_AT_ONCE)
    judged += 6 * work.n_workers * max(together, work.n_clusters * work.voted)
    lists = 12 * work.voted * work.n_neighbors
    return Stage(seconds, work.after_members + judged + lists + pools_bytes(work))
