"""Transformers that prepare data for subspace clustering."""

from ekss.preprocessing._linear import (
    PrincipalComponents,
    RemoveComponents,
    UnitRows,
    WhitenedComponents,
)
from ekss.preprocessing._scattering import Scattering2D

__all__ = [
    "PrincipalComponents",
    "RemoveComponents",
    "Scattering2D",
    "UnitRows",
    "WhitenedComponents",
]
