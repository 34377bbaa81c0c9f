import json

import numpy as np
import pandas as pd
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


@pytest.fixture
def named_model(ekss, files):
    """Fit KSS, which predicts the labels that it found, on columns with names."""
    words = ("--method", "kss", "--dim", 2, "--model", "named.ekss", "-o", "fitted.npy")
    assert ekss("cluster", "points.csv", "-k", 3, *words, *FAST).code == 0
    return np.load(files / "fitted.npy")


def framed(planted):
    return pd.DataFrame(planted.data, columns=[f"x{i}" for i in range(12)])


def written(path, frame):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_columns_are_matched_by_name(ekss, files, named_model, ending, planted):
    frame = framed(planted)
    shuffled = frame[np.random.default_rng(0).permutation(frame.columns)]
    assert list(shuffled.columns) != list(frame.columns)
    shuffled.insert(3, "note", ["good", "bad"] * 30)
    shuffled.insert(0, "customer_id", range(60))
    written(files / f"new.{ending}", shuffled)
    ended = ekss("predict", "named.ekss", f"new.{ending}", "-o", "new.npy")
    assert ended.code == 0, ended.err
    np.testing.assert_array_equal(np.load(files / "new.npy"), named_model)
    assert "12 matched by name; ignored, unknown to the model: note" in ended.out
    assert "named by column 'customer_id'" in ended.out
    ended = ekss("predict", "named.ekss", f"new.{ending}", "-o", "new.npy", "--json")
    summary = json.loads(ended.out)
    assert summary["data"]["columns"] == list(frame.columns)
    assert summary["data"]["left_out"] == ["note"]
    assert "by name" in summary["matching"]


def test_missing_columns_are_refused_by_name(ekss, files, named_model, planted):
    frame = framed(planted)
    written(files / "few.csv", frame.drop(columns=["x3", "x7"]))
    written(files / "other.csv", frame.rename(columns={"x3": "z3"}))
    few = ekss("predict", "named.ekss", "few.csv")
    assert few.code == 2
    assert "few.csv lacks the 2 columns 'x3', 'x7'" in few.err
    other = ekss("predict", "named.ekss", "other.csv")
    assert other.code == 2
    assert "lacks the column 'x3'" in other.err
    assert not (files / "few-predicted.csv").exists()


def test_without_names_columns_are_matched_by_position(
    ekss, files, named_model, planted
):
    frame = framed(planted)
    frame.to_csv(files / "bare.csv", index=False, header=False)
    for name in ("bare.csv", "points.npy"):
        ended = ekss("predict", "named.ekss", name, "-o", "new.npy")
        assert ended.code == 0, ended.err
        assert ended.err == ""
        assert "12 matched by position: the data have no names" in ended.out
        np.testing.assert_array_equal(np.load(files / "new.npy"), named_model)
    frame.iloc[:, 1:].to_csv(files / "bare.csv", index=False, header=False)
    ended = ekss("predict", "named.ekss", "bare.csv")
    assert ended.code == 2
    assert "bare.csv has 11 features but named.ekss was made from 12" in ended.err


def test_a_model_without_names_says_that_it_went_by_position(ekss, files, model):
    ended = ekss("predict", "model.ekss", "points.csv")
    assert "12 matched by position: the model has no names" in ended.out
    assert "12 matched by position\n" in ekss("predict", model, "points.npy").out


def test_identifiers_kept_by_option_are_features_of_the_model(ekss, files, planted):
    frame = framed(planted)
    frame.insert(0, "id", np.arange(60) % 5)
    written(files / "ids.csv", frame)
    words = ("--method", "kss", "--id-column", "none", "--model", "ids.ekss", *FAST)
    assert ekss("cluster", "ids.csv", "-k", 3, *words, "-o", "a.npy").code == 0
    ended = ekss("predict", "ids.ekss", "ids.csv", "-o", "b.npy", "--json")
    assert json.loads(ended.out)["data"]["columns"] == list(frame.columns)
    np.testing.assert_array_equal(np.load(files / "a.npy"), np.load(files / "b.npy"))


def test_refused_width_tells_of_the_columns_left_out(ekss, files, model, planted):
    frame = pd.DataFrame(planted.data[:, 1:], columns=list("abcdefghijk"))
    frame["store_id"] = np.arange(60) % 3
    written(files / "store.csv", frame)
    ended = ekss("predict", "model.ekss", "store.csv")
    assert ended.code == 2
    assert "11 features (store_id left out; --id-column none keeps them)" in ended.err
