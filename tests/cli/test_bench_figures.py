import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from ekss.benchmarks import FIGURE_PROFILES, _figure2
from ekss.cli import app


def invoke(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.fixture
def tiny(monkeypatch):
    """Make the smoke profile tiny, without UMAP, which compiles for half a minute."""
    smoke = replace(
        FIGURE_PROFILES["smoke"],
        ekss={"n_members": 5, "max_iter": 1, "update": "power"},
        zero_members=10,
        angle_members=10,
        ssc_iterations=20,
        counts=(10,),
        dims=(1, 3),
        angles=(0.8,),
        noisy_angles=(0.8,),
        noisy_count=10,
        pairs=30,
        pair_members=20,
    )
    monkeypatch.setitem(FIGURE_PROFILES, "smoke", smoke)
    monkeypatch.setattr(_figure2, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("figure", "cells", "words"),
    [
        ("figure1", 1, "Three matrices"),
        ("figure2", 2, "pip install 'ekss[umap]'"),
        ("figure3", 8, "SSC: up to d ="),
        ("figure4", 8, "2.24, 0.8"),
    ],
)
def test_figure_is_made_from_rows_and_made_again_without_work(
    tiny, tmp_path, figure, cells, words
):
    arguments = [figure, "--profile", "smoke", "-o", tmp_path, "--jobs", 1]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert f"{cells} cells, 0 of them on disk" in result.output
    rows = [json.loads(path.read_text()) for path in tmp_path.glob("rows/*.json")]
    assert len(rows) == cells
    assert not any("failed" in row for row in rows)
    page = " ".join((tmp_path / f"{figure}.md").read_text().split())
    assert words in page
    assert "not comparable" in page
    assert "What the paper says" not in page
    assert (tmp_path / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    numbers = (tmp_path / f"{figure}.csv").read_text()
    again = invoke(*arguments)
    assert f"{cells} cells, {cells} of them on disk" in again.output
    assert (tmp_path / f"{figure}.csv").read_text() == numbers


def test_missing_umap_is_told_before_the_run(tiny, tmp_path):
    result = invoke("figure2", "--profile", "smoke", "-o", tmp_path, "--dry-run")
    assert "missing: umap" in result.output
    assert not (tmp_path / "rows").exists()


def test_unknown_profile_is_refused_in_words(tmp_path):
    result = invoke("figure3", "--profile", "huge", "-o", tmp_path)
    assert isinstance(result.exception, ValueError)
    assert "choose one of smoke, quick, paper" in str(result.exception)
