"""Stage 1, prepare: turn rows into points, in the same way for the fit and new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ekss.core.ksubspaces import squared_norms
from ekss.core.linalg import (
    Flats,
    Spectrum,
    leading_spectrum,
    squared_residuals,
    unit_rows,
    whitening_scales,
)
from ekss.preprocessing import Scattering2D

if TYPE_CHECKING:
    from ekss.core.completion import Completion


@dataclass(frozen=True)
class Preparation:
    """How rows are turned into points: scaled and centred.

    It is fitted once; ``predict``, ``transform``, ``score``, reports, comparisons and
    saved models call it to see rows as the fit saw them.

    Attributes
    ----------
    unit : bool
        Whether rows are scaled to unit length.
    centre : ndarray of shape (n_features,) or None
        Subtracted for affine subspaces, in float64; None for linear ones.
    scale : float
        A power of two by which points are divided, so that no square of an entry over-
        or underflows; 1 for rows of unit length.
    completion : Completion or None
        Fills in the missing entries of rows, if the fit had any.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.ensemble import Preparation
    >>> Preparation(unit=True)(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    unit: bool
    centre: NDArray[np.float64] | None = None
    scale: float = 1.0
    completion: Completion | None = None

    def __call__(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the points of these rows.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)

        Returns
        -------
        points : ndarray of shape (n_samples, n_features)
            In C order; float64 if they are centred, otherwise of the same type as the
            rows.
        """
        if self.completion is not None:
            rows = self.completion(rows)
        if self.centre is not None:
            rows = rows.astype(np.float64, copy=False)
        points = unit_rows(rows) if self.unit else rows
        if self.centre is not None:
            points = points - self.centre
        return np.ascontiguousarray(points / self.scale)

    def squared_distances(
        self, rows: NDArray[np.floating], flats: Flats
    ) -> NDArray[np.floating]:
        """Return squared distances of rows to subspaces, in the scaled coordinates.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            Rows as they were given to the fit.
        flats : Flats
            In the coordinates of the rows, as :meth:`outwards` gives them.

        Returns
        -------
        squared : ndarray of shape (n_samples, n_subspaces)
            Multiply by the square of ``scale`` for the units of the rows.
        """
        points = self(self.filled(rows, flats))
        inside = self.inwards(flats)
        bases = inside.bases.astype(points.dtype, copy=False)
        offsets = inside.offsets
        if offsets is not None:
            offsets = offsets.astype(points.dtype, copy=False)
        return squared_residuals(points, Flats(bases, offsets))

    def filled(self, rows: NDArray[np.floating], flats: Flats) -> NDArray[np.floating]:
        """Return rows with their missing entries filled in.

        They are filled in as in the fit or, if the fit had no missing entries, by least
        squares on the subspaces.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            Rows as they are given, with NaN for missing entries.
        flats : Flats
            The subspaces, in the coordinates of the rows.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            The same rows, complete.
        """
        return self.completion_by(flats)(rows) if has_holes(rows) else rows

    def completion_by(self, flats: Flats) -> Completion:
        """Return the completion of the fit or, if it had none, one by the subspaces.

        Parameters
        ----------
        flats : Flats
            The subspaces, in the coordinates of the rows.

        Returns
        -------
        completion : Completion
            Call it with rows to fill in their missing entries.
        """
        if self.completion is not None:
            return self.completion
        from ekss.core.completion import completion_of

        return completion_of(flats, unit=self.unit, scale=self.scale)

    def outwards(self, flats: Flats) -> Flats:
        """Convert subspaces from the coordinates of the points to those of the rows.

        Parameters
        ----------
        flats : Flats
            In the coordinates of the points.

        Returns
        -------
        flats : Flats
            The same subspaces in the coordinates of the rows.
        """
        if flats.offsets is None:
            return flats
        centre = 0.0 if self.centre is None else self.centre
        return Flats(flats.bases, flats.offsets * self.scale + centre)

    def inwards(self, flats: Flats) -> Flats:
        """Convert subspaces from the coordinates of the rows to those of the points.

        Parameters
        ----------
        flats : Flats
            In the coordinates of the rows.

        Returns
        -------
        flats : Flats
            The same subspaces in the coordinates of the points.
        """
        if flats.offsets is None:
            return flats
        centre = 0.0 if self.centre is None else self.centre
        return Flats(flats.bases, (flats.offsets - centre) / self.scale)


def has_holes(rows: NDArray[np.floating]) -> bool:
    """Decide whether entries are missing; infinite ones have already been refused."""
    # A sum is NaN if any entry is, and needs no memory.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(rows.sum())) and bool(np.isnan(rows).any())


@dataclass(frozen=True)
class Points:
    """Rows ready for clustering, and how they were made ready."""

    rows: NDArray[np.floating]
    preparation: Preparation


def prepare(
    rows: NDArray[np.floating],
    *,
    unit: bool,
    affine: bool,
    completion: Completion | None = None,
) -> Points:
    """Scale rows, and centre them for affine subspaces.

    Affine clustering does not depend on the origin. It works in float64, because in
    float32 clusters far from each other would suffer cancellation.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        Rows as given.
    unit : bool
        Whether to scale them to unit length.
    affine : bool
        Whether subspaces may miss the origin; if so, points are centred.
    completion : Completion, default=None
        What filled in the rows, so that new rows can be filled in the same way.

    Returns
    -------
    points : Points
        The points as ``rows``, and the :class:`Preparation` that made them.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.ensemble import prepare
    >>> points = prepare(np.array([[3.0, 4.0], [0.0, 2.0]]), unit=True, affine=False)
    >>> points.rows
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    if affine:
        rows = rows.astype(np.float64, copy=False)
    points = unit_rows(rows) if unit else rows
    centre = None
    if affine:
        centre = points.mean(axis=0)
        points = points - centre
    # Unit rows need no scale, and quantities measured on them stay comparable.
    scale = 1.0 if unit else power_of_two(float(np.abs(points).max()))
    ready = np.ascontiguousarray(points / scale)
    return Points(ready, Preparation(unit, centre, scale, completion))


def power_of_two(largest: float) -> float:
    """Return a scale that brings the largest entry near 1 without any rounding."""
    return 2.0 ** math.floor(math.log2(largest)) if largest > 0 else 1.0


@dataclass(frozen=True)
class Scattering:
    """Scattering features of images, at unit length.

    If an image is slightly shifted or bent, its pixels leave their subspace, but these
    features hardly change.

    Attributes
    ----------
    image_shape : (int, int)
        Height and width of the images whose pixels form the points.
    n_jobs : int or None
        Number of threads.
    """

    # With fewer pixels along the shorter side there is only one scale, and no path of
    # two wavelets.
    SMALLEST_SIDE: ClassVar[int] = 16

    image_shape: tuple[int, int]
    n_jobs: int | None = None

    @property
    def n_scales(self) -> int:
        """Scales of the wavelets: three to six windows along the shorter side."""
        return min(_MOST_SCALES, round(math.log2(min(self.image_shape))) - 2)

    @property
    def n_features(self) -> int:
        """Number of features per image."""
        _, features = self._transformer.shapes_for(math.prod(self.image_shape))
        return math.prod(features)

    @property
    def _transformer(self) -> Scattering2D:
        return Scattering2D(
            self.n_scales, image_shape=self.image_shape, n_jobs=self.n_jobs
        )

    def __call__(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the features of these points."""
        return unit_rows(self._transformer.fit_transform(points))


# Features of images whose shorter side has more than 128 pixels are taken at more
# positions instead: further scales would add many paths.
_MOST_SCALES = 5


@dataclass(frozen=True)
class View:
    """The coordinates in which members and judges see points.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_kept)
        The directions, as columns.
    unit : bool
        Whether points are scaled to unit length in these coordinates.
    scattering : Scattering or None
        Features that are used for images instead of their pixels; the directions are
        then those of the features.
    """

    directions: NDArray[np.floating]
    unit: bool = False
    scattering: Scattering | None = None

    def __call__(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return these coordinates of points that were prepared as for the fit."""
        if self.scattering is not None:
            points = self.scattering(points)
        return self.along(points)

    def along(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the coordinates of points or, if used, of their features."""
        inside = features @ self.directions.astype(features.dtype, copy=False)
        return unit_rows(inside) if self.unit else inside


@dataclass(frozen=True)
class Coordinates:
    """Points in leading principal coordinates: what members and judges work on.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_kept)
    outside : ndarray of shape (n_samples,) or None
        Squared length of each point outside the coordinates; None if all coordinates
        are kept, or if only what is inside counts.
    view : View or None
        How the coordinates are computed; None if they are the features themselves.
    """

    points: NDArray[np.floating]
    outside: NDArray[np.floating] | None = None
    view: View | None = None

    def take(self, rows: NDArray[np.integer]) -> Coordinates:
        """Return some of the points."""
        outside = None if self.outside is None else self.outside[rows]
        return replace(
            self, points=np.ascontiguousarray(self.points[rows]), outside=outside
        )

    def of(self, points: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return these coordinates of further points, prepared as the others were."""
        if self.view is not None:
            points = self.view(points)
        return np.ascontiguousarray(points, self.points.dtype)


def whitened_directions(spectrum: Spectrum, count: int) -> NDArray[np.float64]:
    r"""Return directions along which points have equal energy, or less if it is weak.

    With the points :math:`X = U \Sigma V^T`, the coordinates are the leading columns of
    U, each scaled by :math:`(1 - \sigma_{count + 1}^2 / \sigma^2)^{1/2}`. Their inner
    products are the coefficients of least nuclear norm that explain the points up to
    noise (:func:`ekss.core.low_rank.low_rank_rows`). Without noise, and with as many
    directions as the points span, points of independent subspaces are orthogonal in
    these coordinates, however small the angles between the subspaces are.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum of the points, with one more direction than ``count`` if there is one.
    count : int
        Number of directions.

    Returns
    -------
    directions : ndarray of shape (n_features, count)
        As columns; directions that hold nothing but rounding errors are zero.
    """
    energies = spectrum.singular_values**2
    noise = energies[count] if count < len(energies) else 0.0
    scales = whitening_scales(energies[:count], noise)
    return spectrum.directions[:count].T * scales


@dataclass(frozen=True)
class _Kept:
    """How many coordinates are kept."""

    # All that subspaces can span, or up to ``few`` if that is more and they are needed
    # to hold this share of the energy. The rest is mostly noise, and the time of every
    # member is proportional to the number of coordinates. 128 alone were too few for
    # Yale B (docs/experiments.md, "Choosing among cuts: forms of the score", at the
    # end).
    energy: float = 1 - 1e-4
    few: int = 128


_KEPT = _Kept()


def leading_coordinates(
    points: NDArray[np.floating],
    n_clusters: int,
    span: int,
    dtype: DTypeLike | None = None,
) -> Coordinates:
    """Keep the principal coordinates that subspaces of the clusters can use.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The points, centred for affine subspaces.
    n_clusters : int
    span : int
        Number of directions that the subspace of a cluster typically spans.
    dtype : dtype, default=None
        Type of the coordinates; None means that of the points.
    """
    dtype = points.dtype if dtype is None else dtype
    n_samples, n_features = points.shape
    at_most = min(n_samples, n_features, most_coordinates(n_clusters, span))
    spectrum = leading_spectrum(points, at_most)
    held = np.cumsum(spectrum.singular_values**2)
    needed = int(np.searchsorted(held, _KEPT.energy * spectrum.total) + 1)
    kept = min(at_most, max(n_clusters * span, needed))
    if kept >= n_features:
        return Coordinates(points.astype(dtype, copy=False))
    directions = spectrum.directions[:kept].T.astype(points.dtype)
    inside = np.ascontiguousarray(points @ directions)
    outside = np.maximum(squared_norms(points) - squared_norms(inside), 0)
    return Coordinates(
        inside.astype(dtype, copy=False),
        outside.astype(dtype, copy=False),
        View(directions),
    )


def most_coordinates(n_clusters: int, span: int) -> int:
    """Return the maximum number of coordinates that are kept."""
    return max(_KEPT.few, n_clusters * span)
