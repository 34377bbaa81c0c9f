"""Figure 2 of the paper: similarity against angle after reducing the dimension."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._pages import (
    Finding,
    Page,
    csv_text,
    new_drawing,
    save_drawing,
    tidy,
)
from ekss.benchmarks._profiles import TEXTS, FigureProfile
from ekss.benchmarks._runner import Cell, Plan, Result, Row

REDUCTIONS = {
    "full": "full data, 100 dimensions",
    "gaussian": "Gaussian projection to 20",
    "umap": "UMAP to 20",
}
_NO_UMAP = (
    "the UMAP panel needs umap-learn, which is not installed; "
    "install it with: pip install 'ekss[umap]'"
)
# Rise of a similarity that is no noise.
RISE = 0.02
_PARAMS = {
    "n_features": 100,
    "reduced": 20,
    "n_candidates": 10,
    "subspace_dim": 2,
    "bins": 24,
}


@dataclass(frozen=True)
class Curve:
    """Similarity of pairs against their angle, after one reduction.

    Means of bins, standard deviations of the similarity, and the probabilities of
    Lemma 3 or nothing.
    """

    reduction: str
    seed: int
    angles: tuple[float, ...]
    similarity: tuple[float, ...]
    spread: tuple[float, ...]
    expected: tuple[float, ...] = ()

    @property
    def lines(self) -> tuple[tuple[float, ...], ...]:
        """All that varies from bin to bin."""
        return self.angles, self.similarity, self.spread, self.expected


def plan_figure2(profile: FigureProfile) -> Plan:
    """List the cells: the reductions, with several random sets of pairs."""
    params = {**_PARAMS, "pairs": profile.pairs, "n_members": profile.pair_members}
    member = 2e-4 + 2e-6 * 2 * profile.pairs
    costs = {"full": 0.0, "gaussian": 0.0, "umap": 15 + 0.01 * profile.pairs}
    missing = {} if find_spec("umap") else {"umap": _NO_UMAP}
    cells = []
    for seed in range(profile.repeats):
        for name in [name for name in REDUCTIONS if name not in missing]:
            cost = 2 + costs[name] + profile.pair_members * member
            place = ("figure2", "pairs", name, "similarity")
            cells.append(Cell(*place, params, seed, cost))
    return Plan("figure2", tuple(cells), run_pairs, missing)


def run_pairs(cell: Cell) -> Result:
    """Measure how often EKSS-0 puts two points at an angle together.

    The result has lists over bins of the angle: "angles" (means), "similarity" (means),
    "spread" (standard deviations over pairs), "counts", and for the full data
    "expected", the probability of the paper's Lemma 3.
    """
    from ekss.estimators import PaperEKSS
    from ekss.theory import coclustering_probability

    given = cell.params
    rng = np.random.default_rng(cell.seed)
    points, angles = draw_pairs(given["pairs"], given["n_features"], rng)
    reduced = _reduce(cell.method, points, given["reduced"], rng, cell.seed)
    model = PaperEKSS(
        given["n_candidates"],
        given["subspace_dim"],
        n_members=given["n_members"],
        max_iter=0,
        n_neighbors=3,
        n_jobs=1,
        random_state=cell.seed,
    ).fit(reduced)
    first, second = np.split(model.member_labels_, 2)
    together = np.mean(first == second, axis=1)
    edges = np.linspace(0, np.pi / 2, given["bins"] + 1)
    bins = np.clip(np.digitize(angles, edges) - 1, 0, given["bins"] - 1)
    masks = [bins == k for k in range(given["bins"]) if np.any(bins == k)]
    result: Result = {
        "angles": _rounded(angles[mask].mean() for mask in masks),
        "similarity": _rounded(together[mask].mean() for mask in masks),
        "spread": _rounded(together[mask].std() for mask in masks),
        "counts": [int(np.sum(mask)) for mask in masks],
    }
    if cell.method == "full":
        sizes = given["n_candidates"], given["subspace_dim"], given["n_features"]
        expected = coclustering_probability(np.array(result["angles"]), *sizes)
        result["expected"] = _rounded(expected.probability)
    return result


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 5) for value in values]


def draw_pairs(
    pairs: int, n_features: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw pairs of unit vectors with angles uniform in [0, pi/2].

    Point ``pairs + i`` is at the i-th angle from point i.
    """
    angles = rng.uniform(0, np.pi / 2, pairs)
    first = rng.standard_normal((pairs, n_features))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    across = rng.standard_normal((pairs, n_features))
    across -= np.sum(across * first, axis=1, keepdims=True) * first
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    second = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * across
    return np.concatenate([first, second]), angles


def _reduce(
    reduction: str,
    points: NDArray[np.float64],
    dim: int,
    rng: np.random.Generator,
    seed: int,
) -> NDArray[np.float64]:
    if reduction == "full":
        return points
    if reduction == "gaussian":
        return points @ rng.standard_normal((points.shape[1], dim)) / np.sqrt(dim)
    options = {"metric": "cosine", "random_state": seed, "n_jobs": 1}
    model = _load_umap()(n_components=dim, **options)
    found = np.asarray(model.fit_transform(points), dtype=np.float64)
    # Its coordinates have no natural origin, and EKSS-0 looks at angles only.
    return found - found.mean(axis=0)


def _load_umap() -> Any:
    """Import UMAP without its warning of a part that is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)
        from umap import UMAP
    return UMAP


def curves_of(plan: Plan, rows: Mapping[str, Row]) -> list[Curve]:
    """Return the curves in the finished rows."""
    names = ("angles", "similarity", "spread", "expected")
    return [
        Curve(cell.method, cell.seed, *(tuple(row.get(name, ())) for name in names))
        for cell, row in plan.finished(rows)
    ]


def write_curves(curves: Iterable[Curve]) -> str:
    """Write curves as CSV, one bin of one curve per line."""
    head = ["reduction", "seed", "angle", "similarity", "spread", "expected"]
    lines = [
        [curve.reduction, curve.seed, *one]
        for curve in curves
        for one in zip_longest(*curve.lines)
    ]
    return csv_text([head, *lines])


def read_curves(text: str) -> list[Curve]:
    """Read what :func:`write_curves` wrote."""
    numbers: dict[tuple[str, int], list[list[str]]] = {}
    for reduction, seed, *one in list(csv.reader(io.StringIO(text)))[1:]:
        lines = numbers.setdefault((reduction, int(seed)), [[] for _ in one])
        for line, number in zip(lines, one, strict=True):
            line.append(number)
    return [
        Curve(*place, *(tuple(map(float, filter(None, line))) for line in lines))
        for place, lines in numbers.items()
    ]


def figure2_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    text, caption = TEXTS["pages"]["figure2"], "" if profile.judged else profile.caption
    curves = curves_of(plan, rows)
    return Page(
        name="figure2",
        title="Figure 2: similarity against angle after reducing the dimension",
        alt="Three falling curves of similarity against angle",
        findings=figure2_findings(curves) if profile.judged else [],
        text=f"{text.format(profile=profile)} {caption}",
        csv=write_curves(curves),
        draw=partial(_draw_curves, curves) if curves else None,
    )


def figure2_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Check where the similarity falls with the angle."""
    mean = mean_curves(curves)
    until = {name: falls_until(curve) for name, curve in mean.items()}
    found = []
    if {"full", "gaussian"} <= set(mean):
        ends = {name: mean[name].angles[-1] for name in ("full", "gaussian")}
        claim = (
            "On full data and after a Gaussian projection the similarity falls with "
            "the angle."
        )
        measured = (
            f"It falls up to {until['full']:.2f} radians on full data and up to "
            f"{until['gaussian']:.2f} after the projection; the last bin is at "
            f"{ends['full']:.2f}."
        )
        holds = all(until[name] == end for name, end in ends.items())
        found.append(Finding(claim, holds, measured))
    if "umap" in mean:
        values = mean["umap"].similarity
        claim = (
            "After UMAP the similarity falls at least up to 0.2 radians, which is "
            "about where the paper's curve stops falling."
        )
        measured = (
            f"It falls up to {until['umap']:.2f} radians, from {values[0]:.2f} in the "
            f"first bin to {min(values):.2f}."
        )
        found.append(Finding(claim, until["umap"] >= 0.2, measured))
    if "full" in mean and mean["full"].expected:
        full = mean["full"]
        gap = np.max(np.abs(np.subtract(full.similarity, full.expected)))
        claim = "The similarity estimates the probability of Lemma 3."
        measured = f"The largest difference in a bin is {gap:.3f}."
        found.append(Finding(claim, bool(gap <= RISE), measured))
    return found


def mean_curves(curves: Iterable[Curve]) -> dict[str, Curve]:
    """Average the curves of all seeds, bin by bin."""
    groups: dict[str, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(curve.reduction, []).append(curve)

    means = {}
    for name, group in groups.items():
        lines = zip(*(curve.lines for curve in group), strict=True)
        average = [tuple(np.mean(line, axis=0).tolist()) for line in lines]
        means[name] = Curve(name, group[0].seed, *average)
    return means


def falls_until(curve: Curve, rise: float = RISE) -> float:
    """Return the last angle up to which the similarity rises by at most so much."""
    lowest, last = curve.similarity[0], curve.angles[0]
    for angle, similarity in zip(curve.angles, curve.similarity, strict=True):
        if similarity > lowest + rise:
            break
        lowest, last = min(lowest, similarity), angle
    return last


def _draw_curves(curves: Sequence[Curve], path: Path) -> None:
    """Draw similarity against angle, one panel per reduction."""
    mean = mean_curves(curves)
    names = [name for name in REDUCTIONS if name in mean]
    drawing = new_drawing(1.2 + 3.4 * len(names), 3.4)
    panels = drawing.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        curve = mean[name]
        mean_line, spread = np.array(curve.similarity), np.array(curve.spread)
        low, high = mean_line - spread, mean_line + spread
        panel.fill_between(curve.angles, low, high, color="#c6dbef", lw=0)
        panel.plot(curve.angles, curve.similarity, "o-", ms=3, color="#08519c")
        if curve.expected:
            style = {"color": "black", "ls": ":", "lw": 1.2, "label": "Lemma 3"}
            panel.plot(curve.angles, curve.expected, **style)
            panel.legend(frameon=False, fontsize=9)
        panel.set_title(REDUCTIONS[name], fontsize=11)
        panel.set_xlabel("angle between points, radians", fontsize=9)
        panel.set_xlim(0, np.pi / 2)
        panel.set_ylim(0, 1.05)
        tidy(panel)
    panels[0].set_ylabel("similarity (share of members)", fontsize=9)
    save_drawing(drawing, path)
