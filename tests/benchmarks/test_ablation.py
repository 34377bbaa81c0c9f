from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ekss import EKSS
from ekss.benchmarks import plan_ablation, plan_table1, run_plan, write_ablation
from ekss.benchmarks._ablation import BASELINE, VARIANTS, _errors, ablation_grid
from ekss.benchmarks._table1 import BEST, other_choices
from ekss.ensemble import CutScore
from ekss.ensemble.choose import EXPONENTS
from ekss.metrics import clustering_error


@pytest.fixture
def plan(tiny, tiny_loaders, tmp_path):
    home = tmp_path / "home"
    return plan_ablation(tiny, home, tiny_loaders, datasets=["coil20", "hopkins155"])


def test_label_free_cells_are_those_of_table1(plan, tiny, tiny_loaders, tmp_path):
    table = plan_table1(
        tiny, tmp_path / "home", tiny_loaders, datasets=["coil20"], methods=["ekss"]
    )
    free = {cell.key for cell in table.cells if cell.column == "free"}
    assert len(free) == tiny.free_seeds
    assert free <= {cell.key for cell in plan.cells}
    assert len(plan.cells) == 4 * tiny.free_seeds


@pytest.mark.parametrize("dataset", ["usps", "eyaleb"])
def test_what_other_scores_choose_is_read_from_a_plain_fit(tiny_loaders, dataset):
    (points,) = tiny_loaders[dataset]()
    model = EKSS(3, n_members=20, random_state=0).fit(points.data)
    other = other_choices(model, points.target)
    error = 100 * clustering_error(points.target, model.labels_)
    assert other[BEST] <= error
    assert {*other} == {
        BEST,
        *(f"without {term}" for term in EXPONENTS),
        *(f"{term} alone" for term in EXPONENTS),
    }


def test_one_cluster_has_no_other_choices(tiny_loaders):
    (points,) = tiny_loaders["usps"]()
    model = EKSS(1, n_members=4, random_state=0).fit(points.data)
    assert other_choices(model, points.target) == {}


def test_other_choices_leave_their_term_out():
    target = np.array([0, 0, 0, 1, 1, 1])
    cuts = {
        "right": (np.array([0, 0, 0, 1, 1, 1]), CutScore(1.0, 0.5, 1.0)),
        "third": (np.array([0, 0, 1, 1, 1, 1]), CutScore(0.1, 0.9, 1.0)),
        "half": (np.array([0, 1, 0, 1, 0, 1]), CutScore(2.0, 0.6, 0.1)),
    }
    model = SimpleNamespace(
        sample_=None,
        candidates_=[
            SimpleNamespace(labels=labels, judged=score)
            for labels, score in cuts.values()
        ],
    )
    found = other_choices(model, target)
    sixth, third = 100 / 6, 100 / 3
    assert found["residual alone"] == pytest.approx(sixth, abs=1e-3)
    assert found["overlap alone"] == 0
    assert found["dissent alone"] == pytest.approx(third, abs=1e-3)
    assert found["without dissent"] == pytest.approx(sixth, abs=1e-3)
    assert found["without residual"] == pytest.approx(third, abs=1e-3)
    assert found[BEST] == 0


def test_every_variant_is_fitted_with_its_own_setting(monkeypatch, tiny_loaders):
    fitted = []
    original = EKSS.fit

    def fit(self, X, y=None):
        fitted.append(self.get_params())
        return original(self, X, y)

    monkeypatch.setattr(EKSS, "fit", fit)
    errors = _errors(tiny_loaders["usps"]()[0], seed=0)
    assert len(errors) == len(fitted) == 1 + len(VARIANTS)
    assert fitted[0]["affine"] == "auto"
    told = [str(params) for params in fitted]
    assert len(set(told)) == len(told)
    assert errors[BASELINE] == 0


def test_table_has_means_and_seeds_of_what_was_run(plan, tiny, tmp_path):
    folder = tmp_path / "out"
    coil = [cell for cell in plan.cells if cell.dataset == "coil20"]
    part = replace(plan, cells=tuple(coil))
    rows = run_plan(part, folder, jobs=1)
    written = write_ablation(plan, rows, folder, tiny)
    assert {path.name for path in written.files} == {
        "ablation.txt",
        "ablation.md",
        "ablation.csv",
    }
    grid = ablation_grid(plan, rows)
    assert grid[0] == ["", "COIL-20"]
    lines = dict(grid[1:])
    assert lines["the default"] == "0.00 ± 0.00 (2)"
    assert "K candidates per member" in lines
    assert "(2)" in lines[BEST]
