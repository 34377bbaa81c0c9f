"""A cell of a table gives the labels of the plain estimator."""

import json

import numpy as np
import pytest

from ekss import estimators
from ekss.benchmarks import METHODS, plan_table1
from ekss.benchmarks._methods import ESTIMATORS, labellings, resolved
from ekss.benchmarks._recipes import read_features
from ekss.benchmarks._table1 import digest_of_labels, run_cell
from ekss.estimators import EKSS, LabelFreeSearch

DATASETS = ("usps", "yaleb")  # without and with a direction in common


@pytest.fixture
def cells(tiny, tiny_loaders, tmp_path):
    def make(dataset, method, column):
        plan = plan_table1(
            tiny, tmp_path, tiny_loaders, datasets=[dataset], methods=[method]
        )
        return [cell for cell in plan.cells if cell.column == column]

    return make


def plain(method, cell):
    """Build the estimator as a reader of the table would."""
    (setting,) = cell.params["settings"]
    make = getattr(estimators, ESTIMATORS[method])
    (points,) = read_features(cell.files[0])
    return make(3, random_state=cell.seed, **setting["params"]), points.data


@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", DATASETS)
def test_label_free_cell_has_the_labels_of_the_estimator(dataset, method, cells):
    found = cells(dataset, method, "free")
    assert [cell.seed for cell in found] == [0, 1]
    for cell in found:
        model, points = plain(method, cell)
        labels = model.fit(points).labels_
        assert run_cell(cell)["labels"] == digest_of_labels(labels)


def test_label_free_ekss_is_told_the_number_of_clusters_alone(cells):
    for dataset in DATASETS:
        (setting,) = cells(dataset, "ekss", "free")[0].params["settings"]
        assert setting["params"] == {}


def test_common_direction_is_removed_in_the_cell_too(cells):
    model, points = plain("ekss", cells("yaleb", "ekss", "free")[0])
    assert len(model.fit(points).removed_) > 0


@pytest.mark.parametrize("method", ["tsc", "sscomp", "ensc"])
@pytest.mark.parametrize("dataset", DATASETS)
def test_chosen_cell_has_the_labels_of_the_search(dataset, method, cells):
    for cell in cells(dataset, method, "chosen"):
        model, points = plain(method, cell)
        search = LabelFreeSearch(
            model.set_params(random_state=None), random_state=cell.seed
        )
        labels = search.fit(points).labels_
        assert run_cell(cell)["labels"] == digest_of_labels(labels)


def test_every_cut_of_a_sweep_is_that_of_a_fit(cells):
    cell = cells("usps", "ekss", "tuned")[1]
    setting = cell.params["settings"][0]
    (points,) = read_features(cell.files[0])
    params = resolved(setting, points)
    for name, labels in labellings("ekss", setting, points, cell.seed):
        cut = json.loads(name)
        share = float(cut["n_eigenvectors"].removesuffix(" K"))
        model = EKSS(
            3,
            **params,
            n_neighbors=cut["n_neighbors"],
            n_eigenvectors=int(np.ceil(3 * share)),
            divide_by_size=cut["divide_by_size"],
            random_state=cell.seed,
        )
        np.testing.assert_array_equal(labels, model.fit(points.data).labels_, name)


def test_trials_of_different_seeds_do_not_overlap(cells, monkeypatch):
    seen = []
    original = estimators.KSS.fit

    def fit(self, X, y=None):
        seen.append(self.random_state)
        return original(self, X, y)

    monkeypatch.setattr(estimators.KSS, "fit", fit)
    for cell in cells("usps", "kss", "paper"):
        run_cell(cell)
    assert len(seen) == len(set(seen)) == 4
