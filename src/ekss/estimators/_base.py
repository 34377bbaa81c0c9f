"""What the estimators have in common: checked rows in, fitted attributes out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ekss.core.linalg import Flats, nearest_flats, unit_rows
from ekss.ensemble.prepare import Preparation
from ekss.runtime.rows import MISSING, MemoryRows, Rows, as_rows, validated_rows
from ekss.runtime.workers import Workers, one_blas_thread

if TYPE_CHECKING:
    from ekss.core.completion import Completion

IntRange = tuple[int, int]

# More workers than any machine has cores, and each of them takes memory.
_MOST_JOBS = 1024
# Most points must not be outliers: what lies apart is judged by the median.
_MOST_OUTLIERS = 0.5


def check_int(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    limit: str = "",
    also: str = "",
) -> int:
    """Return value as an int in low..high, or raise with the limit's name.

    ``also`` names what else the parameter may be, for the message.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass an integer of at least "
            f"{low}{also}"
        )
    number = int(value)
    if number < low:
        raise ValueError(f"{name}={value} is below {low}; choose at least {low}")
    if high is not None and number > high:
        named = f"{limit}={high}" if limit else str(high)
        raise ValueError(f"{name}={value} exceeds {named}; choose at most {high}")
    return number


def check_int_range(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    limit: str = "",
    also: str = "",
) -> IntRange:
    """Return (smallest, largest) from an int or from a pair of ints."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(
                f"{name}={value!r} has {len(value)} entries; pass an integer or a pair "
                "(smallest, largest)"
            )
        first, last = (
            check_int(name, entry, low, high, limit=limit) for entry in value
        )
        if first > last:
            raise ValueError(
                f"{name}={value!r} runs downwards; pass (smallest, largest)"
            )
        return first, last
    also = f" or a pair (smallest, largest){also}"
    single = check_int(name, value, low, high, limit=limit, also=also)
    return single, single


def check_outliers(value: Any) -> float | str | None:
    """Return the share of points that are outliers, "auto" or None."""
    if value is None or is_auto("outliers", value, "a share, or None"):
        return value
    share = check_real("outliers", value, 0.0)
    if not 0 < share <= _MOST_OUTLIERS:
        raise ValueError(
            f"outliers={value} is not a share of the points in (0, {_MOST_OUTLIERS}]; "
            "choose from there, or 'auto', or None to mark none"
        )
    return share


def check_real(name: str, value: Any, low: float) -> float:
    """Return value as a finite float of at least low."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass a number of at least "
            f"{low}"
        )
    number = float(value)
    if not low <= number < float("inf"):
        raise ValueError(f"{name}={value} is outside [{low}, inf); choose from there")
    return number


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return value if it is one of the choices."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is not known; choose one of {known}")
    return value


def is_auto(name: str, value: Any, otherwise: str) -> bool:
    """Tell "auto" from other values, and refuse other words."""
    if isinstance(value, str) and value != "auto":
        raise ValueError(f"{name}={value!r} is not known; pass 'auto' or {otherwise}")
    return isinstance(value, str)


def int_or_auto(
    name: str, value: Any, low: int, high: int | None = None, *, limit: str = ""
) -> int | None:
    """Return an integer in low..high, or None for "auto"."""
    if is_auto(name, value, "an integer"):
        return None
    return check_int(name, value, low, high, limit=limit, also=' or "auto"')


def bool_or_auto(name: str, value: Any) -> bool | None:
    """Return True or False, or None for "auto"."""
    if is_auto(name, value, "True or False"):
        return None
    return check_bool(name, value)


def check_bool(name: str, value: Any) -> bool:
    """Return value if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}; pass True or False")
    return bool(value)


def check_functions(name: str, value: Any) -> None:
    """Refuse what is neither None nor a sequence of functions."""
    if value is not None and not (
        isinstance(value, tuple | list) and all(map(callable, value))
    ):
        raise TypeError(
            f"{name}={value!r} is not a sequence of functions; pass a tuple of them, "
            "as in CUTTERS[:2], or None for all"
        )


def check_function(name: str, value: Any) -> None:
    """Refuse what is neither None nor a function."""
    if value is not None and not callable(value):
        raise TypeError(f"{name}={value!r} cannot be called; pass a function or None")


def check_workers(n_jobs: Any, verbose: Any) -> Workers:
    """Check the two parameters that every estimator shares; return the workers."""
    is_count = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_count or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} is not a number of workers; pass a count, or -1 for "
            "all cores"
        )
    if n_jobs is not None and n_jobs > _MOST_JOBS:
        raise ValueError(
            f"n_jobs={n_jobs} exceeds {_MOST_JOBS}; choose at most that, or -1 for all "
            "cores"
        )
    if not isinstance(verbose, (bool, np.bool_)):
        check_int("verbose", verbose, 0)
    return Workers(None if n_jobs is None else int(n_jobs), bool(verbose))


def check_directory(name: str, value: Any) -> Path | None:
    """Return a directory that exists, or None."""
    if value is None:
        return None
    if not isinstance(value, (str, PathLike)):
        raise TypeError(
            f"{name}={value!r} is {type(value).__name__}; pass the path of a directory "
            "or None"
        )
    directory = Path(value)
    if not directory.is_dir():
        raise ValueError(f"{name}={str(value)!r} is not a directory; create it first")
    return directory


# Rows that are looked at: at least so many, and so many for each cluster; and columns.
_FEWEST_ROWS = 200
_ROWS_PER_CLUSTER = 3
_MOST_ROWS = 1000
_MOST_FEATURES = 300
# Singular values below this share of the largest are rounding errors of float32.
_ROUNDING = 1e-6
# Fewer rows or features say too little about noise.
_ROWS_FOR_NOISE = 40
_FEATURES_FOR_NOISE = 3
# Shuffled copies that noise is compared with, and by how many of their standard
# deviations structure must exceed them. Measured: Gaussian noise exceeds them by 4 in 4
# of 1,000 draws (at most 5.1); unions of subspaces by at least 7.7; digits, USPS,
# MNIST, COIL, Yale B and the sequences of Hopkins 155 by at least 54.
_COPIES = 10
_EXCESS = 4.0


class ClusteringWarning(UserWarning):
    """The clusters of a fit mean nothing, or there are fewer than were asked for.

    All estimators warn about

    - points that are all zero, or, for affine subspaces, all equal;
    - points that all lie in one subspace of the fitted dimension, so that nothing tells
      clusters apart (methods that fit no subspaces warn about points on one line);
    - points that resemble each other no more than if every feature had been shuffled
      separately, as is the case for independent Gaussian noise;
    - fewer clusters with points than ``n_clusters``.

    Turn it off with ``warnings.simplefilter("ignore", ekss.ClusteringWarning)``, or
    turn it into an error with "error" in place of "ignore".

    Examples
    --------
    >>> import warnings
    >>> from ekss import KSS, ClusteringWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ClusteringWarning)
    ...     model = KSS(2, subspace_dim=1).fit([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> print(str(caught[0].message).split(".")[0])
    One subspace of dimension 1 holds all points
    """


@dataclass(frozen=True)
class Doubt:
    """A reason to doubt the clusters.

    Attributes
    ----------
    key : {"zero", "equal", "one_subspace", "noise", "empty"}
        Short, stable name for use in programs.
    title : str
        What was seen.
    text : str
        What it means and what to do.

    Examples
    --------
    >>> from ekss.estimators import Doubt
    >>> print(Doubt("zero", "All points are zero", "Their clusters mean nothing."))
    All points are zero. Their clusters mean nothing.
    """

    key: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.title}. {self.text}"


def rows_to_doubt(n_samples: int, n_clusters: int) -> NDArray[np.int64]:
    """Return the numbers of the rows that :func:`find_doubts` needs, ascending.

    Parameters
    ----------
    n_samples, n_clusters : int
        Number of points, and of clusters.

    Returns
    -------
    rows : ndarray of int
        All rows, or a fixed random choice of them.

    Examples
    --------
    >>> from ekss.estimators import rows_to_doubt
    >>> rows_to_doubt(3, 2), len(rows_to_doubt(10_000, 10))
    (array([0, 1, 2]), 200)
    """
    size = min(_MOST_ROWS, max(_FEWEST_ROWS, _ROWS_PER_CLUSTER * n_clusters))
    if size >= n_samples:
        return np.arange(n_samples)
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(n_samples, size, replace=False))


def find_doubts(
    points: NDArray[np.floating],
    *,
    n_clusters: int,
    n_used: int,
    dim: int | None,
    affine: bool,
) -> tuple[Doubt, ...]:
    """Return reasons to doubt a clustering.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        All points or, of many, those of :func:`rows_to_doubt`.
    n_clusters, n_used : int
        Clusters that were asked for, and clusters that have points.
    dim : int or None
        Dimension of the subspaces that were fitted; None if the method fits none.
    affine : bool
        Whether they may miss the origin.

    Returns
    -------
    doubts : tuple of Doubt
        Always empty for one cluster, of which nothing is claimed.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.estimators._base import find_doubts
    >>> noise = np.random.default_rng(0).standard_normal((300, 20))
    >>> found = find_doubts(noise, n_clusters=4, n_used=3, dim=2, affine=False)
    >>> [doubt.key for doubt in found]
    ['noise', 'empty']
    """
    if n_clusters == 1:
        return ()
    degenerate = tuple(_of_few_directions(points, n_clusters, dim, affine))
    if degenerate:
        return degenerate
    return (*_of_noise(points), *_of_empty_clusters(n_clusters, n_used))


def resembles_noise(points: NDArray[np.floating], rng: np.random.Generator) -> bool:
    """Tell whether points are no more alike than if features were independent.

    Two measures of the angles between points, the mean cosine of a point and its
    nearest and the mean fourth power of all cosines, are compared with those of copies
    of which every feature was shuffled for itself. Points near subspaces, or in any
    other kind of clusters, have smaller angles. Noise whose features are correlated is
    not recognised.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        Fewer than 40 points, or 3 features, are never called noise.
    rng : numpy.random.Generator
        Shuffles.
    """
    n_samples, n_features = points.shape
    if n_samples < _ROWS_FOR_NOISE or n_features < _FEATURES_FOR_NOISE:
        return False
    if n_features > _MOST_FEATURES:
        chosen = rng.choice(n_features, _MOST_FEATURES, replace=False)
        points = points[:, chosen]
    rows = unit_rows(points.astype(np.float64, copy=False))
    shuffled = [_likeness(rng.permuted(rows, axis=0)) for _ in range(_COPIES)]
    spread = np.std(shuffled, axis=0, ddof=1)
    excess = _likeness(rows) - np.mean(shuffled, axis=0)
    return bool((excess <= _EXCESS * spread).all())


def _of_few_directions(
    points: NDArray[np.floating], n_clusters: int, dim: int | None, affine: bool
) -> Iterator[Doubt]:
    if not affine and not points.any():
        yield Doubt(
            "zero",
            "All points are zero",
            "The origin lies on every subspace, so their clusters mean nothing.",
        )
        return
    rank = _rank(points - points.mean(axis=0) if affine else unit_rows(points))
    if rank == 0:
        yield Doubt(
            "equal", "All points are equal", "There is nothing to tell clusters apart."
        )
    elif rank <= (1 if dim is None else dim):
        yield Doubt(
            "one_subspace",
            f"One subspace of dimension {rank} holds all points",
            f"Nothing tells {n_clusters} clusters of that dimension apart; choose "
            + ("one cluster." if rank == 1 else f"subspace_dim below {rank}."),
        )


def _of_noise(points: NDArray[np.floating]) -> Iterator[Doubt]:
    if resembles_noise(points, np.random.default_rng(0)):
        yield Doubt(
            "noise",
            "The points look like noise without clusters",
            "They resemble each other no more than if every feature had been shuffled "
            "for itself, so other data of the same kind would give other clusters.",
        )


def _of_empty_clusters(n_clusters: int, n_used: int) -> Iterator[Doubt]:
    empty = n_clusters - n_used
    if empty > 0:
        yield Doubt(
            "empty",
            f"{empty} of {n_clusters} clusters {'is' if empty == 1 else 'are'} empty",
            f"Choose n_clusters={n_used} or a smaller subspace_dim, or try another "
            "random_state.",
        )


def _rank(points: NDArray[np.floating]) -> int:
    """Return the number of directions that points have, up to rounding."""
    # The largest entry near 1 keeps squares from over- or underflowing.
    largest = float(np.abs(points).max())
    if largest == 0:
        return 0
    values = np.linalg.svd(points.astype(np.float64) / largest, compute_uv=False)
    return int((values > _ROUNDING * values[0]).sum())


def _likeness(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return two measures of how near to each other the directions of rows are."""
    unit = unit_rows(rows)
    squares = np.square(unit @ unit.T)
    np.fill_diagonal(squares, 0)
    nearest = np.sqrt(squares.max(axis=1)).mean()
    return np.array([nearest, np.square(squares).mean()])


LARGEST_SEED = np.iinfo(np.int32).max
# Whether the fit under way is a part of another one, which then warns for both.
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


def checked_blocks(estimator: BaseEstimator, X: Any) -> tuple[Rows, dict[str, Any]]:
    """Check the rows of a fit as :func:`checked_rows` does, but leave them on disk."""
    missing = missing_of(estimator)
    rows = as_rows(X, missing)
    if rows is None or rows.in_memory:
        points, names = checked_rows(estimator, X)
        return MemoryRows(points, missing), names
    _, names = checked_rows(estimator, rows.take(np.arange(min(2, rows.shape[0]))))
    return rows, names


def new_rows(estimator: BaseEstimator, X: ArrayLike) -> Rows:
    """Check rows after a fit, block by block where they are on disk."""
    missing = missing_of(estimator)
    rows = as_rows(X, missing)
    if rows is None or rows.in_memory:
        return MemoryRows(_validated(estimator, X, reset=False), missing)
    _validated(estimator, rows.take(np.arange(1)), reset=False)
    return rows


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
            n_used=len(np.unique(labels[labels >= 0])),
            dim=dim,
            affine=affine,
        )
    for doubt in doubts:
        # The warning points to the caller of fit.
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
    try:
        state = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} is not a seed; pass an integer from 0 to "
            f"{2**32 - 1}, a RandomState, or None"
        ) from error
    return int(state.randint(LARGEST_SEED))


class Clusterer(ClusterMixin, BaseEstimator):
    """An estimator of clusters, which tells scikit-learn whether it takes NaN."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
        return tags


class SubspaceClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """An estimator that ends in subspaces: predict, transform and score by them.

    Where missing entries are allowed, rows are filled in first: in the same way as in
    the fit or, if the fit had no missing entries, by least squares on the subspaces.

    After ``fit`` it has ``bases_``, ``offsets_`` and ``preparation_``. An estimator
    that marks outliers also has ``outlier_limits_``.
    """

    bases_: NDArray[np.floating]
    offsets_: NDArray[np.floating] | None
    preparation_: Preparation
    outlier_limits_: NDArray[np.floating] | None = None

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign each point to its nearest subspace.

        If subspaces have different dimensions, the squared distance to each subspace is
        divided by the number of directions outside it, n_features - dim. Otherwise
        noise alone would draw points to the largest subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the subspace of each point. If the fit marked outliers, the label
            is -1 for points farther from their subspace than ``outlier_limits_``
            allows.
        """
        check_is_fitted(self)
        flats = Flats(self.bases_, self.offsets_)
        return np.concatenate(
            self._map(X, partial(_nearest, flats, self._squared_limits()))
        )

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the distance of each point to each cluster's subspace.

        Points are prepared as in ``fit``, so for normalised data the distance is the
        sine of the angle between the point and the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, as in ``fit``.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            One column per cluster.
        """
        scale = np.concatenate(self._map(X, np.sqrt))
        return scale * scale.dtype.type(self.preparation_.scale)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean squared distance to the nearest subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, as in ``fit``.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        score : float
            At most 0. Higher is better among models of the same dimension. A larger
            ``subspace_dim`` always scores higher, so do not use this score to choose
            it.
        """
        nearest = np.concatenate(self._map(X, _smallest))
        mean = float(nearest.mean(dtype=np.float64))
        return -mean * self.preparation_.scale * self.preparation_.scale

    def impute(
        self, X: ArrayLike, *, return_std: bool = False
    ) -> NDArray[np.floating] | tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Fill in missing entries from the subspaces that the fit found.

        Each cluster is weighted by how likely the row is to come from it, given the
        observed entries of the row. A missing entry is filled in with its expected
        value. If a single Gaussian for all rows predicted held-out entries better than
        the clusters did, the Gaussian is used instead.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, with NaN for missing entries.
        return_std : bool, default=False
            Whether to return the standard error of every entry as well; it is 0 for
            observed entries. Only a model that was fitted to rows with missing entries
            can provide it.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_features)
            X without missing entries.
        std : ndarray of shape (n_samples, n_features)
            Standard errors; only if ``return_std``.
        """
        check_is_fitted(self)
        preparation = self.preparation_
        if return_std and preparation.completion is None:
            raise ValueError(
                "return_std=True needs the spread of the clusters, which a fit to rows "
                "without missing entries does not measure; fit to rows that have some"
            )
        fill = _Filled(
            preparation.completion_by(Flats(self.bases_, self.offsets_)), return_std
        )
        filled, errors = zip(*new_rows(self, X).map(fill), strict=True)
        if return_std:
            return np.concatenate(filled), np.concatenate(errors)
        return np.concatenate(filled)

    def _squared_limits(self) -> NDArray[np.floating] | None:
        """Return the squared distances of outliers, in the scaled coordinates."""
        limits = self.outlier_limits_
        return None if limits is None else (limits / self.preparation_.scale) ** 2

    @property
    def _n_features_out(self) -> int:
        return len(self.bases_)

    def _map(self, X: ArrayLike, function: Any) -> list[NDArray[Any]]:
        """Return function(squared distances) of blocks of rows."""
        check_is_fitted(self)
        flats = Flats(self.bases_, self.offsets_)
        rows = new_rows(self, X)
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


@dataclass(frozen=True)
class _Filled:
    """Rows with missing entries filled in, and the errors if wanted, for any worker."""

    completion: Completion
    with_errors: bool

    def __call__(
        self, block: NDArray[np.floating], first_row: int
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        if self.with_errors:
            return self.completion.estimate(block)
        filled = self.completion(block)
        return filled, filled[:0]


def _nearest(
    flats: Flats,
    limits: NDArray[np.floating] | None,
    squared: NDArray[np.floating],
) -> NDArray[np.int64]:
    labels = nearest_flats(squared, flats)
    if limits is None:
        return labels
    own = squared[np.arange(len(labels)), labels]
    return np.where(own > limits[labels], -1, labels)


def _smallest(distances: NDArray[np.floating]) -> NDArray[np.floating]:
    return distances.min(axis=1)


def _validated(
    estimator: BaseEstimator, X: ArrayLike, *, reset: bool
) -> NDArray[np.floating]:
    dtypes = (np.float64, np.float32)
    fewest = 2 if reset else 1
    return validated_rows(
        estimator,
        X,
        fewest=fewest,
        missing=missing_of(estimator),
        reset=reset,
        dtype=dtypes,
        order="C",
    )


def missing_of(estimator: BaseEstimator) -> str:
    """Return what an estimator does with NaN: those without a parameter refuse it."""
    missing = getattr(estimator, "missing", "error")
    return str(check_choice("missing", missing, MISSING))
