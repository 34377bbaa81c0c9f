"""The benchmark data sets of ``_catalog.toml``, as Python objects."""

import base64
import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ekss.datasets._convert import CONVERTERS, Arrays

Layout = tuple[tuple[str, str, tuple[int, ...]], ...]

_CLASS_NAMES = {
    "faces": tuple(f"yaleB{number:02d}" for number in range(1, 40) if number != 14),
    "objects": tuple(f"obj{number}" for number in range(1, 101)),
    "digits": tuple("0123456789"),
}


@dataclass(frozen=True)
class Archive:
    """One official file: its name, where it is, and its digest if known."""

    filename: str
    urls: tuple[str, ...]
    digest: str | None = None
    members: str | None = None


@dataclass(frozen=True)
class DataSet:
    """All that is known about one data set and its canonical file ``NAME.npz``.

    Attributes
    ----------
    name, title : str
        Short name, used in programs and files, and full name.
    kind : str
        What the points are.
    size : tuple of three str
        Numbers of points, features and classes, for tables.
    archives : tuple of Archive
        The official files.
    convert : callable
        Converts the paths of the archives to arrays.
    layout : tuple of (name, dtype, shape)
        The arrays; empty for sets of sequences, whose arrays follow from ``names``.
    counts : tuple of int
        Number of points in each class; for sequences, how many have 0, 1, 2, ...
        motions.
    digests : tuple of str
        Digests of the known arrays.
    terms, citation, homepage : str
        Terms of use, what to cite, and where the data come from.
    image_shape : tuple of two int or None
        Height and width of an image.
    class_names : tuple of str
        Names of the classes.
    side_digest : str or None
        Digest of all arrays except X, which may vary because decoders round
        differently.
    fingerprint : bytes
        Mean images that X must agree with in that case.
    tolerance : float
        Number of grey levels by which X may differ from them.
    uncounted : tuple of str
        Sequences that are not part of the benchmark.

    Examples
    --------
    >>> from ekss.datasets import CATALOG
    >>> [dataset.name for dataset in CATALOG]
    ['hopkins155', 'eyaleb', 'coil20', 'coil100', 'usps', 'mnist_test', 'mnist_train']
    """

    name: str
    title: str
    kind: str
    size: tuple[str, str, str]
    archives: tuple[Archive, ...]
    convert: Callable[[Sequence[Path]], Arrays]
    layout: Layout
    counts: tuple[int, ...]
    digests: tuple[str, ...]
    terms: str
    citation: str
    homepage: str
    image_shape: tuple[int, int] | None = None
    class_names: tuple[str, ...] = ()
    side_digest: str | None = None
    fingerprint: bytes = b""
    tolerance: float = 0.0
    uncounted: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """Name of the canonical file."""
        return f"{self.name}.npz"


def named(names: Iterable[str], catalog: Sequence[DataSet]) -> list[DataSet]:
    """Return the data sets with these names; ``all`` and family names are expanded.

    Parameters
    ----------
    names : iterable of str
        Names of data sets or families, or ``all``.
    catalog : sequence of DataSet
        The data sets to choose from.

    Returns
    -------
    datasets : list of DataSet
        Each data set once, in the order of the names.

    Examples
    --------
    >>> [dataset.name for dataset in named(["mnist", "usps"], CATALOG)]
    ['mnist_test', 'mnist_train', 'usps']
    """
    chosen: dict[str, DataSet] = {}
    for name in names:
        hits = [d for d in catalog if name in ("all", d.name, d.name.split("_")[0])]
        if not hits:
            known = ", ".join(dataset.name for dataset in catalog)
            raise ValueError(f"no data set is called {name!r}; choose {known} or all")
        chosen |= {dataset.name: dataset for dataset in hits}
    return list(chosen.values())


def _data_set(name: str, entry: dict[str, Any]) -> DataSet:
    """Make a data set from its table in the file; lists become tuples."""
    facts: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in entry.items()
    }
    mirrors, dtypes = facts.pop("mirrors"), facts.pop("arrays", {})
    if len(mirrors) == 1:
        mirrors += (f"https://web.archive.org/web/2020id_/{mirrors[0]}",)
    layout: Layout = ()
    if dtypes:
        rows, columns, n_classes = map(int, facts["size"])
        layout = tuple(
            (key, dtype, (rows, columns) if key == "X" else (rows,))
            for key, dtype in dtypes.items()
        )
        facts["class_names"] = _CLASS_NAMES[facts["kind"]][:n_classes]
        if isinstance(facts["counts"], int):
            facts["counts"] = (facts["counts"],) * n_classes
    facts["archives"] = tuple(
        Archive(urls=tuple(url.format(one["filename"]) for url in mirrors), **one)
        for one in facts["archives"]
    )
    facts["fingerprint"] = base64.b64decode(_FINGERPRINTS.get(name, ""))
    return DataSet(name=name, layout=layout, convert=CONVERTERS[name], **facts)


_HERE = files("ekss.datasets")
_FINGERPRINTS = json.loads(_HERE.joinpath("_fingerprints.json").read_text("utf-8"))
_ENTRIES = tomllib.loads(_HERE.joinpath("_catalog.toml").read_text("utf-8"))
BY_NAME = {name: _data_set(name, entry) for name, entry in _ENTRIES.items()}
CATALOG = tuple(BY_NAME.values())
