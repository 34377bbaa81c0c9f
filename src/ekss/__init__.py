"""Subspace clustering: Ensemble K-Subspaces and its rivals.

The estimators are loaded on first use, so that the command answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ekss.methods import CLASSES, imported

if TYPE_CHECKING:
    from ekss.ensemble import CutOptions, KSSMember
    from ekss.estimators import (
        EKSS,
        GSC,
        KSS,
        LRR,
        LRSC,
        LSR,
        SLBF,
        SSC,
        SSCOMP,
        TSC,
        ClusteringWarning,
        ConsensusClustering,
        CoPKSS,
        EnSC,
        LabelFreeSearch,
        MedianKFlats,
        PaperEKSS,
    )

__all__ = [
    "EKSS",
    "GSC",
    "KSS",
    "LRR",
    "LRSC",
    "LSR",
    "SLBF",
    "SSC",
    "SSCOMP",
    "TSC",
    "ClusteringWarning",
    "CoPKSS",
    "ConsensusClustering",
    "CutOptions",
    "EnSC",
    "KSSMember",
    "LabelFreeSearch",
    "MedianKFlats",
    "PaperEKSS",
    "__version__",
]

__version__ = "0.1.0"


_PARTS = (
    "datasets",
    "ensemble",
    "graph",
    "io",
    "metrics",
    "preprocessing",
    "report",
    "theory",
)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"ekss.{name}")
    for place in CLASSES.values():
        if place.endswith(f":{name}"):
            return imported(place)
    if name in ("CutOptions", "KSSMember"):
        return getattr(import_module("ekss.ensemble"), name)
    if name in __all__:
        return getattr(import_module("ekss.estimators"), name)
    raise AttributeError(f"module 'ekss' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS])
