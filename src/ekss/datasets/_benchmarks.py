"""The ``fetch_*`` functions: benchmark data from the data home."""

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Bunch

from ekss.datasets import _catalog
from ekss.datasets._catalog import DataSet
from ekss.datasets._sources import fetch
from ekss.datasets._store import Checked, get_data_home, load

Folder: TypeAlias = str | os.PathLike[str] | None

_USPS_TRAIN = 7291


def fetch_hopkins155(
    sequence: str | None = None,
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Hopkins 155 point tracks: one sequence, or all 155.

    A sequence has P points followed over F frames; points on one moving object lie near
    an affine subspace of dimension at most 3. 120 sequences have 2 motions, 35 have 3.
    The sequence ``dancing`` (5 motions) is not one of the 155, but can be requested by
    name.

    Coordinates are those of the normalised x in the files, in which the larger side of
    an image is about [-1, 1]. Reading all sequences takes a fraction of a second.

    Parameters
    ----------
    sequence : str or None, default=None
        Name of one sequence, for example ``"cars1"``; None for all 155.
    data_home : str, path or None, default=None
        Folder of the data files; see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing data; if False, missing data raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``; for all sequences, these are two lists.

    Returns
    -------
    Bunch or tuple of (data, target)
        For one sequence: ``data`` of shape (P, 2F), float64, where row p holds the
        first coordinate of point p in frames 1 to F, then the second one; ``target`` of
        shape (P,), motions numbered from 0; ``tracks`` of shape (2, P, F), where
        ``tracks[0, p, f]`` is ``data[p, f]`` and ``tracks[1, p, f]`` is
        ``data[p, F + f]``; ``name``; ``variant``; ``DESCR``, with the source, what to
        cite and the terms. For all sequences: ``sequences``, a list of 155 such
        Bunches; ``names``, ``variant``, ``DESCR``.

    Examples
    --------
    >>> from ekss.datasets import fetch_hopkins155
    >>> fetch_hopkins155("cars1").data.shape  # doctest: +SKIP
    (307, 40)
    """
    dataset = _catalog.BY_NAME["hopkins155"]
    home = _filled_home(dataset, data_home, download_if_missing)
    known = load(dataset, home, ["names"]).arrays["names"].tolist()
    if sequence is not None and sequence not in known:
        raise ValueError(
            f"sequence={sequence!r} is not one of Hopkins 155; choose one of "
            f"fetch_hopkins155().names, for example {known[0]!r}"
        )
    asked = [name for name in known if name not in dataset.uncounted]
    names = asked if sequence is None else [sequence]
    wanted = [f"{name}__{part}" for name in names for part in "xs"]
    stored = load(dataset, home, wanted)
    sequences = [_sequence(dataset, name, stored) for name in names]
    if sequence is not None:
        only = sequences[0]
        return (only.data, only.target) if return_X_y else only
    if return_X_y:
        return [one.data for one in sequences], [one.target for one in sequences]
    return Bunch(
        sequences=sequences,
        names=names,
        variant=stored.variant,
        DESCR=_description(dataset),
    )


def fetch_eyaleb(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the cropped Extended Yale B faces: 38 people under 64 lights.

    Faces of one person under all lights lie near a subspace of dimension 9. The images
    are 4 x 4 block means of the 192 x 168 pixels in the files. 18 images are marked bad
    in the files; most of them are nearly black, and row 877 is exactly zero. Rows are
    ordered by subject, then by the name of the light in the files. Reads about 4 MB.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files; see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing data; if False, missing data raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (2432, 2016), uint8; ``target`` of shape (2432,), 0 to 37;
        ``images`` of shape (2432, 48, 42), a view of data; ``target_names``; ``bad``,
        a mask of shape (2432,); ``subject`` (1 to 39 without 14), ``azimuth`` and
        ``elevation`` of the light in degrees, each of shape (2432,); ``variant``;
        ``DESCR``.

    Examples
    --------
    >>> from ekss.datasets import fetch_eyaleb
    >>> fetch_eyaleb().data.shape  # doctest: +SKIP
    (2432, 2016)
    """
    return _fetch_points(["eyaleb"], data_home, download_if_missing, return_X_y)


def fetch_coil20(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load COIL-20: 20 objects seen from 72 sides.

    The images are 4 x 4 block means of the 128 x 128 pixels in the files, divided by
    255. Rows are ordered by object, then by angle in steps of 5 degrees. Reads
    about 2 MB.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files; see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing data; if False, missing data raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (1440, 1024), float64 in [0, 1]; ``target`` of shape
        (1440,), 0 to 19; ``images`` of shape (1440, 32, 32), a view of data;
        ``target_names``; ``variant``; ``DESCR``.

    Examples
    --------
    >>> from ekss.datasets import fetch_coil20
    >>> fetch_coil20().data.shape  # doctest: +SKIP
    (1440, 1024)
    """
    return _fetch_points(["coil20"], data_home, download_if_missing, return_X_y)


def fetch_coil100(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load COIL-100: 100 objects seen from 72 sides, in grey.

    The images are 4 x 4 block means of the 128 x 128 pixels in the files, converted to
    grey. Rows are ordered by object, then by angle. Reads about 4 MB.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files; see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing data; if False, missing data raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (7200, 1024), uint8; ``target`` of shape (7200,), 0 to 99;
        ``images`` of shape (7200, 32, 32), a view of data; ``target_names``;
        ``angle`` of shape (7200,), in degrees; ``variant``; ``DESCR``.

    Examples
    --------
    >>> from ekss.datasets import fetch_coil100
    >>> fetch_coil100().data.shape  # doctest: +SKIP
    (7200, 1024)
    """
    return _fetch_points(["coil100"], data_home, download_if_missing, return_X_y)


def fetch_usps(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the USPS digits of the files zip.train and zip.test.

    Other copies of these digits are smoother or contain 11000 images. Reads about 2 MB.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files; see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing data; if False, missing data raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (9298, 256), float32 in [0, 1], which are the values v of the
        files as (v + 1) / 2; ``target`` of shape (9298,), 0 to 9; ``images`` of shape
        (9298, 16, 16), a view of data; ``target_names``; ``n_train``, 7291: the number
        of rows that come from zip.train, before those of zip.test; ``variant``;
        ``DESCR``.

    Examples
    --------
    >>> from ekss.datasets import fetch_usps
    >>> fetch_usps().data.shape  # doctest: +SKIP
    (9298, 256)
    """
    loaded = _fetch_points(["usps"], data_home, download_if_missing, return_X_y)
    if not return_X_y:
        loaded.n_train = _USPS_TRAIN
    return loaded


def fetch_mnist(
    subset: str = "test",
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the MNIST digits.

    Reads about 2 MB for the test images and 10 MB for the training images.

    Parameters
    ----------
    subset : {"test", "train", "all"}, default="test"
        The 10000 test images, the 60000 training images, or training followed by test.
    data_home : str, path or None, default=None
        Folder of the data files; see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing data; if False, missing data raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (n_samples, 784), uint8; ``target`` of shape (n_samples,),
        0 to 9; ``images`` of shape (n_samples, 28, 28), a view of data;
        ``target_names``; ``variant``; ``DESCR``.

    Examples
    --------
    >>> from ekss.datasets import fetch_mnist
    >>> fetch_mnist("test").data.shape  # doctest: +SKIP
    (10000, 784)
    """
    parts = {
        "test": ["mnist_test"],
        "train": ["mnist_train"],
        "all": ["mnist_train", "mnist_test"],
    }
    if subset not in parts:
        raise ValueError(f"subset={subset!r} is unknown; choose 'test', 'train', 'all'")
    return _fetch_points(parts[subset], data_home, download_if_missing, return_X_y)


def _fetch_points(
    names: list[str], data_home: Folder, download_if_missing: bool, return_X_y: bool
) -> Any:
    """Load labelled points of one or more parts, joined, as a Bunch or as a pair."""
    datasets = [_catalog.BY_NAME[name] for name in names]
    parts = [
        load(dataset, _filled_home(dataset, data_home, download_if_missing))
        for dataset in datasets
    ]
    arrays = parts[0].arrays
    if len(parts) > 1:
        arrays = {
            key: np.concatenate([part.arrays[key] for part in parts]) for key in arrays
        }
    data, target = arrays.pop("X"), arrays.pop("y")
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=data.reshape(-1, *(datasets[0].image_shape or ())),
        target_names=list(datasets[0].class_names),
        variant=parts[0].variant,
        DESCR=_description(datasets[0]),
        **arrays,
    )


def _sequence(dataset: DataSet, name: str, stored: Checked) -> Bunch:
    """Pack one sequence: all first coordinates of a point, then all second ones."""
    tracks = stored.arrays[f"{name}__x"][:2]
    return Bunch(
        name=name,
        data=np.swapaxes(tracks, 0, 1).reshape(tracks.shape[1], -1),
        target=stored.arrays[f"{name}__s"] - 1,
        tracks=tracks,
        variant=stored.variant,
        DESCR=f"Sequence {name} of Hopkins 155.\n\n{_description(dataset)}",
    )


def _filled_home(
    dataset: DataSet, data_home: Folder, download_if_missing: bool
) -> Path:
    """Return the data home; download the data set first if it is not there."""
    home = get_data_home(data_home)
    if not (home / dataset.filename).exists():
        if not download_if_missing:
            raise FileNotFoundError(
                f"{dataset.name} is not in {home}; get it with: ekss data fetch "
                f"{dataset.name}, or from files you have with: ekss data import PATH"
            )
        fetch(dataset, home)
    return home


def _description(dataset: DataSet) -> str:
    return (
        f"{dataset.title}.\n\nSource: {dataset.homepage}\nCite: {dataset.citation}\n"
        f"Terms: {dataset.terms}"
    )
