"""One setting of one method on one set of points: all labellings that come out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._recipes import Points

Labelling = tuple[str, NDArray[np.integer]]

ESTIMATORS = {
    "ekss": "EKSS",
    "kss": "KSS",
    "copkss": "CoPKSS",
    "mkf": "MedianKFlats",
    "tsc": "TSC",
    "ssc": "SSC",
    "sscomp": "SSCOMP",
    "ensc": "EnSC",
}


def labellings(
    method: str, setting: Mapping[str, Any], points: Points, seed: int
) -> Iterator[Labelling]:
    """Yield the name and the labels of everything that a setting tries.

    Parameters
    ----------
    method : str
        A key of :data:`ESTIMATORS`.
    setting : mapping
        ``params`` go to the estimator, ``per_cluster`` too but times the number of
        clusters; with ``search`` LabelFreeSearch chooses; with ``trials`` the
        estimator runs from that many seeds; with ``cuts`` (EKSS) the same members are
        cut in several ways: lists ``n_neighbors``, ``eigenvectors`` (multiples of the number
        of clusters), ``divide_by_size``.
    points : Points
    seed : int

    Yields
    ------
    name : str
        JSON of the parameters tried; the same for trials, which differ by seed only.
    labels : ndarray of shape (n_samples,)
    """
    params = resolved(setting, points)
    name = setting_name(setting)
    if "cuts" in setting:
        for cut, labels in _several_cuts(params, setting["cuts"], points, seed):
            yield json.dumps({**name, **cut}), labels
        return
    if setting.get("search"):
        yield json.dumps(name), _search(method, params, points, seed)
        return
    for random_state in _random_states(setting, seed):
        model = estimator(method, params, points, random_state)
        yield json.dumps(name), model.fit(points.data).labels_


def _random_states(setting: Mapping[str, Any], seed: int) -> list[int]:
    """Return the seed itself; for trials as many, which no other seed has."""
    if "trials" not in setting:
        return [seed]
    return [10_000 * seed + trial for trial in range(setting["trials"])]


def setting_name(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as they are told to people, the same for all points."""
    shares = setting.get("per_cluster", {})
    return {
        "data": setting["data"],
        **setting.get("params", {}),
        **{name: _times_k(share) for name, share in shares.items()},
    }


def _times_k(share: float | list[float]) -> str | list[str]:
    """Write a multiple of the number of clusters.

    Examples
    --------
    >>> _times_k(1.5), _times_k([1, 3])
    ('1.5 K', ['1 K', '3 K'])
    """
    if isinstance(share, (list, tuple)):
        return [f"{one:g} K" for one in share]
    return f"{share:g} K"


def resolved(setting: Mapping[str, Any], points: Points) -> dict[str, Any]:
    """Return the parameters of the estimator for these points."""
    n_clusters = points.n_clusters
    params = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in setting.get("params", {}).items()
    }
    for name, factor in setting.get("per_cluster", {}).items():
        factors = factor if isinstance(factor, (list, tuple)) else (factor,)
        counts = tuple(ceil(n_clusters * one) for one in factors)
        params[name] = counts if len(counts) > 1 else counts[0]
    if isinstance(params.get("n_neighbors"), int):
        params["n_neighbors"] = min(params["n_neighbors"], len(points.data) - 1)
    return params


def estimator(method: str, params: Mapping[str, Any], points: Points, seed: int) -> Any:
    """Return the estimator with these parameters and no others."""
    from ekss import estimators

    make = getattr(estimators, ESTIMATORS[method])
    return make(points.n_clusters, random_state=seed, n_jobs=1, **params)


def _search(
    method: str, params: Mapping[str, Any], points: Points, seed: int
) -> NDArray[np.integer]:
    """Return the labels of the setting and the cut that are chosen without labels."""
    from ekss.estimators import LabelFreeSearch

    model = estimator(method, params, points, seed)
    search = LabelFreeSearch(model, random_state=seed, n_jobs=1)
    return search.fit(points.data).labels_


def _several_cuts(
    params: Mapping[str, Any], cuts: Mapping[str, list[Any]], points: Points, seed: int
) -> Iterator[tuple[dict[str, Any], NDArray[np.integer]]]:
    """Run the members once and cut their votes in every way asked for."""
    n_clusters, n_samples = points.n_clusters, len(points.data)
    top_qs = {q: min(q, n_samples - 1) for q in cuts["n_neighbors"]}
    counts = {
        share: min(ceil(n_clusters * share), n_samples)
        for share in cuts["eigenvectors"]
    }
    first = {
        "divide_by_size": cuts["divide_by_size"][0],
        "n_neighbors": min(top_qs.values()),
        "n_eigenvectors": min(counts.values()),
    }
    model = estimator("ekss", {**params, **first}, points, seed).fit(points.data)
    known = {tuple(first.values()): model.labels_}
    for divide in cuts["divide_by_size"]:
        cutter = _Cutter(model, divide, max(top_qs.values()))
        for (q, n_neighbors), (share, count) in product(top_qs.items(), counts.items()):
            key = (divide, n_neighbors, count)
            if key not in known:
                known[key] = cutter.labels(n_neighbors, count)
            cut = {"n_neighbors": q, "n_eigenvectors": _times_k(share)}
            yield {**cut, "divide_by_size": divide}, known[key]


class _Cutter:
    """The votes of fitted members, ready to be cut at several q."""

    def __init__(self, model: Any, divide: bool, largest_q: int) -> None:
        from sklearn.utils import check_random_state

        from ekss.estimators._base import LARGEST_SEED
        from ekss.graph import nearest_by_votes, prepare_votes

        weights = model.member_weights_ if model.weighting == "cost" else None
        self.votes = prepare_votes(model.member_labels_, weights, divide_by_size=divide)
        self.neighbours = nearest_by_votes(self.votes, largest_q)
        self.n_clusters = model.n_clusters
        # As a fit draws it, so that every cut is the one that a fit would make.
        draws = check_random_state(model.random_state)
        self.seed = int(draws.randint(LARGEST_SEED))

    def labels(self, n_neighbors: int, n_eigenvectors: int) -> NDArray[np.int64]:
        from ekss.graph import bridge_by_votes, spectral_labels, symmetric_graph

        return spectral_labels(
            symmetric_graph(self.neighbours, n_neighbors),
            self.n_clusters,
            n_eigenvectors=n_eigenvectors,
            bridge=bridge_by_votes(self.votes, n_neighbors),
            random_state=self.seed,
        ).labels
