"""Which settings of a method are tried on a data set, for each column of Table I.

The column "paper" has the paper's parameters, "tuned" what is tried beside them with
the labels choosing, "free" the estimator as it is, which knows no labels, "chosen" what
LabelFreeSearch chooses for it, which knows none either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ekss.benchmarks._paper import parameters
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._recipes import RECIPES

Setting = dict[str, Any]

COLUMNS = ("paper", "tuned", "free", "chosen")
# Of these the label-tuned figure is the lowest.
SWEPT = ("paper", "tuned", "free")
SEARCHED = ("tsc", "ssc", "sscomp", "ensc")
LARGE = ("coil100", "usps", "mnist")
TRIED = ("kss", "copkss", "mkf")
# On Yale B the paper whitened for these and says that the others got worse by it.
_WHITENED = ("ekss", "kss", "copkss", "mkf", "tsc")
# EKSS chooses by itself how many components to remove, but the trials with 7200 images
# in 100 clusters take half an hour a seed.
_WHITENED_FOR_ALL = ("coil100",)
_AFFINE = ("ekss", "kss", "copkss", "ssc")
_ALL_POINTS = 10**6


def settings(dataset: str, method: str, column: str, profile: Profile) -> list[Setting]:
    """Return the settings that a cell of Table I tries.

    Parameters
    ----------
    dataset, method, column : str
        The place in the table.
    profile : Profile

    Returns
    -------
    settings : list of dict
        As :func:`ekss.benchmarks._methods.labellings` takes them.
    """
    if column == "free":
        return [_free(dataset, method, profile)]
    if column == "chosen":
        # SSC takes minutes a setting on the large sets.
        if method not in SEARCHED or (method == "ssc" and dataset in LARGE):
            return []
        return [{**_free(dataset, method, profile), "search": True}]
    if column == "paper":
        return [
            _sized({"data": data, "params": _paper_params(dataset, method)}, *place)
            for data in _paper_variants(dataset, method)
            for place in [(dataset, method, profile)]
        ]
    found = _tuned(dataset, method)
    return [_sized(one, dataset, method, profile) for one in found[: profile.sweep]]


def _free(dataset: str, method: str, profile: Profile) -> Setting:
    variants = RECIPES[dataset]
    data = "whitened" if "whitened" in variants else next(iter(variants))
    if method == "ekss":
        if "plain" in variants and dataset not in _WHITENED_FOR_ALL:
            data = "plain"
        return {"data": data, "params": {}, "record": True}
    params = _affine(dataset, method)
    if method == "ssc" and dataset in LARGE:
        params["max_iter"] = profile.ssc_iterations
    return {"data": data, "params": params}


def _affine(dataset: str, method: str) -> dict[str, Any]:
    """Motions lie on affine subspaces; where a method knows these, they are used."""
    if dataset != "hopkins" or method not in _AFFINE:
        return {}
    params: dict[str, Any] = {"affine": True}
    if method == "ssc":
        params["normalize"] = False
    return params


def _paper_params(dataset: str, method: str) -> dict[str, Any]:
    return {**_affine(dataset, method), **parameters(dataset, method)}


def _paper_variants(dataset: str, method: str) -> tuple[str, ...]:
    if dataset == "yaleb":
        return ("whitened",) if method in _WHITENED else ("plain",)
    # "We whiten ... when it improves algorithm performance": both are tried.
    return tuple(RECIPES[dataset])


def _sized(setting: Setting, dataset: str, method: str, profile: Profile) -> Setting:
    """Give a setting the members, trials and iterations of the profile."""
    share = profile.large_share if dataset in LARGE else 1.0
    if dataset == "hopkins":  # small sets, but 155 of them
        share = profile.large_share if method == "ekss" else 1 / profile.large_share
    params = dict(setting["params"])
    sized = {**setting, "params": params}
    if method == "ekss":
        cop = params.get("base") == "cop"
        members = profile.cop_members if cop else profile.n_members
        params["n_members"] = max(1, round(share * members))
        if cop:
            params["max_iter"] = min(params["max_iter"], profile.cop_iterations)
    if method in TRIED:
        sized["trials"] = max(1, round(share * profile.trials[method]))
        params["n_init"] = 1
        params["max_iter"] = profile.max_iter[method]
        if method == "kss":
            params["base"] = profile.base
    if method == "ssc" and dataset in LARGE:
        params["max_iter"] = min(params.get("max_iter", 1000), profile.ssc_iterations)
    return sized


def _tuned(dataset: str, method: str) -> list[Setting]:
    if dataset == "hopkins":
        return _hopkins_sweep(method)
    if method == "ekss":
        return _EKSS_SWEEPS[dataset]
    return _RIVAL_SWEEPS[method].get(dataset, [])


def _ekss(
    data: str,
    dims: int | list[int],
    candidates: int | list[int],
    max_iter: int,
    cuts: Mapping[str, list[Any]],
    **more: Any,
) -> Setting:
    params = {"subspace_dim": dims, "max_iter": max_iter, **more}
    per_cluster = {"n_candidates": candidates}
    return {"data": data, "params": params, "per_cluster": per_cluster, "cuts": cuts}


_FEW_EIGENVECTORS = [1, 1.2, 1.5]
_MANY_EIGENVECTORS = [1, 1.2, 1.5, 2]
_SMALL_Q = [3, 4, 5, 6, 8, 10]

_EKSS_SWEEPS: dict[str, list[Setting]] = {
    "yaleb": [
        _ekss(
            "whitened",
            dims,
            candidates,
            iterations,
            {
                "n_neighbors": [4, 5, 6, 7, 8],
                "eigenvectors": [1, 1.1, 1.2, 1.3],
                "divide_by_size": [True],
            },
        )
        for dims, candidates, iterations in (([5, 25], [1, 3], 3), ([7, 21], [2, 4], 5))
    ],
    "coil20": [
        _ekss(
            data,
            dims,
            candidates,
            3,
            {
                "n_neighbors": _SMALL_Q,
                "eigenvectors": _MANY_EIGENVECTORS,
                "divide_by_size": [True],
            },
        )
        for data, dims, candidates in (
            ("whitened", 9, 2),
            ("whitened", [5, 25], [1, 3]),
            ("plain", 9, 2),
        )
    ],
    "coil100": [
        _ekss(
            data,
            9,
            2,
            3,
            {
                "n_neighbors": [3, 4, 6],
                "eigenvectors": [1, 1.5],
                "divide_by_size": [True],
            },
        )
        for data in ("whitened", "plain")
    ],
    "usps": [
        _ekss(
            "plain",
            dims,
            1,
            5,
            {
                "n_neighbors": [3, 5, 8, 10, 20],
                "eigenvectors": _FEW_EIGENVECTORS,
                "divide_by_size": [False, True],
            },
        )
        for dims in (9, 13)
    ],
    "mnist": [
        _ekss(
            "scattering",
            13,
            1,
            10,
            {
                "n_neighbors": [3, 5, 10, 20, 72],
                "eigenvectors": _FEW_EIGENVECTORS,
                "divide_by_size": [False],
            },
        )
    ],
}


def _plain(data: str, **params: Any) -> Setting:
    return {"data": data, "params": params}


_RIVAL_SWEEPS: dict[str, dict[str, list[Setting]]] = {
    "kss": {
        "yaleb": [_plain("whitened", subspace_dim=dim) for dim in (6, 9)],
        "coil20": [_plain("whitened", subspace_dim=dim) for dim in (2, 5, 9)],
        "coil100": [_plain("whitened", subspace_dim=dim) for dim in (1, 9)],
        "usps": [_plain("plain", subspace_dim=dim) for dim in (7, 13)],
        "mnist": [_plain("scattering", subspace_dim=dim) for dim in (9, 18)],
    },
    "copkss": {
        "yaleb": [_plain("whitened", subspace_dim=6, coherent_share=0.7)],
        "coil20": [
            _plain(data, subspace_dim=9, coherent_share=0.7)
            for data in ("whitened", "plain")
        ],
        "coil100": [_plain("whitened", subspace_dim=1, coherent_share=0.7)],
        "usps": [_plain("plain", subspace_dim=7, coherent_share=0.7)],
        "mnist": [_plain("scattering", subspace_dim=13, coherent_share=0.7)],
    },
    "mkf": {
        "yaleb": [_plain("whitened", subspace_dim=dim) for dim in (5, 9)],
        "coil20": [_plain("whitened", subspace_dim=dim) for dim in (5, 9)],
        "coil100": [_plain("whitened", subspace_dim=5)],
        "usps": [_plain("plain", subspace_dim=dim) for dim in (9, 13)],
        "mnist": [_plain("scattering", subspace_dim=13)],
    },
    "tsc": {
        "yaleb": [_plain("whitened", n_neighbors=q) for q in (2, 4, 5, 6, 8)],
        "coil20": [
            _plain(data, n_neighbors=q)
            for data in ("whitened", "plain")
            for q in (2, 3, 5, 6, 8, 10)
        ],
        "coil100": [_plain("whitened", n_neighbors=q) for q in (3, 5, 6, 8)],
        "usps": [_plain("plain", n_neighbors=q) for q in (4, 5, 6, 8, 10, 15, 20)],
        "mnist": [
            _plain("scattering", n_neighbors=q) for q in (4, 5, 6, 8, 10, 15, 20)
        ],
    },
    "ssc": {
        "yaleb": [
            _plain(
                "plain", alpha=100.0, alpha_outliers=5.0, keep=0.95, equal_rows=False
            ),
            # Two iterations are thresholded ridge regression, not sparse coding; the
            # paper's figure comes out near this and not from converged coefficients.
            _plain("plain", alpha=670.0, keep=0.1, penalty=10.0, max_iter=2),
            _plain("whitened", alpha=20.0, keep=0.8),
        ],
        "coil20": [
            _plain(data, alpha=alpha, keep=keep)
            for data in ("plain", "whitened")
            for alpha, keep in ((5.0, 0.95), (10.0, 0.8), (20.0, 0.8))
        ],
        "coil100": [_plain("whitened", alpha=5.0, keep=0.8, max_iter=20)],
        "usps": [_plain("plain", alpha=5.0, keep=0.8, max_iter=20)],
        "mnist": [_plain("scattering", alpha=5.0, keep=0.8, max_iter=20)],
    },
    "sscomp": {
        "yaleb": [_plain("whitened", n_nonzero=k) for k in (2, 3, 4, 5)],
        "coil20": [
            _plain(data, n_nonzero=k)
            for data in ("whitened", "plain")
            for k in (3, 4, 5)
        ],
        "coil100": [_plain("whitened", n_nonzero=k) for k in (3, 4)],
        "usps": [_plain("plain", n_nonzero=k) for k in (2, 3, 4, 5)],
        "mnist": [_plain("scattering", n_nonzero=k) for k in (2, 3, 4, 5)],
    },
    "ensc": {
        "yaleb": [
            _plain("whitened", l1_ratio=ratio, gamma=gamma)
            for ratio, gamma in ((0.88, 3.0), (0.95, 3.0), (0.95, 10.0))
        ],
        "coil20": [
            _plain(data, l1_ratio=ratio, gamma=gamma)
            for data in ("whitened", "plain")
            for ratio, gamma in ((0.95, 3.0), (0.9, 3.0), (0.99, 5.0))
        ],
        "coil100": [_plain("whitened", l1_ratio=0.9, gamma=gamma) for gamma in (2, 3)],
        "usps": [
            _plain("plain", l1_ratio=ratio, gamma=gamma)
            for ratio, gamma in ((0.95, 3.0), (0.9, 2.0), (0.95, 10.0))
        ],
        "mnist": [
            _plain("scattering", l1_ratio=ratio, gamma=gamma)
            for ratio, gamma in ((0.95, 2.0), (0.9, 3.0), (0.95, 5.0))
        ],
    },
}


def _hopkins_sweep(method: str) -> list[Setting]:
    """Return what is tried on every sequence; the labels choose for each its own."""
    affine = _affine("hopkins", method)
    if method == "ekss":
        cuts: dict[str, list[Any]] = {
            "n_neighbors": [2, 3, 5, 10, 30, _ALL_POINTS],
            "eigenvectors": [1, 2],
            "divide_by_size": [False],
        }
        return [
            _ekss("plain", dim, candidates, 5, cuts, **affine)
            for dim, candidates in ((3, 3), (3, 9), (2, 3), (4, 3))
        ]
    tried: dict[str, list[dict[str, Any]]] = {
        "kss": [{"subspace_dim": dim} for dim in (2, 4)],
        "copkss": [
            {"subspace_dim": dim, "coherent_share": share}
            for dim in (2, 3)
            for share in (0.5, 0.7)
        ],
        "mkf": [{"subspace_dim": dim} for dim in (2, 4)],
        "tsc": [{"n_neighbors": q} for q in (2, 4, 6, 8, 10, 20, 30, 50)],
        "ssc": [
            {"alpha": alpha, "keep": keep}
            for alpha, keep in ((800.0, 0.7), (20.0, 0.7), (226.67, 0.7), (800.0, 1.0))
        ],
        "sscomp": [{"n_nonzero": k} for k in (3, 4, 5, 8)],
        "ensc": [
            {"l1_ratio": ratio, "gamma": gamma}
            for ratio, gamma in ((0.5, 50.0), (0.9, 50.0), (0.9, 200.0), (0.1, 98.0))
        ],
    }
    return [_plain("plain", **{**affine, **params}) for params in tried[method]]
