"""Linear maps of rows: unit length; leading components removed, kept, whitened."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ekss.core.linalg import leading_spectrum, unit_rows, whitening_scales
from ekss.preprocessing._base import PointTransformer, check_count


class UnitRows(OneToOneFeatureMixin, PointTransformer):
    """Scale every row to unit length; zero rows stay zero.

    A linear subspace contains every multiple of its points, so their lengths say
    nothing about the clusters, but long points dominate a least-squares fit. The
    estimators of this package scale rows themselves unless told otherwise.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in ``fit``.

    Notes
    -----
    Unlike :class:`sklearn.preprocessing.Normalizer`, it neither over- nor underflows:
    rows are first divided by their largest entry. Stateless; float32 stays float32.
    Takes O(n_samples n_features) time.

    Examples
    --------
    >>> from ekss.preprocessing import UnitRows
    >>> UnitRows().fit_transform([[3e200, 4e200], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def _learn(self, points: NDArray[np.floating]) -> None:
        """Learn nothing."""

    def _apply(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        return unit_rows(points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class RemoveComponents(OneToOneFeatureMixin, PointTransformer):
    """Remove the leading singular components from the data.

    Points become x - C^T C x, where the rows of C are the first ``n_components`` right
    singular vectors of the data matrix, which is not centred. If all subspaces share
    some directions (such as the mean face of portraits under changing light), these
    hide everything else: angles between subspaces grow once they are removed. The
    subspace clustering literature calls this whitening.

    Parameters
    ----------
    n_components : int, default=1
        How many components to remove; 0 leaves the data as it is.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The removed directions, orthonormal rows.
    singular_values_ : ndarray of shape (n_components,)
        Their singular values, largest first.
    n_features_in_ : int
        Number of columns seen in ``fit``.

    See Also
    --------
    PrincipalComponents : Keeps the leading components instead.
    WhitenedComponents : Keeps them, all with the same energy.

    Notes
    -----
    ``fit`` costs O(n_samples n_features m), where m is the smaller of the two;
    ``transform`` costs O(n_samples n_features n_components). A subspace that lies
    within the removed directions is lost, so remove few.

    References
    ----------
    .. [1] R. Heckel and H. Boelcskei, Robust subspace clustering via thresholding,
       IEEE Transactions on Information Theory, 2015.
    .. [2] T. Zhang, A. Szlam, Y. Wang and G. Lerman, Hybrid linear modeling via local
       best-fit flats, International Journal of Computer Vision, 2012.

    Examples
    --------
    >>> from ekss.preprocessing import RemoveComponents
    >>> RemoveComponents(1).fit_transform([[9.0, 0.0], [9.0, 0.0], [0.0, 1.0]])
    array([[0., 0.],
           [0., 0.],
           [0., 1.]])
    """

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    def _learn(self, points: NDArray[np.floating]) -> None:
        rank = _checked_rank(self.n_components, 0, points)
        spectrum = leading_spectrum(points, rank)
        self.components_ = spectrum.directions.astype(points.dtype)
        self.singular_values_ = spectrum.singular_values.astype(points.dtype)

    def _apply(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        components = self.components_.astype(points.dtype, copy=False)
        return points - (points @ components.T) @ components


class PrincipalComponents(ClassNamePrefixFeaturesOutMixin, PointTransformer):
    """Project onto the leading principal directions, exactly.

    Points become C (x - m), where m is the mean, or 0 without centring, and the rows of
    C are the first right singular vectors of the matrix of all x - m.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions kept, at most min(n_samples, n_features).
    center : bool, default=True
        Whether to subtract the mean. Without centring, linear subspaces stay linear.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows; the largest entry of each in absolute value is positive.
    mean_ : ndarray of shape (n_features,)
        The mean of the data, or zeros without centring.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the components, largest first.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of each component in the sum of squares of the (centred) data.
    n_features_in_ : int
        Number of columns seen in ``fit``.

    See Also
    --------
    RemoveComponents : Removes the leading components instead.
    WhitenedComponents : Gives all of them the same energy.

    Notes
    -----
    Nothing is random: ``fit`` takes the leading eigenvectors of the smaller Gram matrix
    in float64, or a singular value decomposition if one side is at most 256. It costs
    O(n_samples n_features m + m^3), where m is the smaller side.

    Examples
    --------
    >>> from ekss.preprocessing import PrincipalComponents
    >>> model = PrincipalComponents(1).fit([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])
    >>> model.transform([[4.0, 5.0]])
    array([[1.]])
    >>> model.inverse_transform([[1.0]])
    array([[4., 5.]])
    """

    def __init__(self, n_components: int = 2, center: bool = True) -> None:
        self.n_components = n_components
        self.center = center

    @property
    def _fewest_samples(self) -> int:  # type: ignore[override]
        if not isinstance(self.center, (bool, np.bool_)):
            raise TypeError(f"center={self.center!r}; pass True or False")
        return 2 if self.center else 1

    def _learn(self, points: NDArray[np.floating]) -> None:
        rank = _checked_rank(self.n_components, 1, points)
        mean = np.zeros(points.shape[1])
        if self.center:
            mean = points.mean(axis=0, dtype=np.float64)
        spectrum = leading_spectrum(points, rank, mean)
        shares = spectrum.singular_values**2 / (spectrum.total or 1.0)
        dtype = points.dtype
        self.mean_ = mean.astype(dtype)
        self.components_ = spectrum.directions.astype(dtype)
        self.singular_values_ = spectrum.singular_values.astype(dtype)
        self.explained_variance_ratio_ = shares.astype(dtype)

    def _apply(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        centred = points - self.mean_.astype(points.dtype, copy=False)
        return centred @ self.components_.astype(points.dtype, copy=False).T

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the points that have the given coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates, as ``transform`` returns them.

        Returns
        -------
        points : ndarray of shape (n_samples, n_features)
            Points in the original space of ``fit``.
        """
        check_is_fitted(self)
        coordinates = check_array(X, dtype=self._dtypes)
        dtype = coordinates.dtype
        points = coordinates @ self.components_.astype(dtype, copy=False)
        return points + self.mean_.astype(dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class WhitenedComponents(ClassNamePrefixFeaturesOutMixin, PointTransformer):
    r"""Compute coordinates along the leading singular directions, with equal energy.

    With the data matrix :math:`X = U \Sigma V^T`, which is not centred, the points of
    the fit become the leading columns of U, and a new point x becomes
    :math:`\Sigma^{-1} V^T x`. A linear map of the features changes all of
    :math:`\Sigma` and V, but not the span of U. With as many components as the data
    span, no inner product of two points depends on how features are scaled, rotated or
    mixed, and points of independent subspaces are orthogonal to each other, however
    small the angles between the subspaces are.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions kept, at most min(n_samples, n_features). Choose as many as
        all subspaces span together; further directions hold noise, which would become
        as strong as the rest.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, as orthonormal rows; the entry of largest absolute value in each
        is positive.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of these directions, largest first, by which coordinates are
        divided.
    n_features_in_ : int
        Number of columns seen in ``fit``.

    See Also
    --------
    PrincipalComponents : Keeps the energies.
    RemoveComponents : What the literature on images calls whitening.

    Notes
    -----
    Coordinates along directions that hold nothing but rounding errors, with singular
    values below 1e-7 of the largest, are zero. :class:`~ekss.EKSS` whitens points by
    itself and also subtracts noise (its parameter ``whiten``). ``fit`` costs
    O(n_samples n_features m + m^3), where m is the smaller side.

    References
    ----------
    .. [1] J. Costeira and T. Kanade, A multibody factorization method for independently
       moving objects, International Journal of Computer Vision, 1998.

    Examples
    --------
    >>> from ekss.preprocessing import WhitenedComponents
    >>> X = [[3.0, 0.0], [4.0, 0.0], [0.0, 0.1]]
    >>> WhitenedComponents(2).fit_transform(X)
    array([[0.6, 0. ],
           [0.8, 0. ],
           [0. , 1. ]])
    """

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def _learn(self, points: NDArray[np.floating]) -> None:
        rank = _checked_rank(self.n_components, 1, points)
        spectrum = leading_spectrum(points, rank)
        self.components_ = spectrum.directions.astype(points.dtype)
        self.singular_values_ = spectrum.singular_values.astype(points.dtype)

    def _apply(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        values = self.singular_values_.astype(np.float64)
        # Relative to the largest, so that no square over- or underflows.
        largest = values[0] or 1.0
        scales = whitening_scales((values / largest) ** 2)
        inside = points @ self.components_.astype(points.dtype, copy=False).T
        # Divide first, then multiply: the product of both factors may overflow where
        # neither does.
        return inside / points.dtype.type(largest) * scales.astype(points.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _checked_rank(n_components: Any, low: int, points: NDArray[np.floating]) -> int:
    limit = "min(n_samples, n_features)"
    return check_count("n_components", n_components, low, min(points.shape), limit)
