"""``ekss cluster --missing``: what is done with missing entries of a file."""

import json

import numpy as np
import pytest

from ekss import EKSS
from ekss.io import InputError, read_labels, read_points
from ekss.metrics import clustering_error

FAST = ("--members", "20", "--jobs", "1")


@pytest.fixture
def holed(tmp_path, planted):
    """Write the planted points with every tenth entry missing, as array and table."""
    rng = np.random.default_rng(0)
    holes = rng.random(planted.data.shape) < 0.1
    holes[:20] = False
    rows = np.where(holes, np.nan, planted.data)
    np.save(tmp_path / "holed.npy", rows)
    words = ["", "NA", "nan", "null", " n/a "]
    lines = [",".join(f"x{i}" for i in range(12))]
    for i, row in enumerate(rows):
        cells = [words[i % 5] if np.isnan(v) else repr(float(v)) for v in row]
        lines.append(",".join(cells))
    (tmp_path / "holed.csv").write_text("\n".join(lines) + "\n")
    return rows


@pytest.mark.parametrize("name", ["holed.npy", "holed.csv"])
def test_missing_entries_are_refused_with_the_remedy(ekss, holed, name):
    ended = ekss("cluster", name, "-k", 3, *FAST)
    assert ended.code == 2
    assert "choose with --missing" in ended.err


@pytest.mark.parametrize("name", ["holed.npy", "holed.csv"])
def test_observed_clusters_by_what_is_there(ekss, files, planted, holed, name):
    words = ("--missing", "observed", "--json", "-o", "labels.npy")
    ended = ekss("cluster", name, "-k", 3, *words, *FAST)
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    assert summary["data"]["missing"] == pytest.approx(np.isnan(holed).mean())
    labels = np.load(files / "labels.npy")
    assert clustering_error(planted.target, labels) == 0
    expected = EKSS(3, n_members=20, random_state=0).fit_predict(holed)
    np.testing.assert_array_equal(labels, expected)


def test_zero_is_for_every_method(ekss, files, holed):
    words = ("--missing", "zero", "--method", "mkf", "--jobs", "1")
    assert ekss("cluster", "holed.npy", "-k", 3, *words).code == 0
    assert len(read_labels(files / "holed-clusters.csv")) == 60


def test_drop_rows_leaves_out_rows_and_their_labels(ekss, files, planted, holed):
    whole = ~np.isnan(holed).any(axis=1)
    words = ("--missing", "drop-rows", "--labels", "truth.npy", "--json")
    ended = ekss("cluster", "holed.npy", "-k", 3, *words, *FAST)
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    assert summary["data"]["n_points"] == whole.sum()
    assert summary["data"]["missing"] == 0
    assert "error" in summary["scores"]


def test_nothing_left_is_a_sentence(ekss, files, planted):
    rows = planted.data.copy()
    rows[:, 3] = np.nan
    np.save(files / "empty.npy", rows)
    ended = ekss("cluster", "empty.npy", "-k", 3, "--missing", "drop-rows", *FAST)
    assert ended.code == 2
    assert "leaves 0 of the 60 rows" in ended.err
    ended = ekss("cluster", "empty.npy", "-k", 3, "--missing", "observed", *FAST)
    assert ended.code == 2
    assert "column 3 (counted from 0) of X has no observed entry" in ended.err


def test_methods_that_need_all_entries_say_so(ekss, holed):
    words = ("--missing", "observed", "--method", "ssc")
    ended = ekss("cluster", "holed.npy", "-k", 3, *words)
    assert ended.code == 2
    assert "--missing observed is not known to method ssc" in ended.err
    assert "ekss, kss or tsc" in ended.err


def test_a_saved_model_predicts_rows_with_holes(ekss, files, planted, holed):
    words = ("--missing", "observed", "--model", "m.ekss", "--report", "r.html")
    assert ekss("cluster", "holed.npy", "-k", 3, *words, *FAST).code == 0
    assert "missing entries" in (files / "r.html").read_text()
    words = ("--missing", "observed", "-o", "new.npy")
    ended = ekss("predict", "m.ekss", "holed.npy", *words)
    assert ended.code == 0, ended.err
    assert clustering_error(planted.target, np.load(files / "new.npy")) == 0


def two_bodies(rng):
    """Return tracks of two moving bodies, frames x 2 x points."""
    tracks = []
    for _ in range(2):
        shape = np.vstack([rng.standard_normal((3, 30)), np.ones(30)])
        poses = np.cumsum(0.2 * rng.standard_normal((40, 2, 4)), axis=0)
        tracks.append(poses @ shape)
    return np.concatenate(tracks, axis=2)


@pytest.mark.parametrize("how", ["NaN", "mask"])
def test_points_seen_in_40_percent_of_the_frames_get_a_label(ekss, tmp_path, how):
    rng = np.random.default_rng(0)
    tracks = two_bodies(rng)
    seen = rng.random((40, 60)).argsort(axis=0) < 16
    seen[:, np.arange(60) % 3 > 0] = True
    words = ["--missing", "observed", "-o", "labels.npy"]
    if how == "NaN":
        np.savez(tmp_path / "t.npz", x=np.where(seen[:, None], tracks, np.nan))
    else:
        np.savez(tmp_path / "t.npz", x=tracks, visible=seen)
        words += ["--mask", "visible"]
    ended = ekss("cluster", "t.npz", "-k", 2, *words, *FAST)
    assert ended.code == 0, ended.err
    assert "60 tracks over 40 frames, 20 % of the entries missing" in ended.out
    truth = np.repeat([0, 1], 30)
    assert clustering_error(truth, np.load(tmp_path / "labels.npy")) == 0


def test_homogeneous_tracks_may_have_masks_and_nan(tmp_path):
    rng = np.random.default_rng(0)
    tracks = two_bodies(rng).transpose(1, 2, 0)
    tracks = np.concatenate([tracks, np.ones((1, 60, 40))])
    seen = rng.random((60, 40)) < 0.7
    np.savez(tmp_path / "a.npz", x=np.where(seen, tracks, np.nan))
    np.savez(tmp_path / "b.npz", x=tracks, visible=seen.astype(int))
    first = read_points(tmp_path / "a.npz", missing=True)
    second = read_points(tmp_path / "b.npz", missing=True, mask="visible")
    assert first.kind == second.kind == "tracks"
    np.testing.assert_array_equal(first.points, second.points)
    assert np.isnan(first.points).mean() == pytest.approx((~seen).mean())


def test_a_mask_of_another_shape_is_refused(tmp_path, planted):
    np.savez(tmp_path / "a.npz", x=planted.data, m=np.ones((5, 7)))
    with pytest.raises(InputError, match=r"has shape \(5, 7\), but it hides entries"):
        read_points(tmp_path / "a.npz", missing=True, mask="m")
    np.savez(tmp_path / "a.npz", x=planted.data, m=planted.data > 0)
    with pytest.raises(InputError, match="nan at row"):
        read_points(tmp_path / "a.npz", mask="m")


def test_an_empty_cell_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"a": [1.0, None, 3.0], "b": [4, 5, None]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_points(tmp_path / "t.parquet", missing=True).points
    np.testing.assert_array_equal(found, [[1, 4], [np.nan, 5], [3, np.nan]])
    with pytest.raises(InputError, match="has nothing at row 1"):
        read_points(tmp_path / "t.parquet")
