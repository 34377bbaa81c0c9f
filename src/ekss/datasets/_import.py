"""Data sets from files on the user's disk to the data home."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ekss.datasets._catalog import Archive, DataSet
from ekss.datasets._check import Checked
from ekss.datasets._convert import has_members
from ekss.datasets._fetch import convert
from ekss.datasets._store import read_npz, save


@dataclass(frozen=True)
class Source:
    """Files from which one data set can be imported; missing ones are named."""

    dataset: DataSet
    paths: tuple[Path, ...]
    missing: tuple[str, ...] = ()


def import_source(source: Source, home: Path) -> Checked:
    """Write the canonical file of one data set from files on disk."""
    dataset = source.dataset
    if source.missing:
        found = " and ".join(str(path) for path in source.paths)
        lost = " and ".join(source.missing)
        raise ValueError(f"{dataset.name} needs {lost} beside {found}; put it there")
    if source.paths[0].suffix == ".npz":
        return save(dataset, read_npz(source.paths[0]), home)
    return save(dataset, convert(dataset, source.paths), home)


def find_sources(path: Path, catalog: Sequence[DataSet]) -> list[Source]:
    """Find what can be imported from a canonical file, an archive, or a folder."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; pass a file or a folder")
    beside = sorted(path.iterdir()) if path.is_dir() else sorted(path.parent.iterdir())
    given = beside if path.is_dir() else [path]
    sources = []
    for dataset in catalog:
        canonical = [file for file in given if file.name == dataset.filename]
        if canonical:
            sources.append(Source(dataset, (canonical[0],)))
        elif any(_matching([file], a) for a in dataset.archives for file in given):
            sources.append(_archives_of(dataset, given, beside))
    if not sources:
        known = [dataset.filename for dataset in catalog]
        known += [archive.filename for d in catalog for archive in d.archives]
        raise ValueError(
            f"{path} holds no data set; expected any of {', '.join(known)}"
        )
    return sources


def _archives_of(
    dataset: DataSet, given: Sequence[Path], beside: Sequence[Path]
) -> Source:
    """Find a data set's archives among the given files, else next to them."""
    found = [(a, _matching(given, a) or _matching(beside, a)) for a in dataset.archives]
    return Source(
        dataset,
        tuple(path for _, path in found if path is not None),
        tuple(archive.filename for archive, path in found if path is None),
    )


def _matching(files: Sequence[Path], archive: Archive) -> Path | None:
    """Find the first file with the archive's name, packed or not, or its members."""
    names = (archive.filename, archive.filename.removesuffix(".gz"))
    named = [file for file in files if file.name in names and file.is_file()]
    if named or archive.members is None:
        return next(iter(named), None)
    zips = [file for file in files if file.suffix.lower() == ".zip"]
    return next((file for file in zips if has_members(file, archive.members)), None)
