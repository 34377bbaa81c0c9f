"""Docstrings are plain text first: |x|, and names that end in _, mean themselves.

In reStructuredText both have another meaning. They are marked here, so that docstrings
stay easy to read in a terminal.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What stands between backquotes is left alone.
_PIECES = re.compile(r"(``.*?``|:[\w:]+:`.*?`|`[^`]*`_?)")
_NAME = re.compile(r"(?<![\w\[*.{^\\])([A-Za-z]\w*_)(?=[\s.,;:)]|$)")


def mark(line: str) -> str:
    r"""Mark what is special to reStructuredText.

    Examples
    --------
    >>> mark("|<x, y>| as in ``|a|``, and labels_ of the fit")
    '\\|<x, y>\\| as in ``|a|``, and ``labels_`` of the fit'
    """
    pieces = _PIECES.split(line)
    for number in range(0, len(pieces), 2):
        pieces[number] = _NAME.sub(r"``\1``", pieces[number].replace("|", r"\|"))
    return "".join(pieces)


def marked(lines: list[str]) -> Iterator[str]:
    """Yield lines, marked but for code, mathematics and doctests."""
    inside: int | None = None  # indent of the line that opened a block
    doctest = False
    for line in lines:
        text = line.lstrip()
        indent = len(line) - len(text)
        if inside is not None and text and indent <= inside:
            inside = None
        doctest = bool(text) and (doctest or text.startswith(">>>"))
        directive = text.startswith(".. ")
        kept = doctest or directive or inside is not None
        yield line if kept else mark(line)
        if inside is None and (directive or text.endswith("::")):
            inside = indent


def _process(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = list(marked(lines))


def setup(app: "Sphinx") -> dict[str, bool]:
    """Mark docstrings after numpydoc has arranged them."""
    app.connect("autodoc-process-docstring", _process, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
