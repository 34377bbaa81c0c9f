"""The page answers the hand: real events of mouse and keyboard in a browser."""

import json
import re
import time

import numpy as np
import pytest
from planted import NAMES, planted
from seen import VISIBLE, complaints, requests

from ekss import EKSS
from ekss.report import build

STATUS = "document.querySelector('[role=status]').textContent"
FACTS = "JSON.parse(document.querySelector('#facts').textContent)"
# Clusters that stand out in each panel, and those that are faded.
SEEN = """
[...document.querySelectorAll("figure, .panel")].map((panel) => {
  const parts = [...panel.querySelectorAll("[data-k]")];
  const some = (kind) => [...new Set(parts.filter((part) =>
    part.classList.contains(kind)).map((part) => part.dataset.k))].sort();
  return [panel.id, some("on"), some("off")];
}).filter((panel) => panel[1].length || panel[2].length)
"""


@pytest.fixture(scope="module")
def table():
    return planted()


@pytest.fixture(scope="module")
def page(table, tmp_path_factory):
    """The page of the planted table."""
    model = EKSS(3, 4, n_members=20, n_neighbors=8, random_state=0)
    ids = [f"M{i:03d}" for i in range(200)]
    report = build(
        model.fit(table.rows),
        table.rows,
        labels=table.truth,
        ids=ids,
        feature_names=NAMES,
        unused=["machine", "operator"],
    )
    return report.save(tmp_path_factory.mktemp("hand") / "page.html")[0]


@pytest.fixture
def opened(browser, page):
    browser.scripts(on=True)
    browser.open(page, width=1280)
    yield browser
    browser.scripts(on=True)
    assert complaints(browser) == []
    assert requests(browser) == [page.as_uri()]


def dot(browser, i):
    """Place of a dot of the map in the window."""
    browser.place("#map svg")
    return browser.evaluate(
        f"(() => {{ const f = {FACTS}, s = document.querySelector('#map svg');"
        "const b = s.getBoundingClientRect(), v = s.viewBox.baseVal;"
        f"return [b.left + f.dots.x[{i}] / v.width * b.width,"
        f" b.top + f.dots.y[{i}] / v.height * b.height]; }})()"
    )


def shown_tip(browser):
    return browser.evaluate(
        "(() => { const t = document.querySelector('.tip');"
        "return t.hidden ? null : t.innerText; })()"
    )


def test_a_dot_tells_its_name_and_its_clusters(opened):
    opened.move(2, 2)
    assert shown_tip(opened) is None
    opened.move(*dot(opened, 7))
    words = shown_tip(opened)
    facts = opened.evaluate(FACTS)
    names = [name for name in facts["dots"]["id"] if name in words]
    assert len(names) == 1  # of dots that cover each other, the nearest is told
    i = facts["dots"]["id"].index(names[0])
    k = facts["dots"]["k"][i]
    assert f"cluster {facts['names'][k]}, mostly {facts['mostly'][k]}" in words
    assert f"cluster {facts['names'][facts['dots']['near'][i][0]]}:" in words
    assert "times as far" in words
    opened.move(2, 2)
    assert shown_tip(opened) is None


def test_small_images_are_those_of_the_points(browser, union, ensemble, tmp_path):
    X = np.abs(union.data)
    path, _ = build(ensemble, X, image_shape=(5, 6)).save(tmp_path / "page.html")
    browser.open(path, width=1280)
    browser.move(*dot(browser, 11))
    sharp = browser.evaluate(
        "(() => { const c = document.querySelector('.tip canvas');"
        "const step = c.width / 6, d = c.getContext('2d');"
        "const pixels = d.getImageData(0, 0, c.width, c.height).data;"
        "return [...Array(30).keys()].map((i) => pixels[4 * (c.width *"
        " Math.floor((Math.floor(i / 6) + .5) * step) +"
        " Math.floor((i % 6 + .5) * step))]); })()"
    )
    row = int(re.search(r"point (\d+)", shown_tip(browser))[1])
    assert np.corrcoef(sharp, X[row])[0, 1] > 0.99
    assert complaints(browser) == []


def sizes(browser):
    return browser.evaluate(
        "[...document.querySelectorAll('table.clusters tbody tr')].map("
        "(row) => Number(row.cells[1].dataset.value))"
    )


def test_tables_are_sorted_by_a_click_and_by_a_key(opened):
    heading = "table.clusters thead th:nth-child(2)"
    at_first = sizes(opened)
    opened.click(f"{heading} button")
    assert sizes(opened) == sorted(at_first)
    sort = f"document.querySelector({json.dumps(heading)}).getAttribute('aria-sort')"
    assert opened.evaluate(sort) == "ascending"
    opened.press("Enter")  # the button has the focus
    assert sizes(opened) == sorted(at_first, reverse=True)
    assert opened.evaluate(sort) == "descending"
    assert "Sorted by points" in opened.evaluate(STATUS)
    # a column of words and numbers
    opened.click("#columns thead th:first-child button")
    names = opened.evaluate(
        "[...document.querySelectorAll('#columns tbody th')].map(e => e.innerText)"
    )
    assert names == sorted(NAMES)


def test_tables_are_filtered_by_what_is_typed(opened):
    opened.click("#columns .filter input")
    opened.type("pres")
    left = "[...document.querySelectorAll('#columns tbody tr')].filter(r => !r.hidden)"
    assert opened.evaluate(f"{left}.map(r => r.cells[0].innerText)") == ["pressure"]
    assert "1 of 12" in opened.evaluate(
        "document.querySelector('#columns .filter').innerText"
    )


def test_a_cluster_is_picked_out_in_every_panel(opened):
    assert opened.evaluate(SEEN) == []
    opened.click("table.clusters tbody tr:nth-child(2) button.pick")
    seen = {name: (on, off) for name, on, off in opened.evaluate(SEEN)}
    expected = {"clusters", "portraits", "columns", "loadings", "map", "matrix"}
    assert expected | {"agreement", "confusion", "affinities", "angles"} <= set(seen)
    assert all(found == (["1"], ["0", "2"]) for found in seen.values())
    pressed = "document.querySelectorAll('[aria-pressed=true]').length"
    assert opened.evaluate(pressed) >= 1
    opened.press("Escape")
    assert opened.evaluate(SEEN) == []
    assert opened.evaluate(pressed) == 0
    opened.click("#agreement [data-k='2'] rect")
    assert all(on == ["2"] for _, on, _ in opened.evaluate(SEEN))


def test_everything_can_be_done_by_keys(opened):
    focus = "(document.activeElement.closest('#map') || {id: ''}).id"
    for _ in range(80):
        opened.press("Tab")
        if opened.evaluate(focus) == "map":
            break
    assert opened.evaluate(focus) == "map"
    told = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        opened.press(key)
        told.append(opened.evaluate(STATUS))
        assert shown_tip(opened) is not None
    assert len(set(told)) > 2
    assert all(re.match(r"M\d{3}; cluster \d", words) for words in told)
    opened.press("Enter")
    assert opened.evaluate(SEEN) != []
    opened.press("Escape")
    assert opened.evaluate(SEEN) == []
    assert shown_tip(opened) is None


def test_all_points_are_a_table_that_leads_to_the_map(opened):
    opened.click("details.rows summary")
    opened.wait("document.querySelector('details.rows .filter input') !== null")
    opened.click("details.rows .filter input")
    opened.type("M123")
    left = "[...document.querySelectorAll('.rows tbody tr')].filter(r => !r.hidden)"
    assert opened.evaluate(f"{left}.length") == 1
    opened.evaluate(f"{left}[0].id = 'found'")
    opened.click("#found .locate")
    assert "M123" in shown_tip(opened)
    assert opened.evaluate("document.activeElement.closest('#map') !== null")


def test_labels_are_downloaded(opened, page, tmp_path):
    opened.keep_downloads(tmp_path)
    opened.click("a[download]")
    target = tmp_path / "labels.csv"
    for _ in range(100):
        if target.exists() and target.stat().st_size:
            break
        time.sleep(0.05)
    lines = target.read_text().splitlines()
    assert lines[0] == "id,label"
    assert len(lines) == 201
    counts = {c["name"]: c["size"] for c in json.loads(_numbers(page))["clusters"]}
    labels = [int(line.split(",")[1]) for line in lines[1:]]
    assert {k: labels.count(k) for k in counts} == counts
    # a download is a request for an address of the page itself
    opened.events[:] = [
        e
        for e in opened.events
        if not e.get("params", {}).get("request", {}).get("url", "").startswith("data:")
    ]


def _numbers(page):
    return page.with_suffix(".json").read_text()


def test_without_scripts_everything_is_there(browser, page):
    browser.scripts(on=False)
    try:
        browser.open(page, width=1280)
        browser.click("a[download]")  # a link, not a script
        shown = browser.call("DOMSnapshot.captureSnapshot", computedStyles=[])
        words = " ".join(shown["strings"])
        assert complaints(browser) == []
    finally:
        browser.scripts(on=True)
    for text in ("What is good.", "pressure is about", "Typical rows", "Not used"):
        assert text in words
    assert "Filter clusters" not in words


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_of_a_table_can_be_read(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    browser.click("details.rows summary")
    browser.wait("document.querySelector('details.rows .filter input') !== null")
    seen = browser.evaluate(VISIBLE)
    assert seen["bad"] == []
    assert seen["overflow"] <= 0
    assert complaints(browser) == []


def test_paper_has_no_controls(browser, page):
    browser.open(page, width=1280)
    browser.click("table.clusters tbody tr:nth-child(2) button.pick")
    browser.show_as_print()
    shown = browser.evaluate(
        "[...document.querySelectorAll('.filter, .actions, .copy, .tip, .rows')]"
        ".filter((e) => e.getBoundingClientRect().height > 0).length"
    )
    assert shown == 0
    faded = "getComputedStyle(document.querySelector('.off')).opacity"
    assert browser.evaluate(faded) == "1"


def test_no_other_script_runs(browser, page):
    browser.open(page, width=1280)
    ran = browser.evaluate(
        "(() => { const s = document.createElement('script');"
        "s.textContent = 'window.strange = 1'; document.body.append(s);"
        "document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="data:," onerror="window.strange = 2">\');'
        "return new Promise((done) => setTimeout(() => done(window.strange), 50)); })()"
    )
    assert ran is None


def test_the_script_is_small_and_the_policy_names_its_digest(page):
    html = page.read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}'", policy)
    assert "unsafe-eval" not in policy
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.S)
    assert len(script.encode()) < 50_000
