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
_LAYERS = (
    "core",
    "datasets",
    "ensemble",
    "estimators",
    "graph",
    "metrics.py",
    "preprocessing",
    "runtime",
)


def code_of(
    work: Callable[..., Any] | None = None, layers: tuple[str, ...] = _LAYERS
) -> str:
    """Return a fingerprint of the code that decides what a function returns.

    Parameters
    ----------
    work : callable, default=None
        What computes a cell. What it uses of its own module and of the benchmarks
        counts, so editing a page changes no fingerprint; None is the layers alone.
    layers : tuple of str
        Parts of the package that count as a whole.

    Returns
    -------
    code : str
        The same for the same code, whatever its comments and docstrings say.
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
                found[layer, ""] = _code_in(PACKAGE / layer)
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


def plain_code(source: str) -> str:
    r"""Return code without comments and docstrings, in one layout.

    Examples
    --------
    >>> plain_code('def f(x):  # why\n    "What."\n    return (x+1)')
    'def f(x):\n    return x + 1'
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        kept = [one for one in body if not _is_text(one)]
        node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    """Tell whether a statement is nothing but a text, as a docstring is."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


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
    """Say in one sentence which versions made the rows.

    Parameters
    ----------
    codes : iterable of str
        Fingerprints of the code, one for each row.
    libraries : iterable of str
        The same of libraries and processor.
    current : str, default=None
        Fingerprint of the code that writes the page.
    what : str, default="rows"
        What was made: rows, or figures, which are means of rows.

    Examples
    --------
    >>> version_line(["a", "a"], ["numpy 2"], "a")
    'One version: all 2 rows were made by code a.'
    >>> version_line(["a", "b", "b"], ["numpy 2"])[:59]
    'MIXED VERSIONS: the rows were made by different code (a: 1,'
    """
    counts = Counter(codes)
    known = {code: count for code, count in counts.items() if code != UNKNOWN}
    if not counts:
        return "No rows yet."
    if not known:
        line = (
            f"UNKNOWN VERSION: none of the {counts.total()} {what} says which code "
            "made it, so the errors may not be those of the code as it is."
        )
    elif len(counts) > 1:
        told = ", ".join(f"{code}: {count}" for code, count in sorted(counts.items()))
        line = (
            f"MIXED VERSIONS: the {what} were made by different code ({told}), so the "
            "errors may not be comparable with each other or with the code as it is."
        )
    else:
        (code,) = known
        line = f"One version: all {counts.total()} {what} were made by code {code}."
        if current is not None and code != current:
            line = (
                f"EARLIER VERSION: all {counts.total()} {what} were made by code "
                f"{code}, not by {current}, which wrote this page."
            )
    kinds = sorted(set(libraries))
    if len(kinds) > 1:
        line += f" MIXED LIBRARIES OR PROCESSORS: {'; '.join(kinds)}."
    return line


_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "ekss")


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
    head = _git(folder, "rev-parse", "--short=12", "HEAD") or "unknown"
    changed = _git(folder, "status", "--porcelain", "--", str(folder))
    return f"{head} (changed since)" if changed else head


def peak_megabytes() -> float:
    """Return the largest memory this process has had."""
    try:
        # Unlike ru_maxrss this does not count the process that started us.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    except OSError:
        pass
    import resource  # not on every system

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 1024), 1)


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says, or None where there is no git or no checkout."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
