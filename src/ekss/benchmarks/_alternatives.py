"""Ensembles of other methods on sub-samples, against the methods on all rows.

The paper's section "Alternative Ensemble Approaches" tells of them without figures.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import numpy as np

from ekss.benchmarks._data import (
    DATASETS,
    Loader,
    Points,
    error_of,
    prepare_features,
    read_features,
    recipe_of,
)
from ekss.benchmarks._pages import Finding, Grid, Page, Study, csv_text
from ekss.benchmarks._profiles import TEXTS
from ekss.benchmarks._runner import Cell, Plan, Result, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ekss.graph import Votes


@dataclass(frozen=True)
class AlternativesProfile:
    """Sizes of the comparison.

    Attributes
    ----------
    name : str
        As it is typed.
    per_class : int
        Points of each of the ten classes.
    n_members : int
        Members of an ensemble.
    seeds : int
        Seeds 0, 1, ... of every cell.
    caption : str
        What the reader has to know.

    Examples
    --------
    >>> from ekss.benchmarks import ALTERNATIVES_PROFILES
    >>> ALTERNATIVES_PROFILES["small"].seeds
    3
    """

    name: str
    per_class: int
    n_members: int
    seeds: int
    caption: str


ALTERNATIVES_PROFILES = {
    "small": AlternativesProfile("small", 40, 20, 3, "Small: 40 points a class."),
    "full": AlternativesProfile("full", 200, 100, 10, "Full: 200 points a class."),
}
# Share of the rows that a member draws.
_SHARE = 0.5
_N_CLUSTERS, _DIM = 10, 5
_PLANTED = "planted"
_SETS = {_PLANTED: "Planted", "digits": "Digits", "usps": "USPS"}
_LANDMARKS, _NEAR = 100, 5


@dataclass(frozen=True)
class _Base:
    """A method: its title and class, parameters on all rows and of a member."""

    title: str
    estimator: str
    params: Mapping[str, Any] = field(default_factory=dict)
    of_member: Mapping[str, Any] = field(default_factory=dict)


_KSS = {"update": "power", "init": "random"}
# The ensemble takes the place of starts, so members have one. KSS, of which the paper
# makes its ensemble, is the last.
BASES = {
    "sscomp": _Base("SSC-OMP", "SSCOMP"),
    "ensc": _Base("EnSC", "EnSC"),
    "gsc": _Base("GSC", "GSC"),
    "landmarks": _Base("landmarks", ""),
    "mkf": _Base("MKF", "MedianKFlats", of_member={"n_init": 1}),
    "kss": _Base("KSS", "KSS", _KSS, {**_KSS, "n_init": 1}),
}


def plan_alternatives(
    profile: AlternativesProfile,
    home: Path,
    loaders: Mapping[str, Loader],
    *,
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """List the cells: one for every data set, method and seed.

    Parameters
    ----------
    profile : AlternativesProfile
        Sizes of the run.
    home : Path
        Data home; features are kept in its directory ``features``.
    loaders : mapping of str to callable
        What loads each data set.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
        USPS is listed as missing if it cannot be loaded; the others are always there.

    Examples
    --------
    >>> from ekss.benchmarks import ALTERNATIVES_PROFILES, loaders, plan_alternatives
    >>> from ekss.datasets import get_data_home
    >>> plan = plan_alternatives(
    ...     ALTERNATIVES_PROFILES["small"], get_data_home(), loaders(None)
    ... )  # doctest: +SKIP
    """
    files: dict[str, tuple[str, ...]] = {_PLANTED: (), "digits": ()}
    missing: dict[str, str] = {}
    subset = {"classes": _N_CLUSTERS, "per_class": profile.per_class}
    try:
        report("preparing USPS")
        recipe = recipe_of(DATASETS["usps"], "plain", subset)
        files["usps"] = (str(prepare_features(home, recipe, loaders["usps"])),)
    except (OSError, ImportError) as error:
        missing["usps"] = str(error)
    params = {"per_class": profile.per_class, "n_members": profile.n_members}
    cells = [
        Cell("alternatives", dataset, method, "", params, seed)
        for dataset in files
        for method in BASES
        for seed in range(profile.seeds)
    ]
    size = _N_CLUSTERS * profile.per_class * profile.n_members
    cells = [
        replace(cell, cost=size / 2_000, files=files[cell.dataset]) for cell in cells
    ]
    return Plan("alternatives", tuple(cells), run_alternatives_cell, missing)


def run_alternatives_cell(cell: Cell) -> Result:
    """Cluster all rows by a method, and by the votes of its members on sub-samples.

    The result has "error" of the ensemble, "base" of the method, and "members", the
    mean error of members on the rows they saw, in percent.
    """
    from sklearn.exceptions import ConvergenceWarning

    from ekss.ensemble.decide import paper_neighbors
    from ekss.estimators import ClusteringWarning
    from ekss.graph import (
        bridge_by_votes,
        nearest_by_votes,
        spectral_labels,
        symmetric_graph,
    )

    points = _points(cell)
    base = BASES[cell.method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClusteringWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        once = _labels(base, base.params, points.n_clusters, points.data, cell.seed)
        labels, seen = draw_members(
            partial(_labels, base, base.of_member, points.n_clusters),
            points.data,
            int(cell.params["n_members"]),
            cell.seed,
        )
        q = paper_neighbors(len(points.data), points.n_clusters)
        votes = votes_of_seen(labels, seen)
        cut = spectral_labels(
            symmetric_graph(nearest_by_votes(votes, q)),
            points.n_clusters,
            bridge=bridge_by_votes(votes, q),
            random_state=cell.seed,
        )
    errors = [
        error_of(Points(points.data[own], points.target[own], ""), one[own])
        for one, own in zip(labels.T, seen.T, strict=True)
    ]
    return {
        "error": round(error_of(points, cut.labels), 4),
        "base": round(error_of(points, once), 4),
        "members": round(fmean(errors), 4),
    }


def draw_members(
    cluster: Callable[[NDArray[np.floating], int], NDArray[np.integer]],
    X: NDArray[np.floating],
    n_members: int,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Cluster random halves of the rows.

    Returns
    -------
    labels : ndarray of shape (n_samples, n_members)
        Clusters of the rows that a member saw, 0 for the others.
    seen : ndarray of shape (n_samples, n_members)
        Which rows it saw.
    """
    labels = np.zeros((len(X), n_members), np.int64)
    seen = np.zeros((len(X), n_members), bool)
    for member in range(n_members):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(member,)))
        rows = np.sort(rng.choice(len(X), round(_SHARE * len(X)), replace=False))
        labels[rows, member] = cluster(X[rows], int(rng.integers(2**31)))
        seen[rows, member] = True
    return labels, seen


def votes_of_seen(labels: NDArray[np.integer], seen: NDArray[np.bool_]) -> Votes:
    """Return the votes of members; on rows that a member did not see it has none."""
    from ekss.graph import prepare_votes

    votes = prepare_votes(np.where(seen, labels + 1, 0))
    table = votes.table.copy()
    table[:, 0] = 0
    return replace(votes, table=table)


def _labels(
    base: _Base,
    params: Mapping[str, Any],
    n_clusters: int,
    X: NDArray[np.floating],
    seed: int,
) -> NDArray[np.integer]:
    from ekss import estimators

    if not base.estimator:
        return landmark_labels(X, n_clusters, seed)
    make = getattr(estimators, base.estimator)
    model = make(n_clusters, random_state=seed, n_jobs=1, **params)
    found: NDArray[np.integer] = model.fit(X).labels_
    return found


def landmark_labels(
    X: NDArray[np.floating], n_clusters: int, seed: int
) -> NDArray[np.integer]:
    """Cluster points by the landmarks that they make the smallest angles with.

    Landmarks are random points. Every point keeps its squared cosines with the nearest
    of them; k-means is done on the leading left singular vectors of that matrix, its
    columns divided by the root of their sums.
    """
    from ekss.core.linalg import unit_rows
    from ekss.graph.spectral import kmeans_labels

    rng = np.random.default_rng(seed)
    rows = unit_rows(np.asarray(X, np.float64))
    drawn = rng.choice(len(rows), min(_LANDMARKS, len(rows) // 2), replace=False)
    near = np.square(rows @ rows[drawn].T)
    least = np.partition(near, -_NEAR, axis=1)[:, [-_NEAR]]
    near[near < least] = 0.0
    near /= np.maximum(near.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    near /= np.sqrt(np.maximum(near.sum(axis=0), np.finfo(float).tiny))
    vectors = np.linalg.svd(near, full_matrices=False)[0][:, :n_clusters]
    directions = unit_rows(vectors).astype(np.float64)
    return kmeans_labels(directions, n_clusters, 10, seed)


def _points(cell: Cell) -> Points:
    """Return the points of a cell; only planted ones differ by seed."""
    per_class = int(cell.params["per_class"])
    if cell.files:
        return read_features(cell.files[0])[0]
    if cell.dataset == _PLANTED:
        from ekss.datasets import make_union_of_subspaces

        union = make_union_of_subspaces(
            _N_CLUSTERS, _DIM, 50, per_class, noise=0.5, random_state=cell.seed
        )
        return Points(union.data, union.target, _PLANTED)
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    kept = [np.flatnonzero(y == one)[:per_class] for one in range(_N_CLUSTERS)]
    rows = np.concatenate(kept)
    return Points(X[rows], y[rows].astype(np.int64), "digits")


def alternatives_page(
    plan: Plan, rows: Mapping[str, Row], profile: AlternativesProfile
) -> Page:
    """Return what the rows show."""
    grid = alternatives_grid(plan, rows)
    return Page(
        name="alternatives",
        title="Ensembles of other methods",
        text=TEXTS["pages"]["alternatives"].format(profile=profile),
        findings=_findings(plan, rows),
        csv=csv_text(grid),
        grid=grid,
        made=profile.caption,
    )


def alternatives_grid(plan: Plan, rows: Mapping[str, Row]) -> Grid:
    """Return the table: a line for every data set and method, means over seeds."""
    grid: Grid = [["data", "method", "all rows", "members", "ensemble", "seeds"]]
    for (dataset, method), done in _finished(plan, rows).items():
        cells = [_told([row[one] for row in done]) for one in _COLUMNS]
        grid.append([_SETS[dataset], BASES[method].title, *cells, f"{len(done)}"])
    return grid


_COLUMNS = ("base", "members", "error")


def _finished(plan: Plan, rows: Mapping[str, Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for cell, row in plan.finished(rows):
        found.setdefault((cell.dataset, cell.method), []).append(row)
    return found


def _findings(plan: Plan, rows: Mapping[str, Row]) -> list[Finding]:
    """Judge what the paper says by mean errors over seeds."""
    gains = {
        place: fmean(row["base"] - row["error"] for row in done)
        for place, done in _finished(plan, rows).items()
    }
    by_method = {
        name: [gain for (_, method), gain in gains.items() if method == name]
        for name in BASES
    }
    if not all(by_method.values()):
        return []
    means = {name: fmean(found) for name, found in by_method.items()}
    others = [gain for (_, method), gain in gains.items() if method != "kss"]
    worse = sum(gain < 0 for gain in others)
    best = max(means, key=lambda name: means[name])
    return [
        Finding(
            "Ensembles of other methods do not always surpass the method on all rows.",
            worse > 0,
            f"{worse} of {len(others)} err more.",
        ),
        Finding(
            "MKF has little or no benefit.",
            means["mkf"] < _LITTLE,
            f"Its error falls by {means['mkf']:.1f} points on average.",
        ),
        Finding(
            "Success depends on KSS as the base.",
            best == "kss",
            f"{BASES[best].title} gains most, {means[best]:.1f} points on average; KSS "
            f"gains {means['kss']:.1f}.",
        ),
    ]


# Percent of points by which an error has to fall to be more than a little.
_LITTLE = 2.0


def _told(errors: list[float]) -> str:
    return f"{fmean(errors):.2f} ± {pstdev(errors):.2f}"


write_alternatives = Study(plan_alternatives, alternatives_page).write
