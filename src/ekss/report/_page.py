"""One way to make a page: panels in sections, one template, one style sheet.

A panel is drawn by a function from what the page is about to a `Panel`, or to None
where there is nothing to show. A page lists these functions once, in its ``SECTIONS``,
and the template shows whatever they return, in that order.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import ekss
from ekss.methods import imported
from ekss.report._figures import COLOURS, Html
from ekss.runtime.files import write_atomically

Level = Literal["warning", "note", "fine"]

_SHOWN = 20  # rows before those that open on demand


@dataclass(frozen=True)
class Panel:
    """One part of a page."""

    key: str  # name for links; unique on its page
    title: str  # what it shows; may be empty in a section of its own
    body: Html  # a figure, or a part of ``parts.html``
    reading: str = ""  # how to read it; words are escaped unless they are `Html`
    wide: bool = False  # whether it takes the whole width; figures stand two in a row


Draw = Callable[[Any], Panel | None]


@dataclass(frozen=True)
class Section:
    """A heading and what draws the panels below it, in order.

    A function can be given by its place, as "module:function".
    """

    title: str
    panels: tuple[Draw | str, ...]

    @property
    def drawers(self) -> list[Draw]:
        """The functions, imported where only their place is given."""
        return [imported(p) if isinstance(p, str) else p for p in self.panels]


@dataclass(frozen=True)
class Notice:
    """Something to read first."""

    key: str  # short name that does not change, for programs
    level: Level  # warnings cast doubt, notes are worth a look, fine is good news
    title: str  # what was seen
    text: str  # the figures behind it and what to do
    # parameters that may help, by name
    change: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """A page, and its numbers.

    Attributes
    ----------
    html : str
        The page: one file with no outside link, which needs no script.
    summary : dict
        All numbers of the page, fit for JSON; ``kind`` and ``version`` say what it is.

    Examples
    --------
    >>> from ekss import KSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import build
    >>> X = make_union_of_subspaces(2, 2, 10, 20, random_state=0).data
    >>> report = build(KSS(2, subspace_dim=2, random_state=0).fit(X), X)
    >>> report.html.startswith("<!doctype html>"), report.summary["kind"]
    (True, 'ekss report')
    """

    html: str
    summary: dict[str, Any]

    @property
    def json(self) -> str:
        """The summary as JSON."""
        return json.dumps(self.summary, indent=1, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | Path) -> tuple[Path, Path]:
        """Write the page, and the numbers beside it.

        Parameters
        ----------
        path : str or Path
            Where the page goes, ending in .html or .htm. The numbers go to the same
            name with the ending .json.

        Returns
        -------
        page, numbers : Path
            The two files. Each is written beside its place and then renamed, so what
            was there before stays if writing fails.
        """
        page = Path(path)
        if page.suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"path={str(path)!r} does not end in .html; choose for example "
                f"{page.stem or 'report'}.html"
            )
        numbers = page.with_suffix(".json")
        write_atomically(page, self.html.encode("utf-8"))
        write_atomically(numbers, (self.json + "\n").encode("utf-8"))
        return page, numbers


def render(
    subject: Any,
    sections: Sequence[Section],
    *,
    title: str,
    lead: str,
    notices: Sequence[Notice],
    good: Sequence[str] = (),
    next_run: str | None = None,
    next_words: str = "Run this, and see whether the doubts go away:",
    figures: Sequence[tuple[str, str]],
    footer: str,
    data: Mapping[str, Any] | None = None,
) -> str:
    """Draw every panel of the subject and fill the template.

    ``lead`` is the sentence below the title; ``good`` are sentences of good news,
    which come before the notices, and ``next_run`` is what to run next, after
    ``next_words``; ``figures`` are names and values of the most important numbers.
    Sections without panels are left out. With ``data``, for its script, the page
    answers the hand.
    """
    drawn = []
    for section in sections:
        panels = [panel for draw in section.drawers if (panel := draw(subject))]
        if panels:
            groups = groupby(panels, lambda panel: panel.wide)
            drawn.append((section.title, [(wide, list(some)) for wide, some in groups]))
    script = "" if data is None else _file("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Nothing in the numbers can end their element.
    numbers = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _template("page.html").render(
        style=Html(_file("style.css")),
        script=Html(script),
        script_hash=f"sha256-{digest}",
        data=Html(numbers.replace("<", "\\u003c")),
        title=title,
        lead=lead,
        notices=notices,
        good=good,
        next_run=next_run,
        next_words=next_words,
        figures=figures,
        sections=drawn,
        footer=footer,
        version=ekss.__version__,
    )


def _file(name: str) -> str:
    return (files("ekss.report") / name).read_text("utf-8")


def part(name: str, **values: Any) -> Html:
    """Fill one of the macros of ``parts.html``."""
    return Html(getattr(_template("parts.html").module, name)(**values))


def table(
    headings: Sequence[str], rows: Sequence[Sequence[Any]], kind: str = ""
) -> Html:
    """Lay cells out as a table; ``kind`` is a class of the style sheet."""
    return part("table", headings=headings, rows=rows, kind=kind)


def rows_at_once(count: int) -> int:
    """Rows before those that open on demand; a few more are not worth a click."""
    return count if count <= _SHOWN + _SHOWN // 2 else _SHOWN


def percent(share: float, digits: int = 1) -> str:
    """Write a share in percent."""
    return f"{100 * share:.{digits}f} %"


def even(value: float, largest: float) -> str:
    """Write a number so that a column of them has the same decimals."""
    if not 1e-3 < largest < 1e6:
        return f"{value:.3g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(largest)))}f}"


def duration(seconds: float) -> str:
    """Write a time for people."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def _together(words: str) -> str:
    """Keep numbers and their signs on one line."""
    for sign in ("%", "\u00d7)"):
        words = words.replace(f" {sign}", f"\u00a0{sign}")
    return words


def _template(name: str) -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a report needs jinja2, which is not installed; "
            "install it with: pip install 'ekss[report]'"
        ) from error
    return _environment(jinja2).get_template(name)


@cache
def _environment(jinja2: Any) -> Any:
    """Templates of this package; every word that is not `Html` is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ekss.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "even": even, "together": _together}
    environment.globals["colours"] = COLOURS
    return environment
