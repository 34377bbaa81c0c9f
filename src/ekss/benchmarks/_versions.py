"""Which code, libraries and machine made a row, and what a page says about it."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
UNKNOWN = "unknown"

# Layers whose code can change a result, whatever is computed. Not the command, the
# report or reading and writing of files.
_LAYERS = tuple(
    "core datasets ensemble estimators graph metrics.py preprocessing runtime".split()
)
# Those that count as a whole for a cell: recipes name steps and data sets in words.
_NAMED_IN_RECIPES = ("datasets", "metrics.py", "preprocessing")
# What decides no result of a cell: the search for the number of clusters, which all
# cells give, and the estimate of time and memory before a fit.
_LEFT_OUT = frozenset(
    {
        "ekss.ensemble.chain:check_memory",
        "ekss.ensemble.count:COUNT",
        "ekss.ensemble.count:CountSearch",
    }
)
# How code and parameters name a class that is looked up when it is needed.
_PLACE = re.compile(r"[a-z_][\w.]*:[A-Za-z_]\w*")


def code_of(
    work: Callable[..., Any] | None = None,
    params: Any = None,
    layers: tuple[str, ...] | None = None,
) -> str:
    """Return a fingerprint of the code that decides what a function returns.

    It covers the function and all definitions that it reaches: by the names that it
    uses, and by texts like "ekss.estimators:TSC", in the code and in the parameters.
    So a change to one method leaves the fingerprints of the others as they are; so do
    changes to pages, comments and docstrings. Some layers count as a whole; without a
    function, all whose code can change a result do.
    """
    if layers is None:
        layers = _LAYERS if work is None else _NAMED_IN_RECIPES
    pieces = [_code_in(PACKAGE / layer) for layer in layers]
    places = _PLACE.findall(json.dumps(params))
    if work is not None:
        places.append(f"{work.__module__}:{work.__name__}")
    pieces.append(_reached_code(tuple(sorted(set(places))), layers))
    return hashlib.sha256("\n".join(pieces).encode()).hexdigest()[:12]


@cache
def _code_in(place: Path) -> str:
    """Return the plain code of a file, or of all files in a directory."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return "\n".join(f"{file.name}\n{plain_code(file.read_text())}" for file in files)


@cache
def _reached_code(places: tuple[str, ...], layers: tuple[str, ...]) -> str:
    """Return the code of all definitions reached from these, "module:name" each."""
    texts = reached(places, layers).values()
    return "\n".join(sorted(texts))


def reached(places: Iterable[str], layers: Iterable[str] = ()) -> dict[str, str]:
    """Return the code of all definitions that some use, by their places.

    Of modules outside of the package only their own definitions count. What no cell
    runs is left out: all of them give the number of clusters.
    """
    known = {f"ekss.{layer.removesuffix('.py')}" for layer in layers}
    found: dict[str, str] = {}
    todo = list(places)
    while todo:
        place = todo.pop()
        module, _, name = place.partition(":")
        if place in found or place in _LEFT_OUT:
            continue
        if ".".join(module.split(".")[:2]) in known:
            continue
        if name in (definitions := _definitions(_source_of(module))):
            found[place], further = _uses(module, definitions[name])
            todo += further
        elif inner := _source_of(f"{module}.{name}"):
            found[place] = ""
            todo += [f"{module}.{name}:{one}" for one in _definitions(inner)]
    return found


@cache
def _source_of(module: str) -> str:
    """Return the source of a module; empty where there is none to be read."""
    package, *parts = module.split(".")
    place = PACKAGE.joinpath(*parts)
    files = [place / "__init__.py", place.with_suffix(".py")]
    if package != "ekss":
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):  # a text that only looks like a place
            spec = None
        files = [Path((spec and spec.origin) or "")]
    found = [file for file in files if file.suffix == ".py" and file.is_file()]
    return found[0].read_text() if found else ""


@cache
def _uses(module: str, node: ast.stmt) -> tuple[str, list[str]]:
    """Return the code of a definition, and the places of those that it uses.

    Other modules count if they belong to the package.
    """
    places: list[str] = []
    for one in ast.walk(node):
        if isinstance(one, ast.ImportFrom):
            places += [f"{one.module}:{alias.name}" for alias in one.names]
        elif isinstance(one, ast.Name):
            places.append(f"{module}:{one.id}")
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            places += _PLACE.findall(one.value)
    code = "" if isinstance(node, ast.ImportFrom) else ast.unparse(node)
    own = ("ekss.", "ekss:", f"{module}:")
    return code, [place for place in dict.fromkeys(places) if place.startswith(own)]


@cache
def _definitions(source: str) -> dict[str, ast.stmt]:
    """Return the statements at the top of a module by the names that they define."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(plain_code(source)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                one = ast.ImportFrom(node.module, [alias], node.level)
                found[alias.asname or alias.name] = one
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one for target in targets for one in ast.walk(target)]
            found |= {one.id: node for one in names if isinstance(one, ast.Name)}
    return found


@cache
def plain_code(source: str) -> str:
    """Return code without comments and docstrings, in one layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not _is_text(one)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    """Tell whether a statement is nothing but a text, as a docstring is."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def code_in(row: Mapping[str, Any]) -> str:
    """Return the fingerprint in a row; rows of early versions have none."""
    return str(row.get("code") or UNKNOWN)


def libraries_in(row: Mapping[str, Any]) -> str:
    """Return libraries and kind of processor of a row, in words."""
    versions = row.get("versions") or {}
    known = sorted((name, value) for name, value in versions.items() if name != "ekss")
    told = [f"{name} {value}" for name, value in known]
    return ", ".join([*told, f"BLAS {row.get('blas') or UNKNOWN}"])


def version_line(
    codes: Iterable[str],
    libraries: Iterable[str],
    current: Iterable[str] | None = None,
    what: str = "rows",
) -> str:
    """Say in one sentence which versions made the rows, or figures, of a page.

    There is a fingerprint of the code and a text on libraries and processor for each
    row; ``current`` are the fingerprints of the same code as it is now, if they are to
    be compared.
    """
    counts = Counter(codes := list(codes))
    if not codes:
        return "No rows yet."
    old = [one for one, now in zip(codes, current or codes, strict=True) if one != now]
    total = f"{len(codes)} {what}"
    if len(counts) == 1 and UNKNOWN in counts:
        line = (
            f"UNKNOWN VERSION: none of the {total} says which code "
            "made it, so the errors may not be those of the code as it is."
        )
    elif current is None and len(counts) > 1:
        told = ", ".join(f"{code}: {count}" for code, count in sorted(counts.items()))
        line = (
            f"MIXED VERSIONS: the {what} were made by different code ({told}), so the "
            "errors may not be comparable with each other or with the code as it is."
        )
    elif current is None:
        line = f"One version: all {total} were made by code {next(iter(counts))}."
    elif not old:
        line = f"One version: all {total} were made by the code of the last run."
    elif len(old) == len(codes):
        line = (
            f"EARLIER VERSION: all {total} were made by earlier versions of the code."
        )
    else:
        line = (
            f"MIXED VERSIONS: {len(old)} of the {total} were made by earlier versions "
            "of the code, so the errors may not be comparable with each other or with "
            "the code as it is."
        )
    kinds = sorted(set(libraries))
    if len(kinds) > 1:
        line += f" MIXED LIBRARIES OR PROCESSORS: {'; '.join(kinds)}."
    return line


@cache
def provenance() -> dict[str, Any]:
    """Return versions, machine and commit; the same for all rows of a run."""
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "blas": blas(),
        "machine": {
            "cpu": _cpu_name(),
            "cores": os.cpu_count(),
            "platform": platform.platform(),
        },
        "commit": commit(),
    }


@cache
def blas() -> str:
    """Return library, version and kind of processor of the linear algebra.

    OpenBLAS has kernels for each kind of processor, which round differently.
    """
    import scipy.linalg as _  # noqa: F401, has a BLAS of its own
    from threadpoolctl import threadpool_info

    found = {
        " ".join(
            str(one.get(key) or UNKNOWN)
            for key in ("internal_api", "version", "architecture")
        )
        for one in threadpool_info()
        if one["user_api"] == "blas"
    }
    return " and ".join(sorted(found)) or UNKNOWN


@cache
def commit() -> str:
    """Return the git commit of the package, marked if dirty, else its version."""
    folder = Path(__file__).parents[1]
    # An installed package may lie inside somebody else's checkout.
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return f"version {_versions()['ekss']}"
    head = _git(folder, "rev-parse", "--short=12", "HEAD") or UNKNOWN
    changed = _git(folder, "status", "--porcelain", "--", str(folder))
    return f"{head} (changed since)" if changed else head


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says, or None where there is no git or no checkout."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _versions() -> dict[str, str]:
    found = {}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "ekss"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _cpu_name() -> str:
    told = _line_of("/proc/cpuinfo", "model name")
    return told or platform.processor() or platform.machine()


def _line_of(path: str, name: str) -> str:
    """Return what a file of the system says under a name; empty where it does not."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    found = (line.partition(":")[2] for line in lines if line.startswith(name))
    return next(found, "").strip()
