"""Which source of rows an object is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ekss.rows._blocks import REAL_KINDS
from ekss.rows._dask import DaskRows
from ekss.rows._disk import DiskRows
from ekss.rows._memory import MemoryRows
from ekss.rows._protocol import Rows


def as_rows(X: Any) -> Rows | None:
    """Wrap an array whose rows can be read block by block.

    Parameters
    ----------
    X : object
        A numpy array or memory map, an h5py dataset, a zarr array, a Dask
        array, or anything.

    Returns
    -------
    rows : Rows or None
        None for all that scikit-learn's validation deals with: lists, data frames,
        numpy arrays that are no matrix of real numbers.

    Notes
    -----
    Types are recognised by the name of their module; none of these is imported.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.rows import as_rows
    >>> as_rows(np.eye(3)).shape
    (3, 3)
    >>> as_rows([[1, 2], [3, 4]]) is None
    True
    """
    if type(X) in (np.ndarray, np.memmap):
        usable = X.ndim == 2 and X.dtype.kind in REAL_KINDS and X.size
        return MemoryRows(X) if usable else None
    return next(filter(None, (_wrapped(X, kind) for kind in type(X).__mro__)), None)


def _wrapped(X: Any, kind: type) -> Rows | None:
    """Wrap the object if this class of it is one that we know."""
    library = kind.__module__.partition(".")[0]
    if library == "h5py" and not X:
        raise ValueError("the file of the HDF5 dataset is closed; open it again")
    match library, kind.__name__:
        case ("h5py", "Dataset") | ("zarr", "Array"):
            return DiskRows(X)
        case "dask", "Array":
            return DaskRows(X)
        case (("h5py" | "zarr"), "Group"):
            raise ValueError(
                f"X is a group of arrays of {library}; give one of its arrays, such as "
                "X['name']"
            )
        case "dask", ("DataFrame" | "Series"):
            raise ValueError(
                "X is a Dask data frame; give its numbers as an array: "
                "X.to_dask_array(lengths=True)"
            )
        case "dask", ("Delayed" | "Bag"):
            raise ValueError(
                "X is a Dask object that is no array; make one with "
                "dask.array.from_delayed"
            )
    return None
