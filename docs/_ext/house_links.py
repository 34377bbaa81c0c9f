"""Links that work on a code host lead to the right page of the site too.

Pages link to sources as ``../src/ekss/tsc.py`` and to files beside the docs, such as
``../README.md``. The site has the sources as highlighted pages, and pages of its own
for the other files.
"""

from pathlib import Path
from posixpath import normpath

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
}


class HouseLinks(SphinxTransform):
    """Turn links to files outside the docs into links to pages."""

    default_priority = 5  # before MyST resolves its links

    def apply(self) -> None:
        """Rewrite what MyST takes for a file to download or for an unknown target."""
        # Included pages keep the links of the place they stand in.
        here = "docs/" + str(Path(self.env.docname).parent)
        for node in list(self.document.findall(nodes.reference)):
            self._rewrite(node, node.get("refuri", ""), here)
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for node in list(self.document.findall(kind)):
                self._rewrite(node, node.get("reftarget", ""), here)

    def _rewrite(self, node: nodes.Element, target: str, here: str) -> None:
        path, _, anchor = target.partition("#")
        place = normpath(f"{here}/{path}")
        if place.startswith("src/") and place.endswith(".py"):
            module = place.removeprefix("src/").removesuffix(".py")
            self._link(node, f"_modules/{module}", "")
        elif place in PAGES:
            self._link(node, PAGES[place], anchor)

    def _link(self, node: nodes.Element, page: str, anchor: str) -> None:
        up = "../" * self.env.docname.count("/")
        where = f"{up}{page}.html" + (f"#{anchor}" if anchor else "")
        new = nodes.reference("", "", internal=True, refuri=where)
        new += node.children
        node.replace_self(new)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(HouseLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
