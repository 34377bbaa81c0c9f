"""Which settings of an estimator a search tries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid

from ekss.estimators._ensc import EnSC
from ekss.estimators._ssc import SSC
from ekss.estimators._sscomp import SSCOMP
from ekss.estimators._tsc import TSC

Setting = dict[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

# The one parameter of each method that its graph depends on most, and values that
# span what is in use; the estimator's own value is tried too.
DEFAULT_GRIDS: dict[type[BaseEstimator], tuple[str, tuple[float, ...]]] = {
    TSC: ("top_q", (3, 4, 6, 10, 20)),
    SSCOMP: ("n_nonzero", (2, 3, 5, 10)),
    EnSC: ("gamma", (1.5, 3.0, 6.0, 12.0, 25.0)),
    SSC: ("alpha", (3.0, 8.0, 20.0, 50.0)),
}


def settings_to_try(
    estimator: BaseEstimator, param_grid: Grid | None, n_samples: int
) -> list[Setting]:
    """List the settings of a grid, or of the default one, and check their names.

    Parameters
    ----------
    estimator : estimator
        Not fitted; its parameters are the names that a grid may use.
    param_grid : mapping, sequence of mappings or None
        As for scikit-learn's ``ParameterGrid``.
    n_samples : int
        No default asks for more neighbours than there are points.

    Returns
    -------
    settings : list of dict
        At least one.
    """
    if param_grid is None:
        return _default_settings(estimator, n_samples)
    settings = list(ParameterGrid(param_grid))
    if not settings:
        raise ValueError(
            f"param_grid={param_grid!r} is empty; pass at least one setting, such as "
            "{} for the estimator as it is, or None for the default grid"
        )
    _check_names(estimator, settings)
    return settings


def _check_names(estimator: BaseEstimator, settings: Sequence[Setting]) -> None:
    known = estimator.get_params()
    name = type(estimator).__name__
    for parameter in sorted({key for setting in settings for key in setting}):
        if parameter not in known:
            raise ValueError(
                f"param_grid has {parameter!r}, which {name} does not know; choose "
                f"from {', '.join(sorted(known))}"
            )
        if parameter == "n_clusters":
            raise ValueError(
                "param_grid has 'n_clusters', but cuts into different numbers of "
                f"clusters are not comparable; set it in {name}(n_clusters=...)"
            )


def _default_settings(estimator: BaseEstimator, n_samples: int) -> list[Setting]:
    for kind, (parameter, values) in DEFAULT_GRIDS.items():
        if isinstance(estimator, kind):
            return _with_own_value(estimator, parameter, values, n_samples)
    known = ", ".join(kind.__name__ for kind in DEFAULT_GRIDS)
    raise ValueError(
        f"no settings are known for {type(estimator).__name__}, only for {known}; "
        "pass param_grid, such as {'parameter': [values]}"
    )


def _with_own_value(
    estimator: BaseEstimator, parameter: str, values: Sequence[float], n_samples: int
) -> list[Setting]:
    if parameter == "top_q":
        values = [value for value in values if value < n_samples]
    own = estimator.get_params()[parameter]
    tried = [*values] if own in values else [*values, own]
    return [{parameter: value} for value in tried]
