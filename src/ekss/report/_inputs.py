"""What a report is made of: a fitted estimator, its points, what is told of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ekss.core.scaling import without
from ekss.report._sample import Described


@dataclass(frozen=True)
class Inputs:
    """Checked arguments of a report, clusters numbered from 0 by falling size.

    Attributes
    ----------
    estimator : object
        A fitted estimator.
    points : ndarray of shape (n_samples, n_features)
        The points that are in a cluster, scaled as the estimator saw them.
    shown : ndarray of shape (n_samples, n_shown)
        What to draw of them: pixels or tracks.
    codes : ndarray of shape (n_samples,)
        Position of each point's cluster in ``names``.
    names : tuple of int
        The estimator's own cluster numbers, the largest cluster first.
    kept : ndarray of shape (n_samples,)
        Rows of the caller's points; those in no cluster are left out.
    n_left_out : int
        Points in no cluster.
    truth : tuple or None
        True label of each point.
    ids : tuple of str or None
        Name of each point.
    image_shape : tuple of int or None
        Height and width, with colour channels if there are any.
    n_frames : int or None
        Frames of a track (x_1, y_1, x_2, y_2, ...).
    affine : bool
        Whether the subspaces may miss the origin.
    n_rows : int
        Rows that the estimator clustered: more than points if they are a sample.
    """

    estimator: Any
    points: NDArray[np.floating]
    shown: NDArray[np.floating]
    codes: NDArray[np.int64]
    names: tuple[int, ...]
    kept: NDArray[np.int64]
    n_left_out: int
    truth: tuple[Any, ...] | None
    ids: tuple[str, ...] | None
    image_shape: tuple[int, ...] | None
    n_frames: int | None
    affine: bool
    n_rows: int

    @property
    def fitted(self) -> Any:
        """The estimator that made the labels; of a search, the best one."""
        return getattr(self.estimator, "best_estimator_", self.estimator)

    @property
    def n_clusters(self) -> int:
        """Number of clusters with points."""
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Points of each cluster."""
        return np.bincount(self.codes, minlength=len(self.names))

    def votes(self) -> NDArray[Any] | None:
        """Labels of every member of an ensemble, (n_samples, n_members), if it is one."""
        labels = getattr(self.estimator, "member_labels_", None)
        if labels is None or not self.n_left_out:
            return labels
        return labels[self.kept]

    def graph(self) -> sparse.csr_array | None:
        """Affinity of the points, if the estimator has one."""
        affinity = getattr(self.estimator, "affinity_", None)
        if affinity is None:
            return None
        graph = sparse.csr_array(affinity)
        return graph[self.kept][:, self.kept] if self.n_left_out else graph

    def embedding(self) -> NDArray[np.floating] | None:
        """Spectral coordinates of the points, if the estimator has them."""
        embedding = getattr(self.estimator, "embedding_", None)
        if embedding is None or not embedding.shape[1]:
            return None
        return embedding[self.kept]


def check_inputs(
    described: Described,
    *,
    image_shape: tuple[int, ...] | None,
    n_frames: int | None,
) -> Inputs:
    """Check that everything belongs to the same points, and order the clusters."""
    estimator, raw = described.estimator, described.raw
    found = getattr(estimator, "labels_", None)
    if found is None:
        raise ValueError(
            f"{type(estimator).__name__} has no labels_; call its fit(X) before the "
            "report"
        )
    clusters = np.asarray(found)
    points = _floats("X", described.points, len(clusters))
    shown = points if raw is None else _floats("raw", raw, len(clusters))
    kept = np.flatnonzero(clusters >= 0)
    if not kept.size:
        raise ValueError("labels_ puts no point into a cluster; fit the estimator anew")
    if len(kept) < len(clusters):
        points, shown = points[kept], shown[kept]
    codes, names = _by_size(clusters[kept])
    inner = getattr(estimator, "best_estimator_", estimator)
    affine = bool(getattr(inner, "affine_", False))
    return Inputs(
        estimator,
        _scaled(estimator, points, affine),
        shown,
        codes,
        names,
        kept,
        len(clusters) - len(kept),
        _one_each("labels", described.labels, len(clusters), kept),
        _one_each("ids", described.ids, len(clusters), kept, as_text=True),
        _check_image_shape(image_shape, shown.shape[1]),
        _check_frames(n_frames, shown.shape[1]),
        affine,
        described.n_rows,
    )


def _floats(name: str, values: ArrayLike, n_samples: int) -> NDArray[np.floating]:
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or len(array) != n_samples:
        raise ValueError(
            f"{name} has shape {array.shape} but the estimator was fitted on "
            f"{n_samples} points; pass the points it was fitted on, one a row"
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


def _scaled(
    estimator: Any, points: NDArray[np.floating], affine: bool
) -> NDArray[np.floating]:
    """Scale points as the estimators do: by default to unit length, if not affine.

    Directions that the estimator has taken out of the points are taken out here too.
    """
    inner = getattr(estimator, "best_estimator_", estimator)
    normalize = getattr(inner, "normalize", False)
    wanted = not affine if isinstance(normalize, str) else bool(normalize)
    exact = points.astype(np.float64, copy=False) if affine else points
    return without(exact, getattr(inner, "removed_", None), unit=wanted)


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
            f"{name} has {len(given)} entries for {n_samples} points; pass one a point"
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
