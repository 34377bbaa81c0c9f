"""Stage 6 for affine subspaces, second look: ask members that see points whitened.

Members see tracks as they are: what moves most counts most, and a motion that is small
beside the others hardly counts. Whitened, all leading directions have equal energy, and
points of independent motions are orthogonal; but noise grows with the motions, so that
most clusters are worse. So members vote once more, on whitened points, and the best cut
of their votes competes with that of the votes on the points as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from ekss.ensemble.choose import (
    Candidate,
    Chosen,
    CutScore,
    Evidence,
    Score,
    choose_cost,
    cut_and_choose,
    cuts_of,
    gather_evidence,
    hold_against,
    score_cut,
    total_of,
)
from ekss.ensemble.cut import cut_cost, votes_cost
from ekss.ensemble.decide import Plan, Wishes, decide
from ekss.ensemble.vote import member_for, run_members, vote_cost
from ekss.ensemble.whiten import whitened
from ekss.runtime.memory import Stage, Work
from ekss.runtime.workers import Workers

if TYPE_CHECKING:
    from ekss.ensemble.vote import Ensemble


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage (docs/experiments.md, "A second look at motions")."""

    # Directions per cluster. Independent motions of rigid bodies span four each; five
    # to ten per motion give the same errors, three let noise in perspective win.
    directions: int = 6


_RULES = _Rules()


def may_look_again(plan: Plan, wishes: Wishes) -> bool:
    """Decide whether members look at the points of affine subspaces a second time.

    They do while all pairs of points can be compared, unless the user says how members
    see the points.
    """
    return (
        wishes.second_opinion
        and wishes.whiten is None
        and not plan.is_trivial
        and wishes.cut.looks_at_all_pairs(len(plan.points.rows))
        and _n_directions(plan) > plan.geometry.high
    )


def _n_directions(plan: Plan) -> int:
    return min(_RULES.directions * plan.n_clusters, *plan.points.rows.shape)


def look_again(
    chosen: Chosen,
    plan: Plan,
    ensemble: Ensemble,
    wishes: Wishes,
    seed: int,
    workers: Workers,
) -> Chosen:
    """Let the best cut of the votes compete with that of votes on whitened points.

    Parameters
    ----------
    chosen : Chosen
        The best cut of the votes of ``ensemble``.
    plan : Plan
    ensemble : Ensemble
        Members that see the points as they are; as many see them whitened.
    wishes : Wishes
    seed : int
    workers : Workers

    Returns
    -------
    Chosen
        The better of the two by the evidence of both, with the candidates of both.
    """
    (seen,) = whitened(plan.points.rows, (_n_directions(plan),), unit=False)
    again = decide(plan.points, wishes, plan.n_clusters, seed, seen)
    member, n_members = member_for(again, wishes.member), ensemble.labels.shape[1]
    with workers.stage("second look"):
        votes = run_members(again.seen.points, seed, member, n_members, workers.quiet())
        evidence = gather_evidence(again, votes.labels)
        other = cut_and_choose(
            votes,
            plan.n_clusters,
            again.neighbors,
            evidence,
            wishes.cut,
            seed,
            workers.quiet(),
        )
    if other is None or not chosen.candidates:
        return chosen
    other = cuts_of("whitened votes", other)
    both = gather_evidence(plan, ensemble.labels), evidence
    nominees = [
        _judged_by_both(one.candidates[0], both, wishes.cut.score)
        for one in (chosen, other)
    ]
    return hold_against(chosen, other, nominees)


def _judged_by_both(
    one: Candidate, both: tuple[Evidence, Evidence], score: Score | None
) -> Candidate:
    """Judge a cut by points and votes, as they are and whitened."""
    judge, labels = score or score_cut, one.labels.astype(np.int64)
    judged = tuple(judge(labels, evidence) for evidence in both)
    return replace(one, score=sum(map(contrast, judged)), judged=judged)


def contrast(judged: Any) -> float:
    """Return a score without its residual, or what another function says of a cut.

    A cut is made where it has a low residual, so the residual only tells where it was
    made. Overlap and dissent tell how clearly the clusters differ.

    Examples
    --------
    >>> from ekss.ensemble import CutScore
    >>> from ekss.ensemble.second_look import contrast
    >>> near, far = CutScore(0.1, 0.3, 0.2), CutScore(0.4, 0.3, 0.2)
    >>> abs(contrast(near) - contrast(far)) < 1e-12
    True
    """
    total = total_of(judged)
    return total - log(judged.residual) if isinstance(judged, CutScore) else total


def second_look_cost(work: Work) -> Stage:
    """Estimate the cost of members, cuts and scores on whitened points."""
    stages = [cost(work) for cost in (vote_cost, votes_cost, cut_cost, choose_cost)]
    return Stage(
        sum(stage.seconds for stage in stages),
        max(stage.bytes for stage in stages) + work.labels,
    )
