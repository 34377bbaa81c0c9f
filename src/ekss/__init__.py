"""Subspace clustering: Ensemble K-Subspaces and its rivals."""

from ekss.estimators import EKSS, KSS, SSC, SSCOMP, TSC, CoPKSS, EnSC, MedianKFlats

__all__ = [
    "EKSS",
    "KSS",
    "SSC",
    "SSCOMP",
    "TSC",
    "CoPKSS",
    "EnSC",
    "MedianKFlats",
    "__version__",
]

__version__ = "0.1.0"
