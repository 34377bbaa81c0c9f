"""What the transformers share: the path from ``fit`` to a result, and checks."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ekss.runtime.rows import validated_rows


class PointTransformer(TransformerMixin, BaseEstimator):
    """A transformer of points: subclasses define ``_learn`` and ``_apply``."""

    _dtypes: tuple[type, ...] = (np.float64, np.float32)
    _fewest_samples = 1

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Check the parameters and the points, and learn what ``transform`` needs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one per row.
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        fewest = self._fewest_samples
        self._learn(validated_rows(self, X, fewest=fewest, dtype=self._dtypes))
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the transformed points, float32 where X is float32.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one per row.

        Returns
        -------
        transformed : ndarray of shape (n_samples, n_features_out)
            New points.
        """
        check_is_fitted(self)
        return self._apply(
            validated_rows(self, X, fewest=1, reset=False, dtype=self._dtypes)
        )

    def _learn(self, points: NDArray[np.floating]) -> None:
        raise NotImplementedError

    def _apply(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_count(
    name: str, value: Any, low: int, high: int | None = None, limit: str = ""
) -> int:
    """Return value as an int in low..high; ``limit`` names the upper end."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass an integer of at least "
            f"{low}"
        )
    number = int(value)
    if number < low:
        raise ValueError(f"{name}={value} is below {low}; choose at least {low}")
    if high is not None and number > high:
        raise ValueError(
            f"{name}={value} exceeds {limit} = {high}; choose at most {high}"
        )
    return number
