"""From options to features and estimators, and how clusterings are measured.

Imports NumPy; commands import this module when they run, not to show help.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.cli._options import Method, Step
from ekss.cli._output import Voice
from ekss.cli._reading import Read, Source, read
from ekss.core.bases import Flats, fit_clusters, group_rows, squared_residuals
from ekss.core.scaling import unit_rows
from ekss.methods import CLASSES, imported

_PARAMETERS = {
    "dim": "subspace_dim",
    "q": "n_neighbors",
    "members": "n_members",
    "candidates": "n_candidates",
    "max_iter": "max_iter",
    "affine": "affine",
    "remove": "remove_components",
    "max_samples": "max_samples",
    "memory_limit": "memory_limit",
}
# Parameters that EKSS has in its ``member``.
_OF_MEMBERS = ("n_candidates", "max_iter")
# Smallest share of the energy that counts: below it are rounding errors of exact fits.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Settings:
    """What the command line sets of a method; None where it says nothing."""

    dim: int | tuple[int, int] | None = None
    q: int | None = None
    members: int | str | None = None
    candidates: int | tuple[int, int] | None = None
    max_iter: int | None = None
    affine: bool | None = None
    remove: int | str | None = None
    max_samples: int | None = None
    memory_limit: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the settings that were made, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def known_to(self, method: str) -> Settings:
        """Return the settings that a method has."""
        known = options_of(method)
        return Settings(**{k: v for k, v in self.given().items() if k in known})


def options_of(method: str) -> tuple[str, ...]:
    """Return the names of the settings that a method has."""
    known = set(_class_of(method)().get_params())
    if "member" in known:
        known.update(_OF_MEMBERS)
    return tuple(name for name, word in _PARAMETERS.items() if word in known)


def has_subspaces(method: str) -> bool:
    """Whether the method ends in subspaces, to which new points can be assigned."""
    return hasattr(_class_of(method), "predict")


def check_model(method: str) -> None:
    """Refuse --model where the method has no subspaces to save."""
    if not has_subspaces(method):
        others = [name for name in Method if has_subspaces(name)]
        raise ValueError(
            f"--model is not known to method {method}, which finds no subspaces to "
            f"assign new points to; leave it out, or use method {_any_of(others)}"
        )


def check_auto(method: str, settings: Settings) -> None:
    """Refuse --auto where it contradicts a setting, or there is nothing to choose."""
    for name in ("dim", "q"):
        if name in settings.given():
            raise ValueError(
                f"--auto together with --{name}: --auto chooses dimension and q from "
                f"the data; leave out one of the two"
            )
    if method == "paper" or not {"dim", "q"} & set(options_of(method)):
        raise ValueError(
            f"--auto is not known to method {method}, which chooses nothing from the "
            f"data; leave it out, or use method ekss"
        )


def in_options(text: str) -> str:
    """Write the names of parameters in a message as those of the options."""
    options = {word: _option(name) for name, word in _PARAMETERS.items()}
    options |= {"n_clusters": "-k", "n_jobs": "--jobs", "random_state": "--seed"}
    for word, option in options.items():
        text = re.sub(rf"\b{word}=", f"{option} ", text)
    return text


def _class_of(method: str) -> Any:
    return imported(CLASSES[method])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _any_of(words: Sequence[str]) -> str:
    """Write a, b or c."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


@dataclass(frozen=True)
class Features:
    """What the estimator sees, and the fitted transformers that made it."""

    rows: NDArray[np.floating]
    transformers: tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    """What ``cluster`` and ``compare`` have in common: data, settings, steps."""

    source: Source
    clusters: int | str
    settings: Settings
    steps: tuple[Step, ...]
    seed: int
    jobs: int

    def estimator(self, method: str, settings: Settings, *, show: bool) -> Any:
        """Return the unfitted estimator; refuse settings that it does not have."""
        known = options_of(method)
        for name in settings.given():
            if name not in known:
                others = [other for other in Method if name in options_of(other)]
                raise ValueError(
                    f"{_option(name)} is not known to method {method}; leave it out, "
                    f"or use method {_any_of(others)}"
                )
        if self.clusters == "auto" and method != "ekss":
            raise ValueError(
                f"-k auto is not known to method {method}; pass a number, or use "
                "method ekss"
            )
        params = {_PARAMETERS[name]: value for name, value in settings.given().items()}
        if method == "ekss":
            from ekss import KSSMember

            told = {name: params.pop(name) for name in _OF_MEMBERS if name in params}
            params["member"] = KSSMember(**told) if told else None
        return _class_of(method)(
            n_clusters=self.clusters,
            random_state=self.seed,
            n_jobs=self.jobs,
            verbose=int(show),
            **params,
        )

    def read(self, voice: Voice) -> Read:
        """Read everything; refuse more clusters or dimensions than there can be."""
        with voice.waiting(f"reading {self.source.data}"):
            found = read(self.source)
        n, n_features = found.shape
        if isinstance(self.clusters, int) and self.clusters > n:
            raise ValueError(
                f"-k {self.clusters} exceeds the {n} points of {found.points.source}; "
                f"choose at most {n}"
            )
        if not self.steps:
            self._check_dim(n_features)
        return found

    def prepare(self, found: Read, voice: Voice) -> Features:
        """Fit and apply the steps of --preprocess one after the other."""
        rows, fitted = found.points.points, []
        with voice.waiting("preparing"):
            for step in self.steps:
                transformer = _transformer(step, found.points.image_shape, self.jobs)
                try:
                    rows = transformer.fit_transform(rows)
                except (ValueError, TypeError) as error:
                    raise ValueError(f"--preprocess {step.word}: {error}") from error
                fitted.append(transformer)
        self._check_dim(rows.shape[1])
        return Features(rows, tuple(fitted))

    def as_dict(self, found: Read) -> dict[str, Any]:
        """Return what was asked, for JSON."""
        return {
            "data": found.as_dict(),
            "preprocess": [step.word for step in self.steps],
            "settings": self.settings.given(),
            "seed": self.seed,
        }

    def _check_dim(self, n_features: int) -> None:
        """Refuse more dimensions than there are features after preprocessing."""
        dim = self.settings.dim
        largest = max(dim) if isinstance(dim, tuple) else dim
        if largest is not None and largest > n_features:
            raise ValueError(
                f"--dim {largest} exceeds the {n_features} features; choose at most "
                f"{n_features}"
            )


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


@dataclass(frozen=True)
class ClusterRow:
    """One line of the table of clusters; ``energy`` is None for an empty cluster."""

    cluster: int
    size: int
    dim: int
    energy: float | None


def score(
    true: NDArray[np.int64] | None, labels: NDArray[np.int64]
) -> dict[str, float] | None:
    """Return how well labels agree with the true ones, if those are known."""
    from ekss.metrics import adjusted_rand, clustering_error, normalized_mutual_info

    if true is None:
        return None
    return {
        "error": float(clustering_error(true, labels)),
        "nmi": float(normalized_mutual_info(true, labels)),
        "ari": float(adjusted_rand(true, labels)),
    }


def cluster_rows(
    estimator: Any, rows: NDArray[np.floating], seed: int
) -> list[ClusterRow]:
    """Return size, dimension and captured energy of every cluster.

    The subspaces are the estimator's. For an estimator without, subspaces of one
    dimension, estimated from the points, are fitted to the clusters.
    """
    points = estimator.preparation_(rows.astype(np.float64))
    labels, k = estimator.labels_, int(estimator.n_clusters_)
    if hasattr(estimator, "bases_"):
        flats = estimator.preparation_.inwards(
            Flats(estimator.bases_, estimator.offsets_)
        )
    else:
        affine = bool(getattr(estimator, "affine_", False))
        dim = _common_dim(rows, k, seed)
        flats = fit_clusters(points, labels, k, dim, affine=affine, seed=seed)
    return [
        ClusterRow(number, len(own), flats.bases.shape[2], _energy(own, flat))
        for number, (own, flat) in enumerate(_by_cluster(points, labels, flats))
    ]


def residual_share(
    rows: NDArray[np.floating],
    labels: NDArray[np.int64],
    dims: Sequence[int],
    *,
    affine: bool,
    seed: int,
) -> float:
    """Return the share of the energy outside subspaces fitted to the clusters.

    For several dimensions it is the geometric mean, so that each counts by the ratio
    between methods: a dimension that is too low leaves much of the energy outside
    whatever the labels are, and must not outweigh the others. The measure is the same
    for all methods, and at one dimension it is the cost that K-subspaces minimises.
    """
    points = _as_judged(rows, affine=affine)
    shares = [_share_outside(points, labels, dim, affine, seed) for dim in dims]
    if len(shares) == 1:
        return shares[0]
    return float(np.exp(np.log(np.maximum(shares, _LEAST_SHARE)).mean()))


def judged_dims(
    rows: NDArray[np.floating], clusters: int, *, affine: bool, seed: int
) -> tuple[int, ...]:
    """Return the dimensions that subspaces may have, as EKSS estimates them."""
    from ekss.ensemble import estimate_geometry
    from ekss.runtime.workers import one_blas_thread

    points = _as_judged(rows, affine=affine)
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        found = estimate_geometry(points, clusters, rng, affine=affine)
    return tuple(range(found.low, found.high + 1))


def _common_dim(rows: NDArray[np.floating], clusters: int, seed: int) -> int:
    """Estimate one dimension for all subspaces."""
    from ekss.ensemble import estimate_dim
    from ekss.runtime.workers import one_blas_thread

    rng = np.random.default_rng(seed)
    # Threads that wait for each other make many small decompositions slow.
    with one_blas_thread():
        return estimate_dim(unit_rows(rows), clusters, rng)


def _as_judged(rows: NDArray[np.floating], *, affine: bool) -> NDArray[np.floating]:
    """Scale rows to unit length for linear subspaces, centre them for affine ones."""
    exact = rows.astype(np.float64)
    return exact - exact.mean(axis=0) if affine else unit_rows(exact)


def _share_outside(
    points: NDArray[np.floating],
    labels: NDArray[np.int64],
    dim: int,
    affine: bool,
    seed: int,
) -> float:
    k = int(labels.max()) + 1
    flats = fit_clusters(points, labels, k, dim, affine=affine, seed=seed)
    outside = sum(
        float(squared_residuals(own, flat).sum())
        for own, flat in _by_cluster(points, labels, flats)
    )
    total = float(np.square(points).sum())
    return outside / total if total > 0 else 0.0


def _by_cluster(
    points: NDArray[np.floating], labels: NDArray[np.int64], flats: Flats
) -> list[tuple[NDArray[np.floating], Flats]]:
    """Return the points of every cluster with the cluster's subspace."""
    bases, offsets = flats.bases.astype(np.float64), flats.offsets
    return [
        (
            points[rows],
            Flats(bases[[k]], None if offsets is None else offsets[[k]]),
        )
        for k, rows in enumerate(group_rows(labels, len(bases)))
    ]


def _energy(points: NDArray[np.floating], flat: Flats) -> float | None:
    """Return the share of the points' energy that lies in the subspace.

    For an affine subspace, the energy about the mean of the points.
    """
    if not len(points):
        return None
    centred = points if flat.offsets is None else points - points.mean(axis=0)
    total = float(np.square(centred).sum())
    outside = float(squared_residuals(points, flat).sum())
    return max(0.0, 1 - outside / total) if total > 0 else None
