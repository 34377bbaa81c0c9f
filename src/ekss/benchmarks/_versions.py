"""Which version of the code made a row, and what a page says about it."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
UNKNOWN = "unknown"

# Layers whose code can change a result, whatever is computed. Not the command, the
# report or reading and writing of files.
_LAYERS = (
    "core",
    "datasets",
    "estimators",
    "graph",
    "metrics.py",
    "preprocessing",
    "rows",
)
# Layers that prepared features depend on.
_FEATURES = ("core", "datasets", "preprocessing", "benchmarks/_recipes.py")
_CELLS = ("_data.py", "_label_free.py", "_methods.py", "_recipes.py", "_table1.py")
# What else decides the rows of a table or figure; settings are part of a cell itself.
_MORE = {
    "table1": _CELLS,
    "ablation": ("_ablation.py", *_CELLS),
    "figure1": ("_figure1.py",),
    "figure2": ("_figure2.py", "../theory"),
    "figure3": ("_simulations.py",),
    "figure4": ("_simulations.py",),
    "scale": ("_data.py", "_recipes.py", "_scale.py"),
}


def code_of(table: str, work: Callable[..., Any] | None = None) -> str:
    """Return a fingerprint of the code that decides the rows of a table.

    Parameters
    ----------
    table : str
        Name of a table or figure; of another one the file of ``work`` counts.
    work : callable, default=None
        What computes a cell.

    Returns
    -------
    code : str
        The same for the same code, whatever its comments and docstrings say.
    """
    return _code_of(_files_of(table, work))


def code_of_features() -> str:
    """Return a fingerprint of the code that prepares features."""
    return _code_of(tuple(PACKAGE / name for name in _FEATURES))


def _files_of(table: str, work: Callable[..., Any] | None) -> tuple[Path, ...]:
    files = [PACKAGE / name for name in _LAYERS]
    files += [PACKAGE / "benchmarks" / name for name in _MORE.get(table, ())]
    if table not in _MORE and work is not None:
        module = sys.modules.get(work.__module__)
        source = None if module is None else inspect.getsourcefile(module)
        files += [Path(source)] if source else []
    return tuple(files)


@cache
def _code_of(places: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for place in places:
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for file in files:
            digest.update(file.name.encode())
            digest.update(plain_code(file.read_text()).encode())
    return digest.hexdigest()[:12]


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
