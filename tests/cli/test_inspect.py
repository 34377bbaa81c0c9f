import os
import subprocess
import sys


def test_summary_of_a_report_is_printed_again(ekss, files):
    words = ("--members", 20, "--jobs", 1, "--report", "report.html", "--quiet")
    ended = ekss("cluster", "points.npy", "-k", 3, "--labels", "truth.npy", *words)
    assert ended.code == 0, ended.err
    ended = ekss("inspect", "report.json")
    assert ended.code == 0, ended.err
    assert ended.err == ""
    assert "20" in ended.out
    assert "EKSS" in ended.out


def test_help_is_quick_and_lists_the_commands():
    before = os.times()
    ended = subprocess.run(
        [sys.executable, "-m", "ekss", "--help"], capture_output=True, text=True
    )
    after = os.times()
    for command in ("cluster", "predict", "compare", "inspect", "demo", "bench"):
        assert command in ended.stdout
    # Seconds of the processor, not of the clock: other work on the machine does not
    # count. It takes 0.3; heavy imports would take over 2.
    spent = after.children_user - before.children_user
    assert spent + after.children_system - before.children_system < 1.0


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from ekss.cli import main\n"
        "try: main(['cluster', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ended.stderr.strip() == "[]"
    assert "--clusters" in ended.stdout


def test_shell_completion_knows_commands_and_methods():
    environment = {"_EKSS_COMPLETE": "complete_bash", "COMP_WORDS": "ekss cl"}
    environment["COMP_CWORD"] = "1"
    ended = subprocess.run(
        [sys.executable, "-m", "ekss"], capture_output=True, text=True, env=environment
    )
    assert ended.stdout.split() == ["cluster"]
    words = "ekss cluster points.csv --method ss"
    environment |= {"COMP_WORDS": words, "COMP_CWORD": "4"}
    ended = subprocess.run(
        [sys.executable, "-m", "ekss"], capture_output=True, text=True, env=environment
    )
    assert ended.stdout.split() == ["ssc", "sscomp"]
