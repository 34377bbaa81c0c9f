"""One setting of one method on one set of points: all labellings that come out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import product
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._data import Points

Labelling = tuple[str, NDArray[np.integer]]


def labellings(
    setting: Mapping[str, Any], points: Points, seed: int
) -> Iterator[Labelling]:
    """Yield the name and the labels of everything that a setting tries.

    Parameters
    ----------
    setting : mapping
        ``estimator`` is "module:Class", and ``params`` go to it, see :func:`build`;
        with ``search`` LabelFreeSearch chooses; with ``trials`` the estimator runs from
        that many seeds; with ``cuts`` the votes of one EKSS are cut in several ways:
        lists ``n_neighbors``, ``eigenvectors`` (multiples of the number of clusters),
        ``divide_by_size``; its members have ``candidates`` times as many candidate
        subspaces as there are clusters, or draw between two such numbers.
    points : Points
    seed : int

    Yields
    ------
    name : str
        JSON of the parameters tried; the same for trials, which differ by seed only.
    labels : ndarray of shape (n_samples,)
    """
    name = setting_name(setting)
    if "cuts" in setting:
        for cut, labels in _several_cuts(setting, points, seed):
            yield json.dumps({**name, **cut}), labels
        return
    if setting.get("search"):
        from ekss.estimators import LabelFreeSearch

        search = LabelFreeSearch(model_of(setting, points, seed), random_state=seed)
        yield json.dumps(name), search.fit(points.data).labels_
        return
    # Trials have seeds of their own, which no other cell has.
    seeds = [seed]
    if "trials" in setting:
        seeds = [10_000 * seed + trial for trial in range(setting["trials"])]
    for one in seeds:
        model = model_of(setting, points, one)
        yield json.dumps(name), model.fit(points.data).labels_


def setting_name(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as they are told to people, the same for all points."""
    name = {"data": setting["data"], **setting["params"]}
    if "candidates" in setting:
        name |= {"n_candidates": _times_k(setting["candidates"]), **name.pop("member")}
    return name


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
    *,
    seed: int,
    n_jobs: int = 1,
) -> Any:
    """Return an estimator with these parameters and no others.

    Parameters
    ----------
    estimator : str
        Where its class is, as "module:Class".
    n_clusters : int
    params : mapping
        JSON types: lists become tuples, and mappings ``member`` and ``cut`` become
        :class:`~ekss.KSSMember` and :class:`~ekss.CutOptions`. The only cutter that
        JSON can name is "paper", k-means on K eigenvectors.
    seed, n_jobs : int
    """
    from ekss.ensemble import CutOptions, KSSMember

    given = _as_tuples(params)
    if "member" in given:
        given["member"] = KSSMember(**_as_tuples(given["member"]))
    if "cut" in given:
        options = dict(given["cut"])
        if options.get("cutters") == "paper":
            options["cutters"] = (paper_cut,)
        given["cut"] = CutOptions(**options)
    module, _, name = estimator.partition(":")
    make = getattr(import_module(module), name)
    return make(n_clusters, random_state=seed, n_jobs=n_jobs, **given)


def _as_tuples(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in params.items()
    }


def paper_cut(
    graph: Any, vectors: NDArray[np.float64], n_clusters: int, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Cut as the paper does: k-means on unit rows of K eigenvectors."""
    from ekss.graph.cuts import kmeans_cuts

    yield next(kmeans_cuts(graph, vectors, n_clusters, rng))


def _several_cuts(
    setting: Mapping[str, Any], points: Points, seed: int
) -> Iterator[tuple[dict[str, Any], NDArray[np.integer]]]:
    """Run the members once and cut their votes in every way asked for."""
    from ekss.graph import (
        bridge_by_votes,
        nearest_by_votes,
        prepare_votes,
        spectral_labels,
        symmetric_graph,
    )

    n_clusters, n_samples = points.n_clusters, len(points.data)
    cuts = setting["cuts"]
    counts = {q: min(q, n_samples - 1) for q in cuts["n_neighbors"]}
    labels, weights = votes_of_members(setting, points, seed)
    for divide in cuts["divide_by_size"]:
        votes = prepare_votes(labels, weights, divide_by_size=divide)
        nearest = nearest_by_votes(votes, max(counts.values()))
        known: dict[tuple[int, int], NDArray[np.integer]] = {}
        for q, share in product(counts, cuts["eigenvectors"]):
            place = counts[q], min(ceil(n_clusters * share), n_samples)
            if place not in known:
                known[place] = spectral_labels(
                    symmetric_graph(nearest, place[0]),
                    n_clusters,
                    n_eigenvectors=place[1],
                    bridge=bridge_by_votes(votes, place[0]),
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
    from ekss.graph.cuts import rotated_cut

    model = model_of(setting, points, seed)
    once = CutOptions(cutters=(rotated_cut,), score=_all_equal)
    model.set_params(n_neighbors=min(3, len(points.data) - 1), cut=once)
    model.fit(points.data)
    return model.member_labels_, model.member_weights_


def _all_equal(labels: NDArray[np.integer], evidence: Any) -> float:
    return 0.0
