"""From the words of the command line to an estimator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_CLASSES = {
    "ekss": "EKSS",
    "paper": "PaperEKSS",
    "kss": "KSS",
    "copkss": "CoPKSS",
    "mkf": "MedianKFlats",
    "tsc": "TSC",
    "ssc": "SSC",
    "sscomp": "SSCOMP",
    "ensc": "EnSC",
}
_PARAMETERS = {
    "dim": "subspace_dim",
    "q": "n_neighbors",
    "members": "n_members",
    "candidates": "n_candidates",
    "affine": "affine",
    "remove": "remove_components",
    "max_samples": "max_samples",
    "memory_limit": "memory_limit",
}


class Method(StrEnum):
    """The methods, by the names that users type."""

    EKSS = "ekss"
    PAPER = "paper"
    KSS = "kss"
    COPKSS = "copkss"
    MKF = "mkf"
    TSC = "tsc"
    SSC = "ssc"
    SSCOMP = "sscomp"
    ENSC = "ensc"


@dataclass(frozen=True)
class Settings:
    """What the command line says of a method; None where it says nothing."""

    dim: int | tuple[int, int] | None = None
    q: int | None = None
    members: int | str | None = None
    candidates: int | tuple[int, int] | None = None
    affine: bool | None = None
    remove: int | str | None = None
    max_samples: int | None = None
    memory_limit: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the settings that were made."""
        return {
            name: getattr(self, name)
            for name in _PARAMETERS
            if getattr(self, name) is not None
        }


def options_of(method: str) -> tuple[str, ...]:
    """Return the names of the settings that a method has."""
    known = set(estimator_class(method)().get_params())
    if "member" in known:
        known.add("n_candidates")
    return tuple(name for name, word in _PARAMETERS.items() if word in known)


def has_subspaces(method: str) -> bool:
    """Tell whether the method ends in subspaces, which new points can be put to."""
    return hasattr(estimator_class(method), "predict")


def make_estimator(
    method: str,
    clusters: int | str,
    settings: Settings,
    *,
    seed: int,
    jobs: int,
    show: bool,
) -> Any:
    """Return the unfitted estimator, or refuse settings that the method has not."""
    _refuse_foreign(method, settings)
    if clusters == "auto" and method != "ekss":
        raise ValueError(
            f"-k auto is not known to method {method}; pass a number, or use method "
            "ekss"
        )
    params = {_PARAMETERS[name]: value for name, value in settings.given().items()}
    if method == "ekss" and "n_candidates" in params:
        from ekss import KSSMember

        params["member"] = KSSMember(params.pop("n_candidates"))
    return estimator_class(method)(
        n_clusters=clusters,
        random_state=seed,
        n_jobs=jobs,
        verbose=int(show),
        **params,
    )


def refuse_auto(method: str, settings: Settings) -> None:
    """Refuse --auto where it contradicts a setting or the method has nothing to set."""
    for name in ("dim", "q"):
        if name in settings.given():
            raise ValueError(
                f"--auto together with --{name}: --auto chooses dimension and q from "
                f"the data; leave out one of the two"
            )
    if not {"dim", "q"} & set(options_of(method)):
        raise ValueError(
            f"--auto is not known to method {method}, which chooses nothing from the "
            f"data; leave it out, or use method ekss"
        )


def in_options(text: str) -> str:
    """Write the names of parameters in a message as those of the options."""
    options = {word: option_of(name) for name, word in _PARAMETERS.items()}
    options |= {"n_clusters": "-k", "n_jobs": "--jobs", "random_state": "--seed"}
    for word, option in options.items():
        text = re.sub(rf"\b{word}=", f"{option} ", text)
    return text


def option_of(name: str) -> str:
    """Return the option of a setting."""
    return f"--{name.replace('_', '-')}"


def estimator_class(method: str) -> Any:
    """Return the estimator of this name."""
    import ekss.estimators

    return getattr(ekss.estimators, _CLASSES[method])


def _refuse_foreign(method: str, settings: Settings) -> None:
    known = options_of(method)
    for name in settings.given():
        if name not in known:
            others = [other for other in _CLASSES if name in options_of(other)]
            raise ValueError(
                f"{option_of(name)} is not known to method {method}; leave it out, or "
                f"use method {_listed(others)}"
            )


def _listed(words: list[str]) -> str:
    """Write a, b or c."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
