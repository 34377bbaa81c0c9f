"""What every fit has in common: all or nothing, and a word about doubtful clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ekss.core.doubts import ClusteringWarning, find_doubts, rows_to_doubt
from ekss.core.parallel import one_blas_thread

Model = TypeVar("Model", bound=Any)
Given = ParamSpec("Given")
Result = TypeVar("Result")

Fit = Callable[Concatenate[Model, Given], Result]

# Whether the fit under way is a part of another, which speaks for both.
_is_part: ContextVar[bool] = ContextVar("is_part", default=False)


def all_or_nothing(fit: Fit[Model, Given, Result]) -> Fit[Model, Given, Result]:
    """Let a method that raises, or is interrupted, leave its object as it was.

    Every attribute that the method set, changed or deleted is what it was before; an
    object that an attribute refers to must not be changed in place.
    """

    @wraps(fit)
    def whole(self: Model, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return whole


def warn_of_doubts(model: Any, points: NDArray[np.floating]) -> None:
    """Warn where the clusters of a fitted model mean nothing or are too few.

    To be called last in ``fit``, with the points as they were given, or those that were
    clustered before all others.
    """
    if _is_part.get():
        return
    with one_blas_thread():
        doubts = find_doubts(
            points[rows_to_doubt(len(points), model.n_clusters_)],
            n_clusters=model.n_clusters_,
            n_used=len(np.unique(model.labels_)),
            dim=getattr(model, "subspace_dim_", None),
            affine=bool(getattr(model, "affine_", getattr(model, "affine", False))),
        )
    for doubt in doubts:
        # of the caller of fit, beyond the wrapper above
        warnings.warn(str(doubt), ClusteringWarning, stacklevel=4)


@contextmanager
def as_part() -> Iterator[None]:
    """Fit models as parts of another fit: they do not warn of their own clusters."""
    token = _is_part.set(True)
    try:
        yield
    finally:
        _is_part.reset(token)
