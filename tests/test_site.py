"""The site is whole: each public name has a page, and the built pages work.

``make docs`` builds the site and runs these tests. In the test suite the tests of the
built site are skipped if nobody has built it.
"""

import importlib
import pkgutil
from functools import cache
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import ekss

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "docs"
# Packages whose names are for the library itself, not for its users.
INSIDE = {"ekss.cli"}
OUTSIDE = ("http:", "https:", "//")
# Pages that a browser opens besides those that people wrote, of some hundred alike.
SAMPLES = (
    "api/generated/ekss.EKSS.html",
    "api/generated/ekss.metrics.clustering_error.html",
    "api/generated/ekss.theory.nfc_certificate.html",
    "_modules/ekss/ensemble/chain.html",
    "search.html",
    "genindex.html",
)


def loaded(path):
    """Import a file that is in no package."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api_pages = loaded(ROOT / "docs" / "_ext" / "api_pages.py")


# What needs no site -----------------------------------------------------------------


def test_every_public_package_is_in_the_reference():
    public = {"ekss"}
    for one in pkgutil.iter_modules(ekss.__path__, "ekss."):
        if one.name == "ekss.__main__":  # runs the command
            continue
        if hasattr(importlib.import_module(one.name), "__all__"):
            public.add(one.name)
    assert public - INSIDE == set(api_pages.PACKAGES)


@pytest.mark.parametrize("package", api_pages.PACKAGES)
def test_every_public_name_is_on_the_page_of_its_package(package):
    module = importlib.import_module(package)
    page = "\n".join(api_pages.lines_of(module, api_pages.owners()[package]))
    for name in module.__all__:
        entries = f"\n   {name}\n", f":: {name}\n", f"`{name} <ekss.{name}>`"
        assert any(entry in page for entry in entries), name


def test_every_object_has_one_page():
    owned = [
        id(getattr(importlib.import_module(package), name))
        for package, names in api_pages.owners().items()
        for name in names
        if not api_pages.is_constant(getattr(importlib.import_module(package), name))
    ]
    assert len(owned) == len(set(owned))


def test_every_page_is_listed_somewhere():
    """Sphinx says it too, but only when somebody builds the site."""
    docs = ROOT / "docs"
    lists = [page for page in docs.rglob("*.md") if "{toctree}" in page.read_text()]
    listed = set()
    for page in lists:
        inside = False
        for line in page.read_text().splitlines():
            inside = line.startswith("```{toctree}") or (inside and line != "```")
            if inside and line and not line.startswith((":", "`")):
                listed.add((page.parent / line).resolve().relative_to(docs.resolve()))
    pages = {page.relative_to(docs).with_suffix("") for page in docs.rglob("*.md")} - {
        Path("index")
    }
    assert sorted(pages - listed) == []


@pytest.mark.parametrize(
    ("plain", "marked"),
    [
        ("|<x, y>|", r"\|<x, y>\|"),
        ("see labels_.", "see ``labels_``."),
        ("``a|b`` and `c_`", "``a|b`` and `c_`"),
        ("reference [1]_ and **labels_**", "reference [1]_ and **labels_**"),
        (":math:`|x|` of n_iter", ":math:`|x|` of n_iter"),
    ],
)
def test_docstrings_mean_what_they_say(plain, marked):
    extension = loaded(ROOT / "docs" / "_ext" / "plain_docstrings.py")
    assert extension.mark(plain) == marked


def test_blocks_of_docstrings_are_left_alone():
    extension = loaded(ROOT / "docs" / "_ext" / "plain_docstrings.py")
    lines = [
        *(".. math:: |a|", "", "   |b|", "", "|c|", ""),
        *(">>> labels_", "|d|", "", "code::", "", "    |e|", "after_"),
    ]
    changed = [
        (old, new)
        for old, new in zip(lines, extension.marked(lines), strict=True)
        if old != new
    ]
    assert changed == [("|c|", r"\|c\|"), ("after_", "``after_``")]


# The built site ---------------------------------------------------------------------

built = pytest.mark.skipif(
    not (SITE / "index.html").exists(),
    reason="the site is not built; make docs builds it and runs this test",
)


class Links(HTMLParser):
    """What a page refers to, what it loads, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.refers, self.loads, self.anchors = [], [], {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.refers.append(found["href"])
        if tag == "link" and found.get("rel") not in ("canonical", "search", "index"):
            self.loads.append(found.get("href", ""))
        if tag in ("img", "script", "iframe", "source", "video"):
            self.loads.append(found.get("src", ""))


def html_pages():
    """Every page of the site; a theme keeps templates among its static files."""
    return [
        page for page in sorted(SITE.rglob("*.html")) if page.parent.name != "_static"
    ]


@cache
def links_of(path):
    return Links(path.read_text(encoding="utf-8"))


@built
def test_every_link_of_the_site_leads_somewhere():
    wrong = []
    for page in html_pages():
        links = links_of(page)
        # Pages of sources lead back to the right page, but viewcode knows one package
        # for each source and so some wrong anchors.
        exact = page.relative_to(SITE).parts[0] != "_modules"
        for target in [*links.refers, *links.loads]:
            parts = urlsplit(target)
            if parts.scheme or not target or target.startswith("//"):
                continue
            path = page.parent / unquote(parts.path) if parts.path else page
            here = path.resolve()
            if not here.exists():
                wrong.append(f"{page.relative_to(SITE)}: {target}")
            elif (
                exact
                and here.suffix == ".html"
                and unquote(parts.fragment) not in links_of(here).anchors
            ):
                wrong.append(f"{page.relative_to(SITE)}: no anchor {target}")
    assert not wrong, "\n".join(wrong[:30])


@built
def test_no_page_loads_anything_from_outside():
    wrong = [
        f"{page.relative_to(SITE)}: {target}"
        for page in html_pages()
        for target in links_of(page).loads
        if target.startswith(OUTSIDE)
    ]
    assert not wrong, "\n".join(wrong[:30])


@built
@pytest.mark.parametrize("package", api_pages.PACKAGES)
def test_every_class_and_function_has_a_built_page(package):
    module = importlib.import_module(package)
    for name in api_pages.owners()[package]:
        if not api_pages.is_constant(getattr(module, name)):
            page = SITE / "api" / "generated" / f"{package}.{name}.html"
            assert page.exists(), page
            assert 'class="sig' in page.read_text()


@pytest.fixture(scope="module")
def browser():
    chromium = loaded(ROOT / "tests" / "report" / "chromium.py")
    program = chromium.find_chromium()
    if program is None:
        pytest.skip("there is no Chromium or Chrome on this machine")
    with chromium.Chromium(program) as one:
        yield one


def written_pages():
    """Pages that people wrote, the gallery, and some of those made by the hundred."""
    pages = [
        page.relative_to(SITE).as_posix()
        for page in html_pages()
        if page.relative_to(SITE).parts[0] != "_modules"
        and "generated" not in page.parts
    ]
    return sorted({*pages, *SAMPLES})


def troubles(browser):
    """What went wrong on the page that is open."""
    found = []
    for event in browser.events:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                found.append(told["exceptionDetails"]["text"])
            case "Runtime.consoleAPICalled" if told["type"] == "error":
                found.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] == "error":
                found.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                address = told["request"]["url"]
                if not address.startswith(("file:", "data:", "blob:")):
                    found.append(f"asks for {address}")
            case "Network.loadingFailed":
                found.append(f"not loaded: {told['errorText']}")
    missing = """[...document.images].filter(one => one.complete &&
        one.naturalWidth === 0 && one.offsetParent).map(one => one.src)"""
    found += [f"no picture: {one}" for one in browser.evaluate(missing)]
    wide = "document.documentElement.scrollWidth - window.innerWidth"
    if browser.evaluate(wide) > 1:
        found.append("wider than the window")
    return found


@built
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_open_without_trouble(browser, width):
    wrong = {}
    for name in written_pages():
        browser.open(SITE / name, width=width)
        browser.evaluate("new Promise(done => setTimeout(done, 50))")
        if found := troubles(browser):
            wrong[name] = found
    assert not wrong, wrong


@built
def test_search_finds_a_page(browser):
    browser.open(SITE / "search.html", width=1280)
    found = browser.evaluate(
        """new Promise((done) => {
            Search.performSearch("threshold");
            const look = () => {
                const hits = document.querySelectorAll("#search-results li a").length;
                hits ? done(hits) : setTimeout(look, 100);
            };
            look();
            setTimeout(() => done(0), 8000);
        })"""
    )
    assert found > 0
