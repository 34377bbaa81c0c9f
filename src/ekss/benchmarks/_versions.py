"""Which code, libraries and machine made a row, and what a page says about it."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
UNKNOWN = "unknown"

# Layers whose code can change a result, whatever is computed. Not the command, the
# report or reading and writing of files.
_LAYERS = tuple(
    "core datasets ensemble estimators graph metrics.py preprocessing runtime".split()
)


def code_of(
    work: Callable[..., Any] | None = None, layers: tuple[str, ...] = _LAYERS
) -> str:
    """Return a fingerprint of the code that decides what a function returns.

    The layers count as a whole; of the benchmarks only what the function uses, so
    editing a page changes no fingerprint, nor do comments and docstrings anywhere.
    """
    pieces = [_code_in(PACKAGE / layer) for layer in layers]
    if work is not None:
        module = sys.modules.get(work.__module__)
        source = None if module is None else inspect.getsourcefile(module)
        if source:
            pieces.append(_needed_code(Path(source), work.__name__, layers))
    return hashlib.sha256("\n".join(pieces).encode()).hexdigest()[:12]


@cache
def _code_in(place: Path) -> str:
    """Return the plain code of a file, or of all files in a directory."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return "\n".join(f"{file.name}\n{plain_code(file.read_text())}" for file in files)


@cache
def _needed_code(path: Path, name: str, layers: tuple[str, ...]) -> str:
    """Return a function and all that it uses of its module and of the benchmarks."""
    known = {layer.removesuffix(".py") for layer in layers}
    found: dict[tuple[str, str], str] = {}
    todo = [(path, name)]
    while todo:
        path, name = todo.pop()
        node = _definitions(path).get(name)
        if node is None or (path.name, name) in found:
            continue
        imports = [one for one in ast.walk(node) if isinstance(one, ast.ImportFrom)]
        for one in imports:
            package, layer, module = f"{one.module}..".split(".")[:3]
            if package == "ekss" and layer == "benchmarks":
                file = PACKAGE / "benchmarks" / f"{module}.py"
                todo += [(file, alias.name) for alias in one.names]
            elif package == "ekss" and layer and layer not in known:
                place = PACKAGE / layer
                found[layer, ""] = _code_in(
                    place if place.is_dir() else place.with_suffix(".py")
                )
        if node not in imports:
            found[path.name, name] = ast.unparse(node)
            names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
            todo += [(path, one) for one in names]
    return "\n".join(found[place] for place in sorted(found))


@cache
def _definitions(path: Path) -> dict[str, ast.stmt]:
    """Return the statements at the top of a module by the names that they define."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(plain_code(path.read_text())).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                one = ast.ImportFrom(node.module, [alias], node.level)
                found[alias.asname or alias.name] = one
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
            stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
            found |= dict.fromkeys(stored, node)
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
    current: str | None = None,
    what: str = "rows",
) -> str:
    """Say in one sentence which versions made the rows, or figures, of a page.

    There is a fingerprint of the code and a text on libraries and processor for each
    row; ``current`` is the fingerprint of the code that writes the page.
    """
    counts = Counter(codes)
    if not counts:
        return "No rows yet."
    total = f"{counts.total()} {what}"
    if len(counts) > 1:
        told = ", ".join(f"{code}: {count}" for code, count in sorted(counts.items()))
        line = (
            f"MIXED VERSIONS: the {what} were made by different code ({told}), so the "
            "errors may not be comparable with each other or with the code as it is."
        )
    elif (code := next(iter(counts))) == UNKNOWN:
        line = (
            f"UNKNOWN VERSION: none of the {total} says which code "
            "made it, so the errors may not be those of the code as it is."
        )
    elif current is not None and code != current:
        line = (
            f"EARLIER VERSION: all {total} were made by code "
            f"{code}, not by {current}, which wrote this page."
        )
    else:
        line = f"One version: all {total} were made by code {code}."
    kinds = sorted(set(libraries))
    if len(kinds) > 1:
        line += f" MIXED LIBRARIES OR PROCESSORS: {'; '.join(kinds)}."
    return line


def version_of_rows(rows: Iterable[Mapping[str, Any]], current: str) -> str:
    """Say which versions made the rows of a page; failed ones have made nothing."""
    done = [row for row in rows if "failed" not in row]
    return version_line(map(code_in, done), map(libraries_in, done), current)


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
