"""Ensemble K-subspaces as a chain of values; see docs/architecture.md."""

from ekss.ensemble.chain import Clustering, cluster
from ekss.ensemble.choose import (
    Candidate,
    CutScore,
    Evidence,
    score_cut,
    select_cut,
)
from ekss.ensemble.count import Count
from ekss.ensemble.cut import CUTTERS, Cut, CutOptions, CutPool, candidate_cuts
from ekss.ensemble.decide import Geometry, Wishes, estimate_geometry
from ekss.ensemble.dimension import estimate_dim
from ekss.ensemble.paper import ensemble_k_subspaces
from ekss.ensemble.prepare import Preparation, prepare
from ekss.ensemble.vote import KSSMember
from ekss.ensemble.whiten import Whitening

__all__ = [
    "CUTTERS",
    "Candidate",
    "Clustering",
    "Count",
    "Cut",
    "CutOptions",
    "CutPool",
    "CutScore",
    "Evidence",
    "Geometry",
    "KSSMember",
    "Preparation",
    "Whitening",
    "Wishes",
    "candidate_cuts",
    "cluster",
    "ensemble_k_subspaces",
    "estimate_dim",
    "estimate_geometry",
    "prepare",
    "score_cut",
    "select_cut",
]
