"""Docstrings of public names: complete, in numpydoc's form, with an example."""

import importlib
import inspect
from dataclasses import fields, is_dataclass

import pytest
from numpydoc.docscrape import ClassDoc, get_doc_object
from numpydoc.validate import validate

import ekss

PARTS = (*ekss._PARTS, "estimators", "benchmarks")
PACKAGES = ["ekss", *(f"ekss.{part}" for part in PARTS)]

# As scikit-learn and scipy do, these checks are left out:
LEFT_OUT = {
    "GL01",  # summaries begin on the line of the quotes, as ruff's D212 has it
    "GL02",  # the same about the closing quotes
    "GL08",  # a missing docstring is found by ruff
    "ES01",  # a summary that says all needs no extension
    "SA01",  # "See Also" stands where it helps
    "SA04",  # and names that explain themselves need no description
    "RT02",  # what is returned has a name, also if it is one value
}


def public_names():
    """Yield full name and object of every public function, class and method."""
    seen = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            yield from described(f"{package}.{name}", getattr(module, name), seen)


def described(path, item, seen):
    """Yield a function, or a class with its own public methods and properties."""
    if id(item) in seen or not (inspect.isfunction(item) or inspect.isclass(item)):
        return
    seen.add(id(item))
    yield path, item
    if inspect.isclass(item):
        for name, member in inspect.getmembers(item):
            function = member.fget if isinstance(member, property) else member
            ours = getattr(function, "__module__", "") or ""
            if inspect.isfunction(function) and ours.startswith("ekss"):
                if not name.startswith("_"):
                    yield f"{path}.{name}", member


NAMES = dict(public_names())


def faults(item, *, is_method):
    """Return what numpydoc finds, less the checks that are left out."""
    skipped = set(LEFT_OUT)
    if is_method:
        skipped.add("EX01")  # the example of the class shows its methods
    if is_dataclass(item):
        skipped.add("PR01")  # fields are attributes: see the test of them
    # The object, not its name: `ekss.ensemble.prepare` is a function and a module.
    found = validate(get_doc_object(item))["errors"]
    return [fault for fault in found if fault[0] not in skipped]


@pytest.mark.parametrize("path", NAMES)
def test_docstring_is_valid(path):
    item = NAMES[path]
    is_method = inspect.isclass(NAMES.get(path.rpartition(".")[0]))
    assert faults(item, is_method=is_method) == []


@pytest.mark.parametrize(
    "path", [path for path, item in NAMES.items() if is_dataclass(item)]
)
def test_every_field_is_described(path):
    doc = ClassDoc(NAMES[path])
    described = {
        name.strip()
        for section in ("Attributes", "Parameters")
        for entry in doc[section]
        if entry.desc or entry.type
        for name in entry.name.split(",")
    }
    assert {field.name for field in fields(NAMES[path])} <= described


def test_enough_names_are_looked_at():
    assert len(NAMES) > 200
    assert "ekss.EKSS.fit" in NAMES
    assert "ekss.metrics.clustering_error" in NAMES


def test_a_bad_docstring_is_found():
    def bad(a, b):
        """returns a"""
        return a

    codes = {code for code, _ in faults(bad, is_method=False)}
    assert {"SS02", "SS03", "PR01", "RT01", "EX01"} <= codes
