"""Estimated seconds of a cell on one thread, for the time left and the order.

Measured once on a 2-core machine; a run corrects them by the pace it sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ekss.benchmarks._settings import Setting

# Time to start a process and load the library.
START = 1.0

# Seconds of an iteration of one member or start at the parameters below.
_PCA = {"yaleb": 0.05, "coil20": 0.025, "coil100": 0.16, "usps": 0.1, "mnist": 0.4}
_COP = {"yaleb": 0.06, "coil20": 0.07, "coil100": 0.1, "usps": 0.2, "mnist": 0.5}
_POWER = {
    "yaleb": 0.02,
    "coil20": 0.01,
    "coil100": 0.08,
    "usps": 0.015,
    "mnist": 0.05,
}
_MKF = {"yaleb": 0.3, "coil20": 0.2, "coil100": 1.0, "usps": 0.25, "mnist": 0.45}
# Seconds of one spectral cut, and of one fit of the other methods.
_CUT = {"yaleb": 1.5, "coil20": 0.5, "coil100": 12.0, "usps": 2.0, "mnist": 2.0}
_FIT = {
    "tsc": {"yaleb": 1, "coil20": 0.3, "coil100": 8, "usps": 2, "mnist": 2.5},
    "sscomp": {"yaleb": 1, "coil20": 0.5, "coil100": 37, "usps": 4, "mnist": 5},
    "ensc": {"yaleb": 2, "coil20": 0.7, "coil100": 12, "usps": 8, "mnist": 9},
}
_SSC_ITERATION = {
    "yaleb": 0.25,
    "coil20": 0.08,
    "coil100": 1.2,
    "usps": 1.2,
    "mnist": 3.5,
}
# Label-free EKSS, and settings that a search tries.
_FREE = {"yaleb": 110, "coil20": 30, "coil100": 800, "usps": 75, "mnist": 55}
_SETTINGS = 5
# A sequence of Hopkins 155.
_SEQUENCE = {
    "ekss": 0.4,
    "kss": 0.006,
    "copkss": 0.007,
    "mkf": 0.006,
    "tsc": 0.015,
    "ssc": 0.45,
    "sscomp": 0.02,
    "ensc": 0.2,
}


def estimate(
    dataset: str, method: str, tried: list[Setting], share: float = 1.0
) -> float:
    """Return the seconds that the settings take.

    Parameters
    ----------
    dataset, method : str
    tried : list of dict
    share : float, default=1.0
        Share of the points, or of the sequences, that is used.
    """
    one = _sequences if dataset == "hopkins" else _setting
    return START + share * sum(one(dataset, method, setting) for setting in tried)


def _sequences(dataset: str, method: str, setting: Setting) -> float:
    members = setting["params"].get("n_members", 200) / 200 if method == "ekss" else 1
    if setting.get("record") or setting.get("search"):
        members = 6
    free = 10 if method in ("kss", "copkss", "mkf") else 1
    cuts = 1 + 0.05 * _count(setting.get("cuts"))
    trials = setting.get("trials", free)
    dense = 6 if setting["params"].get("l1_ratio", 1) < 0.05 else 1
    return 155 * _SEQUENCE[method] * trials * members * cuts * dense


def _setting(dataset: str, method: str, setting: Setting) -> float:
    params = setting["params"]
    if setting.get("record"):
        return _FREE[dataset]
    if setting.get("search"):
        plain = {name: value for name, value in setting.items() if name != "search"}
        return _SETTINGS * (_setting(dataset, method, plain) + 6 * _CUT[dataset])
    if method == "ekss":
        cuts = max(_count(setting.get("cuts")), 1) * _CUT[dataset]
        return _members(dataset, setting) + cuts
    if method in ("kss", "copkss", "mkf"):
        trials = setting.get("trials", 10)
        free = {"kss": 60, "copkss": 50, "mkf": 30}[method]
        pace = {"copkss": _COP, "mkf": _MKF, "kss": _PCA}[method]
        if params.get("base") == "power":
            pace = _POWER
        if method == "mkf":
            trials *= params.get("subspace_dim", 18) / 18
        return trials * min(params.get("max_iter", free), free) * pace[dataset]
    if method == "ssc":
        converged = 200 * (2 if params.get("alpha_outliers") else 1)
        rounds = min(params.get("max_iter", converged), converged)
        return rounds * _SSC_ITERATION[dataset] + _CUT[dataset]
    more = params.get("n_nonzero", 2) / 2 if method == "sscomp" else 1
    return _FIT[method][dataset] * more


def _members(dataset: str, setting: Setting) -> float:
    params = setting["params"]
    pace = {"pca": _PCA, "cop": _COP}.get(params.get("base", "power"), _POWER)
    candidates = setting.get("per_cluster", {}).get("n_candidates", 1)
    width = sum(candidates) / 2 if isinstance(candidates, list) else candidates
    rounds = params.get("max_iter", 5) + 1
    return params.get("n_members", 200) * rounds * pace[dataset] * width


def _count(cuts: Mapping[str, list[Any]] | None) -> int:
    if cuts is None:
        return 0
    count = 1
    for values in cuts.values():
        count *= len(values)
    return count
