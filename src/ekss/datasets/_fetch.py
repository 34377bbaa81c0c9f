"""Official archives from their mirrors, converted into the data home."""

import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ekss.datasets._catalog import Archive, DataSet
from ekss.datasets._check import Checked
from ekss.datasets._convert import read_maybe_packed
from ekss.datasets._store import save

Progress = Callable[[str], Any]
_UNREADABLE = (OSError, EOFError, KeyError, IndexError, ValueError, TypeError)
_CUT = (zipfile.BadZipFile, zlib.error, NotImplementedError)
_TIMEOUT = 30


def fetch(dataset: DataSet, home: Path, progress: Progress | None = None) -> Checked:
    """Download the archives of a data set, convert them, write the canonical file.

    `progress` takes the name of a file and returns a bar for pooch's downloader.
    Nothing of the download stays in the data home.
    """
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=home) as folder:
        paths = [download(a, Path(folder), progress) for a in dataset.archives]
        return save(dataset, convert(dataset, paths), home)


def download(archive: Archive, folder: Path, progress: Progress | None = None) -> Path:
    """Try the mirrors in turn; report every failure when all have failed."""
    try:
        from pooch import HTTPDownloader
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "downloads need pooch, which is not installed; "
            'install it with: pip install "ekss[data]"'
        ) from error
    path, failures = folder / archive.filename, []
    for url in archive.urls:
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


def convert(dataset: DataSet, paths: Sequence[Path]) -> dict[str, Any]:
    """Turn archives into arrays; what cannot be read is refused in one sentence."""
    try:
        return dataset.convert(paths)
    except ModuleNotFoundError:
        raise
    except (*_UNREADABLE, *_CUT) as error:
        names = " and ".join(path.name for path in paths)
        raise ValueError(
            f"{names} cannot be read as the {dataset.name} archive ({error}); "
            f"download it again from {dataset.homepage}"
        ) from error


def _check_download(archive: Archive, path: Path) -> None:
    """Refuse a file with another digest, or one that is no whole archive."""
    if archive.digest is not None:
        from pooch import file_hash

        kind, expected = archive.digest.split(":")
        found = file_hash(str(path), alg=kind)
        if found != expected:
            raise ValueError(f"{kind} expected {expected}, found {found}")
    if path.suffix == ".zip" and not zipfile.is_zipfile(path):
        raise ValueError("what came is not a whole zip file")
    if path.suffix == ".gz":
        try:
            content = read_maybe_packed(path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError("what came is not a whole gzip file") from error
        if content.lstrip()[:1] in (b"<", b""):
            raise ValueError("what came is a web page or nothing, not a gzip file")
