"""Architecture as ordinary tests: layers, and what an import loads."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ekss

PACKAGE = Path(ekss.__file__).parent
ROOT = PACKAGE.parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))

# From the top down; a layer may import itself and those of the lines below.
LAYERS = (
    ("cli",),
    ("benchmarks",),
    ("report",),
    ("io",),
    ("estimators",),
    ("ensemble",),
    ("graph", "metrics", "theory", "datasets", "preprocessing"),
    ("runtime",),
    ("core",),
    ("methods", "words"),
)
HEIGHT = {name: -place for place, line in enumerate(LAYERS) for name in line}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Return the full names of everything that a file imports from the package."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("ekss.")}


every_file = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE))
)


@every_file
def test_layers_import_downward_only(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    reached = {name.split(".")[1] for name in imports_of(path)}
    for other in reached - {layer, *ekss.__all__}:
        assert HEIGHT[other] < HEIGHT[layer], f"{layer} must not import {other}"


@every_file
def test_private_modules_stay_in_their_package(path):
    for name in imports_of(path):
        _, layer, *inner = name.split(".")
        private = [part for part in inner if re.match("_[^_]", part)]
        assert layer == layer_of(path) or not private, name


def test_every_layer_is_listed():
    found = {layer_of(path) for path in SOURCES} - {"__init__", "__main__"}
    assert found == set(HEIGHT)


def test_page_lists_the_layers_from_the_top_down():
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.split("## Layers")[1].split("## ")[0]
    lines = [
        re.findall(r"`(\w+)`", line)
        for line in re.findall(r"^\| (`.*?) \|", table, re.M)
    ]
    assert [tuple(line) for line in lines][: len(LAYERS) - 1] == list(LAYERS[:-1])


def test_import_loads_no_more_than_scikit_learn_does():
    # scikit-learn itself loads pandas and rich where they are installed
    heavy = "numba networkx matplotlib rich typer jinja2 pooch pandas h5py zarr".split()
    heavy += "dask distributed pynndescent pyamg".split()
    code = (
        "import sys, joblib, sklearn.base, sklearn.cluster; before = set(sys.modules);"
        f"import ekss; print(sorted((set(sys.modules) - before) & set({heavy})))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_every_public_name_is_documented():
    for name in ekss.__all__:
        if name != "__version__":
            assert len(getattr(ekss, name).__doc__.splitlines()) > 10


@every_file
def test_comments_point_to_pages_and_sections_that_exist(path):
    text = re.sub(r"\s*\n\s*#?\s*", " ", path.read_text())
    for name, section in re.findall(r'(docs/[\w/]+\.md)(?:, "([^"]+)")?', text):
        page = ROOT / name
        assert page.exists(), name
        titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
        assert not section or section in titles, f"{name} has no section {section!r}"
    for layer, name in re.findall(r"\b(\w+)/(\w+\.py)\b", text):
        if layer in HEIGHT:
            assert (PACKAGE / layer / name).exists(), f"{layer}/{name}"


def test_picture_of_the_chain_names_files_that_exist():
    picture = (ROOT / "docs" / "images" / "chain.svg").read_text()
    names = set(re.findall(r">(\w+\.py)<", picture))
    assert names
    assert names <= {path.name for path in (PACKAGE / "ensemble").iterdir()}
