"""Where the labels of members are kept: in memory, or in a file of a directory."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray


class LabelStore:
    """Room for the labels of the members of one fit.

    As a context it cleans up: of the files made for a growing ensemble the last one
    stays, and none if the fit fails. Every file has a name of its own, so no fit ever
    writes to the labels of another model. The file belongs to the fitted model, and
    the user deletes it with the model.

    Parameters
    ----------
    directory : Path or None
        None keeps labels in memory.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self._files: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for path in self._files if error is not None else self._files[:-1]:
            with suppress(OSError):
                path.unlink()

    def room(self, count: int, n_samples: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of shape (count, n_samples) for the labels of members."""
        if self.directory is None:
            return np.empty((count, n_samples), dtype)
        path = self.directory / f"member_labels_{count}_{secrets.token_hex(4)}.npy"
        self._files.append(path)
        return open_memmap(path, mode="w+", dtype=dtype, shape=(count, n_samples))

    def settled(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the labels in the smallest unsigned type, where they are in memory."""
        if self.directory is not None:
            return labels
        smallest = np.min_scalar_type(int(labels.max()))
        return labels.astype(smallest, copy=False)
