"""Stage 6, express: ask self-expression for a second opinion on the votes.

Members say which points lie near the same subspaces. Self-expression asks something
else: which points are needed to write a point as a sum of others. Where points of a
class form a chain, as images of a turning object do, it sees the class better; where
classes are compact and noisy, votes see it better. So each graph proposes the cut that
it finds best, and the two are compared by the evidence of both graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from ekss.core.ensc import block_size
from ekss.core.linalg import unit_rows
from ekss.ensemble.choose import (
    Candidate,
    Chosen,
    Evidence,
    Score,
    best_first,
    choose_from_pools,
    cuts_of,
    hold_against,
    score_cut,
    total_of,
)
from ekss.ensemble.cut import CutOptions, cut_graph, cuts_seconds
from ekss.graph.expression import elastic_net_graph, ridge_graph
from ekss.graph.spectral import number_by_appearance
from ekss.runtime.memory import RATES, Stage, Work
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.decide import Plan, Wishes


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage (docs/experiments.md, "A second opinion")."""

    # The elastic net of EnSC at its defaults; denser graphs were worse throughout.
    l1_ratio: float = 0.95
    gamma: float = 3.0
    # A cut of the expressions that points and votes score higher than their own by more
    # than this is no finalist: outliers, for one, express each other well.
    clearly_worse: float = 0.4
    # Largest coefficients of ridge regression that are kept per point.
    n_neighbors: int = 5
    # Labels spread in this many steps; each keeps this share of the labels before.
    steps: int = 20
    kept: float = 0.1


_RULES = _Rules()


@dataclass(frozen=True)
class Expressions:
    """Graphs that join points to those by which they are expressed.

    Attributes
    ----------
    sparse : csr_array of shape (n_samples, n_samples)
        Elastic net: as few points as possible express each point.
    dense : csr_array of shape (n_samples, n_samples)
        Ridge regression: largest coefficients if all points express each point.
    """

    sparse: csr_array
    dense: csr_array


def can_express(plan: Plan, wishes: Wishes) -> bool:
    """Decide whether points are expressed by others.

    This is done for linear subspaces, and while all pairs of points can be compared.
    """
    return (
        wishes.second_opinion
        and not plan.is_trivial
        and not plan.geometry.affine
        and wishes.cut.looks_at_all_pairs(len(plan.seen.points))
    )


def express_sparsely(points: NDArray[np.floating], workers: Workers) -> csr_array:
    """Express every point by as few others as possible."""
    return elastic_net_graph(
        unit_rows(points), l1_ratio=_RULES.l1_ratio, gamma=_RULES.gamma, workers=workers
    )


def express(points: NDArray[np.floating], workers: Workers) -> Expressions:
    """Express every point by others, sparsely and densely."""
    sparse = express_sparsely(points, workers)
    return Expressions(
        sparse, ridge_graph(unit_rows(points), _RULES.n_neighbors, workers)
    )


def ask_expressions(
    chosen: Chosen,
    graph: csr_array,
    n_clusters: int,
    evidence: Evidence,
    options: CutOptions,
    seed: int,
    workers: Workers,
) -> Chosen:
    """Compare the best cut of the votes with the best cut of the sparse expressions.

    Parameters
    ----------
    chosen : Chosen
        The best cut of the votes, by ``evidence``.
    graph : csr_array of shape (n_samples, n_samples)
        Sparse expressions of the points.
    n_clusters : int
    evidence : Evidence
        Points and votes. Cuts of expressions are judged by the points and by their own
        graph; then the two best cuts are judged by the points and both graphs. A cut
        that points and votes find clearly worse than the best of the votes is left out.
    options : CutOptions
    seed : int
    workers : Workers

    Returns
    -------
    Chosen
        The better of the two, with the candidates of both.
    """
    with workers.stage("expressions"):
        pool = cut_graph(graph, n_clusters, options.ways, None, seed)
    own = replace(evidence, member_labels=None, graph=graph)
    other = choose_from_pools(
        [pool], [(None, n_clusters)], lambda _: graph, own, options.score, workers
    )
    if other is None or not chosen.candidates:
        return chosen
    other = cuts_of("expressions", other)
    firsts = [
        _judged_by_both(one.candidates[0], evidence, graph, options.score)
        for one in (chosen, other)
    ]
    by_votes = [total_of(one.judged[0]) for one in firsts]
    if by_votes[1] > by_votes[0] + _RULES.clearly_worse:
        firsts.pop()
    return hold_against(chosen, other, firsts)


def let_spread(
    chosen: Chosen,
    expressions: Expressions,
    n_clusters: int,
    evidence: Evidence,
    options: CutOptions,
) -> Chosen:
    """Let the labels spread along the expressions, if they are judged better then.

    They must have been compared before, by :func:`ask_expressions`.
    """
    labels = spread(chosen.labels, expressions, n_clusters)
    if not chosen.finalists or np.array_equal(labels, chosen.labels):
        return chosen
    first = chosen.finalists[0]
    moved = replace(
        first,
        origin=f"{first.origin}, spread along the expressions",
        labels=labels.astype(first.labels.dtype),
    )
    judged = _judged_by_both(moved, evidence, expressions.sparse, options.score)
    better = judged.score < first.score
    return replace(
        chosen,
        labels=labels if better else chosen.labels,
        finalists=best_first([*chosen.finalists, judged]),
    )


def _judged_by_both(
    one: Candidate, evidence: Evidence, graph: csr_array, score: Score | None
) -> Candidate:
    """Judge a cut by points and votes, and by its expressions alone."""
    score, labels = score or score_cut, one.labels.astype(np.int64)
    expressions = replace(evidence, dims=(), member_labels=None, graph=graph)
    judged = score(labels, evidence), score(labels, expressions)
    return replace(one, score=sum(map(total_of, judged)), judged=judged)


def spread(
    labels: NDArray[np.int64], expressions: Expressions, n_clusters: int
) -> NDArray[np.int64]:
    r"""Let the labels spread along the expressions [1]_.

    With the sum A of both graphs, each normalised by its degrees and then their sum
    too, and the indicators Y of the clusters, :math:`F \leftarrow 0.9 A F + 0.1 Y` is
    repeated. Each point takes the cluster of whose column of F it has the largest
    share. If a cluster would lose all its points, the labels are left as they are.

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. N. Lal, J. Weston, B. Schölkopf, "Learning with
       local and global consistency", NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from ekss.ensemble.express import Expressions, spread
    >>> graph = csr_array(np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)))
    >>> one_wrong = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    >>> spread(one_wrong, Expressions(graph, graph), 2)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    links = normalised(normalised(expressions.sparse) + normalised(expressions.dense))
    given = np.eye(n_clusters)[labels]
    shares = given
    for _ in range(_RULES.steps):
        shares = (1 - _RULES.kept) * (links @ shares) + _RULES.kept * given
    found = (shares / np.maximum(shares.sum(axis=0), 1e-300)).argmax(axis=1)
    if len(np.unique(found)) < len(np.unique(labels)):
        return labels
    return number_by_appearance(found)


def normalised(graph: csr_array) -> csr_array:
    """Divide edges by the roots of the degrees of both ends."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
    return csr_array(diags_array(scale) @ graph @ diags_array(scale))


def expression_cost(work: Work) -> Stage:
    """Estimate the cost of expressing points, and of cutting and judging one graph."""
    n, wide = work.voted, work.coordinates
    products = n * wide * RATES.product * (RATES.rounds + 1) / work.n_workers
    seconds = 1e-9 * n * (RATES.express + products)
    seconds += cuts_seconds(replace(work, n_graphs=1), n)
    seconds += 1e-9 * n * RATES.cuts_per_graph * RATES.judge
    blocks = work.n_workers * 2 * 8 * n * block_size(n)
    held = work.after_members + blocks + n * (3 * 8 * wide + 600 + 24 * work.n_clusters)
    return Stage(seconds, held)
