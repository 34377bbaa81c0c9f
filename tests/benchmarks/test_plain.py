"""A cell of a table gives the labels of the plain estimator."""

import json

import numpy as np
import pytest

from ekss import estimators
from ekss.benchmarks import METHODS, Points, plan_table1
from ekss.benchmarks._data import read_features
from ekss.benchmarks._methods import labellings, votes_of_members
from ekss.benchmarks._table1 import digest_of_labels, run_cell
from ekss.ensemble import KSSMember
from ekss.estimators import EKSS, LabelFreeSearch, PaperEKSS
from ekss.graph import coassociation_topq, spectral_labels
from ekss.methods import imported

# The paper's dimensions are too large for tiny stand-ins.
pytestmark = pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")

DATASETS = ("usps", "eyaleb")  # without and with a direction in common


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
    make = imported(METHODS[method].estimator)
    (points,) = read_features(cell.files[0])
    return make(3, random_state=cell.seed, **setting["params"]), points.data


@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "ekss-images"])
@pytest.mark.parametrize("dataset", DATASETS)
def test_label_free_cell_has_the_labels_of_the_estimator(dataset, method, cells):
    found = cells(dataset, method, "free")
    assert [cell.seed for cell in found] == [0, 1]
    model, points = plain(method, found[1])
    labels = model.fit(points).labels_
    assert run_cell(found[1])["labels"] == digest_of_labels(labels)


def test_label_free_ekss_is_told_the_number_of_clusters_alone(cells):
    for dataset in DATASETS:
        (setting,) = cells(dataset, "ekss", "free")[0].params["settings"]
        assert setting["params"] == {}


def test_images_are_told_their_shape(tiny, tiny_loaders, tmp_path):
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(3), 20)
    pixels = 1 + rng.random((3, 256))[target] + 0.3 * rng.random((60, 256))
    loaders = {**tiny_loaders, "usps": lambda: [Points(pixels, target, "images")]}
    plan = plan_table1(
        tiny, tmp_path, loaders, datasets=["usps"], methods=["ekss-images"]
    )
    assert {cell.column for cell in plan.cells} == {"free"}
    model, points = plain("ekss-images", plan.cells[0])
    assert model.image_shape == [16, 16]
    assert run_cell(plan.cells[0])["labels"] == digest_of_labels(
        model.fit(points).labels_
    )


def test_data_without_images_have_no_line_of_images(cells):
    assert cells("hopkins155", "ekss-images", "free") == []


def test_points_with_a_common_direction_are_whitened_in_the_cell_too(cells):
    model, points = plain("ekss", cells("eyaleb", "ekss", "free")[0])
    assert model.fit(points).n_directions_ > 0


@pytest.mark.parametrize("method", ["tsc", "sscomp", "ensc"])
@pytest.mark.parametrize("dataset", DATASETS)
def test_chosen_cell_has_the_labels_of_the_search(dataset, method, cells):
    cell = cells(dataset, method, "chosen")[-1]
    model, points = plain(method, cell)
    model.set_params(random_state=None)
    labels = LabelFreeSearch(model, random_state=cell.seed).fit(points).labels_
    assert run_cell(cell)["labels"] == digest_of_labels(labels)


@pytest.mark.parametrize("dataset", DATASETS)
def test_cell_at_the_papers_parameters_has_the_labels_of_the_papers_algorithm(
    dataset, cells
):
    for cell in cells(dataset, "ekss", "paper"):
        (setting,) = cell.params["settings"]
        (points,) = read_features(cell.files[0])
        model = PaperEKSS(3, random_state=cell.seed, **setting["params"])
        labels = model.fit(points.data).labels_
        assert run_cell(cell)["labels"] == digest_of_labels(labels)


def test_every_cut_of_a_sweep_is_one_of_the_votes_of_the_estimator(cells):
    cell = cells("usps", "ekss", "tuned")[1]
    setting = cell.params["settings"][0]
    (points,) = read_features(cell.files[0])
    given = setting["params"]
    member = KSSMember(n_candidates=3 * setting["candidates"], **given["member"])
    model = EKSS(3, random_state=cell.seed, **{**given, "member": member})
    model.fit(points.data)
    labels, weights = votes_of_members(setting, points, cell.seed)
    np.testing.assert_array_equal(labels, model.member_labels_)
    np.testing.assert_array_equal(weights, model.member_weights_)
    for name, labels in labellings(setting, points, cell.seed):
        cut = json.loads(name)
        share = float(cut["n_eigenvectors"].removesuffix(" K"))
        graph = coassociation_topq(
            model.member_labels_,
            model.member_weights_,
            cut["n_neighbors"],
            divide_by_size=cut["divide_by_size"],
        )
        found = spectral_labels(
            graph,
            3,
            n_eigenvectors=int(np.ceil(3 * share)),
            random_state=cell.seed,
        )
        np.testing.assert_array_equal(labels, found.labels, name)


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
