"""docs/parameters.md says what the estimators take and leave; this keeps it true."""

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import ekss
from ekss.datasets import make_union_of_subspaces
from ekss.methods import CLASSES, imported

PAGE = (Path(__file__).parents[1] / "docs" / "parameters.md").read_text()
KINDS = [imported(place) for place in CLASSES.values()] + [ekss.LabelFreeSearch]
NAMES = [kind.__name__ for kind in KINDS]
# So many estimators have it, so that it can be compared.
_COMMON = 2


def defaults_of(kind):
    """Return the parameters with their defaults as a user writes them."""
    found = {}
    for name, one in inspect.signature(kind).parameters.items():
        value = one.default
        shown = f'"{value}"' if isinstance(value, str) else f"{value}"
        found[name] = "required" if value is inspect.Parameter.empty else shown
    return found


@pytest.fixture(scope="module")
def fitted():
    """The attributes that a fit leaves, by estimator."""
    X = make_union_of_subspaces(2, 2, n_features=12, random_state=0).data
    few = {"n_members": 10, "n_init": 2, "n_clusters": 2, "random_state": 0}
    found = {}
    for kind in KINDS:
        given = {"estimator": ekss.TSC(2)} if kind is ekss.LabelFreeSearch else few
        known = inspect.signature(kind).parameters
        model = kind(**{name: one for name, one in given.items() if name in known})
        model.fit(X)
        found[kind.__name__] = {
            name for name in vars(model) if re.fullmatch(r"[a-z]\w*_", name)
        }
    return found


def table(title):
    """Return the cells below a heading, by row and column."""
    text = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return {
        row[0].strip("`"): {
            column: cell for column, cell in zip(head[1:], row[1:], strict=True) if cell
        }
        for row in rows
    }


def shared_and_own(by_kind):
    count = Counter(name for names in by_kind.values() for name in names)
    shared = {name for name in count if count[name] >= _COMMON}
    return shared, {kind: set(names) - shared for kind, names in by_kind.items()}


def test_common_parameters():
    by_kind = {kind.__name__: defaults_of(kind) for kind in KINDS}
    shared, _ = shared_and_own(by_kind)
    assert table("Common parameters") == {
        name: {kind: by_kind[kind][name] for kind in NAMES if name in by_kind[kind]}
        for name in shared
    }


def test_own_parameters():
    by_kind = {kind.__name__: defaults_of(kind) for kind in KINDS}
    by_kind |= {
        part.__name__: defaults_of(part) for part in (ekss.KSSMember, ekss.CutOptions)
    }
    _, own = shared_and_own({kind: by_kind[kind] for kind in NAMES})
    own |= {part: set(by_kind[part]) for part in ("KSSMember", "CutOptions")}
    told = {
        kind: dict(re.findall(r"`(\w+)=(.*?)`", cells["parameters"]))
        for kind, cells in table("Own parameters").items()
        if cells
    }
    assert told == {
        kind: {name: by_kind[kind][name] for name in names}
        for kind, names in own.items()
        if names
    }


def test_fitted_attributes(fitted):
    shared, own = shared_and_own(fitted)
    assert table("Fitted attributes") == {
        name: {kind: "x" for kind in NAMES if name in fitted[kind]} for name in shared
    }
    told = {
        kind: set(re.findall(r"`(\w+_)`", cells["attributes"]))
        for kind, cells in table("Further attributes").items()
    }
    assert told == {kind: names for kind, names in own.items() if names}


def test_defaults_agree():
    """One name has one default, but for what the page explains."""
    told = set(re.findall(r"^- `(\w+)`", PAGE.split("## Own")[0], re.M))
    cells = table("Common parameters")
    differ = {name for name, row in cells.items() if len(set(row.values())) > 1}
    assert differ == told
