import json

import numpy as np
import pytest

from ekss.io import read_labels

FAST = ("--jobs", "1", "--quiet")


@pytest.fixture
def model(ekss, files):
    words = ("--members", 20, "--model", "model.ekss", "-o", "fitted.npy", *FAST)
    assert ekss("cluster", "points.npy", "-k", 3, *words).code == 0
    return files / "model.ekss"


def test_own_points_get_their_own_labels(ekss, files, model):
    ended = ekss("predict", "model.ekss", "points.csv")
    assert ended.code == 0, ended.err
    fitted = np.load(files / "fitted.npy")
    np.testing.assert_array_equal(read_labels(files / "points-predicted.csv"), fitted)
    assert "60 points of 12 features" in ended.out
    assert "EKSS, 3 clusters" in ended.out


def test_multiples_of_points_stay_in_their_cluster(ekss, files, model, planted):
    np.save(files / "new.npy", -3 * planted.data[::2])
    assert ekss("predict", "model.ekss", "new.npy", "-o", "new-labels.npy").code == 0
    expected = np.load(files / "fitted.npy")[::2]
    np.testing.assert_array_equal(np.load(files / "new-labels.npy"), expected)


def test_preprocessing_is_applied_again(ekss, files):
    words = ("--preprocess", "remove:1,pca:6", "--dim", 2, "--model", "model.ekss")
    ended = ekss("cluster", "points.npy", "-k", 3, *words, "-o", "fitted.npy", *FAST)
    assert ended.code == 0, ended.err
    assert ekss("predict", "model.ekss", "points.npy", "-o", "again.npy").code == 0
    fitted, again = np.load(files / "fitted.npy"), np.load(files / "again.npy")
    # the votes of the ensemble, not the nearest subspace, gave the first labels
    assert (fitted == again).mean() > 0.9


@pytest.mark.parametrize("method", ["kss", "copkss", "mkf"])
def test_other_methods_with_subspaces_predict_too(ekss, files, method):
    words = ("--method", method, "--dim", 2, "--model", "model.ekss")
    ended = ekss("cluster", "points.npy", "-k", 3, *words, "-o", "fitted.npy", *FAST)
    assert ended.code == 0, ended.err
    assert ekss("predict", "model.ekss", "points.npy", "-o", "again.npy").code == 0
    fitted, again = np.load(files / "fitted.npy"), np.load(files / "again.npy")
    np.testing.assert_array_equal(fitted, again)


def test_json_and_scores(ekss, files, model):
    words = ("--labels", "truth.npy", "--json", "-o", "again.csv")
    summary = json.loads(ekss("predict", "model.ekss", "points.npy", *words).out)
    assert summary["sizes"] == [20, 20, 20]
    assert summary["scores"]["error"] == 0
    assert summary["outputs"] == ["again.csv"]


def test_a_single_row_is_enough(ekss, files, model, planted):
    np.save(files / "one.npy", planted.data[7:8])
    names = ",".join(f"x{i}" for i in range(12))
    row = ",".join(map(repr, planted.data[7].tolist()))
    (files / "one.csv").write_text(f"{names}\n{row}\n")
    expected = np.load(files / "fitted.npy")[7:8]
    for name in ("one.npy", "one.csv"):
        ended = ekss("predict", "model.ekss", name, "-o", "label.npy")
        assert ended.code == 0, ended.err
        assert "1 point of 12 features" in ended.out
        np.testing.assert_array_equal(np.load(files / "label.npy"), expected)


def test_a_single_row_is_too_few_for_cluster(ekss, files, planted):
    np.save(files / "one.npy", planted.data[:1])
    ended = ekss("cluster", "one.npy", "-k", 1)
    assert ended.code == 2
    assert "at least 2 are needed" in ended.err
