"""The examples in the README and the docs run as they stand."""

import re
from pathlib import Path

import pytest

from ekss.benchmarks import DATASETS, METHODS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    )
]


@pytest.fixture
def registries():
    """Take out again what an example registers."""
    kept = [(one, dict(one)) for one in (DATASETS, METHODS)]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code, capsys):
    exec(compile(code, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
