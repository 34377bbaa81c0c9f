"""Fitted estimators: what a report reads of one, and those of the guarantees.

This is the only module of the report that knows attributes of estimators.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ekss.core.bases import Flats
from ekss.core.tsc import nearest_by_angle
from ekss.estimators import TSC, PaperEKSS
from ekss.graph import nearest_by_votes, prepare_votes
from ekss.metrics import clustering_error
from ekss.runtime.rows import as_rows
from ekss.theory import Assessment, Case, Outcome, assess

_LONGEST_VALUE = 60  # characters of a parameter's value that are shown


@dataclass(frozen=True)
class Run:
    """What was run."""

    title: str  # heading of the page
    source: str | None  # where the points come from
    created: str  # when the report was made
    method: str  # class of the estimator
    n_samples: int  # points in clusters
    n_features: int
    feature_names: tuple[str, ...] | None  # names of the columns that were used
    n_clusters: int  # asked for, or found by the method
    n_left_out: int  # points in no cluster
    n_zero: int  # points that are zero
    # rows that were clustered; more than the points where these are a sample
    n_rows: int
    affine: bool  # whether subspaces may miss the origin
    seconds: float | None  # how long the fit took
    # name, value and whether it is not the default
    parameters: tuple[tuple[str, str, bool], ...]
    # what the estimator chose by itself: name and value
    found: tuple[tuple[str, str], ...]
    # limits on iterations that were reached: name and value
    unfinished: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Counts:
    """Numbers of clusters that were considered."""

    chosen: int  # the number that was taken
    # numbers and their scores, lowest score first; lower is better
    considered: tuple[tuple[int, float], ...]

    @property
    def lead(self) -> float | None:
        """How far the score of the second best lies above the best; None if alone."""
        if len(self.considered) < 2:
            return None
        return self.considered[1][1] - self.considered[0][1]


@dataclass(frozen=True)
class Members:
    """Members of an ensemble."""

    used: int  # how many voted
    # share of points that two halves of them put together alike, when last measured
    halves: float | None
    chosen: bool  # whether their number was left to the method


@dataclass(frozen=True)
class Inputs:
    """A fitted estimator and its points; clusters are numbered by falling size."""

    estimator: Any
    # (n_samples, n_features): the points that are in a cluster, scaled as the estimator
    # saw them
    points: NDArray[np.floating]
    # (n_samples, n_shown): what to draw of them: pixels or tracks
    shown: NDArray[np.floating]
    # (n_samples,): position of each point's cluster in ``names``
    codes: NDArray[np.int64]
    # the estimator's own cluster numbers, the largest cluster first
    names: tuple[int, ...]
    # (n_samples,): rows of the caller's points; those in no cluster are left out
    kept: NDArray[np.int64]
    n_left_out: int  # points in no cluster
    truth: tuple[Any, ...] | None  # true label of each point
    ids: tuple[str, ...] | None  # name of each point
    # height and width, with colour channels if there are any
    image_shape: tuple[int, ...] | None
    n_frames: int | None  # frames of a track (x_1, y_1, x_2, y_2, ...)
    # rows that the estimator clustered: more than points if they are a sample
    n_rows: int

    @property
    def fitted(self) -> Any:
        """The estimator that made the labels; of a search, the best one."""
        return _fitted(self.estimator)

    @property
    def affine(self) -> bool:
        """Whether the subspaces may miss the origin."""
        return _is_affine(self.estimator)

    @property
    def n_clusters(self) -> int:
        """Number of clusters with points."""
        return len(self.names)

    @property
    def n_asked(self) -> int:
        """Number of clusters that was asked for, or found by the estimator."""
        return int(getattr(self.estimator, "n_clusters_", self.n_clusters))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Points of each cluster."""
        return np.bincount(self.codes, minlength=len(self.names))

    @property
    def votes(self) -> NDArray[Any] | None:
        """Labels of every member, (n_samples, n_members), if it is an ensemble."""
        labels = getattr(self.estimator, "member_labels_", None)
        if labels is None or not self.n_left_out:
            return labels
        return labels[self.kept]

    @cached_property
    def graph(self) -> sparse.csr_array | None:
        """Affinity of the points, if the estimator has one."""
        affinity = getattr(self.estimator, "affinity_", None)
        if affinity is None:
            return None
        graph = sparse.csr_array(affinity)
        return graph[self.kept][:, self.kept] if self.n_left_out else graph

    @property
    def embedding(self) -> NDArray[np.floating] | None:
        """Spectral coordinates of the points, if the estimator has them."""
        embedding = getattr(self.estimator, "embedding_", None)
        if embedding is None or not embedding.shape[1]:
            return None
        return embedding[self.kept]

    @property
    def eigenvalues(self) -> NDArray[np.float64] | None:
        """Leading eigenvalues of the graph, if the estimator has them."""
        stored = getattr(self.estimator, "eigenvalues_", None)
        return None if stored is None else np.asarray(stored, np.float64)

    @property
    def subspaces(self) -> Flats | None:
        """Subspaces of the clusters, in the order of the report, if it has them."""
        bases = getattr(self.estimator, "bases_", None)
        if bases is None:
            return None
        order, dtype = list(self.names), self.points.dtype
        flats = Flats(bases, getattr(self.estimator, "offsets_", None))
        preparation = getattr(self.estimator, "preparation_", None)
        if preparation is not None:
            flats = preparation.inwards(flats)
        offsets = flats.offsets
        if offsets is not None and preparation is not None:
            offsets = offsets * preparation.scale
        return Flats(
            flats.bases[order].astype(dtype, copy=False),
            None if offsets is None else offsets[order].astype(dtype, copy=False),
        )

    @property
    def counts(self) -> Counts | None:
        """The numbers of clusters that were considered, if any were."""
        found = getattr(self.fitted, "counts_", ())
        considered = [(int(c.n_clusters), float(c.score)) for c in found]
        considered = [pair for pair in considered if isfinite(pair[1])]
        if not considered:
            return None
        considered.sort(key=lambda pair: pair[1])
        return Counts(int(self.fitted.n_clusters_), tuple(considered))

    @property
    def members(self) -> Members | None:
        """The number of members and the agreement of their halves, if it has any."""
        used = getattr(self.fitted, "n_members_", None)
        if used is None:
            return None
        halves = getattr(self.fitted, "agreement_", None)
        agreed = None if halves is None else float(halves)
        return Members(int(used), agreed, isinstance(self.fitted.n_members, str))


def read_inputs(
    estimator: Any,
    X: ArrayLike,
    *,
    raw: ArrayLike | None = None,
    labels: Iterable[Any] | None = None,
    ids: Iterable[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    n_frames: int | None = None,
) -> Inputs:
    """Check that everything belongs to the same points, and order the clusters.

    Where the estimator clustered many rows through a sample, the sample is kept.
    """
    found = getattr(estimator, "labels_", None)
    if found is None:
        raise ValueError(
            f"{type(estimator).__name__} has no labels_; call its fit(X) before the "
            "report"
        )
    clusters = np.asarray(found)
    n_rows = len(clusters)
    sample = getattr(estimator, "sample_", None)
    if sample is not None:
        estimator = copy(estimator)
        estimator.labels_, estimator.sample_ = clusters[sample], None
        clusters = clusters[sample]
        X = _taken("X", X, sample, n_rows)
        raw = None if raw is None else _taken("raw", raw, sample, n_rows)
        labels = None if labels is None else _chosen("labels", labels, sample, n_rows)
        ids = None if ids is None else _chosen("ids", ids, sample, n_rows)
    points = _floats("X", X, len(clusters))
    shown = points if raw is None else _floats("raw", raw, len(clusters))
    kept = np.flatnonzero(clusters >= 0)
    if not kept.size:
        raise ValueError(
            "labels_ puts no point into a cluster; fit the estimator again"
        )
    if len(kept) < len(clusters):
        points, shown = points[kept], shown[kept]
    codes, names = _by_size(clusters[kept])
    return Inputs(
        estimator,
        _as_the_fit_saw(estimator, points),
        shown,
        codes,
        names,
        kept,
        len(clusters) - len(kept),
        _one_each("labels", labels, len(clusters), kept),
        _one_each("ids", ids, len(clusters), kept, as_text=True),
        _check_image_shape(image_shape, shown.shape[1]),
        _check_frames(n_frames, shown.shape[1]),
        n_rows,
    )


def run_of(
    inputs: Inputs,
    *,
    title: str | None = None,
    source: str | None = None,
    seconds: float | None = None,
    feature_names: Iterable[str] | None = None,
) -> Run:
    """Collect what was run: data, parameters, choices made, limits reached."""
    estimator = inputs.estimator
    method = type(estimator).__name__
    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    parameters = estimator.get_params(deep=False)
    signature = inspect.signature(type(estimator).__init__).parameters
    return Run(
        title=title or f"{method}: {inputs.n_asked} clusters",
        source=source,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        method=method,
        n_samples=inputs.points.shape[0],
        n_features=inputs.points.shape[1],
        feature_names=None if names is None else tuple(str(name) for name in names),
        n_clusters=inputs.n_asked,
        n_left_out=inputs.n_left_out,
        n_zero=int(np.sum(~inputs.points.any(axis=1))),
        n_rows=inputs.n_rows,
        affine=inputs.affine,
        seconds=seconds,
        parameters=tuple(
            (name, _shown(value), not _same(value, signature.get(name)))
            for name, value in parameters.items()
        ),
        found=_choices(inputs),
        unfinished=_unfinished(estimator, parameters),
    )


def assess_methods(
    case: Case, *, n_jobs: int | None, progress: Callable[[str], None]
) -> Assessment:
    """Fit TSC, and EKSS-0 as the theorems have it, and assess their guarantees."""
    q, n_clusters, points = case.situation.q, len(case.subspaces.names), case.points
    progress("fitting TSC")
    tsc = TSC(n_clusters, n_neighbors=q, n_jobs=n_jobs, random_state=case.seed)
    tsc.fit(points)
    progress(f"fitting {case.situation.n_members:,} members of EKSS-0")
    ekss0 = PaperEKSS(
        n_clusters,
        case.candidate_dim,
        n_candidates=case.n_candidates,
        n_members=case.situation.n_members,
        max_iter=0,
        n_neighbors=q,
        n_jobs=n_jobs,
        random_state=case.seed,
    ).fit(points)

    def by_angle(q: int) -> NDArray[np.integer]:
        return nearest_by_angle(points, q)[0]

    def by_votes(q: int) -> NDArray[np.integer]:
        votes = prepare_votes(ekss0.member_labels_)
        return nearest_by_votes(votes, q, n_jobs=n_jobs).index

    def outcome(model: Any, neighbours: Callable[[int], Any]) -> Outcome:
        error = float(clustering_error(case.labels, model.labels_))
        return Outcome(model.affinity_, error, neighbours)

    return assess(
        case,
        ekss0.member_labels_,
        tsc=outcome(tsc, by_angle),
        ekss0=outcome(ekss0, by_votes),
        progress=progress,
    )


def _fitted(estimator: Any) -> Any:
    return getattr(estimator, "best_estimator_", estimator)


def _is_affine(estimator: Any) -> bool:
    return bool(getattr(_fitted(estimator), "affine_", False))


def _as_the_fit_saw(
    estimator: Any, points: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return points as the estimator saw them; as they are, if it does not tell."""
    preparation = getattr(_fitted(estimator), "preparation_", None)
    if preparation is None:
        return points
    prepared = preparation(points)
    # Distances are shown in the units of the rows.
    return prepared * prepared.dtype.type(preparation.scale)


def _choices(inputs: Inputs) -> tuple[tuple[str, str], ...]:
    """Name what the estimator chose by itself; numbers that were given are left out."""
    members, estimator = inputs.members, inputs.estimator
    names = (
        *(("n_clusters_",) if inputs.counts is not None else ()),
        *(("n_members_",) if members is not None and members.chosen else ()),
        *("subspace_dim_", "affine_", "n_neighbors_", "n_iter_"),
    )
    found = [
        (name.rstrip("_"), _shown(getattr(estimator, name)))
        for name in names
        if hasattr(estimator, name)
    ]
    if getattr(estimator, "removals_", ()):
        found.append(("remove_components", _shown(len(estimator.removed_))))
    return tuple(found)


def _unfinished(
    estimator: Any, parameters: dict[str, Any]
) -> tuple[tuple[str, int], ...]:
    """Name the limit that stopped an iteration; members of ensembles stop early."""
    limit = parameters.get("max_iter")
    if limit is None or hasattr(estimator, "member_labels_"):
        return ()
    converged = getattr(estimator, "converged_", None)
    if converged is not None:
        stopped = not bool(np.all(converged))
    else:
        stopped = getattr(estimator, "n_iter_", 0) >= limit > 0
    return (("max_iter", int(limit)),) if stopped else ()


def _same(value: Any, parameter: inspect.Parameter | None) -> bool:
    default = None if parameter is None else parameter.default
    return bool(value is default or (type(value) is type(default) and value == default))


def _shown(value: Any) -> str:
    words = getattr(value, "__name__", None) or repr(value)
    if len(words) <= _LONGEST_VALUE:
        return words
    return words[: _LONGEST_VALUE - 3] + "..."


def _floats(name: str, values: ArrayLike, n_samples: int) -> NDArray[np.floating]:
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or len(array) != n_samples:
        raise ValueError(
            f"{name} has shape {array.shape} but the estimator was fitted on "
            f"{n_samples} points; pass the points it was fitted on, one per row"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinite entries; remove them first")
    return array


def _by_size(clusters: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Give clusters numbers by falling size, ties by their own number."""
    values, code, counts = np.unique(clusters, return_inverse=True, return_counts=True)
    order = np.lexsort((values, -counts))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[code], tuple(int(values[i]) for i in order)


def _one_each(
    name: str,
    values: Iterable[Any] | None,
    n_samples: int,
    kept: NDArray[np.int64],
    *,
    as_text: bool = False,
) -> tuple[Any, ...] | None:
    if values is None:
        return None
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(given) != n_samples:
        raise ValueError(
            f"{name} has {len(given)} entries for {n_samples} points; "
            "pass one per point"
        )
    return tuple(str(given[i]) if as_text else given[i] for i in kept)


def _check_image_shape(
    shape: tuple[int, ...] | None, n_shown: int
) -> tuple[int, ...] | None:
    """Return height, width and, for colours, 3."""
    if shape is None:
        return None
    sides = tuple(int(side) for side in shape)
    if len(sides) == 2 and 3 * sides[0] * sides[1] == n_shown:
        sides = (*sides, 3)
    if int(np.prod(sides)) != n_shown or len(sides) not in (2, 3):
        raise ValueError(
            f"image_shape={tuple(shape)} does not give {n_shown} pixels; pass "
            "(height, width) of the images, and raw= if X holds other features"
        )
    return sides


def _check_frames(n_frames: int | None, n_shown: int) -> int | None:
    if n_frames is not None and 2 * n_frames != n_shown:
        raise ValueError(
            f"n_frames={n_frames} needs {2 * n_frames} columns (x, y of each frame) "
            f"but there are {n_shown}; pass n_frames={n_shown // 2}, and raw= if X "
            "holds other features"
        )
    return n_frames


def _taken(name: str, X: Any, sample: NDArray[np.int64], n_rows: int) -> NDArray[Any]:
    rows = as_rows(X)
    if rows is None:
        array = np.asarray(X)
        _check_length(name, len(array), n_rows)
        taken: NDArray[Any] = array[sample]
        return taken
    _check_length(name, rows.shape[0], n_rows)
    return rows.take(sample)


def _chosen(
    name: str, values: Iterable[Any], sample: NDArray[np.int64], n_rows: int
) -> list[Any]:
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    _check_length(name, len(given), n_rows)
    return [given[row] for row in sample]


def _check_length(name: str, found: int, n_rows: int) -> None:
    if found != n_rows:
        raise ValueError(
            f"{name} has {found} rows but the estimator was fitted on {n_rows}; pass "
            "one for each of them"
        )
