"""Pages of Table I and of the two tables of the appendix, all made from rows."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from ekss.benchmarks._data import DATASETS, Loader
from ekss.benchmarks._methods import COLUMNS, METHODS, SWEPT
from ekss.benchmarks._pages import (
    Grid,
    Written,
    bullets,
    csv_text,
    markdown_table,
    new_drawing,
    paragraphs,
    run_lines,
    run_of,
    save_drawing,
    text_table,
    write_grid,
    write_text,
)
from ekss.benchmarks._paper import ERRORS, NOT_EXPLAINED, NOTES, SIZES, parameters
from ekss.benchmarks._profiles import Profile
from ekss.benchmarks._runner import Cell, Plan, Row, finished
from ekss.benchmarks._versions import code_in, code_of, libraries_in, version_line

# A difference of more points than this to the paper's figure is to be explained.
NOTABLE = 5.0
# Why there are no errors where none are wanted.
NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Figure:
    """One column of an entry.

    Attributes
    ----------
    mean : float or None
        Mean error over seeds, in percent.
    spread : float or None
        Standard deviation over seeds; None for a single one.
    lowest, highest : float or None
        Range over seeds.
    seeds : int
        How many there are.
    best : dict or None
        Parameters that gave the lowest error with the first seed.
    seconds : float
        Computing time of the cells, summed over seeds.
    megabytes : float
        Largest memory of a cell.
    reason : str
        Why there are no errors.
    codes, commits, libraries : tuple of str
        Versions that made the rows, each once.
    """

    mean: float | None = None
    spread: float | None = None
    lowest: float | None = None
    highest: float | None = None
    seeds: int = 0
    best: dict[str, Any] | None = None
    seconds: float = 0.0
    megabytes: float = 0.0
    reason: str = ""
    codes: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A data set and a method: the paper's figure, if any, and ours by column."""

    dataset: str
    method: str
    published: float | None
    figures: Mapping[str, Figure]

    def differences(self) -> dict[str, float]:
        """Return ours less the paper's figure where it is more than 5 points."""
        if self.published is None:
            return {}
        means = {column: self.figures[column].mean for column in ("paper", "tuned")}
        return {
            column: mean - self.published
            for column, mean in means.items()
            if mean is not None and abs(mean - self.published) > NOTABLE
        }

    def error(self, column: str) -> float | None:
        """Return the mean error of a column, or the paper's figure."""
        return self.published if column == "published" else self.figures[column].mean


def summarise(
    plan: Plan,
    rows: Mapping[str, Row],
    datasets: Iterable[str],
    methods: Iterable[str],
) -> list[Entry]:
    """Return the entries of Table I, data set by data set.

    "Label-tuned" is the lowest error over all that was tried, the paper's and the
    default parameters among it: seed by seed, for Hopkins 155 sequence by sequence.
    """
    methods = tuple(methods)
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        cells.setdefault((cell.dataset, cell.method, cell.column), []).append(cell)
    return [
        _entry(dataset, method, cells, rows, plan.missing.get(dataset, ""))
        for dataset in datasets
        for method in methods
    ]


def _entry(
    dataset: str,
    method: str,
    cells: Mapping[tuple[str, str, str], list[Cell]],
    rows: Mapping[str, Row],
    missing: str,
) -> Entry:
    found = {
        column: _rows_by_seed(cells.get((dataset, method, column), []), rows)
        for column in COLUMNS
    }
    figures = {column: _figure(by_seed, missing) for column, by_seed in found.items()}
    for column in () if missing else COLUMNS:
        if not cells.get((dataset, method, column)):
            figures[column] = Figure(reason=NOT_TRIED)
    tuned = {
        seed: _lowest(
            [found[column][seed] for column in SWEPT if seed in found[column]]
        )
        for seed, row in found["tuned"].items()
        if finished(row)
    }
    if tuned:
        figures["tuned"] = _figure(tuned, missing)
    return Entry(dataset, method, ERRORS.get((dataset, method)), figures)


def _rows_by_seed(cells: list[Cell], rows: Mapping[str, Row]) -> dict[int, Row]:
    return {cell.seed: rows[cell.key] for cell in cells if cell.key in rows}


def _figure(by_seed: Mapping[int, Row], missing: str) -> Figure:
    done = [row for _, row in sorted(by_seed.items()) if finished(row)]
    if not done:
        failures = [row["failed"] for row in by_seed.values()]
        reason = missing or (f"failed: {failures[0]}" if failures else "not run yet")
        return Figure(reason=reason)
    errors = [row["error"] for row in done]
    return Figure(
        mean=fmean(errors),
        spread=pstdev(errors) if len(errors) > 1 else None,
        lowest=min(errors),
        highest=max(errors),
        seeds=len(errors),
        best=_told_best(done[0]),
        seconds=sum(row["seconds"] for row in done),
        megabytes=max(row["peak_megabytes"] for row in done),
        codes=_each_once(code_in(row) for row in done),
        commits=_each_once(row["commit"] for row in done),
        libraries=_each_once(libraries_in(row) for row in done),
    )


def _each_once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _lowest(rows: list[Row]) -> Row:
    """Return the row of lowest error; of sequences each one's lowest."""
    done = [row for row in rows if finished(row)]
    best = min(done, key=lambda row: row["error"])
    if "sequences" not in best:
        return best
    sequences = {
        name: min(
            (row["sequences"][name] for row in done), key=lambda one: one["error"]
        )
        for name in best["sequences"]
    }
    mean = round(fmean(one["error"] for one in sequences.values()), 4)
    return {**best, "error": mean, "sequences": sequences}


def _told_best(row: Row) -> dict[str, Any]:
    """Return the best parameters; of sequences the most frequent ones."""
    if "sequences" not in row:
        return dict(row["best"])
    counts = Counter(one["best"] for one in row["sequences"].values())
    return dict(json.loads(counts.most_common(1)[0][0]))


LINES = {
    "published": "paper",
    "paper": "ours, paper's parameters",
    "tuned": "ours, label-tuned",
    "free": "ours, label-free",
    "chosen": "ours, label-free choice",
}

LEGEND = (
    "Clustering errors in percent, means over seeds. Paper: the published figure. "
    "Paper's parameters: ours with the published parameters; whether COIL is whitened "
    "is chosen by the labels, as in the paper. Label-tuned: the lowest error over our "
    "sweep, the other two columns included, which is how the paper chose; for Hopkins "
    "sequence by sequence. Label-free: the estimator as it is, given the number of "
    "clusters alone, on whitened data for Yale B and COIL; but EKSS chooses itself how "
    "many components it removes, except for COIL-100. Label-free choice: the "
    "setting and the cut that LabelFreeSearch chooses. COIL-100 is reduced to 300 "
    "principal components for speed."
)


def errors_grid(entries: Sequence[Entry]) -> Grid:
    """Return the table: lines for every method, one column per data set."""
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    methods = list(dict.fromkeys(entry.method for entry in entries))
    found = {(entry.dataset, entry.method): entry for entry in entries}
    grid = [["", "error %", *(DATASETS[name].title for name in datasets)]]
    for method in methods:
        its = [found[name, method] for name in datasets]
        for number, column in enumerate(_lines_of(method, its)):
            errors = [entry.error(column) for entry in its]
            shown = ["-" if error is None else f"{error:.2f}" for error in errors]
            name = METHODS[method].title if number == 0 else ""
            grid.append([name, LINES[column], *shown])
    return grid


def _lines_of(method: str, entries: Sequence[Entry]) -> list[str]:
    """Return the lines of a method: those for which something was tried."""
    tried = {
        column
        for entry in entries
        for column, figure in entry.figures.items()
        if figure.reason != NOT_TRIED
    }
    if not METHODS[method].searched:
        tried.discard("chosen")
    if any(entry.published is not None for entry in entries):
        tried.add("published")
    return [column for column in LINES if column in tried]


def missing_lines(entries: Sequence[Entry]) -> list[str]:
    """Say for every figure that is not there why; whole data sets at once."""
    lines: dict[str, None] = {}
    for entry in entries:
        absent = {
            column: figure.reason
            for column, figure in entry.figures.items()
            if figure.mean is None and figure.reason != NOT_TRIED
        }
        name = DATASETS[entry.dataset].title
        for column, reason in absent.items():
            if reason.startswith("failed") or reason == "not run yet":
                place = f"{name}, {METHODS[entry.method].title}, {LINES[column]}"
                lines[f"{place}: {reason}"] = None
            else:
                lines[f"{name}: missing. {reason}"] = None
    return list(lines)


def note_lines(entries: Sequence[Entry]) -> list[str]:
    """Return one sentence for every difference of more than 5 points."""
    lines = []
    for entry in entries:
        differences = entry.differences()
        if differences:
            told = ", ".join(
                f"{LINES[column].removeprefix('ours, ')} {difference:+.1f}"
                for column, difference in differences.items()
            )
            title = DATASETS[entry.dataset].title
            place = f"{title}, {METHODS[entry.method].title}"
            note = NOTES.get((entry.dataset, entry.method), NOT_EXPLAINED)
            lines.append(f"{place} ({told}): {note}")
    return lines


def version_of_entries(entries: Sequence[Entry], current: str | None) -> str:
    """Say which versions made the figures of a table."""
    figures = [one for entry in entries for one in entry.figures.values()]
    return version_line(
        [code for one in figures for code in one.codes],
        [words for one in figures for words in one.libraries],
        current,
        "figures",
    )


_HEAD = "dataset method column paper mean spread lowest highest seeds seconds"
_TAIL = "peak_megabytes parameters reason code commit libraries"
_BETWEEN = " | "
# What earlier versions called data sets and parameters.
_OLD_DATASETS = {"hopkins": "hopkins155", "yaleb": "eyaleb", "mnist": "mnist_test"}
_OLD_PARAMETERS = {"top_q": "n_neighbors", "n_base": "n_members", "base": "update"}


def errors_csv(entries: Sequence[Entry]) -> str:
    """Write one line for every data set, method and column."""
    lines = [
        [entry.dataset, entry.method, column, entry.published, *_csv_figure(figure)]
        for entry in entries
        for column, figure in entry.figures.items()
    ]
    return csv_text([[*_HEAD.split(), *_TAIL.split()], *lines])


def _csv_figure(figure: Figure) -> list[Any]:
    if figure.mean is None:
        return ["", "", "", "", 0, "", "", "", figure.reason, "", "", ""]
    return [
        f"{figure.mean:.4f}",
        "" if figure.spread is None else f"{figure.spread:.4f}",
        f"{figure.lowest:.4f}",
        f"{figure.highest:.4f}",
        figure.seeds,
        f"{figure.seconds:.1f}",
        f"{figure.megabytes:.0f}",
        json.dumps(figure.best),
        "",
        _BETWEEN.join(figure.codes),
        _BETWEEN.join(figure.commits),
        _BETWEEN.join(figure.libraries),
    ]


def read_entries(text: str) -> list[Entry]:
    """Read what :func:`errors_csv` wrote, also by earlier versions with other names."""
    found: dict[tuple[str, str], tuple[float | None, dict[str, Figure]]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        dataset = _OLD_DATASETS.get(line["dataset"], line["dataset"])
        published = float(line["paper"]) if line["paper"] else None
        place = dataset, line["method"]
        _, figures = found.setdefault(place, (published, {}))
        figures[line["column"]] = _figure_in(line)
    return [
        Entry(dataset, method, published, figures)
        for (dataset, method), (published, figures) in found.items()
    ]


def _figure_in(line: Mapping[str, str]) -> Figure:
    if not line["mean"]:
        return Figure(reason=line["reason"])

    def several(name: str) -> tuple[str, ...]:
        return tuple(line[name].split(_BETWEEN))

    return Figure(
        mean=float(line["mean"]),
        spread=float(line["spread"]) if line["spread"] else None,
        lowest=float(line["lowest"]),
        highest=float(line["highest"]),
        seeds=int(line["seeds"]),
        best={
            _OLD_PARAMETERS.get(name, name): value
            for name, value in json.loads(line["parameters"]).items()
        },
        seconds=float(line["seconds"]),
        megabytes=float(line["peak_megabytes"]),
        codes=several("code"),
        commits=several("commit"),
        libraries=several("libraries"),
    )


def write_table1(
    plan: Plan,
    rows: Mapping[str, Row],
    folder: Path,
    profile: Profile,
    *,
    command: str = "ekss bench table1",
) -> Written:
    """Write Table I with ours beside the paper's: txt, md, csv, json and png.

    Parameters
    ----------
    plan : Plan
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    profile : Profile
        Its caption goes under the table.
    command : str
        What made the rows.

    Returns
    -------
    written : Written
    """
    run = {
        **run_of(rows, command),
        "caption": profile.caption,
        # Errors on subsets have no reason to be near the paper's.
        "comparable": not profile.subset,
    }
    return write_entries(entries_of(plan, rows), [run], folder, code_of(plan.work))


def write_entries(
    entries: Sequence[Entry],
    runs: Sequence[Mapping[str, Any]],
    folder: Path,
    current: str | None = None,
) -> Written:
    """Write Table I from its figures and the runs that made them.

    Parameters
    ----------
    entries : sequence of Entry
    runs : sequence of mapping
        How figures were made, from :func:`ekss.benchmarks._pages.run_of`, with
        "caption" and "comparable". Later runs have replaced figures of earlier ones.
    folder : Path
    current : str, default=None
        Fingerprint of the code with which the figures are compared, if any.

    Returns
    -------
    written : Written
    """
    notes = note_lines(entries) if all(run["comparable"] for run in runs) else []
    absent = missing_lines(entries)
    grid = errors_grid(entries)
    versions = version_of_entries(entries, current)
    captions = dict.fromkeys(run["caption"] for run in runs)
    caption = " ".join([LEGEND, *captions])
    wrapped = [
        "\n".join(textwrap.fill(line, 88) for line in lines)
        for lines in ([caption], absent, notes)
    ]
    text = paragraphs([versions, text_table(grid, rules=True), *wrapped])
    picture = folder / "table1.png"
    shown = _draw_bars(entries, picture)
    pieces = {
        "table1.txt": text,
        "table1.md": _as_markdown(versions, grid, caption, absent, notes, runs, shown),
        "table1.csv": errors_csv(entries),
        "table1.json": json.dumps(runs, indent=1) + "\n",
    }
    files = [write_text(folder / name, content) for name, content in pieces.items()]
    return Written(text, (*files, *([picture] if shown else [])))


def _as_markdown(
    versions: str,
    grid: Grid,
    caption: str,
    absent: Sequence[str],
    notes: Sequence[str],
    runs: Sequence[Mapping[str, Any]],
    shown: bool,
) -> str:
    parts = ["# Table I, paper against ours", versions, markdown_table(grid), caption]
    if absent:
        parts += ["Not there:", bullets(absent)]
    if notes:
        parts += ["Differences of more than 5 points to the paper:", bullets(notes)]
    for number, run in enumerate(runs):
        parts.append("Figures computed again:" if number else "How it was made:")
        parts.append(bullets(run_lines(run)))
    return paragraphs([*parts, "![The same as bars](table1.png)" if shown else ""])


def merge_table1(new: Path, folder: Path) -> Written:
    """Put the figures of a run into a table that is there, and write it again.

    Parameters
    ----------
    new : Path
        Folder of the run, of which every figure replaces the one in the table.
    folder : Path
        Folder of the table.

    Returns
    -------
    written : Written
    """
    fresh = {
        (entry.dataset, entry.method): entry.figures
        for entry in read_entries((new / "table1.csv").read_text())
    }
    entries = []
    for entry in read_entries((folder / "table1.csv").read_text()):
        figures = dict(entry.figures)
        for column, figure in fresh.get((entry.dataset, entry.method), {}).items():
            if figure.mean is not None:
                figures[column] = figure
        entries.append(replace(entry, figures=figures))
    runs = [
        run
        for place in (folder, new)
        for run in json.loads((place / "table1.json").read_text())
    ]
    return write_entries(entries, runs, folder)


def write_table2(loaders: Mapping[str, Loader], folder: Path) -> Written:
    """Write the sizes of the data sets beside the paper's: txt, md and csv.

    Parameters
    ----------
    loaders : mapping of str to callable
        What loads each data set, before any preprocessing.
    folder : Path
    """
    grid: Grid = [["data set", "N paper", "N", "K paper", "K", "D paper", "D"]]
    absent = []
    for name, dataset in DATASETS.items():
        ours = published = ("-", "-", "-")
        try:
            ours = _sizes(loaders[name])
        except OSError as error:
            absent.append(f"{dataset.title}: missing. {error}")
        pairs = zip(SIZES.get(name, published), ours, strict=True)
        grid.append([dataset.title, *(str(value) for pair in pairs for value in pair)])
    caption = (
        "Points, clusters and dimension as loaded. MNIST-10k is clustered after a "
        "scattering transform and 500 principal components, which is the paper's D."
    )
    return write_grid("table2", grid, folder, left=1, below=[caption, *absent])


def write_table3(plan: Plan, rows: Mapping[str, Row], folder: Path) -> Written:
    """Write the paper's parameters beside those the labels chose: txt, md and csv.

    Parameters
    ----------
    plan : Plan
        Of Table I.
    rows : mapping
        Rows by the cells' keys.
    folder : Path
    """
    return write_parameters(entries_of(plan, rows), folder, code_of(plan.work))


def write_parameters(
    entries: Sequence[Entry], folder: Path, current: str | None = None
) -> Written:
    """Write the parameters from the figures of Table I."""
    grid: Grid = [["method", "data set", "paper", "label-tuned", "error %"]]
    for method in METHODS.values():
        for entry in entries:
            given = parameters(entry.dataset, method.name)
            if entry.method == method.name and given is not None:
                figure = entry.figures["tuned"]
                chosen = "-" if figure.best is None else _told(figure.best)
                error = "-" if figure.mean is None else f"{figure.mean:.2f}"
                title = DATASETS[entry.dataset].title
                grid.append([method.title, title, _told(given), chosen, error])
    caption = (
        "Names are those of the estimators; K is the number of clusters. For Hopkins "
        "the most frequent choice among the sequences."
    )
    versions = version_of_entries(entries, current)
    below = [caption, *missing_lines(entries)]
    return write_grid("table3", grid, folder, left=4, above=[versions], below=below)


def entries_of(plan: Plan, rows: Mapping[str, Row]) -> list[Entry]:
    """Return the entries of all data sets and methods of a plan."""
    places = [(cell.dataset, cell.method) for cell in plan.cells]
    methods = [name for name in METHODS if name in {method for _, method in places}]
    present = {dataset for dataset, _ in places} | set(plan.missing)
    datasets = [name for name in DATASETS if name in present]
    return summarise(plan, rows, datasets, methods or list(METHODS))


def _sizes(load: Loader) -> tuple[str, str, str]:
    points = load()
    counts = [
        [len(some.data) for some in points],
        [some.n_clusters for some in points],
        [some.data.shape[1] for some in points],
    ]
    spans = [(int(np.min(values)), int(np.max(values))) for values in counts]
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in spans]
    return shown[0], shown[1], shown[2]


def _told(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in params.items())


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "..".join(_value(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


_COLOURS = {
    "published": "#9a9a9a",
    "paper": "#9ecae1",
    "tuned": "#08519c",
    "free": "#fd8d3c",
    "chosen": "#a63603",
}
_HEIGHT = 0.17


def _draw_bars(entries: Sequence[Entry], path: Path) -> bool:
    """Draw the errors of every data set, methods ordered by our label-tuned error.

    Without matplotlib or figures there is no picture; tell whether there is one.
    """
    if all(figure.mean is None for one in entries for figure in one.figures.values()):
        return False
    if find_spec("matplotlib") is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    columns = min(3, len(datasets))
    lines = -(-len(datasets) // columns)
    methods = len({entry.method for entry in entries})
    size = (1.5 + 4.2 * columns, 1.2 + lines * (0.7 + 0.56 * methods))
    drawing = new_drawing(*size)
    panels = drawing.subplots(lines, columns, squeeze=False).ravel()
    for panel, dataset in zip(panels, datasets, strict=False):
        _draw_panel(panel, [entry for entry in entries if entry.dataset == dataset])
    for panel in panels[len(datasets) :]:
        panel.axis("off")
    handles, names = panels[0].get_legend_handles_labels()
    drawing.legend(
        handles, names, loc="outside lower center", ncols=len(LINES), frameon=False
    )
    save_drawing(drawing, path, dpi=150)
    return True


def _draw_panel(panel: Any, entries: list[Entry]) -> None:
    ordered = sorted(entries, key=_rank)
    for number, (column, title) in enumerate(LINES.items()):
        values = [entry.error(column) for entry in ordered]
        places = [place + (number - 2) * _HEIGHT for place in range(len(ordered))]
        lengths = [0.0 if value is None else value for value in values]
        panel.barh(places, lengths, 0.92 * _HEIGHT, color=_COLOURS[column], label=title)
        for place, value in zip(places, values, strict=True):
            if value is None and column == "chosen":
                continue
            text = "no figure" if value is None else f"{value:.1f}"
            panel.annotate(
                text,
                (value or 0.0, place),
                xytext=(2, 0),
                textcoords="offset points",
                va="center",
                fontsize=6,
                color="#444444",
            )
    panel.set_title(DATASETS[ordered[0].dataset].title, loc="left", fontweight="bold")
    panel.set_yticks(
        range(len(ordered)), [METHODS[entry.method].title for entry in ordered]
    )
    panel.invert_yaxis()
    panel.set_xlabel("clustering error %")
    panel.margins(x=0.12, y=0.02)
    panel.spines[["top", "right"]].set_visible(False)


def _rank(entry: Entry) -> float:
    known = (entry.figures["tuned"].mean, entry.published, entry.figures["free"].mean)
    return next((one for one in known if one is not None), float("inf"))
