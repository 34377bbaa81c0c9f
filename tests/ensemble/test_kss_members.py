"""Members that run K-subspaces: what they are told, and how they are kept."""

from dataclasses import replace

import numpy as np
import pytest

from ekss import EKSS, CutOptions, KSSMember
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import chain, vote
from ekss.ensemble.decide import Geometry, Plan
from ekss.ensemble.prepare import Coordinates, prepare
from ekss.ensemble.vote import run_members
from ekss.runtime.workers import Workers


@pytest.fixture(scope="module")
def points():
    return make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=40, random_state=0
    ).data


def options(geometry=None, **changes):
    points = prepare(np.ones((120, 20)), unit=False, affine=False)
    seen = Coordinates(points.rows)
    plan = Plan(points, seen, 3, geometry or Geometry(False, 2, 4), (5,))
    return KSSMember(**{"max_iter": 2, **changes}).options(plan)


def run(points, count, known=None, seed=0, chosen=None):
    member = chosen or options()
    return run_members(points, seed, member, count, Workers(1), known=known)


def test_members_draw_four_to_eight_pieces_per_cluster_by_default():
    found = options()
    assert found.n_candidates == (12, 24)
    assert found.subspace_dim == (1, 4)
    assert found.least_points == 3
    assert found.init == "random"


def test_given_numbers_are_used_and_change_nothing_else():
    found = options(Geometry(False, 3, 3, given=True))
    assert found.n_candidates == (12, 24)
    assert found.subspace_dim == (3, 3)
    assert found.least_points == 3
    for given, expected in (((5, 7), (5, 7)), (6, (6, 6)), (None, (3, 3))):
        found = options(n_candidates=given)
        assert found.n_candidates == expected
        assert found.subspace_dim == (1, 4)
        assert found.least_points == 0


def test_affine_members_start_from_neighbourhoods_and_keep_their_dimensions():
    found = options(Geometry(True, 2, 3))
    assert found.init == "neighbors"
    assert found.subspace_dim == (2, 3)
    assert options(Geometry(True, 2, 3), init="random").init == "random"


@pytest.mark.parametrize(
    ("given", "n_samples", "n_clusters", "rows"),
    [
        ("auto", 10_000, 10, None),
        ("auto", 10_001, 10, 10_000),
        ("auto", 10**6, 500, 50_000),
        (50, 50, 10, None),
        (50, 51, 10, 50),
        (None, 10**6, 10, None),
    ],
)
def test_rows_that_a_member_is_fitted_to(given, n_samples, n_clusters, rows):
    assert KSSMember(max_samples=given).fitted_rows(n_samples, n_clusters) == rows


def test_ensemble_grown_in_steps_equals_one_run_at_once(points):
    at_once = run(points, 9)
    grown = run(points, 9, known=run(points, 5, known=run(points, 2)))
    np.testing.assert_array_equal(grown.labels, at_once.labels)
    np.testing.assert_array_equal(grown.weights, at_once.weights)
    assert grown.n_iter == at_once.n_iter


def test_known_members_are_not_run_again(points, monkeypatch):
    known = run(points, 6)
    numbers = []
    original = vote.run_side_by_side

    def count(points, seed, batch, options, norms):
        numbers.extend(batch)
        return original(points, seed, batch, options, norms)

    monkeypatch.setattr(vote, "run_side_by_side", count)
    run(points, 8, known=known)
    at_once = known.origin[2].at_once(len(points))
    # only the batch that was cut short is run once more
    assert numbers == list(range(6 // at_once * at_once, -(-8 // at_once) * at_once))
    numbers.clear()
    fewer = run(points, 4, known=known)
    assert numbers == []
    np.testing.assert_array_equal(fewer.labels, known.labels[:, :4])


@pytest.mark.parametrize("change", ["data", "seed", "options"])
def test_members_of_another_origin_are_not_kept(points, change):
    other_points = points[::-1].copy() if change == "data" else points
    seed = 1 if change == "seed" else 0
    chosen = options(max_iter=1) if change == "options" else options()
    known = run(other_points, 5, seed=seed, chosen=chosen)
    found = run(points, 5, known=known)
    np.testing.assert_array_equal(found.labels, run(points, 5).labels)


@pytest.mark.parametrize("random_state", [3, None])
def test_warm_start_adds_members_and_gives_the_cold_labels(points, random_state):
    model = EKSS(3, 3, n_members=10, warm_start=True, random_state=random_state)
    first = model.fit(points).member_labels_
    model.set_params(n_members=25).fit(points)
    assert model.member_labels_.shape == (120, 25)
    np.testing.assert_array_equal(model.member_labels_[:, :10], first)
    if random_state is not None:
        cold = EKSS(3, 3, n_members=25, random_state=random_state).fit(points)
        np.testing.assert_array_equal(model.member_labels_, cold.member_labels_)
        np.testing.assert_array_equal(model.labels_, cold.labels_)


def test_without_warm_start_and_seed_members_are_new(points):
    model = EKSS(3, 3, n_members=10)
    first = model.fit(points).member_labels_
    assert (model.fit(points).member_labels_ != first).any()


def test_labels_kept_in_a_file_are_the_same(points, tmp_path):
    options = {"n_members": 12, "random_state": 0}
    in_memory = EKSS(3, **options).fit(points)
    on_disk = EKSS(3, cut=CutOptions(labels_dir=tmp_path), **options).fit(points)
    assert isinstance(on_disk.member_labels_, np.memmap)
    np.testing.assert_array_equal(on_disk.member_labels_, in_memory.member_labels_)
    np.testing.assert_array_equal(on_disk.labels_, in_memory.labels_)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("member_labels_12_")
    assert path.samefile(on_disk.member_labels_.filename)
    np.testing.assert_array_equal(np.load(path).T, in_memory.member_labels_)


def test_labels_in_a_file_grow_with_a_warm_start(points, tmp_path):
    model = EKSS(
        3,
        n_members=6,
        warm_start=True,
        cut=CutOptions(labels_dir=tmp_path),
        random_state=0,
    )
    model.fit(points).set_params(n_members=10).fit(points)
    whole = EKSS(3, n_members=10, random_state=0).fit(points)
    np.testing.assert_array_equal(model.member_labels_, whole.member_labels_)


def test_models_that_share_a_folder_share_no_file(points, tmp_path):
    options = {"n_members": 8, "cut": CutOptions(labels_dir=tmp_path)}
    first = EKSS(3, random_state=0, **options).fit(points)
    kept = np.array(first.member_labels_)
    # fewer points: had the file been opened again, reading the first would be fatal
    second = EKSS(3, random_state=1, **options).fit(points[::2])
    again = EKSS(3, random_state=0, **options).fit(points[::3])
    files = {m.member_labels_.filename for m in (first, second, again)}
    assert len(files) == len(list(tmp_path.iterdir())) == 3
    np.testing.assert_array_equal(first.member_labels_, kept)
    assert second.member_labels_.shape == (len(points[::2]), 8)
    second.fit(points)
    assert len(list(tmp_path.iterdir())) == 4
    np.testing.assert_array_equal(first.member_labels_, kept)


def test_files_that_an_ensemble_outgrows_are_deleted(points, tmp_path, monkeypatch):
    monkeypatch.setattr(chain, "RULES", replace(chain.RULES, steps=(4, 8, 16)))
    monkeypatch.setattr(vote, "_halves_agreement", lambda *a, **k: 0.0)
    model = EKSS(3, cut=CutOptions(labels_dir=tmp_path), whiten=0, random_state=0)
    model.fit(points)
    assert model.n_members_ == 16
    (path,) = tmp_path.iterdir()
    np.testing.assert_array_equal(np.load(path).T, model.member_labels_)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_files_of_a_fit_that_fails_are_deleted(points, tmp_path, monkeypatch, error):
    model = EKSS(
        3, n_members=6, cut=CutOptions(labels_dir=tmp_path), random_state=0
    ).fit(points)
    before, kept = list(tmp_path.iterdir()), np.array(model.member_labels_)

    def fail(*args, **kwargs):
        raise error("in the middle")

    for module, name in ((chain, "cut_and_choose"), (vote, "run_side_by_side")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fail)
            with pytest.raises(error):
                model.fit(points + 1)
        assert list(tmp_path.iterdir()) == before
    with pytest.raises((ValueError, MemoryError)):
        model.set_params(memory_limit=1).fit(points)
    assert list(tmp_path.iterdir()) == before
    np.testing.assert_array_equal(model.member_labels_, kept)


def test_folder_that_is_not_there_is_refused(points, tmp_path):
    with pytest.raises(ValueError, match=r"labels_dir=.*none' is not a directory"):
        EKSS(3, n_members=5, cut=CutOptions(labels_dir=tmp_path / "none")).fit(points)
    with pytest.raises(TypeError, match="labels_dir=3 is int"):
        EKSS(3, n_members=5, cut=CutOptions(labels_dir=3)).fit(points)
