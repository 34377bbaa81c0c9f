"""A fit succeeds as a whole or leaves the estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Model = TypeVar("Model", bound=Any)
Given = ParamSpec("Given")
Result = TypeVar("Result")

Fit = Callable[Concatenate[Model, Given], Result]


def all_or_nothing(
    fit: Fit[Model, Given, Result],
) -> Fit[Model, Given, Result]:
    """Let a method that raises, or is interrupted, leave its object as it was.

    Every attribute that the method set, changed or deleted is what it was before; an
    object that an attribute refers to must not be changed in place.
    """

    @wraps(fit)
    def guarded(self: Model, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return guarded
