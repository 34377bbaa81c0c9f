"""Points from a file or a folder, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.io._columns import Choice
from ekss.io._containers import CONTAINERS, Entry, read_array
from ekss.io._errors import InputError, check_file
from ekss.io._images import IMAGES, Size, image_paths, pictures_of_stack, read_images
from ekss.io._numbers import as_floats, check_points
from ekss.io._tables import TABLES, read_table

TABLE = "table"
PICTURES = "images"
TRACKS = "tracks"

_LARGEST_SIDE = 4096


@dataclass(frozen=True)
class Points:
    r"""Points of a file, one a row, and what is known about them.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_features)
        float32 where the file has float32 or less, else float64; finite.
    ids : tuple of str or None
        Names of the points: an id column, or the files of a folder of images.
    kind : {"table", "images", "tracks"}
        What the rows are.
    image_shape : (int, int) or None
        Height and width where a row is the grey pixels of an image.
    n_frames : int or None
        Number of frames where a row is a track x_1, y_1, x_2, y_2, ...
    feature_names : tuple of str or None
        Names of the columns, where the file has names.
    source : str
        The file, and the key of the array in brackets.
    columns : tuple of str or None
        How ``drop`` and ``id_column`` call the features of a table: by their names, or
        by their numbers from 0 where it has none.
    id_name : str or None
        Name of the column of a table that ``ids`` come from.
    left_out : tuple of str
        Columns of a table that are neither features nor ids and were not dropped by
        the caller: identifiers, and what is not among ``columns``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.io import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("name,x,y\nanna,1,2\nben,3,4\n")
    ...     found = read_points(path)
    >>> found.points
    array([[1., 2.],
           [3., 4.]])
    >>> found.ids, found.feature_names
    (('anna', 'ben'), ('x', 'y'))
    """

    points: NDArray[np.floating]
    ids: tuple[str, ...] | None = None
    kind: str = TABLE
    image_shape: Size | None = None
    n_frames: int | None = None
    feature_names: tuple[str, ...] | None = None
    source: str = ""
    columns: tuple[str, ...] | None = None
    id_name: str | None = None
    left_out: tuple[str, ...] = ()


def read_points(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    id_column: str | int | bool | None = None,
    header: bool | str = "auto",
    image_size: tuple[int, int] | None = None,
    grey: bool = True,
    drop: Sequence[str | int] = (),
    columns: Sequence[str] | None = None,
    least_rows: int = 2,
) -> Points:
    """Read points from a file, or images from a folder.

    Parameters
    ----------
    path : path-like
        A file that ends in .npy, .npz, .csv, .tsv, .parquet, .mat (any version), .h5
        or .hdf5, or a folder with .png, .jpg, .jpeg or .pgm images.
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
        a pixel. Only images are concerned.
    drop : sequence of str or int, default=()
        Columns of a table to leave out, such as one of true labels.
    columns : sequence of str, default=None
        Names of the columns to take for features, in this order, wherever they stand
        in the table: missing ones are refused, others left out. Without names in the
        file nothing can be matched: it is read whole, and ``feature_names`` is None.
    least_rows : int, default=2
        Refuse fewer points. To cluster takes two; one is enough for a model that is
        fitted already.

    Returns
    -------
    points : Points

    Raises
    ------
    InputError
        For everything that is wrong with the file; one line with the remedy.

    Notes
    -----
    Rows are points. An array of three axes is tracks if its second axis has length 2
    (frames x 2 x points) or if it is 3 x points x frames with ones for the third
    coordinate, as in Hopkins 155; else it is images x height x width.

    See Also
    --------
    read_labels : Labels from the same formats.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from ekss.io import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tracks.npy"
    ...     np.save(path, np.zeros((30, 2, 100)))
    ...     found = read_points(path)
    >>> found.kind, found.points.shape, found.n_frames
    ('tracks', (100, 60), 30)
    """
    path = Path(path)
    _check_size(image_size)
    _check_least(least_rows)
    if id_column is True:
        raise InputError(
            "id_column=True names no column; pass a name or a number, None to look for "
            "one, or False for none"
        )
    if path.is_dir():
        _refuse_table_options(path, id_column, header, drop)
        return _from_folder(path, key, image_size, grey, least_rows)
    check_file(path)
    ending = path.suffix.lower()
    if ending in TABLES:
        if key is not None or image_size is not None:
            raise InputError(
                f"{path} is a table, without keys or images; leave key and image_size "
                "out"
            )
        wanted = None if columns is None else tuple(columns)
        table = read_table(
            path, Choice(id_column, header, tuple(drop), wanted), least_rows
        )
        return Points(
            table.points,
            ids=table.ids,
            feature_names=table.columns if table.has_names else None,
            source=path.name,
            columns=table.columns,
            id_name=table.id_name,
            left_out=table.left_out,
        )
    if ending not in CONTAINERS:
        raise InputError(unknown_ending(path))
    _refuse_table_options(path, id_column, header, drop)
    name, array = read_array(path, key, may_be_points, "points")
    source = f"{path.name}[{name}]" if name else path.name
    where = f"{path}[{name}]" if name else str(path)
    found = _interpreted(array, where, source, image_size, grey)
    check_points(found.points, where, least_rows=least_rows)
    return found


def unknown_ending(path: Path) -> str:
    """Return the message for a file of unknown kind."""
    known = ", ".join((*TABLES, *CONTAINERS))
    ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
    hint = "; for images name their folder" if path.suffix.lower() in IMAGES else ""
    return (
        f"{path} {ending}, which cannot be read; name a file that ends in one of "
        f"{known}, or a folder of images{hint}"
    )


def may_be_points(entry: Entry) -> bool:
    """Whether an array may hold points: numbers, and no single row or column."""
    if not entry.is_numeric or len(entry.shape) not in (2, 3):
        return False
    return len(entry.shape) == 3 or min(entry.shape) > 1


def _check_size(size: Any) -> None:
    if size is None:
        return
    sides = tuple(size) if isinstance(size, (tuple, list)) else ()
    if len(sides) != 2 or not all(
        isinstance(side, (int, np.integer)) and 1 <= side <= _LARGEST_SIDE
        for side in sides
    ):
        raise InputError(
            f"image_size={size!r} is no size; pass (height, width) from 1 to "
            f"{_LARGEST_SIDE} pixels"
        )


def _check_least(least_rows: Any) -> None:
    if not isinstance(least_rows, (int, np.integer)) or least_rows < 1:
        raise InputError(
            f"least_rows={least_rows!r} is no number of points; pass at least 1"
        )


def _refuse_table_options(
    path: Path,
    id_column: str | int | bool | None,
    header: bool | str,
    drop: Sequence[Any],
) -> None:
    if id_column is not None or header != "auto" or drop:
        raise InputError(
            f"{path} is no table; id_column, header and drop are for "
            f"{', '.join(TABLES)}"
        )


def _from_folder(
    folder: Path, key: str | None, size: Size | None, grey: bool, least_rows: int
) -> Points:
    if key is not None:
        raise InputError(f"{folder} is a folder, without keys; leave the key out")
    paths = image_paths(folder)
    pictures = read_images(paths, size, grey)
    check_points(pictures.points, str(folder), least_rows=least_rows)
    return Points(
        pictures.points,
        ids=tuple(path.relative_to(folder).as_posix() for path in paths),
        kind=PICTURES,
        image_shape=pictures.shape,
        source=folder.name,
    )


def _interpreted(
    array: NDArray[Any], where: str, source: str, size: Size | None, grey: bool
) -> Points:
    """Tell a table from images and from tracks by the shape."""
    values = as_floats(array, where)
    if not values.size:
        raise InputError(f"{where} is empty, of shape {values.shape}; name another")
    if values.ndim == 3:
        rows = _rows_of_tracks(values)
        if rows is not None:
            _refuse_size(size, where, "tracks")
            n_frames = rows.shape[1] // 2
            return Points(rows, kind=TRACKS, n_frames=n_frames, source=source)
    if values.ndim == 3 or (values.ndim == 4 and values.shape[3] in (1, 3)):
        if values.shape[2] < 3:
            raise InputError(
                f"{where} has shape {values.shape}, neither images x height x width "
                "nor frames x 2 x points; turn its axes"
            )
        pictures = pictures_of_stack(values, size, grey)
        return Points(
            pictures.points, kind=PICTURES, image_shape=pictures.shape, source=source
        )
    if values.ndim != 2:
        raise InputError(
            f"{where} has shape {values.shape}; points have two axes, points x "
            "features, images and tracks have three"
        )
    _refuse_size(size, where, "a table")
    return Points(values, source=source)


def _refuse_size(size: Size | None, where: str, what: str) -> None:
    if size is not None:
        raise InputError(f"{where} is {what}, not images; leave image_size out")


def _rows_of_tracks(values: NDArray[np.floating]) -> NDArray[np.floating] | None:
    """Return tracks as rows x_1, y_1, x_2, y_2, ...; None if these are no tracks."""
    if values.shape[1] == 2:
        tracks = values.transpose(2, 0, 1)
    elif len(values) == 3 and (values[2] == 1).all() and not (values[:2] == 1).all():
        tracks = values[:2].transpose(1, 2, 0)
    else:
        return None
    return np.ascontiguousarray(tracks).reshape(len(tracks), -1)
