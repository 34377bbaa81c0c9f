"""SSC on Hopkins 155: cells are plain fits, and the page keeps endings apart."""

import numpy as np

from ekss import SSC
from ekss.benchmarks import plan_hopkins, run_plan, write_hopkins
from ekss.benchmarks._hopkins import LINES, PUBLISHED
from ekss.metrics import clustering_error


def test_rows_are_those_of_plain_fits_and_tell_what_is_optimal(
    tiny, tiny_loaders, tmp_path
):
    plan = plan_hopkins(tiny, tmp_path / "home", tiny_loaders)
    assert {cell.column for cell in plan.cells} == set(LINES)
    rows = run_plan(plan, tmp_path / "out", jobs=1)
    (first, *_) = [cell for cell in plan.cells if cell.column == "minimiser"]
    row = rows[first.key]
    assert row["optimal"] == 1
    sets = tiny_loaders["hopkins155"]()
    for points in sets:
        model = SSC(points.n_clusters, random_state=first.seed, **first.params["fit"])
        labels = model.fit_predict(points.data)
        found = row["sequences"][points.name]
        assert found["error"] == round(100 * clustering_error(points.target, labels), 4)
        assert found["n_clusters"] == points.n_clusters
    stopped = [rows[cell.key] for cell in plan.cells if "50" in cell.column]
    assert np.mean([one["optimal"] for one in stopped]) < 1
    written = write_hopkins(plan, rows, tmp_path / "out", tiny, command="made by hand")
    page = (tmp_path / "out" / "hopkins.md").read_text()
    assert all(name in page for name in (*LINES, "made by hand"))
    assert " | ".join(f"{error:.2f}" for error in PUBLISHED) in page
    assert written.files[0].name == "hopkins.md"


def test_missing_data_are_told_and_leave_the_table_without_lines(tiny, tmp_path):
    def absent():
        raise OSError("hopkins155.npz is not there; fetch it")

    plan = plan_hopkins(tiny, tmp_path, {"hopkins155": absent})
    assert not plan.cells
    written = write_hopkins(plan, {}, tmp_path, tiny)
    assert "not there; fetch it" in written.text
