"""A panel that nobody places must not vanish: every one is on its page."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import ekss.report
from ekss import EKSS, KSS
from ekss.report import (
    Contender,
    _clusters,
    _comparison,
    _guarantees,
    build,
    compare,
    guarantees,
)
from ekss.report._page import Section, render

PAGES = {
    "clusters": _clusters.SECTIONS,
    "comparison": _comparison.SECTIONS,
    "guarantees": _guarantees.SECTIONS,
}


def placed(sections):
    return [draw for section in sections for draw in section.drawers]


def panel_functions():
    """Every function of the report that returns a panel of a subject."""
    for info in pkgutil.iter_modules(ekss.report.__path__, "ekss.report."):
        module = importlib.import_module(info.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("draw_") and function.__module__ == info.name:
                yield function


def test_every_panel_is_placed_once():
    drawn = [draw for sections in PAGES.values() for draw in placed(sections)]
    assert set(drawn) == set(panel_functions())
    assert len(drawn) == len(set(drawn))


@pytest.fixture(scope="module")
def pages(union):
    """Pages that have all their panels between them, by what they are about."""
    labels, X = union.target, union.data
    model = EKSS("auto", 3, n_members=20, random_state=0).fit(X)
    clusters = build(model, X, labels=labels, image_shape=(5, 6)).html
    tracks = build(KSS(4, 3, random_state=0).fit(X), X, n_frames=15).html
    table = build(model, X).html
    found = guarantees(X, labels, n_members=20, q=30)
    one, two = Contender("one", 1.0, labels), Contender("two", 2.0, labels % 3)
    return {
        "clusters": clusters + tracks + table,
        "comparison": compare([one, two], X, dims=[3]).html,
        "guarantees": found.report().html,
    }


KEYS = {
    "clusters": "clusters portraits columns loadings images tracks motions map matrix "
    "agreement eigenvalues counts confusion scores affinities angles run",
    "comparison": "methods pairs map shared disputed",
    "guarantees": "answers findings unmet clusters affinities angles gaps-tsc "
    "gaps-ekss0 votes worst conditions settings notes words",
}


@pytest.mark.parametrize("name", PAGES)
def test_every_placed_panel_is_on_its_page(pages, name):
    keys = KEYS[name].split()
    assert len(keys) == len(placed(PAGES[name]))
    places = [pages[name].find(f'id="{key}"') for key in keys]
    assert min(places) > 0


def test_panels_stand_in_the_order_of_their_sections(pages):
    page = pages["guarantees"]
    places = [page.index(f'id="{key}"') for key in KEYS["guarantees"].split()]
    assert places == sorted(places)
    titles = [page.index(f"<h2>{s.title}</h2>") for s in PAGES["guarantees"]]
    assert titles == sorted(titles)


def test_a_new_panel_needs_one_function_and_one_line():
    from ekss.report._figures import Html
    from ekss.report._page import Panel

    def draw_largest(values):
        return Panel("largest", "Largest", Html(f"<b>{values.max():g}</b>"), "<words>")

    def draw_nothing(values):
        return None

    sections = (Section("Mine", (draw_largest,)), Section("Empty", (draw_nothing,)))
    html = render(
        np.arange(4),
        sections,
        title="T",
        lead="L",
        notices=(),
        figures=(),
        footer="F",
    )
    assert '<figure class="card" id="largest">' in html
    assert "<b>3</b>" in html
    assert "&lt;words&gt;" in html
    assert "Empty" not in html
