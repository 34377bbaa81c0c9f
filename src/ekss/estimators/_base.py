"""What every estimator that ends in a set of subspaces has in common."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ekss.core.bases import Flats, distances_to_flats
from ekss.core.scaling import without
from ekss.estimators._checks import check_bool, check_int, is_auto
from ekss.rows import MemoryRows, as_rows

LARGEST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Scaling:
    """Points as a fit sees them: (row or unit row - centre) / scale.

    Attributes
    ----------
    unit : bool
        Whether rows are scaled to unit length first, and again after the removal.
    affine : bool
        Whether subspaces may miss the origin; points are then in float64.
    removed : ndarray of shape (n_removed, n_features) or None
        Orthonormal directions that are taken out of the rows; None is none.
    centre : ndarray of shape (n_features,) or None
        Subtracted for affine subspaces; None for linear ones.
    scale : float
        A power of two.
    """

    unit: bool
    affine: bool
    removed: NDArray[np.floating] | None = None
    centre: NDArray[np.float64] | None = None
    scale: float = 1.0

    def __call__(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        """Make points ready."""
        if self.affine:
            points = points.astype(np.float64, copy=False)
        points = without(points, self.removed, unit=self.unit)
        if self.centre is not None:
            points = points - self.centre
        if self.scale != 1.0:
            points = points / self.scale
        return np.ascontiguousarray(points)


@dataclass(frozen=True)
class Prepared:
    """Points ready for clustering, and how they were made so."""

    points: NDArray[np.floating]
    scaling: Scaling


class SubspaceClusterer(
    ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator
):
    """Validation, scaling, and predict / transform / score by fitted subspaces.

    Subclasses have the parameters ``n_clusters``, ``affine`` and ``normalize``, and
    their ``fit`` ends with :meth:`_store_model`.
    """

    n_clusters: Any
    affine: bool | str
    normalize: bool | str
    affine_: bool

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign each point to its nearest subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.concatenate(self._map(X, _nearest))

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the distance of each point to each cluster's subspace.

        Points are scaled as in ``fit``, so for normalised data the distance is the
        sine of the angle between point and subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return np.concatenate(self._map(X, np.asarray))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean squared distance to the nearest subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        score : float
            At most 0; higher is better for models of one dimension. A larger
            ``subspace_dim`` always scores higher, so do not choose it by this.
        """
        nearest = np.concatenate(self._map(X, _smallest)).astype(np.float64)
        return -float(np.square(nearest).mean())

    @property
    def _n_features_out(self) -> int:
        return len(self.bases_)

    def _map(self, X: ArrayLike, function: Any) -> list[NDArray[Any]]:
        """Return function(distances) of blocks of rows."""
        check_is_fitted(self)
        rows = as_rows(X)
        if rows is None or rows.in_memory:
            points = validated(self, X, reset=False, double=self.affine_)
            rows = MemoryRows(points)
        else:
            validated(self, rows.take(np.arange(1)), reset=False)
        flats = Flats(self.bases_, self.offsets_)
        # The subspaces are in the coordinates of the caller: no centre and no scale.
        removed = getattr(self, "removed_", None)
        scaling = Scaling(self._has_unit_rows, self.affine_, removed)
        return list(rows.map(_Distances(scaling, flats, function)))

    def _prepare(self, points: NDArray[np.floating], seed: int = 0) -> Prepared:
        """Scale and, for affine subspaces, centre the validated points of ``fit``.

        Affine clustering does not depend on the origin; it works in float64, because
        clusters far from each other would cancel the digits of float32.
        """
        if not isinstance(self.normalize, (bool, np.bool_)):
            is_auto("normalize", str(self.normalize), "True or False")
        self.n_clusters_ = self._resolve_n_clusters(points, seed)
        self.affine_ = affine = self._resolve_affine(points)
        removed = self._resolve_removed(points, seed)
        unit = self._has_unit_rows
        scaling = Scaling(unit, affine, removed)
        scaled = scaling(points)
        centre = None
        if affine:
            centre = scaled.mean(axis=0)
            scaled = scaled - centre
        # Squares of very large or small entries would over- or underflow; unit rows
        # have none, and what is measured on them stays comparable.
        scale = 1.0 if unit else power_of_two(float(np.abs(scaled).max()))
        ready = np.ascontiguousarray(scaled / scale)
        return Prepared(ready, replace(scaling, centre=centre, scale=scale))

    def _resolve_n_clusters(self, points: NDArray[np.floating], seed: int) -> int:
        """Return the number of clusters."""
        return check_int(
            "n_clusters", self.n_clusters, 1, len(points), limit="n_samples"
        )

    def _resolve_affine(self, points: NDArray[np.floating]) -> bool:
        """Return whether subspaces may miss the origin."""
        return check_bool("affine", self.affine)

    def _resolve_removed(
        self, points: NDArray[np.floating], seed: int
    ) -> NDArray[np.floating] | None:
        """Return the directions to take out of the points, if there are any."""
        return None

    @property
    def _has_unit_rows(self) -> bool:
        if isinstance(self.normalize, str):
            return not self.affine_
        return bool(self.normalize)

    def _store_model(
        self, flats: Flats, labels: NDArray[np.integer], scaling: Scaling
    ) -> Self:
        """Keep labels and subspaces, in the coordinates of the caller's points."""
        self.bases_ = flats.bases
        self.offsets_ = None
        if flats.offsets is not None and scaling.centre is not None:
            self.offsets_ = flats.offsets * scaling.scale + scaling.centre
        self.labels_ = labels.astype(np.int64)
        self.n_clusters_ = len(flats.bases)
        self.subspace_dim_ = flats.bases.shape[2]
        return self


@dataclass(frozen=True)
class _Distances:
    """A function of the distances of rows to subspaces, for any worker."""

    scaling: Scaling
    flats: Flats
    function: Any

    def __call__(self, block: NDArray[np.floating], first_row: int) -> NDArray[Any]:
        points = self.scaling(block)
        offsets = self.flats.offsets
        bases = self.flats.bases.astype(points.dtype, copy=False)
        if offsets is not None:
            offsets = offsets.astype(points.dtype, copy=False)
        found: NDArray[Any] = self.function(
            distances_to_flats(points, Flats(bases, offsets))
        )
        return found


def _nearest(distances: NDArray[np.floating]) -> NDArray[np.int64]:
    return distances.argmin(axis=1)


def _smallest(distances: NDArray[np.floating]) -> NDArray[np.floating]:
    return distances.min(axis=1)


def power_of_two(largest: float) -> float:
    """Return the scale that brings the largest entry near 1 and rounds nothing."""
    return 2.0 ** math.floor(math.log2(largest)) if largest > 0 else 1.0


def validated(
    estimator: Any, X: ArrayLike, *, reset: bool, double: bool = False
) -> NDArray[np.floating]:
    """Check the data; float32 stays so unless double is asked for, others get it."""
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float64 if double else (np.float64, np.float32),
        order="C",
        ensure_min_samples=2 if reset else 1,
    )
