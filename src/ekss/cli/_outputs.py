"""Files that a command writes: checked before the work, put in place all at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ekss.cli._errors import Failure

LABEL_ENDINGS = (".csv", ".tsv", ".parquet", ".npy")
_PACKAGES = {".parquet": ("pyarrow", "files"), ".html": ("jinja2", "report")}


@dataclass(frozen=True)
class Output:
    """A file to be written by ``write``, and files that appear beside it with it."""

    path: Path
    write: Callable[[Path], object]
    beside: tuple[Path, ...] = field(default=())

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of this output."""
        return (self.path, *self.beside)


def default_output(data: Path, ending: str) -> Path:
    """Return the file in the current folder that is named after the data."""
    path = data.resolve()
    return Path(f"{path.name if path.is_dir() else path.stem}-{ending}.csv")


def check_ending(path: Path, endings: Sequence[str], what: str) -> Path:
    """Refuse a file name whose ending says nothing known."""
    if path.suffix.lower() not in endings:
        listed = ", ".join(endings)
        raise ValueError(f"{path}: {what} cannot be written so; end it in {listed}")
    return path


def check_outputs(paths: Iterable[Path], inputs: Iterable[Path | None]) -> None:
    """Refuse what could not be written at the end, or would destroy what is read."""
    read = [path.resolve() for path in inputs if path is not None]
    seen: set[Path] = set()
    for path in paths:
        place = path.resolve()
        if place in read:
            raise ValueError(f"{path} is read and would be overwritten; name another")
        if place in seen:
            raise ValueError(f"{path} is named for two outputs; name another for one")
        seen.add(place)
        _check_writable(path)
    _check_packages(seen)


def write_all(outputs: Sequence[Output]) -> tuple[Path, ...]:
    """Write everything beside its place, then move all of it there.

    A failure before the last file is complete leaves every earlier file as it was.
    """
    import shutil

    folders: list[Path] = []
    try:
        moves = []
        for output in outputs:
            folder = _new_folder(_place(output.path).parent)
            folders.append(folder)
            _write(output, folder / output.path.name)
            moves += [(folder / path.name, _place(path)) for path in output.paths]
        for made, path in moves:
            if path.exists():
                os.chmod(made, path.stat().st_mode & 0o7777)
            os.replace(made, path)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    return tuple(path for output in outputs for path in output.paths)


def _new_folder(parent: Path) -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix=".ekss-", dir=parent))


def _place(path: Path) -> Path:
    """Return the file itself, also behind a link."""
    return Path(os.path.realpath(path))


def _write(output: Output, place: Path) -> None:
    try:
        output.write(place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(
            f"{output.path} was not written: {reason}; earlier files are as they were"
        ) from error


def _check_packages(paths: Iterable[Path]) -> None:
    """Refuse kinds of files whose package is not installed."""
    from importlib.util import find_spec

    for path in paths:
        package, extra = _PACKAGES.get(path.suffix.lower(), ("", ""))
        if package and find_spec(package) is None:
            raise ModuleNotFoundError(
                f"writing {path.suffix.lower()} needs {package}, which is not "
                f"installed; install it with: pip install 'ekss[{extra}]'"
            )


def _check_writable(path: Path) -> None:
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no ordinary file"
        raise ValueError(f"{path} is {kind}; name a file to write")
    folder = _place(path).parent
    if not folder.is_dir():
        shown = folder if path.is_symlink() else path.parent
        raise ValueError(
            f"{path} cannot be written: folder {shown} does not exist; make it first"
        )
    if path.exists() and not os.access(path, os.W_OK):
        raise ValueError(f"{path} is write-protected; name another file")
    try:
        _new_folder(folder).rmdir()
    except OSError as error:
        reason = error.strerror or error
        raise ValueError(
            f"{path} cannot be written: {reason}; choose another folder"
        ) from error
