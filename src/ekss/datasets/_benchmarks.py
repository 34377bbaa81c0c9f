"""The ``fetch_*`` functions: benchmark data from the data home."""

from typing import Any

from sklearn.utils import Bunch

from ekss.datasets import _catalog
from ekss.datasets._bunch import (
    Folder,
    bunch_of_points,
    bunch_of_tracks,
    describe,
    join,
    make_reader,
    read_points,
)

_USPS_TRAIN = 7291


def fetch_hopkins155(
    sequence: str | None = None,
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the Hopkins 155 point tracks: one sequence, or all 155.

    A sequence has P points followed over F frames; points on one moving object lie
    near an affine subspace of dimension at most 3. 120 sequences have 2 motions, 35
    have 3. The name ``dancing`` (5 motions) is no part of the 155, but it can be
    asked for.

    Parameters
    ----------
    sequence : str or None, default=None
        Name of one sequence, for example ``"cars1"``; None for the 155.
    data_home : str, path or None, default=None
        Folder of the data files, see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download the data if they are not there, or else raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``, for all sequences two lists.

    Returns
    -------
    Bunch or tuple of (data, target)
        Of one sequence: ``data`` of shape (P, 2F), float64, row p the first
        coordinate of point p in frames 1 to F, then the second one; ``target`` of
        shape (P,), motions from 0; ``tracks`` of shape (2, P, F), where
        ``tracks[0, p, f]`` is ``data[p, f]`` and ``tracks[1, p, f]`` is
        ``data[p, F + f]``; ``name``, ``variant``, ``DESCR``. Of all: ``sequences``, a
        list of 155 such; ``names``, ``variant``, ``DESCR``.

    Notes
    -----
    Coordinates are those of the files' normalised x, in which the larger side of an
    image is about [-1, 1]. Reading all takes a fraction of a second.

    References
    ----------
    R. Tron, R. Vidal, "A Benchmark for the Comparison of 3-D Motion Segmentation
    Algorithms", CVPR 2007.

    Examples
    --------
    >>> fetch_hopkins155("cars1").data.shape  # doctest: +SKIP
    (307, 40)
    """
    dataset = _catalog.HOPKINS155
    read = make_reader(dataset, data_home, download_if_missing)
    known = [str(name) for name in read(lambda _: ["names"]).arrays["names"]]
    if sequence is not None and sequence not in known:
        raise ValueError(
            f"sequence={sequence!r} is not one of Hopkins 155; choose one of "
            f"fetch_hopkins155().names, for example {known[0]!r}"
        )
    asked = [name for name in known if name not in dataset.uncounted]
    names = asked if sequence is None else [sequence]
    stored = read(lambda _: [f"{name}__{part}" for name in names for part in "xs"])
    sequences = [bunch_of_tracks(name, stored) for name in names]
    if sequence is not None:
        only = sequences[0]
        return (only.data, only.target) if return_X_y else only
    if return_X_y:
        return [one.data for one in sequences], [one.target for one in sequences]
    return Bunch(
        sequences=sequences,
        names=names,
        variant=stored.variant,
        DESCR=describe(dataset),
    )


def fetch_eyaleb(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the cropped Extended Yale B faces: 38 people under 64 lights.

    Faces of one person under all lights lie near a subspace of dimension 9. The
    images are 4 x 4 block means of the files' 192 x 168 pixels. 18 images are marked
    bad in the files, most nearly black, row 877 exactly zero.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files, see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download the data if they are not there, or else raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (2432, 2016), uint8; ``target`` of shape (2432,), 0 to 37;
        ``images`` of shape (2432, 48, 42), a view of data; ``target_names``; ``bad``,
        a mask of shape (2432,); ``subject`` (1 to 39 without 14), ``azimuth`` and
        ``elevation`` of the light in degrees, each of shape (2432,); ``variant``;
        ``DESCR``.

    Notes
    -----
    Rows go by subject, then by the light's name in the files. Reads about 4 MB.

    References
    ----------
    A. Georghiades, P. Belhumeur, D. Kriegman, "From Few to Many: Illumination Cone
    Models for Face Recognition under Variable Lighting and Pose", IEEE PAMI, 2001.
    K.-C. Lee, J. Ho, D. Kriegman, "Acquiring Linear Subspaces for Face Recognition
    under Variable Lighting", IEEE PAMI, 2005.

    Examples
    --------
    >>> fetch_eyaleb().images.shape  # doctest: +SKIP
    (2432, 48, 42)
    """
    dataset = _catalog.EYALEB
    return read_points(dataset, data_home, download_if_missing, return_X_y)


def fetch_coil20(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load COIL-20: 20 objects seen from 72 sides.

    The images are 4 x 4 block means of the files' 128 x 128 pixels, divided by 255.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files, see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download the data if they are not there, or else raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (1440, 1024), float64 in [0, 1]; ``target`` of shape
        (1440,), 0 to 19; ``images`` of shape (1440, 32, 32), a view of data;
        ``target_names``; ``variant``; ``DESCR``.

    Notes
    -----
    Rows go by object, then by angle in steps of 5 degrees. Reads about 2 MB.

    References
    ----------
    S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-20)",
    Technical Report CUCS-005-96, Columbia University, 1996.

    Examples
    --------
    >>> fetch_coil20().images.shape  # doctest: +SKIP
    (1440, 32, 32)
    """
    return read_points(_catalog.COIL20, data_home, download_if_missing, return_X_y)


def fetch_coil100(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load COIL-100: 100 objects seen from 72 sides, in grey.

    The images are 4 x 4 block means of the files' 128 x 128 pixels turned to grey.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files, see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download the data if they are not there, or else raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (7200, 1024), uint8; ``target`` of shape (7200,), 0 to 99;
        ``images`` of shape (7200, 32, 32), a view of data; ``target_names``;
        ``angle`` of shape (7200,), in degrees; ``variant``; ``DESCR``.

    Notes
    -----
    Rows go by object, then by angle. Reads about 4 MB.

    References
    ----------
    S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-100)",
    Technical Report CUCS-006-96, Columbia University, 1996.

    Examples
    --------
    >>> fetch_coil100().images.shape  # doctest: +SKIP
    (7200, 32, 32)
    """
    return read_points(_catalog.COIL100, data_home, download_if_missing, return_X_y)


def fetch_usps(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load the USPS digits of the files zip.train and zip.test.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder of the data files, see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download the data if they are not there, or else raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (9298, 256), float32 in [0, 1], the files' values v as
        (v + 1) / 2; ``target`` of shape (9298,), 0 to 9; ``images`` of shape
        (9298, 16, 16), a view of data; ``target_names``; ``n_train``, 7291: the rows
        that come from zip.train, before those of zip.test; ``variant``; ``DESCR``.

    Notes
    -----
    Other copies of these digits are smoother or of 11000 images. Reads about 2 MB.

    References
    ----------
    J. Hull, "A Database for Handwritten Text Recognition Research", IEEE PAMI, 1994.

    Examples
    --------
    >>> fetch_usps().images.shape  # doctest: +SKIP
    (9298, 16, 16)
    """
    loaded = read_points(_catalog.USPS, data_home, download_if_missing, return_X_y)
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

    Parameters
    ----------
    subset : {"test", "train", "all"}, default="test"
        The 10000 test images, the 60000 training images, or training then test.
    data_home : str, path or None, default=None
        Folder of the data files, see `get_data_home`.
    download_if_missing : bool, default=True
        Whether to download the data if they are not there, or else raise OSError.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (n_samples, 784), uint8; ``target`` of shape (n_samples,),
        0 to 9; ``images`` of shape (n_samples, 28, 28), a view of data;
        ``target_names``; ``variant``; ``DESCR``.

    Notes
    -----
    Reads about 2 MB for the test and 10 MB for the training images.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to
    document recognition", Proceedings of the IEEE, 1998.

    Examples
    --------
    >>> fetch_mnist("test").images.shape  # doctest: +SKIP
    (10000, 28, 28)
    """
    train, test = _catalog.MNIST_TRAIN, _catalog.MNIST_TEST
    parts = {"test": [test], "train": [train], "all": [train, test]}
    if subset not in parts:
        raise ValueError(f"subset={subset!r} is unknown; choose 'test', 'train', 'all'")
    stored = join(
        [make_reader(p, data_home, download_if_missing)() for p in parts[subset]]
    )
    if return_X_y:
        return stored.arrays["X"], stored.arrays["y"]
    return bunch_of_points(parts[subset][0], stored)
