"""The data sets of the tables: how each is loaded, and its prepared features.

A data set enters the tables by one call of :func:`register_dataset`. Features are made
once from a data set and kept in the data home.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._runner import short_hash
from ekss.benchmarks._versions import code_of
from ekss.runtime.files import write_atomically

# Raised when the files change in a way that recipes and code do not show.
_VERSION = 1
# Layers that prepared features depend on.
_FEATURE_LAYERS = ("core", "datasets", "preprocessing")

Steps = tuple[tuple[str, Mapping[str, Any]], ...]
_UNIT: Steps = (("UnitRows", {}),)


@dataclass(frozen=True)
class Points:
    """One set of points to cluster: a data set, or a sequence of Hopkins 155.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The points.
    target : ndarray of shape (n_samples,)
        Their true clusters, for scoring only.
    name : str
        Name of the set.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.benchmarks import Points
    >>> Points(np.eye(3), np.array([0, 1, 1]), "unit vectors").n_clusters
    2
    """

    data: NDArray[np.floating]
    target: NDArray[np.int64]
    name: str

    @property
    def n_clusters(self) -> int:
        """Number of true clusters."""
        return len(np.unique(self.target))


Loader = Callable[[], list[Points]]


def error_of(points: Points, labels: NDArray[np.integer]) -> float:
    """Return the clustering error of labels in percent."""
    from ekss.metrics import clustering_error

    return 100 * clustering_error(points.target, labels)


@dataclass(frozen=True)
class BenchData:
    """A data set of the tables.

    Attributes
    ----------
    name : str
        The same as of ``ekss data``, where it is there.
    title : str
        Its name in tables.
    load : callable
        ``load(data_home)`` returns the sets of points, usually one.
    variants : mapping of str to steps
        Ways to prepare it: names and parameters of transformers of
        :mod:`ekss.preprocessing`, in their order. The first is the plain one;
        "whitened" is what methods get that do not whiten points by themselves.
    sequences : bool
        Whether it is many small sets whose errors are averaged.
    affine : bool
        Whether its clusters lie on affine subspaces.
    large : bool
        Whether slow methods do less on it, as the profiles say.
    image_shape : (int, int) or None
        Height and width of images; they then have a further variant "pixels", rows of
        unit length, for estimators that prepare points by themselves.

    Examples
    --------
    >>> from ekss.benchmarks import DATASETS
    >>> DATASETS["usps"].title, list(DATASETS["usps"].variants)
    ('USPS', ['plain'])
    """

    name: str
    title: str
    load: Callable[[Path | None], list[Points]]
    variants: Mapping[str, Steps]
    sequences: bool = False
    affine: bool = False
    large: bool = False
    image_shape: tuple[int, int] | None = None

    def steps(self, variant: str) -> Steps:
        """Return how a variant is made.

        Parameters
        ----------
        variant : str
            One of ``variants``, or "pixels" of images.

        Returns
        -------
        steps : tuple
            Names and parameters of transformers, in their order.
        """
        if variant == "pixels" and self.image_shape is not None:
            return _UNIT
        return self.variants[variant]

    @property
    def free_variant(self) -> str:
        """What label-free methods get that do not whiten points themselves."""
        return "whitened" if "whitened" in self.variants else next(iter(self.variants))


DATASETS: dict[str, BenchData] = {}


def register_dataset(dataset: BenchData) -> None:
    """Give a data set a column in the tables.

    Parameters
    ----------
    dataset : BenchData
        One of the same name is replaced.

    Examples
    --------
    >>> from ekss.benchmarks import DATASETS, BenchData, Points, register_dataset
    >>> def load(data_home):
    ...     rng = np.random.default_rng(0)
    ...     return [Points(rng.random((90, 5)), np.repeat([0, 1, 2], 30), "noise")]
    >>> register_dataset(BenchData("noise", "Noise", load, {"plain": ()}))
    >>> DATASETS.pop("noise").title
    'Noise'
    """
    DATASETS[dataset.name] = dataset


# Data sets that are a part of another.
_PARTS = {"mnist_test": ("mnist", "test"), "mnist70k": ("mnist", "all")}


def _fetch(name: str, data_home: Path | None) -> list[Points]:
    """Load a data set of the package, without downloading."""
    from ekss import datasets

    name, subset = _PARTS.get(name, (name, None))
    options = {"subset": subset} if subset else {}
    fetch = getattr(datasets, f"fetch_{name}")
    bunch = fetch(data_home=data_home, download_if_missing=False, **options)
    if "sequences" in bunch:
        return [_points(one, one.name, np.float64) for one in bunch.sequences]
    return [_points(bunch, name, np.float32)]


def _points(bunch: Any, name: str, dtype: Any) -> Points:
    data = np.asarray(bunch.data, dtype)
    return Points(data.reshape(len(data), -1), np.asarray(bunch.target, np.int64), name)


def _reduced(keep: int) -> Steps:
    return (("PrincipalComponents", {"n_components": keep, "center": False}), *_UNIT)


def _without(n_components: int, then: Steps = _UNIT) -> Steps:
    return (("RemoveComponents", {"n_components": n_components}), *then)


_WAVELETS = {"J": 3, "L": 8, "order": 2, "path_scaling": "max"}
_SHAPES = {"image_shape": (28, 28), "pad_to": (32, 32)}
SCATTERING: Steps = (
    ("Scattering2D", {**_WAVELETS, **_SHAPES}),
    ("PrincipalComponents", {"n_components": 500, "center": True}),
    *_UNIT,
)


def _register(
    name: str, title: str, variants: Mapping[str, Steps], **more: Any
) -> None:
    register_dataset(BenchData(name, title, partial(_fetch, name), variants, **more))


_register("hopkins155", "Hopkins", {"plain": ()}, sequences=True, affine=True)
_register(
    "eyaleb",
    "Yale B",
    {"plain": _UNIT, "whitened": _without(2, _reduced(500))},
    image_shape=(48, 42),
)
_register(
    "coil20",
    "COIL-20",
    {"plain": _UNIT, "whitened": _without(1)},
    image_shape=(32, 32),
)
_register(
    "coil100",
    "COIL-100",
    {"plain": _reduced(300), "whitened": _without(1, _reduced(300))},
    large=True,
    image_shape=(32, 32),
)
_register("usps", "USPS", {"plain": _UNIT}, large=True, image_shape=(16, 16))
_register(
    "mnist_test",
    "MNIST-10k",
    {"scattering": SCATTERING},
    large=True,
    image_shape=(28, 28),
)

# All of MNIST, for the scale run; no column of a table.
MNIST70K = BenchData(
    "mnist70k",
    "MNIST-70k",
    partial(_fetch, "mnist70k"),
    {"scattering": SCATTERING},
)


def loaders(data_home: Path | None) -> dict[str, Loader]:
    """Return a function for each data set that loads it, without downloading.

    Parameters
    ----------
    data_home : Path or None
        Directory of the data; None is the one the package uses.

    Returns
    -------
    loaders : dict of str to callable
        Each returns the sets of points, or raises if the data are not there.

    Examples
    --------
    >>> from ekss.benchmarks import loaders
    >>> "usps" in loaders(None)
    True
    """
    known = [*DATASETS.values(), MNIST70K]
    return {one.name: partial(one.load, data_home) for one in known}


def recipe_of(
    dataset: BenchData, variant: str, subset: Mapping[str, int] | None
) -> dict[str, Any]:
    """Return all that decides the prepared features, as JSON types."""
    steps = [[name, dict(options)] for name, options in dataset.steps(variant)]
    return {
        "dataset": dataset.name,
        "variant": variant,
        "steps": steps,
        "subset": dict(subset) if subset else None,
        "version": _VERSION,
    }


def prepare_features(home: Path, recipe: Mapping[str, Any], load: Loader) -> Path:
    """Make the features of a recipe unless they are there; return their file.

    Features that other code made are made again.
    """
    name = f"{recipe['dataset']}-{recipe['variant']}-{short_hash(recipe)}.npz"
    path, code = home / "features" / name, code_of(_made, layers=_FEATURE_LAYERS)
    if path.exists():
        with np.load(path, allow_pickle=False) as stored:
            if "code" in stored and str(stored["code"]) == code:
                return path
    made = [_made(points, recipe) for points in load()]
    arrays: dict[str, Any] = {"names": np.array([some.name for some in made])}
    for number, some in enumerate(made):
        arrays[f"data_{number}"] = some.data
        arrays[f"target_{number}"] = some.target
    stream = io.BytesIO()
    np.savez(stream, code=np.array(code), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, stream.getvalue())
    return path


def read_features(path: str | Path) -> list[Points]:
    """Read prepared features."""
    with np.load(path, allow_pickle=False) as stored:
        names = [str(name) for name in stored["names"]]
        return [
            Points(stored[f"data_{number}"], stored[f"target_{number}"], name)
            for number, name in enumerate(names)
        ]


def _made(points: Points, recipe: Mapping[str, Any]) -> Points:
    """Take the part of the points that a recipe asks for, and apply its steps."""
    from ekss import preprocessing

    points = _subset(points, recipe["subset"])
    if not recipe["steps"]:
        return points
    data: NDArray[np.floating] = points.data
    for name, options in recipe["steps"]:
        options = _fitting(name, dict(options), data)
        data = getattr(preprocessing, name)(**options).fit_transform(data)
    return Points(np.asarray(data, np.float32), points.target, points.name)


def _subset(points: Points, subset: Mapping[str, int] | None) -> Points:
    """Keep the first points of the first classes."""
    if not subset or "classes" not in subset:
        return points
    labels = np.unique(points.target)[: subset["classes"]]
    members = [np.flatnonzero(points.target == label) for label in labels]
    kept = np.concatenate([some[: subset["per_class"]] for some in members])
    return Points(points.data[kept], points.target[kept], points.name)


def _fitting(name: str, options: dict[str, Any], data: NDArray[Any]) -> dict[str, Any]:
    """Fit options to the data and the machine; a subset has fewer components."""
    if name == "PrincipalComponents":
        options["n_components"] = min(options["n_components"], *data.shape)
    if name == "Scattering2D":
        options["n_jobs"] = -1
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
    }
