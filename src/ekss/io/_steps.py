"""What of an estimator or transformer goes into a model file, and how it comes back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ekss import estimators, preprocessing
from ekss.core.linalg import Flats
from ekss.ensemble import Preparation
from ekss.io._archive import Arrays, Unsound, need
from ekss.io._base import InputError, one_line
from ekss.runtime.memory import in_bytes

# They tell of the machine that fitted, not of the model.
_OF_THE_MACHINE = ("n_jobs", "verbose")
_MOST_FEATURES = 2**31
# Filters of a scattering step are made for the first points, not when a model is
# loaded. They take time too, a minute for 2 GiB; so a model of small images may have
# 128 MiB, and more only in proportion to the pixels. Images of 1024 x 1024 pixels with
# J=5 and L=8 are within the larger bound.
_MOST_PIXELS = 2**22
_MOST_SCALES = 16
_MOST_ANGLES = 64
_MOST_FILTER_BYTES = 2**31
_FEW_FILTER_BYTES = 2**27
_BYTES_PER_PIXEL = 2**11
_SLACK = 1e-3
# Arrays of what fills in missing entries, where the fit had any.
_COMPLETION = {"loadings": "CDq", "means": "CD", "noise": "C", "shares": "C"}
# Arrays of the preparation of rows, which estimators have in ``preparation_``.
_PREPARED = ("centre", *_COMPLETION)
_OPTIONAL = ("offsets_", "outlier_limits_", *_PREPARED)


@dataclass(frozen=True)
class Step:
    """A fitted object as JSON and arrays; ``left_out`` are parameters of neither."""

    description: dict[str, Any]
    arrays: Arrays
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A class that can be stored, and the shapes of its arrays in letters.

    D is the number of features in, ``out`` that of features out, r and d may be
    numbers of orthonormal vectors; a letter stands for one number in all arrays.
    """

    make: Callable[..., Any]
    arrays: dict[str, str]
    out: str = "D"


_SUBSPACES = {
    "bases_": "KDd",
    "offsets_": "KD",
    "outlier_limits_": "K",
    "centre": "D",
    **_COMPLETION,
}
_COMPONENTS = {"components_": "rD", "singular_values_": "r"}
_PROJECTION = {"mean_": "D", **_COMPONENTS, "explained_variance_ratio_": "r"}

ESTIMATORS = {
    make.__name__: Kind(make, _SUBSPACES, out="K")
    for make in (
        estimators.EKSS,
        estimators.PaperEKSS,
        estimators.KSS,
        estimators.CoPKSS,
        estimators.MedianKFlats,
    )
}
TRANSFORMERS = {
    "UnitRows": Kind(preprocessing.UnitRows, {}),
    "RemoveComponents": Kind(preprocessing.RemoveComponents, _COMPONENTS),
    "PrincipalComponents": Kind(preprocessing.PrincipalComponents, _PROJECTION, "r"),
    "WhitenedComponents": Kind(preprocessing.WhitenedComponents, _COMPONENTS, "r"),
    "Scattering2D": Kind(preprocessing.Scattering2D, {}),
}


def pack_step(fitted: Any, kinds: dict[str, Kind]) -> Step:
    """Describe a fitted object of one of the kinds."""
    name = type(fitted).__name__
    kind = kinds.get(name)
    if kind is None or type(fitted) is not kind.make:
        raise InputError(
            f"{name} cannot be put in a model file, which holds subspaces to assign "
            f"new points by; choose one of {', '.join(kinds)}"
        )
    try:
        check_is_fitted(fitted, "n_features_in_")
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted; call fit first") from error
    params = fitted.get_params(deep=False)
    mine = {key: v for key, v in params.items() if key not in _OF_THE_MACHINE}
    kept = {key: _plain(value) for key, value in mine.items()}
    left_out = [key for key in kept if kept[key] is None and mine[key] is not None]
    arrays = {key: getattr(fitted, key) for key in kind.arrays if key not in _PREPARED}
    description: dict[str, Any] = {
        "class": name,
        "params": {key: v for key, v in kept.items() if key not in left_out},
        "n_features": int(fitted.n_features_in_),
    }
    if kind.arrays is _SUBSPACES:
        preparation = fitted.preparation_
        arrays |= {"centre": preparation.centre}
        description["unit"] = preparation.unit
        description["scale"] = preparation.scale
        completion = preparation.completion
        if completion is not None:
            arrays |= {key: getattr(completion, key) for key in _COMPLETION}
            description["completion"] = {
                "unit": completion.unit,
                "scale": completion.scale,
                "calibration": completion.calibration,
            }
    if hasattr(fitted, "feature_names_in_"):
        description["feature_names"] = [str(n) for n in fitted.feature_names_in_]
    present = {key: array for key, array in arrays.items() if array is not None}
    return Step(description, present, tuple(left_out))


def restore_step(
    description: Any, arrays: Arrays, kinds: dict[str, Kind], n_features: int | None
) -> tuple[Any, int]:
    """Return the object and its number of features out; raise Unsound if it has none.

    ``n_features`` is what the step before puts out, None for the first.
    """
    need(isinstance(description, dict), "a step is not described")
    name, width = description.get("class"), description.get("n_features")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Unsound(f"class {one_line(repr(name))} is not one of {', '.join(kinds)}")
    if type(width) is not int or not 1 <= width < _MOST_FEATURES:
        raise Unsound(f"n_features={one_line(repr(width))} is not a number of features")
    if n_features not in (None, width):
        raise Unsound(
            f"a step takes {width} features, but the one before has {n_features}"
        )
    model = kind.make(**_checked_params(kind, description.get("params")))
    model.n_features_in_ = width
    names = description.get("feature_names")
    if names is not None:
        are_texts = isinstance(names, list) and all(isinstance(n, str) for n in names)
        if not are_texts or len(names) != width:
            raise Unsound("the feature names are not one text per feature")
        model.feature_names_in_ = np.array(names, dtype=object)
    sizes = _checked_sizes(kind, arrays, width)
    for key in kind.arrays.keys() - _PREPARED:
        setattr(model, key, arrays.get(key))
    if kind.arrays is _SUBSPACES:
        model.preparation_ = _restored_preparation(description, arrays)
        model.affine_ = "offsets_" in arrays
        need(model.affine_ == ("centre" in arrays), "offsets_ and centre do not agree")
        model.n_clusters_, model.subspace_dim_ = sizes["K"], sizes["d"]
        model.dims_ = Flats(model.bases_).dims
    if isinstance(model, preprocessing.Scattering2D):
        return model, _refit_scattering(model, width)
    return model, sizes[kind.out]


def _checked_sizes(kind: Kind, arrays: Arrays, width: int) -> dict[str, int]:
    """Check arrays against the shapes of their kind; return what its letters are."""
    unknown = sorted(set(arrays) - set(kind.arrays))
    need(not unknown, f"{kind.make.__name__} has no array {unknown}")
    sizes = {"D": width}
    for key, letters in kind.arrays.items():
        if key not in arrays:
            need(key in _OPTIONAL, f"it lacks the array {key}")
            continue
        array = arrays[key]
        wanted = " x ".join(str(sizes.get(letter, letter)) for letter in letters)
        if array.ndim == len(letters):
            for letter, side in zip(letters, array.shape, strict=True):
                sizes.setdefault(letter, side)
        if array.shape != tuple(sizes.get(letter) for letter in letters):
            found = " x ".join(map(str, array.shape))
            raise Unsound(f"{key} has shape {found}, not {wanted}")
        filled = {sizes.get(letter, 1) for letter in ("K", "d", kind.out)}
        need(0 not in filled, f"array {key} is empty")
        need(np.isfinite(array).all(), f"array {key} holds NaN or infinity")
        if letters in ("rD", "KDd"):
            _check_orthonormal(key, array if letters == "rD" else array.swapaxes(1, 2))
    return sizes


def _check_orthonormal(key: str, vectors: Any) -> None:
    count, width = vectors.shape[-2:]
    # Also a bound on the memory of the products.
    need(count <= width, f"{key} has {count} vectors of {width} features")
    # Subspaces of smaller dimension than others end in zeros; directions do not.
    used = np.ones(vectors.shape[:-1], bool)
    if vectors.ndim == 3:
        used = vectors.any(axis=-1)
        need(used[:, 0].all(), f"a subspace of {key} has no direction")
        need((used[:, :-1] >= used[:, 1:]).all(), f"{key} has zeros between vectors")
    gaps = np.abs(vectors @ vectors.swapaxes(-1, -2) - np.eye(count) * used[..., None])
    need(gaps.max(initial=0) <= _SLACK, f"the vectors of {key} are not orthonormal")


def _restored_preparation(description: dict[str, Any], arrays: Arrays) -> Preparation:
    """Make the preparation of rows that a description tells of."""
    unit, scale = _checked_scale(description)
    centre = arrays.get("centre")
    exact = None if centre is None else centre.astype(np.float64)
    completion = _restored_completion(description.get("completion"), arrays)
    return Preparation(unit, exact, scale, completion)


def _restored_completion(description: Any, arrays: Arrays) -> Any:
    """Make what fills in missing entries; None where there is none."""
    parts = {
        key: arrays[key].astype(np.float64) for key in _COMPLETION if key in arrays
    }
    if description is None:
        need(not parts, f"nothing tells what the array {min(parts, default='')!r} is")
        return None
    need(isinstance(description, dict), "completion is not described")
    for key in ("loadings", "noise", "shares"):
        need(key in parts, f"it lacks the array {key}")
    unit, scale = _checked_scale(description)
    noise, shares = parts["noise"], parts["shares"]
    need(len(noise) > 0 and (noise > 0).all(), "noise is not positive")
    need((shares >= 0).all() and abs(shares.sum() - 1) < _SLACK, "shares are no shares")

    # Files of earlier versions do not have it.
    calibration = description.get("calibration", 1.0)
    if type(calibration) is not float or not 0 <= calibration < math.inf:
        shown = one_line(repr(calibration))
        raise Unsound(f"calibration={shown} is not a number of 0 or more")

    from ekss.core.completion import Completion

    means = parts.get("means")
    return Completion(parts["loadings"], means, noise, shares, unit, scale, calibration)


def _checked_scale(description: dict[str, Any]) -> tuple[bool, float]:
    """Return whether rows have unit length, and what they are divided by."""
    unit, scale = description.get("unit"), description.get("scale")
    if not isinstance(unit, bool):
        raise Unsound("unit is neither true nor false")
    if type(scale) is not float or not 0 < scale < math.inf:
        raise Unsound(f"scale={one_line(repr(scale))} is not a positive number")
    return unit, scale


def _plain(value: Any) -> Any:
    """Return the value as JSON holds it; None where it cannot."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)) and all(_plain(v) is not None for v in value):
        return [_plain(entry) for entry in value]
    return None


def _checked_params(kind: Kind, params: Any) -> dict[str, Any]:
    """Return parameters that the class has, of plain types."""
    known = set(kind.make().get_params(deep=False)) - set(_OF_THE_MACHINE)
    if not isinstance(params, dict) or not set(params) <= known:
        raise Unsound(f"{kind.make.__name__} has other parameters")
    checked = {}
    for name, value in params.items():
        for entry in value if isinstance(value, list) else [value]:
            is_plain = entry is None or isinstance(entry, (bool, int, float, str))
            need(is_plain, f"parameter {name} is not a plain value")
        checked[name] = tuple(value) if isinstance(value, list) else value
    if checked.get("normalize", True) not in (True, False, "auto"):
        raise Unsound("normalize is neither true, false nor 'auto'")
    return checked


def _refit_scattering(model: Any, width: int) -> int:
    """Learn the shapes again, which is all that this transformer knows."""
    shapes = (model.image_shape, model.pad_to)
    sides = [side for shape in shapes if isinstance(shape, tuple) for side in shape]
    bounds = {"J": (model.J, _MOST_SCALES), "L": (model.L, _MOST_ANGLES)}
    bounds |= {"n_features": (width, _MOST_PIXELS)}
    bounds |= {f"side {i}": (side, _MOST_PIXELS) for i, side in enumerate(sides)}
    for name, (number, most) in bounds.items():
        if type(number) is not int or number > most:
            raise Unsound(
                f"{name}={one_line(repr(number))} of Scattering2D is not a number up "
                f"to {most}"
            )
    try:
        model.fit(np.zeros((1, width), np.float32))
    except (ValueError, TypeError) as error:
        raise Unsound(one_line(error)) from error
    most = min(max(_FEW_FILTER_BYTES, _BYTES_PER_PIXEL * width), _MOST_FILTER_BYTES)
    if model.filter_bytes_ > most:
        raise Unsound(
            f"the filters of Scattering2D would take {in_bytes(model.filter_bytes_)}, "
            f"more than the {in_bytes(most)} allowed",
            remedy="choose a smaller J or L, or smaller images, and load only files "
            "that ekss wrote",
        )
    return math.prod(model.output_shape_)
