"""Points from a file or a folder, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._base import (
    InputError,
    Points,
    as_floats,
    check_file,
    check_points,
    reading_limit,
)
from ekss.io._containers import CONTAINERS, Entry, read_array
from ekss.io._images import IMAGES, STACKS, Size, images_of_stack, read_images
from ekss.io._packed import is_packed, unpacked, unpacked_name
from ekss.io._tables import TABLES, Choice, read_table
from ekss.io._text import DECIMALS
from ekss.runtime.memory import Limit
from ekss.runtime.rows import is_memory_map

_LARGEST_SIDE = 4096
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def read_points(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    id_column: str | int | bool | None = None,
    header: bool | str = "auto",
    image_size: tuple[int, int] | None = None,
    grey: bool = True,
    drop: Sequence[str | int] = (),
    take: Sequence[str | int] = (),
    columns: Sequence[str] | None = None,
    decimal: str | None = None,
    missing: bool = False,
    least_rows: int = 2,
    mask: str | None = None,
    memory_limit: int | str | None = None,
    in_blocks: bool = False,
) -> Points:
    r"""Read points from a file, or images from a folder.

    Parameters
    ----------
    path : path-like
        A file that ends in .npy, .npz, .csv, .tsv, .txt, .dat, .data, .tab, .parquet,
        .mat (any version), .h5, .hdf5, .tif or .tiff, each also packed (.csv.gz, .bz2,
        .xz, .zip), a .zarr directory, or a folder with .png, .jpg, .jpeg, .pgm or .tif
        images.
    key : str, default=None
        Name of the array in .npz, .mat or .h5 (there with its groups: "group/data").
        None takes the only array that may hold points: numbers, two or three axes,
        no single row or column.
    id_column : str, int or False, default=None
        Column of a table that names the points, by name or by number from 0. None
        takes the first column if its values are unique and it is mostly text, or
        called "id", "ids", "index" or nothing; else the first identifier with unique
        values. Further identifiers are left out: columns of words or whole numbers
        called "id", "customer_id", "Order ID" or "PassengerId", or, if no value comes
        twice, "index", "Unnamed: 0" or "rownames". False takes every column for a
        feature.
    header : {"auto", True, False}, default="auto"
        Whether a .csv or .tsv file begins with names. "auto" looks: text beyond the
        first column is names, and so is 0, 1, 2, ... to the last column.
    image_size : (int, int), default=None
        Height and width to give all images. None: they must have one size.
    grey : bool, default=True
        Whether to turn colour into grey. Otherwise colour images give three features
        per pixel. Only images are concerned.
    drop : sequence of str or int, default=()
        Columns of a table to leave out, such as one of true labels.
    take : sequence of str or int, default=()
        Columns of a table to take for features, by name, by number from 0, or as
        ranges such as "2-5" or "width:depth", both ends included; others are left
        out. () takes all columns of numbers.
    columns : sequence of str, default=None
        Names of the columns to take for features, in this order, wherever they stand
        in the table: missing ones are refused, others left out. Without names in the
        file nothing can be matched: it is read whole, and ``feature_names`` is None.
    decimal : {".", ","}, default=None
        Decimal mark of a table in text; the other mark may stand between thousands.
        None finds it, and refuses a file that does not tell, such as one with 1,234
        and no other number with a comma.
    missing : bool, default=False
        Whether entries may be missing: NaN in arrays, and in tables empty cells, NA,
        NaN, null and the like, which give NaN. Otherwise they are refused with their
        place.
    least_rows : int, default=2
        Refuse fewer points. To cluster takes two; one is enough for a model that is
        fitted already.
    mask : str, default=None
        Name of an array of the same .npz, .mat or .h5 file that is zero where entries
        are missing: of the shape of the array, or of tracks one number per point and
        frame, as in (frames, points). What it hides becomes NaN.
    memory_limit : int, str or None, default=None
        Most memory that the process may take, in bytes or as "4GB"; a file that
        declares more is refused before it is read. None is what the machine has free.
    in_blocks : bool, default=False
        Whether a large table (over 256 MB and 20,000 rows) in .npy, .h5, .zarr or
        .parquet may stay on the disk: ``points`` is then a memory map, of the file or
        of a temporary one without name, in the type that the file has, and is not
        checked for values that are not finite. EKSS reads it block by block and does
        check.

    Returns
    -------
    points : Points
        The rows, and what is known about them.

    Raises
    ------
    InputError
        For everything that is wrong with the file; one line with the remedy.

    See Also
    --------
    read_labels : Labels from the same formats.

    Notes
    -----
    Rows are points. An array of three axes is tracks if its second axis has length 2
    (frames x 2 x points) or if it is 3 x points x frames with ones for the third
    coordinate, as in Hopkins 155; else it is images x height x width.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from ekss.io import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, tracks = Path(folder) / "table.csv", Path(folder) / "tracks.npy"
    ...     _ = table.write_text("name,x,y\nanna,1,2\nben,3,4\n")
    ...     np.save(tracks, np.zeros((30, 2, 100)))
    ...     people, moving = read_points(table), read_points(tracks)
    >>> people.ids, people.feature_names, people.points.tolist()
    (('anna', 'ben'), ('x', 'y'), [[1.0, 2.0], [3.0, 4.0]])
    >>> moving.kind, moving.points.shape, moving.n_frames
    ('tracks', (100, 60), 30)
    """
    path = Path(path)
    if image_size is not None and not _is_size(image_size):
        raise InputError(
            f"image_size={image_size!r} is not a size; pass (height, width) from 1 to "
            f"{_LARGEST_SIDE} pixels"
        )
    whole = isinstance(least_rows, (int, np.integer))  # at run time it may be anything
    if not whole or least_rows < 1:
        raise InputError(
            f"least_rows={least_rows!r} is not a number of points; pass at least 1"
        )
    if id_column is True:
        raise InputError(
            "id_column=True names no column; pass a name or a number, None to look for "
            "one, or False for none"
        )
    if decimal is not None and decimal not in DECIMALS:
        raise InputError(f"decimal={decimal!r} is no decimal mark; pass '.' or ','")
    kind, limit = kind_of(path), reading_limit(memory_limit)
    if is_packed(path):
        with unpacked(path, limit) as inner:
            found = read_points(
                inner,
                key=key,
                id_column=id_column,
                header=header,
                image_size=image_size,
                grey=grey,
                drop=drop,
                take=take,
                columns=columns,
                decimal=decimal,
                missing=missing,
                mask=mask,
                least_rows=least_rows,
                memory_limit=memory_limit,
            )
        return replace(found, source=found.source.replace(inner.name, path.name))
    if kind == "table":
        if key is not None or image_size is not None or mask is not None:
            raise InputError(
                f"{path} is a table, without keys, masks or images; leave key and "
                "image_size and mask out"
            )
        wanted = None if columns is None else tuple(columns)
        picked = tuple(drop), wanted, tuple(take)
        choice = Choice(id_column, header, *picked, decimal, missing)
        return read_table(path, choice, least_rows, limit, in_blocks=in_blocks)
    if id_column is not None or header != "auto" or drop or take or decimal is not None:
        raise InputError(
            f"{path} is not a table; id_column, header, drop, take and decimal are for "
            f"{', '.join(TABLES)}"
        )
    if kind == "images":
        if key is not None or mask is not None:
            raise InputError(
                f"{path} holds images, without keys or masks; leave key and mask out"
            )
        where, found = str(path), read_images(path, image_size, grey, limit)
    else:
        where, array = _array(path, key, mask, limit, in_blocks)
        source = where.replace(str(path), path.name, 1)
        if is_memory_map(array):
            return Points(array, source=source)
        found = _interpreted(array, where, source, image_size, grey)
    check_points(found.points, where, least_rows, missing=missing)
    return found


def _array(
    path: Path, key: str | None, mask: str | None, limit: Limit, in_blocks: bool
) -> tuple[str, NDArray[Any]]:
    """Return the array of points with its place, NaN where a mask hides entries."""

    def may_be(entry: Entry) -> bool:
        return _may_be_points(entry) and entry.name != mask

    in_blocks = in_blocks and mask is None
    name, array = read_array(path, key, may_be, "points", limit, in_blocks=in_blocks)
    if mask is not None:
        _, seen = read_array(path, mask, may_be, "a mask", limit)
        array = _hidden(as_floats(array, str(path)), seen, f"{path}[{mask}]")
    return f"{path}[{name}]" if name else str(path), array


def kind_of(path: Path) -> str:
    """Return "images", "table" or "arrays"; refuse files of other kinds."""
    if path.is_dir():
        return "arrays" if path.suffix.lower() == ".zarr" else "images"
    check_file(path)
    inner = unpacked_name(path)
    suffix = inner.suffix.lower()
    if suffix in STACKS:
        return "images"
    if suffix not in (*TABLES, *CONTAINERS):
        ending = f"ends in {inner.suffix}" if suffix else "has no ending"
        hint = "; for images name their folder" if suffix in IMAGES else ""
        if suffix in _SHEETS:
            hint = "; save the sheet as .csv"
        known = ", ".join((*TABLES, *CONTAINERS, *STACKS))
        raise InputError(
            f"{path} {ending}, which cannot be read; name a file that ends in one of "
            f"{known}, or a folder of images{hint}"
        )
    return "table" if suffix in TABLES else "arrays"


def is_table(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file is a table with columns.

    Parameters
    ----------
    path : path-like
        The file, which need not exist.

    Returns
    -------
    is_table : bool
        Whether it is read as a table.

    Examples
    --------
    >>> from ekss.io import is_table
    >>> is_table("points.csv.gz"), is_table("points.npy")
    (True, False)
    """
    return unpacked_name(Path(path)).suffix.lower() in TABLES


def _may_be_points(entry: Entry) -> bool:
    """Whether an array may hold points: numbers, and no single row or column."""
    if not entry.is_numeric or len(entry.shape) not in (2, 3):
        return False
    return len(entry.shape) == 3 or min(entry.shape) > 1


def _is_size(size: Any) -> bool:
    return (
        isinstance(size, (tuple, list))
        and len(size) == 2
        and all(isinstance(side, (int, np.integer)) for side in size)
        and 1 <= min(size) <= max(size) <= _LARGEST_SIDE
    )


def _interpreted(
    array: NDArray[Any], where: str, source: str, size: Size | None, grey: bool
) -> Points:
    """Tell a table from images and from tracks by the shape."""
    values = as_floats(array, where)
    shape = values.shape
    if not values.size:
        raise InputError(f"{where} is empty, of shape {shape}; name another")
    tracks = _rows_of_tracks(values) if values.ndim == 3 else None
    if tracks is None and (
        values.ndim == 3 or (values.ndim == 4 and shape[3] in (1, 3))
    ):
        if shape[2] < 3:
            raise InputError(
                f"{where} has shape {shape}, neither images x height x width nor "
                "frames x 2 x points; turn its axes"
            )
        return images_of_stack(values, size, grey, source)
    if tracks is None and values.ndim != 2:
        raise InputError(
            f"{where} has shape {shape}; points have two axes, points x features, "
            "images and tracks have three"
        )
    if size is not None:
        what = "a table" if tracks is None else "tracks"
        raise InputError(f"{where} is {what}, not images; leave image_size out")
    if tracks is None:
        return Points(values, source=source)
    return Points(tracks, kind="tracks", n_frames=tracks.shape[1] // 2, source=source)


def _hidden(
    values: NDArray[np.floating], seen: NDArray[Any], where: str
) -> NDArray[np.floating]:
    """Return the array with NaN where its mask is zero."""
    if seen.dtype.kind not in "biuf":
        raise InputError(f"{where} is no mask of numbers; name one that is")
    hidden = seen == 0
    if values.ndim == 3 and values.shape[1] == 2 and hidden.ndim == 2:
        hidden = hidden[:, None, :]
    elif values.ndim == 3 and len(values) == 3 and hidden.ndim == 2:
        hidden = hidden[None]
    try:
        hidden = np.broadcast_to(hidden, values.shape)
    except ValueError:
        raise InputError(
            f"{where} has shape {seen.shape}, but it hides entries of an array of "
            f"shape {values.shape}; give it that shape, or of tracks one number per "
            "point and frame"
        ) from None
    return np.where(hidden, np.nan, values).astype(values.dtype, copy=False)


def _rows_of_tracks(values: NDArray[np.floating]) -> NDArray[np.floating] | None:
    """Return tracks as rows x_1, y_1, x_2, y_2, ...; None if they are not tracks."""
    if values.shape[1] == 2:
        tracks = values.transpose(2, 0, 1)
    elif _is_homogeneous(values):
        tracks = values[:2].transpose(1, 2, 0)
    else:
        return None
    return np.ascontiguousarray(tracks).reshape(len(tracks), -1)


def _is_homogeneous(values: NDArray[np.floating]) -> bool:
    """Tell whether the third of three coordinates is 1 wherever it is not missing."""
    if len(values) != 3:
        return False
    ones = (values[2] == 1) | np.isnan(values[2])
    return bool(ones.all()) and not (values[:2] == 1).all()
