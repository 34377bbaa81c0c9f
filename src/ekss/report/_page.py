"""Facts and pictures on one page."""

from __future__ import annotations

import math
from functools import partial
from importlib.resources import files
from typing import Any

from ekss.report._curves import draw_histogram
from ekss.report._facts import Facts
from ekss.report._images import albums_of, are_tiny
from ekss.report._pictures import pictures_of
from ekss.report._svg import COLOURS

_SHOWN = 20


def render_page(facts: Facts, summary: dict[str, Any]) -> str:
    """Fill the template; every word that is not ours is escaped.

    Raises
    ------
    ModuleNotFoundError
        If jinja2 is not installed, with the command that installs it.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a report needs jinja2, which is not installed; "
            "install it with: pip install 'ekss[report]'"
        ) from error
    folder = files("ekss.report")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    environment.filters["duration"] = duration
    environment.filters["short"] = short
    environment.filters["even"] = partial(even, largest=facts.residuals.edges[-1])
    template = environment.from_string((folder / "page.html").read_text("utf-8"))
    return template.render(
        style=(folder / "style.css").read_text("utf-8"),
        facts=facts,
        summary=summary,
        pictures=pictures_of(facts),
        histograms=[draw_histogram(facts, k) for k in range(len(facts.clusters))],
        albums=albums_of(facts),
        tiny=are_tiny(facts),
        shown=_shown_at_once(len(facts.clusters)),
        colours=COLOURS,
    )


def _shown_at_once(n_clusters: int) -> int:
    """Rows before those that open on demand; a few more are not worth a click."""
    return n_clusters if n_clusters <= _SHOWN + _SHOWN // 2 else _SHOWN


def percent(share: float, digits: int = 1) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.1234)
    '12.3 %'
    """
    return f"{100 * share:.{digits}f} %"


def short(value: float) -> str:
    """Write a number with three digits."""
    return f"{value:.3g}"


def even(value: float, *, largest: float) -> str:
    """Write a number so that a column of them has the same decimals.

    Examples
    --------
    >>> even(0.28, largest=0.5), even(12.3, largest=900), even(2e-8, largest=3e-7)
    ('0.280', '12', '2e-08')
    """
    if not 1e-3 < largest < 1e6:
        return short(value)
    decimals = max(0, 2 - math.floor(math.log10(largest)))
    return f"{value:.{decimals}f}"


def duration(seconds: float) -> str:
    """Write a time for people.

    Examples
    --------
    >>> duration(0.25), duration(75), duration(7300)
    ('0.25 s', '75 s', '2 h 1 min')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
