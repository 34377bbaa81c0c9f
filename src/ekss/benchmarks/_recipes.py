"""Prepared features: made once from a data set, kept in the data home."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._cells import short_hash
from ekss.benchmarks._versions import code_of_features
from ekss.core.files import write_atomically

# Raised when the files change in a way that recipes and code do not show.
_VERSION = 1

Steps = tuple[tuple[str, Mapping[str, Any]], ...]

_UNIT: Steps = (("UnitRows", {}),)


def _without(n_components: int, keep: int | None = None) -> Steps:
    steps: Steps = (("RemoveComponents", {"n_components": n_components}),)
    return steps + _reduced(keep)


def _reduced(keep: int | None) -> Steps:
    if keep is None:
        return _UNIT
    return (("PrincipalComponents", {"n_components": keep, "center": False}), *_UNIT)


_SCATTERING: Steps = (
    (
        "Scattering2D",
        {
            "J": 3,
            "L": 8,
            "order": 2,
            "image_shape": (28, 28),
            "pad_to": (32, 32),
            "path_scaling": "max",
        },
    ),
    ("PrincipalComponents", {"n_components": 500, "center": True}),
    *_UNIT,
)

RECIPES: dict[str, dict[str, Steps]] = {
    "hopkins": {"plain": ()},
    "yaleb": {"plain": _UNIT, "whitened": _without(2, 500)},
    "coil20": {"plain": _UNIT, "whitened": _without(1)},
    "coil100": {"plain": _reduced(300), "whitened": _without(1, 300)},
    "usps": {"plain": _UNIT},
    "mnist": {"scattering": _SCATTERING},
}


@dataclass(frozen=True)
class Points:
    """One set of points to cluster: a data set, or a sequence of Hopkins 155."""

    data: NDArray[np.floating]
    target: NDArray[np.int64]
    name: str

    @property
    def n_clusters(self) -> int:
        """Number of true clusters."""
        return len(np.unique(self.target))


Loader = Callable[[], list[Points]]


def recipe_of(
    dataset: str, variant: str, subset: Mapping[str, int] | None
) -> dict[str, Any]:
    """Return all that decides the prepared features, as JSON types."""
    steps = [[name, dict(options)] for name, options in RECIPES[dataset][variant]]
    return {
        "dataset": dataset,
        "variant": variant,
        "steps": steps,
        "subset": dict(subset) if subset else None,
        "version": _VERSION,
    }


def features_path(home: Path, recipe: Mapping[str, Any]) -> Path:
    """Return the file of prepared features in the data home."""
    name = f"{recipe['dataset']}-{recipe['variant']}-{short_hash(recipe)}.npz"
    return home / "features" / name


def prepare_features(home: Path, recipe: Mapping[str, Any], load: Loader) -> Path:
    """Make the features of a recipe unless they are there; return their file.

    Features that other code made are made again.

    Parameters
    ----------
    home : Path
        Data home.
    recipe : mapping
        From :func:`recipe_of`.
    load : callable
        Loads the data set; not called if the features are there.
    """
    path = features_path(home, recipe)
    if not _made_by_this_code(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        points = [_subset(points, recipe["subset"]) for points in load()]
        done = [_transformed(some, recipe["steps"]) for some in points]
        stream = io.BytesIO()
        np.savez(stream, **_arrays(done))
        write_atomically(path, stream.getvalue())
    return path


def _made_by_this_code(path: Path) -> bool:
    if not path.exists():
        return False
    with np.load(path, allow_pickle=False) as stored:
        return "code" in stored and str(stored["code"]) == code_of_features()


def read_features(path: str | Path) -> list[Points]:
    """Read prepared features."""
    with np.load(path, allow_pickle=False) as stored:
        names = [str(name) for name in stored["names"]]
        return [
            Points(stored[f"data_{number}"], stored[f"target_{number}"], name)
            for number, name in enumerate(names)
        ]


def _arrays(points: list[Points]) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "names": np.array([some.name for some in points]),
        "code": np.array(code_of_features()),
    }
    for number, some in enumerate(points):
        arrays[f"data_{number}"] = some.data
        arrays[f"target_{number}"] = some.target
    return arrays


def _subset(points: Points, subset: Mapping[str, int] | None) -> Points:
    """Keep the first points of the first classes."""
    if not subset or "classes" not in subset:
        return points
    kept = np.concatenate(
        [
            np.flatnonzero(points.target == label)[: subset["per_class"]]
            for label in np.unique(points.target)[: subset["classes"]]
        ]
    )
    return Points(points.data[kept], points.target[kept], points.name)


def _transformed(points: Points, steps: list[list[Any]]) -> Points:
    """Apply the steps of a recipe."""
    if not steps:
        return points
    from ekss import preprocessing

    data: NDArray[np.floating] = points.data
    for name, options in steps:
        options = _fitting(name, dict(options), data)
        data = getattr(preprocessing, name)(**options).fit_transform(data)
    return Points(np.asarray(data, np.float32), points.target, points.name)


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
