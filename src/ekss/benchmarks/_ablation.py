"""Label-free EKSS with each idea switched off in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from ekss.benchmarks._data import DATASETS, Loader, Points, error_of, read_features
from ekss.benchmarks._methods import paper_cut
from ekss.benchmarks._pages import Grid, Page, Study, csv_text
from ekss.benchmarks._profiles import TEXTS, Profile
from ekss.benchmarks._runner import Cell, Plan, Result, Row
from ekss.benchmarks._table1 import BEST, plan_table1, run_cell

BASELINE = "all ideas, 100 members"
_MEMBERS = 100
# Every so many sequences of Hopkins 155 are fitted again and again.
_EVERY = 5
# What is switched off, beside the baseline.
VARIANTS = (
    "no second opinion",
    "one cut, as in the paper",
    "votes not divided by size",
    "members weighted equally",
    "K candidates per member",
    "one dimension for all members",
    "the other starts",
    "the other kind of subspaces",
)


def plan_ablation(
    profile: Profile,
    home: Path,
    loaders: Mapping[str, Loader],
    *,
    datasets: Iterable[str] | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """List the cells: those of label-free EKSS in Table I, and one more per seed.

    Rows of Table I that are on disk already are not computed again.

    Parameters
    ----------
    profile : Profile
        Sizes of the run.
    home : Path
        Data home; features are kept in its directory ``features``.
    loaders : mapping of str to callable
        What loads each data set.
    datasets : iterable of str, default=None
        Which data sets; None is all that are registered.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
        Data sets that cannot be loaded are listed as missing.

    Examples
    --------
    >>> from ekss.benchmarks import PROFILES, loaders, plan_ablation
    >>> from ekss.datasets import get_data_home
    >>> plan = plan_ablation(
    ...     PROFILES["smoke"], get_data_home(), loaders(None)
    ... )  # doctest: +SKIP
    """
    table = plan_table1(
        profile, home, loaders, datasets=datasets, methods=("ekss",), report=report
    )
    free = [cell for cell in table.cells if cell.column == "free"]
    more = [
        replace(
            cell,
            table="ablation",
            column="ideas",
            params={**cell.params, "variants": list(VARIANTS)},
            cost=2 * cell.cost / (_EVERY if cell.params.get("sequences") else 1),
        )
        for cell in free
    ]
    cells, others = (*free, *more), {"table1": run_cell}
    return Plan("ablation", cells, run_ablation_cell, table.missing, others)


def run_ablation_cell(cell: Cell) -> Result:
    """Fit every variant.

    The result has "error" of the baseline and "errors" of all variants, in percent; for
    several sequences their means.
    """
    sets = read_features(Path(cell.files[0]))
    if cell.params.get("sequences"):
        sets = sets[::_EVERY]
    found = [_errors(points, cell.seed) for points in sets]
    errors = {name: round(fmean(one[name] for one in found), 4) for name in found[0]}
    return {"error": errors[BASELINE], "errors": errors}


def _errors(points: Points, seed: int) -> dict[str, float]:
    """Return the error of the baseline and of all variants on one set."""
    from ekss.estimators import EKSS

    # Members that would come out the same are kept from fit to fit.
    options: dict[str, Any] = {"random_state": seed, "n_jobs": 1, "warm_start": True}
    model = EKSS(points.n_clusters, n_members=_MEMBERS, **options).fit(points.data)
    errors = {BASELINE: error_of(points, model.labels_)}
    changes = _changes(model, points)
    # All variants see the points as the baseline does.
    common = {**model.get_params(deep=False), "whiten": model.n_directions_}
    for name in VARIANTS:
        model.set_params(**{**common, **changes[name]}).fit(points.data)
        errors[name] = error_of(points, model.labels_)
    return errors


def _changes(model: Any, points: Points) -> dict[str, dict[str, Any]]:
    """Return the parameters of every variant of a fitted baseline."""
    from ekss.ensemble import CutOptions, KSSMember
    from ekss.ensemble.decide import few_neighbors

    n_neighbors = few_neighbors(len(points.data), points.n_clusters)
    other_start = "random" if model.affine_ else "neighbors"
    return {
        "no second opinion": {"second_opinion": False},
        "one cut, as in the paper": {
            "n_neighbors": n_neighbors,
            "cut": CutOptions(cutters=(paper_cut,)),
            "second_opinion": False,
        },
        "votes not divided by size": {"cut": CutOptions(divide_by_size=False)},
        "members weighted equally": {"member": KSSMember(weighting="uniform")},
        "K candidates per member": {"member": KSSMember(n_candidates=None)},
        "one dimension for all members": {"subspace_dim": model.subspace_dim_},
        "the other starts": {"member": KSSMember(init=other_start)},
        "the other kind of subspaces": {"affine": not model.affine_},
    }


def ablation_page(plan: Plan, rows: Mapping[str, Row], profile: Profile) -> Page:
    """Return what the rows show."""
    grid = ablation_grid(plan, rows)
    return Page(
        name="ablation",
        title="Each idea switched off in turn",
        csv=csv_text(grid),
        grid=grid,
        below=TEXTS["pages"]["ablation"],
        # Rows of Table I have the code of that table, the others that of this one.
        tables={"table1": "The default, rows of Table I.", "ablation": "The variants."},
        plain=True,
    )


def ablation_grid(plan: Plan, rows: Mapping[str, Row]) -> Grid:
    """Return the table: a line for every variant, a column for every data set."""
    from ekss.ensemble.choose import EXPONENTS as TERMS

    found: dict[str, dict[str, list[float]]] = {}
    for cell, row in plan.finished(rows):
        errors = {"the default": row["error"], **row.get("other", {})}
        if cell.table == "ablation":
            errors = row["errors"]
        for name, error in errors.items():
            found.setdefault(name, {}).setdefault(cell.dataset, []).append(error)
    scores = [f"without {term}" for term in TERMS] + [f"{term} alone" for term in TERMS]
    lines = ["the default", *scores, BEST, BASELINE, *VARIANTS]
    datasets = [name for name in DATASETS if any(name in one for one in found.values())]
    grid: Grid = [["", *(DATASETS[name].title for name in datasets)]]
    for name in lines:
        if name in found:
            errors_of = [found[name].get(dataset, []) for dataset in datasets]
            grid.append([name, *map(_told, errors_of)])
    return grid


def _told(errors: list[float]) -> str:
    if not errors:
        return "-"
    if len(errors) == 1:
        return f"{errors[0]:.2f} (1)"
    return f"{fmean(errors):.2f} ± {pstdev(errors):.2f} ({len(errors)})"


write_ablation = Study(plan_ablation, ablation_page).write
