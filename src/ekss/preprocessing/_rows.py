"""Rows to unit length, as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from ekss.core.scaling import unit_rows


class UnitRows(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale every row to unit length; zero rows stay zero.

    A linear subspace contains every multiple of its points, so their lengths say
    nothing about the clusters, but long points rule a least-squares fit. The
    estimators of this package scale rows themselves unless told otherwise.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in ``fit``.

    Notes
    -----
    Unlike :class:`sklearn.preprocessing.Normalizer` it neither over- nor underflows:
    rows are divided by their largest entry first. Stateless; float32 stays float32.
    O(n_samples n_features) time.

    Examples
    --------
    >>> from ekss.preprocessing import UnitRows
    >>> UnitRows().fit_transform([[3e200, 4e200], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Check the data and note its number of columns; nothing is learnt.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        self : UnitRows
        """
        validate_data(self, X, dtype=(np.float64, np.float32))
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the rows of X at unit length.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scaled : ndarray of shape (n_samples, n_features)
        """
        points = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        return unit_rows(points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
