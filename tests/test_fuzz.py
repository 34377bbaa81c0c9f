"""A short, fixed part of ``make fuzz``."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_few_attacks_end_in_answers_or_in_our_errors():
    ended = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "fuzz.py", "--cases", "30", "--jobs=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    (line,) = re.findall(r"all .*", ended.stdout)
    assert int(re.search(r"\d+", line)[0]) == 150
