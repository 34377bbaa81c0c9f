"""Ways into the data home: downloads from mirrors, and files on the user's disk."""

import gzip
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ekss.datasets._catalog import Archive, DataSet
from ekss.datasets._convert import MOST_UNPACKED, has_members
from ekss.datasets._store import UNREADABLE, Checked, read_foreign, save
from ekss.runtime.files import scratch_folder
from ekss.runtime.untrusted import read_maybe_packed, why_not_regular

Progress = Callable[[str], Any]
_TIMEOUT = 30


def fetch(dataset: DataSet, home: Path, progress: Progress | None = None) -> Checked:
    """Download the archives of a data set, convert them, write the canonical file.

    No part of the download is left in the data home.

    Parameters
    ----------
    dataset : DataSet
        A data set from the catalog.
    home : Path
        The data home; it is created if it does not exist.
    progress : callable, default=None
        Maps the name of a file to a progress bar for pooch's downloader.

    Returns
    -------
    checked : Checked
        What was written.

    Examples
    --------
    >>> from ekss.datasets import CATALOG, fetch, get_data_home
    >>> fetch(CATALOG[0], get_data_home()).variant  # doctest: +SKIP
    'reference'
    """
    home.mkdir(parents=True, exist_ok=True)
    with scratch_folder(home) as folder:
        paths = [_download(a, folder, progress) for a in dataset.archives]
        return save(dataset, convert(dataset, paths), home)


def _download(archive: Archive, folder: Path, progress: Progress | None) -> Path:
    """Try the mirrors in turn; if all fail, report every failure."""
    try:
        from pooch import HTTPDownloader
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "downloads need pooch, which is not installed; "
            'install it with: pip install "ekss[data]"'
        ) from error
    path, failures = folder / archive.filename, []
    for url in archive.urls:
        if not is_trusted(url, archive):
            failures.append(f"{url}: plain http, and no SHA-256 digest to check it by")
            continue
        bar = progress(archive.filename) if progress else None
        get = HTTPDownloader(
            progressbar=bar or False,
            chunk_size=2**16,
            timeout=_TIMEOUT,
            headers={"Accept-Encoding": "identity"},
        )
        try:
            get(url, str(path), None)
            _check_download(archive, path)
        except (OSError, ValueError) as error:
            failures.append(f"{url}: {error}")
            if bar:
                bar.close()
        else:
            return path
    raise OSError(
        f"{archive.filename} could not be downloaded ({'; '.join(failures)}); "
        "get it by other means and run: ekss data import PATH"
    )


def is_trusted(url: str, archive: Archive) -> bool:
    """Decide whether tampering with a download from this address would be noticed."""
    is_strong = (archive.digest or "").startswith("sha256:")
    return url.startswith("https://") or is_strong


def _check_download(archive: Archive, path: Path) -> None:
    """Refuse a file with a different digest, or one that is not a complete archive."""
    if archive.digest is not None:
        from pooch import file_hash

        kind, expected = archive.digest.split(":")
        found = file_hash(str(path), alg=kind)
        if found != expected:
            raise ValueError(f"{kind} expected {expected}, found {found}")
    if path.suffix == ".zip" and not zipfile.is_zipfile(path):
        raise ValueError("the download is not a complete zip file")
    if path.suffix == ".gz":
        try:
            content = read_maybe_packed(path, MOST_UNPACKED)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError("the download is not a complete gzip file") from error
        if content.lstrip()[:1] in (b"<", b""):
            raise ValueError("the download is a web page or empty, not a gzip file")


def convert(dataset: DataSet, paths: Sequence[Path]) -> dict[str, Any]:
    """Turn archives into arrays; refuse what cannot be read, in one sentence."""
    try:
        return dataset.convert(paths)
    except UNREADABLE as error:
        names = " and ".join(path.name for path in paths)
        raise ValueError(
            f"{names} cannot be read as the {dataset.name} archive ({error}); "
            f"download it again from {dataset.homepage}"
        ) from error


@dataclass(frozen=True)
class Source:
    """Files from which one data set can be imported; missing files are named."""

    dataset: DataSet
    paths: tuple[Path, ...]
    missing: tuple[str, ...] = ()


def import_source(source: Source, home: Path) -> Checked:
    """Write the canonical file of one data set from files on disk.

    Parameters
    ----------
    source : Source
        One of the results of :func:`find_sources`.
    home : Path
        The data home.

    Returns
    -------
    checked : Checked
        What was written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.datasets import CATALOG, find_sources, get_data_home, import_source
    >>> for source in find_sources(Path("archives"), CATALOG):  # doctest: +SKIP
    ...     import_source(source, get_data_home())
    """
    dataset = source.dataset
    if source.missing:
        found = " and ".join(str(path) for path in source.paths)
        lost = " and ".join(source.missing)
        raise ValueError(f"{dataset.name} needs {lost} beside {found}; put it there")
    if source.paths[0].suffix == ".npz":
        return save(dataset, read_foreign(source.paths[0]), home)
    return save(dataset, convert(dataset, source.paths), home)


def find_sources(path: Path, catalog: Sequence[DataSet]) -> list[Source]:
    """Find what can be imported from a canonical file, an archive or a folder.

    Parameters
    ----------
    path : Path
        A file or a folder.
    catalog : sequence of DataSet
        The data sets to look for.

    Returns
    -------
    sources : list of Source
        What :func:`import_source` can import.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.datasets import CATALOG, find_sources
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "zip.train.gz"
    ...     file.touch()
    ...     [source.dataset.name for source in find_sources(file, CATALOG)]
    ['usps']
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; pass a file or a folder")
    reason = None if path.is_dir() else why_not_regular(path)
    if reason is not None:
        raise ValueError(f"{path} {reason}")
    beside = sorted((path if path.is_dir() else path.parent).iterdir())
    given = beside if path.is_dir() else [path]
    sources = []
    for dataset in catalog:
        canonical = [
            file for file in given if file.name == dataset.filename and file.is_file()
        ]
        if canonical:
            sources.append(Source(dataset, (canonical[0],)))
        elif any(_matching(given, archive) for archive in dataset.archives):
            found = {
                archive.filename: _matching(given, archive)
                or _matching(beside, archive)
                for archive in dataset.archives
            }
            paths = tuple(path for path in found.values() if path)
            missing = tuple(name for name, path in found.items() if not path)
            sources.append(Source(dataset, paths, missing))
    if not sources:
        known = [dataset.filename for dataset in catalog]
        known += [archive.filename for d in catalog for archive in d.archives]
        raise ValueError(
            f"{path} holds no data set; expected any of {', '.join(known)}"
        )
    return sources


def _matching(files: Sequence[Path], archive: Archive) -> Path | None:
    """Find the first file with the archive's name, packed or not, or its members."""
    names = (archive.filename, archive.filename.removesuffix(".gz"))
    found = (file for file in files if file.name in names and file.is_file())
    if (named := next(found, None)) or archive.members is None:
        return named
    zips = [file for file in files if file.suffix.lower() == ".zip" and file.is_file()]
    return next((file for file in zips if has_members(file, archive.members)), None)
