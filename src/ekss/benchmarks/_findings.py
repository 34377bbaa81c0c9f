"""What the paper found in its figures, checked on rows: a number and a verdict each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ekss.benchmarks._trials import Place, Trial, mean_errors

# Percent of error up to which a problem counts as solved.
SOLVED = 5.0
# Points on average that count as the same performance.
SAME = 5.0
# Dimensions that count as large in a space of 100.
_LARGE = 50
# Weight of the noise term of SSC that lets it fit points almost exactly.
EXACT_ALPHA = 1e6
# Rise of a similarity that is no noise.
RISE = 0.02


@dataclass(frozen=True)
class Finding:
    """A statement of the paper and what our rows say of it.

    Attributes
    ----------
    claim : str
        The paper's statement.
    holds : bool
    measured : str
        A sentence with our numbers.
    """

    claim: str
    holds: bool
    measured: str


@dataclass(frozen=True)
class Curve:
    """Similarity of pairs against their angle, after one reduction.

    Attributes
    ----------
    reduction : str
    seed : int
    angles, similarity, spread : tuple of float
        Means of bins, and standard deviations of the similarity.
    expected : tuple of float
        Probabilities of Lemma 3, or empty.
    """

    reduction: str
    seed: int
    angles: tuple[float, ...]
    similarity: tuple[float, ...]
    spread: tuple[float, ...]
    expected: tuple[float, ...] = ()


def figure1_findings(
    trials: Sequence[Trial], published: Mapping[int, float]
) -> list[Finding]:
    """Check that 50 members cluster without error.

    Parameters
    ----------
    trials : sequence of Trial
        Settings are "B=1" and so on; seed 0 is the instance shown.
    published : mapping of int to float
        The paper's errors by the number of members.
    """
    if not trials:
        return []
    errors: dict[str, list[float]] = {}
    for trial in sorted(trials, key=lambda trial: trial.seed):
        errors.setdefault(trial.setting, []).append(trial.error)
    most = max(published)
    names = {count: f"B={count}" for count in sorted(published)}
    paper = _listed(f"{published[count]:.0f} %" for count in names)
    shown = _listed(f"{errors[name][0]:.1f} %" for name in names.values())
    means = _listed(f"{fmean(errors[name]):.1f} %" for name in names.values())
    counts = _listed(str(count) for count in names)
    settled = errors[names[most]]
    right = sum(error == 0 for error in settled)
    return [
        Finding(
            f"With {most} members there is no error; the paper's instance has {paper} "
            f"with {counts} members.",
            settled[0] == published[most],
            f"The instance shown has {shown}. The means over all instances are "
            f"{means}; with {most} members {right} of {len(settled)} have no error.",
        )
    ]


def figure2_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Check where the similarity falls with the angle."""
    mean = mean_curves(curves)
    until = {name: falls_until(curve) for name, curve in mean.items()}
    found = []
    linear = [name for name in ("full", "gaussian") if name in mean]
    if len(linear) == 2:
        ends = {name: mean[name].angles[-1] for name in linear}
        found.append(
            Finding(
                "On full data and after a Gaussian projection the similarity falls "
                "with the angle.",
                all(until[name] == ends[name] for name in linear),
                f"It falls up to {until['full']:.2f} radians on full data and up to "
                f"{until['gaussian']:.2f} after the projection; the last bin is at "
                f"{ends['full']:.2f}.",
            )
        )
    if "umap" in mean:
        umap = mean["umap"]
        found.append(
            Finding(
                "After UMAP the similarity falls at least up to 0.2 radians, which is "
                "about where the paper's curve stops falling.",
                until["umap"] >= 0.2,
                f"It falls up to {until['umap']:.2f} radians, from "
                f"{umap.similarity[0]:.2f} in the first bin to "
                f"{min(umap.similarity):.2f}.",
            )
        )
    if "full" in mean and mean["full"].expected:
        full = mean["full"]
        pairs = zip(full.similarity, full.expected, strict=True)
        gap = max(abs(ours - expected) for ours, expected in pairs)
        found.append(
            Finding(
                "The similarity estimates the probability of Lemma 3.",
                gap <= RISE,
                f"The largest difference in a bin is {gap:.3f}.",
            )
        )
    return found


def figure3_findings(trials: Iterable[Trial]) -> list[Finding]:
    """Check the paper's findings on noise-free subspaces."""
    means = mean_errors(trials)
    most = max((place.n_per_subspace for place in means), default=0)
    found = [
        _same_as_tsc(means, ("dimension", "angle")),
        _larger_dims(means, most),
        _smaller_angles(means, "angle", most, ("tsc", "ssc")),
        _whatever_alpha(means, most),
        _moderate_counts(means),
    ]
    return [one for one in found if one is not None]


def figure4_findings(trials: Iterable[Trial]) -> list[Finding]:
    """Check the paper's two findings on noisy subspaces."""
    means = mean_errors(trials)
    most = max((place.n_per_subspace for place in means), default=0)
    found = [
        _same_as_tsc(means, ("noisy",)),
        _smaller_angles(means, "noisy", most, ("ssc",)),
    ]
    return [one for one in found if one is not None]


def mean_curves(curves: Iterable[Curve]) -> dict[str, Curve]:
    """Average the curves of all seeds, bin by bin."""
    groups: dict[str, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(curve.reduction, []).append(curve)

    def average(lines: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
        return tuple(fmean(values) for values in zip(*lines, strict=True))

    return {
        name: Curve(
            name,
            min(curve.seed for curve in group),
            average(curve.angles for curve in group),
            average(curve.similarity for curve in group),
            average(curve.spread for curve in group),
            average(curve.expected for curve in group),
        )
        for name, group in groups.items()
    }


def falls_until(curve: Curve, rise: float = RISE) -> float:
    """Return the last angle up to which the similarity never rises by more than that.

    Examples
    --------
    >>> falls_until(Curve("umap", 0, (0.1, 0.2, 0.3), (0.9, 0.5, 0.7), (0, 0, 0)))
    0.2
    """
    lowest, last = curve.similarity[0], curve.angles[0]
    for angle, similarity in zip(curve.angles, curve.similarity, strict=True):
        if similarity > lowest + rise:
            break
        lowest, last = min(lowest, similarity), angle
    return last


def smallest_angle(
    means: Mapping[Place, float], panel: str, method: str, n_per_subspace: int
) -> float | None:
    """Return the angle from which on all errors are at most 5 percent, or None."""
    line = {
        place.angle: error
        for place, error in means.items()
        if place[:3] == (panel, method, n_per_subspace) and place.angle is not None
    }
    solved = _solved_from(sorted(line.items(), reverse=True))
    return solved[-1] if solved else None


def largest_dim(
    means: Mapping[Place, float], method: str, n_per_subspace: int
) -> int | None:
    """Return the dimension up to which all errors are at most 5 percent, or None."""
    line = {
        place.dim: error
        for place, error in means.items()
        if place[:3] == ("dimension", method, n_per_subspace)
    }
    solved = _solved_from(sorted(line.items()))
    return int(solved[-1]) if solved else None


def _solved_from(line: Sequence[tuple[float, float]]) -> list[float]:
    solved = []
    for value, error in line:
        if error > SOLVED:
            break
        solved.append(value)
    return solved


def _same_as_tsc(means: Mapping[Place, float], panels: Sequence[str]) -> Finding | None:
    pairs = [
        (error, means[place._replace(method="tsc")])
        for place, error in means.items()
        if place.method == "ekss0"
        and place.panel in panels
        and place._replace(method="tsc") in means
    ]
    if not pairs:
        return None
    apart = fmean(abs(zero - tsc) for zero, tsc in pairs)
    zero, tsc = (fmean(values) for values in zip(*pairs, strict=True))
    return Finding(
        "EKSS-0 and TSC perform about the same.",
        apart <= SAME,
        f"Over {len(pairs)} points the mean error is {zero:.1f} % for EKSS-0 and "
        f"{tsc:.1f} % for TSC, and point by point they are {apart:.1f} points apart on "
        f"average (at most {SAME:.0f} counts as the same).",
    )


def _larger_dims(means: Mapping[Place, float], most: int) -> Finding | None:
    ours, tsc = (largest_dim(means, method, most) for method in ("ekss", "tsc"))
    if not any(place.panel == "dimension" for place in means):
        return None
    return Finding(
        "With many points a subspace EKSS works at larger dimensions than TSC.",
        (ours or 0) > (tsc or 0),
        f"With N_k = {most} the mean error is at most {SOLVED:.0f} % up to "
        f"d = {_told(ours)} for EKSS and up to d = {_told(tsc)} for TSC.",
    )


def _smaller_angles(
    means: Mapping[Place, float], panel: str, most: int, others: Sequence[str]
) -> Finding | None:
    if not any(place.panel == panel for place in means):
        return None
    from ekss.benchmarks._simulations import METHODS

    names = ("ekss", *others)
    found = {name: smallest_angle(means, panel, name, most) for name in names}
    limits = {name: 9.0 if one is None else one for name, one in found.items()}
    told = _listed(f"{_told(found[name])} for {METHODS[name]}" for name in names)
    rivals = _listed(METHODS[name] for name in others)
    return Finding(
        f"EKSS clusters at smaller angles than {rivals}.",
        all(limits["ekss"] < limits[name] for name in others),
        f"With N_k = {most} the mean error is at most {SOLVED:.0f} % from these angles "
        f"on: {told} radians.",
    )


def _moderate_counts(means: Mapping[Place, float]) -> Finding | None:
    """Compare the methods where dimensions are large and points are neither."""
    high = [
        place for place in means if place.panel == "dimension" and place.dim >= _LARGE
    ]
    if not high:
        return None
    from ekss.benchmarks._simulations import METHODS

    counts = sorted({place.n_per_subspace for place in high})
    count = counts[len(counts) // 2]
    errors = {
        method: [
            means[place]
            for place in high
            if (place.method, place.n_per_subspace) == (method, count)
        ]
        for method in METHODS
    }
    if not all(errors.values()):
        return None
    mean = {method: fmean(values) for method, values in errors.items()}
    told = _listed(f"{mean[one]:.1f} % for {title}" for one, title in METHODS.items())
    return Finding(
        "At large dimensions and a moderate number of points SSC does best.",
        all(mean["ssc"] < mean[one] for one in METHODS if one != "ssc"),
        f"With N_k = {count} and d from {_LARGE} on the mean error is {told}.",
    )


def _whatever_alpha(means: Mapping[Place, float], most: int) -> Finding | None:
    if not any(place.panel == "exact" for place in means):
        return None
    ours = smallest_angle(means, "angle", "ekss", most)
    exact = smallest_angle(means, "exact", "ssc", most)
    return Finding(
        "EKSS clusters at smaller angles than SSC even with the best parameter of SSC.",
        (9.0 if ours is None else ours) < (9.0 if exact is None else exact),
        "With alpha = 1e6, which fits noise-free points almost exactly, "
        f"SSC has a mean error of at most {SOLVED:.0f} % from the angle "
        f"{_told(exact)} on, EKSS from {_told(ours)} on.",
    )


def _told(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _listed(parts: Iterable[str]) -> str:
    """Join with commas and a last "and".

    Examples
    --------
    >>> _listed(["1", "5", "50"])
    '1, 5 and 50'
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
