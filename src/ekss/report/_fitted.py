"""Fitted estimators: what a report reads of one, and those of the guarantees.

This is the only module of the report that knows attributes of estimators.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ekss.core.linalg import Flats
from ekss.core.tsc import nearest_by_angle
from ekss.ensemble.whiten import WHITENING
from ekss.estimators import TSC, PaperEKSS
from ekss.graph import nearest_by_votes, prepare_votes
from ekss.metrics import clustering_error
from ekss.report._figures import Floats, Ints
from ekss.runtime.rows import as_rows
from ekss.theory import Assessment, Case, Outcome, assess

_LONGEST_VALUE = 60  # characters of a parameter's value that are shown
# How origins of finalists end whose labels were spread (ekss.ensemble.express).
_SPREAD = "spread along the expressions"
# Graphs in more words than their names, and what compares their cuts with the votes'.
_GRAPHS = {
    "expressions": "expressions of points by each other",
    "whitened votes": "votes on whitened points",
}
_JUDGES = {
    "expressions": "points, votes and expressions",
    "whitened votes": "points and votes, as they are and whitened",
}


@dataclass(frozen=True)
class Inputs:
    """A fitted estimator and its points; clusters are numbered by falling size."""

    estimator: Any
    # (n_samples, n_features): the points that are in a cluster, scaled as the estimator
    # saw them
    points: Floats
    shown: Floats  # (n_samples, n_shown): what to draw of them: pixels or tracks
    codes: Ints  # (n_samples,): position of each point's cluster in ``names``
    names: tuple[int, ...]  # the estimator's cluster numbers, largest cluster first
    kept: Ints  # (n_samples,): rows of the points in the estimator's attributes
    rows: Ints  # (n_samples,): rows of the points in the caller's X
    n_left_out: int  # points in no cluster
    n_rows: int  # rows that were clustered: more than points if they are a sample
    truth: tuple[Any, ...] | None  # true label of each point
    ids: tuple[str, ...] | None  # name of each point
    # height and width, with colour channels if there are any
    image_shape: tuple[int, ...] | None
    n_frames: int | None  # frames of a track (x_1, y_1, x_2, y_2, ...)
    feature_names: tuple[str, ...] | None  # names of the columns that were used
    shown_apart: bool  # whether ``shown`` is something else than the estimator's X
    labels: Ints  # (n_rows,): the estimator's cluster number of every row, in order
    all_ids: tuple[str, ...] | None  # name of every row
    missing: float = 0.0  # share of the entries that were filled in

    @property
    def fitted(self) -> Any:
        """The estimator that made the labels; of a search, the best one."""
        return getattr(self.estimator, "best_estimator_", self.estimator)

    method = cached_property(lambda self: type(self.estimator).__name__)
    # Whether the subspaces may miss the origin.
    affine = cached_property(lambda self: bool(getattr(self.fitted, "affine_", False)))
    n_samples = cached_property(lambda self: len(self.codes))
    n_features = cached_property(lambda self: int(self.points.shape[1]))
    n_zero = cached_property(lambda self: int(np.sum(~self.points.any(axis=1))))
    n_clusters = cached_property(lambda self: len(self.names))  # those with points
    # Points of each cluster.
    sizes = cached_property(lambda self: np.bincount(self.codes))

    @property
    def n_asked(self) -> int:
        """Number of clusters that was asked for, or found by the estimator."""
        return int(getattr(self.estimator, "n_clusters_", self.n_clusters))

    @property
    def votes(self) -> NDArray[Any] | None:
        """Labels of every member, (n_samples, n_members), if it is an ensemble.

        None where members say nothing of some points, or where others were followed,
        that saw the points whitened; the graph then stands for them.
        """
        if self.graph_kept == "whitened votes":
            return None
        votes = self._of_points("member_labels_")
        return None if votes is None or votes.min() < 0 else votes

    @cached_property
    def graph(self) -> sparse.csr_array | None:
        """Affinity of the points, if the estimator has one."""
        affinity = getattr(self.estimator, "affinity_", None)
        if affinity is None:
            return None
        graph = sparse.csr_array(affinity)
        return graph[self.kept][:, self.kept] if self.n_left_out else graph

    @property
    def embedding(self) -> Floats | None:
        """Spectral coordinates of the points, if the estimator has them."""
        embedding = self._of_points("embedding_")
        return None if embedding is None or not embedding.shape[1] else embedding

    @property
    def eigenvalues(self) -> Floats | None:
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
        preparation, scale = getattr(self.estimator, "preparation_", None), 1.0
        if preparation is not None:
            flats, scale = preparation.inwards(flats), preparation.scale
        offsets = flats.offsets
        if offsets is not None:
            offsets = (offsets * scale)[order].astype(dtype, copy=False)
        return Flats(flats.bases[order].astype(dtype, copy=False), offsets)

    @cached_property
    def counts(self) -> tuple[tuple[int, float], ...]:
        """The numbers of clusters that were considered, by score, lowest first."""
        found = getattr(self.fitted, "counts_", ())
        pairs = [(int(c.n_clusters), float(c.score)) for c in found]
        return tuple(sorted((p for p in pairs if isfinite(p[1])), key=lambda p: p[1]))

    @property
    def n_members(self) -> int | None:
        """How many members voted, if it is an ensemble."""
        return getattr(self.fitted, "n_members_", None)

    @property
    def halves(self) -> float | None:
        """Share of points that two halves of the members put alike, last measured."""
        agreed = getattr(self.fitted, "agreement_", None)
        return None if agreed is None or self.n_members is None else float(agreed)

    @property
    def parameters(self) -> list[tuple[str, str, bool]]:
        """Name and value of every parameter, and whether it is not the default."""
        signature = inspect.signature(type(self.estimator).__init__).parameters
        found = []
        for name, value in self.estimator.get_params(deep=False).items():
            default = signature[name].default if name in signature else None
            same = type(value) is type(default) and value == default
            found.append((name, _shown(value), not (value is default or same)))
        return found

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What the estimator chose by itself; numbers that were given are left out."""
        names = ["subspace_dim_", "affine_", "n_neighbors_", "n_iter_"]
        if self.n_members is not None and isinstance(self.fitted.n_members, str):
            names.insert(0, "n_members_")
        if self.counts:
            names.insert(0, "n_clusters_")
        found = [
            (name.rstrip("_"), _shown(getattr(self.estimator, name)))
            for name in names
            # No number of neighbours is chosen where the graph is one of expressions.
            if getattr(self.estimator, name, None) is not None
        ]
        if getattr(self.estimator, "whitenings_", ()):
            found.append(("whiten", _shown(self.estimator.n_directions_)))
            found.append(("features", _shown(self.estimator.features_)))
        return found

    @property
    def seen(self) -> str:
        """How members saw the points, and why: in words, empty where as they are."""
        tried = getattr(self.estimator, "whitenings_", ())
        if not tried:
            return ""
        best = tried[0]
        numbers = sorted({one.n_directions for one in tried})
        words = f"whitened in {best.n_directions} directions"
        if len(numbers) > 1:
            words += f", of {numbers[0]} to {numbers[-1]} that were tried"
        names = {"rows": "pixels", "scattering": "scattering features"}
        others = [one for one in tried if one.features != best.features]
        if others:
            words = (
                f"{names[best.features]}, {words}; score {best.score:.2f}, that of "
                f"{names[others[0].features]} {others[0].score:.2f}; lower is better, "
                f"and features must be better by {WHITENING.equal}"
            )
        return words

    @property
    def graph_kept(self) -> str:
        """Which graph was kept, as finalists call it; empty where there was one."""
        finalists: tuple[Any, ...] = getattr(self.estimator, "finalists_", ())
        return finalists[0].graph if finalists else ""

    @property
    def of_expressions(self) -> bool:
        """Whether the graph is one of points that express each other, not of votes."""
        return self.graph_kept == "expressions"

    @property
    def second_opinion(self) -> str:
        """Which graph was kept, and why: in words, empty where there was one kind."""
        finalists: tuple[Any, ...] = getattr(self.estimator, "finalists_", ())
        moved = [one for one in finalists if one.origin.endswith(_SPREAD)]
        named = {one.graph: one for one in finalists if one not in moved}
        if len(named) < 2:
            return ""
        kept = finalists[0].graph
        (other,) = named.keys() - {kept}
        scores = {graph: f"{one.score:.2f}" for graph, one in named.items()}
        words = f"that of the {_GRAPHS.get(kept, kept)}"
        if np.array_equal(named[kept].labels, named[other].labels):
            words += f", because the best cut of the {other} is the same"
        elif scores[kept] == scores[other]:
            words += (
                f": its best cut scores {scores[kept]}, as that of the {other} does"
            )
        else:
            (second,) = named.keys() - {"votes"}
            words += (
                f", because its best cut scores {scores[kept]}, that of the {other} "
                f"{scores[other]}, judged by {_JUDGES[second]}; lower is better"
            )
        if moved and finalists[0] is moved[0]:
            words += (
                "; the labels then spread along the expressions, which lowered the "
                f"score to {moved[0].score:.2f}"
            )
        return words

    @property
    def unfinished(self) -> int | None:
        """The limit max_iter if it stopped the method; members may stop early."""
        limit = self.estimator.get_params(deep=False).get("max_iter")
        if limit is None or hasattr(self.estimator, "member_labels_"):
            return None
        converged = getattr(self.estimator, "converged_", None)
        if converged is None:
            stopped = getattr(self.estimator, "n_iter_", 0) >= limit > 0
        else:
            stopped = not np.all(converged)
        return int(limit) if stopped else None

    def _of_points(self, name: str) -> Any:
        """Return an attribute of the estimator for the points that are in a cluster."""
        values = getattr(self.estimator, name, None)
        return values if values is None or not self.n_left_out else values[self.kept]


def read_inputs(
    estimator: Any,
    X: ArrayLike,
    *,
    raw: ArrayLike | None = None,
    labels: Iterable[Any] | None = None,
    ids: Iterable[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    n_frames: int | None = None,
    feature_names: Iterable[str] | None = None,
) -> Inputs:
    """Check that everything belongs to the same points, and order the clusters.

    Where the estimator clustered many rows through a sample, the sample is kept.
    """
    clusters = getattr(estimator, "labels_", None)
    if clusters is None:
        raise ValueError(
            f"{type(estimator).__name__} has no labels_; call its fit(X) before the "
            "report"
        )
    n_rows, sample = len(clusters), getattr(estimator, "sample_", None)
    completion = _completion_of(estimator)
    may_miss = completion is not None
    points = _floats("X", X, n_rows, sample, may_miss=may_miss)
    shown = points
    if raw is not None:
        shown = _floats("raw", raw, n_rows, sample, may_miss=may_miss)
    missing = float(np.isnan(points).mean())
    if missing:
        points = completion(points)
        shown = points if raw is None else shown
    described = np.arange(n_rows) if sample is None else np.asarray(sample)
    every, clusters = np.asarray(clusters), np.asarray(clusters)[described]
    kept = np.flatnonzero(clusters >= 0)
    if not kept.size:
        raise ValueError(
            "labels_ puts no point into a cluster; fit the estimator again"
        )
    if len(kept) < len(clusters):
        points, shown = points[kept], shown[kept]
    # The largest cluster comes first, and of equal ones that of the lower number.
    values, code, counts = np.unique(
        clusters[kept], return_inverse=True, return_counts=True
    )
    order = np.lexsort((values, -counts))
    named = _entries("ids", ids, n_rows)
    all_ids = None if named is None else [str(name) for name in named]
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", None)
    inputs = Inputs(
        estimator,
        points,
        shown,
        np.argsort(order)[code],
        tuple(int(values[i]) for i in order),
        kept,
        described[kept],
        len(clusters) - len(kept),
        n_rows,
        _some(_entries("labels", labels, n_rows), described[kept]),
        _some(all_ids, described[kept]),
        _check_image_shape(image_shape, shown.shape[1]),
        _check_frames(n_frames, shown.shape[1]),
        None if feature_names is None else tuple(map(str, feature_names)),
        raw is not None,
        every,
        None if all_ids is None else tuple(all_ids),
        missing,
    )
    preparation = getattr(inputs.fitted, "preparation_", None)
    if preparation is None:
        return inputs
    prepared = preparation(points)
    # Distances are shown in the units of the rows.
    return replace(inputs, points=prepared * prepared.dtype.type(preparation.scale))


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

    def by_votes(q: int) -> NDArray[np.integer]:
        votes = prepare_votes(ekss0.member_labels_)
        return nearest_by_votes(votes, q, n_jobs=n_jobs).index

    def outcome(model: Any, neighbours: Callable[[int], Any]) -> Outcome:
        error = float(clustering_error(case.labels, model.labels_))
        return Outcome(model.affinity_, error, neighbours)

    return assess(
        case,
        ekss0.member_labels_,
        tsc=outcome(tsc, lambda q: nearest_by_angle(points, q)[0]),
        ekss0=outcome(ekss0, by_votes),
        progress=progress,
    )


def _shown(value: Any) -> str:
    words = getattr(value, "__name__", None) or repr(value)
    if len(words) <= _LONGEST_VALUE:
        return words
    return words[: _LONGEST_VALUE - 3] + "..."


def _completion_of(estimator: Any) -> Any:
    """Return what fills in missing entries, None where the fit had none."""
    preparation = getattr(estimator, "preparation_", None)
    return getattr(preparation, "completion", None)


def _floats(
    name: str,
    values: Any,
    n_rows: int,
    sample: Ints | None,
    *,
    may_miss: bool = False,
) -> Floats:
    """Return the matrix, or the rows of the sample, which alone are read of a file."""
    missing = "observed" if may_miss else "error"
    rows = None if sample is None else as_rows(values, missing)
    array: Any = np.asarray(values) if rows is None else rows
    if len(array.shape) != 2 or array.shape[0] != n_rows:
        raise ValueError(
            f"{name} has shape {array.shape} but the estimator was fitted on "
            f"{n_rows} points; pass the points it was fitted on, one per row"
        )
    if sample is not None:
        array = array[sample] if rows is None else rows.take(sample)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not (np.isfinite(array) | (np.isnan(array) & may_miss)).all():
        raise ValueError(f"{name} has NaN or infinite entries; remove them first")
    return array


def _entries(name: str, values: Iterable[Any] | None, n_rows: int) -> list[Any] | None:
    """Return the entries as a list; there must be one for every row."""
    if values is None:
        return None
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(given) != n_rows:
        raise ValueError(
            f"{name} has {len(given)} entries for {n_rows} points; pass one per point"
        )
    return given


def _some(values: list[Any] | None, rows: Ints) -> tuple[Any, ...] | None:
    """Return the entries of some rows."""
    return None if values is None else tuple(values[row] for row in rows)


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
