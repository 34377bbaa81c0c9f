"""The methods of Table I: what is tried of each, and the labellings that come out.

The column "paper" has the paper's parameters, "tuned" what is tried beside them with
the labels choosing, "free" the estimator as it is, which knows no labels, "chosen" what
LabelFreeSearch chooses for it, which knows none either. A method enters the tables by
one call of :func:`register_method`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._data import DATASETS, BenchData, Points
from ekss.benchmarks._paper import parameters
from ekss.benchmarks._profiles import TEXTS, Profile
from ekss.methods import CLASSES, RIVALS, VARIANTS, imported

Setting = dict[str, Any]

COLUMNS = ("paper", "tuned", "free", "chosen")
# Of these the label-tuned figure is the lowest.
SWEPT = ("paper", "tuned", "free")
# What chooses among settings without labels.
SEARCH = "ekss.estimators:LabelFreeSearch"


@dataclass(frozen=True)
class Method:
    """A method of the tables.

    Attributes
    ----------
    name : str
        As it is typed.
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
        Whether the best of several random starts counts, as in the paper; it then
        takes ``n_init`` and ``max_iter``.
    searched : bool
        Whether LabelFreeSearch has a grid for it.
    whitened : bool
        Whether the paper whitened Yale B for it; the others got worse by it.
    params : mapping
        Parameters of the estimator in all columns.
    sweeps : mapping of str to list
        Settings that the labels choose from, by data set: a list of mappings with
        "data", a variant of the data set, and "params" of the estimator.
    note : str
        What readers of its lines have to know, if anything.

    Examples
    --------
    >>> from ekss.benchmarks import METHODS
    >>> METHODS["sscomp"].title
    'SSC-OMP'
    """

    name: str
    title: str
    estimator: str
    as_printed: str = ""
    affine: bool = False
    trials: bool = False
    searched: bool = False
    whitened: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    sweeps: Mapping[str, list[Setting]] = field(default_factory=dict)
    note: str = ""


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
    """Return the settings that a cell of Table I tries; none where nothing is tried."""
    if column == "free":
        images_only = method.name == "ekss-images" and dataset.image_shape is None
        return [] if images_only else [_free(dataset, method, profile)]
    if column == "chosen":
        # SSC takes minutes per setting on the large sets.
        slow = method.name == "ssc" and dataset.large
        free = {**_free(dataset, method, profile), "search": SEARCH}
        return [free] if method.searched and not slow else []
    if column == "paper":
        tried = _printed(dataset, method, profile)
    else:
        tried = list(method.sweeps.get(dataset.name, []))[: profile.sweep]
    return [_sized(one, dataset, method, profile) for one in tried]


def _free(dataset: BenchData, method: Method, profile: Profile) -> Setting:
    common = {"estimator": method.estimator}
    if method.name == "ekss":
        data = next(iter(dataset.variants))
        if data == "plain" and dataset.image_shape is not None:
            data = "pixels"
        return {**common, "data": data, "params": {}, "record": True}
    if method.name == "ekss-images":
        shape = {"image_shape": list(dataset.image_shape or ())}
        return {**common, "data": "pixels", "params": shape, "record": True}
    params = {**method.params, **_affine(dataset, method)}
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
    params = {**method.params, **setting["params"], **_affine(dataset, method)}
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
            params |= {"update": profile.update, "init": "random"}  # as in the paper
    if method.name == "ssc" and dataset.large:
        params["max_iter"] = min(params.get("max_iter", 1000), profile.ssc_iterations)
    return sized


def labellings(
    setting: Mapping[str, Any], points: Points, seed: int
) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Yield the name and the labels of everything that a setting tries.

    The name is JSON of the parameters; it is the same for trials, which differ by seed
    only. Of a setting, ``estimator`` is "module:Class", and ``params`` go to it, see
    :func:`build`; with ``search``, a class like LabelFreeSearch, that chooses; with
    ``trials`` the estimator runs from that many seeds; with ``cuts`` the votes of one
    EKSS are cut in several ways: lists ``n_neighbors``, ``eigenvectors`` (multiples of
    the number of clusters), ``divide_by_size``; its members have ``candidates`` times
    as many candidate subspaces as there are clusters, or draw between two such numbers.
    """
    name = setting_name(setting)
    if "cuts" in setting:
        for cut, labels in _several_cuts(setting, points, seed):
            yield json.dumps({**name, **cut}), labels
        return
    seeds = [seed]
    if "trials" in setting:
        # Trials have seeds of their own, which no other cell has.
        seeds = [10_000 * seed + trial for trial in range(setting["trials"])]
    for one in seeds:
        model = model_of(setting, points, one)
        if setting.get("search"):
            model = imported(setting["search"])(model, random_state=one)
        yield json.dumps(name), model.fit(points.data).labels_


def setting_name(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as they are told to people, the same for all points."""
    name = {"data": setting["data"], **setting["params"]}
    if "candidates" in setting:
        name |= {"n_candidates": _times_k(setting["candidates"]), **name.pop("member")}
    return name


def _times_k(share: float | list[float]) -> str | list[str]:
    """Write a multiple of the number of clusters, such as 1.5 K."""
    if isinstance(share, (list, tuple)):
        return [f"{one:g} K" for one in share]
    return f"{share:g} K"


def model_of(setting: Mapping[str, Any], points: Points, seed: int) -> Any:
    """Return the estimator of a setting, made for these points."""
    params = dict(setting["params"])
    if isinstance(params.get("n_neighbors"), int):
        params["n_neighbors"] = min(params["n_neighbors"], len(points.data) - 1)
    if "candidates" in setting:
        counts = np.multiply(setting["candidates"], points.n_clusters).tolist()
        params["member"] = {**params["member"], "n_candidates": counts}
    return build(setting["estimator"], points.n_clusters, params, seed=seed)


def build(
    estimator: str,
    n_clusters: int,
    params: Mapping[str, Any],
    seed: int,
    n_jobs: int = 1,
) -> Any:
    """Return an estimator, "module:Class", with these parameters and no others.

    Parameters are JSON types: lists become tuples, and mappings ``member`` and ``cut``
    become :class:`~ekss.KSSMember` and :class:`~ekss.CutOptions`. The only cutter that
    JSON can name is "paper", k-means on K eigenvectors, which leaves nothing to score.
    """
    from ekss.ensemble import CutOptions, KSSMember

    given = {name: _as_tuple(value) for name, value in params.items()}
    if "member" in given:
        member = {name: _as_tuple(value) for name, value in given["member"].items()}
        given["member"] = KSSMember(**member)
    if "cut" in given:
        options = dict(given["cut"])
        if options.get("cutters") == "paper":
            options |= {"cutters": (paper_cut,), "score": _all_equal}
        given["cut"] = CutOptions(**options)
    make = imported(estimator)
    return make(n_clusters, random_state=seed, n_jobs=n_jobs, **given)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def paper_cut(
    graph: Any, vectors: NDArray[np.float64], n_clusters: int, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Cut as the paper does: k-means on unit rows of K eigenvectors."""
    from ekss.ensemble.cut import kmeans_cuts

    yield next(kmeans_cuts(graph, vectors, n_clusters, rng))


def _several_cuts(
    setting: Mapping[str, Any], points: Points, seed: int
) -> Iterator[tuple[dict[str, Any], NDArray[np.integer]]]:
    """Run the members once and cut their votes in every way asked for."""
    from ekss import graph

    n_clusters, n_samples = points.n_clusters, len(points.data)
    cuts = setting["cuts"]
    counts = {q: min(q, n_samples - 1) for q in cuts["n_neighbors"]}
    labels, weights = votes_of_members(setting, points, seed)
    for divide in cuts["divide_by_size"]:
        votes = graph.prepare_votes(labels, weights, divide_by_size=divide)
        nearest = graph.nearest_by_votes(votes, max(counts.values()))
        known: dict[tuple[int, int], NDArray[np.integer]] = {}
        for q, share in product(counts, cuts["eigenvectors"]):
            place = counts[q], min(ceil(n_clusters * share), n_samples)
            if place not in known:
                known[place] = graph.spectral_labels(
                    graph.symmetric_graph(nearest, place[0]),
                    n_clusters,
                    n_eigenvectors=place[1],
                    bridge=graph.bridge_by_votes(votes, place[0]),
                    random_state=seed,
                ).labels
            cut = {"n_neighbors": q, "n_eigenvectors": _times_k(share)}
            yield {**cut, "divide_by_size": divide}, known[place]


def votes_of_members(
    setting: Mapping[str, Any], points: Points, seed: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return labels and weights of the members that EKSS has with this setting.

    It gets one thin graph, one way to cut it and nothing to score, because its own
    clusters are not used.
    """
    from ekss.ensemble import CutOptions
    from ekss.ensemble.cut import rotated_cut

    model = model_of(setting, points, seed)
    once = CutOptions(cutters=(rotated_cut,), score=_all_equal)
    model.set_params(n_neighbors=min(3, len(points.data) - 1), cut=once)
    model.fit(points.data)
    return model.member_labels_, model.member_weights_


def _all_equal(labels: NDArray[np.integer], evidence: Any) -> float:
    return 0.0


# Data sets of the paper in their order, and what sweeps use of them.
_SWEPT_DATA = {
    "hopkins155": "plain",
    "eyaleb": "whitened",
    "coil20": "whitened",
    "coil100": "whitened",
    "usps": "plain",
    "mnist_test": "scattering",
}
_BOTH = ("whitened", "plain")


def _each(data: str | tuple[str, ...], names: str, *values: Any) -> list[Setting]:
    """Return a setting for each variant of the data and each choice of parameters."""
    keys = names.split()
    choices = [one if isinstance(one, tuple) else (one,) for one in values]
    return [
        {"data": variant, "params": dict(zip(keys, choice, strict=True))}
        for variant in ((data,) if isinstance(data, str) else data)
        for choice in choices
    ]


def _sweep(
    names: str, *values: tuple[Any, ...], both: bool = False
) -> dict[str, list[Setting]]:
    """Return the choices of parameters for each data set; COIL-20 may use both."""
    variants: dict[str, Any] = {**_SWEPT_DATA, **({"coil20": _BOTH} if both else {})}
    return {
        dataset: _each(data, names, *choices)
        for (dataset, data), choices in zip(variants.items(), values, strict=True)
    }


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
        "whiten": 0,
        "member": {"max_iter": max_iter},
    }
    cuts = {
        "n_neighbors": n_neighbors,
        "eigenvectors": eigenvectors,
        "divide_by_size": list(divide_by_size),
    }
    return {"data": data, "params": params, "candidates": candidates, "cuts": cuts}


_FEW_EIGENVECTORS = [1, 1.2, 1.5]
_MANY_EIGENVECTORS = [1, 1.2, 1.5, 2]
_SMALL_Q = [3, 4, 5, 6, 8, 10]
_LARGE_Q = [2, 3, 5, 10, 30, 10**6]  # up to all points

_EKSS: dict[str, list[Setting]] = {
    "hopkins155": [
        _ekss("plain", dim, candidates, 5, _LARGE_Q, [1, 2], (False,))
        for dim, candidates in ((3, 3), (3, 9), (2, 3), (4, 3))
    ],
    "eyaleb": [
        _ekss("whitened", dims, candidates, rounds, [4, 5, 6, 7, 8], [1, 1.1, 1.2, 1.3])
        for dims, candidates, rounds in (([5, 25], [1, 3], 3), ([7, 21], [2, 4], 5))
    ],
    "coil20": [
        _ekss("whitened", 9, 2, 3, _SMALL_Q, _MANY_EIGENVECTORS),
        _ekss("whitened", [5, 25], [1, 3], 3, _SMALL_Q, _MANY_EIGENVECTORS),
        _ekss("plain", 9, 2, 3, _SMALL_Q, _MANY_EIGENVECTORS),
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
_KSS = _sweep("subspace_dim", (2, 4), (6, 9), (2, 5, 9), (1, 9), (7, 13), (9, 18))
_COPKSS = _sweep(
    "subspace_dim coherent_share",
    ((2, 0.5), (2, 0.7), (3, 0.5), (3, 0.7)),
    *(((dim, 0.7),) for dim in (6, 9, 1, 7, 13)),
    both=True,
)
_MKF = _sweep("subspace_dim", (2, 4), (5, 9), (5, 9), (5,), (9, 13), (13,))
_TSC = _sweep(
    "n_neighbors",
    (2, 4, 6, 8, 10, 20, 30, 50),
    (2, 4, 5, 6, 8),
    (2, 3, 5, 6, 8, 10),
    (3, 5, 6, 8),
    (4, 5, 6, 8, 10, 15, 20),
    (4, 5, 6, 8, 10, 15, 20),
    both=True,
)
_SSC = {
    "hopkins155": _each(
        "plain", "alpha keep", (800.0, 0.7), (20.0, 0.7), (226.67, 0.7), (800.0, 1.0)
    ),
    "eyaleb": [
        *_each(
            "plain", "alpha alpha_outliers keep equal_rows", (100.0, 5.0, 0.95, False)
        ),
        # Two iterations are thresholded ridge regression, not sparse coding; the
        # paper's figure comes out near this and not from converged coefficients.
        *_each("plain", "alpha keep penalty max_iter", (670.0, 0.1, 10.0, 2)),
        *_each("whitened", "alpha keep", (20.0, 0.8)),
    ],
    "coil20": _each(
        ("plain", "whitened"), "alpha keep", (5.0, 0.95), (10.0, 0.8), (20.0, 0.8)
    ),
    **{
        dataset: _each(_SWEPT_DATA[dataset], "alpha keep max_iter", (5.0, 0.8, 20))
        for dataset in ("coil100", "usps", "mnist_test")
    },
}
_SSCOMP = _sweep(
    "n_nonzero",
    (3, 4, 5, 8),
    (2, 3, 4, 5),
    (3, 4, 5),
    (3, 4),
    (2, 3, 4, 5),
    (2, 3, 4, 5),
    both=True,
)
_ENSC = _sweep(
    "l1_ratio gamma",
    ((0.5, 50.0), (0.9, 50.0), (0.9, 200.0), (0.1, 98.0)),
    ((0.88, 3.0), (0.95, 3.0), (0.95, 10.0)),
    ((0.95, 3.0), (0.9, 3.0), (0.99, 5.0)),
    ((0.9, 2), (0.9, 3)),
    ((0.95, 3.0), (0.9, 2.0), (0.95, 10.0)),
    ((0.95, 2.0), (0.9, 3.0), (0.95, 5.0)),
    both=True,
)

# Name, title, what the method has of affine, trials, searched and whitened, its sweeps.
_PAPERS_METHODS: tuple[tuple[str, str, str, Any], ...] = (
    ("ekss", "EKSS", "affine whitened", _EKSS),
    ("kss", "KSS", "affine trials whitened", _KSS),
    ("copkss", "CoP-KSS", "affine trials whitened", _COPKSS),
    ("mkf", "MKF", "trials whitened", _MKF),
    ("tsc", "TSC", "searched whitened", _TSC),
    ("ssc", "SSC-ADMM", "affine searched", _SSC),
    ("sscomp", "SSC-OMP", "searched", _SSCOMP),
    ("ensc", "EnSC", "searched", _ENSC),
)
for _name, _title, _has, _sweeps in _PAPERS_METHODS:
    _flags: dict[str, Any] = dict.fromkeys(_has.split(), True)
    register_method(
        Method(
            _name,
            _title,
            CLASSES[_name],
            as_printed=CLASSES["paper"] if _name == "ekss" else "",
            sweeps=_sweeps,
            **_flags,
        )
    )

# Methods of the package that the paper does not have: the same choices for all sets.
_ALPHA_AND_NEIGHBORS = ((0.01, 10), (0.03, 4), (0.1, 4), (0.1, 10), (0.3, 5))
_FURTHER_SWEEPS = {
    "gsc": _sweep("n_neighbors", *6 * ((3, 5, 10, 20),)),
    "slbf": _sweep("n_neighbors", *6 * ((3, 5, 10, 20),)),
    "lsr": _sweep("alpha n_neighbors", *6 * (_ALPHA_AND_NEIGHBORS,)),
    "lrsc": _sweep("alpha n_neighbors", *6 * (((0.0, 4), *_ALPHA_AND_NEIGHBORS[:4]),)),
    "lrr": _sweep("alpha", *6 * ((0.3, 1.0, 3.0),)),
}
for _name, _place in CLASSES.items():
    if _name != "paper" and _name not in METHODS:
        register_method(
            Method(
                _name,
                _place.partition(":")[2],
                _place,
                affine=_name == "slbf",
                searched=_name in _FURTHER_SWEEPS,
                sweeps=_FURTHER_SWEEPS.get(_name, {}),
            )
        )

_VARIANT_SWEEPS = {
    "tsc-ds": _sweep("doubly_stochastic", *6 * ((0.3, 3.0),)),
    **{
        name: _sweep(
            "doubly_stochastic alpha",
            *6 * (((0.3, 0.1), (3.0, 0.1), (1.0, 0.03), (3.0, 0.03)),),
        )
        for name in ("lsr-ds", "lrsc-ds")
    },
}
_VARIANT_TITLES = {"ds": "doubly stochastic", "images": "images as images"}
for _name, (_base, _params) in VARIANTS.items():
    register_method(
        Method(
            _name,
            f"{METHODS[_base].title}, {_VARIANT_TITLES[_name.partition('-')[2]]}",
            METHODS[_base].estimator,
            searched=METHODS[_base].searched,
            params=_params,
            sweeps=_VARIANT_SWEEPS.get(_name, {}),
            note=TEXTS["methods"].get(_name, ""),
        )
    )


def _on_every_variant(names: str, *choices: Any) -> dict[str, list[Setting]]:
    """Return the same choices of parameters for all variants of each data set."""
    return {
        name: _each(tuple(DATASETS[name].variants), names, *choices)
        for name in _SWEPT_DATA
    }


# Clusterers of scikit-learn: title, parameters in all columns, sweeps.
_RIVALS: dict[str, tuple[str, dict[str, Any], dict[str, list[Setting]]]] = {
    "kmeans": (
        "KMeans",
        {},
        _on_every_variant("n_components whiten", *product((20, 50), (False, True))),
    ),
    "spectral": (
        "SpectralClustering",
        {},
        _on_every_variant("n_neighbors", 3, 5, 20, 50),
    ),
    "mixture": (
        "GaussianMixture",
        {"n_components": 20},
        _on_every_variant(
            "n_components covariance_type",
            *product((10, 20, 50), ("full", "tied", "diag")),
        ),
    ),
    "hdbscan": (
        "HDBSCAN",
        {"n_components": 50},
        _on_every_variant(
            "min_cluster_size min_samples", *product((5, 15, 50), (1, 5, 15))
        ),
    ),
}
for _name, (_title, _params, _sweeps) in _RIVALS.items():
    register_method(
        Method(
            _name,
            _title,
            RIVALS[_name],
            params=_params,
            sweeps=_sweeps,
            note=TEXTS["methods"][_name],
        )
    )
