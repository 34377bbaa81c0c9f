"""Architecture as ordinary tests: layers, and what an import loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ekss

PACKAGE = Path(ekss.__file__).parent
ROOT = PACKAGE.parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))

# Each layer may import itself and the layers listed; nothing else of the package.
MAY_IMPORT = {
    "core": set(),
    "graph": {"core"},
    "metrics": {"core"},
    "theory": {"core"},
    "datasets": {"core"},
    "preprocessing": {"core"},
    "rows": {"core"},
    "estimators": {"core", "graph", "rows"},
    "io": {"core", "rows", "preprocessing", "estimators"},
    "report": {"core", "graph", "metrics", "theory", "rows", "estimators"},
    "benchmarks": {
        "core",
        "graph",
        "metrics",
        "theory",
        "datasets",
        "preprocessing",
        "rows",
        "estimators",
    },
    "cli": {
        "core",
        "graph",
        "metrics",
        "theory",
        "datasets",
        "preprocessing",
        "rows",
        "estimators",
        "io",
        "report",
        "benchmarks",
    },
}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    layers = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("ekss."):
                layers.add(name.split(".")[1])
    return layers


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_layers_import_downward_only(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    reached = imported_layers(path) - {layer, "__version__"}
    if layer == "cli":
        reached -= {"EKSS", "KSS"}
    assert reached <= MAY_IMPORT[layer], f"{layer} must not import {reached}"


def test_import_loads_no_more_than_scikit_learn_does():
    # scikit-learn itself loads pandas and rich where they are installed
    heavy = "numba matplotlib rich typer jinja2 pooch pandas h5py zarr".split()
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
