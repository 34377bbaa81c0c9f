"""Estimated seconds of a cell of Table I on one thread: for time left, and order.

Measured once on a 2-core machine; a run corrects them by the pace it sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ekss.benchmarks._data import BenchData
from ekss.benchmarks._settings import Method, Setting

# Time to start a process and load the library.
START = 1.0


@dataclass(frozen=True)
class _Pace:
    """Seconds on one data set.

    ``pca``, ``cop``, ``power`` and ``mkf`` are of an iteration of one member or start,
    ``ssc`` is of an iteration, ``cut`` of a spectral cut, the others of a fit; ``free``
    is label-free EKSS.
    """

    pca: float
    cop: float
    power: float
    mkf: float
    ssc: float
    cut: float
    tsc: float
    sscomp: float
    ensc: float
    free: float


_PACES = {
    "eyaleb": _Pace(0.05, 0.06, 0.02, 0.3, 0.25, 1.5, 1, 1, 2, 110),
    "coil20": _Pace(0.025, 0.07, 0.01, 0.2, 0.08, 0.5, 0.3, 0.5, 0.7, 30),
    "coil100": _Pace(0.16, 0.1, 0.08, 1.0, 1.2, 12, 8, 37, 12, 800),
    "usps": _Pace(0.1, 0.2, 0.015, 0.25, 1.2, 2, 2, 4, 8, 75),
    "mnist_test": _Pace(0.4, 0.5, 0.05, 0.45, 3.5, 2, 2.5, 5, 9, 55),
}
# Seconds of one sequence of Hopkins 155.
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
# Of a method or a data set that nobody has measured.
_GUESS = 30.0
# Settings that a search tries, with six cuts each.
_SEARCHED, _CUTS = 5, 6
# Iterations until the starts of a method converge.
_ITERATIONS = {"kss": 60, "copkss": 50, "mkf": 30}


def estimate(
    dataset: BenchData, method: Method, tried: list[Setting], share: float = 1.0
) -> float:
    """Return the seconds that the settings take.

    Parameters
    ----------
    dataset : BenchData
    method : Method
    tried : list of dict
    share : float, default=1.0
        Share of the points, or of the sequences, that is used.
    """
    if dataset.sequences and method.name in _SEQUENCE:
        seconds = sum(_sequences(method.name, setting) for setting in tried)
    elif dataset.name in _PACES and method.name in _SEQUENCE:
        pace = _PACES[dataset.name]
        seconds = sum(_setting(pace, method.name, setting) for setting in tried)
    else:
        seconds = _GUESS * len(tried)
    return START + share * seconds


def _sequences(method: str, setting: Setting) -> float:
    members = setting["params"].get("n_members", 200) / 200 if method == "ekss" else 1
    if setting.get("record") or setting.get("search"):
        members = 6
    cuts = 1 + 0.05 * _count_cuts(setting)
    trials = setting.get("trials", 10 if method in _ITERATIONS else 1)
    dense = 6 if setting["params"].get("l1_ratio", 1) < 0.05 else 1
    return 155 * _SEQUENCE[method] * trials * members * cuts * dense


def _setting(pace: _Pace, method: str, setting: Setting) -> float:
    params = setting["params"]
    if setting.get("record"):
        return pace.free
    if setting.get("search"):
        plain = {**setting, "search": False}
        return _SEARCHED * (_setting(pace, method, plain) + _CUTS * pace.cut)
    if method == "ekss":
        return _members(pace, setting) + max(_count_cuts(setting), 1) * pace.cut
    if method in _ITERATIONS:
        step = {"copkss": pace.cop, "mkf": pace.mkf, "kss": pace.pca}[method]
        if params.get("update") == "power":
            step = pace.power
        trials = setting.get("trials", 10)
        if method == "mkf":
            trials *= params.get("subspace_dim", 18) / 18
        most = _ITERATIONS[method]
        return trials * min(params.get("max_iter", most), most) * step
    if method == "ssc":
        converged = 200 * (2 if params.get("alpha_outliers") else 1)
        return min(params.get("max_iter", converged), converged) * pace.ssc + pace.cut
    more = params.get("n_nonzero", 2) / 2 if method == "sscomp" else 1
    return float(getattr(pace, method) * more)


def _members(pace: _Pace, setting: Setting) -> float:
    params = setting["params"]
    step = {"pca": pace.pca, "cop": pace.cop}.get(params.get("update", ""), pace.power)
    candidates = setting.get("candidates", 1)
    width = sum(candidates) / 2 if isinstance(candidates, list) else candidates
    rounds = params.get("member", params).get("max_iter", 5) + 1
    return params.get("n_members", 200) * rounds * step * width


def _count_cuts(setting: Setting) -> int:
    cuts = setting.get("cuts")
    return prod(len(values) for values in cuts.values()) if cuts else 0
