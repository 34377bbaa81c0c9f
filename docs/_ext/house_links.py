"""Links that work on a code host lead to the right page of the site too.

Pages link to sources, to examples and to files beside the docs, such as
``../src/ekss/core/tsc.py``. The site has pages of its own for all of them: highlighted
sources, the gallery, and what stands in PAGES.
"""

import os.path
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).parents[2]
# Files beside the docs, and the pages of the site that have what they say.
PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "examples": "gallery/index",
}


def page_of(place: str) -> str | None:
    """Return the page of the site for a file of the repository, outside the docs.

    Examples
    --------
    >>> page_of("src/ekss/core/tsc.py"), page_of("examples/01_faces.py")
    ('_modules/ekss/core/tsc', 'gallery/01_faces')
    """
    folder, _, rest = place.partition("/")
    if place.endswith(".py") and folder in ("src", "examples"):
        prefix = {"src": "_modules", "examples": "gallery"}[folder]
        return f"{prefix}/{rest.removesuffix('.py')}"
    return PAGES.get(place)


class HouseLinks(SphinxTransform):
    """Turn links to files outside the docs into links to pages."""

    default_priority = 5  # before MyST resolves its links

    def apply(self) -> None:
        """Rewrite what MyST takes for a download or for a page of its own."""
        here = Path(self.env.doc2path(self.env.docname)).parent
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for node in list(self.document.findall(kind)):
                target = node["reftarget"]
                if node.get("refdomain") == "doc":  # MyST takes the ending off
                    target += ".md"
                place = os.path.relpath(os.path.normpath(here / target), ROOT)
                page = page_of(Path(place).as_posix())
                if page is not None:
                    node.replace_self(self._link(node, page))

    def _link(self, node: nodes.Element, page: str) -> nodes.reference:
        anchor = node.get("reftargetid")
        end = f"#{anchor}" if isinstance(anchor, str) else ""
        uri = "../" * self.env.docname.count("/") + page + ".html" + end
        return nodes.reference("", "", *node.children, internal=True, refuri=uri)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(HouseLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
