"""Where the labels of the members are kept: in memory, or in files of a folder."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike, NDArray


class LabelRoom:
    """Room for the labels of one fit, which is the block that it surrounds.

    Every array gets a file of its own, so no file of another fit is ever written to.
    When the block ends well, the file made last stays and those it replaced are
    deleted; when it does not, all files of the block are. A file that stays is never
    touched again: it belongs to the model, and whoever has no more use for the model
    deletes it.

    Parameters
    ----------
    folder : Path or None
        None keeps labels in memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.estimators._label_room import LabelRoom
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LabelRoom(Path(folder)) as room:
    ...         few = room.empty((100, 20), "uint8")
    ...         many = room.empty((200, 20), "uint8")
    ...     print([path.name[:16] for path in Path(folder).iterdir()])
    ['base_labels_200_']
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._files: list[Path] = []

    def empty(self, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of shape (n_base, n_samples) to be filled."""
        if self.folder is None:
            return np.empty(shape, dtype)
        name = f"base_labels_{shape[0]}_{secrets.token_hex(4)}.npy"
        path = self.folder / name
        path.touch(exist_ok=False)
        self._files.append(path)
        room: NDArray[Any] = open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        return room

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        replaced = self._files[:-1] if kind is None else self._files
        for path in replaced:
            with suppress(OSError):
                path.unlink()
        self._files = []
