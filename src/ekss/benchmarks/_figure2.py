"""Figure 2 of the paper: similarity against angle after reducing the dimension."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._cells import Cell, Plan, Result
from ekss.benchmarks._figure_profiles import FigureProfile
from ekss.benchmarks._findings import Curve, figure2_findings
from ekss.benchmarks._pages import Page, write_page
from ekss.benchmarks._render import Written
from ekss.benchmarks._rows import Row, finished

REDUCTIONS = {
    "full": "full data, 100 dimensions",
    "gaussian": "Gaussian projection to 20",
    "umap": "UMAP to 20",
}
_NO_UMAP = (
    "the UMAP panel needs umap-learn, which is not installed; "
    "install it with: pip install 'ekss[umap]'"
)
_PARAMS = {
    "n_features": 100,
    "reduced": 20,
    "n_candidates": 10,
    "subspace_dim": 2,
    "bins": 24,
}


def plan_figure2(profile: FigureProfile) -> Plan:
    """List the cells: the reductions, with several random sets of pairs.

    Parameters
    ----------
    profile : FigureProfile

    Returns
    -------
    plan : Plan
        Without umap-learn its cells are missing, with the reason.
    """
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
    from ekss.estimators import EKSS

    model = EKSS(
        given["n_candidates"],
        given["subspace_dim"],
        n_candidates=None,
        n_members=given["n_members"],
        max_iter=0,
        n_neighbors=3,
        weighting="uniform",
        divide_by_size=False,
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
        for cell in plan.cells
        if finished(row := rows.get(cell.key)) and row is not None
    ]


def write_curves(curves: Iterable[Curve]) -> str:
    """Write curves as CSV, one bin of one curve a line."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    head = ["reduction", "seed", "angle", "similarity", "spread", "expected"]
    table.writerow(head)
    for curve in curves:
        expected = curve.expected or ("",) * len(curve.angles)
        lines = zip(curve.angles, curve.similarity, curve.spread, expected, strict=True)
        for line in lines:
            table.writerow([curve.reduction, curve.seed, *line])
    return stream.getvalue()


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


def write_figure2(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: FigureProfile,
    *,
    command: str = "ekss bench figure2",
) -> Written:
    """Write the curves of similarity against angle: md, csv and png.

    Parameters
    ----------
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    profile : FigureProfile
    command : str
        What made the rows.

    Returns
    -------
    written : Written
    """
    curves = curves_of(plan, rows)
    page = Page(
        name="figure2",
        title="Figure 2: similarity against angle after reducing the dimension",
        alt="Three falling curves of similarity against angle",
        findings=figure2_findings(curves) if profile.judged else [],
        grid=[],
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
    )

    def draw(path: Path) -> None:
        from ekss.benchmarks._drawings import draw_curves

        draw_curves(curves, REDUCTIONS, path)

    return write_page(page, plan, rows, folder, command, draw if curves else None)
