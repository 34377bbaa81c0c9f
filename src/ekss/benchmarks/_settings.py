"""The methods of Table I, and which settings of each are tried, column by column.

The column "paper" has the paper's parameters, "tuned" what is tried beside them with
the labels choosing, "free" the estimator as it is, which knows no labels, "chosen" what
LabelFreeSearch chooses for it, which knows none either. A method enters the tables by
one call of :func:`register_method`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ekss.benchmarks._data import BenchData
from ekss.benchmarks._paper import parameters
from ekss.benchmarks._profiles import Profile

Setting = dict[str, Any]

COLUMNS = ("paper", "tuned", "free", "chosen")
# Of these the label-tuned figure is the lowest.
SWEPT = ("paper", "tuned", "free")
_ALL_POINTS = 10**6


@dataclass(frozen=True)
class Method:
    """A method of the tables.

    Attributes
    ----------
    name : str
    title : str
        Its name in tables.
    estimator : str
        Where its class is, as "module:Class"; the class takes ``n_clusters``,
        ``random_state`` and ``n_jobs``. Cells run in fresh processes, so the module
        must be importable.
    as_printed : str
        The same for the paper's parameters, if that is another class.
    affine : bool
        Whether it takes ``affine=True``, for data sets that are.
    trials : bool
        Whether the best of several random starts counts, as in the paper.
    searched : bool
        Whether LabelFreeSearch has a grid for it.
    whitened : bool
        Whether the paper whitened Yale B for it; the others got worse by it.
    sweeps : mapping of str to list
        Settings that the labels choose from, by data set; see
        :func:`ekss.benchmarks._methods.labellings`.
    """

    name: str
    title: str
    estimator: str
    as_printed: str = ""
    affine: bool = False
    trials: bool = False
    searched: bool = False
    whitened: bool = False
    sweeps: Mapping[str, list[Setting]] = field(default_factory=dict)


METHODS: dict[str, Method] = {}


def register_method(method: Method) -> None:
    """Give a method its lines in the tables.

    Parameters
    ----------
    method : Method
        One of the same name is replaced.

    Examples
    --------
    >>> from ekss.benchmarks import METHODS, Method, register_method
    >>> register_method(Method("lrr", "LRR", "my_package.lrr:LRR"))
    >>> METHODS.pop("lrr").title
    'LRR'
    """
    METHODS[method.name] = method


def settings(
    dataset: BenchData, method: Method, column: str, profile: Profile
) -> list[Setting]:
    """Return the settings that a cell of Table I tries.

    Parameters
    ----------
    dataset : BenchData
    method : Method
    column : str
        Of :data:`COLUMNS`.
    profile : Profile

    Returns
    -------
    settings : list of dict
        As :func:`ekss.benchmarks._methods.labellings` takes them; empty where nothing
        is tried.
    """
    if column == "free":
        return [_free(dataset, method, profile)]
    if column == "chosen":
        # SSC takes minutes per setting on the large sets.
        slow = method.name == "ssc" and dataset.large
        if slow or not method.searched:
            return []
        return [{**_free(dataset, method, profile), "search": True}]
    if column == "paper":
        tried = _printed(dataset, method, profile)
    else:
        tried = list(method.sweeps.get(dataset.name, []))[: profile.sweep]
    return [_sized(one, dataset, method, profile) for one in tried]


def _free(dataset: BenchData, method: Method, profile: Profile) -> Setting:
    common = {"estimator": method.estimator}
    if method.name == "ekss":
        data = dataset.ekss_variant or next(iter(dataset.variants))
        return {**common, "data": data, "params": {}, "record": True}
    params = _affine(dataset, method)
    if method.name == "ssc" and dataset.large:
        params["max_iter"] = profile.ssc_iterations
    return {**common, "data": dataset.free_variant, "params": params}


def _affine(dataset: BenchData, method: Method) -> dict[str, Any]:
    """Motions lie on affine subspaces; where a method knows these, they are used."""
    if not (dataset.affine and method.affine):
        return {}
    params: dict[str, Any] = {"affine": True}
    if method.name == "ssc":
        params["normalize"] = False
    return params


def _printed(dataset: BenchData, method: Method, profile: Profile) -> list[Setting]:
    """Return the paper's parameters, on every variant that it may have used."""
    given = parameters(dataset.name, method.name)
    if given is None:
        return []
    # "We whiten ... when it improves algorithm performance": both are tried.
    variants = tuple(dataset.variants)
    if dataset.name == "eyaleb":
        variants = ("whitened",) if method.whitened else ("plain",)
    if given.get("update") == "pca":
        given["update"] = profile.update
    estimator = method.as_printed or method.estimator
    return [
        {"estimator": estimator, "data": data, "params": given} for data in variants
    ]


def _sized(
    setting: Setting, dataset: BenchData, method: Method, profile: Profile
) -> Setting:
    """Give a setting the members, trials and iterations of the profile."""
    share = profile.large_share if dataset.large else 1.0
    if dataset.sequences:  # small sets, but 155 of them
        few = method.name == "ekss"
        share = profile.large_share if few else 1 / profile.large_share
    params = {**setting["params"], **_affine(dataset, method)}
    sized = {"estimator": method.estimator, **setting, "params": params}
    if method.name == "ekss":
        cop = params.get("update") == "cop"
        members = profile.cop_members if cop else profile.n_members
        params["n_members"] = max(1, round(share * members))
        if cop:
            params["max_iter"] = min(params["max_iter"], profile.cop_iterations)
    if method.trials:
        sized["trials"] = max(1, round(share * profile.trials.get(method.name, 1)))
        params["n_init"] = 1
        params["max_iter"] = profile.max_iter.get(method.name, 100)
        if method.name == "kss":
            params["update"] = profile.update
    if method.name == "ssc" and dataset.large:
        params["max_iter"] = min(params.get("max_iter", 1000), profile.ssc_iterations)
    return sized


def _each(data: str | tuple[str, ...], *params: dict[str, Any]) -> list[Setting]:
    """Return a setting for each variant of the data and each choice of parameters."""
    variants = (data,) if isinstance(data, str) else data
    return [{"data": one, "params": some} for one in variants for some in params]


def _over(
    data: str | tuple[str, ...], name: str, values: tuple[float, ...], **more: Any
) -> list[Setting]:
    """Return a setting for each value of one parameter."""
    return _each(data, *({name: value, **more} for value in values))


def _over_pairs(
    data: str | tuple[str, ...],
    names: tuple[str, str],
    *pairs: tuple[float, float],
    **more: Any,
) -> list[Setting]:
    """Return a setting for each pair of values of two parameters."""
    return _each(
        data, *({**dict(zip(names, pair, strict=True)), **more} for pair in pairs)
    )


def _ekss(
    data: str,
    dims: int | list[int],
    candidates: int | list[int],
    max_iter: int,
    n_neighbors: list[int],
    eigenvectors: list[float],
    divide_by_size: tuple[bool, ...] = (True,),
) -> Setting:
    """Return members, and the ways in which their votes are cut."""
    params = {
        "subspace_dim": dims,
        "affine": False,
        "remove_components": 0,
        "member": {"max_iter": max_iter},
    }
    cuts = {
        "n_neighbors": n_neighbors,
        "eigenvectors": eigenvectors,
        "divide_by_size": list(divide_by_size),
    }
    return {"data": data, "params": params, "candidates": candidates, "cuts": cuts}


_BOTH = ("whitened", "plain")
_FEW_EIGENVECTORS = [1, 1.2, 1.5]
_MANY_EIGENVECTORS = [1, 1.2, 1.5, 2]
_SMALL_Q = [3, 4, 5, 6, 8, 10]

_EKSS: dict[str, list[Setting]] = {
    "hopkins155": [
        _ekss(
            "plain",
            dim,
            candidates,
            5,
            [2, 3, 5, 10, 30, _ALL_POINTS],
            [1, 2],
            (False,),
        )
        for dim, candidates in ((3, 3), (3, 9), (2, 3), (4, 3))
    ],
    "eyaleb": [
        _ekss("whitened", dims, candidates, rounds, [4, 5, 6, 7, 8], [1, 1.1, 1.2, 1.3])
        for dims, candidates, rounds in (([5, 25], [1, 3], 3), ([7, 21], [2, 4], 5))
    ],
    "coil20": [
        _ekss(data, dims, candidates, 3, _SMALL_Q, _MANY_EIGENVECTORS)
        for data, dims, candidates in (
            ("whitened", 9, 2),
            ("whitened", [5, 25], [1, 3]),
            ("plain", 9, 2),
        )
    ],
    "coil100": [_ekss(data, 9, 2, 3, [3, 4, 6], [1, 1.5]) for data in _BOTH],
    "usps": [
        _ekss("plain", dim, 1, 5, [3, 5, 8, 10, 20], _FEW_EIGENVECTORS, (False, True))
        for dim in (9, 13)
    ],
    "mnist_test": [
        _ekss("scattering", 13, 1, 10, [3, 5, 10, 20, 72], _FEW_EIGENVECTORS, (False,))
    ],
}
_KSS = {
    "hopkins155": _over("plain", "subspace_dim", (2, 4)),
    "eyaleb": _over("whitened", "subspace_dim", (6, 9)),
    "coil20": _over("whitened", "subspace_dim", (2, 5, 9)),
    "coil100": _over("whitened", "subspace_dim", (1, 9)),
    "usps": _over("plain", "subspace_dim", (7, 13)),
    "mnist_test": _over("scattering", "subspace_dim", (9, 18)),
}
_COPKSS = {
    "hopkins155": _over_pairs(
        "plain",
        ("subspace_dim", "coherent_share"),
        *((dim, share) for dim in (2, 3) for share in (0.5, 0.7)),
    ),
    "eyaleb": _over("whitened", "subspace_dim", (6,), coherent_share=0.7),
    "coil20": _over(_BOTH, "subspace_dim", (9,), coherent_share=0.7),
    "coil100": _over("whitened", "subspace_dim", (1,), coherent_share=0.7),
    "usps": _over("plain", "subspace_dim", (7,), coherent_share=0.7),
    "mnist_test": _over("scattering", "subspace_dim", (13,), coherent_share=0.7),
}
_MKF = {
    "hopkins155": _over("plain", "subspace_dim", (2, 4)),
    "eyaleb": _over("whitened", "subspace_dim", (5, 9)),
    "coil20": _over("whitened", "subspace_dim", (5, 9)),
    "coil100": _over("whitened", "subspace_dim", (5,)),
    "usps": _over("plain", "subspace_dim", (9, 13)),
    "mnist_test": _over("scattering", "subspace_dim", (13,)),
}
_TSC = {
    "hopkins155": _over("plain", "n_neighbors", (2, 4, 6, 8, 10, 20, 30, 50)),
    "eyaleb": _over("whitened", "n_neighbors", (2, 4, 5, 6, 8)),
    "coil20": _over(_BOTH, "n_neighbors", (2, 3, 5, 6, 8, 10)),
    "coil100": _over("whitened", "n_neighbors", (3, 5, 6, 8)),
    "usps": _over("plain", "n_neighbors", (4, 5, 6, 8, 10, 15, 20)),
    "mnist_test": _over("scattering", "n_neighbors", (4, 5, 6, 8, 10, 15, 20)),
}
_ALPHA_KEEP = ("alpha", "keep")
_SSC = {
    "hopkins155": _over_pairs(
        "plain", _ALPHA_KEEP, (800.0, 0.7), (20.0, 0.7), (226.67, 0.7), (800.0, 1.0)
    ),
    "eyaleb": [
        *_each(
            "plain",
            {"alpha": 100.0, "alpha_outliers": 5.0, "keep": 0.95, "equal_rows": False},
            # Two iterations are thresholded ridge regression, not sparse coding; the
            # paper's figure comes out near this and not from converged coefficients.
            {"alpha": 670.0, "keep": 0.1, "penalty": 10.0, "max_iter": 2},
        ),
        *_each("whitened", {"alpha": 20.0, "keep": 0.8}),
    ],
    "coil20": _over_pairs(
        ("plain", "whitened"), _ALPHA_KEEP, (5.0, 0.95), (10.0, 0.8), (20.0, 0.8)
    ),
    "coil100": _over_pairs("whitened", _ALPHA_KEEP, (5.0, 0.8), max_iter=20),
    "usps": _over_pairs("plain", _ALPHA_KEEP, (5.0, 0.8), max_iter=20),
    "mnist_test": _over_pairs("scattering", _ALPHA_KEEP, (5.0, 0.8), max_iter=20),
}
_SSCOMP = {
    "hopkins155": _over("plain", "n_nonzero", (3, 4, 5, 8)),
    "eyaleb": _over("whitened", "n_nonzero", (2, 3, 4, 5)),
    "coil20": _over(_BOTH, "n_nonzero", (3, 4, 5)),
    "coil100": _over("whitened", "n_nonzero", (3, 4)),
    "usps": _over("plain", "n_nonzero", (2, 3, 4, 5)),
    "mnist_test": _over("scattering", "n_nonzero", (2, 3, 4, 5)),
}
_RATIO_GAMMA = ("l1_ratio", "gamma")
_ENSC = {
    "hopkins155": _over_pairs(
        "plain", _RATIO_GAMMA, (0.5, 50.0), (0.9, 50.0), (0.9, 200.0), (0.1, 98.0)
    ),
    "eyaleb": _over_pairs(
        "whitened", _RATIO_GAMMA, (0.88, 3.0), (0.95, 3.0), (0.95, 10.0)
    ),
    "coil20": _over_pairs(_BOTH, _RATIO_GAMMA, (0.95, 3.0), (0.9, 3.0), (0.99, 5.0)),
    "coil100": _over("whitened", "gamma", (2, 3), l1_ratio=0.9),
    "usps": _over_pairs("plain", _RATIO_GAMMA, (0.95, 3.0), (0.9, 2.0), (0.95, 10.0)),
    "mnist_test": _over_pairs(
        "scattering", _RATIO_GAMMA, (0.95, 2.0), (0.9, 3.0), (0.95, 5.0)
    ),
}

for _one in (
    Method(
        "ekss",
        "EKSS",
        "ekss.estimators:EKSS",
        as_printed="ekss.estimators:PaperEKSS",
        affine=True,
        whitened=True,
        sweeps=_EKSS,
    ),
    Method(
        "kss",
        "KSS",
        "ekss.estimators:KSS",
        affine=True,
        trials=True,
        whitened=True,
        sweeps=_KSS,
    ),
    Method(
        "copkss",
        "CoP-KSS",
        "ekss.estimators:CoPKSS",
        affine=True,
        trials=True,
        whitened=True,
        sweeps=_COPKSS,
    ),
    Method(
        "mkf",
        "MKF",
        "ekss.estimators:MedianKFlats",
        trials=True,
        whitened=True,
        sweeps=_MKF,
    ),
    Method(
        "tsc",
        "TSC",
        "ekss.estimators:TSC",
        searched=True,
        whitened=True,
        sweeps=_TSC,
    ),
    Method(
        "ssc",
        "SSC-ADMM",
        "ekss.estimators:SSC",
        affine=True,
        searched=True,
        sweeps=_SSC,
    ),
    Method(
        "sscomp", "SSC-OMP", "ekss.estimators:SSCOMP", searched=True, sweeps=_SSCOMP
    ),
    Method("ensc", "EnSC", "ekss.estimators:EnSC", searched=True, sweeps=_ENSC),
):
    register_method(_one)
