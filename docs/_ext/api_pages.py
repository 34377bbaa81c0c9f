"""Pages of the API reference, written from ``__all__`` of the public packages."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

# An object that several packages offer has its page under the first of them.
PACKAGES = (
    "ekss",
    "ekss.estimators",
    "ekss.ensemble",
    "ekss.graph",
    "ekss.metrics",
    "ekss.preprocessing",
    "ekss.datasets",
    "ekss.theory",
    "ekss.io",
    "ekss.report",
    "ekss.benchmarks",
)
# Values have no docstring of their own.
CONSTANTS = {
    "ekss.__version__": "Version of the library.",
    "ekss.ensemble.CUTTERS": "The ways to cut a graph that the default tries.",
    "ekss.datasets.CATALOG": "The benchmark data sets by name.",
    "ekss.theory.HOLDS": "Status of a finding: the guarantee holds.",
    "ekss.theory.FAILS": "Status of a finding: its conditions do not hold.",
    "ekss.theory.OPEN": "Status of a finding: not decided.",
    "ekss.theory.NO_USE": "Status of a finding: it holds, but promises nothing.",
    "ekss.theory.SAYS_NOTHING": "Status of a finding: it says nothing here.",
    "ekss.theory.HOEFFDING_RATE": "Rate of Theorem 3 by Hoeffding's inequality.",
    "ekss.theory.PAPER_RATE": "Rate of Theorem 3 as it is printed.",
    "ekss.benchmarks.DATASETS": "The data sets of the tables, by name.",
    "ekss.benchmarks.METHODS": "The methods of the tables, by name.",
    "ekss.benchmarks.FIGURES": "The paper's figures, by name.",
    "ekss.benchmarks.PROFILES": "How much of Table I is run, by name.",
    "ekss.benchmarks.FIGURE_PROFILES": "How much of a figure is run, by name.",
    "ekss.benchmarks.SCALE_PROFILES": "Which sizes are timed, by name.",
    "ekss.benchmarks.ALTERNATIVES_PROFILES": "How many ensembles are run, by name.",
}
_SHOWN = 60  # longest value that is shown


def is_constant(one: object) -> bool:
    """Tell values from classes and functions."""
    return not (inspect.isclass(one) or callable(one))


def owners() -> dict[str, tuple[str, ...]]:
    """Public names by package, each object under the first package that has it."""
    seen: set[int] = set()
    found = {}
    for package in PACKAGES:
        module = import_module(package)
        own = []
        for name in module.__all__:
            one = getattr(module, name)
            if is_constant(one) or id(one) not in seen:
                own.append(name)
            seen.add(id(one))
        found[package] = tuple(own)
    return found


def lines_of(module: ModuleType, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the page of a package that owns these names."""
    package = module.__name__
    yield from (package, "=" * len(package), "", f".. currentmodule:: {package}", "")
    yield from (f".. automodule:: {package}", "   :no-members:", "")
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": []}
    for name in names:
        one = getattr(module, name)
        kind = "Classes" if inspect.isclass(one) else "Functions"
        kinds["Constants" if is_constant(one) else kind].append(name)
    for kind, members in kinds.items():
        if not members:
            continue
        yield from (kind, "-" * len(kind), "")
        if kind == "Constants":
            for name in members:
                yield from _constant(module, name)
            continue
        yield from (".. autosummary::", "   :toctree: generated", "   :nosignatures:")
        yield from ("", *(f"   {name}" for name in members), "")
    elsewhere = sorted(set(module.__all__) - set(names))
    if elsewhere:
        links = ", ".join(f":py:obj:`{name} <ekss.{name}>`" for name in elsewhere)
        yield from (f"Also offered here: {links}.", "")


def _constant(module: ModuleType, name: str) -> Iterator[str]:
    full = f"{module.__name__}.{name}"
    value = repr(getattr(module, name))
    yield f".. py:data:: {name}"
    if len(value) <= _SHOWN:
        yield f"   :value: {value}"
    yield from ("", f"   {CONSTANTS[full]}", "")


def write_pages(app: "Sphinx", config: "Config") -> None:
    """Write a page per package before the sources are listed."""
    folder = Path(app.srcdir) / "api"
    for package, names in owners().items():
        text = "\n".join(lines_of(import_module(package), names))
        path = folder / f"{package}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Write the pages before the build begins."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
