import subprocess
import sys

import numpy as np
from typer.testing import CliRunner

from ekss.cli import app
from ekss.cli._demo import votes_of_members


def test_demo_prints_a_summary_and_writes_both_pictures(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    for words in ("clustering error", "mutual information", "time", "cluster sizes"):
        assert words in result.stdout
    for name in ("digits.png", "votes.png"):
        picture = (tmp_path / "new" / name).read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 20_000


def test_votes_of_more_members_separate_the_clusters():
    panels = votes_of_members(seed=0, jobs=1)
    assert [panel.n_base for panel in panels] == [1, 5, 50]
    assert panels[0].error > 0.2
    assert panels[2].error == 0
    same = np.kron(np.eye(4), np.ones((100, 100))).astype(bool)
    votes = panels[2].votes
    assert votes[same].mean() > 2 * votes[~same].mean()


def test_command_runs_and_knows_its_version():
    command = [sys.executable, "-c", "from ekss.cli import main; main()"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert shown.returncode == 0
    assert shown.stdout.startswith("ekss ")
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True)
    assert "demo" in helped.stdout


def test_unwritable_output_is_one_clear_line(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    command = [sys.executable, "-c", "from ekss.cli import main; main()"]
    result = subprocess.run(
        [*command, "demo", "-o", str(blocked / "pictures")],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert result.stderr.startswith("ekss: ")
    assert "Traceback" not in result.stderr
