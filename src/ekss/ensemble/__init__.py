"""Ensemble K-subspaces as a chain of values; see docs/architecture.md."""

from ekss.ensemble.automatic import Count, Removal
from ekss.ensemble.chain import Clustering, cluster
from ekss.ensemble.choose import Candidate
from ekss.ensemble.cut import CutOptions
from ekss.ensemble.decide import Geometry, Wishes, estimate_geometry
from ekss.ensemble.dimension import estimate_dim
from ekss.ensemble.paper import ensemble_k_subspaces
from ekss.ensemble.prepare import Preparation, prepare
from ekss.ensemble.vote import KSSMember

__all__ = [
    "Candidate",
    "Clustering",
    "Count",
    "CutOptions",
    "Geometry",
    "KSSMember",
    "Preparation",
    "Removal",
    "Wishes",
    "cluster",
    "ensemble_k_subspaces",
    "estimate_dim",
    "estimate_geometry",
    "prepare",
]
