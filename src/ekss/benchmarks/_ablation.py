"""Label-free EKSS with each idea switched off in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from ekss.benchmarks._data import DATASETS, Loader, Points, read_features
from ekss.benchmarks._methods import paper_cut
from ekss.benchmarks._pages import (
    Grid,
    Written,
    bullets,
    run_lines,
    run_of,
    version_of_rows,
    write_grid,
)
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._runner import Cell, Plan, Result, Row
from ekss.benchmarks._table1 import BEST, plan_table1, run_cell
from ekss.benchmarks._versions import code_of

BASELINE = "all ideas, 100 members"
_MEMBERS = 100
# Every so many sequences of Hopkins 155 are fitted again and again.
_EVERY = 5

# What is switched off, beside the baseline.
VARIANTS = (
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

    Parameters
    ----------
    profile : Profile
    home : Path
        Data home.
    loaders : mapping of str to callable
    datasets : iterable of str, default=None
        None is all that are registered.
    report : callable
        Told what is being prepared.

    Returns
    -------
    plan : Plan
        Rows of Table I that are on disk already are not computed again.
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

    Returns
    -------
    result : dict
        "error" of the baseline and "errors" of all variants, in percent; for several
        sequences their means.
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
    from ekss.metrics import clustering_error

    # Members that would come out the same are kept from fit to fit.
    model = EKSS(
        points.n_clusters,
        n_members=_MEMBERS,
        random_state=seed,
        n_jobs=1,
        warm_start=True,
    ).fit(points.data)
    errors = {BASELINE: clustering_error(points.target, model.labels_)}
    changes = _changes(model, points)
    # What the baseline has removed is removed from all.
    common = {**model.get_params(deep=False), "remove_components": len(model.removed_)}
    for name in VARIANTS:
        model.set_params(**{**common, **changes[name]}).fit(points.data)
        errors[name] = clustering_error(points.target, model.labels_)
    return {name: 100 * error for name, error in errors.items()}


def _changes(model: Any, points: Points) -> dict[str, dict[str, Any]]:
    """Return the parameters of every variant of a fitted baseline."""
    from ekss.ensemble import CutOptions, KSSMember
    from ekss.ensemble.decide import few_neighbors

    n_neighbors = few_neighbors(len(points.data), points.n_clusters)
    other_start = "random" if model.affine_ else "neighbors"
    return {
        "one cut, as in the paper": {
            "n_neighbors": n_neighbors,
            "cut": CutOptions(cutters=(paper_cut,)),
        },
        "votes not divided by size": {"cut": CutOptions(divide_by_size=False)},
        "members weighted equally": {"member": KSSMember(weighting="uniform")},
        "K candidates per member": {"member": KSSMember(n_candidates=None)},
        "one dimension for all members": {"subspace_dim": model.subspace_dim_},
        "the other starts": {"member": KSSMember(init=other_start)},
        "the other kind of subspaces": {"affine": not model.affine_},
    }


def write_ablation(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: Profile,
    *,
    command: str = "ekss bench ablation",
) -> Written:
    """Write the table of ideas: txt, md and csv.

    Parameters
    ----------
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    profile : Profile
    command : str
        What made the rows.
    """
    grid = ablation_grid(plan, rows)
    caption = (
        "Clustering errors in percent without labels, mean and standard deviation over "
        "seeds (number of seeds in brackets). The first part is the default; its score "
        "without each term, or with one alone, chooses from the same pool of cuts; the "
        "best in the pool needs labels. The second part has 100 members and every "
        "fifth sequence of Hopkins 155. The other starts are neighbourhoods, for "
        "Hopkins random subspaces; the other kind of subspaces is affine, for Hopkins "
        "linear."
    )
    used = {cell.key: rows[cell.key] for cell in plan.cells if cell.key in rows}
    # Rows of Table I have the code of that table, the others that of this one.
    parts = {"table1": "The default, rows of Table I.", "ablation": "The variants."}
    works = {"table1": run_cell, "ablation": run_ablation_cell}
    versions = " ".join(
        f"{words} {version_of_rows(_rows_of(table, used), code_of(works[table]))}"
        for table, words in parts.items()
    )
    run = bullets(run_lines(run_of(used, command)))
    title = "# Each idea switched off in turn"
    return write_grid(
        "ablation",
        grid,
        folder,
        left=1,
        above=[versions],
        below=[caption],
        markdown_only=([title], ["How it was made:", run]),
    )


def _rows_of(table: str, rows: Mapping[str, Row]) -> dict[str, Row]:
    return {key: row for key, row in rows.items() if row["cell"]["table"] == table}


def ablation_grid(plan: Plan, rows: Mapping[str, Row]) -> Grid:
    """Return the table: a line for every variant, a column for every data set."""
    found: dict[str, dict[str, list[float]]] = {}
    for cell, row in plan.finished(rows):
        errors = {"the default": row["error"], **row.get("other", {})}
        if cell.table == "ablation":
            errors = row["errors"]
        for name, error in errors.items():
            found.setdefault(name, {}).setdefault(cell.dataset, []).append(error)
    datasets = [name for name in DATASETS if any(name in one for one in found.values())]
    lines = [name for name in _order() if name in found]
    grid: Grid = [["", *(DATASETS[name].title for name in datasets)]]
    for name in lines:
        grid.append([name, *(_told(found[name].get(data, [])) for data in datasets)])
    return grid


def _order() -> list[str]:
    from ekss.graph.selection import EXPONENTS as terms

    score = [
        *(f"without {term}" for term in terms),
        *(f"{term} alone" for term in terms),
    ]
    return ["the default", *score, BEST, BASELINE, *VARIANTS]


def _told(errors: list[float]) -> str:
    if not errors:
        return "-"
    if len(errors) == 1:
        return f"{errors[0]:.2f} (1)"
    return f"{fmean(errors):.2f} ± {pstdev(errors):.2f} ({len(errors)})"
