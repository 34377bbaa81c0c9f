"""From options to features and estimators, and how clusterings are measured.

Imports NumPy; commands import this module when they run, not to show help.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.cli._options import Method, Step, check_jobs, check_seed
from ekss.cli._output import Voice
from ekss.cli._reading import Read, Source, read
from ekss.core.linalg import (
    Flats,
    fit_clusters,
    group_rows,
    squared_residuals,
    unit_rows,
)
from ekss.ensemble import estimate_dim, estimate_geometry
from ekss.methods import CLASSES, imported
from ekss.runtime.rows import block_rows, give_back
from ekss.runtime.workers import one_blas_thread

_PARAMETERS = {
    "dim": "subspace_dim",
    "q": "n_neighbors",
    "members": "n_members",
    "candidates": "n_candidates",
    "max_iter": "max_iter",
    "affine": "affine",
    "whiten": "whiten",
    "as_images": "image_shape",
    "second_opinion": "second_opinion",
    "outliers": "outliers",
    "max_samples": "max_samples",
    "memory_limit": "memory_limit",
}
# Parameters that EKSS has in its ``member``.
_OF_MEMBERS = ("n_candidates", "max_iter")
# Smallest share of the energy that counts: below it are rounding errors of exact fits.
_LEAST_SHARE = 1e-12


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings that the command line makes; None says nothing."""
    return {name: value for name, value in settings.items() if value is not None}


def options_of(method: str) -> tuple[str, ...]:
    """Return the names of the settings that a method has."""
    known = set(_class_of(method)().get_params())
    if "member" in known:
        known.update(_OF_MEMBERS)
    return tuple(name for name, word in _PARAMETERS.items() if word in known)


def check_model(method: str) -> None:
    """Refuse --model where the method has no subspaces to assign new points to."""
    known = [name for name in Method if hasattr(_class_of(name), "predict")]
    if method not in known:
        why = ", which finds no subspaces to assign new points to"
        raise _not_known("--model", method, known, why)


def check_missing(method: str, missing: str) -> None:
    """Refuse --missing observed where the method needs all entries."""
    known = [name for name in Method if "missing" in _class_of(name)().get_params()]
    if missing == "observed" and method not in known:
        why = ", which needs all entries"
        raise _not_known("--missing observed", method, known, why)


def check_auto(method: str, settings: Mapping[str, Any]) -> None:
    """Refuse --auto where it contradicts a setting, or there is nothing to choose."""
    for name in ("dim", "q"):
        if name in settings:
            raise ValueError(
                f"--auto together with --{name}: --auto chooses dimension and q from "
                "the data; leave out one of the two"
            )
    if method == "paper" or not {"dim", "q"} & set(options_of(method)):
        why = ", which chooses nothing from the data"
        raise _not_known("--auto", method, ["ekss"], why)


def in_options(text: str) -> str:
    """Write the names of parameters in a message as those of the options."""
    for word, option in _options().items():
        text = re.sub(rf"\b{word}=", f"{option} ", text)
        if "_" in word:  # others are words of the language as well
            text = re.sub(rf"\b{word}\b", option, text)
    return text.replace("predict()", "ekss predict")


def as_words(params: Mapping[str, Any]) -> list[str]:
    """Write parameters as words of a command line; those without option are left out.

    A pair of numbers is a range; affine=False is --linear.
    """
    words, options = [], _options()
    for name, value in params.items():
        if name == "affine":
            words.append("--affine" if value else "--linear")
        elif name == "second_opinion":
            words.append("--second-opinion" if value else "--no-second-opinion")
        elif name == "image_shape":
            words += [options[name]] if value else []
        elif name in options:
            shown = "-".join(map(str, value)) if isinstance(value, tuple) else value
            words += [options[name], str(shown)]
    return words


def _options() -> dict[str, str]:
    """Options of the command line by the names of parameters."""
    options = {word: _option(name) for name, word in _PARAMETERS.items()}
    return options | {
        "n_clusters": "-k",
        "n_jobs": "--jobs",
        "random_state": "--seed",
    }


def _class_of(method: str) -> Any:
    return imported(CLASSES[method])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _not_known(
    option: str, method: str, others: Sequence[str], why: str = ""
) -> ValueError:
    """Return the error that names the methods which have this option."""
    words = " or ".join(filter(None, (", ".join(others[:-1]), others[-1])))
    return ValueError(
        f"{option} is not known to method {method}{why}; leave it out, or use method "
        f"{words}"
    )


@dataclass(frozen=True)
class Task:
    """What ``cluster`` and ``compare`` have in common: data, settings, steps."""

    source: Source
    clusters: int | str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]
    seed: int
    jobs: int

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_jobs(self.jobs)

    def estimator(self, method: str, *, show: bool, strict: bool = True) -> Any:
        """Return the unfitted estimator; refuse or ignore settings that it lacks."""
        known = options_of(method)
        for name in self.settings:
            if strict and name not in known:
                others = [other for other in Method if name in options_of(other)]
                raise _not_known(_option(name), method, others)
        if self.clusters == "auto" and method != "ekss":
            raise ValueError(
                f"-k auto is not known to method {method}; pass a number, or use "
                "method ekss"
            )
        made = {name: v for name, v in self.settings.items() if name in known}
        made.pop("as_images", None)  # their size is known when they have been read
        params = {_PARAMETERS[name]: value for name, value in made.items()}
        if method == "ekss":
            from ekss import KSSMember

            told = {name: params.pop(name) for name in _OF_MEMBERS if name in params}
            params["member"] = KSSMember(**told) if told else None
            if self.source.in_blocks:  # the reader has not seen all rows
                params["missing"] = "error"
        return _class_of(method)(
            n_clusters=self.clusters,
            random_state=self.seed,
            n_jobs=self.jobs,
            verbose=int(show),
            **params,
        )

    def sized(self, estimator: Any, found: Read) -> Any:
        """Tell the estimator the size of the images, if it is to see them as such."""
        if not self.settings.get("as_images"):
            return estimator
        shape = found.points.image_shape
        if shape is None:
            raise ValueError(
                f"--as-images: {found.points.source} does not tell the size of its "
                "images; pass --image-size, such as 32x24, or a directory of images"
            )
        if self.steps:
            raise ValueError(
                "--as-images together with --preprocess: images are seen by their own "
                "pixels; leave out one of the two"
            )
        return estimator.set_params(image_shape=shape)

    def again(self, command: str, changes: Mapping[str, Any], *rest: str) -> str:
        """Write the command that repeats the task with some parameters changed.

        ``rest`` are further words of it. What has its default is left out.
        """
        params = {_PARAMETERS[name]: value for name, value in self.settings.items()}
        params = {"n_clusters": self.clusters, **params, **changes}
        words = ["ekss", command, str(self.source.data), *as_words(params), *rest]
        if self.steps:
            words += ["--preprocess", ",".join(step.word for step in self.steps)]
        if self.seed:
            words += ["--seed", str(self.seed)]
        return shlex.join([*words, *self.source.words])

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

    def prepare(
        self, found: Read, voice: Voice
    ) -> tuple[NDArray[np.floating], list[Any]]:
        """Fit and apply the steps of --preprocess one after the other.

        Return what the estimator sees, and the fitted transformers that made it.
        """
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
        return rows, fitted

    def summary(self, found: Read) -> dict[str, Any]:
        """Return what was asked, for JSON."""
        return {
            "data": found.as_dict(),
            "preprocess": [step.word for step in self.steps],
            "settings": self.settings,
            "seed": self.seed,
        }

    def _check_dim(self, n_features: int) -> None:
        """Refuse more dimensions than there are features after preprocessing."""
        dim = self.settings.get("dim")
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
        WhitenedComponents,
    )

    number = step.number
    if step.name == "scatter":
        transformer = Scattering2D(image_shape=image_shape, n_jobs=jobs)
        return transformer if number is None else transformer.set_params(J=number)
    if number is None:
        return UnitRows()
    if step.name == "remove":
        return RemoveComponents(number)
    if step.name == "whiten":
        return WhitenedComponents(number)
    return PrincipalComponents(number, center=step.name == "pca")


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


def chosen_by(estimator: Any) -> dict[str, Any]:
    """Return the settings that a fit has used, given or chosen, by their options.

    What a method does not have is left out.
    """
    parameters = estimator.get_params(deep=False)
    found: dict[str, Any] = {"clusters": int(estimator.n_clusters_)}
    for name, word in _PARAMETERS.items():
        if word == "whiten" and hasattr(estimator, "n_directions_"):
            found[name] = estimator.n_directions_
        elif hasattr(estimator, f"{word}_"):
            value = getattr(estimator, f"{word}_")
            found[name] = value.item() if isinstance(value, np.generic) else value
        elif word == "max_samples" and hasattr(estimator, "sample_"):
            sample = estimator.sample_
            found[name] = len(estimator.labels_) if sample is None else len(sample)
        elif isinstance(parameters.get(word), (int, float, bool)):
            found[name] = parameters[word]
    return found


def cluster_rows(
    estimator: Any, rows: NDArray[np.floating], seed: int
) -> list[dict[str, Any]]:
    """Return size, dimension and captured energy of every cluster, without outliers.

    The energy is None where points are missing or zero. The subspaces are the
    estimator's. For an estimator without, subspaces of one dimension, estimated from
    the points, are fitted to the clusters.
    """
    labels, k = estimator.labels_, int(estimator.n_clusters_)
    prepare = estimator.preparation_
    if hasattr(estimator, "bases_"):
        flats = prepare.inwards(Flats(estimator.bases_, estimator.offsets_))
    else:
        affine = bool(getattr(estimator, "affine_", False))
        rng = np.random.default_rng(seed)
        # Threads that wait for each other make many small decompositions slow.
        with one_blas_thread():
            points = prepare(rows.astype(np.float64))
            dim = estimate_dim(unit_rows(points), k, rng)
        flats = fit_clusters(points, labels, k, dim, affine=affine, seed=seed)
    totals, outside = np.zeros(k), np.zeros(k)
    centres = _centres(rows, labels, prepare, flats)
    for own, block in _blocks(rows, labels, prepare):
        for number, (some, lost) in enumerate(_by_cluster(block, own, flats)):
            totals[number] += np.square(some - centres[number]).sum()
            outside[number] += lost
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    return [
        {
            "cluster": number,
            "size": int(sizes[number]),
            "dim": int(flats.dims[number]),
            "energy": 1 - min(1.0, outside[number] / total) if total else None,
        }
        for number, total in enumerate(totals.tolist())
    ]


def _blocks(
    rows: NDArray[Any], labels: NDArray[np.int64], prepare: Any
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.floating]]]:
    """Yield labels and prepared points, block by block, without outliers."""
    height = block_rows(rows.shape[1])
    for first in range(0, len(rows), height):
        own = labels[first : first + height]
        block = prepare(np.array(rows[first : first + height], np.float64))
        give_back(rows)
        yield own[own >= 0], block[own >= 0]


def _centres(
    rows: NDArray[Any], labels: NDArray[np.int64], prepare: Any, flats: Flats
) -> NDArray[np.float64]:
    """Return where the energy of a cluster is counted from.

    For linear subspaces that is the origin, for affine ones the mean of the points.
    """
    k, _, _ = flats.bases.shape
    sums = np.zeros((k, flats.bases.shape[1]))
    if flats.offsets is None:
        return sums
    for own, block in _blocks(rows, labels, prepare):
        for number, members in enumerate(group_rows(own, k)):
            sums[number] += block[members].sum(axis=0)
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    return sums / np.maximum(sizes, 1)[:, None]


def judged_dims(
    points: NDArray[np.floating], clusters: int, *, affine: bool, seed: int
) -> tuple[int, ...]:
    """Return the dimensions that subspaces may have, as EKSS estimates them."""
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        found = estimate_geometry(points, clusters, rng, affine=affine)
    return tuple(range(found.low, found.high + 1))


def residual_share(
    points: NDArray[np.floating],
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
    k, total = int(labels.max()) + 1, float(np.square(points).sum())
    shares = []
    for dim in dims:
        flats = fit_clusters(points, labels, k, dim, affine=affine, seed=seed)
        outside = sum(lost for _, lost in _by_cluster(points, labels, flats))
        shares.append(outside / total if total > 0 else 0.0)
    if len(shares) == 1:
        return shares[0]
    return float(np.exp(np.log(np.maximum(shares, _LEAST_SHARE)).mean()))


def as_judged(rows: NDArray[np.floating], *, affine: bool) -> NDArray[np.floating]:
    """Scale rows to unit length for linear subspaces, centre them for affine ones."""
    exact = rows.astype(np.float64)
    return exact - exact.mean(axis=0) if affine else unit_rows(exact)


def _by_cluster(
    points: NDArray[np.floating], labels: NDArray[np.int64], flats: Flats
) -> Iterator[tuple[NDArray[np.floating], float]]:
    """Yield the points of every cluster, and their energy outside its subspace."""
    bases, offsets = flats.bases.astype(np.float64), flats.offsets
    for k, rows in enumerate(group_rows(labels, len(bases))):
        flat = Flats(bases[[k]], None if offsets is None else offsets[[k]])
        yield points[rows], float(squared_residuals(points[rows], flat).sum())
