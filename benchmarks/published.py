"""Text of the README and the docs that comes from runs, made from docs/results.

A page has such text between two marks, ``<!-- begin NAME -->`` and
``<!-- end NAME -->``. Nothing there is typed: ``python benchmarks/publish.py text``
writes it, and a test compares it with the files of results.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

from ekss.benchmarks import (
    DATASETS,
    FIGURE_PROFILES,
    FIGURES,
    METHODS,
    read_entries,
    write_entries,
    write_parameters,
)
from ekss.benchmarks._pages import each_once, listed, wrapped
from ekss.benchmarks._table1 import checked_line, newest_codes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))

_BLOCK = re.compile(
    r"^([ \t]*<!-- begin (\w+) -->\n).*?(\n[ \t]*<!-- end \2 -->)$", re.M | re.S
)
_OTHER = "†"


def fill(text: str) -> str:
    """Return the text of a page with every block written anew."""
    return _BLOCK.sub(lambda m: m[1] + wrapped(BLOCKS[m[2]]()) + m[3], text)


def blocks_of(text: str) -> list[str]:
    """Return the names of the blocks of a page."""
    return [found[2] for found in _BLOCK.finditer(text)]


def without_blocks(text: str) -> str:
    """Return what people have written."""
    return _BLOCK.sub("", text)


def write_pages() -> list[Path]:
    """Write all blocks, and the tables whose figures are in a file; return changes."""
    write_entries(_entries(), _runs(), RESULTS)
    write_parameters(_entries(), RESULTS, _newest_codes())
    for name in ("table1.txt", "table3.txt", "table3.csv"):
        (RESULTS / name).unlink(missing_ok=True)  # the pages have the same
    changed = []
    for page in PAGES:
        before = page.read_text()
        after = fill(before)
        if after != before:
            page.write_text(after)
            changed.append(page)
    return changed


def lines_of(name: str) -> list[dict[str, str]]:
    """Return the lines of a file of results."""
    with (RESULTS / name).open() as stream:
        return list(csv.DictReader(stream))


def _entries():
    return read_entries((RESULTS / "table1.csv").read_text())


def _runs() -> list[dict]:
    """Return how Table I was made: runs that made parts of it, the last one last."""
    return json.loads((RESULTS / "table1.json").read_text())


def _on_page(name: str, pattern: str) -> float:
    """Return a number that a page of results has, where the pattern says."""
    found = re.search(pattern, (RESULTS / name).read_text())
    if found is None:
        raise ValueError(f"docs/results/{name} has nothing like {pattern}")
    return float(found[1])


# Scale ------------------------------------------------------------------------------


def scale_line(method: str, points: int) -> dict[str, str]:
    """Return what was measured on so many planted points."""
    (line,) = (
        line
        for line in lines_of("scale.csv")
        if (line["dataset"], line["method"], int(line["points"]))
        == ("planted", method, points)
    )
    return line


def scale_bullet() -> str:
    given, free = (scale_line(method, 1_000_000) for method in ("given", "free"))
    (dask,) = lines_of("dask.csv")
    return (
        "- **A million rows on a laptop, Dask beyond it.** Memory maps, HDF5, zarr and "
        "Dask arrays are read block by block: 1,000,000 x 50 in "
        f"{float(given['seconds']):.0f} s and {float(given['megabytes']) / 1024:.1f} "
        f"GB\n  on {given['workers']} cores with K and d given, "
        f"{float(free['seconds']):.0f} s with K alone ([all figures]"
        "(docs/results/scale.md)); "
        f"{int(dask['rows']):,} x {dask['features']} on {dask['workers']} Dask workers "
        f"in {float(dask['seconds']):.0f} s.\n  An estimate of memory and time is "
        "shown before the work starts: [many rows](docs/large.md)."
    )


def scale_paragraph() -> str:
    given, free, whole = (
        scale_line(method, 1_000_000) for method in ("given", "free", "approximate")
    )
    minutes = 60 * _on_page("scale.md", r"([\d.]+) hours of one core")
    return (
        f"`ekss bench scale` (`make bench-scale`, about {minutes:.0f} minutes): "
        "[10,000 to 1,000,000 rows, and MNIST-70k](results/scale.md), by stage. A "
        f"million rows of 50 numbers take\n{float(given['seconds']):.0f} s with K and "
        f"d given, {float(free['seconds']):.0f} s with K alone, and "
        f"{float(whole['seconds']):.0f} s when all of them are voted on and their "
        f"graph is cut ({given['workers']} cores)."
    )


def dask_table() -> str:
    (dask,) = lines_of("dask.csv")
    before = float(dask["worker_megabytes_before"])
    lines = [
        ("", ""),
        (f"fit, {dask['workers']} cores", f"{float(dask['seconds']):.1f} s"),
        (
            f"highest memory of a worker, {before:.0f} MB of it before the fit",
            f"{float(dask['worker_megabytes']):.0f} MB",
        ),
        (
            "highest memory of the process that fits, with the scheduler",
            f"{float(dask['process_megabytes']):.0f} MB",
        ),
        ("workers restarted", dask["restarted"]),
        ("error against the planted labels", f"{float(dask['error']):.3f} %"),
    ]
    table = [f"| {name} | {value} |" for name, value in lines]
    return "\n".join([table[0], "|---|---:|", *table[1:]])


# Digits -----------------------------------------------------------------------------


def digits_caption() -> str:
    lines = lines_of("digits.csv")
    ours = {
        int(line["seed"]): float(line["error"])
        for line in lines
        if line["method"] == "ekss"
    }
    (spectral,) = (float(one["error"]) for one in lines if one["method"] == "spectral")
    return (
        "*The top of the [report](docs/report.md) that `ekss demo` writes about the "
        "digits that ship with scikit-learn: one HTML file with\nwhat is good and what "
        "to doubt, then clusters, typical and doubtful images, a map, votes, "
        f"eigenvalues and subspaces.\nError {ours[0]:.1f} % with seed 0, "
        f"{min(ours.values()):.1f} to {max(ours.values()):.1f} % over seeds "
        f"{min(ours)} to {max(ours)}; "
        "scikit-learn's spectral clustering on nearest neighbours "
        f"{spectral:.1f} %.*"
    )


# Which method? ----------------------------------------------------------------------


def methods_table() -> str:
    lines = lines_of("methods.csv")
    sets = list(dict.fromkeys(line["set"] for line in lines))
    methods = list(dict.fromkeys(line["method"] for line in lines))
    table = [["error %", *sets, "s", "MB"], ["---", *["---:"] * (len(sets) + 2)]]
    lowest = [
        min(
            filter(None, (_shown(lines, name, one, "error") for one in methods)),
            key=float,
        )
        for name in sets
    ]
    for method in methods:
        errors = [_shown(lines, name, method, "error") for name in sets]
        cells = [
            f"**{error}**" if error == best else error or "-"
            for error, best in zip(errors, lowest, strict=True)
        ]
        for column in ("seconds", "megabytes"):
            cells.append(_shown(lines, "digits", method, column) or "-")
        table.append([method, *cells])
    seeds = each_once(line["seed"] for line in lines)
    codes = each_once(
        f"{line['code']} (commit {line['commit'][:12]})" for line in lines
    )
    return "\n".join(
        [
            *("| " + " | ".join(row) + " |" for row in table),
            "",
            f"Mean clustering error in percent over seeds {seeds[0]} to {seeds[-1]}, "
            'the lowest in bold; "-" was not measured.\nSeconds of processor time of a '
            "fit to the digits on one core, and memory that the fit needed beyond what "
            f"was\nthere before it. Code {listed(codes)}; "
            "`python benchmarks/publish.py methods text`\nmeasures again.",
        ]
    )


def _shown(lines, name: str, method: str, column: str) -> str | None:
    """Return the mean over seeds as it is shown, or None if nothing was measured."""
    values = [
        float(line[column])
        for line in lines
        if (line["set"], line["method"]) == (name, method)
    ]
    digits = 0 if column == "megabytes" else 1
    return f"{sum(values) / len(values):.{digits}f}" if values else None


# Table I ----------------------------------------------------------------------------


def _hours() -> float:
    """Return the hours of one core of all runs that made parts of Table I."""
    return sum(run["hours"] for run in _runs())


def bench_commands() -> str:
    return (
        "```console\n"
        "$ ekss data fetch all                 # or: ekss data import FOLDER, if you "
        "have the archives\n"
        "$ ekss bench table1 --profile smoke   # all data sets and methods on subsets, "
        "a few minutes\n"
        "$ ekss bench table1                   # full data sets, "
        f"{_hours():.0f} hours of one core\n"
        "```"
    )


def bench_list() -> str:
    comments = {
        "ekss data list": "which data sets are there, and how to get the others",
        "ekss bench all": "all of the following, in the profiles that are published",
        "ekss bench table1 --profile smoke": (
            "all data sets and methods on subsets, a few minutes"
        ),
        "ekss bench table1": (
            f"profile quick: full data sets, {_hours():.0f} hours of one core"
        ),
        "ekss bench table1 --profile paper": "1000 members, 1000 trials, 5 seeds: days",
        "ekss bench table2": "sizes of the data sets",
        "ekss bench table3": "parameters, the paper's and those our labels chose",
        "ekss bench ablation": (
            "label-free EKSS with each of its ideas switched off in turn"
        ),
        "ekss bench hopkins": "SSC with its authors' setting, and stopped early",
        "ekss bench figure1": "and figure2 to figure4",
        "ekss bench scale": "time and memory up to a million points, and MNIST-70k",
    }
    lines = [f"$ {command:35} # {words}" for command, words in comments.items()]
    return "\n".join(["```console", *lines, "```"])


_HEADLINES = (
    "the paper's EKSS, tuned by the labels",
    "EKSS at the paper's parameters",
    "EKSS, tuned by the labels",
    "`EKSS(K)`: no labels, no setting",
    "`EKSS(K, image_shape=...)`: images as images",
    "best other method at its defaults",
    "best other method with `LabelFreeSearch`",
    "best other method, tuned by the labels",
    "the paper's best of eight methods, tuned by the labels",
)


def headline_table() -> str:
    """Return the headline table: EKSS in every way, and the best of the others."""
    entries = _entries()
    newest = _newest_codes()
    columns = [_headline_column(entries, name, newest) for name in DATASETS]
    table = [
        ["clustering error %", *(one.title for one in DATASETS.values())],
        ["---", *["---:"] * len(DATASETS)],
        *zip(_HEADLINES, *columns, strict=True),
    ]
    rendered = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    counts = {one.figures["free"].seeds for one in entries if one.method == "ekss"}
    seeds = " or ".join(map(str, sorted(counts)))
    notes = f"`EKSS(K)`: mean ± standard deviation over {seeds} seeds. Bold: "
    notes += "the lowest without labels."
    if beaten := _better_than_default(entries):
        notes += f" Better than `EKSS(K)` without labels: {listed(beaten)}."
    return f"{_version_note(entries, rendered, newest)}\n\n{rendered}\n\n{notes}"


def _newest_codes() -> set[str]:
    """Return the fingerprints of all methods when the last run was made."""
    return newest_codes(_runs())


def _headline_column(entries, dataset: str, newest: set[str]) -> list[str]:
    its = {one.method: one for one in entries if one.dataset == dataset}
    ours, images = its["ekss"], its.get("ekss-images")
    default, searched = (_best(entries, dataset, name) for name in ("free", "chosen"))
    tried = [(ours, "free"), (images, "free"), (default, "free"), (searched, "chosen")]
    lowest = min(
        entry.figures[column].mean
        for entry, column in tried
        if entry is not None and entry.figures[column].mean is not None
    )

    def shown(entry, column: str) -> str:
        if entry is None or entry.figures[column].mean is None:
            return "-"
        figure, is_free = entry.figures[column], column in ("free", "chosen")
        is_lowest = is_free and figure.mean == lowest
        text = f"**{figure.mean:.2f}**" if is_lowest else f"{figure.mean:.2f}"
        is_ours = METHODS[entry.method].estimator == METHODS["ekss"].estimator
        if is_ours and is_free and figure.spread is not None:
            text += f" ± {figure.spread:.2f}"
        if not newest.issuperset(figure.codes):
            text += f" {_OTHER}"
        return text if is_ours else f"{text} {METHODS[entry.method].title}"

    published = min(one.published for one in its.values() if one.published is not None)
    return [
        f"{ours.published:.2f}",
        shown(ours, "paper"),
        shown(ours, "tuned"),
        shown(ours, "free"),
        shown(images, "free"),
        shown(default, "free"),
        shown(searched, "chosen"),
        shown(_best(entries, dataset, "tuned"), "tuned"),
        f"{published:.2f}",
    ]


def _best(entries, dataset: str, column: str):
    """Return the entry of the best other method in a column, if there is one."""
    others = [
        one
        for one in entries
        if one.dataset == dataset
        and METHODS[one.method].estimator != METHODS["ekss"].estimator
        and one.figures[column].mean is not None
    ]
    return min(others, key=lambda one: one.figures[column].mean, default=None)


def _better_than_default(entries) -> list[str]:
    """Say which other methods have lower errors without labels, and where."""
    ours = {
        one.dataset: one.figures["free"].mean for one in entries if one.method == "ekss"
    }
    ways = {"free": "", "chosen": " with `LabelFreeSearch`"}
    found = [
        (one, one.figures[column].mean, words)
        for dataset in DATASETS
        for column, words in ways.items()
        if (one := _best(entries, dataset, column)) is not None
    ]
    return [
        f"{METHODS[one.method].title}{words} on {DATASETS[one.dataset].title} "
        f"({mean:.2f})"
        for one, mean, words in found
        if mean < ours[one.dataset]
    ]


def _version_note(entries, table: str, newest: set[str]) -> str:
    """Say above the table which versions made its figures."""
    if checked_line(entries, _runs()):
        return (
            f"All of our figures are those of commit {_runs()[-1]['checked']} "
            "([how that is checked](docs/benchmarks.md#rows))."
        )
    commits = each_once(
        commit
        for entry in entries
        for figure in entry.figures.values()
        if figure.codes and newest.issuperset(figure.codes)
        for commit in figure.commits
    )
    made = f"commit{'s' if len(commits) > 1 else ''} {listed(commits)}"
    if len(commits) > 1:
        made += " (the same [code](docs/benchmarks.md#rows) in all of them)"
    if _OTHER not in table:
        return f"Our figures are of {made}."
    return (
        f"Figures without {_OTHER} are of {made}. Those with {_OTHER} were made by "
        "earlier versions of the code, and are to be computed again."
    )


# Figures ----------------------------------------------------------------------------


def figure_times() -> str:
    minutes = {
        name: _on_page(f"{name}.md", r"clusterings: ([\d.]+) minutes")
        for name in ("figure3", "figure4")
    }
    others = sum(
        60 * _on_page(f"{name}.md", r"([\d.]+) hours of one core")
        for name in ("figure1", "figure2")
    )
    hours = {}
    for name in minutes:
        cells = FIGURES[name].plan(FIGURE_PROFILES["paper"]).cells
        rough = f"{sum(cell.cost for cell in cells) / 3600 / 2:.0e}"  # one digit
        hours[name] = f"{float(rough):.0f}"
    return (
        "Smoke runs give no verdicts. The clusterings of the quick run took "
        f"{minutes['figure3']:.0f} minutes of processor time for\nfigure 3 and "
        f"{minutes['figure4']:.0f} for figure 4; figures 1 and 2 together took "
        f"{others:.0f} minutes, most of it UMAP.\nFor the paper's grid `--dry-run` "
        f"estimates {hours['figure3']} hours of 2 cores for figure 3 and "
        f"{hours['figure4']}\nfor figure 4, so choose a part of it by a profile of "
        "your own (below). Why quick differs from the paper's numbers:"
    )


# Guarantees -------------------------------------------------------------------------


def theory_excerpt() -> str:
    """Shorten what the command said: whole answers, some guarantees, some remedies."""
    text = "\n".join(
        line.rstrip() for line in (RESULTS / "theory.txt").read_text().splitlines()
    )
    start, rest = text.split("\nClusters\n")
    _, rest = rest.split("\nGuarantees\n")
    guarantees, rest = rest.split("\nWhat fails, by how much, and what would help\n")
    remedies = rest.split("\nWorst points")[0].strip("\n").split("\n\n")
    lines = guarantees.strip("\n").splitlines()
    begins = [n for n, line in enumerate(lines) if re.match(r" (Theorem|Lemma) ", line)]
    parts = [
        start.strip("\n"),
        "Clusters\n ...",
        "Guarantees\n\n" + "\n".join([*lines[: begins[3]], " ..."]),
        "What fails, by how much, and what would help\n"
        + "\n\n".join(remedies[:2])
        + "\n ...",
    ]
    return "```text\n" + "\n\n".join(parts) + "\n```"


BLOCKS: dict[str, Callable[[], str]] = {
    block.__name__: block
    for block in (
        scale_bullet,
        scale_paragraph,
        dask_table,
        digits_caption,
        methods_table,
        bench_commands,
        bench_list,
        headline_table,
        figure_times,
        theory_excerpt,
    )
}
