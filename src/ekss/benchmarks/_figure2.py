"""Figure 2 of the paper: similarity against angle after reducing the dimension."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
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
from ekss.benchmarks._profiles import FigureProfile
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


def plan_figure2(profile: FigureProfile) -> Plan:
    """List the cells: the reductions, with several random sets of pairs."""
    params = {**_PARAMS, "pairs": profile.pairs, "n_members": profile.pair_members}
    member = 2e-4 + 2e-6 * 2 * profile.pairs
    costs = {"full": 0.0, "gaussian": 0.0, "umap": 15 + 0.01 * profile.pairs}
    missing = {} if find_spec("umap") else {"umap": _NO_UMAP}
    cells = [
        Cell(
            "figure2",
            "pairs",
            reduction,
            "similarity",
            params,
            seed,
            2 + costs[reduction] + profile.pair_members * member,
        )
        for seed in range(profile.repeats)
        for reduction in REDUCTIONS
        if reduction not in missing
    ]
    return Plan("figure2", tuple(cells), run_pairs, missing)


def run_pairs(cell: Cell) -> Result:
    """Measure how often EKSS-0 puts two points at an angle together.

    Returns
    -------
    result : dict
        Lists over bins of the angle: "angles" (means), "similarity" (means),
        "spread" (standard deviations over pairs), "counts", and for the full data
        "expected", the probability of the paper's Lemma 3.
    """
    from ekss.theory import coclustering_probability

    given = cell.params
    rng = np.random.default_rng(cell.seed)
    points, angles = draw_pairs(given["pairs"], given["n_features"], rng)
    reduced = _reduce(cell.method, points, given["reduced"], rng, cell.seed)
    together = _share_together(reduced, given, cell.seed)
    edges = np.linspace(0, np.pi / 2, given["bins"] + 1)
    bins = np.clip(np.digitize(angles, edges) - 1, 0, given["bins"] - 1)
    filled = [k for k in range(given["bins"]) if np.any(bins == k)]
    result: Result = {
        "angles": [_rounded(angles[bins == k].mean()) for k in filled],
        "similarity": [_rounded(together[bins == k].mean()) for k in filled],
        "spread": [_rounded(together[bins == k].std()) for k in filled],
        "counts": [int(np.sum(bins == k)) for k in filled],
    }
    if cell.method == "full":
        sizes = given["n_candidates"], given["subspace_dim"], given["n_features"]
        expected = coclustering_probability(np.array(result["angles"]), *sizes)
        result["expected"] = [_rounded(one) for one in expected.probability]
    return result


def draw_pairs(
    pairs: int, n_features: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw pairs of unit vectors with angles uniform in [0, pi/2].

    Returns
    -------
    points : ndarray of shape (2 * pairs, n_features)
        Point ``pairs + i`` is at the i-th angle from point i.
    angles : ndarray of shape (pairs,)
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
    umap = _load_umap()
    model = umap(n_components=dim, metric="cosine", random_state=seed, n_jobs=1)
    found = np.asarray(model.fit_transform(points), dtype=np.float64)
    # Its coordinates have no natural origin, and EKSS-0 looks at angles only.
    return found - found.mean(axis=0)


def _load_umap() -> Any:
    """Import UMAP without its warning of a part that is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)
        from umap import UMAP
    return UMAP


def _share_together(
    points: NDArray[np.float64], given: Mapping[str, Any], seed: int
) -> NDArray[np.float64]:
    """Return for every pair the share of members that put it together."""
    from ekss.estimators import PaperEKSS

    model = PaperEKSS(
        given["n_candidates"],
        given["subspace_dim"],
        n_members=given["n_members"],
        max_iter=0,
        n_neighbors=3,
        n_jobs=1,
        random_state=seed,
    ).fit(points)
    first, second = np.split(model.member_labels_, 2)
    return np.mean(first == second, axis=1)


def _rounded(value: float) -> float:
    return round(float(value), 5)


def curves_of(plan: Plan, rows: Mapping[str, Row]) -> list[Curve]:
    """Return the curves in the finished rows."""
    return [
        Curve(
            cell.method,
            cell.seed,
            tuple(row["angles"]),
            tuple(row["similarity"]),
            tuple(row["spread"]),
            tuple(row.get("expected", ())),
        )
        for cell, row in plan.finished(rows)
    ]


def write_curves(curves: Iterable[Curve]) -> str:
    """Write curves as CSV, one bin of one curve per line."""
    head = ["reduction", "seed", "angle", "similarity", "spread", "expected"]
    lines = []
    for curve in curves:
        expected = curve.expected or ("",) * len(curve.angles)
        bins = zip(curve.angles, curve.similarity, curve.spread, expected, strict=True)
        lines += [[curve.reduction, curve.seed, *one] for one in bins]
    return csv_text([head, *lines])


def read_curves(text: str) -> list[Curve]:
    """Read what :func:`write_curves` wrote.

    Examples
    --------
    >>> curve = Curve("full", 0, (0.1, 0.2), (0.9, 0.8), (0.01, 0.02), (0.9, 0.8))
    >>> read_curves(write_curves([curve])) == [curve]
    True
    """
    lines: dict[tuple[str, int], list[dict[str, str]]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        lines.setdefault((line["reduction"], int(line["seed"])), []).append(line)
    return [
        Curve(
            reduction,
            seed,
            *(
                tuple(float(one[name]) for one in bins if one[name])
                for name in ("angle", "similarity", "spread", "expected")
            ),
        )
        for (reduction, seed), bins in lines.items()
    ]


def figure2_page(plan: Plan, rows: Mapping[str, Row], profile: FigureProfile) -> Page:
    """Return what the rows show."""
    curves = curves_of(plan, rows)
    return Page(
        name="figure2",
        title="Figure 2: similarity against angle after reducing the dimension",
        alt="Three falling curves of similarity against angle",
        findings=figure2_findings(curves) if profile.judged else [],
        text=(
            f"{profile.repeats} random sets of {profile.pairs} pairs of unit vectors "
            "in 100 dimensions, independent but for the angle within a pair, which is "
            "uniform in [0, pi/2]; the paper does not say how it drew its points. "
            f"EKSS-0 has {profile.pair_members} members of 10 candidates of dimension "
            "2. The similarity of a pair is the share of members that put it together, "
            "averaged over the pairs in one of 24 bins of the angle before reduction; "
            "bands are one standard deviation over pairs. UMAP uses cosine distances, "
            "its defaults otherwise, and its coordinates are centred, because its "
            "origin has no meaning. The dotted line is the probability of Lemma 3. "
            f"{profile.caption if not profile.judged else ''}"
        ),
        csv=write_curves(curves),
        draw=partial(_draw_curves, curves, REDUCTIONS) if curves else None,
    )


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


def _draw_curves(
    curves: Sequence[Curve], titles: Mapping[str, str], path: Path
) -> None:
    """Draw similarity against angle, one panel per reduction."""
    mean = mean_curves(curves)
    names = [name for name in titles if name in mean]
    drawing = new_drawing(1.2 + 3.4 * len(names), 3.4)
    panels = drawing.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        curve = mean[name]
        low, high = (
            np.array(curve.similarity) + sign * np.array(curve.spread)
            for sign in (-1, 1)
        )
        panel.fill_between(curve.angles, low, high, color="#c6dbef", lw=0)
        panel.plot(curve.angles, curve.similarity, "o-", ms=3, color="#08519c")
        if curve.expected:
            style = {"color": "black", "ls": ":", "lw": 1.2, "label": "Lemma 3"}
            panel.plot(curve.angles, curve.expected, **style)
            panel.legend(frameon=False, fontsize=9)
        panel.set_title(titles[name], fontsize=11)
        panel.set_xlabel("angle between points, radians", fontsize=9)
        panel.set_xlim(0, np.pi / 2)
        panel.set_ylim(0, 1.05)
        tidy(panel)
    panels[0].set_ylabel("similarity (share of members)", fontsize=9)
    save_drawing(drawing, path)
