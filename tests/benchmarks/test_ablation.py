import numpy as np
import pytest

from ekss import EKSS
from ekss.benchmarks import plan_ablation, plan_table1, run_plan, write_ablation
from ekss.benchmarks._ablation import BASELINE, _errors, ablation_grid
from ekss.benchmarks._label_free import BEST, Recorder, fit_and_record, other_choices
from ekss.datasets import make_union_of_subspaces
from ekss.graph import CutScore, Evidence
from ekss.metrics import clustering_error


@pytest.fixture
def plan(tiny, tiny_loaders, tmp_path):
    home = tmp_path / "home"
    return plan_ablation(tiny, home, tiny_loaders, datasets=["coil20", "hopkins"])


def test_label_free_cells_are_those_of_table1(plan, tiny, tiny_loaders, tmp_path):
    table = plan_table1(
        tiny, tmp_path / "home", tiny_loaders, datasets=["coil20"], methods=["ekss"]
    )
    free = {cell.key for cell in table.cells if cell.column == "free"}
    assert len(free) == tiny.free_seeds
    assert free <= {cell.key for cell in plan.cells}
    assert len(plan.cells) == 4 * tiny.free_seeds


def test_recorded_fit_is_the_default_fit_and_knows_the_best_cut(tiny_loaders):
    (points,) = tiny_loaders["usps"]()
    model, other = fit_and_record(points, {}, seed=0)
    plain = EKSS(3, random_state=0, n_jobs=1).fit(points.data)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    error = 100 * clustering_error(points.target, model.labels_)
    assert other[BEST] <= error
    assert {f"without {term}" for term in ("residual", "overlap", "dissent")} <= {
        *other
    }


def test_other_choices_leave_their_term_out():
    target = np.array([0, 0, 0, 1, 1, 1])
    cuts = {
        "right": (np.array([0, 0, 0, 1, 1, 1]), CutScore(1.0, 0.5, 1.0)),
        "third": (np.array([0, 0, 1, 1, 1, 1]), CutScore(0.1, 0.9, 1.0)),
        "half": (np.array([0, 1, 0, 1, 0, 1]), CutScore(2.0, 0.6, 0.1)),
    }
    recorder = Recorder()
    recorder.cuts = list(cuts.values())
    found = other_choices(recorder, target)
    sixth, third = 100 / 6, 100 / 3
    assert found["residual alone"] == pytest.approx(sixth, abs=1e-3)
    assert found["overlap alone"] == 0
    assert found["dissent alone"] == pytest.approx(third, abs=1e-3)
    assert found["without dissent"] == pytest.approx(sixth, abs=1e-3)
    assert found["without residual"] == pytest.approx(third, abs=1e-3)
    assert found[BEST] == 0


def test_recorder_forgets_the_cuts_of_an_earlier_pool():
    data = make_union_of_subspaces(n_subspaces=2, dims=2, random_state=0)
    recorder = Recorder()
    first, second = Evidence(data.data, (2,)), Evidence(data.data, (1,))
    for evidence in (first, first, second):
        recorder(data.target, evidence)
    assert len(recorder.cuts) == 1


def test_every_variant_is_fitted_with_its_own_setting(monkeypatch, tiny_loaders):
    fitted = []
    original = EKSS.fit

    def fit(self, X, y=None):
        fitted.append(self.get_params())
        return original(self, X, y)

    monkeypatch.setattr(EKSS, "fit", fit)
    errors = _errors(tiny_loaders["usps"]()[0], seed=0)
    assert len(errors) == len(fitted) == 8
    assert fitted[0]["affine"] == "auto"
    told = [str(params) for params in fitted]
    assert len(set(told)) == len(told)
    assert errors[BASELINE] == 0


def test_table_has_means_and_seeds_of_what_was_run(plan, tiny, tmp_path):
    folder = tmp_path / "out"
    coil = [cell for cell in plan.cells if cell.dataset == "coil20"]
    part = type(plan)(plan.name, tuple(coil), plan.work)
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
    assert "K candidates a member" in lines
    assert "(2)" in lines[BEST]
