import json
import re
import subprocess
import sys

import numpy as np
import pytest

from ekss import EKSS, TSC, KSSMember
from ekss.cli import _methods
from ekss.datasets import make_faces_under_light
from ekss.io import read_labels
from ekss.metrics import clustering_error

FAST = ("--members", "20", "--jobs", "1")


def test_csv_gives_labels_named_after_the_data(ekss, files, planted):
    ended = ekss("cluster", "points.csv", "-k", 3, *FAST)
    assert ended.code == 0, ended.err
    labels = read_labels(files / "points-clusters.csv")
    assert clustering_error(planted.target, labels) == 0
    for word in ("60 points of 12 features", "3 clusters", "members 20", "seed 0"):
        assert word in ended.out
    assert "Written: points-clusters.csv" in ended.out
    assert "members" in ended.err, "no bar of the members"


def test_labels_equal_those_of_the_estimator(ekss, files, planted):
    words = ("--dim", 2, "--q", 5, "--seed", 7, "-o", "labels.npy", *FAST)
    assert ekss("cluster", "points.npy", "-k", 3, *words).code == 0
    model = EKSS(3, 2, n_neighbors=5, n_members=20, random_state=7)
    expected = model.fit_predict(planted.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), expected)


def test_same_seed_gives_the_same_file(ekss, files):
    for name in ("a.csv", "b.csv"):
        assert ekss("cluster", "points.csv", "-k", 3, "-o", name, *FAST).code == 0
    assert (files / "a.csv").read_bytes() == (files / "b.csv").read_bytes()


def test_names_of_rows_are_kept(ekss, files):
    ekss("cluster", "named.csv", "-k", 3, "--id-column", "name", *FAST)
    lines = (files / "named-clusters.csv").read_text().splitlines()
    assert len(lines) == 61
    assert [line.split(",")[0] for line in lines[1:4]] == ["row0", "row1", "row2"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npy"])
def test_labels_come_back_from_every_format(ekss, files, planted, ending):
    target = f"labels.{ending}"
    assert ekss("cluster", "points.npy", "-k", 3, "-o", target, *FAST).code == 0
    assert clustering_error(planted.target, read_labels(files / target)) == 0


@pytest.mark.parametrize(
    "where",
    [
        ("points.csv", "--labels", "truth.npy"),
        ("both.npz", "--key", "X", "--labels-key", "y"),
        ("labelled.csv", "--labels-key", "kind"),
    ],
)
def test_true_labels_score_and_do_nothing_else(ekss, files, planted, where):
    ended = ekss("cluster", *where, "-k", 3, "--json", "-o", "labels.npy", *FAST)
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    assert summary["scores"] == {"error": 0.0, "nmi": 1.0, "ari": 1.0}
    assert summary["data"]["n_features"] == 12
    expected = EKSS(3, n_members=20, random_state=0).fit_predict(planted.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), expected)


def test_json_is_one_object_and_nothing_else(ekss, files):
    ended = ekss("cluster", "points.csv", "-k", 3, "--dim", 2, "--json", *FAST)
    summary = json.loads(ended.out)
    assert ended.err == ""
    assert summary["command"] == "cluster"
    assert summary["settings"] == {"dim": 2, "members": 20}
    assert [row["size"] for row in summary["clusters"]] == [20, 20, 20]
    assert all(row["energy"] == pytest.approx(1) for row in summary["clusters"])
    assert summary["scores"] is None
    assert summary["outputs"] == ["points-clusters.csv"]


def test_quiet_prints_nothing(ekss, files):
    ended = ekss("cluster", "points.csv", "-k", 3, "--quiet", *FAST)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert (files / "points-clusters.csv").exists()


@pytest.mark.parametrize(
    "method", ["ekss", "paper", "kss", "copkss", "mkf", "tsc", "ssc", "sscomp", "ensc"]
)
def test_every_method_runs(ekss, files, method):
    words = ("--method", method, "--labels", "truth.npy", "--jobs", 1, "--json")
    ended = ekss("cluster", "points.npy", "-k", 3, *words)
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    assert summary["method"] == method
    assert sum(row["size"] for row in summary["clusters"]) == 60
    assert summary["scores"]["error"] < 0.35


def test_a_range_of_dimensions_and_candidates_reaches_the_estimator(ekss, files):
    words = ("--dim", "1-3", "--candidates", "3-6", "--json", *FAST)
    summary = json.loads(ekss("cluster", "points.npy", "-k", 3, *words).out)
    assert summary["settings"]["dim"] == [1, 3]
    assert summary["settings"]["candidates"] == [3, 6]
    assert {row["dim"] for row in summary["clusters"]} == {2}


def test_iterations_of_members_reach_the_estimator(ekss, files, planted):
    words = ("--max-iter", 1, "--candidates", 9, "-o", "labels.npy", *FAST)
    assert ekss("cluster", "points.npy", "-k", 3, *words).code == 0
    member = KSSMember(9, max_iter=1)
    model = EKSS(3, n_members=20, member=member, random_state=0).fit(planted.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), model.labels_)


def test_number_of_whitened_directions_reaches_the_estimator(ekss, files, planted):
    words = ("--whiten", 6, "-o", "labels.npy", "--json", *FAST)
    summary = json.loads(ekss("cluster", "points.npy", "-k", 3, *words).out)
    assert summary["settings"]["whiten"] == 6
    assert summary["n_directions"] == 6
    model = EKSS(3, n_members=20, whiten=6, random_state=0).fit(planted.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), model.labels_)
    lost = model.transform(planted.data)[np.arange(60), model.labels_] ** 2
    for row in summary["clusters"]:
        mean = lost[model.labels_ == row["cluster"]].mean()  # points have length 1
        assert row["energy"] == pytest.approx(1 - mean)
    ended = ekss("cluster", "points.npy", "-k", 3, "--whiten", 6, *FAST)
    assert "whitened in 6 directions" in ended.out


@pytest.mark.parametrize("kind", ["--affine", "--linear"])
def test_second_opinion_can_be_left_out(ekss, files, kind):
    words = ("cluster", "points.npy", "-k", 3, kind, *FAST)
    assert "expressions" in (said := ekss(*words)).err or "second look" in said.err
    without = ekss(*words, "--no-second-opinion", "--json")
    assert "expressions" not in without.err
    assert "second look" not in without.err
    assert json.loads(without.out)["settings"]["second_opinion"] is False


def test_images_are_seen_as_images(ekss, files):
    faces = make_faces_under_light(3, 10, height=24, random_state=0)
    shape = faces.image_shape
    np.save(files / "stack.npy", faces.data.reshape(-1, *shape))
    words = ("-k", 3, "--as-images", "-o", "labels.npy", *FAST)
    ended = ekss("cluster", "stack.npy", *words, "--report", "faces.html", "--json")
    summary = json.loads(ended.out)
    model = EKSS(3, n_members=20, image_shape=shape, random_state=0)
    model.fit(faces.data)
    np.testing.assert_array_equal(np.load(files / "labels.npy"), model.labels_)
    assert summary["features"] == model.features_
    page = (files / "faces.html").read_text()
    assert "seen by members" in page
    assert "lower is better" in page
    np.save(files / "rows.npy", faces.data)
    assert "whitened in" in ekss("cluster", "stack.npy", *words).out
    sized = ("--image-size", "{}x{}".format(*shape))
    assert ekss("cluster", "rows.npy", *words, *sized).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--as-images: points.npy does not tell the size of its images"),
        (("--image-size", "3x4"), "--as-images (3, 4) is too small"),
        (("--image-size", "3x4", "--preprocess", "unit"), "leave out one of the two"),
        (("--method", "tsc"), "--as-images is not known to method tsc"),
    ],
)
def test_what_cannot_be_seen_as_images_is_refused(ekss, files, words, message):
    ended = ekss("cluster", "points.npy", "-k", 3, "--as-images", *words)
    assert ended.code != 0
    assert message in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--whiten", "some"), "--whiten some is not a number"),
        (("--whiten", "-1"), "--whiten -1 is below 0"),
        (("--whiten", "13"), "--whiten 13 exceeds min(n_samples, n_features)=12"),
        (("--whiten", "1", "--method", "kss"), "--whiten is not known to method kss"),
    ],
)
def test_directions_that_there_are_not_are_refused(ekss, files, words, message):
    ended = ekss("cluster", "points.npy", "-k", 3, *words, "--jobs", "1")
    assert ended.code == 2
    assert message in ended.err


def test_preprocessing_runs_in_the_order_written(ekss, files, planted):
    from ekss.preprocessing import PrincipalComponents, RemoveComponents, UnitRows

    rows = planted.data
    for step in (UnitRows(), RemoveComponents(1), PrincipalComponents(6, center=False)):
        rows = step.fit_transform(rows)
    expected = EKSS(3, 2, n_members=20, random_state=0).fit_predict(rows)
    words = ("--preprocess", "unit,remove:1,svd:6", "--dim", 2, "-o", "labels.npy")
    assert ekss("cluster", "points.npy", "-k", 3, *words, *FAST).code == 0
    np.testing.assert_array_equal(np.load(files / "labels.npy"), expected)


def test_points_are_whitened_before_other_methods(ekss, files, planted):
    from ekss.preprocessing import WhitenedComponents

    rows = WhitenedComponents(6).fit_transform(planted.data)
    expected = TSC(3, random_state=0).fit_predict(rows)
    words = ("--method", "tsc", "--preprocess", "whiten:6", "-o", "labels.npy")
    assert ekss("cluster", "points.npy", "-k", 3, *words, "--jobs", "1").code == 0
    np.testing.assert_array_equal(np.load(files / "labels.npy"), expected)


def test_energy_is_what_the_subspaces_hold(ekss, files, planted):
    words = ("--dim", 1, "--linear", "--json", *FAST)
    ended = ekss("cluster", "points.npy", "-k", 3, *words)
    model = EKSS(3, 1, n_members=20, affine=False, random_state=0).fit(planted.data)
    own = model.transform(planted.data)[np.arange(60), model.labels_] ** 2
    for row in json.loads(ended.out)["clusters"]:
        mine = model.labels_ == row["cluster"]
        assert row["size"] == mine.sum()
        assert row["energy"] == pytest.approx(1 - own[mine].mean())


def test_report_and_its_json_are_written(ekss, files):
    words = ("--report", "report.html", "--labels", "truth.npy", *FAST)
    ended = ekss("cluster", "points.npy", "-k", 3, *words)
    assert ended.code == 0, ended.err
    assert (files / "report.html").read_text().lstrip().startswith("<!doctype html>")
    assert json.loads((files / "report.json").read_text())
    assert "report.html, report.json" in ended.out


def test_the_number_of_clusters_is_found(ekss, files, planted):
    words = ("--model", "model.ekss", "--report", "report.html", "-o", "labels.npy")
    ended = ekss("cluster", "points.npy", "-k", "auto", *words, *FAST)
    assert ended.code == 0, ended.err
    (plan,) = [line for line in ended.out.splitlines() if line.startswith("Cluster")]
    assert "ekss, number of clusters from the data, members 20, seed 0" in plan
    assert "Found 3 clusters, " in ended.out
    labels = np.load(files / "labels.npy")
    assert clustering_error(planted.target, labels) == 0
    counts = json.loads((files / "report.json").read_text())["counts"]
    assert counts[0]["n_clusters"] == 3
    assert len(counts) > 3
    assert 'id="counts"' in (files / "report.html").read_text()
    ended = ekss("predict", "model.ekss", "points.npy", "-o", "again.npy")
    assert ended.code == 0, ended.err
    assert "EKSS, 3 clusters" in ended.out
    np.testing.assert_array_equal(np.load(files / "again.npy"), labels)


def test_found_number_is_that_of_the_estimator_and_in_json(ekss, files, planted):
    words = ("-k", "auto", "--json", "-o", "labels.npy", *FAST)
    summary = json.loads(ekss("cluster", "points.npy", *words).out)
    model = EKSS("auto", n_members=20, random_state=0).fit(planted.data)
    assert summary["n_clusters"] == model.n_clusters_ == 3
    assert summary["n_members"] == 20
    np.testing.assert_array_equal(np.load(files / "labels.npy"), model.labels_)


def test_members_are_chosen_as_by_default(ekss, files):
    words = ("points.npy", "-k", 3, "--jobs", 1)
    asked = ekss("cluster", *words, "--members", "auto", "-o", "asked.csv")
    assert asked.code == 0, asked.err
    assert "members auto" in asked.out
    assert ", 100 members" in asked.out, "halves of the planted points agree at once"
    assert ekss("cluster", *words, "-o", "default.csv").code == 0
    assert (files / "asked.csv").read_bytes() == (files / "default.csv").read_bytes()


def test_help_tells_what_can_be_left_to_the_method(ekss):
    shown = " ".join(re.sub("[│\n]", " ", ekss("cluster", "--help").out).split())
    assert "Number of clusters; auto finds it (method ekss)" in shown
    assert "auto runs 100, and up to 400" in shown


def test_a_failure_at_the_end_leaves_earlier_files_as_they_were(
    ekss, files, monkeypatch
):
    (files / "labels.csv").write_text("earlier labels")
    (files / "model.ekss").write_text("earlier model")
    before = sorted(files.iterdir())

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ekss.io.save_model", full_disk)
    words = ("-o", "labels.csv", "--model", "model.ekss", *FAST)
    ended = ekss("cluster", "points.npy", "-k", 3, *words)
    assert ended.code == 1
    assert "model.ekss was not written: No space left on device" in ended.err
    assert (files / "labels.csv").read_text() == "earlier labels"
    assert (files / "model.ekss").read_text() == "earlier model"
    assert sorted(files.iterdir()) == before


def test_an_unexpected_error_is_one_line_and_exit_code_1(ekss, files, monkeypatch):
    def broken(*_, **__):
        raise KeyError("basis")

    monkeypatch.setattr(_methods.Task, "prepare", broken)
    ended = ekss("cluster", "points.npy", "-k", 3)
    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1
    assert "KeyError: 'basis'" in ended.err
    ended = ekss("cluster", "points.npy", "-k", 3, "--debug")
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_ctrl_c_ends_in_one_line_and_130(ekss, files, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    (files / "points-clusters.csv").write_text("earlier")
    monkeypatch.setattr(EKSS, "fit", stopped)
    ended = ekss("cluster", "points.npy", "-k", 3)
    assert ended.code == 130
    assert ended.err.splitlines() == ["ekss: stopped; no file was written"]
    assert (files / "points-clusters.csv").read_text() == "earlier"


def test_links_and_permissions_of_an_earlier_output_stay(ekss, files):
    (files / "real.csv").write_text("earlier")
    (files / "real.csv").chmod(0o640)
    (files / "link.csv").symlink_to(files / "real.csv")
    assert ekss("cluster", "points.npy", "-k", 3, "-o", "link.csv", *FAST).code == 0
    assert (files / "link.csv").is_symlink()
    assert len((files / "real.csv").read_text().splitlines()) == 61
    assert (files / "real.csv").stat().st_mode & 0o777 == 0o640


def test_command_works_as_a_process(files):
    words = ["cluster", "points.npy", "-k", "3", "--json", "--method", "kss"]
    ended = subprocess.run(
        [sys.executable, "-m", "ekss", *words],
        cwd=files,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["n_clusters"] == 3
    bad = subprocess.run(
        [sys.executable, "-m", "ekss", "cluster", "nothing.csv", "-k", "3"],
        cwd=files,
        capture_output=True,
        text=True,
    )
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert bad.stderr == "ekss: nothing.csv does not exist; check the path\n"
