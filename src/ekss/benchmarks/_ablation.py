"""Label-free EKSS with each idea switched off in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from ekss.benchmarks._cells import Cell, Plan, Result
from ekss.benchmarks._label_free import BEST
from ekss.benchmarks._output import write_pieces
from ekss.benchmarks._paper import DATASETS
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._recipes import Loader, Points, read_features
from ekss.benchmarks._render import (
    Grid,
    Written,
    markdown_table,
    run_lines,
    run_of,
    text_table,
    version_of_rows,
)
from ekss.benchmarks._rows import Row, finished
from ekss.benchmarks._table1 import plan_table1, run_cell
from ekss.benchmarks._versions import code_of

BASELINE = "all ideas, 100 members"
_MEMBERS = 100
# Every so many sequences of Hopkins 155 are fitted again and again.
_EVERY = 5

# What is changed, beside the baseline. The first keep the members of the baseline, the
# others run their own.
_RECUT: dict[str, dict[str, Any]] = {
    "one cut, as in the paper": {"n_eigenvectors": "K"},
    "votes not divided by size": {"divide_by_size": False},
    "members weighted equally": {"weighting": "uniform"},
}
_REFIT: dict[str, dict[str, Any]] = {
    "K candidates a member": {"n_candidates": None},
    "one dimension for all members": {"subspace_dim": "one", "n_candidates": "pieces"},
    "the other starts": {"start": "other"},
    "the other kind of subspaces": {"affine": "other"},
}


def plan_ablation(
    profile: Profile,
    home: Path,
    loaders: Mapping[str, Loader],
    *,
    datasets: Iterable[str] = tuple(DATASETS),
    report: Callable[[str], None] = lambda text: None,
) -> Plan:
    """List the cells: those of label-free EKSS in Table I, and one more a seed.

    Parameters
    ----------
    profile : Profile
    home : Path
        Data home.
    loaders : mapping of str to callable
    datasets : iterable of str
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
            params={**cell.params, "variants": [*_RECUT, *_REFIT]},
            cost=2 * cell.cost / (_EVERY if cell.dataset == "hopkins" else 1),
        )
        for cell in free
    ]
    return Plan("ablation", (*free, *more), run_ablation_cell, table.missing)


def run_ablation_cell(cell: Cell) -> Result:
    """Fit every variant, or a cell of Table I.

    Returns
    -------
    result : dict
        "error" of the baseline and "errors" of all variants, in percent; for several
        sequences their means.
    """
    if cell.table == "table1":
        return run_cell(cell)
    sets = read_features(Path(cell.files[0]))
    if cell.dataset == "hopkins":
        sets = sets[::_EVERY]
    found = [_errors(points, cell.seed) for points in sets]
    errors = {name: round(fmean(one[name] for one in found), 4) for name in found[0]}
    return {"error": errors[BASELINE], "errors": errors}


def _errors(points: Points, seed: int) -> dict[str, float]:
    """Return the error of the baseline and of all variants on one set."""
    from sklearn.base import clone

    from ekss.estimators import EKSS
    from ekss.metrics import clustering_error

    common: dict[str, Any] = {
        "n_members": _MEMBERS,
        "random_state": seed,
        "n_jobs": 1,
        "warm_start": True,
    }
    model = EKSS(points.n_clusters, **common).fit(points.data)
    # What the baseline has removed is removed from all.
    base = clone(model).set_params(remove_components=len(model.removed_))
    errors = {BASELINE: clustering_error(points.target, model.labels_)}
    changes = {**_RECUT, **_REFIT}
    resolved = {name: _resolve(changes[name], model, points) for name in changes}
    for name, params in resolved.items():
        # The members of the baseline stay, because nothing about members changes.
        trial = model if name in _RECUT else clone(base)
        trial.set_params(**{**base.get_params(), **params}).fit(points.data)
        errors[name] = clustering_error(points.target, trial.labels_)
    return {name: 100 * error for name, error in errors.items()}


def _resolve(params: Mapping[str, Any], model: Any, points: Points) -> dict[str, Any]:
    """Replace the words of a variant by values that fit the baseline and the data."""
    n_clusters, n_samples = points.n_clusters, len(points.data)
    values = {
        ("n_eigenvectors", "K"): n_clusters,
        ("subspace_dim", "one"): model.subspace_dim_,
        ("n_candidates", "pieces"): tuple(
            min(n_samples, pieces * n_clusters) for pieces in (4, 8)
        ),
        ("start", "other"): "random" if model.affine_ else "neighbours",
        ("affine", "other"): not model.affine_,
    }
    return {
        name: values.get((name, value), value) if isinstance(value, str) else value
        for name, value in params.items()
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
    run = "\n".join(f"- {line}" for line in run_lines(run_of(used, command)))
    # Rows of Table I have the code of that table, the others that of this one.
    parts_of = {"table1": "The default, rows of Table I.", "ablation": "The variants."}
    versions = " ".join(
        f"{words} {version_of_rows(_rows_of(table, used), code_of(table))}"
        for table, words in parts_of.items()
    )
    title = "# Each idea switched off in turn"
    parts = [title, versions, markdown_table(grid, left=1), caption]
    markdown = "\n\n".join([*parts, "How it was made:", run]) + "\n"
    text = f"{versions}\n\n{text_table(grid, left=1)}\n\n{caption}\n"
    return write_pieces("ablation", grid, folder, text, markdown)


def _rows_of(table: str, rows: Mapping[str, Row]) -> dict[str, Row]:
    return {key: row for key, row in rows.items() if row["cell"]["table"] == table}


def ablation_grid(plan: Plan, rows: Mapping[str, Row]) -> Grid:
    """Return the table: a line for every variant, a column for every data set."""
    found: dict[str, dict[str, list[float]]] = {}
    for cell in plan.cells:
        row = rows.get(cell.key)
        if row is None or not finished(row):
            continue
        errors = {"the default": row["error"], **row.get("other", {})}
        if cell.table == "ablation":
            errors = row["errors"]
        for name, error in errors.items():
            found.setdefault(name, {}).setdefault(cell.dataset, []).append(error)
    datasets = [name for name in DATASETS if any(name in one for one in found.values())]
    lines = [name for name in _order() if name in found]
    grid: Grid = [["", *(DATASETS[name] for name in datasets)]]
    for name in lines:
        grid.append([name, *(_told(found[name].get(data, [])) for data in datasets)])
    return grid


def _order() -> list[str]:
    from ekss.graph.selection import EXPONENTS as terms

    score = [
        *(f"without {term}" for term in terms),
        *(f"{term} alone" for term in terms),
    ]
    return ["the default", *score, BEST, BASELINE, *_RECUT, *_REFIT]


def _told(errors: list[float]) -> str:
    if not errors:
        return "-"
    if len(errors) == 1:
        return f"{errors[0]:.2f} (1)"
    return f"{fmean(errors):.2f} ± {pstdev(errors):.2f} ({len(errors)})"
