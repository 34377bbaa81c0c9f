"""Choose the setting of a method, and the cut of its graph, without labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid

from ekss.ensemble.choose import (
    CutScore,
    Evidence,
    Score,
    fit_quality,
    judge_all,
    total_of,
)
from ekss.ensemble.cut import CUTTERS, Cut, Cutter, candidate_cuts, distinct_cuts
from ekss.ensemble.decide import Geometry, estimate_geometry
from ekss.ensemble.prepare import leading_coordinates, prepare
from ekss.estimators._affinity import bridge_by_angle
from ekss.estimators._base import (
    as_part,
    check_function,
    check_functions,
    check_int,
    check_int_range,
    check_workers,
    checked_rows,
    is_auto,
    seed_of,
    store,
    warn_of_doubts,
)
from ekss.estimators._ensc import EnSC
from ekss.estimators._gsc import GSC
from ekss.estimators._low_rank import LRR, LRSC, LSR
from ekss.estimators._slbf import SLBF
from ekss.estimators._ssc import SSC
from ekss.estimators._sscomp import SSCOMP
from ekss.estimators._tsc import TSC
from ekss.graph.spectral import as_graph, number_by_appearance
from ekss.graph.votes import cluster_silhouettes, edge_shares
from ekss.runtime.workers import Workers, one_blas_thread

Setting = dict[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

# The one parameter of each method that its graph depends on most, and values that
# span what is in use; the estimator's own value is tried too.
DEFAULT_GRIDS: dict[type[BaseEstimator], tuple[str, tuple[float, ...]]] = {
    TSC: ("n_neighbors", (3, 4, 6, 10, 20)),
    SSCOMP: ("n_nonzero", (2, 3, 5, 10)),
    EnSC: ("gamma", (1.5, 3.0, 6.0, 12.0, 25.0)),
    SSC: ("alpha", (3.0, 8.0, 20.0, 50.0)),
    GSC: ("n_neighbors", (3, 5, 10, 20)),
    SLBF: ("n_neighbors", (3, 5, 10, 20)),
    LSR: ("alpha", (0.01, 0.03, 0.1, 0.3)),
    LRSC: ("alpha", (0.003, 0.01, 0.03, 0.1)),
    LRR: ("alpha", (0.3, 1.0, 3.0)),
}


# Silhouettes of subspaces and of edges are both measured from here.
_FROM = 2.0
# Share of the clusters, those that hang together least, that decide on dissent.
_WEAKEST = 0.25


@dataclass(frozen=True)
class SearchCandidate:
    """A cut that was considered: the setting of its graph, how it was made, its score.

    Attributes
    ----------
    params : dict
        The setting, as in ``param_grid``.
    origin : str
        How the graph was cut; "own cut" is the estimator's own cut.
    score : float
        Lower is better.
    """

    params: Setting
    origin: str
    score: float


class LabelFreeSearch(MetaEstimatorMixin, ClusterMixin, BaseEstimator):
    """Choose the setting of a clustering method without labels.

    It works like scikit-learn's ``GridSearchCV``, but nothing is held out and no labels
    are needed. The estimator is fitted with every setting of a grid, and each graph is
    cut in several ways. Of all cuts, the one with the lowest product of these three
    factors is kept:

    - residual: distance of points to the subspace of their cluster,
    - overlap^2: how near points are to the subspace of another cluster,
    - dissent^2: what share of the edges of the weakest clusters leads to another
      cluster, in the mean of the graphs of all settings.

    Parameters
    ----------
    estimator : estimator
        A method that cuts a graph: it has the parameter ``n_clusters`` and, after
        ``fit``, the attributes ``affinity_`` and ``labels_``, as TSC, SSC, SSCOMP,
        EnSC and EKSS do. It is cloned, never changed.
    param_grid : dict, list of dict or None, default=None
        Settings to try, as in ``GridSearchCV``. ``{}`` uses only the estimator's own
        setting, so that only the cut is chosen. None tries the estimator's own setting
        and, in addition, ``n_neighbors`` 3 to 20 for TSC, GSC and SLBF, ``n_nonzero`` 2
        to 10 for SSCOMP, ``gamma`` 1.5 to 25 for EnSC, and ``alpha`` 3 to 50 for SSC,
        0.01 to 0.3 for LSR, 0.003 to 0.1 for LRSC and 0.3 to 3 for LRR.
    cutters : sequence of callables, default=None
        Ways of cutting in addition to the estimator's own. None means
        :data:`ekss.ensemble.CUTTERS`, and an empty sequence leaves only the estimator's
        own cuts. See :func:`ekss.ensemble.candidate_cuts` for how to add one.
    cut_score : callable, default=None
        ``cut_score(labels, evidence)``; lower is better. ``evidence.graph`` is the mean
        graph. None means the product above.
    subspace_dim : "auto", int or (int, int), default="auto"
        Dimension, or range of dimensions, of the subspaces by which cuts are judged.
        "auto" estimates a range from the neighbourhoods of points.
    n_jobs : int, default=None
        Number of parallel workers for settings and cuts, as in joblib. The labels do
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the cuts, and of an estimator whose own ``random_state`` is None. The
        same int gives the same labels.
    verbose : int, default=0
        Show progress bars with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point in the best cut.
    best_params_ : dict
        The setting whose graph gave the best cut.
    best_estimator_ : estimator
        The estimator fitted with that setting. Its own ``labels_`` may be a different
        cut.
    best_score_ : float
        Score of the best cut.
    candidates_ : tuple of SearchCandidate
        Every cut that was considered, best first, with its ``params``, ``origin`` and
        ``score``.
    affinity_ : sparse array or ndarray of shape (n_samples, n_samples)
        Graph of the best setting.
    embedding_, eigenvalues_ : ndarray
        The best estimator's spectral embedding and eigenvalues, if it has them.
    n_clusters_ : int
        Number of clusters.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    EKSS : Chooses its own settings.

    Notes
    -----
    The time is that of fitting every setting, of one more eigenproblem for each, and of
    O(n_samples n_clusters n_features subspace_dim) for each of about 12 cuts per
    setting. All fitted estimators are kept until the choice is made.

    Cuts are judged in the coordinates of the first setting: with unit rows if it
    normalises, and with affine subspaces if it uses them.

    Examples
    --------
    >>> from ekss import TSC, LabelFreeSearch
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> search = LabelFreeSearch(TSC(n_clusters=3), random_state=0).fit(data.data)
    >>> clustering_error(data.target, search.labels_)
    0.0
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Grid | None = None,
        *,
        cutters: Sequence[Cutter] | None = None,
        cut_score: Score | None = None,
        subspace_dim: str | int | tuple[int, int] = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cutters = cutters
        self.cut_score = cut_score
        self.subspace_dim = subspace_dim
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit every setting, cut every graph, keep the cut of lowest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one per row.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : LabelFreeSearch
            The fitted estimator.
        """
        workers = check_workers(self.n_jobs, self.verbose)
        rows, names = checked_rows(self, X)
        n_clusters = _clusters_wanted(self.estimator, len(rows))
        settings = settings_to_try(self.estimator, self.param_grid, len(rows))
        dims = None
        if not is_auto("subspace_dim", self.subspace_dim, "an integer, or a pair"):
            dims = check_int_range(
                "subspace_dim", self.subspace_dim, 1, rows.shape[1], limit="n_features"
            )
        check_functions("cutters", self.cutters)
        check_function("cut_score", self.cut_score)
        cutters = CUTTERS if self.cutters is None else self.cutters
        score = score_by_weakest if self.cut_score is None else self.cut_score
        seed = seed_of(self.random_state)
        with one_blas_thread():
            fit = partial(_fit_setting, self.estimator, settings, rows, seed)
            models = list(workers.map(fit, len(settings), "settings"))
            points = _seen_by(models[0], rows)
            cut = partial(_cut, models, points, n_clusters, cutters, seed)
            pools = list(workers.map(cut, len(settings), "cuts"))
            found = _distinct(pools, n_clusters)
            totals = [0.0]
            if len(found) > 1:
                evidence = _evidence(models, points, n_clusters, dims, seed)
                totals = _totals(found, evidence, score, workers)
        order = np.argsort(totals, kind="stable")
        candidates = tuple(
            SearchCandidate(settings[found[i][0]], found[i][1].origin, totals[i])
            for i in order
        )
        number, best = found[order[0]]
        model = models[number]
        affine = _is_affine(model)
        warn_of_doubts(rows, best.labels, n_clusters, dim=None, affine=affine)
        shared = ("affinity_", "embedding_", "eigenvalues_", "preparation_", "affine_")
        return store(
            self,
            **names,
            **{name: getattr(model, name) for name in shared if hasattr(model, name)},
            labels_=best.labels,
            n_clusters_=n_clusters,
            candidates_=candidates,
            best_params_=candidates[0].params,
            best_score_=candidates[0].score,
            best_estimator_=model,
        )


def _clusters_wanted(estimator: Any, n_samples: int) -> int:
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        raise TypeError(
            f"estimator={estimator!r} is no estimator; pass one such as TSC(10)"
        )
    name = type(estimator).__name__
    params = estimator.get_params()
    if "n_clusters" not in params:
        raise TypeError(
            f"{name} has no n_clusters; pass a method that cuts a graph, such as "
            "TSC, SSC, SSCOMP or EnSC"
        )
    return check_int(
        "n_clusters", params["n_clusters"], 1, n_samples, limit="n_samples"
    )


def _fit_setting(
    estimator: BaseEstimator,
    settings: Sequence[Setting],
    points: NDArray[np.floating],
    seed: int,
    number: int,
) -> Any:
    """Fit a copy of the estimator; a function of the module for other processes."""
    model: Any = clone(estimator).set_params(**settings[number])
    if model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    with as_part():
        model.fit(points)
    for attribute in ("affinity_", "labels_"):
        if not hasattr(model, attribute):
            raise TypeError(
                f"{type(model).__name__} has no {attribute}; pass a method that cuts a "
                "graph, such as TSC, SSC, SSCOMP or EnSC"
            )
    return model


def _is_affine(model: Any) -> bool:
    """Tell whether a fitted method lets subspaces miss the origin."""
    return bool(getattr(model, "affine_", getattr(model, "affine", False)))


def _seen_by(model: Any, rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the rows as a fitted method saw them."""
    if hasattr(model, "preparation_"):
        return model.preparation_(rows)
    return prepare(rows, unit=not _is_affine(model), affine=False).rows


def _evidence(
    models: Sequence[Any],
    points: NDArray[np.floating],
    n_clusters: int,
    dims: tuple[int, int] | None,
    seed: int,
) -> Evidence:
    """Bring together what cuts are judged by: subspaces, and the mean graph."""
    affine = _is_affine(models[0])
    points = prepare(points, unit=False, affine=affine).rows if affine else points
    if dims is None:
        rng = np.random.default_rng(seed)
        geometry = estimate_geometry(points, n_clusters, rng, affine=affine)
    else:
        geometry = Geometry(affine, *dims, given=True)
    seen = leading_coordinates(points, n_clusters, geometry.span)
    graph = mean_graph(model.affinity_ for model in models)
    return Evidence(seen.points, geometry.judged, affine, seen.outside, graph=graph)


def _totals(
    found: Sequence[tuple[int, Cut]],
    evidence: Evidence,
    score: Score,
    workers: Workers,
) -> list[float]:
    labels = [cut.labels for _, cut in found]
    return [total_of(one) for one in judge_all(labels, evidence, score, workers)]


def _cut(
    models: Sequence[Any],
    points: NDArray[np.floating],
    n_clusters: int,
    cutters: Sequence[Cutter],
    seed: int,
    number: int,
) -> list[Cut]:
    """Cut the graph of one setting; the estimator's own cut is the first.

    Strays are joined to the points of smallest angle, as the methods here do.
    """
    model = models[number]
    own = Cut(number_by_appearance(model.labels_), "own cut")
    pool = candidate_cuts(
        model.affinity_,
        n_clusters,
        cutters=cutters,
        bridge=partial(bridge_by_angle, points),
        random_state=seed,
    )
    return [own, *pool.cuts]


def _distinct(pools: Sequence[Sequence[Cut]], n_clusters: int) -> list[tuple[int, Cut]]:
    """All different cuts, each with the number of the first setting that gave it.

    Where none has all clusters, the first setting's own cut is all there is.
    """
    whole = [
        [cut for cut in pool if cut.labels.max() + 1 == n_clusters] for pool in pools
    ]
    return distinct_cuts(whole) or [(0, pools[0][0])]


def score_by_weakest(labels: NDArray[np.int64], evidence: Evidence) -> CutScore:
    r"""Judge a cut by its subspaces and by its weakest clusters in a graph.

    As :func:`ekss.ensemble.score_cut`, but dissent is :math:`2 - V`, with V the mean
    silhouette of edges of the quarter of the clusters where it is lowest. Small, tight
    groups within classes are clusters that hardly any edge leaves; a mean over all
    clusters rewards a cut for splitting them off.

    Parameters
    ----------
    labels : ndarray of shape (n_points,)
        In 0, ..., K - 1, each used, K at least 2.
    evidence : Evidence
        With ``graph``.

    Returns
    -------
    CutScore

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from ekss.ensemble import Evidence
    >>> lines = np.repeat(np.eye(3)[:2], 4, axis=0)
    >>> graph = csr_array(lines @ lines.T - np.eye(8))
    >>> good, bad = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    >>> seen = Evidence(lines, dims=(1,), graph=graph)
    >>> score_by_weakest(good, seen).dissent, score_by_weakest(bad, seen).dissent
    (1.0, 2.5)
    """
    n_clusters = int(labels.max()) + 1
    residual, silhouette = fit_quality(labels, n_clusters, evidence)
    shares = edge_shares(evidence.graph, labels, n_clusters)
    n_weakest = ceil(_WEAKEST * n_clusters)
    weakest = np.sort(cluster_silhouettes(shares, labels))[:n_weakest]
    return CutScore(residual, _FROM - silhouette, _FROM - float(weakest.mean()))


def mean_graph(affinities: Iterable[Any]) -> csr_array:
    """Average graphs in which every point has the same total weight of edges.

    Parameters
    ----------
    affinities : iterable of sparse arrays or ndarrays of shape (n_points, n_points)
        Symmetric and non-negative.

    Returns
    -------
    csr_array of shape (n_points, n_points)
        Rows sum to the share of graphs in which the point has edges.
    """
    graphs = []
    for affinity in affinities:
        graph = as_graph(affinity)
        degrees = graph.sum(axis=1)
        weights = diags_array(1 / np.where(degrees > 0, degrees, 1.0))
        graphs.append(weights @ graph)
    return csr_array(sum(graphs[1:], graphs[0]) / len(graphs))


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
    if parameter == "n_neighbors":
        values = [value for value in values if value < n_samples]
    own = estimator.get_params()[parameter]
    tried = [*values] if own in values else [*values, own]
    return [{parameter: value} for value in tried]
