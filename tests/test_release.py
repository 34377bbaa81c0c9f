"""One version, a changelog in form, and workflows that run what developers run."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import ekss

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
# What Keep a Changelog calls changes, in its order.
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def steps():
    """Yield file, job and step of every workflow."""
    for name, workflow in WORKFLOWS.items():
        for job, content in workflow["jobs"].items():
            for step in content.get("steps", []):
                yield name, job, step


def test_version_is_stated_once():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", ekss.__version__)
    assert "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/ekss/__init__.py"


def test_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == ekss.__version__


def test_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    first, *releases = re.split(r"^## ", text, flags=re.M)
    assert first.startswith("# Changelog")
    assert releases[0].startswith("[Unreleased]\n")
    for release in releases[1:]:
        assert re.match(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d\n", release)
    for release in releases:
        kinds = re.findall(r"^### (.*)$", release, re.M)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def test_hooks_and_environment_use_the_same_tools():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    used = {hook["id"] for repo in hooks["repos"] for hook in repo["hooks"]}
    expected = {"ruff-check", "ruff-format", "mypy", "codespell", "rumdl", "zizmor"}
    assert {*expected, "numpydoc-validation", "actionlint"} <= used


def test_classifiers_name_the_python_versions_that_are_tested():
    matrix = WORKFLOWS["tests.yml"]["jobs"]["tests"]["strategy"]["matrix"]
    named = re.findall(
        r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"])
    )
    assert matrix["python"] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
    systems = {matrix["os"][0], *(more["os"] for more in matrix["include"])}
    assert {system.split("-")[0] for system in systems} == {
        "ubuntu",
        "macos",
        "windows",
    }


def test_workflows_run_make_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    commands = [step["run"] for _, _, step in steps() if "run" in step]
    for command in commands:
        if command.startswith("choco install make"):  # Windows comes without make
            continue
        program, *words = command.split()
        assert program == "make"
        asked = {word for word in words if "=" not in word}
        if not (ROOT / "docs" / "conf.py").exists():  # the site is another part
            asked -= {"docs"}
        assert asked <= targets
    assert any("tests-lowest" in command for command in commands)


def test_workflows_have_no_rights_beyond_need():
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {}, name
        for job, content in workflow["jobs"].items():
            expected = {"contents": "read"}
            if (name, job) == ("release.yml", "publish"):
                expected["id-token"] = "write"  # trusted publishing
            assert content["permissions"] == expected, f"{name}: {job}"


def test_actions_are_pinned_and_leave_no_credentials():
    for name, _, step in steps():
        if "uses" not in step:
            continue
        action, _, version = step["uses"].partition("@")
        assert re.fullmatch(r"v\d+|release/v\d+", version), f"{name}: {step['uses']}"
        if action == "actions/checkout":
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", ["SECURITY.md", "SUPPORT.md", "CODE_OF_CONDUCT.md"])
def test_community_pages_link_to_files_that_exist(name):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text()):
        assert "://" in target or (ROOT / target).exists(), target
