"""Numbers of the README and the docs that come from runs are those of the results."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def published():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("published")
    sys.path.remove(str(ROOT / "benchmarks"))


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_text_from_runs_is_what_the_results_say(page, published):
    text = page.read_text()
    begun = re.findall(r"^[ \t]*<!-- begin (\w+) -->", text, re.M)
    assert begun == published.blocks_of(text)
    assert published.fill(text) == text, "run: python benchmarks/publish.py text"


def test_every_block_is_on_some_page(published):
    found = [name for page in PAGES for name in published.blocks_of(page.read_text())]
    assert sorted(found) == sorted(published.BLOCKS)


def test_readme_has_no_figure_of_a_run_that_somebody_typed(published):
    text = published.without_blocks((ROOT / "README.md").read_text())
    assert not re.findall(r"\d[\d.,]* ?(?:%|s\b|GB|MB|hours?\b|minutes?\b)", text)


def test_table_is_the_file_of_its_figures(published, tmp_path):
    results = ROOT / "docs" / "results"
    runs = published.json.loads((results / "table1.json").read_text())
    entries = published.read_entries((results / "table1.csv").read_text())
    published.write_entries(entries, runs, tmp_path)
    published.write_parameters(entries, tmp_path, published.newest_codes(runs))
    for name in ("table1.md", "table1.json", "table3.md"):
        assert (tmp_path / name).read_text() == (results / name).read_text(), name
    # The names of the file may be those of the version that made it.
    assert published.read_entries((tmp_path / "table1.csv").read_text()) == entries


def test_reproduction_is_what_its_rows_and_the_table_say(published):
    reproduction = importlib.import_module("reproduction")
    again = "run: python benchmarks/reproduction.py --page"
    assert reproduction.PAGE.read_text() == reproduction.page_text(), again


@pytest.mark.parametrize(
    ("errors", "words", "change"),
    [
        ({"": 11.5, "T = 0": 10.0}, "reproduced", None),
        ({"": 7.0, "T = 0": 6.0}, "reproduced, lower", None),
        (
            {"": 30.0, "T = 0": 11.9, "d = 9": 3.0},
            "reproduced with this change",
            "T = 0",
        ),
        ({"": 30.0, "T = 0": 14.0, "d = 9": 13.0}, "not reproduced", "d = 9"),
        ({"": 30.0}, "not reproduced", None),
    ],
)
def test_smallest_change_that_reaches_a_figure_is_named(
    published, errors, words, change
):
    reproduction = importlib.import_module("reproduction")
    own = [reproduction.Figure(error, told, "") for told, error in errors.items()]
    found = reproduction.verdict_of(10.0, own, {})
    assert found.words == words
    assert (found.change.words if found.change else None) == change


def test_small_figures_are_reached_by_no_more_than_twice(published):
    reproduction = importlib.import_module("reproduction")
    assert reproduction.reaches(reproduction.Figure(0.5, "", ""), 0.26)
    assert not reproduction.reaches(reproduction.Figure(0.6, "", ""), 0.26)


# Lines of EKSS, which are no rivals of it.
OURS = ("ekss", "ekss-images")


def test_headline_shows_what_is_better_without_labels(published):
    entries = published.read_entries(
        (ROOT / "docs" / "results" / "table1.csv").read_text()
    )
    table = published.headline_table()
    ours = {
        one.dataset: one.figures["free"].mean for one in entries if one.method == "ekss"
    }
    for entry in entries:
        for column in ("free", "chosen"):
            mean = entry.figures[column].mean
            rivals = [
                one.figures[column].mean
                for one in entries
                if one.dataset == entry.dataset
                and one.method not in OURS
                and one.figures[column].mean is not None
            ]
            if entry.method in OURS or mean is None or mean > min(rivals):
                continue
            assert f"{mean:.2f}" in table
            title = published.DATASETS[entry.dataset].title
            assert (f"on {title} ({mean:.2f})" in table) == (mean < ours[entry.dataset])


@pytest.mark.parametrize("column", ["free", "chosen", "tuned"])
def test_headline_shows_our_best_rival(column, published):
    """In every way, whatever the method: the lowest figure with its name."""
    entries = published._entries()
    lines = published.headline_table().splitlines()
    ways = {
        "free": "at its defaults",
        "chosen": "with `LabelFreeSearch`",
        "tuned": "tuned by the labels",
    }
    (line,) = (
        one
        for one in lines
        if one.startswith("| best other method") and ways[column] in one
    )
    for dataset, cell in zip(published.DATASETS, line.split(" | ")[1:], strict=True):
        rivals = {
            published.METHODS[one.method].title: one.figures[column].mean
            for one in entries
            if one.dataset == dataset and one.method not in OURS
        }
        known = {name: mean for name, mean in rivals.items() if mean is not None}
        best = min(known, key=known.get)
        assert f"{known[best]:.2f}" in cell
        assert cell.removesuffix(" |").endswith(best)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_other_measurements_are_said_to_be_of_one_occasion(page, published):
    """What was measured while the code was made is a log, and says so."""
    if page.parent.name == "results":
        return
    text = published.without_blocks(page.read_text())
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    told = re.findall(r"\d\.\d (?:%|s\b)|\| \d+\.\d+ \|", text)
    if told:
        assert "measured once" in " ".join(text.split()), told[:3]
