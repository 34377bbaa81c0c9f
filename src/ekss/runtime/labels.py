"""Where the labels of members are kept: in memory, or in files of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class LabelStore:
    """Room for the labels of members; placeholder until the storage fix is merged."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory

    def room(self, count: int, n_samples: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of shape (count, n_samples)."""
        return np.empty((count, n_samples), dtype)

    def settled(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return labels in the smallest type that holds them."""
        smallest = np.min_scalar_type(int(labels.max()))
        return labels.astype(smallest, copy=False)
