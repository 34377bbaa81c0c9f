"""The examples in the README and the docs run as they stand."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
from distributed import Client
from PIL import Image

from ekss.benchmarks import DATASETS, METHODS
from ekss.cli import app, main
from ekss.datasets import make_faces_under_light, make_union_of_subspaces

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


@pytest.fixture
def light_cluster(monkeypatch):
    """Let a cluster be of threads; tests/estimators/test_large.py has processes."""

    class Light(Client):
        def __init__(self, **options):
            super().__init__(processes=False, **options)

    monkeypatch.setattr("distributed.Client", Light)


@pytest.mark.usefixtures("registries", "light_cluster")
@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code, capsys):
    exec(compile(code, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def commands_of(page):
    """Words of every ``ekss`` command of a page."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.S):
        for line in re.findall(r"^\$ ekss (.*)$", block, re.M):
            yield shlex.split(line, comments=True)


COMMANDS = [
    pytest.param(words, id=f"{page.relative_to(ROOT)}-{' '.join(words)[:40]}")
    for page in PAGES
    for words in commands_of(page)
]


@pytest.mark.parametrize("words", COMMANDS)
def test_command_has_these_options(words):
    """Those that take hours or the network are only read."""
    command, words = typer.main.get_command(app), list(words)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the pages speak of."""
    points, labels = make_union_of_subspaces(
        4, 2, n_features=10, n_per_subspace=15, random_state=0, return_X_y=True
    )
    names = ",".join(f"m{i}" for i in range(10))
    for name in ("points.csv", "new.csv", "measure.csv"):
        np.savetxt(tmp_path / name, points, delimiter=",", header=names, comments="")
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "labels.npy", labels)
    faces = make_faces_under_light(10, 6, height=16, random_state=0)
    np.savez(tmp_path / "faces.npz", X=faces.data)
    (tmp_path / "folder-of-images").mkdir()
    for number, image in enumerate(faces.images.clip(0, 1)):
        picture = Image.fromarray((255 * image).astype(np.uint8))
        picture.save(tmp_path / "folder-of-images" / f"{number:02}.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    ["command.md", "report.md", "theory.md", "start/table.md", "start/images.md"],
)
def test_commands_of_a_page_run(page, files, capsys):
    for words in commands_of(ROOT / "docs" / page):
        if words == ["demo"]:  # tests/cli/test_demo.py runs it
            continue
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0, capsys.readouterr().err
