import json
from functools import partial

import numpy as np
import pytest
from sklearn import datasets
from sklearn.utils import Bunch
from typer.testing import CliRunner

import ekss
from ekss import EKSS
from ekss.cli import app, main
from ekss.cli._demo import report_motion, run_demo, votes_of_members


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo on every fourth digit, with few members; the rest is as shipped."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    digits = datasets.load_digits()
    some = Bunch(data=digits.data[::4], target=digits.target[::4])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_digits", lambda: some)
        patch.setattr(ekss, "EKSS", partial(EKSS, n_members=50))
        shown = CliRunner().invoke(app, ["demo", "--output", str(folder)])
    return shown, folder


def test_demo_prints_a_summary_and_names_what_it_wrote(demo):
    result, folder = demo
    assert result.exit_code == 0, result.output
    for words in ("clustering error", "mutual information", "time", "cluster sizes"):
        assert words in result.stdout
    for path in folder.iterdir():
        assert path.suffix == ".json" or str(path) in result.stdout


def test_demo_writes_reports_of_digits_and_motion_and_the_picture_of_votes(demo):
    _, folder = demo
    names = sorted(path.name for path in folder.iterdir())
    stems = "digits", "motion"
    pages = [f"{stem}.{ending}" for stem in stems for ending in ("html", "json")]
    assert names == [*pages, "votes.png"]
    digits, motion = (json.loads((folder / f"{s}.json").read_text()) for s in stems)
    assert digits["n_samples"] == 450
    assert digits["scores"]["error"] < 0.3
    assert motion["affine"]
    assert motion["scores"]["error"] < 0.05
    assert 'alt="basis vector 1 of cluster 0"' in (folder / "digits.html").read_text()
    assert "Tracks on the first frame" in (folder / "motion.html").read_text()
    picture = (folder / "votes.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_bodies_are_told_apart_with_another_seed():
    assert report_motion(1, jobs=1).summary["scores"]["error"] < 0.05


def test_votes_of_more_members_separate_the_clusters():
    panels = votes_of_members(seed=0, jobs=1)
    assert [panel.n_members for panel in panels] == [1, 5, 50]
    assert panels[0].error > 0.2
    assert panels[2].error == 0
    same = np.kron(np.eye(4), np.ones((100, 100))).astype(bool)
    votes = panels[2].votes
    assert votes[same].mean() > 2 * votes[~same].mean()


def test_command_knows_its_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"ekss {ekss.__version__}\n"


@pytest.mark.parametrize("below", ["", "pictures/new"])
def test_a_file_in_place_of_the_folder_is_named_with_a_remedy(tmp_path, below):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(ValueError, match=r"file is a file; choose another name"):
        run_demo(blocked / below, 0, 1)
    assert blocked.read_text() == "in the way"


def test_unwritable_output_is_one_clear_line(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(SystemExit, match="2"):
        main(["demo", "-o", str(blocked / "pictures")])
    shown = capsys.readouterr().err
    assert shown.startswith("ekss: ")
    assert "Traceback" not in shown
