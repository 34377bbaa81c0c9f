"""Choose the setting of a method, and the cut of its graph, without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state

from ekss.core.parallel import map_numbers, one_blas_thread
from ekss.core.scaling import unit_rows
from ekss.estimators._affinity import bridge_by_angle
from ekss.estimators._auto import resolve_geometry
from ekss.estimators._base import LARGEST_SEED, power_of_two, validated
from ekss.estimators._checks import (
    check_int,
    check_int_range,
    check_workers,
    is_auto,
)
from ekss.estimators._coordinates import leading_coordinates
from ekss.estimators._cutting import distinct_cuts, gather_evidence, judge_cut
from ekss.estimators._fitting import all_or_nothing
from ekss.estimators._search_score import mean_graph, score_by_weakest
from ekss.estimators._search_settings import Grid, Setting, settings_to_try
from ekss.graph.cuts import CUTTERS, Cut, Cutter, candidate_cuts
from ekss.graph.selection import Score
from ekss.graph.spectral import number_by_appearance


@dataclass(frozen=True)
class SearchCandidate:
    """A cut that was considered: the setting of its graph, how it was made, its score.

    Attributes
    ----------
    params : dict
        The setting, as in ``param_grid``.
    origin : str
        How the graph was cut; "own cut" is the estimator's.
    score : float
        Lower is better.
    """

    params: Setting
    origin: str
    score: float


class LabelFreeSearch(MetaEstimatorMixin, ClusterMixin, BaseEstimator):
    """Choose the setting of a clustering method without labels.

    In the manner of scikit-learn's ``GridSearchCV``, but nothing is held out and no
    labels are asked: the estimator is fitted with every setting of a grid, each graph
    is cut in several ways, and of all cuts the one is kept that has the lowest
    product of

    - residual: distance of points to the subspace of their cluster,
    - overlap^2: how near they are to the subspace of another cluster,
    - dissent^2: how much of the edges of its weakest clusters lead to another, in
      the mean of the graphs of all settings.

    Parameters
    ----------
    estimator : estimator
        A method that cuts a graph: it has the parameter ``n_clusters`` and, after
        ``fit``, the attributes ``affinity_`` and ``labels_``, as TSC, SSC, SSCOMP,
        EnSC and EKSS do. It is cloned, never changed.
    param_grid : dict, list of dict or None, default=None
        Settings to try, as in ``GridSearchCV``; ``{}`` is the one setting of the
        estimator as it is, of which only the cut is chosen. None tries the estimator's
        own setting and, of TSC, ``top_q`` 3 to 20, of SSCOMP ``n_nonzero`` 2 to 10, of
        EnSC ``gamma`` 1.5 to 25, of SSC ``alpha`` 3 to 50.
    cutters : sequence of callables, default=None
        Ways of cutting beside the estimator's own; None is
        :data:`ekss.graph.CUTTERS`, an empty sequence leaves the estimator's own cuts.
        See :func:`ekss.graph.candidate_cuts` for adding one.
    cut_score : callable, default=None
        ``cut_score(labels, evidence)``, lower is better; ``evidence.graph`` is the
        mean graph. None is the product above.
    subspace_dim : "auto", int or (int, int), default="auto"
        Dimension, or range of dimensions, of the subspaces by which cuts are judged.
        "auto" estimates a range from the neighbourhoods of points.
    n_jobs : int, default=None
        Parallel workers over settings and cuts, as in joblib. Labels do not depend
        on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the cuts, and of an estimator whose own ``random_state`` is None; the
        same int gives the same labels.
    verbose : int, default=0
        Show progress bars with time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point, by the best cut.
    best_params_ : dict
        The setting whose graph was cut best.
    best_estimator_ : estimator
        The estimator fitted with it. Its own ``labels_`` may be another cut.
    best_score_ : float
        Score of the best cut.
    candidates_ : tuple of SearchCandidate
        Every cut that was considered, best first, with its ``params``, ``origin`` and
        ``score``.
    affinity_ : sparse array or ndarray of shape (n_samples, n_samples)
        Graph of the best setting.
    embedding_, eigenvalues_ : ndarray
        The best estimator's spectral embedding and eigenvalues, where it has them.
    n_clusters_ : int
        Number of clusters.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    The time is that of fitting every setting, of one more eigenproblem for each, and of
    O(n_samples n_clusters n_features subspace_dim) for each of about 12 cuts a setting.
    All fitted estimators are kept until the choice is made.

    Cuts are judged in the coordinates of the first setting: unit rows where it
    normalises, affine subspaces where it uses them.

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

    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit every setting, cut every graph, keep the cut of lowest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one a row.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : LabelFreeSearch
        """
        points = validated(self, X, reset=True)
        check_workers(self.n_jobs, self.verbose)
        n_clusters = _clusters_wanted(self.estimator, len(points))
        settings = settings_to_try(self.estimator, self.param_grid, len(points))
        if not is_auto("subspace_dim", self.subspace_dim, "an integer, or a pair"):
            check_int_range(
                "subspace_dim",
                self.subspace_dim,
                1,
                points.shape[1],
                limit="n_features",
            )
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        with one_blas_thread():
            fit = partial(_fit_setting, self.estimator, settings, points, seed)
            models = self._map(fit, len(settings), "settings")
            points = _scaled_as_by(models[0], points)
            cut = partial(_cut, models, points, n_clusters, self._cutters(), seed)
            pools = self._map(cut, len(settings), "cuts")
            found = _distinct(pools, n_clusters)
            totals = self._judge(found, models, points, n_clusters, seed)
        order = np.argsort(totals, kind="stable")
        self.candidates_ = tuple(
            SearchCandidate(settings[found[i][0]], found[i][1].origin, totals[i])
            for i in order
        )
        number, best = found[order[0]]
        self.labels_ = best.labels
        self.n_clusters_ = n_clusters
        return self._store(models[number])

    def _store(self, model: Any) -> Self:
        self.best_params_ = self.candidates_[0].params
        self.best_score_ = self.candidates_[0].score
        self.best_estimator_ = model
        for name in ("affinity_", "embedding_", "eigenvalues_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def _cutters(self) -> Sequence[Cutter]:
        return CUTTERS if self.cutters is None else self.cutters

    def _judge(
        self,
        found: Sequence[tuple[int, Cut]],
        models: Sequence[Any],
        points: NDArray[np.floating],
        n_clusters: int,
        seed: int,
    ) -> list[float]:
        """Score every cut; where there is nothing to choose, none is looked at."""
        if len(found) == 1:
            return [0.0]
        affine = _is_affine(models[0])
        if affine:
            points = _centred(points)
        geometry = resolve_geometry(
            self.subspace_dim, points, n_clusters, seed, affine=affine
        )
        kept = leading_coordinates(points, n_clusters, geometry.span)
        evidence = replace(
            gather_evidence(kept, geometry, None),
            graph=mean_graph(model.affinity_ for model in models),
        )
        score = score_by_weakest if self.cut_score is None else self.cut_score
        labels = [cut.labels for _, cut in found]
        judge = partial(judge_cut, labels, evidence, score)
        return self._map(judge, len(found), "choice")

    def _map(self, function: Any, count: int, description: str) -> list[Any]:
        return list(
            map_numbers(
                function,
                count,
                n_jobs=self.n_jobs,
                description=description,
                show=self.verbose > 0,
            )
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


def _scaled_as_by(model: Any, points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Scale points to unit length where a fitted method does."""
    wanted = getattr(model, "normalize", "auto")
    if wanted == "auto":
        wanted = not _is_affine(model)
    return np.ascontiguousarray(unit_rows(points)) if wanted else points


def _centred(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Centre points for affine subspaces, in the precision that this takes."""
    wide = points.astype(np.float64)
    wide -= wide.mean(axis=0)
    return wide / power_of_two(float(np.abs(wide).max()))


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
