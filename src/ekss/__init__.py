"""Subspace clustering: Ensemble K-Subspaces and its rivals.

The estimators are loaded on first use, so that the command answers at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ekss.estimators import (
        EKSS,
        KSS,
        SSC,
        SSCOMP,
        TSC,
        CoPKSS,
        EnSC,
        MedianKFlats,
    )

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ekss' has no attribute {name!r}")
    from ekss import estimators

    return getattr(estimators, name)


def __dir__() -> list[str]:
    return sorted(__all__)
