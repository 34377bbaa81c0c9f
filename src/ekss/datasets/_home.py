"""Where the data files live."""

import os
import sys
from pathlib import Path

VARIABLE = "EKSS_DATA"


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    r"""Return the folder that holds the benchmark data.

    The first of these that is given: the argument, the environment variable
    ``EKSS_DATA``, the platform's cache folder for ``ekss``. The folder is not made.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder to use; None for the environment variable or the cache folder.

    Returns
    -------
    pathlib.Path
        The folder, with ``~`` replaced by the home folder.

    Notes
    -----
    The cache folder comes from platformdirs where it is installed. Without it, it is
    ``%LOCALAPPDATA%\ekss`` on Windows and ``~/.cache/ekss`` elsewhere. O(1) time.

    Examples
    --------
    >>> from ekss.datasets import get_data_home
    >>> get_data_home("some/folder").as_posix()
    'some/folder'
    """
    chosen = data_home if data_home is not None else os.environ.get(VARIABLE)
    return Path(chosen).expanduser() if chosen else _cache_folder()


def _cache_folder() -> Path:
    try:
        from platformdirs import user_cache_path
    except ModuleNotFoundError:
        local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
        return (Path(local) if local else Path.home() / ".cache") / "ekss"
    return user_cache_path("ekss", appauthor=False)
