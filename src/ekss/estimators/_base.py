"""What the estimators have in common: checked rows in, fitted attributes out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ekss.core.bases import Flats
from ekss.core.doubts import ClusteringWarning, find_doubts, rows_to_doubt
from ekss.ensemble.prepare import Preparation
from ekss.runtime.rows import MemoryRows, as_rows
from ekss.runtime.workers import one_blas_thread

LARGEST_SEED = np.iinfo(np.int32).max
# Whether the fit under way is a part of another, which speaks for both.
_is_part: ContextVar[bool] = ContextVar("is_part", default=False)
Estimator = TypeVar("Estimator", bound=BaseEstimator)


def checked_rows(
    estimator: BaseEstimator, X: ArrayLike
) -> tuple[NDArray[np.floating], dict[str, Any]]:
    """Check the rows of a fit; return them and what the estimator is to remember.

    float32 stays so, other types become float64. The estimator is not written to.
    """
    kind: Any = type(estimator)
    shell = kind.__new__(kind)
    vars(shell).update(estimator.get_params(deep=False))
    before = set(vars(shell))
    rows = _validated(shell, X, reset=True)
    names = {key: value for key, value in vars(shell).items() if key not in before}
    return rows, names


def store(estimator: Estimator, **fitted: Any) -> Estimator:
    """Give the estimator the attributes of a fit, in place of those it had.

    The last step of every fit, and the only one that writes to the estimator. What
    scikit-learn keeps there, such as the choice of ``set_output``, stays.
    """
    fitted_before = [name for name in vars(estimator) if name.endswith("_")]
    for name in fitted_before:
        delattr(estimator, name)
    for name, value in fitted.items():
        setattr(estimator, name, value)
    return estimator


def warn_of_doubts(
    rows: NDArray[np.floating],
    labels: NDArray[np.integer],
    n_clusters: int,
    *,
    dim: int | None,
    affine: bool,
) -> None:
    """Warn where the clusters of a fit mean nothing or are too few.

    ``rows`` are as they were given, or those that were clustered before all others.
    """
    if _is_part.get():
        return
    with one_blas_thread():
        doubts = find_doubts(
            rows[rows_to_doubt(len(rows), n_clusters)],
            n_clusters=n_clusters,
            n_used=len(np.unique(labels)),
            dim=dim,
            affine=affine,
        )
    for doubt in doubts:
        # Of the caller of fit.
        warnings.warn(str(doubt), ClusteringWarning, stacklevel=3)


@contextmanager
def as_part() -> Iterator[None]:
    """Fit models as parts of another fit: they do not warn of their own clusters."""
    token = _is_part.set(True)
    try:
        yield
    finally:
        _is_part.reset(token)


def seed_of(random_state: Any) -> int:
    """Draw the seed of a fit."""
    return int(check_random_state(random_state).randint(LARGEST_SEED))


class SubspaceClusterer(
    ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator
):
    """An estimator that ends in subspaces: predict, transform and score by them.

    After ``fit`` it has ``bases_``, ``offsets_`` and ``preparation_``.
    """

    bases_: NDArray[np.floating]
    offsets_: NDArray[np.floating] | None
    preparation_: Preparation

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

        Points are prepared as in ``fit``, so for normalised data the distance is the
        sine of the angle between point and subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        scale = np.concatenate(self._map(X, np.sqrt))
        return scale * scale.dtype.type(self.preparation_.scale)

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
        nearest = np.concatenate(self._map(X, _smallest))
        mean = float(nearest.mean(dtype=np.float64))
        return -mean * self.preparation_.scale * self.preparation_.scale

    @property
    def _n_features_out(self) -> int:
        return len(self.bases_)

    def _map(self, X: ArrayLike, function: Any) -> list[NDArray[Any]]:
        """Return function(squared distances) of blocks of rows."""
        check_is_fitted(self)
        rows = as_rows(X)
        if rows is None or rows.in_memory:
            rows = MemoryRows(_validated(self, X, reset=False))
        else:
            _validated(self, rows.take(np.arange(1)), reset=False)
        flats = Flats(self.bases_, self.offsets_)
        return list(rows.map(_Distances(self.preparation_, flats, function)))


@dataclass(frozen=True)
class _Distances:
    """A function of the squared distances of rows to subspaces, for any worker."""

    preparation: Preparation
    flats: Flats
    function: Any

    def __call__(self, block: NDArray[np.floating], first_row: int) -> NDArray[Any]:
        found: NDArray[Any] = self.function(
            self.preparation.squared_distances(block, self.flats)
        )
        return found


def _nearest(distances: NDArray[np.floating]) -> NDArray[np.int64]:
    return distances.argmin(axis=1)


def _smallest(distances: NDArray[np.floating]) -> NDArray[np.floating]:
    return distances.min(axis=1)


def _validated(
    estimator: BaseEstimator, X: ArrayLike, *, reset: bool
) -> NDArray[np.floating]:
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=(np.float64, np.float32),
        order="C",
        ensure_min_samples=2 if reset else 1,
    )
