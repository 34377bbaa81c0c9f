"""The steps of --preprocess, fitted in the order in which they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KNOWN = "unit, remove:N, pca:N, svd:N, scatter or scatter:J"


@dataclass(frozen=True)
class Step:
    """One word of --preprocess."""

    name: str
    number: int | None = None

    @property
    def word(self) -> str:
        """What the user wrote."""
        return self.name if self.number is None else f"{self.name}:{self.number}"


@dataclass(frozen=True)
class Features:
    """What the estimator sees, and the fitted transformers that made it."""

    rows: NDArray[np.floating]
    transformers: tuple[Any, ...]


def steps_of(text: str | None) -> tuple[Step, ...]:
    """Read a comma list such as ``unit,remove:2,pca:50``."""
    if text is None:
        return ()
    return tuple(_step(word.strip()) for word in text.split(","))


def prepare(
    points: NDArray[np.floating],
    steps: tuple[Step, ...],
    *,
    image_shape: tuple[int, int] | None,
    jobs: int,
) -> Features:
    """Fit and apply the steps one after the other."""
    rows, fitted = points, []
    for step in steps:
        transformer = _transformer(step, image_shape, jobs)
        try:
            rows = transformer.fit_transform(rows)
        except (ValueError, TypeError) as error:
            raise ValueError(f"--preprocess {step.word}: {error}") from error
        fitted.append(transformer)
    return Features(rows, tuple(fitted))


def _step(word: str) -> Step:
    match = re.fullmatch(r"([a-z]+)(?::([0-9]+))?", word)
    if match is None or match[1] not in ("unit", "remove", "pca", "svd", "scatter"):
        raise ValueError(f"--preprocess has {word!r}; choose from {_KNOWN}")
    name, number = match[1], None if match[2] is None else int(match[2])
    if name == "unit" and number is not None:
        raise ValueError(f"--preprocess has {word!r}; unit takes no number")
    if name in ("remove", "pca", "svd") and number is None:
        raise ValueError(f"--preprocess has {word!r}; say how many, such as {name}:2")
    return Step(name, number)


def _transformer(step: Step, image_shape: tuple[int, int] | None, jobs: int) -> Any:
    from ekss.preprocessing import (
        PrincipalComponents,
        RemoveComponents,
        Scattering2D,
        UnitRows,
    )

    number = step.number
    if step.name == "scatter":
        transformer = Scattering2D(image_shape=image_shape, n_jobs=jobs)
        return transformer if number is None else transformer.set_params(J=number)
    if number is None:
        return UnitRows()
    if step.name == "remove":
        return RemoveComponents(number)
    return PrincipalComponents(number, center=step.name == "pca")
