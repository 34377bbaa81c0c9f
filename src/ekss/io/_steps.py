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
from ekss.ensemble import Preparation
from ekss.io._archive import Arrays
from ekss.io._errors import InputError, one_line

# They tell of the machine that fitted, not of the model.
_OF_THE_MACHINE = ("n_jobs", "verbose")
_MOST_FEATURES = 2**31
_MOST_PIXELS = 2**24
_MOST_FILTER_ENTRIES = 2**27
_SLACK = 1e-3
# Arrays of the preparation of rows, which estimators have in ``preparation_``.
_PREPARED = ("removed", "centre")


@dataclass(frozen=True)
class Step:
    """A fitted object as JSON and arrays; ``left_out`` are parameters of neither."""

    description: dict[str, Any]
    arrays: Arrays
    left_out: tuple[str, ...] = ()


class Unsound(Exception):
    """The description does not make a model; the text says why."""


@dataclass(frozen=True)
class Kind:
    """A class that can be stored: its arrays, and how to check and finish a copy.

    ``finish`` gets the object with its arrays and the number of features in, checks
    them against each other and returns the number of features out.
    """

    make: Callable[..., Any]
    arrays: tuple[str, ...]
    finish: Callable[[Any, int], int]


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
    kept, left_out = {}, []
    for param, value in params.items():
        if param in _OF_THE_MACHINE:
            continue
        plain = _plain(value)
        if plain is None and value is not None:
            left_out.append(param)
        else:
            kept[param] = plain
    arrays = {key: getattr(fitted, key) for key in kind.arrays if key not in _PREPARED}
    description: dict[str, Any] = {
        "class": name,
        "params": kept,
        "n_features": int(fitted.n_features_in_),
    }
    if _PREPARED[0] in kind.arrays:
        preparation = fitted.preparation_
        arrays |= {"removed": preparation.removed, "centre": preparation.centre}
        description["unit"] = preparation.unit
        description["scale"] = preparation.scale
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
    if not isinstance(description, dict):
        raise Unsound("a step is not described")
    name = description.get("class")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Unsound(f"class {one_line(repr(name))} is not one of {', '.join(kinds)}")
    wide = _checked_width(description.get("n_features"), n_features)
    model = kind.make(**_checked_params(kind, description.get("params")))
    model.n_features_in_ = wide
    _set_names(model, description.get("feature_names"), wide)
    if not set(arrays) <= set(kind.arrays):
        raise Unsound(f"{name} has no array {sorted(set(arrays) - set(kind.arrays))}")
    for key in kind.arrays:
        array = arrays.get(key)
        if array is not None and not np.isfinite(array).all():
            raise Unsound(f"array {key} of {name} holds NaN or infinity")
        if key not in _PREPARED:
            setattr(model, key, array)
    if _PREPARED[0] in kind.arrays:
        model.preparation_ = _restored_preparation(description, arrays, wide)
        if isinstance(model, estimators.EKSS):
            model.removed_ = model.preparation_.removed
    return model, kind.finish(model, wide)


def _restored_preparation(
    description: dict[str, Any], arrays: Arrays, width: int
) -> Preparation:
    """Make the preparation of rows that a description tells of."""
    unit, scale = description.get("unit"), description.get("scale")
    removed, centre = arrays.get("removed"), arrays.get("centre")
    if not isinstance(unit, bool):
        raise Unsound("unit is neither true nor false")
    if type(scale) is not float or not 0 < scale < math.inf:
        raise Unsound(f"scale={one_line(repr(scale))} is not a positive number")
    if removed is not None:
        if removed.ndim != 2 or removed.shape[1] != width or len(removed) > width:
            raise Unsound(
                f"removed is not a matrix of at most {width} rows and columns"
            )
        if not _has_orthonormal_rows(removed):
            raise Unsound("the rows of removed are not orthonormal")
    if centre is not None and centre.shape != (width,):
        raise Unsound(f"centre is not a vector of {width} entries")
    exact = None if centre is None else centre.astype(np.float64)
    return Preparation(unit, removed, exact, scale)


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
        entries = value if isinstance(value, list) else [value]
        if not all(
            entry is None or isinstance(entry, (bool, int, float, str))
            for entry in entries
        ):
            raise Unsound(f"parameter {name} is no plain value")
        checked[name] = tuple(value) if isinstance(value, list) else value
    if checked.get("normalize", True) not in (True, False, "auto"):
        raise Unsound("normalize is neither true, false nor 'auto'")
    return checked


def _checked_width(width: Any, before: int | None) -> int:
    if type(width) is not int or not 1 <= width < _MOST_FEATURES:
        raise Unsound(f"n_features={one_line(repr(width))} is no number of features")
    if before is not None and width != before:
        raise Unsound(f"a step takes {width} features, but the one before has {before}")
    return width


def _set_names(model: Any, names: Any, width: int) -> None:
    if names is None:
        return
    if (
        not isinstance(names, list)
        or len(names) != width
        or not all(isinstance(name, str) for name in names)
    ):
        raise Unsound("the feature names are not one text a feature")
    model.feature_names_in_ = np.array(names, dtype=object)


def _finish_subspaces(model: Any, width: int) -> int:
    bases, offsets = model.bases_, model.offsets_
    if bases is None or bases.ndim != 3 or bases.shape[1] != width or not bases.size:
        raise Unsound(f"bases_ is no set of bases of {width} features")
    count, _, dim = bases.shape
    if dim > width:
        raise Unsound(f"bases_ has {dim} columns of {width} features")
    gram = bases.transpose(0, 2, 1) @ bases
    if np.abs(gram - np.eye(dim)).max() > _SLACK:
        raise Unsound("the columns of bases_ are not orthonormal")
    model.affine_ = offsets is not None
    if model.affine_ != (model.preparation_.centre is not None):
        raise Unsound("offsets_ and centre do not agree")
    if offsets is not None and offsets.shape != (count, width):
        raise Unsound(f"offsets_ has shape {offsets.shape}, not {(count, width)}")
    model.n_clusters_, model.subspace_dim_ = count, dim
    return count


def _has_orthonormal_rows(matrix: Any) -> bool:
    gap = np.abs(matrix @ matrix.T - np.eye(len(matrix)))
    return bool(gap.max(initial=0) <= _SLACK)


def _finish_components(model: Any, width: int) -> int:
    components, values = model.components_, model.singular_values_
    if components is None or components.ndim != 2 or components.shape[1] != width:
        raise Unsound(f"components_ is no matrix of {width} columns")
    if not _has_orthonormal_rows(components):
        raise Unsound("the rows of components_ are not orthonormal")
    if values is None or values.shape != (len(components),):
        raise Unsound("singular_values_ does not match components_")
    return width


def _finish_projection(model: Any, width: int) -> int:
    _finish_components(model, width)
    rank = len(model.components_)
    shares = model.explained_variance_ratio_
    if rank < 1 or model.mean_ is None or model.mean_.shape != (width,):
        raise Unsound(f"mean_ is no vector of {width} entries")
    if shares is None or shares.shape != (rank,):
        raise Unsound("explained_variance_ratio_ does not match components_")
    return rank


def _finish_scattering(model: Any, width: int) -> int:
    """Learn the shapes again, which is all that this transformer knows."""
    sides = model.pad_to or model.image_shape or (math.isqrt(width),) * 2
    J, L = model.J, model.L
    plain = all(type(number) is int for number in (J, L, *sides))
    if not plain or not 1 <= J <= 16 or not 1 <= L <= 1024 or width > _MOST_PIXELS:
        raise Unsound("the parameters of Scattering2D are out of bounds")
    step = 2**J
    longest = [width if side == -1 else side for side in sides]
    padded = math.prod((-(-side // step) + 2) * step for side in longest)
    if L * J * (J + 1) // 2 * padded > _MOST_FILTER_ENTRIES:
        raise Unsound("the filters of Scattering2D would not fit in memory")
    try:
        model.fit(np.zeros((1, width)))
    except (ValueError, TypeError) as error:
        raise Unsound(one_line(error)) from error
    return math.prod(model.output_shape_)


ESTIMATORS = {
    make.__name__: Kind(make, ("bases_", "offsets_", *_PREPARED), _finish_subspaces)
    for make in (
        estimators.EKSS,
        estimators.PaperEKSS,
        estimators.KSS,
        estimators.CoPKSS,
        estimators.MedianKFlats,
    )
}
TRANSFORMERS = {
    "UnitRows": Kind(preprocessing.UnitRows, (), lambda model, width: width),
    "RemoveComponents": Kind(
        preprocessing.RemoveComponents,
        ("components_", "singular_values_"),
        _finish_components,
    ),
    "PrincipalComponents": Kind(
        preprocessing.PrincipalComponents,
        ("mean_", "components_", "singular_values_", "explained_variance_ratio_"),
        _finish_projection,
    ),
    "Scattering2D": Kind(preprocessing.Scattering2D, (), _finish_scattering),
}
