"""Subspace clustering: Ensemble K-Subspaces and its rivals."""

from ekss.estimators import EKSS, KSS

__all__ = ["EKSS", "KSS", "__version__"]

__version__ = "0.1.0"
