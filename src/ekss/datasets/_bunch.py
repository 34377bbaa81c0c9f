"""What the ``fetch_*`` functions share: reading, joining, packing into a Bunch."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ekss.datasets import _catalog
from ekss.datasets._catalog import DataSet
from ekss.datasets._fetch import fetch
from ekss.datasets._home import get_data_home
from ekss.datasets._store import Names, Stored, all_names, load

Folder: TypeAlias = str | os.PathLike[str] | None


def read_points(
    dataset: DataSet, data_home: Folder, download_if_missing: bool, return_X_y: bool
) -> Any:
    """Load a set of labelled points as a Bunch or as a pair."""
    stored = make_reader(dataset, data_home, download_if_missing)()
    if return_X_y:
        return stored.arrays["X"], stored.arrays["y"]
    return bunch_of_points(dataset, stored)


def make_reader(
    dataset: DataSet, data_home: Folder, download_if_missing: bool
) -> Callable[..., Stored]:
    """Make a reader of a canonical file that is there, if need be by a download."""
    home = get_data_home(data_home)
    if not (home / dataset.filename).exists():
        if not download_if_missing:
            raise _missing(dataset, home)
        fetch(dataset, home)

    def read(wanted: Names = all_names) -> Stored:
        return load(dataset, home, wanted)

    return read


def join(parts: Sequence[Stored]) -> Stored:
    """Join points and labels of several parts, in order."""
    if len(parts) == 1:
        return parts[0]
    arrays = {
        name: np.concatenate([part.arrays[name] for part in parts])
        for name in ("X", "y")
    }
    return Stored(arrays, parts[0].variant)


def bunch_of_points(dataset: DataSet, stored: Stored) -> Bunch:
    """Pack points, labels, images and the arrays beside them."""
    others = {name: a for name, a in stored.arrays.items() if name not in ("X", "y")}
    shape = dataset.image_shape or ()
    return Bunch(
        data=stored.arrays["X"],
        target=stored.arrays["y"],
        images=stored.arrays["X"].reshape(-1, *shape),
        target_names=list(dataset.class_names),
        variant=stored.variant,
        DESCR=describe(dataset),
        **others,
    )


def bunch_of_tracks(name: str, stored: Stored) -> Bunch:
    """Pack one sequence: first all first coordinates of a point, then all second."""
    tracks: NDArray[np.float64] = stored.arrays[f"{name}__x"][:2]
    points = tracks.shape[1]
    return Bunch(
        name=name,
        data=np.swapaxes(tracks, 0, 1).reshape(points, -1),
        target=stored.arrays[f"{name}__s"] - 1,
        tracks=tracks,
        variant=stored.variant,
        DESCR=f"Sequence {name} of Hopkins 155.\n\n{describe(_catalog.HOPKINS155)}",
    )


def describe(dataset: DataSet) -> str:
    """Source, citation and terms of a data set."""
    return (
        f"{dataset.title}.\n\nSource: {dataset.homepage}\nCite: {dataset.citation}\n"
        f"Terms: {dataset.terms}"
    )


def _missing(dataset: DataSet, home: Path) -> FileNotFoundError:
    return FileNotFoundError(
        f"{dataset.name} is not in {home}; get it with: ekss data fetch "
        f"{dataset.name}, or from files you have with: ekss data import PATH"
    )
