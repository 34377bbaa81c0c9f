import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ekss.benchmarks import FIGURE_PROFILES, FIGURES, _figure2
from ekss.benchmarks._figure2 import (
    curves_of,
    draw_pairs,
    figure2_findings,
    plan_figure2,
    read_curves,
    run_pairs,
    write_curves,
)

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TINY = replace(FIGURE_PROFILES["smoke"], pairs=150, pair_members=150)


@pytest.fixture
def without_umap(monkeypatch):
    monkeypatch.setattr(_figure2, "find_spec", lambda name: None)


def test_committed_run_shows_the_papers_findings():
    curves = read_curves((RESULTS / "figure2.csv").read_text())
    assert {curve.reduction for curve in curves} == {"full", "gaussian", "umap"}
    found = figure2_findings(curves)
    assert len(found) == 3
    page = " ".join((RESULTS / "figure2.md").read_text().split())
    for one in found:
        assert one.holds, one.measured
        assert one.measured in page


def test_pairs_are_unit_vectors_at_their_angles():
    points, angles = draw_pairs(200, 30, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)
    first, second = np.split(points, 2)
    cosines = np.sum(first * second, axis=1)
    np.testing.assert_allclose(cosines, np.cos(angles), atol=1e-12)
    assert angles.min() >= 0
    assert angles.max() <= np.pi / 2
    assert abs(angles.mean() - np.pi / 4) < 0.1


def test_full_data_follow_lemma_3_and_projected_data_are_near(without_umap):
    plan = plan_figure2(TINY)
    rows = {cell.key: run_pairs(cell) for cell in plan.cells}
    full, projected = curves_of(plan, rows)
    assert (full.reduction, projected.reduction) == ("full", "gaussian")
    np.testing.assert_allclose(full.similarity, full.expected, atol=0.08)
    np.testing.assert_allclose(projected.similarity, full.expected, atol=0.2)
    assert projected.expected == ()
    assert read_curves(write_curves([full, projected])) == [full, projected]


def test_without_umap_the_panel_is_missing_in_words(without_umap, tmp_path):
    plan = plan_figure2(TINY)
    assert {cell.method for cell in plan.cells} == {"full", "gaussian"}
    written = FIGURES["figure2"].write(plan, {}, tmp_path, TINY)
    assert "pip install 'ekss[umap]'" in written.text
    assert "pip install 'ekss[umap]'" in " ".join(
        (tmp_path / "figure2.md").read_text().split()
    )


def test_umap_gets_cosines_and_its_coordinates_are_centred(monkeypatch):
    asked = {}

    class Stand:
        def __init__(self, **params):
            asked.update(params)

        def fit_transform(self, points):
            return points[:, : asked["n_components"]] + 7

    module = types.ModuleType("umap")
    module.UMAP = Stand
    monkeypatch.setitem(sys.modules, "umap", module)
    monkeypatch.setattr(_figure2, "find_spec", lambda name: object())
    cell = next(one for one in plan_figure2(TINY).cells if one.method == "umap")
    found = run_pairs(cell)
    assert asked["metric"] == "cosine"
    assert asked["n_components"] == 20
    # Not centred, all points would lie in about one direction.
    assert found["similarity"][-1] < 0.5


def test_importing_umap_warns_nobody(monkeypatch, tmp_path):
    warning = "warnings.warn('a part is missing', ImportWarning)"
    (tmp_path / "umap.py").write_text(f"import warnings\n{warning}\nUMAP = 'loaded'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "umap", raising=False)
    assert _figure2._load_umap() == "loaded"
    monkeypatch.delitem(sys.modules, "umap")
