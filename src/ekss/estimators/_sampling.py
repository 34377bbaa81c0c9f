"""How many rows are enough: for a graph, for a member, for a whole fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.estimators._checks import check_choice, check_int, is_auto

GRAPHS = ("auto", "exact", "approximate", "sample")
# Rows of a sample, and rows to which a member is fitted: at least so many, and so many
# for each cluster.
_FEWEST_SAMPLED = 10_000
_SAMPLED_PER_CLUSTER = 100
# Up to so many points many cuts of the whole graph are affordable, and up to so many
# all pairs are.
_MOST_FOR_CUTS = 20_000
_MOST_FOR_PAIRS = 50_000


def resolve_graph(graph: Any, n_samples: int, *, in_memory: bool, one_cut: bool) -> str:
    """Return "exact", "approximate" or "sample".

    Parameters
    ----------
    graph : str
        One of these, or "auto".
    n_samples : int
    in_memory : bool
        Whether the rows are; if not, a sample of many is better than all.
    one_cut : bool
        Whether the graph is cut once, as in the paper, or in many ways.
    """
    graph = check_choice("graph", graph, GRAPHS)
    if graph != "auto":
        return graph
    if n_samples <= _MOST_FOR_CUTS:
        return "exact"
    if not (in_memory and one_cut):
        return "sample"
    return "exact" if n_samples <= _MOST_FOR_PAIRS else "approximate"


def enough_rows(n_clusters: Any) -> int:
    """Return how many rows show so many clusters; "auto" stands for few."""
    if isinstance(n_clusters, str):
        return _FEWEST_SAMPLED
    return max(_FEWEST_SAMPLED, _SAMPLED_PER_CLUSTER * int(n_clusters))


def draw_sample(
    n_samples: int, size: int | None, seed: int
) -> NDArray[np.int64] | None:
    """Draw rows, ascending; None where that would be all of them."""
    if size is None or size >= n_samples:
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    return np.sort(rng.choice(n_samples, size, replace=False))


def resolve_max_samples(
    max_samples: Any, n_samples: int, n_clusters: Any
) -> int | None:
    """Return the number of rows that members are fitted to; None is all."""
    if max_samples is None:
        return None
    if is_auto("max_samples", max_samples, "an integer, or None"):
        max_samples = enough_rows(n_clusters)
    least = 2 if isinstance(n_clusters, str) else int(n_clusters)
    wanted = check_int("max_samples", max_samples, least, also=', None or "auto"')
    return wanted if wanted < n_samples else None
